// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With which sizes host code calls graphs, as far as the program shows: an executable has code for
// those.
#pragma once
#include "Build/Interface.h"
#include "mlir/IR/BuiltinOps.h"
#include <set>

namespace mx::build {

/// A graph that host code calls.
struct CalledGraph {
  ir::GraphOp graph;
  /// What there will be code for: values of all its sizes, -1 of those that are `dyn`.
  std::set<std::vector<int64_t>> sizes;
  /// There may be calls with others.
  bool isOpen = false;
  /// Values that each size was seen with, also where another was not known.
  std::vector<std::set<int64_t>> seen;
};

/// Follows the calls from `entry`. A batch of a loader is taken to have the rows that the loader
/// was told; the last may have fewer, so that graph is open.
std::vector<CalledGraph> findCallSizes(mlir::ModuleOp module, llvm::StringRef entry);

/// Adds what `--shapes` says. False after an error, which is reported at `program`.
bool addShapes(std::vector<CalledGraph> &graphs, const Shapes &shapes, Span program,
               Diagnostics &diags);

} // namespace mx::build
