// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Incremental reload: the statements of a changed file that run again; tables at the prompt.
#include "Repl/Figures.h"
#include "Repl/Reload.h"
#include <algorithm>
#include <gtest/gtest.h>

namespace mx::repl {
namespace {

/// The statements that run again, with everything blank left out; lines must stay where they are.
std::string again(const std::string &before, const std::string &now) {
  std::string part = changedPart(before, now);
  EXPECT_EQ(std::count(part.begin(), part.end(), '\n'), std::count(now.begin(), now.end(), '\n'));
  std::string out;
  size_t line = 1;
  for (size_t at = 0; at < part.size();) {
    size_t end = std::min(part.find('\n', at), part.size());
    std::string text = part.substr(at, end - at);
    if (text.find_first_not_of(" \t\r") != std::string::npos)
      out += std::to_string(line) + ": " + text + "\n";
    at = end + 1;
    ++line;
  }
  return out;
}

TEST(Reload, NothingRunsAgainWithoutAChange) {
  std::string text = "let a = 1\nfn f() -> i64 { a }\nprint(f())\n";
  EXPECT_EQ(again(text, text), "");
  // Imports are repeated, which does nothing.
  EXPECT_EQ(again("import nn\n" + text, "import nn\n" + text), "1: import nn\n");
  EXPECT_EQ(again("", ""), "");
}

TEST(Reload, AnAddedStatementRunsAlone) {
  EXPECT_EQ(again("let a = 1\n", "let a = 1\nlet b = 2\n"), "2: let b = 2\n");
  EXPECT_EQ(again("let b = 2\n", "let a = 1\nlet b = 2\n"), "1: let a = 1\n");
}

TEST(Reload, AChangedFunctionTakesThoseThatNameIt) {
  std::string before = "fn f() -> i64 { 1 }\nfn g() -> i64 { f() }\nfn h() -> i64 { 3 }\n";
  std::string now = "fn f() -> i64 { 2 }\nfn g() -> i64 { f() }\nfn h() -> i64 { 3 }\n";
  EXPECT_EQ(again(before, now), "1: fn f() -> i64 { 2 }\n2: fn g() -> i64 { f() }\n");
}

TEST(Reload, AStatementThatNamesAChangedModelRunsAgain) {
  std::string rest = "let net = Net()\nlet a = 1\n";
  EXPECT_EQ(again("model Net { param w: f32[2] = zeros() }\n" + rest,
                  "model Net { param w: f32[2] = ones() }\n" + rest),
            "1: model Net { param w: f32[2] = ones() }\n2: let net = Net()\n");
}

TEST(Figures, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(table({}, "none"), "none");
  EXPECT_EQ(table({{"a", "1"}, {"longer", "2"}}, ""), "a        1\nlonger   2\n");
  // Wide characters take two cells, and rows may be short; no line ends in spaces.
  EXPECT_EQ(table({{"\xe6\x97\xa5", "1"}, {"abc", "2"}, {"x"}, {"y", ""}}, ""),
            "\xe6\x97\xa5    1\nabc   2\nx\ny\n");
}

} // namespace
} // namespace mx::repl
