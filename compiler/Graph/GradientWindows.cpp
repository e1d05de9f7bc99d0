// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: rules of convolutions and windows. The gradients of a convolution are
// convolutions, so their gradients have rules too.
#include "Graph/Adjoints.h"
#include <numeric>

using namespace mlir;

namespace mx::graph {

using Sizes = SmallVector<ir::SizeAttr>;

/// The first two axes exchanged, within each group. The groups are the outer part of the first
/// axis, [groups * A, B, …] to [groups * B, A, …], or of the second, [A, groups * B, …] to [B,
/// groups * A, …].
Value Reverse::exchanged(Value x, ir::SizeAttr groups, bool groupsFirst) {
  Sizes sizes(typeOf(x).getSizes());
  SmallVector<int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  bool isOne = groups.constant() == 1;
  size_t from = isOne || !groupsFirst ? 0 : 1, to = isOne ? 1 : 2;
  if (!isOne) {
    size_t split = groupsFirst ? 0 : 1;
    sizes[split] = sizes[split].over(groups);
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(split), groups);
    x = shaped(x, typeOf(x).withSizes(sizes));
    order.push_back(static_cast<int64_t>(order.size()));
  }
  std::swap(order[from], order[to]);
  std::swap(sizes[from], sizes[to]);
  x = make<ir::TransposeOp>(typeOf(x).withSizes(sizes), x, b.getDenseI64ArrayAttr(order));
  if (isOne)
    return x;
  size_t join = groupsFirst ? 0 : 1;
  sizes[join] = sizes[join].times(sizes[join + 1]);
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(join) + 1);
  return shaped(x, typeOf(x).withSizes(sizes));
}

/// The last `spatial` axes backwards.
Value Reverse::backwards(Value x, size_t spatial) {
  SmallVector<StringRef> spec(typeOf(x).rank(), ":");
  SmallVector<Value> at;
  for (size_t axis = spec.size() - spatial; axis < spec.size(); ++axis) {
    spec[axis] = "rs";
    at.push_back(wholeNumber(-1));
  }
  return make<ir::SliceOp>(typeOf(x), x, at, b.getStrArrayAttr(spec));
}

/// dx[i] is what each position p gives that sees i: p * stride = i * holes + low - t * dilation.
/// With the window backwards, t' = T - 1 - t, that is the convolution of g, with holes as wide as
/// the stride.
Value Reverse::convolvedBack(ir::ConvOp op, Value g) {
  ir::TensorType x = typeOf(op.getX()), w = typeOf(op.getW());
  size_t spatial = op.getStride().size();
  ir::SizeAttr one = sizeOf(1), groups = op.getGroups();
  SmallVector<Attribute> low;
  for (size_t d = 0; d < spatial; ++d) {
    ir::SizeAttr reach =
        w.getSizes()[d + 2].minus(one).times(cast<ir::SizeAttr>(op.getDilation()[d]));
    low.push_back(reach.minus(cast<ir::SizeAttr>(op.getLow()[d])));
  }
  Value window = exchanged(backwards(op.getW(), spatial), groups, /*groupsFirst=*/true);
  return make<ir::ConvOp>(x, g, window, /*stride=*/op.getHoles(), op.getDilation(),
                          b.getArrayAttr(low), /*holes=*/op.getStride(), groups);
}

/// dw[t] = sum over b and p of g[p] * x[p * stride + t * dilation - low]: x with batch and channels
/// exchanged, convolved with g as the window.
Value Reverse::convolvedWindow(ir::ConvOp op, Value g) {
  ir::TensorType w = typeOf(op.getW());
  Sizes sizes{w.getSizes()[1], w.getSizes()[0]};
  llvm::append_range(sizes, w.getSizes().drop_front(2));
  ir::SizeAttr one = sizeOf(1), groups = op.getGroups();
  Value slope =
      make<ir::ConvOp>(w.withSizes(sizes), exchanged(op.getX(), groups, /*groupsFirst=*/false),
                       exchanged(g, one, /*groupsFirst=*/false), /*stride=*/op.getDilation(),
                       /*dilation=*/op.getStride(), op.getLow(), op.getHoles(), groups);
  return exchanged(slope, one, /*groupsFirst=*/false);
}

void Reverse::convolution(ir::ConvOp op, Value g) {
  if (isActive(op.getX()))
    contribute(op.getX(), convolvedBack(op, g));
  if (isActive(op.getW()))
    contribute(op.getW(), convolvedWindow(op, g));
}

} // namespace mx::graph
