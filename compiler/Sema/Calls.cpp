// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call means: a function, a method, a builtin, a conversion, a construction, a model applied.
#include "Sema/Sema.h"
#include "Support/Suggest.h"
#include <algorithm>
#include <functional>

namespace mx::sema {
using namespace ast;

Value Sema::checkCall(Call *e, const Type *expected) {
  std::vector<Arg> args;
  for (const Argument &a : e->args)
    args.push_back({a.value, a.name.text, a.name.span, a.isMut, a.span, nullptr});
  return callExpr(e->callee, std::move(args), e, e->argsSpan, &e->info, expected);
}

/// `x |> f` is f(x); `x |> f(a)` is f(x, a).
Value Sema::checkPipe(Pipe *e, const Type *expected) {
  std::vector<Arg> args;
  args.push_back({e->left, {}, {}, false, e->left->outerSpan, nullptr});
  Expr *callee = e->right;
  Span argsSpan = e->left->outerSpan;
  if (auto *call = as<Call>(e->right); call && call->parens == 0) {
    callee = call->callee;
    argsSpan = call->argsSpan;
    for (const Argument &a : call->args)
      args.push_back({a.value, a.name.text, a.name.span, a.isMut, a.span, nullptr});
  }
  return callExpr(callee, std::move(args), e, argsSpan, &e->info, expected);
}

FunctionInfo *Sema::findFreeFunction(std::string_view name, const Type *first) {
  bool ofData = first->is(Kind::Dataset) || first->is(Kind::Loader); // `set.take(n)` is not `take(x, index)`
  if (Symbol *s = ofData ? nullptr : lookupFunction(name))
    return s->functions[0];
  // The module that made a type offers its functions too: `set.shard(0, 2)` needs no import.
  ModuleInfo *home = nullptr;
  if (first->is(Kind::Nominal))
    home = first->nominal->module;
  else if (ofData)
    home = loadModule("data", Span{primitives->syntax->file, 0, 0}, options.stdlib);
  else if (first->is(Kind::Rule))
    home = first->nominal ? first->nominal->module : nullptr;
  if (home) {
    auto it = home->scope.names.find(name);
    if (it != home->scope.names.end() && it->second->kind == SymbolKind::Function)
      return it->second->functions[0];
  }
  Symbol *s = ofData ? lookupFunction(name) : nullptr;
  return s ? s->functions[0] : nullptr;
}

Value Sema::callExpr(Expr *callee, std::vector<Arg> args, Expr *whole, Span argsSpan, const CallInfo **slot, const Type *expected) {
  auto checkRest = [&] {
    for (Arg &a : args)
      check(a.expr);
    return errorValue();
  };
  Symbol *symbol = nullptr;
  if (auto *name = as<Name>(callee)) {
    symbol = lookup(name->text);
    if (!symbol) {
      if (auto element = elementNamed(name->text))
        return convertElement(*element, args, whole);
      checkRest();
      if (name->text == "range" && !args.empty()) {
        diags.report(Code::E0801, callee->span, "`range` is not defined")
            .help("write `" + (args.size() == 1 ? "0.." + textOf(args[0].expr) : textOf(args[0].expr) + ".." + textOf(args[1].expr)) + "`");
        return errorValue();
      }
      unknownName(name->text, callee->span, callee);
      return errorValue();
    }
    name->symbol = symbol;
    symbol->used = true;
  } else if (auto *member = as<Member>(callee)) {
    // A name of a module, or a member of a value.
    auto *base = as<Name>(member->object);
    Symbol *module = base ? lookup(base->text) : nullptr;
    if (module && module->kind == SymbolKind::Module) {
      if (!module->module || !(symbol = lookupMember(*module->module, member->name)))
        return checkRest();
      base->symbol = module;
      member->symbol = symbol;
    } else {
      const Value *object = check(member->object);
      if (object->type->isError() || !member->name.valid())
        return checkRest();
      std::string name(member->name.text);
      const Type *t = object->type;
      if (t->is(Kind::Nominal)) {
        resolveFields(*t->nominal);
        auto it = t->nominal->methods.find(name);
        if (it != t->nominal->methods.end())
          return callFunction(*it->second, member->object, object, std::move(args), callee, whole, argsSpan, slot, expected);
      }
      if (t->is(Kind::Progress) && name == "show") {
        checkRest();
        addEffect(kPrint, member->name.span, "show", "", nullptr);
        return hostValue(types.nothing());
      }
      if (t->is(Kind::Rule) && name == "init" && t->nominal) {
        checkRest();
        if (args.size() == 1 && args[0].expr->checked) {
          const Type *model = args[0].expr->checked->type;
          TypeArg arg;
          arg.kind = TypeArg::Model;
          arg.type = model->plain;
          if (model->is(Kind::TypeVar) || (model->is(Kind::Nominal) && model->nominal->isModel))
            return valueOf(types.nominal(t->nominal, {arg}, {}));
          if (model->isError())
            return errorValue();
        }
        diags.report(Code::E0207, argsSpan, "`init` takes the model to optimize");
        return errorValue();
      }
      auto *graphName = as<Name>(member->object);
      if (t->is(Kind::Fn) && graphName && graphName->symbol && graphName->symbol->kind == SymbolKind::Function && (name == "fetch" || name == "feed")) {
        // The names inside the graph are looked at when the variant is compiled.
        if (!graphName->symbol->functions[0]->isGraph()) {
          diags.report(Code::E0701, member->name.span, "`." + name + "` works on a `graph fn`").help("declare `graph fn " + std::string(graphName->text) + "`");
          return errorValue();
        }
        std::vector<const Type *> parts = {t->element};
        if (name == "fetch")
          for (size_t i = 0; i < args.size(); ++i)
            parts.push_back(types.any());
        else
          for (Arg &a : args)
            check(a.expr);
        return hostValue(types.fn(t->parts, parts.size() == 1 ? parts[0] : types.tuple(parts)));
      }
      bool isField = (t->is(Kind::Nominal) && t->nominal->field(name)) || (t->is(Kind::Grad));
      if (!isField) {
        if (FunctionInfo *f = findFreeFunction(name, t)) {
          Symbol *s = lookupFunction(name);
          if (s && s->functions[0] != f)
            s = nullptr;
          args.insert(args.begin(), Arg{member->object, {}, {}, false, member->object->outerSpan, object});
          if (s)
            return callOverloads(s->functions, std::move(args), callee, whole, argsSpan, slot, expected);
          return callOverloads({f}, std::move(args), callee, whole, argsSpan, slot, expected);
        }
      }
      const Value *v = check(callee);
      if (v->type->isError())
        return checkRest();
      return callValue(*v, callee, std::move(args), whole, argsSpan, slot, expected);
    }
  }
  if (symbol) {
    switch (symbol->kind) {
    case SymbolKind::Function:
      return callOverloads(symbol->functions, std::move(args), callee, whole, argsSpan, slot, expected);
    case SymbolKind::Method: {
      // A function of the same model, called by its name alone.
      Value self = valueOf(symbol->nominal->self);
      self.mutablePlace = context->function && context->function->isMutMethod();
      return callFunction(*symbol->functions[0], nullptr, &self, std::move(args), callee, whole, argsSpan, slot, expected);
    }
    case SymbolKind::Nominal:
      return construct(*symbol->nominal, nullptr, std::move(args), callee, whole, argsSpan, slot, expected);
    case SymbolKind::Alias: {
      const Type *type = typeFromExpr(callee);
      if (!type || type->isError())
        return checkRest();
      if (type->isTensor()) {
        diags.report(Code::E0208, callee->span, show(type) + " is not constructed").help("write `zeros()` where the type is expected, or `zeros([…])`");
        return checkRest();
      }
      if (!type->is(Kind::Nominal)) {
        diags.report(Code::E0208, callee->span, show(type) + " cannot be constructed");
        return checkRest();
      }
      return construct(*type->nominal, type, std::move(args), callee, whole, argsSpan, slot, expected);
    }
    case SymbolKind::ElemParam:
      return convertElement(symbol->elem, args, whole);
    case SymbolKind::Module:
    case SymbolKind::DimParam:
    case SymbolKind::PackParam:
    case SymbolKind::TypeParam:
      diags.report(Code::E0208, callee->span, "`" + textOf(callee) + "` cannot be called").label(symbol->span, "defined here");
      return checkRest();
    case SymbolKind::Variable:
    case SymbolKind::Field:
      break;
    }
  }
  if (auto *index = as<Index>(callee)) {
    const Expr *base = index->object;
    auto *baseName = as<Name>(base);
    bool typeLike = baseName || as<Member>(base);
    if (typeLike) {
      staticsFollow = true;
      const Value *v = check(callee);
      staticsFollow = false;
      if (v->type->isError())
        return checkRest();
      if (v->type->is(Kind::TypeName)) {
        const Type *type = v->type->element;
        if (!type->is(Kind::Nominal)) {
          diags.report(Code::E0208, callee->span, show(type) + " is not constructed").help("write `zeros([…])`, or convert with `f32(x)`");
          return checkRest();
        }
        return construct(*type->nominal, type, std::move(args), callee, whole, argsSpan, slot, expected);
      }
      return callValue(*v, callee, std::move(args), whole, argsSpan, slot, expected);
    }
  }
  const Value *v = check(callee);
  if (v->type->isError())
    return checkRest();
  return callValue(*v, callee, std::move(args), whole, argsSpan, slot, expected);
}

/// A value that is called: a function value, or a model through its `call`.
Value Sema::callValue(const Value &v, Expr *callee, std::vector<Arg> args, Expr *whole, Span argsSpan, const CallInfo **slot, const Type *expected) {
  if (v.type->is(Kind::Fn))
    return callFnValue(v, args, callee, whole, argsSpan);
  if (v.type->is(Kind::Nominal)) {
    resolveFields(*v.type->nominal);
    auto it = v.type->nominal->methods.find("call");
    if (it != v.type->nominal->methods.end())
      return callFunction(*it->second, callee, &v, std::move(args), callee, whole, argsSpan, slot, expected);
    diags.report(Code::E0208, callee->outerSpan, show(v) + " cannot be called").help("give `" + v.type->nominal->name + "` a function `call`");
  } else {
    Diagnostic &d = diags.report(Code::E0208, callee->outerSpan, "`" + textOf(callee) + "` cannot be called: it is " + show(v));
    if (v.type->isTensor() && !v.type->shape.empty())
      d.help("an index is written in brackets: `" + textOf(callee) + "[…]`");
  }
  for (Arg &a : args)
    check(a.expr);
  return errorValue();
}

Value Sema::callFnValue(const Value &f, std::vector<Arg> &args, Expr *callee, Expr *whole, Span argsSpan) {
  bool bad = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Value *v = check(args[i].expr, i < f.type->parts.size() ? f.type->parts[i] : nullptr);
    bad |= v->type->isError();
    if (i < f.type->parts.size() && !bad)
      bad |= !require(*v, f.type->parts[i], args[i].span, "argument " + std::to_string(i + 1));
  }
  if (args.size() != f.type->parts.size()) {
    diags.report(Code::E0207, argsSpan, "this function takes " + std::to_string(f.type->parts.size()) + (f.type->parts.size() == 1 ? " argument, " : " arguments, ") + std::to_string(args.size()) + (args.size() == 1 ? " is given" : " are given"))
        .label(callee->outerSpan, show(f));
    bad = true;
  }
  (void)whole;
  return bad ? errorValue() : valueOf(f.type->element ? f.type->element : types.nothing());
}

