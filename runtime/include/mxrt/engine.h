// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dependency engine: who may run when.
//
// A variable stands for anything that is read and written: a tensor's buffer,
// the state of a generator, a workspace, a kvstore key. An op names the
// variables it reads and those it writes. The engine runs ops so that every
// variable sees its reads and writes in the order in which they were pushed:
// many readers at once, or one writer. Ops that share nothing run in parallel.
//
// Errors. The status an op returns poisons what it wrote. An op that reads or
// writes a poisoned variable is not run and passes the poison on (the earliest
// error, by push order, if there are several). Nothing else is touched.
//  - mxrt_engine_wait on a poisoned variable returns the error: the first time
//    and every time after, until an op with MXRT_OP_OVERWRITES writes it. The
//    contents are not valid, so no wait pretends they were.
//  - mxrt_engine_wait_all returns the earliest error that no wait has returned
//    yet, with a note on how many others there were, and marks all of them as
//    noticed. Thus a second wait_all is clean, and an error caught at a wait
//    is not raised again at the end of the program.
//  - Cancellation poisons as well (R0004) but is not an error for wait_all:
//    somebody asked for it.
// The status names the place that issued the op and the place of the wait.
//
// Thread rule: every function may be called from any thread at any time,
// except that nothing else may run during mxrt_engine_destroy. Ops pushed by
// one thread have that thread's order; ops pushed by several threads at once
// are ordered by one of the possible interleavings, the same for all variables.

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

/// A variable. 0 is none. Handles carry a generation: one that was deleted is
/// recognised and refused, also after its storage serves another variable.
typedef uint64_t mxrt_var;

/// What an op sees of the engine while it runs. Valid until the op returns.
typedef struct mxrt_op_context mxrt_op_context;
/// An op that returned but is not finished; see mxrt_op_defer.
typedef struct mxrt_op_token mxrt_op_token;

/// The work of an op: NULL or an error, whose reference goes to the engine.
typedef mxrt_status (*mxrt_op_fn)(mxrt_op_context *context, void *payload);

typedef enum mxrt_engine_kind {
  /// Each op runs on the pushing thread, before push returns. The stack shows
  /// who pushed: the engine for debugging. Same results, bit for bit.
  MXRT_ENGINE_NAIVE = 0,
  MXRT_ENGINE_THREADED = 1
} mxrt_engine_kind;

/// A pool of workers of its own each: one per device for kernels, one for
/// copies between devices, one for communication.
typedef enum mxrt_lane {
  MXRT_LANE_COMPUTE = 0,
  MXRT_LANE_COPY = 1,
  MXRT_LANE_COMMUNICATION = 2
} mxrt_lane;

enum {
  /// Run even if an input is poisoned or the op was cancelled. The function
  /// asks mxrt_op_input_error. Outputs stay poisoned unless it also overwrites.
  MXRT_OP_ALWAYS_RUN = 1,
  /// The op replaces all it writes: earlier poison there does not matter to it
  /// and is gone when it succeeds.
  MXRT_OP_OVERWRITES = 2,
  /// If nothing has to be waited for, run on the pushing thread before push
  /// returns: for work that the caller will wait for anyway.
  MXRT_OP_INLINE = 4,
  /// Do not wait for room (see mxrt_engine_options). For threads that complete
  /// deferred ops and must push first; pushes from inside an op never wait.
  MXRT_OP_NO_THROTTLE = 8
};

/// One op. Zero-initialise, then set what is needed. The engine copies it.
typedef struct mxrt_op {
  mxrt_op_fn run;
  /// Handed to run. If payload_bytes > 0 so many bytes are copied at push, to
  /// an address that is a multiple of 16.
  void *payload;
  size_t payload_bytes;
  /// May be NULL. Called once with the payload when the op is over, whether it
  /// ran or not. Not called if push returns an error.
  void (*drop)(void *payload);
  /// No variable may occur twice, neither in one list nor in both.
  const mxrt_var *reads;
  size_t read_count;
  const mxrt_var *writes;
  size_t write_count;
  mxrt_device device;
  int32_t lane;     // mxrt_lane
  int32_t priority; // larger first among ops that are ready on a lane
  uint32_t flags;   // MXRT_OP_*
  /// Name and file must live until the op is over: literals, or text that the
  /// session keeps. (Copying them would cost more than the push.)
  const char *name;
  mxrt_place place;
  /// Bytes of output that the op keeps alive while in flight.
  uint64_t bytes;
  /// May be NULL. The engine takes a reference of its own.
  mxrt_cancel *cancel;
} mxrt_op;

/// Zero means the default everywhere.
typedef struct mxrt_engine_options {
  const mxrt_allocator *allocator; // NULL: the system's
  int32_t kind;                    // mxrt_engine_kind
  int32_t workers_per_device;      // default: one per core of the machine
  int32_t copy_workers;            // default 1
  int32_t communication_workers;   // default 1
  /// A push waits while so many ops or bytes are in flight. Default 1024 and
  /// 256 MB. An op that alone exceeds the bytes runs when nothing else does.
  uint64_t max_ops;
  uint64_t max_bytes;
  /// How long idle workers and waits look before they sleep, at most.
  /// Default 20; negative: not at all.
  int32_t spin_microseconds;
  /// Both may be NULL and must outlive the engine. Workers of devices count in
  /// the budget while they have ops to run (see holds_thread in parallel.h).
  mxrt_profile *profile;
  mxrt_thread_budget *thread_budget;
  /// May be NULL. While the word is not 0, ops are cancelled when they would
  /// begin, and running ones learn of it (mxrt_context.cancelled).
  const uint32_t *cancelled;
} mxrt_engine_options;

