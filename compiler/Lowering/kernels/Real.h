// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on floats of one type, scalars or vectors, for functions whose accuracy depends on how
// each operation rounds. LLVM does not fuse, split or reorder any of it: a multiply-add is rounded
// once where fma() is called, and twice elsewhere. On a CPU without FMA, fma() calls the C library,
// so that all CPUs give the same bits.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <bit>
#include <limits>

namespace mx::lowering {

class Real {
public:
  using Value = mlir::Value;
  /// `type` is f32, f64 or a vector of them.
  Real(mlir::ImplicitLocOpBuilder &builder, mlir::Type type) : b(builder), type(type) {
    unsigned bits = mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    word = b.getIntegerType(bits);
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      word = mlir::VectorType::get(vector.getShape(), word);
    digits = bits == 64 ? 52 : 23;
  }

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type, word;
  int digits; ///< bits of the fraction

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  /// Adding it leaves a number's integer part in the low bits (magic-number rounding).
  double wholeShift() const { return digits == 52 ? 6755399441055744.0 : 12582912.0; }
  int64_t bias() const { return digits == 52 ? 1023 : 127; }

  Value number(double x) { return constant(type, b.getFloatAttr(element(type), x)); }
  Value integer(int64_t x) { return constant(word, b.getIntegerAttr(element(word), x)); }
  Value bits(Value x) { return mlir::arith::BitcastOp::create(b, word, x); }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(b, type, x); }

  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value add(Value x, double y) { return add(x, number(y)); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value sub(Value x, double y) { return sub(x, number(y)); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value mul(Value x, double y) { return mul(x, number(y)); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  Value neg(Value x) { return mlir::arith::NegFOp::create(b, x); }
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, x); }
  /// x * y + z, rounded once.
  Value fma(Value x, Value y, Value z) { return mlir::LLVM::FMAOp::create(b, type, x, y, z); }
  Value fma(Value x, double y, Value z) { return fma(x, number(y), z); }
  Value fma(Value x, Value y, double z) { return fma(x, y, number(z)); }
  Value withSign(Value x, Value sign) { return mlir::math::CopySignOp::create(b, x, sign); }
  /// x with its sign bit XORed with that of `sign`.
  Value flip(Value x, Value sign) {
    return fromBits(
        mlir::arith::XOrIOp::create(b, bits(x), mlir::arith::AndIOp::create(b, sign, signBit())));
  }
  Value signBit() { return integer(digits == 52 ? INT64_MIN : int64_t(INT32_MIN)); }

  using Is = mlir::arith::CmpFPredicate;
  Value is(Is predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, predicate, x, y);
  }
  Value is(Is predicate, Value x, double y) { return is(predicate, x, number(y)); }
  Value choose(Value condition, Value x, Value y) {
    return mlir::arith::SelectOp::create(b, condition, x, y);
  }
  Value both(Value x, Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return mlir::arith::OrIOp::create(b, x, y); }
  Value left(Value x, int64_t by) { return mlir::arith::ShLIOp::create(b, x, integer(by)); }
  Value addWords(Value x, Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  Value subWords(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  /// NaN is kept.
  Value clamp(Value x, double low, double high) {
    x = choose(is(Is::OLT, x, low), number(low), x);
    return choose(is(Is::OGT, x, high), number(high), x);
  }
  /// Horner's rule, the highest power first.
  Value polynomial(Value x, std::initializer_list<double> coefficients) {
    Value sum;
    for (double c : coefficients)
      sum = sum ? fma(sum, x, number(c)) : number(c);
    return sum;
  }
  /// An unevaluated sum of two floats (double-double): the second is the rounding error of the
  /// first.
  struct Pair {
    Value high, low;
  };
  /// x + y where x is larger, or 0 (Fast2Sum).
  Pair sum(Value x, Value y) {
    Value high = add(x, y);
    return {high, sub(y, sub(high, x))};
  }
  /// x * y with its rounding error (TwoProduct by FMA).
  Pair product(Value x, Value y) {
    Value high = mul(x, y);
    return {high, fma(x, y, neg(high))};
  }
  Pair product(Pair x, Value y) {
    Pair p = product(x.high, y);
    return sum(p.high, fma(x.low, y, p.low));
  }

  /// The integer in the bits of a number to which wholeShift() was added.
  Value wholeOf(Value counted) {
    int64_t shift = digits == 52 ? std::bit_cast<int64_t>(wholeShift())
                                 : std::bit_cast<int32_t>(static_cast<float>(wholeShift()));
    return subWords(counted, integer(shift));
  }
  /// 2**n if that is a normal float.
  Value powerOf2(Value n) { return fromBits(left(addWords(n, integer(bias())), digits)); }
  /// x * 2**n, rounded once, for |n| < 2 * bias().
  Value scaled(Value x, Value n, unsigned vectorBits) {
    // An AVX-512 instruction (scalef), which gives the same bits. MLIR has it for scalars only.
    if (vectorBits >= 512 && !mlir::isa<mlir::VectorType>(type)) {
      if (digits == 52)
        n = mlir::arith::TruncIOp::create(b, b.getI32Type(), n);
      return mlir::LLVM::LoadExpOp::create(b, type, x, n);
    }
    // Multiplies by about half of n, which is exact, and by the rest: 2**n alone may overflow or
    // underflow. The shift is logical, as arithmetic shifts are slow with AVX2.
    Value counted = addWords(n, integer(2 * bias()));
    Value half = mlir::arith::ShRUIOp::create(b, counted, integer(1));
    return mul(mul(x, fromBits(left(half, digits))),
               fromBits(left(subWords(counted, half), digits)));
  }

private:
  static mlir::Type element(mlir::Type type) { return mlir::getElementTypeOrSelf(type); }
  Value constant(mlir::Type of, mlir::TypedAttr value) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(of))
      value = mlir::DenseElementsAttr::get(vector, mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(b, of, value);
  }
};

} // namespace mx::lowering
