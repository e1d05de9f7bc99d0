// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ThreadedEngine, second half: execution and completion of ready ops.
// Included by ThreadedEngine.h only.

#ifndef MXRT_ENGINE_THREADEDRUN_H
#define MXRT_ENGINE_THREADEDRUN_H

#include "engine/ThreadedEngine.h"

namespace mxrt::engine {

template <typename Sync> void ThreadedEngine<Sync>::workerMain(void *argument) {
  Worker &self = *static_cast<Worker *>(argument);
  self.engine->runLane(self);
}

template <typename Sync> void ThreadedEngine<Sync>::runLane(Worker &self) {
  // Threads of the copy and communication lanes mostly block rather than compute.
  bool computes = self.lane->id < computeLanes;
  mxrt_thread_budget *budget = computes ? options.thread_budget : nullptr;
  bool counted = false;
  for (;;) {
    OpT *op = self.lane->take();
    if (!op) {
      if (counted)
        mxrt_thread_budget_leave(budget);
      flow.workerIsDry();
      op = self.lane->search();
      if (!op)
        return;
      if (budget)
        mxrt_thread_budget_enter(budget);
      counted = budget != nullptr;
    }
    // A successor that the last op made ready runs at once, bypassing the queue, but only a
    // bounded number of times: other ops wait in the queue.
    constexpr int longestChain = 16;
    for (int i = 0; op; ++i)
      op = execute(op, self.stripe, i < longestChain ? self.lane : nullptr);
  }
}

template <typename Sync>
auto ThreadedEngine<Sync>::execute(OpT *op, uint32_t stripe, Lane<Sync> *self)
    -> OpT * {
  if (Sync::fault(Fault::IdleSeenEarly))
    flow.leave(stripe, op->bytes);
  if (Sync::fault(Fault::ReaderReleasedEarly)) {
    Grants<Sync> early;
    for (size_t i = 0; i < op->accessCount; ++i)
      if (Node &node = op->accesses()[i]; node.kind == Kind::Read) {
        Guard<Sync> guard(node.variable->mutex);
        VarQueue<Sync>::leaveRead(*node.variable, early);
      }
    actOn(early, stripe, nullptr);
  }
  Outcome outcome = runOrSkip(host, op);
  if (outcome.deferred && !Sync::fault(Fault::DeferredFinishedAtReturn))
    return nullptr; // the op may be freed already
  return finish(op, std::move(outcome), stripe, self);
}

template <typename Sync>
void ThreadedEngine<Sync>::runWriterOf(mxrt_var handle) {
  // No other op is taken: an op unrelated to the wait may be long, or may itself depend on what
  // the waiting thread does next. The copy and communication lanes keep their own threads.
  // An op that releases what it writes is not taken either: the wait would return only when the
  // whole op is complete.
  auto writesVar = [&](OpT *op) {
    if ((op->flags & MXRT_OP_RELEASES) && !Sync::fault(Fault::WaitRunsReleasingOp))
      return false;
    Node *nodes = op->accesses();
    for (size_t i = 0; i < op->accessCount; ++i)
      if (nodes[i].kind == Kind::Write &&
          nodes[i].variable->handle() == handle)
        return true;
    return false;
  };
  for (uint32_t lane = 0; lane < devicesPerKind; ++lane) {
    Crew *crew = crews[lane].load(std::memory_order_acquire);
    if (!crew)
      continue;
    OpT *op = crew->lane.takeIf(writesVar);
    if (!op)
      continue;
    mxrt_thread_budget *budget = options.thread_budget;
    if (budget)
      mxrt_thread_budget_enter(budget);
    execute(op, 0, nullptr);
    if (budget)
      mxrt_thread_budget_leave(budget);
    return;
  }
}

template <typename Sync>
void ThreadedEngine<Sync>::completeDeferred(mxrt_op_token *token,
                                            mxrt_status status) {
  auto *engine = static_cast<ThreadedEngine *>(token->engine);
  OpT *op = OpT::of(token);
  engine->guests.fetch_add(1, std::memory_order_seq_cst);
  Outcome outcome{Status(status), takeInherited(op), true, false};
  engine->finish(op, std::move(outcome), 0, nullptr);
  // From here on the engine may be freed; a futex wakes by address alone.
  auto &guests = engine->guests;
  if (guests.fetch_sub(1, std::memory_order_seq_cst) == 1)
    Sync::futexWake(guests, UINT32_MAX);
}

template <typename Sync>
auto ThreadedEngine<Sync>::finish(OpT *op, Outcome outcome, uint32_t stripe,
                                  Lane<Sync> *self) -> OpT * {
  FailureRef poison = poisonAfter(host, op, outcome);
  dropPayload(host, op, outcome.ran);
  Grants<Sync> grants;
  bool count = outcome.ran || !Sync::fault(Fault::VersionNotCounted);
  if (op->missing.load(std::memory_order_relaxed)) [[unlikely]]
    giveBack<true>(op, poison, count, grants);
  else
    giveBack<false>(op, poison, count, grants);
  uint64_t bytes = op->bytes;
  pool.giveBack(op);
  OpT *next = actOn(grants, stripe, self);
  if (!Sync::fault(Fault::IdleSeenEarly))
    flow.leave(stripe, bytes);
  return next;
}

template <typename Sync>
template <bool SomeReleased>
void ThreadedEngine<Sync>::giveBack(OpT *op, const FailureRef &poison,
                                    bool count, Grants<Sync> &grants) {
  Node *nodes = op->accesses();
  for (size_t i = 0; i < op->accessCount; ++i) {
    Var &var = *nodes[i].variable;
    if (SomeReleased && nodes[i].wasReleased() &&
        !Sync::fault(Fault::ReleasedAgainAtEnd)) {
      mishandleReleased(var, poison);
      continue;
    }
    Guard<Sync> guard(var.mutex);
    if (SomeReleased && Sync::fault(Fault::FailureForgottenAfterRelease) &&
        nodes[i].kind == Kind::Write) {
      VarQueue<Sync>::leaveWrite(var, FailureRef(), count, grants);
      continue;
    }
    if (nodes[i].kind == Kind::Write) {
      VarQueue<Sync>::leaveWrite(var, FailureRef::share(poison.get()), count,
                                 grants);
      continue;
    }
    if (Sync::fault(Fault::PoisonOnReads) && poison)
      VarQueue<Sync>::setPoison(var, FailureRef::share(poison.get()));
    if (!Sync::fault(Fault::ReaderReleasedEarly))
      VarQueue<Sync>::leaveRead(var, grants);
  }
}

/// Injected faults on a variable that the op already gave back; never part of the production
/// build.
template <typename Sync>
void ThreadedEngine<Sync>::mishandleReleased(Var &var, const FailureRef &poison) {
  if (Sync::fault(Fault::ReleasedPoisonedAtEnd) && poison) {
    Guard<Sync> guard(var.mutex);
    VarQueue<Sync>::setPoison(var, FailureRef::share(poison.get()));
  }
  if (Sync::fault(Fault::ReleaseCountedTwice)) {
    Guard<Sync> guard(var.mutex);
    ++var.version;
  }
}

template <typename Sync>
void ThreadedEngine<Sync>::giveBackEarly(void *raw, Node &node,
                                         FailureRef poison) {
  auto *engine = static_cast<ThreadedEngine *>(raw);
  Var &var = *node.variable;
  Grants<Sync> grants;
  {
    Guard<Sync> guard(var.mutex);
    if (Sync::fault(Fault::ReleaseOfRead) && node.kind == Kind::Read)
      VarQueue<Sync>::leaveRead(var, grants);
    else
      VarQueue<Sync>::leaveWrite(var, std::move(poison),
                                 !Sync::fault(Fault::ReleaseNotCounted), grants);
  }
  if (Sync::fault(Fault::ReleaseWakesNoOp))
    grants.readyFirst = grants.readyLast = nullptr;
  if (Sync::fault(Fault::ReleaseWakesNoWait))
    grants.waits = nullptr;
  if (Sync::fault(Fault::ReleaseForgetsDeletion))
    grants.deletions = nullptr;
  if (Sync::fault(Fault::ReleaseEndsOp))
    engine->flow.leave(0, 0);
  // The op is still in flight, so the engine exists until this returns.
  engine->actOn(grants, 0, nullptr);
}

template <typename Sync>
auto ThreadedEngine<Sync>::actOn(Grants<Sync> &grants, uint32_t stripe,
                                 Lane<Sync> *self) -> OpT * {
  // A waiter may be destroyed once signalled: read its link first.
  while (Node *node = grants.waits) {
    grants.waits = node->next;
    static_cast<Waiter<Sync> *>(node)->signal();
  }
  while (Node *node = grants.deletions) {
    grants.deletions = node->next;
    finishDeletion(node->variable, stripe);
  }
  OpT *next = nullptr;
  // Only a single successor: among several, the lane's queue must choose.
  OpT *only = grants.readyFirst == grants.readyLast ? grants.readyFirst : nullptr;
  if (self && only && only->lane == self && only->priority == 0 &&
      self->mayRunNext())
    next = grants.popReady();
  dispatch(grants);
  return next;
}

/// Passes ready ops to their lanes; consecutive ops of one lane are batched.
template <typename Sync>
void ThreadedEngine<Sync>::dispatch(Grants<Sync> &grants) {
  OpT *first = grants.readyFirst;
  grants.readyFirst = grants.readyLast = nullptr;
  while (first) {
    Lane<Sync> *lane = first->lane;
    OpT *last = first;
    while (last->next && last->next->lane == lane)
      last = last->next;
    OpT *following = last->next;
    last->next = nullptr;
    lane->put(first, last);
    first = following;
  }
}

template <typename Sync>
void ThreadedEngine<Sync>::finishDeletion(Var *var, uint32_t stripe) {
  void (*drop)(void *) = var->drop;
  void *payload = var->dropPayload;
  table.recycle(var);
  if (drop) {
    Running<Sync> inside(host, nullptr, nullptr); // it may push
    drop(payload);
  }
  flow.leave(stripe, 0);
}

template <typename Sync> void ThreadedEngine<Sync>::cancelAll() {
  host.cancelUpTo(flow.pushedOps());
}

template <typename Sync> mxrt_engine_stats ThreadedEngine<Sync>::stats() {
  mxrt_engine_stats stats = {};
  stats.completed = flow.completedOps();
  stats.pushed = flow.pushedOps();
  stats.bytes_in_flight = flow.bytesInFlight();
  stats.variables = table.aliveCount();
  stats.throttled = flow.throttledPushes();
  for (auto &entry : crews)
    if (Crew *crew = entry.load(std::memory_order_acquire))
      stats.sleeps += crew->lane.sleepCount();
  stats.failed = host.failedOps.load(std::memory_order_relaxed);
  stats.skipped = host.skippedOps.load(std::memory_order_relaxed);
  return stats;
}

} // namespace mxrt::engine

#endif // MXRT_ENGINE_THREADEDRUN_H
