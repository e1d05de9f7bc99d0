// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers loops over scalar code to the LLVM dialect.
#pragma once
#include "Lowering/Kernels.h"

namespace mx::lowering {

/// The attribute of a loop with hints for LLVM's loop passes.
constexpr llvm::StringLiteral kLoopAnnotation = "llvm.loop_annotation";

void loadLoweringDialects(mlir::MLIRContext *context);
/// Expands conversions of f16 and bf16 to integer arithmetic, those of f16 unless the target has
/// instructions for them.
void expandHalfs(mlir::ModuleOp module, bool nativeHalf);
/// Annotates long loops with the number of vectors to interleave.
void interleaveLoops(mlir::ModuleOp module, unsigned vectorBits);
/// Converts everything to the LLVM dialect.
llvm::LogicalResult lowerToLlvm(mlir::ModuleOp module);
/// Verifies that no function of the module allocates memory.
llvm::LogicalResult verifyAllocatesNothing(mlir::ModuleOp module);

} // namespace mx::lowering
