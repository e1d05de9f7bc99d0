// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visitors of the direct children of an expression or a statement, for searches in a subtree.
// Bodies of functions are not visited.
#pragma once
#include "Syntax/Ast.h"

namespace mx::ast {

/// The resolved call of `e`, `f(x)` or `x |> f`; null if `e` is not a call or was not checked.
inline const sema::CallInfo *callOf(const Expr *e) {
  if (auto *call = as<Call>(e))
    return call->info;
  auto *pipe = as<Pipe>(e);
  return pipe ? pipe->info : nullptr;
}

/// Calls `visit` for each direct subexpression of `e`, and `block` for each block.
template <class OnExpr, class VisitBlock>
void children(const Expr *e, const OnExpr &visit, const VisitBlock &block) {
  if (!e)
    return;
  switch (e->kind) {
  case ExprKind::FString:
    for (const FString::Part &part : as<FString>(e)->parts)
      if (part.expr)
        visit(part.expr);
    break;
  case ExprKind::Tuple:
    for (const Expr *x : as<Tuple>(e)->elements)
      visit(x);
    break;
  case ExprKind::List:
    for (const Expr *x : as<ListExpr>(e)->elements)
      visit(x);
    break;
  case ExprKind::Comprehension:
    visit(as<Comprehension>(e)->element);
    for (const Comprehension::Clause &clause : as<Comprehension>(e)->clauses)
      visit(clause.range);
    break;
  case ExprKind::Unary:
    visit(as<Unary>(e)->operand);
    break;
  case ExprKind::Binary:
    visit(as<Binary>(e)->left);
    visit(as<Binary>(e)->right);
    break;
  case ExprKind::Range:
    visit(as<ast::Range>(e)->from);
    visit(as<ast::Range>(e)->to);
    break;
  case ExprKind::Pipe:
    visit(as<Pipe>(e)->left);
    visit(as<Pipe>(e)->right);
    break;
  case ExprKind::Member:
    visit(as<Member>(e)->object);
    break;
  case ExprKind::Call:
    visit(as<Call>(e)->callee);
    for (const Argument &a : as<Call>(e)->args)
      visit(a.value);
    break;
  case ExprKind::Index:
    visit(as<Index>(e)->object);
    for (const IndexArg &a : as<Index>(e)->args)
      for (const Expr *x : {a.value, a.from, a.to, a.step})
        if (x)
          visit(x);
    break;
  case ExprKind::If: {
    auto *branch = as<If>(e);
    visit(branch->condition);
    block(branch->thenBlock);
    if (branch->elseBlock)
      block(branch->elseBlock);
    if (branch->elseIf)
      visit(branch->elseIf);
    break;
  }
  case ExprKind::GraphBlock:
    block(as<GraphBlock>(e)->body);
    break;
  case ExprKind::OnBlock:
    visit(as<OnBlock>(e)->device);
    block(as<OnBlock>(e)->body);
    break;
  case ExprKind::Grad:
    for (const Expr *x : as<Grad>(e)->targets)
      visit(x);
    block(as<Grad>(e)->body);
    break;
  default:
    break;
  }
}

template <class OnExpr, class VisitBlock>
void children(const Stmt *stmt, const OnExpr &visit, const VisitBlock &block) {
  auto maybe = [&](const Expr *e) {
    if (e)
      visit(e);
  };
  switch (stmt->kind) {
  case StmtKind::Expr:
    visit(as<ExprStmt>(stmt)->expr);
    break;
  case StmtKind::Let:
    visit(as<Let>(stmt)->value);
    break;
  case StmtKind::Assign:
    visit(as<Assign>(stmt)->target);
    visit(as<Assign>(stmt)->value);
    break;
  case StmtKind::For:
    visit(as<For>(stmt)->iterable);
    block(as<For>(stmt)->body);
    break;
  case StmtKind::While:
    visit(as<While>(stmt)->condition);
    maybe(as<While>(stmt)->limit);
    block(as<While>(stmt)->body);
    break;
  case StmtKind::Return:
    maybe(as<Return>(stmt)->value);
    break;
  case StmtKind::Raise:
    maybe(as<Raise>(stmt)->value);
    break;
  case StmtKind::Assert:
    visit(as<Assert>(stmt)->condition);
    maybe(as<Assert>(stmt)->message);
    break;
  case StmtKind::Try:
    block(as<Try>(stmt)->body);
    block(as<Try>(stmt)->handler);
    break;
  default:
    break;
  }
}

} // namespace mx::ast
