// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// Puts the bodies of what `into` calls into it, and of what these call. Into a graph, only what
/// needs no host; refuses recursion, and results of more than `limit` ops. With `keepRules`, calls
/// of functions that have a rule of their own (`@vjp`) or run again (`@remat`) stay.
llvm::LogicalResult inlineCalls(mlir::FunctionOpInterface into, mlir::SymbolTable &symbols,
                                int64_t limit, bool keepRules = false);

} // namespace mx::graph
