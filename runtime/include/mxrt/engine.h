// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dependency engine: asynchronous execution of ops, ordered by the variables they access.
//
// A variable represents anything that is read and written: a tensor's buffer, the state of a
// generator, a workspace, a kvstore key. An op names the variables it reads and those it
// writes. The engine runs ops so that every variable sees its reads and writes in push order:
// many readers at once, or one writer. Ops that share no variable run in parallel.
//
// Errors. If an op returns an error, the variables it wrote are poisoned. An op that reads or
// writes a poisoned variable is skipped and propagates the poison (the earliest error, by push
// order, if there are several). No other variable is affected. Variables that an op released
// before it failed (mxrt_op_release) stay clean.
//  - mxrt_engine_wait on a poisoned variable returns the error: the first time and every time
//    after, until an op with MXRT_OP_OVERWRITES writes it. The contents are not valid, so no
//    wait reports success.
//  - mxrt_engine_wait_all returns the earliest error that no wait has returned yet, with a note
//    on how many others there were, and marks all of them as noticed. Thus a second wait_all
//    succeeds, and an error caught at a wait is not raised again at the end of the program.
//  - Cancellation poisons as well (R0004) but is not an error for wait_all: the caller
//    requested it.
// The status names the source locations of the op and of the wait.
//
// Thread safety: every function may be called from any thread at any time, except that nothing
// else may run during mxrt_engine_destroy. Ops pushed by one thread have that thread's order;
// ops pushed by several threads at once are ordered by one of the possible interleavings, the
// same for all variables.

#ifndef MXRT_ENGINE_H
#define MXRT_ENGINE_H

#include "mxrt/parallel.h"
#include "mxrt/profile.h"
#include "mxrt/status.h"
#include "mxrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mxrt_engine mxrt_engine;
typedef struct mxrt_cancel mxrt_cancel;

/// Handle of a variable; 0 is the null handle. Handles carry a generation: a deleted handle is
/// detected and refused, even after its storage serves another variable.
typedef uint64_t mxrt_var;

/// The engine's interface to a running op. Valid until the op returns.
typedef struct mxrt_op_context mxrt_op_context;
/// An op whose function returned but that is not complete; see mxrt_op_defer.
typedef struct mxrt_op_token mxrt_op_token;

/// The function of an op. Returns NULL or an error, whose reference passes to the engine.
typedef mxrt_status (*mxrt_op_fn)(mxrt_op_context *context, void *payload);

typedef enum mxrt_engine_kind {
  /// For debugging. Each op runs on the pushing thread, before push returns, so the stack shows
  /// the caller that pushed it. Same results, bit for bit.
  MXRT_ENGINE_NAIVE = 0,
  MXRT_ENGINE_THREADED = 1
} mxrt_engine_kind;

/// Each lane has its own worker pool: one lane per device for kernels, one for copies between
/// devices, one for communication.
typedef enum mxrt_lane {
  MXRT_LANE_COMPUTE = 0,
  MXRT_LANE_COPY = 1,
  MXRT_LANE_COMMUNICATION = 2
} mxrt_lane;

enum {
  /// Run even if an input is poisoned or the op was cancelled. The function queries
  /// mxrt_op_input_error. Outputs stay poisoned unless the op also overwrites.
  MXRT_OP_ALWAYS_RUN = 1,
  /// The op replaces everything it writes: earlier poison of its outputs does not skip it and is
  /// cleared when it succeeds.
  MXRT_OP_OVERWRITES = 2,
  /// If the op is ready at once, run it on the pushing thread before push returns: for work
  /// that the caller will wait for anyway.
  MXRT_OP_INLINE = 4,
  /// Push without back-pressure (see mxrt_engine_options). For threads that complete deferred
  /// ops and must push first; pushes from inside an op never block.
  MXRT_OP_NO_THROTTLE = 8,
  /// The op will give variables back early (mxrt_op_release). A wait for one of them then leaves
  /// the op to the workers: run on the waiting thread, the op would delay the wait until its
  /// end. Release works without this flag.
  MXRT_OP_RELEASES = 16
};

