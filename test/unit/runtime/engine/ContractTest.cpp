// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What mxrt/engine.h promises, on both engines and real threads.

#include "EngineFixture.h"

#include "../TestAllocator.h"

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

using namespace mxrt;
using namespace mxrt::test;

namespace {

class Contract : public EngineTest {};

TEST_P(Contract, StartsAndStops) {
  for (int i = 0; i < 20; ++i)
    reopen({});
}

TEST_P(Contract, VersionCountsWritesOnly) {
  mxrt_var var = newVar();
  int64_t value = 0;
  mxrt_op read = opOn(nullptr, 0, addOne, &value);
  read.reads = &var;
  read.read_count = 1;
  uint64_t version = 99;
  ASSERT_EQ(code(mxrt_engine_push(engine, &read)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_version(engine, var, &version)), MXRT_OK);
  EXPECT_EQ(version, 0u);
  mxrt_op write = opOn(&var, 1, addOne, &value);
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(code(mxrt_engine_push(engine, &write)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait(engine, var, here)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_version(engine, var, &version)), MXRT_OK);
  EXPECT_EQ(version, 10u);
  EXPECT_EQ(value, 11);
}

TEST_P(Contract, DuplicatesAreRefusedAndNothingIsPushed) {
  mxrt_var a = newVar(), b = newVar();
  int64_t value = 0;
  struct Case {
    std::vector<mxrt_var> reads, writes;
    const char *text;
  };
  const Case cases[] = {{{a, b, a}, {}, "twice in a set"},
                        {{}, {b, b}, "twice in a set"},
                        {{a, b}, {b}, "both reads and writes"},
                        {{b}, {a, b}, "both reads and writes"}};
  for (const Case &test : cases) {
    mxrt_op op = opOn(test.writes.data(), test.writes.size(), addOne, &value);
    op.reads = test.reads.data();
    op.read_count = test.reads.size();
    Status status(mxrt_engine_push(engine, &op));
    EXPECT_EQ(status.code(), MXRT_ENGINE_USAGE);
    EXPECT_NE(std::strstr(status.message(), test.text), nullptr)
        << status.message();
    EXPECT_EQ(status.location().line, 3);
  }
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(value, 0);
  mxrt_engine_stats stats;
  mxrt_engine_get_stats(engine, &stats);
  EXPECT_EQ(stats.pushed, 0u);
}

/// An op that pushes others until the engine refuses to take more.
struct Pusher {
  mxrt_engine *engine = nullptr;
  mxrt_var var = 0;
  int64_t value = 0;
  std::atomic<bool> runs{false};
  std::string refusal;
};

mxrt_status pushUntilRefused(mxrt_op_context *, void *payload) {
  auto &pusher = *static_cast<Pusher *>(payload);
  pusher.runs = true;
  for (;;) {
    mxrt_op op = opOn(&pusher.var, 1, addOne, &pusher.value);
    Status status(mxrt_engine_push(pusher.engine, &op));
    if (!status.ok()) {
      pusher.refusal = std::string(mxrt_code_name(status.code())) + " " + status.message();
      return nullptr;
    }
    std::this_thread::yield();
  }
}

TEST_P(Contract, OpsCannotPushWhileTheEngineStops) {
  if (isNaive())
    GTEST_SKIP() << "no op is in flight when this engine stops";
  Pusher pusher;
  pusher.engine = engine;
  pusher.var = newVar();
  mxrt_var own = newVar();
  mxrt_op op = opOn(&own, 1, pushUntilRefused, &pusher);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  while (!pusher.runs)
    std::this_thread::yield();
  close();
  EXPECT_EQ(pusher.refusal, "ENGINE_STOPPED the engine has been stopped");
}

TEST_P(Contract, BadOpsAreRefused) {
  mxrt_var var = newVar();
  int64_t value = 0;
  mxrt_op op = opOn(&var, 1, nullptr, &value);
  EXPECT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_ENGINE_USAGE);
  op.run = addOne;
  op.lane = 7;
  EXPECT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_ENGINE_USAGE);
  op.lane = MXRT_LANE_COMPUTE;
  for (mxrt_device device :
       {mxrt_device{MXRT_CPU, -1}, {MXRT_CPU, 16}, {9, 0}, {-1, 0}}) {
    op.device = device;
    EXPECT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_NO_DEVICE);
  }
  op.device = {MXRT_CPU, 0};
  for (mxrt_var wrong : {mxrt_var{0}, var + 1, var + (mxrt_var{1} << 32),
                         ~mxrt_var{0}}) {
    op.writes = &wrong;
    EXPECT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_ENGINE_USAGE);
    EXPECT_EQ(code(mxrt_engine_wait(engine, wrong, here)), MXRT_ENGINE_USAGE);
    EXPECT_EQ(code(mxrt_engine_delete_var(engine, wrong, nullptr, nullptr)),
              MXRT_ENGINE_USAGE);
  }
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(value, 0);
}

