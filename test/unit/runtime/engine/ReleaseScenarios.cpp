// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases of early release. Where an op stops in the middle (`onReleased`) until
// the main thread has seen what the release allows, a release that does not
// happen is a deadlock, which the explorer reports.

#include "Scenarios.h"

#include "Stage.h"

namespace mxrt::test {

namespace {

/// Op 0 stops after its releases until stage.other opens.
void stopAfterRelease(Stage &stage) {
  stage.subject->onReleased = [&stage](int op) {
    if (op == 0)
      stage.other.pass();
  };
}

void expectVersion(Stage &stage, int var, uint64_t wanted) {
  Result<uint64_t> version =
      stage.engine->version(stage.subject->handles[static_cast<size_t>(var)]);
  if (version.failed() || *version != wanted)
    Stage::fail("another version than " + std::to_string(wanted));
}

// -- what may begin ----------------------------------------------------------

void readersBeginAtRelease() {
  Stage &stage = Stage::open({op({}, {x, y}).releasing({x}), {{x}, {z}}, {{x}, {}}});
  stopAfterRelease(stage);
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(z);
  stage.other.open();
  stage.wait(y);
  stage.waitAll();
  stage.close();
}

void readersPushedAfterTheRelease() {
  Stage &stage = Stage::open({op({}, {x, y}).releasing({x}), {{x}, {z}}});
  stopAfterRelease(stage);
  stage.push(0);
  stage.wait(x);
  stage.push(1);
  stage.wait(z);
  stage.other.open();
  stage.waitAll();
  stage.close();
}

void waitReturnsAtRelease() {
  Stage &stage = Stage::open({op({}, {x, y}).releasing({x})}, {.workers = 1});
  stopAfterRelease(stage);
  stage.push(0);
  stage.wait(x);
  expectVersion(stage, x, 1);
  expectVersion(stage, y, 0);
  stage.other.open();
  stage.wait(y);
  stage.close();
}

void inPlaceChain() {
  Stage &stage = Stage::open(
      {op({}, {x, y}).releasing({x}), op({}, {x}).releasing({x}), {{}, {x}}, {{x}, {z}}});
  stopAfterRelease(stage);
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.wait(z);
  expectVersion(stage, x, 3);
  stage.other.open();
  stage.waitAll();
  stage.close();
}

void oneAfterTheOther() {
  // A backward pass: gradients leave in turn, updates follow each of them.
  Stage &stage =
      Stage::open({op({}, {x, y, z}).releasing({z, x}), {{}, {z}}, {{}, {x}}, {{x, z}, {y}}});
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.waitAll();
  stage.close();
}

void neighboursStayHeld() {
  // Only x is free: the op that needs both waits for the end.
  Stage &stage =
      Stage::open({op({}, {x, y, z}).releasing({x, z}), {{x, y}, {}}, {{}, {x}}, {{z}, {}}});
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.wait(x);
  stage.waitAll();
  stage.close();
}

void releaseMakesRoom() {
  Stage &stage = Stage::open({op({}, {x, y}).releasing({x}), {{x}, {z}}, {{z}, {}}, {{x}, {z}}},
                             {.maxOps = 2});
  stopAfterRelease(stage);
  for (int op : {0, 1, 2, 3})
    stage.push(op); // the last two wait for room, and so for the release
  stage.wait(z);
  stage.other.open();
  stage.waitAll();
  stage.close();
}

void prioritiesAfterRelease() {
  Stage &stage = Stage::open(
      {op({}, {x, y}).releasing({x}), op({x}, {}).urgent(-1), {{x}, {}}, op({x}, {}).urgent(5)},
      {.workers = 1});
  stage.during = [&stage](int op) {
    if (op == 0)
      stage.allPushed.pass();
  };
  expectOrder(stage, {3, 2, 1});
}

void nestedPushAfterRelease() {
  Stage &stage =
      Stage::open({op({}, {x, y}).releasing({x}).pushing({1, 2}), {{x}, {z}}, {{y}, {x}}});
  stage.push(0);
  stage.waitAll();
  stage.close();
}

// -- errors ------------------------------------------------------------------

void failureAfterRelease() {
  Stage &stage = Stage::open({op({}, {x, y}).failing().releasing({x}), {{x}, {z}}, {{y}, {}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(z);
  stage.wait(x);
  stage.wait(y);
  stage.waitAll();
  stage.close();
}

void failureAfterAllWasReleased() {
  Stage &stage = Stage::open({op({}, {x, y}).failing().releasing({y, x}), {{x, y}, {z}}});
  for (int op : {0, 1})
    stage.push(op);
  stage.wait(z);
  stage.waitAll(); // the error is not lost
  stage.waitAll();
  stage.close();
}

void nextWriterFails() {
  // What op 0 released belongs to op 1: its end must not clear the poison.
  Stage &stage = Stage::open({op({}, {x, y}).releasing({x}), op({}, {x}).failing(), {{x}, {z}}});
  stopAfterRelease(stage);
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(x);
  stage.other.open();
  stage.wait(y);
  stage.waitAll();
  stage.wait(x);
  stage.wait(z);
  stage.close();
}

void inheritedPoisonStays() {
  Stage &stage = Stage::open({op({}, {x}).failing(),
                              op({}, {x, y}).flagged(MXRT_OP_ALWAYS_RUN).releasing({x}),
                              {{x}, {z}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(x);
  stage.wait(y);
  stage.wait(z);
  stage.waitAll();
  stage.close();
}

void overwritingReleasesClean() {
  Stage &stage = Stage::open({op({}, {x}).failing(),
                              op({}, {x, y}).flagged(MXRT_OP_OVERWRITES).failing().releasing({x}),
                              {{x}, {z}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(z);
  stage.wait(x);
  stage.wait(y);
  stage.waitAll();
  stage.close();
}

void skippedOpReleasesNothing() {
  Stage &stage =
      Stage::open({op({}, {x}).failing(), op({x}, {y, z}).releasing({y}), {{y}, {}}, {{z}, {}}});
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.wait(y);
  stage.wait(z);
  stage.waitAll();
  stage.close();
}

// -- deferred, cancelled, deleted ---------------------------------------------

void releaseThenDefer() {
  Stage &stage = Stage::open(
      {op({}, {x, y}).failing().deferring().releasing({x}).abusing(), {{x}, {z}}, {{y}, {}}});
  holdFirst(stage);
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(z); // while op 0 is neither running nor over
  stage.allPushed.open();
  stage.wait(y);
  stage.waitAll();
  Explorer::current().join(stage.thread);
  stage.close();
}

void deferredKeepsInheritedPoison() {
  Stage &stage = Stage::open({op({}, {x}).failing(),
                              op({}, {x, y}).flagged(MXRT_OP_ALWAYS_RUN).deferring().releasing({x}),
                              op({}, {x}).flagged(MXRT_OP_OVERWRITES)});
  completeLater(stage);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->tokenThere.pass();
    stage->allPushed.pass();
    stage->subject->complete(1, stage->token);
  });
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(x); // mended by op 2
  stage.allPushed.open();
  stage.wait(y); // op 0 is to blame all the same
  stage.waitAll();
  Explorer::current().join(stage.thread);
  stage.close();
}

void cancelledWhileItRuns() {
  Stage &stage = Stage::open({op({}, {x, y}).failing().releasing({x}), {{x}, {z}}});
  mxrt_cancel *cancel = nullptr;
  stage.expectOk(Status(mxrt_cancel_create(Explorer::current().allocator(), &cancel)));
  stage.during = [cancel](int op) {
    if (op == 0)
      mxrt_cancel_request(cancel); // before it releases
  };
  stage.subject->commonSwitch = cancel;
  stage.push(0);
  stage.subject->commonSwitch = nullptr;
  stage.push(1);
  stage.wait(z);
  stage.wait(x);
  stage.wait(y);
  stage.waitAll();
  mxrt_cancel_release(cancel);
  stage.close();
}

void cancelAllAroundRelease() {
  Stage &stage = Stage::open({op({}, {x, y}).releasing({x}), {{x}, {z}}});
  for (int op : {0, 1})
    stage.expectOk(stage.subject->push(op));
  stage.engine->cancelAll();
  stage.expectOk(stage.subject->waitAll());
  bool first = stage.subject->runs[0].started.load(),
       second = stage.subject->runs[1].started.load();
  if (second && !first)
    Stage::fail("ran after a cancelled op");
  auto expect = [&](int var, bool clean) {
    Status status = stage.subject->wait(var);
    if (clean ? status.failed() : status.code() != MXRT_CANCELLED)
      Stage::fail("poison and run differ");
    expectVersion(stage, var, 1);
  };
  expect(x, first), expect(y, first), expect(z, second);
  stage.close(false);
}

/// Says that x is gone, and lets op 0 end.
void noteDeletion(void *raw) {
  auto *stage = static_cast<Stage *>(raw);
  stage->subject->vars[x].deleted.fetch_add(1);
  stage->other.open();
}

void deletionAtRelease() {
  // Op 0 ends only after the deletion behind its released write.
  Stage &stage = Stage::open({op({}, {x, y}).failing().releasing({x}), {{x}, {z}}});
  stopAfterRelease(stage);
  for (int op : {0, 1})
    stage.push(op);
  stage.expectOk(stage.engine->deleteVar(stage.subject->handles[x], noteDeletion, &stage));
  stage.wait(z);
  stage.wait(y);
  stage.waitAll();
  stage.close();
}

void storageServesAnotherVariable() {
  // The end of op 0 must leave the variable alone that has x's storage now.
  Stage &stage = Stage::open({op({}, {x, y}).failing().releasing({x}), {{}, {x}}});
  stopAfterRelease(stage);
  stage.push(0);
  mxrt_var old = stage.subject->handles[x];
  stage.expectOk(stage.engine->deleteVar(
      old, [](void *raw) { static_cast<Stage *>(raw)->allPushed.open(); }, &stage));
  stage.allPushed.pass();
  stage.subject->createVar(x);
  if (static_cast<uint32_t>(stage.subject->handles[x]) != static_cast<uint32_t>(old))
    Stage::fail("the storage was not reused");
  stage.expectOk(stage.subject->push(1));
  stage.other.open();
  stage.expectBlamed(stage.subject->wait(y), 0);
  stage.expectOk(stage.subject->wait(x));
  stage.expectOk(stage.subject->waitAll());
  expectVersion(stage, x, 1);
  stage.close(false);
}

// -- use ---------------------------------------------------------------------

void abuseIsRefused() {
  Stage &stage =
      Stage::open({op({z}, {x, y}).releasing({x}).abusing(), {{x}, {}}, {{}, {z}}, {{}, {x}}});
  for (int op : {0, 1, 2, 3})
    stage.push(op);
  stage.waitAll();
  stage.close();
}

void abuseWithoutRelease() {
  Stage &stage = Stage::open({op({z}, {y}).abusing(), {{y}, {x}}, {{}, {z}}});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.waitAll();
  stage.close();
}

/// Two threads of one op release the same variables; each once.
struct Helpers {
  Stage *stage;
  mxrt_op_context *context = nullptr;
  int accepted[2] = {0, 0};

  void release() {
    for (int v : {x, y}) {
      Status status(mxrt_op_release(context, stage->subject->handles[static_cast<size_t>(v)]));
      if (status.ok())
        ++accepted[v];
      else if (status.code() != MXRT_ENGINE_USAGE)
        Stage::fail("another error");
      Stage::step();
    }
  }
  static mxrt_status run(mxrt_op_context *context, void *payload) {
    auto *self = static_cast<Helpers *>(payload);
    self->context = context;
    Task *helper = Explorer::current().spawn(
        [](void *argument) { static_cast<Helpers *>(argument)->release(); }, self);
    self->release();
    Explorer::current().join(helper);
    self->stage->other.pass();
    return nullptr;
  }
};

void twoThreadsRelease() {
  Stage &stage = Stage::open({{{x}, {z}}, {{y}, {}}});
  static Helpers helpers;
  helpers = {&stage};
  mxrt_op both = {};
  both.run = Helpers::run;
  both.payload = &helpers;
  both.writes = stage.subject->handles.data();
  both.write_count = 2;
  both.flags = MXRT_OP_RELEASES;
  stage.expectOk(stage.engine->push(both));
  for (int op : {0, 1})
    stage.push(op);
  stage.wait(z);
  stage.other.open();
  stage.waitAll();
  if (helpers.accepted[x] != 1 || helpers.accepted[y] != 1)
    Stage::fail("not each variable was released once");
  expectVersion(stage, x, 1);
  expectVersion(stage, y, 1);
  stage.close(false);
}

// -- the naive engine --------------------------------------------------------

/// Op 0 runs on a thread of its own; the main thread goes on in the middle of it.
Stage &openNaive(std::vector<OpSpec> ops) {
  Stage &stage = Stage::open(std::move(ops), {.naive = true});
  stopAfterRelease(stage);
  stage.during = [&stage](int op) {
    if (op == 0)
      stage.allPushed.open();
  };
  stage.model.push(0);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->expectOk(stage->subject->push(0));
  });
  stage.allPushed.pass();
  return stage;
}

void naiveWaitReturnsAtRelease() {
  Stage &stage = openNaive({op({}, {x, y}).failing().releasing({x}), {{x}, {z}}});
  stage.wait(x);
  expectVersion(stage, x, 1);
  stage.other.open();
  stage.push(1);
  stage.wait(z);
  stage.wait(y);
  Explorer::current().join(stage.thread);
  stage.waitAll();
  stage.close();
}

void naiveDeletionAtRelease() {
  Stage &stage = openNaive({op({}, {x, y}).failing().releasing({x})});
  stage.expectOk(stage.engine->deleteVar(stage.subject->handles[x], noteDeletion, &stage));
  stage.wait(y);
  Explorer::current().join(stage.thread);
  stage.waitAll();
  stage.close();
}

void naiveErrorsAndAbuse() {
  Stage &stage = Stage::open({op({}, {x, y}).failing().releasing({x}).abusing(),
                              {{x}, {z}},
                              op({}, {y, z}).flagged(MXRT_OP_ALWAYS_RUN).releasing({z}),
                              op({}, {x, y}).flagged(MXRT_OP_OVERWRITES).releasing({y})},
                             {.naive = true});
  for (int op : {0, 1, 2})
    stage.push(op);
  stage.wait(x);
  stage.wait(y);
  stage.wait(z);
  stage.push(3);
  stage.wait(y);
  stage.waitAll();
  stage.close();
}

void naiveReleaseThenDefer() {
  Stage &stage = Stage::open(
      {op({}, {x, y}).failing().deferring().releasing({x}).abusing(), {{x}, {z}}}, {.naive = true});
  completeLater(stage);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->tokenThere.pass();
    stage->subject->complete(0, stage->token);
  });
  for (int op : {0, 1})
    stage.push(op);
  stage.wait(z);
  stage.wait(y);
  stage.waitAll();
  Explorer::current().join(stage.thread);
  stage.close();
}

} // namespace

std::vector<Scenario> releaseScenarios() {
  // All with one preemption, and a part of those with two.
#define MXRT_SCENARIO(name)                                                                        \
  { #name, name, 25000 }
  return {
      MXRT_SCENARIO(readersBeginAtRelease),
      MXRT_SCENARIO(readersPushedAfterTheRelease),
      MXRT_SCENARIO(waitReturnsAtRelease),
      MXRT_SCENARIO(inPlaceChain),
      MXRT_SCENARIO(oneAfterTheOther),
      MXRT_SCENARIO(neighboursStayHeld),
      MXRT_SCENARIO(releaseMakesRoom),
      MXRT_SCENARIO(prioritiesAfterRelease),
      MXRT_SCENARIO(nestedPushAfterRelease),
      MXRT_SCENARIO(failureAfterRelease),
      MXRT_SCENARIO(failureAfterAllWasReleased),
      MXRT_SCENARIO(nextWriterFails),
      MXRT_SCENARIO(inheritedPoisonStays),
      MXRT_SCENARIO(overwritingReleasesClean),
      MXRT_SCENARIO(skippedOpReleasesNothing),
      MXRT_SCENARIO(releaseThenDefer),
      MXRT_SCENARIO(deferredKeepsInheritedPoison),
      MXRT_SCENARIO(cancelledWhileItRuns),
      MXRT_SCENARIO(cancelAllAroundRelease),
      MXRT_SCENARIO(deletionAtRelease),
      MXRT_SCENARIO(storageServesAnotherVariable),
      MXRT_SCENARIO(abuseIsRefused),
      MXRT_SCENARIO(abuseWithoutRelease),
      MXRT_SCENARIO(twoThreadsRelease),
      MXRT_SCENARIO(naiveWaitReturnsAtRelease),
      MXRT_SCENARIO(naiveDeletionAtRelease),
      MXRT_SCENARIO(naiveErrorsAndAbuse),
      MXRT_SCENARIO(naiveReleaseThenDefer),
  };
#undef MXRT_SCENARIO
}

} // namespace mxrt::test
