// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph passes (Passes.td describes each) and entry points that need no pass manager. Every op
// that a pass creates has a source location: its own, or that of the op it was derived from.
#pragma once
#include "Support/TargetInfo.h"
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mx::graph {

#define GEN_PASS_DECL
#include "Graph/Passes.h.inc"

// Passes that decide by sizes of the machine. Without one (mxc-opt) they take the defaults.
std::unique_ptr<mlir::Pass> createFuse(const TargetInfo &target, FuseOptions options);
std::unique_ptr<mlir::Pass> createPrepack(const TargetInfo &target);
std::unique_ptr<mlir::Pass> createTileChains(const TargetInfo &target, TileChainsOptions options);

/// Clones `graph` after itself as `name`, with constants for its size names. Those in its `mx.dyn`
/// stay dynamic whatever `values` says; values of other names are ignored. Fails with an error at
/// the graph if a size has no value or becomes invalid (overflow, division by 0).
mlir::FailureOr<ir::GraphOp> specialize(ir::GraphOp graph,
                                        llvm::ArrayRef<std::pair<mlir::StringAttr, int64_t>> values,
                                        llvm::StringRef name);

#define GEN_PASS_REGISTRATION
#include "Graph/Passes.h.inc"

} // namespace mx::graph
