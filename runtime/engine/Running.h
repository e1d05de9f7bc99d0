// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Execution of one op, from the checks before it to the poison after it: the parts that do not
// depend on scheduling. Both engines use them.

#ifndef MXRT_ENGINE_RUNNING_H
#define MXRT_ENGINE_RUNNING_H

#include "engine/Engine.h"
#include "engine/VarTable.h"
#include "profile/Profile.h"

#include <algorithm>

namespace mxrt::engine {

/// State and callbacks that an engine provides to the ops it runs.
template <typename Sync> struct Host {
  void *engine;
  const mxrt_allocator *alloc;
  /// Ends a deferred op; token->engine is `engine`.
  void (*complete)(mxrt_op_token *token, mxrt_status status);
  /// Gives a written variable of a running op back; `poison` is the variable's new state.
  void (*giveBackEarly)(void *engine, Access<Sync> &node, FailureRef poison);
  mxrt_profile *profile;
  /// Not 0: everything is cancelled. May be null.
  const std::atomic<uint32_t> *stop;
  FailureLog log;
  /// Ops with a smaller sequence are cancelled.
  typename Sync::template Atomic<uint64_t> cancelBefore{0};
  std::atomic<uint64_t> failedOps{0};
  std::atomic<uint64_t> skippedOps{0};

  bool isCancelled(const Op<Sync> *op) const {
    if (stop && stop->load(std::memory_order_relaxed)) [[unlikely]]
      return true;
    return op->sequence < cancelBefore.load(std::memory_order_acquire) ||
           (op->cancel &&
            op->cancel->requested.load(std::memory_order_acquire) != 0);
  }
  void cancelUpTo(uint64_t sequence) {
    uint64_t now = cancelBefore.load(std::memory_order_acquire);
    while (now < sequence && !cancelBefore.compare_exchange_weak(
                                 now, sequence, std::memory_order_acq_rel)) {
    }
  }
};

/// The cancellation word of mxrt_engine_options, which is accessed atomically.
inline const std::atomic<uint32_t> *atomicWord(const uint32_t *word) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  return reinterpret_cast<const std::atomic<uint32_t> *>(word);
}

/// Whether the calling thread is inside an op of `engine`.
template <typename Sync> bool isInside(const void *engine) {
  for (mxrt_op_context *op = Sync::running(); op; op = op->parent)
    if (op->engine == engine)
      return true;
  return false;
}

/// The context of the op that a thread runs; while it exists, the thread is inside the engine.
template <typename Sync> class Running final : public mxrt_op_context {
public:
  /// `op` is null if the object only marks the thread as inside the engine.
  Running(Host<Sync> &host, Op<Sync> *op, Failure *poison)
      : host(host), op(op), poison(poison) {
    engine = host.engine;
    parent = Sync::running();
    Sync::running() = this;
  }
  ~Running() { Sync::running() = parent; }
  Running(const Running &) = delete;

  bool cancelled() const override { return host.isCancelled(op); }
  mxrt_status inputError() const override {
    return poison ? poison->status.get() : nullptr;
  }
  bool declares(mxrt_var var, bool write) const override {
    Access<Sync> *nodes = op->accesses();
    for (size_t i = 0; i < op->accessCount; ++i)
      if (nodes[i].handle() == var)
        return !nodes[i].wasReleased() &&
               (!write || nodes[i].kind == Access<Sync>::Kind::Write);
    return false;
  }
  mxrt_op_token *defer() override {
    if (!deferred) {
      deferred = true;
      // At the op's end, a released variable no longer shows the poison that the op inherited.
      op->inherited = poison && !Sync::fault(Fault::PoisonLostOnDefer)
                          ? poison->retain()
                          : nullptr;
      op->token = {host.complete, host.engine};
    }
    return &op->token;
  }
  Status release(mxrt_var var) override;

  bool deferred = false;

private:
  /// The access to a variable, or null. Accesses are sorted by variable.
  Access<Sync> *find(mxrt_var var) {
    using Node = Access<Sync>;
    Node *first = op->accesses(), *last = first + op->accessCount;
    auto index = static_cast<uint32_t>(var) - 1u;
    Node *found = std::lower_bound(
        first, last, index,
        [](const Node &node, uint32_t i) { return node.variable->index < i; });
    return found != last && found->handle() == var ? found : nullptr;
  }

  Host<Sync> &host;
  Op<Sync> *const op;
  Failure *const poison;
};

template <typename Sync> Status Running<Sync>::release(mxrt_var var) {
  using Kind = typename Access<Sync>::Kind;
  if (!op)
    return badRelease(host.alloc, nullptr, "outside of an op", noLocation);
  // A deferred op may be complete already: it must not be accessed.
  if (deferred && !Sync::fault(Fault::ReleaseAfterDefer))
    return badRelease(host.alloc, nullptr, "after it was deferred", noLocation);
  Access<Sync> *node = find(var);
  if (!node || (node->kind != Kind::Write && !Sync::fault(Fault::ReleaseOfRead)))
    return badRelease(host.alloc, op->name, "that it does not write", op->location);
  if (Sync::fault(Fault::ReleaseOfWrongVariable))
    for (size_t i = 0; i < op->accessCount; ++i)
      if (op->accesses()[i].kind == Kind::Write)
        node = &op->accesses()[i];
  bool first = node->claimRelease();
  if (Sync::fault(Fault::ReleasedAtStart) && !first)
    return success();
  if (!first && !Sync::fault(Fault::ReleaseTwice))
    return badRelease(host.alloc, op->name, "twice", op->location);
  op->missing.fetch_add(1, std::memory_order_relaxed);
  if (Sync::fault(Fault::ReleaseLostOnCancel) && host.isCancelled(op))
    return success();
  // Inherited poison stays on the outputs, as at the op's end (poisonAfter).
  bool mends = (op->flags & MXRT_OP_OVERWRITES) || Sync::fault(Fault::ReleaseMends);
  host.giveBackEarly(host.engine, *node,
                     FailureRef::share(mends ? nullptr : poison));
  if (Sync::fault(Fault::ReleaseGivesAllBack))
    for (size_t i = 0; i < op->accessCount; ++i)
      if (Access<Sync> &other = op->accesses()[i];
          other.kind == Kind::Write && other.claimRelease())
        host.giveBackEarly(host.engine, other, FailureRef());
  return success();
}

