// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running sums, orders, rows put in places. Each is a few sweeps that a graph fuses, so host code
// makes a graph of its own for them: op by op their intermediate values would be large.
#include "IRGen/Compose.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

mlir::Value Composer::apart(ArrayRef<mlir::Value> operands, ir::TensorType result, StringRef name,
                            llvm::function_ref<mlir::Value(Composer &, ValueRange)> build) {
  if (e.inGraph || e.shared.options.eager)
    return build(*this, operands);
  Instance block = e.outlined();
  block.symbol = (name + "$" + llvm::Twine(e.shared.graphBlocks++)).str();
  block.isGraph = true;
  SmallVector<mlir::Type> inputs(ValueRange(operands).getTypes());
  mlir::Location loc = e.builder.getLoc();
  {
    Emitter inside(e.shared, block);
    inside.inGraph = true;
    inside.adopted = e.adopted;
    inside.beginFunction(e.builder.getFunctionType(inputs, result), /*asGraph=*/true, block.symbol,
                         Span());
    inside.functionOp->setLoc(loc);
    inside.builder.setLoc(loc);
    Composer within(inside);
    auto function = mlir::cast<FunctionOpInterface>(inside.functionOp);
    mlir::Value value = build(within, function.getArguments());
    inside.create<ir::ReturnOp>(ValueRange{within.reshape(value, result.getSizes())});
  }
  return e.create<ir::CallOp>(TypeRange(result), block.symbol, operands, e.sizesFor(block))
      .getResult(0);
}

/// Doubling: after step d each element holds the sum of the last 2d. Log n sweeps instead of a
/// chain of n, and more exact than one.
mlir::Value Composer::scan(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  auto at = axis(call, "axis", rankOf(x));
  if (!at)
    return fail(call, "an axis that is not one number");
  StringRef op = call.name == "cumsum" ? "add" : "mul";
  ir::TensorType type = e.tensor(x);
  auto build = [&](Composer &c, ValueRange values) -> mlir::Value {
    Emitter &in = c.e;
    mlir::Value y = values[0];
    mlir::Type element = in.elementOf(y), wide = element;
    if (element.isF16() || element.isBF16())
      wide = in.builder.getF32Type();
    y = in.cast(y, wide);
    ir::SizeAttr n = c.sizesOf(y)[*at];
    auto step = [&](mlir::Value so, mlir::Value distance) {
      mlir::Value from = in.elementwise(
          "maximum", {in.elementwise("sub", {c.counted(n), distance}), c.integer(0)});
      mlir::Value hasMore = in.elementwise("ge", {c.countedAlong(n, *at, c.rankOf(so)), distance},
                                           in.builder.getI1Type());
      mlir::Value sum = in.elementwise(op, {so, c.take(so, from, *at)});
      return in.elementwise("select", {hasMore, sum, so});
    };
    if (auto known = n.constant()) {
      for (int64_t d = 1; d < *known; d *= 2)
        y = step(y, c.integer(d));
    } else {
      SmallVector<mlir::Value> initial{c.integer(1), y};
      auto loop = in.create<ir::WhileOp>(ValueRange(initial).getTypes(), initial, mlir::Value());
      for (Region *region : {&loop.getCondition(), &loop.getBody()}) {
        OpBuilder::InsertionGuard guard(in.builder);
        mlir::Block *block = in.builder.createBlock(region);
        mlir::Value d = block->addArgument(initial[0].getType(), in.builder.getLoc());
        mlir::Value so = block->addArgument(y.getType(), in.builder.getLoc());
        if (region == &loop.getCondition()) {
          in.create<ir::YieldOp>(
              ValueRange{in.elementwise("lt", {d, c.number(n)}, in.builder.getI1Type())});
          continue;
        }
        mlir::Value next = step(so, d);
        in.create<ir::YieldOp>(ValueRange{in.elementwise("mul", {d, c.integer(2)}), next});
      }
      y = loop.getResult(1);
    }
    return in.cast(y, element);
  };
  return finish(call, apart({x}, type, call.name, build));
}

