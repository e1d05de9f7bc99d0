// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations of the runtime functions that compiled code calls, from the single table of the ABI
// (runtime/include/mxrt/abi.def).
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mx::lowering {

/// The type of a function of abi.def; null if the table has no such row.
mlir::LLVM::LLVMFunctionType runtimeFunctionType(mlir::MLIRContext *context, llvm::StringRef name);

/// Declares runtime functions in one module, each on first use.
class RuntimeFunctions {
public:
  explicit RuntimeFunctions(mlir::ModuleOp module) : module(module) {}

  /// `name` must be a row of abi.def.
  mlir::LLVM::LLVMFuncOp get(llvm::StringRef name);

private:
  mlir::ModuleOp module;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> declared;
};

/// The C library's `name` of f64, or `namef` of f32. Marked pure: errno is not read.
mlir::LLVM::LLVMFuncOp mathFunction(mlir::ModuleOp module, llvm::StringRef name, mlir::Type type,
                                    size_t arguments);

} // namespace mx::lowering
