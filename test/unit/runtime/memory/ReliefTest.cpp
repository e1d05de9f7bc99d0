// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations wait for issued work that gives memory back, and fail when there
// is none. Schedules are random: ops take some time or none.

#include "MemoryFixture.h"
#include "mxrt/call.h"

#include <atomic>
#include <random>
#include <thread>

namespace {

constexpr int64_t mib = int64_t(1) << 20;

std::atomic<int> ran{0};

/// Writes its tensor, after some work.
mxrt_status fill(const mxrt_context *, const mxrt_tensor *const *tensors, const void *arguments) {
  int work = *static_cast<const int *>(arguments);
  volatile int sink = 0;
  for (int i = 0; i < work; ++i)
    sink = sink + i;
  static_cast<char *>(mxrt_tensor_data(const_cast<mxrt_tensor *>(tensors[0])))[0] = 1;
  ++ran;
  return nullptr;
}

class ReliefTest : public MemoryTest {
protected:
  void SetUp() override {
    open(8 * mib);
    ran = 0;
  }

  mxrt_status create(int64_t bytes, mxrt_tensor *&out) {
    return mxrt_tensor_create(runtime, &cpu0, MXRT_U8, 1, &bytes, &here, &out);
  }
  void push(mxrt_tensor *tensor, int work) {
    mxrt_call call = {};
    call.run = fill;
    call.name = "fill";
    call.writes = &tensor;
    call.write_count = 1;
    call.arguments = &work;
    call.argument_bytes = sizeof work;
    call.device = cpu0;
    call.flags = MXRT_OP_OVERWRITES;
    call.location = here;
    ASSERT_EQ(mxrt_call_push(runtime, &call), nullptr);
  }
};

TEST_F(ReliefTest, ALoopThatRunsAheadNeverFails) {
  std::mt19937 random(1);
  int wanted = 0;
  for (int round = 0; round < 600; ++round) {
    mxrt_tensor *tensor = nullptr;
    auto bytes = int64_t(1 + random() % uint32_t(7 * mib));
    mxrt_status status = create(bytes, tensor);
    ASSERT_EQ(status, nullptr) << round << ": " << mxrt_status_message(status);
    push(tensor, random() % 3 == 0 ? int(random() % 200000) : 0);
    ++wanted;
    mxrt_tensor_release(tensor); // its memory comes back when the op is done
  }
  mxrt_engine *engine = nullptr;
  ASSERT_EQ(mxrt_runtime_engine(runtime, nullptr, &engine), nullptr);
  EXPECT_EQ(mxrt_engine_wait_all(engine, here), nullptr);
  EXPECT_EQ(ran, wanted);
}

TEST_F(ReliefTest, SeveralThreadsThatRunAhead) {
  // Each keeps a MiB at most, and what the ops of all threads hold comes back.
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      std::mt19937 random(number);
      for (int round = 0; round < 200; ++round) {
        mxrt_tensor *tensor = nullptr;
        mxrt_status status = create(int64_t(1 + random() % uint32_t(mib)), tensor);
        ASSERT_EQ(status, nullptr) << round << ": " << mxrt_status_message(status);
        push(tensor, random() % 4 == 0 ? int(random() % 50000) : 0);
        mxrt_tensor_release(tensor);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(ReliefTest, WhatIsKeptIsNotWaitedFor) {
  mxrt_tensor *kept = nullptr, *other = nullptr;
  ASSERT_EQ(create(5 * mib, kept), nullptr);
  push(kept, 100000);
  mxrt_status status = create(5 * mib, other);
  EXPECT_EQ(codeOf(status), MXRT_MEMORY_LIMIT);
  EXPECT_EQ(other, nullptr);
  mxrt_tensor_release(kept);
  EXPECT_EQ(createCode(MXRT_U8, {5 * mib}), MXRT_OK);
}

/// Asks for more than there is from inside an op: fails, and never waits for itself.
mxrt_status greedy(const mxrt_context *context, const mxrt_tensor *const *, const void *) {
  mxrt_tensor *more = nullptr;
  int64_t bytes = 6 * mib;
  return mxrt_tensor_create(context->runtime, &cpu0, MXRT_U8, 1, &bytes, &here, &more);
}

TEST_F(ReliefTest, AnOpDoesNotWaitForItself) {
  mxrt_tensor *tensor = nullptr;
  ASSERT_EQ(create(4 * mib, tensor), nullptr);
  mxrt_call call = {};
  call.run = greedy;
  call.name = "greedy";
  call.writes = &tensor;
  call.write_count = 1;
  call.device = cpu0;
  call.location = here;
  ASSERT_EQ(mxrt_call_push(runtime, &call), nullptr);
  EXPECT_EQ(codeOf(mxrt_tensor_wait(runtime, tensor, &here)), MXRT_MEMORY_LIMIT);
  mxrt_tensor_release(tensor);
}

TEST_F(ReliefTest, ErrorsOfOpsAreLeftToThoseWhoWaitForThem) {
  mxrt_tensor *tensor = nullptr;
  ASSERT_EQ(create(4 * mib, tensor), nullptr);
  mxrt_call call = {};
  call.run = greedy;
  call.name = "greedy";
  call.writes = &tensor;
  call.write_count = 1;
  call.device = cpu0;
  call.location = here;
  ASSERT_EQ(mxrt_call_push(runtime, &call), nullptr);
  mxrt_tensor_release(tensor);
  EXPECT_EQ(createCode(MXRT_U8, {7 * mib}), MXRT_OK); // waits for the op, whose tensor goes
  mxrt_engine *engine = nullptr;
  ASSERT_EQ(mxrt_runtime_engine(runtime, nullptr, &engine), nullptr);
  EXPECT_EQ(codeOf(mxrt_engine_wait_all(engine, here)), MXRT_MEMORY_LIMIT);
}

} // namespace