TEST_P(Contract, DeletedHandlesStayDead) {
  mxrt_var old = newVar();
  ASSERT_EQ(code(mxrt_engine_delete_var(engine, old, nullptr, nullptr)),
            MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  mxrt_var fresh = newVar();
  EXPECT_NE(fresh, old);
  EXPECT_EQ(code(mxrt_engine_wait(engine, old, here)), MXRT_ENGINE_USAGE);
  EXPECT_EQ(code(mxrt_engine_wait(engine, fresh, here)), MXRT_OK);
}

TEST_P(Contract, ErrorNamesIssueAndNoticeAndOp) {
  mxrt_var var = newVar();
  mxrt_op op = opOn(
      &var, 1,
      [](mxrt_op_context *, void *) -> mxrt_status {
        return error(nullptr, MXRT_OUT_OF_MEMORY, noLocation, "3.1 GiB wanted").release();
      },
      nullptr);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK); // silent until read
  Status status(mxrt_engine_wait(engine, var, here));
  EXPECT_EQ(status.code(), MXRT_OUT_OF_MEMORY);
  EXPECT_STREQ(status.location().file, "push.mx");
  EXPECT_EQ(status.location().line, 3);
  EXPECT_STREQ(status.noticedLocation().file, "wait.mx");
  EXPECT_EQ(status.noticedLocation().line, 77);
  EXPECT_NE(std::strstr(status.message(), "3.1 GiB wanted"), nullptr);
  EXPECT_NE(std::strstr(status.message(), "test op"), nullptr);
  // A second wait, elsewhere, sees it again; wait_all does not.
  Status again(mxrt_engine_wait(engine, var, {"later.mx", 5, 1}));
  EXPECT_EQ(again.code(), MXRT_OUT_OF_MEMORY);
  EXPECT_EQ(again.noticedLocation().line, 5);
  EXPECT_EQ(status.noticedLocation().line, 77) << "the first status changed";
  EXPECT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
}

TEST_P(Contract, WaitAllReturnsTheEarliestOnceAndCountsTheOthers) {
  std::vector<OpSpec> ops(6);
  for (int i = 0; i < 6; ++i)
    ops[static_cast<size_t>(i)].writes = {i};
  for (size_t i : {1, 3, 4})
    ops[i].fails = true;
  auto run = subject(ops, 6);
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(run->push(i).ok());
  Status status = run->waitAll();
  EXPECT_EQ(Subject::blamed(status), 1);
  EXPECT_NE(std::strstr(status.message(), "2 more failed"), nullptr)
      << status.message();
  EXPECT_TRUE(run->waitAll().ok());
  EXPECT_EQ(Subject::blamed(run->wait(3)), 3) << "poison stays";
  EXPECT_TRUE(run->wait(2).ok()) << "unrelated";
}

TEST_P(Contract, FailuresDoNotPileUp) {
  close();
  TestAllocator memory;
  {
    mxrt_engine_options options = {};
    options.allocator = memory.get();
    open(options);
  }
  mxrt_var var = newVar();
  mxrt_op op = opOn(
      &var, 1,
      [](mxrt_op_context *, void *) {
        return mxrt_status_constant(MXRT_ASSERTION);
      },
      nullptr);
  op.flags = MXRT_OP_OVERWRITES;
  long live = 0;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
    if (i == 2500) {
      ASSERT_EQ(code(mxrt_engine_wait(engine, var, here)), MXRT_ASSERTION);
      live = memory.liveBlocks();
    }
  }
  ASSERT_EQ(code(mxrt_engine_wait(engine, var, here)), MXRT_ASSERTION);
  EXPECT_LE(memory.liveBlocks(), live + 4);
  Status status(mxrt_engine_wait_all(engine, here));
  EXPECT_EQ(status.code(), MXRT_ASSERTION);
  close();
  EXPECT_EQ(memory.liveBlocks(), 0);
  EXPECT_EQ(memory.mistake(), "");
}