/// f16(x): the same values in another element type.
Value Sema::convertElement(Elem elem, std::vector<Arg> &args, Expr *whole) {
  if (args.size() != 1 || !args[0].name.empty()) {
    for (Arg &a : args)
      check(a.expr);
    diags.report(Code::E0207, whole->span, "a conversion takes one value: `" + types.print(elem) + "(x)`");
    return errorValue();
  }
  const Value *v = check(args[0].expr);
  if (v->type->isError())
    return errorValue();
  if (!v->type->isTensor()) {
    Diagnostic &d = diags.report(Code::E0206, args[0].span, show(*v) + " cannot be converted to " + types.print(elem));
    if (v->type->is(Kind::Shape))
      d.help("take one size: `x.shape[0]`");
    return errorValue();
  }
  if (v->literal == Value::IntLiteral && types.isInt(elem) && !literalFits(*v, elem, args[0].span))
    return errorValue();
  Value r = valueOf(types.tensor(elem, v->type->shape, v->type->device));
  r.host = v->host;
  if (types.isInt(elem) && v->dim)
    r.dim = elem.is(ElementType::I64) ? v->dim : Dim();
  if (types.isFloat(elem) && v->constant == Value::FloatConstant) {
    r.constant = Value::FloatConstant;
    r.number = v->number;
  } else if (types.isFloat(elem) && v->dim && v->dim.constant()) {
    r.constant = Value::FloatConstant;
    r.number = static_cast<double>(*v->dim.constant());
  }
  return r;
}

