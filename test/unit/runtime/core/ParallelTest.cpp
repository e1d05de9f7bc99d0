// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "base/Os.h"
#include "base/ParallelRegion.h"
#include "mxrt/parallel.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

/// A team with its budget and a context to use it.
class Team {
public:
  explicit Team(int32_t threads, const mxrt_allocator *alloc = nullptr) {
    EXPECT_EQ(mxrt_thread_budget_create(alloc, threads, &budget), nullptr);
    EXPECT_EQ(mxrt_team_create(alloc, budget, &team), nullptr);
    mxrt_context_init(&context);
    context.team = team;
  }
  ~Team() {
    mxrt_team_destroy(team);
    EXPECT_EQ(mxrt_thread_budget_used(budget), 0);
    mxrt_thread_budget_destroy(budget);
  }
  mxrt_thread_budget *budget = nullptr;
  mxrt_team *team = nullptr;
  mxrt_context context;
};

using Body =
    std::function<mxrt_status(int64_t, int64_t, int64_t, const mxrt_context *)>;

mxrt_status parallelFor(const mxrt_context &context, int64_t count,
                        int64_t grain, const Body &body) {
  return mxrt_parallel_for(
      &context, count, grain,
      [](void *user, int64_t begin, int64_t end, int64_t chunk,
         const mxrt_context *inner) {
        return (*static_cast<const Body *>(user))(begin, end, chunk, inner);
      },
      const_cast<Body *>(&body));
}

TEST(ParallelFor, VisitsEveryElementOnce) {
  for (int32_t threads : {1, 2, 3, 8}) {
    Team team(threads);
    for (int64_t count : {0, 1, 2, 63, 64, 65, 1000, 4097})
      for (int64_t grain : {0, 1, 7, 64, 5000}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
        std::atomic<int64_t> chunks{0};
        ASSERT_EQ(parallelFor(team.context, count, grain,
                              [&](int64_t b, int64_t e, int64_t chunk,
                                  const mxrt_context *inner) -> mxrt_status {
                                EXPECT_LT(b, e);
                                EXPECT_EQ(inner->nested, 1u);
                                if (grain) {
                                  EXPECT_EQ(b, chunk * grain);
                                }
                                for (int64_t i = b; i < e; ++i)
                                  ++seen[static_cast<size_t>(i)];
                                ++chunks;
                                return nullptr;
                              }),
                  nullptr);
        for (auto &times : seen)
          ASSERT_EQ(times.load(), 1);
        EXPECT_EQ(chunks.load(), mxrt_parallel_chunks(count, grain));
      }
  }
}

TEST(ParallelFor, PartitionDependsOnSizeOnly) {
  EXPECT_EQ(mxrt_parallel_chunks(-1, 0), 0);
  EXPECT_EQ(mxrt_parallel_chunks(0, 0), 0);
  EXPECT_EQ(mxrt_parallel_chunks(1, 0), 1);
  EXPECT_EQ(mxrt_parallel_chunks(63, 0), 63);
  EXPECT_EQ(mxrt_parallel_chunks(1 << 20, 0), 64);
  EXPECT_EQ(mxrt_parallel_chunks(10, 3), 4);
  // Huge counts: chunks grow instead of overflowing.
  EXPECT_LE(mxrt_parallel_chunks(INT64_MAX, 1), int64_t(1) << 30);
  EXPECT_GT(mxrt_parallel_chunks(INT64_MAX, 1), int64_t(1) << 29);
  EXPECT_EQ(mxrt_parallel_chunks(INT64_MAX, INT64_MAX), 1);
  EXPECT_EQ(mxrt_parallel_chunks(INT64_MAX, INT64_MAX - 1), 2);
}

/// A sum of floats by one partial result per chunk.
double chunkedSum(const mxrt_context &context, const std::vector<float> &data) {
  auto count = static_cast<int64_t>(data.size());
  std::vector<double> partial(
      static_cast<size_t>(mxrt_parallel_chunks(count, 0)));
  EXPECT_EQ(parallelFor(context, count, 0,
                        [&](int64_t b, int64_t e, int64_t chunk,
                            const mxrt_context *) -> mxrt_status {
                          float sum = 0;
                          for (int64_t i = b; i < e; ++i)
                            sum += data[static_cast<size_t>(i)];
                          partial[static_cast<size_t>(chunk)] = sum;
                          return nullptr;
                        }),
            nullptr);
  double sum = 0;
  for (double part : partial)
    sum += part;
  return sum;
}

