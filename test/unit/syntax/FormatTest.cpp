// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the style is: pairs of texts in test/fmt (name.mx, formatted as Inputs/name.expected.mx
// says), the nine programs, and small cases here.
#include "Parsed.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

std::string formatted(const std::string &text) {
  Parsed p(text);
  return p.format().value_or("refused\n" + p.rendered());
}
/// Already in the style.
void stays(const std::string &text) { EXPECT_EQ(formatted(text), text); }

TEST(Format, ProgramsChangeOnlyInLinesOver100Columns) {
  for (const char *name :
       {"01_hello", "02_linreg", "03_mnist", "05_lstm", "06_transformer", "08_placement"})
    stays(slurp(std::string(MX_SOURCE_DIR "/test/fmt/Inputs/") + name + ".mx"));
  for (const char *name :
       {"04_conv", "07_kvstore", "09_std_sketch", "layout", "comments", "long-lines"}) {
    std::string base = std::string(MX_SOURCE_DIR "/test/fmt/Inputs/") + name;
    std::string expected = slurp(base + ".expected.mx");
    ASSERT_FALSE(expected.empty()) << name;
    EXPECT_EQ(formatted(slurp(base + ".mx")), expected) << name;
    stays(expected);
  }
}

TEST(Format, EmptyTexts) {
  EXPECT_EQ(formatted(""), "");
  EXPECT_EQ(formatted("\n\n \t\n"), "");
  EXPECT_EQ(formatted(";;"), "");
  EXPECT_EQ(formatted("\n# c"), "# c\n");
  EXPECT_EQ(formatted("x"), "x\n");
  EXPECT_EQ(formatted("x\r\ny\r\n"), "x\ny\n");
}

TEST(Format, Spaces) {
  EXPECT_EQ(formatted("let x:f32=f( a,b=1 )+-y**2"), "let x: f32 = f(a, b=1) + -y ** 2\n");
  EXPECT_EQ(formatted("x . f ( ) [ 0 ] |>g"), "x.f()[0] |> g\n");
  EXPECT_EQ(formatted("f(mut a,b = mut c)"), "f(mut a, b=mut c)\n");
  EXPECT_EQ(formatted("grad ( a ) {b}"), "grad(a) { b }\n");
  EXPECT_EQ(formatted("fn (x){x}"), "fn(x) { x }\n");
  EXPECT_EQ(formatted("@a fn f ( ... ) { }").substr(0, 7), "refused");
  EXPECT_EQ(formatted("while a limit(3){b}"), "while a limit (3) { b }\n");
  EXPECT_EQ(formatted("type T=[f32[dyn N<=4];n]"), "type T = [f32[dyn N <= 4]; n]\n");
  EXPECT_EQ(formatted("if(a){b}else{c}"), "if (a) { b } else { c }\n");
  EXPECT_EQ(formatted("not(a)and not b"), "not (a) and not b\n");
}

TEST(Format, SizesAndIndicesAreTight) {
  stays("x[t+1, 4*H, i//2, -1, n-1]\n");
  stays("x[i*M : i*M + M]\n");
  stays("x[0:64, :T, t+1:, ::2]\n");
  stays("x[: a + b*c, (a + b) // 2 + 1]\n");
  stays("let y: f32[H + 2*pad - K, 2*H*W, (H + 2*pad - K) // stride + 1] = z\n");
  stays("for i in 0..2*n+1 { f(a * b + c) }\n");
  stays("x[f(a + b)]\nx[a > b]\nx[y[i+1]+z]\n");
  EXPECT_EQ(formatted("x[ t + 1 : t + 2 ]\nx[a+b+c]\n"), "x[t+1:t+2]\nx[a + b + c]\n");
  EXPECT_EQ(formatted("let a = b*c + d"), "let a = b * c + d\n");
}

TEST(Format, Semicolons) {
  EXPECT_EQ(formatted("a; b;"), "a\nb;\n");
  EXPECT_EQ(formatted("let x = 1; # c\n"), "let x = 1;  # c\n");
  EXPECT_EQ(formatted("a;;;\n"), "a;\n");
  EXPECT_EQ(formatted("a = 1;\n"), "a = 1\n");
  EXPECT_EQ(formatted("fn f() { a; b; }"), "fn f() {\n  a\n  b\n}\n");
  EXPECT_EQ(formatted("struct S { a: f32, b: f32; }"), "struct S {\n  a: f32\n  b: f32\n}\n");
  stays("fn f() -> T where A > 0, B > 0 { x }\n");
  EXPECT_EQ(formatted("struct S { fn f() where A > 0, B > 0 { x }, a: f32 }"),
            "struct S {\n  fn f() where A > 0, B > 0 { x }\n  a: f32\n}\n");
}

