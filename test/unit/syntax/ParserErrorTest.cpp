// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One slip, one error; the words of other languages; limits.
#include "Parsed.h"
#include "Support/Limits.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

std::string codes(const std::string &text) { return Parsed(text).codes(); }

/// A broken program in which exactly one thing is wrong, and what follows it is fine.
class OneSlip : public testing::TestWithParam<const char *> {};
TEST_P(OneSlip, GivesOneError) {
  Parsed p(std::string(GetParam()) + "\nlet after = 1\nfn later() { after }\n");
  EXPECT_EQ(p.diagnostics.errorCount(), 1u) << GetParam() << "\n" << p.rendered();
  EXPECT_NE(p.dump().find("fn later"), std::string::npos) << GetParam() << "\n" << p.dump();
}
INSTANTIATE_TEST_SUITE_P(
    Parser, OneSlip,
    testing::Values("let = 1", "let x 1", "let x = ", "let x = )", "f(a, b", "f(a b)", "x[1", "x[]",
                    "[1, 2", "(a, b", "(a,)", "a + * b", "a == b == c", "a b", "fn f( { }", "fn (x",
                    "fn f() - > f32 { x }", "fn f(x) { x }", "fn f(x: ) { x }",
                    "fn f(x: f32[) { x }", "if { x }", "if a x", "for in b { }", "for i b { }",
                    "while { }", "try { a }", "return return", "raise", "assert", "import",
                    "import a.", "from a import", "from a import *", "model { }", "model M",
                    "model M { param }", "model M { let x = 1 }", "struct S { a: }", "type = f32",
                    "type A f32", "test \"x\"", "@", "@ fn f() { }", "}", "a }", "else { }",
                    "catch e { }", "let if = 1", "f(*args)", "f(**kw)", "grad { x }",
                    "grad() { x }", "let x: [f32] = 1", "let x: ? = 1", "x.1", "x.", "1.", "\"abc",
                    "let a, b = c", "for a, b in c { }", "let mut x = 1", "f\"{x\"", "f\"{}\"",
                    "f\"}\"", "12px", "$x"));

struct Habit {
  const char *text;
  const char *answer;
};
class Habits : public testing::TestWithParam<Habit> {};
TEST_P(Habits, AreAnsweredWithTheMxSpelling) {
  Parsed p(GetParam().text);
  EXPECT_EQ(p.diagnostics.errorCount(), 1u) << p.rendered();
  EXPECT_NE(p.rendered().find(GetParam().answer), std::string::npos) << p.rendered();
}
INSTANTIATE_TEST_SUITE_P(
    Parser, Habits,
    testing::Values(
        Habit{"def f(x):\n    return x\n", "a function is written `fn`"},
        Habit{"class Net(Module):\n    def f(self):\n        pass\n", "a class is written `model`"},
        Habit{"print x\n", "print(x)"}, Habit{"print \"a\", b\n", "print(\"a\", b)"},
        Habit{"for i in range(10):\n    print(i)\n", "for i in 0..10 { print(i) }"},
        Habit{"let y = a if c else b\n", "if c { a } else { b }"},
        Habit{"let f = lambda x: x + 1\n", "fn(x) { x + 1 }"},
        Habit{"if a { b } elif c { d }\n", "else if"},
        Habit{"if a { b }\nelse { c }\n", "`else` belongs on the line of the `}`"},
        Habit{"try { a }\ncatch e { b }\n", "`catch` belongs on the line of the `}`"},
        Habit{"a && b\n", "and"}, Habit{"let s = 'abc'\n", "double quotes"},
        Habit{"x: i64 = 1\n", "let x"}, Habit{"int x = 1\n", "i64"},
        Habit{"fn f(self, x: f32) { x }\n", "no `self`"}, Habit{"while a:\n    b()\n", "braces"},
        Habit{"with open(f) as g:\n    g()\n", "no `with`"}, Habit{"use nn\n", "import nn"},
        Habit{"let x = a \\\n", "no `\\` is needed"}, Habit{"from nn import *\n", "import nn"}));

TEST(ParserErrors, SeveralErrorsAreFoundInOneRun) {
  Parsed p("let = 1\nfn f( { }\nlet ok = 2\nx[\nlet y = 3\n");
  EXPECT_EQ(p.diagnostics.errorCount(), 3u) << p.rendered();
}

TEST(ParserErrors, AnIndentedProgramGivesOneErrorABlock) {
  Parsed p("for i in range(3):\n    if i == 1:\n        print(i)\n    else:\n        print(0)\nlet "
           "x = 1\n");
  EXPECT_LE(p.diagnostics.errorCount(), 3u) << p.rendered();
  EXPECT_NE(p.dump().find("let x"), std::string::npos);
}

TEST(ParserErrors, MissingBracketPointsAtBothLocations) {
  Parsed p("let a = f(1,\n  2\nlet b = 3\n");
  ASSERT_EQ(p.diagnostics.errorCount(), 1u) << p.rendered();
  EXPECT_NE(p.rendered().find("opened here"), std::string::npos) << p.rendered();
}

TEST(ParserErrors, DeclarationsStandAtTheTop) {
  EXPECT_EQ(codes("fn f() { import a }"), "E0112");
  EXPECT_EQ(codes("fn f() { model M { } }"), "E0112");
}

