// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of `grad` (reverse-mode autodiff) and of functions as values.
#include "Sema/Internals.h"

namespace mx::sema {
using namespace ast;

Value Sema::checkGrad(ast::Grad *e) {
  std::vector<const Type *> gradients;
  bool bad = false;
  for (Expr *target : e->targets) {
    const Value *v = check(target);
    const Type *t = v->type;
    if (t->isError()) {
      bad = true;
      continue;
    }
    bool lvalue = as<Name>(target) || as<Member>(target) || as<Index>(target);
    bool model = isModel(t);
    bool tensor = t->isTensor() && types.isFloat(t->elem) && !(v->literal != Value::NotLiteral);
    if (!lvalue || (!model && !tensor)) {
      Diagnostic &d = diags.report(Code::E0505, target->outerSpan,
                                   lvalue ? "`grad` cannot differentiate by " + show(t)
                                         : "`grad` needs the name of what to differentiate by");
      if (t->isTensor() && !types.isFloat(t->elem))
        d.caret("only floats have gradients");
      else
        d.help("a float tensor, a model or a part of one: `grad(net.fc1, x) { … }`");
      bad = true;
      continue;
    }
    gradients.push_back(model ? types.onDevice(types.grad(t), t->device) : t);
  }
  // Inside the block, the variables of differentiation are not constants, even if their values are
  // known.
  std::vector<std::pair<Symbol *, Value>> known;
  for (Expr *target : e->targets)
    if (auto *name = as<Name>(target); name && name->symbol && name->symbol->value.host) {
      known.push_back({name->symbol, name->symbol->value});
      Value open;
      open.type = name->symbol->value.type;
      name->symbol->value = open;
    }
  const ast::Grad *outer = context->grad;
  context->grad = e;
  const Value *v = checkBlock(e->body, nullptr, true);
  context->grad = outer;
  for (auto &[symbol, value] : known)
    symbol->value = value;
  if (bad || !v || v->type->isError())
    return errorValue();
  const Type *t = v->type->is(Kind::Tuple) ? v->type->parts[0] : v->type;
  if (!t->isScalar() || !types.isFloat(t->elem)) {
    Span at = e->body->stmts.empty() ? e->body->span : e->body->stmts.back()->span;
    Diagnostic &d =
        diags.report(Code::E0505, at, "`grad` differentiates one float, this is " + show(t));
    d.label(e->keyword, "the value of the block is differentiated");
    if (t->isTensor() && types.isFloat(t->elem))
      d.help("reduce it: `….sum()` or `….mean()`");
    return errorValue();
  }
  const Type *g = gradients.size() == 1 ? gradients[0] : types.tuple(gradients);
  return valueOf(types.tuple({v->type, g}));
}

Value Sema::checkLambda(Lambda *e, const Type *expected) {
  Func *func = e->func;
  bool known = expected && expected->is(Kind::Fn) && expected->parts.size() == func->params.size();
  Context ctx = *context;
  ctx.outer = context;
  ctx.returned.clear();
  ctx.loopDepth = 0;
  ctx.loops.clear();
  ctx.scope = newScope(context->scope);
  std::vector<const Type *> params;
  const Type *result = nullptr;
  bool bad = false;
  for (size_t i = 0; i < func->params.size(); ++i) {
    Param &p = func->params[i];
    const Type *type = p.type ? resolveType(p.type) : known ? expected->parts[i] : nullptr;
    if (!type) {
      diags
          .report(Code::E0213, p.name.span,
                  "the type of `" + std::string(p.name.text) + "` is not known here")
          .help("write it: `fn(" + std::string(p.name.text) + ": f32) { … }`");
      type = types.error();
      bad = true;
    }
    Symbol *symbol = newSymbol(SymbolKind::Variable, p.name.text, p.name.span);
    symbol->type = type;
    symbol->isParam = true;
    symbol->isMutParam = p.isMut;
    symbol->bind = p.isMut ? BindKind::Var : BindKind::Let;
    symbol->function = context->function;
    symbol->value = valueOf(type);
    p.symbol = symbol;
    define(*ctx.scope, symbol, /*mayShadow=*/false);
    params.push_back(type);
  }
  ctx.declaredResult = func->result ? resolveType(func->result) : nullptr;
  ctx.resultSpan = func->result ? func->result->span : Span();
  inContext(ctx, [&] {
    const Value *v = checkBlock(func->body, ctx.declaredResult, true);
    if (ctx.declaredResult) {
      if (v)
        checkResult(*v,
                    func->body->stmts.empty() ? func->body->span : func->body->stmts.back()->span,
                    nullptr);
      result = ctx.declaredResult;
    } else {
      result = v ? v->type : ctx.returned.empty() ? types.nothing() : ctx.returned[0].first;
      for (auto &[type, span] : ctx.returned)
        if (!equalTypes(result, type)) {
          diags.report(Code::E0302, span,
                       "this function returns " + show(result) + " and " + show(type));
          bad = true;
        }
    }
  });
  if (bad)
    return errorValue();
  return hostValue(types.fn(std::move(params), result));
}

} // namespace mx::sema
