// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and pooling. The elements under each position of the window are taken into a matrix;
// a convolution is a product with it, pooling a reduction of it.
#include "IRGen/Compose.h"
#include <numeric>

namespace mx::irgen {
using namespace mlir;
using namespace ast;

mlir::Value Composer::windows(mlir::Value x, const Window &window) {
  Sizes sizes = sizesOf(x);
  ArrayRef<ir::SizeAttr> spatial = ArrayRef(sizes).drop_front(2);
  // Places in the flat spatial axes: one part from the position in the window, one from that of
  // the window itself.
  mlir::Value inside, outside;
  auto extend = [&](mlir::Value so, ir::SizeAttr count, ir::SizeAttr step) {
    mlir::Value next = e.elementwise("mul", {counted(count), number(step)});
    if (!so)
      return next;
    ir::SizeAttr before = e.tensor(so).getSizes()[0];
    mlir::Value both = e.elementwise("add", {reshape(so, {before, size(1)}), next});
    return reshape(both, {mul(before, count)});
  };
  for (size_t d = 0; d < spatial.size(); ++d) {
    ir::SizeAttr stride = product(spatial.drop_front(d + 1));
    inside = extend(inside, window.kernel[d], mul(window.dilation[d], stride));
    outside = extend(outside, window.out[d], mul(window.stride[d], stride));
  }
  ir::SizeAttr positions = product(window.kernel);
  mlir::Value place = e.elementwise("add", {reshape(inside, {positions, size(1)}), outside});
  mlir::Value flat = reshape(x, {sizes[0], sizes[1], product(spatial)});
  return take(flat, place, 2);
}

/// x [B, I, spatial…] is already widened; w is [O, I / groups, kernel…].
mlir::Value Composer::convolve(mlir::Value x, mlir::Value w, ArrayRef<ir::SizeAttr> stride,
                               ArrayRef<ir::SizeAttr> dilation, ir::SizeAttr groups) {
  Sizes from = sizesOf(x), weights = sizesOf(w);
  Window window;
  window.stride.assign(stride.begin(), stride.end());
  window.dilation.assign(dilation.begin(), dilation.end());
  for (size_t d = 0; d + 2 < from.size(); ++d) {
    ir::SizeAttr kernel = weights[d + 2];
    window.kernel.push_back(kernel);
    ir::SizeAttr reach = mul(dilation[d], sub(kernel, size(1)));
    window.out.push_back(add(div(sub(sub(from[d + 2], reach), size(1)), stride[d]), size(1)));
  }
  mlir::Value columns = windows(x, window);
  ir::SizeAttr batch = from[0], outputs = weights[0],
               depth = product(ArrayRef(weights).drop_front(1));
  ir::SizeAttr places = product(window.out);
  mlir::Value result;
  if (groups.constant() == 1)
    result = matmul(reshape(w, {outputs, depth}), reshape(columns, {batch, depth, places}));
  else
    result = matmul(reshape(w, {groups, div(outputs, groups), depth}),
                    reshape(columns, {batch, groups, depth, places}));
  Sizes sizes{batch, outputs};
  sizes.append(window.out);
  return reshape(result, sizes);
}

mlir::Value Composer::convolution(const Call &call, size_t spatial) {
  mlir::Value x = operand(call, "x"), w = operand(call, "w");
  if (!x || !w)
    return {};
  ir::SizeAttr stride = sizeOption(call, "stride"), pad = sizeOption(call, "pad"), dilation = sizeOption(call, "dilation"),
               groups = sizeOption(call, "groups");
  if (!stride || !pad || !dilation || !groups)
    return fail(call, "an option that is not a number");
  mlir::Value zero = e.constantNumber(e.elementOf(x), 0, 0, true);
  for (size_t d = 0; d < spatial; ++d)
    x = widen(x, d + 2, pad, pad, zero);
  Sizes strides(spatial, stride), dilations(spatial, dilation);
  return finish(call, convolve(x, w, strides, dilations, groups));
}

/// x with stride - 1 zeros between its elements, convolved with the flipped window at every place
/// that it touches; `pad` is cut off again.
mlir::Value Composer::transposedConvolution(const Call &call, size_t spatial) {
  mlir::Value x = operand(call, "x"), w = operand(call, "w");
  if (!x || !w)
    return {};
  ir::SizeAttr stride = sizeOption(call, "stride"), pad = sizeOption(call, "pad");
  if (!stride || !pad)
    return fail(call, "an option that is not a number");
  mlir::Value zero = e.constantNumber(e.elementOf(x), 0, 0, true);
  for (size_t axis = 2; axis < spatial + 2; ++axis) {
    if (stride.constant() != 1) {
      Sizes sizes = sizesOf(x), apart = sizes;
      apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, size(1));
      mlir::Value spread = widen(reshape(x, apart), axis + 1, size(0), sub(stride, size(1)), zero);
      ir::SizeAttr used = add(mul(sub(sizes[axis], size(1)), stride), size(1));
      sizes[axis] = mul(sizes[axis], stride);
      x = part(reshape(spread, sizes), axis, integer(0), number(used), used);
    }
    ir::SizeAttr border = sub(e.tensor(w).getSizes()[axis], size(1));
    x = widen(x, axis, border, border, zero);
    w = flip(w, axis);
  }
  Sizes ones(spatial, size(1));
  SmallVector<int64_t> order(spatial + 2);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  mlir::Value y = convolve(x, transpose(w, order), ones, ones, size(1));
  if (pad.constant() != 0)
    for (size_t axis = 2; axis < spatial + 2; ++axis) {
      ir::SizeAttr whole = e.tensor(y).getSizes()[axis];
      y = part(y, axis, number(pad), number(sub(whole, pad)), sub(whole, mul(size(2), pad)));
    }
  return finish(call, y);
}

