// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What mxrt/engine.h promises of mxrt_op_release, on both engines and real
// threads.

#include "EngineFixture.h"

#include "../TestAllocator.h"

#include <cstring>

using namespace mxrt;
using namespace mxrt::test;

namespace {

class Release : public EngineTest {
protected:
  uint64_t version(mxrt_var var) {
    uint64_t value = UINT64_MAX;
    EXPECT_EQ(code(mxrt_engine_version(engine, var, &value)), MXRT_OK);
    return value;
  }
  int wait(mxrt_var var) { return code(mxrt_engine_wait(engine, var, here)); }
};

/// An op on two variables that releases the first and then ends as told.
struct Backward {
  mxrt_var first, second;
  mxrt_status result = nullptr;
  Gate *stop = nullptr; // passed after the release
  int released = -1;

  static mxrt_status run(mxrt_op_context *context, void *payload) {
    auto *self = static_cast<Backward *>(payload);
    self->released = code(mxrt_op_release(context, self->first));
    if (self->stop)
      self->stop->pass();
    return self->result;
  }
  mxrt_op op() { return opOn(&first, 2, run, this); }
};

TEST_P(Release, LaterFailureSparesWhatWasReleased) {
  Backward backward = {newVar(), newVar(), mxrt_status_constant(MXRT_ASSERTION)};
  mxrt_op op = backward.op();
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  int64_t used = 0, skipped = 0;
  mxrt_op use = opOn(nullptr, 0, addOne, &used), skip = opOn(nullptr, 0, addOne, &skipped);
  use.reads = &backward.first, skip.reads = &backward.second;
  use.read_count = skip.read_count = 1;
  ASSERT_EQ(code(mxrt_engine_push(engine, &use)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_push(engine, &skip)), MXRT_OK);
  EXPECT_EQ(wait(backward.first), MXRT_OK);
  EXPECT_EQ(wait(backward.second), MXRT_ASSERTION);
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK) << "noticed before";
  EXPECT_EQ(backward.released, MXRT_OK);
  EXPECT_EQ(used, 1);
  EXPECT_EQ(skipped, 0);
  EXPECT_EQ(version(backward.first), 1u);
  EXPECT_EQ(version(backward.second), 1u);
}

TEST_P(Release, AllReleasedThenFailedIsRaisedByWaitAll) {
  mxrt_var var = newVar();
  mxrt_op op = opOn(
      &var, 1,
      [](mxrt_op_context *context, void *payload) -> mxrt_status {
        Status released(mxrt_op_release(context, *static_cast<mxrt_var *>(payload)));
        return released.ok() ? mxrt_status_constant(MXRT_INDEX) : released.release();
      },
      &var);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  EXPECT_EQ(wait(var), MXRT_OK);
  Status status(mxrt_engine_wait_all(engine, here));
  EXPECT_EQ(status.code(), MXRT_INDEX);
  EXPECT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
}

TEST_P(Release, ErrorsOfUseHaveACodeALocationAndAReason) {
  struct Abuse {
    mxrt_var written, read, other;
    int codes[6] = {};
    std::string texts[6] = {};
    int lines[6] = {};
  } abuse = {newVar(), newVar(), newVar()};
  mxrt_op op = opOn(
      &abuse.written, 1,
      [](mxrt_op_context *context, void *payload) -> mxrt_status {
        auto *self = static_cast<Abuse *>(payload);
        int i = 0;
        for (mxrt_var var :
             {self->read, self->other, mxrt_var{0}, ~mxrt_var{0}, self->written, self->written}) {
          Status status(mxrt_op_release(context, var));
          self->codes[i] = status.code();
          self->lines[i] = status.location().line;
          self->texts[i++] = status.message();
        }
        return nullptr;
      },
      &abuse);
  op.reads = &abuse.read;
  op.read_count = 1;
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  for (int i : {0, 1, 2, 3}) {
    EXPECT_EQ(abuse.codes[i], MXRT_ENGINE_USAGE);
    EXPECT_EQ(abuse.texts[i], "op 'test op' cannot release a variable that it does not write");
    EXPECT_EQ(abuse.lines[i], 3);
  }
  EXPECT_EQ(abuse.codes[4], MXRT_OK);
  EXPECT_EQ(abuse.codes[5], MXRT_ENGINE_USAGE);
  EXPECT_EQ(abuse.texts[5], "op 'test op' cannot release a variable twice");
  EXPECT_EQ(version(abuse.written), 1u);
  EXPECT_EQ(version(abuse.read), 0u);
}

TEST_P(Release, DeferredOpKeepsItsReleasesAndRefusesMore) {
  std::vector<OpSpec> ops;
  ops.push_back(OpSpec{.writes = {0, 1}}.failing().deferring().releasing({0}).abusing());
  ops.push_back({{0}, {2}});
  auto run = subject(ops, 3);
  Model model(ops, 3);
  Gate there, goOn;
  mxrt_op_token *token = nullptr;
  run->onDefer = [&](int, mxrt_op_token *given) {
    token = given;
    there.open();
  };
  std::thread completer([&] {
    there.pass();
    if (!isNaive())
      goOn.pass(); // the reader has run, and the op is not over
    run->complete(0, token);
  });
  for (int i : {0, 1}) {
    model.push(i);
    ASSERT_TRUE(run->push(i).ok());
  }
  EXPECT_EQ(Subject::blamed(run->wait(2)), -1);
  goOn.open();
  EXPECT_EQ(Subject::blamed(run->wait(1)), 0);
  EXPECT_EQ(Subject::blamed(run->wait(0)), -1);
  completer.join();
  model.wait(1);
  run->compare(model);
}

