// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel calls on tensors, through the runtime's dependency engine. The engine orders them by
// the tensors they read and write; a tensor's variable lives with its buffer.
//
// Thread safety: any thread. Calls issued by one thread execute in its order.

#ifndef MXRT_CALL_H
#define MXRT_CALL_H

#include "mxrt/engine.h"
#include "mxrt/tensor.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A kernel. `tensors` are the reads, then the writes of the call, in order; they and
/// `arguments` are valid until it returns and must not be retained. Its parallel_for uses
/// context->team.
typedef mxrt_status (*mxrt_kernel)(const mxrt_context *context,
                                   const mxrt_tensor *const *tensors,
                                   const void *arguments);

/// Zero-initialise, then set the fields needed. Everything is copied.
typedef struct mxrt_call {
  mxrt_kernel run;
  const char *name; // for traces and errors; may be NULL
  mxrt_tensor *const *reads;
  size_t read_count;
  /// Tensors that are only written, or both read and written. The caller has prepared them
  /// (mxrt_tensor_prepare_write) or just created them.
  mxrt_tensor *const *writes;
  size_t write_count;
  const void *arguments;
  size_t argument_bytes; // copied to an address that is a multiple of 16
  mxrt_device device;
  int32_t priority;
  uint32_t flags; // MXRT_OP_*; MXRT_OP_OVERWRITES if old contents are irrelevant
  mxrt_location location;
} mxrt_call;

/// Additional options of a call. Fill with mxrt_call_options_init, then change fields.
typedef struct mxrt_call_options {
  /// sizeof(mxrt_call_options) of the caller.
  uint32_t struct_size;
  /// The lane whose workers run it. The operands are on call->device in any case.
  int32_t lane; // mxrt_lane
  /// 1: the kernel reports when results are complete (mxrt_ready, with the index of the tensor
  /// in call->writes). Work on a result then starts before the call ends, and a later failure of
  /// the call does not poison it. Tensors that share a buffer are released with the last of them.
  uint32_t announces;
  /// 1: on a GPU, the kernel only enqueues work (mxrt_launch) that accesses the operands, and
  /// does not touch them itself. Otherwise a call on a GPU is R0005. Not together with
  /// `announces`.
  uint32_t enqueues;
} mxrt_call_options;

/// The defaults: compute lane, no announced results. Uses the caller's struct size, whatever
/// the library's is.
static inline void mxrt_call_options_init(mxrt_call_options *options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = (uint32_t)sizeof(*options);
}

/// Issues the call and returns. A failure poisons the tensors it writes and is returned by the
/// first wait. On error nothing was issued.
MXRT_EXPORT mxrt_status mxrt_call_push(mxrt_runtime *runtime,
                                       const mxrt_call *call);
/// As mxrt_call_push, with options; NULL: the defaults. R0501 for an unknown lane.
MXRT_EXPORT mxrt_status mxrt_call_push_with(mxrt_runtime *runtime,
                                            const mxrt_call *call,
                                            const mxrt_call_options *options);

/// Issues a copy of the elements of `from` to `to` (same type and shape).
MXRT_EXPORT mxrt_status mxrt_call_copy(mxrt_runtime *runtime, mxrt_tensor *from,
                                       mxrt_tensor *to,
                                       const mxrt_location *location);

/// mxrt_tensor_prepare_write and, if it made a new tensor, the copy: *tensor can then be the
/// destination of a call. On error it is unchanged.
MXRT_EXPORT mxrt_status mxrt_call_prepare_write(mxrt_runtime *runtime,
                                                mxrt_tensor **tensor,
                                                const mxrt_location *location);

/// A dense copy of the elements on `device`, which may be that of `tensor`; issued.
MXRT_EXPORT mxrt_status mxrt_tensor_move(mxrt_runtime *runtime, mxrt_tensor *tensor,
                                         const mxrt_device *device,
                                         const mxrt_location *location, mxrt_tensor **out);

/// Waits until the elements are computed: success, or the error of the call that should have
/// computed them, with `location` as the location of notice.
MXRT_EXPORT mxrt_status mxrt_tensor_wait(mxrt_runtime *runtime,
                                         const mxrt_tensor *tensor,
                                         const mxrt_location *location);

/// The engine's variable of the tensor's buffer, created on first use. For ops that are pushed
/// by hand; it is deleted with the buffer.
MXRT_EXPORT mxrt_status mxrt_tensor_variable(mxrt_runtime *runtime,
                                             const mxrt_tensor *tensor,
                                             mxrt_var *out);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_CALL_H
