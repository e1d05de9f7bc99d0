// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Build/Linked.h"
#include "llvm/Linker/Linker.h"

namespace mx::build {

std::string LinkedCode::link(pipeline::LoweredGraph &lowered, const Cpu &cpu) {
  std::string suffix = "." + cpu.name;
  for (auto &[name, piece] : lowered.modules) {
    if (!linked.insert(name + suffix).second)
      continue;
    target::CompileOptions plain;
    plain.name = name;
    plain.lineTables = false; // nobody has the source there
    auto translated = target::translateInto(context, *piece, plain);
    if (!translated)
      return "could not be compiled: " + translated.message();
    std::unique_ptr<llvm::Module> code = translated.take();
    for (auto &[other, unused] : lowered.modules)
      if (llvm::Function *named = code->getFunction(other))
        named->setName(other + suffix);
    target::markForCpu(*code, cpu.target);
    if (llvm::Linker::linkModules(*module, std::move(code)))
      return "could not be linked";
  }
  return "";
}

void LinkedCode::hideAll() {
  for (llvm::Function &function : *module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
}

std::optional<std::string> LinkedCode::compile(const Cpu &least, std::string &trouble) {
  target::CompileOptions plain;
  plain.name = module->getName().str();
  plain.lineTables = false;
  auto compiled = target::compileToObject(std::move(module), least.target, plain);
  if (!compiled) {
    trouble = "could not be compiled: " + compiled.message();
    return std::nullopt;
  }
  return std::move(compiled->object);
}

} // namespace mx::build