TEST_P(Contract, AlwaysRunSeesTheErrorOfItsInput) {
  mxrt_var bad = newVar(), out = newVar();
  mxrt_op fails = opOn(
      &bad, 1,
      [](mxrt_op_context *, void *) {
        return mxrt_status_constant(MXRT_INDEX);
      },
      nullptr);
  ASSERT_EQ(code(mxrt_engine_push(engine, &fails)), MXRT_OK);
  int seen = 0;
  mxrt_op always = opOn(
      &out, 1,
      [](mxrt_op_context *context, void *payload) -> mxrt_status {
        *static_cast<int *>(payload) =
            mxrt_status_code(mxrt_op_input_error(context));
        return nullptr;
      },
      &seen);
  always.reads = &bad;
  always.read_count = 1;
  always.flags = MXRT_OP_ALWAYS_RUN;
  ASSERT_EQ(code(mxrt_engine_push(engine, &always)), MXRT_OK);
  EXPECT_EQ(code(mxrt_engine_wait(engine, out, here)), MXRT_INDEX);
  EXPECT_EQ(seen, MXRT_INDEX);
}

TEST_P(Contract, WaitInsideAnOpIsRefused) {
  struct Inside {
    mxrt_engine *engine;
    mxrt_var var;
    int wait, waitAll;
  } inside = {engine, newVar(), 0, 0};
  mxrt_op op = opOn(
      &inside.var, 1,
      [](mxrt_op_context *, void *payload) -> mxrt_status {
        auto *self = static_cast<Inside *>(payload);
        self->wait = code(mxrt_engine_wait(self->engine, self->var, here));
        self->waitAll = code(mxrt_engine_wait_all(self->engine, here));
        return nullptr;
      },
      &inside);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(inside.wait, MXRT_ENGINE_USAGE);
  EXPECT_EQ(inside.waitAll, MXRT_ENGINE_USAGE);
}

TEST_P(Contract, OpsKnowWhatTheyDeclared) {
  struct Declared {
    mxrt_var read, write, other;
    int results[6];
  } declared = {newVar(), newVar(), newVar(), {}};
  mxrt_op op = opOn(
      &declared.write, 1,
      [](mxrt_op_context *context, void *payload) -> mxrt_status {
        auto *self = static_cast<Declared *>(payload);
        int i = 0;
        for (mxrt_var var : {self->read, self->write, self->other})
          for (int write : {0, 1})
            self->results[i++] = mxrt_op_declares(context, var, write);
        return nullptr;
      },
      &declared);
  op.reads = &declared.read;
  op.read_count = 1;
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  const int wanted[6] = {1, 0, 1, 1, 0, 0};
  EXPECT_TRUE(std::equal(wanted, wanted + 6, declared.results));
}

TEST_P(Contract, PayloadsAreCopiedAligned) {
  std::atomic<int> good{0};
  for (size_t size : {size_t{1}, size_t{17}, size_t{64}, size_t{700}}) {
    std::vector<unsigned char> payload(size + sizeof(void *));
    mxrt_op op = opOn(
        nullptr, 0,
        [](mxrt_op_context *, void *copy) -> mxrt_status {
          auto *bytes = static_cast<unsigned char *>(copy);
          std::atomic<int> *counter;
          std::memcpy(&counter, bytes, sizeof counter);
          bool aligned = reinterpret_cast<uintptr_t>(copy) % 16 == 0;
          counter->fetch_add(aligned && bytes[sizeof counter] == 42);
          return nullptr;
        },
        payload.data());
    std::atomic<int> *counter = &good;
    std::memcpy(payload.data(), &counter, sizeof counter);
    std::memset(payload.data() + sizeof counter, 42, size);
    op.payload_bytes = payload.size();
    ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
    std::memset(payload.data() + sizeof counter, 0, size);
  }
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(good.load(), 4);
}

TEST_P(Contract, ManyVariablesInOneOp) {
  std::vector<OpSpec> ops(3);
  for (int i = 0; i < 700; ++i) {
    ops[0].writes.push_back(i);
    ops[1].reads.push_back(699 - i);
    ops[2].writes.push_back(i);
  }
  ops[1].writes.push_back(700);
  auto run = subject(ops, 701);
  Model model(ops, 701);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run->push(i).ok());
    model.push(i);
  }
  ASSERT_TRUE(run->waitAll().ok());
  run->compare(model);
}

