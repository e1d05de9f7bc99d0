// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Error propagation of the engine. A failed op leaves one Failure, shared by every variable
// that it poisoned and by the variables that depend on them. The log keeps the failures that
// no wait has returned yet.

#ifndef MXRT_ENGINE_FAILURE_H
#define MXRT_ENGINE_FAILURE_H

#include "base/Allocator.h"
#include "base/Status.h"
#include "base/Sync.h"

#include <atomic>

namespace mxrt::engine {

/// Reference counted. Its status never changes after construction, so it is read without a
/// lock.
class Failure {
public:
  Failure(const mxrt_allocator *alloc, Status status, uint64_t sequence)
      : status(std::move(status)), sequence(sequence), alloc(alloc) {}

  Failure *retain() {
    references.fetch_add(1, std::memory_order_relaxed);
    return this;
  }
  static void release(Failure *failure) {
    if (failure &&
        failure->references.fetch_sub(1, std::memory_order_acq_rel) == 1 &&
        failure->alloc)
      deleteObject(failure->alloc, failure);
  }

  /// The error for a thread that waits at `location` in the source; marks it as noticed.
  Status notice(mxrt_location location) {
    noticed.store(true, std::memory_order_relaxed);
    return status.share().noticedAt(location);
  }

  const Status status;
  /// Push order of the failed op: the earliest of several errors wins.
  const uint64_t sequence;
  std::atomic<bool> noticed{false};

private:
  friend class FailureLog;
  std::atomic<uint32_t> references{1};
  const mxrt_allocator *const alloc; // null: part of a FailureLog
  Failure *nextInLog = nullptr;      // under the log's mutex
};

/// Owns a reference to a Failure, or is empty.
class FailureRef {
public:
  FailureRef() = default;
  explicit FailureRef(Failure *adopted) : failure(adopted) {}
  FailureRef(FailureRef &&other) noexcept
      : failure(std::exchange(other.failure, nullptr)) {}
  FailureRef &operator=(FailureRef &&other) noexcept {
    std::swap(failure, other.failure);
    return *this;
  }
  ~FailureRef() { Failure::release(failure); }

  static FailureRef share(Failure *failure) {
    return FailureRef(failure ? failure->retain() : nullptr);
  }
  /// Keeps the earlier of this one and `other`.
  void keepEarlier(Failure *other) {
    if (other && (!failure || other->sequence < failure->sequence))
      *this = share(other);
  }
  Failure *get() const { return failure; }
  Failure *operator->() const { return failure; }
  explicit operator bool() const { return failure != nullptr; }

private:
  Failure *failure = nullptr;
};

/// Failures not yet noticed, for wait_all. Bounded: a program that fails a million times and
/// never waits keeps the earliest `capacity` failures and the count of the others. Thread-safe.
class FailureLog {
public:
  explicit FailureLog(const mxrt_allocator *alloc) : alloc(alloc) {}
  ~FailureLog();
  FailureLog(const FailureLog &) = delete;

  /// Makes a new failure; never null. Without memory it is the log's own last resort, which says
  /// only "out of memory".
  FailureRef make(Status status, uint64_t sequence);
  /// Makes the failure visible to wait_all.
  void add(Failure *failure);
  /// The earliest unnoticed failure, as an error noticed at `location` in the source; all others
  /// are marked as noticed. Success if there is none. `repeat` (a test fault) returns noticed
  /// failures as well.
  Status takeFirst(mxrt_location location, bool repeat);
  /// Marks the failures of ops with this sequence number or a later one as noticed.
  void noticeFrom(uint64_t sequence);

private:
  static constexpr uint32_t capacity = 256;

  void forgetNoticed(); // under the mutex

  const mxrt_allocator *const alloc;
  Mutex mutex;
  Failure *first = nullptr;
  uint32_t count = 0;
  uint64_t dropped = 0;
  uint64_t earliestDropped = UINT64_MAX; // its sequence
  Failure lastResort{nullptr, outOfMemory(), UINT64_MAX};
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_FAILURE_H
