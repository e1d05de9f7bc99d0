// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations of functions, models and structs. Names are declared eagerly, signatures are
// resolved on first use, and bodies are checked last.
#include "Sema/Internals.h"
#include "Sema/MaxBytes.h"
#include "Support/Bytes.h"
#include "Support/Suggest.h"
#include <algorithm>

namespace mx::sema {

FunctionInfo *Sema::declareFunction(ast::Func *func, ModuleInfo *module, NominalInfo *owner,
                                    Scope *scope) {
  functions.emplace_back();
  FunctionInfo &f = functions.back();
  f.name = std::string(func->name.text);
  f.syntax = func;
  f.module = module;
  f.owner = owner;
  f.scope = scope;
  f.enclosing = context ? context->function : nullptr;
  func->info = &f;
  for (const ast::Attribute &a : func->attributes)
    if (a.name.text == "primitive" && a.args.size() == 1 && module && module->isStd) {
      auto *name = ast::as<ast::Name>(a.args[0].value);
      for (const PrimitiveInfo &p : allPrimitives())
        if (name && p.name == name->text)
          f.primitive = &p;
    }
  return &f;
}

void Sema::declareGenerics(const List<ast::Generic> &list, std::vector<GenericParam> &out,
                           Scope &scope, Generics *generics, const std::string &owner) {
  for (const ast::Generic &g : list) {
    if (!g.name.valid())
      continue;
    GenericParam param;
    param.name = std::string(g.name.text);
    std::string_view kind = g.kind.text;
    Symbol *symbol;
    if (kind.empty() || kind == "dim") {
      if (g.pack) {
        param.kind = GenericParam::Pack;
        param.pack = types.newPack(param.name);
        symbol = newSymbol(SymbolKind::PackParam, g.name.text, g.name.span);
        symbol->pack = param.pack;
        if (generics)
          generics->packs.push_back(param.pack);
      } else {
        param.kind = GenericParam::Size;
        param.dim = dims.newSymbol({param.name, SymbolRole::Generic, true, g.name.span});
        symbolOwner[param.dim] = owner;
        symbol = newSymbol(SymbolKind::DimParam, g.name.text, g.name.span);
        symbol->dim = dims.symbol(param.dim);
        if (generics)
          generics->dims.push_back(param.dim);
      }
    } else if (kind == "model" || kind == "value") {
      param.kind = GenericParam::Model;
      param.variable = types.newTypeVariable(param.name, kind == "value");
      symbol = newSymbol(SymbolKind::TypeParam, g.name.text, g.name.span);
      symbol->type = types.typeVar(param.variable);
      if (generics)
        generics->types.push_back(param.variable);
    } else {
      static const std::map<std::string_view, ElemKind> kinds = {{"float", ElemKind::Float},
                                                                 {"int", ElemKind::Int},
                                                                 {"num", ElemKind::Num},
                                                                 {"any", ElemKind::Any}};
      auto it = kinds.find(kind);
      if (it == kinds.end()) {
        diags
            .report(Code::E0224, g.kind.span,
                    "`" + std::string(kind) + "` is not a kind of parameter")
            .help("the kinds are dim, float, int, num, model and value");
        it = kinds.find("any"); // the name stays known, so that its uses report no further errors
      }
      param.kind = GenericParam::Element;
      param.elemKind = it->second;
      param.variable = types.newElemVariable(param.name, it->second);
      symbol = newSymbol(SymbolKind::ElemParam, g.name.text, g.name.span);
      symbol->elem = Elem::variable(param.variable);
      if (generics)
        generics->elems.push_back(param.variable);
    }
    define(scope, symbol, /*mayShadow=*/false);
    out.push_back(param);
  }
}

void Sema::resolveParams(const List<ast::Param> &list, std::vector<ParamInfo> &out, Scope &scope,
                         Generics *generics, FunctionInfo *function) {
  for (const ast::Param &p : list) {
    ParamInfo param;
    param.name = std::string(p.name.text);
    param.isMut = p.isMut;
    param.isStatic = p.isStatic;
    param.span = p.span;
    param.type = p.type ? resolveType(p.type) : types.error();
    auto *given = ast::as<ast::Name>(p.defaultValue);
    param.fromContext = given && given->text == "_";
    param.optional = p.defaultValue != nullptr;
    param.defaultValue = param.fromContext ? nullptr : p.defaultValue;
    if (p.isMut && p.isStatic)
      diags.report(Code::E0210, p.span, "a parameter is `mut` or `static`, not both");
    Symbol *symbol = newSymbol(SymbolKind::Variable, p.name.text, p.name.span);
    symbol->type = param.type;
    symbol->bind = p.isMut ? ast::BindKind::Var : ast::BindKind::Let;
    symbol->isParam = true;
    symbol->isMutParam = p.isMut;
    symbol->isStatic = p.isStatic;
    symbol->function = function;
    symbol->typeSpan = p.type ? p.type->span : Span();
    symbol->value = valueOf(param.type);
    bool wholeNumber = param.type->isScalar() && param.type->elem.is(ElementType::I64);
    bool builtin = function && function->module && function->module->isStd;
    if (p.isStatic || (builtin && wholeNumber)) {
      symbol->value.host = true;
      if (wholeNumber) {
        AtomId id = dims.newSymbol({param.name, SymbolRole::Static, true, p.name.span});
        symbolOwner[id] = function ? function->name : "";
        symbol->value.dim = dims.symbol(id);
        param.value.kind = StaticValue::Int;
        param.value.dim = symbol->value.dim;
        if (generics)
          generics->dims.push_back(id);
      } else {
        param.value.kind = StaticValue::Open;
        param.value.variable = types.newStaticVariable();
        if (generics)
          generics->statics.push_back(param.value.variable);
      }
    }
    if (param.type->is(Kind::Str) || param.type->is(Kind::Device) || param.type->is(Kind::Shape) ||
        param.type->is(Kind::Dtype))
      symbol->value.host = true;
    param.symbol = symbol;
    const_cast<ast::Param &>(p).symbol = symbol;
    if (p.name.text != "_")
      define(scope, symbol, /*mayShadow=*/false);
    out.push_back(std::move(param));
  }
}

/// `@amp`, optionally with the element type in which matmuls and convolutions are computed.
static void checkAmp(Sema &sema, FunctionInfo &f) {
  for (const ast::Attribute &a : f.syntax->attributes) {
    if (a.name.text != "amp" || a.args.size() == 0)
      continue;
    auto *name = ast::as<ast::Name>(a.args[0].value);
    auto element = name ? elementNamed(name->text) : std::nullopt;
    bool isKnown =
        element == ElementType::F16 || element == ElementType::BF16 || element == ElementType::F32;
    if (isKnown && a.args.size() == 1 && !a.args[0].name.valid())
      continue;
    sema.diags.report(Code::E0806, a.span, "`@amp` takes bf16, f16 or f32, or nothing")
        .note("matmuls compute in it; weights, sums and gradients stay f32")
        .help("write `@amp` for bf16 or `@amp(f16)`; `@amp(f32)` keeps a function from rounding");
  }
}

std::optional<int64_t> maxBytesOf(const ast::Attribute &attribute) {
  if (attribute.args.size() != 1 || attribute.args[0].name.valid())
    return std::nullopt;
  const ast::Expr *value = attribute.args[0].value;
  if (auto *text = ast::as<ast::String>(value))
    return parseBytes(std::string(text->value));
  auto *number = ast::as<ast::Number>(value);
  return number && !number->isFloat && number->intValue > 0 ? std::optional(number->intValue)
                                                            : std::nullopt;
}

static void checkMaxBytes(Sema &sema, FunctionInfo &f) {
  for (const ast::Attribute &a : f.syntax->attributes) {
    if (a.name.text != "max_bytes")
      continue;
    if (!f.isGraph())
      sema.diags.report(Code::E0806, a.span, "`@max_bytes` belongs to a `graph fn`")
          .note("it limits memory that is planned before a call, and only graphs are planned")
          .help("write `graph fn " + std::string(f.name) +
                "`, or put it before the graph that calls it");
    else if (!maxBytesOf(a))
      sema.diags.report(Code::E0806, a.span, "`@max_bytes` takes a number of bytes")
          .note("where a call needs more, values are rematerialised")
          .help("write `@max_bytes(\"512MiB\")` or `@max_bytes(536870912)`");
  }
}

void Sema::resolveSignature(FunctionInfo &f) {
  if (f.state != FunctionInfo::Declared)
    return;
  f.state = FunctionInfo::ResolvingSignature;
  if (f.owner)
    resolveHeader(*f.owner);
  f.paramScope = newScope(f.owner ? f.owner->scope : f.scope);
  Context ctx;
  ctx.module = f.module;
  ctx.function = &f;
  ctx.scope = f.paramScope;
  ctx.facts = f.module->facts.get();
  inContext(ctx, [&] {
    signature = &f;
    std::vector<GenericParam> generics;
    declareGenerics(f.syntax->generics, generics, *f.paramScope, &f.generics, f.name);
    sizesMayBind = true;
    resolveParams(f.syntax->params, f.params, *f.paramScope, &f.generics, &f);
    sizesMayBind = false;
    f.result = f.syntax->result ? resolveType(f.syntax->result) : types.nothing();
    std::vector<TypeArg> none;
    collectRequirements(f.syntax->where, f.name, nullptr, none, f.requirements);
    for (ParamInfo &p : f.params)
      inheritRequirements(p.type, f.requirements, "");
  });
  checkAttributes(f.syntax->attributes, "a function",
                  {"vjp", "remat", "amp", "max_bytes", "bench", "primitive", "effect", "says",
                   "expects", "inline"});
  for (const ast::Attribute &a : f.syntax->attributes)
    if (a.name.text == "remat" && a.args.size() > 0)
      diags.report(Code::E0806, a.span, "`@remat` of a function takes no arguments")
          .note("the arguments of a call are kept, all else is recomputed")
          .help("write `@remat`");
  checkAmp(*this, f);
  checkMaxBytes(*this, f);
  if (f.isGraph())
    for (const ParamInfo &p : f.params)
      if (p.type->is(Kind::Fn))
        diags.report(Code::E0404, p.span, "a `graph fn` cannot take a function")
            .note("its code is compiled before it is called; take a `static` value instead");
  f.state = FunctionInfo::SignatureDone;
}

/// `@vjp(back)`: a custom reverse-mode rule. `back` takes the arguments and the gradient of the
/// result, and returns the gradients of the float arguments. The attribute's argument is replaced
/// by the call that the reverse pass makes of `back`, and that call is checked.
static void checkVjp(Sema &sema, FunctionInfo &f) {
  for (const ast::Attribute &a : f.syntax->attributes) {
    if (a.name.text != "vjp")
      continue;
    if (a.args.size() != 1 || !a.args[0].value || a.args[0].name.valid()) {
      sema.diags.report(Code::E0806, a.span, "`@vjp` needs the name of a function")
          .help("write `@vjp(back)`, where `back` takes the arguments of `" + f.name +
                "` and the gradient of its result");
      return;
    }
    std::vector<const Type *> wanted;
    bool plain = !f.owner && f.result->isTensor() && sema.types.isFloat(f.result->elem);
    for (const ParamInfo &p : f.params) {
      bool isHandle = p.type->is(Kind::Nominal) && p.type->nominal->isHandle;
      plain &= (p.type->isTensor() || isHandle) && !p.isMut;
      if (p.type->isTensor() && sema.types.isFloat(p.type->elem) && !p.isStatic)
        wanted.push_back(p.type);
    }
    if (!plain || wanted.empty()) {
      sema.diags
          .report(Code::E0505, a.span,
                  "`@vjp` is for a function from tensors to one tensor of floats")
          .label(f.syntax->name.span, "this is not one");
      return;
    }
    Scope *outer = sema.context->scope;
    sema.context->scope = sema.newScope(f.paramScope);
    Symbol *seed = sema.newSymbol(SymbolKind::Variable, "$seed", a.span);
    seed->type = f.result;
    seed->isParam = true;
    seed->bind = ast::BindKind::Let;
    seed->function = &f;
    seed->value = sema.valueOf(f.result);
    sema.define(*sema.context->scope, seed, /*mayShadow=*/false);
    std::vector<ast::Argument> args;
    auto add = [&](std::string_view name) {
      auto *use = sema.arena.make<ast::Name>(a.span);
      use->text = name;
      use->outerSpan = a.span;
      args.push_back({{}, false, use, a.span});
    };
    for (const ParamInfo &p : f.params)
      add(p.symbol->name);
    add(seed->name);
    auto *call = sema.arena.make<ast::Call>(a.span);
    Expr *&rule = a.args[0].value;
    call->outerSpan = a.span;
    call->callee = rule;
    call->args = sema.arena.list(args);
    call->argsSpan = a.span;
    Span at = rule->span;
    rule = call;
    sema.require(*sema.check(call), wanted.size() == 1 ? wanted[0] : sema.types.tuple(wanted), at,
                 "the gradient that `@vjp` gives");
    sema.context->scope = outer;
  }
}

void Sema::checkBody(FunctionInfo &f) {
  resolveSignature(f);
  if (f.state != FunctionInfo::SignatureDone || (f.syntax && tooDeep(f.syntax->name.span, f.name)))
    return;
  f.state = FunctionInfo::CheckingBody;
  // Builtins declare their effects in the table, library functions in an attribute.
  auto declared = [&](std::string_view text) {
    size_t colon = text.find(':');
    std::string_view name = text.substr(0, colon);
    uint8_t bit = effectBit(name);
    if (!bit)
      return;
    f.effects |= bit;
    EffectCause cause;
    cause.callee = f.name;
    cause.verb = colon == std::string_view::npos ? "" : std::string(text.substr(colon + 2));
    f.causes.emplace(bit, cause);
  };
  if (f.primitive)
    declared(f.primitive->effects);
  for (const ast::Attribute &a : f.syntax->attributes)
    if (a.name.text == "effect")
      for (const ast::Argument &arg : a.args)
        if (auto *text = ast::as<ast::String>(arg.value))
          declared(text->value);
  if (!f.syntax->body) {
    f.state = FunctionInfo::BodyDone;
    if (f.syntax->isExtern)
      declared("extern: calls C");
    else if (!f.module->isStd && !f.primitive)
      diags.report(Code::E0219, f.syntax->name.span, "`" + f.name + "` has no body")
          .help("write one: `{ … }`; a function of C is declared with `extern fn`");
    return;
  }
  if (f.syntax->isExtern)
    diags.report(Code::E0219, f.syntax->name.span, "an `extern fn` has no body")
        .caret("it is defined in C");
  DimFacts known(dims);
  if (f.enclosing && context && context->facts)
    for (const DimCondition &fact : context->facts->all())
      known.assume(fact);
  if (f.owner) {
    resolveFields(*f.owner);
    for (const Requirement &r : f.owner->all)
      known.assume(r.condition);
  }
  for (const Requirement &r : f.requirements)
    known.assume(r.condition);
  Context ctx;
  ctx.module = f.module;
  ctx.function = &f;
  ctx.outer = f.enclosing ? context : nullptr;
  ctx.scope = newScope(f.paramScope);
  ctx.facts = &known;
  ctx.declaredResult = f.result;
  ctx.resultSpan = f.syntax->result ? f.syntax->result->span : Span();
  ctx.inGraph = f.isGraph();
  ctx.graphSpan = f.syntax->graphSpan;
  openBodies.push_back(&f);
  // Bounds of `dyn` sizes become facts.
  inContext(ctx, [&] {
    for (const DimCondition &bound : dynBounds[&f])
      known.assume(bound);
    for (ParamInfo &p : f.params)
      if (p.defaultValue) {
        const Value *v = check(p.defaultValue, p.type);
        require(*v, p.type, p.defaultValue->outerSpan, "the default of `" + p.name + "`",
                p.symbol ? p.symbol->typeSpan : Span());
      }
    bool wantValue = !f.result->is(Kind::Nothing);
    const Value *v = checkBlock(f.syntax->body, wantValue ? f.result : nullptr, wantValue);
    if (wantValue && v)
      checkResult(*v,
                  f.syntax->body->stmts.empty() ? f.syntax->body->span
                                                : f.syntax->body->stmts.back()->span,
                  nullptr);
    auto outside = std::exchange(openBodiesOutside, static_cast<ptrdiff_t>(openBodies.size()));
    checkVjp(*this, f);
    openBodiesOutside = outside;
  });
  openBodies.pop_back();
  f.state = FunctionInfo::BodyDone;
  for (auto &[caller, cause] : std::exchange(f.early, {}))
    for (uint8_t bit = 1; bit; bit = static_cast<uint8_t>(bit << 1))
      if (f.effects & ~caller->effects & bit) {
        caller->effects |= bit;
        caller->causes.emplace(bit, cause);
      }
  if (!f.module->isStd)
    warnLonelyDims(f);
}

/// A size that occurs once in a signature checks nothing. If its name is similar to another size in
/// scope, it is a likely typo that weakens the check (W0301).
void Sema::warnLonelyDims(FunctionInfo &f) {
  for (Symbol *name : f.sizeNames) {
    if (name->used || f.sizeUses[name] != 1 || name->name == "_")
      continue;
    std::string typed(name->name);
    std::vector<std::string> others;
    for (Scope *s = f.paramScope; s && s != &f.module->scope; s = s->parent)
      for (auto &entry : s->names)
        if (entry.second != name && entry.second->kind == SymbolKind::DimParam)
          others.push_back(std::string(entry.first));
    std::sort(others.begin(), others.end());
    for (const std::string &other : others) {
      // If both names occur once, the later one is taken for the typo.
      bool later = std::any_of(f.sizeNames.begin(), f.sizeNames.end(), [&](Symbol *s) {
        return s->name == other && !s->used && f.sizeUses[s] == 1 &&
               s->span.begin > name->span.begin;
      });
      if (later)
        continue;
      auto lower = [](std::string s) {
        for (char &c : s)
          c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return s;
      };
      bool slip = lower(typed) == lower(other) ||
                  (std::max(typed.size(), other.size()) > 1 && typed[0] == other[0] &&
                   editDistance(typed, other) == 1 &&
                   std::isalpha(static_cast<unsigned char>(typed.back())));
      // `W1` and `W2`, `KH` and `KW` are pairs, not typos.
      if (!slip ||
          (typed.size() == other.size() && typed.size() <= 2 && lower(typed) != lower(other)))
        continue;
      diags
          .report(Code::W0301, name->span,
                  "dimension `" + typed + "` is used only once, so it checks nothing")
          .caret("did you mean `" + other + "`? write `_` if any size will do");
      break;
    }
  }
}

void Sema::checkAttributes(const List<ast::Attribute> &list, const char *on,
                           std::initializer_list<std::string_view> known) {
  for (const ast::Attribute &a : list) {
    if (std::find(known.begin(), known.end(), a.name.text) != known.end())
      continue;
    std::vector<std::string> names(known.begin(), known.end());
    std::string near = nearest(a.name.text, names);
    Diagnostic &d =
        diags.report(Code::E0806, a.name.span,
                     "`@" + std::string(a.name.text) + "` is not an attribute of " + on);
    if (!near.empty())
      d.caret("did you mean `@" + near + "`?");
  }
}

} // namespace mx::sema
