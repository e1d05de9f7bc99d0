// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movement (flip, roll, tile, pad, …), and random ops composed of other random ops.
#include "IRGen/Compose.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

mlir::Value Composer::flips(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  auto along = axes(call, "axis", rankOf(x));
  if (!along)
    return fail(call, "an axis that is not a number");
  for (int64_t a : *along)
    x = flip(x, static_cast<size_t>(a));
  return finish(call, x);
}

/// Element i comes from i - shift; the shift may be a run-time value.
mlir::Value Composer::roll(const Call &call) {
  mlir::Value x = operand(call, "x");
  const Expr *given = e.argument(call, "shift");
  mlir::Value shift = x && given ? e.emitAs(given, e.builder.getI64Type()) : mlir::Value();
  if (!shift)
    return {};
  auto along = axes(call, "axis", rankOf(x));
  if (!along)
    return fail(call, "an axis that is not a number");
  for (int64_t a : *along) {
    auto at = static_cast<size_t>(a);
    ir::SizeAttr n = e.tensor(x).getSizes()[at];
    // An empty axis takes no elements, but the modulus must not be 0.
    mlir::Value modulus = n.constant() ? integer(std::max<int64_t>(*n.constant(), 1))
                                       : e.elementwise("maximum", {number(n), integer(1)});
    mlir::Value from = e.elementwise("mod", {e.elementwise("sub", {counted(n), shift}), modulus});
    x = take(x, from, at);
  }
  return finish(call, x);
}

/// A list of sizes.
std::optional<Composer::Sizes> Composer::sizes(const Call &call, StringRef name) {
  const Expr *given = e.argument(call, name);
  Sizes out;
  auto add = [&](const Expr *one) {
    if (one->checked && one->checked->dim)
      out.push_back(e.size(one->checked->dim));
    return one->checked && one->checked->dim && out.back();
  };
  if (auto *list = as<ListExpr>(given)) {
    if (!llvm::all_of(list->elements, add))
      return std::nullopt;
  } else if (auto *tuple = as<Tuple>(given)) {
    if (!llvm::all_of(tuple->elements, add))
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  return out;
}

mlir::Value Composer::tile(const Call &call) {
  mlir::Value x = operand(call, "x");
  auto times = x ? sizes(call, "times") : std::nullopt;
  if (!times || times->size() != rankOf(x))
    return x ? fail(call, "repetitions that are not numbers") : x;
  for (auto [axis, count] : llvm::enumerate(*times)) {
    if (count.constant() == 1)
      continue;
    Sizes apart = sizesOf(x), joined = apart;
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis), size(1));
    mlir::Value wide = reshape(x, apart);
    apart[axis] = count;
    joined[axis] = mul(count, joined[axis]);
    x = reshape(broadcast(wide, apart), joined);
  }
  return finish(call, x);
}

mlir::Value Composer::pad(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  auto before = sizes(call, "before"), after = sizes(call, "after");
  auto mode = word(call, "mode");
  if (!before || !after || !mode || before->size() != rankOf(x) || after->size() != rankOf(x))
    return fail(call, "borders that are not numbers");
  for (size_t axis = 0; axis < rankOf(x); ++axis) {
    ir::SizeAttr left = (*before)[axis], right = (*after)[axis];
    if (left.constant() == 0 && right.constant() == 0)
      continue;
    if (*mode == "constant") {
      x = widen(x, axis, left, right, e.constantNumber(e.elementOf(x), 0, 0, /*isWhole=*/true));
      continue;
    }
    ir::SizeAttr n = e.tensor(x).getSizes()[axis];
    mlir::Value last = number(sub(n, size(1)));
    mlir::Value position = e.elementwise("sub", {counted(add(n, add(left, right))), number(left)});
    if (*mode == "edge") {
      position = e.elementwise("minimum", {e.elementwise("maximum", {position, integer(0)}), last});
    } else {
      // Reflection: 0 1 2 1 0 1 2 …; a single element is its own mirror image.
      mlir::Value period =
          e.elementwise("maximum", {e.elementwise("mul", {last, integer(2)}), integer(1)});
      position = e.elementwise("mod", {position, period});
      position = e.elementwise("minimum", {position, e.elementwise("sub", {period, position})});
    }
    x = take(x, position, axis);
  }
  return finish(call, x);
}

/// Inverse transform sampling: the normal quantile function at uniform numbers between the
/// probabilities of -2 and 2. A rational approximation (P. Acklam's, central region) with an error
/// of about 1e-9 there.
mlir::Value Composer::truncatedNormal(const Call &call) {
  const Type *type = e.concrete(call.info->result);
  auto wanted = mlir::cast<ir::TensorType>(e.convert(type));
  mlir::Type drawn =
      wanted.getElement().isF64() ? wanted.getElement() : mlir::Type(e.builder.getF32Type());
  auto constant = [&](double value) { return e.constantNumber(drawn, value, 0, false); };
  const double kOutside = 0.022750131948179195; // P(x < -2)
  mlir::Value u = e.draw(call, "uniform", wanted.withElement(drawn),
                         {constant(kOutside), constant(1 - kOutside)});
  const Expr *mean = e.argument(call, "mean"), *deviation = e.argument(call, "std");
  if (!u || !mean || !deviation)
    return {};
  static constexpr double kAbove[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                                      -2.759285104469687e+02, 1.383577518672690e+02,
                                      -3.066479806614716e+01, 2.506628277459239e+00};
  static constexpr double kBelow[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                                      -1.556989798598866e+02, 6.680131188771972e+01,
                                      -1.328068155288572e+01, 1.0};
  mlir::Value q = e.elementwise("sub", {u, constant(0.5)});
  mlir::Value r = e.elementwise("mul", {q, q});
  auto polynomial = [&](ArrayRef<double> factors) {
    mlir::Value sum = e.elementwise("mul", {r, constant(factors[0])});
    for (size_t i = 1; i < factors.size(); ++i) {
      sum = e.elementwise("add", {sum, constant(factors[i])});
      if (i + 1 < factors.size())
        sum = e.elementwise("mul", {sum, r});
    }
    return sum;
  };
  mlir::Value z = e.elementwise(
      "div", {e.elementwise("mul", {polynomial(kAbove), q}), polynomial(kBelow)}, drawn);
  z = e.elementwise("minimum", {e.elementwise("maximum", {z, constant(-2)}), constant(2)});
  mlir::Value m = e.emitAs(mean, drawn), s = e.emitAs(deviation, drawn);
  if (!m || !s)
    return {};
  z = e.elementwise("add", {e.elementwise("mul", {z, s}), m});
  return finish(call, e.cast(z, wanted.getElement()));
}

} // namespace mx::irgen
