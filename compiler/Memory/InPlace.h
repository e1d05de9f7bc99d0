// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-place reuse: calls whose kernels may overwrite an input.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// The kernel of a call that could be made in place where its `overwrites` says so. Null for
/// kernels that are in place already.
ir::KernelOp mayBeInPlace(rt::CallOp call, mlir::SymbolTable &symbols);

} // namespace mx::memory
