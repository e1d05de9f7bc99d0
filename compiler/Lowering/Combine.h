// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reductions do to two elements. Floats of 16 bits are accumulated in f32 and rounded at the
// end.
#pragma once
#include "Lowering/Evaluate.h"

namespace mx::lowering {

/// One element under way: a value, and its place for argmax and argmin.
struct Partial {
  Value value, index = {};
};

/// What one op does to its elements.
class Combiner {
public:
  Combiner(KernelEmitter &e, mlir::Operation *op);

  mlir::Operation *op;
  mlir::Type type; ///< what is accumulated

  bool hasIndex() const;
  /// There is a result for no elements.
  bool hasEmpty() const;
  /// Every order of the elements gives the same result.
  bool isExact() const;
  Partial identity(Value isEmpty);
  Partial first(Value x, Value index);
  Partial combine(Partial x, Partial y);
  /// As an element of the op's result.
  Value result(Partial x);

private:
  KernelEmitter &e;
  mlir::Type element;
  bool isUnsigned;

  bool isFloat() const { return mlir::isa<mlir::FloatType>(type); }
  Value limit(bool largest);
  Value isBetter(Partial x, Partial y);
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
