// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AST analyses before code generation: assigned variables, used variables and sizes, and early
// exits.
#include "IRGen/Emitter.h"
#include "Syntax/Children.h"

namespace mx::irgen {
using namespace ast;

/// The root variable of an lvalue; the receiver's symbol for fields of the model.
Symbol *Emitter::rootOf(const Expr *lvalue) {
  while (lvalue) {
    if (auto *m = as<Member>(lvalue))
      lvalue = m->object;
    else if (auto *i = as<Index>(lvalue))
      lvalue = i->object;
    else
      break;
  }
  auto *name = as<Name>(lvalue);
  if (!name || !name->symbol)
    return nullptr;
  return name->symbol->kind == sema::SymbolKind::Field ? selfSymbol() : name->symbol;
}

void Emitter::assignedIn(const Expr *e, Variables &out) {
  if (!e)
    return;
  auto add = [&](const Expr *lvalue) {
    if (auto *tuple = as<Tuple>(lvalue)) {
      for (const Expr *part : tuple->elements)
        if (Symbol *root = rootOf(part))
          out.insert(root);
    } else if (Symbol *root = rootOf(lvalue)) {
      out.insert(root);
    }
  };
  if (auto *call = as<Call>(e))
    for (const Argument &a : call->args)
      if (a.isMut)
        add(a.value);
  const sema::CallInfo *info = callOf(e);
  // A call of a `mut fn` changes its receiver; a random op without a generator changes the ambient
  // one.
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
    auto add = [&](const Expr *lvalue) {
      if (Symbol *root = rootOf(lvalue))
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

/// Names that refer to variables, in order of occurrence.
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

/// Size names in the types and expressions of an AST subtree, and in the bindings of its calls.
void Emitter::sizesIn(const Expr *whole, std::set<AtomId> &out) {
  std::vector<AtomId> found;
  auto add = [&](Dim dim) {
    if (dim)
      sema.dims.symbols(dim, found);
  };
  std::function<void(const Expr *)> expr;
  std::function<void(const Block *)> inner = [&](const Block *b) {
    for (const Stmt *stmt : b->stmts)
      children(stmt, expr, inner);
  };
  expr = [&](const Expr *e) {
    if (e->checked && e->checked->type)
      shared.instances.symbolsIn(e->checked->type, found);
    if (auto *name = as<Name>(e);
        name && name->symbol && name->symbol->kind == sema::SymbolKind::DimParam)
      add(name->symbol->dim); // a size that is used as a number
    if (const sema::CallInfo *info = callOf(e)) {
      for (auto &[atom, dim] : info->bindings.dims)
        add(dim);
      for (auto &[pack, shape] : info->bindings.packs)
        for (const Axis &axis : shape)
          if (!axis.isPack())
            add(axis.dim);
      for (auto &[variable, type] : info->bindings.types)
        shared.instances.symbolsIn(type, found);
    }
    if (auto *lambda = as<Lambda>(e); lambda && lambda->func->body)
      inner(lambda->func->body);
    children(e, expr, inner);
  };
  expr(whole);
  out.insert(found.begin(), found.end());
}

void Emitter::sizesIn(const Block *block, std::set<AtomId> &out) {
  for (const Stmt *stmt : block->stmts)
    sizesIn(stmt, out);
}

void Emitter::sizesIn(const Stmt *stmt, std::set<AtomId> &out) {
  children(
      stmt, [&](const Expr *e) { sizesIn(e, out); }, [&](const Block *b) { sizesIn(b, out); });
}

/// Whether a type of this body, or a call in it, has the size. A host integer that is only computed
/// with needs no name.
bool Emitter::isUsedAsSize(AtomId atom) {
  if (!sizesOfBody) {
    sizesOfBody = std::make_shared<std::set<AtomId>>();
    if (instance.function && instance.function->syntax->body)
      sizesIn(instance.function->syntax->body, *sizesOfBody);
    else if (instance.construct)
      for (const ast::Field &field : instance.construct->syntax->fields)
        if (field.value)
          sizesIn(field.value, *sizesOfBody);
    for (const Stmt *stmt : topLevel)
      sizesIn(stmt, *sizesOfBody);
  }
  return sizesOfBody->count(atom) != 0;
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
  // Exits of an inner loop end there.
  if (stmt->kind == StmtKind::For || stmt->kind == StmtKind::While)
    exits &= static_cast<uint8_t>(~(Breaks | Continues));
  return exits;
}

} // namespace mx::irgen
