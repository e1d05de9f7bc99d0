// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of driver functions, and messages where there is no driver or no GPU.
#include "GpuFixture.h"

#include <dlfcn.h>
#include <filesystem>
#if __has_include(<cuda.h>)
#define MX_HAS_CUDA_H 1
#include <cuda.h>
#endif

namespace {

std::string toolkitStub() {
  std::vector<std::string> roots = {"/usr/local/cuda", "/usr/lib/cuda"};
  for (auto *variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (const char *root = std::getenv(variable))
      roots.insert(roots.begin(), root);
  for (auto &root : roots)
    for (auto *folder : {"/lib64/stubs", "/lib/stubs", "/targets/x86_64-linux/lib/stubs"})
      if (std::string file = root + folder + "/libcuda.so"; std::filesystem::exists(file))
        return file;
  return "";
}

std::string missingIn(const char *file) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return dlerror();
  std::string missing;
  for (const char *name : mxrt::cuda::functionNames)
    if (!dlsym(library, name))
      missing += std::string(name) + " ";
  return missing;
}

TEST(CudaDriver, TheEmulatorHasEveryFunction) { EXPECT_EQ(missingIn(MXEMU_LIBRARY), ""); }

TEST(CudaDriver, TheToolkitsLibraryHasEveryFunction) {
  std::string stub = toolkitStub();
  if (stub.empty())
    GTEST_SKIP() << "no CUDA toolkit";
  EXPECT_EQ(missingIn(stub.c_str()), "");
}

#ifdef MX_HAS_CUDA_H
template <class A, class B>
constexpr bool alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <class A, class B> constexpr bool sameCall = false;
template <class RA, class... A, class RB, class... B>
constexpr bool sameCall<RA(A...), RB(B...)> = [] {
  if constexpr (sizeof...(A) == sizeof...(B))
    return alike<RA, RB> && (alike<A, B> && ...);
  return false;
}();
#endif

TEST(CudaDriver, DeclarationsAgreeWithCudaH) {
#ifndef MX_HAS_CUDA_H
  GTEST_SKIP() << "no cuda.h";
#else
  namespace ours = mxrt::cuda;
#define MXRT_CUDA(symbol, parameters)                                                              \
  EXPECT_TRUE((sameCall<decltype(::symbol), CUresult parameters>)) << #symbol;
#include "device/cuda/Driver.def"
#define SAME(name) EXPECT_EQ(int(::name), int(ours::name)) << #name
  SAME(CUDA_ERROR_OUT_OF_MEMORY);
  SAME(CUDA_ERROR_STUB_LIBRARY);
  SAME(CUDA_ERROR_NO_DEVICE);
  SAME(CUDA_ERROR_ECC_UNCORRECTABLE);
  SAME(CUDA_ERROR_ILLEGAL_ADDRESS);
  SAME(CUDA_ERROR_LAUNCH_TIMEOUT);
  SAME(CUDA_ERROR_CONTEXT_IS_DESTROYED);
  SAME(CUDA_ERROR_ASSERT);
  SAME(CUDA_ERROR_HARDWARE_STACK_ERROR);
  SAME(CUDA_ERROR_LAUNCH_FAILED);
  SAME(CUDA_ERROR_UNKNOWN);
  SAME(CU_STREAM_NON_BLOCKING);
  SAME(CU_EVENT_BLOCKING_SYNC);
  SAME(CU_EVENT_DISABLE_TIMING);
  SAME(CU_JIT_ERROR_LOG_BUFFER);
  SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
#undef SAME
#ifdef CU_MEMHOSTALLOC_PORTABLE
  EXPECT_EQ(CU_MEMHOSTALLOC_PORTABLE, 1);
#endif
#endif
}

TEST(CudaDriver, StickyErrorsAreThoseThatEndAContext) {
  for (int sticky : {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999})
    EXPECT_TRUE(mxrt::cuda::isSticky(sticky)) << sticky;
  for (int other : {0, 1, 2, 100, 200, 218, 400, 500, 600, 701, 704, 713, 720, 801})
    EXPECT_FALSE(mxrt::cuda::isSticky(other)) << other;
}

/// The error of a first use of `device`, in a process of its own: a process opens one driver.
/// Ends it with 0 if the error has code and text.
[[noreturn]] void expectError(const char *library, const char *devices, mxrt_device device,
                              const std::string &wanted) {
  setenv("MX_CUDA", library, 1);
  if (devices)
    setenv("MXEMU_DEVICES", devices, 1);
  mxrt_runtime *runtime = nullptr;
  if (mxrt_runtime_create(nullptr, &runtime))
    exit(2);
  int64_t size = 4;
  mxrt_tensor *tensor = nullptr;
  std::string text =
      textOf(mxrt_tensor_create(runtime, &device, MXRT_F32, 1, &size, &here, &tensor));
  mxrt_runtime_destroy(runtime);
  fprintf(stderr, "%s\n", text.c_str());
  exit(text.find(wanted) != std::string::npos && text.find("error[R0401]") == 0 &&
               text.find("test.mx:12:5") != std::string::npos
           ? 0
           : 1);
}

class CudaDriverDeathTest : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CudaDriverDeathTest, WithoutADriverThereIsOneError) {
  EXPECT_EXIT(expectError("/nowhere/libcuda.so.1", nullptr, gpu0,
                          "no device gpu:0: the CUDA driver /nowhere/libcuda.so.1 was not found"),
              testing::ExitedWithCode(0), "help: the CPU devices are cpu:0 to cpu:1");
  EXPECT_EXIT(expectError("libm.so.6", nullptr, gpu0,
                          "no device gpu:0: the CUDA driver libm.so.6 has no function cuInit"),
              testing::ExitedWithCode(0), "help: the CPU devices");
}

