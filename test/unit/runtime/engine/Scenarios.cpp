// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Scenarios.h"

#include "Stage.h"

namespace mxrt::test {

namespace {

// -- order -------------------------------------------------------------------

void readsBetweenWrites() {
  Stage &stage = Stage::open({{{}, {x}}, {{x}, {y}}, {{x}, {z}}, {{}, {x}}});
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.waitAll();
  stage.close();
}

void diamond() {
  Stage &stage =
      Stage::open({{{}, {x, y}}, {{x}, {z}}, {{y, z}, {x}}, {{x}, {y}}});
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.wait(y);
  stage.close();
}

void readOvertakesNothing() {
  // The second read comes after a write that waits for the first read.
  Stage &stage = Stage::open({{{x}, {y}}, {{}, {x}}, {{x}, {z}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.waitAll();
  stage.close();
}

void twoPushersTwoVariables() {
  // The last op is the last on both variables.
  Stage &stage = Stage::open({{{}, {x, y}}, {{}, {x, y}}});
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->expectOk(stage->subject->push(1));
  });
  stage.expectOk(stage.subject->push(0));
  Explorer::current().join(stage.thread);
  stage.expectOk(stage.subject->waitAll());
  Model first(stage.ops, 3), second(stage.ops, 3);
  first.push(0), first.push(1), second.push(1), second.push(0);
  auto ends = [&](const Model &model) {
    return stage.subject->vars[x].value == model.vars[x].value &&
           stage.subject->vars[y].value == model.vars[y].value;
  };
  if (!ends(first) && !ends(second))
    Stage::fail("two pushes had different orders on two variables");
  stage.close(false);
}

void readersOverlap() {
  // The first reader ends only when the second has run: they must be granted
  // together when the writer is done.
  Stage &stage = Stage::open(
      {{{}, {x}}, op({x}, {y}).deferring(), {{x}, {z}}, {{z}, {}}});
  completeLater(stage);
  stage.model.push(0), stage.model.push(1), stage.model.push(2);
  for (int op : {0, 1, 2})
    stage.expectOk(stage.subject->push(op));
  stage.wait(z);
  // The wait returned, so op 1 may not even have begun; it will.
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->tokenThere.pass();
    stage->subject->complete(1, stage->token);
  });
  stage.push(3);
  stage.waitAll();
  Explorer::current().join(stage.thread);
  stage.close();
}

// -- waiting and sleeping ----------------------------------------------------

void pushWaitPushWait() {
  Stage &stage = Stage::open({{{}, {x}}, {{x}, {y}}});
  stage.push(0);
  stage.wait(x);
  stage.push(1);
  stage.wait(y);
  stage.close();
}

void twoThreadsWait() {
  Stage &stage = Stage::open({{{}, {x}}, {{x}, {y}}});
  stage.push(0);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->expectOk(stage->subject->wait(x));
    if (!stage->subject->runs[0].finished.load())
      Stage::fail("wait returned too early");
  });
  stage.push(1);
  stage.wait(y);
  Explorer::current().join(stage.thread);
  stage.close();
}

/// Both workers are needed: op 0 blocks its worker until op 1 has run.
void blockedWorkerNeedsTheOther() {
  Stage &stage = Stage::open({{{}, {x}}, {{}, {y}}, {{}, {z}}});
  mxrt_op blocking = {}, opening = {};
  blocking.payload = opening.payload = &stage;
  blocking.run = [](mxrt_op_context *, void *payload) -> mxrt_status {
    static_cast<Stage *>(payload)->other.pass();
    return nullptr;
  };
  opening.run = [](mxrt_op_context *, void *payload) -> mxrt_status {
    static_cast<Stage *>(payload)->other.open();
    return nullptr;
  };
  stage.expectOk(stage.engine->push(blocking));
  stage.expectOk(stage.engine->push(opening));
  stage.push(2);
  stage.expectOk(stage.subject->waitAll());
  for (int op : {0, 1})
    stage.notPushed(op);
  stage.close();
}

