// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on host numbers. The results match the host's bytecode (runtime/host): integers wrap,
// `//` and `%` round down as in Python, a float divisor of 0 gives inf or NaN.
#include "Lowering/programs/HostMath.h"
#include "Lowering/RuntimeFacts.h"
#include "dialects/mx/Functions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace mx::lowering {

static bool isUnsigned(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }
static Type elementOf(Value value) {
  return llvm::cast<ir::TensorType>(value.getType()).getElement();
}

Value HostMath::constant(Type element, Attribute value) {
  Type type = rt::scalarType(element);
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, integer.getValue()));
  if (auto number = dyn_cast<FloatAttr>(value))
    return arith::ConstantOp::create(
        b, llvm::cast<TypedAttr>(FloatAttr::get(type, number.getValue())));
  return {};
}
Value HostMath::number(Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, llvm::cast<TypedAttr>(b.getFloatAttr(type, value)));
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}
Value HostMath::compareInts(CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, predicate, x, y);
}
Value HostMath::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

Value HostMath::widen(Value x, Type element) {
  if (x.getType().isInteger(64))
    return x;
  if (isUnsigned(element))
    return arith::ExtUIOp::create(b, b.getI64Type(), x);
  return arith::ExtSIOp::create(b, b.getI64Type(), x);
}
Value HostMath::narrow(Value x, Type element) {
  Type type = rt::scalarType(element);
  return type == x.getType() ? x : Value(arith::TruncIOp::create(b, type, x));
}

void HostMath::failIfZero(Value divisor) {
  Value isZero = compareInts(CmpIPredicate::eq, divisor, number(divisor.getType(), 0));
  rt::FailOp::create(b, isZero, numberOf(Code::DIVISION_BY_ZERO), "integer division by zero");
}

/// `x // y` or `x % y` of i64.
Value HostMath::divideInts(Value x, Value y, bool rest) {
  failIfZero(y);
  Value zero = number(x.getType(), 0), one = number(x.getType(), 1);
  // -2^63 // -1 traps on some machines; it wraps here.
  Value isMinus = compareInts(CmpIPredicate::eq, y, number(x.getType(), -1));
  Value safe = select(isMinus, one, y);
  Value quotient = arith::DivSIOp::create(b, x, safe);
  Value remainder = arith::RemSIOp::create(b, x, safe);
  Value differ = compareInts(CmpIPredicate::slt, arith::XOrIOp::create(b, remainder, safe), zero);
  Value down = arith::AndIOp::create(b, differ, compareInts(CmpIPredicate::ne, remainder, zero));
  if (rest)
    return select(down, arith::AddIOp::create(b, remainder, safe), remainder);
  Value floor = select(down, arith::SubIOp::create(b, quotient, one), quotient);
  return select(isMinus, arith::SubIOp::create(b, zero, x), floor);
}

/// As Python, but a divisor of 0 gives inf or NaN.
Value HostMath::divideFloats(Value x, Value y, bool rest) {
  Type type = x.getType();
  Value zero = number(type, 0);
  auto isLess = [&](Value v) -> Value {
    return arith::CmpFOp::create(b, CmpFPredicate::OLT, v, zero);
  };
  auto isNot0 = [&](Value v) -> Value {
    return arith::CmpFOp::create(b, CmpFPredicate::UNE, v, zero);
  };
  Value remainder = arith::RemFOp::create(b, x, y); // NaN for y == 0
  Value exact = arith::DivFOp::create(b, arith::SubFOp::create(b, x, remainder), y);
  Value differ = arith::XOrIOp::create(b, isLess(y), isLess(remainder));
  Value down = arith::AndIOp::create(b, isNot0(remainder), differ);
  if (rest) {
    Value moved = select(down, arith::AddFOp::create(b, remainder, y), remainder);
    return select(isNot0(remainder), moved, math::CopySignOp::create(b, zero, y));
  }
  exact = select(down, arith::SubFOp::create(b, exact, number(type, 1)), exact);
  Value floor = math::FloorOp::create(b, exact);
  Value gap = arith::SubFOp::create(b, exact, floor);
  Value up = arith::CmpFOp::create(b, CmpFPredicate::OGT, gap, number(type, 0.5));
  floor = select(up, arith::AddFOp::create(b, floor, number(type, 1)), floor);
  Value plain = arith::DivFOp::create(b, x, y);
  floor = select(isNot0(exact), floor, math::CopySignOp::create(b, zero, plain));
  return select(isNot0(y), floor, plain);
}

