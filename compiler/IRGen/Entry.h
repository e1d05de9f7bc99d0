// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry points: functions, graphs and constructors called from outside of the language.
#pragma once
#include "IRGen/Instance.h"

namespace mx::irgen {

/// The code for a type-checked call. Its sizes are symbolic: it serves every call with the same
/// key.
struct Entry {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null on errors, which were reported
  std::string symbol;                       ///< the callee: an mx.func, or an mx.graph
  Instance instance;                        ///< its sizes are the callee's, in order
};

/// Equal for calls that differ only in sizes.
std::string entryKey(sema::CheckedProgram &sema, const sema::CallInfo &call);

/// Generates the callee of `call` and everything it needs. Omitted arguments get their defaults
/// there; then the symbol is a wrapper of the callee.
Entry generateEntry(mlir::MLIRContext &context, sema::CheckedProgram &sema, const sema::ModuleInfo &module,
                    const sema::CallInfo &call, const Options &options);

/// The sizes of one call, in the order of the entry's.
std::vector<Dim> entrySizes(sema::CheckedProgram &sema, const Entry &entry, const sema::CallInfo &call);

} // namespace mx::irgen
