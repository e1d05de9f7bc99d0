// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph passes (Passes.td describes each) and what may be called without a pass manager.
// Every op that a pass makes has a place in the source: its own, or that of what it came from.
#pragma once
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mx::graph {

#define GEN_PASS_DECL
#include "Graph/Passes.h.inc"

/// A copy of `graph`, placed after it and called `name`, with numbers for its sizes. Those in its
/// `mx.dyn` stay open whatever `values` says; values of other names are ignored. Fails with an
/// error at the graph if a size has no value or a type's size becomes none (overflow, division by
/// 0).
mlir::FailureOr<ir::GraphOp> specialize(ir::GraphOp graph,
                                        llvm::ArrayRef<std::pair<mlir::StringAttr, int64_t>> values,
                                        llvm::StringRef name);

#define GEN_PASS_REGISTRATION
#include "Graph/Passes.h.inc"

} // namespace mx::graph
