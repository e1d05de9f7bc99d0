// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../TestAllocator.h"
#include "abi/Runtime.h"
#include "mxrt/memory.h"
#include "mxrt/tensor.h"

#include <gtest/gtest.h>

namespace {

mxrt_code codeOf(mxrt_status status) {
  mxrt_code code = mxrt_status_code(status);
  mxrt_status_release(status);
  return code;
}

TEST(Abi, MajorMustBeEqualAndMinorAtMostOurs) {
  EXPECT_EQ(mxrt_abi_check(MXRT_ABI_VERSION), nullptr);
  EXPECT_EQ(codeOf(mxrt_abi_check(MXRT_ABI_VERSION + 1)), MXRT_ABI_MISMATCH);
  EXPECT_EQ(codeOf(mxrt_abi_check(MXRT_ABI_VERSION + (1u << 16))),
            MXRT_ABI_MISMATCH);
  EXPECT_EQ(codeOf(mxrt_abi_check(0)), MXRT_ABI_MISMATCH);
  mxrt_status refused = mxrt_abi_check(9u << 16 | 8);
  EXPECT_EQ(mxrt_status_message(refused), "compiled for ABI 9.8, but this runtime has " +
                                              std::to_string(MXRT_ABI_MAJOR) + "." +
                                              std::to_string(MXRT_ABI_MINOR));
  mxrt_status_release(refused);
}

TEST(Runtime, RefusesOptionsOfAnotherAbi) {
  mxrt_options options;
  mxrt_options_init(&options);
  options.abi_version = 7u << 16;
  mxrt_runtime *runtime = nullptr;
  EXPECT_EQ(codeOf(mxrt_runtime_create(&options, &runtime)),
            MXRT_ABI_MISMATCH);
  EXPECT_EQ(runtime, nullptr);
}

TEST(Runtime, ReadsNoMoreOfOptionsThanTheCallerHas) {
  mxrt_options options;
  mxrt_options_init(&options);
  EXPECT_EQ(options.struct_size, sizeof(options));
  options.struct_size = offsetof(mxrt_options, memory_limit);
  options.memory_limit = -1; // what lies behind an older caller's options
  mxrt_runtime *runtime = nullptr;
  ASSERT_EQ(mxrt_runtime_create(&options, &runtime), nullptr);
  mxrt_runtime_destroy(runtime);
}

TEST(Runtime, RefusesSettingsOutOfRange) {
  mxrt_runtime *runtime = nullptr;
  auto tryWith = [&](auto change) {
    mxrt_options options;
    mxrt_options_init(&options);
    change(options);
    return codeOf(mxrt_runtime_create(&options, &runtime));
  };
  EXPECT_EQ(tryWith([](mxrt_options &o) { o.threads = -1; }), MXRT_BAD_SETTING);
  EXPECT_EQ(tryWith([](mxrt_options &o) { o.threads = 1025; }),
            MXRT_BAD_SETTING);
  EXPECT_EQ(tryWith([](mxrt_options &o) { o.cpu_devices = 17; }),
            MXRT_BAD_SETTING);
  EXPECT_EQ(tryWith([](mxrt_options &o) { o.cpu_devices = -1; }),
            MXRT_BAD_SETTING);
  EXPECT_EQ(tryWith([](mxrt_options &o) { o.memory_limit = -1; }),
            MXRT_BAD_SETTING);
}

TEST(Runtime, ReadsTheEnvironment) {
  mxrt_runtime *runtime = nullptr;
  setenv("MX_NUM_THREADS", "3", 1);
  setenv("MX_MAX_MEMORY", "1.5M", 1);
  ASSERT_EQ(mxrt_runtime_create(nullptr, &runtime), nullptr);
  EXPECT_EQ(mxrt_runtime_threads(runtime), 3);
  mxrt_memory_stats stats;
  mxrt_device cpu = {MXRT_CPU, 0};
  ASSERT_EQ(mxrt_memory_get_stats(runtime, &cpu, &stats), nullptr);
  EXPECT_EQ(stats.limit_bytes, 3 << 19);
  mxrt_runtime_destroy(runtime);

  mxrt_options options; // arguments go before the environment
  mxrt_options_init(&options);
  options.threads = 2;
  options.memory_limit = 4096;
  ASSERT_EQ(mxrt_runtime_create(&options, &runtime), nullptr);
  EXPECT_EQ(mxrt_runtime_threads(runtime), 2);
  mxrt_runtime_destroy(runtime);

  setenv("MX_NUM_THREADS", "many", 1);
  mxrt_status bad = mxrt_runtime_create(nullptr, &runtime);
  EXPECT_STREQ(mxrt_status_message(bad),
               "MX_NUM_THREADS is \"many\", not a number 1 to 1024");
  EXPECT_EQ(codeOf(bad), MXRT_BAD_SETTING);
  unsetenv("MX_NUM_THREADS");
  setenv("MX_MAX_MEMORY", "lots", 1);
  EXPECT_EQ(codeOf(mxrt_runtime_create(nullptr, &runtime)), MXRT_BAD_SETTING);
  unsetenv("MX_MAX_MEMORY");
}

TEST(Runtime, TwoInOneProcessShareNothing) {
  mxrt_runtime *first = nullptr, *second = nullptr;
  mxrt_options options;
  mxrt_options_init(&options);
  options.memory_limit = 1 << 20;
  ASSERT_EQ(mxrt_runtime_create(&options, &first), nullptr);
  ASSERT_EQ(mxrt_runtime_create(nullptr, &second), nullptr);
  mxrt_runtime_cancel(first);
  EXPECT_EQ(mxrt_runtime_cancelled(first), 1);
  EXPECT_EQ(mxrt_runtime_cancelled(second), 0);
  mxrt_runtime_clear_cancel(first);
  EXPECT_EQ(mxrt_runtime_cancelled(first), 0);
  mxrt_device cpu = {MXRT_CPU, 0};
  int64_t shape[] = {1 << 20};
  mxrt_tensor *tensor = nullptr;
  EXPECT_EQ(codeOf(mxrt_tensor_create(first, &cpu, MXRT_F32, 1, shape, nullptr,
                                      &tensor)),
            MXRT_MEMORY_LIMIT);
  EXPECT_EQ(mxrt_tensor_create(second, &cpu, MXRT_F32, 1, shape, nullptr,
                               &tensor),
            nullptr);
  mxrt_runtime_destroy(first);
  mxrt_tensor_release(tensor);
  mxrt_runtime_destroy(second);
}

TEST(Runtime, UnknownDevicesAreNamed) {
  setenv("MX_CUDA", "/nowhere/libcuda.so.1", 1); // the machine may have GPUs
  mxrt_runtime *runtime = nullptr;
  ASSERT_EQ(mxrt_runtime_create(nullptr, &runtime), nullptr);
  EXPECT_EQ(mxrt_runtime_cpu_devices(runtime), 2);
  mxrt_context context;
  mxrt_device good = {MXRT_CPU, 1};
  EXPECT_EQ(mxrt_runtime_context(runtime, &good, nullptr, &context), nullptr);
  EXPECT_NE(context.team, nullptr);
  for (mxrt_device bad : {mxrt_device{MXRT_CPU, 2}, mxrt_device{MXRT_CPU, -1},
                          mxrt_device{MXRT_CUDA, 0}, mxrt_device{99, 0}}) {
    EXPECT_EQ(codeOf(mxrt_runtime_context(runtime, &bad, nullptr, &context)),
              MXRT_NO_DEVICE);
  }
  mxrt_device gpu = {MXRT_CUDA, 3};
  mxrt_status status = mxrt_memory_trim(runtime, &gpu);
  EXPECT_STREQ(mxrt_status_message(status),
               "no device gpu:3: the CUDA driver /nowhere/libcuda.so.1 was not found\n"
               "help: the CPU devices are cpu:0 to cpu:1");
  mxrt_status_release(status);
  mxrt_runtime_destroy(runtime);
}

TEST(Runtime, PartsAreMadeOnceAndDestroyedInReverse) {
  mxrt_runtime *runtime = nullptr;
  ASSERT_EQ(mxrt_runtime_create(nullptr, &runtime), nullptr);
  static std::string destroyed;
  destroyed.clear();
  static int made = 0;
  auto make = [](mxrt_runtime *, void **object) {
    *object = &made;
    ++made;
    return mxrt::success();
  };
  EXPECT_EQ(runtime->partIfMade(mxrt::Part::Engine), nullptr);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(runtime
                    ->part(mxrt::Part::Engine, make,
                           [](mxrt_runtime *, void *) { destroyed += "E"; })
                    .ok());
    EXPECT_TRUE(runtime
                    ->part(mxrt::Part::Host, make,
                           [](mxrt_runtime *, void *) { destroyed += "H"; })
                    .ok());
  }
  EXPECT_EQ(made, 2);
  EXPECT_NE(runtime->partIfMade(mxrt::Part::Engine), nullptr);
  mxrt_runtime_destroy(runtime);
  EXPECT_EQ(destroyed, "HE");
}

} // namespace
