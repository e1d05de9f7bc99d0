// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine code is like: vectors, no helper functions of compilers, older CPUs.
#include "LoweringTestSupport.h"

namespace mx::lowering {
namespace {

/// Compiles for another CPU as long as it lives.
struct ForCpu {
  explicit ForCpu(const char *name) { compiler().cpuName = name; }
  ~ForCpu() { compiler().cpuName = "native"; }
};

TEST(Code, ElementwiseLoopsAreVectors) {
  ForCpu cpu("x86-64-v3");
  for (const char *key :
       {"add f32:1c,f32:1c -> f32:1c", "exp f32:1c -> f32:1c", "log f32:1c -> f32:1c",
        "tanh f32:1c -> f32:1c", "erf f32:1c -> f32:1c", "maximum f32:2c,f32:0 -> f32:2c",
        "add f16:1c,f16:1c -> f16:1c", "mul bf16:1c,bf16:0 -> bf16:1c",
        "lt f32:1c,f32:0 -> bool:1c", "add f32:1s,f32:1c -> f32:1c", "cast f32:1c -> u8:1c",
        "sum f32:3c -> f32:2c", "argmax f32:3c -> i32:2c", "matmul f32:3c,f32:3c -> f32:3c",
        "shift_left i32:1c,i32:1c -> i32:1c"}) {
    ASSERT_TRUE(compiler().fromKey(key));
    EXPECT_NE(compiler().code.find("vector.body"), std::string::npos) << key;
  }
}

TEST(Code, NeedsNoHelpersOfCompilers) {
  for (const char *name : {"x86-64-v2", "x86-64-v3", "native"}) {
    ForCpu cpu(name);
    for (std::string t : {"f16", "bf16"})
      for (std::string key :
           {"add " + t + ":1c," + t + ":1c -> " + t + ":1c", "exp " + t + ":1c -> " + t + ":1c",
            "select bool:1c," + t + ":1c," + t + ":0 -> " + t + ":1c",
            "cast " + t + ":1c -> f64:1c", "cast f64:1c -> " + t + ":1c",
            "cast i64:1c -> " + t + ":1c", "cast " + t + ":1c -> i64:1c",
            "sum " + t + ":3c -> " + t + ":2c", "max " + t + ":3s -> " + t + ":2c",
            "matmul " + t + ":3c," + t + ":3c -> " + t + ":3c"}) {
        ASSERT_TRUE(compiler().fromKey(key)) << key;
        for (const char *symbol : {"hfsf2", "sfhf2", "dfhf2", "bfsf2", "sfbf2", "dfbf2"})
          EXPECT_EQ(compiler().object.find(symbol), std::string::npos) << key << " for " << name;
      }
  }
}

/// Without fused products the functions are nearly as exact, and 16 bit floats the same bits.
TEST(Code, OfOlderCpus) {
  ForCpu cpu("x86-64-v2");
  std::vector<float> x = values<float>(1000), got(1000);
  struct {
    const char *op;
    double (*reference)(double);
  } ops[] = {{"exp", std::exp},     {"log", std::log},   {"expm1", std::expm1},
             {"log1p", std::log1p}, {"tanh", std::tanh}, {"erf", std::erf}};
  for (auto [op, reference] : ops) {
    Kernel kernel = compiler().fromKey(std::string(op) + " f32:1c -> f32:1c");
    ASSERT_EQ(kernel({address(x), address(got)}, {1000}).code, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      auto exact = static_cast<float>(reference(x[i]));
      if (!same(got[i], exact))
        EXPECT_LE(std::fabs(got[i] - exact), 3 * std::ldexp(std::fabs(exact), -23)) << op << x[i];
    }
  }
  std::vector<F16> a = values<F16>(1000, 0), b = values<F16>(1000, 1), sum(1000);
  Kernel add = compiler().fromKey("add f16:1c,f16:1c -> f16:1c");
  ASSERT_EQ(add({address(a), address(b), address(sum)}, {1000}).code, 0);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(same(sum[i], F16(widen(a[i]) + widen(b[i]))));
}

TEST(Code, NativeHalfsAreTheSameBits) {
  KernelOptions options;
  options.nativeHalf = true;
  ForCpu cpu("x86-64-v3");
  Kernel native = compiler().fromKey("mul f16:1c,f16:1c -> f16:1c", options);
  std::vector<F16> a = values<F16>(1000, 0), b = values<F16>(1000, 1), got(1000);
  ASSERT_EQ(native({address(a), address(b), address(got)}, {1000}).code, 0);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(same(got[i], F16(widen(a[i]) * widen(b[i]))));
}

/// A fused chain on 16 bit floats gives what its ops give one by one.
TEST(Code, FusionDoesNotChangeHalfs) {
  Kernel fused = compiler().fromText(R"(
mx.func @k(%x: !mx.tensor<f16[N]>) -> !mx.tensor<f16[N]> attributes {sizes = ["N"]} {
  %k = mx.kernel(%x) attributes {sizes = ["N"]} : (!mx.tensor<f16[N]>) -> !mx.tensor<f16[N]> {
  ^bb0(%a: !mx.tensor<f16[N]>):
    %0 = mx.mul %a, %a : (!mx.tensor<f16[N]>, !mx.tensor<f16[N]>) -> !mx.tensor<f16[N]>
    %1 = mx.add %0, %a : (!mx.tensor<f16[N]>, !mx.tensor<f16[N]>) -> !mx.tensor<f16[N]>
    mx.yield %1 : !mx.tensor<f16[N]>
  }
  mx.return %k : !mx.tensor<f16[N]>
})");
  std::vector<F16> x = values<F16>(1000), got(1000);
  ASSERT_EQ(fused({address(x), address(got)}, {1000}).code, 0);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(same(got[i], F16(widen(F16(widen(x[i]) * widen(x[i]))) + widen(x[i]))));
}

} // namespace
} // namespace mx::lowering
