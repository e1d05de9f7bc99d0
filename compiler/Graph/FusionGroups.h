// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Fuse: which ops of a block form one kernel.
//
// Ops are numbered in program order. They are joined one after the other, each with the groups of
// its operands where that is allowed, so groups grow along values only. Contracting each group to
// one point must leave a graph without cycles; that is checked before every join.
#pragma once
#include "dialects/mx/Mx.h"
#include <string>
#include <vector>

namespace mx::graph {

enum class KernelKind : uint8_t {
  Elementwise, ///< one iteration space
  Reduce,      ///< elementwise ops, one reduction of them, elementwise ops on its result
  Matmul,      ///< one product, elementwise ops on its result
  Single,      ///< one op
};

struct FusionGroup {
  KernelKind kind;
  mlir::StringAttr device;
  llvm::ArrayRef<ir::SizeAttr> space;   ///< what the kernel iterates over
  llvm::ArrayRef<ir::SizeAttr> reduced; ///< of Reduce: the sizes of the reduction's result
  unsigned hub = 0;                     ///< the reduction, the product or the single op
  std::vector<unsigned> ops;            ///< in program order
};

struct FusionOptions {
  unsigned maxOps = 128;
  bool explain = false;
};

class FusionGroups {
public:
  FusionGroups(mlir::Block &block, const FusionOptions &options);

  unsigned size() const { return ops.size(); }
  mlir::Operation *op(unsigned index) const { return ops[index]; }
  /// The number of the op of this block that `op` is or lies in.
  std::optional<unsigned> indexOf(mlir::Operation *op) const;
  /// What must have run before: producers, and ops whose order can be seen from outside.
  llvm::ArrayRef<unsigned> before(unsigned index) const { return preds[index]; }
  /// Null for ops that stay outside of kernels, and for cheap ones that all users absorb.
  const FusionGroup *groupOf(unsigned index) const { return groups[group[index]].get(); }
  /// Whether a kernel with `user` contains its own copy of `cheap` instead of reading its result.
  static bool absorbs(mlir::Operation *user, mlir::Operation *cheap);
  /// A tensor of the device that costs nothing to compute again.
  static bool isCheapTensor(mlir::Operation *op);

private:
  mlir::Block &block;
  const FusionOptions &options;
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  std::vector<llvm::SmallVector<unsigned, 4>> preds, succs;
  std::vector<unsigned> group;                      ///< of each op; 0: none
  std::vector<std::unique_ptr<FusionGroup>> groups; ///< the first one is null
  std::vector<bool> afterReduction;                 ///< of each op in a Reduce group
  std::vector<unsigned> seen;                       ///< by the last search
  unsigned search = 0;

  void number();
  void addEdge(unsigned from, unsigned to);
  void addOrderEdges();
  unsigned start(unsigned index, KernelKind kind);
  void join(unsigned index);
  /// Empty if groups a and b may become one.
  std::string reasonAgainst(unsigned a, unsigned b, bool &asEpilogue);
  std::string kindsAgainst(const FusionGroup &a, const FusionGroup &b, bool &asEpilogue);
  bool feeds(const FusionGroup &from, const FusionGroup &to, bool fromAfter, bool toBefore) const;
  std::string pathAgainst(unsigned a, unsigned b);
  void merge(unsigned into, unsigned from, bool asEpilogue);
};

/// Whether running the op can be noticed: it may fail for some values.
bool mayFail(mlir::Operation *op);
/// Names of sizes in the types and attributes of `op` and of all ops in it, each once.
void sizeNamesIn(mlir::Operation *op, llvm::SmallVectorImpl<mlir::StringAttr> &out);

} // namespace mx::graph
