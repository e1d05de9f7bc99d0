// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sin, cos, tan and atan2. f32 is computed in f64 with shorter polynomials and rounded once.
//
// Range reduction: angles are reduced by multiples of pi, which is a sum of three floats here
// (Cody-Waite). Angles of 2**28 and more (2**38 for f32) are multiplied by 2 / pi in integer
// arithmetic, with as many bits of it as the largest float needs (Payne-Hanek).
#include "Lowering/kernels/EmitMath.h"
#include "Lowering/kernels/RareCases.h"

using namespace mlir;

namespace mx::lowering {
namespace {

using Is = Real::Is;

constexpr double kPi[] = {3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33};
constexpr double kOneByPi = 0.3183098861837907;
/// Angles from here on are large: of f64, and of f32 in f64.
constexpr double kLarge = 268435456, kLargeShort = 274877906944;

/// r**3 * this + r is sin(r) for |r| <= pi / 2; a polynomial in r**2.
Value sinTail(Real &f, Value square, bool isShort) {
  if (isShort)
    return f.polynomial(square,
                        {-2.388663878643801e-08, 2.752525841506962e-06, -0.0001984086581511448,
                         0.008333331090805599, -0.16666666625742496});
  return f.polynomial(square,
                      {2.720998734478653e-15, -7.642975083006882e-13, 1.6058939088763661e-10,
                       -2.5052106860803287e-08, 2.7557319211009437e-06, -0.00019841269841208494,
                       0.008333333333333193, -0.16666666666666666});
}
/// r**3 * this + r is sin(r) for |r| <= pi / 4.
Value shortSinTail(Real &f, Value square, bool isShort) {
  if (isShort)
    return f.polynomial(square, {2.7180481713585423e-06, -0.00019839304593331967,
                                 0.008333329281079509, -0.16666666640593134});
  return f.polynomial(square,
                      {1.5895912047124378e-10, -2.505074242996028e-08, 2.7557313588372406e-06,
                       -0.0001984126982949759, 0.008333333333322007, -0.1666666666666663});
}
/// 1 - r**2 / 2 + r**4 * this is cos(r) for |r| <= pi / 4.
Value cosTail(Real &f, Value square, bool isShort) {
  if (isShort)
    return f.polynomial(square,
                        {2.4437763429675027e-05, -0.0013887361744650759, 0.041666646753542876});
  return f.polynomial(square,
                      {-1.1359453886544529e-11, 2.0875719656063846e-09, -2.755731432672197e-07,
                       2.4801587289397227e-05, -0.0013888888888873995, 0.0416666666666666});
}

/// An angle is high + low + quadrant * pi / 2 with |high| <= pi / 4; only the last two bits of the
/// quadrant are known.
struct Quarter {
  Value quadrant, high, low;
};

/// Reduces a finite, non-negative number that is at least 2**28. Scalars only.
Quarter reduceLarge(KernelEmitter &e, Real &f, Value x) {
  ImplicitLocOpBuilder &b = f.b;
  Type i64 = b.getI64Type(), i128 = b.getIntegerType(128);
  // 64 bits of 0, then those of 2 / pi.
  static constexpr uint64_t kTwoByPi[] = {0,
                                          0xa2f9836e4e441529,
                                          0xfc2757d1f534ddc0,
                                          0xdb6295993c439041,
                                          0xfe5163abdebbc561,
                                          0xb7246e3a424dd2e0,
                                          0x06492eea09d1921c,
                                          0xfe1deb1cb129a73e,
                                          0xe88235f52ebb4484,
                                          0xe99c7026b45f7e41,
                                          0x3991d639835339f4,
                                          0x9c845f8bbdf9283b,
                                          0x1ff897ffde05980f,
                                          0xef2f118b5a0a6d1f,
                                          0x6d367ecf27cb09b7,
                                          0x4f463f669e5fea2d,
                                          0x7527bac7ebe5f17b,
                                          0x3d0739f78a5292ea,
                                          0x6bfb5fb11f8d5d08,
                                          0x56033046fc7b6bab};
  StringRef name = "mx.two_by_pi";
  auto table = e.module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!table) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(e.module.getBody());
    auto type = RankedTensorType::get({static_cast<int64_t>(std::size(kTwoByPi))}, i64);
    table = LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(i64, std::size(kTwoByPi)),
                                   /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                   DenseElementsAttr::get(type, ArrayRef(kTwoByPi)));
  }
  auto number = [&](Type type, int64_t n) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, n));
  };
  auto wide = [&](Value v) -> Value { return arith::ExtUIOp::create(b, i128, v); };
  auto left = [&](Value v, Value by) -> Value { return arith::ShLIOp::create(b, v, by); };
  auto right = [&](Value v, Value by) -> Value { return arith::ShRUIOp::create(b, v, by); };
  auto add = [&](Value v, Value w) -> Value { return arith::AddIOp::create(b, v, w); };
  auto mul = [&](Value v, Value w) -> Value { return arith::MulIOp::create(b, v, w); };
  auto narrow = [&](Value v) -> Value { return arith::TruncIOp::create(b, i64, v); };

  // x = mantissa * 2**exponent. Bits of 2 / pi that give multiples of 4 are skipped.
  Value bits = f.bits(x);
  Value mantissa =
      arith::OrIOp::create(b, arith::AndIOp::create(b, bits, number(i64, 0xfffffffffffff)),
                           number(i64, int64_t(1) << 52));
  Value first = add(right(bits, number(i64, 52)), number(i64, -1075 - 2 + 64));
  Value index = right(first, number(i64, 6));
  Value by = wide(arith::AndIOp::create(b, first, number(i64, 63)));
  Value base = LLVM::AddressOfOp::create(b, table);
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i) {
    Value at = LLVM::GEPOp::create(b, base.getType(), i64, base,
                                   ArrayRef<LLVM::GEPArg>{add(index, number(i64, i))});
    words.push_back(wide(LLVM::LoadOp::create(b, i64, at)));
  }
  Value half = number(i128, 64), m = wide(mantissa);
  auto word = [&](size_t i) {
    Value two = arith::OrIOp::create(b, left(words[i], half), words[i + 1]);
    return wide(narrow(right(left(two, by), half)));
  };
  Value product = left(mul(m, word(0)), half);
  product = add(product, mul(m, word(1)));
  product = add(product, right(mul(m, word(2)), half));
  // Its first two bits are the quadrant, rounded to nearest; the rest is then signed.
  Value quadrant = right(add(product, left(number(i128, 1), number(i128, 125))), number(i128, 126));
  Value rest = arith::SubIOp::create(b, product, left(quadrant, number(i128, 126)));
  Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rest, number(i128, 0));
  Value size = f.choose(isNegative, arith::SubIOp::create(b, number(i128, 0), rest), rest);
  Value zeros = math::CountLeadingZerosOp::create(b, size);
  Value full = left(size, zeros);
  auto part = [&](int64_t low) -> Value {
    Value word = narrow(right(full, number(i128, low)));
    word = arith::AndIOp::create(b, word, number(i64, (int64_t(1) << 53) - 1));
    return arith::SIToFPOp::create(b, f.type, word);
  };
  Value exponent = arith::SubIOp::create(b, number(i64, 1023 - 51), narrow(zeros));
  Value scale = f.fromBits(left(exponent, number(i64, 52)));
  Value high = f.mul(part(75), scale);
  Value low = f.mul(f.mul(part(22), scale), 0x1p-53);
  Real::Pair angle = f.product(high, f.number(kPi[0] / 2));
  Value more = f.fma(high, kPi[1] / 2, f.fma(low, kPi[0] / 2, angle.low));
  Value sign = f.choose(isNegative, f.signBit(), f.integer(0));
  return {narrow(quadrant), f.flip(angle.high, sign), f.flip(more, sign)};
}

