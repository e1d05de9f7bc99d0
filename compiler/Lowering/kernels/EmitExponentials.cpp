// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branch-free exp, expm1, log, log1p, tanh and erf of f64 (range reduction and polynomials), so
// that loops over them are vectorised.
#include "Lowering/kernels/EmitMath.h"
#include "Lowering/kernels/Real.h"

using namespace mlir;

namespace mx::lowering {
namespace {

using Is = Real::Is;

class F64 : public Real {
public:
  explicit F64(KernelEmitter &e) : Real(e.b, e.b.getF64Type()), vectorBits(e.target.vectorBits) {}
  Value exp(Value x);
  Value expm1(Value x);
  Value log(Value x) { return log(x, Value()); }
  Value log1p(Value x);
  Value tanh(Value x);
  Value erf(Value x);

private:
  unsigned vectorBits;
  /// x = n * ln 2 + high + low, and e**high = 1 + high + high**2 * tail.
  struct Reduced {
    Value counted; ///< bits that end with n
    Value high, low, tail;
  };
  Reduced reduce(Value x);
  /// log of x, plus a correction: the rounding error of x relative to x.
  Value log(Value x, Value missing);
};

// ln 2: the first part has 20 trailing zero bits, so that its multiples are exact (Cody-Waite).
constexpr double kLn2[] = {0.6931471803691238, 1.9082149292705877e-10};
constexpr double kLog2OfE = 1.4426950408889634;

F64::Reduced F64::reduce(Value x) {
  Value counted = fma(x, kLog2OfE, number(wholeShift()));
  Value whole = sub(counted, wholeShift());
  Value near = fma(whole, -kLn2[0], x); // exact
  Value more = mul(whole, kLn2[1]);
  Value high = sub(near, more), low = sub(sub(near, high), more);
  return {bits(counted), high, low,
          polynomial(high, {2.092686150005474e-09, 2.5112227563979044e-08, 2.755723364628851e-07,
                            2.755723427162073e-06, 2.4801587373368394e-05, 0.00019841269897024643,
                            0.0013888888888858662, 0.008333333333316753, 0.04166666666666673,
                            0.16666666666666685, 0.5})};
}

Value F64::exp(Value x) {
  x = clamp(x, -750, 720);
  Reduced r = reduce(x);
  Value value = fma(mul(r.high, r.high), r.tail, r.low);
  value = add(add(r.high, value), 1);
  return scaled(value, wholeOf(r.counted), vectorBits);
}

Value F64::expm1(Value x) {
  Reduced r = reduce(clamp(x, -50, 60));
  Value power = powerOf2(wholeOf(r.counted));
  Value less1 = add(r.high, fma(mul(r.high, r.high), r.tail, r.low));
  Value value = fma(power, less1, sub(power, 1));
  value = choose(is(Is::OGT, x, 60), exp(x), value);
  return choose(is(Is::OEQ, x, 0), x, value);
}

Value F64::log(Value x, Value missing) {
  // Denormals are scaled to where their exponent can be read.
  Value isSmall = is(Is::OLT, x, 0x1p-1022);
  Value scaled = missing ? x : choose(isSmall, mul(x, 0x1p54), x);
  // m * 2**n with m from sqrt(1/2) to sqrt(2).
  Value root = integer(0x3fe6a09e667f3bcd), from = subWords(bits(scaled), root);
  // n with a bias that keeps it positive: arithmetic shifts are slow with AVX2.
  Value counted =
      arith::ShRUIOp::create(b, addWords(from, integer(int64_t(2048) << 52)), integer(digits));
  Value mantissa = arith::AndIOp::create(b, from, integer((int64_t(1) << 52) - 1));
  Value f = sub(fromBits(addWords(mantissa, root)), 1);
  // Integers below 2**52 become floats by their bits.
  Value n = fromBits(arith::OrIOp::create(b, counted, integer(0x4330000000000000)));
  n = sub(n, 0x1p52 + 2048);
  if (!missing)
    n = choose(isSmall, sub(n, 54), n);
  Value s = div(f, add(f, 2)), z = mul(s, s);
  Value tail = polynomial(z, {0.14795954886379722, 0.15314050043313948, 0.18183564345505646,
                              0.22222198572826948, 0.28571428742390825, 0.39999999999414665,
                              0.6666666666666734});
  // log(1 + f) = f - (f**2 / 2 - s * (f**2 / 2 + z * tail)).
  Value half = mul(mul(f, f), 0.5);
  Value rest = mul(n, kLn2[1]);
  if (missing)
    rest = add(rest, missing);
  Value inner = fma(s, fma(z, tail, half), rest);
  Value value = fma(n, kLn2[0], sub(f, sub(half, inner)));
  value = choose(is(Is::UEQ, x, kInfinity), x, value); // infinity and NaN stay
  value = choose(is(Is::OLT, x, 0.0), number(kNan), value);
  return choose(is(Is::OEQ, x, 0.0), number(-kInfinity), value);
}
Value F64::log1p(Value x) {
  Value sum = add(x, 1);
  Value lost = choose(is(Is::OGT, x, 1), sub(number(1), sub(sum, x)), sub(x, sub(sum, 1)));
  lost = choose(is(Is::OGT, sum, 0.0), div(lost, sum), number(0));
  lost = choose(is(Is::OEQ, sum, kInfinity), number(0), lost);
  return choose(is(Is::OEQ, sum, 1), x, log(sum, lost));
}

Value F64::tanh(Value x) {
  // (e**2x - 1) / (e**2x + 1); the rounding error of the divisor is added to the quotient.
  Value size = abs(x);
  size = choose(is(Is::OGT, size, 22), number(22), size);
  Reduced r = reduce(mul(size, 2));
  Value power = powerOf2(wholeOf(r.counted));
  Value tail = fma(mul(r.high, r.high), r.tail, r.low);
  // 2**n * (1 + high + tail) - 1 as a pair.
  Pair first = sum(sub(power, 1), mul(power, r.high));
  Pair above = sum(first.high, fma(power, tail, first.low));
  Value below = add(above.high, 2);
  Value lost = add(sub(above.high, sub(below, 2)), above.low);
  Value inverse = div(number(1), below);
  Value value = mul(above.high, inverse);
  Value missing = add(fma(neg(value), below, above.high), fma(neg(value), lost, above.low));
  value = fma(missing, inverse, value);
  value = choose(is(Is::OLT, size, 0x1p-28), size, value);
  return withSign(value, x);
}
Value F64::erf(Value x) {
  // Near 0: odd powers. Then 1 - e**(-x**2) * q, where q is a polynomial in (x - 3) / (x + 3); up
  // to where erf rounds to 1.
  Value size = abs(x);
  size = choose(is(Is::OGT, size, 6), number(6), size);
  Value square = mul(size, size);
  Value near0 =
      polynomial(square, {-8.86972193456634e-10, 1.4201672000963249e-08, -1.63024290183781e-07,
                          1.645785041110118e-06, -1.4925459757122822e-05, 0.00012055327275108263,
                          -0.0008548326910649854, 0.00522397762402538, -0.026866170645026027,
                          0.11283791670954721, -0.3761263890318375, 0.1283791670955126});
  near0 = fma(near0, size, size);
  Value q = polynomial(div(sub(size, 3), add(size, 3)),
                       {-5.308318744538067e-06, -2.1407650281993557e-06, 7.802870663924589e-05,
                        5.572931803721733e-05, -0.0005919816806349704, 0.000709396781969335,
                        0.004269492866408673, -0.024392450765598622, 0.07166584070879117,
                        -0.15011593647293195, 0.24560380169807772, -0.32623356004384874,
                        0.17900115118138007});
  // -x**2 is from -36 to 0 here: 2**n cannot underflow.
  Reduced r = reduce(neg(square));
  Value power = powerOf2(wholeOf(r.counted));
  Value value = add(add(r.high, fma(mul(r.high, r.high), r.tail, r.low)), 1);
  Value far = fma(neg(mul(q, power)), value, 1);
  return withSign(choose(is(Is::OGT, size, 0.84375), far, near0), x);
}

} // namespace

Value emitF64(KernelEmitter &e, Operation *op, Value x) {
  F64 f(e);
  if (isa<ir::ExpOp>(op))
    return f.exp(x);
  if (isa<ir::Expm1Op>(op))
    return f.expm1(x);
  if (isa<ir::LogOp>(op))
    return f.log(x);
  if (isa<ir::Log1pOp>(op))
    return f.log1p(x);
  if (isa<ir::TanhOp>(op))
    return f.tanh(x);
  return isa<ir::ErfOp>(op) ? f.erf(x) : Value();
}

} // namespace mx::lowering
