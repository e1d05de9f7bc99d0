// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbolic sizes in whole functions: substitution, renaming, folding of the conditions they decide,
// and checks.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

using SizeMap = llvm::DenseMap<mlir::StringAttr, ir::SizeAttr>;

/// The size names that a function or graph declares.
mlir::ArrayAttr sizesOf(mlir::FunctionOpInterface function);

/// Substitutes names in the types and attributes of `ops` and all nested ops. `mx.bind_size` of a
/// replaced name binds the new name, if it is one. Fails, with an error at the op, if a size
/// becomes invalid.
llvm::LogicalResult replaceSizes(llvm::ArrayRef<mlir::Operation *> ops, const SizeMap &by);

/// The size names of one function, for cloning ops that bind names: a clone needs fresh names.
class NamesInUse {
public:
  explicit NamesInUse(mlir::FunctionOpInterface function);
  /// Registers each name bound in `ops`; adds to `renamed` those that were already in use, with a
  /// fresh name.
  void take(llvm::ArrayRef<mlir::Operation *> ops, SizeMap &renamed);

private:
  llvm::DenseSet<mlir::StringAttr> used;
};

/// Folds constants, conditions and names bound to constants to a fixpoint.
llvm::LogicalResult foldSizes(mlir::FunctionOpInterface function);

/// Fails, with an error at the op, if a tensor of the function has a negative size or more bytes
/// than 63 bits can count. Unknown sizes are skipped. The error starts with the error code of the
/// run, as in "R0201 …" (pipeline::Refusal).
llvm::LogicalResult checkSizes(mlir::FunctionOpInterface function);

/// The value of a constant integer; nothing if `value` is not one.
std::optional<int64_t> constantInt(mlir::Value value);

} // namespace mx::graph
