// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of the values in a kernel, computed where they are needed. An elementwise op becomes
// scalar code; one that only moves elements becomes a change of the place that is asked for, and
// needs no code and no buffer of its own.
#pragma once
#include "Lowering/KernelEmitter.h"
#include <map>

namespace mx::lowering {

/// The scalar code of an elementwise op. `x` are the operands' elements; floats of 16 bits are
/// computed in f32 and rounded once.
Value emitElementwise(KernelEmitter &e, mlir::Operation *op, ArrayRef<Value> x);
/// The same for integers and bools, on operands of one type.
Value emitInteger(KernelEmitter &e, mlir::Operation *op, mlir::Type element, ArrayRef<Value> x);
/// Another element type: floats to integers truncate and saturate, NaN gives 0; integers wrap.
Value emitCast(KernelEmitter &e, Value x, mlir::Type from, mlir::Type to);
/// Where mx.slice or mx.update reads or writes along one axis of x.
struct AxisPlan {
  Value start, step; ///< no step: one place
  Value count;
};
/// Checks the places that the op names, at the top of the function.
SmallVector<AxisPlan> planIndexing(KernelEmitter &e, ir::TensorType x, mlir::ArrayAttr spec,
                                   ArrayRef<Value> at);

class Evaluator {
public:
  explicit Evaluator(KernelEmitter &e) : e(e) {}

  /// Computes numbers and checks indices that `roots` need; to be called at the top of the
  /// function, before their elements are asked for.
  void prepare(mlir::ValueRange roots);
  /// The element of `value` at a place, in code at the builder's place.
  Value at(Value value, Indices place);
  /// The elements of `roots`, which are of one shape, at a place.
  SmallVector<Value> all(mlir::ValueRange roots, Indices place);
  /// From here to the end of the scope the element is known.
  void bind(Value value, Indices place, Value element);

  /// What is computed in a loop's body is forgotten at its end.
  class Scope {
  public:
    explicit Scope(Evaluator &of) : of(of), saved(of.known) {}
    ~Scope() { of.known = std::move(saved); }

  private:
    Evaluator &of;
    std::map<std::pair<void *, std::vector<void *>>, Value> saved;
  };

  SmallVector<AxisPlan> plan(mlir::Operation *op) { return plans[op]; }
  /// The place in x that a place in what `index` takes from an axis of x comes from.
  SmallVector<Value> placeTaken(Value index, ir::TensorType x, size_t axis, Indices place);

private:
  friend class Scope;
  KernelEmitter &e;
  std::map<std::pair<void *, std::vector<void *>>, Value> known;
  llvm::DenseMap<mlir::Operation *, SmallVector<AxisPlan>> plans;

  Value compute(mlir::Operation *op, Indices place);
  Value reshaped(ir::ReshapeOp op, Indices place);
  Value underWindow(ir::WindowsOp op, Indices place);
  Value folded(ir::FoldOp op, Indices place);
  void checkPlaces(mlir::Operation *op, Value index, ir::TensorType x, size_t axis);
};

/// A place of a result as the place of an operand that is stretched to it.
SmallVector<Value> stretchedFrom(KernelEmitter &e, ir::TensorType operand, Indices place);
/// The values that `roots` are computed from, with themselves, in the order of the block. With
/// `pointwise`, without what lies behind ops that have loops of their own.
SmallVector<mlir::Operation *> operationsBehind(mlir::ValueRange roots, bool pointwise = false);

} // namespace mx::lowering
