// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalar code of elementwise ops on integers and bools. Integers wrap. Nothing here traps: a
// divisor that would trap is replaced, and recorded if it is an error.
#include "Lowering/kernels/Evaluate.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

struct Integers {
  KernelEmitter &e;
  Operation *op;
  Type type; ///< signless
  bool isUnsigned;

  Value constant(int64_t value) { return e.constant(type, e.b.getIntegerAttr(type, value)); }
  unsigned width() const { return type.getIntOrFloatBitWidth(); }
  Value is(CmpIPredicate forSigned, CmpIPredicate forUnsigned, Value x, Value y) {
    return e.compare(isUnsigned ? forUnsigned : forSigned, x, y);
  }
  Value isZero(Value x) { return e.compare(CmpIPredicate::eq, x, constant(0)); }

  /// Records a divisor of 0, unless the program is unchecked.
  void noteZero(Value isZero) {
    if (!e.options.unchecked)
      e.noteFault(op, isZero, Code::DIVISION_BY_ZERO, "integer division by zero");
  }
  Value floorDivMod(Value x, Value y, bool quotient);
  Value divide(Value x, Value y);
  Value power(Value x, Value y);
  Value shift(Value x, Value y, bool left);
};

Value Integers::floorDivMod(Value x, Value y, bool quotient) {
  Value zero = constant(0), one = constant(1);
  Value byZero = isZero(y);
  noteZero(byZero);
  if (isUnsigned) {
    Value safe = e.choose(byZero, one, y);
    Value value = quotient ? Value(arith::DivUIOp::create(e.b, x, safe))
                           : Value(arith::RemUIOp::create(e.b, x, safe));
    return e.choose(byZero, zero, value);
  }
  // The smallest number divided by -1 overflows, which traps on x86: -x wraps.
  Value minus = constant(-1);
  Value byMinus = e.compare(CmpIPredicate::eq, y, minus);
  Value safe = e.choose(arith::OrIOp::create(e.b, byZero, byMinus), one, y);
  Value towardsZero = arith::DivSIOp::create(e.b, x, safe);
  Value rest = e.sub(x, e.mul(towardsZero, safe));
  Value signsDiffer = e.compare(CmpIPredicate::slt, arith::XOrIOp::create(e.b, rest, safe), zero);
  Value adjust = arith::AndIOp::create(e.b, signsDiffer, e.compare(CmpIPredicate::ne, rest, zero));
  Value value = quotient ? e.choose(adjust, e.sub(towardsZero, one), towardsZero)
                         : e.choose(adjust, e.add(rest, safe), rest);
  value = e.choose(byMinus, quotient ? e.sub(zero, x) : zero, value);
  return e.choose(byZero, zero, value);
}

/// `/` of integers: in f32.
Value Integers::divide(Value x, Value y) {
  Value byZero = isZero(y);
  noteZero(byZero);
  Type element = cast<TensorType>(op->getOperand(0).getType()).getElement();
  Type f32 = e.b.getF32Type();
  Value value =
      arith::DivFOp::create(e.b, emitCast(e, x, element, f32), emitCast(e, y, element, f32));
  return e.choose(byZero, e.constantOf(f32, 0), value);
}

/// By squaring; a negative exponent is recorded as an error.
Value Integers::power(Value x, Value y) {
  Value zero = constant(0), one = constant(1);
  if (!isUnsigned) {
    Value negative = e.compare(CmpIPredicate::slt, y, zero);
    e.noteFault(op, negative, Code::INVALID_ARGUMENT,
                "integers cannot be raised to a negative power");
    y = e.choose(negative, zero, y);
  }
  auto loop = scf::WhileOp::create(
      e.b, TypeRange{type, type, type}, ValueRange{one, x, y},
      [&](OpBuilder &b, Location loc, ValueRange at) {
        Value more = arith::CmpIOp::create(b, loc, CmpIPredicate::ne, at[2], zero);
        scf::ConditionOp::create(b, loc, more, at);
      },
      [&](OpBuilder &b, Location loc, ValueRange at) {
        Value bit = arith::AndIOp::create(b, loc, at[2], one);
        Value odd = arith::CmpIOp::create(b, loc, CmpIPredicate::ne, bit, zero);
        Value product = arith::MulIOp::create(b, loc, at[0], at[1]);
        Value result = arith::SelectOp::create(b, loc, odd, product, at[0]);
        Value square = arith::MulIOp::create(b, loc, at[1], at[1]);
        Value rest = arith::ShRUIOp::create(b, loc, at[2], one);
        scf::YieldOp::create(b, loc, ValueRange{result, square, rest});
      });
  return loop.getResult(0);
}

