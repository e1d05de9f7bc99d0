// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryFixture.h"

namespace {

class ArenaTest : public MemoryTest {};

TEST_F(ArenaTest, LeasesComeFromThePoolAndGoBack) {
  mxrt_arena first, second;
  ASSERT_EQ(mxrt_arena_lease(runtime, &cpu0, 3 << 20, "graph `step`", &here,
                             &first),
            nullptr);
  ASSERT_EQ(mxrt_arena_lease(runtime, &cpu0, 3 << 20, "graph `step`", &here,
                             &second),
            nullptr);
  EXPECT_NE(first.base, second.base);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.base) % MXRT_ALIGNMENT, 0u);
  EXPECT_EQ(stats().leased_bytes, 6 << 20); // concurrent calls multiply
  EXPECT_EQ(stats().live_bytes, 6 << 20);
  void *base = second.base;
  mxrt_arena_return(&first);
  mxrt_arena_return(&second);
  mxrt_arena_return(&second); // all zero now: fine
  EXPECT_EQ(stats().leased_bytes, 0);
  // A smaller variant takes a kept arena instead of new memory.
  ASSERT_EQ(mxrt_arena_lease(runtime, &cpu0, (3 << 20) / 3, "graph `step`",
                             &here, &first),
            nullptr);
  EXPECT_EQ(stats().held_bytes - stats().cached_bytes, 1 << 20);
  mxrt_arena_return(&first);
  ASSERT_EQ(mxrt_arena_lease(runtime, &cpu0, 2 << 20, "graph `step`", &here,
                             &first),
            nullptr);
  EXPECT_TRUE(first.base == base || stats().reused > 0);
  mxrt_arena_return(&first);
}

TEST_F(ArenaTest, ManySizesInAnyOrderHoldTheLargestAlone) {
  for (bool rising : {true, false}) {
    ASSERT_EQ(mxrt_memory_trim(runtime, &cpu0), nullptr);
    for (int i = 1; i < 64; ++i) { // small blocks are kept by size
      int64_t bytes = int64_t(rising ? i + 1 : 65 - i) << 20;
      mxrt_arena arena;
      ASSERT_EQ(mxrt_arena_lease(runtime, &cpu0, bytes, nullptr, &here, &arena),
                nullptr);
      mxrt_arena_return(&arena);
    }
    EXPECT_EQ(stats().held_bytes, int64_t(64) << 20) << rising;
  }
  // At the same time they have one each, and the figures say so.
  mxrt_arena first, second, third;
  ASSERT_EQ(mxrt_arena_lease(runtime, &cpu0, 8 << 20, nullptr, &here, &first),
            nullptr);
  ASSERT_EQ(mxrt_arena_lease(runtime, &cpu0, 8 << 20, nullptr, &here, &second),
            nullptr);
  ASSERT_EQ(mxrt_arena_lease(runtime, &cpu1, 8 << 20, nullptr, &here, &third),
            nullptr);
  EXPECT_EQ(stats().leased_bytes, 16 << 20);
  EXPECT_EQ(stats().held_bytes, 72 << 20);
  EXPECT_EQ(stats(cpu1).leased_bytes, 8 << 20);
  for (mxrt_arena *arena : {&first, &second, &third})
    mxrt_arena_return(arena);
  EXPECT_EQ(stats().leased_bytes, 0);
}

TEST_F(ArenaTest, ErrorsNameTheGraphAndBytes) {
  reopen(1 << 20);
  mxrt_arena arena;
  mxrt_status status = mxrt_arena_lease(runtime, &cpu0, 2 << 20,
                                        "graph `step` for N=4096", &here,
                                        &arena);
  EXPECT_STREQ(mxrt_status_message(status),
               "memory limit reached on cpu:0: graph `step` for N=4096 needs "
               "2 MiB (2097152 bytes); the limit is 1 MiB (1048576 bytes) "
               "and 0 B are live here");
  EXPECT_EQ(codeOf(status), MXRT_MEMORY_LIMIT);
  EXPECT_EQ(arena.base, nullptr);
  mxrt_arena_return(&arena);
  for (int64_t bytes : {int64_t(-1), INT64_MIN, INT64_MAX})
    EXPECT_EQ(codeOf(mxrt_arena_lease(runtime, &cpu0, bytes, "x", &here,
                                      &arena)),
              MXRT_SIZE_OVERFLOW);
}

TEST_F(ArenaTest, SlicesAreChecked) {
  mxrt_arena arena;
  ASSERT_EQ(mxrt_arena_open(alloc.get(), 256, &arena), nullptr);
  void *slice = nullptr;
  ASSERT_EQ(mxrt_arena_slice(&context, &arena, 64, 192, &slice), nullptr);
  EXPECT_EQ(slice, static_cast<char *>(arena.base) + 64);
  ASSERT_EQ(mxrt_arena_slice(&context, &arena, 256, 0, &slice), nullptr);
  for (auto [offset, bytes] : {std::pair<int64_t, int64_t>{0, 257},
                               {64, 193},
                               {8, 8},
                               {-64, 64},
                               {64, -1},
                               {INT64_MAX - 63, 64},
                               {320, 0}}) {
    EXPECT_EQ(codeOf(mxrt_arena_slice(&context, &arena, offset, bytes, &slice)),
              MXRT_INTERNAL)
        << offset << "+" << bytes;
    EXPECT_EQ(slice, nullptr);
  }
  mxrt_arena_close(alloc.get(), &arena);
  ASSERT_EQ(mxrt_arena_open(alloc.get(), 0, &arena), nullptr);
  mxrt_arena_close(alloc.get(), &arena);
  for (int64_t bytes : {int64_t(-1), INT64_MAX})
    EXPECT_EQ(codeOf(mxrt_arena_open(alloc.get(), bytes, &arena)),
              MXRT_SIZE_OVERFLOW);
}

TEST_F(ArenaTest, WrappedMemoryMustBeAligned) {
  alignas(64) char memory[256];
  mxrt_arena arena;
  ASSERT_EQ(mxrt_arena_wrap(&context, memory, 256, &arena), nullptr);
  EXPECT_EQ(arena.base, memory);
  EXPECT_EQ(codeOf(mxrt_arena_wrap(&context, memory + 8, 128, &arena)),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(codeOf(mxrt_arena_wrap(&context, nullptr, 1, &arena)),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(mxrt_arena_wrap(&context, nullptr, 0, &arena), nullptr);
}

} // namespace
