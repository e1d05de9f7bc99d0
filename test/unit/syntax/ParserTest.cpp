// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every production of the grammar, and precedence.
#include "Parsed.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

/// The tree of an expression as one line: `(+ a (* b c))`.
std::string shape(const ast::Expr *e) {
  using namespace ast;
  if (!e)
    return "?";
  std::string open(e->parens, '<'), close(e->parens, '>');
  auto wrap = [&](std::string s) { return open + s + close; };
  switch (e->kind) {
  case ExprKind::Name:
    return wrap(std::string(as<Name>(e)->text));
  case ExprKind::Number:
    return wrap(as<Number>(e)->isFloat ? "float" : std::to_string(as<Number>(e)->intValue));
  case ExprKind::Unary:
    return wrap(std::string(as<Unary>(e)->op == UnaryOp::Not ? "(not " : "(neg ") +
                shape(as<Unary>(e)->operand) + ")");
  case ExprKind::Binary:
    return wrap("(" + std::string(tokenInfo(as<Binary>(e)->op).spelling) + " " +
                shape(as<Binary>(e)->left) + " " + shape(as<Binary>(e)->right) + ")");
  case ExprKind::Range:
    return wrap("(.. " + shape(as<ast::Range>(e)->from) + " " + shape(as<ast::Range>(e)->to) + ")");
  case ExprKind::Pipe:
    return wrap("(|> " + shape(as<Pipe>(e)->left) + " " + shape(as<Pipe>(e)->right) + ")");
  case ExprKind::Member:
    return wrap(shape(as<Member>(e)->object) + "." + std::string(as<Member>(e)->name.text));
  case ExprKind::Call:
    return wrap(shape(as<Call>(e)->callee) + "()");
  case ExprKind::Index:
    return wrap(shape(as<Index>(e)->object) + "[]");
  default:
    return wrap("node");
  }
}

std::string shape(const std::string &text) {
  Parsed p(text);
  if (!p.good() || p.module->items.size() != 1)
    return "error: " + p.messages();
  auto *s = ast::as<ast::ExprStmt>(p.module->items[0]);
  return s ? shape(s->expr) : "no expression";
}

std::string dumped(const std::string &text) {
  Parsed p(text);
  return p.good() ? p.dump() : "error: " + p.messages();
}

