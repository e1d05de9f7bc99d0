// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs for the explorer: the mixtures of release with everything
// else that nobody thought of when writing the scenarios by hand.

#include "Scenarios.h"

#include "Stage.h"

#include <deque>
#include <random>

namespace mxrt::test {

namespace {

struct Drawn {
  std::vector<OpSpec> ops;
  size_t pushed = 0;           // ops that the main thread pushes; the rest is nested
  std::vector<int> waitsAfter; // variable to wait for after each push; -1: none
  int deleted = -1;            // variable deleted after the last push
  Setting setting;
};

class Drawing {
public:
  explicit Drawing(uint64_t seed) : random(seed) {}

  Drawn draw() {
    Drawn drawn;
    drawn.setting.naive = oneIn(5);
    drawn.setting.workers = oneIn(3) ? 1 : 2;
    drawn.setting.maxOps = oneIn(4) ? 2 : 16;
    drawn.pushed = 2 + below(3);
    for (size_t i = 0; i < drawn.pushed; ++i) {
      drawn.ops.push_back(drawOp());
      drawn.waitsAfter.push_back(oneIn(4) ? static_cast<int>(below(3)) : -1);
    }
    if (oneIn(4))
      drawn.deleted = static_cast<int>(below(3));
    if (oneIn(4)) {
      // Without variables: its order among later pushes depends on the schedule.
      drawn.ops[below(drawn.pushed)].nested = {static_cast<int>(drawn.ops.size())};
      drawn.ops.emplace_back();
    }
    return drawn;
  }

private:
  size_t below(size_t limit) { return random() % limit; }
  bool oneIn(size_t n) { return below(n) == 0; }

  OpSpec drawOp() {
    OpSpec op;
    for (int v : {x, y, z})
      switch (below(4)) {
      case 0:
        op.reads.push_back(v);
        break;
      case 1:
      case 2:
        op.writes.push_back(v);
        break;
      default:
        break;
      }
    for (int v : op.writes)
      if (!oneIn(3))
        op.releases.insert(
            op.releases.begin() + static_cast<ptrdiff_t>(below(op.releases.size() + 1)), v);
    if (oneIn(5))
      op.flags |= MXRT_OP_ALWAYS_RUN;
    if (oneIn(5))
      op.flags |= MXRT_OP_OVERWRITES;
    if (oneIn(8))
      op.flags |= MXRT_OP_INLINE;
    if (!op.releases.empty() && !oneIn(3))
      op.flags |= MXRT_OP_RELEASES;
    op.fails = oneIn(4);
    op.cancelled = oneIn(12);
    op.defers = oneIn(5);
    op.abuses = oneIn(4);
    op.priority = oneIn(4) ? static_cast<int>(below(3)) - 1 : 0;
    return op;
  }

  std::mt19937_64 random;
};

/// Threads that complete deferred ops, one each.
struct Completers {
  struct One {
    Stage *stage;
    int op;
    mxrt_op_token *token = nullptr;
    ScheduledGate there;
    Task *thread = nullptr;
  };
  std::deque<One> all;

  void start(Stage &stage, const Drawn &drawn) {
    for (size_t i = 0; i < drawn.ops.size(); ++i) {
      One &one = all.emplace_back(&stage, static_cast<int>(i));
      if (drawn.ops[i].defers)
        one.thread = Explorer::current().spawn(
            [](void *argument) {
              auto *one = static_cast<One *>(argument);
              one->there.pass();
              if (one->token)
                one->stage->subject->complete(one->op, one->token);
            },
            &one);
    }
    stage.subject->onDefer = [this](int op, mxrt_op_token *token) {
      One &one = all[static_cast<size_t>(op)];
      one.token = token;
      one.there.open();
    };
  }
  /// Those of ops that were skipped have nothing to complete.
  void join() {
    for (One &one : all)
      if (one.thread) {
        one.there.open();
        Explorer::current().join(one.thread);
      }
  }
};

void play(const Drawn &drawn) {
  // Outside of the fibers, like the stage: an execution may be abandoned.
  static std::unique_ptr<Completers> completers;
  Stage &stage = Stage::open(drawn.ops, drawn.setting);
  completers = std::make_unique<Completers>();
  completers->start(stage, drawn);
  for (size_t i = 0; i < drawn.pushed; ++i) {
    stage.push(static_cast<int>(i));
    if (drawn.waitsAfter[i] >= 0)
      stage.wait(drawn.waitsAfter[i]);
  }
  if (drawn.deleted >= 0)
    stage.expectOk(stage.subject->deleteVar(drawn.deleted));
  stage.waitAll();
  for (int v : {x, y, z})
    if (v != drawn.deleted)
      stage.wait(v);
  completers->join();
  for (size_t i = drawn.pushed; i < drawn.ops.size(); ++i)
    if (!stage.model.ran[i])
      stage.notPushed(static_cast<int>(i));
  stage.close();
}

} // namespace

Scenario randomReleases(uint64_t seed) {
  Drawn drawn = Drawing(seed).draw();
  return {"randomReleases", [drawn] { play(drawn); }, 0};
}

} // namespace mxrt::test
