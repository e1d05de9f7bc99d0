// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which places of a tensor an `mx.slice` or `mx.update` names, as far as that is known.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// Along one axis: all places named are in [from, to).
struct Span {
  int64_t from, to;
  bool isAll;    ///< and all of these are
  bool isOne;    ///< one place of them, in each run of the op; the axis goes
  int64_t count; ///< places named in each run of the op
};
using Part = llvm::SmallVector<Span, 4>;

/// By axis of x. Nothing if a size is not known, if there are steps or new axes, or if a place
/// might be outside.
std::optional<Part> partOf(mlir::ArrayAttr spec, mlir::ValueRange at, ir::TensorType x);
/// The same of ops that cannot fail then: sizes fit too.
std::optional<Part> partOf(ir::SliceOp op);
std::optional<Part> partOf(ir::UpdateOp op);
/// All elements, some axes of which are read backwards; that cannot fail either.
bool turnsAxes(ir::SliceOp op);

/// Whether no place is in both.
bool areApart(llvm::ArrayRef<Span> a, llvm::ArrayRef<Span> b);

/// The least and the largest number that a number of the host can be, where it is used.
std::optional<std::pair<int64_t, int64_t>> rangeOf(mlir::Value number);

} // namespace mx::graph
