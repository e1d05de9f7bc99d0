// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accounting of held memory, and reclamation of cached memory across pools.

#include "memory/MemoryBudget.h"
#include "memory/Pool.h"

namespace mxrt {

Result<MemoryBudget *> MemoryBudget::create(const mxrt_allocator *alloc,
                                            int64_t limit, int64_t machineBytes) {
  auto *budget = newObject<MemoryBudget>(alloc, *alloc, limit, machineBytes);
  if (!budget)
    return outOfMemory(alloc);
  return budget;
}

void MemoryBudget::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  mxrt_allocator source = alloc;
  deleteObject(&source, this);
}

bool MemoryBudget::hold(int64_t bytes) {
  int64_t max = limit > 0 ? limit : machine;
  int64_t now = held.load(std::memory_order_relaxed);
  do {
    if (max > 0 && (bytes > max || now > max - bytes))
      return false;
  } while (
      !held.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed));
  return true;
}

bool MemoryBudget::enlist(Pool *pool) {
  Lock lock(mutex);
  return pools.push(pool);
}

void MemoryBudget::strike(Pool *pool) {
  Lock lock(mutex);
  for (size_t i = 0; i < pools.size(); ++i)
    if (pools[i] == pool) {
      pools.swapRemove(i);
      return;
    }
}

int64_t MemoryBudget::reclaim() {
  Lock lock(mutex);
  int64_t gained = 0;
  for (Pool *pool : pools)
    gained += pool->trim();
  return gained;
}

} // namespace mxrt
