// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes with which host code calls graphs, as far as static analysis finds them: an executable has
// code for those.
#pragma once
#include "Build/Interface.h"
#include "mlir/IR/BuiltinOps.h"
#include <set>

namespace mx::build {

/// A graph that host code calls.
struct CalledGraph {
  ir::GraphOp graph;
  /// The variants to compile: values of all its sizes, -1 for those that are `dyn`.
  std::set<std::vector<int64_t>> sizes;
  /// There may be calls with other sizes.
  bool isOpen = false;
  /// Values found for each size, even where another size was unknown.
  std::vector<std::set<int64_t>> seen;
};

/// Follows the calls from `entry`. A batch of a data loader is assumed to have the loader's batch
/// size; the last batch may have fewer rows, so that graph is open.
std::vector<CalledGraph> findCallSizes(mlir::ModuleOp module, llvm::StringRef entry);

/// Adds the values of `--shapes`. False after an error, which has been reported at `program`.
bool addShapes(std::vector<CalledGraph> &graphs, const Shapes &shapes, Span program,
               Diagnostics &diags);

} // namespace mx::build
