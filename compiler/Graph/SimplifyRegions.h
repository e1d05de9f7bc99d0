// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace mx::graph {

/// The part of Simplify that is about mx.if, mx.for and mx.while.
void addRegionPatterns(mlir::RewritePatternSet &patterns);

} // namespace mx::graph
