// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of convolutions and windows. Only constant sizes are compared here; the checker
// verified symbolic ones.
#include "dialects/mx/Mx.h"

using namespace mlir;

namespace mx::ir {
namespace {

/// Whether both are constants and differ.
bool differ(SizeAttr x, SizeAttr y) { return x.constant() && y.constant() && x != y; }

LogicalResult verifyPositive(Operation *op, ArrayAttr sizes, StringRef name) {
  for (SizeAttr size : sizes.getAsRange<SizeAttr>())
    if (size.constant() && *size.constant() < 1)
      return op->emitOpError() << name << " is less than 1";
  return success();
}

/// `whole` ends with the spatial axes, `parts` with the taps of the window and then its positions.
LogicalResult verifyWindows(Operation *op, TensorType whole, TensorType parts, ArrayAttr stride,
                            ArrayAttr dilation) {
  size_t spatial = stride.size();
  if (whole.getElement() != parts.getElement())
    return op->emitOpError() << "operand and result have different elements";
  if (dilation.size() != spatial || whole.rank() < spatial ||
      parts.rank() != whole.rank() + spatial)
    return op->emitOpError() << "the ranks do not fit " << spatial << " spatial axes";
  size_t lead = whole.rank() - spatial;
  for (size_t axis = 0; axis < lead; ++axis)
    if (differ(whole.getSizes()[axis], parts.getSizes()[axis]))
      return op->emitOpError() << "changes the size of axis " << axis;
  if (failed(verifyPositive(op, stride, "a stride")) ||
      failed(verifyPositive(op, dilation, "a dilation")))
    return failure();
  SizeAttr one = SizeAttr::get(op->getContext(), 1);
  for (size_t d = 0; d < spatial; ++d) {
    SizeAttr inside = parts.getSizes()[lead + d], of = parts.getSizes()[lead + spatial + d];
    SizeAttr last = of.minus(one)
                        .times(cast<SizeAttr>(stride[d]))
                        .plus(inside.minus(one).times(cast<SizeAttr>(dilation[d])));
    std::optional<int64_t> number = last.constant(), size = whole.getSizes()[lead + d].constant();
    bool isEmpty = inside.constant() == 0 || of.constant() == 0;
    if (number && size && !isEmpty && *number >= *size)
      return op->emitOpError() << "the windows end at " << *number + 1 << ", the axis at " << *size;
  }
  return success();
}

} // namespace

LogicalResult ConvOp::verify() {
  TensorType x = getX().getType(), w = getW().getType(), result = getType();
  size_t spatial = getStride().size();
  if (x.getElement() != result.getElement() || w.getElement() != result.getElement())
    return emitOpError() << "operands and result have different elements";
  if (spatial == 0 || x.rank() != spatial + 2 || w.rank() != x.rank() || result.rank() != x.rank())
    return emitOpError() << "the ranks do not fit " << spatial << " spatial axes";
  for (ArrayAttr sizes : {getDilation(), getPaddingLow(), getLhsDilation()})
    if (sizes.size() != spatial)
      return emitOpError() << "has sizes for " << sizes.size() << " of " << spatial
                           << " spatial axes";
  if (failed(verifyPositive(*this, getStride(), "a stride")) ||
      failed(verifyPositive(*this, getDilation(), "a dilation")) ||
      failed(verifyPositive(*this, getLhsDilation(), "a distance of elements")))
    return failure();
  if (differ(x.getSizes()[0], result.getSizes()[0]) ||
      differ(w.getSizes()[0], result.getSizes()[1]))
    return emitOpError() << "the result is not of the batch of x and the outputs of w";
  if (differ(w.getSizes()[1].times(getGroups()), x.getSizes()[1]))
    return emitOpError() << "x does not have the channels of w in " << getGroups() << " groups";
  return success();
}
LogicalResult WindowsOp::verify() {
  return verifyWindows(*this, getX().getType(), getType(), getStride(), getDilation());
}
LogicalResult FoldOp::verify() {
  return verifyWindows(*this, getType(), getX().getType(), getStride(), getDilation());
}

} // namespace mx::ir