Value Sema::callOverloads(const std::vector<FunctionInfo *> &set, std::vector<Arg> args, Expr *callee, Expr *whole, Span argsSpan, const CallInfo **slot,
                          const Type *expected) {
  FunctionInfo *chosen = set[0];
  if (set.size() > 1 && !args.empty()) {
    const Value *first = args[0].expr->checked ? args[0].expr->checked : check(args[0].expr);
    bool text = first->type->is(Kind::Str);
    for (FunctionInfo *f : set) {
      resolveSignature(*f);
      if (!f->params.empty() && f->params[0].type->is(Kind::Str) == text) {
        chosen = f;
        break;
      }
    }
  }
  return callFunction(*chosen, nullptr, nullptr, std::move(args), callee, whole, argsSpan, slot, expected);
}

// ------------------------------------------------------------------------------------- arguments

bool Sema::matchArguments(const std::string &name, std::vector<ParamInfo> &params, std::vector<Arg> &args, std::vector<int> &slots, Span calleeSpan,
                          Span argsSpan, Span declared, bool quiet) {
  slots.assign(params.size(), -1);
  auto isRng = [](const ParamInfo &p) { return p.type && p.type->is(Kind::Nominal) && p.type->nominal->name == "Rng"; };
  // `normal(rng, [3])`: it is meant for the generator, and lacks its `mut`.
  auto namesRng = [&](const Expr *e) {
    auto *n = as<Name>(e);
    Symbol *s = n ? lookup(n->text) : nullptr;
    return s && s->kind == SymbolKind::Variable && s->type && s->type->is(Kind::Nominal) && s->type->nominal->name == "Rng";
  };
  size_t cursor = 0;
  bool ok = true;
  for (size_t i = 0; i < args.size(); ++i) {
    Arg &a = args[i];
    size_t target = params.size();
    if (!a.name.empty()) {
      for (size_t p = 0; p < params.size(); ++p)
        if (params[p].name == a.name)
          target = p;
      if (target == params.size()) {
        if (!quiet) {
          std::vector<std::string> known;
          for (const ParamInfo &p : params)
            known.push_back(p.name);
          Diagnostic &d = diags.report(Code::E0207, a.nameSpan, "`" + name + "` has no parameter `" + std::string(a.name) + "`");
          std::string near = nearest(a.name, known);
          if (!near.empty())
            d.caret("did you mean `" + near + "`?");
          else if (!known.empty()) {
            std::string list;
            for (const std::string &k : known)
              list += (list.empty() ? "" : ", ") + k;
            d.note("its parameters are " + list);
          }
        }
        ok = false;
        continue;
      }
    } else {
      // A generator may be left out: then the ambient one is used.
      while (cursor < params.size() && params[cursor].isMut && params[cursor].fromContext && isRng(params[cursor]) && !a.isMut && !namesRng(a.expr))
        ++cursor;
      target = cursor++;
      if (target >= params.size()) {
        if (!quiet) {
          Diagnostic &d = diags.report(Code::E0207, a.span, "`" + name + "` takes " + (params.empty() ? "no" : std::to_string(params.size())) +
                                                                (params.size() == 1 ? " argument, " : " arguments, ") + std::to_string(args.size()) + (args.size() == 1 ? " is given" : " are given"));
          d.caret("one too many");
          if (declared.valid() && !isBuiltin(declared))
            d.note("`" + name + "` is declared at " + sources.placeLine(declared));
        }
        return false;
      }
    }
    if (slots[target] >= 0) {
      if (!quiet)
        diags.report(Code::E0207, a.span, "`" + params[target].name + "` is given twice").label(args[static_cast<size_t>(slots[target])].span, "first here");
      ok = false;
      continue;
    }
    slots[target] = static_cast<int>(i);
  }
  for (size_t p = 0; p < params.size() && ok; ++p)
    if (slots[p] < 0 && !params[p].optional) {
      if (!quiet) {
        Diagnostic &d = diags.report(Code::E0207, argsSpan, "`" + name + "` needs `" + params[p].name + "`");
        d.caret("`" + params[p].name + ": " + show(params[p].type) + "` is missing");
        if (declared.valid() && !isBuiltin(declared))
          d.note("`" + name + "` is declared at " + sources.placeLine(declared));
      }
      ok = false;
    }
  (void)calleeSpan;
  return ok;
}