mlir::Value Composer::pool(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  ir::SizeAttr width = sizeOption(call, "size"), stride, pad = sizeOption(call, "pad");
  // The stride is the window's size if it is not given.
  for (const Argument *a : call.given)
    if (a->name.text == "stride" && a->value->checked && a->value->checked->dim)
      stride = e.size(a->value->checked->dim);
  for (size_t p = 0; !stride && p < call.info->function->params.size(); ++p)
    if (call.info->function->params[p].name == "stride" && p < call.info->arguments.size())
      stride = call.info->arguments[p] ? sizeOption(call, "stride") : width;
  if (!width || !stride || !pad)
    return fail(call, "an option that is not a number");
  mlir::Type element = e.elementOf(x);
  bool isMax = call.name == "maxpool2d";
  if (pad.constant() != 0) {
    mlir::Value border = isMax ? smallest(element) : e.constantNumber(element, 0, 0, true);
    for (size_t axis = 2; axis < 4; ++axis)
      x = widen(x, axis, pad, pad, border);
  }
  Sizes sizes = sizesOf(x);
  Window window;
  for (size_t d = 0; d < 2; ++d) {
    window.kernel.push_back(width);
    window.stride.push_back(stride);
    window.dilation.push_back(size(1));
    window.out.push_back(add(div(sub(sizes[d + 2], width), stride), size(1)));
  }
  mlir::Value columns = windows(x, window), result;
  if (isMax)
    result = e.reduce("max", columns, {2}, /*keep=*/false);
  else if (isa<FloatType>(element))
    result = e.mean(columns, {2}, /*keep=*/false);
  else
    result = e.elementwise("floordiv", {e.reduce("sum", columns, {2}, /*keep=*/false),
                                        e.cast(number(mul(width, width)), element)});
  Sizes out{sizes[0], sizes[1]};
  out.append(window.out);
  return finish(call, reshape(result, out));
}

} // namespace mx::irgen