Value sinOfQuarter(Real &f, const Quarter &q) {
  Value square = f.mul(q.high, q.high);
  return f.add(q.high, f.fma(f.mul(q.high, square), shortSinTail(f, square, false), q.low));
}
Value cosOfQuarter(Real &f, const Quarter &q) {
  Value square = f.mul(q.high, q.high);
  Value tail = f.fma(f.mul(square, square), cosTail(f, square, false), f.neg(f.mul(q.high, q.low)));
  Real::Pair start = f.sum(f.number(1), f.mul(square, -0.5));
  return f.add(start.high, f.add(start.low, tail));
}
/// The tangent of the angle: sin / cos in even quadrants, -cos / sin in odd ones.
Value tanOfQuarter(Real &f, const Quarter &q, bool isShort) {
  Value square = f.mul(q.high, q.high);
  Value odd = f.left(q.quadrant, 63);
  Value isOdd = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne,
                                      f.both(q.quadrant, f.integer(1)), f.integer(0));
  Value sin = f.mul(f.mul(q.high, square), shortSinTail(f, square, isShort));
  Value cos = f.fma(f.mul(square, square), cosTail(f, square, isShort), f.mul(square, -0.5));
  if (isShort) {
    sin = f.add(sin, q.high);
    cos = f.add(cos, 1);
    return f.flip(f.div(f.choose(isOdd, cos, sin), f.choose(isOdd, sin, cos)), odd);
  }
  Real::Pair s = f.sum(q.high, sin), c = f.sum(f.number(1), cos);
  Real::Pair above{f.choose(isOdd, c.high, s.high), f.choose(isOdd, c.low, s.low)};
  Real::Pair below{f.choose(isOdd, s.high, c.high), f.choose(isOdd, s.low, c.low)};
  Value inverse = f.div(f.number(1), below.high);
  Value value = f.mul(above.high, inverse), minus = f.neg(value);
  Value missing = f.add(f.fma(minus, below.high, above.high), f.fma(minus, below.low, above.low));
  // The derivative of the tangent is 1 + tan**2.
  Value more = f.mul(f.flip(q.low, odd), f.fma(value, value, 1));
  return f.flip(f.add(value, f.fma(missing, inverse, more)), odd);
}

