// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From loops over scalar code to the LLVM dialect.
#pragma once
#include "Lowering/Kernels.h"

namespace mx::lowering {

void loadLoweringDialects(mlir::MLIRContext *context);
/// Replaces conversions of f16 and bf16 by integer arithmetic, those of f16 unless the target has
/// instructions for them.
void expandHalfs(mlir::ModuleOp module, bool nativeHalf);
/// Everything to the LLVM dialect.
llvm::LogicalResult lowerToLlvm(mlir::ModuleOp module);
/// No function of the module allocates memory.
llvm::LogicalResult verifyAllocatesNothing(mlir::ModuleOp module);

} // namespace mx::lowering
