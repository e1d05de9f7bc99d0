// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: rules of elementwise ops. Contributions have the shape of the result; the
// operand's shape is restored when they are added.
#include "Graph/Adjoints.h"
#include "llvm/ADT/TypeSwitch.h"

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
    Value above = elementwise("gt", {x, number(x, 0)}, boolean);
    Value safe = elementwise("select", {above, x, number(x, 1)});
    Value slope = elementwise("mul", {z, elementwise("log", {safe})});
    contribute(y, elementwise("mul", {g, slope}));
  }
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
      .Case([&](ir::Expm1Op) { contribute(x, mul(g, plus(z, number(x, 1)))); })
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
        Value part = div(g, y);
        contribute(x, part);
        if (isActive(y))
          contribute(y, neg(mul(part, z)));
      })
      .Case([&](ir::ModOp) {
        contribute(x, g);
        if (isActive(y))
          contribute(y, neg(mul(g, elementwise("floor", {div(x, y)}))));
      })
      .Case([&](ir::PowOp) { power(op, g); })
      .Case<ir::MaximumOp, ir::MinimumOp>([&](Operation *) {
        bool both = isActive(x) && isActive(y);
        if (!both) {
          // By the result, which what follows keeps in any case: the operand need not be.
          Value mine = isActive(x) ? x : y, other = isActive(x) ? y : x;
          Value wins = elementwise(isa<ir::MaximumOp>(op) ? "gt" : "lt", {z, other}, boolean);
          contribute(mine, elementwise("select", {wins, g, number(g, 0)}));
          return;
        }
        // Equal operands share.
        Value half = mul(g, number(g, 0.5));
        Value same = elementwise("eq", {x, y}, boolean);
        bool larger = isa<ir::MaximumOp>(op);
        auto share = [&](Value mine, Value other) {
          Value wins = elementwise(larger ? "gt" : "lt", {mine, other}, boolean);
          Value alone = elementwise("select", {wins, g, number(g, 0)});
          return elementwise("select", {same, half, alone});
        };
        contribute(x, share(x, y));
        contribute(y, share(y, x));
      })
      .Case([&](ir::Atan2Op) {
        Value scaled = div(g, plus(mul(x, x), mul(y, y)));
        if (isActive(x))
          contribute(x, mul(scaled, y));
        if (isActive(y))
          contribute(y, neg(mul(scaled, x)));
      })
      .Case([&](ir::SelectOp) {
        Value other = op->getOperand(2);
        if (isActive(y))
          contribute(y, elementwise("select", {x, g, number(g, 0)}));
        if (isActive(other))
          contribute(other, elementwise("select", {x, number(g, 0), g}));
      })
      .Case([&](ir::CastOp) {
        Type element = typeOf(x).getElement();
        contribute(x, make<ir::CastOp>(typeOf(g).withElement(element), g));
      })
      .Default([&](Operation *) { handled = false; });
}

} // namespace mx::graph
