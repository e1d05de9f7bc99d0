// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threaded engine: an asynchronous dependency engine (many readers or one writer per
// variable) over the synchronisation primitives `Sync`. The production build uses
// ThreadedEngine<RealSync>; the schedule explorer supplies its own Sync.
//
// Lifecycle of an op:
//   push     takes a block and a ticket (Flow), locks all its variables at once in index
//            order, so that concurrent pushes have one order on all variables, and enters
//            their queues (VarQueue).
//   ready    when no access is missing, the op goes to its lane (Lane).
//   execute  a worker checks for poison and cancellation and runs the function.
//   release  the op may give back variables that it writes before it ends.
//   finish   the other accesses are given back; ops that become ready go to their lanes.
//
// Lock order, outermost first: variables in index order; inside them only counters are taken.
// The locks of lanes, pools and the log are leaves.

#ifndef MXRT_ENGINE_THREADEDENGINE_H
#define MXRT_ENGINE_THREADEDENGINE_H

#include "engine/Engine.h"
#include "engine/Flow.h"
#include "engine/Lane.h"
#include "engine/OpBuilder.h"
#include "engine/Running.h"
#include "engine/VarQueue.h"

namespace mxrt::engine {

template <typename Sync> class ThreadedEngine final : public Engine {
public:
  using OpT = Op<Sync>;
  using Var = Variable<Sync>;
  using Node = Access<Sync>;
  using Kind = typename Node::Kind;

  /// Options as completeOptions returns them.
  static Result<Engine *> create(const EngineOptions &options);

  explicit ThreadedEngine(const EngineOptions &options);
  Result<mxrt_var> newVar() override;
  Status deleteVar(mxrt_var var, void (*drop)(void *), void *payload) override;
  Result<uint64_t> version(mxrt_var var) override;
  Status push(const mxrt_op &op) override;
  Status pushMany(const mxrt_op *ops, size_t count, size_t *pushed) override;
  Status wait(mxrt_var var, mxrt_location location) override;
  Status waitAll(mxrt_location location) override;
  Status noticeFrom(uint64_t first, mxrt_location location) override;
  bool settle() override;
  Result<bool> poll(mxrt_var var) override;
  void cancelAll() override;
  mxrt_engine_stats stats() override;
  void destroy() override;

private:
  /// A thread that runs the ops of one lane.
  struct Worker {
    ThreadedEngine *engine = nullptr;
    Lane<Sync> *lane = nullptr;
    uint32_t stripe = 0;
    typename Sync::Thread thread;
  };
  /// A lane and its workers, which follow it in memory.
  struct Crew {
    Lane<Sync> lane;
    uint32_t workerCount = 0;
    uint32_t capacity;
    Crew(uint32_t id, int64_t spin, uint32_t capacity)
        : lane(id, spin), capacity(capacity) {}
    Worker *workers() { return reinterpret_cast<Worker *>(this + 1); }
    static size_t bytes(uint32_t capacity) {
      return sizeof(Crew) + capacity * sizeof(Worker);
    }
  };

  // Pushing (ThreadedPush.h).
  Result<Crew *> crewFor(const mxrt_op &op);
  Result<Crew *> startCrew(uint32_t lane);
  Status pushInto(const mxrt_op &desc, Grants<Sync> &grants);
  /// Enters all queues; false, with nothing entered, if a handle is dead.
  bool enterQueues(OpT *op, uint32_t &missing);
  bool enterQueuesOneByOne(OpT *op, Grants<Sync> &grants);

  // Running (ThreadedRun.h).
  static void workerMain(void *argument);
  void runLane(Worker &self);
  /// Runs the op that writes `handle` if it is the next of its lane and no worker has taken it:
  /// a small op completes before a worker has woken up.
  void runWriterOf(mxrt_var handle);
  /// Runs or skips a ready op. Returns the op that the same worker may run next; `self` is null
  /// if the caller is not a worker, or must check its queue first.
  OpT *execute(OpT *op, uint32_t stripe, Lane<Sync> *self);
  OpT *finish(OpT *op, Outcome outcome, uint32_t stripe, Lane<Sync> *self);
  /// Gives the accesses of an op back; with `SomeReleased`, except those already released.
  template <bool SomeReleased>
  void giveBack(OpT *op, const FailureRef &poison, bool count,
                Grants<Sync> &grants);
  void mishandleReleased(Var &var, const FailureRef &poison);
  /// Gives back one written variable of an op that is still running.
  static void giveBackEarly(void *engine, Node &node, FailureRef poison);
  static void completeDeferred(mxrt_op_token *token, mxrt_status status);
  /// Performs the unblocked work. May return one op for the calling worker.
  OpT *actOn(Grants<Sync> &grants, uint32_t stripe, Lane<Sync> *self);
  void dispatch(Grants<Sync> &grants);
  void finishDeletion(Var *var, uint32_t stripe);

  const EngineOptions options;
  const mxrt_allocator *const alloc;
  const int64_t spinNanoseconds;
  VarTable<Sync> table;
  OpPool<Sync> pool;
  Host<Sync> host;
  Flow<Sync> flow;
  typename Sync::template Atomic<bool> closing{false};
  /// Threads inside mxrt_op_complete; the engine outlives them.
  typename Sync::template Atomic<uint32_t> guests{0};
  Mutex crewsMutex;
  std::atomic<Crew *> crews[laneCount] = {};
};

} // namespace mxrt::engine

#include "engine/ThreadedPush.h"
#include "engine/ThreadedRun.h"

#endif // MXRT_ENGINE_THREADEDENGINE_H
