// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ThreadedEngine, first half: creation, variables, pushing and waiting.
// Included by ThreadedEngine.h only.

#ifndef MXRT_ENGINE_THREADEDPUSH_H
#define MXRT_ENGINE_THREADEDPUSH_H

#include "engine/ThreadedEngine.h"

namespace mxrt::engine {

template <typename Sync>
ThreadedEngine<Sync>::ThreadedEngine(const EngineOptions &options)
    : options(options), alloc(options.allocator),
      spinNanoseconds(int64_t{1000} * options.spin_microseconds), table(alloc),
      pool(alloc),
      host{this,
           alloc,
           completeDeferred,
           giveBackEarly,
           options.profile,
           atomicWord(options.cancelled),
           FailureLog(alloc)},
      flow(options.max_ops, options.max_bytes, options.growBytes, spinNanoseconds) {}

template <typename Sync>
Result<Engine *>
ThreadedEngine<Sync>::create(const EngineOptions &options) {
  auto *engine = newObject<ThreadedEngine>(options.allocator, options);
  if (!engine)
    return outOfMemory(options.allocator);
  if (!engine->table.prepare()) {
    deleteObject(options.allocator, engine);
    return outOfMemory(options.allocator);
  }
  return static_cast<Engine *>(engine);
}

template <typename Sync> void ThreadedEngine<Sync>::destroy() {
  closing.store(true, std::memory_order_seq_cst);
  flow.waitUntilIdle();
  // The last op may have been completed by a thread that has not left this engine yet.
  while (uint32_t inside = guests.load(std::memory_order_seq_cst))
    Sync::futexWait(guests, inside);
  for (auto &entry : crews)
    if (Crew *crew = entry.load(std::memory_order_acquire))
      crew->lane.close();
  for (auto &entry : crews) {
    Crew *crew = entry.load(std::memory_order_acquire);
    if (!crew)
      continue;
    for (uint32_t i = 0; i < crew->workerCount; ++i)
      Sync::joinThread(crew->workers()[i].thread);
    size_t bytes = Crew::bytes(crew->capacity);
    crew->~Crew();
    releaseBytes(alloc, crew, bytes, alignof(Crew));
  }
  deleteObject(alloc, this);
}

// -- variables ---------------------------------------------------------------

template <typename Sync> Result<mxrt_var> ThreadedEngine<Sync>::newVar() {
  Var *var = table.create();
  if (!var)
    return outOfMemory(alloc);
  return var->handle();
}

template <typename Sync>
Status ThreadedEngine<Sync>::deleteVar(mxrt_var handle, void (*drop)(void *),
                                       void *payload) {
  Var *var = table.find(handle);
  bool granted = false;
  bool found = var != nullptr;
  if (var) {
    Guard<Sync> guard(var->mutex);
    found = table.usable(*var, table.generationOf(handle));
    if (found) {
      var->deleting = true;
      var->drop = drop;
      var->dropPayload = payload;
      flow.enter(0);
      granted = VarQueue<Sync>::enter(*var, var->deletion);
    }
  }
  if (!found)
    return badHandle(alloc, "delete", noLocation);
  if (granted)
    finishDeletion(var, 0);
  return success();
}

template <typename Sync>
Result<uint64_t> ThreadedEngine<Sync>::version(mxrt_var handle) {
  if (Var *var = table.find(handle)) {
    Guard<Sync> guard(var->mutex);
    if (table.usable(*var, table.generationOf(handle)))
      return var->version;
  }
  return badHandle(alloc, "version", noLocation);
}

template <typename Sync>
Result<bool> ThreadedEngine<Sync>::poll(mxrt_var handle) {
  if (Var *var = table.find(handle)) {
    Guard<Sync> guard(var->mutex);
    if (table.usable(*var, table.generationOf(handle)))
      return !var->writerActive && !var->head;
  }
  return badHandle(alloc, "poll", noLocation);
}

// -- waiting -----------------------------------------------------------------

template <typename Sync>
Status ThreadedEngine<Sync>::wait(mxrt_var handle, mxrt_location location) {
  if (isInside<Sync>(this))
    return insideOp(alloc, "wait", location);
  Waiter<Sync> waiter;
  waiter.kind = Kind::Wait;
  Var *var = table.find(handle);
  bool found = var != nullptr;
  bool granted = false;
  if (var) {
    Guard<Sync> guard(var->mutex);
    found = table.usable(*var, table.generationOf(handle));
    if (found && (granted = VarQueue<Sync>::enter(*var, waiter)))
      waiter.poison = FailureRef::share(var->poison);
  }
  if (!found)
    return badHandle(alloc, "wait", location);
  if (!granted) {
    profile::Span span(options.profile, profile::Category::Wait, "wait", location);
    runWriterOf(handle);
    waiter.sleepUntilDone(spinNanoseconds);
  }
  return waiter.poison ? waiter.poison->notice(location) : success();
}

template <typename Sync>
Status ThreadedEngine<Sync>::waitAll(mxrt_location location) {
  if (isInside<Sync>(this))
    return insideOp(alloc, "wait_all", location);
  {
    profile::Span span(options.profile, profile::Category::Wait, "wait_all",
                       location);
    flow.waitUntilIdle();
  }
  return host.log.takeFirst(location, Sync::fault(Fault::ErrorRaisedTwice));
}

template <typename Sync>
Status ThreadedEngine<Sync>::noticeFrom(uint64_t first, mxrt_location location) {
  if (isInside<Sync>(this))
    return insideOp(alloc, "notice_from", location);
  {
    profile::Span span(options.profile, profile::Category::Wait, "notice_from",
                       location);
    flow.waitUntilIdle();
  }
  host.log.noticeFrom(first);
  return success();
}

template <typename Sync> bool ThreadedEngine<Sync>::settle() {
  if (isInside<Sync>(this))
    return false;
  uint64_t done = flow.completedOps();
  bool busy = done != flow.pushedOps();
  if (busy)
    flow.waitUntilIdle();
  return busy;
}

// -- pushing -----------------------------------------------------------------

template <typename Sync> Status ThreadedEngine<Sync>::push(const mxrt_op &op) {
  Grants<Sync> grants;
  Status status = pushInto(op, grants);
  dispatch(grants);
  return status;
}

template <typename Sync>
Status ThreadedEngine<Sync>::pushMany(const mxrt_op *ops, size_t count,
                                      size_t *pushed) {
  Grants<Sync> grants;
  Status status;
  size_t done = 0;
  for (; done < count && status.ok(); ++done)
    status = pushInto(ops[done], grants);
  dispatch(grants);
  if (pushed)
    *pushed = status.ok() ? done : done - 1;
  return status;
}

template <typename Sync>
Status ThreadedEngine<Sync>::pushInto(const mxrt_op &desc,
                                      Grants<Sync> &grants) {
  if (closing.load(std::memory_order_relaxed))
    return error(alloc, MXRT_ENGINE_STOPPED, desc.location,
                 "the engine has been stopped");
  Crew *crew = MXRT_TRY(crewFor(desc));
  OpT *op = MXRT_TRY(buildOp(alloc, pool, table, desc));
  op->lane = &crew->lane;
  op->laneId = static_cast<uint8_t>(crew->lane.id);
  auto ticket = flow.enter(desc.bytes);
  op->sequence = ticket.sequence;
  if (!flow.hasRoom(ticket) && !(desc.flags & MXRT_OP_NO_THROTTLE) &&
      (!isInside<Sync>(this) || Sync::fault(Fault::ThrottleInsideOp))) {
    // The ops gathered by this call must run, or there may never be room.
    if (!Sync::fault(Fault::BatchHeldWhileThrottled))
      dispatch(grants);
    profile::Span span(options.profile, profile::Category::Wait, "push",
                       desc.location);
    flow.waitForRoom(ticket);
  }

  if (Sync::fault(Fault::VariablesLockedOneByOne) &&
      enterQueuesOneByOne(op, grants))
    return success();
  uint32_t missing = 0;
  if (!enterQueues(op, missing)) {
    abandonOp(pool, op);
    if (!Sync::fault(Fault::ThrottleForgetsFailed))
      flow.leave(0, desc.bytes);
    return badHandle(alloc, desc.name ? desc.name : "push", desc.location);
  }
  if (missing)
    return success(); // the op may be running or complete by now
  if ((desc.flags & MXRT_OP_INLINE) && !isInside<Sync>(this)) {
    // Ops gathered before it must be visible, in case it waits for them.
    dispatch(grants);
    execute(op, 0, nullptr);
  } else {
    grants.ready(op);
  }
  return success();
}

template <typename Sync>
bool ThreadedEngine<Sync>::enterQueues(OpT *op, uint32_t &missing) {
  Node *nodes = op->accesses();
  size_t count = op->accessCount;
  bool usable = true;
  for (size_t i = 0; i < count; ++i) {
    nodes[i].variable->mutex.lock();
    usable &= table.usable(*nodes[i].variable, nodes[i].generation);
  }
  if (usable) {
    for (size_t i = 0; i < count; ++i)
      if (!VarQueue<Sync>::enter(*nodes[i].variable, nodes[i]))
        ++missing;
    if (Sync::fault(Fault::WaitCountTooLow) && missing > 1)
      --missing;
    // No access can be granted while the locks are held: a plain store suffices.
    op->missing.store(missing, std::memory_order_relaxed);
  }
  for (size_t i = count; i-- > 0;) {
    // Once the last lock is released the op may be complete and its nodes freed. Read the
    // variable's address before.
    Var *var = nodes[i].variable;
    var->mutex.unlock();
  }
  return usable;
}

/// The injected fault VariablesLockedOneByOne; never part of the production build.
template <typename Sync>
bool ThreadedEngine<Sync>::enterQueuesOneByOne(OpT *op, Grants<Sync> &grants) {
  Node *nodes = op->accesses();
  uint32_t count = op->accessCount, granted = 1;
  for (uint32_t i = 0; i < count; ++i)
    if (Guard<Sync> guard(nodes[i].variable->mutex);
        !table.usable(*nodes[i].variable, nodes[i].generation))
      return false;
  op->missing.store(count + 1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    Guard<Sync> guard(nodes[i].variable->mutex);
    granted += VarQueue<Sync>::enter(*nodes[i].variable, nodes[i]);
  }
  if (op->missing.fetch_sub(granted, std::memory_order_acq_rel) == granted)
    grants.ready(op);
  return true;
}

// -- lanes -------------------------------------------------------------------

template <typename Sync>
auto ThreadedEngine<Sync>::crewFor(const mxrt_op &op) -> Result<Crew *> {
  uint32_t lane;
  if (op.lane == MXRT_LANE_COMPUTE && op.device.kind == MXRT_CPU &&
      op.device.index == 0)
    lane = 0;
  else
    lane = MXRT_TRY(laneIndexOf(alloc, op));
  if (Crew *crew = crews[lane].load(std::memory_order_acquire)) [[likely]]
    return crew;
  auto started = startCrew(lane);
  if (started.failed())
    return started.takeStatus().issuedAt(op.location);
  return started;
}

template <typename Sync>
auto ThreadedEngine<Sync>::startCrew(uint32_t lane) -> Result<Crew *> {
  Lock lock(crewsMutex);
  if (Crew *crew = crews[lane].load(std::memory_order_acquire))
    return crew;
  int32_t wanted = options.workers_per_device;
  if (lane >= devicesPerKind && lane < computeLanes)
    wanted = 1; // ops of a GPU enqueue and return
  else if (lane == copyLane)
    wanted = options.copy_workers;
  else if (lane == communicationLane)
    wanted = options.communication_workers;
  auto capacity = static_cast<uint32_t>(wanted);
  size_t bytes = Crew::bytes(capacity);
  void *memory = allocateBytes(alloc, bytes, alignof(Crew));
  if (!memory)
    return outOfMemory(alloc);
  auto *crew = ::new (memory) Crew(lane, spinNanoseconds, capacity);
  char name[16];
  laneName(lane, name);
  int errorNumber = 0;
  for (uint32_t i = 0; i < capacity; ++i) {
    Worker *worker = ::new (static_cast<void *>(crew->workers() + i)) Worker();
    worker->engine = this;
    worker->lane = &crew->lane;
    worker->stripe = flow.addStripe();
    if (!Sync::startThread(worker->thread, workerMain, worker, name,
                           &errorNumber))
      break; // fewer workers suffice
    ++crew->workerCount;
  }
  if (crew->workerCount == 0) {
    crew->~Crew();
    releaseBytes(alloc, memory, bytes, alignof(Crew));
    return error(alloc, MXRT_SYSTEM, noLocation,
                 "cannot start a worker thread for %s (errno %d)", name,
                 errorNumber);
  }
  crews[lane].store(crew, std::memory_order_release);
  return crew;
}

} // namespace mxrt::engine

#endif // MXRT_ENGINE_THREADEDPUSH_H