TEST(Parser, Precedence) {
  EXPECT_EQ(shape("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(shape("a * b + c"), "(+ (* a b) c)");
  EXPECT_EQ(shape("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(shape("a @ b / c // d % e"), "(% (// (/ (@ a b) c) d) e)");
  EXPECT_EQ(shape("a ** b ** c"), "(** a (** b c))");
  EXPECT_EQ(shape("-a ** b"), "(neg (** a b))");
  EXPECT_EQ(shape("a ** -b"), "(** a (neg b))");
  EXPECT_EQ(shape("- -a"), "(neg (neg a))");
  EXPECT_EQ(shape("-a.b()"), "(neg a.b())");
  EXPECT_EQ(shape("a or b and c"), "(or a (and b c))");
  EXPECT_EQ(shape("not a == b"), "(not (== a b))");
  EXPECT_EQ(shape("not not a and b"), "(and (not (not a)) b)");
  EXPECT_EQ(shape("a + b < c * d"), "(< (+ a b) (* c d))");
  EXPECT_EQ(shape("0..n + 1"), "(.. 0 (+ n 1))");
  EXPECT_EQ(shape("a..b == c..d"), "(== (.. a b) (.. c d))");
  EXPECT_EQ(shape("a |> b or c |> d"), "(|> (|> a (or b c)) d)");
  EXPECT_EQ(shape("a.b(c)[d].e"), "a.b()[].e");
  EXPECT_EQ(shape("(a + b) * ((c))"), "(* <(+ a b)> <<c>>)");
}

TEST(Parser, LineBreaksInsideExpressions) {
  EXPECT_EQ(shape("a +\n  b"), "(+ a b)");
  EXPECT_EQ(shape("(a\n  + b)"), "<(+ a b)>");
  EXPECT_EQ(shape("f(\n  a,\n  b,\n)"), "f()");
}

TEST(Parser, Literals) {
  EXPECT_EQ(dumped("1_000"), "int 1000\n");
  EXPECT_EQ(dumped("0xff"), "int 255\n");
  EXPECT_EQ(dumped("9223372036854775807"), "int 9223372036854775807\n");
  EXPECT_EQ(dumped("1.5e3"), "float 1500\n");
  EXPECT_EQ(dumped("\"a\\tb\""), "string \"a\tb\"\n");
  EXPECT_EQ(dumped("true\nfalse"), "bool true\nbool false\n");
  EXPECT_EQ(dumped("f\"a{x:.2f}{{\""),
            "fstring\n  text \"a\"\n  value format=\".2f\"\n    name x\n  text \"{\"\n");
  EXPECT_EQ(dumped("()"), "tuple\n");
  EXPECT_EQ(dumped("(a, b)"), "tuple\n  name a\n  name b\n");
  EXPECT_EQ(dumped("[]"), "list\n");
  EXPECT_EQ(dumped("[a, b,]"), "list\n  name a\n  name b\n");
  EXPECT_EQ(dumped("[a for i in 0..n, (j, k) in p]"),
            "comprehension\n  name a\n  for i\n    range\n      int 0\n      name n\n  for (j, "
            "k)\n    name p\n");
}

TEST(Parser, ArgumentsAndIndices) {
  EXPECT_EQ(dumped("f(a, mut b, c=1, d=mut e)"),
            "call\n  name f\n  arg\n    name a\n  arg mut\n    name b\n  arg c\n    int 1\n  arg d "
            "mut\n    name e\n");
  EXPECT_EQ(dumped("f(new=1)"), "call\n  name f\n  arg new\n    int 1\n");
  EXPECT_EQ(dumped("x[0, :, a:, :b, a:b:c, ::2, ..., new]"),
            "index\n  name x\n  int 0\n  slice\n  slice\n    from:\n      name a\n  slice\n    "
            "to:\n      name b\n"
            "  slice\n    from:\n      name a\n    to:\n      name b\n    step:\n      name c\n"
            "  slice\n    step:\n      int 2\n  ...\n  new\n");
}

TEST(Parser, BlocksAreExpressions) {
  EXPECT_EQ(dumped("let a = if b { c } else if d { e } else { f }"),
            "let a\n  if\n    name b\n    block\n      name c\n    else\n      if\n        name "
            "d\n        block\n"
            "          name e\n        else\n          block\n            name f\n");
  EXPECT_EQ(dumped("graph { a }"), "graph\n  block\n    name a\n");
  EXPECT_EQ(dumped("on d { a }"), "on\n  name d\n  block\n    name a\n");
  EXPECT_EQ(dumped("grad(a, b.c) { d }"),
            "grad\n  name a\n  member c\n    name b\n  block\n    name d\n");
  EXPECT_EQ(dumped("fn(x, y: f32) -> f32 { x }"),
            "lambda\n  fn\n    param x\n    param y\n      type f32\n    result\n      type f32\n  "
            "  block\n      name x\n");
  EXPECT_EQ(dumped("if a { b }.c"), "member c\n  if\n    name a\n    block\n      name b\n");
}

TEST(Parser, Statements) {
  EXPECT_EQ(dumped("let (a, (b, c)): f32 = d"), "let (a, (b, c))\n  type f32\n  name d\n");
  EXPECT_EQ(dumped("var a = 1\nconst B = 2"), "var a\n  int 1\nconst B\n  int 2\n");
  EXPECT_EQ(
      dumped("a = 1\na += 1\na -= 1\na *= 1\na /= 1"),
      "assign =\n  name a\n  int 1\nassign +=\n  name a\n  int 1\nassign -=\n  name a\n  int 1\n"
      "assign *=\n  name a\n  int 1\nassign /=\n  name a\n  int 1\n");
  EXPECT_EQ(dumped("for mut (a, b) in c { break; continue }"),
            "for mut (a, b)\n  name c\n  block\n    break\n    continue\n");
  EXPECT_EQ(dumped("while a limit 10 { }"), "while\n  name a\n  limit:\n    int 10\n  block\n");
  EXPECT_EQ(dumped("fn f() {\n  return\n  return 1\n}"),
            "fn f\n  block\n    return\n    return\n      int 1\n");
  EXPECT_EQ(dumped("raise e\nassert a, \"m\"\nassert b"),
            "raise\n  name e\nassert\n  name a\n  message:\n    string \"m\"\nassert\n  name b\n");
  EXPECT_EQ(dumped("try { a } catch e { b }"),
            "try\n  block\n    name a\n  catch e\n  block\n    name b\n");
  EXPECT_EQ(dumped("@remat(every=2)\n@x\nfor i in a { }"),
            "@remat\n  arg every\n    int 2\n@x\nfor i\n  name a\n  block\n");
  EXPECT_EQ(dumped("test \"t\" { a }"), "test \"t\"\n  block\n    name a\n");
  EXPECT_EQ(dumped("test(1)"), "call\n  name test\n  arg\n    int 1\n");
}

TEST(Parser, Imports) {
  EXPECT_EQ(dumped("import a, b.c as d"), "import a\nimport b.c as d\n");
  EXPECT_EQ(dumped("from a.b import c, d"), "from a.b\n  name c\n  name d\n");
}

TEST(Parser, Functions) {
  EXPECT_EQ(dumped("export mut graph fn f[N, ...S, T: float](mut a: T[...S], static n: i64 = 1) -> "
                   "(T, T[N]) where N > 0, n > 1 { a }"),
            "export mut graph fn f\n  generic N\n  generic ...S\n  generic T: float\n  param mut "
            "a\n    type T\n      ...S\n"
            "  param static n\n    type i64\n    default:\n      int 1\n  result\n    type tuple\n "
            "     type T\n      type T\n"
            "        name N\n  where:\n    binary >\n      name N\n      int 0\n  where:\n    "
            "binary >\n      name n\n      int 1\n"
            "  block\n    name a\n");
  EXPECT_EQ(dumped("extern fn f() -> i64"), "extern fn f\n  result\n    type i64\n");
  EXPECT_EQ(dumped("fn f[M: model](m: M) { }"),
            "fn f\n  generic M: model\n  param m\n    type M\n  block\n");
}

TEST(Parser, Types) {
  EXPECT_EQ(dumped("type A[N] = [nn.Dense[N, 2*N](bias=true); 3]"),
            "typedef A\n  generic N\n  type array\n    type nn.Dense\n      name N\n      binary "
            "*\n        int 2\n        name N\n"
            "      arg bias\n        bool true\n    int 3\n");
  EXPECT_EQ(dumped("type A = fn(f32, i64) -> (f32, f32)"),
            "typedef A\n  type fn\n    type f32\n    type i64\n    type tuple\n      type f32\n    "
            "  type f32\n");
  EXPECT_EQ(dumped("type A = f32[dyn N <= 1024, dyn M, ?, _, ...S, 1 + N]"),
            "typedef A\n  type f32\n    dyn N\n      int 1024\n    dyn M\n    ?\n    name _\n    "
            "...S\n    binary +\n      int 1\n      name N\n");
  EXPECT_EQ(dumped("type A = f32[]"), "typedef A\n  type f32[]\n");
}

TEST(Parser, ModelsAndStructs) {
  EXPECT_EQ(dumped("## Doc.\nmodel M[D](static n: i64) where D > 0 {\n  param w: f32[D] = zeros() "
                   "on d0\n  state s = 1\n"
                   "  sub t: T\n  u: f32\n  @bench\n  mut fn f() { }\n}"),
            "model M\n  doc \"Doc.\"\n  generic D\n  param static n\n    type i64\n  where:\n    "
            "binary >\n      name D\n      int 0\n"
            "  param w\n    type f32\n      name D\n    value:\n      call\n        name zeros\n   "
            " on:\n      name d0\n"
            "  state s\n    value:\n      int 1\n  sub t\n    type T\n  field u\n    type f32\n  "
            "@bench\n  mut fn f\n    block\n");
  EXPECT_EQ(dumped("struct S { param: f32, state: f32 }"),
            "struct S\n  field param\n    type f32\n  field state\n    type f32\n");
}

TEST(Parser, DocCommentsBelongToTheNextLine) {
  EXPECT_NE(dumped("## a\n## b\nfn f() { }").find("doc \"a\nb\"") == std::string::npos
                ? dumped("## a\n## b\nfn f() { }").find("doc \"a\\nb\"")
                : 0,
            std::string::npos);
  EXPECT_EQ(dumped("## a\n\nfn f() { }").find("doc"), std::string::npos);
  EXPECT_EQ(dumped("# a\nfn f() { }").find("doc"), std::string::npos);
  // On one line with another statement it is the first one's.
  EXPECT_EQ(dumped("## a\nx; fn f() { }").find("doc"), std::string::npos);
}

TEST(Parser, MutedStatements) {
  Parsed p("a;\nb\nlet c = 1;\nd");
  ASSERT_TRUE(p.good());
  EXPECT_TRUE(ast::as<ast::ExprStmt>(p.module->items[0])->muted);
  EXPECT_FALSE(ast::as<ast::ExprStmt>(p.module->items[1])->muted);
  EXPECT_TRUE(ast::as<ast::Let>(p.module->items[2])->muted);
}

TEST(Parser, ThePrograms) {
  for (const char *name : {"01_hello", "02_linreg", "03_mnist", "04_conv", "05_lstm",
                           "06_transformer", "07_kvstore", "08_placement", "09_std_sketch"}) {
    Parsed p(slurp(std::string(MX_SOURCE_DIR "/test/fmt/Inputs/") + name + ".mx"));
    EXPECT_TRUE(p.good()) << name << "\n" << p.rendered();
    EXPECT_GT(p.module->items.size(), 1u) << name;
  }
}

} // namespace
