// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the syntax tree as indented text: one node per line, children below it.
#include "Syntax/Ast.h"
#include <cstdio>

namespace mx::ast {
namespace {

class Dumper {
public:
  Dumper(bool showSpans, const std::function<void(size_t, std::string_view)> &take)
      : withSpans(showSpans), sink(take) {}

  void line(std::string text, Span span) {
    if (withSpans)
      text += " @" + std::to_string(span.begin) + ".." + std::to_string(span.end);
    sink(depth, text);
  }
  template <class F> void nested(F body) {
    ++depth;
    body();
    --depth;
  }
  static std::string text(const Identifier &id) { return id.valid() ? std::string(id.text) : "_?"; }
  static std::string quoted(std::string_view value) {
    std::string s = "\"";
    for (char c : value) {
      if (c == '\n')
        s += "\\n";
      else if (c == '"' || c == '\\')
        s += std::string("\\") + c;
      else
        s += c;
    }
    return s + "\"";
  }

  void labelled(const char *label, const Expr *e) {
    if (!e)
      return;
    line(std::string(label) + ":", e->span);
    nested([&] { expr(e); });
  }

  void expr(const Expr *e) {
    if (!e)
      return line("missing", {});
    std::string parens = e->parens ? " parens=" + std::to_string(e->parens) : "";
    switch (e->kind) {
    case ExprKind::Number: {
      auto *n = as<Number>(e);
      char buffer[40];
      if (n->isFloat)
        std::snprintf(buffer, sizeof buffer, "%.17g", n->floatValue);
      else
        std::snprintf(buffer, sizeof buffer, "%lld", static_cast<long long>(n->intValue));
      return line(std::string(n->isFloat ? "float " : "int ") + buffer + parens, e->span);
    }
    case ExprKind::String:
      return line("string " + quoted(as<String>(e)->value) + parens, e->span);
    case ExprKind::Bool:
      return line(std::string("bool ") + (as<Bool>(e)->value ? "true" : "false") + parens, e->span);
    case ExprKind::Name:
      return line("name " + std::string(as<Name>(e)->text) + parens, e->span);
    case ExprKind::Error:
      return line("error", e->span);
    case ExprKind::FString:
      line("fstring" + parens, e->span);
      return nested([&] {
        for (const FString::Part &part : as<FString>(e)->parts) {
          if (!part.expr) {
            line("text " + quoted(part.text), e->span);
            continue;
          }
          line("value" + (part.format.empty() ? "" : " format=" + quoted(part.format)),
               part.expr->span);
          nested([&] { expr(part.expr); });
        }
      });
    case ExprKind::Tuple:
      line("tuple" + parens, e->span);
      return nested([&] {
        for (const Expr *x : as<Tuple>(e)->elements)
          expr(x);
      });
    case ExprKind::List:
      line("list" + parens, e->span);
      return nested([&] {
        for (const Expr *x : as<ListExpr>(e)->elements)
          expr(x);
      });
    case ExprKind::Comprehension: {
      auto *c = as<Comprehension>(e);
      line("comprehension" + parens, e->span);
      return nested([&] {
        expr(c->element);
        for (const Comprehension::Clause &clause : c->clauses) {
          line("for " + patternText(clause.pattern), clause.pattern->span);
          nested([&] { expr(clause.range); });
        }
      });
    }
    case ExprKind::Unary: {
      auto *u = as<Unary>(e);
      line(std::string(u->op == UnaryOp::Not ? "not" : "negate") + parens, e->span);
      return nested([&] { expr(u->operand); });
    }
    case ExprKind::Binary: {
      auto *b = as<Binary>(e);
      line("binary " + std::string(tokenInfo(b->op).spelling) + parens, e->span);
      return nested([&] {
        expr(b->left);
        expr(b->right);
      });
    }
    case ExprKind::Range:
      line("range" + parens, e->span);
      return nested([&] {
        expr(as<Range>(e)->from);
        expr(as<Range>(e)->to);
      });
    case ExprKind::Pipe:
      line("pipe" + parens, e->span);
      return nested([&] {
        expr(as<Pipe>(e)->left);
        expr(as<Pipe>(e)->right);
      });
    case ExprKind::Member:
      line("member " + text(as<Member>(e)->name) + parens, e->span);
      return nested([&] { expr(as<Member>(e)->object); });
    case ExprKind::Call:
      line("call" + parens, e->span);
      return nested([&] {
        expr(as<Call>(e)->callee);
        args(as<Call>(e)->args);
      });
    case ExprKind::Index:
      line("index" + parens, e->span);
      return nested([&] {
        expr(as<Index>(e)->object);
        for (const IndexArg &arg : as<Index>(e)->args)
          index(arg);
      });
    case ExprKind::If:
      return ifExpr(as<If>(e), parens);
    case ExprKind::GraphBlock:
      line("graph" + parens, e->span);
      return nested([&] { block(as<GraphBlock>(e)->body); });
    case ExprKind::OnBlock:
      line("on" + parens, e->span);
      return nested([&] {
        expr(as<OnBlock>(e)->device);
        block(as<OnBlock>(e)->body);
      });
    case ExprKind::Grad:
      line("grad" + parens, e->span);
      return nested([&] {
        for (const Expr *x : as<Grad>(e)->targets)
          expr(x);
        block(as<Grad>(e)->body);
      });
    case ExprKind::Lambda:
      line("lambda" + parens, e->span);
      return nested([&] { func(as<Lambda>(e)->func); });
    }
  }

