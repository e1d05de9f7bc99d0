// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Size names in whole functions: replacing them, finding unused ones, folding what they decide.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

using SizeMap = llvm::DenseMap<mlir::StringAttr, ir::SizeAttr>;

/// The size names that a function or graph declares.
mlir::ArrayAttr sizesOf(mlir::FunctionOpInterface function);

/// Replaces names in the types and attributes of `ops` and all inside. `mx.bind_size` of a replaced
/// name binds the new name, if it is one. Fails, with an error at the op, if a size becomes none.
llvm::LogicalResult replaceSizes(llvm::ArrayRef<mlir::Operation *> ops, const SizeMap &by);

/// The names of one function, for copies of ops that bind names: a copy needs names of its own.
class NamesInUse {
public:
  explicit NamesInUse(mlir::FunctionOpInterface function);
  /// Takes each name bound in `ops` into use; adds to `renamed` those that were in use already,
  /// with a fresh name.
  void take(llvm::ArrayRef<mlir::Operation *> ops, SizeMap &renamed);

private:
  llvm::DenseSet<mlir::StringAttr> used;
};

/// Folds constants, conditions and names bound to constants, until nothing changes.
llvm::LogicalResult foldSizes(mlir::FunctionOpInterface function);

/// The number that `value` is, if it is a constant integer.
std::optional<int64_t> constantInt(mlir::Value value);

} // namespace mx::graph
