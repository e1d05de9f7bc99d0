// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copy between two strided views of host-visible memory.

#include "base/CheckedMath.h"
#include "memory/Collapse.h"
#include "memory/Tensor.h"

#include <cstring>

using namespace mxrt;

namespace {

enum { From, To };

struct CopyJob {
  Walk<2> walk;
  const char *from;
  char *to;
  int64_t rows; // number of rows: all axes but the last, multiplied
};

/// Copies `count` elements of the last axis.
template <typename T>
void copyRow(const char *from, int64_t fromStride, char *to, int64_t toStride,
             int64_t count) {
  if (fromStride == 1 && toStride == 1) {
    memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  const T *source = reinterpret_cast<const T *>(from);
  T *target = reinterpret_cast<T *>(to);
  for (int64_t i = 0; i < count; ++i)
    target[i * toStride] = source[i * fromStride];
}

/// Copies chunks of the only axis.
template <typename T>
mxrt_status copyLine(void *user, int64_t begin, int64_t end, int64_t,
                     const mxrt_context *) {
  const CopyJob &job = *static_cast<CopyJob *>(user);
  int64_t fromStride = job.walk.strides[From][0];
  int64_t toStride = job.walk.strides[To][0];
  int64_t bytes = sizeof(T);
  copyRow<T>(job.from + begin * fromStride * bytes, fromStride,
             job.to + begin * toStride * bytes, toStride, end - begin);
  return nullptr;
}

/// Copies chunks of rows.
template <typename T>
mxrt_status copyRows(void *user, int64_t begin, int64_t end, int64_t,
                     const mxrt_context *) {
  const CopyJob &job = *static_cast<CopyJob *>(user);
  const Walk<2> &walk = job.walk;
  int32_t last = walk.rank - 1;
  int64_t index[MXRT_MAX_RANK];
  int64_t at[2] = {0, 0};
  int64_t rest = begin;
  for (int32_t axis = last - 1; axis >= 0; --axis) {
    index[axis] = rest % walk.sizes[axis];
    rest /= walk.sizes[axis];
    at[From] += index[axis] * walk.strides[From][axis];
    at[To] += index[axis] * walk.strides[To][axis];
  }
  int64_t bytes = sizeof(T);
  for (int64_t row = begin; row < end; ++row) {
    copyRow<T>(job.from + at[From] * bytes, walk.strides[From][last],
               job.to + at[To] * bytes, walk.strides[To][last],
               walk.sizes[last]);
    for (int32_t axis = last - 1; axis >= 0; --axis) {
      at[From] += walk.strides[From][axis];
      at[To] += walk.strides[To][axis];
      if (++index[axis] < walk.sizes[axis])
        break;
      at[From] -= walk.sizes[axis] * walk.strides[From][axis];
      at[To] -= walk.sizes[axis] * walk.strides[To][axis];
      index[axis] = 0;
    }
  }
  return nullptr;
}

template <typename T>
mxrt_status runCopy(const mxrt_context *context, CopyJob &job) {
  constexpr int64_t elementsPerChunk = 1 << 15;
  if (job.walk.rank == 1)
    return mxrt_parallel_for(context, job.walk.sizes[0], elementsPerChunk,
                             copyLine<T>, &job);
  int64_t length = job.walk.sizes[job.walk.rank - 1];
  int64_t grain = length < elementsPerChunk ? elementsPerChunk / length : 1;
  return mxrt_parallel_for(context, job.rows, grain, copyRows<T>, &job);
}

} // namespace

extern "C" mxrt_status mxrt_tensor_copy(const mxrt_context *context,
                                        const mxrt_tensor *from,
                                        const mxrt_tensor *to) {
  if (from->type != to->type)
    return error(context->allocator, MXRT_DTYPE, context->location,
                 "copy from %s to %s: the element types differ",
                 shapeText(from->shape()).text, shapeText(to->shape()).text)
        .release();
  bool same = from->rank == to->rank;
  for (int32_t i = 0; same && i < from->rank; ++i)
    same = from->sizes()[i] == to->sizes()[i];
  if (!same)
    return error(context->allocator, MXRT_SHAPE, context->location,
                 "copy from %s to %s: the shapes differ",
                 shapeText(from->shape()).text, shapeText(to->shape()).text)
        .release();
  if (from->elements == 0)
    return mxrt_poll(context);
  if (!from->buffer->hostVisible || !to->buffer->hostVisible)
    return error(context->allocator, MXRT_WRONG_DEVICE, context->location,
                 "copy of %s: the host cannot access its memory; issue the copy instead",
                 shapeText(from->shape()).text)
        .release();

  CopyJob job;
  job.walk = collapse<2>(from->rank, from->sizes(),
                         {from->strides(), to->strides()});
  job.from = from->data();
  job.to = to->data();
  if (job.walk.rank == 0) { // one element
    job.walk.rank = 1;
    job.walk.sizes[0] = 1;
    job.walk.strides[From][0] = job.walk.strides[To][0] = 1;
  }
  bool sameView = job.from == job.to;
  for (int32_t i = 0; sameView && i < job.walk.rank; ++i)
    sameView = job.walk.strides[From][i] == job.walk.strides[To][i];
  if (sameView)
    return mxrt_poll(context);
  job.rows = 1;
  for (int32_t i = 0; i + 1 < job.walk.rank; ++i)
    job.rows *= job.walk.sizes[i];
  switch (mxrt_dtype_size(from->type)) {
  case 1:
    return runCopy<uint8_t>(context, job);
  case 2:
    return runCopy<uint16_t>(context, job);
  case 4:
    return runCopy<uint32_t>(context, job);
  default:
    return runCopy<uint64_t>(context, job);
  }
}
