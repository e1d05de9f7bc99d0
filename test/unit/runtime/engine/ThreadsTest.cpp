// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What only the threaded engine has: lanes, back-pressure, inline ops, and many
// threads that push and wait at once.

#include "EngineFixture.h"

#include <chrono>

using namespace mxrt;
using namespace mxrt::test;

namespace {

class Threads : public EngineTest {};

TEST_P(Threads, LanesDoNotWaitForEachOther) {
  // Each op waits for the next lane's: all must have a worker of their own.
  mxrt_engine_options options = {};
  options.workers_per_device = 1;
  reopen(options);
  struct Step {
    Gate *mine, *next;
  };
  Gate gates[5];
  Step steps[4];
  for (int i = 0; i < 4; ++i) {
    steps[i] = {&gates[i + 1], &gates[i]};
    mxrt_op op = {};
    op.run = [](mxrt_op_context *, void *payload) -> mxrt_status {
      static_cast<Step *>(payload)->mine->pass();
      static_cast<Step *>(payload)->next->open();
      return nullptr;
    };
    op.payload = &steps[i];
    op.device = {MXRT_CPU, i == 1};
    op.lane = i == 2   ? MXRT_LANE_COPY
              : i == 3 ? MXRT_LANE_COMMUNICATION
                       : MXRT_LANE_COMPUTE;
    ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  }
  gates[4].open();
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
}

TEST_P(Threads, BackPressureHoldsAndNestedPushesPass) {
  mxrt_engine_options options = {};
  options.max_ops = 8;
  reopen(options);
  struct State {
    mxrt_engine *engine;
    Gate gate;
    std::atomic<int> ran{0};
  } state;
  state.engine = engine;
  mxrt_op first = {};
  first.payload = &state;
  first.run = [](mxrt_op_context *, void *payload) -> mxrt_status {
    auto *self = static_cast<State *>(payload);
    self->gate.pass();
    for (int i = 0; i < 100; ++i) { // far more than there is room for
      mxrt_op inner = {};
      inner.payload = self;
      inner.run = [](mxrt_op_context *, void *it) -> mxrt_status {
        static_cast<State *>(it)->ran.fetch_add(1);
        return nullptr;
      };
      if (mxrt_status status = mxrt_engine_push(self->engine, &inner))
        return status;
    }
    return nullptr;
  };
  for (int i = 0; i < 8; ++i)
    ASSERT_EQ(code(mxrt_engine_push(engine, &first)), MXRT_OK);
  std::atomic<bool> pushed{false};
  std::thread pusher([&] {
    EXPECT_EQ(code(mxrt_engine_push(engine, &first)), MXRT_OK);
    pushed = true;
  });
  mxrt_engine_stats stats;
  do
    mxrt_engine_get_stats(engine, &stats);
  while (stats.throttled == 0);
  EXPECT_FALSE(pushed.load());
  state.gate.open();
  pusher.join();
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(state.ran.load(), 900);
}

/// Ops with results of so many bytes; the first runs until `gate` opens.
struct Sized {
  mxrt_engine *engine;
  Gate gate;

