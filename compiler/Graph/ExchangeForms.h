// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Segment: what a gradient is exchanged as.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// Whether a KVStore of the module may be told to exchange matmuls as factors.
bool offersFactors(mlir::ModuleOp module);

/// Chooses what the averages of a function take in place of dense gradients: rows of tables, and
/// factors of matmuls if `factors`. Calls are inlined before; the function is not cut yet.
void chooseForms(ir::FuncOp function, bool factors);

} // namespace mx::graph
