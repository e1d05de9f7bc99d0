// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation: LLVM IR to bytes, for many modules one after the other.
#pragma once
#include "Target/TargetCpu.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <optional>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace mx::target {

/// LLVM's target machine for a CPU and its code generation passes. Building these takes as long as
/// compiling a small kernel with them, so they are built once and reused.
/// Thread rule: one thread at a time.
class CodeWriter {
public:
  static Result<std::unique_ptr<CodeWriter>> make(const TargetCpu &cpu);
  ~CodeWriter();

  llvm::TargetMachine &machine() { return *owned; }

  /// Writes the module's code to `bytes`; `isPlain` generates code at -O0. The module is changed.
  /// False if LLVM cannot write this kind of file; other errors go to the handler of the module's
  /// context, and the caller must then call forget().
  bool write(llvm::Module &module, llvm::CodeGenFileType type, bool isPlain, std::string &bytes);
  /// Drops passes that failed, with the state they left behind.
  void forget();

private:
  struct Passes;
  explicit CodeWriter(std::unique_ptr<llvm::TargetMachine> machine);
  /// Modules of different kinds use different passes.
  enum Way { Plain, LoadsConstants, Full, kWays };
  static Way wayOf(const llvm::Module &module, bool isPlain);
  std::unique_ptr<Passes> prepare(llvm::CodeGenFileType type, Way way);

  std::unique_ptr<llvm::TargetMachine> owned;
  /// Those for objects; assembly is for people, and requested once.
  std::unique_ptr<Passes> kept[kWays];
};

} // namespace mx::target
