// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that exchange values with other workers. They stay in the host: a graph is cut there.
#pragma once
#include "dialects/mx/Marks.h"

namespace mx::ir {

/// On control flow: it decides what is exchanged, on the host.
inline constexpr llvm::StringLiteral kOfExchange = "mx.of_exchange";

inline bool exchanges(mlir::Operation *op) {
  auto native = llvm::dyn_cast<NativeOp>(op);
  return op->hasAttr(kExchanges) || (native && native.getName().starts_with("mx.dist."));
}

/// The action of an exchange of values with a gradient, "sum", "average", "mean", "gather" or
/// "scatter"; empty for other ops.
inline llvm::StringRef linearExchange(mlir::Operation *op) {
  auto native = llvm::dyn_cast<NativeOp>(op);
  llvm::StringRef action = native ? native.getName() : llvm::StringRef();
  bool isLinear = action.consume_front("mx.dist.") &&
                  (action == "sum" || action == "average" || action == "mean" ||
                   action == "gather" || action == "scatter");
  return isLinear ? action : llvm::StringRef();
}

/// Whether the action takes the weight of this worker, between the KVStore and the values.
inline bool isWeighted(llvm::StringRef action) { return action == "average" || action == "mean"; }

} // namespace mx::ir
