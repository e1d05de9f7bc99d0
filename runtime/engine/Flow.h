// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much is in flight: back-pressure for pushes, and when all is done.
//
// `pushed` gives every op a ticket; completions are counted apart, one counter
// a worker, so that the two sides share no cache line per op. An op may enter
// when fewer than `maxOps` of the tickets before its own are still out. That
// admits in ticket order and is exact for any number of pushing threads.
//
// Waiting follows the same publish/look rule as the lanes: who waits announces
// itself in `waiters` and looks again; who completes counts and then looks at
// `waiters`. `epoch` is what the waiters sleep on.

#ifndef MXRT_ENGINE_FLOW_H
#define MXRT_ENGINE_FLOW_H

#include "engine/RealSync.h"

namespace mxrt::engine {

template <typename Sync> class Flow {
  template <typename T> using Atomic = typename Sync::template Atomic<T>;

public:
  /// Completion counters. 0 is for threads that are no workers.
  static constexpr uint32_t stripeCount = Sync::spins ? 64 : 3;

  Flow(uint64_t maxOps, uint64_t maxBytes, int64_t spinNanoseconds)
      : maxOps(maxOps), maxBytes(maxBytes), spinNanoseconds(spinNanoseconds) {}
  Flow(const Flow &) = delete;

  struct Ticket {
    uint64_t sequence; // ops pushed before
    uint64_t bytesBefore;
    uint64_t bytes;
  };

  /// A counter for a new worker. Before its first op.
  uint32_t addStripe() {
    uint32_t mine = stripesUsed.load(std::memory_order_relaxed);
    while (mine < stripeCount)
      if (stripesUsed.compare_exchange_weak(mine, mine + 1,
                                            std::memory_order_acq_rel))
        return mine;
    // More workers than counters: shared ones are slower, not wrong.
    return 1 + extraWorkers.fetch_add(1, std::memory_order_relaxed) %
                   (stripeCount - 1);
  }

  /// Counts an op as in flight.
  Ticket enter(uint64_t bytes) {
    uint64_t bytesBefore = 0;
    if (bytes)
      bytesBefore = pushedBytes.fetch_add(bytes, std::memory_order_relaxed);
    return {pushed.fetch_add(1, std::memory_order_seq_cst), bytesBefore, bytes};
  }

  /// Whether the op may enter without waiting. Usually one look at a number
  /// that only pushers write.
  bool hasRoom(const Ticket &ticket) {
    if (fits(ticket, opsSeen.load(std::memory_order_relaxed),
             bytesSeen.load(std::memory_order_relaxed)))
      return true;
    uint64_t ops = completedOps(), bytes = completedBytes();
    opsSeen.store(ops, std::memory_order_relaxed);
    bytesSeen.store(bytes, std::memory_order_relaxed);
    return fits(ticket, ops, bytes);
  }

  /// Until there is room. Not from inside an op: what has to finish may be
  /// the caller itself.
  void waitForRoom(const Ticket &ticket) {
    throttled.fetch_add(1, std::memory_order_relaxed);
    if (spinUntil<Sync>(spinNanoseconds, [&] { return hasRoom(ticket); }))
      return;
    waiters.fetch_add(oneThrottled, std::memory_order_seq_cst);
    for (;;) {
      // Before the target is set: a waker resets the target and then moves the
      // epoch, so a target lost that way is seen as a moved epoch.
      uint32_t seen = epoch.load(std::memory_order_seq_cst);
      lowerTarget(wakeTarget(ticket));
      if (hasRoom(ticket))
        break;
      Sync::futexWaitFor(epoch, seen, patience);
    }
    waiters.fetch_sub(oneThrottled, std::memory_order_seq_cst);
  }

  /// Counts an op as done. The caller must not touch the op after, nor, if it
  /// is no worker, the engine: it may be gone.
  void leave(uint32_t stripe, uint64_t bytes) {
    Stripe &mine = stripes[stripe];
    if (bytes)
      mine.bytes.fetch_add(bytes, std::memory_order_relaxed);
    mine.ops.fetch_add(1, std::memory_order_seq_cst);
    uint32_t waiting = waiters.load(std::memory_order_seq_cst);
    if (waiting) [[unlikely]]
      wakeWaiters(waiting, stripe == 0);
  }

  /// A worker has nothing to run.
  void workerIsDry() {
    uint32_t waiting = waiters.load(std::memory_order_seq_cst);
    if (waiting % oneIdleWait) [[unlikely]]
      wakeWaiters(waiting, true);
  }

  void waitUntilIdle() {
    if (spinUntil<Sync>(spinNanoseconds, [&] { return idle(); }))
      return;
    waiters.fetch_add(oneIdleWait, std::memory_order_seq_cst);
    for (;;) {
      uint32_t seen = epoch.load(std::memory_order_seq_cst);
      if (idle())
        break;
      Sync::futexWait(epoch, seen);
    }
    waiters.fetch_sub(oneIdleWait, std::memory_order_seq_cst);
  }

  uint64_t pushedOps() const { return pushed.load(std::memory_order_seq_cst); }
  uint64_t completedOps() const {
    uint64_t sum = 0;
    for (uint32_t i = stripesUsed.load(std::memory_order_acquire); i-- > 0;)
      sum += stripes[i].ops.load(std::memory_order_acquire);
    return sum;
  }
  uint64_t completedBytes() const {
    uint64_t sum = 0;
    for (uint32_t i = stripesUsed.load(std::memory_order_acquire); i-- > 0;)
      sum += stripes[i].bytes.load(std::memory_order_relaxed);
    return sum;
  }
  uint64_t bytesInFlight() const {
    uint64_t done = completedBytes();
    return pushedBytes.load(std::memory_order_relaxed) - done;
  }
  uint64_t throttledPushes() const {
    return throttled.load(std::memory_order_relaxed);
  }

private:
  static constexpr uint32_t oneThrottled = 1;
  static constexpr uint32_t oneIdleWait = 1u << 16;

  struct alignas(64) Stripe {
    Atomic<uint64_t> ops{0};
    Atomic<uint64_t> bytes{0};
  };

  /// How long a push sleeps before it looks for a first free place itself.
  static constexpr int64_t patience = 1000000;

  /// The number of completed ops at which to wake a push that waits. If ops are
  /// what is too many: when a quarter of the room is free, not for every single
  /// op. Until then it is also woken when workers run dry, and looks by itself
  /// now and then: what runs may need what it pushes next. If bytes are: after
  /// every op.
  uint64_t wakeTarget(const Ticket &ticket) const {
    auto opsBefore = static_cast<int64_t>(ticket.sequence - completedOps());
    if (opsBefore < static_cast<int64_t>(maxOps))
      return 0;
    return ticket.sequence + 1 + maxOps / 4 - maxOps;
  }

  bool fits(const Ticket &ticket, uint64_t ops, uint64_t bytes) const {
    uint64_t limit = Sync::fault(Fault::ThrottleCountsLate) ? maxOps + 1 : maxOps;
    // Signed: what ops push themselves does not queue here, so more than the
    // tickets before this one may be done.
    auto opsBefore = static_cast<int64_t>(ticket.sequence - ops);
    if (opsBefore >= static_cast<int64_t>(limit))
      return false;
    auto bytesBefore = static_cast<int64_t>(ticket.bytesBefore - bytes);
    return ticket.bytes == 0 || bytesBefore <= 0 ||
           static_cast<uint64_t>(bytesBefore) + ticket.bytes <= maxBytes;
  }

  /// Completions are read first: each was pushed before, so if the sum equals
  /// what was pushed up to a later moment, nothing was in flight in between.
  bool idle() const {
    uint64_t done = completedOps();
    return done == pushedOps();
  }

  void lowerTarget(uint64_t target) {
    uint64_t now = wakeAt.load(std::memory_order_seq_cst);
    while (target < now)
      if (wakeAt.compare_exchange_weak(now, target, std::memory_order_seq_cst))
        return;
  }

  void wakeWaiters(uint32_t waiting, bool early) {
    bool wake = false;
    if (waiting % oneIdleWait && !Sync::fault(Fault::ThrottleSignalLost) &&
        (early || completedOps() >= wakeAt.load(std::memory_order_seq_cst))) {
      wakeAt.store(UINT64_MAX, std::memory_order_seq_cst);
      wake = true;
    }
    if (waiting / oneIdleWait && idle())
      wake = true;
    if (!wake)
      return;
    epoch.fetch_add(1, std::memory_order_seq_cst);
    Sync::futexWake(epoch, UINT32_MAX);
  }

  const uint64_t maxOps;
  const uint64_t maxBytes;
  const int64_t spinNanoseconds;

  // Written by pushers.
  alignas(64) Atomic<uint64_t> pushed{0};
  Atomic<uint64_t> pushedBytes{0};
  std::atomic<uint64_t> opsSeen{0}; // completions when a pusher last looked
  std::atomic<uint64_t> bytesSeen{0};
  std::atomic<uint64_t> throttled{0};

  // Written by those who wait.
  alignas(64) Atomic<uint32_t> waiters{0};
  Atomic<uint32_t> epoch{0};
  Atomic<uint64_t> wakeAt{UINT64_MAX};

  std::atomic<uint32_t> extraWorkers{0};
  std::atomic<uint32_t> stripesUsed{1};
  Stripe stripes[stripeCount];
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_FLOW_H
