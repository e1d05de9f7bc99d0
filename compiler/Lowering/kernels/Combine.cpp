// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The combining functions of reductions: identity, combine, and argmax/argmin with an index.
#include "Lowering/kernels/Combine.h"
#include "dialects/mx/Marks.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace mx::lowering {

Combiner::Combiner(KernelEmitter &e, Operation *op)
    : op(op), e(e), element(cast<TensorType>(op->getOperand(0).getType()).getElement()) {
  isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  type = e.codeType(element);
  if (isa<AnyOp, AllOp>(op))
    type = e.b.getI1Type();
  else if (isFloatElement(element) && type.getIntOrFloatBitWidth() == 16)
    type = e.b.getF32Type();
}
bool Combiner::hasIndex() const { return isa<ArgmaxOp, ArgminOp>(op); }
bool Combiner::hasEmpty() const {
  return op->hasAttr(kTotal) || !isa<MaxOp, MinOp, ArgmaxOp, ArgminOp>(op);
}

bool Combiner::isExact() const {
  return isa<MaxOp, MinOp, AnyOp, AllOp>(op) || (isa<SumOp, ProdOp>(op) && !isFloat());
}

Value Combiner::limit(bool largest) {
  if (isFloat()) {
    double infinity = std::numeric_limits<double>::infinity();
    return e.constantOf(type, largest ? infinity : -infinity);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  using llvm::APInt;
  APInt value = largest
                    ? (isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width))
                    : (isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width));
  return e.constant(type, IntegerAttr::get(type, value));
}
Partial Combiner::identity(Value isEmpty) {
  if (isa<SumOp>(op)) {
    // -0.0 changes nothing, while 0.0 + -0.0 is 0.0.
    if (isFloat())
      return {e.choose(isEmpty, e.constantOf(type, 0), e.constantOf(type, -0.0)), {}};
    return {e.constantOf(type, 0), {}};
  }
  if (isa<ProdOp, AllOp>(op))
    return {e.constantOf(type, 1), {}};
  if (isa<AnyOp>(op))
    return {e.constantOf(type, 0), {}};
  Value index;
  if (hasIndex()) // after any index, so that this never wins
    index = e.constantOf(e.b.getI32Type(), std::numeric_limits<int32_t>::max());
  return {limit(isa<MinOp, ArgminOp>(op)), index};
}
Partial Combiner::first(Value x, Value index) {
  if (isa<AnyOp, AllOp>(op))
    return {emitCast(e, x, element, type), {}};
  if (x.getType() != type)
    x = arith::ExtFOp::create(e.b, type, x);
  if (hasIndex())
    index = arith::TruncIOp::create(e.b, e.b.getI32Type(), index);
  return {x, index};
}

/// Whether y replaces x: it is larger (smaller), or the first NaN, or equal and earlier.
Value Combiner::isBetter(Partial x, Partial y) {
  bool largest = isa<ArgmaxOp>(op);
  Value earlier = e.compare(CmpIPredicate::slt, y.index, x.index);
  if (!isFloat()) {
    CmpIPredicate beyond = largest ? (isUnsigned ? CmpIPredicate::ugt : CmpIPredicate::sgt)
                                   : (isUnsigned ? CmpIPredicate::ult : CmpIPredicate::slt);
    Value equal = e.compare(CmpIPredicate::eq, x.value, y.value);
    return arith::OrIOp::create(e.b, e.compare(beyond, y.value, x.value),
                                arith::AndIOp::create(e.b, equal, earlier));
  }
  auto is = [&](CmpFPredicate p, Value a, Value b) -> Value {
    return arith::CmpFOp::create(e.b, p, a, b);
  };
  Value xIsNan = is(CmpFPredicate::UNO, x.value, x.value);
  Value yIsNan = is(CmpFPredicate::UNO, y.value, y.value);
  Value beyond = is(largest ? CmpFPredicate::OGT : CmpFPredicate::OLT, y.value, x.value);
  Value onlyY = arith::AndIOp::create(
      e.b, yIsNan, arith::XOrIOp::create(e.b, xIsNan, e.constantOf(e.b.getI1Type(), 1)));
  Value equal = arith::OrIOp::create(e.b, is(CmpFPredicate::OEQ, x.value, y.value),
                                     arith::AndIOp::create(e.b, xIsNan, yIsNan));
  return arith::OrIOp::create(e.b, arith::OrIOp::create(e.b, beyond, onlyY),
                              arith::AndIOp::create(e.b, equal, earlier));
}

Partial Combiner::combine(Partial x, Partial y) {
  auto flags = arith::FastMathFlagsAttr::get(e.b.getContext(), e.fast());
  if (hasIndex()) {
    Value better = isBetter(x, y);
    return {e.choose(better, y.value, x.value), e.choose(better, y.index, x.index)};
  }
  if (isa<SumOp>(op))
    return {isFloat() ? Value(arith::AddFOp::create(e.b, x.value, y.value, flags))
                      : e.add(x.value, y.value)};
  if (isa<ProdOp>(op))
    return {isFloat() ? Value(arith::MulFOp::create(e.b, x.value, y.value, flags))
                      : e.mul(x.value, y.value)};
  if (isa<AnyOp>(op))
    return {arith::OrIOp::create(e.b, x.value, y.value)};
  if (isa<AllOp>(op))
    return {arith::AndIOp::create(e.b, x.value, y.value)};
  if (isFloat())
    return {furthest(x.value, y.value, e.fast())};
  if (isa<MaxOp>(op))
    return {isUnsigned ? Value(arith::MaxUIOp::create(e.b, x.value, y.value))
                       : Value(arith::MaxSIOp::create(e.b, x.value, y.value))};
  return {isUnsigned ? Value(arith::MinUIOp::create(e.b, x.value, y.value))
                     : Value(arith::MinSIOp::create(e.b, x.value, y.value))};
}

Value Combiner::furthest(Value x, Value y, arith::FastMathFlags flags) {
  auto attribute = arith::FastMathFlagsAttr::get(e.b.getContext(), flags);
  return isa<MaxOp>(op) ? Value(arith::MaximumFOp::create(e.b, x, y, attribute))
                        : Value(arith::MinimumFOp::create(e.b, x, y, attribute));
}
bool Combiner::hasZeros() const { return isa<MaxOp, MinOp>(op) && type.isF32(); }
Value Combiner::combineZeros(Value x, Value y) {
  return furthest(x, y, e.fast() | arith::FastMathFlags::nsz);
}
Value Combiner::noSigns() { return e.constantOf(e.b.getI32Type(), isa<MaxOp>(op) ? -1 : 0); }
Value Combiner::combineSigns(Value signs, Value x) {
  Value bits = arith::BitcastOp::create(e.b, e.b.getI32Type(), x);
  return isa<MaxOp>(op) ? Value(arith::AndIOp::create(e.b, signs, bits))
                        : Value(arith::OrIOp::create(e.b, signs, bits));
}
Value Combiner::withSign(Value x, Value signs) {
  return math::CopySignOp::create(e.b, x, arith::BitcastOp::create(e.b, type, signs));
}
Value Combiner::result(Partial x) {
  if (hasIndex())
    return x.index;
  Type wanted = e.codeType(cast<TensorType>(op->getResult(0).getType()).getElement());
  return x.value.getType() == wanted ? x.value
                                     : Value(arith::TruncFOp::create(e.b, wanted, x.value));
}

} // namespace mx::lowering