TEST_P(Contract, DeferredOpHoldsItsVariables) {
  std::vector<OpSpec> ops(2);
  ops[0].writes = {0};
  ops[0].defers = true;
  ops[0].fails = true;
  ops[1].reads = {0};
  ops[1].writes = {1};
  auto run = subject(ops, 2);
  Gate there;
  mxrt_op_token *token = nullptr;
  run->onDefer = [&](int, mxrt_op_token *given) {
    token = given;
    there.open();
  };
  std::thread completer([&] {
    there.pass();
    run->complete(0, token);
  });
  ASSERT_TRUE(run->push(0).ok());
  ASSERT_TRUE(run->push(1).ok());
  EXPECT_EQ(Subject::blamed(run->wait(1)), 0);
  completer.join();
  EXPECT_EQ(run->runs[1].started.load(), 0);
}

TEST_P(Contract, PollDoesNotWait) {
  mxrt_var var = newVar();
  int32_t ready = 0;
  ASSERT_EQ(code(mxrt_engine_poll(engine, var, &ready)), MXRT_OK);
  EXPECT_EQ(ready, 1);
  if (isNaive())
    return;
  Gate gate;
  mxrt_op op = opOn(
      &var, 1,
      [](mxrt_op_context *, void *payload) -> mxrt_status {
        static_cast<Gate *>(payload)->pass();
        return nullptr;
      },
      &gate);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_poll(engine, var, &ready)), MXRT_OK);
  EXPECT_EQ(ready, 0);
  gate.open();
  ASSERT_EQ(code(mxrt_engine_wait(engine, var, here)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_poll(engine, var, &ready)), MXRT_OK);
  EXPECT_EQ(ready, 1);
}

TEST_P(Contract, TwoEnginesAreIndependent) {
  mxrt_engine *other = nullptr;
  mxrt_engine_options options = {};
  options.kind = GetParam();
  ASSERT_EQ(code(mxrt_engine_create(&options, &other)), MXRT_OK);
  mxrt_var mine = newVar(), theirs = 0;
  ASSERT_EQ(code(mxrt_engine_new_var(other, &theirs)), MXRT_OK);
  // An op of one engine may push to the other and wait there.
  struct Both {
    mxrt_engine *other;
    mxrt_var theirs;
    int64_t value;
    int wait;
  } both = {other, theirs, 0, -1};
  mxrt_op op = opOn(
      &mine, 1,
      [](mxrt_op_context *, void *payload) -> mxrt_status {
        auto *self = static_cast<Both *>(payload);
        mxrt_op inner = opOn(&self->theirs, 1, addOne, &self->value);
        Status pushed(mxrt_engine_push(self->other, &inner));
        self->wait = code(mxrt_engine_wait(self->other, self->theirs, here));
        return pushed.release();
      },
      &both);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait(engine, mine, here)), MXRT_OK);
  EXPECT_EQ(both.wait, MXRT_OK);
  EXPECT_EQ(both.value, 1);
  mxrt_engine_destroy(other);
}

TEST_P(Contract, CancelSwitch) {
  mxrt_cancel *cancel = nullptr;
  ASSERT_EQ(code(mxrt_cancel_create(nullptr, &cancel)), MXRT_OK);
  EXPECT_EQ(*mxrt_cancel_word(cancel), 0u);
  mxrt_cancel_request(cancel);
  EXPECT_EQ(*mxrt_cancel_word(cancel), 1u);
  mxrt_var var = newVar();
  int64_t value = 0;
  mxrt_op op = opOn(&var, 1, addOne, &value);
  op.cancel = cancel;
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  mxrt_cancel_release(cancel); // the op has its own reference
  EXPECT_EQ(code(mxrt_engine_wait(engine, var, here)), MXRT_CANCELLED);
  EXPECT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(value, 0);
}

TEST_P(Contract, CancelWordOfTheOptions) {
  std::atomic<uint32_t> word{0};
  mxrt_engine_options options = {};
  options.cancelled = reinterpret_cast<const uint32_t *>(&word);
  reopen(options);
  mxrt_var var = newVar(), second = newVar();
  int64_t value = 0;
  word = 1;
  mxrt_op op = opOn(&var, 1, addOne, &value);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  EXPECT_EQ(code(mxrt_engine_wait(engine, var, here)), MXRT_CANCELLED);
  word = 0;
  op.writes = &second;
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  EXPECT_EQ(code(mxrt_engine_wait(engine, second, here)), MXRT_OK);
  EXPECT_EQ(value, 1);
}

MXRT_BOTH_ENGINES(Contract);

} // namespace
