// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of hand-written PTX through the runtime, compared with plain loops.
#include "GpuFixture.h"
#include "Matmul.h"
#include "device/cuda/StridedCopy.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <unistd.h>

namespace {

constexpr uint64_t seeds[] = {0, 1, 2, 3, 4, 5};

class GpuKernelTest : public GpuTest {
protected:
  std::vector<float> randomFloats(size_t count, float most = 1) {
    std::uniform_real_distribution<float> distribution(-most, most);
    std::vector<float> values(count);
    for (float &value : values)
      value = distribution(random);
    return values;
  }
  std::mt19937 random{7};
};

TEST_F(GpuKernelTest, ElementwiseOfOddSizes) {
  for (uint64_t seed : seeds)
    for (size_t count : {1u, 2u, 127u, 128u, 129u, 5001u}) {
      restart(seed);
      auto x = randomFloats(count), y = randomFloats(count);
      if (count > 4) {
        x[1] = INFINITY, x[2] = NAN, x[3] = -0.0f, y[3] = -0.0f;
      }
      Ref dx = moved(floats(x), gpu0), dy = moved(floats(y), gpu0);
      MX_OK(saxpy(dx, dy, 0.37f));
      auto got = elements<float>(dy);
      ASSERT_EQ(got.size(), count);
      for (size_t i = 0; i < count; ++i) {
        float wanted = std::fma(0.37f, x[i], y[i]), unfused = 0.37f * x[i] + y[i];
        EXPECT_TRUE(got[i] == wanted || got[i] == unfused || (got[i] != got[i] && wanted != wanted))
            << i << " " << got[i] << " " << wanted;
      }
    }
}

TEST_F(GpuKernelTest, Reduction) {
  for (uint64_t seed : seeds)
    for (uint32_t count : {1u, 255u, 256u, 1000u}) {
      restart(seed);
      std::vector<float> x(count);
      float sum = 0;
      for (uint32_t i = 0; i < count; ++i)
        sum += x[i] = float(int(i * 37 % 19) - 9); // exact in any order
      Ref dx = moved(floats(x), gpu0), out = moved(floats({0}), gpu0);
      MX_OK(launch({kernels().c_str(), "reduce", {(count + 255) / 256, 1, 1}, {256, 1, 1}, 0,
                    {count}},
                   {&dx}, {&out}));
      EXPECT_EQ(elements<float>(out), std::vector<float>{2 * sum});
    }
}

TEST_F(GpuKernelTest, MatmulHasTheBitsOfAChainOfFusedMultiplyAdds) {
  constexpr uint32_t n = 128, k = 24;
  static const std::string module = mxemu::moduleText(mxemu::matmulEntry("matmul"));
  for (uint64_t seed : {0, 3}) {
    restart(seed);
    auto a = randomFloats(n * k), b = randomFloats(k * n);
    Ref da = moved(floats(a), gpu0), db = moved(floats(b), gpu0);
    Ref dc = make(MXRT_F32, {n, n}, gpu0);
    MX_OK(launch({module.c_str(), "matmul", {1, 1, 1}, {256, 1, 1}, 0, {n, k}}, {&da, &db}, {&dc}));
    auto got = elements<float>(dc);
    ASSERT_EQ(got.size(), n * n);
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t j = 0; j < n; ++j) {
        float sum = 0;
        for (uint32_t t = 0; t < k; ++t)
          sum = std::fma(a[i * k + t], b[t * n + j], sum);
        ASSERT_EQ(got[i * n + j], sum) << i << " " << j;
      }
  }
}

TEST_F(GpuKernelTest, LaunchesOfNoBlocksDoNothing) {
  Ref x = moved(floats({}), gpu0), y = moved(floats({}), gpu0);
  MX_OK(saxpy(x, y, 2));
  MX_OK(wait(y));
  EXPECT_EQ(elements<float>(y).size(), 0u);
}

TEST_F(GpuKernelTest, AModuleIsLoadedOnceWhateverTheAddressOfItsText) {
  static int loads;
  static decltype(driver().cuModuleLoadDataEx) real;
  loads = 0;
  real = driver().cuModuleLoadDataEx;
  driver().cuModuleLoadDataEx = [](mxrt::cuda::CUmodule *module, const void *image, unsigned count,
                                   int *options, void **values) {
    ++loads;
    return real(module, image, count, options, values);
  };
  std::string copy = kernels();
  Ref x = moved(floats({1, 2}), gpu0), y = moved(floats({0, 0}), gpu0);
  for (const std::string *text : {&kernels(), static_cast<const std::string *>(&copy)})
    MX_OK(launch({text->c_str(), "saxpy", {1, 1, 1}, {32, 1, 1}, 0, {0x3f800000, 2}}, {&x}, {&y}));
  EXPECT_EQ(elements<float>(y), (std::vector<float>{2, 4}));
  EXPECT_EQ(loads, 1);
  driver().cuModuleLoadDataEx = real;
}

TEST(GpuKernels, PtxasAcceptsTheRuntimesOwn) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no ptxas";
  std::string file = testing::TempDir() + "/mx-own-" + std::to_string(getpid()) + ".ptx";
  std::ofstream(file) << mxrt::cuda::stridedCopyModule;
  for (auto *target : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"})
    EXPECT_EQ(std::system(("ptxas -arch=" + std::string(target) + " -o /dev/null " + file).c_str()),
              0)
        << target;
  std::remove(file.c_str());
}

/// More dynamic shared memory than a kernel has without asking.
TEST_F(GpuKernelTest, MuchSharedMemory) {
  static const std::string module = mxemu::moduleText(R"(
.extern .shared .align 16 .b8 room[];
.visible .entry k(.param .u64 out, .param .u32 bytes)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u32 %r0, [bytes];
  mov.u32 %r1, room;
  add.u32 %r1, %r1, %r0;
  mov.u32 %r2, 41;
  st.shared.u32 [%r1+-4], %r2;
  ld.shared.u32 %r3, [%r1+-4];
  ld.param.u64 %rd0, [out];
  st.global.u32 [%rd0], %r3;
  ret;
}
)");
  Ref out = moved(tensorOf(std::vector<int32_t>{0}, MXRT_I32, {1}), gpu0);
  MX_OK(launch({module.c_str(), "k", {1, 1, 1}, {1, 1, 1}, 100 << 10, {100 << 10}}, {}, {&out}));
  EXPECT_EQ(elements<int32_t>(out), std::vector<int32_t>{41});
  MX_OK(launch({module.c_str(), "k", {1, 1, 1}, {1, 1, 1}, 4 << 20, {4 << 20}}, {}, {&out}));
  std::string text = textOf(wait(out));
  EXPECT_NE(text.find("kernel `k`: the kernel cannot have so much shared memory"),
            std::string::npos)
      << text;
  (void)textOf(waitAll());
}

} // namespace
