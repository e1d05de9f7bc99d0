// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the rules of the reverse pass share. The adjoint of a value is the gradient of the result by
// it. Tensors have one of their own type (on a device, also for numbers of the host); aggregates
// have one for each part that has floats, so that what nobody used stays nothing instead of zeros.
#pragma once
#include "Graph/Sizes.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <vector>

namespace mx::graph {

struct Adjoint {
  mlir::Value value;          ///< of a tensor, or of an array as a whole
  std::vector<Adjoint> parts; ///< of an aggregate or array, by part
  bool isZero() const {
    return !value && llvm::all_of(parts, [](const Adjoint &part) { return part.isZero(); });
  }
};

/// Reverses the body of one function, which has no calls.
class Reverse {
  friend class RoutineRules; ///< GradientRoutines.cpp

public:
  /// Gradients of more than `limit` ops are refused.
  Reverse(mlir::FunctionOpInterface function, mlir::SymbolTable &symbols, int64_t limit)
      : function(function), symbols(symbols), limit(limit),
        b(function.getLoc(), function.getContext()) {}

  /// Appends the gradients of the function's first result by its arguments `wrt` to its results.
  /// `wanted` are their types, as far as they name the parts of aggregates. Warns about those that
  /// the result does not depend on, at the place of the argument.
  llvm::LogicalResult run(mlir::ArrayRef<int64_t> wrt, mlir::TypeRange wanted);

  /// Gives the function an argument more for each of `wrt`, its tangent, and the tangent of its
  /// first result as its last result.
  llvm::LogicalResult runForward(mlir::ArrayRef<int64_t> wrt);

  /// One leaf of a carried value: the path to it through aggregates and arrays.
  struct Leaf {
    unsigned carried;
    llvm::SmallVector<int64_t> path;
  };
  /// Of ops that run again in the reverse pass: those of the first run.
  using Originals = llvm::DenseMap<mlir::Operation *, mlir::Operation *>;

private:
  // ---- Adjoints.cpp
  /// The type of an adjoint as one value; null if there is nothing to differentiate by.
  mlir::Type adjointType(mlir::Type type);
  bool isActive(mlir::Value value) const { return active.contains(value); }
  void add(Adjoint &into, const Adjoint &more, mlir::Type type);
  /// Adds to the adjoint of `value`. A tensor's contribution may be of the shape it was stretched
  /// to.
  void contribute(mlir::Value value, const Adjoint &more);
  void contribute(mlir::Value value, mlir::Value more) { contribute(value, Adjoint{more, {}}); }
  /// As one value of type adjointType(type), zeros where there is nothing.
  mlir::Value whole(const Adjoint &adjoint, mlir::Type type);
  Adjoint apart(mlir::Value value, mlir::Type type);
  /// The elements of an array one by one; fails if their number is not known.
  bool spread(Adjoint &adjoint, ir::ArrayType type);
  /// In the form of a gradient: only the parts that `wanted` names.
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
  static llvm::StringRef wrongRule();

  // Each takes the ops it has a rule for, and says in `handled` whether it had one.
  // ---- GradientElementwise.cpp
  void elementwiseRule(mlir::Operation *op, mlir::Value g, bool &handled);
  void power(mlir::Operation *op, mlir::Value g);
  // ---- GradientTensors.cpp
  llvm::LogicalResult tensorRule(mlir::Operation *op, mlir::Value g, bool &handled);
  void productOf(ir::ProdOp op, mlir::Value g);
  void extreme(mlir::Operation *op, mlir::Value g, mlir::ArrayRef<int64_t> axes, bool keep);
  void matmul(ir::MatmulOp op, mlir::Value g);
  void concat(ir::ConcatOp op, mlir::Value g);
  void takeBack(ir::TakeOp op, mlir::Value g);
  void sliceBack(ir::SliceOp op, mlir::Value g);
  llvm::LogicalResult update(ir::UpdateOp op, mlir::Value g);
  llvm::LogicalResult updateValue(ir::UpdateOp op, mlir::Value g);
  mlir::Value stretchBack(mlir::Value g, ir::TensorType to, mlir::ArrayRef<int64_t> axes);
  // ---- GradientWindows.cpp
  void convolution(ir::ConvOp op, mlir::Value g);
  mlir::Value convolvedBack(ir::ConvOp op, mlir::Value g);
  mlir::Value convolvedBackApart(ir::ConvOp op, mlir::Value g);
  mlir::Value convolvedWindow(ir::ConvOp op, mlir::Value g);
  mlir::Value exchanged(mlir::Value x, ir::SizeAttr groups, bool groupsFirst);
  mlir::Value backwards(mlir::Value x, size_t spatial);
  // ---- GradientAggregates.cpp
  llvm::LogicalResult aggregateRule(mlir::Operation *op, const Adjoint &g, bool &handled);
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
  llvm::LogicalResult runAgain(ir::CallOp op);
  // ---- GradientLoops.cpp
  llvm::LogicalResult reverseLoop(mlir::Operation *loop);
  mlir::Value placeholder(mlir::Type type, int64_t &next);
  mlir::Value turnOf(ir::ForOp back);
  // ---- GradientTurns.cpp
  llvm::SmallVector<mlir::Value> productsOfTurns(ir::ForOp back, unsigned first,
                                                 llvm::ArrayRef<Adjoint> before);
  // ---- GradientKept.cpp
  /// Marks what stands for a leaf of a carried value, with its number.
  static constexpr char kLeaf[] = "mx.leaf";
  std::optional<ir::SizeAttr> boundOf(mlir::Operation *op);
  mlir::FailureOr<ir::SizeAttr> turnsOf(mlir::Operation *op);
  /// What the first run keeps of each turn: a leaf of a carried value, or the result of an op.
  struct Kept {
    mlir::Value back;  ///< what stands for it in the reverse pass
    const Leaf *leaf;  ///< or null
    mlir::Value first; ///< in the first run, if it is no leaf
  };
  llvm::SmallVector<mlir::Operation *> partsOnly(ir::UndefOp leaf, const Originals &originals);
  llvm::LogicalResult keepStates(mlir::Operation *op, ir::ForOp back, mlir::Operation *pending,
                                 mlir::ArrayRef<Leaf> paths, const Originals &originals);
  void keepProducts(mlir::Operation *op, ir::ForOp back, const Originals &originals,
                    llvm::SmallVectorImpl<Kept> &needed);

  mlir::FunctionOpInterface function;
  mlir::SymbolTable &symbols;
  int64_t limit;
  mlir::ImplicitLocOpBuilder b;
  llvm::DenseSet<mlir::Value> active; ///< depends on what is differentiated by, and has floats
  llvm::DenseMap<mlir::Value, Adjoint> adjoints;
  /// If set, contributions to `capturedOf` go here, in the shape of the result, and no others
  /// count.
  llvm::SmallVectorImpl<mlir::Value> *captured = nullptr;
  mlir::Value capturedOf;
  mlir::Operation *failedAt = nullptr; ///< where an array's length would have to be known
};

} // namespace mx::graph
