// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of matmul, `a @ b`.
#include "Sema/Internals.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

Value Sema::matmul(const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  if (!l.type->isTensor() || !r.type->isTensor())
    return notDefined("@", l, r, left, right, opSpan);
  bool scalar = l.type->isScalar() || r.type->isScalar();
  if (scalar) {
    diags.report(Code::E0314, opSpan, "`@` multiplies matrices and vectors, not single values")
        .label(left->outerSpan, show(l))
        .label(right->outerSpan, show(r))
        .help("write `*`");
    return errorValue();
  }
  if (types.isBool(l.type->elem) || types.isBool(r.type->elem))
    return notDefined("@", l, r, left, right, opSpan);
  Elem elem = commonElem("@", l, r, left, right, opSpan);
  if (!elem.valid())
    return errorValue();
  ShapeResult result = matmulShape(l.type->shape, r.type->shape, facts());
  if (result.ok()) {
    addConditions(result.conditions, opSpan);
    return valueOf(types.tensor(elem, result.shape, commonDevice("@", l, r, left, right, opSpan)));
  }
  const ShapeProblem &p = result.problem;
  bool inner =
      p.kind == ShapeProblem::Mismatch && p.axis == static_cast<int>(l.type->shape.size()) - 1;
  if (p.kind == ShapeProblem::RankTooLow) {
    diags.report(Code::E0314, opSpan, "`@` needs to know the last dimensions of both sides")
        .label(left->outerSpan, show(l))
        .label(right->outerSpan, show(r));
    return errorValue();
  }
  if (!inner) {
    Diagnostic &d = diags.report(
        Code::E0308, opSpan, "leading dimensions of `@` differ: " + show(l) + " and " + show(r));
    d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
    if (p.left && p.right)
      d.caret(mayDiffer(p.left, p.right, p.answer));
    return errorValue();
  }
  Dim have = p.left, need = p.right;
  Diagnostic &d = diags.report(Code::E0301, opSpan,
                               "inner dimensions of `@` differ: " + dims.print(need) + " is not " +
                                   dims.print(have));
  d.caret("`" + show(l) + " @ " + show(r) + "` needs " + dims.print(have) +
          " == " + dims.print(need));
  noteOperand(d, left, l, true);
  noteOperand(d, right, r, true);
  // Looks for another tensor in scope that would fit, preferably with a similar name; or a
  // transpose.
  auto fitsHere = [&](const Type *t) {
    return t && t->isTensor() && t->shape.size() >= 2 && t->elem == r.type->elem &&
           matmulShape(l.type->shape, t->shape, facts()).ok() &&
           matmulShape(l.type->shape, t->shape, facts()).conditions.empty();
  };
  auto *name = as<Name>(right);
  Symbol *best = nullptr;
  int bestScore = 1 << 20;
  if (name)
    for (Scope *s = context->scope; s && s != &context->module->scope; s = s->parent)
      for (auto &entry : s->names) {
        Symbol *c = entry.second;
        bool candidate =
            (c->kind == SymbolKind::Variable || c->kind == SymbolKind::Field) && c != name->symbol;
        if (!candidate || !fitsHere(c->type))
          continue;
        int score =
            std::abs(static_cast<int>(c->name.size()) - static_cast<int>(name->text.size())) * 8;
        for (size_t i = 0; i < std::min(c->name.size(), name->text.size()); ++i)
          score += c->name[i] != name->text[i];
        if (score < bestScore || (score == bestScore && c->span.begin < best->span.begin)) {
          best = c;
          bestScore = score;
        }
      }
  if (best) {
    if (best->span.file == opSpan.file)
      d.show(best->span);
    d.help("did you mean `" + operandText(left) + " @ " + std::string(best->name) + "`? it is " +
           show(best->type));
  } else if (ShapeResult t = swapLastTwo(r.type->shape);
             t.ok() && fitsHere(types.tensor(r.type->elem, t.shape))) {
    d.help("transpose it: `" + operandText(left) + " @ " + operandText(right) + ".T`");
  } else if (ShapeResult u = swapLastTwo(l.type->shape);
             u.ok() && matmulShape(u.shape, r.type->shape, facts()).ok()) {
    d.help("transpose it: `" + operandText(left) + ".T @ " + operandText(right) + "`");
  }
  return errorValue();
}

} // namespace mx::sema
