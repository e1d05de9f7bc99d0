// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a checked program to bytecode for the VM: the part that run, check and build share. Errors
// in the program go to the diagnostics; internal errors of mxc go to `fault`.
#pragma once
#include "Support/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>
#include <vector>

namespace mx::irgen {
struct Generated;
}

namespace mx::driver {

/// The injected fault that makes a program's code invalid, for tests of the later stages (Run.cpp).
inline constexpr const char *kWrongCode = "code";

/// Where in the sources an op comes from; invalid if unknown.
Span spanOf(mlir::Location location, const SourceManager &sources);

/// Assigns devices to tensors and derives gradients (autodiff); a function without a gradient is an
/// error of the program.
bool prepareModule(mlir::ModuleOp module, const SourceManager &sources, Diagnostics &diags,
                   llvm::StringRef mistake = {});

/// Nothing if the module is valid, otherwise the internal error.
std::optional<std::string> faultIn(mlir::ModuleOp module);

/// The bytecode of a prepared module. Nothing on failure, with an error in `diags` or with `fault`
/// set.
std::optional<std::vector<uint8_t>> makeBytecode(mlir::ModuleOp module, const std::string &entry,
                                                 const SourceManager &sources, Diagnostics &diags,
                                                 std::string &fault);

} // namespace mx::driver