/// Computes in i64, whatever the width of the elements: results are truncated to it, which wraps.
Value HostMath::lowerInts(Operation *op, ValueRange x) {
  if (isa<ir::AddOp>(op))
    return arith::AddIOp::create(b, x[0], x[1]);
  if (isa<ir::SubOp>(op))
    return arith::SubIOp::create(b, x[0], x[1]);
  if (isa<ir::MulOp>(op))
    return arith::MulIOp::create(b, x[0], x[1]);
  if (isa<ir::FloorDivOp>(op))
    return divideInts(x[0], x[1], /*rest=*/false);
  if (isa<ir::ModOp>(op))
    return divideInts(x[0], x[1], /*rest=*/true);
  if (isa<ir::MaximumOp>(op))
    return arith::MaxSIOp::create(b, x[0], x[1]);
  if (isa<ir::MinimumOp>(op))
    return arith::MinSIOp::create(b, x[0], x[1]);
  if (isa<ir::SignOp>(op)) {
    Value one = number(x[0].getType(), 1), minus = number(x[0].getType(), -1);
    return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, x[0], one), minus);
  }
  if (isa<ir::NegOp, ir::AbsOp>(op)) {
    Value zero = number(x[0].getType(), 0), negative = arith::SubIOp::create(b, zero, x[0]);
    if (isa<ir::NegOp>(op))
      return negative;
    return select(compareInts(CmpIPredicate::slt, x[0], zero), negative, x[0]);
  }
  if (isa<ir::BitAndOp>(op))
    return arith::AndIOp::create(b, x[0], x[1]);
  if (isa<ir::BitOrOp>(op))
    return arith::OrIOp::create(b, x[0], x[1]);
  if (isa<ir::BitXorOp>(op))
    return arith::XOrIOp::create(b, x[0], x[1]);
  if (isa<ir::BitNotOp>(op))
    return arith::XOrIOp::create(b, x[0], number(x[0].getType(), -1));
  if (isa<ir::ShiftLeftOp, ir::ShiftRightOp>(op)) {
    // Shifts by more than the width, or by a negative number, shift all bits out.
    Value maxShift = number(x[0].getType(), 63), zero = number(x[0].getType(), 0);
    Value beyond = compareInts(CmpIPredicate::ugt, x[1], maxShift);
    if (isa<ir::ShiftRightOp>(op))
      return arith::ShRSIOp::create(b, x[0], select(beyond, maxShift, x[1]));
    return select(beyond, zero, arith::ShLIOp::create(b, x[0], select(beyond, zero, x[1])));
  }
  if (isa<ir::FloorOp, ir::CeilOp, ir::RoundOp>(op))
    return x[0];
  if (isa<ir::PowOp>(op))
    return powerOfInts(x[0], x[1]);
  return {};
}

/// By squaring, one bit of the exponent after the other (unrolled): programs have no loops over
/// numbers.
Value HostMath::powerOfInts(Value x, Value y) {
  Type type = x.getType();
  Value zero = number(type, 0), one = number(type, 1), result = one;
  rt::FailOp::create(b, compareInts(CmpIPredicate::slt, y, zero), numberOf(Code::INVALID_ARGUMENT),
                     "integers cannot be raised to a negative power");
  for (int bit = 0; bit < 63; ++bit) {
    Value isSet = compareInts(CmpIPredicate::ne, arith::AndIOp::create(b, y, one), zero);
    result = select(isSet, arith::MulIOp::create(b, result, x), result);
    x = arith::MulIOp::create(b, x, x);
    y = arith::ShRUIOp::create(b, y, one);
  }
  return result;
}

Value HostMath::lowerFloats(Operation *op, ValueRange x) {
  if (isa<ir::AddOp>(op))
    return arith::AddFOp::create(b, x[0], x[1]);
  if (isa<ir::SubOp>(op))
    return arith::SubFOp::create(b, x[0], x[1]);
  if (isa<ir::MulOp>(op))
    return arith::MulFOp::create(b, x[0], x[1]);
  if (isa<ir::DivOp>(op))
    return arith::DivFOp::create(b, x[0], x[1]);
  if (isa<ir::FloorDivOp>(op))
    return divideFloats(x[0], x[1], /*rest=*/false);
  if (isa<ir::ModOp>(op))
    return divideFloats(x[0], x[1], /*rest=*/true);
  if (isa<ir::MaximumOp>(op))
    return arith::MaximumFOp::create(b, x[0], x[1]);
  if (isa<ir::MinimumOp>(op))
    return arith::MinimumFOp::create(b, x[0], x[1]);
  if (isa<ir::NegOp>(op))
    return arith::NegFOp::create(b, x[0]);
  if (isa<ir::AbsOp>(op))
    return math::AbsFOp::create(b, x[0]);
  return lowerFunction(op, x);
}