void destroyWaits() {
  Stage &stage = Stage::open({{{}, {x}}, {{x}, {y}}, {{y}, {z}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.engine->destroy();
  for (auto &run : stage.subject->runs)
    if (run.dropped.load() != 1)
      Stage::fail("destroy did not wait");
}

// -- errors ------------------------------------------------------------------

void failurePoisonsDependents() {
  Stage &stage = Stage::open(
      {op({}, {x}).failing(), {{x}, {y}}, {{}, {z}}, {{z}, {}}});
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.wait(z); // unrelated: clean
  stage.wait(y);
  stage.wait(x);
  stage.wait(y); // and again
  stage.waitAll(); // noticed already: clean
  stage.close();
}

void failureSparesWhatItRead() {
  Stage &stage = Stage::open(
      {{{}, {x}}, op({x}, {y}).failing(), {{x}, {z}}, {{y}, {x}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(x);
  stage.wait(z);
  stage.push(3);
  stage.waitAll();
  stage.waitAll();
  stage.close();
}

void earliestOfTwoFailures() {
  Stage &stage = Stage::open({op({}, {x}).failing(),
                              op({}, {y}).failing(),
                              {{x, y}, {z}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(z); // the first in program order is to blame
  stage.waitAll();
  stage.waitAll();
  stage.close();
}

void poisonEndsWhenOverwritten() {
  Stage &stage = Stage::open({op({}, {x}).failing(),
                              op({x}, {y}).flagged(MXRT_OP_ALWAYS_RUN),
                              op({}, {x}).flagged(MXRT_OP_OVERWRITES),
                              {{x}, {z}}});
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.wait(z);
  stage.wait(x);
  stage.wait(y);
  stage.close();
}

// -- deletion ----------------------------------------------------------------

void deleteWhilePending() {
  Stage &stage = Stage::open({{{}, {x}}, {{x}, {y}}, {{x}, {z}}, {{y}, {}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.expectOk(stage.subject->deleteVar(x));
  stage.push(3);
  stage.waitAll();
  if (stage.subject->vars[x].deleted.load() != 1)
    Stage::fail("not deleted");
  stage.close();
}

void deletePoisonedAndReuse() {
  Stage &stage = Stage::open({op({}, {x}).failing(), {{x}, {y}}});
  stage.push(0);
  mxrt_var old = stage.subject->handles[x];
  stage.expectOk(stage.subject->deleteVar(x));
  stage.notPushed(1);
  stage.expectRefused(stage.subject->push(1));
  stage.expectRefused(stage.engine->wait(old, Subject::waitLocation));
  // Refused pushes leave no trace: this must come back.
  stage.expectBlamed(stage.subject->waitAll(), stage.model.waitAll());
  Result<mxrt_var> fresh = stage.engine->newVar();
  if (fresh.failed() || *fresh == old)
    Stage::fail("a handle came back");
  else
    stage.expectOk(stage.engine->wait(*fresh, Subject::waitLocation));
  stage.expectRefused(stage.subject->push(1));
  stage.expectOk(stage.subject->waitAll());
  stage.close();
}

void deleteDuringRead() {
  Stage &stage = Stage::open({{{x}, {y}}});
  stage.push(0);
  stage.expectOk(stage.subject->deleteVar(x));
  stage.wait(y);
  stage.waitAll();
  stage.close();
}

// -- cancellation ------------------------------------------------------------

/// Every op of a chain either ran or was cancelled, and poison tells which.
void checkCancelled(Stage &stage) {
  bool broken = false;
  for (int op : {0, 1, 2}) {
    bool ran = stage.subject->runs[static_cast<size_t>(op)].started.load();
    if (broken && ran)
      Stage::fail("ran after a cancelled op");
    broken |= !ran;
  }
  Status status = stage.subject->wait(x);
  if (status.failed() != broken)
    Stage::fail("poison and run differ");
  if (broken && status.code() != MXRT_CANCELLED)
    Stage::fail("not called cancelled");
  if (!stage.subject->runs[3].started.load())
    Stage::fail("an op that must run was cancelled");
  stage.expectOk(stage.subject->waitAll());
}

void cancelSwitch() {
  Stage &stage = Stage::open({{{}, {x}},
                              {{}, {x}},
                              {{}, {x}},
                              op({}, {y}).flagged(MXRT_OP_ALWAYS_RUN)});
  mxrt_cancel *cancel = nullptr;
  stage.expectOk(
      Status(mxrt_cancel_create(Explorer::current().allocator(), &cancel)));
  stage.subject->commonSwitch = cancel;
  for (int op : {0, 1, 2, 3})
    stage.expectOk(stage.subject->push(op));
  Stage::step();
  mxrt_cancel_request(cancel);
  bool late = !stage.subject->runs[1].started.load();
  stage.expectOk(stage.subject->wait(y));
  stage.expectOk(stage.subject->waitAll());
  if (late && stage.subject->runs[2].started.load())
    Stage::fail("ran though cancelled before its predecessor began");
  checkCancelled(stage);
  mxrt_cancel_release(cancel);
  stage.close(false);
}

void cancelAll() {
  Stage &stage = Stage::open({{{}, {x}},
                              {{}, {x}},
                              {{}, {x}},
                              op({}, {y}).flagged(MXRT_OP_ALWAYS_RUN),
                              {{}, {z}}});
  for (int op : {0, 1, 2, 3})
    stage.expectOk(stage.subject->push(op));
  stage.engine->cancelAll();
  bool late = !stage.subject->runs[1].started.load();
  stage.expectOk(stage.subject->push(4)); // comes after: not affected
  stage.expectOk(stage.subject->waitAll());
  if (late && stage.subject->runs[2].started.load())
    Stage::fail("ran though cancelled before its predecessor began");
  checkCancelled(stage);
  if (!stage.subject->runs[4].started.load())
    Stage::fail("cancel_all reached a later op");
  stage.close(false);
}

// -- back-pressure -----------------------------------------------------------

void countInFlight(Stage &stage, uint64_t limit) {
  mxrt_engine_stats stats = stage.engine->stats();
  // Completions are read first, so this can only be too large by what was
  // completed in between, and pushes come from this thread alone.
  if (stats.pushed - stats.completed > limit)
    Stage::fail("too many in flight");
}

void roomForTwo() {
  Stage &stage = Stage::open({{{}, {x}}, {{}, {y}}, {{}, {z}}, {{x}, {}}},
                             {.workers = 1, .maxOps = 2});
  for (int op : {0, 1, 2, 3}) {
    stage.push(op);
    countInFlight(stage, 2);
  }
  stage.waitAll();
  stage.close();
}

void roomForOne() {
  Stage &stage =
      Stage::open({{{}, {x}}, {{x}, {y}}, {{y}, {z}}}, {.maxOps = 1});
  for (int op : {0, 1, 2}) {
    stage.push(op);
    countInFlight(stage, 1);
  }
  stage.waitAll();
  stage.close();
}

void roomForBytes() {
  Stage &stage = Stage::open({op({}, {x}).holding(60),
                              op({}, {y}).holding(60),
                              op({}, {z}).holding(500)},
                             {.maxBytes = 100});
  for (int op : {0, 1, 2}) {
    stage.push(op);
    // An op larger than the limit runs when it is alone.
    if (stage.engine->stats().bytes_in_flight > (op == 2 ? 500 : 100))
      Stage::fail("too many bytes in flight");
  }
  stage.waitAll();
  stage.close();
}

void largeOpMakesRoom() {
  // Op 0 is over only when two others are pushed. They fit beside it, into twice
  // its bytes; op 3 does not.
  Stage &stage = Stage::open({op({}, {x}).holding(500).deferring(),
                              op({}, {y}).holding(60),
                              op({x}, {z}).holding(430),
                              op({z}, {}).holding(60)},
                             {.maxBytes = 100, .growBytes = 5000});
  holdFirst(stage);
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.allPushed.open();
  stage.push(3);
  if (stage.engine->stats().bytes_in_flight > 1000)
    Stage::fail("too many bytes in flight");
  stage.waitAll();
  Explorer::current().join(stage.thread);
  stage.close();
}

void roomGrowsNoFurther() {
  Stage &stage = Stage::open({op({}, {x}).holding(500), op({}, {y}).holding(400),
                              op({}, {z}).holding(20)},
                             {.maxBytes = 100, .growBytes = 450});
  for (int op : {0, 1, 2}) {
    stage.push(op);
    if (stage.engine->stats().bytes_in_flight > (op == 0 ? 500 : 450))
      Stage::fail("too many bytes in flight");
  }
  stage.waitAll();
  stage.close();
}

void batchLargerThanRoom() {
  Stage &stage = Stage::open({{{}, {x}}, {{}, {y}}, {{}, {z}}, {{x}, {y}}},
                             {.maxOps = 2});
  for (int op : {0, 1, 2, 3})
    stage.model.push(op);
  size_t pushed = 0;
  stage.expectOk(stage.subject->pushMany({0, 1, 2, 3}, &pushed));
  if (pushed != 4)
    Stage::fail("not all were pushed");
  stage.waitAll();
  stage.close();
}

void nestedPushesNeedNoRoom() {
  Stage &stage = Stage::open(
      {op({}, {x}).pushing({1, 2}), {{}, {y}}, {{y}, {z}}}, {.maxOps = 1});
  stage.push(0);
  stage.waitAll();
  stage.close();
}

void twoPushersOneRoom() {
  Stage &stage = Stage::open({{{}, {x}}, {{}, {y}}, {{}, {x}}, {{}, {y}}},
                             {.workers = 1, .maxOps = 1});
  for (int op : {0, 2, 1, 3})
    stage.model.push(op);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->expectOk(stage->subject->push(1));
    stage->expectOk(stage->subject->push(3));
  });
  stage.expectOk(stage.subject->push(0));
  stage.expectOk(stage.subject->push(2));
  Explorer::current().join(stage.thread);
  stage.waitAll();
  stage.close();
}

void refusedPushLeavesRoom() {
  Stage &stage = Stage::open({{{}, {x}}, {{y}, {x}}}, {.maxOps = 1});
  stage.expectOk(stage.subject->deleteVar(y));
  stage.notPushed(1);
  stage.expectRefused(stage.subject->push(1));
  stage.push(0);
  stage.waitAll();
  stage.close();
}

// -- nested, deferred, inline ------------------------------------------------

void nestedPush() {
  Stage &stage =
      Stage::open({op({}, {x}).pushing({1}), {{x}, {y}}, {{}, {z}}});
  stage.push(0);
  stage.push(2);
  stage.waitAll();
  stage.close();
}

void deferredOp() {
  Stage &stage = Stage::open({op({}, {x}).deferring(), {{x}, {y}}});
  completeLater(stage);
  stage.push(0);
  stage.push(1);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->tokenThere.pass();
    stage->subject->complete(0, stage->token);
  });
  stage.wait(y);
  // The completing thread may still be inside the engine: destroy waits.
  stage.subject->compare(stage.model);
  stage.engine->destroy();
  Explorer::current().join(stage.thread);
}

void inlineOp() {
  Stage &stage = Stage::open({{{}, {x}},
                              op({x}, {y}).flagged(MXRT_OP_INLINE),
                              op({y}, {z}).flagged(MXRT_OP_INLINE)});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(z);
  stage.waitAll();
  stage.close();
}

// -- use ---------------------------------------------------------------------

void duplicatesAreRefused() {
  Stage &stage = Stage::open({{{x}, {x}}, {{x, x}, {}}, {{}, {y, y}}, {{}, {z}}});
  for (int op : {0, 1, 2}) {
    stage.notPushed(op);
    stage.expectRefused(stage.subject->push(op));
  }
  stage.push(3);
  stage.waitAll();
  stage.close();
}

// -- priorities (one worker, so that the order is known) ---------------------

void priorityOrder() {
  Stage &stage = Stage::open({op({}, {x}).deferring(),
                              op({x}, {}).urgent(-1),
                              {{x}, {}},
                              op({x}, {}).urgent(5)},
                             {.workers = 1});
  holdFirst(stage);
  expectOrder(stage, {3, 2, 1});
}

void equalPrioritiesKeepTheirOrder() {
  Stage &stage = Stage::open(
      {op({}, {x}).deferring(), {{x}, {}}, {{x}, {}}, {{x}, {}}},
      {.workers = 1});
  holdFirst(stage);
  expectOrder(stage, {1, 2, 3});
}

void lowPriorityIsNotStarved() {
  // Windows are 4 ops long in this build: op 1 becomes ready in the first or
  // second and runs before the last two, however important they are.
  Stage &stage = Stage::open({op({}, {x}).deferring(),
                              op({x}, {}).urgent(-1),
                              op({x}, {}).urgent(1),
                              op({x}, {}).urgent(1),
                              op({x}, {}).urgent(1),
                              op({x}, {}).urgent(1),
                              op({x}, {}).urgent(1),
                              op({x}, {}).urgent(1),
                              op({x}, {}).urgent(1)},
                             {.workers = 1});
  holdFirst(stage);
  expectOrder(stage, {1, 8});
}

// -- the naive engine --------------------------------------------------------

void naiveTwoPushers() {
  Stage &stage = Stage::open({{{}, {x}}, {{}, {y}}, {{x}, {z}}, {{y}, {}}},
                             {.naive = true});
  for (int op : {0, 1, 2, 3})
    stage.model.push(op);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->expectOk(stage->subject->push(1));
    stage->expectOk(stage->subject->push(3));
    stage->expectOk(stage->subject->wait(y));
  });
  stage.expectOk(stage.subject->push(0));
  stage.expectOk(stage.subject->push(2));
  stage.wait(z);
  Explorer::current().join(stage.thread);
  stage.waitAll();
  stage.close();
}

void naiveDeferred() {
  Stage &stage =
      Stage::open({op({}, {x}).deferring(), {{x}, {y}}}, {.naive = true});
  completeLater(stage);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->tokenThere.pass();
    stage->subject->complete(0, stage->token);
  });
  stage.push(0);
  stage.push(1);
  stage.expectOk(stage.subject->deleteVar(x));
  stage.waitAll();
  stage.subject->compare(stage.model);
  stage.engine->destroy();
  Explorer::current().join(stage.thread);
}

} // namespace

static std::vector<Scenario> plainScenarios() {
#define MXRT_SCENARIO(name) {#name, name, 100000}
  return {
      MXRT_SCENARIO(readsBetweenWrites),
      MXRT_SCENARIO(diamond),
      MXRT_SCENARIO(readOvertakesNothing),
      MXRT_SCENARIO(twoPushersTwoVariables),
      MXRT_SCENARIO(readersOverlap),
      MXRT_SCENARIO(pushWaitPushWait),
      MXRT_SCENARIO(twoThreadsWait),
      MXRT_SCENARIO(blockedWorkerNeedsTheOther),
      MXRT_SCENARIO(destroyWaits),
      MXRT_SCENARIO(failurePoisonsDependents),
      MXRT_SCENARIO(failureSparesWhatItRead),
      MXRT_SCENARIO(earliestOfTwoFailures),
      MXRT_SCENARIO(poisonEndsWhenOverwritten),
      MXRT_SCENARIO(deleteWhilePending),
      MXRT_SCENARIO(deletePoisonedAndReuse),
      MXRT_SCENARIO(deleteDuringRead),
      MXRT_SCENARIO(cancelSwitch),
      MXRT_SCENARIO(cancelAll),
      MXRT_SCENARIO(roomForTwo),
      MXRT_SCENARIO(roomForOne),
      MXRT_SCENARIO(roomForBytes),
      MXRT_SCENARIO(largeOpMakesRoom),
      MXRT_SCENARIO(roomGrowsNoFurther),
      MXRT_SCENARIO(batchLargerThanRoom),
      MXRT_SCENARIO(nestedPushesNeedNoRoom),
      MXRT_SCENARIO(twoPushersOneRoom),
      MXRT_SCENARIO(refusedPushLeavesRoom),
      MXRT_SCENARIO(nestedPush),
      MXRT_SCENARIO(deferredOp),
      MXRT_SCENARIO(inlineOp),
      MXRT_SCENARIO(duplicatesAreRefused),
      MXRT_SCENARIO(priorityOrder),
      MXRT_SCENARIO(equalPrioritiesKeepTheirOrder),
      MXRT_SCENARIO(lowPriorityIsNotStarved),
      MXRT_SCENARIO(naiveTwoPushers),
      MXRT_SCENARIO(naiveDeferred),
  };
#undef MXRT_SCENARIO
}

const std::vector<Scenario> &scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> list = plainScenarios();
    for (Scenario &scenario : releaseScenarios())
      list.push_back(std::move(scenario));
    return list;
  }();
  return all;
}

} // namespace mxrt::test
