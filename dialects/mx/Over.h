// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-place kernels: outputs that alias inputs.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

/// On a kernel: for each output the number of the input whose memory it reuses, or -1. The code
/// then has one address for both. Set by ReuseInPlace of compiler/Memory.
inline constexpr llvm::StringLiteral kOver = "mx.over";

/// Empty if all outputs have their own memory.
inline llvm::ArrayRef<int64_t> writesOver(KernelOp kernel) {
  auto over = kernel->getAttrOfType<mlir::DenseI64ArrayAttr>(kOver);
  return over ? over.asArrayRef() : llvm::ArrayRef<int64_t>();
}

} // namespace mx::ir
