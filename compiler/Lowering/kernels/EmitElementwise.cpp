// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalar code of elementwise ops on floats. 16-bit floats are computed in f32 and rounded after
// each op, so that a fused kernel gives the same bits as its ops one by one.
#include "Lowering/kernels/EmitMath.h"
#include "Lowering/kernels/Evaluate.h"
#include "dialects/mx/Functions.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpFPredicate;

namespace mx::lowering {
namespace {

/// Builds float ops of one type with the options' flags.
struct Floats {
  KernelEmitter &e;
  Type type;
  arith::FastMathFlagsAttr flags;

  Floats(KernelEmitter &e, Type type)
      : e(e), type(type), flags(arith::FastMathFlagsAttr::get(e.b.getContext(), e.fast())) {}

  Value constant(double value) { return e.constantOf(type, value); }
  template <class Op> Value op(Value x) { return Op::create(e.b, x, flags); }
  template <class Op> Value op(Value x, Value y) { return Op::create(e.b, x, y, flags); }
  Value is(CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(e.b, predicate, x, y);
  }
};

/// x // y and x % y of floats as in Python: the remainder has the sign of y, the quotient is the
/// exact one rounded down.
Value floorDivMod(Floats &f, Value x, Value y, bool quotient) {
  KernelEmitter &e = f.e;
  Value zero = f.constant(0), one = f.constant(1);
  Value rest = emitRemainder(e, x, y);
  Value restIsZero = f.is(CmpFPredicate::OEQ, rest, zero);
  Value signsDiffer = arith::XOrIOp::create(e.b, f.is(CmpFPredicate::OLT, y, zero),
                                            f.is(CmpFPredicate::OLT, rest, zero));
  // NaN counts as unequal to 0, as in C.
  Value adjust = arith::AndIOp::create(e.b, signsDiffer, f.is(CmpFPredicate::UNE, rest, zero));
  if (!quotient) {
    Value moved = e.choose(adjust, f.op<arith::AddFOp>(rest, y), rest);
    return e.choose(restIsZero, math::CopySignOp::create(e.b, zero, y), moved);
  }
  Value plain = f.op<arith::DivFOp>(x, y);
  Value part = arith::DivFOp::create(e.b, arith::SubFOp::create(e.b, x, rest), y);
  part = e.choose(adjust, arith::SubFOp::create(e.b, part, one), part);
  Value whole = math::FloorOp::create(e.b, part);
  Value above = f.is(CmpFPredicate::OGT, arith::SubFOp::create(e.b, part, whole), f.constant(0.5));
  whole = e.choose(above, arith::AddFOp::create(e.b, whole, one), whole);
  Value zeroLike = math::CopySignOp::create(e.b, zero, plain);
  whole = e.choose(f.is(CmpFPredicate::OEQ, part, zero), zeroLike, whole);
  return e.choose(f.is(CmpFPredicate::OEQ, y, zero), plain, whole);
}

Value emitFloat(KernelEmitter &e, Operation *op, ArrayRef<Value> x) {
  Floats f(e, x[0].getType());
  if (Value value = emitMath(e, op, x))
    return value;
  if (isa<NegOp>(op))
    return f.op<arith::NegFOp>(x[0]);
  if (isa<AbsOp>(op))
    return f.op<math::AbsFOp>(x[0]);
  if (isa<SignOp>(op)) {
    Value zero = f.constant(0);
    Value negative = e.choose(f.is(CmpFPredicate::OLT, x[0], zero), f.constant(-1), zero);
    Value number = e.choose(f.is(CmpFPredicate::OGT, x[0], zero), f.constant(1), negative);
    return e.choose(f.is(CmpFPredicate::UNO, x[0], x[0]), x[0], number);
  }
  if (isa<SqrtOp>(op))
    return f.op<math::SqrtOp>(x[0]);
  if (isa<RsqrtOp>(op))
    return f.op<arith::DivFOp>(f.constant(1), f.op<math::SqrtOp>(x[0]));
  if (isa<FloorOp>(op))
    return f.op<math::FloorOp>(x[0]);
  if (isa<CeilOp>(op))
    return f.op<math::CeilOp>(x[0]);
  if (isa<RoundOp>(op))
    return f.op<math::RoundEvenOp>(x[0]);
  if (isa<IsNanOp>(op))
    return f.is(CmpFPredicate::UNO, x[0], x[0]);
  if (isa<IsFiniteOp>(op))
    return f.is(CmpFPredicate::OLT, math::AbsFOp::create(e.b, x[0]),
                f.constant(std::numeric_limits<double>::infinity()));
  if (isa<AddOp>(op))
    return f.op<arith::AddFOp>(x[0], x[1]);
  if (isa<SubOp>(op))
    return f.op<arith::SubFOp>(x[0], x[1]);
  if (isa<MulOp>(op))
    return f.op<arith::MulFOp>(x[0], x[1]);
  if (isa<DivOp>(op))
    return f.op<arith::DivFOp>(x[0], x[1]);
  if (isa<FloorDivOp, ModOp>(op))
    return floorDivMod(f, x[0], x[1], isa<FloorDivOp>(op));
  if (isa<MaximumOp>(op))
    return f.op<arith::MaximumFOp>(x[0], x[1]);
  if (isa<MinimumOp>(op))
    return f.op<arith::MinimumFOp>(x[0], x[1]);
  if (isa<EqOp>(op))
    return f.is(CmpFPredicate::OEQ, x[0], x[1]);
  if (isa<NeOp>(op))
    return f.is(CmpFPredicate::UNE, x[0], x[1]);
  if (isa<LtOp>(op))
    return f.is(CmpFPredicate::OLT, x[0], x[1]);
  if (isa<LeOp>(op))
    return f.is(CmpFPredicate::OLE, x[0], x[1]);
  if (isa<GtOp>(op))
    return f.is(CmpFPredicate::OGT, x[0], x[1]);
  if (isa<GeOp>(op))
    return f.is(CmpFPredicate::OGE, x[0], x[1]);
  return {};
}

} // namespace

StringRef whyNot(Operation *op) {
  if (op->getNumOperands() == 0 || isa<CastOp, SelectOp>(op))
    return {};
  auto type = dyn_cast<TensorType>(op->getOperand(0).getType());
  if (!type)
    return "is not on tensors";
  Type element = type.getElement();
  if ((isCFunction(op) ||
       isa<SqrtOp, RsqrtOp, FloorOp, CeilOp, RoundOp, IsNanOp, IsFiniteOp>(op)) &&
      !isFloatElement(element))
    return "is for floats";
  if (isa<BitNotOp, BitAndOp, BitOrOp, BitXorOp, ShiftLeftOp, ShiftRightOp>(op) &&
      (isFloatElement(element) || isBoolElement(element)))
    return "is for integers";
  if (isa<NegOp, AbsOp, SignOp, AddOp, SubOp, MulOp, DivOp, FloorDivOp, ModOp, PowOp, SumOp, ProdOp,
          MatmulOp>(op) &&
      isBoolElement(element))
    return "is for numbers";
  return {};
}

Value emitElementwise(KernelEmitter &e, Operation *op, ArrayRef<Value> x) {
  Type result = cast<TensorType>(op->getResult(0).getType()).getElement();
  if (isa<SelectOp>(op))
    return e.choose(x[0], x[1], x[2]);
  Type element = cast<TensorType>(op->getOperand(0).getType()).getElement();
  if (isa<CastOp>(op))
    return emitCast(e, x[0], element, result);
  if (!isFloatElement(element))
    return emitInteger(e, op, element, x);
  if (element.getIntOrFloatBitWidth() != 16)
    return emitFloat(e, op, x);
  SmallVector<Value> wide;
  for (Value v : x)
    wide.push_back(arith::ExtFOp::create(e.b, e.b.getF32Type(), v));
  Value value = emitFloat(e, op, wide);
  return isFloatElement(result) ? Value(arith::TruncFOp::create(e.b, result, value)) : value;
}

} // namespace mx::lowering
