// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../memory/MemoryFixture.h"
#include "mxrt/call.h"

#include <thread>

namespace {

/// to[i] = from[i] + *argument, or an error if from[0] is negative.
mxrt_status addKernel(const mxrt_context *context,
                      const mxrt_tensor *const *tensors,
                      const void *arguments) {
  auto *from = static_cast<int32_t *>(mxrt_tensor_data(tensors[0]));
  auto *to = static_cast<int32_t *>(mxrt_tensor_data(tensors[1]));
  int32_t added;
  memcpy(&added, arguments, sizeof(added));
  for (int64_t i = 0; i < mxrt_tensor_elements(tensors[0]); ++i) {
    if (from[i] < 0)
      return mxrt_status_make(context->allocator, MXRT_INDEX, context->location,
                              "element %d is negative", int(i));
    to[i] = from[i] + added;
  }
  return nullptr;
}

class CallTest : public MemoryTest {
protected:
  mxrt_status add(const Ref &from, const Ref &to, int32_t added,
                  mxrt_location location = here) {
    mxrt_tensor *reads[] = {from.get()}, *writes[] = {to.get()};
    mxrt_call call = {};
    call.run = addKernel;
    call.name = "add";
    call.reads = reads;
    call.read_count = 1;
    call.writes = writes;
    call.write_count = 1;
    call.arguments = &added;
    call.argument_bytes = sizeof(added);
    call.location = location;
    return mxrt_call_push(runtime, &call);
  }
  mxrt_status wait(const Ref &tensor) {
    mxrt_location location = {"test.mx", 40, 1};
    return mxrt_tensor_wait(runtime, tensor.get(), &location);
  }
};

TEST_F(CallTest, DependentCallsRunInOrder) {
  Ref a = iota({100}), b = make(MXRT_I32, {100});
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(add(a, b, 1), nullptr);
    ASSERT_EQ(add(b, a, 1), nullptr);
  }
  ASSERT_EQ(wait(a), nullptr);
  EXPECT_EQ(elementsOf(a)[7], 407);
}

TEST_F(CallTest, ReadAndWrittenOperandsMayRepeat) {
  Ref a = iota({4});
  ASSERT_EQ(add(a, a, 5), nullptr);
  ASSERT_EQ(wait(a), nullptr);
  EXPECT_EQ(elementsOf(a), (std::vector<int32_t>{5, 6, 7, 8}));
}

TEST_F(CallTest, WorkInFlightKeepsBuffersButDoesNotShareThem) {
  Ref a = iota({1000}), b = make(MXRT_I32, {1000});
  ASSERT_EQ(add(a, b, 1), nullptr);
  EXPECT_FALSE(mxrt_tensor_is_shared(a.get()));
  a = Ref(); // while the call may still read it
  ASSERT_EQ(wait(b), nullptr);
  EXPECT_EQ(elementsOf(b)[999], 1000);
}

TEST_F(CallTest, ErrorsCarryTheLocationOfIssueAndOfNotice) {
  Ref a = iota({3}), b = make(MXRT_I32, {3}), c = make(MXRT_I32, {3});
  static_cast<int32_t *>(mxrt_tensor_data(a.get()))[1] = -1;
  {
    std::string file = "issued.mx"; // need not outlive the push
    ASSERT_EQ(add(a, b, 1, {file.c_str(), 31, 23}), nullptr);
    file = "XXXXXXXXX";
  }
  ASSERT_EQ(add(b, c, 1), nullptr); // poisoned by it
  mxrt_status status = wait(c);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(mxrt_status_code(status), MXRT_INDEX);
  EXPECT_STREQ(mxrt_status_location(status).file, "issued.mx");
  EXPECT_EQ(mxrt_status_location(status).line, 31);
  EXPECT_EQ(mxrt_status_noticed_location(status).line, 40);
  mxrt_status_release(status);
  EXPECT_EQ(wait(a), nullptr); // an input is not poisoned
}

TEST_F(CallTest, PrepareWriteCopiesThroughTheEngine) {
  Ref a = iota({4});
  Ref b(mxrt_tensor_retain(a.get()));
  mxrt_tensor *raw = b.release();
  ASSERT_EQ(mxrt_call_prepare_write(runtime, &raw, &here), nullptr);
  b = Ref(raw);
  EXPECT_NE(a.get(), b.get());
  ASSERT_EQ(add(b, b, 10), nullptr);
  ASSERT_EQ(wait(a), nullptr);
  ASSERT_EQ(wait(b), nullptr);
  EXPECT_EQ(elementsOf(a)[3], 3);
  EXPECT_EQ(elementsOf(b)[3], 13);
  raw = b.release();
  ASSERT_EQ(mxrt_call_prepare_write(runtime, &raw, &here), nullptr);
  b = Ref(raw); // not shared: the same tensor
  EXPECT_EQ(elementsOf(b)[3], 13);
}

TEST_F(CallTest, OperandsMustBeOnTheDeviceOfTheCall) {
  Ref a = iota({3}), b = make(MXRT_I32, {3}, cpu1);
  mxrt_status status = add(a, b, 1);
  EXPECT_STREQ(mxrt_status_message(status),
               "i32[3] is on cpu:1, but the call is on cpu:0");
  EXPECT_EQ(codeOf(status), MXRT_WRONG_DEVICE);
  mxrt_call empty = {};
  EXPECT_EQ(codeOf(mxrt_call_push(runtime, &empty)), MXRT_INVALID_ARGUMENT);
}

TEST_F(CallTest, TensorsMayOutliveTheRuntimeAndItsEngine) {
  Ref a = iota({100}), b = make(MXRT_I32, {100});
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(add(a, b, 1), nullptr);
    ASSERT_EQ(add(b, a, 1), nullptr);
  }
  mxrt_runtime_destroy(runtime); // waits for the calls
  runtime = nullptr;
  EXPECT_EQ(elementsOf(a)[0], 100);
}

TEST_F(CallTest, ManyThreadsIssueAtOnce) {
  Ref shared = iota({64});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        Ref mine = make(MXRT_I32, {64});
        ASSERT_EQ(add(shared, mine, t), nullptr);
        ASSERT_EQ(add(mine, mine, 1), nullptr);
        ASSERT_EQ(wait(mine), nullptr);
        ASSERT_EQ(elementsOf(mine)[5], 6 + t);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
