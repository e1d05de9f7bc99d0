// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient checking with central finite differences, for `mxc test --grad`.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// Widens all floats to f64, in types and constants: finite differences in f32 are too inaccurate.
void widenFloats(mlir::ModuleOp module);

/// Inserts a comparison with central differences of the function after every `mx.grad` of host
/// code: one assertion per checked element, at most `maxElements` per tensor. Returns how many
/// gradients are compared. Must run before `Differentiate`.
int compareGradients(mlir::ModuleOp module, int64_t maxElements = 64);

} // namespace mx::graph
