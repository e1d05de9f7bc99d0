// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An allocator for tests: counts, checks that every block comes back with the
// size and alignment it was asked with, and fails on demand.
//
// It can also record the call stack of the first refused request; see
// sweep/AllocationSweep.h.

#ifndef MX_TEST_UNIT_RUNTIME_TESTALLOCATOR_H
#define MX_TEST_UNIT_RUNTIME_TESTALLOCATOR_H

#include "mxrt/status.h"

#include <cstdlib>
#include <execinfo.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>

class TestAllocator {
public:
  enum class Fail { Never, Once, From };

  /// Fails call number `n` (from 1), or it and all after it.
  explicit TestAllocator(Fail mode = Fail::Never, long n = 0)
      : mode(mode), failAt(n) {}

  const mxrt_allocator *get() const { return &table; }
  long calls() const {
    auto guard = lock();
    return callCount;
  }
  long failures() const {
    auto guard = lock();
    return failureCount;
  }
  long liveBlocks() const {
    auto guard = lock();
    return static_cast<long>(live.size());
  }
  long liveBytes() const {
    auto guard = lock();
    return bytesLive;
  }
  /// Empty if every release matched its allocate.
  std::string mistake() const {
    auto guard = lock();
    return firstMistake;
  }
  /// From now on nothing fails.
  void relent() {
    std::lock_guard<std::mutex> guard(mutex);
    mode = Fail::Never;
  }
  /// From now on everything fails.
  void refuse() {
    std::lock_guard<std::mutex> guard(mutex);
    mode = Fail::From;
    failAt = 0;
  }
  /// Counted from now: call number `n` fails, and no other.
  void refuseNth(long n) {
    std::lock_guard<std::mutex> guard(mutex);
    mode = Fail::Once;
    failAt = callCount + n;
  }
  /// Keeps the stack of the first refusal.
  void traceRefusal() { tracing = true; }
  /// Return addresses of the first refusal, innermost first.
  std::vector<void *> refusalTrace() const {
    auto guard = lock();
    return trace;
  }

private:
  struct Request {
    size_t bytes, align;
  };

  std::unique_lock<std::mutex> lock() const {
    return std::unique_lock<std::mutex>(mutex);
  }

  static void *allocate(void *user, size_t bytes, size_t align) {
    auto *self = static_cast<TestAllocator *>(user);
    std::lock_guard<std::mutex> guard(self->mutex);
    ++self->callCount;
    if ((self->mode == Fail::Once && self->callCount == self->failAt) ||
        (self->mode == Fail::From && self->callCount >= self->failAt)) {
      if (self->failureCount++ == 0 && self->tracing)
        self->noteCaller();
      return nullptr;
    }
    if (bytes > size_t(1) << 40)
      return nullptr; // as a machine without memory does
    size_t usable = align < sizeof(void *) ? sizeof(void *) : align;
    void *memory = nullptr;
    if (posix_memalign(&memory, usable, bytes ? bytes : 1) != 0)
      return nullptr;
    self->live[memory] = {bytes, align};
    self->bytesLive += static_cast<long>(bytes);
    return memory;
  }

  static void release(void *user, void *memory, size_t bytes, size_t align) {
    auto *self = static_cast<TestAllocator *>(user);
    std::lock_guard<std::mutex> guard(self->mutex);
    auto found = self->live.find(memory);
    if (found == self->live.end())
      self->firstMistake = "released an address that is not live";
    else if (found->second.bytes != bytes || found->second.align != align)
      self->firstMistake = "asked for " + std::to_string(found->second.bytes) +
                           ", released as " + std::to_string(bytes);
    if (found != self->live.end()) {
      self->bytesLive -= static_cast<long>(found->second.bytes);
      self->live.erase(found);
    }
    free(memory);
  }

  void noteCaller() {
    void *frames[24];
    int count = backtrace(frames, 24);
    trace.assign(frames, frames + (count > 0 ? count : 0));
  }

  mutable std::mutex mutex;
  Fail mode;
  long failAt;
  long callCount = 0;
  long failureCount = 0;
  long bytesLive = 0;
  bool tracing = false;
  std::vector<void *> trace;
  std::string firstMistake;
  std::map<void *, Request> live;
  mxrt_allocator table = {this, allocate, release, nullptr};
};

#endif // MX_TEST_UNIT_RUNTIME_TESTALLOCATOR_H