/// sin, cos or tan of an angle that is large or infinite.
enum class Circular { Sin, Cos, Tan };
Value ofLarge(KernelEmitter &e, Real &f, Value x, Circular function) {
  Value size = f.abs(x);
  Value isInfinite = f.is(Is::OEQ, size, Real::kInfinity);
  // Infinity has no such bits: a finite number is computed instead.
  Quarter q = reduceLarge(e, f, f.choose(isInfinite, f.number(kLarge), size));
  Value value;
  if (function == Circular::Tan) {
    value = f.flip(tanOfQuarter(f, q, /*isShort=*/false), f.bits(x));
  } else {
    Value quadrant = function == Circular::Cos ? f.addWords(q.quadrant, f.integer(1)) : q.quadrant;
    Value isOdd = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne,
                                        f.both(quadrant, f.integer(1)), f.integer(0));
    value = f.choose(isOdd, cosOfQuarter(f, q), sinOfQuarter(f, q));
    value = f.flip(value, f.left(quadrant, 62));
    if (function == Circular::Sin)
      value = f.flip(value, f.bits(x));
  }
  return f.choose(isInfinite, f.number(Real::kNan), value);
}

/// sin or cos in f64.
Value sinOrCos(Real &f, Value x, bool isCos, bool isShort) {
  Value size = f.abs(x);
  // For cos, the multiples are odd halves of pi.
  Value counted = isCos ? f.add(f.fma(size, kOneByPi, f.number(-0.5)), f.wholeShift())
                        : f.fma(size, kOneByPi, f.number(f.wholeShift()));
  Value multiple = f.sub(counted, f.wholeShift());
  if (isCos)
    multiple = f.add(multiple, 0.5);
  Value rest = f.fma(multiple, -kPi[0], size); // exact
  rest = f.fma(multiple, -kPi[1], rest);
  if (!isShort)
    rest = f.fma(multiple, -kPi[2], rest);
  Value square = f.mul(rest, rest);
  Value value = f.fma(f.mul(rest, square), sinTail(f, square, isShort), rest);
  Value sign = f.left(f.bits(counted), 63);
  return f.flip(value, isCos ? arith::XOrIOp::create(f.b, sign, f.signBit())
                             : arith::XOrIOp::create(f.b, sign, f.bits(x)));
}

Value tan(Real &f, Value x, bool isShort) {
  Value size = f.abs(x);
  Value counted = f.fma(size, 2 * kOneByPi, f.number(f.wholeShift()));
  Value multiple = f.sub(counted, f.wholeShift());
  Value rest = f.fma(multiple, -kPi[0] / 2, size); // exact
  Quarter q{f.bits(counted), {}, {}};
  if (isShort) {
    q.high = f.fma(multiple, -kPi[1] / 2, rest);
  } else {
    Real::Pair second = f.product(multiple, f.number(kPi[1] / 2));
    q.high = f.sub(rest, second.high);
    q.low = f.sub(f.sub(f.sub(rest, q.high), second.high), second.low);
    q.low = f.fma(multiple, -kPi[2] / 2, q.low);
  }
  return f.flip(tanOfQuarter(f, q, isShort), f.bits(x));
}

