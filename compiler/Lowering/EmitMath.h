// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions like exp and log on f32 and f64.
#pragma once
#include "Lowering/KernelEmitter.h"

namespace mx::lowering {

/// The value of the op at x, f32 or f64; null if it is no function of this kind.
Value emitMath(KernelEmitter &e, mlir::Operation *op, ArrayRef<Value> x);

} // namespace mx::lowering