std::string Sema::pathOf(const Expr *e) const {
  if (auto *n = as<Name>(e))
    return std::string(n->text);
  if (auto *m = as<Member>(e)) {
    std::string base = pathOf(m->object);
    return base.empty() ? "" : base + "." + std::string(m->name.text);
  }
  return "";
}

bool Sema::checkMutArgument(const ParamInfo &param, Arg &arg, const std::string &callee, Span declared) {
  if (param.isMut && !arg.isMut) {
    Diagnostic &d = diags.report(Code::E0203, arg.span, "`" + callee + "` changes its argument `" + param.name + "`; say so with `mut`");
    d.caret("write `mut " + textOf(arg.expr) + "`");
    if (declared.valid() && !isBuiltin(declared))
      d.note("`" + callee + "` is declared at " + sources.placeLine(declared) + " with `" + textOf(param.span) + "`");
    return false;
  }
  if (!param.isMut && arg.isMut) {
    diags.report(Code::E0210, arg.span, "`" + callee + "` does not change its argument `" + param.name + "`").caret("leave out `mut`");
    return false;
  }
  if (!arg.isMut)
    return true;
  const Value *v = arg.value;
  if (v && !v->mutablePlace && !v->type->isError()) {
    Symbol *root = v->root;
    Diagnostic &d = diags.report(Code::E0204, arg.expr->outerSpan, root ? "`" + std::string(root->name) + "` cannot change" : "`mut` needs a variable");
    if (root && root->kind == SymbolKind::Field)
      d.caret("only a `mut fn` may change the fields of its model");
    else if (root && root->isParam)
      d.label(root->span, "a parameter").help("write `mut " + std::string(root->name) + "` in the parameter list");
    else if (root)
      d.label(root->span, root->bind == BindKind::Const ? "bound with `const`" : "bound with `let`").help("make it a `var`: `var " + std::string(root->name) + " = …`");
    else
      d.help("give it a name: `var x = …`, then pass `mut x`");
    return false;
  }
  return true;
}

/// The same variable, or a variable and a part of it, may not be passed as `mut` twice.
void Sema::checkOverlap(const std::vector<ParamInfo> &params, const std::vector<Arg> &args, const std::vector<int> &slots) {
  std::vector<std::pair<std::string, Span>> seen;
  for (size_t p = 0; p < params.size(); ++p) {
    if (slots[p] < 0 || !args[static_cast<size_t>(slots[p])].isMut)
      continue;
    const Arg &a = args[static_cast<size_t>(slots[p])];
    std::string path = pathOf(a.expr);
    if (path.empty())
      continue;
    for (auto &[other, span] : seen) {
      bool overlap = path == other || path.rfind(other + ".", 0) == 0 || other.rfind(path + ".", 0) == 0;
      if (overlap)
        diags.report(Code::E0211, a.span, path == other ? "`" + path + "` is passed as `mut` twice" : "`" + path + "` and `" + other + "` overlap")
            .label(span, "first here")
            .caret("each change needs a variable of its own");
    }
    seen.push_back({path, a.span});
  }
}

// -------------------------------------------------------------------------------------- functions

void Sema::openGenerics(const Generics &g, CallState &state) {
  state.openDims.insert(g.dims.begin(), g.dims.end());
  state.openPacks.insert(g.packs.begin(), g.packs.end());
  state.openElems.insert(g.elems.begin(), g.elems.end());
  state.openTypes.insert(g.types.begin(), g.types.end());
  state.openStatics.insert(g.statics.begin(), g.statics.end());
}

bool Sema::isClosed(const Type *type, const CallState &state) {
  std::function<bool(const Type *)> closed = [&](const Type *t) -> bool {
    if (!t)
      return true;
    if (t->elem.isVariable() && state.openElems.count(t->elem.variableId()))
      return false;
    auto dimClosed = [&](Dim d) {
      std::vector<AtomId> all;
      dims.symbols(d, all);
      return std::none_of(all.begin(), all.end(), [&](AtomId a) { return state.openDims.count(a) != 0; });
    };
    auto shapeClosed = [&](const Shape &s) {
      return std::all_of(s.begin(), s.end(), [&](const Axis &a) { return a.isPack() ? !state.openPacks.count(a.pack) : dimClosed(a.dim); });
    };
    if (!shapeClosed(t->shape) || (t->count && !dimClosed(t->count)))
      return false;
    if (t->is(Kind::TypeVar) && state.openTypes.count(t->variable))
      return false;
    for (const Type *p : t->parts)
      if (!closed(p))
        return false;
    for (const TypeArg &a : t->args)
      if ((a.dim && !dimClosed(a.dim)) || !shapeClosed(a.pack) || !closed(a.type) || (a.elem.isVariable() && state.openElems.count(a.elem.variableId())))
        return false;
    for (const StaticValue &s : t->statics)
      if ((s.kind == StaticValue::Int && !dimClosed(s.dim)) || (s.kind == StaticValue::Open && state.openStatics.count(s.variable)))
        return false;
    return closed(t->element);
  };
  return closed(type);
}

