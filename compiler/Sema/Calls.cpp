// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call resolution: function, method, builtin, conversion, construction, or application of a model.
#include "Sema/Internals.h"
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
  bool ofData =
      first->is(Kind::Dataset) || first->is(Kind::Loader); // `set.take(n)` is not `take(x, index)`
  if (Symbol *s = ofData ? nullptr : lookupFunction(name))
    return s->functions[0];
  // The module that defines a type offers its functions too: `set.shard(0, 2)` needs no import.
  ModuleInfo *home = nullptr;
  if (first->is(Kind::Nominal))
    home = first->nominal->module;
  else if (ofData)
    home = loadModule("data", Span{primitives->syntax->file, 0, 0}, options.stdlib);
  else if (first->is(Kind::Rule))
    home = first->nominal ? first->nominal->module : nullptr;
  if (home) {
    auto it = home->scope.names.find(name);
    if (it != home->scope.names.end() && it->second->kind == SymbolKind::Function) {
      mention(home->scope, it->first, it->second);
      return it->second->functions[0];
    }
  }
  Symbol *s = ofData ? lookupFunction(name) : nullptr;
  return s ? s->functions[0] : nullptr;
}

Value Sema::callExpr(Expr *callee, std::vector<Arg> args, Expr *whole, Span argsSpan,
                     const CallInfo **slot, const Type *expected) {
  auto checkRest = [&] {
    for (Arg &a : args)
      check(a.expr);
    return errorValue();
  };
  Symbol *symbol = nullptr;
  if (Watch watch; isWatched(callee, watch))
    return watch.graph
               ? callWatched(watch, std::move(args), callee, whole, argsSpan, slot, expected)
               : checkRest();
  if (auto *name = as<Name>(callee)) {
    symbol = lookup(name->text);
    if (!symbol) {
      if (auto element = elementNamed(name->text))
        return convertElement(*element, args, whole);
      checkRest();
      if (name->text == "range" && !args.empty()) {
        diags.report(Code::E0801, callee->span, "`range` is not defined")
            .help("write `" +
                  (args.size() == 1 ? "0.." + textOf(args[0].expr)
                                    : textOf(args[0].expr) + ".." + textOf(args[1].expr)) +
                  "`");
        return errorValue();
      }
      unknownName(name->text, callee->span, callee);
      return errorValue();
    }
    name->symbol = symbol;
    symbol->used = true;
  } else if (auto *member = as<Member>(callee)) {
    // A member of a module, or of a value.
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
          return callFunction(*it->second, member->object, object, std::move(args), callee, whole,
                              argsSpan, slot, expected);
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
          if (isModel(model)) {
            calls.emplace_back();
            CallInfo &info = calls.back();
            info.target = CallInfo::Construct;
            info.nominal = t->nominal;
            info.receiver = member->object;
            info.arguments.assign(t->nominal->params.size(), nullptr);
            info.result = types.nominal(t->nominal, {arg}, {});
            if (slot)
              *slot = &info;
            return valueOf(info.result);
          }
          if (model->isError())
            return errorValue();
        }
        diags.report(Code::E0207, argsSpan, "`init` takes the model to optimize");
        return errorValue();
      }
      bool isField = (t->is(Kind::Nominal) && t->nominal->field(name)) || (t->is(Kind::Grad));
      if (!isField) {
        if (FunctionInfo *f = findFreeFunction(name, t)) {
          Symbol *s = lookupFunction(name);
          if (s && s->functions[0] != f)
            s = nullptr;
          args.insert(args.begin(),
                      Arg{member->object, {}, {}, false, member->object->outerSpan, object});
          if (s)
            return callOverloads(s->functions, std::move(args), callee, whole, argsSpan, slot,
                                 expected);
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
      return callOverloads(symbol->functions, std::move(args), callee, whole, argsSpan, slot,
                           expected);
    case SymbolKind::Method: {
      // A method of the same model, called by its unqualified name.
      Value self = valueOf(symbol->nominal->self);
      self.isLvalue = context->function && context->function->isMutMethod();
      return callFunction(*symbol->functions[0], nullptr, &self, std::move(args), callee, whole,
                          argsSpan, slot, expected);
    }
    case SymbolKind::Nominal:
      return construct(*symbol->nominal, nullptr, std::move(args), callee, whole, argsSpan, slot,
                       expected);
    case SymbolKind::Alias: {
      const Type *type = typeFromExpr(callee);
      if (!type || type->isError())
        return checkRest();
      if (type->isTensor()) {
        diags.report(Code::E0208, callee->span, show(type) + " is not constructed")
            .help("write `zeros()` where the type is expected, or `zeros([…])`");
        return checkRest();
      }
      if (!type->is(Kind::Nominal)) {
        diags.report(Code::E0208, callee->span, show(type) + " cannot be constructed");
        return checkRest();
      }
      return construct(*type->nominal, type, std::move(args), callee, whole, argsSpan, slot,
                       expected);
    }
    case SymbolKind::ElemParam:
      return convertElement(symbol->elem, args, whole);
    case SymbolKind::Module:
    case SymbolKind::DimParam:
    case SymbolKind::PackParam:
    case SymbolKind::TypeParam:
      diags.report(Code::E0208, callee->span, "`" + textOf(callee) + "` cannot be called")
          .label(symbol->span, "defined here");
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
          diags.report(Code::E0208, callee->span, show(type) + " is not constructed")
              .help("write `zeros([…])`, or convert with `f32(x)`");
          return checkRest();
        }
        return construct(*type->nominal, type, std::move(args), callee, whole, argsSpan, slot,
                         expected);
      }
      return callValue(*v, callee, std::move(args), whole, argsSpan, slot, expected);
    }
  }
  const Value *v = check(callee);
  if (v->type->isError())
    return checkRest();
  return callValue(*v, callee, std::move(args), whole, argsSpan, slot, expected);
}

