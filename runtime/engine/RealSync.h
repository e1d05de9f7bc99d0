// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The synchronisation primitives of the production build. The engine takes them as a template
// parameter, so that a test can substitute its own and explore every interleaving. This file
// defines the interface that a Sync must offer.

#ifndef MXRT_ENGINE_REALSYNC_H
#define MXRT_ENGINE_REALSYNC_H

#include "base/Os.h"
#include "base/Sync.h"
#include "engine/EngineFaults.h"

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
  /// As futexWait, with a timeout. No protocol may depend on the timeout: a test's Sync waits
  /// for ever.
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

  /// The innermost op that runs on the calling thread.
  static mxrt_op_context *&running() {
    static thread_local mxrt_op_context *top = nullptr;
    return top;
  }

  /// Whether idle threads spin before they sleep. False in a test that explores schedules: a
  /// spin loop adds schedules, not behaviour.
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

/// Polls `ready` for up to `nanoseconds`; returns whether it held. Never the only way to wait:
/// the caller sleeps on a futex afterwards.
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
    // Reading the clock costs as much as a few dozen polls.
    for (int i = 0; i < 32; ++i) {
      os::relax();
      if (ready())
        return true;
    }
    if (os::monotonicNs() >= deadline)
      return false;
    // The awaited thread may need this processor.
    if (round >= 1)
      os::yieldThread();
  }
}

} // namespace mxrt::engine

#endif // MXRT_ENGINE_REALSYNC_H
