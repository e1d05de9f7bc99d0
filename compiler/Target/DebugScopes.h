// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DWARF line tables from the locations of operations.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace mx::target {

/// Gives each function of an LLVM dialect module the debug scope that LLVM needs to write line
/// tables, and each operation a location inside it. In: operations with file:line:column somewhere
/// in their location. Out: the same operations, with one file:line:column each.
///
/// MLIR's own ensure-debug-info-scope-on-llvm-func is not enough: a fused kernel has operations of
/// several files, whose lines it would attribute to the function's file, and locations fused from
/// several lines would become line 0.
void addDebugScopes(mlir::ModuleOp module);

} // namespace mx::target