  void push(uint64_t bytes, bool stops) {
    mxrt_op op = {};
    op.payload = this;
    op.run = [](mxrt_op_context *, void *payload) -> mxrt_status {
      static_cast<Sized *>(payload)->gate.pass();
      return nullptr;
    };
    if (!stops)
      op.run = [](mxrt_op_context *, void *) -> mxrt_status { return nullptr; };
    op.bytes = bytes;
    EXPECT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  }
  uint64_t throttled() {
    mxrt_engine_stats stats;
    mxrt_engine_get_stats(engine, &stats);
    return stats.throttled;
  }
};
constexpr uint64_t MiB = uint64_t{1} << 20;

TEST_P(Threads, LargeResultsHoldUpNothingBehindThem) {
  close();
  mxrt_engine_options given = {};
  given.kind = MXRT_ENGINE_THREADED;
  given.workers_per_device = 2;
  engine::EngineOptions options = engine::completeOptions(&given);
  EXPECT_EQ(options.max_bytes, 256 * MiB);
  options.growBytes = 8192 * MiB; // whatever this machine has
  engine = engine::createEngine(options).take();
  Sized large = {engine, {}};
  // A step of 600 MiB, the exchange of its gradients in 150 buckets, and the
  // next step. None of these can be over: no push may wait for it.
  large.push(600 * MiB, true);
  for (int i = 0; i < 150; ++i)
    large.push(4 * MiB - 1, true);
  EXPECT_EQ(large.throttled(), 0u);
  // Twice the largest is in flight: the next push waits.
  std::thread pusher([&] { large.push(600 * MiB, true); });
  while (large.throttled() == 0)
    std::this_thread::yield();
  large.gate.open();
  pusher.join();
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
}

TEST_P(Threads, TheLimitReturnsAfterALargeOp) {
  close();
  mxrt_engine_options given = {};
  given.kind = MXRT_ENGINE_THREADED;
  engine::EngineOptions options = engine::completeOptions(&given);
  options.growBytes = 8192 * MiB;
  engine = engine::createEngine(options).take();
  {
    Sized large = {engine, {}};
    large.push(2000 * MiB, false);
    for (int i = 0; i < 200; ++i) { // more than eight times that, one by one
      large.push(100 * MiB, false);
      ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
    }
  }
  Sized small = {engine, {}};
  for (int i = 0; i < 2; ++i)
    small.push(100 * MiB, true);
  uint64_t before = small.throttled();
  std::thread pusher([&] { small.push(100 * MiB, true); });
  while (small.throttled() == before)
    std::this_thread::yield();
  small.gate.open();
  pusher.join();
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
}

TEST(EngineLimits, OfBytesInFlight) {
  auto bytes = [](uint64_t asked, uint64_t memory) {
    mxrt_engine_options given = {};
    given.max_bytes = asked;
    engine::EngineOptions options = engine::completeOptions(&given, memory);
    return std::pair(options.max_bytes, options.growBytes);
  };
  EXPECT_EQ(bytes(0, 8192 * MiB), std::pair(256 * MiB, 2048 * MiB));
  EXPECT_EQ(bytes(0, 1024 * MiB), std::pair(256 * MiB, 256 * MiB));
  EXPECT_EQ(bytes(0, 100), std::pair(uint64_t{25}, uint64_t{25}));
  EXPECT_EQ(bytes(0, 1), std::pair(uint64_t{1}, uint64_t{1}));
  EXPECT_EQ(bytes(1000, 8192 * MiB), std::pair(uint64_t{1000}, uint64_t{1000}));
  EXPECT_EQ(bytes(UINT64_MAX, 0).second, uint64_t{INT64_MAX / 2});
  EXPECT_EQ(bytes(0, UINT64_MAX).second, uint64_t{INT64_MAX / 2});
  EXPECT_EQ(bytes(0, 0).first, 256 * MiB);
  EXPECT_GE(bytes(0, 0).second, 256 * MiB);
}

TEST_P(Threads, InlineOpRunsOnThePushingThread) {
  mxrt_var var = newVar();
  std::thread::id id;
  mxrt_op op = opOn(
      &var, 1,
      [](mxrt_op_context *, void *payload) -> mxrt_status {
        *static_cast<std::thread::id *>(payload) = std::this_thread::get_id();
        return nullptr;
      },
      &id);
  op.flags = MXRT_OP_INLINE;
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  EXPECT_EQ(id, std::this_thread::get_id());
}

mxrt_status noteThread(mxrt_op_context *, void *where) {
  *static_cast<std::thread::id *>(where) = std::this_thread::get_id();
  return nullptr;
}

/// Keeps the only worker of an engine busy until `release` opens.
struct Occupation {
  Gate begun, release;
  static mxrt_status run(mxrt_op_context *, void *payload) {
    auto *self = static_cast<Occupation *>(payload);
    self->begun.open();
    self->release.pass();
    return nullptr;
  }
};

TEST_P(Threads, WaitRunsTheOpItWaitsFor) {
  mxrt_engine_options options = {};
  options.workers_per_device = 1;
  reopen(options);
  Occupation busy;
  mxrt_op first = opOn(nullptr, 0, Occupation::run, &busy);
  ASSERT_EQ(code(mxrt_engine_push(engine, &first)), MXRT_OK);
  busy.begun.pass();
  mxrt_var var = newVar();
  std::thread::id where;
  mxrt_op op = opOn(&var, 1, noteThread, &where);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait(engine, var, here)), MXRT_OK);
  EXPECT_EQ(where, std::this_thread::get_id());
  busy.release.open();
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
}

TEST_P(Threads, WaitRunsNoOtherOp) {
  mxrt_engine_options options = {};
  options.workers_per_device = 1;
  reopen(options);
  Occupation busy;
  mxrt_op first = opOn(nullptr, 0, Occupation::run, &busy);
  ASSERT_EQ(code(mxrt_engine_push(engine, &first)), MXRT_OK);
  busy.begun.pass();
  // An op of another variable is ahead of the one waited for, and one that
  // only reads the variable does not get it written.
  mxrt_var other = newVar(), var = newVar();
  std::thread::id otherWhere, readWhere, where;
  mxrt_op ahead = opOn(&other, 1, noteThread, &otherWhere);
  mxrt_op reader = opOn(nullptr, 0, noteThread, &readWhere);
  reader.reads = &var;
  reader.read_count = 1;
  mxrt_op op = opOn(&var, 1, noteThread, &where);
  for (mxrt_op *each : {&ahead, &reader, &op})
    ASSERT_EQ(code(mxrt_engine_push(engine, each)), MXRT_OK);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    busy.release.open();
  });
  EXPECT_EQ(code(mxrt_engine_wait(engine, var, here)), MXRT_OK);
  opener.join();
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_NE(otherWhere, std::this_thread::get_id());
  EXPECT_NE(readWhere, std::this_thread::get_id());
  EXPECT_EQ(where, otherWhere);
}

TEST_P(Threads, ManyPushersManyWaiters) {
  constexpr int threads = 4, rounds = 500;
  mxrt_var shared = newVar();
  int64_t total = 0; // guarded by `shared`
  std::vector<std::thread> pool;
  std::vector<mxrt_var> own;
  for (int t = 0; t < threads; ++t)
    own.push_back(newVar());
  std::vector<int64_t> counts(threads);
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        mxrt_op both = opOn(&shared, 1, addOne, &total);
        mxrt_op mine = opOn(&own[static_cast<size_t>(t)], 1, addOne,
                            &counts[static_cast<size_t>(t)]);
        EXPECT_EQ(code(mxrt_engine_push(engine, &both)), MXRT_OK);
        EXPECT_EQ(code(mxrt_engine_push(engine, &mine)), MXRT_OK);
        if (i % 7 == 0)
          EXPECT_EQ(code(mxrt_engine_wait(engine, shared, here)), MXRT_OK);
        if (i % 50 == 0)
          EXPECT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
      }
    });
  for (std::thread &thread : pool)
    thread.join();
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(total, threads * rounds);
  for (int64_t count : counts)
    EXPECT_EQ(count, rounds);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Threads, testing::Values(MXRT_ENGINE_THREADED),
                         engineName);

} // namespace
