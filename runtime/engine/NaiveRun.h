// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NaiveEngine, definitions: the serial dependency engine. Included by NaiveEngine.h only.

#ifndef MXRT_ENGINE_NAIVERUN_H
#define MXRT_ENGINE_NAIVERUN_H

#include "engine/NaiveEngine.h"

namespace mxrt::engine {

template <typename Sync>
NaiveEngine<Sync>::NaiveEngine(const EngineOptions &options)
    : options(options), alloc(options.allocator), table(alloc), pool(alloc),
      host{this,
           alloc,
           completeDeferred,
           giveBackEarly,
           options.profile,
           atomicWord(options.cancelled),
           FailureLog(alloc)} {}

template <typename Sync>
Result<Engine *> NaiveEngine<Sync>::create(const EngineOptions &options) {
  auto *engine = newObject<NaiveEngine>(options.allocator, options);
  if (!engine)
    return outOfMemory(options.allocator);
  if (!engine->table.prepare()) {
    deleteObject(options.allocator, engine);
    return outOfMemory(options.allocator);
  }
  return static_cast<Engine *>(engine);
}

template <typename Sync> void NaiveEngine<Sync>::destroy() {
  {
    Guard<Sync> guard(mutex);
    closing = true;
    while (draining || first || guests)
      sleep();
  }
  deleteObject(alloc, this);
}

// -- sleeping ----------------------------------------------------------------

template <typename Sync> void NaiveEngine<Sync>::sleep() {
  ++sleepers;
  uint32_t seen = epoch.load(std::memory_order_acquire);
  mutex.unlock();
  Sync::futexWait(epoch, seen);
  mutex.lock();
  --sleepers;
}

template <typename Sync> void NaiveEngine<Sync>::wakeSleepers() {
  if (!sleepers)
    return;
  epoch.fetch_add(1, std::memory_order_release);
  Sync::futexWake(epoch, UINT32_MAX);
}

// -- variables ---------------------------------------------------------------

template <typename Sync>
auto NaiveEngine<Sync>::findUsable(mxrt_var handle) -> Var * {
  Var *var = table.find(handle);
  return var && table.usable(*var, table.generationOf(handle)) ? var : nullptr;
}

template <typename Sync> Result<mxrt_var> NaiveEngine<Sync>::newVar() {
  Guard<Sync> guard(mutex);
  Var *var = table.create();
  if (!var)
    return outOfMemory(alloc);
  return var->handle();
}

template <typename Sync>
Status NaiveEngine<Sync>::deleteVar(mxrt_var handle, void (*drop)(void *),
                                    void *payload) {
  Var *var;
  bool idle = false;
  {
    Guard<Sync> guard(mutex);
    var = findUsable(handle);
    if (var) {
      var->deleting = true;
      var->drop = drop;
      var->dropPayload = payload;
      ++pushed;
      idle = var->activeReaders == 0;
    }
  }
  if (!var)
    return badHandle(alloc, "delete", noLocation);
  if (idle)
    finishDeletion(var);
  return success();
}

template <typename Sync> void NaiveEngine<Sync>::finishDeletion(Var *var) {
  void (*drop)(void *) = var->drop;
  void *payload = var->dropPayload;
  {
    Guard<Sync> guard(mutex);
    table.recycle(var);
  }
  if (drop) {
    Running<Sync> inside(host, nullptr, nullptr); // it may push
    drop(payload);
  }
  Guard<Sync> guard(mutex);
  ++completed;
  wakeSleepers();
}

template <typename Sync>
Result<uint64_t> NaiveEngine<Sync>::version(mxrt_var handle) {
  Guard<Sync> guard(mutex);
  if (Var *var = findUsable(handle))
    return var->version;
  return badHandle(alloc, "version", noLocation);
}

template <typename Sync> Result<bool> NaiveEngine<Sync>::poll(mxrt_var handle) {
  Guard<Sync> guard(mutex);
  if (Var *var = findUsable(handle))
    return var->activeReaders == 0;
  return badHandle(alloc, "poll", noLocation);
}

// -- waiting -----------------------------------------------------------------

template <typename Sync>
Status NaiveEngine<Sync>::wait(mxrt_var handle, mxrt_location location) {
  if (isInside<Sync>(this))
    return insideOp(alloc, "wait", location);
  FailureRef poison;
  Var *var;
  bool doomed = false;
  {
    Guard<Sync> guard(mutex);
    var = findUsable(handle);
    if (!var)
      return badHandle(alloc, "wait", location);
    if (var->activeReaders) {
      // Another thread is draining. Ops run in push order: once `target` ops are complete, so
      // are those on this variable. A release may end them sooner: then only waits are left.
      // The wait counts as an access, so that a deletion pushed meanwhile comes after it.
      ++var->activeReaders;
      ++var->waits;
      for (uint64_t target = pushed;
           completed < target && var->activeReaders > var->waits;)
        sleep();
      --var->waits;
      doomed = --var->activeReaders == 0 && var->deleting;
    }
    poison = FailureRef::share(var->poison);
  }
  if (doomed)
    finishDeletion(var);
  return poison ? poison->notice(location) : success();
}

template <typename Sync> Status NaiveEngine<Sync>::waitAll(mxrt_location location) {
  if (isInside<Sync>(this))
    return insideOp(alloc, "wait_all", location);
  {
    Guard<Sync> guard(mutex);
    while (completed != pushed)
      sleep();
  }
  return host.log.takeFirst(location, Sync::fault(Fault::ErrorRaisedTwice));
}

template <typename Sync>
Status NaiveEngine<Sync>::noticeFrom(uint64_t first, mxrt_location location) {
  if (isInside<Sync>(this))
    return insideOp(alloc, "notice_from", location);
  {
    Guard<Sync> guard(mutex);
    while (completed != pushed)
      sleep();
  }
  host.log.noticeFrom(first);
  return success();
}

template <typename Sync> bool NaiveEngine<Sync>::settle() {
  if (isInside<Sync>(this))
    return false;
  Guard<Sync> guard(mutex);
  bool busy = completed != pushed;
  while (completed != pushed)
    sleep();
  return busy;
}

// -- pushing -----------------------------------------------------------------

template <typename Sync> Status NaiveEngine<Sync>::push(const mxrt_op &desc) {
  uint32_t lane = MXRT_TRY(laneIndexOf(alloc, desc));
  OpT *op = MXRT_TRY(buildOp(alloc, pool, table, desc));
  op->laneId = static_cast<uint8_t>(lane);
  bool inside = isInside<Sync>(this);
  bool usable = true, stopped, drainHere = false;
  {
    Guard<Sync> guard(mutex);
    // Throttling matters only while another thread drains.
    bool throttle = !inside && !(desc.flags & MXRT_OP_NO_THROTTLE);
    if (throttle && draining && pushed - completed >= options.max_ops) {
      ++throttled;
      while (draining && pushed - completed >= options.max_ops)
        sleep();
    }
    stopped = closing;
    Node *nodes = op->accesses();
    for (size_t i = 0; i < op->accessCount; ++i)
      usable &= table.usable(*nodes[i].variable, nodes[i].generation);
    if (usable && !stopped) {
      for (size_t i = 0; i < op->accessCount; ++i)
        ++nodes[i].variable->activeReaders;
      op->sequence = pushed++;
      bytesInFlight += op->bytes;
      op->next = nullptr;
      (last ? last->next : first) = op;
      last = op;
      drainHere = !draining && !inside;
      draining |= drainHere;
    }
  }
  if (stopped || !usable) {
    abandonOp(pool, op);
    if (stopped)
      return error(alloc, MXRT_ENGINE_STOPPED, desc.location,
                   "the engine has been stopped");
    return badHandle(alloc, desc.name ? desc.name : "push", desc.location);
  }
  if (drainHere)
    drain();
  return success();
}

template <typename Sync>
Status NaiveEngine<Sync>::pushMany(const mxrt_op *ops, size_t count,
                                   size_t *pushedCount) {
  Status status;
  size_t done = 0;
  while (done < count && (status = push(ops[done])).ok())
    ++done;
  if (pushedCount)
    *pushedCount = done;
  return status;
}

// -- running -----------------------------------------------------------------

template <typename Sync> void NaiveEngine<Sync>::drain() {
  for (;;) {
    OpT *op;
    {
      Guard<Sync> guard(mutex);
      op = first;
      if (!op) {
        draining = false;
        wakeSleepers();
        return;
      }
      first = op->next;
      if (!first)
        last = nullptr;
      awaited = op;
    }
    Outcome outcome = runOrSkip(host, op);
    if (!outcome.deferred) {
      finish(op, std::move(outcome));
      continue;
    }
    Guard<Sync> guard(mutex);
    while (awaited == op)
      sleep();
  }
}

template <typename Sync>
void NaiveEngine<Sync>::completeDeferred(mxrt_op_token *token,
                                         mxrt_status status) {
  auto *engine = static_cast<NaiveEngine *>(token->engine);
  OpT *op = OpT::of(token);
  {
    Guard<Sync> guard(engine->mutex);
    ++engine->guests;
  }
  engine->finish(op, Outcome{Status(status), takeInherited(op), true, false});
  Guard<Sync> guard(engine->mutex);
  --engine->guests;
  engine->wakeSleepers();
}

template <typename Sync>
void NaiveEngine<Sync>::finish(OpT *op, Outcome outcome) {
  FailureRef poison = poisonAfter(host, op, outcome);
  dropPayload(host, op, outcome.ran);
  Node *doomed = nullptr; // variables whose deletion waited for this op
  {
    Guard<Sync> guard(mutex);
    Node *nodes = op->accesses();
    for (size_t i = 0; i < op->accessCount; ++i)
      if (Var &var = *nodes[i].variable;
          (!nodes[i].wasReleased() || Sync::fault(Fault::ReleasedAgainAtEnd)) &&
          leave(nodes[i], poison)) {
        var.deletion.next = doomed;
        doomed = &var.deletion;
      }
  }
  uint64_t bytes = op->bytes;
  while (doomed) {
    Var *var = doomed->variable;
    doomed = doomed->next;
    finishDeletion(var);
  }
  Guard<Sync> guard(mutex);
  bytesInFlight -= bytes;
  ++completed;
  pool.giveBack(op);
  awaited = nullptr;
  wakeSleepers();
}

template <typename Sync>
bool NaiveEngine<Sync>::leave(Node &node, const FailureRef &poison) {
  Var &var = *node.variable;
  if (node.kind == Node::Kind::Write) {
    ++var.version;
    Failure::release(
        std::exchange(var.poison, poison ? poison->retain() : nullptr));
  }
  return --var.activeReaders == 0 && var.deleting;
}

template <typename Sync>
void NaiveEngine<Sync>::giveBackEarly(void *raw, Node &node, FailureRef poison) {
  auto *engine = static_cast<NaiveEngine *>(raw);
  Var *var = node.variable;
  bool doomed;
  {
    Guard<Sync> guard(engine->mutex);
    doomed = engine->leave(node, poison);
    if (Sync::fault(Fault::NaiveReleaseKeepsHold))
      ++var->activeReaders;
    // A wait on the variable may be among the sleepers.
    if (!Sync::fault(Fault::NaiveReleaseWakesNobody))
      engine->wakeSleepers();
  }
  if (doomed && !Sync::fault(Fault::NaiveReleaseForgetsDeletion))
    engine->finishDeletion(var);
}

template <typename Sync> void NaiveEngine<Sync>::cancelAll() {
  Guard<Sync> guard(mutex);
  host.cancelUpTo(pushed);
}

template <typename Sync> mxrt_engine_stats NaiveEngine<Sync>::stats() {
  Guard<Sync> guard(mutex);
  mxrt_engine_stats stats = {};
  stats.pushed = pushed;
  stats.completed = completed;
  stats.bytes_in_flight = bytesInFlight;
  stats.variables = table.aliveCount();
  stats.throttled = throttled;
  stats.failed = host.failedOps.load(std::memory_order_relaxed);
  stats.skipped = host.skippedOps.load(std::memory_order_relaxed);
  return stats;
}

} // namespace mxrt::engine

#endif // MXRT_ENGINE_NAIVERUN_H
