// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryFixture.h"

#include <map>
#include <thread>

using mxrt::Pool;

namespace {

class PoolTest : public MemoryTest {};

TEST_F(PoolTest, RoundingWastesAtMostAQuarter) {
  for (int64_t bytes = 0; bytes < 3 << 20; bytes += bytes < 5000 ? 1 : 997) {
    int64_t rounded = 0;
    ASSERT_TRUE(Pool::roundSize(bytes, rounded));
    ASSERT_GE(rounded, bytes);
    ASSERT_EQ(rounded % 64, 0);
    ASSERT_LE(rounded - bytes, std::max<int64_t>(64, bytes / 4));
    int64_t again = 0;
    ASSERT_TRUE(Pool::roundSize(rounded, again));
    ASSERT_EQ(again, rounded); // so a block goes back to where it came from
  }
  int64_t rounded;
  EXPECT_FALSE(Pool::roundSize(INT64_MAX, rounded));
  EXPECT_FALSE(Pool::roundSize(INT64_MAX - 4000, rounded));
}

TEST_F(PoolTest, CountsLivePeakAndCached) {
  EXPECT_EQ(stats().live_bytes, 0);
  {
    Ref a = make(MXRT_F32, {100});
    Ref b = make(MXRT_F32, {50});
    EXPECT_EQ(stats().live_bytes, 600);
    EXPECT_EQ(stats().live_blocks, 2);
    EXPECT_EQ(stats().peak_bytes, 600);
    EXPECT_EQ(stats().held_bytes, 448 + 256);
  }
  EXPECT_EQ(stats().live_bytes, 0);
  EXPECT_EQ(stats().peak_bytes, 600);
  EXPECT_EQ(stats().cached_bytes, 448 + 256);
  EXPECT_EQ(stats().held_bytes, 448 + 256);
  {
    Ref c = make(MXRT_F32, {110}); // the block of a serves again
    EXPECT_EQ(stats().reused, 1);
    EXPECT_EQ(stats().cached_bytes, 256);
  }
  ASSERT_EQ(mxrt_memory_reset_peak(runtime, &cpu0), nullptr);
  EXPECT_EQ(stats().peak_bytes, 0);
  ASSERT_EQ(mxrt_memory_trim(runtime, &cpu0), nullptr);
  EXPECT_EQ(stats().cached_bytes, 0);
  EXPECT_EQ(stats().held_bytes, 0);
  EXPECT_EQ(stats().allocations, 3);
}

TEST_F(PoolTest, LargeBlocksAreReusedWhenTheyFitClosely) {
  void *first;
  {
    Ref a = make(MXRT_U8, {8 << 20});
    first = mxrt_tensor_data(a.get());
  }
  { // an eighth smaller: reuse
    Ref b = make(MXRT_U8, {(8 << 20) - (900 << 10)});
    EXPECT_EQ(mxrt_tensor_data(b.get()), first);
  }
  { // half: a block of its own
    Ref c = make(MXRT_U8, {4 << 20});
    EXPECT_NE(mxrt_tensor_data(c.get()), first);
  }
}

TEST_F(PoolTest, DevicesHaveSeparatePools) {
  Ref a = make(MXRT_F32, {100}, cpu1);
  EXPECT_EQ(stats(cpu0).live_bytes, 0);
  EXPECT_EQ(stats(cpu1).live_bytes, 400);
  EXPECT_EQ(mxrt_tensor_device(a.get()).index, 1);
}

TEST_F(PoolTest, CountsPerSite) {
  auto at = [&](mxrt_location location, int64_t size) {
    mxrt_tensor *tensor = nullptr;
    EXPECT_EQ(mxrt_tensor_create(runtime, &cpu0, MXRT_U8, 1, &size, &location,
                                 &tensor),
              nullptr);
    return Ref(tensor);
  };
  char file[] = "a.mx";
  Ref a = at({file, 1, 1}, 10);
  Ref b = at({"a.mx", 1, 1}, 20); // the same location by content
  Ref c = at({"a.mx", 1, 2}, 40);
  Ref d = at({nullptr, 0, 0}, 80);
  file[0] = 'X';
  a = Ref();
  std::map<std::string, mxrt_memory_site> sites;
  ASSERT_EQ(mxrt_memory_visit_sites(
                runtime, &cpu0,
                [](void *user, const mxrt_memory_site *site) {
                  std::string key =
                      std::string(site->location.file ? site->location.file : "?") +
                      ":" + std::to_string(site->location.column);
                  (*static_cast<decltype(sites) *>(user))[key] = *site;
                },
                &sites),
            nullptr);
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites["a.mx:1"].live_bytes, 20);
  EXPECT_EQ(sites["a.mx:1"].peak_bytes, 30);
  EXPECT_EQ(sites["a.mx:1"].allocations, 2);
  EXPECT_EQ(sites["a.mx:2"].live_bytes, 40);
  EXPECT_EQ(sites["?:0"].live_bytes, 80);
}

TEST_F(PoolTest, ManySites) {
  std::vector<Ref> kept;
  for (int line = 1; line <= 1000; ++line) {
    mxrt_location location = {"many.mx", line, 1};
    int64_t size = line;
    mxrt_tensor *tensor = nullptr;
    ASSERT_EQ(mxrt_tensor_create(runtime, &cpu0, MXRT_U8, 1, &size, &location,
                                 &tensor),
              nullptr);
    kept.emplace_back(tensor);
  }
  int64_t wrong = 0;
  ASSERT_EQ(mxrt_memory_visit_sites(
                runtime, &cpu0,
                [](void *user, const mxrt_memory_site *site) {
                  *static_cast<int64_t *>(user) +=
                      site->live_bytes != site->location.line;
                },
                &wrong),
            nullptr);
  EXPECT_EQ(wrong, 0);
}

