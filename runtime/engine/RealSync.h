// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The synchronisation primitives of the product. The engine takes them as a
// template parameter, so that a test can put its own in their place and run
// every interleaving; what a Sync must offer is what stands here.

#ifndef MXRT_ENGINE_REALSYNC_H
#define MXRT_ENGINE_REALSYNC_H

#include "base/Os.h"
#include "base/Sync.h"
#include "engine/Faults.h"

#include <atomic>

struct mxrt_op_context;

namespace mxrt::engine {

struct RealSync {
  template <typename T> using Atomic = std::atomic<T>;
  using Mutex = mxrt::Mutex;
  using Thread = os::Thread;

  static void futexWait(const Atomic<uint32_t> &word, uint32_t expected) {
    os::futexWait(word, expected);
  }
  /// As futexWait, but gives up after a while. No protocol may need that: a
  /// test's Sync waits for ever.
  static void futexWaitFor(const Atomic<uint32_t> &word, uint32_t expected,
                           int64_t nanoseconds) {
    os::futexWait(word, expected, nanoseconds);
  }
  static void futexWake(const Atomic<uint32_t> &word, uint32_t count) {
    os::futexWake(word, count);
  }
  static bool startThread(Thread &thread, void (*entry)(void *), void *argument,
                          const char *name, int *errorNumber) {
    return os::startThread(thread, entry, argument, name, errorNumber);
  }
  static void joinThread(Thread &thread) { os::joinThread(thread); }

  /// Innermost op that runs on the calling thread.
  static mxrt_op_context *&running() {
    static thread_local mxrt_op_context *top = nullptr;
    return top;
  }

  /// Whether idle threads look for a while before they sleep. A test that
  /// explores schedules says no: a spin loop adds schedules, not behaviour.
  static constexpr bool spins = true;
  static constexpr uint32_t varsPerChunk = 512;
  static constexpr uint32_t varChunks = 8192;
  static constexpr uint32_t opsPerChunk = 32;

  static constexpr bool fault(Fault) { return false; }
};

template <typename Sync> class Guard {
public:
  explicit Guard(typename Sync::Mutex &mutex) : mutex(mutex) { mutex.lock(); }
  ~Guard() { mutex.unlock(); }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;

private:
  typename Sync::Mutex &mutex;
};

/// Looks `ready` over for up to `nanoseconds`; true if it held. Never the only
/// way to wait: the caller sleeps on a futex afterwards.
template <typename Sync, typename Ready>
bool spinUntil(int64_t nanoseconds, Ready &&ready) {
  if constexpr (!Sync::spins)
    return ready();
  if (ready())
    return true;
  if (nanoseconds <= 0)
    return false;
  int64_t deadline = os::monotonicNs() + nanoseconds;
  for (int round = 0;; ++round) {
    // The clock costs as much as a few dozen looks.
    for (int i = 0; i < 32; ++i) {
      os::relax();
      if (ready())
        return true;
    }
    if (os::monotonicNs() >= deadline)
      return false;
    // What is waited for may need this very processor.
    if (round >= 1)
      os::yieldThread();
  }
}

} // namespace mxrt::engine

#endif // MXRT_ENGINE_REALSYNC_H
