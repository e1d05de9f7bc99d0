// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exp, log and their like: distance from the exact value in units of the last place.
#include "LoweringTestSupport.h"
#include <bit>
#include <functional>

namespace mx::lowering {
namespace {

/// How far `got` is from the exact value, in units of T's last place there.
template <class T> double ulps(T got, long double exact) {
  T nearest = static_cast<T>(exact);
  if (same(got, nearest))
    return 0;
  if (std::isnan(got) || std::isnan(exact))
    return std::isnan(got) && std::isnan(static_cast<double>(exact)) ? 0 : 1e9;
  if (std::isinf(got) || std::isinf(nearest))
    return got == nearest ? 0 : 1e9;
  if (got == 0 && nearest == 0) // of different signs
    return 1e9;
  int exponent = std::max(std::ilogb(nearest), std::numeric_limits<T>::min_exponent - 1);
  T unit = std::ldexp(T(1), exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs((static_cast<long double>(got) - exact) / unit));
}

using Exact = long double (*)(long double);

void checkF32(const std::string &op, Exact exact, double limit) {
  Kernel kernel = compiler().fromKey(op + " f32:1c -> f32:1c");
  ASSERT_TRUE(kernel);
  const char *every = getenv("MX_MATH_STEP");
  uint64_t step = every ? strtoull(every, nullptr, 10) : 1013;
  // Every 1013th of all floats, so also NaN, infinities and the smallest numbers.
  std::vector<float> x = values<float>(1000);
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += step) {
    auto word = static_cast<uint32_t>(bits);
    float f;
    std::memcpy(&f, &word, 4);
    x.push_back(f);
  }
  std::vector<float> got(x.size());
  ASSERT_EQ(kernel({address(x), address(got)}, {static_cast<int64_t>(x.size())}).code, 0);
  double worst = 0;
  float at = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (double distance = ulps(got[i], exact(x[i])); distance > worst) {
      worst = distance;
      at = x[i];
    }
  testing::Test::RecordProperty(op, std::to_string(worst));
  if (getenv("MX_SHOW_ULPS"))
    printf("%s: %.3f at %.9g\n", op.c_str(), worst, static_cast<double>(at));
  EXPECT_LE(worst, limit) << op << " of " << show(at);
}

TEST(Math, Exp) { checkF32("exp", std::exp, 2); }
TEST(Math, Log) { checkF32("log", std::log, 2); }
TEST(Math, Log1p) { checkF32("log1p", std::log1p, 2); }
TEST(Math, Expm1) { checkF32("expm1", std::expm1, 2); }
TEST(Math, Tanh) { checkF32("tanh", std::tanh, 2); }
TEST(Math, Erf) { checkF32("erf", std::erf, 2); }
TEST(Math, Sin) { checkF32("sin", std::sin, 2); }
TEST(Math, Cos) { checkF32("cos", std::cos, 2); }
TEST(Math, Tan) { checkF32("tan", std::tan, 2); }

/// No unit is missing to 1 where erf ends, and the sign is that of x.
TEST(Math, ErfIsOneFarFromZero) {
  Kernel kernel = compiler().fromKey("erf f32:1c -> f32:1c");
  ASSERT_TRUE(kernel);
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0, 3.96f, 4, 100, 3e38f, infinity}, got(12);
  std::vector<float> exact = {0, 1, 1, 1, 1, 1};
  for (size_t i = 0; i < 6; ++i) {
    x.push_back(-x[i]);
    exact.push_back(-exact[i]);
  }
  ASSERT_EQ(kernel({address(x), address(got)}, {12}).code, 0);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(same(got[i], exact[i])) << "erf of " << show(x[i]) << " gave " << show(got[i]);
}

/// CPUs that fuse products and sums give the same bits, however wide their vectors are.
TEST(Math, SameBitsWithAnyVectors) {
  auto wide = target::TargetCpu::parse("x86-64-v4");
  if (!wide || !wide->runsHere())
    GTEST_SKIP() << "no CPU with AVX-512"; // what it makes of code is compared by running it
  std::vector<float> x = values<float>(1000);
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 10007)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const char *op : {"exp", "expm1", "log", "log1p", "tanh", "erf"}) {
    std::vector<float> results[2] = {std::vector<float>(x.size()), std::vector<float>(x.size())};
    for (int i : {0, 1}) {
      Compiler compiler;
      compiler.cpuName = i ? "x86-64-v4" : "x86-64-v3";
      Kernel kernel = compiler.fromKey(op + std::string(" f32:1c -> f32:1c"));
      ASSERT_TRUE(kernel);
      ASSERT_EQ(kernel({address(x), address(results[i])}, {static_cast<int64_t>(x.size())}).code,
                0);
    }
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same(results[0][i], results[1][i])) << op << " of " << show(x[i]);
  }
}

template <class T>
void checkWide(const std::string &op, const std::function<Wide<T>(Wide<T>)> &reference) {
  std::string t = ElementOf<T>::name;
  Kernel kernel = compiler().fromKey(op + " " + t + ":1c -> " + t + ":1c");
  std::vector<T> x = values<T>(1000), got(1000);
  ASSERT_EQ(kernel({address(x), address(got)}, {1000}).code, 0);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(same(got[i], T(reference(widen(x[i])))))
        << op << " " << t << " of " << show(x[i]) << " gave " << show(got[i]);
}
TEST(Math, F64IsTheLibrary) {
  checkWide<double>("exp", [](double x) { return std::exp(x); });
  checkWide<double>("log", [](double x) { return std::log(x); });
  checkWide<double>("log1p", [](double x) { return std::log1p(x); });
  checkWide<double>("expm1", [](double x) { return std::expm1(x); });
  checkWide<double>("tanh", [](double x) { return std::tanh(x); });
  checkWide<double>("erf", [](double x) { return std::erf(x); });
  checkWide<double>("sin", [](double x) { return std::sin(x); });
  checkWide<double>("cos", [](double x) { return std::cos(x); });
  checkWide<double>("tan", [](double x) { return std::tan(x); });
}

template <class T> void checkPair(const std::string &op, T (*reference)(T, T)) {
  std::string t = ElementOf<T>::name;
  Kernel kernel = compiler().fromKey(op + " " + t + ":1c," + t + ":1c -> " + t + ":1c");
  std::vector<T> x = values<T>(1000, 0), y = values<T>(1000, 1, 2), got(1000);
  ASSERT_EQ(kernel({address(x), address(y), address(got)}, {1000}).code, 0);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(same(got[i], reference(x[i], y[i])))
        << op << " of " << show(x[i]) << ", " << show(y[i]) << " gave " << show(got[i]);
}
TEST(Math, PowAndAtan2) {
  checkPair<float>("pow", [](float x, float y) { return std::pow(x, y); });
  checkPair<double>("pow", [](double x, double y) { return std::pow(x, y); });
  checkPair<float>("atan2", [](float x, float y) { return std::atan2(x, y); });
  checkPair<double>("atan2", [](double x, double y) { return std::atan2(x, y); });
}

} // namespace
} // namespace mx::lowering
