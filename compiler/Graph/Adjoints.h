// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse-mode autodiff (vector-Jacobian product): state and helpers that the gradient rules
// share. The adjoint of a value is the gradient of the result with respect to it. A tensor has an
// adjoint of its own type, always on a device, also for host scalars. An aggregate has one adjoint
// for each part that holds floats: the adjoint of an unused part stays empty and costs no zeros.
#pragma once
#include "Graph/Sizes.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <vector>

namespace mx::graph {

struct Adjoint {
  mlir::Value value;          ///< of a tensor, or of a whole array
  std::vector<Adjoint> parts; ///< of an aggregate or array, per part
  bool isZero() const {
    return !value && llvm::all_of(parts, [](const Adjoint &part) { return part.isZero(); });
  }
};

/// Differentiates the body of one function, in reverse or forward mode. Calls are inlined before,
/// except those of functions with a rule of their own or with `@remat`.
class Reverse {
  friend class RoutineRules; ///< GradientRoutines.cpp

public:
  /// Gradients with more than `limit` ops are rejected. `wrongRule`: see Mistakes.h.
  Reverse(mlir::FunctionOpInterface function, mlir::SymbolTable &symbols, int64_t limit,
          llvm::StringRef wrongRule)
      : function(function), symbols(symbols), limit(limit), wrongRule(wrongRule),
        b(function.getLoc(), function.getContext()) {}

  /// Appends the gradients of the function's first result with respect to its arguments `wrt` to
  /// its results. `wanted` are the gradient types, which name the wanted parts of aggregates. Warns
  /// about parts that the result does not depend on, at the location of the argument.
  llvm::LogicalResult run(mlir::ArrayRef<int64_t> wrt, mlir::TypeRange wanted);

  /// Forward mode (Jacobian-vector product). Appends a tangent argument for each of `wrt`, and the
  /// tangent of the first result as the last result.
  llvm::LogicalResult runForward(mlir::ArrayRef<int64_t> wrt);

  /// One leaf of a loop-carried value: the path to it through aggregates and arrays.
  struct Leaf {
    unsigned carried;
    llvm::SmallVector<int64_t> path;
  };
  /// Maps an op recomputed in the reverse pass to its original in the forward pass.
  using Originals = llvm::DenseMap<mlir::Operation *, mlir::Operation *>;

private:
  // ---- Adjoints.cpp
  /// The type of an adjoint as one value; null if the type holds no floats.
  mlir::Type adjointType(mlir::Type type);
  bool isActive(mlir::Value value) const { return active.contains(value); }
  void add(Adjoint &into, const Adjoint &more, mlir::Type type);
  /// Accumulates into the adjoint of `value`. The contribution to a tensor may have the shape that
  /// the tensor was broadcast to.
  void contribute(mlir::Value value, const Adjoint &more);
  void contribute(mlir::Value value, mlir::Value more) { contribute(value, Adjoint{more, {}}); }
  /// The adjoint as one value of type adjointType(type), with zeros for empty parts.
  mlir::Value whole(const Adjoint &adjoint, mlir::Type type);
  Adjoint apart(mlir::Value value, mlir::Type type);
  /// Splits the adjoint of an array into its elements; fails if their number is not known.
  bool splitElements(Adjoint &adjoint, ir::ArrayType type);
  /// Converts an adjoint to a gradient: only the parts that `wanted` names.
  mlir::Value asGradient(const Adjoint &adjoint, mlir::Type type, mlir::Type wanted,
                         const std::string &path, llvm::SmallVectorImpl<std::string> &unused);
  mlir::Type gradientType(mlir::Type type, mlir::Type wanted);

