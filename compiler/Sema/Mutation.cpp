// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who changes what (S4). Whether a `mut fn` changes its receiver is decided after static arguments
// are folded: BatchNorm with train=false has no write left, so an immutable receiver is fine.
#include "Sema/Sema.h"
#include <functional>

namespace mx::sema {
using namespace ast;

std::optional<bool> Sema::staticBool(const Expr *e, const std::map<std::string, bool> &statics) {
  if (auto *b = as<Bool>(e))
    return b->value;
  if (auto *n = as<Name>(e)) {
    auto it = statics.find(std::string(n->text));
    if (it != statics.end())
      return it->second;
  }
  if (auto *u = as<Unary>(e); u && u->op == UnaryOp::Not) {
    auto inner = staticBool(u->operand, statics);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (auto *b = as<Binary>(e); b && (b->op == Tok::KwAnd || b->op == Tok::KwOr)) {
    auto x = staticBool(b->left, statics), y = staticBool(b->right, statics);
    bool stop = b->op == Tok::KwOr;
    if ((x && *x == stop) || (y && *y == stop))
      return stop;
    if (x && y)
      return !stop;
  }
  return std::nullopt;
}

bool Sema::changesReceiver(FunctionInfo &f, const std::map<std::string, bool> &statics, int depth) {
  if (!f.isMutMethod())
    return false;
  if (!f.syntax->body || depth > limits::kMaxTypeDepth)
    return true;
  // Each function is looked into once a question: a write anywhere answers it, so what was seen
  // before adds nothing.
  decltype(mutationSeen) outer;
  if (depth == 0)
    outer.swap(mutationSeen);
  bool changes = false;
  if (mutationSeen.insert({&f, statics}).second) {
    checkBody(f); // the tree's slots say what names mean
    changes = blockChanges(f.syntax->body, f, statics, depth);
  }
  if (depth == 0)
    outer.swap(mutationSeen);
  return changes;
}

bool Sema::blockChanges(const Block *block, FunctionInfo &f,
                        const std::map<std::string, bool> &statics, int depth) {
  if (!block)
    return false;
  for (const Stmt *s : block->stmts) {
    bool changes = false;
    if (auto *a = as<Assign>(s)) {
      std::function<bool(const Expr *)> isField = [&](const Expr *e) -> bool {
        if (auto *t = as<Tuple>(e)) {
          for (const Expr *x : t->elements)
            if (isField(x))
              return true;
          return false;
        }
        while (as<Member>(e) || as<Index>(e))
          e = as<Member>(e) ? as<Member>(e)->object : as<Index>(e)->object;
        auto *n = as<Name>(e);
        return n && n->symbol && n->symbol->kind == SymbolKind::Field;
      };
      changes = isField(a->target) || exprChanges(a->value, f, statics, depth);
    } else if (auto *e = as<ExprStmt>(s)) {
      changes = exprChanges(e->expr, f, statics, depth);
    } else if (auto *l = as<Let>(s)) {
      changes = exprChanges(l->value, f, statics, depth);
    } else if (auto *loop = as<For>(s)) {
      changes = loop->isMut || exprChanges(loop->iterable, f, statics, depth) ||
                blockChanges(loop->body, f, statics, depth);
    } else if (auto *w = as<While>(s)) {
      changes = exprChanges(w->condition, f, statics, depth) ||
                exprChanges(w->limit, f, statics, depth) ||
                blockChanges(w->body, f, statics, depth);
    } else if (auto *r = as<Return>(s)) {
      changes = exprChanges(r->value, f, statics, depth);
    } else if (auto *a = as<Assert>(s)) {
      changes = exprChanges(a->condition, f, statics, depth) ||
                exprChanges(a->message, f, statics, depth);
    } else if (auto *r = as<Raise>(s)) {
      changes = exprChanges(r->value, f, statics, depth);
    } else if (auto *t = as<Try>(s)) {
      changes =
          blockChanges(t->body, f, statics, depth) || blockChanges(t->handler, f, statics, depth);
    }
    if (changes)
      return true;
  }
  return false;
}

bool Sema::exprChanges(const Expr *e, FunctionInfo &f, const std::map<std::string, bool> &statics,
                       int depth) {
  if (!e)
    return false;
  auto any = [&](std::initializer_list<const Expr *> list) {
    for (const Expr *x : list)
      if (exprChanges(x, f, statics, depth))
        return true;
    return false;
  };
  auto fromField = [](const Expr *x) {
    while (x && (as<Member>(x) || as<Index>(x)))
      x = as<Member>(x) ? as<Member>(x)->object : as<Index>(x)->object;
    auto *n = as<Name>(x);
    return n && n->symbol &&
           (n->symbol->kind == SymbolKind::Field || n->symbol->kind == SymbolKind::Method);
  };
  auto callChanges = [&](const CallInfo *info, const List<Argument> *args) {
    if (args)
      for (const Argument &a : *args)
        if (exprChanges(a.value, f, statics, depth) || (a.isMut && fromField(a.value)))
          return true;
    if (!info || !info->function || !info->function->isMutMethod())
      return false;
    // Without a receiver it is a function of the same model, called by its name alone.
    bool own = !info->receiver && info->function->owner == f.owner;
    if (!own && !fromField(info->receiver))
      return false;
    std::map<std::string, bool> inner;
    for (size_t i = 0; i < info->function->params.size() && i < info->arguments.size(); ++i) {
      const ParamInfo &p = info->function->params[i];
      const Expr *given = info->arguments[i] ? info->arguments[i] : p.defaultValue;
      if (auto value = given ? staticBool(given, statics) : std::nullopt)
        inner[p.name] = *value;
    }
    return changesReceiver(*info->function, inner, depth + 1);
  };
  switch (e->kind) {
  case ExprKind::Call: {
    auto *c = as<Call>(e);
    return callChanges(c->info, &c->args) ||
           (as<Member>(c->callee) && exprChanges(as<Member>(c->callee)->object, f, statics, depth));
  }
  case ExprKind::Pipe: {
    auto *p = as<Pipe>(e);
    auto *call = as<Call>(p->right);
    return exprChanges(p->left, f, statics, depth) ||
           callChanges(p->info, call ? &call->args : nullptr);
  }
  case ExprKind::Binary:
    return any({as<Binary>(e)->left, as<Binary>(e)->right});
  case ExprKind::Unary:
    return any({as<Unary>(e)->operand});
  case ExprKind::Member:
    return any({as<Member>(e)->object});
  case ExprKind::Index: {
    auto *i = as<Index>(e);
    for (const IndexArg &a : i->args)
      if (any({a.value, a.from, a.to, a.step}))
        return true;
    return any({i->object});
  }
  case ExprKind::Tuple:
    for (const Expr *x : as<Tuple>(e)->elements)
      if (exprChanges(x, f, statics, depth))
        return true;
    return false;
  case ExprKind::List:
    for (const Expr *x : as<ListExpr>(e)->elements)
      if (exprChanges(x, f, statics, depth))
        return true;
    return false;
  case ExprKind::If: {
    auto *i = as<If>(e);
    if (auto known = staticBool(i->condition, statics)) {
      if (*known)
        return blockChanges(i->thenBlock, f, statics, depth);
      return i->elseIf ? exprChanges(i->elseIf, f, statics, depth)
                       : blockChanges(i->elseBlock, f, statics, depth);
    }
    return any({i->condition, i->elseIf}) || blockChanges(i->thenBlock, f, statics, depth) ||
           blockChanges(i->elseBlock, f, statics, depth);
  }
  case ExprKind::GraphBlock:
    return blockChanges(as<GraphBlock>(e)->body, f, statics, depth);
  case ExprKind::OnBlock:
    return blockChanges(as<OnBlock>(e)->body, f, statics, depth);
  case ExprKind::Grad:
    return blockChanges(as<ast::Grad>(e)->body, f, statics, depth);
  case ExprKind::Comprehension:
    for (const Comprehension::Clause &clause : as<Comprehension>(e)->clauses)
      if (exprChanges(clause.range, f, statics, depth))
        return true;
    return any({as<Comprehension>(e)->element});
  case ExprKind::Range:
    return any({as<ast::Range>(e)->from, as<ast::Range>(e)->to});
  default:
    return false;
  }
}

void Sema::checkReceiver(FunctionInfo &f, Expr *receiver, const Value &value,
                         const std::vector<ParamInfo> &params, const std::vector<Arg> &args,
                         const std::vector<int> &slots, Span at) {
  if (!f.isMutMethod() || value.mutablePlace)
    return;
  // A field of the receiver of a `mut fn` is mutable; of a plain `fn` it is not.
  std::map<std::string, bool> statics;
  for (size_t i = 0; i < params.size(); ++i) {
    const Expr *given =
        slots[i] >= 0 ? args[static_cast<size_t>(slots[i])].expr : params[i].defaultValue;
    const Value *v = given ? given->checked : nullptr;
    if (v && v->constant == Value::BoolConstant)
      statics[params[i].name] = v->flag;
    else if (given)
      if (auto known = staticBool(given, {}))
        statics[params[i].name] = *known;
  }
  if (!changesReceiver(f, statics))
    return;
  Symbol *root = value.root;
  std::string name = receiver ? textOf(receiver) : f.owner ? f.owner->name : "the model";
  Diagnostic &d =
      diags.report(Code::E0212, at, "`" + f.name + "` changes `" + name + "`, which cannot change");
  if (root && root->span.valid()) {
    if (root->kind == SymbolKind::Field)
      d.caret("this is a plain `fn`")
          .help("write `mut fn " +
                (context->function ? context->function->name : std::string("call")) + "(…)`");
    else if (root->isParam)
      d.label(root->span, "a parameter")
          .help("write `mut " + std::string(root->name) + "` in the parameter list");
    else
      d.label(root->span, root->bind == BindKind::Const ? "bound with `const`" : "bound with `let`")
          .help("make it a `var`: `var " + std::string(root->name) + " = …`");
  } else {
    d.help("give it a name: `var net = …`");
  }
  std::string declared = declaredNote(f, " as a `mut fn`");
  if (!declared.empty())
    d.note(declared);
}

} // namespace mx::sema
