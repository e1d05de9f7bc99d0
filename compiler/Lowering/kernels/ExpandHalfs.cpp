// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between f32 and 16-bit floats (f16, bf16) in integer arithmetic: the same bits on
// every machine, no function of the compiler's runtime library, and loops stay vectorisable.
// Rounding is to nearest, ties to even; NaN stays NaN.
#include "Lowering/kernels/LowerToLlvm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

/// Builder of 32-bit words.
struct Words {
  ImplicitLocOpBuilder b;

  Value constant(uint32_t bits) {
    return arith::ConstantOp::create(b,
                                     b.getIntegerAttr(b.getI32Type(), static_cast<int32_t>(bits)));
  }
  Value bitsOf(Value x, Type type) { return arith::BitcastOp::create(b, type, x); }
  Value bitsOf(Value f32) { return bitsOf(f32, b.getI32Type()); }
  Value floatOf(Value bits) { return bitsOf(bits, b.getF32Type()); }
  Value with(Value x, uint32_t mask) { return arith::AndIOp::create(b, x, constant(mask)); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value plus(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value plus(Value x, uint32_t y) { return plus(x, constant(y)); }
  Value left(Value x, uint32_t by) { return arith::ShLIOp::create(b, x, constant(by)); }
  Value right(Value x, uint32_t by) { return arith::ShRUIOp::create(b, x, constant(by)); }
  Value is(CmpIPredicate p, Value x, uint32_t y) {
    return arith::CmpIOp::create(b, p, x, constant(y));
  }
  Value choose(Value c, Value x, Value y) { return arith::SelectOp::create(b, c, x, y); }
  Value widen(Value x) {
    return arith::ExtUIOp::create(b, b.getI32Type(), bitsOf(x, b.getI16Type()));
  }
  Value narrow(Value word, Type type) {
    return bitsOf(arith::TruncIOp::create(b, b.getI16Type(), word), type);
  }
};

Value extendBf16(Words &w, Value x) { return w.floatOf(w.left(w.widen(x), 16)); }
Value truncateBf16(Words &w, Value x, Type type) {
  Value bits = w.bitsOf(x);
  Value isNan = w.is(CmpIPredicate::ugt, w.with(bits, 0x7fffffff), 0x7f800000);
  Value half = w.plus(w.with(w.right(bits, 16), 1), 0x7fff);
  Value rounded = w.right(w.plus(bits, half), 16);
  Value quiet = w.either(w.right(bits, 16), w.constant(0x40));
  return w.narrow(w.choose(isNan, quiet, rounded), type);
}

Value extendF16(Words &w, Value x) {
  Value half = w.widen(x);
  Value body = w.left(w.with(half, 0x7fff), 13), exponent = w.with(body, 0x7c00U << 13);
  Value normal = w.plus(body, (127U - 15) << 23);
  Value infinite = w.plus(normal, (128U - 16) << 23);
  // 0 and denormals: an exponent too large by one, subtracted in floating point.
  Value magic = w.floatOf(w.constant(113U << 23));
  Value small = w.bitsOf(arith::SubFOp::create(w.b, w.floatOf(w.plus(normal, 1U << 23)), magic));
  Value value = w.choose(w.is(CmpIPredicate::eq, exponent, 0x7c00U << 13), infinite, normal);
  value = w.choose(w.is(CmpIPredicate::eq, exponent, 0), small, value);
  return w.floatOf(w.either(value, w.left(w.with(half, 0x8000), 16)));
}
Value truncateF16(Words &w, Value x, Type type) {
  Value all = w.bitsOf(x), bits = w.with(all, 0x7fffffff);
  Value isNan = w.is(CmpIPredicate::ugt, bits, 0x7f800000);
  Value large = w.choose(isNan, w.constant(0x7e00), w.constant(0x7c00));
  // Denormals are aligned, and rounded, by an addition.
  uint32_t magic = ((127U - 15) + (23 - 10) + 1) << 23;
  Value added = arith::AddFOp::create(w.b, w.floatOf(bits), w.floatOf(w.constant(magic)));
  Value small = w.plus(w.bitsOf(added), 0U - magic);
  Value odd = w.with(w.right(bits, 13), 1);
  Value normal = w.right(w.plus(w.plus(bits, ((15U - 127U) << 23) + 0xfff), odd), 13);
  Value value = w.choose(w.is(CmpIPredicate::ult, bits, 113U << 23), small, normal);
  value = w.choose(w.is(CmpIPredicate::uge, bits, (127U + 16) << 23), large, value);
  return w.narrow(w.either(value, w.right(w.with(all, 0x80000000), 16)), type);
}

} // namespace

void expandHalfs(ModuleOp module, bool nativeHalf) {
  module.walk([&](Operation *op) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      return;
    bool extends = isa<arith::ExtFOp>(op);
    Type half = extends ? op->getOperand(0).getType() : op->getResult(0).getType();
    if (!half.isBF16() && (!half.isF16() || nativeHalf))
      return;
    Words w{ImplicitLocOpBuilder(op->getLoc(), op)};
    Value x = op->getOperand(0);
    Value value = half.isBF16() ? (extends ? extendBf16(w, x) : truncateBf16(w, x, half))
                                : (extends ? extendF16(w, x) : truncateF16(w, x, half));
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  });
}

} // namespace mx::lowering
