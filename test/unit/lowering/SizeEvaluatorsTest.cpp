// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes with divisions have one value, whoever evaluates them: the definition (floorDivide), calls of
// graphs, compiled programs, compiled kernels, and host code. For all signs, and for divisors of 0.
#include "../bytecode/BytecodeTestSupport.h"
#include "LoweringTestSupport.h"
#include "Run/GraphCalls.h"
#include "Support/CheckedMath.h"
#include "TestProgram.h"

namespace mx {
namespace {

constexpr int64_t kMiddle = 10, kMost = 20;

/// (N - 10) // (M - 10) + 40, in text that MLIR does not take for a comment.
const std::string kSize = "(N - 10) / / (M - 10) + 40";
int64_t expected(int64_t n, int64_t m) { return floorDivide(n - kMiddle, m - kMiddle) + 40; }

template <typename Evaluate> void compareAll(Evaluate evaluate) {
  for (int64_t n = 0; n <= kMost; ++n)
    for (int64_t m = 0; m <= kMost; ++m)
      EXPECT_EQ(evaluate(n, m), expected(n, m)) << n - kMiddle << " // " << m - kMiddle;
}

TEST(SizeEvaluators, TheDefinition) {
  for (int64_t x = -kMiddle; x <= kMiddle; ++x)
    for (int64_t y = -kMiddle; y <= kMiddle; ++y) {
      int64_t quotient = 0; // by counting, rounded down
      if (y != 0) {
        int64_t a = y < 0 ? -x : x, b = y < 0 ? -y : y;
        for (; a < 0; a += b)
          --quotient;
        for (; a >= b; a -= b)
          ++quotient;
      }
      EXPECT_EQ(floorDivide(x, y), quotient) << x << " // " << y;
    }
}

TEST(SizeEvaluators, CallsOfGraphs) {
  using run::Size;
  const int64_t steps[] = {Size::OfCall, 0,           Size::Constant, -kMiddle, Size::Add, 0,
                           Size::OfCall, 1,           Size::Constant, -kMiddle, Size::Add, 0,
                           Size::FloorDivide, 0,      Size::Constant, 40,       Size::Add, 0};
  Size size = {0, steps, std::size(steps) / 2};
  compareAll([&](int64_t n, int64_t m) {
    int64_t sizes[] = {n, m};
    return run::valueOf(size, sizes);
  });
}

TEST(SizeEvaluators, Programs) {
  auto program = test::TestProgram::make(R"(
!i = !mx.tensor<i64[] on host>
mx.graph @f(%x: !mx.tensor<f32[N, M]>) -> !i
    attributes {sizes = ["N", "M"], mx.dyn = {N = 20 : i64, M = 20 : i64}} {
  %n = mx.size <)" + kSize + R"(> -> !i
  mx.return %n : !i
})",
                                         {});
  ASSERT_TRUE(program);
  compareAll([&](int64_t n, int64_t m) {
    float x = 0;
    int64_t result = 0;
    EXPECT_EQ((*program)({&x, &result}, {n, m}), nullptr);
    return result;
  });
}

/// A kernel shows a size only by how many elements it writes.
TEST(SizeEvaluators, Kernels) {
  std::string type = "!mx.tensor<i32[" + kSize + "]>";
  lowering::Kernel kernel = lowering::compiler().fromText(
      "mx.func @f() -> " + type + R"( attributes {sizes = ["N", "M"]} {
  %y = mx.kernel() attributes {sizes = ["N", "M"]} : () -> )" + type + R"( {
    %i = mx.iota : )" + type + R"(
    mx.yield %i : )" + type + R"(
  }
  mx.return %y : )" + type + R"(
})");
  ASSERT_TRUE(kernel);
  compareAll([&](int64_t n, int64_t m) {
    std::vector<int32_t> out(100, -1);
    EXPECT_EQ(kernel({out.data()}, {n, m}).code, 0);
    return static_cast<int64_t>(std::find(out.begin(), out.end(), -1) - out.begin());
  });
}

class HostCode : public bytecode::BytecodeFixture {};

TEST_F(HostCode, DividesSizes) {
  mxrt::host::Program *program = load(R"(
mx.func @f(%n: !i64, %m: !i64) -> !i64 {
  mx.bind_size "N" = %n : !i64
  mx.bind_size "M" = %m : !i64
  %s = mx.size <)" + kSize + R"(> -> !i64
  mx.return %s : !i64
})");
  compareAll([&](int64_t n, int64_t m) {
    if (m != kMiddle)
      return callInt(program, "f", {n, m});
    // Here a user sees it.
    EXPECT_EQ(failure(program, "f", {n, m}), "integer division by zero");
    return expected(n, m);
  });
}

} // namespace
} // namespace mx
