// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--emit=typed`: prints the results of type checking, one line per name, function or expression
// statement.
#include "Sema/Internals.h"

namespace mx::sema {
using namespace ast;

namespace {
class Describer {
public:
  explicit Describer(Sema &owner) : sema(owner) {}
  std::string out;

  void items(const List<Stmt *> &list) {
    for (const Stmt *s : list)
      stmt(s);
  }

private:
  Sema &sema;
  size_t depth = 0;

  void line(Span at, const std::string &text) {
    out += sema.sources.location(at) + "  " + std::string(2 * depth, ' ') + text + "\n";
  }
  std::string of(const Expr *e) {
    if (!e || !e->checked)
      return "?";
    std::string t = sema.show(*e->checked);
    if (e->checked->type->device)
      t += " on " + e->checked->type->device->name;
    if (e->checked->host)
      t += " (host)";
    return t;
  }
  void pattern(const Pattern *p, const char *word) {
    for (const Pattern *part : p->parts)
      pattern(part, word);
    if (p->symbol)
      line(p->span, std::string(word) + " " + std::string(p->name.text) + ": " +
                        sema.show(p->symbol->type) + (p->symbol->value.host ? " (host)" : "") +
                        (p->symbol->type->device ? " on " + p->symbol->type->device->name : ""));
  }
  void block(const Block *b) {
    if (!b)
      return;
    ++depth;
    items(b->stmts);
    --depth;
  }
  void func(const Func *f) {
    if (!f->info)
      return;
    FunctionInfo &info = *f->info;
    std::string text = std::string(f->isGraph ? "graph " : "") + (f->isMut ? "mut " : "") + "fn " +
                       info.name + sema.signatureText(info) +
                       "   effects: " + Sema::effectsText(info.effects);
    line(f->span, text);
    for (const Requirement &r : info.requirements)
      line(r.span.valid() ? r.span : f->span,
           "  needs " + r.text + (r.inferred ? " (inferred)" : ""));
    block(f->body);
  }
  void expr(const Expr *e) {
    if (auto *i = as<If>(e)) {
      line(e->span, "if " + of(i->condition));
      block(i->thenBlock);
      if (i->elseIf)
        expr(i->elseIf);
      block(i->elseBlock);
      return;
    }
    line(e->span, of(e));
  }
  void stmt(const Stmt *s) {
    switch (s->kind) {
    case StmtKind::Func:
      return func(as<Func>(s));
    case StmtKind::Nominal: {
      auto *n = as<Nominal>(s);
      if (!n->info)
        return;
      line(s->span, std::string(n->isModel ? "model " : "struct ") + n->info->name);
      ++depth;
      for (const FieldInfo &f : n->info->fields)
        line(f.syntax->span, f.name + ": " + (f.type ? sema.show(f.type) : "?") +
                                 (f.device ? " on " + f.device->name : ""));
      for (const Requirement &r : n->info->all)
        line(r.span, "needs " + r.text);
      for (const Func *f : n->funcs)
        func(f);
      --depth;
      return;
    }
    case StmtKind::Let: {
      auto *l = as<Let>(s);
      static const char *const words[] = {"let", "var", "const"};
      return pattern(l->pattern, words[static_cast<int>(l->bind)]);
    }
    case StmtKind::Assign:
      return line(s->span, "assign " + of(as<Assign>(s)->target));
    case StmtKind::For: {
      auto *f = as<For>(s);
      line(s->span, "for over " + of(f->iterable));
      ++depth;
      pattern(f->pattern, "let");
      --depth;
      return block(f->body);
    }
    case StmtKind::While:
      line(s->span, "while " + of(as<While>(s)->condition));
      return block(as<While>(s)->body);
    case StmtKind::Test:
      line(s->span, "test " + std::string(as<Test>(s)->name->value));
      return block(as<Test>(s)->body);
    case StmtKind::Expr:
      return expr(as<ExprStmt>(s)->expr);
    case StmtKind::Return:
      return line(s->span, "return " + of(as<Return>(s)->value));
    case StmtKind::Try:
      line(s->span, "try");
      block(as<Try>(s)->body);
      return block(as<Try>(s)->handler);
    default:
      return;
    }
  }
};
} // namespace

std::string describeTyped(Sema &sema, const ModuleInfo &module) {
  Describer d(sema);
  if (module.syntax)
    d.items(module.syntax->items);
  return std::move(d.out);
}

} // namespace mx::sema
