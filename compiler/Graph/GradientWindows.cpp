// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: gradient rules of convolutions and windows. The gradients of a convolution
// are convolutions (transposed convolution by the input, filter gradient), so they are
// differentiable again.
#include "Graph/Adjoints.h"
#include <numeric>

using namespace mlir;

namespace mx::graph {

using Sizes = SmallVector<ir::SizeAttr>;

/// Swaps the first two axes, within each group. The groups are the outer part of the first axis,
/// [groups * A, B, …] to [groups * B, A, …], or of the second,
/// [A, groups * B, …] to [B, groups * A, …].
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

/// Reverses the last `spatial` axes.
Value Reverse::backwards(Value x, size_t spatial) {
  SmallVector<StringRef> spec(typeOf(x).rank(), ":");
  SmallVector<Value> at;
  for (size_t axis = spec.size() - spatial; axis < spec.size(); ++axis) {
    spec[axis] = "rs";
    at.push_back(wholeNumber(-1));
  }
  return make<ir::SliceOp>(typeOf(x), x, at, b.getStrArrayAttr(spec));
}

/// Input gradient (transposed convolution). dx[i] sums over each output position p that sees i:
/// p * stride = i * lhs_dilation + padding_low - t * dilation. With the filter reversed,
/// t' = T - 1 - t, it is the convolution of g with the stride as lhs_dilation.
Value Reverse::convolvedBack(ir::ConvOp op, Value g) {
  if (Value apart = convolvedBackApart(op, g))
    return apart;
  ir::TensorType x = typeOf(op.getX()), w = typeOf(op.getW());
  size_t spatial = op.getStride().size();
  ir::SizeAttr one = sizeOf(1), groups = op.getGroups();
  SmallVector<Attribute> low;
  for (size_t d = 0; d < spatial; ++d) {
    ir::SizeAttr reach =
        w.getSizes()[d + 2].minus(one).times(cast<ir::SizeAttr>(op.getDilation()[d]));
    low.push_back(reach.minus(cast<ir::SizeAttr>(op.getPaddingLow()[d])));
  }
  Value window = exchanged(backwards(op.getW(), spatial), groups, /*groupsFirst=*/true);
  return make<ir::ConvOp>(x, g, window, /*stride=*/op.getLhsDilation(), op.getDilation(),
                          b.getArrayAttr(low), /*lhs_dilation=*/op.getStride(), groups);
}

/// Strided input gradient without lhs_dilation, whose inserted zeros would dominate the
/// multiplications. Positions of x that are a stride apart see every stride-th tap of the filter
/// and no zeros: one convolution per phase (first position). Null if all strides are 1, if there is
/// a dilation, or if sizes are not constant.
Value Reverse::convolvedBackApart(ir::ConvOp op, Value g) {
  ir::TensorType x = typeOf(op.getX()), w = typeOf(op.getW());
  struct Axis {
    int64_t stride, window, low, first; ///< `first` is the phase: the first of the positions
  };
  SmallVector<Axis> axes;
  bool hasStride = false;
  for (size_t d = 0; d < op.getStride().size(); ++d) {
    auto number = [](Attribute size) { return cast<ir::SizeAttr>(size).constant(); };
    auto stride = number(op.getStride()[d]), low = number(op.getPaddingLow()[d]),
         window = w.getSizes()[d + 2].constant();
    if (!stride || !low || !window || number(op.getDilation()[d]) != 1 ||
        number(op.getLhsDilation()[d]) != 1)
      return {};
    axes.push_back({*stride, *window, *low, 0});
    hasStride |= *stride > 1;
  }
  if (!hasStride)
    return {};
  Value into = zeros(x);
  auto next = [&] {
    for (Axis &axis : llvm::reverse(axes)) {
      if (++axis.first < axis.stride)
        return true;
      axis.first = 0;
    }
    return false;
  };
  do {
    SmallVector<StringRef> ofWindow{":", ":"}, ofPositions{":", ":"};
    SmallVector<Value> windowAt, positionsAt;
    SmallVector<Attribute> low, ones(axes.size(), sizeOf(1));
    Sizes windowSizes(w.getSizes().take_front(2)), sizes(x.getSizes().take_front(2));
    bool isSeen = true; // whether there are such positions
    for (auto [d, axis] : llvm::enumerate(axes)) {
      int64_t start = axis.first + axis.low;
      int64_t begin = ((start % axis.stride) + axis.stride) % axis.stride; // in the filter
      int64_t count = begin < axis.window ? (axis.window - begin - 1) / axis.stride + 1 : 0;
      isSeen &= count > 0;
      low.push_back(sizeOf(count - 1 - (start - begin) / axis.stride));
      windowSizes.push_back(sizeOf(count));
      ofWindow.push_back("rfs"); // reversed
      windowAt.push_back(wholeNumber(begin + (count - 1) * axis.stride));
      windowAt.push_back(wholeNumber(-axis.stride));
      ofPositions.push_back("rfs");
      // x may be shorter than the stride: then the last phases start beyond its end.
      ir::SizeAttr size = x.getSizes()[d + 2];
      isSeen &= size.constant().value_or(axis.first + 1) > axis.first;
      Value first = wholeNumber(axis.first);
      if (!size.constant() && axis.first > 0)
        first = elementwise("minimum", {first, make<ir::SizeOp>(first.getType(), size)});
      positionsAt.push_back(first);
      positionsAt.push_back(wholeNumber(axis.stride));
      sizes.push_back(size.plus(sizeOf(axis.stride - 1 - axis.first)).over(sizeOf(axis.stride)));
    }
    if (!isSeen)
      continue;
    Value window = make<ir::SliceOp>(w.withSizes(windowSizes), op.getW(), windowAt,
                                     b.getStrArrayAttr(ofWindow));
    ArrayAttr one = b.getArrayAttr(ones);
    Value part = make<ir::ConvOp>(x.withSizes(sizes), g,
                                  exchanged(window, op.getGroups(), /*groupsFirst=*/true), one, one,
                                  b.getArrayAttr(low), one, op.getGroups());
    into = make<ir::UpdateOp>(x, into, part, positionsAt, b.getStrArrayAttr(ofPositions));
  } while (next());
  return into;
}

/// Filter gradient: dw[t] = sum over b and p of g[p] * x[p * stride + t * dilation -
/// padding_low]. It is x with batch and channels swapped, convolved with g as the filter.
Value Reverse::convolvedWindow(ir::ConvOp op, Value g) {
  ir::TensorType w = typeOf(op.getW());
  Sizes sizes{w.getSizes()[1], w.getSizes()[0]};
  llvm::append_range(sizes, w.getSizes().drop_front(2));
  ir::SizeAttr one = sizeOf(1), groups = op.getGroups();
  Value slope = make<ir::ConvOp>(
      w.withSizes(sizes), exchanged(op.getX(), groups, /*groupsFirst=*/false),
      exchanged(g, one, /*groupsFirst=*/false), /*stride=*/op.getDilation(),
      /*dilation=*/op.getStride(), op.getPaddingLow(), op.getLhsDilation(), groups);
  return exchanged(slope, one, /*groupsFirst=*/false);
}

void Reverse::convolution(ir::ConvOp op, Value g) {
  if (isActive(op.getX()))
    contribute(op.getX(), convolvedBack(op, g));
  if (isActive(op.getW()))
    contribute(op.getW(), convolvedWindow(op, g));
}

} // namespace mx::graph
