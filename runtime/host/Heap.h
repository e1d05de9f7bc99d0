// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The heap of one VM: the runtime's allocator with accounting and a limit. Belongs to the thread
// that runs the VM.

#ifndef MXRT_HOST_HEAP_H
#define MXRT_HOST_HEAP_H

#include "base/Allocator.h"

namespace mxrt::host {

struct Object;

class Heap {
public:
  Heap(const mxrt_allocator *base, size_t limit)
      : base(base), limit(limit),
        counted{this, allocateCounted, releaseCounted, nullptr} {}
  Heap(const Heap &) = delete;
  Heap &operator=(const Heap &) = delete;

  /// nullptr if out of memory or if the limit would be exceeded; exhausted() tells which of the
  /// two.
  void *allocate(size_t bytes, size_t align = 16) {
    if (bytes > limit - live) [[unlikely]] {
      limitHit = true;
      return nullptr;
    }
    void *memory = base->allocate(base->user, bytes, align);
    if (!memory) [[unlikely]] {
      limitHit = false;
      return nullptr;
    }
    live += bytes;
    return memory;
  }
  void release(void *memory, size_t bytes, size_t align = 16) {
    live -= bytes;
    base->release(base->user, memory, bytes, align);
  }

  /// The error for the last failed allocation. Never allocates more than a status may.
  Status exhausted() const {
    if (!limitHit)
      return outOfMemory(base);
    return error(base, MXRT_MEMORY_LIMIT, noLocation,
                 "host values would need more than the limit of %zu bytes",
                 limit);
  }

  /// For Vec and other users of the mxrt_allocator interface.
  const mxrt_allocator *allocator() const { return &counted; }
  /// For errors, which may outlive the VM.
  const mxrt_allocator *baseAllocator() const { return base; }
  size_t liveBytes() const { return live; }
  size_t limitBytes() const { return limit; }

  /// Destroys an object without references, and everything that it alone held. Iterates over a
  /// worklist, so that a chain of a million values does not need a million C++ frames.
  void destroy(Object *object);

private:
  static void *allocateCounted(void *user, size_t bytes, size_t align) {
    return static_cast<Heap *>(user)->allocate(bytes, align);
  }
  static void releaseCounted(void *user, void *memory, size_t bytes,
                             size_t align) {
    static_cast<Heap *>(user)->release(memory, bytes, align);
  }

  const mxrt_allocator *base;
  size_t limit;
  size_t live = 0;
  bool limitHit = false;
  bool draining = false;
  Object *dying = nullptr; // chained by Object::next
  mxrt_allocator counted;
};

/// Memory that is freed all at once: the tables of a decoded module.
class Arena {
public:
  explicit Arena(Heap &heap) : heap(heap) {}
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena();

  /// nullptr if out of memory. T is plain data; it is not initialised.
  template <typename T> T *array(size_t count) {
    if (count > SIZE_MAX / 4 / sizeof(T))
      return nullptr;
    return static_cast<T *>(bytes(count * sizeof(T), alignof(T)));
  }
  void *bytes(size_t count, size_t align);

private:
  struct Block {
    Block *next;
    size_t size;
  };
  Heap &heap;
  Block *blocks = nullptr;
  char *cursor = nullptr;
  char *end = nullptr;
};

} // namespace mxrt::host

#endif // MXRT_HOST_HEAP_H
