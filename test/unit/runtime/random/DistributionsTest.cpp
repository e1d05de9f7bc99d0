// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomFixture.h"
#include "random/Quantile.h"

#include <cfloat>
#include <cmath>

namespace {

constexpr int64_t large = 200003; // odd, many chunks, last block not whole
const float infinity = HUGE_VALF;

template <typename T>
using Filler = mxrt_status (*)(const mxrt_context *, mxrt_rng *, T, T, int64_t,
                               T *);

/// The fill with 1 thread must be equal, bit for bit, to fills with others and
/// to its own prefix.
template <typename T>
std::vector<T> sameForAllThreads(Filler<T> filler, T a, T b) {
  std::vector<T> expected(large);
  Machine single(1);
  mxrt_rng rng = seeded(42);
  EXPECT_EQ(filler(&single.context, &rng, a, b, large, expected.data()),
            nullptr);
  for (int32_t threads : {2, 3, 5}) {
    Machine machine(threads);
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::vector<T> got(large);
      mxrt_rng other = seeded(42);
      EXPECT_EQ(filler(&machine.context, &other, a, b, large, got.data()),
                nullptr);
      EXPECT_EQ(memcmp(got.data(), expected.data(), large * sizeof(T)), 0);
      EXPECT_EQ(other.position, rng.position);
    }
  }
  for (int64_t count : {0, 1, 2, 3, 5, 7}) {
    std::vector<T> few(static_cast<size_t>(count) + 1, T(-99));
    mxrt_rng other = seeded(42);
    EXPECT_EQ(filler(&single.context, &other, a, b, count, few.data()),
              nullptr);
    EXPECT_EQ(memcmp(few.data(), expected.data(),
                     static_cast<size_t>(count) * sizeof(T)),
              0);
    EXPECT_EQ(few.back(), T(-99)); // nothing written past the end
  }
  return expected;
}

template <typename T> void moments(const std::vector<T> &x, double &m, double &v) {
  m = v = 0;
  for (T value : x)
    m += double(value);
  m /= double(x.size());
  for (T value : x)
    v += (double(value) - m) * (double(value) - m);
  v /= double(x.size());
}

TEST(Uniform, F32) {
  auto x = sameForAllThreads<float>(mxrt_random_uniform_f32, 0, 1);
  double m, v;
  moments(x, m, v);
  EXPECT_NEAR(m, 0.5, 0.003);
  EXPECT_NEAR(v, 1.0 / 12, 0.001);
  for (float value : x)
    ASSERT_TRUE(value >= 0 && value < 1);
  // Element 0 is the top 24 bits of word 0 of block 0 under key 42.
  uint32_t counter[4] = {}, key[2] = {42, 0}, block[4];
  mxrt_philox(counter, key, block);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(x[static_cast<size_t>(i)], float(block[i] >> 8) / 16777216.0f);
}

TEST(Uniform, F64) {
  auto x = sameForAllThreads<double>(mxrt_random_uniform_f64, -3, 5);
  double m, v;
  moments(x, m, v);
  EXPECT_NEAR(m, 1, 0.02);
  EXPECT_NEAR(v, 64.0 / 12, 0.05);
  for (double value : x)
    ASSERT_TRUE(value >= -3 && value < 5);
}

TEST(Uniform, NeverReachesTheUpperBound) {
  Machine machine(1);
  // One float fits between the bounds: rounding alone would give the upper.
  float low = 16777216.0f, high = 16777218.0f;
  std::vector<float> x(10000);
  mxrt_rng rng = seeded(1);
  ASSERT_EQ(mxrt_random_uniform_f32(&machine.context, &rng, low, high, 10000,
                                    x.data()),
            nullptr);
  for (float value : x)
    ASSERT_EQ(value, low);
  ASSERT_EQ(mxrt_random_uniform_f32(&machine.context, &rng, -FLT_MIN, 0, 10000,
                                    x.data()),
            nullptr);
  for (float value : x)
    ASSERT_TRUE(value >= -FLT_MIN && value < 0);
}

