// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long tensors live.
#include "BytecodeTestSupport.h"

namespace mx::bytecode {
namespace {

class LiveValuesTest : public BytecodeFixture {
protected:
  /// The most tensors that were alive at a time.
  int mostOf(const std::string &body) {
    host::Program *program = load("mx.func @f() {\n" + body + "  mx.return\n}\n");
    FakeTensor::maxLive = 0;
    std::vector<host::Value> none;
    call(program, "f", none);
    EXPECT_EQ(FakeTensor::alive, 0);
    return FakeTensor::maxLive;
  }
  const std::string x = "  %one = mx.constant 1.0 : f32 -> !f32\n"
                        "  %zero = mx.constant 0 : i64 -> !i64\n"
                        "  %ten = mx.constant 10 : i64 -> !i64\n"
                        "  %x = mx.full %one : !f32 -> !t\n";
};

TEST_F(LiveValuesTest, Chains) {
  std::string body = x;
  for (int i = 0; i < 100; ++i)
    body += "  %a" + std::to_string(i) + " = mx.neg %" +
            (i ? "a" + std::to_string(i - 1) : std::string("x")) + " : (!t) -> !t\n";
  // An operation and its operand.
  EXPECT_EQ(mostOf(body + "  mx.print %a99 : !t\n"), 2);
}

TEST_F(LiveValuesTest, UsedLastInABranch) {
  for (const char *condition : {"%zero, %ten", "%ten, %zero"})
    EXPECT_EQ(mostOf(x + "  %y = mx.neg %x : (!t) -> !t\n  %c = mx.lt " + condition +
                     " : (!i64, !i64) -> !bool\n" + R"(
  mx.if %c : (!bool) -> () {
    mx.print %x : !t
    %a = mx.full %one : !f32 -> !t
    %b = mx.full %one : !f32 -> !t
    mx.print %a, %b : !t, !t
    mx.yield
  } else {
    %a = mx.full %one : !f32 -> !t
    mx.print %a, %y : !t, !t
    mx.yield
  }
)"),
              2);
}

TEST_F(LiveValuesTest, Loops) {
  EXPECT_EQ(mostOf(x + R"(
  %r = mx.for %zero to %ten carries (%x) : (!i64, !i64, !t) -> !t {
  ^bb0(%i: !i64, %v: !t):
    %a = mx.neg %v : (!t) -> !t
    %b = mx.neg %a : (!t) -> !t
    mx.yield %b : !t
  }
  mx.print %r : !t
)"),
            2);
  // What the loop does not look at any more makes room for the next.
  EXPECT_EQ(mostOf(x + R"(
  %r = mx.for %zero to %ten carries (%x) : (!i64, !i64, !t) -> !t {
  ^bb0(%i: !i64, %v: !t):
    %a = mx.full %one : !f32 -> !t
    mx.yield %a : !t
  }
  mx.print %r : !t
)"),
            1);
}

TEST_F(LiveValuesTest, ConditionsEndBeforeTheirBranches) {
  for (const char *condition : {"%a, %b", "%b, %a"})
    EXPECT_EQ(mostOf(x + "  %y = mx.neg %x : (!t) -> !t\n" +
                     "  %a = mx.slice %x [\"i\"] at (%zero) : (!t, !i64) -> !s\n" +
                     "  %b = mx.slice %y [\"i\"] at (%zero) : (!t, !i64) -> !s\n" +
                     "  %c = mx.lt " + condition + " : (!s, !s) -> !mx.tensor<bool[]>\n" + R"(
  mx.if %c : (!mx.tensor<bool[]>) -> () {
    %p = mx.full %one : !f32 -> !t
    %q = mx.neg %p : (!t) -> !t
    %r = mx.neg %q : (!t) -> !t
    mx.print %p, %q, %r : !t, !t, !t
    mx.yield
  } else {
    %p = mx.full %one : !f32 -> !t
    %q = mx.neg %p : (!t) -> !t
    %r = mx.neg %q : (!t) -> !t
    mx.print %p, %q, %r : !t, !t, !t
    mx.yield
  }
)"),
              3);
}

TEST_F(LiveValuesTest, HandlersDropWhatTheBodyLeft) {
  EXPECT_EQ(mostOf(x + R"(
  mx.try : () -> () {
    %y = mx.neg %x : (!t) -> !t
    %a = mx.neg %y : (!t) -> !t
    %b = mx.slice %a ["i"] at (%ten) : (!t, !i64) -> !s
    mx.print %a, %b, %y, %x : !t, !s, !t, !t
    mx.yield
  } catch {
  ^bb0(%e: !mx.error):
    %p = mx.full %one : !f32 -> !t
    %q = mx.neg %p : (!t) -> !t
    %r = mx.neg %p : (!t) -> !t
    mx.print %p, %q, %r : !t, !t, !t
    mx.yield
  }
)"),
            3);
}

TEST_F(LiveValuesTest, PartsOfAggregates) {
  EXPECT_EQ(mostOf(x + R"(
  %y = mx.neg %x : (!t) -> !t
  %p = mx.make(%x, %y) : (!t, !t) -> !mx.aggregate<"" [] (!t, !t)>
  %a = mx.get %p 0 : !mx.aggregate<"" [] (!t, !t)> -> !t
  %b = mx.neg %a : (!t) -> !t
  mx.print %b : !t
)"),
            2);
}

} // namespace
} // namespace mx::bytecode
