// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of assignments (`x = v`, `x += v`, `x[i] = v`): which lvalues are assignable, and
// loop-carried variables (E0501).
#include "Sema/Internals.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

namespace {
Symbol *rootSymbol(const Expr *e) {
  while (e) {
    if (auto *m = as<Member>(e))
      e = m->object;
    else if (auto *i = as<Index>(e))
      e = i->object;
    else
      break;
  }
  auto *name = as<Name>(e);
  return name ? name->symbol : nullptr;
}
} // namespace

void Sema::checkAssign(Assign *a) {
  if (a->op == Tok::Equal) {
    if (auto *name = as<Name>(a->target); name && !lookup(name->text)) {
      check(a->value);
      diags.report(Code::E0801, name->span, "`" + std::string(name->text) + "` is not defined")
          .help("a new name is made with `let` (or `var`, if it changes): `let " + textOf(a->span) +
                "`");
      return;
    }
    const Type *expected = nullptr;
    if (as<Name>(a->target) || as<Member>(a->target) || as<Index>(a->target))
      expected = check(a->target)->type;
    const Value *value = check(a->value, expected && !expected->isError() ? expected : nullptr);
    assignTo(a->target, *value, a->value, a);
    return;
  }
  static const std::map<Tok, Tok> plain = {{Tok::PlusEqual, Tok::Plus},
                                           {Tok::MinusEqual, Tok::Minus},
                                           {Tok::StarEqual, Tok::Star},
                                           {Tok::SlashEqual, Tok::Slash}};
  const Value *target = check(a->target);
  const Value *value = check(a->value);
  if (target->type->isError() || value->type->isError())
    return;
  // `model -= gradient` updates parameters only.
  if (isModel(target->type) && value->type->is(Kind::Grad) &&
      (a->op == Tok::PlusEqual || a->op == Tok::MinusEqual)) {
    if (!equalTypes(types.grad(target->type), value->type)) {
      diags.report(Code::E0202, a->opSpan, show(*value) + " does not belong to " + show(*target))
          .label(a->target->outerSpan, show(*target))
          .label(a->value->outerSpan, show(*value));
      return;
    }
    assignTo(a->target, *target, a->value, a);
    return;
  }
  Value result = arithmeticOn(plain.at(a->op), *target, *value, a->target, a->value, a->opSpan);
  if (result.type->isError())
    return;
  // A compound assignment keeps the element type and the shape of its target.
  assignTo(a->target, result, a->value, a);
}

