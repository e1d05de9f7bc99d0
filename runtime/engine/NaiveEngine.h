// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The naive engine: one op after the other, in push order, on the pushing
// thread. There are no queues per variable and no workers, so that it is an
// independent answer to "what should the threaded engine have computed", and
// the stack in a debugger leads from the op to the statement.
//
// One list of ops; the thread that pushes onto an idle engine drains it. What
// an op pushes is run after it, by the same drain: exactly what the threaded
// engine would make of it, since the outer op still holds its variables. If
// two threads push at once, one of them drains for both.

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

  static Result<Engine *> create(const mxrt_engine_options &options);

  explicit NaiveEngine(const mxrt_engine_options &options);
  Result<mxrt_var> newVar() override;
  Status deleteVar(mxrt_var var, void (*drop)(void *), void *payload) override;
  Result<uint64_t> version(mxrt_var var) override;
  Status push(const mxrt_op &op) override;
  Status pushMany(const mxrt_op *ops, size_t count, size_t *pushed) override;
  Status wait(mxrt_var var, mxrt_place place) override;
  Status waitAll(mxrt_place place) override;
  Result<bool> poll(mxrt_var var) override;
  void cancelAll() override;
  mxrt_engine_stats stats() override;
  void destroy() override;

private:
  /// The variable of a live handle, or null. Under the mutex.
  Var *findUsable(mxrt_var handle);
  void drain();
  void finish(OpT *op, Outcome outcome);
  void finishDeletion(Var *var);
  static void completeDeferred(mxrt_op_token *token, mxrt_status status);
  /// Until the next completed op. In: mutex held; out: mutex held.
  void sleep();
  void wakeSleepers(); // under the mutex

  // How the fields of Variable are used here, all under `mutex`:
  //   activeReaders  ops in the list, or running, that name the variable
  //   head, tail     unused
  const mxrt_engine_options options;
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
  /// Moves with every completed op while somebody sleeps.
  typename Sync::template Atomic<uint32_t> epoch{0};
};

} // namespace mxrt::engine

#include "engine/NaiveRun.h"

#endif // MXRT_ENGINE_NAIVEENGINE_H