  template <class Op, class... Args> mlir::Value make(Args &&...args) {
    return Op::create(b, std::forward<Args>(args)...).getResult();
  }
  mlir::Value elementwise(llvm::StringRef op, mlir::ArrayRef<mlir::Value> operands,
                          mlir::Type element = {});
  mlir::Value number(mlir::Value like, double value);
  mlir::Value wholeNumber(int64_t value);
  mlir::Value zeros(ir::TensorType type);
  mlir::Value onDevice(mlir::Value value);
  mlir::Value shaped(mlir::Value value, ir::TensorType type);
  mlir::Value sumTo(mlir::Value value, ir::TensorType type);
  mlir::Value sum(mlir::Value value, mlir::ArrayRef<int64_t> axes, bool keep);
  ir::SizeAttr sizeOf(int64_t value) { return ir::SizeAttr::get(b.getContext(), value); }
  ir::SizeAttr product(mlir::ArrayRef<ir::SizeAttr> sizes);
  static ir::TensorType typeOf(mlir::Value value) {
    return mlir::cast<ir::TensorType>(value.getType());
  }

  // ---- Differentiate.cpp
  void findActive(mlir::Block &block);
  bool markActive(mlir::Value value);
  llvm::LogicalResult refuseHidden();
  llvm::LogicalResult reverse(mlir::ArrayRef<mlir::Operation *> ops);
  llvm::LogicalResult reverse(mlir::Operation *op);
  mlir::LogicalResult withoutRule(mlir::Operation *op);

