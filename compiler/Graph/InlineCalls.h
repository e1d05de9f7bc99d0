// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Function inlining into graphs and differentiated functions.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// Inlines all calls in `into`, transitively. Into a graph, only functions that do not need the
/// host. Rejects recursion, and results of more than `limit` ops. With `keepRules`, calls of
/// functions with their own gradient rule (`@vjp`) or with rematerialisation (`@remat`) stay.
llvm::LogicalResult inlineCalls(mlir::FunctionOpInterface into, mlir::SymbolTable &symbols,
                                int64_t limit, bool keepRules = false);

} // namespace mx::graph