TEST(Uniform, Integers) {
  auto x = sameForAllThreads<int32_t>(mxrt_random_uniform_i32, -2, 4);
  std::vector<int> counts(6);
  for (int32_t value : x) {
    ASSERT_TRUE(value >= -2 && value < 4);
    ++counts[static_cast<size_t>(value + 2)];
  }
  for (int count : counts)
    EXPECT_NEAR(count, large / 6.0, 800);
  auto y = sameForAllThreads<int64_t>(mxrt_random_uniform_i64, INT64_MIN,
                                      INT64_MAX);
  int64_t low = 0, high = 0;
  for (int64_t value : y) {
    low += value < INT64_MIN / 2;
    high += value > INT64_MAX / 2;
    ASSERT_NE(value, INT64_MAX);
  }
  EXPECT_NEAR(double(low), large / 4.0, 1000);
  EXPECT_NEAR(double(high), large / 4.0, 1000);
  auto z = sameForAllThreads<int32_t>(mxrt_random_uniform_i32, INT32_MAX - 1,
                                      INT32_MAX);
  for (int32_t value : z)
    ASSERT_EQ(value, INT32_MAX - 1);
}

TEST(Normal, F32) {
  auto x = sameForAllThreads<float>(mxrt_random_normal_f32, 2, 3);
  double m, v;
  moments(x, m, v);
  EXPECT_NEAR(m, 2, 0.03);
  EXPECT_NEAR(v, 9, 0.15);
  int64_t outside = 0;
  for (float value : x)
    outside += std::fabs(value - 2) > 3 * 1.959964;
  EXPECT_NEAR(double(outside), large * 0.05, 500);
}

TEST(Normal, F64) {
  auto x = sameForAllThreads<double>(mxrt_random_normal_f64, 0, 1);
  double m, v;
  moments(x, m, v);
  EXPECT_NEAR(m, 0, 0.01);
  EXPECT_NEAR(v, 1, 0.015);
}

TEST(Normal, DeviationZeroIsTheMean) {
  Machine machine(1);
  std::vector<float> x(100);
  mxrt_rng rng = seeded(1);
  ASSERT_EQ(mxrt_random_normal_f32(&machine.context, &rng, 1.5f, 0, 100,
                                   x.data()),
            nullptr);
  for (float value : x)
    EXPECT_EQ(value, 1.5f);
}

TEST(Normal, LogarithmIsAccurate) {
  double worst = 0;
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    double expected = std::log(x);
    worst = std::max(worst, std::fabs(mxrt::portableLog(x) - expected) /
                                std::fabs(expected));
  }
  for (double x = 0.5; x < 2; x += 1e-4)
    if (std::fabs(x - 1) > 1e-9)
      worst = std::max(worst, std::fabs(mxrt::portableLog(x) - std::log(x)) /
                                  std::fabs(std::log(x)));
  EXPECT_LT(worst, 4e-16);
  EXPECT_EQ(mxrt::portableLog(1), 0);
}

