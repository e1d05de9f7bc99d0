// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fast packing: the best of several greedy orders, then small changes to that order. A greedy
// packing is made from an order alone: each block in turn goes to a gap between those before it
// that are alive with it.
#include "Memory/Packing.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace mx::memory {
namespace {

using detail::Conflicts;
using Order = std::vector<uint32_t>;
enum class Fit { First, Best };

/// Past this the pairs would need more memory than the plan is worth.
constexpr size_t kMaxConflicts = 16'000'000;

Order byFirstStep(const std::vector<Piece> &blocks) {
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(blocks[a].first, a) < std::pair(blocks[b].first, b);
  });
  return order;
}

/// False if there are too many.
bool findConflicts(const std::vector<Piece> &blocks, Conflicts &out) {
  out.assign(blocks.size(), {});
  size_t pairs = 0;
  Order alive;
  for (uint32_t next : byFirstStep(blocks)) {
    if (blocks[next].bytes == 0)
      continue;
    std::erase_if(alive, [&](uint32_t i) { return blocks[i].last < blocks[next].first; });
    if ((pairs += alive.size()) > kMaxConflicts)
      return false;
    for (uint32_t other : alive) {
      out[next].push_back(other);
      out[other].push_back(next);
    }
    alive.push_back(next);
  }
  return true;
}

class Greedy {
public:
  Greedy(const std::vector<Piece> &blocks, const Conflicts &conflicts)
      : blocks(blocks), conflicts(conflicts) {}

  int64_t steps = 0;

  /// Gives up, with nothing placed at the end, once it is longer than `limit`.
  Packing place(const Order &order, Fit fit, int64_t limit) {
    Packing out;
    out.offsets.assign(blocks.size(), -1);
    for (uint32_t index : order) {
      taken.clear();
      for (uint32_t other : conflicts[index])
        if (out.offsets[other] >= 0)
          taken.push_back({out.offsets[other], out.offsets[other] + blocks[other].bytes});
      steps += static_cast<int64_t>(conflicts[index].size()) + 1;
      std::sort(taken.begin(), taken.end());
      int64_t top = 0, bestGap = INT64_MAX, at = -1;
      for (auto [begin, end] : taken) {
        int64_t gap = begin - top;
        if (gap >= blocks[index].bytes && gap < bestGap) {
          at = top;
          bestGap = gap;
          if (fit == Fit::First)
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
  const Conflicts &conflicts;
  std::vector<std::pair<int64_t, int64_t>> taken;
};

/// One pass over the steps with a list of gaps; for very many blocks at once.
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

/// Numbers that look random and are the same every time.
struct Draw {
  uint64_t state = 0x9E3779B97F4A7C15u;
  uint64_t operator()(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
  }
};

/// What ends at the top goes to an earlier place in the order, or two places are exchanged.
Order changed(const Order &order, const std::vector<Piece> &blocks, const Packing &now,
              Draw &draw) {
  Order out = order;
  std::vector<size_t> highest;
  for (size_t i = 0; i < order.size(); ++i)
    if (now.offsets[order[i]] + blocks[order[i]].bytes == now.bytes)
      highest.push_back(i);
  size_t from = draw(4) && !highest.empty() ? highest[draw(highest.size())] : draw(order.size());
  size_t to = draw(from + 1);
  if (draw(3))
    std::rotate(out.begin() + static_cast<std::ptrdiff_t>(to),
                out.begin() + static_cast<std::ptrdiff_t>(from),
                out.begin() + static_cast<std::ptrdiff_t>(from) + 1);
  else
    std::swap(out[to], out[from]);
  return out;
}

} // namespace

int64_t liveBound(const std::vector<Piece> &blocks) {
  std::map<int64_t, int64_t> changes;
  for (const Piece &block : blocks) {
    changes[block.first] += block.bytes;
    changes[block.last + 1] -= block.bytes;
  }
  int64_t now = 0, most = 0;
  for (auto &[step, change] : changes)
    most = std::max(most, now += change);
  return most;
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
  Packing best = sweep(blocks);
  best.isProven = best.bytes == bound;
  Conflicts conflicts;
  if (best.isProven || !findConflicts(blocks, conflicts))
    return best;

  // Long and large things first, or first come first served: none is best everywhere.
  auto length = [&](uint32_t i) { return blocks[i].last - blocks[i].first + 1; };
  auto area = [&](uint32_t i) {
    return static_cast<double>(blocks[i].bytes) * static_cast<double>(length(i));
  };
  std::vector<Order> orders(4, byFirstStep(blocks));
  // Equals in the order of their first steps, so that every machine finds the same plan.
  auto earlier = [&](uint32_t a, uint32_t b) {
    return std::pair(blocks[a].first, a) < std::pair(blocks[b].first, b);
  };
  auto sortBy = [&](Order &order, auto key) {
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return key(a) != key(b) ? key(a) > key(b) : earlier(a, b);
    });
  };
  sortBy(orders[1], [&](uint32_t i) { return std::pair(blocks[i].bytes, length(i)); });
  sortBy(orders[2], area);
  sortBy(orders[3], [&](uint32_t i) { return std::pair(length(i), blocks[i].bytes); });
  Greedy greedy(blocks, conflicts);
  Order around = orders[0];
  Fit fit = Fit::First;
  for (const Order &order : orders)
    for (Fit with : {Fit::First, Fit::Best}) {
      if (best.bytes == bound || greedy.steps > options.effort)
        break;
      Packing next = greedy.place(order, with, best.bytes);
      if (next.bytes > best.bytes)
        continue;
      best = std::move(next);
      around = order;
      fit = with;
    }
  Draw draw;
  Packing now = best;
  while (best.bytes > bound && greedy.steps < options.effort) {
    Order tried = changed(around, blocks, now, draw);
    Packing next = greedy.place(tried, fit, now.bytes);
    greedy.steps += static_cast<int64_t>(blocks.size());
    if (next.bytes > now.bytes)
      continue;
    around = std::move(tried);
    now = std::move(next);
    if (now.bytes < best.bytes)
      best = now;
  }
  best.isProven = best.bytes == bound;
  if (!best.isProven && options.exactNodes > 0 && blocks.size() <= kExactBlocks)
    best = detail::packExactly(blocks, conflicts, std::move(best), options.exactNodes);
  return best;
}

} // namespace mx::memory
