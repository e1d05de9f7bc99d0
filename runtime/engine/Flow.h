// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flow control: limits the ops and bytes in flight (back-pressure on pushes) and detects when
// the engine is idle.
//
// `pushed` gives every op a ticket. Completions are counted separately, one counter per worker,
// so that pushers and workers share no cache line per op. An op may enter when fewer than
// `maxOps` of the tickets before its own are in flight. This admits ops in ticket order and is
// exact for any number of pushing threads.
//
// Bytes: the same rule over the bytes of results, as long as ops are small compared with
// `maxBytes`. A graph with larger results (the gradients of a large model) would block every
// push behind it until it ends. So a large op raises the limit to twice its bytes: it runs
// while the next op of its size, or many small ones, are queued. The limit never exceeds
// `growBytes`, and drops back when no such op has come for a while.
//
// Waiting follows the publish/recheck protocol of the lanes: a waiting thread announces itself
// in `waiters` and rechecks; a completing thread counts and then reads `waiters`. `epoch` is
// the futex word that waiters sleep on.

#ifndef MXRT_ENGINE_FLOW_H
#define MXRT_ENGINE_FLOW_H

#include "engine/RealSync.h"

#include <algorithm>

namespace mxrt::engine {

template <typename Sync> class Flow {
  template <typename T> using Atomic = typename Sync::template Atomic<T>;

public:
  /// Completion counters. Counter 0 is for threads that are not workers.
  static constexpr uint32_t stripeCount = Sync::spins ? 64 : 3;

  Flow(uint64_t maxOps, uint64_t maxBytes, uint64_t growBytes,
       int64_t spinNanoseconds)
      : maxOps(maxOps), maxBytes(maxBytes), growBytes(growBytes),
        smallBytes(growBytes > maxBytes ? maxBytes / 2 : maxBytes),
        spinNanoseconds(spinNanoseconds) {}
  Flow(const Flow &) = delete;

  struct Ticket {
    uint64_t sequence; // ops pushed before
    uint64_t bytesBefore;
    uint64_t bytes;
  };

  /// Allocates a counter for a new worker. Call before its first op.
  uint32_t addStripe() {
    uint32_t mine = stripesUsed.load(std::memory_order_relaxed);
    while (mine < stripeCount)
      if (stripesUsed.compare_exchange_weak(mine, mine + 1,
                                            std::memory_order_acq_rel))
        return mine;
    // More workers than counters: sharing is slower but correct.
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

  /// Whether the op may enter without waiting. The fast path is one load of a number that only
  /// pushers write.
  bool hasRoom(const Ticket &ticket) {
    if (fitsOps(ticket, opsSeen.load(std::memory_order_relaxed)) &&
        fitsUsualBytes(ticket, bytesSeen.load(std::memory_order_relaxed))) [[likely]]
      return true;
    return lookForRoom(ticket);
  }

  /// Slow path of hasRoom: sums the workers' counters.
  [[gnu::noinline]] bool lookForRoom(const Ticket &ticket) {
    uint64_t ops = completedOps(), bytes = completedBytes();
    opsSeen.store(ops, std::memory_order_relaxed);
    bytesSeen.store(bytes, std::memory_order_relaxed);
    return fitsOps(ticket, ops) && fitsBytes(ticket, bytes);
  }

  /// Blocks until there is room. Never called inside an op: the op that must finish may be the
  /// caller itself.
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

  /// Counts an op as complete. Afterwards the caller must not touch the op nor, unless it is a
  /// worker, the engine: both may be freed.
  void leave(uint32_t stripe, uint64_t bytes) {
    Stripe &mine = stripes[stripe];
    if (bytes)
      mine.bytes.fetch_add(bytes, std::memory_order_relaxed);
    mine.ops.fetch_add(1, std::memory_order_seq_cst);
    uint32_t waiting = waiters.load(std::memory_order_seq_cst);
    if (waiting) [[unlikely]]
      wakeWaiters(waiting, stripe == 0);
  }

  /// Called by a worker that has nothing to run.
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

  /// The limit stays raised until this many times the bytes of the large op were pushed.
  static constexpr uint64_t largeOpsRemembered = 8;

  /// Nanoseconds that a throttled push sleeps before it checks for room itself.
  static constexpr int64_t patience = 1000000;

  /// The number of completed ops at which to wake a throttled push. If the op count is the limit:
  /// when a quarter of the room is free, not after every op. Until then the push is also woken
  /// when workers run dry, and rechecks now and then by itself: running ops may need the ops it
  /// pushes next. If bytes are the limit: after every op.
  uint64_t wakeTarget(const Ticket &ticket) const {
    auto opsBefore = static_cast<int64_t>(ticket.sequence - completedOps());
    if (opsBefore < static_cast<int64_t>(maxOps))
      return 0;
    return ticket.sequence + 1 + maxOps / 4 - maxOps;
  }

  bool fitsOps(const Ticket &ticket, uint64_t ops) const {
    uint64_t limit = Sync::fault(Fault::ThrottleCountsLate) ? maxOps + 1 : maxOps;
    // Signed: ops pushed from inside ops do not queue here, so more ops than the tickets before
    // this one may be complete.
    return static_cast<int64_t>(ticket.sequence - ops) < static_cast<int64_t>(limit);
  }

  /// Sufficient, but not necessary. False for large ops, which must be recorded.
  bool fitsUsualBytes(const Ticket &ticket, uint64_t bytes) const {
    if (ticket.bytes == 0)
      return true;
    auto bytesBefore = static_cast<int64_t>(ticket.bytesBefore - bytes);
    return ticket.bytes <= smallBytes &&
           bytesBefore + static_cast<int64_t>(ticket.bytes) <=
               static_cast<int64_t>(maxBytes);
  }

  bool fitsBytes(const Ticket &ticket, uint64_t bytes) {
    if (ticket.bytes > smallBytes && growBytes > maxBytes)
      noteLarge(ticket);
    auto bytesBefore = static_cast<int64_t>(ticket.bytesBefore - bytes);
    if (ticket.bytes == 0 || bytesBefore <= 0)
      return true;
    uint64_t limit = byteLimit(ticket);
    return ticket.bytes <= limit &&
           static_cast<uint64_t>(bytesBefore) <= limit - ticket.bytes;
  }

  /// Racy heuristic: too small a limit makes a push wait, too large a limit costs memory for a
  /// while.
  void noteLarge(const Ticket &ticket) {
    if (ticket.bytes < largeBytes.load(std::memory_order_relaxed) && !isOutdated(ticket))
      return;
    largeBytes.store(ticket.bytes, std::memory_order_relaxed);
    largeAt.store(ticket.bytesBefore, std::memory_order_relaxed);
  }
  /// Whether many bytes were pushed since the large op.
  bool isOutdated(const Ticket &ticket) const {
    auto since = static_cast<int64_t>(ticket.bytesBefore -
                                      largeAt.load(std::memory_order_relaxed));
    return since > 0 && static_cast<uint64_t>(since) / largeOpsRemembered >
                            largeBytes.load(std::memory_order_relaxed);
  }
  uint64_t byteLimit(const Ticket &ticket) const {
    if (growBytes <= maxBytes || isOutdated(ticket) ||
        Sync::fault(Fault::LimitDoesNotGrow))
      return maxBytes;
    uint64_t large = largeBytes.load(std::memory_order_relaxed);
    if (Sync::fault(Fault::LimitGrowsTooFar))
      large *= 2;
    return std::clamp(large > growBytes / 2 ? growBytes : 2 * large, maxBytes, growBytes);
  }

  /// Reads completions first: every completed op was pushed before, so if the sum equals the
  /// number pushed at a later moment, nothing was in flight in between.
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
  const uint64_t growBytes;
  const uint64_t smallBytes; // ops up to this do not raise the limit
  const int64_t spinNanoseconds;

  // Written by pushers.
  alignas(64) Atomic<uint64_t> pushed{0};
  Atomic<uint64_t> pushedBytes{0};
  std::atomic<uint64_t> opsSeen{0}; // completions when a pusher last looked
  std::atomic<uint64_t> bytesSeen{0};
  std::atomic<uint64_t> throttled{0};
  std::atomic<uint64_t> largeBytes{0}; // of the largest recent op
  std::atomic<uint64_t> largeAt{0};    // bytes pushed before it

  // Written by waiting threads.
  alignas(64) Atomic<uint32_t> waiters{0};
  Atomic<uint32_t> epoch{0};
  Atomic<uint64_t> wakeAt{UINT64_MAX};

  std::atomic<uint32_t> extraWorkers{0};
  std::atomic<uint32_t> stripesUsed{1};
  Stripe stripes[stripeCount];
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_FLOW_H
