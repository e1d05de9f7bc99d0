// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors: strided views of reference-counted buffers.
//
// A tensor is a value, with copy on write. Slices and transposes share the buffer; a write
// copies first if another tensor could observe it (mxrt_tensor_prepare_write). Whether a buffer
// is shared is decided when the write is issued, by counting the tensors on it; work in flight
// does not count, because the engine orders it.
//
// Thread safety: a tensor never changes after it is created, so it may be read, retained and
// released from any thread. This does not cover the elements: mxrt_tensor_data does not wait
// for pending writes, the engine's functions do.
//
// Sizes and strides are int64; strides count elements and may be 0 (broadcast) or negative.
// Rank is 0 to MXRT_MAX_RANK; any size may be 0. Checks happen before any allocation, and
// errors name the shape.

#ifndef MXRT_TENSOR_H
#define MXRT_TENSOR_H

#include "mxrt/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mxrt_tensor mxrt_tensor;
typedef struct mxrt_buffer mxrt_buffer;

// -- making ------------------------------------------------------------------

/// A dense tensor with undefined elements. The caller owns one reference.
/// R0202 rank, R0103 sizes, R0101 and R0102 memory; all name shape and bytes.
MXRT_EXPORT mxrt_status mxrt_tensor_create(mxrt_runtime *runtime,
                                           const mxrt_device *device,
                                           mxrt_dtype type, int32_t rank,
                                           const int64_t *shape,
                                           const mxrt_location *location,
                                           mxrt_tensor **out);

enum {
  /// The borrowed memory may be written through the tensor. Without this flag a write copies
  /// first.
  MXRT_BORROW_WRITABLE = 1
};

/// A tensor over memory of the host, which must stay valid and unchanged until release(user) is
/// called: once, when the last reference is released, on the releasing thread. release may be
/// NULL. On error release is not called. strides may be NULL (dense). data must be aligned for
/// the element type.
MXRT_EXPORT mxrt_status mxrt_tensor_borrow(
    mxrt_runtime *runtime, const mxrt_device *device, mxrt_dtype type,
    int32_t rank, const int64_t *shape, const int64_t *strides, void *data,
    uint32_t flags, void (*release)(void *user), void *user,
    const mxrt_location *location, mxrt_tensor **out);

MXRT_EXPORT mxrt_tensor *mxrt_tensor_retain(mxrt_tensor *tensor);
/// NULL is allowed.
MXRT_EXPORT void mxrt_tensor_release(mxrt_tensor *tensor);

// -- looking -----------------------------------------------------------------

MXRT_EXPORT mxrt_dtype mxrt_tensor_dtype(const mxrt_tensor *tensor);
MXRT_EXPORT int32_t mxrt_tensor_rank(const mxrt_tensor *tensor);
/// rank sizes; valid as long as the tensor.
MXRT_EXPORT const int64_t *mxrt_tensor_shape(const mxrt_tensor *tensor);
MXRT_EXPORT const int64_t *mxrt_tensor_strides(const mxrt_tensor *tensor);
MXRT_EXPORT mxrt_device mxrt_tensor_device(const mxrt_tensor *tensor);
MXRT_EXPORT int64_t mxrt_tensor_elements(const mxrt_tensor *tensor);
/// Elements times element size.
MXRT_EXPORT int64_t mxrt_tensor_bytes(const mxrt_tensor *tensor);
/// Address of element 0. Does not wait for pending work.
MXRT_EXPORT void *mxrt_tensor_data(const mxrt_tensor *tensor);
/// 1 if the elements are dense in row-major order.
MXRT_EXPORT int32_t mxrt_tensor_is_dense(const mxrt_tensor *tensor);
/// 1 if a write must copy first.
MXRT_EXPORT int32_t mxrt_tensor_is_shared(const mxrt_tensor *tensor);
/// Writes "f32[3, 4]"; returns the required length, like snprintf.
MXRT_EXPORT size_t mxrt_tensor_describe(const mxrt_tensor *tensor, char *buffer,
                                        size_t capacity);

// -- views -------------------------------------------------------------------
// All views share the buffer and cost one small allocation. axis may be negative (counts from
// the end). Errors: R0201 shape, R0202 rank, R0204 axis or index.

/// Elements begin, begin + step, ... before `end` of one axis. begin and end are absolute
/// indices, not counted from the end: 0 <= begin <= end <= size, or for a negative step
/// -1 <= end <= begin < size, where end -1 includes element 0. Bounds are checked, never
/// clamped.
MXRT_EXPORT mxrt_status mxrt_tensor_slice(mxrt_tensor *tensor, int32_t axis,
                                          int64_t begin, int64_t end,
                                          int64_t step, const mxrt_location *location,
                                          mxrt_tensor **out);
/// One index of an axis; the axis is removed.
MXRT_EXPORT mxrt_status mxrt_tensor_select(mxrt_tensor *tensor, int32_t axis,
                                           int64_t index,
                                           const mxrt_location *location,
                                           mxrt_tensor **out);
