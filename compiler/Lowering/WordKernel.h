// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The innermost part of products by words. A word has 32 bits, which are two factors of bf16 (or
// would be four of int8): what the CPU's instructions for such products take at a time. The part is
// a function, so that what it needs around it (tiles are configured before and released after) is
// there once for thousands of instructions:
//
//   words(left, leftApart, right, rightApart, sums, sumsApart, steps, groups, isFirst)
//
//   left   rows of words in the order of k, `leftApart` bytes from one to the next
//   right  of each group of 32 columns: for each word of k, those of the columns, 128 bytes;
//          groups are `rightApart` bytes apart
//   sums   rows of f32, `sumsApart` bytes apart; what is there is added to, unless `isFirst`
//   steps  of k, 16 words each
//
// How a sum is computed is the instructions' business: Intel's manual says it, and so does the code
// that imitates them on other CPUs. Denormal factors count as 0, and so do denormal sums.
//   Tiles (TDPBF16PS): in each step even and odd factors by themselves, one product after the
//   other, both from
//     0; then their sum is added to the sum until there.
//   Dots (VDPBF16PS): the odd factors of a word, then the even ones, are added to the sum until
//   there.
// Either way it is the order of k that decides, from the first step on, and never where a row or
// column is in a block.
#pragma once
#include "Lowering/KernelEmitter.h"

namespace mx::lowering {

struct WordKernel {
  static constexpr int64_t kWords = 16;   ///< of a step
  static constexpr int64_t kColumns = 32; ///< of a group
  static constexpr int64_t kBytes = 64;   ///< of 16 words, in all operands
  /// Rows that are computed at once: one tile, or two above each other.
  static constexpr int64_t kTileRows = 16, kMostRows = 2 * kTileRows;
};

/// The function for this many rows, one or two tiles of them; made when it is asked for first.
mlir::LLVM::LLVMFuncOp wordKernel(KernelEmitter &e, int64_t rows);

} // namespace mx::lowering
