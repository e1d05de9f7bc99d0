// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between element types.
#include "Lowering/kernels/Evaluate.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpFPredicate;

namespace mx::lowering {
namespace {

Value isFloat(KernelEmitter &e, CmpFPredicate predicate, Value x, double y) {
  return arith::CmpFOp::create(e.b, predicate, x, e.constantOf(x.getType(), y));
}

/// Truncates and saturates; NaN gives 0.
Value floatToInt(KernelEmitter &e, Value x, Type to) {
  Type code = e.codeType(to);
  unsigned width = code.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  double below = isUnsigned ? -1.0 : -std::ldexp(1.0, static_cast<int>(width) - 1) - 1;
  double above = std::ldexp(1.0, static_cast<int>(width) - (isUnsigned ? 0 : 1));
  auto limit = [&](bool largest) {
    llvm::APInt value =
        isUnsigned ? (largest ? llvm::APInt::getMaxValue(width) : llvm::APInt::getMinValue(width))
                   : (largest ? llvm::APInt::getSignedMaxValue(width)
                              : llvm::APInt::getSignedMinValue(width));
    return e.constant(code, IntegerAttr::get(code, value));
  };
  // `below` itself may not be representable; it is rounded to the smallest number, which the
  // comparison may classify either way.
  Value tooSmall = isFloat(e, CmpFPredicate::OLE, x, below);
  Value tooLarge = isFloat(e, CmpFPredicate::OGE, x, above);
  Value isNan = arith::CmpFOp::create(e.b, CmpFPredicate::UNO, x, x);
  // The conversion itself is only defined for numbers in range.
  Value odd = arith::OrIOp::create(e.b, arith::OrIOp::create(e.b, tooSmall, tooLarge), isNan);
  Value fits = e.choose(odd, e.constantOf(x.getType(), 0), x);
  Value value = isUnsigned ? Value(arith::FPToUIOp::create(e.b, code, fits))
                           : Value(arith::FPToSIOp::create(e.b, code, fits));
  return e.choose(tooSmall, limit(false), e.choose(tooLarge, limit(true), value));
}

/// Converts f64 to a 16-bit float without double rounding: through an f32 that is rounded to odd,
/// which preserves whether the value was between two 16-bit floats.
Value narrow(KernelEmitter &e, Value x, Type to) {
  Type f32 = e.b.getF32Type(), i32 = e.b.getI32Type();
  Value nearest = arith::TruncFOp::create(e.b, f32, x);
  Value back = arith::ExtFOp::create(e.b, x.getType(), nearest);
  Value bits = arith::BitcastOp::create(e.b, i32, nearest);
  Value inexact = arith::CmpFOp::create(e.b, CmpFPredicate::ONE, back, x);
  Value even =
      e.compare(arith::CmpIPredicate::eq, arith::AndIOp::create(e.b, bits, e.constantOf(i32, 1)),
                e.constantOf(i32, 0));
  Value isAbove = arith::CmpFOp::create(e.b, CmpFPredicate::OGT, math::AbsFOp::create(e.b, back),
                                        math::AbsFOp::create(e.b, x));
  Value step = e.choose(isAbove, e.constantOf(i32, -1), e.constantOf(i32, 1));
  Value odd = e.choose(arith::AndIOp::create(e.b, inexact, even), e.add(bits, step), bits);
  return arith::TruncFOp::create(e.b, to, Value(arith::BitcastOp::create(e.b, f32, odd)));
}

} // namespace

Value emitCast(KernelEmitter &e, Value x, Type from, Type to) {
  if (from == to)
    return x;
  Type code = e.codeType(to);
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (auto source = dyn_cast<FloatType>(from)) {
    if (to.isInteger(1) || !isa<FloatType>(to)) {
      if (source.getWidth() == 16)
        x = arith::ExtFOp::create(e.b, e.b.getF32Type(), x);
      return to.isInteger(1) ? isFloat(e, CmpFPredicate::UNE, x, 0) : floatToInt(e, x, to);
    }
    unsigned width = cast<FloatType>(to).getWidth();
    if (source.getWidth() == 64 && width == 16)
      return narrow(e, x, to);
    if (source.getWidth() == 16) // through f32, the only conversion there is
      x = arith::ExtFOp::create(e.b, e.b.getF32Type(), x);
    if (x.getType() == to)
      return x;
    return x.getType().getIntOrFloatBitWidth() < width ? Value(arith::ExtFOp::create(e.b, to, x))
                                                       : Value(arith::TruncFOp::create(e.b, to, x));
  }
  if (to.isInteger(1))
    return e.compare(arith::CmpIPredicate::ne, x, e.constantOf(x.getType(), 0));
  if (auto target = dyn_cast<FloatType>(to)) {
    bool isNarrow = target.getWidth() == 16;
    Type direct = isNarrow ? (x.getType().getIntOrFloatBitWidth() > 16 ? Type(e.b.getF64Type())
                                                                       : Type(e.b.getF32Type()))
                           : to;
    Value value = fromUnsigned ? Value(arith::UIToFPOp::create(e.b, direct, x))
                               : Value(arith::SIToFPOp::create(e.b, direct, x));
    if (!isNarrow)
      return value;
    return direct.isF64() ? narrow(e, value, to) : Value(arith::TruncFOp::create(e.b, to, value));
  }
  unsigned before = x.getType().getIntOrFloatBitWidth(), after = code.getIntOrFloatBitWidth();
  if (before == after)
    return x;
  if (before > after)
    return arith::TruncIOp::create(e.b, code, x);
  return fromUnsigned ? Value(arith::ExtUIOp::create(e.b, code, x))
                      : Value(arith::ExtSIOp::create(e.b, code, x));
}

} // namespace mx::lowering
