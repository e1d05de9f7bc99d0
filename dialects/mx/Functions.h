// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of the functions in mxrt/functions.def.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

inline bool isCFunction(mlir::Operation *op) {
  return mlir::isa<
#include "dialects/mx/Functions.inc"
      >(op);
}

} // namespace mx::ir
