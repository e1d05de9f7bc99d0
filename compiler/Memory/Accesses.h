// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an op of a program does with memory. Liveness plans by it and VerifyPlan checks by it; they
// share nothing else, so that a fault in one is seen by the other.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Reads come before writes. A write fills the whole buffer; what the op was only seen to use, and
/// may fill in part, is in `touched`.
struct Accesses {
  llvm::SmallVector<mlir::Value, 4> reads, writes, touched;
};
Accesses accessesOf(mlir::Operation *op);

} // namespace mx::memory
