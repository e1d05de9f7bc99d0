// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether a set of blocks fits below a height, with a depth-first search that can also
// prove that it does not.
#pragma once
#include "Memory/Packing.h"

namespace mx::memory::detail {

/// Conflict graph: which blocks are live at the same time, and when. Steps are renumbered. Only
/// steps at which a block begins and after which one ends matter, since blocks that are live at the
/// same time share one of those.
struct Lives {
  explicit Lives(const std::vector<Piece> &blocks);
  struct Range {
    uint32_t begin, end;
  };
  std::vector<Range> ranges;                    ///< of each block, in steps
  std::vector<std::vector<uint32_t>> at;        ///< blocks of each step
  std::vector<std::vector<uint32_t>> conflicts; ///< of each block; empty until findConflicts()
  std::vector<uint32_t> byBegin;                ///< all blocks with a nonzero length
  /// False if there are more than `maxPairs` pairs; `conflicts` is then empty.
  bool findConflicts(std::size_t maxPairs);
  /// For each block, the max of the live bytes over its steps.
  std::vector<int64_t> maxLive(const std::vector<Piece> &blocks) const;
};

enum class Verdict : uint8_t { Fits, Impossible, GaveUp };

struct Fit {
  Verdict verdict = Verdict::GaveUp;
  std::vector<int64_t> offsets; ///< valid if it fits
};

/// Breaks ties between blocks with equal bounds by `ranks`. Subtracts its work from `steps`. Gives
/// up when `steps` is used up, when it is late, or after `nodes` choices; in the best case one
/// choice per block is enough.
Fit fitUnder(int64_t height, const std::vector<Piece> &blocks, const Lives &lives,
             const std::vector<uint32_t> &ranks, int64_t nodes, int64_t &steps,
             const std::function<bool()> &isLate);

} // namespace mx::memory::detail
