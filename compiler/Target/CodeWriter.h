// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From LLVM IR to bytes, for many modules one after the other.
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

/// What LLVM knows of a CPU, and its passes of code generation, which take as long to put together
/// as a small kernel takes to go through them. So they are made once and used again.
/// Thread rule: one thread at a time.
class CodeWriter {
public:
  static Result<std::unique_ptr<CodeWriter>> make(const TargetCpu &cpu);
  ~CodeWriter();

  llvm::TargetMachine &machine() { return *owned; }

  /// Writes the module's code to `bytes`; `isPlain` chooses instructions without looking for better
  /// ones. The module is changed. False if LLVM cannot write this kind of file; other errors go to
  /// the handler of the module's context, and the caller says forget() then.
  bool write(llvm::Module &module, llvm::CodeGenFileType type, bool isPlain, std::string &bytes);
  /// What passes left behind when they failed is not used again.
  void forget();

private:
  struct Passes;
  explicit CodeWriter(std::unique_ptr<llvm::TargetMachine> machine);
  /// Modules of different kinds go through different passes.
  enum Way { Plain, LoadsConstants, Full, kWays };
  static Way wayOf(const llvm::Module &module, bool isPlain);
  std::unique_ptr<Passes> prepare(llvm::CodeGenFileType type, Way way);

  std::unique_ptr<llvm::TargetMachine> owned;
  /// Those of objects; assembly is for people, who ask for it once.
  std::unique_ptr<Passes> kept[kWays];
};

} // namespace mx::target
