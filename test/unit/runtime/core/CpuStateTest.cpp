// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the system has to allow, and the levels of CPUs.

#include "mxrt/aot.h"
#include "mxrt/cpu.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

TEST(CpuState, IsAskedForWithoutTrace) {
  errno = EDOM;
  EXPECT_EQ(mxrt_may_use_state(MXRT_STATE_ALWAYS), 1);
  // No CPU has so many, so the system says no.
  EXPECT_EQ(mxrt_may_use_state(63), 0);
  EXPECT_EQ(mxrt_may_use_state(-1), 0);
  EXPECT_EQ(errno, EDOM);
}

TEST(CpuState, TilesAreForAllThreadsOrForNone) {
  std::vector<int32_t> answers(8);
  std::vector<std::thread> threads;
  for (int32_t &answer : answers)
    threads.emplace_back([&] { answer = mxrt_may_use_state(MXRT_STATE_TILES); });
  for (std::thread &thread : threads)
    thread.join();
  for (int32_t answer : answers)
    EXPECT_EQ(answer, answers[0]);
}

#if defined(__x86_64__)
TEST(CpuLevel, IsThatOfTheMachine) {
  __builtin_cpu_init();
  int32_t level = mxrt_aot_cpu_level();
  EXPECT_EQ(level, mxrt_aot_cpu_level());
  EXPECT_EQ(level >= 2, __builtin_cpu_supports("x86-64-v2") != 0);
  EXPECT_EQ(level >= 3, __builtin_cpu_supports("x86-64-v3") != 0);
  EXPECT_EQ(level >= 4, __builtin_cpu_supports("x86-64-v4") != 0);
  if (level >= 5)
    EXPECT_TRUE(__builtin_cpu_supports("avx512bf16"));
}
#endif

} // namespace
