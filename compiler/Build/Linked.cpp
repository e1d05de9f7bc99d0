// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links the code of all variants into one LLVM module, with a suffix for each CPU.
#include "Build/Linked.h"
#include "llvm/Linker/Linker.h"

namespace mx::build {

/// SIMD variants of a function are named in an attribute only (Lowering/RareCases.h), which the IR
/// linker does not know: it would drop them as unused, or rename them where code for another CPU
/// has the same name. hideAll() makes them internal again.
static void keepVersions(llvm::Module &code, const std::string &suffix) {
  constexpr llvm::StringLiteral kVersions = "vector-function-abi-variant", kPrefix = "mx.rare.";
  auto withSuffix = [&](llvm::StringRef names) {
    std::string out; // a list of KIND_SCALAR(VECTOR), separated by commas
    for (char c : names)
      out += c == '(' ? suffix + "(" : c == ')' ? suffix + ")" : std::string(1, c);
    return out;
  };
  for (llvm::Function &function : code) {
    if (function.isDeclaration() || !function.getName().starts_with(kPrefix))
      continue;
    function.setName(function.getName() + suffix);
    function.setLinkage(llvm::GlobalValue::ExternalLinkage);
    if (llvm::Attribute versions = function.getFnAttribute(kVersions); versions.isValid())
      function.addFnAttr(kVersions, withSuffix(versions.getValueAsString()));
  }
}

std::string LinkedCode::link(pipeline::LoweredGraph &lowered, const Cpu &cpu) {
  std::string suffix = "." + cpu.name;
  for (auto &[name, piece] : lowered.modules) {
    if (!linked.insert(name + suffix).second)
      continue;
    target::CompileOptions plain;
    plain.name = name;
    plain.lineTables = false; // the source is not available there
    auto translated = target::translateInto(context, *piece, plain);
    if (!translated)
      return "could not be compiled: " + translated.message();
    std::unique_ptr<llvm::Module> code = translated.take();
    for (auto &[other, unused] : lowered.modules)
      if (llvm::Function *named = code->getFunction(other))
        named->setName(other + suffix);
    keepVersions(*code, suffix);
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

std::optional<std::string> LinkedCode::compile(const Cpu &minCpu, std::string &trouble) {
  target::CompileOptions plain;
  plain.name = module->getName().str();
  plain.lineTables = false;
  auto compiled = target::compileToObject(std::move(module), minCpu.target, plain);
  if (!compiled) {
    trouble = "could not be compiled: " + compiled.message();
    return std::nullopt;
  }
  return std::move(compiled->object);
}

} // namespace mx::build
