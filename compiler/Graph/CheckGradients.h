// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// Makes all floats f64, in types and constants: differences in f32 say little.
void widenFloats(mlir::ModuleOp module);

/// Puts behind every `mx.grad` of host code a comparison with central differences of its function:
/// an assertion for each number looked at, at most `most` of each tensor. Returns how many
/// gradients are compared. To be run before `Differentiate`.
int compareGradients(mlir::ModuleOp module, int64_t most = 64);

} // namespace mx::graph
