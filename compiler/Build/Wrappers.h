// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the header: each collects its arguments in an array and calls the runtime.
#pragma once
#include "Build/Interface.h"
#include "Build/Tables.h"

namespace mx::build {

/// Adds the functions for composite values (`mnist_net_load`, …) whose tables are `types`, and
/// `mnist_error`.
void addValueFunctions(const Interface &interface, llvm::ArrayRef<llvm::Constant *> types,
                       llvm::Module &module);
/// Adds the function of a graph whose table is `graph`.
void addGraphFunction(const Interface &interface, const Function &function, llvm::Constant *graph,
                      llvm::Module &module);

} // namespace mx::build
