// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zero tensors: initial accumulators and buffers that are filled later.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

/// A device tensor of zeros, of floats, integers or bools. Its scalar is on the host, except for
/// 16-bit floats, which the host does not have.
inline mlir::Value makeZeros(mlir::OpBuilder &b, mlir::Location loc, ir::TensorType type) {
  mlir::Type element = type.getElement();
  bool small = element.isF16() || element.isBF16();
  auto one = small ? ir::TensorType::get(b.getContext(), element, llvm::ArrayRef<ir::SizeAttr>())
                   : ir::TensorType::host(element);
  mlir::TypedAttr zero = mlir::isa<mlir::FloatType>(element)
                             ? mlir::TypedAttr(b.getFloatAttr(element, 0))
                             : mlir::TypedAttr(b.getIntegerAttr(element, 0));
  return ir::FullOp::create(b, loc, type, ir::ConstantOp::create(b, loc, one, zero));
}

} // namespace mx::graph
