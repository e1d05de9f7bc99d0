// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host code to bytecode: the `mx.func`s of a module become a module file of the host VM. What a
// tensor op is called there, and in which order its operands go, is in EmitTensors.cpp.
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
  /// Whether instructions know their place in the source.
  bool places = true;
};

/// The module file. What cannot be said in bytecode is an error on its op, and nothing is returned.
std::optional<std::vector<uint8_t>> emitBytecode(mlir::ModuleOp module,
                                                 const BytecodeOptions &options);

/// The text of a module file; nothing, and why in `message`, if the VM would refuse it.
std::optional<std::string> showBytecode(const std::vector<uint8_t> &bytes, std::string &message);

/// `--mx-emit-bytecode`, which prints the bytecode of a module, for tests and for looking.
void registerBytecodePasses();

} // namespace mx::bytecode
