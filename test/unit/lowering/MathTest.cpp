// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exp, log and their like: distance from the exact value in units of the last place.
#include "Ulps.h"
#include <bit>
#include <functional>

namespace mx::lowering {
namespace {

using Exact = long double (*)(long double);

template <class T> void check(const std::string &op, Exact exact, double limit, std::vector<T> x) {
  std::string t = ElementOf<T>::name;
  Kernel kernel = compiler().fromKey(op + " " + t + ":1c -> " + t + ":1c");
  ASSERT_TRUE(kernel);
  std::vector<T> got(x.size());
  ASSERT_EQ(kernel({address(x), address(got)}, {static_cast<int64_t>(x.size())}).code, 0);
  Worst<T> worst;
  for (size_t i = 0; i < x.size(); ++i)
    worst.note(ulps(got[i], exact(x[i])), x[i]);
  worst.expect(op + " " + t, limit);
}

void checkF32(const std::string &op, Exact exact, double limit) {
  const char *every = getenv("MX_MATH_STEP");
  uint64_t step = every ? strtoull(every, nullptr, 10) : 1013;
  // Every 1013th of all floats, so also NaN, infinities and the smallest numbers.
  std::vector<float> x = values<float>(1000);
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += step)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  check<float>(op, exact, limit, x);
}

TEST(Math, Exp) { checkF32("exp", std::exp, 2); }
TEST(Math, Log) { checkF32("log", std::log, 2); }
TEST(Math, Log1p) { checkF32("log1p", std::log1p, 2); }
TEST(Math, Expm1) { checkF32("expm1", std::expm1, 2); }
TEST(Math, Tanh) { checkF32("tanh", std::tanh, 2); }
TEST(Math, Erf) { checkF32("erf", std::erf, 2); }
TEST(Math, Sin) { checkF32("sin", std::sin, 0.6); }
TEST(Math, Cos) { checkF32("cos", std::cos, 0.6); }
TEST(Math, Tan) { checkF32("tan", std::tan, 0.6); }

/// Numbers of f64: of all sizes, and many from where functions bend.
std::vector<double> numbersOfF64() {
  const char *more = getenv("MX_MATH_MANY");
  size_t count = more ? strtoull(more, nullptr, 10) : 300'000;
  std::vector<double> x = values<double>(1000);
  std::mt19937_64 random(7);
  for (size_t i = 0; i < count; ++i) {
    auto word = random();
    x.push_back(std::bit_cast<double>(word));
    double unit = std::ldexp(static_cast<double>(random() >> 11), -53);
    double sign = word & 1 ? 1 : -1;
    x.push_back(sign * unit * std::ldexp(1.0, static_cast<int>(word >> 1 & 15) - 8));
    x.push_back(sign * unit * 800);
    x.push_back(1 + sign * unit * std::ldexp(1.0, -static_cast<int>(word >> 1 & 31)));
  }
  for (int i = -40; i <= 40; ++i) // multiples of pi / 2 and their neighbours
    for (double scale : {1.0, 1e3, 1e8, 1e20}) {
      double near = std::round(i * scale) * 1.5707963267948966;
      for (double at : {near, std::nextafter(near, 1e300), std::nextafter(near, -1e300)})
        x.push_back(at);
    }
  // Of all floats those whose distances from a multiple of pi / 2 are among the smallest.
  for (double at : {0x1.a26f5f6p+25, 5.319372648326541e+255, 6381956970095103.0 * 0x1p797,
                    16367173.0 * 0x1p72, 0x1.6c6cbc45dc8dep+5, 0x1.921fb54442d18p+0})
    x.insert(x.end(), {at, -at});
  return x;
}
void checkF64(const std::string &op, Exact exact, double limit) {
  check<double>(op, exact, limit, numbersOfF64());
}
TEST(Math, ExpF64) { checkF64("exp", std::exp, 1); }
TEST(Math, LogF64) { checkF64("log", std::log, 1); }
TEST(Math, Log1pF64) { checkF64("log1p", std::log1p, 2); }
TEST(Math, Expm1F64) { checkF64("expm1", std::expm1, 2); }
TEST(Math, TanhF64) { checkF64("tanh", std::tanh, 2); }
TEST(Math, ErfF64) { checkF64("erf", std::erf, 2); }
TEST(Math, SinF64) { checkF64("sin", std::sin, 2); }
TEST(Math, CosF64) { checkF64("cos", std::cos, 2); }
TEST(Math, TanF64) { checkF64("tan", std::tan, 2); }

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

/// CPUs give the same bits, however wide their vectors are.
template <class T> void sameBits(const std::vector<const char *> &ops, std::vector<T> x) {
  auto wide = target::TargetCpu::parse("x86-64-v4");
  if (!wide || !wide->runsHere())
    GTEST_SKIP() << "no CPU with AVX-512"; // what it makes of code is compared by running it
  std::string t = ElementOf<T>::name;
  for (const char *op : ops) {
    std::vector<T> results[2] = {std::vector<T>(x.size()), std::vector<T>(x.size())};
    for (int i : {0, 1}) {
      Compiler compiler;
      compiler.cpuName = i ? "x86-64-v4" : "x86-64-v3";
      Kernel kernel = compiler.fromKey(op + (" " + t + ":1c -> " + t + ":1c"));
      ASSERT_TRUE(kernel);
      ASSERT_EQ(kernel({address(x), address(results[i])}, {static_cast<int64_t>(x.size())}).code,
                0);
    }
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same(results[0][i], results[1][i])) << op << " of " << show(x[i]);
  }
}
const std::vector<const char *> kFunctions = {"exp", "expm1", "log", "log1p", "tanh",
                                              "erf", "sin",   "cos", "tan"};
