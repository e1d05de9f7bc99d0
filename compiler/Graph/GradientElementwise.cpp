// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: gradient rules of elementwise ops. Contributions have the shape of the
// result; accumulation reduces them to the operand's shape (the adjoint of broadcasting).
#include "Graph/Adjoints.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace mx::graph {

/// The value of a rank-0 float constant.
static std::optional<double> constantFloat(Value value) {
  while (true) {
    if (auto to = value.getDefiningOp<ir::ToDeviceOp>())
      value = to.getX();
    else if (auto cast = value.getDefiningOp<ir::CastOp>())
      value = cast.getX();
    else
      break;
  }
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  if (auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr())
    return number.getValueAsDouble();
  if (auto whole = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr())
    return static_cast<double>(whole.getValue().getSExtValue());
  return std::nullopt;
}

void Reverse::power(Operation *op, Value g) {
  Value x = op->getOperand(0), y = op->getOperand(1), z = op->getResult(0);
  Type boolean = b.getI1Type();
  if (isActive(x)) {
    std::optional<double> exponent = constantFloat(y);
    if (exponent && *exponent == 2) {
      contribute(x, elementwise("mul", {g, elementwise("mul", {number(x, 2), x})}));
    } else if (exponent && *exponent == 1) {
      contribute(x, g);
    } else {
      Value less = exponent ? number(y, *exponent - 1) : elementwise("sub", {y, number(y, 1)});
      Value slope = elementwise("mul", {y, elementwise("pow", {x, less})});
      // x ** 0 is 1 everywhere, also where x ** -1 is infinite.
      if (!exponent || *exponent == 0)
        slope = elementwise("select",
                            {elementwise("eq", {y, number(y, 0)}, boolean), number(x, 0), slope});
      contribute(x, elementwise("mul", {g, slope}));
    }
  }
  if (isActive(y)) {
    // 0 ** y is 0 for all y > 0. A negative x has no slope: the logarithm returns NaN.
    Value flat = elementwise("and", {elementwise("eq", {x, number(x, 0)}, boolean),
                                     elementwise("ge", {y, number(y, 0)}, boolean)});
    Value safe = elementwise("select", {flat, number(x, 1), x});
    Value slope = elementwise("mul", {z, elementwise("log", {safe})});
    contribute(y, elementwise("mul", {g, slope}));
  }
}

/// The gradient of atan2. Both operands are divided by the larger one first: their squares may
/// overflow or underflow to 0 where the slopes are ordinary numbers. (0, 0) has no slope; the
/// gradient is 0, like that of `norm`.
void Reverse::angle(Operation *op, Value g) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  Type boolean = b.getI1Type();
  auto div = [&](Value l, Value r) { return elementwise("div", {l, r}, typeOf(l).getElement()); };
  Value larger = elementwise("maximum", {elementwise("abs", {x}), elementwise("abs", {y})});
  Value zero = elementwise("eq", {larger, number(larger, 0)}, boolean);
  Value usable =
      elementwise("and", {elementwise("isfinite", {larger}, boolean), elementwise("not", {zero})});
  Value scale = elementwise("select", {usable, larger, number(larger, 1)});
  Value p = div(x, scale), q = div(y, scale);
  Value squares = elementwise("add", {elementwise("mul", {p, p}), elementwise("mul", {q, q})});
  squares = elementwise("select", {zero, number(squares, 1), squares});
  auto slope = [&](Value of) { return div(elementwise("mul", {g, div(of, squares)}), scale); };
  if (isActive(x))
    contribute(x, slope(q));
  if (isActive(y))
    contribute(y, elementwise("neg", {slope(p)}));
}

/// The condition of a `select`. `select(x > c, x, c)` is above c exactly where x is, so the result
/// can be compared instead. Later ops keep the result in any case; the operand need not be kept.
Value Reverse::conditionOf(Operation *op) {
  Value condition = op->getOperand(0), taken = op->getOperand(1), other = op->getOperand(2);
  Operation *compared = condition.getDefiningOp();
  bool strict = isa_and_nonnull<ir::GtOp, ir::LtOp>(compared);
  if (!strict && !isa_and_nonnull<ir::GeOp, ir::LeOp>(compared))
    return condition;
  Value left = compared->getOperand(0), right = compared->getOperand(1);
  // Where both are equal the limit is selected, and the comparison of the result must agree.
  Value moving = strict ? taken : other, limit = strict ? other : taken;
  auto same = [](Value one, Value two) {
    std::optional<double> number = constantFloat(one);
    return one == two || (number && number == constantFloat(two));
  };
  StringRef name = compared->getName().stripDialect();
  Value z = op->getResult(0);
  if (left == moving && same(right, limit))
    return elementwise(name, {z, right}, b.getI1Type());
  if (right == moving && same(left, limit))
    return elementwise(name, {left, z}, b.getI1Type());
  return condition;
}

