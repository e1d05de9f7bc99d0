// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutex and condition variable on futexes. They need no C++ runtime, no destructor call and no
// memory; sanitizers see them as plain atomics.

#ifndef MXRT_BASE_SYNC_H
#define MXRT_BASE_SYNC_H

#include "base/Os.h"

namespace mxrt {

/// A small mutex (4 bytes). Not recursive. Spins briefly before it sleeps: the runtime's
/// critical sections are tens of nanoseconds long.
class Mutex {
public:
  Mutex() = default;
  Mutex(const Mutex &) = delete;
  Mutex &operator=(const Mutex &) = delete;

  void lock() {
    uint32_t free = 0;
    if (!word.compare_exchange_strong(free, 1, std::memory_order_acquire))
      lockSlow();
  }
  bool tryLock() {
    uint32_t free = 0;
    return word.compare_exchange_strong(free, 1, std::memory_order_acquire);
  }
  void unlock() {
    if (word.exchange(0, std::memory_order_release) == 2)
      os::futexWake(word, 1);
  }

private:
  void lockSlow() {
    for (int i = 0; i < 64; ++i) {
      os::relax();
      if (word.load(std::memory_order_relaxed) == 0 && tryLock())
        return;
    }
    // From here on the word says that a thread sleeps; at worst this causes a needless wake.
    while (word.exchange(2, std::memory_order_acquire) != 0)
      os::futexWait(word, 2);
  }

  // 0 free, 1 held, 2 held and a thread may sleep.
  std::atomic<uint32_t> word{0};
};

class Lock {
public:
  explicit Lock(Mutex &mutex) : mutex(mutex) { mutex.lock(); }
  ~Lock() { mutex.unlock(); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  Mutex &mutex;
};

/// A condition variable for use with Mutex: read the ticket under the mutex, unlock, wait on the
/// ticket, lock again. Wake-ups may be spurious.
class Condition {
public:
  uint32_t ticket() const { return sequence.load(std::memory_order_acquire); }
  /// False on timeout.
  bool wait(uint32_t seen, int64_t timeoutNs = -1) {
    return os::futexWait(sequence, seen, timeoutNs);
  }
  /// Unlocks, waits for a wake after this moment, locks again.
  bool wait(Mutex &mutex, int64_t timeoutNs = -1) {
    uint32_t seen = ticket();
    mutex.unlock();
    bool inTime = wait(seen, timeoutNs);
    mutex.lock();
    return inTime;
  }
  void wakeOne() {
    sequence.fetch_add(1, std::memory_order_release);
    os::futexWake(sequence, 1);
  }
  void wakeAll() {
    sequence.fetch_add(1, std::memory_order_release);
    os::futexWake(sequence, UINT32_MAX);
  }

private:
  std::atomic<uint32_t> sequence{0};
};

} // namespace mxrt

#endif // MXRT_BASE_SYNC_H
