// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// parallel_for, the single entry for parallelism inside an op (fork-join, chunks with work
// stealing), and the context that compiled code receives. Part of mxrt_core.

#ifndef MXRT_PARALLEL_H
#define MXRT_PARALLEL_H

#include "mxrt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Counts the threads that may compute at the same time in a runtime. Engine workers and
/// parallel_for share one budget, so that together they never use more threads than processors.
typedef struct mxrt_thread_budget mxrt_thread_budget;

/// Helper threads of one device. They start with the first parallel_for.
typedef struct mxrt_team mxrt_team;

/// The argument of every kernel, orchestrator and engine op. Lives for one call on one thread;
/// a chunk of a parallel_for gets its own copy.
///
/// Layout is ABI: only append. The first 64 bytes are those of ABI 2.0: the part that
/// mxrt_context_init and mxrt_runtime_context write, that compiled code copies for the kernels
/// it calls, and that functions of the runtime read. The fields after it exist only if a flag
/// in the first part says so.
typedef struct mxrt_context {
  /// Never NULL in a context made by the runtime.
  const mxrt_allocator *allocator;
  /// NULL: parallel_for runs on the calling thread.
  mxrt_team *team;
  /// A non-zero word requests a stop; read atomically. NULL: cannot be cancelled.
  const uint32_t *cancelled;
  /// NULL in ahead-of-time code that runs without libmxrt.
  mxrt_runtime *runtime;
  mxrt_device device;
  /// 1 inside a chunk of a parallel_for: nested ones run inline.
  uint32_t nested;
  /// Bit 0: the calling thread already counts in the team's thread budget (an engine worker
  /// does). Bit 1 (MXRT_CONTEXT_READY): `ready` exists.
  uint32_t holds_thread;
  /// Source location of the running op, for errors. May be all zero.
  mxrt_location location;
  /// Callback for a complete result; see mxrt_ready. May be NULL.
  mxrt_status (*ready)(void *user, int64_t output);
  void *ready_user;
} mxrt_context;

enum {
  MXRT_CONTEXT_HOLDS_THREAD = 1,
  MXRT_CONTEXT_READY = 2
};

/// A context for ahead-of-time code: system allocator, no team, no runtime.
MXRT_EXPORT void mxrt_context_init(mxrt_context *context);

/// Reports that result number `output` of the call (0 for the first of its writes) is complete:
/// the call neither reads nor writes it from now on, so work on it may start before the call
/// ends (mxrt_op_release). Without a callback nothing happens. An error is a usage error
/// (R0501: no such output, or reported twice); the caller must return it.
///
/// `context` is the context that the call received, not a copy of its first part. Chunks of a
/// parallel_for have no callback: a result is complete after the loop.
MXRT_EXPORT mxrt_status mxrt_ready(const mxrt_context *context, int64_t output);

/// NULL, or R0004 if the work of this context must stop.
MXRT_EXPORT mxrt_status mxrt_poll(const mxrt_context *context);

/// The body of one chunk: elements begin <= i < end, the chunk's number, and a context for this
/// chunk. An error ends the loop.
typedef mxrt_status (*mxrt_range_body)(void *user, int64_t begin, int64_t end,
                                       int64_t chunk,
                                       const mxrt_context *context);

/// Calls body for [0, count), split into chunks of `grain` elements (the last may be shorter).
/// With grain 0 the runtime chooses. The partition is a function of count and grain only, never
/// of the number of threads: a reduction that keeps one partial result per chunk and combines
/// them in chunk order gives the same bits everywhere.
///
/// Returns when all chunks are complete. If chunks fail, chunks with a higher number that have
/// not started are skipped, and the error of the lowest failing chunk is returned, so the error
/// does not depend on the threads either. Cancellation is polled before each chunk.
///
/// Runs inline with a single chunk, when context->nested is set, without a team, or when no
/// thread is available. Thread-safe; several threads may share a team.
MXRT_EXPORT mxrt_status mxrt_parallel_for(const mxrt_context *context,
                                          int64_t count, int64_t grain,
                                          mxrt_range_body body, void *user);

/// The number of chunks of mxrt_parallel_for, to size partial results. 0 for count <= 0.
MXRT_EXPORT int64_t mxrt_parallel_chunks(int64_t count, int64_t grain);

/// A budget of `threads` (at least 1). NULL *out on failure.
MXRT_EXPORT mxrt_status mxrt_thread_budget_create(
    const mxrt_allocator *allocator, int32_t threads, mxrt_thread_budget **out);
MXRT_EXPORT void mxrt_thread_budget_destroy(mxrt_thread_budget *budget);
/// Takes one thread unconditionally (an engine worker about to run an op). The budget may be
/// overdrawn until helpers notice it at their next chunk and leave.
MXRT_EXPORT void mxrt_thread_budget_enter(mxrt_thread_budget *budget);
MXRT_EXPORT void mxrt_thread_budget_leave(mxrt_thread_budget *budget);
/// Takes up to `wanted` threads, never overdrawing; returns how many.
MXRT_EXPORT int32_t mxrt_thread_budget_take(mxrt_thread_budget *budget,
                                            int32_t wanted);
MXRT_EXPORT void mxrt_thread_budget_give(mxrt_thread_budget *budget,
                                         int32_t count);
MXRT_EXPORT int32_t mxrt_thread_budget_total(const mxrt_thread_budget *budget);
/// Threads in use now, and the maximum so far.
MXRT_EXPORT int32_t mxrt_thread_budget_used(const mxrt_thread_budget *budget);
MXRT_EXPORT int32_t mxrt_thread_budget_peak(const mxrt_thread_budget *budget);

/// A team with up to budget total - 1 helpers. `budget` must outlive it.
/// `allocator` is copied.
MXRT_EXPORT mxrt_status mxrt_team_create(const mxrt_allocator *allocator,
                                         mxrt_thread_budget *budget,
                                         mxrt_team **out);
/// Joins the helpers. No parallel_for may be running.
MXRT_EXPORT void mxrt_team_destroy(mxrt_team *team);
MXRT_EXPORT mxrt_thread_budget *mxrt_team_budget(mxrt_team *team);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_PARALLEL_H