  void ifExpr(const If *node, const std::string &parens) {
    line("if" + parens, node->span);
    nested([&] {
      expr(node->condition);
      block(node->thenBlock);
      if (node->elseIf || node->elseBlock) {
        line("else", node->span);
        nested([&] {
          if (node->elseIf)
            ifExpr(node->elseIf, "");
          else
            block(node->elseBlock);
        });
      }
    });
  }

  void index(const IndexArg &arg) {
    switch (arg.kind) {
    case IndexArg::Value:
      return expr(arg.value);
    case IndexArg::New:
      return line("new", arg.span);
    case IndexArg::Ellipsis:
      line("...", arg.span);
      if (arg.value)
        nested([&] { expr(arg.value); });
      return;
    case IndexArg::Slice:
      line("slice", arg.span);
      return nested([&] {
        labelled("from", arg.from);
        labelled("to", arg.to);
        labelled("step", arg.step);
      });
    }
  }

  void args(const List<Argument> &list) {
    for (const Argument &arg : list) {
      line(std::string("arg") + (arg.name.valid() ? " " + text(arg.name) : "") +
               (arg.isMut ? " mut" : ""),
           arg.span);
      nested([&] { expr(arg.value); });
    }
  }

  std::string patternText(const Pattern *p) {
    if (p->parts.empty())
      return text(p->name);
    std::string s = "(";
    for (size_t i = 0; i < p->parts.size(); ++i)
      s += (i ? ", " : "") + patternText(p->parts[i]);
    return s + ")";
  }

  void type(const TypeExpr *t) {
    if (!t)
      return line("type missing", {});
    switch (t->kind) {
    case TypeKind::Error:
      return line("type error", t->span);
    case TypeKind::Named: {
      std::string name;
      for (const Identifier &id : t->path)
        name += (name.empty() ? "" : ".") + text(id);
      line("type " + name + (t->hasDims && t->dims.empty() ? "[]" : ""), t->span);
      return nested([&] {
        for (const TypeDim &d : t->dims)
          typeDim(d);
        args(t->args);
      });
    }
    case TypeKind::Tuple:
      line("type tuple", t->span);
      return nested([&] {
        for (const TypeExpr *x : t->elements)
          type(x);
      });
    case TypeKind::Array:
      line("type array", t->span);
      return nested([&] {
        type(t->element);
        expr(t->count);
      });
    case TypeKind::Fn:
      line("type fn", t->span);
      return nested([&] {
        for (const TypeExpr *x : t->elements)
          type(x);
        type(t->element);
      });
    }
  }

  void typeDim(const TypeDim &d) {
    switch (d.kind) {
    case TypeDim::Size:
      return expr(d.size);
    case TypeDim::Pack:
      return line("..." + text(d.name), d.span);
    case TypeDim::Unknown:
      return line("?", d.span);
    case TypeDim::Dyn:
      line("dyn " + text(d.name), d.span);
      if (d.bound)
        nested([&] { expr(d.bound); });
      return;
    }
  }

  void generics(const List<Generic> &list) {
    for (const Generic &g : list)
      line("generic " + std::string(g.pack ? "..." : "") + text(g.name) +
               (g.kind.valid() ? ": " + text(g.kind) : ""),
           g.name.span);
  }
  void params(const List<Param> &list) {
    for (const Param &p : list) {
      line("param " + std::string(p.isMut ? "mut " : "") + (p.isStatic ? "static " : "") +
               text(p.name),
           p.span);
      nested([&] {
        if (p.type)
          type(p.type);
        labelled("default", p.defaultValue);
      });
    }
  }
  void where(const List<Expr *> &list) {
    for (const Expr *e : list)
      labelled("where", e);
  }

  void func(const Func *f) {
    line(std::string(f->isExport ? "export " : "") + (f->isExtern ? "extern " : "") +
             (f->isMut ? "mut " : "") + (f->isGraph ? "graph " : "") + "fn" +
             (f->name.valid() ? " " + text(f->name) : ""),
         f->span);
    nested([&] {
      if (!f->doc.empty())
        line("doc " + quoted(f->doc), f->span);
      generics(f->generics);
      params(f->params);
      if (f->result) {
        line("result", f->result->span);
        nested([&] { type(f->result); });
      }
      where(f->where);
      if (f->body)
        block(f->body);
    });
  }

