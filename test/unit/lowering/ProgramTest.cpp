// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs run: straight on, through branches and loops, to their errors.
#include "TestProgram.h"
#include "mxrt/status.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace mx::test {
namespace {

using Vector = std::array<float, 4>;

/// out[i] = in[i] + 1
mxrt_status increment(const mxrt_context *, void *const *buffers, const int64_t *) {
  auto *in = static_cast<const float *>(buffers[0]);
  auto *out = static_cast<float *>(buffers[1]);
  for (int i = 0; i < 4; ++i)
    out[i] = in[i] + 1;
  return nullptr;
}
/// out = in[0] < 5
mxrt_status below5(const mxrt_context *, void *const *buffers, const int64_t *) {
  *static_cast<uint8_t *>(buffers[1]) = *static_cast<const float *>(buffers[0]) < 5;
  return nullptr;
}
/// out[i] = in[i] * k, with a workspace; i < N
mxrt_status scale(const mxrt_context *, void *const *buffers, const int64_t *sizes) {
  auto *in = static_cast<const float *>(buffers[0]);
  auto *out = static_cast<float *>(buffers[2]), *work = static_cast<float *>(buffers[3]);
  auto factor = static_cast<float>(*static_cast<const int64_t *>(buffers[1]));
  for (int64_t i = 0; i < sizes[0]; ++i) {
    work[0] = in[i] * factor;
    out[i] = work[0];
  }
  return nullptr;
}
mxrt_status broken(const mxrt_context *context, void *const *, const int64_t *) {
  return mxrt_status_text(context->allocator, MXRT_INDEX, &context->location, "no such location");
}

const std::map<std::string, Kernel> kKernels = {
    {"increment", increment}, {"below5", below5}, {"scale", scale}, {"broken", broken}};

/// Text of an mx.kernel from f32[4] to f32[4]. What is in it does not matter here.
std::string call(const std::string &result, const std::string &input, const std::string &test) {
  return result + " = mx.kernel(" + input + ") attributes {test = \"" + test + R"("} : (!v) -> !v {
  ^bb0(%p: !v):
    mx.yield %p : !v
  }
)";
}
const std::string kTypes = R"(
!v = !mx.tensor<f32[4]>
!b = !mx.tensor<bool[]>
!hb = !mx.tensor<bool[] on host>
!i = !mx.tensor<i64[] on host>
!d = !mx.tensor<f64[] on host>
)";

struct Outcome {
  mxrt_code code;
  std::string message;
  mxrt_location location;
};
/// Takes the status apart and gives it back. The file of `location` is not kept.
Outcome outcome(mxrt_status status) {
  Outcome out = {mxrt_status_code(status), mxrt_status_message(status), mxrt_status_location(status)};
  if (out.code != MXRT_OK && out.location.file)
    EXPECT_STREQ(out.location.file, "graph.mx");
  out.location.file = nullptr;
  mxrt_status_release(status);
  return out;
}

TEST(Program, CallsKernelsInOrder) {
  std::string text = kTypes + "mx.graph @f(%x: !v) -> (!v, !v) {\n" +
                     call("%a", "%x", "increment") + call("%b", "%a", "increment") +
                     call("%c", "%b", "increment") + "mx.return %c, %x : !v, !v }";
  auto program = TestProgram::make(text, kKernels);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->info.entry, "f");
  EXPECT_EQ(program->info.kernels.size(), 1u);
  ASSERT_EQ(program->info.arenas.size(), 1u);
  EXPECT_EQ(program->info.arenas[0].second, 128);
  Vector x = {1, 2, 3, 4}, y = {}, z = {};
  EXPECT_EQ((*program)({&x, &y, &z}), nullptr);
  EXPECT_EQ(y, (Vector{4, 5, 6, 7}));
  EXPECT_EQ(z, x);
}

TEST(Program, ReturnsTheErrorOfAKernel) {
  std::string text = kTypes + "mx.graph @f(%x: !v) -> !v {\n" + call("%a", "%x", "increment") +
                     call("%b", "%a", "broken") + call("%c", "%a", "increment") +
                     "mx.return %c : !v }";
  auto program = TestProgram::make(text, kKernels);
  ASSERT_TRUE(program);
  Vector x = {1, 2, 3, 4}, y = {};
  Outcome error = outcome((*program)({&x, &y}));
  EXPECT_EQ(error.code, MXRT_INDEX);
  EXPECT_EQ(error.message, "no such location");
  // The kernel knows where it is called from.
  EXPECT_EQ(error.location.line, 12);
  EXPECT_EQ(y, Vector{});
}