TEST(ParallelFor, ReductionsHaveTheSameBitsForAnyThreadCount) {
  std::vector<float> data(100003);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = std::sin(static_cast<float>(i)) * 1e3f;
  Team one(1);
  double expected = chunkedSum(one.context, data);
  for (int32_t threads : {2, 3, 4, 7}) {
    Team team(threads);
    for (int repeat = 0; repeat < 50; ++repeat)
      ASSERT_EQ(chunkedSum(team.context, data), expected);
  }
}

TEST(ParallelFor, NestedLoopsRunOnTheirThread) {
  Team team(4);
  std::atomic<int64_t> total{0};
  mxrt_status status = parallelFor(
      team.context, 32, 1,
      [&](int64_t, int64_t, int64_t, const mxrt_context *inner) {
        int64_t outside = mxrt::os::currentThreadId();
        return parallelFor(*inner, 100, 10,
                           [&](int64_t b, int64_t e, int64_t,
                               const mxrt_context *) -> mxrt_status {
                             EXPECT_EQ(mxrt::os::currentThreadId(), outside);
                             total += e - b;
                             return nullptr;
                           });
      });
  EXPECT_EQ(status, nullptr);
  EXPECT_EQ(total.load(), 3200);
}

TEST(ParallelFor, ReportsTheLowestFailingChunk) {
  for (int32_t threads : {1, 2, 4}) {
    Team team(threads);
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::atomic<int> made{0};
      mxrt_status status = parallelFor(
          team.context, 100, 1,
          [&](int64_t b, int64_t, int64_t,
              const mxrt_context *inner) -> mxrt_status {
            if (b != 37 && b != 38 && b < 90)
              return nullptr;
            ++made;
            return mxrt_status_make(inner->allocator, MXRT_RAISED,
                                    inner->location, "chunk %d", int(b));
          });
      ASSERT_NE(status, nullptr);
      ASSERT_STREQ(mxrt_status_message(status), "chunk 37");
      mxrt_status_release(status);
      ASSERT_GE(made.load(), 1);
    }
  }
}

TEST(ParallelFor, StopsBetweenChunksWhenCancelled) {
  for (int32_t threads : {1, 4}) {
    Team team(threads);
    std::atomic<uint32_t> word{0};
    team.context.cancelled = reinterpret_cast<const uint32_t *>(&word);
    std::atomic<int> ran{0};
    mxrt_status status =
        parallelFor(team.context, 1000000, 1,
                    [&](int64_t, int64_t, int64_t,
                        const mxrt_context *) -> mxrt_status {
                      if (++ran == 10)
                        word = 1;
                      return nullptr;
                    });
    EXPECT_EQ(mxrt_status_code(status), MXRT_CANCELLED);
    mxrt_status_release(status);
    EXPECT_LT(ran.load(), 1000);
    word = 0;
    EXPECT_EQ(mxrt_poll(&team.context), nullptr);
  }
}

TEST(ParallelFor, RefusesNegativeCounts) {
  Team team(2);
  Body body = [](int64_t, int64_t, int64_t,
                 const mxrt_context *) -> mxrt_status { return nullptr; };
  for (auto [count, grain] : {std::pair{-1, 0}, {1, -1}}) {
    mxrt_status status = parallelFor(team.context, count, grain, body);
    EXPECT_EQ(mxrt_status_code(status), MXRT_INVALID_ARGUMENT);
    mxrt_status_release(status);
  }
}

TEST(ParallelFor, WorksWithoutATeam) {
  mxrt_context context;
  mxrt_context_init(&context);
  int64_t last = -1;
  EXPECT_EQ(parallelFor(context, 10, 3,
                        [&](int64_t, int64_t e, int64_t chunk,
                            const mxrt_context *) -> mxrt_status {
                          EXPECT_EQ(chunk, last + 1);
                          last = chunk;
                          EXPECT_EQ(e, std::min<int64_t>(10, chunk * 3 + 3));
                          return nullptr;
                        }),
            nullptr);
  EXPECT_EQ(last, 3);
}

TEST(ParallelFor, ManyCallersShareOneTeam) {
  Team team(4);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        EXPECT_EQ(parallelFor(team.context, 64, 1,
                              [&](int64_t b, int64_t e, int64_t,
                                  const mxrt_context *) -> mxrt_status {
                                total += e - b;
                                return nullptr;
                              }),
                  nullptr);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(total.load(), 4 * 300 * 64);
}

