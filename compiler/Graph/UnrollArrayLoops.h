// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Full unrolling of loops that index arrays.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// Unrolls the loops that an array index depends on, so that each index is a constant. Fails, with
/// an error at the op, if that is impossible: no constant trip count, more than `limit` ops, or an
/// index that does not depend on a loop.
llvm::LogicalResult unrollArrayLoops(ir::GraphOp graph, int64_t limit);

/// The same as far as it is possible, and only for loops without `@remat`; others stay as they are.
llvm::LogicalResult unrollWhereKnown(mlir::FunctionOpInterface function, int64_t limit);

} // namespace mx::graph
