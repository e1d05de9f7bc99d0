// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tree walk of the formatter: marks unary `-`, the `=` of arguments, operators without spaces, and
// the starts of statements and blocks.
#include "Syntax/FormatTokens.h"
#include <algorithm>

namespace mx::format {
using namespace ast;
namespace {

class Marker {
public:
  Marker(FormatTokens &p, TreeFacts &f) : program(p), facts(f) {}

  void module(const Module &m) {
    for (const Stmt *s : m.items) {
      if (!s)
        continue;
      facts.moduleStarts.push_back(startOf(s));
      if (s->kind == StmtKind::Expr || s->kind == StmtKind::Let)
        facts.mutableEnds.push_back(s->span.end);
      stmt(s);
    }
  }

private:
  FormatTokens &program;
  TreeFacts &facts;
  int whereDepth = 0;

  FormatToken *tokenAt(uint32_t offset) {
    int i = program.at(offset);
    bool found = i < static_cast<int>(program.tokens.size()) && program.tokens[i].begin == offset;
    return found ? &program.tokens[i] : nullptr;
  }
  /// The token before the one at this offset.
  FormatToken *tokenBefore(uint32_t offset) {
    int i = program.at(offset);
    return i > 0 ? &program.tokens[i - 1] : nullptr;
  }
  FormatToken *tokenAfter(uint32_t offset) {
    int i = program.at(offset);
    return i < static_cast<int>(program.tokens.size()) ? &program.tokens[i] : nullptr;
  }
  static uint32_t startOf(const Stmt *s) {
    return s->attributes.empty() ? s->span.begin : s->attributes[0].span.begin;
  }

  void operatorAt(Span span, int8_t level) {
    if (FormatToken *t = tokenAt(span.begin)) {
      t->level = level;
      t->weak = whereDepth > 0;
    }
  }
  void assignAt(FormatToken *t) {
    if (t && t->kind != Tok::LParen && t->kind != Tok::LBracket) {
      t->level = kAfterOpen;
      t->weak = true;
    }
  }

  // ---- operators of sizes and indices
  void tightAt(const Binary *b) {
    if (FormatToken *t = tokenAt(b->opSpan.begin))
      t->tight = true;
  }
  void tightAll(const Expr *e) {
    auto *b = as<Binary>(e);
    if (!b || (!isSum(b->op) && !isMultiplicative(b->op)))
      return;
    tightAt(b);
    for (const Expr *side : {b->left, b->right})
      if (side && !side->parens)
        tightAll(side);
  }
  void size(const Expr *e) {
    if (isSimpleTerm(e) || isSimpleSum(e))
      tightAll(e);
    else
      longSize(e);
  }
  void longSize(const Expr *e) {
    auto *b = as<Binary>(e);
    if (!b || (!isSum(b->op) && !isMultiplicative(b->op)))
      return;
    for (const Expr *side : {b->left, b->right}) {
      if (side && !side->parens && isSum(b->op) && isSimpleTerm(side))
        tightAll(side);
      else
        longSize(side);
    }
  }
  void slice(const IndexArg &arg) {
    bool wide = !isNarrow(arg.from) || !isNarrow(arg.to) || !isNarrow(arg.step);
    auto mark = [&](FormatToken *t) {
      if (!t || t->kind != Tok::Colon)
        return static_cast<FormatToken *>(nullptr);
      t->sliceColon = true;
      t->wideColon = wide;
      return t;
    };
    FormatToken *first =
        mark(arg.from ? tokenAfter(arg.from->outerSpan.end) : tokenAt(arg.span.begin));
    if (first && arg.to)
      mark(tokenAfter(arg.to->outerSpan.end));
    else if (first && first + 1 < program.tokens.data() + program.tokens.size())
      mark(first + 1);
    for (const Expr *bound : {arg.from, arg.to, arg.step})
      if (bound)
        size(bound);
  }

  // ---- expressions
  void exprs(const List<Expr *> &list) {
    for (const Expr *e : list)
      expr(e);
  }
  void args(const List<Argument> &list) {
    for (const Argument &arg : list) {
      if (arg.name.valid())
        if (FormatToken *t = tokenAfter(arg.name.span.end); t && t->kind == Tok::Equal)
          t->argEqual = true;
      expr(arg.value);
    }
  }

