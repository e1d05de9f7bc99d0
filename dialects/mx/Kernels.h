// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels: their kind, their iteration space, and which inputs an output may overwrite. All three
// follow from the body. They are attributes of `mx.kernel`, so that no pass derives them again; the
// verifier compares them with the body.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

/// In-place promise: the orders of reads and writes that the emitter of a kind keeps. An output may
/// have the memory of an input only where the promise covers all reads of that input.
struct InPlacePromise {
  /// The outputs at one index are stored after all elementwise reads at that index.
  bool byElement = false;
  /// The outputs of a row are stored after all reads of that row by reductions and elementwise ops.
  bool byRow = false;
  /// The output begins as a copy of the op's first operand, and only the replaced part is written.
  bool ofCopy = false;
  constexpr bool operator==(const InPlacePromise &) const = default;
};
constexpr InPlacePromise promiseOf(KernelKind kind) {
  switch (kind) {
  case KernelKind::Elementwise:
  case KernelKind::Matmul:
  case KernelKind::Conv:
    return {.byElement = true};
  case KernelKind::Rows:
    return {.byRow = true};
  case KernelKind::Scatter:
    return {.byElement = true, .ofCopy = true};
  case KernelKind::Move:
    return {.ofCopy = true};
  case KernelKind::Gather:
  case KernelKind::Reduce:
  case KernelKind::Random:
  case KernelKind::Routine:
    break;
  }
  return {};
}

/// Kernels of one matmul or convolution, which are computed in register tiles.
constexpr bool hasTiles(KernelKind kind) {
  return kind == KernelKind::Matmul || kind == KernelKind::Conv;
}

/// Kernels whose loops also compute pointwise outputs that have the shape of the op's result.
constexpr bool hasEpilogue(KernelKind kind) {
  return kind == KernelKind::Reduce || kind == KernelKind::Scatter || hasTiles(kind);
}

/// Whether this is an op without a buffer of its own, computed element by element from others.
bool isPointwise(mlir::Operation *op);
/// The kind of a kernel that computes this op; nothing if no kernel does.
std::optional<KernelKind> kindOf(mlir::Operation *op);
/// Of a reduction: the axes, and the sizes of the operand.
llvm::ArrayRef<int64_t> axesOf(mlir::Operation *reduction);
llvm::ArrayRef<SizeAttr> spaceOf(mlir::Operation *reduction);
/// What one op computes, for cost models: `each` simple ops at each point of `space`. An op that only
/// moves elements has none.
struct OpCost {
  int64_t each = 0;
  llvm::SmallVector<SizeAttr> space;
};
OpCost costOf(mlir::Operation *op);
/// Whether two ops that are not pointwise may be computed in the same loops.
bool mayShareLoops(mlir::Operation *x, mlir::Operation *y);

/// For each output: the inputs whose memory it may have, in order.
using Overwrites = llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 1>;

/// What a body says about its kernel.
struct KernelFacts {
  KernelKind kind = KernelKind::Elementwise;
  llvm::SmallVector<SizeAttr, 4> space;
  Overwrites overwrites;
  /// An op of another kind than those before it: the kernel cannot be emitted.
  mlir::Operation *mixed = nullptr;
};
/// `strided`: some input has strides of its own. Its memory is then never an output's.
KernelFacts factsOf(mlir::Block &body, bool strided);

/// Whether a kernel of these ops reports no error for any input.
bool neverFails(KernelOp kernel);

} // namespace mx::ir