/// Calls a value: a function value, or a model through its `call`.
Value Sema::callValue(const Value &v, Expr *callee, std::vector<Arg> args, Expr *whole,
                      Span argsSpan, const CallInfo **slot, const Type *expected) {
  if (v.type->is(Kind::Fn))
    return callFnValue(v, args, callee, whole, argsSpan);
  if (v.type->is(Kind::Nominal)) {
    resolveFields(*v.type->nominal);
    auto it = v.type->nominal->methods.find("call");
    if (it != v.type->nominal->methods.end())
      return callFunction(*it->second, callee, &v, std::move(args), callee, whole, argsSpan, slot,
                          expected);
    diags.report(Code::E0208, callee->outerSpan, show(v) + " cannot be called")
        .help("give `" + v.type->nominal->name + "` a function `call`");
  } else {
    Diagnostic &d = diags.report(Code::E0208, callee->outerSpan,
                                 "`" + textOf(callee) + "` cannot be called: it is " + show(v));
    if (v.type->isTensor() && !v.type->shape.empty())
      d.help("an index is written in brackets: `" + textOf(callee) + "[…]`");
  }
  for (Arg &a : args)
    check(a.expr);
  return errorValue();
}

Value Sema::callFnValue(const Value &f, std::vector<Arg> &args, Expr *callee, Expr *whole,
                        Span argsSpan) {
  bool bad = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Value *v = check(args[i].expr, i < f.type->parts.size() ? f.type->parts[i] : nullptr);
    bad |= v->type->isError();
    if (i < f.type->parts.size() && !bad)
      bad |= !require(*v, f.type->parts[i], args[i].span, "argument " + std::to_string(i + 1));
  }
  if (args.size() != f.type->parts.size()) {
    diags
        .report(Code::E0207, argsSpan,
                "this function takes " + std::to_string(f.type->parts.size()) +
                    (f.type->parts.size() == 1 ? " argument, " : " arguments, ") +
                    std::to_string(args.size()) + (args.size() == 1 ? " is given" : " are given"))
        .label(callee->outerSpan, show(f));
    bad = true;
  }
  (void)whole;
  return bad ? errorValue() : valueOf(f.type->element ? f.type->element : types.nothing());
}

/// Element type conversion: f16(x) has the values of x in another element type.
Value Sema::convertElement(Elem elem, std::vector<Arg> &args, Expr *whole) {
  if (args.size() != 1 || !args[0].name.empty()) {
    for (Arg &a : args)
      check(a.expr);
    diags.report(Code::E0207, whole->span,
                 "a conversion takes one value: `" + types.print(elem) + "(x)`");
    return errorValue();
  }
  const Value *v = check(args[0].expr);
  if (v->type->isError())
    return errorValue();
  if (!v->type->isTensor()) {
    Diagnostic &d = diags.report(Code::E0206, args[0].span,
                                 show(*v) + " cannot be converted to " + types.print(elem));
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
  // `number` is not rounded yet: what a narrower type would round is left to the code.
  bool isExact = v->literal != Value::NotLiteral || v->dim || v->type->elem.is(ElementType::F64) ||
                 v->type->elem == elem;
  if (auto number = constantNumber(*v); number && types.isFloat(elem) && isExact) {
    r.constant = Value::FloatConstant;
    r.number = *number;
  }
  return r;
}

Value Sema::callOverloads(const std::vector<FunctionInfo *> &set, std::vector<Arg> args,
                          Expr *callee, Expr *whole, Span argsSpan, const CallInfo **slot,
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
  return callFunction(*chosen, nullptr, nullptr, std::move(args), callee, whole, argsSpan, slot,
                      expected);
}

} // namespace mx::sema
