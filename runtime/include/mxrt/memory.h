// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory: statistics, limits and arenas. Tensors are in tensor.h.

#ifndef MXRT_MEMORY_H
#define MXRT_MEMORY_H

#include "mxrt/parallel.h"
#include "mxrt/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Statistics of one device's pool.
typedef struct mxrt_memory_stats {
  int64_t live_bytes;   // allocated and not yet freed
  int64_t peak_bytes;   // maximum of live_bytes so far
  int64_t cached_bytes; // kept for reuse, not live
  int64_t held_bytes;   // taken from the allocator: live (rounded) + cached
  int64_t limit_bytes;  // of the whole runtime; 0: none
  int64_t live_blocks;
  int64_t allocations;  // requests served since the start
  int64_t reused;       // of these, from the cache
  int64_t leased_bytes; // part of live_bytes that is arenas
} mxrt_memory_stats;

/// Thread-safe. R0401 for an unknown device.
MXRT_EXPORT mxrt_status mxrt_memory_get_stats(mxrt_runtime *runtime,
                                              const mxrt_device *device,
                                              mxrt_memory_stats *out);

/// Statistics of one source location. An unknown location has file NULL.
typedef struct mxrt_memory_site {
  mxrt_location location;
  int64_t live_bytes;
  int64_t peak_bytes;
  int64_t live_blocks;
  int64_t allocations;
} mxrt_memory_site;

/// Calls visit for every source location that has allocated on the device, in order of first
/// use. visit must not call the runtime; location.file is valid during the call.
MXRT_EXPORT mxrt_status mxrt_memory_visit_sites(
    mxrt_runtime *runtime, const mxrt_device *device,
    void (*visit)(void *user, const mxrt_memory_site *site), void *user);

/// Resets peaks to the bytes live now.
MXRT_EXPORT mxrt_status mxrt_memory_reset_peak(mxrt_runtime *runtime,
                                               const mxrt_device *device);
/// Returns cached memory to the allocator. Thread-safe.
MXRT_EXPORT mxrt_status mxrt_memory_trim(mxrt_runtime *runtime,
                                         const mxrt_device *device);

/// The memory of one call of a graph: offsets in it were fixed at compile time. Starts at a
/// multiple of MXRT_ALIGNMENT. Contents are undefined.
typedef struct mxrt_arena {
  void *base;
  int64_t bytes;
  /// Private to the owner; do not touch.
  void *owner;
  int64_t held;
  uint32_t site;
} mxrt_arena;

/// Leases an arena of at least `bytes` from the device's pool. Many leases may exist at once:
/// concurrent calls multiply. Errors name `what` (a graph) and bytes.
MXRT_EXPORT mxrt_status mxrt_arena_lease(mxrt_runtime *runtime,
                                         const mxrt_device *device,
                                         int64_t bytes, const char *what,
                                         const mxrt_location *location,
                                         mxrt_arena *out);
/// Returns a lease; an arena that is all zero is allowed. Thread-safe.
MXRT_EXPORT void mxrt_arena_return(mxrt_arena *arena);

// Part of mxrt_core: arenas without a runtime, and slices of any arena.

/// An arena directly from an allocator (NULL: the system allocator).
MXRT_EXPORT mxrt_status mxrt_arena_open(const mxrt_allocator *allocator,
                                        int64_t bytes, mxrt_arena *out);
MXRT_EXPORT void mxrt_arena_close(const mxrt_allocator *allocator,
                                  mxrt_arena *arena);
/// An arena over memory that the caller owns: R0002 unless `memory` is aligned.
MXRT_EXPORT mxrt_status mxrt_arena_wrap(const mxrt_context *context,
                                        void *memory, int64_t bytes,
                                        mxrt_arena *out);
/// base + offset, checked: inside the arena and aligned, else R0001, since only an incorrect
/// memory plan can request anything else.
MXRT_EXPORT mxrt_status mxrt_arena_slice(const mxrt_context *context,
                                         const mxrt_arena *arena,
                                         int64_t offset, int64_t bytes,
                                         void **out);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_MEMORY_H
