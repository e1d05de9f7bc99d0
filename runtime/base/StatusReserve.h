// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preallocated memory for errors, so that "out of memory" needs no memory and still carries its
// message and source location. A runtime owns one reserve; its errors may outlive the runtime
// and may need a slot when they are changed, so the reserve lives until the last of them is
// released.

#ifndef MXRT_BASE_STATUSRESERVE_H
#define MXRT_BASE_STATUSRESERVE_H

#include "mxrt/types.h"

namespace mxrt {

constexpr size_t reserveSlotBytes = 768;
constexpr int reserveSlots = 16;

/// nullptr if out of memory. The creator holds one reference.
mxrt_status_reserve *createReserve(const mxrt_allocator *alloc);
void retainReserve(mxrt_status_reserve *reserve);
/// Releases the creator's reference, or one from retainReserve.
void releaseReserve(mxrt_status_reserve *reserve);

/// A free slot, or nullptr if all are taken. Thread-safe.
void *takeReserveSlot(mxrt_status_reserve *reserve);
void returnReserveSlot(mxrt_status_reserve *reserve, void *slot);

} // namespace mxrt

#endif // MXRT_BASE_STATUSRESERVE_H