TEST(Program, GivesKernelsNumbersSizesAndWorkspace) {
  auto program = TestProgram::make(R"(
!i = !mx.tensor<i64[] on host>
mx.graph @f(%x: !mx.tensor<f32[N]>, %k: !i) -> (!mx.tensor<f32[N]>, !mx.tensor<f32[N]>, !i)
    attributes {sizes = ["N"], mx.dyn = {N = 8 : i64}} {
  %n = mx.size <2*N + 1> -> !i
  %m = mx.mul %n, %k : (!i, !i) -> !i
  %y = mx.kernel(%x, %m) attributes {sizes = ["N"], workspace = 4 : i64, test = "scale"} : (!mx.tensor<f32[N]>, !i) -> !mx.tensor<f32[N]> {
  ^bb0(%p: !mx.tensor<f32[N]>, %q: !i):
    mx.yield %p : !mx.tensor<f32[N]>
  }
  mx.return %y, %x, %m : !mx.tensor<f32[N]>, !mx.tensor<f32[N]>, !i
})",
                                   kKernels);
  ASSERT_TRUE(program);
  ASSERT_EQ(program->info.sizes.size(), 1u);
  EXPECT_TRUE(program->info.inputs[1].host);
  EXPECT_EQ(program->info.inputs[0].sizes.size(), 1u);
  std::array<float, 8> x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {}, z = {};
  int64_t k = 10, m = 0;
  EXPECT_EQ((*program)({&x, &k, &y, &z, &m}, {3}), nullptr);
  EXPECT_EQ(m, 70);
  // Only N elements are written.
  EXPECT_EQ(y, (std::array<float, 8>{70, 140, 210}));
  EXPECT_EQ(z, (std::array<float, 8>{1, 2, 3}));
  for (int64_t outside : {int64_t(9), int64_t(-1), std::numeric_limits<int64_t>::min()}) {
    Outcome error = outcome((*program)({&x, &k, &y, &z, &m}, {outside}));
    EXPECT_EQ(error.code, MXRT_SHAPE);
    EXPECT_EQ(error.message, "the size N is not in 0 to 8");
  }
}

TEST(Program, TakesOneBranch) {
  std::string text = kTypes + "mx.graph @f(%x: !v, %c: !b, %n: !i) -> (!v, !i) {\n" +
                     "%r:2 = mx.if %c : (!b) -> (!v, !i) {\n" + call("%a", "%x", "increment") +
                     "mx.yield %a, %n : !v, !i } else {\n" +
                     "%k = mx.neg %n : (!i) -> !i\n mx.yield %x, %k : !v, !i }\n" +
                     "mx.return %r#0, %r#1 : !v, !i }";
  auto program = TestProgram::make(text, kKernels);
  ASSERT_TRUE(program);
  Vector x = {1, 2, 3, 4}, y = {};
  int64_t n = 7, m = 0;
  bool condition = true;
  EXPECT_EQ((*program)({&x, &condition, &n, &y, &m}), nullptr);
  EXPECT_EQ(y, (Vector{2, 3, 4, 5}));
  EXPECT_EQ(m, 7);
  condition = false;
  EXPECT_EQ((*program)({&x, &condition, &n, &y, &m}), nullptr);
  EXPECT_EQ(y, x);
  EXPECT_EQ(m, -7);
}

std::string loop() {
  return kTypes + R"(mx.graph @f(%x: !v, %y: !v, %n: !i) -> (!v, !v, !i) {
  %zero = mx.constant 0 : i64 -> !i
  %r:3 = mx.for %zero to %n carries (%x, %y, %zero) : (!i, !i, !v, !v, !i) -> (!v, !v, !i) {
  ^bb0(%k: !i, %a: !v, %b: !v, %s: !i):
    %t = mx.add %s, %k : (!i, !i) -> !i
)" + call("%c", "%a", "increment") +
         R"(
    mx.yield %b, %c, %t : !v, !v, !i
  }
  mx.return %r#0, %r#1, %r#2 : !v, !v, !i
})";
}

