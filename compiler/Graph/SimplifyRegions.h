// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pattern sets of Simplify.
#pragma once
#include "dialects/mx/Mx.h"
#include "mlir/IR/PatternMatch.h"

namespace mx::graph {

/// Patterns on mx.if, mx.for and mx.while.
void addRegionPatterns(mlir::RewritePatternSet &patterns);
/// Patterns on slices and updates with known regions.
void addPartPatterns(mlir::RewritePatternSet &patterns);
/// Patterns on gradients of tables (embeddings).
void addTablePatterns(mlir::RewritePatternSet &patterns);

/// Removes loop-invariant carried values, also from loops that the patterns leave alone
/// (`mx.recomputed`).
void releaseUnchanged(ir::ForOp loop);

} // namespace mx::graph
