// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Public interface of the type checker: forwards to Sema.
#include "Sema/Checker.h"
#include "Sema/Internals.h"
#include <algorithm>

namespace mx::sema {

Checker::Checker(SourceManager &sources, Diagnostics &diagnostics, CheckOptions options)
    : impl(std::make_unique<Sema>(sources, diagnostics, std::move(options))) {}
Checker::~Checker() = default;

const ModuleInfo *Checker::checkProgram(const SourceFile &file) { return impl->checkProgram(file); }

const std::vector<OptionInfo> &Checker::options() const { return impl->declaredOptions; }
bool Checker::hasWrongOptions() const { return impl->wrongOptions != 0; }

bool Checker::checkInput(const SourceFile &file, bool &complete, bool isWhole) {
  return impl->checkInput(file, complete, isWhole);
}

// The checker owns its modules. Callers get read-only access.
const ast::Call *Checker::checkCall(const ModuleInfo &module, const SourceFile &file,
                                    const std::vector<OutsideValue> &values) {
  return impl->checkOutsideCall(const_cast<ModuleInfo &>(module), file, values);
}
OutsideCallee Checker::findCallee(const ModuleInfo &module, std::string_view callee) {
  return impl->findOutside(const_cast<ModuleInfo &>(module), callee);
}

CheckedProgram &Checker::sema() { return *impl; }
const ModuleInfo *Checker::sessionModule() const { return impl->session; }

std::vector<std::pair<std::string, std::string>> Checker::names() const {
  std::vector<std::pair<std::string, std::string>> out;
  if (impl->session)
    for (auto &[name, symbol] : impl->session->scope.names)
      out.push_back({std::string(name), symbol->type ? impl->show(symbol->type) : ""});
  std::sort(out.begin(), out.end());
  return out;
}

std::string Checker::describe(const ModuleInfo &module) const {
  return describeTyped(*impl, module);
}

} // namespace mx::sema
