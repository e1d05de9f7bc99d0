// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fault injection: bugs that a memory pass could have; see Graph/Mistakes.h.
#pragma once
#include "dialects/mxrt/Mxrt.h"
#include "mlir/IR/BuiltinOps.h"

namespace mx::memory {

bool knowsMistake(llvm::StringRef name);
/// Injects the bug into a finished, verified plan: verify-plan must find it.
void makeMistake(mlir::ModuleOp plan, llvm::StringRef name);

} // namespace mx::memory