Value Integers::shift(Value x, Value y, bool left) {
  // Negative shift counts exceed the width, too.
  Value beyond = e.compare(CmpIPredicate::uge, y, constant(width()));
  if (left)
    return e.choose(beyond, constant(0),
                    arith::ShLIOp::create(e.b, x, e.choose(beyond, constant(0), y)));
  if (isUnsigned)
    return e.choose(beyond, constant(0),
                    arith::ShRUIOp::create(e.b, x, e.choose(beyond, constant(0), y)));
  return arith::ShRSIOp::create(e.b, x, e.choose(beyond, constant(width() - 1), y));
}

} // namespace

Value emitInteger(KernelEmitter &e, Operation *op, Type element, ArrayRef<Value> x) {
  // Bools are unsigned numbers of one bit.
  Integers i{e, op, x[0].getType(), element.isUnsignedInteger() || element.isInteger(1)};
  if (isa<NegOp>(op))
    return e.sub(i.constant(0), x[0]);
  if (isa<AbsOp>(op)) {
    if (i.isUnsigned)
      return x[0];
    Value negative = e.compare(CmpIPredicate::slt, x[0], i.constant(0));
    return e.choose(negative, e.sub(i.constant(0), x[0]), x[0]);
  }
  if (isa<SignOp>(op)) {
    Value positive = i.is(CmpIPredicate::sgt, CmpIPredicate::ugt, x[0], i.constant(0));
    Value value = e.choose(positive, i.constant(1), i.constant(0));
    if (i.isUnsigned)
      return value;
    Value negative = e.compare(CmpIPredicate::slt, x[0], i.constant(0));
    return e.choose(negative, i.constant(-1), value);
  }
  if (isa<NotOp, BitNotOp>(op))
    return arith::XOrIOp::create(e.b, x[0], i.constant(-1));
  if (isa<FloorOp, CeilOp, RoundOp>(op))
    return x[0];
  if (isa<IsNanOp, IsFiniteOp>(op))
    return e.constantOf(e.b.getI1Type(), isa<IsFiniteOp>(op));
  if (isa<AddOp>(op))
    return e.add(x[0], x[1]);
  if (isa<SubOp>(op))
    return e.sub(x[0], x[1]);
  if (isa<MulOp>(op))
    return e.mul(x[0], x[1]);
  if (isa<DivOp>(op))
    return i.divide(x[0], x[1]);
  if (isa<FloorDivOp, ModOp>(op))
    return i.floorDivMod(x[0], x[1], isa<FloorDivOp>(op));
  if (isa<PowOp>(op))
    return i.power(x[0], x[1]);
  if (isa<MaximumOp>(op))
    return i.isUnsigned ? Value(arith::MaxUIOp::create(e.b, x[0], x[1]))
                        : Value(arith::MaxSIOp::create(e.b, x[0], x[1]));
  if (isa<MinimumOp>(op))
    return i.isUnsigned ? Value(arith::MinUIOp::create(e.b, x[0], x[1]))
                        : Value(arith::MinSIOp::create(e.b, x[0], x[1]));
  if (isa<AndOp, BitAndOp>(op))
    return arith::AndIOp::create(e.b, x[0], x[1]);
  if (isa<OrOp, BitOrOp>(op))
    return arith::OrIOp::create(e.b, x[0], x[1]);
  if (isa<BitXorOp>(op))
    return arith::XOrIOp::create(e.b, x[0], x[1]);
  if (isa<ShiftLeftOp, ShiftRightOp>(op))
    return i.shift(x[0], x[1], isa<ShiftLeftOp>(op));
  if (isa<EqOp>(op))
    return e.compare(CmpIPredicate::eq, x[0], x[1]);
  if (isa<NeOp>(op))
    return e.compare(CmpIPredicate::ne, x[0], x[1]);
  if (isa<LtOp>(op))
    return i.is(CmpIPredicate::slt, CmpIPredicate::ult, x[0], x[1]);
  if (isa<LeOp>(op))
    return i.is(CmpIPredicate::sle, CmpIPredicate::ule, x[0], x[1]);
  if (isa<GtOp>(op))
    return i.is(CmpIPredicate::sgt, CmpIPredicate::ugt, x[0], x[1]);
  if (isa<GeOp>(op))
    return i.is(CmpIPredicate::sge, CmpIPredicate::uge, x[0], x[1]);
  return {};
}

} // namespace mx::lowering
