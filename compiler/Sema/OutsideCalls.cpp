// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls from the host (C API): the host names a function and passes values, of which only the types
// are known here. They are type-checked like the same call in a program.
#include "Sema/Internals.h"
#include "Syntax/Lexer.h"
#include "Syntax/Parser.h"

namespace mx::sema {
using namespace ast;

const Call *Sema::checkOutsideCall(ModuleInfo &module, const SourceFile &file,
                                   const std::vector<OutsideValue> &values) {
  stackBase = static_cast<const char *>(__builtin_frame_address(0));
  size_t before = diags.errorCount();
  LexedSource lexed = lex(file, diags);
  ast::Module *tree = parseModule(file, lexed, arena, diags);
  if (diags.errorCount() != before)
    return nullptr;
  auto *stmt = tree->items.size() == 1 ? as<ExprStmt>(tree->items[0]) : nullptr;
  auto *call = stmt ? as<Call>(stmt->expr) : nullptr;
  if (!call) {
    diags.report(Code::E0208, {file.id(), 0, static_cast<uint32_t>(file.text().size())},
                 "this names no function");
    return nullptr;
  }
  Context ctx;
  ctx.module = &module;
  ctx.scope = newScope(&module.scope);
  ctx.facts = module.facts.get();
  inContext(ctx, [&] {
    for (const Argument &argument : call->args) {
      auto *name = as<Name>(argument.value);
      for (const OutsideValue &value : values)
        if (name && name->text == value.name) {
          Symbol *symbol = defineVariable({name->text, name->span}, value.type, BindKind::Var);
          symbol->value.host = value.isHost;
        }
    }
    check(call);
  });
  if (diags.errorCount() != before)
    return nullptr;
  const CallInfo *info = call->info;
  bool known = info && !info->receiver &&
               (info->target == CallInfo::Construct ||
                (info->target == CallInfo::Function && info->function->syntax &&
                 info->function->syntax->body && !info->function->owner)) &&
               info->result && !info->result->is(Kind::Rule);
  if (known)
    return call;
  diags
      .report(Code::E0901, call->callee->span,
              "`" + textOf(call->callee) + "` cannot be called from outside yet")
      .help("write a function that calls it, and call that one");
  return nullptr;
}

OutsideCallee Sema::findOutside(ModuleInfo &module, std::string_view callee) {
  std::string_view name = callee.substr(0, callee.find_first_of("[( \t\n"));
  ModuleInfo *home = &module;
  for (size_t dot; (dot = name.find('.')) != std::string_view::npos; name.remove_prefix(dot + 1)) {
    auto found = home->scope.names.find(name.substr(0, dot));
    if (found == home->scope.names.end() || found->second->kind != SymbolKind::Module ||
        !found->second->module)
      return {};
    home = found->second->module;
  }
  auto found = home->scope.names.find(name);
  if (found == home->scope.names.end())
    return {};
  OutsideCallee out;
  Symbol *symbol = withFunctions(found->second);
  if (symbol->kind == SymbolKind::Function && symbol->functions.size() == 1) {
    out.function = symbol->functions[0];
    resolveSignature(*out.function);
  } else if (symbol->kind == SymbolKind::Nominal) {
    out.nominal = symbol->nominal;
    resolveFields(*out.nominal);
  } else if (symbol->kind == SymbolKind::Alias) {
    expandAlias(symbol, {}, symbol->span); // resolves it, with or without brackets
    if (const Type *type = aliases[symbol].type; type && type->is(Kind::Nominal)) {
      out.nominal = type->nominal;
      resolveFields(*out.nominal);
    }
  }
  return out;
}

} // namespace mx::sema