TEST(Normal, QuantileInvertsTheDistribution) {
  // Against the distribution function, which erfc computes independently.
  for (double p : {0x1p-33, 1e-9, 1e-5, 0.001, 0.025, 0.0749, 0.0751, 0.2, 0.4,
                   0.4999, 0.5, 0.6, 0.9, 0.925, 0.999}) {
    double x = mxrt::normalQuantile(p);
    double back = 0.5 * std::erfc(-x / std::sqrt(2.0));
    EXPECT_NEAR(back / p, 1, 1e-13) << p;
  }
  EXPECT_EQ(mxrt::normalQuantile(0.5), 0);
  EXPECT_NEAR(mxrt::normalQuantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(mxrt::normalQuantile(0x1p-33), -6.3384, 1e-3);
  for (double p : {0.01, 0.1, 0.3})
    EXPECT_NEAR(mxrt::normalQuantile(p), -mxrt::normalQuantile(1 - p), 1e-13);
}

TEST(Bernoulli, ProbabilityIsExactAtTheEnds) {
  Machine machine(2);
  std::vector<uint8_t> x(100003);
  auto count = static_cast<int64_t>(x.size());
  for (double p : {0.0, 1.0, 0.25, 0.9}) {
    mxrt_rng rng = seeded(9);
    ASSERT_EQ(mxrt_random_bernoulli(&machine.context, &rng, p, count, x.data()),
              nullptr);
    int64_t ones = 0;
    for (uint8_t value : x) {
      ASSERT_LE(value, 1);
      ones += value;
    }
    if (p == 0 || p == 1) {
      EXPECT_EQ(ones, p == 0 ? 0 : count);
    } else {
      EXPECT_NEAR(double(ones), p * double(count), 700);
    }
  }
}

TEST(Fillers, BadArgumentsAreErrorsAndLeaveTheStream) {
  Machine machine(1);
  mxrt_rng rng = seeded(1);
  float f;
  double d;
  int32_t i;
  int64_t l;
  uint8_t b;
  const mxrt_context *c = &machine.context;
  mxrt_code bad = MXRT_INVALID_ARGUMENT;
  EXPECT_EQ(codeOf(mxrt_random_uniform_f32(c, &rng, 1, 1, 1, &f)), bad);
  EXPECT_EQ(codeOf(mxrt_random_uniform_f32(c, &rng, NAN, 1, 1, &f)), bad);
  EXPECT_EQ(codeOf(mxrt_random_uniform_f32(c, &rng, 0, infinity, 1, &f)), bad);
  EXPECT_EQ(codeOf(mxrt_random_uniform_f32(c, &rng, -FLT_MAX, FLT_MAX, 1, &f)),
            bad);
  EXPECT_EQ(codeOf(mxrt_random_uniform_f64(c, &rng, -DBL_MAX, DBL_MAX, 1, &d)),
            bad);
  EXPECT_EQ(codeOf(mxrt_random_uniform_f32(c, &rng, 0, 1, -1, &f)), bad);
  EXPECT_EQ(codeOf(mxrt_random_uniform_i32(c, &rng, 3, 3, 1, &i)), bad);
  EXPECT_EQ(codeOf(mxrt_random_uniform_i64(c, &rng, 3, 2, 1, &l)), bad);
  EXPECT_EQ(codeOf(mxrt_random_normal_f32(c, &rng, 0, -1, 1, &f)), bad);
  EXPECT_EQ(codeOf(mxrt_random_normal_f64(c, &rng, NAN, 1, 1, &d)), bad);
  EXPECT_EQ(codeOf(mxrt_random_normal_f64(c, &rng, 0, INFINITY, 1, &d)), bad);
  EXPECT_EQ(codeOf(mxrt_random_bernoulli(c, &rng, -0.1, 1, &b)), bad);
  EXPECT_EQ(codeOf(mxrt_random_bernoulli(c, &rng, 1.1, 1, &b)), bad);
  EXPECT_EQ(codeOf(mxrt_random_bernoulli(c, &rng, NAN, 1, &b)), bad);
  EXPECT_EQ(rng.position, 0u);
  mxrt_runtime_cancel(machine.runtime);
  EXPECT_EQ(codeOf(mxrt_random_uniform_f32(c, &rng, 0, 1, 1, &f)),
            MXRT_CANCELLED);
  EXPECT_EQ(rng.position, 0u);
}

TEST(Fillers, DrawsFollowEachOther) {
  Machine machine(1);
  mxrt_rng rng = seeded(5);
  std::vector<float> both(16), first(8), second(8);
  ASSERT_EQ(
      mxrt_random_uniform_f32(&machine.context, &rng, 0, 1, 16, both.data()),
      nullptr);
  rng = seeded(5);
  ASSERT_EQ(
      mxrt_random_uniform_f32(&machine.context, &rng, 0, 1, 8, first.data()),
      nullptr);
  ASSERT_EQ(
      mxrt_random_uniform_f32(&machine.context, &rng, 0, 1, 8, second.data()),
      nullptr);
  EXPECT_EQ(rng.position, 4u);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + 8));
}

TEST(Fillers, BitsNeverChange) {
  // These fingerprints are a promise: a saved seed gives the same numbers in
  // every later version and on every machine.
  Machine machine(2);
  std::vector<float> f(10001);
  std::vector<double> d(10001);
  mxrt_rng rng = seeded(2024);
  ASSERT_EQ(mxrt_random_uniform_f32(&machine.context, &rng, 0, 1, 10001,
                                    f.data()),
            nullptr);
  EXPECT_EQ(fingerprint(f), 14366805892726232606ull);
  ASSERT_EQ(
      mxrt_random_normal_f32(&machine.context, &rng, 0, 1, 10001, f.data()),
      nullptr);
  EXPECT_EQ(fingerprint(f), 16488709568457515396ull);
  ASSERT_EQ(
      mxrt_random_normal_f64(&machine.context, &rng, 0, 1, 10001, d.data()),
      nullptr);
  EXPECT_EQ(fingerprint(d), 4691778336782456189ull);
}

} // namespace
