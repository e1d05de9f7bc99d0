// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a piece of the tree assigns, uses, and how it may be left: decided before it is generated.
#include "IRGen/Emitter.h"
#include "Syntax/Children.h"

namespace mx::irgen {
using namespace ast;

/// The variable a place is a part of; the receiver's symbol for fields of the model.
Symbol *Emitter::rootOf(const Expr *place) {
  while (place) {
    if (auto *m = as<Member>(place))
      place = m->object;
    else if (auto *i = as<Index>(place))
      place = i->object;
    else
      break;
  }
  auto *name = as<Name>(place);
  if (!name || !name->symbol)
    return nullptr;
  return name->symbol->kind == sema::SymbolKind::Field ? selfSymbol() : name->symbol;
}

void Emitter::assignedIn(const Expr *e, Variables &out) {
  if (!e)
    return;
  auto add = [&](const Expr *place) {
    if (auto *tuple = as<Tuple>(place)) {
      for (const Expr *part : tuple->elements)
        if (Symbol *root = rootOf(part))
          out.insert(root);
    } else if (Symbol *root = rootOf(place)) {
      out.insert(root);
    }
  };
  if (auto *call = as<Call>(e))
    for (const Argument &a : call->args)
      if (a.isMut)
        add(a.value);
  const sema::CallInfo *info = callOf(e);
  // A call of a `mut fn` changes its receiver; a draw without a generator changes the ambient one.
  if (info && info->function && info->function->isMutMethod()) {
    if (info->receiver)
      add(info->receiver);
    else
      out.insert(selfSymbol());
  }
  out.insert(&rngPlaceholder);
  children(
      e, [&](const Expr *x) { assignedIn(x, out); }, [&](const Block *b) { assignedIn(b, out); });
}

void Emitter::assignedIn(const Stmt *stmt, Variables &out) {
  if (auto *a = as<Assign>(stmt)) {
    auto add = [&](const Expr *place) {
      if (Symbol *root = rootOf(place))
        out.insert(root);
    };
    if (auto *tuple = as<Tuple>(a->target))
      for (const Expr *part : tuple->elements)
        add(part);
    else
      add(a->target);
  }
  if (auto *loop = as<For>(stmt); loop && loop->isMut)
    if (Symbol *root = rootOf(loop->iterable))
      out.insert(root);
  if (stmt->kind == StmtKind::Break)
    out.insert(&brokenFlag);
  if (stmt->kind == StmtKind::Continue)
    out.insert(&continuedFlag);
  if (stmt->kind == StmtKind::Return) {
    out.insert(&returnedFlag);
    out.insert(&returnValue);
  }
  children(
      stmt, [&](const Expr *x) { assignedIn(x, out); },
      [&](const Block *b) { assignedIn(b, out); });
}

void Emitter::assignedIn(const Block *block, Variables &out) {
  for (const Stmt *stmt : block->stmts)
    assignedIn(stmt, out);
}

void Emitter::usedIn(const Block *block, Variables &out) {
  for (const Stmt *stmt : block->stmts)
    children(
        stmt, [&](const Expr *e) { usedIn(e, out); }, [&](const Block *b) { usedIn(b, out); });
}

/// Names that stand for variables, in the order they are met.
void Emitter::usedIn(const Expr *whole, Variables &out) {
  std::function<void(const Expr *)> expr;
  std::function<void(const Block *)> inner = [&](const Block *b) {
    for (const Stmt *stmt : b->stmts)
      children(stmt, expr, inner);
  };
  expr = [&](const Expr *e) {
    if (auto *name = as<Name>(e); name && name->symbol) {
      if (name->symbol->kind == sema::SymbolKind::Variable)
        out.insert(name->symbol);
      else if (name->symbol->kind == sema::SymbolKind::Field)
        out.insert(selfSymbol());
    }
    if (auto *call = as<Call>(e); call && call->info && call->info->function &&
                                  call->info->function->owner && !call->info->receiver)
      out.insert(selfSymbol());
    if (auto *lambda = as<Lambda>(e); lambda && lambda->func->body)
      inner(lambda->func->body);
    children(e, expr, inner);
  };
  expr(whole);
}

bool Emitter::printsIn(const Block *block) {
  bool found = false;
  std::function<void(const Expr *)> expr;
  std::function<void(const Block *)> inner = [&](const Block *b) {
    for (const Stmt *stmt : b->stmts)
      children(stmt, expr, inner);
  };
  expr = [&](const Expr *e) {
    if (const sema::CallInfo *info = callOf(e); info && info->function)
      found |= (info->function->effects & sema::kPrint) != 0 ||
               (info->function->primitive && info->function->primitive->effects == "print");
    children(e, expr, inner);
  };
  inner(block);
  return found;
}

void Emitter::noteOpByOp(Span span, const std::string &what) {
  if (!shared.notedGraphs.insert((uint64_t(span.file) << 32) | span.begin).second)
    return;
  sema.diags.report(Code::N0502, span, what + " prints, so it runs op by op")
      .help("take the `print` out to have it compiled");
}

bool Emitter::mentions(const Expr *e, ArrayRef<Symbol *> symbols) {
  if (auto *name = as<Name>(e); name && llvm::is_contained(symbols, name->symbol))
    return true;
  bool found = false;
  Variables used;
  children(
      e, [&](const Expr *x) { found |= mentions(x, symbols); },
      [&](const Block *b) { usedIn(b, used); });
  if (auto *lambda = as<Lambda>(e); lambda && lambda->func->body)
    usedIn(lambda->func->body, used);
  return found || llvm::any_of(used, [&](Symbol *s) { return llvm::is_contained(symbols, s); });
}

uint8_t Emitter::exitsOf(const Expr *e) {
  uint8_t exits = NoExit;
  children(
      e, [&](const Expr *x) { exits |= exitsOf(x); }, [&](const Block *b) { exits |= exitsOf(b); });
  return exits;
}
uint8_t Emitter::exitsOf(const Block *block) {
  uint8_t exits = NoExit;
  for (const Stmt *stmt : block->stmts)
    exits |= exitsOf(stmt);
  return exits;
}
uint8_t Emitter::exitsOf(const Stmt *stmt) {
  switch (stmt->kind) {
  case StmtKind::Break:
    return Breaks;
  case StmtKind::Continue:
    return Continues;
  case StmtKind::Return:
    return Returns;
  default:
    break;
  }
  uint8_t exits = NoExit;
  children(
      stmt, [&](const Expr *x) { exits |= exitsOf(x); },
      [&](const Block *b) { exits |= exitsOf(b); });
  // What leaves a loop inside ends there.
  if (stmt->kind == StmtKind::For || stmt->kind == StmtKind::While)
    exits &= static_cast<uint8_t>(~(Breaks | Continues));
  return exits;
}

} // namespace mx::irgen
