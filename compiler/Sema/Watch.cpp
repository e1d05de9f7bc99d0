// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fetch and feed (S20). `step.fetch(h)(args…)` calls a variant of the graph `step` that also gives
// its inner value `h`; `step.feed(h=v)(args…)` one that is given it. A variant is a function of its
// own with the same body, so that all that holds for calls holds for it.
#include "Sema/Sema.h"

namespace mx::sema {
using namespace ast;

bool Sema::isWatched(Expr *callee, Watch &watch) {
  // Inside out: the last call of the chain comes first.
  std::vector<Call *> chain;
  Expr *at = callee;
  while (auto *call = as<Call>(at)) {
    auto *member = as<Member>(call->callee);
    if (!member || (member->name.text != "fetch" && member->name.text != "feed"))
      return false;
    chain.push_back(call);
    at = member->object;
  }
  auto *name = as<Name>(at);
  Symbol *symbol = name && !chain.empty() ? lookup(name->text) : nullptr;
  if (!symbol || symbol->kind != SymbolKind::Function)
    return false;
  name->symbol = symbol;
  symbol->used = true;
  FunctionInfo *graph = symbol->functions[0];
  if (!graph->isGraph()) {
    auto *member = as<Member>(chain.back()->callee);
    diags
        .report(Code::E0701, member->name.span,
                "`." + std::string(member->name.text) + "` works on a `graph fn`")
        .help("declare `graph fn " + std::string(name->text) + "`");
    return true;
  }
  bool fine = true;
  for (size_t i = chain.size(); i-- > 0;) {
    bool fetches = as<Member>(chain[i]->callee)->name.text == "fetch";
    for (const Argument &argument : chain[i]->args) {
      auto *inner = as<Name>(argument.value);
      if (fetches && inner && !argument.name.valid()) {
        watch.fetched.push_back(inner);
      } else if (!fetches && argument.name.valid()) {
        watch.fed.push_back(Arg{argument.value, argument.name.text, argument.name.span, false,
                                argument.value->outerSpan});
      } else {
        fine = false;
        diags
            .report(Code::E0701, argument.value->outerSpan,
                    fetches ? "`fetch` takes names of `let`s in the graph"
                            : "`feed` takes a value for a name")
            .help(fetches ? "bind it in the graph: `let h = …`, then `" + std::string(name->text) +
                                ".fetch(h)`"
                          : "write `" + std::string(name->text) +
                                ".feed(h=" + textOf(argument.value) + ")`");
      }
    }
  }
  if (fine)
    watch.graph = graph;
  return true;
}

/// The value that a `let` at the top of the graph's body binds to the name.
Symbol *Sema::innerValue(FunctionInfo &graph, std::string_view name, Span span) {
  Symbol *found = nullptr;
  std::string known;
  auto visit = [&](auto &self, const Pattern *pattern) -> void {
    for (const Pattern *part : pattern->parts)
      self(self, part);
    if (!pattern->symbol || !pattern->symbol->type)
      return;
    if (pattern->name.text == name)
      found = pattern->symbol;
    known += (known.empty() ? "" : ", ") + std::string(pattern->name.text);
  };
  for (const Stmt *stmt : graph.syntax->body->stmts)
    if (auto *let = as<Let>(stmt); let && let->bind == BindKind::Let)
      visit(visit, let->pattern);
  bool isTensor = found && found->type->isTensor() && !found->value.host;
  if (isTensor || (found && found->type->isError()))
    return found;
  Diagnostic &d = diags.report(
      Code::E0701, span, "`" + graph.name + "` has no inner tensor `" + std::string(name) + "`");
  d.label(graph.syntax->name.span, "a `let` at the top of its body can be watched");
  if (found)
    d.note("`" + std::string(name) + "` is " + show(found->type) + " of the host");
  else
    d.note(known.empty() ? "it has none" : "it has " + known);
  return nullptr;
}

/// The same body with other parameters and another result; made once for each choice of names.
FunctionInfo *Sema::watchedVariant(Watch &watch) {
  FunctionInfo &graph = *watch.graph;
  checkBody(graph);
  std::vector<Symbol *> fetched, fed;
  std::string key = graph.name;
  for (Name *name : watch.fetched) {
    Symbol *symbol = innerValue(graph, name->text, name->span);
    if (!symbol)
      return nullptr;
    name->symbol = symbol;
    name->checked = arena.make<Value>(valueOf(symbol->type));
    fetched.push_back(symbol);
    key += ".fetch." + std::string(symbol->name);
  }
  for (const Arg &arg : watch.fed) {
    Symbol *symbol = innerValue(graph, arg.name, arg.nameSpan);
    if (!symbol)
      return nullptr;
    for (const ParamInfo &param : graph.params)
      if (param.name == arg.name) {
        diags
            .report(Code::E0701, arg.nameSpan,
                    "`" + param.name + "` is also a parameter of `" + graph.name + "`")
            .help("give one of them another name");
        return nullptr;
      }
    fed.push_back(symbol);
    key += ".feed." + std::string(symbol->name);
  }
  if (graph.state != FunctionInfo::BodyDone)
    return nullptr; // it has errors, or watches itself
  FunctionInfo *&variant = watchedVariants[{&graph, key}];
  if (variant)
    return variant;
  functions.push_back(graph);
  variant = &functions.back();
  variant->name = key;
  variant->fetched = fetched;
  variant->fed = fed;
  for (Symbol *symbol : fed) {
    ParamInfo param;
    param.name = symbol->name;
    param.type = symbol->type;
    param.span = symbol->span;
    param.symbol = symbol;
    variant->params.push_back(param);
  }
  std::vector<const Type *> parts;
  if (graph.result && !graph.result->is(Kind::Nothing))
    parts.push_back(graph.result);
  for (Symbol *symbol : fetched)
    parts.push_back(symbol->type);
  if (!fetched.empty())
    variant->result = parts.size() == 1 ? parts[0] : types.tuple(parts);
  return variant;
}

Value Sema::callWatched(Watch &watch, std::vector<Arg> args, Expr *callee, Expr *whole,
                        Span argsSpan, const CallInfo **slot, const Type *expected) {
  FunctionInfo *variant = watchedVariant(watch);
  if (!variant) {
    for (Arg &arg : args)
      check(arg.expr);
    return errorValue();
  }
  args.insert(args.end(), watch.fed.begin(), watch.fed.end());
  return callFunction(*variant, nullptr, nullptr, std::move(args), callee, whole, argsSpan, slot,
                      expected);
}

} // namespace mx::sema
