// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Fuse: greedy operator fusion. Decides which ops of a block form one kernel.
//
// Ops are numbered in program order. One after the other, each op is fused with the groups of its
// operands where that is allowed, so groups grow along def-use edges only. Contracting each group
// to one node must leave an acyclic graph; that is checked before every merge.
#pragma once
#include "Support/TargetInfo.h"
#include "dialects/mx/Mx.h"
#include <string>
#include <vector>

namespace mx::graph {

/// How a group may grow. The finished kernel has a kind of its own (dialects/mx/Kernels.h).
enum class FusionClass : uint8_t {
  Elementwise, ///< one iteration space
  Reduce,      ///< reductions over the same axes of one space, elementwise ops before and after
  Matmul,      ///< one matmul or convolution, or rows added to a table; elementwise epilogue
  Single,      ///< one op
};

/// The iteration form of an op in a Reduce group.
enum class Form : uint8_t {
  Whole,   ///< the full space
  RowKept, ///< the reductions' results, with the reduced axes kept at size 1
  Row,     ///< the same without these axes
  Total,   ///< a reduction of such results to a scalar
};
using Sizes = llvm::SmallVector<ir::SizeAttr, 4>;

struct FusionGroup {
  FusionClass kind;
  mlir::StringAttr device;
  Sizes space;               ///< the iteration space of the kernel
  unsigned hub = 0;          ///< the first reduction, the matmul or the single op
  std::vector<unsigned> ops; ///< in program order

  // Only for Reduce:
  Sizes row, rowKept;              ///< sizes of results
  llvm::ArrayRef<int64_t> axes;    ///< reduced axes
  bool keeps = false;              ///< the hub's result is rowKept
  bool isRows = false;             ///< the reduced axes are the innermost ones
  std::optional<Sizes> totalSizes; ///< of the results over all rows, if there are any
};

struct FusionOptions {
  TargetInfo target;
  unsigned maxOps = 128;
  bool explain = false;
  bool repeats = true; ///< kernels rematerialise cheap values
  /// Smaller values stay in L1.
  int64_t fewBytes() const { return target.firstCache.bytes() / 8; }
};

class FusionGroups {
public:
  FusionGroups(mlir::Block &block, const FusionOptions &options);

  unsigned size() const { return ops.size(); }
  mlir::Operation *op(unsigned index) const { return ops[index]; }
  /// The number of the op of this block that is or contains `op`.
  std::optional<unsigned> indexOf(mlir::Operation *op) const;
  /// Dependencies: producers, and ops whose order is observable.
  llvm::ArrayRef<unsigned> before(unsigned index) const { return preds[index]; }
  /// Null for ops that stay outside of kernels, and for cheap ones that all users absorb.
  const FusionGroup *groupOf(unsigned index) const { return groups[group[index]].get(); }
  /// Whether the op's kernel stores its result. If not, all kernels that use it recompute it.
  bool isWritten(unsigned index) const { return written[index]; }
  /// Whether the kernel of op `by` recomputes an op of another kernel.
  bool repeats(unsigned by, unsigned index) const { return repeated.contains({group[by], index}); }
  /// Whether a kernel with `user` recomputes `cheap` instead of reading its result.
  static bool absorbs(mlir::Operation *user, mlir::Operation *cheap);
  /// A device tensor that costs nothing to recompute.
  static bool isCheapTensor(mlir::Operation *op);

private:
  mlir::Block &block;
  const FusionOptions &options;
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  std::vector<llvm::SmallVector<unsigned, 4>> preds, succs;
  std::vector<unsigned> group;                      ///< of each op; 0: none
  std::vector<std::unique_ptr<FusionGroup>> groups; ///< the first is null
  std::vector<Form> form;                           ///< of each op in a Reduce group
  std::vector<bool> written;                        ///< of each op in a group
  llvm::DenseSet<std::pair<unsigned, unsigned>> repeated; ///< by a group: an op of another group
  std::vector<unsigned> seen;                       ///< by the last search
  unsigned search = 0;

  void number();
  void addEdge(unsigned from, unsigned to);
  void addOrderEdges();
  unsigned start(unsigned index, FusionClass kind);
  void join(unsigned index);
  void candidatesOf(mlir::Operation *op, llvm::SmallVectorImpl<unsigned> &out) const;
  void merge(unsigned a, unsigned b);

  // Fusion rules (FusionRules.cpp). Each returns the reason against fusion, or nothing.
  /// Whether groups a and b may be merged. If so, the forms of their ops have been set.
  std::string reasonAgainst(unsigned a, unsigned b);
  std::string matmulAgainst(const FusionGroup &matmul, const FusionGroup &plain) const;
  std::string reduceAgainst(const FusionGroup &main, const FusionGroup &other);
  bool formIn(const FusionGroup &main, const Sizes &sizes, Form &out) const;
  std::string readsAgainst(const FusionGroup &main, const FusionGroup &other,
                           mlir::Operation *reader, Form form) const;
  std::string pathAgainst(unsigned a, unsigned b, bool throughCopies);

  // Rematerialisation: values that are not stored (FusionRepeats.cpp).
  struct Recipe;
  void chooseRepeats();
  bool follow(unsigned index, Recipe &recipe) const;
  bool followOperands(unsigned index, Recipe &recipe) const;
  bool readersOf(unsigned index, llvm::SmallVectorImpl<unsigned> &readers) const;
  unsigned lastUse(mlir::Value value) const;
  bool hasInHand(const FusionGroup &kernel, mlir::Value value) const;
  bool isWorthRepeating(unsigned index, const Recipe &recipe) const;
};

/// Whether running the op is observable: it may fail for some values.
bool mayFail(mlir::Operation *op);
/// Whether the op only adds or removes axes of size 1.
bool movesOnlyOnes(mlir::Operation *op);
/// Names of sizes in the types and attributes of `op` and of all nested ops, each once.
void sizeNamesIn(mlir::Operation *op, llvm::SmallVectorImpl<mlir::StringAttr> &out);

} // namespace mx::graph
