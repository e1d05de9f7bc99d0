// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbol tables: definition and lookup of names, and diagnostics of unknown names.
#include "Sema/Internals.h"
#include "Support/Suggest.h"
#include <algorithm>
#include <functional>

namespace mx::sema {

Symbol *Sema::lookupMember(ModuleInfo &module, const ast::Identifier &name) {
  if (module.state == ModuleInfo::Broken && !module.scope.names.count(name.text))
    return nullptr;
  auto it = module.scope.names.find(name.text);
  bool isPrivate = !name.text.empty() && name.text[0] == '_';
  // A module exports its definitions, not its imports. Only the library re-exports the prelude's
  // names.
  ModuleInfo *home = it == module.scope.names.end() ? nullptr : it->second->home;
  // A library module re-exports the names of the prelude and of its own folder (nn/conv.mx).
  bool passedOn =
      module.isStd && home && (home == prelude || home->name.starts_with(module.name + "."));
  bool imported = home && home != &module && !passedOn;
  bool hidden =
      it != module.scope.names.end() && (imported || it->second->kind == SymbolKind::Module);
  if (hidden && imported) {
    diags
        .report(Code::E0803, name.span,
                "`" + module.name + "` only imports `" + std::string(name.text) + "`")
        .help("import it from its own module: `from " + home->name + " import " +
              std::string(name.text) + "`");
    return nullptr;
  }
  if (it != module.scope.names.end() && !isPrivate && !hidden)
    return it->second;
  if (isPrivate && it != module.scope.names.end()) {
    diags
        .report(Code::E0803, name.span,
                "`" + std::string(name.text) + "` is private to `" + module.name + "`")
        .note("names that start with `_` are seen only in their own file");
    return nullptr;
  }
  std::vector<std::string> known;
  for (auto &entry : module.scope.names)
    if (entry.first[0] != '_')
      known.push_back(std::string(entry.first));
  std::sort(known.begin(), known.end());
  Diagnostic &d = diags.report(Code::E0803, name.span,
                               "`" + module.name + "` has no `" + std::string(name.text) + "`");
  std::string near = nearest(name.text, known);
  if (!near.empty())
    d.caret("did you mean `" + near + "`?");
  return nullptr;
}

Symbol *Sema::newSymbol(SymbolKind kind, std::string_view name, Span span) {
  symbols.emplace_back();
  Symbol &s = symbols.back();
  s.kind = kind;
  s.name = name;
  s.span = span;
  return &s;
}

void Sema::define(Scope &scope, Symbol *symbol, bool mayShadow) {
  if (symbol->name.empty())
    return;
  Symbol *&slot = scope.names[symbol->name];
  if (slot && !mayShadow && !replacing && slot->span.file == symbol->span.file) {
    diags.report(Code::E0215, symbol->span, "`" + std::string(symbol->name) + "` is defined twice")
        .label(slot->span, "first here")
        .caret("and again here");
    return;
  }
  slot = symbol;
}

Symbol *Sema::lookup(std::string_view name) {
  for (Scope *s = context->scope; s; s = s->parent) {
    auto it = s->names.find(name);
    if (it == s->names.end())
      continue;
    Symbol *found = it->second;
    mention(*s, it->first, found);
    if (auto pending = pendingConsts.find(found); pending != pendingConsts.end())
      resolveConst(found, pending->second);
    return withFunctions(found);
  }
  if (context->module == primitives && prelude) {
    auto it = prelude->scope.names.find(name);
    if (it != prelude->scope.names.end())
      return it->second;
  }
  return nullptr;
}

/// Looks up a function, ignoring fields and variables that hide it: `x.mean()` in a model with a
/// field `mean`.
Symbol *Sema::lookupFunction(std::string_view name) {
  for (Scope *s = context->scope; s; s = s->parent) {
    auto it = s->names.find(name);
    if (it == s->names.end() || it->second->kind != SymbolKind::Function)
      continue;
    mention(*s, it->first, it->second);
    return withFunctions(it->second);
  }
  return nullptr;
}

void Sema::resolveConst(Symbol *symbol, ast::Let *let) {
  if (symbol->resolving) {
    diags.report(Code::E0807, symbol->span,
                 "`" + std::string(symbol->name) + "` is defined by itself");
    symbol->type = types.error();
    pendingConsts.erase(symbol);
    return;
  }
  if (tooDeep(symbol->span, symbol->name)) {
    symbol->type = types.error();
    pendingConsts.erase(symbol);
    return;
  }
  symbol->resolving = true;
  Context ctx;
  ctx.module = symbol->home;
  ctx.scope = &symbol->home->scope;
  ctx.facts = symbol->home->facts.get();
  Context *saved = context;
  FunctionInfo *savedSignature = signature;
  signature = nullptr;
  context = &ctx;
  const Type *want = let->type ? resolveType(let->type) : nullptr;
  const Value *value = check(let->value, want);
  if (want)
    require(*value, want, let->value->outerSpan, "`" + std::string(symbol->name) + "`",
            let->type->span);
  symbol->type = want ? want : value->type;
  symbol->value = want ? adapted(*value, want) : *value;
  symbol->value.root = nullptr;
  symbol->value.literal = Value::NotLiteral;
  symbol->initial = let->value;
  context = saved;
  signature = savedSignature;
  symbol->resolving = false;
  pendingConsts.erase(symbol); // last: a lookup before this point is a cyclic definition
}

std::vector<std::string> Sema::visibleNames() {
  std::vector<std::string> out;
  for (Scope *s = context->scope; s; s = s->parent)
    for (auto &entry : s->names)
      out.push_back(std::string(entry.first));
  std::sort(out.begin(), out.end());
  return out;
}

void Sema::unknownName(std::string_view name, Span span, const Expr *whole) {
  // A `let` of the module further down: it exists, but is not yet defined.
  if (context->module && context->module->syntax)
    for (Stmt *item : context->module->syntax->items)
      if (auto *let = ast::as<ast::Let>(item)) {
        std::function<bool(const ast::Pattern *)> binds = [&](const ast::Pattern *p) {
          if (p->parts.empty())
            return p->name.text == name;
          return std::any_of(p->parts.begin(), p->parts.end(), binds);
        };
        if (binds(let->pattern) && let->span.begin > span.begin && let->span.file == span.file) {
          diags
              .report(Code::E0807, span, "`" + std::string(name) + "` is used before it is defined")
              .label(let->pattern->span, "defined here");
          return;
        }
      }
  Diagnostic &d = diags.report(Code::E0801, span, "`" + std::string(name) + "` is not defined");
  static const std::map<std::string_view, const char *> habits = {
      {"None", "there is no `None`; a function without a result needs no `return`"},
      {"null", "there is no null; every name has a value"},
      {"nil", "there is no nil; every name has a value"},
      {"True", "write `true`"},
      {"False", "write `false`"},
      {"self", "fields are used by their names alone: `w`, not `self.w`"},
      {"this", "fields are used by their names alone: `w`, not `this.w`"},
      {"range", "a range is written `0..n`"},
      {"enumerate", "count yourself: `for i in 0..n { … }`"},
      {"zip", "index both: `for i in 0..n { … }`"},
      {"float", "conversions are named by the type: `f32(x)`"},
      {"int", "conversions are named by the type: `i64(x)`"},
      {"double", "conversions are named by the type: `f64(x)`"},
      {"np", "tensors are part of the language: `zeros([2, 3])`"},
      {"torch", "tensors are part of the language: `zeros([2, 3])`"},
      {"input", "programs take values with `option(name, default)`"},
      {"where", "write `select(condition, a, b)`"},
      {"arange", "write `iota(n)`"},
      {"relu", "write `from nn import relu`, or `import nn` and `nn.relu(x)`"},
      {"softmax", "write `from nn import softmax`, or `import nn` and `nn.softmax(x)`"},
  };
  if (auto it = habits.find(name); it != habits.end()) {
    d.help(it->second);
    return;
  }
  for (const char *module :
       {"nn", "optim", "data", "dist", "loss", "metrics", "rand", "math", "models", "plot"})
    if (name == module) {
      d.help("add `import " + std::string(name) + "` at the top of the file");
      return;
    }
  std::string near = nearest(name, visibleNames());
  if (!near.empty())
    d.caret("did you mean `" + near + "`?");
  (void)whole;
}

} // namespace mx::sema
