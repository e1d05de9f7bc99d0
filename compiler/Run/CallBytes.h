// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Actual memory use of calls of a variant, to be compared with its plan.
#pragma once
#include "mxrt/memory.h"
#include <atomic>

namespace mx::run {

/// Thread-safe.
struct CallBytes {
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> leased{0};  ///< max over the calls, from arenas
  std::atomic<int64_t> besides{0}; ///< max over the calls, from the allocator otherwise

  void add(int64_t leasedNow, int64_t besidesNow);
};

/// The context of one call, with an allocator that tracks the bytes allocated at once.
class CountedContext {
public:
  explicit CountedContext(const mxrt_context &context);
  CountedContext(const CountedContext &) = delete;
  const mxrt_context *get() const { return &context; }
  int64_t peak() const { return maxBytes; }

private:
  const mxrt_allocator *inner;
  mxrt_allocator counting;
  mxrt_context context;
  std::atomic<int64_t> now{0}, maxBytes{0};

  static void *allocate(void *user, size_t bytes, size_t align);
  static void release(void *user, void *memory, size_t bytes, size_t align);
};

} // namespace mx::run
