// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of kernels on tensors, through the runtime's engine. The engine orders
// them by the tensors they read and write; a tensor's variable lives with its
// buffer.
//
// Thread rule: any thread. Calls issued by one thread happen in its order.

#ifndef MXRT_CALL_H
#define MXRT_CALL_H

#include "mxrt/engine.h"
#include "mxrt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A kernel. `tensors` are the reads, then the writes of the call, in order;
/// they and `arguments` are valid until it returns and must not be retained.
/// context->team serves its parallel_for.
typedef mxrt_status (*mxrt_kernel)(const mxrt_context *context,
                                   const mxrt_tensor *const *tensors,
                                   const void *arguments);

/// Zero-initialise, then set what is needed. Everything is copied.
typedef struct mxrt_call {
  mxrt_kernel run;
  const char *name; // for traces and errors; may be NULL
  mxrt_tensor *const *reads;
  size_t read_count;
  /// Tensors that are only written, or both read and written. The caller has
  /// prepared them (mxrt_tensor_prepare_write) or just made them.
  mxrt_tensor *const *writes;
  size_t write_count;
  const void *arguments;
  size_t argument_bytes; // copied to an address that is a multiple of 16
  mxrt_device device;
  int32_t priority;
  uint32_t flags; // MXRT_OP_*; MXRT_OP_OVERWRITES if old contents do not count
  mxrt_place place;
} mxrt_call;

/// Issues the call and returns. Its failure poisons what it writes and comes
/// out at the first wait. On error nothing was issued.
MXRT_EXPORT mxrt_status mxrt_call_push(mxrt_runtime *runtime,
                                       const mxrt_call *call);

/// Issues a copy of the elements of `from` to `to` (same type and shape).
MXRT_EXPORT mxrt_status mxrt_call_copy(mxrt_runtime *runtime, mxrt_tensor *from,
                                       mxrt_tensor *to,
                                       const mxrt_place *place);

/// mxrt_tensor_prepare_write and, if it made a new tensor, the copy: *tensor
/// can be the target of a call. On error it is as before.
MXRT_EXPORT mxrt_status mxrt_call_prepare_write(mxrt_runtime *runtime,
                                                mxrt_tensor **tensor,
                                                const mxrt_place *place);

/// Waits until the elements are there: success, or the error of the call that
/// should have made them, with `place` as the place of notice.
MXRT_EXPORT mxrt_status mxrt_tensor_wait(mxrt_runtime *runtime,
                                         const mxrt_tensor *tensor,
                                         const mxrt_place *place);

/// The engine's variable of the tensor's buffer, made on first use. For ops
/// that are pushed by hand; it ends with the buffer.
MXRT_EXPORT mxrt_status mxrt_tensor_variable(mxrt_runtime *runtime,
                                             const mxrt_tensor *tensor,
                                             mxrt_var *out);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_CALL_H
