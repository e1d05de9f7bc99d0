// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The combining functions of reductions. 16-bit floats are accumulated in f32 and rounded at the
// end.
#pragma once
#include "Lowering/kernels/Evaluate.h"

namespace mx::lowering {

/// A partial result: a value, and its index for argmax and argmin.
struct Partial {
  Value value, index = {};
};

/// The combining function of one reduction op.
class Combiner {
public:
  Combiner(KernelEmitter &e, mlir::Operation *op);

  mlir::Operation *op;
  mlir::Type type; ///< of the accumulator

  bool hasIndex() const;
  /// The result of no elements is defined.
  bool hasEmpty() const;
  /// Every order of the elements gives the same result.
  bool isExact() const;
  Partial identity(Value isEmpty);
  Partial first(Value x, Value index);
  Partial combine(Partial x, Partial y);
  /// Max or min of f32, for which zeros need care: 0.0 counts as larger than -0.0.
  bool hasZeros() const;
  /// The same as combine(), but 0.0 and -0.0 count as equal: two instructions fewer.
  Value combineZeros(Value x, Value y);
  /// Sign of the result of combineZeros(), from the signs of all elements: the max is negative if
  /// all elements are, the min if one is.
  Value noSigns();
  Value combineSigns(Value signs, Value x);
  Value withSign(Value x, Value signs);
  /// Converts to an element of the op's result.
  Value result(Partial x);

private:
  KernelEmitter &e;
  mlir::Type element;
  bool isUnsigned;

  bool isFloat() const { return mlir::isa<mlir::FloatType>(type); }
  Value limit(bool largest);
  Value isBetter(Partial x, Partial y);
  Value furthest(Value x, Value y, mlir::arith::FastMathFlags flags);
};

/// Partial results on the stack.
struct Slots {
  Buffer values, indices;
  Partial load(KernelEmitter &e, Value at) const {
    return {e.load(values, at), indices.address ? e.load(indices, at) : Value()};
  }
  void store(KernelEmitter &e, Value at, Partial x) const {
    e.store(values, at, x.value);
    if (indices.address)
      e.store(indices, at, x.index);
  }
};

} // namespace mx::lowering
