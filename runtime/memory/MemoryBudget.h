// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limit on memory held by all CPU pools of a runtime, or by the pool of a GPU, and
// reclamation of memory that other pools only cache.

#ifndef MXRT_MEMORY_MEMORYBUDGET_H
#define MXRT_MEMORY_MEMORYBUDGET_H

#include "base/Allocator.h"
#include "base/Sync.h"

namespace mxrt {

class Pool;

/// Shared by the runtime and its pools; lives until the last reference is released, since
/// tensors may outlive their runtime. Thread-safe.
class MemoryBudget {
public:
  /// limit 0: only that of the machine, `machineBytes` (0: unknown).
  static Result<MemoryBudget *> create(const mxrt_allocator *alloc, int64_t limit,
                                       int64_t machineBytes = 0);
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();

  /// Counts `bytes` as held; false (nothing counted) if that would exceed the limit.
  bool hold(int64_t bytes);
  /// Whether hold() would succeed now; `ever`: if nothing else were held.
  bool hasRoom(int64_t bytes, bool ever = false) const {
    int64_t max = limit > 0 ? limit : machine;
    return max == 0 || (bytes <= max && (ever || heldBytes() <= max - bytes));
  }
  void drop(int64_t bytes) {
    held.fetch_sub(bytes, std::memory_order_relaxed);
  }
  int64_t heldBytes() const { return held.load(std::memory_order_relaxed); }
  int64_t limitBytes() const { return limit; }
  /// The memory of the machine if that is the limit, else 0.
  int64_t machineBytes() const { return limit > 0 ? 0 : machine; }
  /// Words for messages, around the size: static text. Before the first use.
  void nameMemory(const char *before, const char *after) {
    wordsBefore = before;
    wordsAfter = after;
  }
  const char *before() const { return wordsBefore; }
  const char *after() const { return wordsAfter; }

  /// False if out of memory for the entry.
  bool enlist(Pool *pool);
  void strike(Pool *pool);
  /// Makes every registered pool free its cache; returns the bytes freed. No pool's lock may be
  /// held.
  int64_t reclaim();

  /// Registers the issuer of asynchronous work, which frees memory when it completes. `wait`
  /// returns once that is so; false if nothing was in flight, or if the caller is part of it.
  /// Null: none. Not while another thread may run out of memory.
  void setRelief(bool (*wait)(void *), void *user) {
    reliefUser = user;
    relief = wait;
  }
  /// Waits for issued work. No pool's lock may be held.
  bool relieve() const { return relief && relief(reliefUser); }

  MemoryBudget(const mxrt_allocator &source, int64_t limit, int64_t machine)
      : alloc(source), limit(limit), machine(machine), pools(&alloc) {}

private:
  mxrt_allocator alloc;
  std::atomic<uint32_t> refs{1};
  const int64_t limit;
  const int64_t machine;
  const char *wordsBefore = "the machine has";
  const char *wordsAfter = "of memory and swap";
  bool (*relief)(void *) = nullptr;
  void *reliefUser = nullptr;
  std::atomic<int64_t> held{0};
  Mutex mutex;
  Vec<Pool *> pools; // guarded by mutex
};

} // namespace mxrt

#endif // MXRT_MEMORY_MEMORYBUDGET_H
