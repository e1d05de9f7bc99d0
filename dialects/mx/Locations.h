// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source locations (file, line, column) inside of MLIR locations.
#pragma once
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace mx::ir {

/// Calls `visit` for each source location: of inlined code its own before that of the call, of
/// fused ops in their order. Ends when `visit` returns true, and returns whether it did. Line 0
/// marks an unknown location, which is skipped.
bool findSourceLocation(mlir::Location location,
                        llvm::function_ref<bool(mlir::FileLineColLoc)> visit);

/// The first source location; null if there is none.
mlir::FileLineColLoc sourceLocation(mlir::Location location);

/// `file.mx:3:9`; empty for null.
std::string locationText(mlir::FileLineColLoc location);
inline std::string locationText(mlir::Location location) {
  return locationText(sourceLocation(location));
}

} // namespace mx::ir