  void expr(const Expr *e) {
    if (!e)
      return;
    switch (e->kind) {
    case ExprKind::Number:
    case ExprKind::String:
    case ExprKind::FString: // kept verbatim
    case ExprKind::Bool:
    case ExprKind::Name:
    case ExprKind::Error:
      return;
    case ExprKind::Tuple:
      return exprs(as<Tuple>(e)->elements);
    case ExprKind::List:
      return exprs(as<ListExpr>(e)->elements);
    case ExprKind::Comprehension: {
      auto *c = as<Comprehension>(e);
      expr(c->element);
      if (c->element)
        if (FormatToken *t = tokenAfter(c->element->outerSpan.end); t && t->kind == Tok::KwFor) {
          t->level = kPipe;
          t->breakBefore = true;
        }
      for (const Comprehension::Clause &clause : c->clauses)
        expr(clause.range);
      return;
    }
    case ExprKind::Unary: {
      auto *u = as<Unary>(e);
      if (u->op == UnaryOp::Negate)
        if (FormatToken *t = tokenAt(e->span.begin))
          t->unary = true;
      return expr(u->operand);
    }
    case ExprKind::Binary: {
      auto *b = as<Binary>(e);
      operatorAt(b->opSpan, levelOf(b->op));
      expr(b->left);
      return expr(b->right);
    }
    case ExprKind::Range: {
      auto *r = as<Range>(e);
      for (const Expr *end : {r->from, r->to}) {
        if (end && !end->parens)
          tightAll(end);
        expr(end);
      }
      return;
    }
    case ExprKind::Pipe:
      operatorAt(as<Pipe>(e)->opSpan, kPipe);
      expr(as<Pipe>(e)->left);
      return expr(as<Pipe>(e)->right);
    case ExprKind::Member:
      expr(as<Member>(e)->object);
      if (as<Member>(e)->name.valid())
        if (FormatToken *t = tokenBefore(as<Member>(e)->name.span.begin);
            t && t->kind == Tok::Dot) {
          t->level = kBeforeDot;
          t->breakBefore = true;
        }
      return;
    case ExprKind::Call:
      expr(as<Call>(e)->callee);
      return args(as<Call>(e)->args);
    case ExprKind::Index:
      expr(as<Index>(e)->object);
      for (const IndexArg &arg : as<Index>(e)->args) {
        if (arg.kind == IndexArg::Slice)
          slice(arg);
        else if (arg.kind == IndexArg::Value && arg.value)
          size(arg.value);
        for (const Expr *part : {arg.value, arg.from, arg.to, arg.step})
          expr(part);
      }
      return;
    case ExprKind::If:
      return ifExpr(as<If>(e), as<If>(e), facts.chains++);
    case ExprKind::GraphBlock:
      return block(as<GraphBlock>(e)->body, e->span.begin);
    case ExprKind::OnBlock:
      expr(as<OnBlock>(e)->device);
      return block(as<OnBlock>(e)->body, e->span.begin);
    case ExprKind::Grad:
      exprs(as<Grad>(e)->targets);
      return block(as<Grad>(e)->body, e->span.begin);
    case ExprKind::Lambda:
      return func(as<Lambda>(e)->func);
    }
  }

  void ifExpr(const If *node, const If *first, int chain) {
    expr(node->condition);
    block(node->thenBlock, first->span.begin, chain);
    if (node->elseIf)
      ifExpr(node->elseIf, first, chain);
    else if (node->elseBlock)
      block(node->elseBlock, first->span.begin, chain);
  }

  // ---- types
  void type(const TypeExpr *t) {
    if (!t)
      return;
    for (const TypeDim &d : t->dims)
      for (const Expr *e : {d.size, d.bound})
        if (e) {
          size(e);
          expr(e);
        }
    args(t->args);
    for (const TypeExpr *x : t->elements)
      type(x);
    type(t->element);
    if (t->count) {
      size(t->count);
      expr(t->count);
    }
  }
  void params(const List<Param> &list) {
    for (const Param &p : list) {
      type(p.type);
      expr(p.defaultValue);
    }
  }
  void where(const List<Expr *> &list) {
    ++whereDepth;
    exprs(list);
    --whereDepth;
  }

  // ---- statements
  void block(const Block *b, uint32_t owner, int chain = kNone) {
    if (!b)
      return;
    TreeFacts::Body body{b->span.begin, b->span.end, owner, chain, {}, false};
    for (const Stmt *s : b->stmts)
      if (s) {
        body.starts.push_back(startOf(s));
        body.mustSpread |= !s->attributes.empty();
      }
    facts.bodies.push_back(std::move(body));
    int outer = whereDepth;
    whereDepth = 0;
    for (const Stmt *s : b->stmts)
      if (s)
        stmt(s);
    whereDepth = outer;
  }

  void attributes(const List<Attribute> &list) {
    for (const Attribute &a : list) {
      if (FormatToken *t = tokenAt(a.span.begin))
        t->attributeAt = true;
      args(a.args);
      if (FormatToken *t = tokenAfter(a.span.end))
        t->afterAttribute = true;
    }
  }

