// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of all packings under a height look at one whose offsets add up to the least. No block of it can
// fall; so, sorted by offset, each block lies on top of those before it. It is enough to search for
// such orders, and they tell much early:
//  - whatever is to come lies at or above the block placed last;
//  - at each step, what is to come fits between the lowest place left there and the height;
//  - a block that could have been placed lower than the last one and was not has to lie on top of
//    one that is still to come;
//  - the next block lies lower than the top of any other that could be placed next, for that one
//    could otherwise fall below it.
// What is left may fall into parts that are never alive together: each is solved by itself.
#include "Memory/PackFit.h"
#include <algorithm>
#include <numeric>

namespace mx::memory::detail {

Lives::Lives(const std::vector<Piece> &blocks) {
  std::vector<int64_t> steps;
  for (const Piece &block : blocks)
    steps.push_back(block.first);
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  at.resize(steps.size());
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    auto begin = std::lower_bound(steps.begin(), steps.end(), blocks[i].first);
    auto end = std::upper_bound(begin, steps.end(), blocks[i].last);
    ranges.push_back(
        {static_cast<uint32_t>(begin - steps.begin()), static_cast<uint32_t>(end - steps.begin())});
    if (blocks[i].bytes > 0)
      byBegin.push_back(i);
  }
  std::sort(byBegin.begin(), byBegin.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(ranges[a].begin, a) < std::pair(ranges[b].begin, b);
  });
}

bool Lives::findConflicts(std::size_t most) {
  conflicts.assign(ranges.size(), {});
  std::size_t pairs = 0;
  std::vector<uint32_t> alive;
  for (uint32_t next : byBegin) {
    std::erase_if(alive, [&](uint32_t i) { return ranges[i].end <= ranges[next].begin; });
    if ((pairs += alive.size() + (ranges[next].end - ranges[next].begin)) > most) {
      conflicts.clear();
      at.clear();
      return false;
    }
    for (uint32_t other : alive) {
      conflicts[next].push_back(other);
      conflicts[other].push_back(next);
    }
    alive.push_back(next);
    for (uint32_t s = ranges[next].begin; s < ranges[next].end; ++s)
      at[s].push_back(next);
  }
  return true;
}

std::vector<int64_t> Lives::mostAlive(const std::vector<Piece> &blocks) const {
  std::vector<int64_t> out(blocks.size(), 0);
  for (const std::vector<uint32_t> &alive : at) {
    int64_t bytes = 0;
    for (uint32_t i : alive)
      bytes += blocks[i].bytes;
    for (uint32_t i : alive)
      out[i] = std::max(out[i], bytes);
  }
  return out;
}

namespace {

class Search {
public:
  Search(int64_t height, const std::vector<Piece> &blocks, const Lives &lives,
         const std::vector<uint32_t> &ranks, int64_t nodes, int64_t &steps)
      : height(height), blocks(blocks), lives(lives), ranks(ranks), nodes(nodes), steps(steps),
        offsets(blocks.size(), -1), lowest(blocks.size(), 0), left(lives.at.size(), 0),
        floors(lives.at.size(), 0), stamps(lives.at.size(), 0) {
    for (size_t s = 0; s < left.size(); ++s)
      for (uint32_t i : lives.at[s])
        left[s] += blocks[i].bytes;
  }

  Fit run() {
    pool = lives.byBegin;
    Fit out;
    if (solveParts(0, pool.size(), 0, -1))
      out.verdict = Verdict::Fits;
    else if (!gaveUp)
      out.verdict = Verdict::Impossible;
    for (int64_t &offset : offsets)
      offset = std::max<int64_t>(offset, 0); // of no bytes
    out.offsets = std::move(offsets);
    return out;
  }

private:
  const int64_t height;
  const std::vector<Piece> &blocks;
  const Lives &lives;
  const std::vector<uint32_t> &ranks;
  int64_t nodes;
  int64_t &steps;
  bool gaveUp = false;
  std::vector<int64_t> offsets, lowest; ///< lowest: on top of all placed that are alive with it
  std::vector<int64_t> left, floors;    ///< of each step: bytes to come, and no lower than this
  std::vector<uint32_t> pool;           ///< lists of blocks to come, by their begin
  std::vector<uint32_t> placed;
  std::vector<uint32_t> changed; ///< steps whose floor has to be found again
  std::vector<int64_t> stamps;   ///< of each step: when it was last among them
  int64_t stamp = 0;
  struct Change {
    uint32_t index;
    int64_t before;
  };
  std::vector<Change> lowestBefore, floorsBefore;

  void work(size_t count) {
    steps -= static_cast<int64_t>(count);
    gaveUp |= steps <= 0;
  }

  /// Blocks pool[begin, end), above the block `last` at offset `at`. What it placed stays after a
  /// success and after a failure; `undo` takes it away.
  bool solveParts(size_t begin, size_t end, int64_t at, int64_t last) {
    for (size_t from = begin; from < end;) {
      size_t to = from + 1;
      uint32_t alive = lives.ranges[pool[from]].end;
      for (; to < end && lives.ranges[pool[to]].begin < alive; ++to)
        alive = std::max(alive, lives.ranges[pool[to]].end);
      if (!solve(from, to, alive, at, last))
        return false;
      from = to;
    }
    return true;
  }