TEST_F(PoolTest, TheLimitIsAnErrorNamingShapeAndBytes) {
  reopen(1 << 20);
  Ref a = make(MXRT_F32, {1000});
  mxrt_tensor *tensor = nullptr;
  int64_t shape[] = {1024, 1024};
  mxrt_status status = mxrt_tensor_create(runtime, &cpu0, MXRT_F32, 2, shape,
                                          &here, &tensor);
  EXPECT_STREQ(mxrt_status_message(status),
               "memory limit reached on cpu:0: f32[1024, 1024] needs 4 MiB "
               "(4194304 bytes); the limit is 1 MiB (1048576 bytes) and 3.9 "
               "KiB are live here");
  EXPECT_EQ(mxrt_status_location(status).line, 12);
  EXPECT_EQ(codeOf(status), MXRT_MEMORY_LIMIT);
  EXPECT_EQ(tensor, nullptr);
  // The limit is one for all devices, and caches make way.
  { Ref big = make(MXRT_U8, {800 << 10}); }
  EXPECT_EQ(stats(cpu0).cached_bytes, 917504);
  Ref other = make(MXRT_U8, {800 << 10}, cpu1);
  EXPECT_EQ(stats(cpu0).cached_bytes, 0);
}

TEST_F(PoolTest, TheLimitIsExact) {
  reopen(4096);
  Ref a = make(MXRT_U8, {4096});
  EXPECT_EQ(createCode(MXRT_U8, {0}), MXRT_MEMORY_LIMIT);
  a = Ref();
  EXPECT_EQ(createCode(MXRT_U8, {4097}), MXRT_MEMORY_LIMIT);
  EXPECT_EQ(createCode(MXRT_U8, {4096}), MXRT_OK);
}

TEST_F(PoolTest, TensorsMayOutliveTheRuntime) {
  Ref a = make(MXRT_F32, {100});
  Ref b = make(MXRT_F32, {1 << 20});
  mxrt_runtime_destroy(runtime);
  runtime = nullptr;
  static_cast<float *>(mxrt_tensor_data(a.get()))[99] = 1;
  mxrt_tensor *view = nullptr;
  ASSERT_EQ(mxrt_tensor_slice(a.get(), 0, 1, 3, 1, nullptr, &view), nullptr);
  mxrt_tensor_release(view);
}

TEST_F(PoolTest, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        Ref a = make(MXRT_I32, {1 + (i * 37 + t) % 3000});
        Ref b = make(MXRT_I32, {100}, t % 2 ? cpu1 : cpu0);
        static_cast<int32_t *>(mxrt_tensor_data(a.get()))[0] = t;
        if (i % 100 == 0) {
          ASSERT_EQ(mxrt_memory_trim(runtime, &cpu0), nullptr);
        }
        ASSERT_EQ(static_cast<int32_t *>(mxrt_tensor_data(a.get()))[0], t);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(stats(cpu0).live_bytes, 0);
  EXPECT_EQ(stats(cpu1).live_bytes, 0);
  EXPECT_EQ(stats(cpu0).held_bytes, stats(cpu0).cached_bytes);
}

/// Threads have shelves of their own for small blocks: figures are those of all, each location is
/// visited once, and blocks go back to where they came from.
TEST_F(PoolTest, FiguresOfAllThreads) {
  std::vector<Ref> tensors(12);
  mxrt_location location{"a.mx", 3, 4};
  for (Ref &tensor : tensors)
    std::thread([&] {
      mxrt_tensor *made = nullptr;
      int64_t size = 100;
      ASSERT_EQ(mxrt_tensor_create(runtime, &cpu0, MXRT_U8, 1, &size, &location, &made), nullptr);
      tensor = Ref(made);
    }).join();
  EXPECT_EQ(stats().live_bytes, 1200);
  EXPECT_EQ(stats().peak_bytes, 1200);
  EXPECT_EQ(stats().live_blocks, 12);
  EXPECT_EQ(stats().allocations, 12);
  auto visited = [&] {
    std::vector<mxrt_memory_site> sites;
    EXPECT_EQ(mxrt_memory_visit_sites(
                  runtime, &cpu0,
                  [](void *user, const mxrt_memory_site *site) {
                    static_cast<decltype(sites) *>(user)->push_back(*site);
                  },
                  &sites),
              nullptr);
    return sites;
  };
  ASSERT_EQ(visited().size(), 1u);
  EXPECT_EQ(visited()[0].live_bytes, 1200);
  EXPECT_EQ(visited()[0].allocations, 12);
  tensors.clear(); // by another thread than those that made them
  EXPECT_EQ(stats().live_bytes, 0);
  EXPECT_EQ(stats().peak_bytes, 1200);
  EXPECT_EQ(stats().cached_bytes, 12 * 128);
  EXPECT_EQ(visited()[0].live_bytes, 0);
  // A block that two threads may need is there for both, regardless of its last user.
  void *large = nullptr;
  for (int i = 0; i < 2; ++i)
    std::thread([&] {
      Ref a = make(MXRT_U8, {32 << 10});
      EXPECT_TRUE(!large || large == mxrt_tensor_data(a.get()));
      large = mxrt_tensor_data(a.get());
    }).join();
  ASSERT_EQ(mxrt_memory_trim(runtime, &cpu0), nullptr);
  EXPECT_EQ(stats().held_bytes, 0);
}

} // namespace
