// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products against sums in order.
#include "LoweringTestSupport.h"

namespace mx::lowering {
namespace {

/// Small numbers, whose products and sums are exact in every type, whatever is fused.
template <class T> std::vector<T> small(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(T(static_cast<int>(random() % 5) - (std::is_unsigned_v<T> ? 0 : 2)));
  return out;
}

template <class T> struct Matmul : testing::Test {};
using Numbers = testing::Types<int8_t, uint8_t, int32_t, int64_t, F16, BF16, float, double>;
TYPED_TEST_SUITE(Matmul, Numbers);

TYPED_TEST(Matmul, OfAllSizesAndStrides) {
  using T = TypeParam;
  using W = Wide<T>;
  std::string t = ElementOf<T>::name;
  Kernel dense = compiler().fromKey("matmul " + t + ":3c," + t + ":3c -> " + t + ":3c");
  Kernel strided = compiler().fromKey("matmul " + t + ":3s," + t + ":3s -> " + t + ":3c");
  ASSERT_TRUE(dense && strided);
  struct {
    size_t g, m, n, k;
  } sizes[] = {{1, 1, 1, 1},    {2, 3, 5, 7}, {1, 17, 33, 19}, {1, 4, 300, 8},
               {0, 2, 2, 2},    {1, 0, 3, 2}, {1, 3, 0, 2},    {2, 3, 4, 0},
               {1, 64, 64, 64}, {3, 5, 1, 9}, {1, 1, 257, 3}};
  for (auto [g, m, n, k] : sizes) {
    std::vector<T> x = small<T>(g * m * k, 1), y = small<T>(g * k * n, 2), got(g * m * n),
                   again(got.size());
    auto i64 = [](size_t v) { return static_cast<int64_t>(v); };
    ASSERT_EQ(dense({address(x), address(y), address(got)}, {i64(g), i64(m), i64(n), i64(k)}).code,
              0);
    for (size_t b = 0; b < g; ++b)
      for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j) {
          W sum = 0;
          for (size_t p = 0; p < k; ++p)
            sum =
                static_cast<W>(sum + widen(x[(b * m + i) * k + p]) * widen(y[(b * k + p) * n + j]));
          ASSERT_TRUE(same(got[(b * m + i) * n + j], T(sum)))
              << t << " " << m << "x" << n << "x" << k << " at " << i << ", " << j;
        }
    // Both operands transposed in memory.
    std::vector<T> xt(x.size()), yt(y.size());
    for (size_t b = 0; b < g; ++b)
      for (size_t p = 0; p < k; ++p) {
        for (size_t i = 0; i < m; ++i)
          xt[(b * k + p) * m + i] = x[(b * m + i) * k + p];
        for (size_t j = 0; j < n; ++j)
          yt[(b * n + j) * k + p] = y[(b * k + p) * n + j];
      }
    ASSERT_EQ(
        strided({address(xt), address(yt), address(again)},
                {i64(g), i64(m), i64(n), i64(k), i64(k * m), 1, i64(m), i64(n * k), 1, i64(k)})
            .code,
        0);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(same(got[i], again[i])) << t << " strided";
  }
}

TEST(MatmulOps, AccumulateHalfsInF32) {
  Kernel kernel = compiler().fromKey("matmul bf16:3c,bf16:3c -> bf16:3c");
  // 1 + 1000 times 1/256: in bf16 the sum would stay at 1.
  std::vector<BF16> x(1001, BF16(1.0 / 256)), y(1001, BF16(1.0)), got(1);
  x[0] = BF16(1.0);
  ASSERT_EQ(kernel({address(x), address(y), address(got)}, {1, 1, 1, 1001}).code, 0);
  EXPECT_EQ(static_cast<double>(got[0]), static_cast<double>(BF16(1 + 1000.0 / 256)));
}

/// relu(x @ w + b), x with two batch axes, w with none.
TEST(MatmulOps, WithOpsAfter) {
  Kernel kernel = compiler().fromText(R"(
mx.func @k(%x: !mx.tensor<f32[A, 3, M, 8]>, %w: !mx.tensor<f32[1, 8, N]>, %b: !mx.tensor<f32[N]>) -> !mx.tensor<f32[A, 3, M, N]> attributes {sizes = ["A", "M", "N"]} {
  %k = mx.kernel(%x, %w, %b) attributes {sizes = ["A", "M", "N"]} : (!mx.tensor<f32[A, 3, M, 8]>, !mx.tensor<f32[1, 8, N]>, !mx.tensor<f32[N]>) -> !mx.tensor<f32[A, 3, M, N]> {
  ^bb0(%a: !mx.tensor<f32[A, 3, M, 8]>, %w2: !mx.tensor<f32[1, 8, N]>, %b2: !mx.tensor<f32[N]>):
    %0 = mx.matmul %a, %w2 : (!mx.tensor<f32[A, 3, M, 8]>, !mx.tensor<f32[1, 8, N]>) -> !mx.tensor<f32[A, 3, M, N]>
    %1 = mx.add %0, %b2 : (!mx.tensor<f32[A, 3, M, N]>, !mx.tensor<f32[N]>) -> !mx.tensor<f32[A, 3, M, N]>
    %z = mx.constant 0.0 : f32 -> !mx.tensor<f32[]>
    %2 = mx.maximum %1, %z : (!mx.tensor<f32[A, 3, M, N]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[A, 3, M, N]>
    mx.yield %2 : !mx.tensor<f32[A, 3, M, N]>
  }
  mx.return %k : !mx.tensor<f32[A, 3, M, N]>
})");
  ASSERT_TRUE(kernel);
  const size_t A = 2, M = 5, N = 9;
  std::vector<float> x = small<float>(A * 3 * M * 8, 1), w = small<float>(8 * N, 2),
                     b = small<float>(N, 3), got(A * 3 * M * N);
  ASSERT_EQ(kernel({address(x), address(w), address(b), address(got)}, {A, M, N}).code, 0);
  for (size_t i = 0; i < A * 3 * M; ++i)
    for (size_t j = 0; j < N; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 8; ++k)
        sum += x[i * 8 + k] * w[k * N + j];
      EXPECT_EQ(got[i * N + j], std::max(sum + b[j], 0.0f));
    }
}

TEST(MatmulOps, OfVectors) {
  auto text = [](const std::string &x, const std::string &y, const std::string &r) {
    std::string X = "!mx.tensor<f32" + x + ">", Y = "!mx.tensor<f32" + y + ">",
                R = "!mx.tensor<f32" + r + ">";
    return "mx.func @k(%x: " + X + ", %y: " + Y + ") -> " + R +
           " attributes {sizes = [\"M\", \"K\"]} { %k = mx.kernel(%x, %y) attributes {sizes = "
           "[\"M\", \"K\"]} : (" +
           X + ", " + Y + ") -> " + R + " {\n^bb0(%a: " + X + ", %b: " + Y +
           "):\n %0 = mx.matmul %a, %b : (" + X + ", " + Y + ") -> " + R + "\n mx.yield %0 : " + R +
           "\n}\n mx.return %k : " + R + "\n}";
  };
  std::vector<float> x = small<float>(6 * 10, 1), v = small<float>(10, 2), row = small<float>(6, 3);
  std::vector<float> got(10);
  Kernel matrixVector = compiler().fromText(text("[M, K]", "[K]", "[M]"));
  ASSERT_EQ(matrixVector({address(x), address(v), address(got)}, {6, 10}).code, 0);
  for (size_t i = 0; i < 6; ++i) {
    float sum = 0;
    for (size_t k = 0; k < 10; ++k)
      sum += x[i * 10 + k] * v[k];
    EXPECT_EQ(got[i], sum);
  }
  Kernel vectorMatrix = compiler().fromText(text("[M]", "[M, K]", "[K]"));
  ASSERT_EQ(vectorMatrix({address(row), address(x), address(got)}, {6, 10}).code, 0);
  for (size_t k = 0; k < 10; ++k) {
    float sum = 0;
    for (size_t i = 0; i < 6; ++i)
      sum += row[i] * x[i * 10 + k];
    EXPECT_EQ(got[k], sum);
  }
  Kernel dot = compiler().fromText(text("[K]", "[K]", "[]"));
  ASSERT_EQ(dot({address(v), address(v), address(got)}, {0, 10}).code, 0);
  float sum = 0;
  for (float f : v)
    sum += f * f;
  EXPECT_EQ(got[0], sum);
}

} // namespace
} // namespace mx::lowering
