// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape-generic kernels of single ops for the eager executor, built from their key:
//
//   op[(attribute=value,…)] operand,operand -> result
//
// An operand is `dtype:rank` and a letter, `c` dense or `s` strided; rank 0 has no letter. The
// result is dense. mxrt/eager.def has the operands of each op and the sizes that a call passes.
#pragma once
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace mx::lowering {

/// Returns a module that holds a function `key` around one `mx.kernel`. For a malformed key, or one
/// for which the ops' rules give no kernel: null, and `error` holds the reason.
mlir::OwningOpRef<mlir::ModuleOp> buildEagerKernel(mlir::MLIRContext *context, llvm::StringRef key,
                                                   std::string *error = nullptr);

/// The kernel in a module made by buildEagerKernel.
ir::KernelOp kernelOf(mlir::ModuleOp module);

} // namespace mx::lowering