typedef struct mxrt_engine_stats {
  uint64_t pushed;    // ops and deletions so far
  uint64_t completed; // of those
  uint64_t bytes_in_flight;
  uint64_t variables;  // alive
  uint64_t throttled;  // pushes that waited for room
  uint64_t sleeps;     // times a worker went to sleep
  uint64_t failed;     // ops that returned an error
  uint64_t skipped;    // ops not run: poisoned or cancelled
} mxrt_engine_stats;

/// `options` may be NULL. Workers of a lane start with its first op.
MXRT_EXPORT mxrt_status mxrt_engine_create(const mxrt_engine_options *options,
                                           mxrt_engine **engine);
/// The engine of a runtime, made by the first call and destroyed with the
/// runtime; `options` (may be NULL) counts in that call only. What it leaves 0
/// comes from the runtime: allocator, thread budget, cancellation, profile, one
/// worker per thread of the budget. Without options MX_ENGINE=naive or
/// MX_ENGINE=threaded (the default) decides; anything else there is R0007.
MXRT_EXPORT mxrt_status mxrt_runtime_engine(mxrt_runtime *runtime,
                                            const mxrt_engine_options *options,
                                            mxrt_engine **engine);
/// Waits for what is in flight; pushes from ops get R0502 meanwhile. Variables
/// still alive end here without their delete functions. Errors not yet noticed
/// are dropped: wait_all first. NULL is fine. Not from inside an op.
MXRT_EXPORT void mxrt_engine_destroy(mxrt_engine *engine);

MXRT_EXPORT mxrt_status mxrt_engine_new_var(mxrt_engine *engine, mxrt_var *var);
/// The variable ends after all that was pushed on it; then `drop` (may be
/// NULL) is called, poisoned or not, on whatever thread got there. Cannot fail
/// for want of memory. The handle is dead when this returns.
MXRT_EXPORT mxrt_status mxrt_engine_delete_var(mxrt_engine *engine,
                                               mxrt_var var,
                                               void (*drop)(void *payload),
                                               void *payload);
/// Writes finished so far, skipped ones included.
MXRT_EXPORT mxrt_status mxrt_engine_version(mxrt_engine *engine, mxrt_var var,
                                            uint64_t *version);

/// Returns before the op ran (threaded). On error nothing was pushed. Waits
/// for room if called from outside an op.
MXRT_EXPORT mxrt_status mxrt_engine_push(mxrt_engine *engine,
                                         const mxrt_op *op);
/// The same for `count` ops with one wake-up of the workers. Stops at the
/// first error; *pushed (may be NULL) is the number pushed before it.
MXRT_EXPORT mxrt_status mxrt_engine_push_many(mxrt_engine *engine,
                                              const mxrt_op *ops, size_t count,
                                              size_t *pushed);

/// Until all writes pushed on `var` before this call are over. R0501 from
/// inside an op (push one that reads the variable instead).
MXRT_EXPORT mxrt_status mxrt_engine_wait(mxrt_engine *engine, mxrt_var var,
                                         mxrt_place place);
/// Until nothing is in flight, what ops push included. R0501 inside an op.
MXRT_EXPORT mxrt_status mxrt_engine_wait_all(mxrt_engine *engine,
                                             mxrt_place place);
/// *ready = 1 if a wait would return at once. Does not notice errors.
MXRT_EXPORT mxrt_status mxrt_engine_poll(mxrt_engine *engine, mxrt_var var,
                                         int32_t *ready);

/// Cancels every op pushed so far that has not begun; running ones learn of
/// it from mxrt_op_cancelled. Ops pushed later are not affected.
MXRT_EXPORT void mxrt_engine_cancel_all(mxrt_engine *engine);
MXRT_EXPORT void mxrt_engine_get_stats(mxrt_engine *engine,
                                       mxrt_engine_stats *stats);

/// A switch shared by any number of ops, of any number of engines.
MXRT_EXPORT mxrt_status mxrt_cancel_create(const mxrt_allocator *allocator,
                                           mxrt_cancel **cancel);
MXRT_EXPORT mxrt_cancel *mxrt_cancel_retain(mxrt_cancel *cancel);
MXRT_EXPORT void mxrt_cancel_release(mxrt_cancel *cancel);
/// For good: there is no way back. Also from a signal handler.
MXRT_EXPORT void mxrt_cancel_request(mxrt_cancel *cancel);
MXRT_EXPORT int32_t mxrt_cancel_requested(const mxrt_cancel *cancel);
/// Non-zero once requested; for mxrt_context.cancelled. Lives with `cancel`.
MXRT_EXPORT const uint32_t *mxrt_cancel_word(const mxrt_cancel *cancel);

/// The functions below are for running ops.
/// 1 if the op should stop and return R0004. Cheap: poll it between kernels.
MXRT_EXPORT int32_t mxrt_op_cancelled(const mxrt_op_context *context);
/// The poison of an input, borrowed; NULL unless MXRT_OP_ALWAYS_RUN.
MXRT_EXPORT mxrt_status mxrt_op_input_error(const mxrt_op_context *context);
/// 1 if the op declared this access (write = 0: reading). What tensors check
/// before they hand out a pointer in checking mode (else R0503).
MXRT_EXPORT int32_t mxrt_op_declares(const mxrt_op_context *context,
                                     mxrt_var var, int32_t write);
/// The op goes on after its function returned (whose result is then ignored)
/// until mxrt_op_complete. From the moment the token is given away, context and
/// payload may be gone.
MXRT_EXPORT mxrt_op_token *mxrt_op_defer(mxrt_op_context *context);
/// Ends a deferred op, from any thread, once. Takes `status` over.
MXRT_EXPORT void mxrt_op_complete(mxrt_op_token *token, mxrt_status status);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_ENGINE_H