TEST(Program, LoopsAndExchanges) {
  auto program = TestProgram::make(loop(), kKernels);
  ASSERT_TRUE(program);
  Vector x = {0, 0, 0, 0}, y = {10, 10, 10, 10}, a = {}, b = {};
  int64_t sum = -1;
  for (int64_t trips : {-3, 0, 1, 2, 5}) {
    EXPECT_EQ((*program)({&x, &y, &trips, &a, &b, &sum}), nullptr);
    Vector left = x, right = y;
    int64_t expected = 0;
    for (int64_t i = 0; i < trips; ++i) {
      Vector next = left;
      for (float &v : next)
        v += 1;
      left = right;
      right = next;
      expected += i;
    }
    EXPECT_EQ(a, left) << trips;
    EXPECT_EQ(b, right) << trips;
    EXPECT_EQ(sum, expected) << trips;
  }
}

TEST(Program, StopsWhenCancelled) {
  auto program = TestProgram::make(loop(), kKernels);
  ASSERT_TRUE(program);
  uint32_t cancelled = 1;
  program->context.cancelled = &cancelled;
  Vector x = {}, y = {}, a = {}, b = {};
  int64_t trips = 1000, sum = 0;
  EXPECT_EQ(outcome((*program)({&x, &y, &trips, &a, &b, &sum})).code, MXRT_CANCELLED);
}

TEST(Program, RepeatsUntilAndUpToALimit) {
  std::string text = kTypes + R"(mx.graph @f(%x: !v, %n: !i) -> !v {
  %r = mx.while carries (%x) limit %n : !i : (!v) -> !v {
  ^bb0(%a: !v):
    %c = mx.kernel(%a) attributes {test = "below5"} : (!v) -> !b {
    ^bb0(%p: !v):
      %s = mx.all %p over [0] : !v -> !b
      mx.yield %s : !b
    }
    mx.yield %c : !b
  } do {
  ^bb0(%a: !v):
)" + call("%b", "%a", "increment") +
                     R"(
    mx.yield %b : !v
  }
  mx.return %r : !v
})";
  auto program = TestProgram::make(text, kKernels);
  ASSERT_TRUE(program);
  Vector x = {1, 2, 3, 4}, y = {};
  int64_t limit = 4;
  EXPECT_EQ((*program)({&x, &limit, &y}), nullptr);
  EXPECT_EQ(y, (Vector{5, 6, 7, 8}));
  limit = 3;
  Outcome error = outcome((*program)({&x, &limit, &y}));
  EXPECT_EQ(error.code, MXRT_LOOP_LIMIT);
  EXPECT_EQ(error.message, "loop limit reached");
  EXPECT_EQ(error.location.line, 8);
}

TEST(Program, Asserts) {
  auto program = TestProgram::make(kTypes + R"(mx.graph @f(%n: !i, %c: !b) {
  %five = mx.constant 5 : i64 -> !i
  %less = mx.lt %n, %five : (!i, !i) -> !hb
  mx.assert %less "n < 5" : !hb
  mx.assert %c "c" : !b
  mx.return
})",
                                   kKernels);
  ASSERT_TRUE(program);
  int64_t n = 4;
  bool c = true;
  EXPECT_EQ((*program)({&n, &c}), nullptr);
  n = 5;
  Outcome error = outcome((*program)({&n, &c}));
  EXPECT_EQ(error.code, MXRT_ASSERTION);
  EXPECT_EQ(error.message, "assertion failed: n < 5");
  EXPECT_EQ(error.location.line, 10);
  EXPECT_EQ(error.location.column, 3);
  n = 4;
  c = false;
  EXPECT_EQ(outcome((*program)({&n, &c})).message, "assertion failed: c");
}

TEST(Program, DividesAsTheLanguageDoes) {
  auto program = TestProgram::make(kTypes + R"(mx.graph @f(%x: !i, %y: !i) -> (!i, !i) {
  %q = mx.floordiv %x, %y : (!i, !i) -> !i
  %r = mx.mod %x, %y : (!i, !i) -> !i
  mx.return %q, %r : !i, !i
})",
                                   kKernels);
  ASSERT_TRUE(program);
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  struct Case {
    int64_t x, y, quotient, rest;
  };
  for (Case c : {Case{7, 2, 3, 1},
                 {-7, 2, -4, 1},
                 {7, -2, -4, -1},
                 {-7, -2, 3, -1},
                 {6, -2, -3, 0},
                 {5, -1, -5, 0},
                 {least, -1, least, 0},
                 {least, 1, least, 0},
                 {0, 3, 0, 0},
                 {-1, 3, -1, 2}}) {
    int64_t quotient = 0, rest = 0;
    EXPECT_EQ((*program)({&c.x, &c.y, &quotient, &rest}), nullptr);
    EXPECT_EQ(quotient, c.quotient) << c.x << " // " << c.y;
    EXPECT_EQ(rest, c.rest) << c.x << " % " << c.y;
  }
  int64_t x = 1, zero = 0, out = 0;
  Outcome error = outcome((*program)({&x, &zero, &out, &out}));
  EXPECT_EQ(error.code, MXRT_DIVISION_BY_ZERO);
  EXPECT_EQ(error.location.line, 8);
}

