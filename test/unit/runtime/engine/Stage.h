// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Execution of a scenario: one engine on the explorer's primitives, the ops, and
// their expected results.

#ifndef MXRT_TEST_ENGINE_STAGE_H
#define MXRT_TEST_ENGINE_STAGE_H

#include "Explorer.h"
#include "Model.h"
#include "engine/NaiveEngine.h"
#include "engine/ThreadedEngine.h"

#include <memory>

namespace mxrt::test {

constexpr int x = 0, y = 1, z = 2;

inline OpSpec op(std::vector<int> reads, std::vector<int> writes) {
  return {std::move(reads), std::move(writes)};
}

/// Opens once; threads of the explorer can wait for it (a loop of steps would
/// never end in a schedule without preemptions).
class ScheduledGate {
public:
  void open() {
    word.store(1);
    ExplorerSync::futexWake(word, UINT32_MAX);
  }
  void pass() {
    while (!word.load())
      ExplorerSync::futexWait(word, 0);
  }

private:
  ExplorerSync::Atomic<uint32_t> word{0};
};

struct Setting {
  int workers = 2;
  uint64_t maxOps = 16;
  uint64_t maxBytes = 1000;
  uint64_t growBytes = 0; // 0: as maxBytes
  bool naive = false;
};

/// One execution: the ops, their expected results, and the engine. Lives
/// outside the fibers, so that an abandoned execution leaves nothing behind.
class Stage {
public:
  static Stage &open(std::vector<OpSpec> ops, Setting setting = {}) {
    static std::unique_ptr<Stage> stage;
    stage.reset();
    stage.reset(new Stage(std::move(ops), setting));
    return *stage;
  }

  /// Pushes on the engine and on the model.
  void push(int op) {
    model.push(op);
    expectOk(subject->push(op));
  }
  void expectOk(Status status) {
    if (status.failed())
      fail(std::string("unexpected error: ") + status.message());
  }
  void expectRefused(Status status) {
    if (status.code() != MXRT_ENGINE_USAGE)
      fail("not refused");
  }
  /// The status must blame `op` (-1: nobody) and name the location of the wait.
  void expectBlamed(Status status, int op) {
    if (Subject::blamed(status) != op)
      fail("blames " + std::to_string(Subject::blamed(status)) + ", not " +
           std::to_string(op));
    if (status.failed() && status.noticedLocation().line != 77)
      fail("does not say where it was noticed");
  }
  void wait(int var) { expectBlamed(subject->wait(var), model.wait(var)); }
  void waitAll() {
    expectBlamed(subject->waitAll(), model.waitAll());
    allOver();
  }
  /// Every op that began has ended and dropped its payload.
  void allOver() {
    for (auto &run : subject->runs)
      if (run.started.load() != run.finished.load())
        fail("wait_all returned during an op");
  }
  /// Compares with the model and ends the engine.
  void close(bool compare = true) {
    if (compare)
      subject->compare(model);
    engine->destroy();
    for (size_t i = 0; i < subject->runs.size(); ++i)
      if (pushed(i) && subject->runs[i].dropped.load() != 1)
        fail("payload " + std::to_string(i) + " dropped " +
             std::to_string(subject->runs[i].dropped.load()) + " times");
  }
  void notPushed(int op) { unpushed[static_cast<size_t>(op)] = true; }
  static void fail(const std::string &why) { Explorer::current().fail(why); }
  static void step() { Explorer::current().step(); }

  const std::vector<OpSpec> ops;
  Model model;
  mxrt_engine *engine = nullptr;
  std::unique_ptr<Subject> subject;
  mxrt_op_token *token = nullptr; // of the op that defers
  ScheduledGate tokenThere, allPushed, other;
  Task *thread = nullptr;
  /// Called in the middle of every op, before each release too. May be empty.
  std::function<void(int op)> during;

private:
  Stage(std::vector<OpSpec> list, Setting setting)
      : ops(std::move(list)), model(ops, 3), unpushed(ops.size()) {
    mxrt_engine_options given = {};
    given.allocator = Explorer::current().allocator();
    given.workers_per_device = setting.workers;
    given.max_ops = setting.maxOps;
    given.max_bytes = setting.maxBytes;
    engine::EngineOptions options = engine::completeOptions(&given);
    options.growBytes = std::max(setting.growBytes, options.max_bytes);
    engine = setting.naive
                 ? engine::NaiveEngine<ExplorerSync>::create(options).take()
                 : engine::ThreadedEngine<ExplorerSync>::create(options).take();
    subject = std::make_unique<Subject>(engine, ops, 3, fail, [this](int op) {
      step();
      if (during)
        during(op);
    });
    subject->errorAllocator = options.allocator;
  }
  bool pushed(size_t op) const { return !unpushed[op]; }

  std::vector<bool> unpushed;
};

inline Task *startThread(Stage &stage, void (*entry)(void *)) {
  return Explorer::current().spawn(entry, &stage);
}

/// Pushes all ops. Ops 1.. become ready together when op 0 ends or releases, and
/// run in `order`.
inline void expectOrder(Stage &stage, const std::vector<int> &order) {
  for (size_t i = 0; i < stage.ops.size(); ++i)
    stage.push(static_cast<int>(i));
  stage.allPushed.open();
  stage.waitAll();
  if (stage.thread)
    Explorer::current().join(stage.thread);
  for (size_t i = 1; i < order.size(); ++i) {
    auto &before = stage.subject->runs[static_cast<size_t>(order[i - 1])];
    auto &after = stage.subject->runs[static_cast<size_t>(order[i])];
    if (before.order.load() > after.order.load())
      Stage::fail("op " + std::to_string(order[i]) + " ran before op " +
                  std::to_string(order[i - 1]));
  }
  stage.close();
}

/// Keeps the token of a deferred op for a thread that waits for tokenThere.
inline void completeLater(Stage &stage) {
  stage.subject->onDefer = [&stage](int, mxrt_op_token *token) {
    stage.token = token;
    stage.tokenThere.open();
  };
}

/// Holds back op 0 until all others are pushed: another thread completes it.
inline void holdFirst(Stage &stage) {
  completeLater(stage);
  stage.thread = startThread(stage, [](void *argument) {
    auto *stage = static_cast<Stage *>(argument);
    stage->tokenThere.pass();
    stage->allPushed.pass();
    stage->subject->complete(0, stage->token);
  });
}

} // namespace mxrt::test

#endif // MXRT_TEST_ENGINE_STAGE_H
