// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes beside those that ops declare: what the front end tells passes, and passes exchange.
// Only headers of the dialects spell their names (tools/dev/check-sources.py).
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

// ---- of graphs and functions, set by IRGen

/// On an argument: its name in the source.
inline constexpr llvm::StringLiteral kName = "mx.name";
/// On an argument: `mut`, the new value is the result of the same number.
inline constexpr llvm::StringLiteral kMut = "mx.mut";
/// On a graph: its sizes that are open at run time, each with its bound.
inline constexpr llvm::StringLiteral kDyn = "mx.dyn";
/// On the first op of a statement.
inline constexpr llvm::StringLiteral kStatement = "mx.statement";
/// On a call: its callee exchanges values with other workers.
inline constexpr llvm::StringLiteral kExchanges = "mx.exchanges";

// ---- of gradients

/// On a placeholder of the reverse pass: the number of the leaf of a carried value it stands for.
inline constexpr llvm::StringLiteral kLeaf = "mx.leaf";

// ---- of kernels

/// On an `mx.slice` or `mx.reshape` until it is in a kernel: it is a view and is not copied.
inline constexpr llvm::StringLiteral kView = "mx.view";
/// On a kernel: for each output the number of the input whose memory it reuses, or -1. The code
/// then has one address for both. Set by ReuseInPlace of compiler/Memory.
inline constexpr llvm::StringLiteral kOver = "mx.over";

// ---- of memory

/// On an argument of a graph: what it holds, parameter, state, gradient or data.
inline constexpr llvm::StringLiteral kUse = "mx.use";

// ---- of other ops

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
inline constexpr llvm::StringLiteral kSummary = "mx.summarised";

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
