// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-place kernels: outputs that alias inputs.
#pragma once
#include "dialects/mx/Marks.h"

namespace mx::ir {

/// kOver of a kernel. Empty if all outputs have their own memory.
inline llvm::ArrayRef<int64_t> writesOver(KernelOp kernel) {
  auto over = kernel->getAttrOfType<mlir::DenseI64ArrayAttr>(kOver);
  return over ? over.asArrayRef() : llvm::ArrayRef<int64_t>();
}

} // namespace mx::ir