void takeExtremes(ModuleOp module) {
  module.walk([](ir::SelectOp op) {
    Operation *compared = op.getCondition().getDefiningOp();
    bool largest = isa_and_nonnull<ir::LeOp>(compared);
    if (!largest && !isa_and_nonnull<ir::GeOp>(compared))
      return;
    Value x = op->getOperand(2), limit = op->getOperand(1);
    std::optional<double> number = constantFloat(limit);
    // `maximum` and `minimum` order -0 before +0, comparisons do not. NaN has no order.
    bool fits = number && !std::isnan(*number) && (*number != 0 || (largest && !std::signbit(*number)));
    if (!fits || constantFloat(compared->getOperand(1)) != number || compared->getOperand(0) != x ||
        x.getType() != op.getType())
      return;
    OpBuilder b(op);
    Value made =
        ir::makeElementwise(b, op.getLoc(), largest ? "maximum" : "minimum", {x, limit}, Type());
    op.replaceAllUsesWith(made);
    op.erase();
    if (compared->use_empty())
      compared->erase();
  });
}

void Reverse::elementwiseRule(Operation *op, Value g, bool &handled) {
  handled = true;
  Value x = op->getOperand(0), z = op->getResult(0);
  Value y = op->getNumOperands() > 1 ? op->getOperand(1) : Value();
  Type boolean = b.getI1Type();
  auto mul = [&](Value l, Value r) { return elementwise("mul", {l, r}); };
  auto div = [&](Value l, Value r) { return elementwise("div", {l, r}, typeOf(l).getElement()); };
  auto plus = [&](Value l, Value r) { return elementwise("add", {l, r}); };
  auto minus = [&](Value l, Value r) { return elementwise("sub", {l, r}); };
  auto neg = [&](Value v) { return elementwise("neg", {v}); };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ir::NegOp) { contribute(x, neg(g)); })
      .Case([&](ir::AbsOp) { contribute(x, mul(g, elementwise("sign", {x}))); })
      .Case([&](ir::ExpOp) { contribute(x, mul(g, z)); })
      .Case([&](ir::LogOp) { contribute(x, div(g, x)); })
      .Case([&](ir::Log1pOp) { contribute(x, div(g, plus(x, number(x, 1)))); })
      .Case([&](ir::Expm1Op) { contribute(x, mul(g, elementwise("exp", {x}))); })
      .Case([&](ir::SqrtOp) { contribute(x, div(mul(g, number(x, 0.5)), z)); })
      .Case([&](ir::RsqrtOp) { contribute(x, mul(mul(g, number(x, -0.5)), mul(mul(z, z), z))); })
      .Case([&](ir::SinOp) { contribute(x, mul(g, elementwise("cos", {x}))); })
      .Case([&](ir::CosOp) { contribute(x, neg(mul(g, elementwise("sin", {x})))); })
      .Case([&](ir::TanOp) { contribute(x, mul(g, plus(mul(z, z), number(x, 1)))); })
      .Case([&](ir::TanhOp) { contribute(x, mul(g, minus(number(x, 1), mul(z, z)))); })
      .Case([&](ir::ErfOp) {
        Value bell = elementwise("exp", {neg(mul(x, x))});
        contribute(x, mul(g, mul(bell, number(x, 1.1283791670955126)))); // 2 / sqrt(pi)
      })
      .Case([&](ir::AddOp) {
        contribute(x, g);
        contribute(y, g);
      })
      .Case([&](ir::SubOp) {
        contribute(x, g);
        if (isActive(y))
          contribute(y, neg(g));
      })
      .Case([&](ir::MulOp) {
        if (isActive(x))
          contribute(x, mul(g, y));
        if (isActive(y))
          contribute(y, mul(g, x));
      })
      .Case([&](ir::DivOp) {
        if (isActive(x))
          contribute(x, div(g, y));
        // Not g / y * z: that is infinity times 0 for 0 over the smallest numbers.
        if (isActive(y))
          contribute(y, neg(mul(g, div(z, y))));
      })
      .Case([&](ir::ModOp) {
        contribute(x, g);
        if (isActive(y))
          contribute(y, neg(mul(g, elementwise("floordiv", {x, y}))));
      })
      .Case([&](ir::PowOp) { power(op, g); })
      .Case<ir::MaximumOp, ir::MinimumOp>([&](Operation *) {
        // Equal operands share the gradient, also if only one of them is differentiated: a gradient
        // must not depend on which others are requested. NaN passes the gradient on.
        Value half = mul(g, number(g, 0.5));
        Value same = elementwise("eq", {x, y}, boolean);
        auto share = [&](Value mine, Value other) {
          if (!isActive(mine))
            return;
          Value loses = elementwise(isa<ir::MaximumOp>(op) ? "lt" : "gt", {mine, other}, boolean);
          Value alone = elementwise("select", {loses, number(g, 0), g});
          contribute(mine, elementwise("select", {same, half, alone}));
        };
        share(x, y);
        share(y, x);
      })
      .Case([&](ir::Atan2Op) { angle(op, g); })
      .Case([&](ir::SelectOp) {
        Value other = op->getOperand(2), condition = conditionOf(op);
        if (isActive(y))
          contribute(y, elementwise("select", {condition, g, number(g, 0)}));
        if (isActive(other))
          contribute(other, elementwise("select", {condition, number(g, 0), g}));
      })
      .Case([&](ir::CastOp) {
        Type element = typeOf(x).getElement();
        contribute(x, make<ir::CastOp>(typeOf(g).withElement(element), g));
      })
      .Default([&](Operation *) { handled = false; });
}

} // namespace mx::graph