/// Describes an op. Zero-initialise, then set the fields needed. The engine copies it.
typedef struct mxrt_op {
  mxrt_op_fn run;
  /// Passed to run. If payload_bytes > 0, that many bytes are copied at push, to an address
  /// that is a multiple of 16.
  void *payload;
  size_t payload_bytes;
  /// May be NULL. Called once with the payload when the op is complete, whether it ran or was
  /// skipped. Not called if push returns an error.
  void (*drop)(void *payload);
  /// No variable may occur twice, neither within one list nor across both.
  const mxrt_var *reads;
  size_t read_count;
  const mxrt_var *writes;
  size_t write_count;
  mxrt_device device;
  int32_t lane;     // mxrt_lane
  int32_t priority; // larger first among the ready ops of a lane
  uint32_t flags;   // MXRT_OP_*
  /// Name and file must live until the op is complete: literals, or text that the session
  /// keeps. (Copying them would cost more than the push.)
  const char *name;
  mxrt_location location;
  /// Bytes of output that the op keeps alive while in flight.
  uint64_t bytes;
  /// May be NULL. The engine takes a reference of its own.
  mxrt_cancel *cancel;
} mxrt_op;

/// Zero means the default for every field.
typedef struct mxrt_engine_options {
  const mxrt_allocator *allocator; // NULL: the system allocator
  int32_t kind;                    // mxrt_engine_kind
  int32_t workers_per_device;      // default: one per core of the machine
  int32_t copy_workers;            // default 1
  int32_t communication_workers;   // default 1
  /// Limits on ops and bytes in flight; a push blocks while they are reached (back-pressure).
  /// Default 1024 and 256 MB. An op that alone exceeds the bytes runs when nothing else does.
  /// The default byte limit grows for large ops, to twice the largest, up to a quarter of the
  /// memory; a limit set here does not grow.
  uint64_t max_ops;
  uint64_t max_bytes;
  /// Maximum time that idle workers and waiting threads spin before they sleep. Default 20;
  /// negative: never spin.
  int32_t spin_microseconds;
  /// Both may be NULL and must outlive the engine. Device workers count in the budget while
  /// they have ops to run (see holds_thread in parallel.h).
  mxrt_profile *profile;
  mxrt_thread_budget *thread_budget;
  /// May be NULL. While the word is not 0, ops are cancelled before they start, and running ops
  /// are notified (mxrt_context.cancelled).
  const uint32_t *cancelled;
} mxrt_engine_options;

typedef struct mxrt_engine_stats {
  uint64_t pushed;    // ops and deletions so far
  uint64_t completed; // of these
  uint64_t bytes_in_flight;
  uint64_t variables;  // alive
  uint64_t throttled;  // pushes that blocked on back-pressure
  uint64_t sleeps;     // times a worker went to sleep
  uint64_t failed;     // ops that returned an error
  uint64_t skipped;    // ops not run: poisoned or cancelled
} mxrt_engine_stats;

/// Creates an engine; `options` may be NULL. The workers of a lane start with its first op.
MXRT_EXPORT mxrt_status mxrt_engine_create(const mxrt_engine_options *options,
                                           mxrt_engine **engine);
/// The engine of a runtime, created by the first call and destroyed with the runtime;
/// `options` (may be NULL) is used by that call only. Fields left 0 come from the runtime:
/// allocator, thread budget, cancellation, profile, one worker per thread of the budget.
/// Without options, MX_ENGINE=naive or MX_ENGINE=threaded (the default) selects the kind; any
/// other value is R0007.
MXRT_EXPORT mxrt_status mxrt_runtime_engine(mxrt_runtime *runtime,
                                            const mxrt_engine_options *options,
                                            mxrt_engine **engine);
/// Waits for all ops in flight; pushes from ops return R0502 meanwhile. Variables still alive
/// end here without a call of their drop functions. Unnoticed errors are dropped: call wait_all
/// first. NULL is allowed. Not from inside an op.
MXRT_EXPORT void mxrt_engine_destroy(mxrt_engine *engine);

MXRT_EXPORT mxrt_status mxrt_engine_new_var(mxrt_engine *engine, mxrt_var *var);
/// Deletes the variable after all ops pushed on it; then `drop` (may be NULL) is called,
/// poisoned or not, on any thread. Cannot fail for lack of memory. The handle is dead when
/// this returns.
MXRT_EXPORT mxrt_status mxrt_engine_delete_var(mxrt_engine *engine,
                                               mxrt_var var,
                                               void (*drop)(void *payload),
                                               void *payload);
/// Number of completed writes, including skipped ones.
MXRT_EXPORT mxrt_status mxrt_engine_version(mxrt_engine *engine, mxrt_var var,
                                            uint64_t *version);

/// Pushes an op; the threaded engine returns before it runs. On error nothing was pushed.
/// Blocks on back-pressure if called from outside an op.
MXRT_EXPORT mxrt_status mxrt_engine_push(mxrt_engine *engine,
                                         const mxrt_op *op);
