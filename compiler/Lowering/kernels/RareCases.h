// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slow paths for rare arguments, in loops that must be vectorised.
//
// A branch in the body of a loop would prevent vectorisation. So the test for rare arguments is in
// a function of its own, with vector versions that LLVM's loop vectoriser knows (vector function
// ABI variants): they take the slow path only if some lane needs it. All versions are inlined after
// vectorisation (kMiniPipeline). A lane has the same bits whatever its neighbours are.
#pragma once
#include "Lowering/kernels/KernelEmitter.h"
#include "Lowering/kernels/Real.h"

namespace mx::lowering {

/// Evaluation of rare arguments: lane by lane, or all lanes of the vector at once.
enum class Rarely { Lanes, Vectors };

/// `usual`, or for rare arguments `slow` of them. Arguments and result have one type, f32 or f64.
/// `name` identifies both functions in this kernel.
Value unlessRare(KernelEmitter &e, StringRef name, Value usual, ArrayRef<Value> arguments,
                 llvm::function_ref<Value(Real &, ArrayRef<Value>)> isRare,
                 llvm::function_ref<Value(Real &, ArrayRef<Value>)> slow,
                 Rarely how = Rarely::Lanes);

/// Whether a call is one of these; vectorised loops may contain it.
bool isRareCall(mlir::Operation *op);

} // namespace mx::lowering