/// Places that sort an axis. An element's place is the number of those before it; equal ones stay
/// in order, NaN counts as the largest.
mlir::Value Composer::order(mlir::Value x, size_t axis, bool descending) {
  ir::TensorType type = e.tensor(x).withElement(e.builder.getI32Type());
  auto build = [&](Composer &c, ValueRange values) -> mlir::Value {
    Emitter &in = c.e;
    mlir::Type boolean = in.builder.getI1Type(), i32 = in.builder.getI32Type();
    mlir::Value x = values[0];
    ir::SizeAttr n = c.sizesOf(x)[axis];
    size_t rank = c.rankOf(x);
    // Each element (axis) against each other one (axis + 1).
    auto widened = [&](mlir::Value v, size_t one) {
      Sizes sizes = c.sizesOf(v);
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(one), c.size(1));
      return c.reshape(v, sizes);
    };
    mlir::Value mine = widened(x, axis + 1), other = widened(x, axis);
    auto less = [&](mlir::Value a, mlir::Value b) {
      if (descending)
        std::swap(a, b);
      mlir::Value smaller = in.elementwise("lt", {a, b}, boolean);
      if (!isa<FloatType>(in.elementOf(a)))
        return smaller;
      mlir::Value only =
          in.elementwise("and", {in.elementwise("isnan", {b}, boolean),
                                 in.elementwise("not", {in.elementwise("isnan", {a}, boolean)})});
      return in.elementwise("or", {smaller, only});
    };
    mlir::Value earlier = in.elementwise(
        "lt", {c.countedAlong(n, axis + 1, rank + 1), c.countedAlong(n, axis, rank + 1)}, boolean);
    mlir::Value ties = in.elementwise("and", {in.elementwise("not", {less(mine, other)}), earlier});
    mlir::Value before = in.elementwise("or", {less(other, mine), ties});
    auto reduced = static_cast<int64_t>(axis + 1);
    mlir::Value place = in.reduce("sum", in.cast(before, i32), {reduced}, /*keep=*/false);
    // The element whose place is r, for each r: the other way round.
    mlir::Value hit = in.elementwise(
        "eq", {widened(place, axis), in.cast(c.countedAlong(n, axis, rank + 1), i32)}, boolean);
    mlir::Value which =
        in.elementwise("select", {hit, in.cast(c.countedAlong(n, axis + 1, rank + 1), i32),
                                  in.cast(in.toDevice(c.integer(0)), i32)});
    return in.reduce("sum", which, {reduced}, /*keep=*/false);
  };
  return apart({x}, type, "order", build);
}

mlir::Value Composer::sort(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  auto at = axis(call, "axis", rankOf(x));
  if (!at)
    return fail(call, "an axis that is not one number");
  mlir::Value places = order(x, *at, /*descending=*/false);
  return finish(call, call.name == "argsort" ? places : takeAlong(x, places, *at));
}

mlir::Value Composer::topK(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  auto at = axis(call, "axis", rankOf(x));
  const Expr *given = e.argument(call, "k");
  if (!at || !given || !given->checked || !given->checked->dim)
    return fail(call, "a number of elements that is not known");
  ir::SizeAttr k = e.size(given->checked->dim);
  mlir::Value places = part(order(x, *at, /*descending=*/true), *at, integer(0), number(k), k);
  const Type *type = e.concrete(call.info->result ? call.info->result : call.whole->checked->type);
  auto pair = mlir::cast<ir::AggregateType>(e.convert(type));
  SmallVector<mlir::Value> parts{takeAlong(x, places, *at), places};
  for (auto [value, wanted] : llvm::zip(parts, pair.getParts()))
    value = e.fit(value, wanted);
  return e.create<ir::MakeOp>(pair, parts);
}

/// scatter_add is an op of its own. For the others each row of the result looks for the rows of y
/// that go there.
mlir::Value Composer::scatter(const Call &call) {
  mlir::Value x = operand(call, "x"), index = operand(call, "index"), y = operand(call, "y");
  if (!x || !index || !y)
    return {};
  if (call.name == "scatter_add")
    return finish(
        call, e.create<ir::ScatterAddOp>(e.tensor(x), x, index, y, e.builder.getI64IntegerAttr(0)));
  auto build = [&](Composer &c, ValueRange values) -> mlir::Value {
    Emitter &in = c.e;
    mlir::Type boolean = in.builder.getI1Type(), element = in.elementOf(values[0]);
    mlir::Value x = values[0], y = values[2];
    size_t rank = c.rankOf(x);
    ir::SizeAttr n = c.sizesOf(x)[0];
    // Checks the places, and counts negative ones from the end. One row that goes nowhere is added,
    // so that there always is one.
    mlir::Value place =
        c.widen(c.take(c.counted(n), values[1], 0), 0, c.size(0), c.size(1), c.integer(-1));
    mlir::Value none =
        call.name == "scatter_max" ? c.smallest(element) : in.constantNumber(element, 0, 0, true);
    y = c.widen(y, 0, c.size(0), c.size(1), none);
    ir::SizeAttr rows = c.sizesOf(y)[0];
    mlir::Value hit = in.elementwise(
        "eq", {c.reshape(c.counted(n), {n, c.size(1)}), c.reshape(place, {c.size(1), rows})},
        boolean);
    if (call.name == "scatter_set") {
      mlir::Value last =
          in.reduce("max",
                    in.elementwise("select", {hit, c.reshape(c.counted(rows), {c.size(1), rows}),
                                              in.toDevice(c.integer(-1))}),
                    {1}, /*keep=*/false);
      mlir::Value from = c.take(y, in.elementwise("maximum", {last, c.integer(0)}), 0);
      mlir::Value has = in.elementwise("ge", {last, c.integer(0)}, boolean);
      Sizes sizes(rank, c.size(1));
      sizes[0] = n;
      return in.elementwise("select", {c.reshape(has, sizes), from, x});
    }
    Sizes mask(rank + 1, c.size(1)), wide = c.sizesOf(y);
    mask[0] = n;
    mask[1] = rows;
    wide.insert(wide.begin(), c.size(1));
    mlir::Value chosen =
        in.elementwise("select", {c.reshape(hit, mask), c.reshape(y, wide), in.toDevice(none)});
    return in.elementwise("maximum", {x, in.reduce("max", chosen, {1}, /*keep=*/false)});
  };
  return finish(call, apart({x, index, y}, e.tensor(x), call.name, build));
}

} // namespace mx::irgen
