// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program is told about its arguments, and which outputs are where an input was: a caller
// that gives an argument up for a result (`mut`) gives one memory for both.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// On a program: of each output the input that the caller gives up for it, or -1.
inline constexpr llvm::StringLiteral kGiven = "mxrt.given";
/// On a program: of each input what it is for: parameter, state, gradient or data.
inline constexpr llvm::StringLiteral kKinds = "mxrt.kinds";
/// rt::kOverInputs as numbers, one for each output.
std::vector<int64_t> outputsOver(rt::ProgramOp program);

/// One output in the place of an input: nobody reads the input once the output is written, except
/// the op that first writes it.
struct Donated {
  unsigned input, output;
  mlir::Operation *meets; ///< a call or copy that reads the input and is the first to write the
                          ///< output; null if there is none
};
/// Of those that the caller allows, the ones that are possible as far as the order of ops goes;
/// whether `meets` can write over its input is not looked at.
llvm::SmallVector<Donated> possibleDonations(rt::ProgramOp program);

} // namespace mx::memory
