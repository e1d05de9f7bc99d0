// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread budget, which keeps engine workers and parallel_for from oversubscribing the
// processors.

#ifndef MXRT_BASE_THREADBUDGET_H
#define MXRT_BASE_THREADBUDGET_H

#include "mxrt/parallel.h"

#include <atomic>

/// See mxrt/parallel.h. `available` may drop below zero while engine workers have entered and
/// helpers have not yet left; helpers check overdrawn() between chunks.
struct mxrt_thread_budget {
  mxrt_thread_budget(const mxrt_allocator &alloc, int32_t total)
      : alloc(alloc), total(total), available(total) {}

  int32_t free() const { return available.load(std::memory_order_relaxed); }
  bool overdrawn() const { return free() < 0; }

  mxrt_allocator alloc;
  int32_t total;
  std::atomic<int32_t> available;
  std::atomic<int32_t> peak{0};
};

#endif // MXRT_BASE_THREADBUDGET_H
