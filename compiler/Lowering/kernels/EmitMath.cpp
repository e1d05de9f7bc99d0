// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branch-free exp, log, expm1, log1p, tanh and erf of f32 (range reduction and polynomials), so
// that loops over them are vectorised. They are correct at NaN, infinities, zeros and denormals,
// and within 2 ULP elsewhere (test/unit/lowering/MathTest.cpp). MLIR's own approximations are not
// used: they flush small results and arguments of exp and log to 0, lose the sign of erf(-0), and
// are off by 4 ULP in tanh and expm1. The same holds for f64 (EmitExponentials.cpp) and the other
// functions (EmitTrigonometry.cpp, EmitPower.cpp).
#include "Lowering/kernels/EmitMath.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpFPredicate;

namespace mx::lowering {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// f32 arithmetic. Multiply-adds may be fused but never reordered, whatever the options: the
/// functions below depend on how single operations round.
class F32 {
public:
  explicit F32(KernelEmitter &e)
      : e(e),
        flags(arith::FastMathFlagsAttr::get(e.b.getContext(), arith::FastMathFlags::contract)) {}
  Value exp(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log1p(Value x);
  Value tanh(Value x);
  Value erf(Value x);

private:
  KernelEmitter &e;
  arith::FastMathFlagsAttr flags;

  Value number(double x) { return e.constantOf(e.b.getF32Type(), x); }
  Value word(int64_t x) { return e.constantOf(e.b.getI32Type(), static_cast<double>(x)); }
  Value bits(Value x) { return arith::BitcastOp::create(e.b, e.b.getI32Type(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(e.b, e.b.getF32Type(), x); }
  Value add(Value x, Value y) {
    if (Value fused = multiplyAdd(x, y, /*isNegative=*/false))
      return fused;
    Value other = multiplyAdd(y, x, /*isNegative=*/false);
    return other ? other : Value(arith::AddFOp::create(e.b, x, y, flags));
  }
  Value sub(Value x, Value y) {
    Value fused = multiplyAdd(y, x, /*isNegative=*/true);
    return fused ? fused : Value(arith::SubFOp::create(e.b, x, y, flags));
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(e.b, x, y, flags); }
  /// Fuses a multiplication and the addition or subtraction of its result, if the CPU has FMA. LLVM
  /// would fuse them as well, but not where it folds constants: these would have other bits. Null
  /// if the multiplication is not ours: those of the program are rounded (decision 10).
  Value multiplyAdd(Value product, Value sum, bool isNegative) {
    auto made = product.getDefiningOp<arith::MulFOp>();
    if (!made || !e.target.hasFma || made.getFastmathAttr() != flags)
      return {};
    Value x = made.getLhs();
    if (isNegative)
      x = arith::NegFOp::create(e.b, x);
    return LLVM::FMAOp::create(e.b, x.getType(), x, made.getRhs(), sum);
  }
  Value div(Value x, Value y) { return arith::DivFOp::create(e.b, x, y); }
  Value abs(Value x) { return math::AbsFOp::create(e.b, x); }
  Value withSign(Value x, Value sign) { return math::CopySignOp::create(e.b, x, sign); }
  Value is(CmpFPredicate predicate, Value x, double y) {
    return arith::CmpFOp::create(e.b, predicate, x, number(y));
  }
  /// NaN is kept.
  Value clamp(Value x, double low, double high) {
    x = e.choose(is(CmpFPredicate::OLT, x, low), number(low), x);
    return e.choose(is(CmpFPredicate::OGT, x, high), number(high), x);
  }
  /// Horner's rule, the highest power first.
  Value polynomial(Value x, std::initializer_list<double> coefficients) {
    Value sum;
    for (double c : coefficients)
      sum = sum ? add(mul(sum, x), number(c)) : number(c);
    return sum;
  }
  /// x = n * ln 2 + rest with |rest| <= ln 2 / 2, and e**rest = 1 + rest + rest**2 * tail.
  struct Reduced {
    Value counted; ///< bits that end with n + 2 * kBias
    Value rest, tail;
  };
  Reduced reduce(Value x);
  /// The bias of float exponents.
  static constexpr int64_t kBias = 127;
  /// Adding 1.5 * 2**23 leaves a number's integer part in the low bits (magic-number rounding); no
  /// conversion that NaN would break.
  static constexpr int64_t kWhole = 12582912;
  Value n(const Reduced &from) {
    return e.sub(from.counted, bits(number(double(kWhole + 2 * kBias))));
  }
  /// 2**n for n of -126 to 127, of bits that end with n + kBias.
  Value powerOf2(Value counted) { return fromBits(arith::ShLIOp::create(e.b, counted, word(23))); }
};

constexpr double kLog2OfE = 1.44269504088896341;

F32::Reduced F32::reduce(Value x) {
  Value counted = add(mul(x, number(kLog2OfE)), number(double(kWhole + 2 * kBias)));
  Value whole = sub(counted, number(double(kWhole + 2 * kBias)));
  // The first part of ln 2 has few bits, so that its multiples are exact even without FMA
  // (Cody-Waite range reduction).
  Value rest = add(x, mul(whole, number(-0.693359375)));
  rest = add(rest, mul(whole, number(2.12194440e-4)));
  return {
      bits(counted), rest,
      polynomial(rest, {1.38207339e-3, 8.36867746e-3, 4.16682661e-2, 1.66665211e-1, 4.9999994e-1})};
}
Value F32::exp(Value x) {
  x = clamp(x, -104, 89); // so that n is from -150 to 128
  Reduced reduced = reduce(x);
  Value slope = add(mul(reduced.tail, reduced.rest), number(1));
  Value value = add(mul(slope, reduced.rest), number(1));
  // AVX-512 has an instruction for it (scalef), which gives the same bits.
  if (e.target.isWide())
    return LLVM::LoadExpOp::create(e.b, value.getType(), value, n(reduced));
  // Multiplies by about half of n, which is exact, and by the rest: 2**n alone may overflow or
  // underflow.
  Value half = arith::ShRUIOp::create(e.b, reduced.counted, word(1));
  return mul(mul(value, powerOf2(half)), powerOf2(e.sub(reduced.counted, half)));
}
Value F32::expm1(Value x) {
  Reduced reduced = reduce(clamp(x, -20, 60));
  Value rest = reduced.rest, power = powerOf2(e.sub(reduced.counted, word(kBias)));
  Value minus1 = add(mul(mul(rest, rest), reduced.tail), rest);
  Value value = add(mul(power, minus1), sub(power, number(1)));
  value = e.choose(is(CmpFPredicate::OGT, x, 60), exp(x), value);
  return e.choose(is(CmpFPredicate::OEQ, x, 0), x, value);
}
Value F32::log(Value x) {
  // Denormals are scaled to where their exponent can be read.
  Value isSmall = is(CmpFPredicate::OLT, x, 1.17549435e-38);
  Value scaled = e.choose(isSmall, mul(x, number(8388608)), x);
  // m * 2**n with m from sqrt(1/2) to sqrt(2).
  Value root = word(0x3f3504f3), from = e.sub(bits(scaled), root);
  Value n = arith::ShRSIOp::create(e.b, from, word(23));
  Value mantissa = arith::AndIOp::create(e.b, from, word(0x7fffff));
  Value f = sub(fromBits(e.add(mantissa, root)), number(1));
  n = e.choose(isSmall, e.sub(n, word(23)), n);
  Value whole = arith::SIToFPOp::create(e.b, e.b.getF32Type(), n);
  Value square = mul(f, f);
  Value tail = polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                              1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                              3.3333331174e-1});
  Value value = mul(mul(f, square), tail);
  value = add(value, mul(whole, number(-2.12194440e-4)));
  value = add(value, mul(square, number(-0.5)));
  value = add(add(value, f), mul(whole, number(0.693359375)));
  Value isOpen = is(CmpFPredicate::UEQ, x, kInfinity); // infinity and NaN stay
  value = e.choose(isOpen, x, value);
  value = e.choose(is(CmpFPredicate::OLT, x, 0), number(std::nan("")), value);
  return e.choose(is(CmpFPredicate::OEQ, x, 0), number(-kInfinity), value);
}
Value F32::log1p(Value x) {
  // The rounding error of 1 + x is added to the result. Nothing here may be fused or reordered.
  auto plain = [&](Value a, Value b) -> Value { return arith::SubFOp::create(e.b, a, b); };
  Value sum = arith::AddFOp::create(e.b, x, number(1));
  Value lost = e.choose(is(CmpFPredicate::OGT, x, 1), plain(number(1), plain(sum, x)),
                        plain(x, plain(sum, number(1))));
  lost = e.choose(is(CmpFPredicate::OGT, sum, 0), div(lost, sum), number(0));
  Value value = add(log(sum), lost);
  value = e.choose(is(CmpFPredicate::OEQ, sum, kInfinity), sum, value);
  return e.choose(is(CmpFPredicate::OEQ, sum, 1), x, value);
}
Value F32::tanh(Value x) {
  Value size = abs(x), square = mul(x, x);
  Value near0 = polynomial(square, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                    1.33314422036e-1, -3.33332819422e-1});
  near0 = add(mul(mul(near0, square), x), x);
  Value power = exp(mul(clamp(size, 0, 10), number(2)));
  Value far = sub(number(1), div(number(2), add(power, number(1))));
  return withSign(e.choose(is(CmpFPredicate::OLT, size, 0.625), near0, far), x);
}
Value F32::erf(Value x) {
  // Near 0: odd powers. Then 1 - q**4, where q, the fourth root of 1 - erf, needs fewer powers than
  // erf itself; up to where erf rounds to 1.
  Value size = abs(x);
  size = e.choose(is(CmpFPredicate::OGT, size, 3.96), number(3.96), size);
  Value near0 =
      polynomial(mul(size, size), {6.58868667e-5, -7.58008275e-4, 5.13280928e-3, -2.68203132e-2,
                                   1.12826571e-1, -3.76125306e-1, 1.28379151e-1});
  near0 = add(mul(near0, size), size);
  Value q = polynomial(size, {-1.83819007e-4, 3.29498597e-3, -2.25722343e-2, 6.72748089e-2,
                              -5.26580177e-2, -6.10035025e-2, -3.10254157e-1, 1.00587308});
  Value square = mul(q, q);
  Value far = sub(number(1), mul(square, square));
  Value value = e.choose(is(CmpFPredicate::OGT, size, 1.15625), far, near0);
  // The value has no sign bit yet, so none must be cleared.
  Value sign = arith::AndIOp::create(e.b, bits(x), word(std::numeric_limits<int32_t>::min()));
  return fromBits(arith::OrIOp::create(e.b, bits(value), sign));
}

} // namespace

Value emitMath(KernelEmitter &e, Operation *op, ArrayRef<Value> x) {
  if (isa<PowOp>(op))
    return emitPower(e, x[0], x[1]);
  if (isa<SinOp>(op))
    return emitSin(e, x[0]);
  if (isa<CosOp>(op))
    return emitCos(e, x[0]);
  if (isa<TanOp>(op))
    return emitTan(e, x[0]);
  if (isa<Atan2Op>(op))
    return emitAtan2(e, x[0], x[1]);
  if (x[0].getType().isF32()) {
    F32 f(e);
    if (isa<ExpOp>(op))
      return f.exp(x[0]);
    if (isa<Expm1Op>(op))
      return f.expm1(x[0]);
    if (isa<LogOp>(op))
      return f.log(x[0]);
    if (isa<Log1pOp>(op))
      return f.log1p(x[0]);
    if (isa<TanhOp>(op))
      return f.tanh(x[0]);
    if (isa<ErfOp>(op))
      return f.erf(x[0]);
  }
  return emitF64(e, op, x[0]);
}

} // namespace mx::lowering
