// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes that passes leave for each other on ops of `mx`.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

/// On `mx.full`: every element is written before it is read, so what is there at first matters to
/// nobody. Stacks of loops begin so.
inline constexpr llvm::StringLiteral kScratch = "mx.scratch";

/// On a loop: `@remat(every=k)`, the number of turns of which the reverse pass keeps one state. On a
/// function: `@remat`, the reverse pass keeps what a call was given and runs its body again.
inline constexpr llvm::StringLiteral kRemat = "mx.remat";
/// On a loop: a bound on its turns, if its ends do not show one.
inline constexpr llvm::StringLiteral kTurns = "mx.turns";

/// On a loop: its one turn computes what was computed before, so that it need not be kept. What it
/// uses is carried, or the two would be found equal. On a call in it: the body goes there.
inline constexpr llvm::StringLiteral kAgain = "mx.again";

/// On `mx.if`: a branch that never runs, which calls the model that the next op, a native call of
/// `mx.summary`, describes.
inline constexpr llvm::StringLiteral kSummary = "mx.summary";

/// On a function: `@amp`, the element type that its products and those of what it calls compute in.
/// Gone after `Amp`.
inline constexpr llvm::StringLiteral kAmp = "mx.amp";

/// On a graph: `@max_bytes`, the most bytes that its arena may have.
inline constexpr llvm::StringLiteral kMaxBytes = "mx.max_bytes";

/// On a graph: the name of the function of the host that does the same, for comparisons.
inline constexpr llvm::StringLiteral kEager = "mx.eager";

/// On a function: the function that is its rule in the reverse pass (`@vjp`). It takes the
/// arguments and the gradient of the result, and gives those of the arguments that have floats.
inline constexpr llvm::StringLiteral kVjp = "mx.vjp";

/// On `mx.grad`: in forward mode. The tangents of the arguments in `wrt` follow the arguments; the
/// results are those of the function and the tangent of the first.
inline constexpr llvm::StringLiteral kForward = "mx.forward";

/// On `mx.take` and `mx.scatter_add` of kernels in which axes were taken together: the number of
/// their axis before that, as a size that the kernel gets. Errors speak of it.
inline constexpr llvm::StringLiteral kShownAxis = "mx.shown_axis";

inline bool isScratch(mlir::Operation *op) {
  return llvm::isa_and_nonnull<FullOp>(op) && op->hasAttr(kScratch);
}

} // namespace mx::ir