/// Binds a `static` parameter to what is known of its argument. False after a report.
bool Sema::bindStatic(const ParamInfo &p, const Value &v, Expr *e, CallState &state) {
  if (v.type->isError())
    return false;
  if (p.value.kind == StaticValue::Int) {
    auto id = dims.asSymbol(p.value.dim);
    Dim d = v.dim;
    if (!d) {
      if (p.isStatic || context->inGraph) {
        Diagnostic &diag = diags.report(p.isStatic ? Code::E0216 : Code::E0315, e->outerSpan, p.isStatic ? "`" + p.name + "` must be known at compile time" : "a size in a graph cannot be a value it computes");
        diag.caret(v.root && v.root->bind == BindKind::Var ? "a `var` may change; use a `let`" : "this is computed when the program runs");
        return false;
      }
      d = dims.newSymbolDim({textOf(e), SymbolRole::HostInt, true, e->span});
    }
    if (id)
      state.bindings.dims[*id] = d;
    return true;
  }
  if (!p.isStatic)
    return true;
  StaticValue s;
  if (v.constant == Value::BoolConstant) {
    s.kind = StaticValue::Bool;
    s.flag = v.flag;
  } else if (v.constant == Value::StringConstant) {
    s.kind = StaticValue::Str;
    s.text = std::string(v.text);
  } else if (v.constant == Value::FloatConstant) {
    s.kind = StaticValue::Float;
    s.number = v.number;
  } else if (v.dim && v.dim.constant() && p.type->isScalar() && types.isFloat(p.type->elem)) {
    s.kind = StaticValue::Float;
    s.number = static_cast<double>(*v.dim.constant());
  } else if (v.type->is(Kind::Dtype)) {
    s.kind = StaticValue::Elem;
    s.elem = v.type->elem;
  } else if (v.root && v.root->isStatic) {
    s.kind = StaticValue::Open; // a static parameter passed on
  } else if (v.type->is(Kind::Shape) || v.type->is(Kind::Axes) || v.host) {
    s.kind = StaticValue::Open;
    if (v.root && v.root->bind == BindKind::Var) {
      diags.report(Code::E0216, e->outerSpan, "`" + p.name + "` must be known at compile time").caret("a `var` may change; use a `let` or `const`");
      return false;
    }
  } else {
    diags.report(Code::E0216, e->outerSpan, "`" + p.name + "` must be known at compile time").caret("a `static` argument is a literal, a size, a `const` or another `static`");
    return false;
  }
  if (p.value.kind == StaticValue::Open && p.value.variable)
    state.bindings.statics[p.value.variable] = s;
  return true;
}

/// The value of a default, in the callee's own names, then in the caller's.
void Sema::bindDefault(const ParamInfo &p, Scope *scope, ModuleInfo *module, CallState &state) {
  Context ctx;
  ctx.module = module;
  ctx.scope = scope;
  ctx.facts = module->facts.get();
  const Value *v = nullptr;
  inContext(ctx, [&] { v = check(p.defaultValue, p.type); });
  if (v->type->isError())
    return;
  if (p.type->is(Kind::Dtype)) {
    if (p.type->elem.isVariable() && !state.bindings.elems.count(p.type->elem.variableId()))
      state.bindings.elems[p.type->elem.variableId()] = v->type->elem;
    return;
  }
  if (p.value.kind == StaticValue::Int) {
    if (auto id = dims.asSymbol(p.value.dim); id && v->dim)
      state.bindings.dims[*id] = dims.substitute(v->dim, state.bindings.dims);
  } else if (p.isStatic && p.value.kind == StaticValue::Open && v->constant == Value::BoolConstant) {
    StaticValue s;
    s.kind = StaticValue::Bool;
    s.flag = v->flag;
    state.bindings.statics[p.value.variable] = s;
  }
}

/// Checks the arguments of matched parameters and finds what the generic names stand for. Literals
/// come last: they take the element type the others have fixed. False after a report.
bool Sema::bindArguments(std::vector<ParamInfo> &params, std::vector<Arg> &args, const std::vector<int> &slots, CallState &state) {
  bool ok = true;
  std::vector<size_t> literals;
  for (size_t p = 0; p < params.size(); ++p) {
    if (slots[p] < 0)
      continue;
    Arg &a = args[static_cast<size_t>(slots[p])];
    const ParamInfo &param = params[p];
    const Type *want = types.substitute(param.type, state.bindings);
    bool helps = want->is(Kind::Shape) || want->is(Kind::Axes) || isClosed(want, state);
    const Value *v = a.value ? a.value : check(a.expr, helps ? want : nullptr);
    a.value = v;
    if (v->type->isError()) {
      ok = false;
      continue;
    }
    if (!checkMutArgument(param, a, state.name, state.declared))
      ok = false;
    if ((param.isStatic || param.value.kind == StaticValue::Int) && !bindStatic(param, *v, a.expr, state)) {
      ok = false;
      continue;
    }
    bool adapts = v->type->isTensor() && (v->literal != Value::NotLiteral || (v->host && v->dim));
    if (adapts && param.type->isTensor()) {
      literals.push_back(p);
      continue;
    }
    state.current = p;
    if (param.type->is(Kind::Axes)) {
      bool list = v->type->is(Kind::Shape) || v->type->is(Kind::Axes) || v->type->is(Kind::Tuple) || (v->type->isScalar() && types.isInt(v->type->elem));
      if (!list) {
        argumentMismatch(state, param, a, param.type);
        ok = false;
      }
      continue;
    }
    Fit fit = unify(param.type, v->type, state);
    if (fit == Fit::No)
      argumentMismatch(state, param, a, types.substitute(param.type, state.bindings));
    ok &= fit == Fit::Yes;
  }
  for (size_t p : literals) {
    Arg &a = args[static_cast<size_t>(slots[p])];
    const Value *v = a.value;
    Elem elem = params[p].type->elem;
    if (elem.isVariable()) {
      auto it = state.bindings.elems.find(elem.variableId());
      if (it != state.bindings.elems.end()) {
        elem = it->second;
      } else if (state.openElems.count(elem.variableId())) {
        Elem own = v->type->elem;
        if (!types.elemFits(own, types.elemVariable(elem.variableId()).kind) && types.elemVariable(elem.variableId()).kind == ElemKind::Float)
          own = ElementType::F32;
        state.bindings.elems[elem.variableId()] = own;
        elem = own;
      }
    }
    if (!literalFits(*v, elem, a.expr->outerSpan)) {
      ok = false;
      continue;
    }
    state.current = p;
    const Type *as = types.tensor(elem, v->type->shape);
    Fit fit = unify(params[p].type, as, state);
    if (fit == Fit::No)
      argumentMismatch(state, params[p], a, types.substitute(params[p].type, state.bindings));
    ok &= fit == Fit::Yes;
  }
  return ok;
}

