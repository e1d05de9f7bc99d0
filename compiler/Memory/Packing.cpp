// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arena packing: the best of several greedy first-fit and best-fit packings, then a search for
// shorter ones. A greedy packing follows from the order alone: each block goes into a gap between
// the blocks before it that are live at the same time.
#include "Memory/PackFit.h"
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

namespace mx::memory {
namespace {

using detail::Fit;
using detail::Lives;
using detail::Verdict;
using Order = std::vector<uint32_t>;
enum class Gap { First, Best };

/// Above these limits the search would need more memory than the plan is worth, and would find
/// little.
constexpr size_t kMaxConflicts = 8'000'000, kMaxSearched = 5'000;
/// Search steps per conflicting pair of blocks; measured.
constexpr int64_t kStepsOfConflict = 9;

Order byFirstStep(const std::vector<Piece> &blocks) {
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(blocks[a].first, a) < std::pair(blocks[b].first, b);
  });
  return order;
}

class Greedy {
public:
  Greedy(const std::vector<Piece> &blocks, const Lives &lives)
      : blocks(blocks), conflicts(lives.conflicts) {}

  /// Stops early, with blocks left unplaced, once the packing exceeds `limit`.
  Packing position(const Order &order, Gap wanted, int64_t limit, int64_t &steps) {
    Packing out;
    out.offsets.assign(blocks.size(), -1);
    for (uint32_t index : order) {
      taken.clear();
      for (uint32_t other : conflicts[index])
        if (out.offsets[other] >= 0)
          taken.push_back({out.offsets[other], out.offsets[other] + blocks[other].bytes});
      steps -= static_cast<int64_t>(conflicts[index].size()) + 1;
      std::sort(taken.begin(), taken.end());
      int64_t top = 0, bestGap = INT64_MAX, at = -1;
      for (auto [begin, end] : taken) {
        int64_t gap = begin - top;
        if (gap >= blocks[index].bytes && gap < bestGap) {
          at = top;
          bestGap = gap;
          if (wanted == Gap::First)
            break;
        }
        top = std::max(top, end);
      }
      out.offsets[index] = at >= 0 ? at : top;
      out.bytes = std::max(out.bytes, out.offsets[index] + blocks[index].bytes);
      if (out.bytes > limit)
        return out;
    }
    return out;
  }

private:
  const std::vector<Piece> &blocks;
  const std::vector<std::vector<uint32_t>> &conflicts;
  std::vector<std::pair<int64_t, int64_t>> taken;
};

/// First-fit sweep over the steps with a free list; for very large numbers of blocks.
Packing sweep(const std::vector<Piece> &blocks) {
  Packing out;
  out.offsets.assign(blocks.size(), 0);
  std::map<int64_t, int64_t> gaps{{0, INT64_MAX}}; // begin, end
  std::multimap<int64_t, uint32_t> ending;
  auto free = [&](int64_t begin, int64_t end) {
    auto next = gaps.lower_bound(begin);
    if (next != gaps.end() && next->first == end) {
      end = next->second;
      next = gaps.erase(next);
    }
    if (next != gaps.begin() && std::prev(next)->second == begin)
      std::prev(next)->second = end;
    else
      gaps.emplace(begin, end);
  };
  for (uint32_t index : byFirstStep(blocks)) {
    const Piece &block = blocks[index];
    if (block.bytes == 0)
      continue;
    while (!ending.empty() && ending.begin()->first < block.first) {
      uint32_t gone = ending.begin()->second;
      free(out.offsets[gone], out.offsets[gone] + blocks[gone].bytes);
      ending.erase(ending.begin());
    }
    auto gap = std::find_if(gaps.begin(), gaps.end(),
                            [&](auto &g) { return g.second - g.first >= block.bytes; });
    auto [begin, end] = *gap;
    gaps.erase(gap);
    if (begin + block.bytes < end)
      gaps.emplace(begin + block.bytes, end);
    out.offsets[index] = begin;
    out.bytes = std::max(out.bytes, begin + block.bytes);
    ending.emplace(block.last, index);
  }
  return out;
}

