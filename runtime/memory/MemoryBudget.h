// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limit on memory held by all CPU pools of a runtime, and how a pool that
// is short of memory gets at what the others only cache.

#ifndef MXRT_MEMORY_MEMORYBUDGET_H
#define MXRT_MEMORY_MEMORYBUDGET_H

#include "base/Allocator.h"
#include "base/Sync.h"

namespace mxrt {

class Pool;

/// Shared by the runtime and its pools; lives until the last lets go, since
/// tensors may outlive their runtime. Any thread.
class MemoryBudget {
public:
  /// limit 0: none.
  static Result<MemoryBudget *> create(const mxrt_allocator *alloc,
                                       int64_t limit);
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();

  /// Counts `bytes` as held; false (nothing counted) if that breaks the limit.
  bool hold(int64_t bytes);
  void drop(int64_t bytes) {
    held.fetch_sub(bytes, std::memory_order_relaxed);
  }
  int64_t heldBytes() const { return held.load(std::memory_order_relaxed); }
  int64_t limitBytes() const { return limit; }

  /// False if there is no memory for the entry.
  bool enlist(Pool *pool);
  void strike(Pool *pool);
  /// Makes every enlisted pool give its cache back; returns the bytes gained.
  /// No pool's lock may be held.
  int64_t reclaim();

  MemoryBudget(const mxrt_allocator &source, int64_t limit)
      : alloc(source), limit(limit), pools(&alloc) {}

private:
  mxrt_allocator alloc;
  std::atomic<uint32_t> refs{1};
  const int64_t limit;
  std::atomic<int64_t> held{0};
  Mutex mutex;
  Vec<Pool *> pools; // guarded by mutex
};

} // namespace mxrt

#endif // MXRT_MEMORY_MEMORYBUDGET_H
