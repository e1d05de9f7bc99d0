// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backtracking search with conflict-directed backjumping for a packing below a given height.
//
// Consider, of all packings below the height, one with the minimal sum of offsets. Every block in
// it is supported from below: it is at offset 0 or on top of another block that is live at the same
// time. The search keeps a lower bound on the offset of each block. It repeatedly takes the block
// with the lowest bound and decides whether the block is at its bound or higher:
//  - if it is, all blocks that conflict with it lie above, since none can be lower;
//  - if not, it lies on top of a block that is still undecided.
// At each step, the blocks with a lower bound at or above some offset must fit between it and the
// height.
//
// Each bound records its reason. When blocks do not fit, the reasons name the decisions to blame.
// Later decisions, often about distant steps, are undone without trying their alternatives. The
// last decision to blame is reversed, with the others as the reason.
#include "Memory/PackFit.h"
#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace mx::memory::detail {

Lives::Lives(const std::vector<Piece> &blocks) {
  std::vector<int64_t> begins, ends, steps;
  for (const Piece &block : blocks) {
    begins.push_back(block.first);
    ends.push_back(block.last);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  for (size_t n = 0; n < begins.size(); ++n)
    // All blocks live at a begin are live at the next begin too, unless one ends between.
    if (n + 1 == begins.size() ||
        *std::lower_bound(ends.begin(), ends.end(), begins[n]) < begins[n + 1])
      steps.push_back(begins[n]);
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

bool Lives::findConflicts(std::size_t maxPairs) {
  conflicts.assign(ranges.size(), {});
  std::size_t pairs = 0;
  std::vector<uint32_t> alive;
  for (uint32_t next : byBegin) {
    std::erase_if(alive, [&](uint32_t i) { return ranges[i].end <= ranges[next].begin; });
    if ((pairs += alive.size() + (ranges[next].end - ranges[next].begin)) > maxPairs) {
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

std::vector<int64_t> Lives::maxLive(const std::vector<Piece> &blocks) const {
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
         const std::vector<uint32_t> &ranks, int64_t nodes, int64_t &steps,
         const std::function<bool()> &isLate)
      : height(height), blocks(blocks), lives(lives), ranks(ranks), nodes(nodes), steps(steps),
        isLate(isLate), offsets(blocks.size(), -1), bounds(blocks.size()),
        placedAt(blocks.size(), 0), denied(blocks.size(), kNone), isWaiting(blocks.size(), false),
        twins(blocks.size(), kNone), isChanged(blocks.size(), false),
        isBlamed(blocks.size(), false), at(lives.at), spare(lives.at.size(), -1),
        rises(lives.at.size(), 0), isRaised(blocks.size(), false) {
    for (std::vector<Bound> &bound : bounds)
      bound.push_back({});
    findTwins();
  }

  Fit run() {
    Fit out;
    for (uint32_t i : lives.byBegin)
      touch(i);
    bool fits = propagate();
    for (uint32_t s = 0; fits && s < at.size(); ++s)
      fits = stepFits(s);
    while (fits && !gaveUp) {
      std::optional<uint32_t> next = lowestBlock();
      if (!next) {
        out.verdict = Verdict::Fits;
        break;
      }
      countChoice();
      decisions.push_back({*next, trail.size(), blame.size(), denials.size()});
      fits = position(*next);
      while (!fits && !gaveUp && !decisions.empty())
        fits = reverse();
    }
    if (!fits && !gaveUp)
      out.verdict = Verdict::Impossible;
    for (int64_t &offset : offsets)
      offset = std::max<int64_t>(offset, 0); // for blocks of 0 bytes
    out.offsets = std::move(offsets);
    return out;
  }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  enum class Why : uint8_t { Always, Above, NeedsSupport, Twin };
  /// A lower bound on the offset of a block, with its reason.
  struct Bound {
    int64_t value = 0;
    Why why = Why::Always;
    uint32_t other = kNone; ///< the block that it is above, or the denial
    size_t when = 0;        ///< index in the trail
    int64_t seen = 0;       ///< the last explanation it was part of
  };
  /// The block is not at `offset` but above, because of decisions blame[begin, end).
  struct Denial {
    int64_t offset;
    size_t begin, end;
  };
  enum class Kind : uint8_t { Bound, Placed, Denied };
  struct Change {
    Kind kind;
    uint32_t block;
    uint32_t before; ///< denial
  };
  struct Decision {
    uint32_t block;
    size_t trail, blame, denials;
  };

  const int64_t height;
  const std::vector<Piece> &blocks;
  const Lives &lives;
  const std::vector<uint32_t> &ranks;
  int64_t nodes;
  int64_t &steps;
  const std::function<bool()> &isLate;
  bool gaveUp = false;
  std::vector<int64_t> offsets;           ///< -1: undecided
  std::vector<std::vector<Bound>> bounds; ///< of each block, increasing
  std::vector<size_t> placedAt;           ///< indices in the trail
  std::vector<uint32_t> denied;           ///< the denial of each block
  std::vector<Denial> denials;
  std::vector<uint32_t> waiting; ///< blocks that may have a denial
  std::vector<bool> isWaiting;
  std::vector<uint32_t> twins; ///< the next block with the same lifetime and length
  std::vector<Change> trail;
  std::vector<Decision> decisions;
  std::vector<uint32_t> blame; ///< lists of blocks whose decisions are reasons
  std::vector<uint32_t> changed;
  std::vector<bool> isChanged;
  std::vector<uint32_t> blamed; ///< by the last conflict
  std::vector<bool> isBlamed;
  std::vector<std::vector<uint32_t>> at; ///< blocks of each step, by decreasing bound
  std::vector<int64_t> spare;            ///< lower bound of the free bytes at each step
  std::vector<int64_t> rises;            ///< of each step; mostly 0
  std::vector<uint32_t> dirty;           ///< steps with a rise
  std::vector<std::pair<uint32_t, int64_t>> raised; ///< blocks and their bounds before
  std::vector<bool> isRaised;
  int64_t explanation = 0;
  std::vector<std::pair<uint32_t, size_t>> toExplain; ///< blocks and their bounds

  void work(size_t count) {
    steps -= static_cast<int64_t>(count);
    gaveUp |= steps <= 0;
  }
  void countChoice() { gaveUp |= nodes-- <= 0 || (isLate && nodes % 64 == 0 && isLate()); }
  int64_t bound(uint32_t i) const { return bounds[i].back().value; }

  /// Symmetry breaking: which of two equal blocks is the lower one makes no difference.
  void findTwins() {
    std::vector<uint32_t> order = lives.byBegin;
    auto key = [&](uint32_t i) {
      return std::tuple(lives.ranges[i].begin, lives.ranges[i].end, blocks[i].bytes);
    };
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(key(a), a) < std::pair(key(b), b); });
    for (size_t n = 1; n < order.size(); ++n)
      if (key(order[n - 1]) == key(order[n]))
        twins[order[n - 1]] = order[n];
  }

  /// The undecided block with the lowest bound, ties by first step: consecutive decisions concern
  /// the same steps.
  std::optional<uint32_t> lowestBlock() {
    std::optional<uint32_t> out;
    auto key = [&](uint32_t i) { return std::tuple(bound(i), lives.ranges[i].begin, ranks[i]); };
    for (uint32_t i : lives.byBegin)
      if (offsets[i] < 0 && (!out || key(i) < key(*out)))
        out = i;
    work(lives.byBegin.size() / 4);
    return out;
  }

  // ---------------------------------------------------------------------------- propagation

  void touch(uint32_t i) {
    if (!isChanged[i])
      changed.push_back(i);
    isChanged[i] = true;
  }

  void raise(uint32_t i, int64_t value, Why why, uint32_t other) {
    if (!isRaised[i])
      raised.push_back({i, bound(i)});
    isRaised[i] = true;
    bounds[i].push_back({value, why, other, trail.size(), 0});
    trail.push_back({Kind::Bound, i, kNone});
    touch(i);
  }

  void deny(uint32_t i, uint32_t denial) {
    trail.push_back({Kind::Denied, i, denied[i]});
    setDenied(i, denial);
  }
  void setDenied(uint32_t i, uint32_t denial) {
    denied[i] = denial;
    if (denial != kNone && !isWaiting[i])
      waiting.push_back(i);
    isWaiting[i] = isWaiting[i] || denial != kNone;
  }

  /// Puts the block at its lower bound; no undecided block can be lower.
  bool position(uint32_t i) {
    int64_t top = bound(i) + blocks[i].bytes;
    offsets[i] = bound(i);
    placedAt[i] = trail.size();
    trail.push_back({Kind::Placed, i, kNone});
    touch(i);
    work(lives.conflicts[i].size() / 2);
    for (uint32_t other : lives.conflicts[i])
      if (offsets[other] < 0) {
        if (denied[other] != kNone && top > denials[denied[other]].offset)
          deny(other, kNone); // this block may be its support
        if (bound(other) < top)
          raise(other, top, Why::Above, i);
      }
    return propagate();
  }

  bool propagate() {
    bool fits = true;
    while (fits && !changed.empty()) {
      Lives::Range range{UINT32_MAX, 0};
      while (!changed.empty()) {
        uint32_t i = changed.back();
        changed.pop_back();
        isChanged[i] = false;
        range.begin = std::min(range.begin, lives.ranges[i].begin);
        range.end = std::max(range.end, lives.ranges[i].end);
        if (uint32_t twin = twins[i]; twin != kNone && offsets[i] < 0 && offsets[twin] < 0 &&
                                      bound(twin) < bound(i) + blocks[i].bytes)
          raise(twin, bound(i) + blocks[i].bytes, Why::Twin, i);
      }
      for (size_t n = 0; fits && n < waiting.size();) {
        uint32_t i = waiting[n];
        if (denied[i] == kNone) {
          isWaiting[i] = false;
          waiting[n] = waiting.back();
          waiting.pop_back();
          continue;
        }
        ++n;
        if (lives.ranges[i].begin < range.end && range.begin < lives.ranges[i].end)
          fits = findSupport(i);
      }
    }
    fits = fits && stepsFit();
    for (uint32_t i : changed)
      isChanged[i] = false;
    changed.clear();
    for (auto [i, before] : raised)
      isRaised[i] = false;
    raised.clear();
    return fits;
  }

  /// A block above its denied offset must lie on top of an undecided block.
  bool findSupport(uint32_t i) {
    int64_t minOffset = INT64_MAX;
    work(lives.conflicts[i].size() / 4);
    for (uint32_t other : lives.conflicts[i])
      if (offsets[other] < 0)
        minOffset = std::min(
            minOffset, std::max(bound(other) + blocks[other].bytes, denials[denied[i]].offset + 1));
    if (minOffset <= bound(i))
      return true;
    if (minOffset <= height - blocks[i].bytes) {
      raise(i, minOffset, Why::NeedsSupport, denied[i]);
      return true;
    }
    beginConflict();
    explainSupport(i, denied[i], height - blocks[i].bytes + 1, trail.size());
    endConflict();
    return false;
  }

  /// If no bound rose by more than the spare room, everything still fits. After backtracking there
  /// is more room than `spare` says.
  bool stepsFit() {
    for (auto [i, before] : raised) {
      if (offsets[i] >= 0)
        continue;
      work((lives.ranges[i].end - lives.ranges[i].begin) / 8 + 1);
      for (uint32_t s = lives.ranges[i].begin; s < lives.ranges[i].end; ++s) {
        if (rises[s] == 0)
          dirty.push_back(s);
        rises[s] = std::max(rises[s], bound(i) - before);
      }
    }
    bool fits = true;
    for (uint32_t s : dirty) {
      spare[s] -= rises[s];
      rises[s] = 0;
      if (spare[s] < 0 && fits)
        fits = stepFits(s);
    }
    dirty.clear();
    return fits;
  }

  bool stepFits(uint32_t s) {
    std::vector<uint32_t> &order = at[s];
    auto key = [&](uint32_t i) { return offsets[i] >= 0 ? -1 : bound(i); };
    work(order.size() / 2 + 1);
    // Insertion sort: the order has changed little since the last time.
    for (size_t n = 1; n < order.size(); ++n) {
      uint32_t i = order[n];
      size_t to = n;
      for (int64_t value = key(i); to > 0 && key(order[to - 1]) < value; --to)
        order[to] = order[to - 1];
      order[to] = i;
    }
    int64_t bytes = 0, top = 0;
    for (size_t n = 0; n < order.size() && offsets[order[n]] < 0; ++n) {
      bytes += blocks[order[n]].bytes;
      top = std::max(top, bound(order[n]) + bytes);
      if (top <= height)
        continue;
      beginConflict();
      for (size_t k = 0; k <= n; ++k)
        explain(order[k], height - bytes + 1);
      endConflict();
      return false;
    }
    spare[s] = height - top;
    return true;
  }

  // ---------------------------------------------------------------------------- conflict analysis

  void beginConflict() {
    for (uint32_t i : blamed)
      isBlamed[i] = false;
    blamed.clear();
    toExplain.clear();
    ++explanation;
  }
  void blameDecision(uint32_t i) {
    if (!isBlamed[i])
      blamed.push_back(i);
    isBlamed[i] = true;
  }

  /// The reason why `i` is not below `value`: the first bound that implies it.
  void explain(uint32_t i, int64_t value) {
    // Bounds may have risen in many small steps.
    auto first = std::partition_point(bounds[i].begin(), bounds[i].end() - 1,
                                      [&](const Bound &bound) { return bound.value < value; });
    auto n = static_cast<size_t>(first - bounds[i].begin());
    if (bounds[i][n].why != Why::Always && bounds[i][n].seen != explanation) {
      bounds[i][n].seen = explanation;
      toExplain.push_back({i, n});
    }
  }

  /// The reason why `i` has no support below `value`, as known at a point of the trail.
  void explainSupport(uint32_t i, uint32_t because, int64_t value, size_t when) {
    const Denial &denial = denials[because];
    for (size_t n = denial.begin; n < denial.end; ++n)
      blameDecision(blame[n]);
    explain(i, denial.offset);
    work(lives.conflicts[i].size() / 4);
    for (uint32_t other : lives.conflicts[i]) {
      if (blocks[other].bytes >= value)
        continue;
      if (offsets[other] >= 0 && placedAt[other] < when)
        blameDecision(other);
      else
        explain(other, value - blocks[other].bytes);
    }
  }

  /// Resolves reasons down to decisions.
  void endConflict() {
    while (!toExplain.empty()) {
      auto [i, n] = toExplain.back();
      toExplain.pop_back();
      work(1);
      const Bound reason = bounds[i][n];
      switch (reason.why) {
      case Why::Always:
        break;
      case Why::Above:
        blameDecision(reason.other);
        explain(i, offsets[reason.other] - blocks[i].bytes + 1);
        break;
      case Why::Twin:
        explain(reason.other, reason.value - blocks[reason.other].bytes);
        break;
      case Why::NeedsSupport:
        explainSupport(i, reason.other, reason.value, reason.when);
        break;
      }
    }
  }

  /// Reverses the last decision to blame, with the others as the reason.
  bool reverse() {
    countChoice();
    while (!decisions.empty() && !isBlamed[decisions.back().block])
      takeBack();
    if (decisions.empty())
      return false;
    uint32_t i = decisions.back().block;
    takeBack();
    int64_t offset = bound(i);
    // Its lower bound has reasons as well.
    explain(i, offset);
    endConflict();
    size_t begin = blame.size();
    for (uint32_t other : blamed)
      if (other != i)
        blame.push_back(other);
    deny(i, static_cast<uint32_t>(denials.size()));
    denials.push_back({offset, begin, blame.size()});
    return findSupport(i) && propagate();
  }

  void takeBack() {
    Decision decision = decisions.back();
    decisions.pop_back();
    for (; trail.size() > decision.trail; trail.pop_back()) {
      const Change &change = trail.back();
      switch (change.kind) {
      case Kind::Bound:
        bounds[change.block].pop_back();
        break;
      case Kind::Placed:
        offsets[change.block] = -1;
        break;
      case Kind::Denied:
        setDenied(change.block, change.before);
        break;
      }
    }
    blame.resize(decision.blame);
    denials.erase(denials.begin() + static_cast<std::ptrdiff_t>(decision.denials), denials.end());
  }
};

} // namespace

Fit fitUnder(int64_t height, const std::vector<Piece> &blocks, const Lives &lives,
             const std::vector<uint32_t> &ranks, int64_t nodes, int64_t &steps,
             const std::function<bool()> &isLate) {
  return Search(height, blocks, lives, ranks, nodes, steps, isLate).run();
}

} // namespace mx::memory::detail
