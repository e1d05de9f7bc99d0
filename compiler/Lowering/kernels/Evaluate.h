// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fusion of pointwise ops: computes elements of the values in a kernel where they are needed. An
// elementwise op becomes scalar code; an op that only moves elements becomes a change of the index,
// and needs no code and no buffer of its own.
#pragma once
#include "Lowering/kernels/KernelEmitter.h"
#include <map>

namespace mx::lowering {

/// The scalar code of an elementwise op. `x` are the operands' elements; 16-bit floats are computed
/// in f32 and rounded once.
Value emitElementwise(KernelEmitter &e, mlir::Operation *op, ArrayRef<Value> x);
/// The same for integers and bools, on operands of one type.
Value emitInteger(KernelEmitter &e, mlir::Operation *op, mlir::Type element, ArrayRef<Value> x);
/// Converts to another element type: floats to integers truncate and saturate, NaN gives 0;
/// integers wrap.
Value emitCast(KernelEmitter &e, Value x, mlir::Type from, mlir::Type to);
/// The indices that mx.slice or mx.update reads or writes along one axis of x.
struct AxisPlan {
  Value start, step; ///< no step: one index
  Value count;
};
/// Checks the indices of the op, at the top of the function.
SmallVector<AxisPlan> planIndexing(KernelEmitter &e, ir::TensorType x, mlir::ArrayAttr spec,
                                   ArrayRef<Value> at);

class Evaluator {
public:
  explicit Evaluator(KernelEmitter &e) : e(e) {}

  /// Computes numbers and checks indices that `roots` need. Must be called at the top of the
  /// function, before their elements are requested.
  void prepare(mlir::ValueRange roots);
  /// The element of `value` at an index, in code at the insertion point.
  Value at(Value value, Indices indices);
  /// The elements of `roots`, which have one shape, at an index.
  SmallVector<Value> all(mlir::ValueRange roots, Indices indices);
  /// Binds the element from here to the end of the scope.
  void bind(Value value, Indices indices, Value element);

  /// Discards the elements computed in a loop's body at its end.
  class Scope {
  public:
    explicit Scope(Evaluator &of) : of(of), saved(of.known) {}
    ~Scope() { of.known = std::move(saved); }

  private:
    Evaluator &of;
    std::map<std::pair<void *, std::vector<void *>>, Value> saved;
  };

  SmallVector<AxisPlan> plan(mlir::Operation *op) { return plans[op]; }
  /// The index in x of an element that `index` gathers along an axis of x.
  SmallVector<Value> takenIndices(Value index, ir::TensorType x, size_t axis, Indices indices);

private:
  friend class Scope;
  KernelEmitter &e;
  std::map<std::pair<void *, std::vector<void *>>, Value> known;
  llvm::DenseMap<mlir::Operation *, SmallVector<AxisPlan>> plans;

  Value compute(mlir::Operation *op, Indices indices);
  Value reshaped(ir::ReshapeOp op, Indices indices);
  Value underWindow(ir::WindowsOp op, Indices indices);
  Value folded(ir::FoldOp op, Indices indices);
  void checkIndices(mlir::Operation *op, Value index, ir::TensorType x, size_t axis);
};

/// The index of a result as the index of an operand that is broadcast to it.
SmallVector<Value> broadcastFrom(KernelEmitter &e, ir::TensorType operand, Indices indices);
/// The ops that `roots` are computed from, including their own, in block order. With `pointwise`,
/// without the operands of ops that have loops of their own.
SmallVector<mlir::Operation *> operationsBehind(mlir::ValueRange roots, bool pointwise = false);

} // namespace mx::lowering