  void func(const Func *f) {
    if (!f)
      return;
    params(f->params);
    if (f->result) {
      assignAt(tokenBefore(f->result->span.begin));
      type(f->result);
    }
    where(f->where);
    block(f->body, f->span.begin);
  }

  /// Adds a row. Its first and last token are given by offset; cells are tokens or kNone.
  void row(uint32_t begin, uint32_t end, int key, int cell0, int cell1) {
    program.rows.push_back({program.at(begin), program.at(end) - 1, key, {cell0, cell1}});
  }

  void field(const Field &f) {
    type(f.type);
    expr(f.value);
    expr(f.device);
    int equal = kNone, typeStart = kNone;
    if (f.value) {
      assignAt(tokenBefore(f.value->outerSpan.begin));
      equal = program.at(f.value->outerSpan.begin) - 1;
    }
    if (f.type)
      typeStart = program.at(f.name.span.end) + 1;
    if (f.kind == FieldKind::Plain || !f.name.valid())
      return;
    int key = 1 + static_cast<int>(f.kind) * 4 + (f.type ? 2 : 0) + (f.value ? 1 : 0);
    if (f.type)
      row(f.span.begin, f.span.end, key, typeStart, equal);
    else
      row(f.span.begin, f.span.end, key, equal, kNone);
  }

  void nominal(const Nominal *n) {
    params(n->params);
    where(n->where);
    TreeFacts::Body body{n->bodySpan.begin, n->bodySpan.end, n->span.begin, kNone, {}, false};
    for (const Field &f : n->fields) {
      body.starts.push_back(f.span.begin);
      facts.memberSpans.push_back(f.span);
    }
    for (const Func *f : n->funcs) {
      body.starts.push_back(startOf(f));
      body.mustSpread |= !f->attributes.empty();
      facts.memberSpans.push_back({f->span.file, startOf(f), f->span.end});
    }
    std::sort(body.starts.begin(), body.starts.end());
    facts.nominalOpens.push_back(body.open);
    facts.bodies.push_back(std::move(body));
    for (const Field &f : n->fields)
      field(f);
    for (const Func *f : n->funcs) {
      attributes(f->attributes);
      func(f);
    }
  }

  void stmt(const Stmt *s) {
    attributes(s->attributes);
    switch (s->kind) {
    case StmtKind::Expr: {
      auto *e = as<ExprStmt>(s)->expr;
      if (auto *node = as<If>(e); node && !node->elseBlock && !node->elseIf && node->thenBlock &&
                                  !node->parens && s->attributes.empty())
        row(s->span.begin, s->span.end, 0, program.at(node->thenBlock->span.begin), kNone);
      return expr(e);
    }
    case StmtKind::Let: {
      auto *l = as<Let>(s);
      type(l->type);
      if (l->value)
        assignAt(tokenBefore(l->value->outerSpan.begin));
      return expr(l->value);
    }
    case StmtKind::Assign: {
      auto *a = as<Assign>(s);
      assignAt(tokenAt(a->opSpan.begin));
      expr(a->target);
      return expr(a->value);
    }
    case StmtKind::For:
      expr(as<For>(s)->iterable);
      return block(as<For>(s)->body, s->span.begin);
    case StmtKind::While: {
      auto *w = as<While>(s);
      expr(w->condition);
      if (w->limit) {
        if (FormatToken *t = tokenAt(w->limit->outerSpan.begin))
          t->spaceBefore = true;
        expr(w->limit);
      }
      return block(w->body, s->span.begin);
    }
    case StmtKind::Return:
      return expr(as<Return>(s)->value);
    case StmtKind::Raise:
      return expr(as<Raise>(s)->value);
    case StmtKind::Assert:
      expr(as<Assert>(s)->condition);
      return expr(as<Assert>(s)->message);
    case StmtKind::Try: {
      int chain = facts.chains++;
      block(as<Try>(s)->body, s->span.begin, chain);
      return block(as<Try>(s)->handler, s->span.begin, chain);
    }
    case StmtKind::Nominal:
      return nominal(as<Nominal>(s));
    case StmtKind::TypeDef:
      return type(as<TypeDef>(s)->type);
    case StmtKind::Test:
      return block(as<Test>(s)->body, s->span.begin);
    case StmtKind::Func:
      return func(as<Func>(s));
    case StmtKind::Import:
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Error:
      return;
    }
  }
};

} // namespace

TreeFacts markTokens(FormatTokens &program, const Module &module) {
  TreeFacts facts;
  Marker(program, facts).module(module);
  return facts;
}

} // namespace mx::format
