// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mxrt/random.h"
#include "EagerFixture.h"

namespace mxrt::eager {
namespace {

class EagerRandomTest : public EagerTest {
protected:
  mxrt_rng stream(uint64_t seed, uint64_t position) {
    mxrt_rng rng;
    mxrt_rng_seed(&rng, seed);
    rng.position = position;
    return rng;
  }
  mxrt_context context() {
    mxrt_context out;
    mxrt_device device = {MXRT_CPU, 0};
    EXPECT_EQ(mxrt_runtime_context(runtime, &device, nullptr, &out), nullptr);
    return out;
  }
  template <typename T>
  static Array arrayOf(mxrt_dtype type, const Shape &shape, const std::vector<T> &values) {
    return {type, shape, std::vector<double>(values.begin(), values.end())};
  }
};
MX_BOTH_ENGINES(EagerRandomTest);

TEST_P(EagerRandomTest, DrawsAreThoseOfTheStream) {
  mxrt_context c = context();
  mxrt_rng rng = stream(42, 17);
  std::vector<float> f(35);
  ASSERT_EQ(mxrt_random_uniform_f32(&c, &rng, -1, 2, 35, f.data()), nullptr);
  EXPECT_EQ(read(op("uniform:f32", {num(42), num(17), num(-1.0), num(2), num(5), num(7)})),
            arrayOf(MXRT_F32, {5, 7}, f));
  rng = stream(42, 17);
  ASSERT_EQ(mxrt_random_normal_f32(&c, &rng, 1, 3, 35, f.data()), nullptr);
  EXPECT_EQ(read(op("normal:f32", {num(42), num(17), num(1), num(3), num(35)})),
            arrayOf(MXRT_F32, {35}, f));
  rng = stream(1, 0);
  std::vector<double> d(9);
  ASSERT_EQ(mxrt_random_normal_f64(&c, &rng, 0, 1, 9, d.data()), nullptr);
  EXPECT_EQ(read(op("normal:f64", {num(1), num(0), num(0), num(1), num(9)})),
            arrayOf(MXRT_F64, {9}, d));
  rng = stream(1, 5);
  std::vector<uint8_t> b(50);
  ASSERT_EQ(mxrt_random_bernoulli(&c, &rng, 0.25, 50, b.data()), nullptr);
  EXPECT_EQ(read(op("bernoulli", {num(1), num(5), num(0.25), num(50)})),
            arrayOf(MXRT_BOOL, {50}, b));
  rng = stream(1, 5);
  std::vector<int32_t> i(50);
  ASSERT_EQ(mxrt_random_uniform_i32(&c, &rng, -3, 10, 50, i.data()), nullptr);
  EXPECT_EQ(read(op("randint", {num(1), num(5), num(-3), num(10), num(50)})),
            arrayOf(MXRT_I32, {50}, i));
  rng = stream(9, 0);
  ASSERT_EQ(mxrt_random_permutation_i32(&c, &rng, 50, i.data()), nullptr);
  EXPECT_EQ(read(op("permutation", {num(9), num(0), num(50)})), arrayOf(MXRT_I32, {50}, i));
}

TEST_P(EagerRandomTest, HalvesAreDrawnInF32AndCast) {
  Array wide = read(op("uniform:f32", {num(3), num(0), num(0), num(1), num(20)}));
  Array half = read(op("uniform:bf16", {num(3), num(0), num(0), num(1), num(20)}));
  EXPECT_EQ(half, mapped("cast", MXRT_F32, MXRT_BF16, {wide}));
  EXPECT_EQ(kernels.asked, std::vector<std::string>{"cast f32:1c -> bf16:1c"});
}

TEST_P(EagerRandomTest, CategoricalOfRows) {
  std::mt19937 random(4);
  Array logits = Array::random(MXRT_F32, {6, 5}, random);
  mxrt_context c = context();
  mxrt_rng rng = stream(8, 2);
  std::vector<float> values(logits.values.begin(), logits.values.end());
  std::vector<int64_t> classes(6);
  ASSERT_EQ(mxrt_random_categorical_logits_f32(&c, &rng, 6, 5, values.data(), classes.data()),
            nullptr);
  Array expected = arrayOf(MXRT_I32, {6}, classes);
  EXPECT_EQ(read(op("categorical:f32", {num(8), num(2), tensor(logits)})), expected);
  EXPECT_EQ(read(op("categorical:f32", {num(8), num(2), oddTensor(logits, random)})), expected);
  EXPECT_EQ(read(op("categorical:f32", {num(8), num(2), tensor(Array::iota(MXRT_F32, {1}))})),
            (Array{MXRT_I32, {}, {0}}));
  EXPECT_EQ(refusal("categorical:f32", {num(8), num(2), tensor(Array::iota(MXRT_F32, {}))}),
            "R0201 categorical: f32[] has no classes to choose from");
}

TEST_P(EagerRandomTest, Refusals) {
  EXPECT_EQ(refusal("uniform:f32", {num(1), num(0), num(2), num(2), num(3)}),
            "R0002 uniform: low 2 must be below high 2, both finite");
  EXPECT_EQ(refusal("normal:f32", {num(1), num(0), num(2), num(-1), num(3)}),
            "R0002 normal: mean 2 and std -1 must be finite, std not negative");
  EXPECT_EQ(refusal("bernoulli", {num(1), num(0), num(1.5), num(3)}),
            "R0002 bernoulli: p 1.5 is not between 0 and 1");
  EXPECT_EQ(refusal("randint", {num(1), num(0), num(0), num(int64_t(1) << 40), num(3)}),
            "R0002 randint: low 0 must be below high 1099511627776, both i32");
  EXPECT_EQ(refusal("uniform:f32", {num(1)}), "R0803 uniform: operand 1 is missing, not i64");
  EXPECT_EQ(refusal("permutation", {num(1), num(0), num(-1)}),
            "R0201 permutation: size -1 of dimension 0 is negative");
}

} // namespace
} // namespace mxrt::eager