TEST(Format, BlocksOnOneLine) {
  stays("if a { b } else if c { d } else { e }\n");
  EXPECT_EQ(formatted("if a { b } else {\nc }"), "if a {\n  b\n} else {\n  c\n}\n");
  EXPECT_EQ(formatted("try { a } catch e {\nb\n}"), "try {\n  a\n} catch e {\n  b\n}\n");
  EXPECT_EQ(formatted("fn f() {\n}"), "fn f() { }\n");
  EXPECT_EQ(formatted("fn f() {\n  # c\n}"), "fn f() {\n  # c\n}\n");
  EXPECT_EQ(formatted("graph { if a { b; c } }"), "graph {\n  if a {\n    b\n    c\n  }\n}\n");
}

TEST(Format, BlankLines) {
  EXPECT_EQ(formatted("\n\na\n\n\n\nb\nc\n\n"), "a\n\nb\nc\n");
  EXPECT_EQ(formatted("fn f() {\n\n  a\n\n\n  b\n\n}"), "fn f() {\n  a\n\n  b\n}\n");
  EXPECT_EQ(formatted("# a\n\n\n# b\nx"), "# a\n\n# b\nx\n");
}

TEST(Format, SpellingIsKept) {
  stays("let x = ((0XfF)) + 1_0.50e+03 + \"\\u{41}\\t\" + f\"{ x+1 :>8}\"\n");
}

TEST(Format, BracketsOnSeveralLines) {
  stays("let a = [[1, 2],\n         [3, 4]]\n");
  stays("f(\n  a,\n  b\n)\n");
  EXPECT_EQ(formatted("f(\na,\nb)"), "f(\n  a,\n  b\n)\n");
  EXPECT_EQ(formatted("f(a,\nb\n)"), "f(a,\n  b)\n");
  EXPECT_EQ(formatted("let x = (a\n  + b\n  - c)"), "let x = (a +\n         b -\n         c)\n");
  EXPECT_EQ(formatted("let x = a +\nb"), "let x = a +\n    b\n");
  EXPECT_EQ(formatted("f(\n)"), "f()\n");
  EXPECT_EQ(formatted("let x =\n1"), "let x =\n    1\n");
  stays("let y = (x\n         .f()\n         .g())\n");
}

TEST(Format, FieldsAreAlignedByKind) {
  EXPECT_EQ(
      formatted("model M {\n  param w: f32[D, C] = a\n  param bb: f32[C] = b\n  sub x: T\n}\n"),
      "model M {\n  param w:  f32[D, C] = a\n  param bb: f32[C]    = b\n  sub x: T\n}\n");
  // Four spaces would be needed, or they are plain fields: no columns.
  stays("model M {\n  sub blocks: T\n  sub ln: T\n}\n");
  stays("struct S {\n  lr: f32 = 1\n  eps: f32 = 2\n}\n");
  stays("model M {\n  sub conv1 = a\n  sub bn    = b\n\n  sub x = c\n}\n");
}

TEST(Format, OneLineIfsAreAligned) {
  stays("if m == \"a\"   { x }\nif m == \"abc\" { y }\n");
  stays("if m == \"a\" { x }\nif m == \"abcdefgh\" { y }\n");
}

TEST(Format, TrailingCommentsAreAligned) {
  EXPECT_EQ(formatted("a # x\nbbbb # y\n\nc # z\n"), "a     # x\nbbbb  # y\n\nc  # z\n");
  stays("a               # x\nbbbb            # y\n"); // a column with room is kept
  EXPECT_EQ(formatted("a               # x\nbbbb               # y\n"),
            "a               # x\nbbbb            # y\n");
}

TEST(Format, SourcesWithErrorsAreRefused) {
  for (const char *text : {"let = 1", "f(", "}", "$", "'a'", "12px", "\"abc",
                           "if a { b }\nelse { c }", "let mut x = 1"}) {
    Parsed p(text);
    EXPECT_FALSE(p.good()) << text;
    EXPECT_FALSE(p.format().has_value()) << text;
  }
  EXPECT_FALSE(Parsed(std::string("a\0", 2)).format().has_value());
}

} // namespace
