// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "dialects/mx/Mx.h"
#include "mlir/IR/PatternMatch.h"

namespace mx::graph {

/// The part of Simplify that is about mx.if, mx.for and mx.while.
void addRegionPatterns(mlir::RewritePatternSet &patterns);
/// The part that is about slices and updates whose places are known.
void addPartPatterns(mlir::RewritePatternSet &patterns);

/// Carried values that no turn changes are not carried any more, also where the patterns leave them.
void releaseUnchanged(ir::ForOp loop);

} // namespace mx::graph
