// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detection of complete inputs, line by line.
#include "Repl/Inputs.h"
#include "gtest/gtest.h"
#include <random>
#include <vector>

namespace mx::repl {
namespace {

TEST(Inputs, ALongListIsReadOnceNotOnceALine) {
  InputLines lines;
  int looks = lines.mayEnd("let a = [");
  for (int i = 0; i < 12000; ++i)
    looks += lines.mayEnd("  [" + std::to_string(i) + ".0, 1.0],");
  EXPECT_EQ(looks, 0);
  EXPECT_TRUE(lines.mayEnd("]"));
}

TEST(Inputs, ALineThatGoesOnDoesNotEnd) {
  InputLines sum;
  EXPECT_FALSE(sum.mayEnd("let a = 1 +"));
  EXPECT_FALSE(sum.mayEnd("  2 *"));
  EXPECT_TRUE(sum.mayEnd("  3"));
  InputLines function;
  EXPECT_FALSE(function.mayEnd("fn f() {"));
  EXPECT_FALSE(function.mayEnd("  let a = \"}\"  # }"));
  EXPECT_TRUE(function.mayEnd("}"));
}

/// Whatever isComplete() says is complete may end; of any lines, also wrong ones.
TEST(Inputs, NoEndIsMissed) {
  const std::vector<std::string> pieces = {
      "(",       ")",      "[",       "]",   "{",     "}",    "let ", "x",    " = ",
      "1",       " + ",    ",",       "fn ", "\"a\"", "\"",   "f\"{", "}\"",  "# c",
      "##",      "if ",    " else ",  ".",   ";",     "'",    "->",   "for ", " in",
      "return ", "model ", "import ", "|>",  "\\",    " and "};
  std::mt19937 random(7);
  auto pick = [&](size_t count) { return random() % count; };
  int complete = 0;
  for (int round = 0; round < 4000; ++round) {
    InputLines lines;
    std::string whole;
    for (size_t n = pick(5) + 1; n > 0; --n) {
      std::string line;
      for (size_t k = pick(6); k > 0; --k)
        line += pieces[pick(pieces.size())];
      bool mayEnd = lines.mayEnd(line);
      whole += line + "\n";
      if (!isComplete(whole) || isCommand(whole))
        continue;
      ++complete;
      EXPECT_TRUE(mayEnd) << whole;
    }
  }
  EXPECT_GT(complete, 1000);
}

TEST(Inputs, AMarkMakesSeveralStatementsOneInput) {
  EXPECT_EQ(markOfOne("let a = 1\n"), "");
  EXPECT_EQ(markOfOne("let a = [\n  1,\n\n  2]\n\n"), "");
  EXPECT_EQ(markOfOne("## doc\nfn f() { 1 }\n"), "");
  std::string two = markOfOne("fn f() { g() }\nfn g() { 1 }\n");
  EXPECT_EQ(two, "#: 2 lines are one input\n");
  EXPECT_EQ(linesOfOne(two.substr(0, two.size() - 1)), 2u);
  EXPECT_EQ(linesOfOne("# 2 lines are one input"), 0u);
  EXPECT_EQ(linesOfOne("#:  lines are one input"), 0u);
}

} // namespace
} // namespace mx::repl