/// Greedy orders: largest, longest-lived or most contended blocks first. No order is best
/// everywhere.
std::vector<Order> ordersOf(const std::vector<Piece> &blocks, const Lives &lives) {
  std::vector<int64_t> maxLiveOf = lives.maxLive(blocks);
  auto length = [&](uint32_t i) { return double(blocks[i].last - blocks[i].first + 1); };
  auto width = [&](uint32_t i) { return double(lives.ranges[i].end - lives.ranges[i].begin); };
  auto bytes = [&](uint32_t i) { return double(blocks[i].bytes); };
  auto alive = [&](uint32_t i) { return double(maxLiveOf[i]); };
  auto area = [&](uint32_t i) { return bytes(i) * width(i); };
  using Key = std::array<double, 3>;
  std::vector<std::function<Key(uint32_t)>> keys{
      [&](uint32_t i) {
        return Key{alive(i), width(i), area(i)};
      },
      [&](uint32_t i) {
        return Key{width(i), area(i)};
      },
      [&](uint32_t i) {
        return Key{length(i), bytes(i)};
      },
      [&](uint32_t i) {
        return Key{alive(i), area(i), width(i)};
      },
      [&](uint32_t i) { return Key{area(i)}; },
      [&](uint32_t i) {
        return Key{bytes(i), width(i)};
      },
  };
  std::vector<Order> out;
  for (auto &key : keys) {
    std::vector<Key> values;
    for (uint32_t i = 0; i < blocks.size(); ++i)
      values.push_back(key(i));
    // Breaks ties by first step, so that every machine finds the same plan.
    Order order = byFirstStep(blocks);
    std::vector<uint32_t> rank(order.size());
    for (uint32_t n = 0; n < order.size(); ++n)
      rank[order[n]] = n;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return values[a] != values[b] ? values[a] > values[b] : rank[a] < rank[b];
    });
    out.push_back(std::move(order));
  }
  return out;
}

/// Tie-breaking ranks for the search: longest lifetime, largest area or most bytes first.
/// Randomised after the first three rounds.
Order ranksOf(const std::vector<Piece> &blocks, const Lives &lives, size_t round,
              std::mt19937_64 &random) {
  std::vector<double> values;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    double chance = round < 3 ? 1 : 1 + 0.5 * double(random() % 1024) / 1024;
    double width = double(lives.ranges[i].end - lives.ranges[i].begin);
    double bytes = double(blocks[i].bytes);
    values.push_back(chance * (round % 3 == 0 ? width : round % 3 == 1 ? width * bytes : bytes));
  }
  Order order(blocks.size()), ranks(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(-values[a], -blocks[a].bytes, a) <
           std::tuple(-values[b], -blocks[b].bytes, b);
  });
  for (uint32_t n = 0; n < order.size(); ++n)
    ranks[order[n]] = n;
  return ranks;
}

/// Restart schedule 1 2 1 4 1 2 1 8 ...: successful searches mostly end soon, but some take long.
int64_t longerNowAndThen(size_t round) {
  int64_t out = 1;
  for (size_t every = 2; (round + 1) % every == 0; every *= 2)
    out *= 2;
  return out;
}

/// Finds shorter packings by searching below heights between the lower bound and the best packing
/// so far. A proof that a height is infeasible raises the lower bound, so in the end the two meet.
class Shorten {
public:
  Shorten(const std::vector<Piece> &blocks, const Lives &lives, Packing &best, int64_t bound,
          int64_t enough, int64_t target)
      : blocks(blocks), lives(lives), best(best), bound(bound), target(target), enough(enough) {
    // All offsets are sums of block lengths.
    for (const Piece &block : blocks)
      unit = std::gcd(unit, block.bytes);
    auto count = static_cast<int64_t>(blocks.size());
    descent = count * count / 4;
    for (const std::vector<uint32_t> &others : lives.conflicts)
      descent += kStepsOfConflict * static_cast<int64_t>(others.size());
  }

