// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffer donation: attributes of a program about its arguments, and the outputs that alias an
// input. A caller that donates an argument for a result (`mut`) passes the same memory for both.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// rt::kOverInputs as numbers, one for each output.
std::vector<int64_t> outputsOver(rt::ProgramOp program);

/// An output written into the memory of an input. The input is not read once the output is written,
/// except by the op that writes it first.
struct Donated {
  unsigned input, output;
  mlir::Operation *meets; ///< a call or copy that reads the input and is the first to write the
                          ///< output; null if there is none
};
/// The subset of the donations allowed by the caller that the order of ops permits. Does not check
/// whether `meets` can write over its input.
llvm::SmallVector<Donated> possibleDonations(rt::ProgramOp program);

} // namespace mx::memory
