// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of `for` and `while`, and of iterable types.
#include "Sema/Internals.h"
#include <functional>

namespace mx::sema {
using namespace ast;

const Type *Sema::iterationType(const Value &iterable, Expr *expr, For *loop, Value &element) {
  const Type *t = iterable.type;
  switch (t->kind) {
  case Kind::Error:
    return types.error();
  case Kind::Range: {
    element = hostValue(types.scalar(ElementType::I64));
    auto *range = as<ast::Range>(expr);
    Dim from = range && range->from->checked ? range->from->checked->dim : Dim();
    Dim to = range && range->to->checked ? range->to->checked->dim : Dim();
    bool positive = from && facts().lessEqual(dims.constant(0), from).proved();
    std::string name =
        loop && loop->pattern->name.valid() ? std::string(loop->pattern->name.text) : "i";
    DimSymbol index{name, SymbolRole::LoopIndex, positive, expr->span};
    // In a graph, a loop with constant bounds is unrolled if its index is used as a size.
    element.dim = isNumberInGraph(from) && isNumberInGraph(to) ? dims.newSymbolDim(std::move(index))
                                                               : newRunSize(std::move(index));
    if (from)
      facts().assume({Relation::LessEqual, from, element.dim, expr->span});
    if (to)
      facts().assume(
          {Relation::LessEqual, dims.add(element.dim, dims.constant(1)), to, expr->span});
    return element.type;
  }
  case Kind::Array:
    element = valueOf(t->element);
    return t->element;
  case Kind::Progress: {
    Value inner = iterable;
    inner.type = t->element;
    return iterationType(inner, expr, loop, element);
  }
  case Kind::Dataset: {
    element = valueOf(t->parts.size() == 1 ? t->parts[0] : types.tuple(t->parts));
    return element.type;
  }
  case Kind::Loader: {
    Dim batch = t->count;
    if (!batch) {
      batch = dims.newSymbolDim({"n", SymbolRole::Fresh, true, expr->span});
      auto bound = loaderBounds.find(t);
      if (bound != loaderBounds.end())
        facts().assume({Relation::LessEqual, batch, bound->second, expr->span});
    }
    std::vector<const Type *> parts;
    for (const Type *item : t->parts)
      parts.push_back(batched(item, batch));
    element = valueOf(parts.size() == 1 ? parts[0] : types.tuple(parts));
    return element.type;
  }
  default: {
    if (isQueue(t)) {
      addEffect(kWait, expr->span, "for", "waits for an element of a queue", nullptr);
      element = valueOf(t->args[0].type);
      return element.type;
    }
    Diagnostic &d =
        diags.report(Code::E0223, expr->outerSpan, "this cannot be looped over: it is " + show(t));
    if (t->isTensor() && !t->shape.empty() && !t->shape[0].isPack())
      d.help("loop over its indices: `for i in 0.." + dims.print(t->shape[0].dim) + " { … " +
             operandText(expr) + "[i] … }`");
    else if (t->isScalar() && types.isInt(t->elem))
      d.help("write a range: `0.." + textOf(expr) + "`");
    return types.error();
  }
  }
}

void Sema::checkFor(For *loop) {
  const Value *iterable = check(loop->iterable);
  size_t factCount = facts().size();
  Value element;
  const Type *type = iterationType(*iterable, loop->iterable, loop, element);
  loopElements[loop] = element.type ? element.type : type;
  Scope *outer = context->scope;
  context->scope = newScope(outer);
  ++context->loopDepth;
  context->loops.push_back(loop);
  if (element.type)
    bindPattern(loop->pattern, type, &element, BindKind::Let, nullptr, {});
  else
    bindPattern(loop->pattern, type, nullptr, BindKind::Let, nullptr, {});
  // Marks the names that the loop binds, and their mutability.
  std::function<void(Pattern *, size_t)> mark = [&](Pattern *p, size_t position) {
    for (size_t i = 0; i < p->parts.size(); ++i)
      mark(p->parts[i], i);
    if (!p->symbol)
      return;
    p->symbol->isLoopVariable = true;
    if (auto it = leafMutability.find(loop->iterable); it != leafMutability.end()) {
      if (position < it->second.size() && it->second[position])
        p->symbol->bind = BindKind::Var;
      p->symbol->origin = "leaf";
    } else if (loop->isMut && iterable->type->is(Kind::Array)) {
      p->symbol->bind = BindKind::Var;
    }
    const Type *over =
        iterable->type->is(Kind::Progress) ? iterable->type->element : iterable->type;
    if (over->is(Kind::Loader) && !over->note.empty())
      p->symbol->origin = over->note;
  };
  mark(loop->pattern, 0);
  if (loop->isMut && !iterable->type->isError()) {
    bool leaf = leafMutability.count(loop->iterable);
    bool changes = iterable->type->is(Kind::Array) || iterable->type->is(Kind::Loader);
    if (!changes || leaf)
      diags.report(Code::E0210, loop->iterable->span,
                   "`for mut` changes the elements of an array or moves a loader on, this is " +
                       show(*iterable));
    else if (!iterable->isLvalue)
      diags
          .report(Code::E0204, loop->iterable->outerSpan,
                  "`" + textOf(loop->iterable) + "` cannot change")
          .help("`for mut` needs a `var`, or a field in a `mut fn`");
  }
  checkBlock(loop->body, nullptr, false);
  context->loops.pop_back();
  --context->loopDepth;
  context->scope = outer;
  facts().truncate(factCount);
}

void Sema::checkWhile(While *loop) {
  checkCondition(loop->condition, "`while`");
  if (loop->limit) {
    const Value *v = check(loop->limit);
    if (!v->type->isError() && !(v->type->isScalar() && types.isInt(v->type->elem) && v->host))
      diags.report(Code::E0216, loop->limit->span,
                   "the limit of a loop is a whole number known before it starts");
  }
  ++context->loopDepth;
  context->loops.push_back(loop);
  checkBlock(loop->body, nullptr, false);
  context->loops.pop_back();
  --context->loopDepth;
  if (!loop->limit)
    noteUnboundedWhile(loop);
}

} // namespace mx::sema