  bool isProven() const { return best.bytes <= bound; }

  void run(int64_t steps, const std::function<bool()> &isLate) {
    std::mt19937_64 random(1);
    for (size_t round = 0;; ++round) {
      Order ranks = ranksOf(blocks, lives, round, random);
      int64_t nodes = longerNowAndThen(round) * 3 * int64_t(blocks.size());
      // Below a small height a search fails early; below a large one it succeeds more often.
      for (int tenths : target > 0 ? std::vector{0} : std::vector{5, 2, 8, 0})
        for (bool again = true; again;) {
          // The remaining steps would not suffice to give each block an offset.
          if (isDone() || steps <= descent / 2 || (isLate && isLate()))
            return;
          int64_t height =
              target > 0 ? std::max(bound, target) : bound + (best.bytes - bound) / 10 * tenths;
          again = attempt(height / unit * unit, ranks, nodes, steps, isLate);
        }
    }
  }

private:
  const std::vector<Piece> &blocks;
  const Lives &lives;
  Packing &best;
  int64_t bound, target, enough, unit = 0;
  int64_t descent; ///< approximate steps of a search that puts each block once

  bool isDone() const { return best.bytes <= std::max(bound, enough); }

  bool attempt(int64_t height, const Order &ranks, int64_t limit, int64_t &steps,
               const std::function<bool()> &isLate) {
    // One height may use only a share of the remaining steps, but a share too small to reach
    // each block is useless.
    int64_t share = std::min(std::max(steps / 6, 2 * descent), steps), left = share;
    Fit fit = detail::fitUnder(height, blocks, lives, ranks, limit, left, isLate);
    steps -= share - left;
    if (fit.verdict == Verdict::Impossible)
      bound = height + unit;
    if (fit.verdict != Verdict::Fits)
      return false;
    best.offsets = std::move(fit.offsets);
    best.bytes = 0;
    for (size_t i = 0; i < blocks.size(); ++i)
      best.bytes = std::max(best.bytes, best.offsets[i] + blocks[i].bytes);
    return true;
  }
};

} // namespace

int64_t liveBound(const std::vector<Piece> &blocks) {
  std::map<int64_t, int64_t> changes;
  for (const Piece &block : blocks) {
    changes[block.first] += block.bytes;
    changes[block.last + 1] -= block.bytes;
  }
  int64_t now = 0, peak = 0;
  for (auto &[step, change] : changes)
    peak = std::max(peak, now += change);
  return peak;
}

Packing packApart(const std::vector<Piece> &blocks) {
  Packing out;
  for (const Piece &block : blocks) {
    out.offsets.push_back(out.bytes);
    out.bytes += block.bytes;
  }
  return out;
}

Packing pack(const std::vector<Piece> &blocks, const PackOptions &options) {
  int64_t bound = liveBound(blocks);
  int64_t enough =
      std::max(bound + static_cast<int64_t>(options.enough * double(bound)), options.target);
  Packing best = sweep(blocks);
  Lives lives(blocks);
  int64_t steps = options.effort;
  if (best.bytes > bound && lives.findConflicts(kMaxConflicts)) {
    Greedy greedy(blocks, lives);
    std::vector<Order> orders = ordersOf(blocks, lives);
    bool isSearched = blocks.size() <= kMaxSearched;
    // The search beats the greedy orders, but needs a first solution.
    int64_t kept = options.effort / 2;
    for (Gap wanted : {Gap::First, Gap::Best})
      for (const Order &order : orders)
        if (best.bytes > bound && steps > kept)
          if (Packing next = greedy.position(order, wanted, best.bytes, steps);
              next.bytes < best.bytes)
            best = std::move(next);
    if (isSearched) {
      Shorten shorten(blocks, lives, best, bound, enough, options.target);
      shorten.run(steps, options.isLate);
      if (shorten.isProven())
        bound = best.bytes;
    }
  }
  best.isProven = best.bytes == bound;
  return best;
}

} // namespace mx::memory
