// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The profiler: records what ran, when, for how long, and from which source location. When off,
// it costs one relaxed load per op. When on, it records into memory of a fixed size; events
// that do not fit are counted, not kept.
//
// Thread safety: every function may be called from any thread at any time, except that destroy
// and reset need all recording threads to have stopped.

#ifndef MXRT_PROFILE_H
#define MXRT_PROFILE_H

#include "mxrt/status.h"
#include "mxrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mxrt_profile mxrt_profile;

typedef enum mxrt_profile_category {
  MXRT_PROFILE_OP = 0,
  MXRT_PROFILE_WAIT = 1,
  MXRT_PROFILE_COPY = 2,
  MXRT_PROFILE_ALLOCATION = 3,
  MXRT_PROFILE_HOST = 4,
  MXRT_PROFILE_CATEGORY_COUNT = 5
} mxrt_profile_category;

/// Receives `size` bytes of text at a time; an error ends the output and is returned by the
/// function that writes.
typedef mxrt_status (*mxrt_sink)(void *user, const char *text, size_t size);

/// `capacity` events of 128 bytes; 0 means 65,536. `allocator` may be NULL.
MXRT_EXPORT mxrt_status mxrt_profile_create(const mxrt_allocator *allocator,
                                            size_t capacity,
                                            mxrt_profile **profile);
/// The profile of a runtime, created (off) by the first call and destroyed with the runtime. Its
/// engine records into it.
MXRT_EXPORT mxrt_status mxrt_runtime_profile(mxrt_runtime *runtime,
                                             mxrt_profile **profile);
MXRT_EXPORT void mxrt_profile_destroy(mxrt_profile *profile);
/// Starts recording (the profile is created off). Keeps the recorded events. The first start
/// allocates the memory; an error means that the allocation failed.
MXRT_EXPORT mxrt_status mxrt_profile_start(mxrt_profile *profile);
MXRT_EXPORT void mxrt_profile_stop(mxrt_profile *profile);
/// Discards all events. Only while stopped.
MXRT_EXPORT void mxrt_profile_reset(mxrt_profile *profile);

/// Nanoseconds of the clock of the events.
MXRT_EXPORT int64_t mxrt_profile_now(void);
/// Records a span, for code that is not run by the engine. `name` and the location's file are
/// copied (their last 47 and 39 bytes). `lane` is -1 if there is none; `bytes` is 0 or the bytes
/// copied or allocated (negative: freed).
MXRT_EXPORT void mxrt_profile_record(mxrt_profile *profile,
                                     mxrt_profile_category category,
                                     const char *name, mxrt_location location,
                                     int32_t lane, int64_t begin_ns,
                                     int64_t end_ns, int64_t bytes);

/// Events kept and events lost for lack of room.
MXRT_EXPORT void mxrt_profile_count(mxrt_profile *profile, uint64_t *kept,
                                    uint64_t *lost);
/// Chrome trace JSON: opens in Perfetto and chrome://tracing.
MXRT_EXPORT mxrt_status mxrt_profile_write_trace(mxrt_profile *profile,
                                                 mxrt_sink sink, void *user);
/// A table: per category and name the count, total, mean, minimum and maximum,
/// largest total first. `rows` limits it; 0 means all.
MXRT_EXPORT mxrt_status mxrt_profile_write_summary(mxrt_profile *profile,
                                                   size_t rows, mxrt_sink sink,
                                                   void *user);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_PROFILE_H