Value Sema::callFunction(FunctionInfo &f, Expr *receiver, const Value *receiverValue, std::vector<Arg> args, Expr *callee, Expr *whole, Span argsSpan,
                         const CallInfo **slot, const Type *expected) {
  resolveSignature(f);
  Span calleeSpan = as<Member>(callee) ? as<Member>(callee)->name.span : callee->outerSpan;
  std::string spelled = f.name.empty() ? textOf(callee) : f.name;
  if (f.state == FunctionInfo::ResolvingSignature) {
    diags.report(Code::E0213, calleeSpan, "`" + f.name + "` is used in its own signature");
    return errorValue();
  }
  if (f.state == FunctionInfo::CheckingBody && (context->inGraph || f.isGraph()) && f.enclosing == nullptr) {
    diags.report(Code::E0406, calleeSpan, "a graph cannot call itself: `" + f.name + "`")
        .label(context->graphSpan, "a graph is compiled as a whole")
        .help("use a loop");
    for (Arg &a : args)
      check(a.expr);
    return errorValue();
  }
  if (f.primitive) {
    bool handled = false;
    Value v = callPrimitive(f, args, callee, whole, argsSpan, expected, handled);
    if (handled) {
      if (!v.type->isError())
        addCallEffects(f, calleeSpan, spelled);
      return v;
    }
  }
  CallState state;
  state.name = spelled;
  state.args = &args;
  state.declared = f.syntax->name.span;
  state.whole = whole->span;
  state.function = &f;
  openGenerics(f.generics, state);
  if (f.owner && receiverValue && receiverValue->type->is(Kind::Nominal) && receiverValue->type->nominal == f.owner)
    state.bindings = bindingsOf(receiverValue->type);
  // The names of the model are known from the receiver; only the function's own are open.
  std::vector<ParamInfo> params = f.params;
  for (ParamInfo &p : params)
    p.type = types.substitute(p.type, state.bindings);
  const Type *declaredResult = types.substitute(f.result, state.bindings);
  state.params = &params;
  std::vector<int> slots;
  state.slots = &slots;
  if (!matchArguments(spelled, params, args, slots, calleeSpan, argsSpan, f.syntax->name.span, false)) {
    for (Arg &a : args)
      if (!a.value)
        check(a.expr);
    return errorValue();
  }
  bool ok = bindArguments(params, args, slots, state);
  checkOverlap(params, args, slots);
  if (!ok)
    return errorValue();
  // What is still open may follow from what is expected; then come the defaults.
  if (expected && !expected->isError() && !isClosed(types.substitute(declaredResult, state.bindings), state)) {
    CallState trial = state;
    size_t reports = diags.all().size();
    size_t factCount = facts().size();
    if (unify(declaredResult, expected, trial) == Fit::Yes)
      state.bindings = trial.bindings;
    facts().truncate(factCount);
    diags.truncate(reports);
  }
  for (size_t p = 0; p < params.size(); ++p) {
    if (slots[p] >= 0)
      continue;
    const ParamInfo &param = params[p];
    if (param.defaultValue && (param.isStatic || param.type->is(Kind::Dtype) || param.value.kind == StaticValue::Int))
      bindDefault(param, f.paramScope, f.module, state);
    if (param.fromContext && param.isMut) // an Rng left out: the ambient one
      addEffect(kRand, calleeSpan, spelled, "", nullptr);
  }
  for (auto &[want, have] : std::vector<std::pair<Dim, Dim>>(std::move(state.deferred))) {
    Dim w = dims.substitute(want, state.bindings.dims);
    Answer answer = facts().equal(w, have);
    if (answer.refuted()) {
      diags.report(Code::E0303, whole->span, "the arguments of `" + spelled + "` do not fit each other: " + dims.print(want) + " is " + dims.print(w) + ", but " + dims.print(have) + " is given");
      return errorValue();
    }
    if (!answer.proved())
      addConditions({{Relation::Equal, w, have, {}}}, whole->span);
  }
  const Type *result = types.substitute(declaredResult, state.bindings);
  if (f.primitive && f.primitive->rule != ShapeRule::Signature) {
    Value v = finishPrimitive(f, state, args, slots, callee, whole, result);
    if (v.type->isError())
      return v;
    result = v.type;
  }
  if (!isClosedResult(result, state, f)) {
    Diagnostic &d = diags.report(Code::E0213, whole->span, "the shape of `" + spelled + "` is not known here");
    d.caret("nothing says how large it is");
    d.help("give it: `" + spelled + "([2, 3])`, or write the type: `let x: f32[2, 3] = " + textOf(whole->span) + "`");
    return errorValue();
  }
  for (const Axis &axis : result->shape)
    if (!axis.isPack() && (!axis.dim || (axis.dim.constant() && *axis.dim.constant() < 0))) {
      diags.report(Code::E0308, whole->span, "the result of `" + spelled + "` would have a size of " + (axis.dim ? dims.print(axis.dim) : "?"))
          .note("the input is too small for this operation");
      return errorValue();
    }
  size_t reports = diags.errorCount();
  for (const Requirement &r : std::vector<Requirement>(f.requirements))
    demand(r, state.bindings, calleeSpan, spelled);
  if (f.owner && receiverValue && receiverValue->type->is(Kind::Nominal) && receiver) {
    // What the type itself requires was checked when the value was made.
  }
  if (diags.errorCount() != reports)
    return errorValue();
  if (receiverValue && f.owner)
    checkReceiver(f, receiver, *receiverValue, f.params, args, slots, calleeSpan);
  addCallEffects(f, calleeSpan, spelled);
  // Where the result lives.
  bool moves = f.primitive && f.primitive->rule == ShapeRule::DeviceOf; // `x.to(d)` says where
  Device device = moves ? result->device : f.resultDevice ? f.resultDevice : context->device;
  if (!device && !moves) {
    Device found = receiverValue && receiverValue->type->device ? receiverValue->type->device : nullptr;
    const Arg *from = nullptr;
    bool mixed = false;
    for (const Arg &a : args) {
      Device d = a.value && a.value->type->isTensor() && !a.value->type->shape.empty() ? a.value->type->device : nullptr;
      if (!d)
        continue;
      if (found && found != d) {
        mixed = true;
        from = &a;
      } else {
        found = d;
      }
    }
    bool places = receiverValue && receiverValue->type->device;
    if (mixed && (f.primitive || places) && from) {
      diags.report(Code::E0601, calleeSpan, "operands of `" + spelled + "` live on different devices")
          .label(from->expr->outerSpan, "on " + from->value->type->device->name)
          .caret("on " + found->name)
          .help("compute in one place: `on " + (found->spelled.empty() ? "device(\"" + found->name + "\")" : found->spelled) + " { … }`");
      return errorValue();
    }
    device = mixed ? nullptr : found;
  }
  calls.emplace_back();
  CallInfo &info = calls.back();
  info.target = f.primitive ? CallInfo::Primitive : CallInfo::Function;
  info.function = &f;
  info.receiver = receiver;
  for (size_t p = 0; p < f.params.size(); ++p)
    info.arguments.push_back(slots[p] >= 0 ? args[static_cast<size_t>(slots[p])].expr : nullptr);
  info.bindings = state.bindings;
  info.result = types.onDevice(result, device);
  if (slot)
    *slot = &info;
  Value v = valueOf(info.result);
  bool allHost = f.primitive && f.primitive->family == "elementwise";
  for (const Arg &a : args)
    allHost &= a.value && a.value->host && a.value->type->isScalar();
  v.host = allHost || result->is(Kind::Str) || result->is(Kind::Nothing) || result->is(Kind::Shape) || result->is(Kind::Dtype) || result->is(Kind::Error_) ||
           (f.primitive && f.primitive->family == "host" && result->isScalar()) || (result->is(Kind::Nominal) && result->nominal->isHandle);
  return v;
}

