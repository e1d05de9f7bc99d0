// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random kernels give what the runtime gives for the same seed and position.
#include "LoweringTestSupport.h"

namespace mx::lowering {
namespace {

Kernel draw(const std::string &kind, const std::string &parameterTypes, const std::string &out) {
  std::string types = "!mx.tensor<i64[]>, !mx.tensor<i64[]>" + parameterTypes;
  std::string outer = "%s: !mx.tensor<i64[]>, %c: !mx.tensor<i64[]>",
              inner = "%s2: !mx.tensor<i64[]>, %c2: !mx.tensor<i64[]>";
  std::string names = "%s, %c", uses;
  for (size_t at = 0, n = 0; (at = parameterTypes.find("!mx", at)) != std::string::npos;
       ++n, ++at) {
    std::string type = parameterTypes.substr(at, parameterTypes.find('>', at) + 1 - at);
    outer += ", %p" + std::to_string(n) + ": " + type;
    inner += ", %q" + std::to_string(n) + ": " + type;
    names += ", %p" + std::to_string(n);
    uses += ", %q" + std::to_string(n);
  }
  std::string r = "!mx.tensor<" + out + ">";
  return compiler().fromText("mx.func @k(" + outer + ") -> " + r +
                             " attributes {sizes = [\"N\", \"C\"]} { %k = mx.kernel(" + names +
                             ") attributes {sizes = [\"N\", \"C\"]} : (" + types + ") -> " + r +
                             " {\n^bb0(" + inner + "):\n %r = mx.random \"" + kind + "\"(%s2, %c2" +
                             uses + ") : (" + types + ") -> " + r + "\n mx.yield %r : " + r +
                             "\n}\n mx.return %k : " + r + "\n}");
}
struct Stream {
  mxrt_rng rng;
  Stream(uint64_t seed, uint64_t position) {
    mxrt_rng_seed(&rng, seed);
    rng.position = position;
  }
};
const std::string kF32 = ", !mx.tensor<f32[]>";

TEST(Random, UniformAndNormal) {
  mxrt_context context;
  mxrt_context_init(&context);
  int64_t seed = 42, counter = 7;
  float low = -1, high = 3;
  for (std::string kind : {"uniform", "normal"}) {
    auto *reference = kind == "uniform" ? mxrt_random_uniform_f32 : mxrt_random_normal_f32;
    std::vector<float> got(3000), expected(3000);
    Stream stream(42, 7);
    ASSERT_EQ(reference(&context, &stream.rng, low, high, 3000, expected.data()), nullptr);
    Kernel kernel = draw(kind, kF32 + kF32, "f32[N, 3]");
    ASSERT_EQ(kernel({&seed, &counter, &low, &high, address(got)}, {1000, 0}).code, 0);
    EXPECT_EQ(got, expected);
    // 16 bits are the f32 numbers, rounded.
    std::vector<F16> halfs(3000);
    Kernel half = draw(kind, kF32 + kF32, "f16[N, 3]");
    ASSERT_EQ(half({&seed, &counter, &low, &high, address(halfs)}, {1000, 0}).code, 0);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(same(halfs[i], F16(expected[i]))) << i;
    std::vector<double> wide(100), expectedWide(100);
    Stream again(42, 7);
    auto *referenceWide = kind == "uniform" ? mxrt_random_uniform_f64 : mxrt_random_normal_f64;
    ASSERT_EQ(referenceWide(&context, &again.rng, low, high, 100, expectedWide.data()), nullptr);
    Kernel f64 = draw(kind, kF32 + kF32, "f64[N]");
    ASSERT_EQ(f64({&seed, &counter, &low, &high, address(wide)}, {100, 0}).code, 0);
    EXPECT_EQ(wide, expectedWide);
  }
}

TEST(Random, ErrorsOfTheRuntimeComeThrough) {
  int64_t seed = 1, counter = 0;
  float low = 3, high = 1;
  std::vector<float> got(2000);
  EXPECT_EQ(draw("uniform", kF32 + kF32, "f32[N]")({&seed, &counter, &low, &high, address(got)},
                                                   {2000, 0})
                .code,
            2);
  std::vector<BF16> halfs(2000);
  EXPECT_EQ(draw("uniform", kF32 + kF32, "bf16[N]")({&seed, &counter, &low, &high, address(halfs)},
                                                    {2000, 0})
                .code,
            2);
}

TEST(Random, Integers) {
  mxrt_context context;
  mxrt_context_init(&context);
  int64_t seed = 5, counter = 100;
  int32_t low = -3, high = 12;
  std::vector<int32_t> got(500), expected(500);
  Stream stream(5, 100);
  ASSERT_EQ(mxrt_random_uniform_i32(&context, &stream.rng, low, high, 500, expected.data()),
            nullptr);
  Kernel randint = draw("randint", ", !mx.tensor<i32[]>, !mx.tensor<i32[]>", "i32[N]");
  ASSERT_EQ(randint({&seed, &counter, &low, &high, address(got)}, {500, 0}).code, 0);
  EXPECT_EQ(got, expected);
  Stream shuffled(5, 100);
  ASSERT_EQ(mxrt_random_permutation_i32(&context, &shuffled.rng, 500, expected.data()), nullptr);
  Kernel permutation = draw("permutation", "", "i32[N]");
  ASSERT_EQ(permutation({&seed, &counter, address(got)}, {500, 0}).code, 0);
  EXPECT_EQ(got, expected);
}

TEST(Random, BernoulliAndCategorical) {
  mxrt_context context;
  mxrt_context_init(&context);
  int64_t seed = 9, counter = 3;
  float p = 0.25f;
  std::vector<uint8_t> got(777), expected(777);
  Stream stream(9, 3);
  ASSERT_EQ(mxrt_random_bernoulli(&context, &stream.rng, p, 777, expected.data()), nullptr);
  ASSERT_EQ(draw("bernoulli", kF32, "bool[N]")({&seed, &counter, &p, address(got)}, {777, 0}).code,
            0);
  EXPECT_EQ(got, expected);
  // More rows than a chunk has.
  std::vector<float> logits(1500 * 5);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(i % 7) * 0.3f;
  std::vector<int64_t> classes(1500);
  Stream third(9, 3);
  ASSERT_EQ(mxrt_random_categorical_logits_f32(&context, &third.rng, 1500, 5, logits.data(),
                                               classes.data()),
            nullptr);
  std::vector<int32_t> drawn(1500);
  Kernel categorical = draw("categorical", ", !mx.tensor<f32[N, C]>", "i32[N]");
  ASSERT_EQ(categorical({&seed, &counter, address(logits), address(drawn)}, {1500, 5}).code, 0);
  EXPECT_EQ(std::vector<int64_t>(drawn.begin(), drawn.end()), classes);
}

} // namespace
} // namespace mx::lowering
