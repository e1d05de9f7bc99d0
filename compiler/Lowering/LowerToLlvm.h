// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From loops over scalar code to the LLVM dialect.
#pragma once
#include "Lowering/Kernels.h"

namespace mx::lowering {

/// The attribute of a loop with what LLVM is to make of it.
constexpr llvm::StringLiteral kLoopAnnotation = "llvm.loop_annotation";

void loadLoweringDialects(mlir::MLIRContext *context);
/// Replaces conversions of f16 and bf16 by integer arithmetic, those of f16 unless the target has
/// instructions for them.
void expandHalfs(mlir::ModuleOp module, bool nativeHalf);
/// Says for long loops how many vectors are to be computed side by side.
void interleaveLoops(mlir::ModuleOp module, unsigned vectorBits);
/// Everything to the LLVM dialect.
llvm::LogicalResult lowerToLlvm(mlir::ModuleOp module);
/// No function of the module allocates memory.
llvm::LogicalResult verifyAllocatesNothing(mlir::ModuleOp module);

} // namespace mx::lowering
