// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes that passes exchange on ops of `mx`.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

/// On `mx.full`: scratch memory. Every element is written before it is read, so the initial
/// contents do not matter. Stacks of loops start as scratch.
inline constexpr llvm::StringLiteral kScratch = "mx.scratch";

/// Rematerialisation. On a loop: `@remat(every=k)`, the number of iterations per saved state of the
/// reverse pass. On a function: `@remat`, the reverse pass saves the arguments of a call and
/// recomputes its body.
inline constexpr llvm::StringLiteral kRemat = "mx.remat";
/// On a loop: an upper bound on its iterations, if its bounds do not show one.
inline constexpr llvm::StringLiteral kIterations = "mx.iterations";

/// On a loop: rematerialisation barrier. Its single iteration recomputes values, so that they need
/// not be saved. It carries its inputs; otherwise CSE would merge the recomputation with the
/// original. On a call in it: the body is inlined there.
inline constexpr llvm::StringLiteral kRecomputed = "mx.recomputed";

/// On `mx.if`: a branch that never runs. It calls the model that the next op, a native call of
/// `mx.summary`, describes.
inline constexpr llvm::StringLiteral kSummary = "mx.summary";

/// On a function: `@amp`, the element type of its matmuls and convolutions and those of its
/// callees. Removed by `Amp`.
inline constexpr llvm::StringLiteral kAmp = "mx.amp";

/// On a graph: `@max_bytes`, the maximum size of its arena in bytes.
inline constexpr llvm::StringLiteral kMaxBytes = "mx.max_bytes";

/// On a graph: its caller uses results before the call ends, so code reports each complete result.
inline constexpr llvm::StringLiteral kAnnounces = "mx.announces";

/// On a graph: the name of the equivalent host function, for comparisons.
inline constexpr llvm::StringLiteral kEager = "mx.eager";

/// On a function: its gradient rule in the reverse pass (`@vjp`). The rule takes the arguments and
/// the gradient of the result, and returns the gradients of the arguments that hold floats.
inline constexpr llvm::StringLiteral kVjp = "mx.vjp";

/// On `mx.grad`: forward mode. The tangents of the arguments in `wrt` follow the arguments; the
/// results are those of the function and the tangent of the first.
inline constexpr llvm::StringLiteral kForward = "mx.forward";

/// On `mx.take` and `mx.scatter_add` in kernels with collapsed axes: the original axis number, as a
/// size that is passed to the kernel. Error messages use it.
inline constexpr llvm::StringLiteral kShownAxis = "mx.shown_axis";

/// On `mx.max`: returns -inf for no elements, where others fail.
inline constexpr llvm::StringLiteral kTotal = "mx.total";

/// On `mx.take`: the index holds class labels; negative ones do not count from the end.
inline constexpr llvm::StringLiteral kLabels = "mx.labels";

inline bool isScratch(mlir::Operation *op) {
  return llvm::isa_and_nonnull<FullOp>(op) && op->hasAttr(kScratch);
}

} // namespace mx::ir
