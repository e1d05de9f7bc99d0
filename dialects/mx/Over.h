// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that write over what they read.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

/// On a kernel: of each output the number of the input whose memory it takes, or -1. The code then
/// knows one address for both. Set by ReuseInPlace of compiler/Memory.
inline constexpr llvm::StringLiteral kOver = "mx.over";

/// Empty if the outputs have memory of their own.
inline llvm::ArrayRef<int64_t> writesOver(KernelOp kernel) {
  auto over = kernel->getAttrOfType<mlir::DenseI64ArrayAttr>(kOver);
  return over ? over.asArrayRef() : llvm::ArrayRef<int64_t>();
}

} // namespace mx::ir