/// Do unbound names of the callee show up in the result?
bool Sema::isClosedResult(const Type *result, const CallState &state, const FunctionInfo &f) {
  CallState open = state;
  for (auto &entry : state.bindings.dims)
    open.openDims.erase(entry.first);
  for (auto &entry : state.bindings.packs)
    open.openPacks.erase(entry.first);
  for (auto &entry : state.bindings.elems)
    open.openElems.erase(entry.first);
  for (auto &entry : state.bindings.types)
    open.openTypes.erase(entry.first);
  open.openStatics.clear();
  // Inside its own body a function's names are real sizes, not open ones.
  for (FunctionInfo *g = context->function; g; g = g->enclosing)
    if (g == &f)
      return true;
  return isClosed(result, open);
}

// ------------------------------------------------------------------------------------ construction

bool Sema::insideNominal() const {
  for (const NominalInfo &n : nominals)
    if (n.scope && n.scope == context->scope)
      return true;
  return false;
}

Value Sema::construct(NominalInfo &n, const Type *type, std::vector<Arg> args, Expr *callee, Expr *whole, Span argsSpan, const CallInfo **slot,
                      const Type *expected) {
  resolveFields(n);
  auto checkRest = [&] {
    for (Arg &a : args)
      if (!a.value)
        check(a.expr);
    return errorValue();
  };
  if (n.isHandle && !n.module->isStd)
    return checkRest();
  // Construction draws initial values: a generator may be passed last, and may be left out.
  if (n.isModel)
    for (size_t i = 0; i < args.size(); ++i) {
      bool isRng = args[i].isMut || args[i].name == "rng";
      if (!isRng)
        continue;
      const Value *v = check(args[i].expr);
      if (!v->type->isError() && !(v->type->is(Kind::Nominal) && v->type->nominal->name == "Rng")) {
        diags.report(Code::E0202, args[i].span, "a model is constructed with an `Rng`, this is " + show(*v));
        return errorValue();
      }
      ParamInfo rng;
      rng.name = "rng";
      rng.isMut = true;
      rng.type = v->type;
      args[i].value = v;
      if (!checkMutArgument(rng, args[i], n.name, {}))
        return checkRest();
      args.erase(args.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  CallState state;
  state.name = n.name;
  state.params = &n.params;
  state.args = &args;
  state.declared = n.syntax->name.span;
  state.whole = whole->span;
  bool given = type != nullptr;
  if (given)
    state.bindings = bindingsOf(type);
  for (const GenericParam &g : n.generics) {
    if (given)
      break;
    if (g.kind == GenericParam::Size)
      state.openDims.insert(g.dim);
    else if (g.kind == GenericParam::Pack)
      state.openPacks.insert(g.pack);
    else if (g.kind == GenericParam::Element)
      state.openElems.insert(g.variable);
    else
      state.openTypes.insert(g.variable);
  }
  std::vector<int> slots;
  state.slots = &slots;
  if (!matchArguments(n.name, n.params, args, slots, callee->span, argsSpan, n.syntax->name.span, false))
    return checkRest();
  std::vector<StaticValue> statics = type ? type->statics : std::vector<StaticValue>();
  statics.resize(n.staticParams.size());
  for (size_t p : n.staticParams)
    if (n.params[p].value.kind == StaticValue::Int)
      if (auto id = dims.asSymbol(n.params[p].value.dim))
        state.bindings.dims.erase(*id);
  if (!bindArguments(n.params, args, slots, state))
    return errorValue();
  for (size_t i = 0; i < n.staticParams.size(); ++i) {
    ParamInfo &p = n.params[n.staticParams[i]];
    if (slots[n.staticParams[i]] < 0) {
      if (!type || statics[i].kind == StaticValue::None || statics[i].kind == StaticValue::Open)
        statics[i] = n.staticDefaults[i];
      if (p.value.kind == StaticValue::Int && statics[i].kind == StaticValue::Int)
        if (auto id = dims.asSymbol(p.value.dim))
          state.bindings.dims[*id] = statics[i].dim;
      continue;
    }
    const Value *v = args[static_cast<size_t>(slots[n.staticParams[i]])].value;
    if (p.value.kind == StaticValue::Int) {
      statics[i].kind = StaticValue::Int;
      statics[i].dim = v->dim;
    } else if (auto it = state.bindings.statics.find(p.value.variable); it != state.bindings.statics.end()) {
      statics[i] = it->second;
    }
  }
  if (!given && expected && expected->is(Kind::Nominal) && expected->nominal == &n)
    for (size_t g = 0; g < n.generics.size(); ++g) {
      const GenericParam &p = n.generics[g];
      if (p.kind == GenericParam::Size && !state.bindings.dims.count(p.dim))
        state.bindings.dims[p.dim] = expected->args[g].dim;
      if (p.kind == GenericParam::Model && !state.bindings.types.count(p.variable))
        state.bindings.types[p.variable] = expected->args[g].type;
    }
  std::vector<TypeArg> typeArgs;
  std::string missing;
  bool missingModel = false;
  for (const GenericParam &g : n.generics) {
    TypeArg a;
    switch (g.kind) {
    case GenericParam::Size:
      a.kind = TypeArg::Size;
      if (auto it = state.bindings.dims.find(g.dim); it != state.bindings.dims.end())
        a.dim = it->second;
      else
        missing = g.name;
      break;
    case GenericParam::Pack:
      a.kind = TypeArg::Pack;
      if (auto it = state.bindings.packs.find(g.pack); it != state.bindings.packs.end())
        a.pack = it->second;
      else
        missing = g.name;
      break;
    case GenericParam::Element:
      a.kind = TypeArg::Element;
      if (auto it = state.bindings.elems.find(g.variable); it != state.bindings.elems.end())
        a.elem = it->second;
      else
        missing = g.name;
      break;
    case GenericParam::Model:
      a.kind = TypeArg::Model;
      if (auto it = state.bindings.types.find(g.variable); it != state.bindings.types.end())
        a.type = it->second;
      else
        missingModel = true;
      break;
    }
    typeArgs.push_back(std::move(a));
  }
  // An optimizer without a model is a rule: a name and numbers that can travel (S18).
  if (missingModel && !n.isModel)
    return hostValue(types.rule(&n));
  if (!missing.empty()) {
    std::string names;
    for (const GenericParam &g : n.generics)
      names += (names.empty() ? "" : ", ") + g.name;
    diags.report(Code::E0213, callee->outerSpan, "`" + missing + "` of `" + n.name + "` is not known here").help("write it: `" + n.name + "[" + names + "](…)`");
    return errorValue();
  }
  const Type *made = types.nominal(&n, typeArgs, statics);
  if (made->isError())
    return errorValue();
  size_t reports = diags.errorCount();
  if (!inferringField && !insideNominal())
    demandType(made, as<Index>(callee) ? callee->span : callee->outerSpan);
  if (diags.errorCount() != reports)
    return errorValue();
  calls.emplace_back();
  CallInfo &info = calls.back();
  info.target = CallInfo::Construct;
  info.nominal = &n;
  for (size_t p = 0; p < n.params.size(); ++p)
    info.arguments.push_back(slots[p] >= 0 ? args[static_cast<size_t>(slots[p])].expr : nullptr);
  info.bindings = state.bindings;
  info.result = types.onDevice(made, context->device);
  if (slot)
    *slot = &info;
  Value v = valueOf(info.result);
  v.host = n.isHandle;
  return v;
}

} // namespace mx::sema
