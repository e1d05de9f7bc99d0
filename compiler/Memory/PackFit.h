// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Does a set of blocks fit under a height? A depth-first search that can prove that it does not.
#pragma once
#include "Memory/Packing.h"

namespace mx::memory::detail {

/// Who is alive together with whom, and when. Steps are numbered anew: only those at which a block
/// begins and after which one ends matter, since what is alive together is alive at one of them.
struct Lives {
  explicit Lives(const std::vector<Piece> &blocks);
  struct Range {
    uint32_t begin, end;
  };
  std::vector<Range> ranges;                    ///< of each block, in steps
  std::vector<std::vector<uint32_t>> at;        ///< blocks of each step
  std::vector<std::vector<uint32_t>> conflicts; ///< of each block; empty unless they were found
  std::vector<uint32_t> byBegin;                ///< all blocks of some length
  /// False if there are more than `most` pairs; then `conflicts` is empty.
  bool findConflicts(std::size_t most);
  /// The most bytes at one of the steps of a block.
  std::vector<int64_t> mostAlive(const std::vector<Piece> &blocks) const;
};

enum class Verdict : uint8_t { Fits, Impossible, GaveUp };

struct Fit {
  Verdict verdict = Verdict::GaveUp;
  std::vector<int64_t> offsets; ///< if it fits
};

/// Tries blocks at equal heights in the order of `ranks`. Takes away what it did from `steps`, and
/// gives up when none are left, when it is late, or after so many choices: with luck one for each
/// block is enough.
Fit fitUnder(int64_t height, const std::vector<Piece> &blocks, const Lives &lives,
             const std::vector<uint32_t> &ranks, int64_t nodes, int64_t &steps,
             const std::function<bool()> &isLate);

} // namespace mx::memory::detail