void Sema::assignTo(Expr *target, const Value &value, Expr *valueExpr, const Assign *whole) {
  if (auto *tuple = as<Tuple>(target)) {
    const Type *t = value.type;
    if (t->isError())
      return;
    if (!t->is(Kind::Tuple) || t->parts.size() != tuple->elements.size()) {
      diags.report(Code::E0214, target->span,
                   "the left side has " + std::to_string(tuple->elements.size()) +
                       " parts, the value is " + show(t));
      return;
    }
    auto *parts = as<Tuple>(valueExpr);
    for (size_t i = 0; i < tuple->elements.size(); ++i) {
      Expr *partExpr = parts && parts->elements.size() == tuple->elements.size()
                           ? parts->elements[i]
                           : valueExpr;
      Value part = parts && partExpr->checked ? *partExpr->checked : valueOf(t->parts[i]);
      assignTo(tuple->elements[i], part, partExpr, whole);
    }
    return;
  }
  if (!as<Name>(target) && !as<Member>(target) && !as<Index>(target)) {
    diags.report(Code::E0218, target->outerSpan, "this cannot be assigned to")
        .help("a `var`, a part of one (`x[i]`, `net.w`) or a tuple of these can");
    return;
  }
  const Value *lvalue = target->checked ? target->checked : check(target);
  if (lvalue->type->isError() || value.type->isError())
    return;
  Symbol *root = rootSymbol(target);
  if (!lvalue->isLvalue) {
    std::string name(root ? root->name : std::string_view("it"));
    // `x.T` and `x.shape` of a `var` are computed, not stored. They are not lvalues.
    bool computed = root && root->kind == SymbolKind::Variable && root->bind == BindKind::Var;
    if (!root || computed ||
        (root->kind != SymbolKind::Variable && root->kind != SymbolKind::Field)) {
      Diagnostic &d = diags.report(Code::E0218, target->outerSpan, "this cannot be assigned to");
      if (computed)
        d.help("assign to the variable it comes from: `" + name + " = …`");
      return;
    }
    Diagnostic &d = diags.report(Code::E0204, target->outerSpan, "`" + name + "` cannot change");
    if (root->kind == SymbolKind::Field)
      d.caret("only a `mut fn` may change the fields of its model")
          .help("write `mut fn " +
                (context->function ? context->function->name : std::string("call")) + "(…)`");
    else if (root->isLoopVariable)
      d.caret("it is the variable of a loop")
          .help("write `for mut " + name + " in …` to change the elements");
    else if (root->isParam)
      d.label(root->span, "a parameter")
          .help("write `mut " + name + "` in the parameter list, or copy it: `var " + name + " = " +
                name + "`");
    else
      d.label(root->span, root->bind == BindKind::Const ? "bound with `const`" : "bound with `let`")
          .help("make it a `var`: `var " + name + " = …`");
    return;
  }
  Mismatch mismatch;
  // One number fits a region of any shape: `x[1:3] = 0.0`.
  bool fillsRegion = as<Index>(target) && lvalue->type->isTensor() && value.type->isTensor() &&
                     value.type->isScalar() &&
                     fits(value, types.tensor(lvalue->type->elem, {}, lvalue->type->device));
  if (!fillsRegion && !fits(value, lvalue->type, &mismatch)) {
    auto *name = as<Name>(target);
    if (name && root && root->kind == SymbolKind::Variable &&
        context->loopDepth > root->scopeDepth && value.type->isTensor() &&
        lvalue->type->isTensor()) {
      carryMismatch(root, value.type, valueExpr, whole);
      return;
    }
    Diagnostic &d = diags.report(Code::E0202, valueExpr->outerSpan,
                                 "`" + textOf(target) + "` is " + show(*lvalue) +
                                     ", it cannot become " + show(value));
    d.caret(show(value));
    if (mismatch.axis >= 0 && dims.print(mismatch.want) == dims.print(mismatch.have))
      d.note("dimension " + std::to_string(mismatch.axis) + ": " + dims.print(mismatch.want) +
             ownersNote(mismatch.want, mismatch.have));
    if (root && root->span.valid() && name)
      d.label(root->span, show(*lvalue) + " from here on");
    if (lvalue->type->isTensor() && value.type->isTensor() &&
        !(lvalue->type->elem == value.type->elem) && lvalue->type->isScalar() &&
        types.isInt(lvalue->type->elem) && types.isFloat(value.type->elem) && root && root->initial)
      d.help("start with a float: `var " + std::string(root->name) + " = " + textOf(root->initial) +
             ".0`");
    else if (lvalue->type->isTensor() && value.type->isTensor() &&
             !(lvalue->type->elem == value.type->elem) &&
             lvalue->type->shape.size() == value.type->shape.size())
      d.help("convert it: `" + types.print(lvalue->type->elem) + "(" + textOf(valueExpr) + ")`");
    return;
  }
  if (lvalue->type->isTensor() && value.type->isTensor() &&
      !literalFits(value, lvalue->type->elem, valueExpr->outerSpan))
    return;
  // A variable of an earlier input is already compiled. It stays on the host, and an assignment
  // waits for the value.
  bool isSettled = root && root->isModuleLevel && root->span.file != target->span.file;
  if (root && root->kind == SymbolKind::Variable && !value.host && !isSettled)
    root->value.host = false;
}

/// E0501: a loop-carried variable keeps one type in all iterations.
void Sema::carryMismatch(Symbol *variable, const Type *have, Expr *value, const Assign *whole) {
  Diagnostic &d =
      diags.report(Code::E0501, value->outerSpan,
                   "`" + std::string(variable->name) + "` changes its type in the loop");
  d.label(variable->span, show(variable->type) + " when the loop starts");
  d.caret(show(have) + " at the end of the first iteration");
  const Stmt *loop = nullptr;
  for (const Stmt *l : context->loops)
    if (l->span.begin > variable->span.begin) {
      loop = l;
      break;
    }
  if (loop)
    d.show({loop->span.file, loop->span.begin, loop->span.begin});
  d.note("a loop-carried variable keeps one type, so that its memory can be planned");
  // `h = concat(h, piece, axis=…)` in `for t in 0..T`: suggests a tensor that is allocated before
  // the loop.
  auto *call = as<Call>(value);
  auto *callee = call ? as<Name>(call->callee) : nullptr;
  auto *over = loop ? as<For>(loop) : nullptr;
  auto *range = over ? as<ast::Range>(over->iterable) : nullptr;
  if (callee && callee->text == "concat" && call->args.size() >= 2 && range &&
      over->pattern->name.valid()) {
    Expr *piece = call->args[1].value;
    if (piece->checked && piece->checked->type->isTensor() && !as<Name>(piece)) {
      std::string name = std::string(variable->name) + "s";
      const Shape &s = piece->checked->type->shape;
      std::string sizes = textOf(range->to);
      for (const Axis &axis : s)
        sizes += ", " + (axis.isPack() ? "..." : dims.print(axis.dim));
      d.help("collect the iterations instead: `var " + name + " = zeros([" + sizes + "])` and `" +
             name + "[" + std::string(over->pattern->name.text) + "] = " + textOf(piece) + "`");
    }
  }
  (void)whole;
}

} // namespace mx::sema
