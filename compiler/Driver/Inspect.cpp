// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inspection of one function of a session, called or not: its compiler stages, and the memory plan
// of its graph.
#include "Bytecode/Bytecode.h"
#include "Driver/InputSession.h"
#include "Support/Suggest.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/Diagnostics.h"
#include <algorithm>

namespace mx::driver {
namespace {

const char *const kStages[] = {"source", "mx",   "bytecode", "mx-specialised", "mx-fused",
                               "dot",    "mxrt", "loops",    "llvm",           "asm"};

std::string textOf(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text + "\n";
}

} // namespace

/// Generates code for one function of the session and everything it calls, without any statement.
/// Null on failure, which has been reported.
irgen::Generated InputSession::generateFunction(const std::string &name) {
  sema::CheckedProgram &sema = names->sema();
  sema::Symbol *symbol = nullptr;
  if (sema.session)
    if (auto found = sema.session->scope.names.find(name); found != sema.session->scope.names.end())
      symbol = found->second;
  if (!symbol || symbol->kind != sema::SymbolKind::Function || symbol->functions.empty()) {
    std::vector<std::string> known;
    if (sema.session)
      for (auto &[other, candidate] : sema.session->scope.names)
        if (candidate->kind == sema::SymbolKind::Function)
          known.push_back(std::string(other));
    std::string near = nearest(name, known);
    err << "no input defines a function `" << name << "`"
        << (near.empty() ? "" : "; did you mean `" + near + "`?") << "\n";
    return {};
  }
  sema::FunctionInfo *function = symbol->functions.front();
  bool isGeneric = !function->generics.elems.empty() || !function->generics.types.empty() ||
                   !function->generics.packs.empty() || !function->generics.statics.empty();
  if (isGeneric) {
    err << "`" << name
        << "` has generic types: there is code for it once types are known; call it in "
        << "a function without them, and look at that\n";
    return {};
  }
  ast::Module nothing;
  nothing.file = sema.sources.add("<look>", "", "").id();
  ast::Module *input = sema.session->syntax;
  sema.session->syntax = &nothing;
  irgen::Options code = options.code;
  code.keepNames = true;
  code.eager = false;
  code.also = {function};
  irgen::Generated generated = irgen::generate(*context, sema, *sema.session, code);
  sema.session->syntax = input;
  flushDiagnostics();
  return generated;
}

bool InputSession::planGraph(const PlanRequest &request) {
  irgen::Generated generated = generateFunction(request.graph);
  return generated.module && planModule(generated, request);
}

bool InputSession::showStage(const std::string &function, const std::string &stage,
                        const PlanRequest &sizes) {
  if (std::find(std::begin(kStages), std::end(kStages), stage) == std::end(kStages)) {
    std::vector<std::string> known(std::begin(kStages), std::end(kStages));
    std::string near = nearest(stage, known), all;
    for (const std::string &name : known)
      all += " " + name;
    err << "`" << stage << "` is not a stage"
        << (near.empty() ? "; they are" + all : "; did you mean `" + near + "`?") << "\n";
    return false;
  }
  irgen::Generated generated = generateFunction(function);
  if (!generated.module)
    return false;
  if (stage == "source") {
    sema::FunctionInfo &info = *names->sema().session->scope.names.at(function)->functions.front();
    out << sources.text(info.syntax->span) << "\n";
    return true;
  }
  mlir::Operation *found = generated.module->lookupSymbol(function);
  if (stage == "mx") {
    if (found)
      out << textOf(found);
    return found != nullptr;
  }
  if (!prepare(*generated.module))
    return false;
  if (stage == "bytecode") {
    std::string problem;
    auto bytes = bytecode::emitBytecode(*generated.module, {generated.entry, true});
    if (bytes)
      out << bytecode::showBytecode(*bytes, problem).value_or("");
    return bytes.has_value();
  }
  auto graph = mlir::dyn_cast_or_null<ir::GraphOp>(generated.module->lookupSymbol(function));
  if (!graph) {
    err << "`" << function << "` is not a graph: it has the stages source, mx and bytecode\n";
    return false;
  }
  // Missing sizes default to those of the most used variant.
  PlanRequest request = sizes;
  const LoadedVariant *usual = nullptr;
  host->visitVariants([&](const LoadedVariant &variant) {
    if (variant.name == function && (!usual || variant.calls > usual->calls))
      usual = &variant;
  });
  auto open = graph->getAttrOfType<mlir::DictionaryAttr>(ir::kDyn);
  std::string missing;
  for (auto size : graph.getSizes().getAsRange<mlir::StringAttr>()) {
    auto named = [&](auto &pair) { return pair.first == size.getValue(); };
    if (std::any_of(request.sizes.begin(), request.sizes.end(), named) || (open && open.get(size)))
      continue;
    if (usual)
      if (auto known = std::find_if(usual->sizes.begin(), usual->sizes.end(), named);
          known != usual->sizes.end()) {
        request.sizes.push_back(*known);
        continue;
      }
    missing += (missing.empty() ? "" : " ") + size.str() + "=…";
  }
  if (!missing.empty()) {
    err << "`" << function << "` was not called yet: give its sizes, `:ir " << function << " "
        << stage << " " << missing << "`\n";
    return false;
  }
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && problem.empty())
      problem = d.str();
    return mlir::success();
  });
  pipeline::Options compile = options.compile;
  compile.wanted = {stage};
  compile.observer = [&](std::string_view, std::string_view text) {
    out << text << (text.empty() || text.back() == '\n' ? "" : "\n");
  };
  auto made = pipeline::compileGraph(graph, request.sizes, pipeline::identityOf(graph), function,
                                     kernels->cpu(), kernels->cache(), compile);
  if (!made)
    err << "graph `" << function << "` could not be compiled: " << pipeline::Refusal(problem).text << "\n";
  return made.has_value();
}

} // namespace mx::driver
