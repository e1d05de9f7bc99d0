// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Liveness analysis: the last uses of the values of a function. A value can be moved at its last
// use and updated in place, and a dead tensor frees its memory at once. Control flow is structured,
// so one backward walk finds them all.
#pragma once
#include "dialects/mx/Mx.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mx::bytecode {

class Liveness {
public:
  using Values = llvm::SmallVector<mlir::Value, 4>;

  explicit Liveness(ir::FuncOp function);

  /// The operands of an op whose last use it is.
  llvm::ArrayRef<mlir::Value> endingAt(mlir::Operation *op) const { return find(ending, op); }
  bool endsAt(mlir::Operation *op, mlir::Value value) const {
    return llvm::is_contained(endingAt(op), value);
  }
  /// The value has no use at all.
  bool isUnused(mlir::Value value) const { return unused.contains(value); }
  /// Values that are live at the start of the block and that it does not need: those of the other
  /// branch, and arguments without a use.
  llvm::ArrayRef<mlir::Value> endingBefore(mlir::Block *block) const { return find(before, block); }
  /// Values that a loop needs in each iteration and that are dead afterwards; for a `try`, values
  /// that only its handler needs, which end with the body.
  llvm::ArrayRef<mlir::Value> endingAfter(mlir::Operation *op) const { return find(after, op); }
  /// Values from outside that end somewhere in the body of a `try`. Its handler cannot know whether
  /// they did.
  llvm::ArrayRef<mlir::Value> endingInBody(ir::TryOp op) const { return find(inBody, op); }

  /// An mx.get or mx.at whose part is stored back by an mx.set or mx.set_at of the same element,
  /// with no read in between: the part can be moved out, so that it is updated in place.
  bool movesPart(mlir::Operation *op) const { return moving.contains(op); }

  /// An mx.load or mx.global_load of a variable that its user updates and that is stored back at
  /// once, with no write in between: the variable itself can be updated in place.
  bool changesVariable(mlir::Operation *load) const { return changing.contains(load); }

private:
  using Set = llvm::DenseSet<mlir::Value>;
  template <class Map, class Key> static llvm::ArrayRef<mlir::Value> find(const Map &map, Key key) {
    auto found = map.find(key);
    return found == map.end() ? llvm::ArrayRef<mlir::Value>() : found->second;
  }

  void walkBlock(mlir::Block &block, Set &live);
  void walkOp(mlir::Operation &op, Set &live);
  void walkIf(ir::IfOp op, Set &live);
  void walkFor(ir::ForOp op, Set &live);
  void walkWhile(ir::WhileOp op, Set &live);
  void walkTry(ir::TryOp op, Set &live);
  void use(mlir::Operation *op, mlir::Value value, Set &live);
  void define(mlir::Value value, Set &live);
  /// Values from outside that the regions of an op use.
  Set usedInside(mlir::Operation *op);
  /// The values of `a` without those of `b`, in the order of their definition.
  Values difference(const Set &a, const Set &b) const;
  void findMoves(mlir::Operation *op);
  void findChange(mlir::Operation *load);

  llvm::DenseMap<mlir::Value, unsigned> order;
  llvm::DenseMap<mlir::Operation *, Values> ending, after, inBody;
  llvm::DenseMap<mlir::Block *, Values> before;
  llvm::DenseSet<mlir::Value> unused;
  llvm::DenseSet<mlir::Operation *> moving, changing;
};

} // namespace mx::bytecode