/// Inserts an axis of size 1 before `axis` (-1: at the end).
MXRT_EXPORT mxrt_status mxrt_tensor_expand(mxrt_tensor *tensor, int32_t axis,
                                           const mxrt_location *location,
                                           mxrt_tensor **out);
/// Permutes the axes; `axes` is a permutation of 0 .. rank-1.
MXRT_EXPORT mxrt_status mxrt_tensor_permute(mxrt_tensor *tensor,
                                            const int32_t *axes,
                                            const mxrt_location *location,
                                            mxrt_tensor **out);
/// Broadcasts: aligns the shapes at the right and repeats axes of size 1 (stride 0).
MXRT_EXPORT mxrt_status mxrt_tensor_broadcast(mxrt_tensor *tensor, int32_t rank,
                                              const int64_t *shape,
                                              const mxrt_location *location,
                                              mxrt_tensor **out);
/// The same elements in row-major order under another shape. Success with *out NULL means that
/// no strides can express it: copy to a dense tensor first.
MXRT_EXPORT mxrt_status mxrt_tensor_reshape(mxrt_tensor *tensor, int32_t rank,
                                            const int64_t *shape,
                                            const mxrt_location *location,
                                            mxrt_tensor **out);

// -- writing -----------------------------------------------------------------

/// Prepares *tensor for a write, at issue time (copy on write). If no other tensor sees its
/// elements, nothing changes and *copy_from is NULL. Otherwise *tensor becomes a new dense
/// tensor and *copy_from the old one (the caller's reference): the caller issues a copy of the
/// elements, then the write, then releases *copy_from. On error both are unchanged
/// (*copy_from NULL).
MXRT_EXPORT mxrt_status mxrt_tensor_prepare_write(mxrt_runtime *runtime,
                                                  mxrt_tensor **tensor,
                                                  const mxrt_location *location,
                                                  mxrt_tensor **copy_from);
/// A view that does not count as an owner: views of it describe the destination of a prepared
/// write. It must not outlive, as a value of the program, the tensor it was made from.
MXRT_EXPORT mxrt_status mxrt_tensor_target(mxrt_tensor *tensor,
                                           mxrt_tensor **out);
/// Copies elements synchronously, on this thread and the context's team: same element type and
/// shape, else R0203 or R0201; any strides. The tensors must not overlap unless they are the
/// same view. Does not wait for pending work.
MXRT_EXPORT mxrt_status mxrt_tensor_copy(const mxrt_context *context,
                                         const mxrt_tensor *from,
                                         const mxrt_tensor *to);

// -- buffers, for the engine --------------------------------------------------

/// The tensor's buffer; no reference is added.
MXRT_EXPORT mxrt_buffer *mxrt_tensor_buffer(const mxrt_tensor *tensor);
/// References of work in flight keep the memory alive but do not make it shared.
MXRT_EXPORT mxrt_buffer *mxrt_buffer_retain(mxrt_buffer *buffer);
MXRT_EXPORT void mxrt_buffer_release(mxrt_buffer *buffer);
MXRT_EXPORT void *mxrt_buffer_data(const mxrt_buffer *buffer);
MXRT_EXPORT int64_t mxrt_buffer_bytes(const mxrt_buffer *buffer);
/// One pointer that the engine stores with the buffer (its variable). Sets it if none is set
/// and returns the one that is set; the drop of a losing pointer is not called. drop(variable)
/// runs when the buffer is freed, before its memory is reused, on any thread, possibly after
/// the runtime is destroyed.
MXRT_EXPORT void *mxrt_buffer_set_variable(mxrt_buffer *buffer, void *variable,
                                           void (*drop)(void *variable));
/// NULL if none is set.
MXRT_EXPORT void *mxrt_buffer_variable(const mxrt_buffer *buffer);

// -- DLPack ------------------------------------------------------------------
// Structs: mxrt/dlpack.h (layout of DLPack 1.0). The caller waits for pending work first.

/// A new DLManagedTensor (versioned 0) or DLManagedTensorVersioned (1) that keeps the elements
/// alive; the consumer calls its deleter. The versioned struct is flagged read-only if the
/// tensor is shared or borrowed read-only; an unversioned struct of such a tensor is R0005,
/// since its consumer could write.
MXRT_EXPORT mxrt_status mxrt_tensor_to_dlpack(mxrt_tensor *tensor,
                                              int32_t versioned,
                                              const mxrt_location *location,
                                              void **out);
/// A tensor over such a struct. On success the tensor owns the struct and will call its
/// deleter; on error the caller still owns it.
MXRT_EXPORT mxrt_status mxrt_tensor_from_dlpack(mxrt_runtime *runtime,
                                                void *managed,
                                                int32_t versioned,
                                                const mxrt_location *location,
                                                mxrt_tensor **out);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_TENSOR_H