/// 1, -1, 0 or NaN.
Value HostMath::signOf(Value x) {
  Value zero = number(x.getType(), 0), one = number(x.getType(), 1);
  Value isZero = arith::CmpFOp::create(b, CmpFPredicate::OEQ, x, zero);
  Value isNaN = arith::CmpFOp::create(b, CmpFPredicate::UNO, x, x);
  Value sign = select(isZero, zero, math::CopySignOp::create(b, one, x));
  return select(isNaN, x, sign);
}

/// A function of the C library, as an op of the math dialect (callMathFunctions).
Value HostMath::callC(Operation *op, ValueRange x) {
  OperationState state(b.getLoc(), ("math." + op->getName().stripDialect()).str());
  state.addOperands(x);
  state.addTypes(x[0].getType());
  return b.create(state)->getResult(0);
}

/// In f64, then rounded once, as the host's bytecode does.
Value HostMath::lowerFunction(Operation *op, ValueRange given) {
  Type type = given[0].getType(), wide = b.getF64Type();
  SmallVector<Value> x;
  for (Value value : given)
    x.push_back(type == wide ? value : Value(arith::ExtFOp::create(b, wide, value)));
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](ir::SqrtOp) { return math::SqrtOp::create(b, x[0]); })
          .Case([&](ir::RsqrtOp) {
            return arith::DivFOp::create(b, number(wide, 1), math::SqrtOp::create(b, x[0]));
          })
          .Case([&](ir::SignOp) { return signOf(x[0]); })
          .Case([&](ir::FloorOp) { return math::FloorOp::create(b, x[0]); })
          .Case([&](ir::CeilOp) { return math::CeilOp::create(b, x[0]); })
          .Case([&](ir::RoundOp) { return math::RoundEvenOp::create(b, x[0]); })
          .Case([&](ir::PowOp) { return math::PowFOp::create(b, x[0], x[1]); })
          .Default([&](Operation *op) { return ir::isCFunction(op) ? callC(op, x) : Value(); });
  return !result || type == wide ? result : Value(arith::TruncFOp::create(b, type, result));
}

Value HostMath::compare(Operation *op, Value x, Value y) {
  struct Row {
    TypeID op;
    CmpIPredicate ints;
    CmpFPredicate floats;
  };
  static const Row rows[] = {
      {TypeID::get<ir::EqOp>(), CmpIPredicate::eq, CmpFPredicate::OEQ},
      {TypeID::get<ir::NeOp>(), CmpIPredicate::ne, CmpFPredicate::UNE},
      {TypeID::get<ir::LtOp>(), CmpIPredicate::slt, CmpFPredicate::OLT},
      {TypeID::get<ir::LeOp>(), CmpIPredicate::sle, CmpFPredicate::OLE},
      {TypeID::get<ir::GtOp>(), CmpIPredicate::sgt, CmpFPredicate::OGT},
      {TypeID::get<ir::GeOp>(), CmpIPredicate::sge, CmpFPredicate::OGE},
  };
  for (const Row &row : rows)
    if (row.op == op->getName().getTypeID()) {
      if (isa<FloatType>(x.getType()))
        return arith::CmpFOp::create(b, row.floats, x, y);
      return compareInts(row.ints, x, y);
    }
  return {};
}

