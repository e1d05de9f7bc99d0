// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of single ops, from the key by which the eager executor asks for them:
//
//   op[(attribute=value,…)] operand,operand -> result
//
// An operand is `dtype:rank` and a letter, `c` dense or `s` strided; rank 0 has no letter. The
// result is dense. What the sizes are follows from the op:
//
//   add f32:2c,f32:2s -> f32:2c       elementwise: the sizes of all operands of rank > 0, up to 4
//   sum f32:3s -> f32:2c              [A, R, B] over axis 1: A, R, B
//   matmul f32:3s,f32:3s -> f32:3c    [G, M, K] @ [G, K, N]: G, M, N, K
//   take f32:3s,i32:1c -> f32:3c      x[A, N, B] at index[I]: A, N, B, I
//   iota -> i32:1c                    N
#pragma once
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace mx::lowering {

/// A module that holds a function `key` around one `mx.kernel`. A malformed key, or one for which
/// the ops' rules give no kernel: null, and `error` says why.
mlir::OwningOpRef<mlir::ModuleOp> buildEagerKernel(mlir::MLIRContext *context, llvm::StringRef key,
                                                   std::string *error = nullptr);

/// The kernel in a module that buildEagerKernel made.
ir::KernelOp kernelOf(mlir::ModuleOp module);

} // namespace mx::lowering
