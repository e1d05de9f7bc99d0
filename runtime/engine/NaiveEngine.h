// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The naive engine: runs ops one after the other, in push order, on the pushing thread. It has
// no queues per variable and no workers, so that it is an independent reference for the
// results of the threaded engine, and the stack in a debugger leads from the op to the
// statement.
//
// There is one list of ops; the thread that pushes onto an idle engine drains it. Ops pushed
// by an op run after it, in the same drain, exactly as in the threaded engine, since the outer
// op still holds its variables. If two threads push at once, one of them drains for both.
//
// A release ends the write: the version counts it, later failures do not poison it, and a wait
// or a deletion by another thread need not wait for the rest of the op. Ops that were pushed
// later still start after the op.

#ifndef MXRT_ENGINE_NAIVEENGINE_H
#define MXRT_ENGINE_NAIVEENGINE_H

#include "engine/OpBuilder.h"
#include "engine/Running.h"

namespace mxrt::engine {

template <typename Sync> class NaiveEngine final : public Engine {
public:
  using OpT = Op<Sync>;
  using Var = Variable<Sync>;
  using Node = Access<Sync>;

  static Result<Engine *> create(const EngineOptions &options);

  explicit NaiveEngine(const EngineOptions &options);
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
  /// The variable of a live handle, or null. Under the mutex.
  Var *findUsable(mxrt_var handle);
  void drain();
  void finish(OpT *op, Outcome outcome);
  /// Ends an access; true if the variable must be deleted now. Under the mutex.
  bool leave(Node &node, const FailureRef &poison);
  static void giveBackEarly(void *engine, Node &node, FailureRef poison);
  void finishDeletion(Var *var);
  static void completeDeferred(mxrt_op_token *token, mxrt_status status);
  /// Sleeps until the next op completes. The mutex is held on entry and on exit.
  void sleep();
  void wakeSleepers(); // under the mutex

  // Use of the fields of Variable in this engine, all under `mutex`:
  //   activeReaders  ops in the list, or running, that name the variable and
  //                  have not released it; and waits
  //   head, tail     unused
  const EngineOptions options;
  const mxrt_allocator *const alloc;
  VarTable<Sync> table;
  OpPool<Sync> pool;
  Host<Sync> host;

  typename Sync::Mutex mutex; // guards all below
  OpT *first = nullptr;
  OpT *last = nullptr;
  bool draining = false;
  bool closing = false;
  uint64_t pushed = 0;
  uint64_t completed = 0;
  uint64_t bytesInFlight = 0;
  uint64_t throttled = 0;
  OpT *awaited = nullptr; // deferred op that the drain is waiting for
  uint32_t guests = 0;    // threads inside completeDeferred
  uint32_t sleepers = 0;
  /// Incremented by every completed op while a thread sleeps.
  typename Sync::template Atomic<uint32_t> epoch{0};
};

} // namespace mxrt::engine

#include "engine/NaiveRun.h"

#endif // MXRT_ENGINE_NAIVEENGINE_H
