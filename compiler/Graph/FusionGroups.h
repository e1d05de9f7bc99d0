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
  Reduce,      ///< reductions over the same axes of one space, elementwise ops before and after
  Product,     ///< one product, or rows added to a table; elementwise ops on its result
  Single,      ///< one op
};

/// What an op in a Reduce group has elements of.
enum class Form : uint8_t {
  Whole,   ///< the space
  RowKept, ///< the reductions' results, where the reduced axes have size 1
  Row,     ///< the same without these axes
  Total,   ///< a reduction of such results to one number
};
using Sizes = llvm::SmallVector<ir::SizeAttr, 4>;

struct FusionGroup {
  KernelKind kind;
  mlir::StringAttr device;
  Sizes space;               ///< what the kernel iterates over
  unsigned hub = 0;          ///< the first reduction, the product or the single op
  std::vector<unsigned> ops; ///< in program order

  // Of Reduce:
  Sizes row, rowKept;              ///< sizes of results
  llvm::ArrayRef<int64_t> axes;    ///< reduced ones
  bool keeps = false;              ///< the hub's result is rowKept
  bool isRows = false;             ///< the reduced axes are the last ones
  std::optional<Sizes> totalSizes; ///< of the results over all rows, if there are some
};

struct FusionOptions {
  unsigned maxOps = 128;
  bool explain = false;
  bool repeats = true; ///< kernels make again what is cheap
};

/// On an `mx.slice` or `mx.reshape` until it is in a kernel: it is read where it is.
inline constexpr llvm::StringLiteral kView = "mx.view";

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
  /// Whether the op's kernel writes its result. If not, all kernels that need it contain it.
  bool isWritten(unsigned index) const { return written[index]; }
  /// Whether the kernel of op `by` contains its own copy of an op of another kernel.
  bool repeats(unsigned by, unsigned index) const { return repeated.contains({group[by], index}); }
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
  std::vector<Form> form;                           ///< of each op in a Reduce group
  std::vector<bool> written;                        ///< of each op in a group
  llvm::DenseSet<std::pair<unsigned, unsigned>> repeated; ///< by a group: an op of another
  std::vector<unsigned> seen;                       ///< by the last search
  unsigned search = 0;

  void number();
  void addEdge(unsigned from, unsigned to);
  void addOrderEdges();
  unsigned start(unsigned index, KernelKind kind);
  void join(unsigned index);
  void candidatesOf(mlir::Operation *op, llvm::SmallVectorImpl<unsigned> &out) const;
  void merge(unsigned a, unsigned b);

  // The rules (FusionRules.cpp). Each gives the reason against, or nothing.
  /// Whether groups a and b may become one. If so, the forms of their ops have been set.
  std::string reasonAgainst(unsigned a, unsigned b);
  std::string productAgainst(const FusionGroup &product, const FusionGroup &plain) const;
  std::string reduceAgainst(const FusionGroup &main, const FusionGroup &other);
  bool formIn(const FusionGroup &main, const Sizes &sizes, Form &out) const;
  std::string readsAgainst(const FusionGroup &main, const FusionGroup &other,
                           mlir::Operation *reader, Form form) const;
  std::string pathAgainst(unsigned a, unsigned b, bool throughCopies);

  // What is not written (FusionRepeats.cpp).
  struct Recipe;
  void chooseRepeats();
  bool follow(unsigned index, Recipe &recipe) const;
  bool followOperands(unsigned index, Recipe &recipe) const;
  bool readersOf(unsigned index, llvm::SmallVectorImpl<unsigned> &readers) const;
  unsigned lastUse(mlir::Value value) const;
  bool hasInHand(const FusionGroup &kernel, mlir::Value value) const;
  bool isWorthRepeating(unsigned index, const Recipe &recipe) const;
};

/// Whether running the op can be noticed: it may fail for some values.
bool mayFail(mlir::Operation *op);
/// Adds or takes away axes of size 1 only.
bool movesOnlyOnes(mlir::Operation *op);
/// Names of sizes in the types and attributes of `op` and of all ops in it, each once.
void sizeNamesIn(mlir::Operation *op, llvm::SmallVectorImpl<mlir::StringAttr> &out);

} // namespace mx::graph
