// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two steps of a compilation, shared by compileToObject() and CompileQueue.
#pragma once
#include "Target/CodeWriter.h"
#include "Target/Compile.h"
#include "llvm/IR/LLVMContext.h"

namespace mx::target {

/// A module with its context, which must be destroyed after it.
struct Translated {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  double ms = 0;
};

/// Uses the MLIR context; one thread at a time for each.
Result<Translated> translate(mlir::ModuleOp module, const CompileOptions &options);
/// Uses nothing but the module's own LLVM context and `writer`, which is one of `cpu`.
Result<Compiled> generate(Translated translated, CodeWriter &writer, const TargetCpu &cpu,
                          const CompileOptions &options);

} // namespace mx::target
