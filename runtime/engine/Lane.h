// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lane: the queue of ready ops of one worker pool, and the protocol by which workers sleep
// and wake.
//
// Pushers put ops on the inbox, a lock-free stack. A worker that runs out of ops, or has popped
// a few, moves the inbox into the ready queue under the lane's mutex. While the workers keep
// up, a pusher shares one cache line with them and no lock.
//
// Sleep protocol. Each worker is running, searching or asleep; `idle` counts the last two.
// Invariant: while there is work, some worker searches or none sleeps.
//  - A pusher, after publishing, wakes a sleeper only if no worker searches.
//  - A worker that stops searching because it found work wakes a sleeper if it was the last
//    searcher and there is more work.
//  - A worker that takes an op and leaves others in the queue wakes a sleeper if no worker
//    searches.
//  - A worker that goes to sleep first counts itself as asleep and then rechecks
//    (publish/recheck on both sides, sequentially consistent).
// The waking thread moves the count from asleep to searching, so that the pushes that follow
// need not wake again.

#ifndef MXRT_ENGINE_LANE_H
#define MXRT_ENGINE_LANE_H

#include "engine/ReadyQueue.h"

namespace mxrt::engine {

template <typename Sync> class Lane {
public:
  using OpT = Op<Sync>;

  Lane(uint32_t id, int64_t spinNanoseconds)
      : id(id), spinNanoseconds(spinNanoseconds) {}
  Lane(const Lane &) = delete;

  /// Enqueues ready ops (linked by next, oldest first). Thread-safe.
  void put(OpT *first, OpT *last) {
    // The inbox is newest first: reverse the chain.
    OpT *chain = nullptr;
    for (OpT *op = first; op;) {
      OpT *following = op == last ? nullptr : op->next;
      op->next = chain;
      chain = op;
      op = following;
    }
    OpT *head = inbox.load(std::memory_order_relaxed);
    do
      first->next = head;
    while (!inbox.compare_exchange_weak(head, chain, std::memory_order_seq_cst,
                                        std::memory_order_relaxed));
    if (!Sync::fault(Fault::PusherSkipsWake))
      wakeIfNobodySearches();
  }

  /// The next op, or nullptr if there is none right now.
  OpT *take() {
    return takeIf([](OpT *) { return true; });
  }

  /// The next op if it is `wanted`, else nullptr.
  template <typename Wanted> OpT *takeIf(Wanted &&wanted) {
    OpT *op;
    bool more;
    {
      Guard<Sync> guard(mutex);
      if (queue.empty() || ++popsSinceInbox >= popsPerInbox)
        emptyInbox();
      op = queue.peek();
      if (op)
        op = wanted(op) ? queue.pop() : nullptr;
      more = !queue.empty();
      // Write only changes: other threads have these cache lines.
      if (queued.load(std::memory_order_relaxed) != more)
        queued.store(more, std::memory_order_seq_cst);
      if (urgent.load(std::memory_order_relaxed) == queue.nothingMoreUrgent())
        urgent.store(!queue.nothingMoreUrgent(), std::memory_order_relaxed);
    }
    // Between the emptied inbox and `queued` there was a moment without visible work, in which
    // a worker may have gone to sleep.
    if (more && !Sync::fault(Fault::SurplusForgotten))
      wakeIfNobodySearches();
    return op;
  }

  /// Blocks until there is an op; nullptr when the lane is closed.
  OpT *search() {
    idle.fetch_add(oneSearcher, std::memory_order_seq_cst);
    for (;;) {
      if (spinUntil<Sync>(spinBudget(), [&] { return hasWork(); })) {
        if (OpT *op = take()) {
          stopSearching();
          return op;
        }
        continue;
      }
      if (closed.load(std::memory_order_seq_cst))
        return nullptr;
      sleep();
    }
  }

  /// Whether a worker may continue with an op of priority 0 that it just made ready, without
  /// consulting the queue. A hint: it is not read under the mutex.
  bool mayRunNext() const {
    return !urgent.load(std::memory_order_relaxed);
  }

  /// No more ops will come: workers exit. All threads must be joined afterwards.
  void close() {
    closed.store(true, std::memory_order_seq_cst);
    tokens.fetch_add(closing, std::memory_order_seq_cst);
    Sync::futexWake(tokens, UINT32_MAX);
  }

  uint64_t sleepCount() const { return sleeps.load(std::memory_order_relaxed); }

  const uint32_t id;

private:
  static constexpr uint64_t oneSearcher = 1;
  static constexpr uint64_t oneSleeper = uint64_t{1} << 32;
  static constexpr uint32_t popsPerInbox = 8;
  static constexpr uint32_t closing = 1u << 30; // more than there are workers

  static uint32_t searchers(uint64_t idle) {
    return static_cast<uint32_t>(idle);
  }
  static uint32_t sleepers(uint64_t idle) {
    return static_cast<uint32_t>(idle >> 32);
  }

  bool hasWork() const {
    return inbox.load(std::memory_order_seq_cst) ||
           queued.load(std::memory_order_seq_cst);
  }

  void emptyInbox() {
    popsSinceInbox = 0;
    if (!inbox.load(std::memory_order_relaxed))
      return;
    OpT *newest = inbox.exchange(nullptr, std::memory_order_seq_cst);
    if (Sync::fault(Fault::InboxReordered)) {
      while (OpT *op = newest) {
        newest = op->next;
        queue.push(op);
      }
      return;
    }
    OpT *oldest = nullptr;
    while (OpT *op = newest) {
      __builtin_prefetch(op->accesses());
      newest = op->next;
      op->next = oldest;
      oldest = op;
    }
    while (OpT *op = oldest) {
      oldest = op->next;
      queue.push(op);
    }
  }

  void wakeIfNobodySearches() {
    uint64_t now = idle.load(std::memory_order_seq_cst);
    while (searchers(now) == 0 && sleepers(now) > 0)
      if (idle.compare_exchange_weak(now, now - oneSleeper + oneSearcher,
                                     std::memory_order_seq_cst)) {
        tokens.fetch_add(1, std::memory_order_seq_cst);
        Sync::futexWake(tokens, 1);
        return;
      }
  }

  void stopSearching() {
    uint64_t before = idle.fetch_sub(oneSearcher, std::memory_order_seq_cst);
    if (searchers(before) == 1 && sleepers(before) > 0 && hasWork() &&
        !Sync::fault(Fault::LastSearcherForgets))
      wakeIfNobodySearches();
  }

  /// Enters and leaves in the searching state.
  void sleep() {
    idle.fetch_add(oneSleeper - oneSearcher, std::memory_order_seq_cst);
    if (!Sync::fault(Fault::LostWakeUpOfWorker) &&
        (hasWork() || closed.load(std::memory_order_seq_cst))) {
      // Cancel the sleep, unless another thread has just woken "one of us": then a token is on
      // its way and one sleeper must consume it.
      uint64_t now = idle.load(std::memory_order_seq_cst);
      while (sleepers(now) > 0)
        if (idle.compare_exchange_weak(now, now - oneSleeper + oneSearcher,
                                       std::memory_order_seq_cst))
          return;
    }
    sleeps.fetch_add(1, std::memory_order_relaxed);
    int64_t asleepSince = Sync::spins ? os::monotonicNs() : 0;
    eatToken();
    if (Sync::spins)
      adaptSpin(os::monotonicNs() - asleepSince);
  }

  void eatToken() {
    for (;;) {
      uint32_t available = tokens.load(std::memory_order_seq_cst);
      while (available > 0) {
        if (available >= closing)
          return; // closed: the count of idle workers no longer matters
        if (tokens.compare_exchange_weak(available, available - 1,
                                         std::memory_order_seq_cst))
          return;
      }
      Sync::futexWait(tokens, 0);
    }
  }

  /// Adaptive spinning: it pays if work tends to come soon. Every long sleep halves the budget,
  /// down to an eighth; a short sleep, which spinning would have saved, restores it.
  int64_t spinBudget() const {
    return spinNanoseconds >> spinShift.load(std::memory_order_relaxed);
  }
  void adaptSpin(int64_t slept) {
    int shift = spinShift.load(std::memory_order_relaxed);
    if (slept < 4 * spinNanoseconds)
      spinShift.store(0, std::memory_order_relaxed);
    else if (shift < 3)
      spinShift.store(shift + 1, std::memory_order_relaxed);
  }

  const int64_t spinNanoseconds;

  // Written by pushers.
  alignas(64) typename Sync::template Atomic<OpT *> inbox{nullptr};
  // Written by workers when they go idle; read by pushers.
  alignas(64) typename Sync::template Atomic<uint64_t> idle{0};
  typename Sync::template Atomic<uint32_t> tokens{0}; // wake-ups not yet consumed
  typename Sync::template Atomic<bool> closed{false};

  // Written by workers.
  alignas(64) typename Sync::Mutex mutex;
  uint32_t popsSinceInbox = 0;
  ReadyQueue<Sync> queue;
  typename Sync::template Atomic<bool> queued{false}; // queue is not empty
  std::atomic<bool> urgent{false};
  std::atomic<int> spinShift{0};
  std::atomic<uint64_t> sleeps{0};
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_LANE_H
