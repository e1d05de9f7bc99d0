// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Region analysis: which indices of a tensor an `mx.slice` or `mx.update` accesses, as far as that
// is known at compile time (interval analysis of host integers).
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// An interval along one axis: all accessed indices are in [from, to).
struct Span {
  int64_t from, to;
  bool isAll;    ///< and all of these are accessed
  bool isOne;    ///< a single index in each run of the op; the axis is dropped
  int64_t count; ///< indices accessed in each run of the op
};
using Part = llvm::SmallVector<Span, 4>;

/// One span per axis of x. Nothing if a size is not known, if there are steps or new axes, or if an
/// index might be out of bounds.
std::optional<Part> partOf(mlir::ArrayAttr spec, mlir::ValueRange at, ir::TensorType x);
/// The same for ops that then cannot fail: sizes match too.
std::optional<Part> partOf(ir::SliceOp op);
std::optional<Part> partOf(ir::UpdateOp op);
/// A slice of all elements that only reverses axes; that cannot fail either.
bool reversesAxes(ir::SliceOp op);

/// Whether the regions are disjoint.
bool areDisjoint(llvm::ArrayRef<Span> a, llvm::ArrayRef<Span> b);

/// The min and max value of a host integer at its use (interval analysis).
std::optional<std::pair<int64_t, int64_t>> rangeOf(mlir::Value number);

} // namespace mx::graph
