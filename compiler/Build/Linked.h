// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One module of LLVM IR that the code of many variants goes to, each for several CPUs.
#pragma once
#include "Build/Artefact.h"
#include "Build/Tables.h"
#include "llvm/IR/LLVMContext.h"

namespace mx::build {

class LinkedCode {
public:
  explicit LinkedCode(const std::string &name)
      : module(std::make_unique<llvm::Module>(name, context)), tables(*module) {}

  /// The modules of one variant become part of it; what is there already stays. Returns what is
  /// wrong, or nothing.
  std::string link(pipeline::LoweredGraph &lowered, const Cpu &cpu);
  /// The entry of a variant that was linked.
  llvm::Function *entry(const std::string &name, const Cpu &cpu) const {
    return module->getFunction(name + "." + cpu.name);
  }
  /// Nobody outside calls what is defined so far.
  void hideAll();
  /// The object. Nothing, and why, on failure; nothing may be added afterwards.
  std::optional<std::string> compile(const Cpu &least, std::string &trouble);

private:
  llvm::LLVMContext context;

public:
  std::unique_ptr<llvm::Module> module;
  Tables tables;

private:
  std::set<std::string> linked; ///< functions with their CPU
};

} // namespace mx::build