/// Pushes `count` ops with one wake-up of the workers. Stops at the first error; *pushed (may
/// be NULL) is the number pushed before it.
MXRT_EXPORT mxrt_status mxrt_engine_push_many(mxrt_engine *engine,
                                              const mxrt_op *ops, size_t count,
                                              size_t *pushed);

/// Waits until all writes pushed on `var` before this call are complete. R0501 from inside an
/// op (push an op that reads the variable instead).
MXRT_EXPORT mxrt_status mxrt_engine_wait(mxrt_engine *engine, mxrt_var var,
                                         mxrt_location location);
/// Waits until nothing is in flight, including ops pushed by ops. R0501 inside an op.
MXRT_EXPORT mxrt_status mxrt_engine_wait_all(mxrt_engine *engine,
                                             mxrt_location location);
/// Waits until nothing is in flight, then marks the errors of ops pushed as number `first` or
/// later (`first` was read from mxrt_engine_stats.pushed) as noticed. For a caller that handled
/// one of several errors: wait_all does not return the others. Poisoned variables stay
/// poisoned. R0501 inside an op.
MXRT_EXPORT mxrt_status mxrt_engine_notice_from(mxrt_engine *engine,
                                                uint64_t first,
                                                mxrt_location location);
/// *ready = 1 if a wait would return at once. Does not mark errors as noticed.
MXRT_EXPORT mxrt_status mxrt_engine_poll(mxrt_engine *engine, mxrt_var var,
                                         int32_t *ready);

/// Cancels every op pushed so far that has not started; running ops detect it with
/// mxrt_op_cancelled. Ops pushed later are not affected.
MXRT_EXPORT void mxrt_engine_cancel_all(mxrt_engine *engine);
MXRT_EXPORT void mxrt_engine_get_stats(mxrt_engine *engine,
                                       mxrt_engine_stats *stats);

/// A cancellation token shared by any number of ops, of any number of engines.
MXRT_EXPORT mxrt_status mxrt_cancel_create(const mxrt_allocator *allocator,
                                           mxrt_cancel **cancel);
MXRT_EXPORT mxrt_cancel *mxrt_cancel_retain(mxrt_cancel *cancel);
MXRT_EXPORT void mxrt_cancel_release(mxrt_cancel *cancel);
/// Irreversible. Safe in a signal handler.
MXRT_EXPORT void mxrt_cancel_request(mxrt_cancel *cancel);
MXRT_EXPORT int32_t mxrt_cancel_requested(const mxrt_cancel *cancel);
/// Non-zero once requested; for mxrt_context.cancelled. Valid as long as `cancel`.
MXRT_EXPORT const uint32_t *mxrt_cancel_word(const mxrt_cancel *cancel);

/// The functions below are for running ops.
/// 1 if the op should stop and return R0004. Cheap: poll it between kernels.
MXRT_EXPORT int32_t mxrt_op_cancelled(const mxrt_op_context *context);
/// The poison of an input, borrowed; NULL unless MXRT_OP_ALWAYS_RUN.
MXRT_EXPORT mxrt_status mxrt_op_input_error(const mxrt_op_context *context);
/// 1 if the op declared this access (write = 0: reading) and has not released the variable. In
/// checking mode, tensors check it before they return a pointer (else R0503).
MXRT_EXPORT int32_t mxrt_op_declares(const mxrt_op_context *context,
                                     mxrt_var var, int32_t write);
/// Gives back a variable that the op writes, before the op ends. From then on the op must not
/// read or write what the variable represents: ops, waits and deletions queued behind the op
/// may start while it still runs. The write counts as complete (see mxrt_engine_version), and
/// the op's own failure or cancellation no longer poisons it. Poison that the op inherited
/// (MXRT_OP_ALWAYS_RUN without MXRT_OP_OVERWRITES) stays on it.
///
/// R0501, without any effect: the op does not write the variable, it has released it before, or
/// it was deferred (then it may be complete already; variables released before mxrt_op_defer
/// stay released).
///
/// May be called by any thread that works for the op, while its function runs. Naive engine:
/// the same, except that ops run in push order, so ops pushed later still start after this op
/// has ended. Hence no op may block on an op that was pushed later.
MXRT_EXPORT mxrt_status mxrt_op_release(mxrt_op_context *context, mxrt_var var);
/// Keeps the op in flight after its function returned (whose result is then ignored) until
/// mxrt_op_complete. From the moment the token is passed on, context and payload may be freed.
MXRT_EXPORT mxrt_op_token *mxrt_op_defer(mxrt_op_context *context);
/// Completes a deferred op, from any thread, once. Takes ownership of `status`.
MXRT_EXPORT void mxrt_op_complete(mxrt_op_token *token, mxrt_status status);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_ENGINE_H
