// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resolution of written types. An undefined name in a size becomes a size parameter where a
// signature is resolved, and is bound by `let i: i32[K] = …`. Elsewhere it is an error.
#include "Sema/Internals.h"
#include "Support/Suggest.h"

namespace mx::sema {

const Type *Sema::resolveType(const ast::TypeExpr *t) {
  const Type *type = resolveWrittenType(t);
  if (t)
    reportDeepType(t->span);
  return type;
}

const Type *Sema::resolveWrittenType(const ast::TypeExpr *t) {
  if (!t)
    return types.error();
  switch (t->kind) {
  case ast::TypeKind::Error:
    return types.error();
  case ast::TypeKind::Named:
    return resolveNamedType(t);
  case ast::TypeKind::Tuple: {
    std::vector<const Type *> parts;
    for (const ast::TypeExpr *part : t->elements)
      parts.push_back(resolveType(part));
    if (parts.empty())
      return types.nothing();
    return types.tuple(std::move(parts));
  }
  case ast::TypeKind::Array: {
    const Type *element = resolveType(t->element);
    Dim count = dimFromExpr(t->count);
    if (!count || element->isError())
      return types.error();
    return types.array(element, count);
  }
  case ast::TypeKind::Fn: {
    std::vector<const Type *> params;
    for (const ast::TypeExpr *part : t->elements)
      params.push_back(resolveType(part));
    const Type *result = t->element ? resolveType(t->element) : types.nothing();
    return types.fn(std::move(params), result);
  }
  }
  return types.error();
}

namespace {
const std::vector<std::string> &typeNames() {
  static const std::vector<std::string> names = {"bool", "i8",      "u8",    "i32", "i64",
                                                 "f16",  "bf16",    "f32",   "f64", "str",
                                                 "Rng",  "Dataset", "Device"};
  return names;
}
const char *foreignType(std::string_view name) {
  static const std::map<std::string_view, const char *> table = {
      {"int", "i64"},     {"float", "f32"},     {"double", "f64"},   {"long", "i64"},
      {"string", "str"},  {"String", "str"},    {"boolean", "bool"}, {"Tensor", "f32[N, D]"},
      {"int32", "i32"},   {"int64", "i64"},     {"float32", "f32"},  {"float64", "f64"},
      {"float16", "f16"}, {"bfloat16", "bf16"}, {"uint8", "u8"},     {"int8", "i8"},
      {"usize", "i64"},   {"size_t", "i64"},    {"i16", "i32"},      {"u32", "i64"},
      {"u64", "i64"}};
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}
} // namespace

const Type *Sema::resolveNamedType(const ast::TypeExpr *t) {
  if (t->path.empty() || !t->path[0].valid())
    return types.error();
  std::string_view first = t->path[0].text;
  bool single = t->path.size() == 1;
  auto noArgs = [&](const Type *type) {
    if (t->hasDims || t->hasArgs)
      diags.report(Code::E0224, t->span, "`" + std::string(first) + "` takes no arguments");
    return type;
  };
  if (single) {
    if (auto element = elementNamed(first)) {
      if (t->hasArgs)
        diags.report(Code::E0224, t->span, "an element type takes no arguments");
      return tensorOf(*element, t->dims);
    }
    if (first == "str")
      return noArgs(types.str());
    if (first == "Device")
      return noArgs(types.deviceType());
    if (first == "Error")
      return noArgs(types.caughtError());
  }
  Symbol *symbol = lookup(first);
  bool std = context->module && context->module->isStd;
  if (single && std && !symbol) { // names that only signatures of the library use
    if (first == "any")
      return types.any();
    if (first == "axes")
      return types.axes();
    if (first == "shape")
      return types.shape(shapeFromDims(t->dims));
    if (first == "Rule")
      return types.rule(nullptr);
  }
  if (single && std && first == "any")
    return types.any();
  if (single && std && first == "shape" && t->hasDims)
    return types.shape(shapeFromDims(t->dims));
  if (single && std && first == "dtype" && t->dims.size() == 1) {
    auto *name = ast::as<ast::Name>(t->dims[0].size);
    Symbol *element = name ? lookup(name->text) : nullptr;
    return types.dtype(element ? element->elem : Elem());
  }
  if (single && first == "Dataset" && (!symbol || symbol->kind != SymbolKind::Nominal)) {
    std::vector<const Type *> items;
    for (const ast::TypeDim &d : t->dims) {
      const Type *item = d.size ? typeFromExpr(d.size) : nullptr;
      items.push_back(item ? item : types.error());
    }
    return types.dataset(std::move(items));
  }
  size_t used = 1;
  while (symbol && symbol->kind == SymbolKind::Module && used < t->path.size()) {
    if (!symbol->module)
      return types.error();
    symbol = lookupMember(*symbol->module, t->path[used++]);
    if (!symbol)
      return types.error();
  }
  if (!symbol) {
    Diagnostic &d =
        diags.report(Code::E0801, t->path[0].span, "there is no type `" + std::string(first) + "`");
    if (const char *ours = foreignType(first)) {
      d.caret(std::string("write `") + ours + "`");
    } else {
      std::vector<std::string> known = typeNames();
      for (Scope *s = context->scope; s; s = s->parent)
        for (auto &entry : s->names)
          if (entry.second->kind == SymbolKind::Nominal ||
              entry.second->kind == SymbolKind::Alias ||
              entry.second->kind == SymbolKind::ElemParam ||
              entry.second->kind == SymbolKind::TypeParam)
            known.push_back(std::string(entry.first));
      std::string near = nearest(first, known);
      if (!near.empty())
        d.caret("did you mean `" + near + "`?");
    }
    return types.error();
  }
  bool grad = used + 1 == t->path.size() && t->path[used].text == "grad";
  if (used != t->path.size() && !grad) {
    diags
        .report(Code::E0217, t->path[used].span,
                "a type has no member `" + std::string(t->path[used].text) + "`")
        .help("`M.grad` is the type of a model's gradient");
    return types.error();
  }
  auto asGrad = [&](const Type *type) {
    if (!grad || type->isError())
      return type;
    if (!isModel(type)) {
      diags.report(Code::E0217, t->span,
                   "only a model has a `.grad` type, " + show(type) + " does not");
      return types.error();
    }
    return types.grad(type);
  };
  switch (symbol->kind) {
  case SymbolKind::ElemParam:
    symbol->used = true;
    return tensorOf(symbol->elem, t->dims);
  case SymbolKind::TypeParam:
    symbol->used = true;
    return asGrad(noArgs(symbol->type));
  case SymbolKind::Nominal: {
    resolveHeader(*symbol->nominal);
    std::vector<TypeArg> args;
    const auto &generics = symbol->nominal->generics;
    if (t->hasDims) {
      for (size_t i = 0; i < t->dims.size(); ++i) {
        const ast::TypeDim &d = t->dims[i];
        TypeArg arg;
        if (d.kind == ast::TypeDim::Pack) {
          arg.kind = TypeArg::Pack;
          arg.pack = shapeFromDims({const_cast<ast::TypeDim *>(&d), 1});
        } else if (d.kind == ast::TypeDim::Size && i < generics.size()) {
          if (!typeArg(d.size, generics[i], arg))
            return types.error();
        } else if (d.kind == ast::TypeDim::Size) {
          arg.dim = dims.constant(0);
        } else {
          diags.report(Code::E0224, d.span, "a size is expected here");
          return types.error();
        }
        args.push_back(std::move(arg));
      }
    }
    const Type *type =
        nominalType(*symbol->nominal, args, t->hasDims, t->hasArgs ? &t->args : nullptr, t->span,
                    /*implicitStatics=*/!inField);
    return asGrad(type);
  }
  case SymbolKind::Alias: {
    std::vector<TypeArg> args;
    AliasInfo &info = aliases[symbol];
    if (!info.type)
      expandAlias(symbol, {}, t->span);
    for (size_t i = 0; i < t->dims.size() && i < info.generics.size(); ++i) {
      TypeArg arg;
      if (!t->dims[i].size || !typeArg(t->dims[i].size, info.generics[i], arg))
        return types.error();
      args.push_back(std::move(arg));
    }
    if (!aliasTakes(symbol, t->dims.size(), t->span))
      return types.error();
    return asGrad(expandAlias(symbol, args, t->span));
  }
  default:
    diags.report(Code::E0217, t->span, "`" + std::string(first) + "` is not a type")
        .label(symbol->span, "it is defined here");
    return types.error();
  }
}

/// Whether an alias takes this many arguments; false after a report.
bool Sema::aliasTakes(Symbol *symbol, size_t given, Span span) {
  const AliasInfo &info = aliases[symbol];
  size_t takes = info.generics.size();
  if (given == takes)
    return true;
  std::string name(symbol->name);
  Diagnostic &d =
      diags.report(Code::E0224, span,
                   "`" + name + "` takes " + (takes ? std::to_string(takes) : std::string("no")) +
                       (takes == 1 ? " argument" : " arguments") + " in brackets, " +
                       std::to_string(given) + (given == 1 ? " is" : " are") + " given");
  d.label(symbol->span, "it is defined here");
  if (!takes && info.type && !info.type->isError())
    d.note("`" + name + "` is " + show(info.type)).help("write `" + name + "`");
  return false;
}

const Type *Sema::expandAlias(Symbol *symbol, const std::vector<TypeArg> &args, Span span) {
  AliasInfo &info = aliases[symbol];
  if (!info.type) {
    if (info.resolving) {
      diags.report(Code::E0217, span, "`" + std::string(symbol->name) + "` is defined by itself");
      return types.error();
    }
    if (tooDeep(span, symbol->name))
      return types.error();
    info.resolving = true;
    Context ctx;
    ctx.module = symbol->home;
    ctx.scope = newScope(&symbol->home->scope);
    ctx.facts = symbol->home->facts.get();
    inContext(ctx, [&] {
      declareGenerics(symbol->alias->generics, info.generics, *ctx.scope, nullptr,
                      std::string(symbol->name));
      inField = true; // an alias names one type: omitted static arguments take their defaults
      info.type = resolveType(symbol->alias->type);
    });
    info.resolving = false;
  }
  if (args.size() != info.generics.size())
    return info.generics.empty() ? info.type : types.error();
  Bindings b;
  for (size_t i = 0; i < args.size(); ++i) {
    const GenericParam &g = info.generics[i];
    switch (g.kind) {
    case GenericParam::Size:
      b.dims[g.dim] = args[i].dim;
      break;
    case GenericParam::Pack:
      b.packs[g.pack] = args[i].pack;
      break;
    case GenericParam::Element:
      b.elems[g.variable] = args[i].elem;
      break;
    case GenericParam::Model:
      b.types[g.variable] = args[i].type;
      break;
    }
  }
  return types.substitute(info.type, b);
}

const Type *Sema::nominalType(NominalInfo &n, const std::vector<TypeArg> &args, bool hasArgs,
                              const List<ast::Argument> *ctorArgs, Span span,
                              bool implicitStatics) {
  resolveHeader(n);
  bool follow = staticsFollow;
  staticsFollow = false;
  if (args.size() != n.generics.size()) {
    std::string names;
    for (const GenericParam &g : n.generics)
      names += (names.empty() ? "" : ", ") + g.name;
    Diagnostic &d = diags.report(
        Code::E0224, span,
        n.generics.empty()
            ? "`" + n.name + "` takes no arguments in brackets"
            : "`" + n.name + "` takes " + std::to_string(n.generics.size()) +
                  (n.generics.size() == 1 ? " argument" : " arguments") + " in brackets, " +
                  std::to_string(args.size()) + (args.size() == 1 ? " is" : " are") + " given");
    if (!n.generics.empty())
      d.help("write `" + n.name + "[" + names + "]`");
    (void)hasArgs;
    return types.error();
  }
  std::vector<StaticValue> statics(n.staticParams.size());
  std::vector<bool> given(statics.size(), false);
  if (ctorArgs) {
    size_t position = 0;
    for (const ast::Argument &a : *ctorArgs) {
      size_t index = statics.size();
      if (a.name.valid()) {
        for (size_t i = 0; i < statics.size(); ++i)
          if (n.staticName(i) == a.name.text)
            index = i;
      } else {
        index = position++;
      }
      if (index >= statics.size()) {
        diags.report(Code::E0207, a.span, "`" + n.name + "` has no such static argument")
            .note("in a type only `static` arguments can be given");
        return types.error();
      }
      auto value = staticFromExpr(a.value, n.params[n.staticParams[index]].type);
      if (!value)
        return types.error();
      statics[index] = *value;
      given[index] = true;
    }
  }
  for (size_t i = 0; i < statics.size(); ++i) {
    if (given[i])
      continue;
    const ParamInfo &p = n.params[n.staticParams[i]];
    if (implicitStatics && signature) {
      // Omitted in a signature: a fresh generic parameter.
      if (p.value.kind == StaticValue::Int) {
        AtomId id = dims.newSymbol({p.name, SymbolRole::Static, true, span});
        signature->generics.dims.push_back(id);
        statics[i].kind = StaticValue::Int;
        statics[i].dim = dims.symbol(id);
      } else {
        statics[i].kind = StaticValue::Open;
        statics[i].variable = types.newStaticVariable();
        signature->generics.statics.push_back(statics[i].variable);
      }
    } else if (follow) {
      statics[i] = n.staticDefaults[i];
    } else if (n.staticDefaults[i].kind != StaticValue::None) {
      statics[i] = n.staticDefaults[i];
    } else {
      diags.report(Code::E0207, span, "`" + n.name + "` needs `" + p.name + "`")
          .help("write `" + n.name + (args.empty() ? "" : "[…]") + "(" + p.name + "=…)`");
      return types.error();
    }
  }
  return types.nominal(&n, args, statics);
}

bool Sema::typeArg(const Expr *e, const GenericParam &want, TypeArg &out) {
  bool follow = staticsFollow;
  staticsFollow = false; // an argument of the type is not the callee
  struct Restore {
    bool &flag, value;
    ~Restore() { flag = value; }
  } restore{staticsFollow, follow};
  switch (want.kind) {
  case GenericParam::Size:
    out.kind = TypeArg::Size;
    out.dim = dimFromExpr(e);
    return static_cast<bool>(out.dim);
  case GenericParam::Pack:
    diags.report(Code::E0224, e->span, "`..." + want.name + "` takes a list of sizes: `...S`");
    return false;
  case GenericParam::Element: {
    out.kind = TypeArg::Element;
    const Type *type = typeFromExpr(e);
    if (!type || type->isError())
      return false;
    if (!type->isScalar()) {
      diags.report(Code::E0224, e->span,
                   "`" + want.name + "` is an element type such as f32, not " + show(type));
      return false;
    }
    out.elem = type->elem;
    if (!types.elemFits(out.elem, want.elemKind)) {
      diags.report(Code::E0224, e->span, "`" + want.name + "` does not take " + show(type));
      return false;
    }
    return true;
  }
  case GenericParam::Model: {
    out.kind = TypeArg::Model;
    out.type = typeFromExpr(e);
    if (!out.type || out.type->isError())
      return false;
    if (suits(want.variable, out.type))
      return true;
    bool isValue = types.takesValues(want.variable);
    Diagnostic &d = diags.report(Code::E0224, e->span,
                                 "`" + want.name + "` is a " +
                                     (isValue ? "tensor or a tuple of tensors, " : "model, ") +
                                     show(out.type) + " is not");
    if (isValue)
      d.help("write the types, with sizes that are known: `(f32[32, 784], i32[32])`");
    return false;
  }
  }
  return false;
}

/// A type in expression position: `Mlp[784, 10]`, `optim.Adam[Net]`, `f32[3]`.
const Type *Sema::typeFromExpr(const Expr *e, bool quiet) {
  auto notAType = [&]() -> const Type * {
    if (!quiet)
      diags.report(Code::E0217, e->span, "`" + textOf(e) + "` is not a type");
    return nullptr;
  };
  auto baseSymbol = [&](const Expr *x) -> Symbol * {
    if (auto *name = ast::as<ast::Name>(x))
      return lookup(name->text);
    if (auto *member = ast::as<ast::Member>(x))
      if (auto *module = ast::as<ast::Name>(member->object)) {
        Symbol *s = lookup(module->text);
        if (s && s->kind == SymbolKind::Module && s->module)
          return quiet && !s->module->scope.names.count(member->name.text)
                     ? nullptr
                     : lookupMember(*s->module, member->name);
      }
    return nullptr;
  };
  const Expr *base = e;
  const ast::Index *index = ast::as<ast::Index>(e);
  const ast::Call *call = ast::as<ast::Call>(e);
  if (auto *tuple = ast::as<ast::Tuple>(e)) {
    std::vector<const Type *> parts;
    for (const Expr *x : tuple->elements) {
      const Type *part = typeFromExpr(x, quiet);
      if (!part)
        return nullptr;
      parts.push_back(part);
    }
    return types.tuple(std::move(parts));
  }
  if (call) {
    index = ast::as<ast::Index>(call->callee);
    base = call->callee;
  }
  if (index) {
    base = index->object;
    for (const ast::IndexArg &a : index->args)
      if (!a.value) { // a slice, `new`, or `...` without a name
        if (!quiet)
          diags.report(Code::E0217, a.span, "`" + textOf(e) + "` is not a type")
              .label(a.span, "an index, not an argument of a type")
              .help("write sizes or types: `f32[3]`, `Mlp[784, 10]`");
        return nullptr;
      }
  }
  if (auto *name = ast::as<ast::Name>(base)) {
    if (auto element = elementNamed(name->text); element && !call) {
      Shape shape;
      if (index)
        for (const ast::IndexArg &a : index->args) {
          if (a.kind == ast::IndexArg::Ellipsis) {
            auto *pack = ast::as<ast::Name>(a.value);
            Symbol *s = pack ? lookup(pack->text) : nullptr;
            if (s && s->kind == SymbolKind::PackParam)
              shape.push_back({{}, s->pack});
            continue;
          }
          Dim d = dimFromExpr(a.value);
          if (!d)
            return nullptr;
          shape.push_back(axisOf(d));
        }
      return types.tensor(*element, std::move(shape));
    }
    if (name->text == "str" && !index && !call)
      return types.str();
  }
  // `M.grad`
  if (auto *member = ast::as<ast::Member>(base);
      member && member->name.text == "grad" && !index && !call) {
    const Type *of = typeFromExpr(member->object, /*quiet=*/true);
    if (of && (of->is(Kind::TypeVar) || of->is(Kind::Nominal)))
      return types.grad(of);
  }
  Symbol *symbol = baseSymbol(base);
  if (!symbol)
    return notAType();
  if (symbol->kind == SymbolKind::TypeParam && !index && !call)
    return symbol->type;
  if (symbol->kind == SymbolKind::ElemParam && !index && !call)
    return types.scalar(symbol->elem);
  if (symbol->kind != SymbolKind::Nominal && symbol->kind != SymbolKind::Alias)
    return notAType();
  const std::vector<GenericParam> *generics;
  if (symbol->kind == SymbolKind::Nominal) {
    resolveHeader(*symbol->nominal);
    generics = &symbol->nominal->generics;
  } else {
    if (!aliases[symbol].type)
      expandAlias(symbol, {}, e->span);
    generics = &aliases[symbol].generics;
  }
  std::vector<TypeArg> args;
  if (index) {
    if (index->args.size() != generics->size() && symbol->kind == SymbolKind::Nominal) {
      args.resize(index->args.size());
      return nominalType(*symbol->nominal, args, true, nullptr, index->span, false);
    }
    for (size_t i = 0; i < index->args.size() && i < generics->size(); ++i) {
      TypeArg arg;
      if (!typeArg(index->args[i].value, (*generics)[i], arg))
        return types.error();
      args.push_back(std::move(arg));
    }
  }
  if (symbol->kind == SymbolKind::Alias) {
    if (index && !aliasTakes(symbol, index->args.size(), index->span))
      return types.error();
    return expandAlias(symbol, args, e->span);
  }
  return nominalType(*symbol->nominal, args, index != nullptr, call ? &call->args : nullptr,
                     e->span,
                     /*implicitStatics=*/signature && !inField);
}

/// A tensor type as written. A type with an invalid size fits everything, since the size is already
/// reported.
const Type *Sema::tensorOf(Elem elem, const List<ast::TypeDim> &list) {
  size_t before = diags.errorCount();
  Shape shape = shapeFromDims(list);
  return diags.errorCount() == before ? types.tensor(elem, std::move(shape)) : types.error();
}

} // namespace mx::sema