  bool wasMissed(uint32_t i, int64_t at, int64_t last) const {
    return lowest[i] < at || (lowest[i] == at && static_cast<int64_t>(ranks[i]) <= last);
  }

  bool solve(size_t begin, size_t end, uint32_t aliveTo, int64_t at, int64_t last) {
    work(end - begin);
    gaveUp |= nodes-- <= 0;
    if (gaveUp)
      return false;
    size_t firstCandidate = pool.size();
    int64_t leastTop = INT64_MAX;
    for (size_t p = begin; p < end; ++p) {
      uint32_t i = pool[p];
      if (!wasMissed(i, at, last)) {
        leastTop = std::min(leastTop, lowest[i] + blocks[i].bytes);
        pool.push_back(i);
      } else if (!canLieOnAnother(i, at)) {
        pool.resize(firstCandidate);
        return false;
      }
    }
    auto candidates = pool.begin() + static_cast<std::ptrdiff_t>(firstCandidate);
    pool.erase(
        std::remove_if(candidates, pool.end(), [&](uint32_t i) { return lowest[i] >= leastTop; }),
        pool.end());
    std::sort(candidates, pool.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(lowest[a], ranks[a]) < std::pair(lowest[b], ranks[b]);
    });
    size_t lastCandidate = pool.size();
    bool found = false;
    for (size_t c = firstCandidate; c < lastCandidate && !found && !gaveUp; ++c) {
      uint32_t i = pool[c];
      size_t lows = lowestBefore.size(), heights = floorsBefore.size(), count = placed.size();
      if (place(i) && restFits({lives.ranges[pool[begin]].begin, aliveTo}, i)) {
        size_t rest = pool.size();
        for (size_t p = begin; p < end; ++p)
          if (pool[p] != i)
            pool.push_back(pool[p]);
        found = solveParts(rest, pool.size(), offsets[i], ranks[i]);
        pool.resize(rest);
      }
      if (!found)
        undo(lows, heights, count);
    }
    pool.resize(firstCandidate);
    return found;
  }

  bool canLieOnAnother(uint32_t i, int64_t at) {
    work(lives.conflicts[i].size() / 4);
    for (uint32_t other : lives.conflicts[i])
      if (offsets[other] < 0 &&
          std::max(lowest[other], at) + blocks[other].bytes + blocks[i].bytes <= height)
        return true;
    return false;
  }

  /// At its lowest place. False if what is to come does not fit above.
  bool place(uint32_t i) {
    int64_t at = lowest[i], top = at + blocks[i].bytes;
    offsets[i] = at;
    placed.push_back(i);
    changed.clear();
    ++stamp;
    for (uint32_t s = lives.ranges[i].begin; s < lives.ranges[i].end; ++s) {
      left[s] -= blocks[i].bytes;
      if (left[s] > 0 && floors[s] == at)
        markChanged(s);
    }
    for (uint32_t other : lives.conflicts[i])
      if (offsets[other] < 0 && lowest[other] < top) {
        for (uint32_t s = lives.ranges[other].begin; s < lives.ranges[other].end; ++s)
          if (floors[s] == lowest[other])
            markChanged(s);
        lowestBefore.push_back({other, lowest[other]});
        lowest[other] = top;
      }
    work(lives.conflicts[i].size() / 2);
    for (uint32_t s : changed) {
      int64_t floor = INT64_MAX;
      for (uint32_t other : lives.at[s])
        if (offsets[other] < 0)
          floor = std::min(floor, lowest[other]);
      work(lives.at[s].size() / 4 + 1);
      if (floor != floors[s]) {
        floorsBefore.push_back({s, floors[s]});
        floors[s] = floor;
      }
      if (std::max(floor, at) + left[s] > height)
        return false;
    }
    return true;
  }
  void markChanged(uint32_t s) {
    if (stamps[s] != stamp)
      changed.push_back(s);
    stamps[s] = stamp;
  }

  /// Nothing to come lies lower than `i`.
  bool restFits(Lives::Range range, uint32_t i) {
    for (uint32_t s = range.begin; s < range.end; ++s)
      if (left[s] > 0 && std::max(floors[s], offsets[i]) + left[s] > height)
        return false;
    return true;
  }

  void undo(size_t lows, size_t heights, size_t count) {
    for (; lowestBefore.size() > lows; lowestBefore.pop_back())
      lowest[lowestBefore.back().index] = lowestBefore.back().before;
    for (; floorsBefore.size() > heights; floorsBefore.pop_back())
      floors[floorsBefore.back().index] = floorsBefore.back().before;
    for (; placed.size() > count; placed.pop_back()) {
      uint32_t i = placed.back();
      for (uint32_t s = lives.ranges[i].begin; s < lives.ranges[i].end; ++s)
        left[s] += blocks[i].bytes;
      offsets[i] = -1;
    }
  }
};

} // namespace

Fit fitUnder(int64_t height, const std::vector<Piece> &blocks, const Lives &lives,
             const std::vector<uint32_t> &ranks, int64_t nodes, int64_t &steps) {
  return Search(height, blocks, lives, ranks, nodes, steps).run();
}

} // namespace mx::memory::detail