TEST(Math, SameBitsWithAnyVectors) {
  std::vector<float> x = values<float>(1000);
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 10007)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  sameBits(kFunctions, x);
}
TEST(Math, SameBitsWithAnyVectorsF64) { sameBits(kFunctions, numbersOfF64()); }

/// On a CPU without fused products the C library fuses them: slow, but the same bits.
TEST(Math, SameBitsWithoutFusedProducts) {
  for (const char *op : {"sin", "cos", "tan"}) {
    std::vector<float> x = values<float>(2000), results[2] = {x, x};
    for (int i : {0, 1}) {
      Compiler compiler;
      compiler.cpuName = i ? "x86-64-v2" : "native";
      Kernel kernel = compiler.fromKey(std::string(op) + " f32:1c -> f32:1c");
      ASSERT_EQ(kernel({address(x), address(results[i])}, {2000}).code, 0);
    }
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same(results[0][i], results[1][i])) << op << " of " << show(x[i]);
  }
  for (const char *op : kFunctions) {
    std::vector<double> x = values<double>(2000), results[2] = {x, x};
    for (int i : {0, 1}) {
      Compiler compiler;
      compiler.cpuName = i ? "x86-64-v2" : "native";
      Kernel kernel = compiler.fromKey(std::string(op) + " f64:1c -> f64:1c");
      ASSERT_EQ(kernel({address(x), address(results[i])}, {2000}).code, 0);
    }
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same(results[0][i], results[1][i])) << op << " of " << show(x[i]);
  }
}

/// Loops over these functions are vectors, also where rare arguments need other code.
TEST(Math, LoopsAreVectors) {
  for (const char *key : {"sin f32:1c -> f32:1c", "cos f64:1c -> f64:1c", "tan f32:1c -> f32:1c",
                          "exp f64:1c -> f64:1c", "erf f64:1c -> f64:1c", "sin f16:1c -> f16:1c",
                          "mod f32:1c,f32:1c -> f32:1c", "atan2 f64:1c,f64:1c -> f64:1c",
                          "pow f32:1c,f32:0 -> f32:1c", "pow f64:1c,f64:1c -> f64:1c"}) {
    ASSERT_TRUE(compiler().fromKey(key));
    EXPECT_NE(compiler().code.find("vector.body"), std::string::npos) << key;
    EXPECT_EQ(compiler().code.find("call double @mx.rare.sin.v"), std::string::npos) << key;
  }
}

} // namespace
} // namespace mx::lowering