/// Floats to integers truncate and saturate, NaN gives 0; to bool: whether it is not 0.
Value HostMath::cast(Value x, Type from, Type to) {
  Type type = rt::scalarType(to);
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (from == to)
    return x;
  if (ir::isBoolElement(to)) {
    if (fromFloat)
      return arith::CmpFOp::create(b, CmpFPredicate::UNE, x, number(from, 0));
    return compareInts(CmpIPredicate::ne, x, number(x.getType(), 0));
  }
  if (!fromFloat && !toFloat)
    return narrow(widen(x, from), to);
  if (!fromFloat)
    return arith::SIToFPOp::create(b, type, widen(x, from));
  if (toFloat) {
    auto width = [](Type t) { return t.getIntOrFloatBitWidth(); };
    if (width(from) == width(to)) // f16 and bf16
      x = arith::ExtFOp::create(b, b.getF32Type(), x);
    if (width(x.getType()) < width(to))
      return arith::ExtFOp::create(b, type, x);
    return arith::TruncFOp::create(b, type, x);
  }
  // In f64 the bounds of all integer types but i64 are exact; 2^63 is, too.
  if (!x.getType().isF64())
    x = arith::ExtFOp::create(b, b.getF64Type(), x);
  unsigned bits = type.getIntOrFloatBitWidth();
  bool isUnsignedTo = isUnsigned(to);
  double low = isUnsignedTo ? 0 : -std::ldexp(1.0, bits - 1);
  double end = std::ldexp(1.0, isUnsignedTo ? bits : bits - 1);
  Type wide = b.getI64Type();
  Value lowest = number(wide, low);
  Value largest = arith::ConstantOp::create(
      b, b.getIntegerAttr(wide, (isUnsignedTo ? APInt::getMaxValue(bits).zext(64)
                                              : APInt::getSignedMaxValue(bits).sext(64))));
  // Converting an out-of-range number gives poison, which the selects then drop.
  Value inside = arith::FPToSIOp::create(b, wide, x);
  Value result = select(
      arith::CmpFOp::create(b, CmpFPredicate::OLT, x, number(b.getF64Type(), low)), lowest, inside);
  result = select(arith::CmpFOp::create(b, CmpFPredicate::OGE, x, number(b.getF64Type(), end)),
                  largest, result);
  result = select(arith::CmpFOp::create(b, CmpFPredicate::UNO, x, x), number(wide, 0), result);
  return narrow(result, to);
}

Value HostMath::lower(Operation *op, ValueRange x) {
  if (auto constantOp = dyn_cast<ir::ConstantOp>(op))
    return constant(constantOp.getType().getElement(), constantOp.getValue());
  if (isa<ir::SelectOp>(op))
    return select(x[0], x[1], x[2]);
  if (isa<ir::CastOp>(op))
    return cast(x[0], elementOf(op->getOperand(0)), elementOf(op->getResult(0)));
  if (isa<ir::AndOp>(op))
    return arith::AndIOp::create(b, x[0], x[1]);
  if (isa<ir::OrOp>(op))
    return arith::OrIOp::create(b, x[0], x[1]);
  if (isa<ir::NotOp>(op))
    return arith::XOrIOp::create(b, x[0], number(x[0].getType(), 1));
  if (x.empty() || !op->hasTrait<ir::Elementwise>())
    return {};
  Type element = elementOf(op->getOperand(0)), result = elementOf(op->getResult(0));
  if (isa<ir::IsNanOp, ir::IsFiniteOp>(op)) {
    if (!isa<FloatType>(element))
      return number(b.getI1Type(), isa<ir::IsFiniteOp>(op));
    // inf - inf is NaN.
    Value y = isa<ir::IsNanOp>(op) ? x[0] : Value(arith::SubFOp::create(b, x[0], x[0]));
    return arith::CmpFOp::create(b, isa<ir::IsNanOp>(op) ? CmpFPredicate::UNO : CmpFPredicate::ORD,
                                 y, y);
  }
  if (isa<FloatType>(element)) {
    Value compared = x.size() == 2 ? compare(op, x[0], x[1]) : Value();
    return compared ? compared : lowerFloats(op, x);
  }
  SmallVector<Value> wide;
  for (Value value : x)
    wide.push_back(widen(value, element));
  if (Value compared = x.size() == 2 ? compare(op, wide[0], wide[1]) : Value())
    return compared;
  if (isa<ir::DivOp>(op)) {
    failIfZero(wide[1]);
    // In f64, then rounded once, as the host's bytecode does.
    auto toFloat = [&](Value v) -> Value { return arith::SIToFPOp::create(b, b.getF64Type(), v); };
    Value quotient = arith::DivFOp::create(b, toFloat(wide[0]), toFloat(wide[1]));
    return arith::TruncFOp::create(b, b.getF32Type(), quotient);
  }
  Value value = lowerInts(op, wide);
  return value ? narrow(value, result) : Value();
}

} // namespace mx::lowering
