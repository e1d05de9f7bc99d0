// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op while it runs, and what its end means: the parts that do not depend on
// who decides when it runs. Both engines use them.

#ifndef MXRT_ENGINE_RUNNING_H
#define MXRT_ENGINE_RUNNING_H

#include "engine/Engine.h"
#include "engine/VarTable.h"
#include "profile/Profile.h"

namespace mxrt::engine {

/// What an engine lends to the ops it runs.
template <typename Sync> struct Host {
  void *engine;
  const mxrt_allocator *alloc;
  /// Ends a deferred op; token->engine is `engine`.
  void (*complete)(mxrt_op_token *token, mxrt_status status);
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

/// The word of mxrt_engine_options as what it is: written by atomics.
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

/// The op a thread is running; while it lives the thread is inside the engine.
template <typename Sync> class Running final : public mxrt_op_context {
public:
  /// `op` is null where only the mark matters.
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
      if (nodes[i].variable->handle() == var)
        return !write || nodes[i].kind == Access<Sync>::Kind::Write;
    return false;
  }
  mxrt_op_token *defer() override {
    deferred = true;
    op->token = {host.complete, host.engine};
    return &op->token;
  }

  bool deferred = false;

private:
  Host<Sync> &host;
  Op<Sync> *const op;
  Failure *const poison;
};

/// The earliest poison among the inputs. The op holds its variables, so nobody
/// changes what is looked at here.
template <typename Sync> FailureRef inputPoison(Op<Sync> *op) {
  FailureRef earliest;
  bool overwrites = op->flags & MXRT_OP_OVERWRITES;
  Access<Sync> *nodes = op->accesses();
  for (size_t i = 0; i < op->accessCount; ++i)
    if (nodes[i].kind == Access<Sync>::Kind::Read || !overwrites)
      earliest.keepEarlier(nodes[i].variable->poison);
  return earliest;
}

/// How the function of an op ended, if it was called at all.
struct Outcome {
  Status status;
  FailureRef inherited; // poison of the inputs
  bool ran = false;
  bool deferred = false; // the rest is void; the op may be gone
};

/// Runs a ready op, or finds that it must not run.
template <typename Sync> Outcome runOrSkip(Host<Sync> &host, Op<Sync> *op) {
  // Their lines come from the pushing thread's cache and will be written when
  // the op ends: fetch them once, to write, and side by side.
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
      outcome.status = cancelledStatus(host.alloc, op->name, op->place);
      return outcome;
    }
  }
  outcome.ran = true;
  Running<Sync> running(host, op, outcome.inherited.get());
  profile::Span span(host.profile, profile::Category::Op, op->name, op->place,
                     op->laneId);
  outcome.status = Status(op->run(&running, op->payload));
  outcome.deferred = running.deferred;
  return outcome;
}

/// The poison that an op leaves on what it wrote.
template <typename Sync>
FailureRef poisonAfter(Host<Sync> &host, Op<Sync> *op, Outcome &outcome) {
  if (!outcome.ran) [[unlikely]]
    host.skippedOps.fetch_add(1, std::memory_order_relaxed);
  if (outcome.status.failed()) [[unlikely]] {
    bool cancelled = outcome.status.code() == MXRT_CANCELLED;
    if (outcome.ran) {
      outcome.status = issuedBy(std::move(outcome.status), op->name, op->place);
      host.failedOps.fetch_add(1, std::memory_order_relaxed);
    }
    FailureRef failure =
        host.log.make(std::move(outcome.status), op->sequence);
    if (!cancelled)
      host.log.add(failure.get());
    return failure;
  }
  // An op that overwrites and ran has mended its outputs: had its inputs
  // mattered to it, it would not have run.
  bool mended = outcome.ran && (op->flags & MXRT_OP_OVERWRITES);
  if (mended || Sync::fault(Fault::PoisonNotPropagated))
    return FailureRef();
  return std::move(outcome.inherited);
}

/// Lets go of what the op owns, before its variables are given back.
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