/// The earliest poison among the inputs, before the op runs. The op holds its variables, so no
/// other thread changes the values read here.
template <typename Sync> FailureRef inputPoison(Op<Sync> *op) {
  FailureRef earliest;
  bool overwrites = op->flags & MXRT_OP_OVERWRITES;
  Access<Sync> *nodes = op->accesses();
  for (size_t i = 0; i < op->accessCount; ++i)
    if (nodes[i].kind == Access<Sync>::Kind::Read || !overwrites)
      earliest.keepEarlier(nodes[i].variable->poison);
  return earliest;
}

/// Takes the poison that a deferred op inherited from its inputs. Call once.
template <typename Sync> FailureRef takeInherited(Op<Sync> *op) {
  return FailureRef(std::exchange(op->inherited, nullptr));
}

/// How the op's function ended, if it was called.
struct Outcome {
  Status status;
  FailureRef inherited; // poison of the inputs
  bool ran = false;
  bool deferred = false; // the other fields are invalid; the op may be freed
};

/// Runs a ready op, or decides that it must be skipped.
template <typename Sync> Outcome runOrSkip(Host<Sync> &host, Op<Sync> *op) {
  // The variables' cache lines come from the pushing thread's cache and are written when the op
  // ends: prefetch them once, for writing, all in parallel.
  for (size_t i = 0; i < op->accessCount; ++i)
    __builtin_prefetch(op->accesses()[i].variable, 1);
  Outcome outcome;
  outcome.inherited = inputPoison(op);
  if (Sync::fault(Fault::PoisonIgnored))
    outcome.inherited = FailureRef();
  bool always = op->flags & MXRT_OP_ALWAYS_RUN;
  bool cancelled = host.isCancelled(op);
  if (Sync::fault(Fault::CancelSkipsAlwaysRun) && cancelled)
    always = false;
  if (!always) {
    if (outcome.inherited)
      return outcome;
    if (cancelled && !Sync::fault(Fault::CancelIgnoredAtStart)) {
      outcome.status = cancelledStatus(host.alloc, op->name, op->location);
      return outcome;
    }
  }
  outcome.ran = true;
  Running<Sync> running(host, op, outcome.inherited.get());
  if (Sync::fault(Fault::ReleasedAtStart) && (op->flags & MXRT_OP_RELEASES))
    for (size_t i = 0; i < op->accessCount; ++i)
      if (Access<Sync> &node = op->accesses()[i];
          node.kind == Access<Sync>::Kind::Write && node.claimRelease()) {
        op->missing.fetch_add(1, std::memory_order_relaxed);
        host.giveBackEarly(host.engine, node, FailureRef());
      }
  profile::Span span(host.profile, profile::Category::Op, op->name, op->location,
                     op->laneId);
  outcome.status = Status(op->run(&running, op->payload));
  outcome.deferred = running.deferred;
  return outcome;
}

/// The poison that an op leaves on the variables it wrote.
template <typename Sync>
FailureRef poisonAfter(Host<Sync> &host, Op<Sync> *op, Outcome &outcome) {
  if (!outcome.ran) [[unlikely]]
    host.skippedOps.fetch_add(1, std::memory_order_relaxed);
  if (outcome.status.failed()) [[unlikely]] {
    bool cancelled = outcome.status.code() == MXRT_CANCELLED;
    if (outcome.ran) {
      outcome.status = issuedBy(std::move(outcome.status), op->name, op->location);
      host.failedOps.fetch_add(1, std::memory_order_relaxed);
    }
    FailureRef failure =
        host.log.make(std::move(outcome.status), op->sequence);
    if (!cancelled)
      host.log.add(failure.get());
    return failure;
  }
  // An op that overwrites its outputs and ran has cleared their poison: if its inputs had
  // mattered, it would have been skipped.
  bool mended = outcome.ran && (op->flags & MXRT_OP_OVERWRITES);
  if (mended || Sync::fault(Fault::PoisonNotPropagated))
    return FailureRef();
  return std::move(outcome.inherited);
}

/// Frees what the op owns, before its variables are given back.
template <typename Sync>
void dropPayload(Host<Sync> &host, Op<Sync> *op, bool ran) {
  if (op->drop && (ran || !Sync::fault(Fault::PayloadNotDropped))) {
    Running<Sync> inside(host, op, nullptr); // it may push
    op->drop(op->payload);
  }
  if (op->cancel)
    mxrt_cancel_release(op->cancel);
}

} // namespace mxrt::engine

#endif // MXRT_ENGINE_RUNNING_H
