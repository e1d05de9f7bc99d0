// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of sizes and indices that are written without spaces, and priorities of line breaks.
#include "Syntax/FormatTokens.h"

namespace mx::format {
using namespace ast;

bool isSum(Tok op) { return op == Tok::Plus || op == Tok::Minus; }
bool isMultiplicative(Tok op) {
  return op == Tok::Star || op == Tok::Slash || op == Tok::SlashSlash || op == Tok::Percent;
}

int8_t levelOf(Tok op) {
  switch (op) {
  case Tok::KwOr:
    return kOr;
  case Tok::KwAnd:
    return kAnd;
  case Tok::Plus:
  case Tok::Minus:
    return kSum;
  case Tok::Star:
  case Tok::Slash:
  case Tok::SlashSlash:
  case Tok::Percent:
  case Tok::At:
    return kMultiplicative;
  case Tok::StarStar:
    return kPower;
  default:
    return kComparison;
  }
}

bool isSimple(const Expr *e) {
  if (!e || e->parens)
    return false;
  switch (e->kind) {
  case ExprKind::Name:
  case ExprKind::Number:
    return true;
  case ExprKind::Member:
    return isSimple(as<Member>(e)->object);
  case ExprKind::Call:
    return isSimple(as<Call>(e)->callee);
  case ExprKind::Index:
    return isSimple(as<Index>(e)->object);
  case ExprKind::Unary:
    return as<Unary>(e)->op == UnaryOp::Negate && isSimple(as<Unary>(e)->operand);
  default:
    return false;
  }
}

bool isSimpleTerm(const Expr *e) {
  auto *b = as<Binary>(e);
  if (!b || !isMultiplicative(b->op) || !isSimple(b->right))
    return false;
  return isSimple(b->left) || (b->left && !b->left->parens && isSimpleTerm(b->left));
}

bool isSimpleSum(const Expr *e) {
  auto *b = as<Binary>(e);
  return b && isSum(b->op) && isSimple(b->left) && isSimple(b->right);
}

bool isNarrow(const Expr *e) {
  return !e || isSimple(e) || (!e->parens && (isSimpleTerm(e) || isSimpleSum(e)));
}

} // namespace mx::format
