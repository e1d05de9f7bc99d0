// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementary functions such as exp and log on f32 and f64.
#pragma once
#include "Lowering/kernels/KernelEmitter.h"

namespace mx::lowering {

/// The value of the op at x, f32 or f64; null if it is not an elementary function.
Value emitMath(KernelEmitter &e, mlir::Operation *op, ArrayRef<Value> x);

// One function each; x is f32 or f64.
Value emitSin(KernelEmitter &e, Value x);
Value emitCos(KernelEmitter &e, Value x);
Value emitTan(KernelEmitter &e, Value x);
Value emitAtan2(KernelEmitter &e, Value y, Value x);
Value emitPower(KernelEmitter &e, Value x, Value y);
/// x minus an integer multiple of y, with the sign of x (fmod); the sign of a 0 result is
/// unspecified.
Value emitRemainder(KernelEmitter &e, Value x, Value y);
/// exp, expm1, log, log1p, tanh and erf of f64; null for other ops.
Value emitF64(KernelEmitter &e, mlir::Operation *op, Value x);

} // namespace mx::lowering
