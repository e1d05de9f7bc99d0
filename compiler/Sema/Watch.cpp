// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fetch and feed (S20). `step.fetch(h)(args…)` calls a variant of the graph `step` that also
// returns its inner value `h`. `step.feed(h=v)(args…)` calls a variant that takes it as an
// argument. A variant is a separate function with the same body, so all rules of calls apply to it.
// A value inside of a callee is returned by a variant of that callee.
#include "Sema/Internals.h"

namespace mx::sema {
using namespace ast;

bool Sema::isWatched(Expr *callee, Watch &watch) {
  // The chain is parsed inside out: its last call comes first.
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
      std::optional<Wanted> wanted = wantedIn(argument.value);
      if (fetches && wanted && !argument.name.valid()) {
        watch.fetched.push_back(*wanted);
      } else if (!fetches && argument.name.valid()) {
        watch.fed.push_back(Arg{argument.value, argument.name.text, argument.name.span, false,
                                argument.value->outerSpan});
      } else {
        fine = false;
        diags
            .report(Code::E0701, argument.value->outerSpan,
                    fetches ? "`fetch` takes names of `let`s in the graph, parts of models that it "
                              "calls, and lines"
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

/// The same body with other parameters and another result type. Created once per selection of
/// names.
FunctionInfo *Sema::watchedVariant(FunctionInfo &f, const std::vector<Wanted> &wanted,
                                   const std::vector<Arg> &given) {
  checkBody(f);
  std::vector<Inner> inner;
  std::vector<Symbol *> fed;
  std::string key = f.name;
  for (const Wanted &each : wanted) {
    std::optional<Inner> found = innerValue(f, each);
    if (!found)
      return nullptr;
    inner.push_back(*found);
    key += ".fetch." + keyOf(each);
  }
  for (const Arg &arg : given) {
    std::optional<Inner> found =
        innerValue(f, {{std::string(arg.name)}, 0, std::string(arg.name), arg.nameSpan});
    if (!found)
      return nullptr;
    std::string name = "`" + std::string(arg.name) + "`";
    if (!found->let) {
      diags.report(Code::E0701, arg.nameSpan, "`feed` replaces what a `let` binds")
          .label(found->span, name + " is called here")
          .help("bind what it gives: `let h = …`, then feed `h`");
      return nullptr;
    }
    for (const ParamInfo &param : f.params)
      if (param.name == arg.name) {
        diags.report(Code::E0701, arg.nameSpan, name + " is also a parameter of `" + f.name + "`")
            .help("give one of them another name");
        return nullptr;
      }
    fed.push_back(found->let);
    key += ".feed." + std::string(arg.name);
  }
  if (f.state != FunctionInfo::BodyDone)
    return nullptr; // it has errors, or watches itself recursively
  if (auto made = watchedVariants.find({&f, key}); made != watchedVariants.end())
    return made->second;

  FunctionInfo variant = f;
  variant.name = key;
  variant.fed = fed;
  if (!tapInner(inner, variant))
    return nullptr;
  for (Symbol *symbol : fed) {
    ParamInfo param;
    param.name = symbol->name;
    param.type = symbol->type;
    param.span = symbol->span;
    param.symbol = symbol;
    variant.params.push_back(param);
  }
  std::vector<const Type *> parts;
  if (f.result && !f.result->is(Kind::Nothing))
    parts.push_back(f.result);
  for (Symbol *symbol : variant.fetched)
    parts.push_back(symbol->type);
  if (!inner.empty())
    variant.result = parts.size() == 1 ? parts[0] : types.tuple(parts);
  functions.push_back(std::move(variant));
  return watchedVariants[{&f, key}] = &functions.back();
}

/// Binds names for all inner values in the variant's own body, and records their origins.
bool Sema::tapInner(const std::vector<Inner> &inner, FunctionInfo &variant) {
  auto newName = [&](const Type *type, Span span) {
    Symbol *symbol = newSymbol(SymbolKind::Variable, "_", span);
    symbol->type = type;
    symbol->value = valueOf(type);
    return symbol;
  };
  // Values inside of one call come from one variant of its callee.
  std::map<const Expr *, std::vector<Wanted>> inCalls;
  for (const Inner &each : inner)
    if (each.info)
      inCalls[each.expr].push_back(each.rest);
  for (const Inner &each : inner) {
    if (each.let) {
      variant.fetched.push_back(each.let);
      continue;
    }
    Tap &tap = variant.taps[each.expr];
    if (!each.info) {
      if (!tap.own)
        tap.own = newName(each.expr->checked->type, each.span);
      variant.fetched.push_back(tap.own);
      continue;
    }
    if (!tap.callee) {
      const List<Attribute> &attributes = each.info->function->syntax->attributes;
      for (const Attribute &attribute : attributes)
        if (attribute.name.text == "vjp") {
          diags
              .report(Code::E0701, each.rest.span,
                      "`" + each.info->function->name + "` has a rule of its own for gradients")
              .label(attribute.name.span, "so that what is inside of it is not there to be seen");
          return false;
        }
      tap.callee = watchedVariant(*each.info->function, inCalls[each.expr], {});
      if (!tap.callee)
        return false;
      for (Symbol *symbol : tap.callee->fetched)
        tap.inner.push_back(
            newName(types.substitute(symbol->type, each.info->bindings), each.span));
    }
    // In the order of the request.
    size_t before = 0;
    for (const Inner *other = inner.data(); other != &each; ++other)
      before += other->info && other->expr == each.expr;
    variant.fetched.push_back(tap.inner[before]);
  }
  return true;
}

Value Sema::callWatched(Watch &watch, std::vector<Arg> args, Expr *callee, Expr *whole,
                        Span argsSpan, const CallInfo **slot, const Type *expected) {
  FunctionInfo *variant = watchedVariant(*watch.graph, watch.fetched, watch.fed);
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