Value emitCircular(KernelEmitter &e, Value x, Circular function) {
  bool isShort = x.getType().isF32();
  Real f(e.b, e.b.getF64Type());
  if (isShort)
    x = arith::ExtFOp::create(e.b, f.type, x);
  Value value = function == Circular::Tan ? tan(f, x, isShort)
                                          : sinOrCos(f, x, function == Circular::Cos, isShort);
  static constexpr llvm::StringLiteral kNames[] = {"sin", "cos", "tan"};
  std::string name = kNames[static_cast<int>(function)].str() + (isShort ? "f" : "");
  value = unlessRare(
      e, name, value, x,
      [&](Real &r, ArrayRef<Value> of) {
        return r.is(Is::OGE, r.abs(of[0]), isShort ? kLargeShort : kLarge);
      },
      [&](Real &r, ArrayRef<Value> of) { return ofLarge(e, r, of[0], function); });
  return isShort ? Value(arith::TruncFOp::create(e.b, e.b.getF32Type(), value)) : value;
}

} // namespace

Value emitSin(KernelEmitter &e, Value x) { return emitCircular(e, x, Circular::Sin); }
Value emitCos(KernelEmitter &e, Value x) { return emitCircular(e, x, Circular::Cos); }
Value emitTan(KernelEmitter &e, Value x) { return emitCircular(e, x, Circular::Tan); }

Value emitAtan2(KernelEmitter &e, Value y, Value x) {
  bool isShort = x.getType().isF32();
  Real f(e.b, e.b.getF64Type());
  if (isShort) {
    y = arith::ExtFOp::create(e.b, f.type, y);
    x = arith::ExtFOp::create(e.b, f.type, x);
  }
  // Octant reduction: atan(small / large), or in the middle range its difference from pi / 4. The
  // octant gives the angle as k * pi / 4 plus or minus that.
  Value width = f.abs(x), height = f.abs(y);
  Value isSteep = f.is(Is::OGT, height, width);
  Value large = f.choose(isSteep, height, width), small = f.choose(isSteep, width, height);
  Value isMiddle = f.either(f.is(Is::OGT, small, f.mul(large, 0.41421356237309503)),
                            f.is(Is::OEQ, small, Real::kInfinity));
  Value low = small, high = large;
  if (!isShort) { // so that their sum is finite
    Value scale = f.choose(f.is(Is::OGT, large, 0x1p1000), f.number(0.25), f.number(1));
    low = f.mul(small, scale);
    high = f.mul(large, scale);
  }
  Value above = f.choose(isMiddle, f.sub(low, high), low);
  Value below = f.choose(isMiddle, f.add(low, high), high);
  // Equal numbers are 0, infinite, or on the diagonal.
  Value isEqual = f.is(Is::OEQ, small, large);
  Value t = f.choose(isEqual, f.number(0), f.div(above, below)), more;
  if (!isShort) {
    // Rounding errors of the difference, the sum and the quotient of the middle range.
    Value minus = f.neg(t);
    Value lost = f.fma(minus, f.sub(low, f.sub(below, high)), f.sub(low, f.add(above, high)));
    more = f.div(f.add(lost, f.fma(minus, below, above)), below);
    more = f.choose(isEqual, f.number(0), f.choose(isMiddle, more, f.number(0)));
  }
  Value square = f.mul(t, t), tail;
  if (isShort)
    tail = f.polynomial(square, {0.047482690631878835, -0.084784032576587, 0.11045093029529413,
                                 -0.1428204203534218, 0.19999905185640746, -0.33333332514599967});
  else
    tail = f.polynomial(square, {0.015209262002121832, -0.03348832552741331, 0.045041441590968304,
                                 -0.05218550415916046, 0.0587704444681093, -0.06666229066592762,
                                 0.0769228291478608, -0.09090908151421957, 0.11111111088368537,
                                 -0.14285714285391063, 0.19999999999997695, -0.33333333333333326});
  Value angle =
      more ? f.add(t, f.fma(f.mul(t, square), tail, more)) : f.fma(f.mul(t, square), tail, t);
  Value k = f.choose(isMiddle, f.number(1), f.number(0));
  k = f.choose(isSteep, f.sub(f.number(2), k), k);
  Value isLeft = arith::CmpIOp::create(f.b, arith::CmpIPredicate::slt, f.bits(x), f.integer(0));
  k = f.choose(isLeft, f.sub(f.number(4), k), k);
  angle = f.choose(arith::XOrIOp::create(f.b, isSteep, isLeft), f.neg(angle), angle);
  angle = f.fma(k, kPi[0] / 4, f.fma(k, kPi[1] / 4, angle));
  angle = f.withSign(angle, y);
  return isShort ? Value(arith::TruncFOp::create(e.b, e.b.getF32Type(), angle)) : angle;
}

} // namespace mx::lowering
