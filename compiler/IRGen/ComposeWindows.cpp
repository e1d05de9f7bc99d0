// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and pooling. Pooling is a reduction of the elements in each window.
#include "IRGen/Compose.h"
#include <numeric>

namespace mx::irgen {
using namespace mlir;
using namespace ast;

ArrayAttr Composer::several(ArrayRef<ir::SizeAttr> sizes) {
  return e.builder.getArrayAttr(SmallVector<mlir::Attribute>(sizes.begin(), sizes.end()));
}

mlir::Value Composer::windows(mlir::Value x, const Window &window) {
  Sizes sizes = sizesOf(x);
  sizes.resize(sizes.size() - window.out.size());
  sizes.append(window.kernel);
  sizes.append(window.out);
  return e.create<ir::WindowsOp>(e.tensor(x).withSizes(sizes), x, several(window.stride),
                                 several(window.dilation));
}

mlir::Value Composer::convolution(const Call &call, size_t spatial) {
  mlir::Value x = operand(call, "x"), w = operand(call, "w");
  if (!x || !w)
    return {};
  ir::SizeAttr stride = sizeOption(call, "stride"), pad = sizeOption(call, "pad"),
               dilation = sizeOption(call, "dilation"), groups = sizeOption(call, "groups");
  if (!stride || !pad || !dilation || !groups)
    return fail(call, "an option that is not a number");
  Sizes from = sizesOf(x), weights = sizesOf(w), sizes{from[0], weights[0]};
  for (size_t d = 2; d < from.size(); ++d) {
    ir::SizeAttr reach = add(mul(dilation, sub(weights[d], size(1))), size(1));
    ir::SizeAttr room = sub(add(from[d], mul(size(2), pad)), reach);
    sizes.push_back(add(div(room, stride), size(1)));
  }
  auto each = [&](ir::SizeAttr value) { return several(Sizes(spatial, value)); };
  return finish(call, e.create<ir::ConvOp>(e.tensor(x).withSizes(sizes), x, w, each(stride),
                                           each(dilation), each(pad), each(size(1)), groups));
}

/// The same without input dilation, whose zeros would be most of the multiplications: positions of
/// the result that are a stride apart see every stride-th tap of the filter w[O, C, taps…] and no
/// zeros. One convolution per phase (position modulo the stride). Null where the stride is 1, or the
/// stride, the padding or the filter has a size that is not a number.
mlir::Value Composer::transposedApart(mlir::Value x, mlir::Value w, ArrayRef<ir::SizeAttr> result,
                                      ir::SizeAttr stride, ir::SizeAttr pad) {
  size_t spatial = result.size() - 2;
  std::optional<int64_t> step = stride.constant(), crop = pad.constant();
  bool isKnown = step && *step > 1 && crop && *crop >= 0;
  Sizes weights = sizesOf(w);
  for (size_t axis = 2; axis < spatial + 2; ++axis)
    isKnown = isKnown && weights[axis].constant().value_or(0) > 0 &&
              result[axis].constant().value_or(1) > 0;
  if (!isKnown)
    return {};
  mlir::Value into = full(e.elementOf(x), 0, result);
  SmallVector<int64_t> phase(spatial, 0);
  auto next = [&] {
    for (int64_t &at : llvm::reverse(phase)) {
      if (++at < *step)
        return true;
      at = 0;
    }
    return false;
  };
  ArrayAttr ones = several(Sizes(spatial, size(1)));
  do {
    SmallVector<std::string> ofFilter{":", ":"}, ofResult{":", ":"};
    SmallVector<mlir::Value> filterAt, resultAt;
    Sizes taps{weights[0], weights[1]}, sizes{result[0], result[1]}, low;
    bool isSeen = true; // whether there are such positions, and taps for them
    for (auto [d, first] : llvm::enumerate(phase)) {
      int64_t start = first + *crop, begin = start % *step, length = *weights[d + 2].constant();
      int64_t count = begin < length ? (length - begin - 1) / *step + 1 : 0;
      isSeen &= count > 0 && result[d + 2].constant().value_or(first + 1) > first;
      taps.push_back(size(count));
      ofFilter.push_back("rfs"); // reversed
      filterAt.append({integer(begin + (count - 1) * *step), integer(-*step)});
      low.push_back(size(count - 1 - (start - begin) / *step));
      sizes.push_back(div(add(result[d + 2], size(*step - 1 - first)), stride));
      mlir::Value from = integer(first);
      if (first > 0 && !result[d + 2].constant()) // such a position may not exist
        from = e.elementwise("minimum", {from, number(result[d + 2])}, e.builder.getI64Type());
      ofResult.push_back("rfs");
      resultAt.append({from, integer(*step)});
    }
    if (!isSeen)
      continue;
    mlir::Value filter =
        e.create<ir::SliceOp>(e.tensor(w).withSizes(taps), w, filterAt, e.specAttr(ofFilter));
    mlir::Value part = e.create<ir::ConvOp>(e.tensor(x).withSizes(sizes), x, filter, ones, ones,
                                            several(low), ones, size(1));
    into = e.create<ir::UpdateOp>(into.getType(), into, part, resultAt, e.specAttr(ofResult));
  } while (next());
  return into;
}

/// Transposed convolution, the input gradient of a convolution: x with stride - 1 zeros between its
/// elements (input dilation), convolved with the reversed filter at every position that it touches;
/// `pad` is cropped.
mlir::Value Composer::transposedConvolution(const Call &call, size_t spatial) {
  mlir::Value x = operand(call, "x"), w = operand(call, "w");
  if (!x || !w)
    return {};
  ir::SizeAttr stride = sizeOption(call, "stride"), pad = sizeOption(call, "pad");
  if (!stride || !pad)
    return fail(call, "an option that is not a number");
  Sizes from = sizesOf(x), weights = sizesOf(w), sizes{from[0], weights[1]}, low;
  SmallVector<int64_t> order(spatial + 2);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  for (size_t axis = 2; axis < spatial + 2; ++axis)
    sizes.push_back(sub(add(mul(sub(from[axis], size(1)), stride), weights[axis]), mul(size(2), pad)));
  if (mlir::Value apart = transposedApart(x, transpose(w, order), sizes, stride, pad))
    return finish(call, apart);
  for (size_t axis = 2; axis < spatial + 2; ++axis) {
    ir::SizeAttr border = sub(weights[axis], size(1));
    low.push_back(sub(border, pad));
    w = flip(w, axis);
  }
  ArrayAttr ones = several(Sizes(spatial, size(1)));
  return finish(call,
                e.create<ir::ConvOp>(e.tensor(x).withSizes(sizes), x, transpose(w, order), ones,
                                     ones, several(low), several(Sizes(spatial, stride)), size(1)));
}

mlir::Value Composer::pool(const Call &call, size_t spatial, bool isMax) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  ir::SizeAttr width = sizeOption(call, "size"), stride, pad = sizeOption(call, "pad");
  // The stride defaults to the window size.
  for (const Argument *a : call.given)
    if (a->name.text == "stride" && a->value->checked && a->value->checked->dim)
      stride = e.size(a->value->checked->dim);
  for (size_t p = 0; !stride && p < call.info->function->params.size(); ++p)
    if (call.info->function->params[p].name == "stride" && p < call.info->arguments.size())
      stride = call.info->arguments[p] ? sizeOption(call, "stride") : width;
  if (!width || !stride || !pad)
    return fail(call, "an option that is not a number");
  mlir::Type element = e.elementOf(x);
  size_t lead = rankOf(x) - spatial;
  SmallVector<int64_t> axes; // of the windows, once they exist
  ir::SizeAttr elements = size(1);
  if (pad.constant() != 0) {
    mlir::Value border = isMax ? smallest(element) : e.constantNumber(element, 0, 0, true);
    for (size_t axis = lead; axis < lead + spatial; ++axis)
      x = widen(x, axis, pad, pad, border);
  }
  Sizes sizes = sizesOf(x);
  Window window;
  for (size_t d = 0; d < spatial; ++d) {
    axes.push_back(static_cast<int64_t>(lead + d));
    elements = mul(elements, width);
    window.kernel.push_back(width);
    window.stride.push_back(stride);
    window.dilation.push_back(size(1));
    window.out.push_back(add(div(sub(sizes[lead + d], width), stride), size(1)));
  }
  mlir::Value columns = windows(x, window), result;
  if (isMax)
    result = e.reduce("max", columns, axes, /*keep=*/false);
  else if (isa<FloatType>(element))
    result = e.mean(columns, axes, /*keep=*/false);
  else {
    // Neither the sum nor the element count need fit in a small type; the mean does.
    mlir::Type wide = e.builder.getI64Type();
    mlir::Value sum = e.reduce("sum", e.cast(columns, wide), axes, /*keep=*/false);
    result = e.cast(e.elementwise("floordiv", {sum, number(elements)}), element);
  }
  return finish(call, result);
}

} // namespace mx::irgen
