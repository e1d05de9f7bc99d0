// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots of preallocated memory for errors, allocated lock-free from a bit mask.

#include "base/StatusReserve.h"
#include "base/Allocator.h"

#include <atomic>

struct mxrt_status_reserve {
  explicit mxrt_status_reserve(const mxrt_allocator &alloc) : alloc(alloc) {}

  mxrt_allocator alloc;
  std::atomic<uint32_t> refs{1}; // the creator and every error
  std::atomic<uint32_t> taken{0}; // one bit per slot
  alignas(std::max_align_t) char slots[mxrt::reserveSlots]
                                      [mxrt::reserveSlotBytes];
};

namespace mxrt {

mxrt_status_reserve *createReserve(const mxrt_allocator *alloc) {
  return newObject<mxrt_status_reserve>(alloc, *alloc);
}

void retainReserve(mxrt_status_reserve *reserve) {
  if (reserve)
    reserve->refs.fetch_add(1, std::memory_order_relaxed);
}

void releaseReserve(mxrt_status_reserve *reserve) {
  if (!reserve ||
      reserve->refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  mxrt_allocator alloc = reserve->alloc;
  deleteObject(&alloc, reserve);
}

void *takeReserveSlot(mxrt_status_reserve *reserve) {
  static_assert(reserveSlots < 32);
  uint32_t taken = reserve->taken.load(std::memory_order_relaxed);
  for (;;) {
    uint32_t free = ~taken & ((1u << reserveSlots) - 1);
    if (free == 0)
      return nullptr;
    int slot = __builtin_ctz(free);
    // Acquire pairs with the release of the slot's previous user.
    if (reserve->taken.compare_exchange_weak(taken, taken | (1u << slot),
                                             std::memory_order_acquire)) {
      reserve->refs.fetch_add(1, std::memory_order_relaxed);
      return reserve->slots[slot];
    }
  }
}

void returnReserveSlot(mxrt_status_reserve *reserve, void *slot) {
  auto index = static_cast<size_t>(static_cast<char *>(slot) -
                                   reserve->slots[0]) /
               reserveSlotBytes;
  reserve->taken.fetch_and(~(1u << index), std::memory_order_release);
  releaseReserve(reserve);
}

} // namespace mxrt