TEST_P(Release, CountsAndDeletionsOfManyVariables) {
  // 2,000 variables in one op, released from the last to the first; every
  // second one has a reader, every third one is deleted behind the op.
  constexpr int count = 2000;
  std::vector<OpSpec> ops(1);
  for (int v = 0; v < count; ++v)
    ops[0].writes.push_back(v);
  for (int v = count; v-- > 1;)
    ops[0].releases.push_back(v);
  ops[0].fails = true;
  for (int v = 0; v < count; v += 2)
    ops.push_back({{v}, {}});
  auto run = subject(ops, count);
  Model model(ops, count);
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    model.push(i);
    ASSERT_TRUE(run->push(i).ok());
  }
  for (int v = 0; v < count; v += 3)
    ASSERT_TRUE(run->deleteVar(v).ok());
  EXPECT_EQ(Subject::blamed(run->waitAll()), model.waitAll());
  run->compare(model);
  for (int v = 0; v < count; ++v)
    ASSERT_EQ(run->vars[static_cast<size_t>(v)].deleted.load(), v % 3 == 0);
}

TEST_P(Release, AllocatesNothing) {
  close();
  TestAllocator memory;
  mxrt_engine_options options = {};
  options.allocator = memory.get();
  open(options);
  struct Counted {
    TestAllocator *memory;
    mxrt_var var;
    long calls;
  } counted = {&memory, newVar(), -1};
  mxrt_op op = opOn(
      &counted.var, 1,
      [](mxrt_op_context *context, void *payload) -> mxrt_status {
        auto *self = static_cast<Counted *>(payload);
        long before = self->memory->calls();
        Status status(mxrt_op_release(context, self->var));
        self->calls = self->memory->calls() - before;
        return status.release();
      },
      &counted);
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  ASSERT_EQ(code(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(counted.calls, 0);
  close();
  EXPECT_EQ(memory.liveBlocks(), 0);
}

MXRT_BOTH_ENGINES(Release);

/// What only the threaded engine can: work begins while the op still runs.
class ReleaseThreads : public Release {};

TEST_P(ReleaseThreads, OpsBeginWhileTheReleasingOpRuns) {
  Gate stop;
  Backward backward = {newVar(), newVar(), nullptr, &stop};
  mxrt_op op = backward.op();
  op.flags = MXRT_OP_RELEASES;
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  mxrt_var sent = newVar();
  int64_t value = 0;
  mxrt_op send = opOn(&sent, 1, addOne, &value);
  send.reads = &backward.first;
  send.read_count = 1;
  send.lane = MXRT_LANE_COMMUNICATION;
  ASSERT_EQ(code(mxrt_engine_push(engine, &send)), MXRT_OK);
  EXPECT_EQ(wait(sent), MXRT_OK);
  mxrt_op update = opOn(&backward.first, 1, addOne, &value); // in place
  ASSERT_EQ(code(mxrt_engine_push(engine, &update)), MXRT_OK);
  EXPECT_EQ(wait(backward.first), MXRT_OK);
  EXPECT_EQ(version(backward.first), 2u);
  EXPECT_EQ(version(backward.second), 0u);
  int32_t ready = -1;
  ASSERT_EQ(code(mxrt_engine_poll(engine, backward.second, &ready)), MXRT_OK);
  EXPECT_EQ(ready, 0);
  EXPECT_EQ(value, 2);
  stop.open();
  EXPECT_EQ(wait(backward.second), MXRT_OK);
}

TEST_P(ReleaseThreads, WaitLeavesAReleasingOpToTheWorkers) {
  // The only worker is busy, so a wait would run the op itself, and then stop
  // in it for ever.
  mxrt_engine_options options = {};
  options.workers_per_device = 1;
  reopen(options);
  struct Busy {
    Gate begun, go;
  } busy;
  mxrt_op first = opOn(
      nullptr, 0,
      [](mxrt_op_context *, void *payload) -> mxrt_status {
        auto *self = static_cast<Busy *>(payload);
        self->begun.open();
        self->go.pass();
        return nullptr;
      },
      &busy);
  ASSERT_EQ(code(mxrt_engine_push(engine, &first)), MXRT_OK);
  busy.begun.pass();
  Gate stop;
  Backward backward = {newVar(), newVar(), nullptr, &stop};
  mxrt_op op = backward.op();
  op.flags = MXRT_OP_RELEASES;
  ASSERT_EQ(code(mxrt_engine_push(engine, &op)), MXRT_OK);
  std::thread opener([&] { busy.go.open(); });
  EXPECT_EQ(wait(backward.first), MXRT_OK);
  stop.open();
  EXPECT_EQ(wait(backward.second), MXRT_OK);
  opener.join();
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReleaseThreads, testing::Values(MXRT_ENGINE_THREADED), engineName);

} // namespace