  // Each handles the ops it has a rule for and reports in `handled` whether it had one.
  // ---- GradientElementwise.cpp
  void elementwiseRule(mlir::Operation *op, mlir::Value g, bool &handled);
  void power(mlir::Operation *op, mlir::Value g);
  void angle(mlir::Operation *op, mlir::Value g);
  mlir::Value conditionOf(mlir::Operation *op);
  // ---- GradientTensors.cpp
  void tensorRule(mlir::Operation *op, mlir::Value g, bool &handled);
  void productOf(ir::ProdOp op, mlir::Value g);
  void extreme(mlir::Operation *op, mlir::Value g, mlir::ArrayRef<int64_t> axes, bool keep);
  void matmul(ir::MatmulOp op, mlir::Value g);
  void concat(ir::ConcatOp op, mlir::Value g);
  Adjoint &adjointOf(mlir::Value x, mlir::Block *block);
  void takeBack(ir::TakeOp op, mlir::Value g);
  void sliceBack(ir::SliceOp op, mlir::Value g);
  void update(ir::UpdateOp op, mlir::Value g);
  void updateValue(ir::UpdateOp op, mlir::Value g);
  mlir::Value broadcastBack(mlir::Value g, ir::TensorType to, mlir::ArrayRef<int64_t> axes);
  // ---- GradientWindows.cpp
  void convolution(ir::ConvOp op, mlir::Value g);
  mlir::Value convolvedBack(ir::ConvOp op, mlir::Value g);
  mlir::Value convolvedBackApart(ir::ConvOp op, mlir::Value g);
  mlir::Value convolvedWindow(ir::ConvOp op, mlir::Value g);
  mlir::Value exchanged(mlir::Value x, ir::SizeAttr groups, bool groupsFirst);
  mlir::Value backwards(mlir::Value x, size_t spatial);
  // ---- GradientAggregates.cpp
  llvm::LogicalResult aggregateRule(mlir::Operation *op, const Adjoint &g, bool &handled);
  // ---- GradientExchanges.cpp
  mlir::Value exchange(llvm::StringRef action, ir::NativeOp like, mlir::Value weight,
                       mlir::Value value, mlir::Type type, llvm::StringRef extension);
  Adjoint weighted(const Adjoint &sums, mlir::Value weight, mlir::Value total);
  bool exchangeRule(mlir::Operation *op, const Adjoint &g);
  bool exchangeTangents(mlir::Operation *op);
  // ---- Forward.cpp; there the adjoints are tangents
  llvm::LogicalResult forward(mlir::Block &block);
  llvm::LogicalResult forwardRegions(mlir::Operation *op);
  llvm::LogicalResult forwardTensor(mlir::Operation *op, bool &handled);
  llvm::LogicalResult forwardAggregate(mlir::Operation *op);
  void yieldTangents(mlir::Block &block, mlir::ArrayRef<unsigned> slots);
  mlir::Value slopeTimes(mlir::Operation *op, mlir::Value of, mlir::Value g);
  mlir::Value asTangent(mlir::Value tangent, mlir::Value value);
  mlir::Value tangentOf(mlir::Value value);
  void addTangent(mlir::Value to, mlir::Value more);
  mlir::Value onTangents(mlir::Operation *op, mlir::ArrayRef<unsigned> operands);
  // ---- GradientCalls.cpp
  mlir::FunctionOpInterface ruleOf(mlir::Operation *op);
  llvm::LogicalResult handWritten(ir::CallOp op);
  // ---- GradientControl.cpp
  void hoistParts();
  llvm::SmallVector<mlir::Value> capturedBy(mlir::Operation *op);
  llvm::LogicalResult repeat(mlir::Block &from, mlir::IRMapping &mapping,
                             mlir::SmallVectorImpl<mlir::Operation *> &copies);
  llvm::LogicalResult reverseIf(ir::IfOp op);
  llvm::LogicalResult refuseStale(mlir::Block &block);
  void dropUnused(mlir::Block &block, llvm::function_ref<void(mlir::Operation *)> dropping = {});
  void dropOnce(mlir::ArrayRef<mlir::Operation *> ops);
  void erase(mlir::Operation *op);
  // ---- GradientRemat.cpp
  void cutIntoBlocks();
  llvm::LogicalResult rematerialise(ir::CallOp op);
  // ---- GradientLoops.cpp
  llvm::LogicalResult reverseLoop(mlir::Operation *loop);
  mlir::Value placeholder(mlir::Type type, int64_t &next);
  mlir::Value iterationOf(ir::ForOp back);
  // ---- GradientIterations.cpp
  llvm::SmallVector<mlir::Value> matmulsOfIterations(ir::ForOp back, unsigned first,
                                                     llvm::ArrayRef<Adjoint> before);
  // ---- GradientKept.cpp
  std::optional<ir::SizeAttr> boundOf(mlir::Operation *op);
  mlir::FailureOr<ir::SizeAttr> iterationsOf(mlir::Operation *op);
  /// A value that the forward loop saves in each iteration: a leaf of a carried value, or the
  /// result of an op.
  struct Kept {
    mlir::Value back;  ///< its placeholder in the reverse loop
    const Leaf *leaf;  ///< or null
    mlir::Value first; ///< in the forward loop, if it is not a leaf
  };
  llvm::SmallVector<mlir::Operation *> partsOnly(ir::UndefOp leaf, const Originals &originals);
  llvm::LogicalResult keepStates(mlir::Operation *op, ir::ForOp back, mlir::Operation *pending,
                                 mlir::ArrayRef<Leaf> paths, const Originals &originals);
  void keepMatmuls(mlir::Operation *op, ir::ForOp back, const Originals &originals,
                   llvm::SmallVectorImpl<Kept> &needed);

  mlir::FunctionOpInterface function;
  mlir::SymbolTable &symbols;
  int64_t limit;
  llvm::StringRef wrongRule;
  mlir::ImplicitLocOpBuilder b;
  llvm::DenseSet<mlir::Value> active; ///< depends on the differentiated arguments, and holds floats
  llvm::DenseMap<mlir::Value, Adjoint> adjoints;
  /// If set, contributions to `capturedOf` are collected here, in the shape of the result, and all
  /// others are dropped.
  llvm::SmallVectorImpl<mlir::Value> *captured = nullptr;
  mlir::Value capturedOf;
  mlir::Operation *failedAt = nullptr; ///< the op that needs an array of known length
};

/// Rewrites `select(x <= c, c, x)` to `maximum(x, c)` after differentiation. Both have the same
/// value but not the same slope at c. A matmul can fuse the single op into its epilogue.
void takeExtremes(mlir::ModuleOp module);

} // namespace mx::graph
