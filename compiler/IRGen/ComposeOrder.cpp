// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scans, sorting and scatters: runtime routines, and primitives composed of them.
#include "IRGen/Compose.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

mlir::Value Composer::routine(StringRef kind, ArrayRef<mlir::Value> inputs, ir::TensorType result,
                              size_t axis) {
  return e.create<ir::RoutineOp>(result, e.builder.getStringAttr(kind), inputs,
                                 e.builder.getI64IntegerAttr(static_cast<int64_t>(axis)));
}

mlir::Value Composer::scan(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  auto at = axis(call, "axis", rankOf(x));
  if (!at)
    return fail(call, "an axis that is not one number");
  return finish(call, routine(call.name, {x}, e.tensor(x), *at));
}

mlir::Value Composer::sort(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  auto at = axis(call, "axis", rankOf(x));
  if (!at)
    return fail(call, "an axis that is not one number");
  // Stable sort; NaN counts as the largest.
  mlir::Value order = routine("argsort", {x}, e.tensor(x).withElement(e.builder.getI32Type()), *at);
  return finish(call, call.name == "argsort" ? order : takeAlong(x, order, *at, /*safe=*/true));
}

mlir::Value Composer::indicesOfTop(mlir::Value x, size_t axis, ir::SizeAttr k) {
  Sizes sizes = sizesOf(x);
  sizes[axis] = k;
  ir::TensorType type = e.tensor(x).withElement(e.builder.getI32Type()).withSizes(sizes);
  return routine("argsort_top", {x}, type, axis);
}

mlir::Value Composer::topK(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  auto at = axis(call, "axis", rankOf(x));
  ir::SizeAttr k = sizeOption(call, "k");
  if (!at || !k)
    return fail(call, "a number of elements that is not known");
  mlir::Value order = indicesOfTop(x, *at, k);
  return several(call, {takeAlong(x, order, *at, /*safe=*/true), order});
}

mlir::Value Composer::scatter(const Call &call) {
  mlir::Value x = operand(call, "x"), index = operand(call, "index"), y = operand(call, "y");
  if (!x || !index || !y)
    return {};
  index = e.cast(index, e.builder.getI64Type());
  return finish(call, routine(call.name, {x, index, y}, e.tensor(x), 0));
}

/// The number of results depends on the data, so the runtime computes them eagerly.
mlir::Value Composer::withOpenSize(StringRef function, mlir::Value x, const Type *type) {
  mlir::Value made =
      e.create<ir::NativeOp>(TypeRange{e.convert(type)}, function, ValueRange{x}).getResult();
  e.adoptSizes(made, type);
  return made;
}

mlir::Value Composer::unique(const Call &call) {
  mlir::Value x = operand(call, "x");
  return x ? withOpenSize("mx.unique", x, e.concrete(call.info->result)) : x;
}

/// With a limit: the first indices padded with 0, and their number.
mlir::Value Composer::nonzero(const Call &call) {
  mlir::Value mask = operand(call, "mask");
  if (!mask)
    return {};
  const Type *type = e.concrete(call.info->result ? call.info->result : call.whole->checked->type);
  if (type->isTensor())
    return withOpenSize("mx.nonzero", mask, type);
  ir::SizeAttr max = sizeOption(call, "max");
  if (!max)
    return fail(call, "a number of positions that is not known");
  mlir::Type i32 = e.builder.getI32Type();
  mlir::Value count =
      e.elementwise("minimum", {e.reduce("sum", e.cast(mask, i32), {0}, /*keep=*/false),
                                e.cast(number(max), i32)});
  // In descending order, true sorts before false. There may be fewer elements than the limit.
  mlir::Value zero = e.constantNumber(i32, 0, 0, /*isWhole=*/true);
  mlir::Value positions = widen(indicesOfTop(mask, 0, sizesOf(mask)[0]), 0, size(0), max, zero);
  positions = part(positions, 0, integer(0), number(max), max);
  mlir::Value isIndex =
      e.elementwise("lt", {e.cast(counted(max), i32), count}, e.builder.getI1Type());
  return several(call, {e.elementwise("select", {isIndex, positions, zero}), count});
}

} // namespace mx::irgen
