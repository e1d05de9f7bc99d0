// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for the host VM: the `mx.func`s of a module become a bytecode module.
// EmitTensors.cpp defines the names of tensor ops and the order of their operands.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mx::bytecode {

struct BytecodeOptions {
  /// The mx.func that runs first; empty: none. It has no parameters.
  std::string entry;
  /// Whether instructions record their source location.
  bool locations = true;
};

/// The module file. An op without a bytecode equivalent gets an error, and nothing is returned.
std::optional<std::vector<uint8_t>> emitBytecode(mlir::ModuleOp module,
                                                 const BytecodeOptions &options);

/// Disassembles a module file; nothing if the VM would reject it, with the reason in `message`.
std::optional<std::string> showBytecode(const std::vector<uint8_t> &bytes, std::string &message);

/// `--mx-emit-bytecode`, which prints the bytecode of a module, for tests and for inspection.
void registerBytecodePasses();

} // namespace mx::bytecode
