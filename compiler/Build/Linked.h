// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One LLVM module for the code of many variants, each for several CPUs.
#pragma once
#include "Build/Artefact.h"
#include "Build/Tables.h"
#include "llvm/IR/LLVMContext.h"

namespace mx::build {

class LinkedCode {
public:
  explicit LinkedCode(const std::string &name)
      : module(std::make_unique<llvm::Module>(name, context)), tables(*module) {}

  /// Links the modules of one variant into it, except those linked before. Returns an error message
  /// or an empty string.
  std::string link(pipeline::LoweredGraph &lowered, const Cpu &cpu);
  /// The entry of a linked variant.
  llvm::Function *entry(const std::string &name, const Cpu &cpu) const {
    return module->getFunction(name + "." + cpu.name);
  }
  /// Gives everything defined so far internal linkage.
  void hideAll();
  /// Compiles to an object. Nothing on failure, with the reason in `trouble`; nothing may be added
  /// afterwards.
  std::optional<std::string> compile(const Cpu &minCpu, std::string &trouble);

private:
  llvm::LLVMContext context;

public:
  std::unique_ptr<llvm::Module> module;
  Tables tables;

private:
  std::set<std::string> linked; ///< functions with their CPU
};

} // namespace mx::build