  void block(const Block *b) {
    if (!b)
      return line("block missing", {});
    line("block", b->span);
    nested([&] {
      for (const Stmt *s : b->stmts)
        stmt(s);
    });
  }

  void nominal(const Nominal *n) {
    line((n->isModel ? "model " : "struct ") + text(n->name), n->span);
    nested([&] {
      if (!n->doc.empty())
        line("doc " + quoted(n->doc), n->span);
      generics(n->generics);
      params(n->params);
      where(n->where);
      for (const Field &f : n->fields) {
        static const char *const kinds[] = {"field ", "param ", "state ", "sub "};
        line(kinds[static_cast<int>(f.kind)] + text(f.name), f.span);
        nested([&] {
          if (f.type)
            type(f.type);
          labelled("value", f.value);
          labelled("on", f.device);
        });
      }
      for (const Func *f : n->funcs) {
        attributes(f->attributes);
        func(f);
      }
    });
  }

  void attributes(const List<Attribute> &list) {
    for (const Attribute &a : list) {
      line("@" + text(a.name), a.span);
      nested([&] { args(a.args); });
    }
  }

  void stmt(const Stmt *s) {
    attributes(s->attributes);
    switch (s->kind) {
    case StmtKind::Expr:
      return expr(as<ExprStmt>(s)->expr);
    case StmtKind::Let: {
      auto *l = as<Let>(s);
      static const char *const words[] = {"let ", "var ", "const "};
      line(words[static_cast<int>(l->bind)] + patternText(l->pattern), s->span);
      return nested([&] {
        if (l->type)
          type(l->type);
        expr(l->value);
      });
    }
    case StmtKind::Assign: {
      auto *a = as<Assign>(s);
      line("assign " + std::string(tokenInfo(a->op).spelling), s->span);
      return nested([&] {
        expr(a->target);
        expr(a->value);
      });
    }
    case StmtKind::For: {
      auto *f = as<For>(s);
      line(std::string("for ") + (f->isMut ? "mut " : "") + patternText(f->pattern), s->span);
      return nested([&] {
        expr(f->iterable);
        block(f->body);
      });
    }
    case StmtKind::While: {
      auto *w = as<While>(s);
      line("while", s->span);
      return nested([&] {
        expr(w->condition);
        labelled("limit", w->limit);
        block(w->body);
      });
    }
    case StmtKind::Return:
      line("return", s->span);
      return nested([&] {
        if (as<Return>(s)->value)
          expr(as<Return>(s)->value);
      });
    case StmtKind::Break:
      return line("break", s->span);
    case StmtKind::Continue:
      return line("continue", s->span);
    case StmtKind::Raise:
      line("raise", s->span);
      return nested([&] { expr(as<Raise>(s)->value); });
    case StmtKind::Assert:
      line("assert", s->span);
      return nested([&] {
        expr(as<Assert>(s)->condition);
        labelled("message", as<Assert>(s)->message);
      });
    case StmtKind::Try: {
      auto *t = as<Try>(s);
      line("try", s->span);
      return nested([&] {
        block(t->body);
        line("catch " + text(t->name), t->name.span);
        block(t->handler);
      });
    }
    case StmtKind::Import: {
      auto *i = as<Import>(s);
      for (const Import::Module &m : i->modules) {
        std::string path;
        for (const Identifier &id : m.path)
          path += (path.empty() ? "" : ".") + text(id);
        line((i->isFrom ? "from " : "import ") + path +
                 (m.alias.valid() ? " as " + text(m.alias) : ""),
             s->span);
      }
      return nested([&] {
        for (const Identifier &id : i->names)
          line("name " + text(id), id.span);
      });
    }
    case StmtKind::Nominal:
      return nominal(as<Nominal>(s));
    case StmtKind::TypeDef: {
      auto *t = as<TypeDef>(s);
      line("typedef " + text(t->name), s->span);
      return nested([&] {
        generics(t->generics);
        type(t->type);
      });
    }
    case StmtKind::Test:
      line("test " + quoted(as<Test>(s)->name->value), s->span);
      return nested([&] { block(as<Test>(s)->body); });
    case StmtKind::Func:
      return func(as<Func>(s));
    case StmtKind::Error:
      return line("error", s->span);
    }
  }

private:
  bool withSpans;
  const std::function<void(size_t, std::string_view)> &sink;
  size_t depth = 0;
};

} // namespace

void dumpLines(const Module &module, bool withSpans,
               const std::function<void(size_t depth, std::string_view line)> &sink) {
  Dumper dumper(withSpans, sink);
  for (const Stmt *item : module.items)
    dumper.stmt(item);
}

std::string dump(const Module &module, bool withSpans) {
  std::string out;
  dumpLines(module, withSpans, [&](size_t depth, std::string_view line) {
    out += std::string(2 * depth, ' ');
    out += line;
    out += '\n';
  });
  return out;
}

} // namespace mx::ast
