// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes that a call allocates outside of its arena: current and peak.
#include "Run/CallBytes.h"
#include "mxrt/memory.h"
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace mx::run;

namespace {

mxrt_context contextOf(const mxrt_allocator *allocator) {
  mxrt_context context{};
  context.allocator = allocator;
  return context;
}

TEST(CallBytes, KeepsTheLargestOfEach) {
  CallBytes bytes;
  bytes.add(100, 0);
  bytes.add(50, 8);
  bytes.add(0, 3);
  EXPECT_EQ(bytes.calls, 3);
  EXPECT_EQ(bytes.leased, 100);
  EXPECT_EQ(bytes.besides, 8);
}

TEST(CallBytes, CountsFromSeveralThreads) {
  CallBytes bytes;
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&bytes, t] {
      for (int64_t i = 0; i < 1000; ++i)
        bytes.add(t * 1000 + i, i);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(bytes.calls, 4000);
  EXPECT_EQ(bytes.leased, 3999);
  EXPECT_EQ(bytes.besides, 999);
}

TEST(CountedContext, FollowsAllocationsAndTheirPeak) {
  mxrt_context outer = contextOf(mxrt_system_allocator());
  CountedContext counted(outer);
  const mxrt_allocator &alloc = *counted.get()->allocator;
  EXPECT_EQ(counted.peak(), 0);
  void *a = alloc.allocate(alloc.user, 100, 16), *b = alloc.allocate(alloc.user, 50, 64);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % 64, 0u);
  EXPECT_EQ(counted.peak(), 150);
  alloc.release(alloc.user, a, 100, 16);
  void *c = alloc.allocate(alloc.user, 70, 16);
  EXPECT_EQ(counted.peak(), 150);
  void *d = alloc.allocate(alloc.user, 31, 16);
  EXPECT_EQ(counted.peak(), 151);
  alloc.release(alloc.user, b, 50, 64);
  alloc.release(alloc.user, c, 70, 16);
  alloc.release(alloc.user, d, 31, 16);
  EXPECT_EQ(counted.peak(), 151);
}

TEST(CountedContext, AnAllocationThatFailsDoesNotCount) {
  mxrt_allocator refusing{};
  refusing.allocate = [](void *, size_t, size_t) -> void * { return nullptr; };
  refusing.release = [](void *, void *, size_t, size_t) {};
  mxrt_context outer = contextOf(&refusing);
  CountedContext counted(outer);
  const mxrt_allocator &alloc = *counted.get()->allocator;
  EXPECT_EQ(alloc.allocate(alloc.user, 100, 16), nullptr);
  EXPECT_EQ(counted.peak(), 0);
}

} // namespace