TEST(Program, DividesFloatsAsTheLanguageDoes) {
  auto program = TestProgram::make(kTypes + R"(mx.graph @f(%x: !d, %y: !d) -> (!d, !d) {
  %q = mx.floordiv %x, %y : (!d, !d) -> !d
  %r = mx.mod %x, %y : (!d, !d) -> !d
  mx.return %q, %r : !d, !d
})",
                                   kKernels);
  ASSERT_TRUE(program);
  struct Case {
    double x, y, quotient, rest;
  };
  // As Python prints them.
  for (Case c : {Case{7.5, 2, 3, 1.5},
                 {-7.5, 2, -4, 0.5},
                 {7.5, -2, -4, -0.5},
                 {-7.5, -2, 3, -1.5},
                 {1, 0.1, 9, 0.09999999999999995},
                 {6, 2, 3, 0}}) {
    double quotient = 0, rest = 0;
    EXPECT_EQ((*program)({&c.x, &c.y, &quotient, &rest}), nullptr);
    EXPECT_EQ(quotient, c.quotient) << c.x << " // " << c.y;
    EXPECT_EQ(rest, c.rest) << c.x << " % " << c.y;
  }
  double x = 0, y = -3, quotient = 1, rest = 1;
  EXPECT_EQ((*program)({&x, &y, &quotient, &rest}), nullptr);
  EXPECT_TRUE(quotient == 0 && std::signbit(quotient));
  EXPECT_TRUE(rest == 0 && std::signbit(rest));
  x = 1, y = 0;
  EXPECT_EQ((*program)({&x, &y, &quotient, &rest}), nullptr);
  EXPECT_TRUE(std::isinf(quotient) && std::isnan(rest));
}

TEST(Program, ConvertsAsTheLanguageDoes) {
  auto program = TestProgram::make(kTypes + R"(mx.graph @f(%x: !d) -> (!mx.tensor<i8[] on host>,
    !mx.tensor<u8[] on host>, !i, !hb) {
  %a = mx.cast %x : (!d) -> !mx.tensor<i8[] on host>
  %b = mx.cast %x : (!d) -> !mx.tensor<u8[] on host>
  %c = mx.cast %x : (!d) -> !i
  %e = mx.cast %x : (!d) -> !hb
  mx.return %a, %b, %c, %e : !mx.tensor<i8[] on host>, !mx.tensor<u8[] on host>, !i, !hb
})",
                                   kKernels);
  ASSERT_TRUE(program);
  using Long = std::numeric_limits<int64_t>;
  struct Case {
    double x;
    int8_t i8;
    uint8_t u8;
    int64_t i64;
    bool truth;
  };
  double inf = std::numeric_limits<double>::infinity(),
         nan = std::numeric_limits<double>::quiet_NaN();
  for (Case c : {Case{0, 0, 0, 0, false},
                 {-1.9, -1, 0, -1, true},
                 {127.9, 127, 127, 127, true},
                 {200.5, 127, 200, 200, true},
                 {1e30, 127, 255, Long::max(), true},
                 {-1e30, -128, 0, Long::min(), true},
                 {inf, 127, 255, Long::max(), true},
                 {-inf, -128, 0, Long::min(), true},
                 {nan, 0, 0, 0, true}}) {
    int8_t i8 = 1;
    uint8_t u8 = 1;
    int64_t i64 = 1;
    bool truth = false;
    EXPECT_EQ((*program)({&c.x, &i8, &u8, &i64, &truth}), nullptr);
    EXPECT_EQ(i8, c.i8) << c.x;
    EXPECT_EQ(u8, c.u8) << c.x;
    EXPECT_EQ(i64, c.i64) << c.x;
    EXPECT_EQ(truth, c.truth) << c.x;
  }
}

} // namespace
} // namespace mx::test
