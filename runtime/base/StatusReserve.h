// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room set aside for errors, so that "out of memory" needs no memory and still
// carries its message and place. A runtime owns one; its errors may outlive the
// runtime and may need a slot when they are changed, so the reserve lives until
// the last of them is released.

#ifndef MXRT_BASE_STATUSRESERVE_H
#define MXRT_BASE_STATUSRESERVE_H

#include "mxrt/types.h"

namespace mxrt {

constexpr size_t reserveSlotBytes = 768;
constexpr int reserveSlots = 16;

/// nullptr if there is no memory. The creator holds one reference.
mxrt_status_reserve *createReserve(const mxrt_allocator *alloc);
void retainReserve(mxrt_status_reserve *reserve);
/// Gives the creator's reference back, or one from retainReserve.
void releaseReserve(mxrt_status_reserve *reserve);

/// A free slot, or nullptr if all are taken. Any thread.
void *takeReserveSlot(mxrt_status_reserve *reserve);
void returnReserveSlot(mxrt_status_reserve *reserve, void *slot);

} // namespace mxrt

#endif // MXRT_BASE_STATUSRESERVE_H
