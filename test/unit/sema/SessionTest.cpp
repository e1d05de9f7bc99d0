// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The environment of a session: inputs are checked one by one, names stay, errors change nothing.
#include "Sema/Checker.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

class Session : public testing::Test {
protected:
  SourceManager sources;
  Diagnostics diagnostics{sources};
  sema::Checker checker{sources, diagnostics, {MX_SOURCE_DIR "/stdlib", {}}};
  int count = 0;

  /// True if the input is right; an unfinished one is none.
  bool enter(const std::string &text) {
    bool complete = false;
    bool right = checker.checkInput(add(text), complete);
    EXPECT_TRUE(complete) << text;
    return right && complete;
  }
  bool isComplete(const std::string &text) {
    bool complete = false;
    checker.checkInput(add(text), complete);
    return complete;
  }
  /// The type of a name, or "-".
  std::string typeOf(const std::string &name) {
    for (auto &[known, type] : checker.names())
      if (known == name)
        return type;
    return "-";
  }
  Code lastCode() { return diagnostics.all().back().code; }

private:
  const SourceFile &add(const std::string &text) {
    return sources.add("<repl:" + std::to_string(++count) + ">", "", text);
  }
};

TEST_F(Session, NamesStay) {
  EXPECT_TRUE(enter("let x = ones([2, 3])"));
  EXPECT_TRUE(enter("let y = x @ x.T"));
  EXPECT_EQ(typeOf("x"), "f32[2, 3]");
  EXPECT_EQ(typeOf("y"), "f32[2, 2]");
}

TEST_F(Session, FunctionsModelsTypesAndImportsStay) {
  EXPECT_TRUE(enter("import nn"));
  EXPECT_TRUE(enter("fn twice(x: f32[N]) -> f32[N] { x * 2.0 }"));
  EXPECT_TRUE(enter("model M[D] { sub d: nn.Dense[D, 2]\n  fn call(x: f32[B, D]) -> f32[B, 2] { d(x) } }"));
  EXPECT_TRUE(enter("type Small = M[4]"));
  EXPECT_TRUE(enter("let y = Small()(ones([3, 4]))"));
  EXPECT_EQ(typeOf("y"), "f32[3, 2]");
  EXPECT_TRUE(enter("let z = twice(y[0])"));
  EXPECT_EQ(typeOf("z"), "f32[2]");
}

TEST_F(Session, ANewDefinitionReplaces) {
  EXPECT_TRUE(enter("let x = 1"));
  EXPECT_TRUE(enter("let x = 2.0"));
  EXPECT_EQ(typeOf("x"), "f32");
  EXPECT_TRUE(enter("fn f(x: f32) -> f32 { x }"));
  EXPECT_TRUE(enter("fn f(x: f32[N]) -> f32 { x.sum() }"));
  EXPECT_TRUE(enter("let y = f(ones([3]))"));
  EXPECT_TRUE(enter("model f { param w: f32 = 0.0 }"));
  EXPECT_TRUE(enter("let m = f()"));
  EXPECT_EQ(typeOf("m"), "f");
}

TEST_F(Session, AnOldFunctionKeepsItsMeaning) {
  EXPECT_TRUE(enter("fn f(x: f32) -> f32 { x }"));
  EXPECT_TRUE(enter("fn g(x: f32) -> f32 { f(x) }"));
  EXPECT_TRUE(enter("fn f(x: i32) -> i32 { x }"));
  EXPECT_TRUE(enter("let y = g(1.0)"));
  EXPECT_EQ(typeOf("y"), "f32");
}

TEST_F(Session, AnErrorChangesNothing) {
  EXPECT_TRUE(enter("let x = ones([2])"));
  auto before = checker.names();
  EXPECT_FALSE(enter("let y = 1; let x = 3; let z = nothing"));
  EXPECT_EQ(lastCode(), Code::E0801);
  EXPECT_EQ(checker.names(), before);
  EXPECT_FALSE(enter("fn f(x: f32[N]) -> f32[N] { x.sum() }"));
  EXPECT_EQ(checker.names(), before);
  EXPECT_FALSE(enter("let let"));
  EXPECT_EQ(checker.names(), before);
  EXPECT_TRUE(enter("let y = x + 1.0"));
  EXPECT_EQ(typeOf("y"), "f32[2]");
}

TEST_F(Session, AFailedDefinitionLeavesTheOldOne) {
  EXPECT_TRUE(enter("fn f(x: f32) -> f32 { x }"));
  EXPECT_FALSE(enter("fn f(x: f32) -> f32 { nothing }"));
  EXPECT_TRUE(enter("let y = f(1.0)"));
  EXPECT_EQ(typeOf("y"), "f32");
}

TEST_F(Session, AFailedInputLeavesNoFacts) {
  EXPECT_TRUE(enter("let m = ones([5]) > 0.5"));
  EXPECT_FALSE(enter("let i: i32[K] = nonzero(m); nothing"));
  EXPECT_EQ(typeOf("K"), "-");
  EXPECT_TRUE(enter("let i: i32[K] = nonzero(m)"));
  EXPECT_TRUE(enter("let y = zeros([K]) + ones([5])[i]"));
  EXPECT_EQ(typeOf("y"), "f32[K]");
}

TEST_F(Session, VariablesKeepTheirType) {
  EXPECT_TRUE(enter("var x = ones([2])"));
  EXPECT_TRUE(enter("x += 1.0"));
  EXPECT_FALSE(enter("x = ones([3])"));
  EXPECT_EQ(lastCode(), Code::E0202);
  EXPECT_EQ(typeOf("x"), "f32[2]");
  EXPECT_FALSE(enter("let y = 1; y = 2"));
  EXPECT_EQ(lastCode(), Code::E0204);
}

TEST_F(Session, UnfinishedInputsAreNotChecked) {
  EXPECT_FALSE(isComplete("fn f(x: f32) -> f32 {"));
  EXPECT_FALSE(isComplete("let x = (1 +"));
  EXPECT_FALSE(isComplete("let x = 1 +"));
  EXPECT_FALSE(isComplete("let x ="));
  EXPECT_FALSE(isComplete("let x = [1,\n 2"));
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_TRUE(isComplete("let x = 1"));
  EXPECT_TRUE(isComplete(""));
  EXPECT_TRUE(isComplete("# nothing"));
  EXPECT_TRUE(isComplete("if x == 1 { print(x) }"));
  EXPECT_TRUE(isComplete("let x = 1)"));
}

TEST_F(Session, ManyErrorsDoNotWearItOut) {
  for (int i = 0; i < 500; ++i) {
    EXPECT_FALSE(enter("let a = nothing" + std::to_string(i)));
    diagnostics.clear();
  }
  EXPECT_TRUE(enter("let a = 1"));
  EXPECT_EQ(typeOf("a"), "i64");
}

} // namespace
