// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact packing by branch and bound.
//
// Sort the blocks of any packing by offset, and let each in turn fall onto those before it: nothing
// rises. So it is enough to try orders in which offsets never fall, each block on top of the
// highest one that is alive with it. Whatever is still to come then lies above all that is placed
// and alive at the same step, which gives a strong bound: height so far plus what is left, at every
// step.
#include "Memory/Packing.h"
#include <algorithm>
#include <tuple>

namespace mx::memory::detail {
namespace {

class Search {
public:
  Search(const std::vector<Piece> &blocks, const Conflicts &conflicts, Packing best, int64_t nodes)
      : blocks(blocks), conflicts(conflicts), best(std::move(best)), nodesLeft(nodes),
        offsets(blocks.size(), -1), lowest(blocks.size(), 0) {
    // Only steps at which a block begins matter: what is alive together is alive at one of them.
    std::vector<int64_t> steps;
    for (const Piece &block : blocks)
      steps.push_back(block.first);
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    left.assign(steps.size(), 0);
    height.assign(steps.size(), 0);
    for (const Piece &block : blocks) {
      auto first = std::lower_bound(steps.begin(), steps.end(), block.first);
      auto last = std::upper_bound(steps.begin(), steps.end(), block.last);
      ranges.push_back(
          {static_cast<size_t>(first - steps.begin()), static_cast<size_t>(last - steps.begin())});
      for (size_t s = ranges.back().first; s < ranges.back().second; ++s)
        left[s] += block.bytes;
    }
  }

  Packing run() {
    size_t count = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].bytes == 0)
        offsets[i] = 0;
      else
        ++count;
    }
    descend(count, 0, -1);
    best.isProven = nodesLeft > 0;
    return std::move(best);
  }

private:
  const std::vector<Piece> &blocks;
  const Conflicts &conflicts;
  Packing best;
  int64_t nodesLeft;
  std::vector<int64_t> offsets, lowest; ///< lowest: where a block would fall to
  std::vector<int64_t> left, height;    ///< of each step: bytes to be placed, top of what is
  std::vector<std::pair<size_t, size_t>> ranges;

  void descend(size_t count, int64_t floor, int64_t lastPlaced) {
    if (count == 0) {
      best.offsets = offsets;
      best.bytes = *std::max_element(height.begin(), height.end());
      return;
    }
    if (nodesLeft-- <= 0)
      return;
    for (size_t s = 0; s < left.size(); ++s)
      if (left[s] > 0 && std::max(height[s], floor) + left[s] >= best.bytes)
        return;
    std::vector<uint32_t> candidates;
    for (uint32_t i = 0; i < blocks.size(); ++i)
      // An order in which offsets fall is tried elsewhere; so are all but one of those that differ
      // only among blocks at one offset.
      if (offsets[i] < 0 && (lowest[i] > floor || (lowest[i] == floor && i > lastPlaced)))
        candidates.push_back(i);
    std::sort(candidates.begin(), candidates.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(lowest[a], -blocks[a].bytes, a) <
             std::tuple(lowest[b], -blocks[b].bytes, b);
    });
    for (uint32_t i : candidates) {
      place(i, count);
      if (nodesLeft <= 0)
        return;
    }
  }

  void place(uint32_t i, size_t count) {
    int64_t at = lowest[i], top = at + blocks[i].bytes;
    std::vector<std::pair<size_t, int64_t>> heights;
    std::vector<std::pair<uint32_t, int64_t>> lows;
    offsets[i] = at;
    for (size_t s = ranges[i].first; s < ranges[i].second; ++s) {
      heights.push_back({s, height[s]});
      height[s] = top;
      left[s] -= blocks[i].bytes;
    }
    for (uint32_t other : conflicts[i])
      if (offsets[other] < 0 && lowest[other] < top) {
        lows.push_back({other, lowest[other]});
        lowest[other] = top;
      }
    descend(count - 1, at, i);
    for (auto [other, low] : lows)
      lowest[other] = low;
    for (auto [s, before] : heights) {
      height[s] = before;
      left[s] += blocks[i].bytes;
    }
    offsets[i] = -1;
  }
};

} // namespace

Packing packExactly(const std::vector<Piece> &blocks, const Conflicts &conflicts, Packing best,
                    int64_t nodes) {
  return Search(blocks, conflicts, std::move(best), nodes).run();
}

} // namespace mx::memory::detail
