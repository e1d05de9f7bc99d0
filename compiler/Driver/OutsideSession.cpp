// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls from the embedding API: programs whose names persist in the session, and calls of their
// definitions.
#include "Driver/OutsideSession.h"
#include "dialects/mx/Marks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mx::driver {

/// Generated code for calls that differ only in sizes.
struct OutsideSession::OutsideEntry {
  irgen::Entry code;
  mlir::Operation *callee = nullptr; ///< a graph, or a function of `program`
  mxrt::host::Program *program = nullptr;
  GraphHost::Graph *graph = nullptr;
  std::string file; ///< the file that `location` refers to
  mxrt_location location = {};
};
OutsideSession::OutsideSession(SessionOptions options, std::ostream &out, std::ostream &err)
    : Session(std::move(options), out, err) {}
OutsideSession::~OutsideSession() = default;

const sema::ModuleInfo *OutsideSession::loadProgram(const std::string &name, const std::string &path,
                                             std::string text) {
  const SourceFile &file = sources.add(name, path, std::move(text));
  const sema::ModuleInfo *module = names->checkProgram(file);
  bool wrong = diags.hasErrors();
  flushDiagnostics();
  if (wrong)
    return nullptr;
  irgen::Options code = options.code;
  code.keepNames = true;
  irgen::Generated generated = irgen::generate(*context, names->sema(), *module, code);
  if (!load(generated) || !finish(vm->run(units.back().program).release()))
    return nullptr;
  return base->finishLog() ? module : nullptr;
}

mxrt::host::Value OutsideSession::variable(const sema::ModuleInfo &module, const std::string &name,
                                    const sema::Type *&type) const {
  auto found = module.scope.names.find(name);
  if (found == module.scope.names.end() || found->second->kind != sema::SymbolKind::Variable)
    return {};
  type = found->second->type;
  return vm->global(irgen::globalName(*found->second, /*keepNames=*/true));
}

/// `predict(net, x=images, mut opt)`, with names for values that do not collide with names in
/// `callee`.
std::string OutsideSession::outsideText(const std::string &callee,
                                 const std::vector<sema::ParamInfo> *params,
                                 const std::vector<OutsideArgument> &args,
                                 std::vector<sema::OutsideValue> &values) {
  std::string text = callee + "(";
  for (size_t i = 0; i < args.size(); ++i) {
    const OutsideArgument &argument = args[i];
    text += i ? ", " : "";
    if (!argument.name.empty())
      text += argument.name + "=";
    text += argument.isMut ? "mut " : "";
    if (!argument.type) {
      text += argument.literal;
      continue;
    }
    std::string name = !argument.name.empty() ? argument.name
                       : params && i < params->size() && (*params)[i].name != "_"
                           ? (*params)[i].name
                           : "a" + std::to_string(i + 1);
    while (callee.find(name) != std::string::npos)
      name += "_";
    values.push_back({name, argument.type, argument.type->is(sema::Kind::Str)});
    text += name;
  }
  return text + ")";
}

sema::OutsideCallee OutsideSession::findCallee(const sema::ModuleInfo &module, const std::string &callee) {
  sema::OutsideCallee found = names->findCallee(module, callee);
  if (found.params())
    return found;
  // An error in the name is the error of a call of it.
  const SourceFile &file = sources.add("<call>", "", callee + "()");
  if (names->checkCall(module, file, {}))
    diags.report(Code::E0208, {file.id(), 0, static_cast<uint32_t>(callee.size())},
                 "`" + callee + "` cannot be called from outside");
  flushDiagnostics();
  return found;
}

bool OutsideSession::resolve(const sema::ModuleInfo &module, const std::string &callee,
                      const std::vector<OutsideArgument> &args, OutsideTarget &out) {
  std::vector<sema::OutsideValue> values;
  std::string text = outsideText(callee, names->findCallee(module, callee).params(), args, values);
  const SourceFile &file = sources.add("<call>", "", std::move(text));
  const ast::Call *call = names->checkCall(module, file, values);
  flushDiagnostics();
  if (!call)
    return false;
  const sema::CallInfo &info = *call->info;
  sema::CheckedProgram &sema = names->sema();
  std::unique_ptr<OutsideEntry> &entry = byKey[irgen::entryKey(sema, info)];
  if (!entry && !generateOutside(module, info, entry))
    return false;
  auto function = mlir::cast<mlir::FunctionOpInterface>(entry->callee);
  for (Dim size : irgen::entrySizes(sema, entry->code, info)) {
    auto number = size.constant();
    if (!number) {
      diags.report(Code::E0213, call->callee->span,
                   "a size of `" + callee + "` cannot be worked out from its arguments");
      flushDiagnostics();
      return false;
    }
    out.sizes.push_back(*number);
  }
  // The callee's arguments are the parameters that the call passes, in order.
  const std::vector<sema::ParamInfo> &params =
      info.target == sema::CallInfo::Construct ? info.nominal->params : info.function->params;
  for (size_t p = 0; p < params.size(); ++p) {
    const ast::Expr *given = info.arguments[p];
    if (!given || irgen::isSettled(params[p]))
      continue;
    auto index = static_cast<unsigned>(out.inputs.size());
    OutsideTarget::Input input;
    while (call->args[input.argument].value != given)
      ++input.argument;
    input.type = function.getArgument(index).getType();
    input.isMut = function.getArgAttr(index, ir::kMut) != nullptr;
    input.given = given->checked->type;
    out.inputs.push_back(input);
  }
  auto results = mlir::cast<mlir::FunctionType>(function.getFunctionType()).getResults();
  if (info.result && !info.result->is(sema::Kind::Nothing)) {
    out.result = info.result;
    out.resultType = results.back();
  }
  out.location = entry->location;
  out.program = entry->program;
  out.symbol = entry->code.symbol;
  if (!entry->graph)
    return true;
  mxrt_status status = host->bind(*entry->graph, out.sizes, out.location, {}, out.graph).release();
  report(status, /*fromVm=*/false);
  return out.graph != nullptr;
}

bool OutsideSession::generateOutside(const sema::ModuleInfo &module, const sema::CallInfo &info,
                              std::unique_ptr<OutsideEntry> &out) {
  irgen::Options code = options.code;
  code.keepNames = true;
  auto made = std::make_unique<OutsideEntry>();
  made->code = irgen::generateEntry(*context, names->sema(), module, info, code);
  irgen::Generated generated;
  generated.module = std::move(made->code.module);
  if (!load(generated))
    return false;
  mlir::ModuleOp loaded = *units.back().module;
  made->callee = loaded.lookupSymbol(made->code.symbol);
  made->program = units.back().program;
  if (mlir::isa<ir::GraphOp>(made->callee))
    made->graph = host->find(made->code.symbol);
  Span span = info.target == sema::CallInfo::Construct ? info.nominal->syntax->name.span
                                                       : info.function->syntax->name.span;
  if (span.valid()) {
    const SourceFile &source = sources.file(span);
    LineColumn at = source.lineColumn(span.begin);
    made->file = source.name();
    made->location = {made->file.c_str(), static_cast<int32_t>(at.line),
                   static_cast<int32_t>(at.column)};
  }
  out = std::move(made);
  return true;
}

} // namespace mx::driver
