// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// Unrolls the loops on whose turn an array index depends, so that each index is a constant. Fails,
/// with an error at the op, if one cannot be: no constant trip count, more than `limit` ops, or an
/// index that no loop decides.
llvm::LogicalResult unrollArrayLoops(ir::GraphOp graph, int64_t limit);

/// The same as far as it is possible, and of loops without `@remat`; others stay as they are.
llvm::LogicalResult unrollWhereKnown(mlir::FunctionOpInterface function, int64_t limit);

} // namespace mx::graph
