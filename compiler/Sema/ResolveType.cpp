// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written types to types. A name in a size that nobody has defined becomes a size parameter where a
// signature is resolved, and is bound by `let i: i32[K] = …`; elsewhere it is an error.
#include "Sema/Sema.h"
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
  static const std::vector<std::string> names = {"bool", "i8",  "u8",  "i32", "i64",     "f16",   "bf16",
                                                 "f32",  "f64", "str", "Rng", "Dataset", "Device"};
  return names;
}
const char *foreignType(std::string_view name) {
  static const std::map<std::string_view, const char *> table = {
      {"int", "i64"},     {"float", "f32"},   {"double", "f64"}, {"long", "i64"},   {"string", "str"},
      {"String", "str"},  {"boolean", "bool"}, {"Tensor", "f32[N, D]"}, {"int32", "i32"}, {"int64", "i64"},
      {"float32", "f32"}, {"float64", "f64"}, {"float16", "f16"}, {"bfloat16", "bf16"}, {"uint8", "u8"},
      {"int8", "i8"},     {"usize", "i64"},   {"size_t", "i64"}, {"i16", "i32"}, {"u32", "i64"}, {"u64", "i64"}};
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
  if (single && std && !symbol) { // words only the library's own signatures use
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
    Diagnostic &d = diags.report(Code::E0801, t->path[0].span, "there is no type `" + std::string(first) + "`");
    if (const char *ours = foreignType(first)) {
      d.caret(std::string("write `") + ours + "`");
    } else {
      std::vector<std::string> known = typeNames();
      for (Scope *s = context->scope; s; s = s->parent)
        for (auto &entry : s->names)
          if (entry.second->kind == SymbolKind::Nominal || entry.second->kind == SymbolKind::Alias ||
              entry.second->kind == SymbolKind::ElemParam || entry.second->kind == SymbolKind::TypeParam)
            known.push_back(std::string(entry.first));
      std::string near = nearest(first, known);
      if (!near.empty())
        d.caret("did you mean `" + near + "`?");
    }
    return types.error();
  }
  bool grad = used + 1 == t->path.size() && t->path[used].text == "grad";
  if (used != t->path.size() && !grad) {
    diags.report(Code::E0217, t->path[used].span, "a type has no member `" + std::string(t->path[used].text) + "`")
        .help("`M.grad` is the type of a model's gradient");
    return types.error();
  }
  auto asGrad = [&](const Type *type) {
    if (!grad || type->isError())
      return type;
    bool model = type->is(Kind::TypeVar) || (type->is(Kind::Nominal) && type->nominal->isModel);
    if (!model) {
      diags.report(Code::E0217, t->span, "only a model has a `.grad` type, " + show(type) + " does not");
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
    const Type *type = nominalType(*symbol->nominal, args, t->hasDims, t->hasArgs ? &t->args : nullptr, t->span,
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
    if (args.size() != info.generics.size() || t->dims.size() != info.generics.size()) {
      diags.report(Code::E0224, t->span, "`" + std::string(symbol->name) + "` takes " +
                                             std::to_string(info.generics.size()) + (info.generics.size() == 1 ? " argument" : " arguments") + " in brackets, " +
                                             std::to_string(t->dims.size()) + (t->dims.size() == 1 ? " is" : " are") + " given");
      return types.error();
    }
    return asGrad(expandAlias(symbol, args, t->span));
  }
  default:
    diags.report(Code::E0217, t->span, "`" + std::string(first) + "` is not a type")
        .label(symbol->span, "it is defined here");
    return types.error();
  }
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
      declareGenerics(symbol->alias->generics, info.generics, *ctx.scope, nullptr, std::string(symbol->name));
      inField = true; // a type name is one type: static arguments left out take their defaults
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
                              const List<ast::Argument> *ctorArgs, Span span, bool implicitStatics) {
  resolveHeader(n);
  bool follow = staticsFollow;
  staticsFollow = false;
  if (args.size() != n.generics.size()) {
    std::string names;
    for (const GenericParam &g : n.generics)
      names += (names.empty() ? "" : ", ") + g.name;
    Diagnostic &d = diags.report(
        Code::E0224, span,
        n.generics.empty() ? "`" + n.name + "` takes no arguments in brackets"
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
      // Left out in a signature: a generic of its own.
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
  staticsFollow = false; // an argument of the type is not what is called
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
      diags.report(Code::E0224, e->span, "`" + want.name + "` is an element type such as f32, not " + show(type));
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
    bool model = out.type->is(Kind::TypeVar) || (out.type->is(Kind::Nominal) && out.type->nominal->isModel);
    if (!model)
      diags.report(Code::E0224, e->span, "`" + want.name + "` is a model, " + show(out.type) + " is not");
    return model;
  }
  }
  return false;
}

/// A type written where an expression stands: `Mlp[784, 10]`, `optim.Adam[Net]`, `f32[3]`.
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
          return quiet && !s->module->scope.names.count(member->name.text) ? nullptr
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
  if (index)
    base = index->object;
  if (auto *name = ast::as<ast::Name>(base)) {
    if (auto element = elementNamed(name->text); element && !call) {
      Shape shape;
      if (index)
        for (const ast::IndexArg &a : index->args) {
          if (a.kind == ast::IndexArg::Ellipsis && a.value) {
            auto *pack = ast::as<ast::Name>(a.value);
            Symbol *s = pack ? lookup(pack->text) : nullptr;
            if (s && s->kind == SymbolKind::PackParam)
              shape.push_back({{}, s->pack});
            continue;
          }
          Dim d = a.value ? dimFromExpr(a.value) : Dim();
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
  if (auto *member = ast::as<ast::Member>(base); member && member->name.text == "grad" && !index && !call) {
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
      if (!index->args[i].value || !typeArg(index->args[i].value, (*generics)[i], arg))
        return types.error();
      args.push_back(std::move(arg));
    }
  }
  if (symbol->kind == SymbolKind::Alias)
    return expandAlias(symbol, args, e->span);
  return nominalType(*symbol->nominal, args, index != nullptr, call ? &call->args : nullptr, e->span,
                     /*implicitStatics=*/signature && !inField);
}

// ------------------------------------------------------------------------------------------ sizes

/// A tensor type as written. One with a size that is none fits everything: the size is reported.
const Type *Sema::tensorOf(Elem elem, const List<ast::TypeDim> &list) {
  size_t before = diags.errorCount();
  Shape shape = shapeFromDims(list);
  return diags.errorCount() == before ? types.tensor(elem, std::move(shape)) : types.error();
}

Shape Sema::shapeFromDims(const List<ast::TypeDim> &list) {
  Shape shape;
  bool sawPack = false;
  for (const ast::TypeDim &d : list) {
    switch (d.kind) {
    case ast::TypeDim::Pack: {
      Symbol *symbol = lookup(d.name.text);
      if (symbol && symbol->kind != SymbolKind::PackParam)
        symbol = nullptr;
      if (!symbol && signature) {
        symbol = newSymbol(SymbolKind::PackParam, d.name.text, d.name.span);
        symbol->pack = types.newPack(std::string(d.name.text));
        signature->generics.packs.push_back(symbol->pack);
        signature->paramScope->names[d.name.text] = symbol;
      }
      if (!symbol) {
        diags.report(Code::E0801, d.span, "`..." + std::string(d.name.text) + "` is not defined");
        break;
      }
      if (sawPack)
        diags.report(Code::E0224, d.span, "a type has one `...` at most");
      else
        shape.push_back({{}, symbol->pack});
      sawPack = true;
      break;
    }
    case ast::TypeDim::Unknown:
      shape.push_back(axisOf(dims.newSymbolDim({"?", SymbolRole::Unknown, true, d.span})));
      break;
    case ast::TypeDim::Dyn: {
      if (!signature || !signature->isGraph())
        diags.report(Code::E0316, d.span, "`dyn` belongs in a parameter of a `graph fn`")
            .note("elsewhere every size may change from call to call: write `" + std::string(d.name.text) + "`");
      Symbol *symbol = lookup(d.name.text);
      if (!symbol || symbol->kind != SymbolKind::DimParam)
        symbol = newSizeName(d.name.text, d.name.span, SymbolRole::Generic);
      if (d.bound && signature)
        if (Dim bound = dimFromExpr(d.bound)) {
          DimCondition c{Relation::LessEqual, symbol->dim, bound, d.span};
          dynBounds[signature].push_back(c);
          Requirement r;
          r.condition = c;
          r.text = std::string(d.name.text) + " <= " + textOf(d.bound);
          r.span = d.span;
          r.owner = signature->name;
          r.isBound = true;
          signature->requirements.push_back(std::move(r));
        }
      shape.push_back(axisOf(symbol->dim));
      break;
    }
    case ast::TypeDim::Size: {
      Dim size = dimFromExpr(d.size);
      if (!size)
        size = dims.newSymbolDim({"?", SymbolRole::Unknown, true, d.span});
      shape.push_back(axisOf(size));
      break;
    }
    }
  }
  if (shape.size() > static_cast<size_t>(limits::kMaxRank)) {
    diags.report(Code::E0314, list[0].span.to(list.back().span), "a tensor has at most 16 dimensions");
    shape.resize(limits::kMaxRank);
  }
  return shape;
}

Symbol *Sema::newSizeName(std::string_view name, Span span, SymbolRole role) {
  AtomId id = dims.newSymbol({std::string(name), role, true, span});
  Symbol *symbol = newSymbol(SymbolKind::DimParam, name, span);
  symbol->dim = dims.symbol(id);
  if (signature) {
    symbolOwner[id] = signature->name;
    signature->generics.dims.push_back(id);
    signature->sizeNames.push_back(symbol);
    signature->sizeUses[symbol] = 1;
    signature->paramScope->names[name] = symbol;
  } else {
    context->scope->names[name] = symbol;
  }
  return symbol;
}

/// A size in a type. Null (after a report) if it is none.
Dim Sema::dimFromExpr(const Expr *e) {
  if (!e)
    return {};
  auto tooLarge = [&](Dim d) {
    if (!d)
      diags.report(Code::E0310, e->span, "this size is too large or too complex")
          .note("sizes are 64-bit integers, sums of at most " + std::to_string(limits::kMaxDimTerms) + " terms");
    return d;
  };
  switch (e->kind) {
  case ast::ExprKind::Number: {
    auto *n = ast::as<ast::Number>(e);
    if (n->isFloat) {
      diags.report(Code::E0202, e->span, "a size is a whole number");
      return {};
    }
    return dims.constant(n->intValue);
  }
  case ast::ExprKind::Name: {
    auto *name = ast::as<ast::Name>(e);
    if (name->text == "_")
      return dims.newSymbolDim({"_", SymbolRole::HostInt, true, e->span});
    Symbol *symbol = lookup(name->text);
    if (symbol && symbol->kind == SymbolKind::DimParam) {
      if (signature) {
        if (auto it = signature->sizeUses.find(symbol); it != signature->sizeUses.end())
          ++it->second;
        else
          symbol->used = true;
      } else {
        symbol->used = true;
      }
      return symbol->dim;
    }
    if (symbol && symbol->kind == SymbolKind::Variable && symbol->value.dim && symbol->bind != ast::BindKind::Var) {
      symbol->used = true;
      return symbol->value.dim;
    }
    // A parameter or outer name hides nothing: a size of that name would be confusing.
    if (symbol && symbol->kind == SymbolKind::Variable && !symbol->type->isError() &&
        (!sizesMayBind || !symbol->isModuleLevel || symbol->isParam)) {
      Diagnostic &d = diags.report(Code::E0315, e->span, "`" + std::string(name->text) + "` cannot be a size");
      if (symbol->isParam && symbol->type->isScalar())
        d.caret("its value is not known when types are checked")
            .help("write `static " + std::string(name->text) + ": i64`");
      else if (symbol->bind == ast::BindKind::Var)
        d.caret("it is a `var` and may change").help("make it a `let`");
      else
        d.caret("it is " + show(symbol->type));
      return {};
    }
    if (symbol && symbol->type && symbol->type->isError())
      return {};
    if ((signature && sizesMayBind) || (bindingSizes && !signature))
      return newSizeName(name->text, e->span, signature ? SymbolRole::Generic : SymbolRole::HostInt)->dim;
    if (symbol) {
      diags.report(Code::E0217, e->span, "`" + std::string(name->text) + "` is not a size");
      return {};
    }
    Diagnostic &d = diags.report(Code::E0801, e->span, "the size `" + std::string(name->text) + "` is not defined");
    std::vector<std::string> known;
    for (Scope *s = context->scope; s; s = s->parent)
      for (auto &entry : s->names)
        if (entry.second->kind == SymbolKind::DimParam)
          known.push_back(std::string(entry.first));
    std::string near = nearest(name->text, known);
    if (!near.empty())
      d.caret("did you mean `" + near + "`?");
    else if (signature)
      d.caret("no parameter has this size").note("a size is bound by its first use in a parameter's type");
    return {};
  }
  case ast::ExprKind::Unary: {
    auto *u = ast::as<ast::Unary>(e);
    Dim inner = u->op == ast::UnaryOp::Negate ? dimFromExpr(u->operand) : Dim();
    return inner ? tooLarge(dims.negate(inner)) : Dim();
  }
  case ast::ExprKind::Binary: {
    auto *b = ast::as<ast::Binary>(e);
    Dim left = dimFromExpr(b->left), right = dimFromExpr(b->right);
    if (!left || !right)
      return {};
    switch (b->op) {
    case Tok::Plus:
      return tooLarge(dims.add(left, right));
    case Tok::Minus:
      return tooLarge(dims.sub(left, right));
    case Tok::Star:
      return tooLarge(dims.mul(left, right));
    case Tok::SlashSlash:
    case Tok::Percent:
      if (right.isConstant(0)) {
        diags.report(Code::E0310, b->right->span, "a size is divided by zero");
        return {};
      }
      return tooLarge(b->op == Tok::Percent ? dims.mod(left, right) : dims.floorDiv(left, right));
    default:
      diags.report(Code::E0206, b->opSpan, "sizes are added, subtracted, multiplied and divided with `//` and `%`");
      return {};
    }
  }
  default: {
    // `S.n`, `x.shape[0]`, `len(x)`: any host integer will do. A type there is a common slip.
    if (e->kind == ast::ExprKind::Index || e->kind == ast::ExprKind::Tuple)
      if (const Type *type = typeFromExpr(e, /*quiet=*/true)) {
        diags.report(Code::E0224, e->span, "a size is expected, " + show(type) + " is a type");
        return {};
      }
    const Value *v = check(const_cast<Expr *>(e));
    if (v->type->isError())
      return {};
    if (!v->dim)
      diags.report(Code::E0315, e->span, "this cannot be a size: it is " + show(*v));
    return v->dim;
  }
  }
}

std::optional<StaticValue> Sema::staticFromExpr(Expr *e, const Type *want) {
  const Value *v = check(e, want);
  StaticValue s;
  if (v->type->isError())
    return std::nullopt;
  if (want && !want->isError() && !fits(*v, want)) {
    require(*v, want, e->outerSpan, "this argument");
    return std::nullopt;
  }
  if (v->dim && want && want->isScalar() && types.isInt(want->elem)) {
    s.kind = StaticValue::Int;
    s.dim = v->dim;
  } else if (v->constant == Value::BoolConstant) {
    s.kind = StaticValue::Bool;
    s.flag = v->flag;
  } else if (v->constant == Value::FloatConstant) {
    s.kind = StaticValue::Float;
    s.number = v->number;
  } else if (v->literal != Value::NotLiteral && v->dim && v->dim.constant()) {
    s.kind = StaticValue::Float;
    s.number = static_cast<double>(*v->dim.constant());
  } else if (v->constant == Value::StringConstant) {
    s.kind = StaticValue::Str;
    s.text = std::string(v->text);
  } else if (v->type->is(Kind::Dtype)) {
    s.kind = StaticValue::Elem;
    s.elem = v->type->elem;
  } else if (auto *name = ast::as<ast::Name>(e); name && name->symbol && name->symbol->isStatic) {
    // A static parameter passed on: its value is not known here, but it is static.
    s.kind = StaticValue::Open;
    s.variable = 0;
  } else {
    diags.report(Code::E0216, e->outerSpan, "this value is not known at compile time")
        .caret("a `static` argument is a literal, a size, a `const` or another `static`");
    return std::nullopt;
  }
  return s;
}

} // namespace mx::sema
