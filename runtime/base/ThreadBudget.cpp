// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread budget: an atomic counter of threads that may compute at the same time.

#include "base/ThreadBudget.h"
#include "base/Allocator.h"

using namespace mxrt;

static void notePeak(mxrt_thread_budget *budget, int32_t available) {
  int32_t used = budget->total - available;
  int32_t peak = budget->peak.load(std::memory_order_relaxed);
  while (used > peak && !budget->peak.compare_exchange_weak(
                            peak, used, std::memory_order_relaxed)) {
  }
}

extern "C" {

mxrt_status mxrt_thread_budget_create(const mxrt_allocator *allocator,
                                      int32_t threads,
                                      mxrt_thread_budget **out) {
  *out = nullptr;
  if (!allocator)
    allocator = mxrt_system_allocator();
  if (threads < 1)
    return error(allocator, MXRT_INVALID_ARGUMENT, noLocation,
                 "a thread budget needs at least 1 thread, not %d", threads)
        .release();
  *out = newObject<mxrt_thread_budget>(allocator, *allocator, threads);
  return *out ? nullptr : outOfMemory(allocator).release();
}

void mxrt_thread_budget_destroy(mxrt_thread_budget *budget) {
  if (!budget)
    return;
  mxrt_allocator alloc = budget->alloc;
  deleteObject(&alloc, budget);
}

void mxrt_thread_budget_enter(mxrt_thread_budget *budget) {
  notePeak(budget,
           budget->available.fetch_sub(1, std::memory_order_relaxed) - 1);
}

void mxrt_thread_budget_leave(mxrt_thread_budget *budget) {
  budget->available.fetch_add(1, std::memory_order_relaxed);
}

int32_t mxrt_thread_budget_take(mxrt_thread_budget *budget, int32_t wanted) {
  int32_t available = budget->available.load(std::memory_order_relaxed);
  for (;;) {
    int32_t taken = available < wanted ? available : wanted;
    if (taken <= 0)
      return 0;
    if (budget->available.compare_exchange_weak(available, available - taken,
                                                std::memory_order_relaxed)) {
      notePeak(budget, available - taken);
      return taken;
    }
  }
}

void mxrt_thread_budget_give(mxrt_thread_budget *budget, int32_t count) {
  if (count > 0)
    budget->available.fetch_add(count, std::memory_order_relaxed);
}

int32_t mxrt_thread_budget_total(const mxrt_thread_budget *budget) {
  return budget->total;
}
int32_t mxrt_thread_budget_used(const mxrt_thread_budget *budget) {
  return budget->total - budget->available.load(std::memory_order_relaxed);
}
int32_t mxrt_thread_budget_peak(const mxrt_thread_budget *budget) {
  return budget->peak.load(std::memory_order_relaxed);
}

} // extern "C"
