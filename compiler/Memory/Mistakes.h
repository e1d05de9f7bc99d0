// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mistakes that a memory pass could make; see Graph/Mistakes.h.
#pragma once
#include "dialects/mxrt/Mxrt.h"
#include "mlir/IR/BuiltinOps.h"

namespace mx::memory {

bool knowsMistake(llvm::StringRef name);
/// Makes it in a plan that is finished and proved: verify-plan would find it.
void makeMistake(mlir::ModuleOp plan, llvm::StringRef name);

} // namespace mx::memory