// ---- limits: at n-1 and n all is well, at n+1 one error names the limit.

std::string repeat(const std::string &text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

struct Nest {
  const char *name, *open, *inside, *close;
};
class Nesting : public testing::TestWithParam<Nest> {};
TEST_P(Nesting, IsBoundedAndNeverOverflowsTheStack) {
  const Nest &n = GetParam();
  auto at = [&](int depth) {
    return Parsed(repeat(n.open, depth) + n.inside + repeat(n.close, depth));
  };
  int good = 0;
  for (int depth : {10, 50, 80, 120, 125, 127, 250, 253, 254, 255, 256, 257, 300})
    if (at(depth).good())
      good = depth;
  EXPECT_GE(good, 50) << n.name;
  EXPECT_LE(good, limits::kMaxNesting) << n.name;
  for (int depth : {limits::kMaxNesting + 1, 1000, 100'000}) {
    Parsed p(repeat(n.open, depth) + n.inside + repeat(n.close, depth));
    EXPECT_EQ(p.codes(), "E0104") << n.name << " at " << depth << "\n"
                                  << p.messages().substr(0, 400);
    Parsed open(repeat(n.open, depth));
    EXPECT_NE(open.codes().find("E0104"), std::string::npos) << n.name << " open at " << depth;
    EXPECT_LE(open.diagnostics.errorCount(), 2u) << n.name;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Parser, Nesting,
    testing::Values(Nest{"round", "(", "x", ")"}, Nest{"square", "[", "x", "]"},
                    Nest{"call", "f(", "x", ")"}, Nest{"index", "x[", "1", "]"},
                    Nest{"block", "if a { ", "x", " }"}, Nest{"graph", "graph { ", "x", " }"},
                    Nest{"function", "fn f() { ", "x", " }"}, Nest{"lambda", "fn() { ", "x", " }"},
                    Nest{"negate", "-", "x", ""}, Nest{"not", "not ", "x", ""},
                    Nest{"power", "x ** ", "x", ""}, Nest{"for", "for i in a { ", "x", " }"},
                    Nest{"grad", "grad(a) { ", "x", " }"}, Nest{"on", "on d { ", "x", " }"}),
    [](const auto &info) { return info.param.name; });

TEST(Limits, RoundBracketsAtTheLimit) {
  // The statement itself and the expression inside the innermost bracket are levels too.
  auto nested = [](int n) {
    return Parsed(std::string(n, '(') + "x" + std::string(n, ')')).codes();
  };
  int most = 0;
  while (nested(most + 1).empty())
    ++most;
  EXPECT_EQ(nested(most), "");
  EXPECT_EQ(nested(most + 1), "E0104");
  EXPECT_GE(most, 127);
}

TEST(Limits, NestedTypesAndPatterns) {
  EXPECT_EQ(codes("let x: " + repeat("[", 1000) + "f32" + repeat("; 1]", 1000) + " = 1"), "E0104");
  EXPECT_EQ(codes("let x: " + repeat("(", 1000) + "f32" + repeat(")", 1000) + " = 1"), "E0104");
  EXPECT_EQ(codes("let x: " + repeat("fn(", 1000) + "f32" + repeat(") -> f32", 1000) + " = 1"),
            "E0104");
  EXPECT_EQ(codes("let " + repeat("(", 1000) + "a" + repeat(")", 1000) + " = 1"), "E0104");
}

TEST(Limits, ChainsAreBoundedByTheHeightOfTheTree) {
  auto chain = [](const char *link, int n) { return Parsed("x" + repeat(link, n)).codes(); };
  for (const char *link : {" + x", " * x", ".f", ".f()", "[0]", "()", " |> f", " and x", " or x"}) {
    EXPECT_EQ(chain(link, 300), "") << link;
    EXPECT_EQ(chain(link, 1000), "E0104") << link;
    EXPECT_EQ(chain(link, 100'000), "E0104") << link;
  }
  // A statement adds a level, so the last that fits is a little below the limit.
  int most = limits::kMaxTreeHeight;
  while (!chain(" + x", most).empty())
    --most;
  EXPECT_GE(most, limits::kMaxTreeHeight - 4);
}

TEST(Limits, ElseIfChains) {
  std::string text = "if a { b }";
  EXPECT_EQ(codes(text + repeat(" else if a { b }", 60)), "");
  EXPECT_EQ(codes(text + repeat(" else if a { b }", 100'000)), "E0104");
}

TEST(Limits, ArgumentsAndParameters) {
  auto call = [](int n) { return codes("f(" + repeat("x,", n) + ")"); };
  EXPECT_EQ(call(limits::kMaxParams), "");
  EXPECT_EQ(call(limits::kMaxParams + 1), "E0002");
  auto header = [](int n) { return codes("fn f(" + repeat("x: f32,", n) + ") { }"); };
  EXPECT_EQ(header(limits::kMaxParams), "");
  EXPECT_EQ(header(limits::kMaxParams + 1), "E0002");
}

TEST(Limits, ErrorsStopAtOneHundred) {
  EXPECT_EQ(Parsed(repeat("let = 1\n", 1000)).diagnostics.errorCount(), size_t(limits::kMaxErrors));
  EXPECT_EQ(Parsed(repeat("$", 100'000)).diagnostics.errorCount(), size_t(limits::kMaxErrors));
}

} // namespace