TEST(ParallelFor, WaitingTakesNoLongerThanWork) {
  using mxrt::minSpinNs, mxrt::maxSpinNs, mxrt::spinNs;
  for (bool isCounted : {false, true}) {
    EXPECT_EQ(spinNs(0, 1, isCounted), minSpinNs);
    EXPECT_EQ(spinNs(100000, 1, isCounted), 100000);
    EXPECT_EQ(spinNs(10 * maxSpinNs, 1, isCounted), maxSpinNs);
    EXPECT_EQ(spinNs(100000, -1, isCounted), minSpinNs);
  }
  // Two threads: the caller waits for a helper that works; and a helper for the
  // next loop, while an engine's worker has taken its thread.
  EXPECT_EQ(spinNs(100000, 0, /*isCounted=*/true), 100000);
  EXPECT_EQ(spinNs(100000, 0, /*isCounted=*/false), minSpinNs);
}

TEST(ThreadBudget, TakesWhatIsThereAndNoMore) {
  mxrt_thread_budget *budget = nullptr;
  ASSERT_EQ(mxrt_thread_budget_create(nullptr, 4, &budget), nullptr);
  EXPECT_EQ(mxrt_thread_budget_take(budget, 3), 3);
  EXPECT_EQ(mxrt_thread_budget_take(budget, 3), 1);
  EXPECT_EQ(mxrt_thread_budget_take(budget, 3), 0);
  mxrt_thread_budget_enter(budget);
  EXPECT_EQ(mxrt_thread_budget_used(budget), 5);
  EXPECT_EQ(mxrt_thread_budget_take(budget, 1), 0);
  mxrt_thread_budget_give(budget, 4);
  mxrt_thread_budget_leave(budget);
  EXPECT_EQ(mxrt_thread_budget_used(budget), 0);
  EXPECT_EQ(mxrt_thread_budget_peak(budget), 5);
  mxrt_thread_budget_destroy(budget);
  mxrt_status bad = mxrt_thread_budget_create(nullptr, 0, &budget);
  EXPECT_EQ(mxrt_status_code(bad), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(budget, nullptr);
  mxrt_status_release(bad);
}

TEST(ThreadBudget, WorkersAndHelpersNeverAddUpToMoreThanTheBudget) {
  // Two workers that hold their thread, as the engine's do, both in loops.
  constexpr int32_t total = 3;
  Team team(total);
  std::atomic<int> entered{0}, running{0}, most{0};
  auto worker = [&] {
    mxrt_thread_budget_enter(team.budget);
    // Both first: a worker that enters while helpers of the other are inside a
    // chunk has to wait for them to leave, and counts meanwhile.
    ++entered;
    while (entered < 2)
      std::this_thread::yield();
    mxrt_context context = team.context;
    context.holds_thread = 1;
    for (int i = 0; i < 200; ++i)
      EXPECT_EQ(parallelFor(context, 16, 1,
                            [&](int64_t, int64_t, int64_t,
                                const mxrt_context *) -> mxrt_status {
                              int now = ++running;
                              int seen = most.load();
                              while (now > seen &&
                                     !most.compare_exchange_weak(seen, now)) {
                              }
                              std::this_thread::yield();
                              --running;
                              return nullptr;
                            }),
                nullptr);
    mxrt_thread_budget_leave(team.budget);
  };
  std::thread first(worker), second(worker);
  first.join();
  second.join();
  EXPECT_LE(most.load(), total);
  EXPECT_LE(mxrt_thread_budget_peak(team.budget), total);
}

TEST(ThreadBudget, HelpersLeaveWhenAWorkerNeedsTheirThread) {
  Team team(2);
  std::atomic<int64_t> done{0};
  std::atomic<bool> entered{false};
  mxrt_status status = parallelFor(
      team.context, 400, 1,
      [&](int64_t, int64_t, int64_t, const mxrt_context *) -> mxrt_status {
        if (done == 20 && !entered.exchange(true))
          mxrt_thread_budget_enter(team.budget);
        ++done;
        mxrt::os::sleepNs(1000);
        return nullptr;
      });
  EXPECT_EQ(status, nullptr);
  EXPECT_EQ(done.load(), 400); // what the helper left was done by the caller
  if (entered)
    mxrt_thread_budget_leave(team.budget);
}

} // namespace
