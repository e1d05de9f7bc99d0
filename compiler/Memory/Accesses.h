// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory effects (reads and writes of buffers) of an op of a program. Liveness plans with them and
// VerifyPlan checks with them; the two share nothing else, so that one detects a bug in the other.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Reads come before writes. A write fills the whole buffer. `touched` holds buffers that the op
/// uses in an unknown way and may fill in part.
struct Accesses {
  llvm::SmallVector<mlir::Value, 4> reads, writes, touched;
};
Accesses accessesOf(mlir::Operation *op);

} // namespace mx::memory
