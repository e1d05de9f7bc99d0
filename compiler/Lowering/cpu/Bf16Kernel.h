// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16 GEMM microkernel for AMX tiles (TDPBF16PS) and AVX512-BF16 (VDPBF16PS). A word has 32 bits:
// two bf16 factors (or four int8 ones, if these were added), the unit of these instructions. The
// microkernel is a function, so its setup (tiles are configured before and released after) runs
// once for thousands of instructions:
//
//   bf16gemm(left, leftApart, right, rightApart, sums, sumsApart, steps, groups, isFirst)
//
//   left   rows of words in the order of k, `leftApart` bytes from one to the next
//   right  of each group of 32 columns: for each word of k, those of the columns, 128 bytes;
//          groups are `rightApart` bytes apart
//   sums   rows of f32, `sumsApart` bytes apart; accumulated into, unless `isFirst`
//   steps  of k, 16 words each
//
// The instructions define how a sum is computed: see Intel's manual, and the code that emulates
// them on other CPUs. Denormal factors count as 0, and so do denormal sums.
//   AMX (TDPBF16PS): in each step, even and odd factors are accumulated separately, one after the
//   other, both from 0; then their sum is added to the accumulator.
//   AVX512-BF16 (VDPBF16PS): the odd factors of a word, then the even ones, are added to the
//   accumulator.
// Either way the order of k alone decides, from the first step on, and never the position of a row
// or column in a block.
#pragma once
#include "Lowering/kernels/KernelEmitter.h"

namespace mx::lowering {

struct Bf16Kernel {
  static constexpr int64_t kWords = 16;   ///< of a step
  static constexpr int64_t kColumns = 32; ///< of a group
  static constexpr int64_t kBytes = 64;   ///< of 16 words, in all operands
  /// Rows that are computed at once: one tile, or two stacked tiles.
  static constexpr int64_t kTileRows = 16, kMaxRows = 2 * kTileRows;
};

/// Returns the function for this many rows, one or two tiles of them; created on first use.
mlir::LLVM::LLVMFuncOp bf16Kernel(KernelEmitter &e, int64_t rows);

} // namespace mx::lowering