TEST_F(CudaDriverDeathTest, WithoutAGpuThereIsOneError) {
  EXPECT_EXIT(expectError(MXEMU_LIBRARY, "0", gpu0,
                          "no device gpu:0: the CUDA driver found no GPU"),
              testing::ExitedWithCode(0), "help: the CPU devices");
  EXPECT_EXIT(expectError(MXEMU_LIBRARY, "2", {MXRT_CUDA, 2},
                          "no device gpu:2: the GPUs are gpu:0 to gpu:1"),
              testing::ExitedWithCode(0), "help: the CPU devices");
  EXPECT_EXIT(expectError(MXEMU_LIBRARY, "1", {MXRT_CUDA, 15},
                          "no device gpu:15: the only GPU is gpu:0"),
              testing::ExitedWithCode(0), "help: the CPU devices");
}

TEST_F(CudaDriverDeathTest, TheToolkitsStubIsNoDriver) {
  std::string stub = toolkitStub();
  if (stub.empty())
    GTEST_SKIP() << "no CUDA toolkit";
  EXPECT_EXIT(expectError(stub.c_str(), nullptr, gpu0, "the CUDA toolkit's stub, not a driver"),
              testing::ExitedWithCode(0), "help: the CPU devices");
}

TEST_F(CudaDriverDeathTest, TheHostCannotTouchMemoryOfTheEmulatedGpu) {
  EXPECT_DEATH(
      {
        setenv("MX_CUDA", MXEMU_LIBRARY, 1);
        mxrt_runtime *runtime = nullptr;
        mxrt_runtime_create(nullptr, &runtime);
        int64_t size = 4;
        mxrt_tensor *tensor = nullptr;
        mxrt_tensor_create(runtime, &gpu0, MXRT_F32, 1, &size, &here, &tensor);
        auto *data = static_cast<volatile float *>(mxrt_tensor_data(tensor));
        exit(data[0] == 0 ? 0 : 1);
      },
      "");
}

} // namespace
