// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of a REPL session. Each is checked as a transaction against the names that earlier inputs
// left. A summary of the input is kept for its execution.
#include "Sema/Internals.h"
#include "Sema/StepStates.h"

namespace mx::sema {
using namespace ast;

void Sema::openSession() {
  if (session)
    return;
  session = addModule("session", sources.add("<session>", "", ""), /*isStd=*/false);
  session->state = ModuleInfo::Ready;
}

bool Sema::checkInput(const SourceFile &file, bool &complete, bool isWhole) {
  stackBase = static_cast<const char *>(__builtin_frame_address(0));
  {
    Diagnostics quiet(sources);
    complete = isWhole || lex(file, quiet).complete;
  }
  if (!complete)
    return true;
  size_t before = diags.errorCount();
  openSession();
  LexedSource lexed = lex(file, diags);
  ast::Module *tree = parseModule(file, lexed, arena, diags);
  if (diags.errorCount() != before || !prelude)
    return false;
  // Names and facts are committed only if the whole input is correct.
  auto names = session->scope.names;
  size_t factCount = session->facts->size(), callCount = calls.size();
  mentioned.clear();
  session->syntax = tree;
  session->path = file.path(); // imports are resolved relative to it
  topEffects = 0;
  topWaits = false;
  Context ctx;
  ctx.module = session;
  ctx.scope = &session->scope;
  ctx.facts = session->facts.get();
  context = &ctx;
  replacing = true;
  declareItems(*session, tree->items, /*program=*/true);
  replacing = false;
  checkItems(*session, tree->items);
  context = nullptr;
  if (diags.errorCount() == before)
    checkStepStates(*this);
  if (diags.errorCount() == before) {
    inputMentions[file.id()] = std::move(mentioned);
    for (SessionName name : session->scope.names)
      if (auto old = names.find(name.first); old == names.end() || old->second != name.second)
        definedBy[name] = file.id();
    return true;
  }
  session->scope.names = std::move(names);
  session->facts->truncate(factCount);
  while (calls.size() > callCount) // what was refused is not part of the program
    calls.pop_back();
  return false;
}

namespace {

/// The expression that yields the value of the input; null if there is none.
const ExprStmt *lastExpression(const ModuleInfo *session) {
  if (!session || !session->syntax || session->syntax->items.empty())
    return nullptr;
  auto *stmt = as<ExprStmt>(session->syntax->items.back());
  if (!stmt || !stmt->expr->checked)
    return nullptr;
  switch (stmt->expr->checked->type->kind) {
  case Kind::Error:
  case Kind::Nothing:
  case Kind::TypeName:
  case Kind::Module:
    return nullptr;
  default:
    return stmt;
  }
}

} // namespace

InputSummary Checker::summary() const {
  InputSummary out;
  const ModuleInfo *session = impl->session;
  if (!session || !session->syntax)
    return out;
  out.effects = impl->topEffects;
  out.waits = impl->topWaits;
  const List<Stmt *> &items = session->syntax->items;
  if (const ExprStmt *last = lastExpression(session)) {
    out.type = impl->show(*last->expr->checked);
    out.isMuted = last->muted;
    out.isExpression = items.size() == 1;
  }
  for (const Stmt *item : items) {
    if (auto *func = as<Func>(item); func && func->info)
      out.definitions.push_back({func->info->name, std::string(func->isGraph ? "graph fn" : "fn") +
                                                       impl->signatureText(*func->info)});
    else if (auto *nominal = as<Nominal>(item); nominal && nominal->info)
      out.definitions.push_back({nominal->info->name, nominal->isModel ? "model" : "struct"});
    else if (auto *alias = as<TypeDef>(item))
      out.definitions.push_back({std::string(alias->name.text), "type"});
  }
  return out;
}

void Checker::keepResult() { impl->keepResult(); }

void Sema::keepResult() {
  const ExprStmt *last = lastExpression(session);
  if (!last)
    return;
  Symbol *symbol = newSymbol(SymbolKind::Variable, "_", last->span);
  symbol->type = last->expr->checked->type;
  symbol->value = *last->expr->checked;
  symbol->value.literal = Value::NotLiteral;
  symbol->value.root = nullptr;
  symbol->value.isLvalue = false;
  // As for a `let`: a host number that is known only at run time is a size.
  if (symbol->type->isScalar() && symbol->type->elem.is(ElementType::I64) && symbol->value.host &&
      !symbol->value.dim)
    symbol->value.dim = dims.newSymbolDim({"_", SymbolRole::HostInt, false, last->span});
  symbol->isModuleLevel = true;
  symbol->used = true;
  session->scope.names[symbol->name] = symbol;
  definedBy[{symbol->name, symbol}] = last->span.file;
}

NamesMark Checker::mark() const {
  NamesMark out;
  if (impl->session) {
    out.names = impl->session->scope.names;
    out.facts = impl->session->facts->size();
  }
  return out;
}

void Checker::rewind(const NamesMark &mark) {
  if (!impl->session)
    return;
  impl->session->scope.names = mark.names;
  impl->session->facts->truncate(std::min(mark.facts, impl->session->facts->size()));
}

} // namespace mx::sema
