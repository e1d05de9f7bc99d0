// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x ** y of floats. Powers 1 to 4 are multiplications; -1, -2, 0.5 and -0.5 are quotients and
// square roots: the same whether y is a constant or passed with the call, one number or many. All
// others are 2 ** (y * log2(x)): for f32 in f64, for f64 with the logarithm in double-double.
#include "Lowering/kernels/EmitMath.h"
#include "Lowering/kernels/RareCases.h"

using namespace mlir;

namespace mx::lowering {
namespace {

using Is = Real::Is;

/// x ** y where y is 1, 2, 3 or 4; else x.
Value productPower(Real &f, Value x, Value y) {
  Value square = f.mul(x, x);
  Value value = f.choose(f.is(Is::OEQ, y, 2), square, x);
  value = f.choose(f.is(Is::OEQ, y, 3), f.mul(square, x), value);
  return f.choose(f.is(Is::OEQ, y, 4), f.mul(square, square), value);
}
Value isOtherPower(Real &f, Value y) {
  Value is = f.is(Is::UNE, y, 1);
  for (double n : {2, 3, 4})
    is = f.both(is, f.is(Is::UNE, y, n));
  return is;
}

Value root(Real &f, Value x) {
  // The power 0.5 of -0 is 0, and that of -inf is inf.
  Value value = math::SqrtOp::create(f.b, f.add(x, 0.0));
  return f.choose(f.is(Is::OEQ, x, -Real::kInfinity), f.number(Real::kInfinity), value);
}
/// x ** y where y is -1, -2, 0.5 or -0.5, with the bits of formOf().
Value quotientPower(Real &f, Value x, Value y) {
  Value rooted = root(f, x);
  Value below = f.choose(f.is(Is::OEQ, y, -0.5), rooted, x), inverse = f.div(f.number(1), below);
  Value value = f.choose(f.is(Is::OEQ, y, -2), f.mul(inverse, inverse), inverse);
  return f.choose(f.is(Is::OEQ, y, 0.5), rooted, value);
}
Value isQuotientPower(Real &f, Value y) {
  Value is = f.is(Is::OEQ, y, -1);
  for (double n : {-2.0, 0.5, -0.5})
    is = f.either(is, f.is(Is::OEQ, y, n));
  return is;
}
/// Powers with a special form; null for others.
Value formOf(Real &f, Value x, double y) {
  Value one = f.number(1);
  if (y == 1)
    return x;
  if (y == 2)
    return f.mul(x, x);
  if (y == 3)
    return f.mul(f.mul(x, x), x);
  if (y == 4) {
    Value square = f.mul(x, x);
    return f.mul(square, square);
  }
  if (y == -1)
    return f.div(one, x);
  if (y == -2) {
    Value inverse = f.div(one, x);
    return f.mul(inverse, inverse);
  }
  if (y == 0.5)
    return root(f, x);
  return y == -0.5 ? f.div(one, root(f, x)) : Value();
}

/// x = m * 2**n with m from sqrt(1/2) to sqrt(2), for a positive normal f64.
struct Split {
  Value m, n;
};
Split split(Real &f, Value x) {
  Value root = f.integer(0x3fe6a09e667f3bcd), from = f.subWords(f.bits(x), root);
  // n with a bias that keeps it positive, converted to a float by its bits.
  Value counted =
      arith::ShRUIOp::create(f.b, f.addWords(from, f.integer(int64_t(2048) << 52)), f.integer(52));
  Value n = f.sub(f.fromBits(f.either(counted, f.integer(0x4330000000000000))), 0x1p52 + 2048);
  Value mantissa = f.both(from, f.integer((int64_t(1) << 52) - 1));
  return {f.fromBits(f.addWords(mantissa, root)), n};
}

/// 2 ** (y * log2(x)) of positive numbers that were f32: rounded to f32, the error is little more
/// than half an ULP.
Value shortPower(Real &f, Value x, Value y) {
  Split of = split(f, x);
  Value s = f.div(f.sub(of.m, 1), f.add(of.m, 1)), z = f.mul(s, s);
  constexpr double k = 1.4426950408889634; // 1 / ln 2
  Value slope =
      f.polynomial(z, {k * 0.19584061006006057, k * 0.22176193956254894, k * 0.285721090597342,
                       k * 0.39999995622479206, k * 0.666666666758, k * 2});
  Value exponent = f.clamp(f.mul(f.fma(s, slope, of.n), y), -200, 200);
  Value counted = f.add(exponent, f.wholeShift());
  Value rest = f.sub(exponent, f.sub(counted, f.wholeShift()));
  Value value =
      f.polynomial(rest, {1.531646168706072e-05, 0.0001546973196709221, 0.0013333422647694184,
                          0.009618025603364952, 0.05550410976101602, 0.24022651213585475,
                          0.6931471805350317, 0.9999999999595512});
  return f.mul(value, f.powerOf2(f.wholeOf(f.bits(counted))));
}

/// The same for f64.
Value longPower(Real &f, Value x, Value y, unsigned vectorBits) {
  using Pair = Real::Pair;
  Value isSmall = f.is(Is::OLT, x, 0x1p-1022);
  Split of = split(f, f.choose(isSmall, f.mul(x, 0x1p54), x));
  Value n = f.choose(isSmall, f.sub(of.n, 54), of.n);
  // ln m = 2 s + 2/3 s**3 + s**5 * tail with s = (m - 1) / (m + 1), in pairs but for the tail.
  Value above = f.sub(of.m, 1), below = f.add(of.m, 1);
  Value lost = f.sub(of.m, f.sub(below, 1)), inverse = f.div(f.number(1), below);
  Value s = f.mul(above, inverse);
  Value sLow = f.mul(f.fma(f.neg(s), lost, f.fma(f.neg(s), below, above)), inverse);
  Pair z = f.product(s, s);
  z.low = f.fma(f.add(s, s), sLow, z.low);
  Value tail = f.polynomial(z.high, {0.13196217601717636, 0.13256829078203514, 0.1538675687511121,
                                     0.1818178437628162, 0.22222222519827836, 0.28571428570100044,
                                     0.40000000000002256});
  Pair slope = f.sum(f.number(0.6666666666666666), f.fma(z.high, tail, 3.700743415417188e-17));
  Pair cube = f.product(s, z.high);
  cube.low = f.fma(s, z.low, f.fma(sLow, z.high, cube.low));
  Pair term = f.product(cube.high, slope.high);
  term.low = f.fma(cube.high, slope.low, f.fma(cube.low, slope.high, term.low));
  Pair ln = f.sum(f.add(s, s), term.high);
  ln.low = f.add(ln.low, f.add(f.add(sLow, sLow), term.low));
  constexpr double kLog2OfE[] = {1.4426950408889634, 2.0355273740931033e-17};
  Pair log = f.product(ln.high, f.number(kLog2OfE[0]));
  log.low = f.fma(ln.high, kLog2OfE[1], f.fma(ln.low, kLog2OfE[0], log.low));
  Pair all = f.sum(n, log.high);
  all.low = f.add(all.low, log.low);
  // Larger exponents give the same results as these.
  Pair exponent = f.product(all, f.clamp(y, -0x1p70, 0x1p70));
  Value isFar = f.is(Is::OGT, f.abs(exponent.high), 1100);
  exponent.low = f.choose(isFar, f.number(0), exponent.low);
  exponent.high = f.clamp(exponent.high, -1100, 1100);
  Value counted = f.add(exponent.high, f.wholeShift());
  Value rest = f.sub(exponent.high, f.sub(counted, f.wholeShift()));
  constexpr double kLn2[] = {0.6931471805599453, 2.3190468138462996e-17};
  Pair r = f.product(rest, f.number(kLn2[0]));
  r.low = f.fma(rest, kLn2[1], f.fma(exponent.low, kLn2[0], r.low));
  Value more =
      f.polynomial(r.high, {2.092686150005474e-09, 2.5112227563979044e-08, 2.755723364628851e-07,
                            2.755723427162073e-06, 2.4801587373368394e-05, 0.00019841269897024643,
                            0.0013888888888858662, 0.008333333333316753, 0.04166666666666673,
                            0.16666666666666685, 0.5});
  // The low part may exceed an ULP of the high one: it is multiplied by e**high as well.
  Value square = f.mul(r.high, r.high), slopeLess1 = f.fma(square, more, r.high);
  Value value = f.fma(square, more, f.fma(r.low, slopeLess1, r.low));
  value = f.add(f.add(r.high, value), 1);
  return f.scaled(value, f.wholeOf(f.bits(counted)), vectorBits);
}

/// For any numbers, in f64.
Value generalPower(Real &f, Value x, Value y, bool isShort, unsigned vectorBits) {
  Value size = f.abs(x), zero = f.number(0), one = f.number(1);
  Value infinity = f.number(Real::kInfinity);
  Value value = isShort ? shortPower(f, size, y) : longPower(f, size, y, vectorBits);
  Value isNegativePower = f.is(Is::OLT, y, zero);
  value = f.choose(f.is(Is::OEQ, size, zero), f.choose(isNegativePower, infinity, zero), value);
  value = f.choose(f.is(Is::OEQ, size, infinity), f.choose(isNegativePower, zero, infinity), value);
  value = f.choose(f.is(Is::OEQ, size, one), one, value);
  // Negative numbers have only integer powers; odd ones are negative.
  Value half = f.mul(y, 0.5);
  Value isWhole = f.is(Is::OEQ, math::FloorOp::create(f.b, y), y);
  Value isOdd = f.both(isWhole, f.is(Is::UNE, math::FloorOp::create(f.b, half), half));
  Value sign = f.choose(isOdd, f.bits(x), f.integer(0));
  value = f.flip(value, sign);
  Value hasNone = f.both(f.is(Is::OLT, x, zero), f.is(Is::OGT, x, -Real::kInfinity));
  hasNone = f.both(hasNone, f.is(Is::UNE, math::FloorOp::create(f.b, y), y));
  value = f.choose(hasNone, f.number(Real::kNan), value);
  value = f.choose(f.is(Is::UNO, x, y), f.add(x, y), value);
  return f.choose(f.either(f.is(Is::OEQ, y, zero), f.is(Is::OEQ, x, one)), one, value);
}

/// The same for numbers of the type of `f`.
Value generalPowerOf(Real &f, Value x, Value y, unsigned vectorBits) {
  if (f.digits == 52)
    return generalPower(f, x, y, /*isShort=*/false, vectorBits);
  Type wide = f.b.getF64Type();
  if (auto vector = dyn_cast<VectorType>(f.type))
    wide = VectorType::get(vector.getShape(), wide);
  Real w(f.b, wide);
  x = arith::ExtFOp::create(f.b, wide, x);
  y = arith::ExtFOp::create(f.b, wide, y);
  return arith::TruncFOp::create(f.b, f.type, generalPower(w, x, y, /*isShort=*/true, vectorBits));
}

/// Whether y is loop invariant in the loop that is being emitted.
bool isSame(KernelEmitter &e, Value y) {
  if (auto wider = y.getDefiningOp<arith::ExtFOp>()) // of 16 bits
    y = wider.getIn();
  return y.getParentBlock() != e.b.getInsertionBlock();
}

std::optional<double> known(Value y) {
  if (auto wider = y.getDefiningOp<arith::ExtFOp>())
    y = wider.getIn();
  auto constant = y.getDefiningOp<arith::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

} // namespace

Value emitPower(KernelEmitter &e, Value x, Value y) {
  Real f(e.b, x.getType());
  unsigned vectorBits = e.target.vectorBits;
  if (std::optional<double> number = known(y)) {
    Value form = formOf(f, x, *number);
    return form ? form : generalPowerOf(f, x, y, vectorBits);
  }
  Value product = productPower(f, x, y);
  std::string name = f.digits == 52 ? "pow" : "powf";
  // One exponent for all elements may have a multiplication form, and then nothing else is
  // computed. Of many exponents, most have no special form.
  if (isSame(e, y))
    return unlessRare(
        e, name, product, {x, y},
        [](Real &r, ArrayRef<Value> of) { return isOtherPower(r, of[1]); },
        [&](Real &r, ArrayRef<Value> of) {
          Value value = generalPowerOf(r, of[0], of[1], vectorBits);
          return r.choose(isQuotientPower(r, of[1]), quotientPower(r, of[0], of[1]), value);
        },
        Rarely::Vectors);
  Value value = f.choose(isOtherPower(f, y), generalPowerOf(f, x, y, vectorBits), product);
  return unlessRare(
      e, name + ".quotient", value, {x, y},
      [](Real &r, ArrayRef<Value> of) { return isQuotientPower(r, of[1]); },
      [](Real &r, ArrayRef<Value> of) { return quotientPower(r, of[0], of[1]); }, Rarely::Vectors);
}

} // namespace mx::lowering
