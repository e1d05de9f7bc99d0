// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fmod: the remainder of a float division, which is always exact. For a quotient below 2**28 (f32)
// or 2**52 (f64), it is x - trunc(x / y) * y, computed in f64 and rounded once; larger quotients
// are left to the C library.
#include "Lowering/RuntimeFunctions.h"
#include "Lowering/kernels/EmitMath.h"
#include "Lowering/kernels/RareCases.h"

using namespace mlir;

namespace mx::lowering {

Value emitRemainder(KernelEmitter &e, Value x, Value y) {
  using Is = Real::Is;
  bool isShort = x.getType().isF32();
  Real f(e.b, e.b.getF64Type());
  if (isShort) {
    x = arith::ExtFOp::create(e.b, f.type, x);
    y = arith::ExtFOp::create(e.b, f.type, y);
  }
  Value quotient = f.div(x, y), whole = math::TruncOp::create(e.b, quotient);
  Value rest = f.fma(f.neg(whole), y, x);
  if (!isShort) {
    // The rounded quotient may be too large by one if the exact one is just below an integer.
    Value sign = f.bits(x);
    Value isBelow = f.is(Is::OLT, f.flip(rest, sign), 0.0);
    rest = f.choose(isBelow, f.add(rest, f.withSign(y, x)), rest);
  }
  // Also for an infinite y, whose multiple by 0 would be NaN.
  rest = f.choose(f.is(Is::OLT, f.abs(x), f.abs(y)), x, rest);
  double limit = isShort ? 0x1p28 : 0x1p52;
  rest = unlessRare(
      e, isShort ? "fmodf" : "fmod", rest, {x, y, quotient},
      [&](Real &r, ArrayRef<Value> of) { return r.is(Is::OGE, r.abs(of[2]), limit); },
      [&](Real &r, ArrayRef<Value> of) -> Value {
        auto function = mathFunction(e.module, "fmod", r.type, 2);
        return LLVM::CallOp::create(r.b, function, of.take_front(2)).getResult();
      });
  return isShort ? Value(arith::TruncFOp::create(e.b, e.b.getF32Type(), rest)) : rest;
}

} // namespace mx::lowering
