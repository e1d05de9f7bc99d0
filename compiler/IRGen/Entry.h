// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, graphs and constructors as whoever is outside of the language calls them.
#pragma once
#include "IRGen/Instance.h"

namespace mx::irgen {

/// The code for a call that the checker found right. Sizes are open in it: it serves every call
/// with the same key.
struct Entry {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null: what cannot be compiled was reported
  std::string symbol;                       ///< what is called: an mx.func, or an mx.graph
  Instance instance;                        ///< whose sizes the callee wants, in order
};

/// Equal for calls that differ in nothing but sizes.
std::string entryKey(sema::Sema &sema, const sema::CallInfo &call);

/// Generates what `call` calls, with all that needs. Arguments that the call leaves out get their
/// defaults there; then the symbol is a function around the callee.
Entry generateEntry(mlir::MLIRContext &context, sema::Sema &sema, const sema::ModuleInfo &module,
                    const sema::CallInfo &call, const Options &options);

/// The sizes of one call, in the order of the entry's.
std::vector<Dim> entrySizes(sema::Sema &sema, const Entry &entry, const sema::CallInfo &call);

} // namespace mx::irgen
