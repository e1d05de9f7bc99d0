// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views, copies, concat, and transfers between devices. Views stay on the tensor's device.

#include "eager/Issue.h"

#include <cstring>

namespace mxrt::eager {

Status runReshape(OpCall &call) {
  mxrt_tensor *x = MXRT_TRY(call.tensor(0));
  int64_t sizes[MXRT_MAX_RANK];
  int32_t rank = 0;
  MXRT_CHECK(call.shape(1, sizes, rank));
  mxrt_tensor *view = nullptr;
  MXRT_CHECK(call.named(mxrt_tensor_reshape(x, rank, sizes, &call.location, &view)));
  if (view)
    return call.give(TensorRef(view));
  TensorRef dense = MXRT_TRY(call.denseCopy(x));
  MXRT_CHECK(call.named(mxrt_tensor_reshape(dense.get(), rank, sizes, &call.location, &view)));
  return call.give(TensorRef(view));
}

Status runBroadcast(OpCall &call) {
  mxrt_tensor *x = MXRT_TRY(call.tensor(0));
  int64_t sizes[MXRT_MAX_RANK];
  int32_t rank = 0;
  MXRT_CHECK(call.shape(1, sizes, rank));
  mxrt_tensor *view = nullptr;
  MXRT_CHECK(call.named(mxrt_tensor_broadcast(x, rank, sizes, &call.location, &view)));
  return call.give(TensorRef(view));
}

Status runTranspose(OpCall &call) {
  MXRT_CHECK(call.operandCount(1));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0));
  if (call.op.rank != x->rank)
    return call.fail(MXRT_SHAPE, "an order of %d axes for %s", call.op.rank,
                     shapeText(x->shape()).text);
  int32_t order[MXRT_MAX_RANK];
  for (int32_t i = 0; i < x->rank; ++i)
    order[i] = call.op.sizes[i] < x->rank ? int32_t(call.op.sizes[i]) : x->rank;
  mxrt_tensor *view = nullptr;
  MXRT_CHECK(call.named(mxrt_tensor_permute(x, order, &call.location, &view)));
  return call.give(TensorRef(view));
}

Status runCopy(OpCall &call) {
  MXRT_CHECK(call.operandCount(1));
  return call.give(MXRT_TRY(call.denseCopy(MXRT_TRY(call.tensor(0)))));
}

Status runTo(OpCall &call) {
  MXRT_CHECK(call.operandCount(1));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0));
  mxrt_device where = x->buffer->device, wanted = call.op.device;
  if (where.kind == wanted.kind && where.index == wanted.index)
    return call.give(TensorRef(mxrt_tensor_retain(x)));
  return call.give(MXRT_TRY(call.moved(x, wanted)));
}

Status runWait(OpCall &call) {
  MXRT_CHECK(call.operandCount(1));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0));
  MXRT_CHECK(Status(mxrt_tensor_wait(call.runtime, x, &call.location)));
  return call.give(TensorRef(mxrt_tensor_retain(x)));
}

//===-- concat --------------------------------------------------------------===//

/// Copies the first half of the tensors to the second half.
static mxrt_status copyPairs(const mxrt_context *context, const mxrt_tensor *const *tensors,
                             const void *arguments) {
  size_t count;
  memcpy(&count, arguments, sizeof(count));
  for (size_t i = 0; i < count; ++i)
    if (mxrt_status failure = mxrt_tensor_copy(context, tensors[i], tensors[count + i]))
      return failure;
  return nullptr;
}

static Status concatShape(OpCall &call, int64_t *sizes) {
  mxrt_tensor *first = MXRT_TRY(call.tensor(0));
  int32_t axis = call.op.axis;
  if (axis >= first->rank)
    return call.fail(MXRT_SHAPE, "axis %d of %s, which has %d", axis,
                     shapeText(first->shape()).text, first->rank);
  if (first->rank > 0)
    memcpy(sizes, first->sizes(), sizeof(int64_t) * size_t(first->rank));
  for (size_t i = 0; i < call.count(); ++i) {
    mxrt_tensor *x = MXRT_TRY(call.tensor(i));
    MXRT_CHECK(call.onDevice(x));
    if (x->type != first->type)
      return call.fail(MXRT_DTYPE, "%s and %s have different element types",
                       shapeText(first->shape()).text, shapeText(x->shape()).text);
    bool fits = x->rank == first->rank;
    for (int32_t k = 0; fits && k < x->rank; ++k)
      fits = k == axis || x->sizes()[k] == first->sizes()[k];
    if (!fits)
      return call.fail(MXRT_SHAPE, "%s and %s do not fit along axis %d",
                       shapeText(first->shape()).text, shapeText(x->shape()).text, axis);
    if (i > 0 && __builtin_add_overflow(sizes[axis], x->sizes()[axis], &sizes[axis]))
      return call.fail(MXRT_SIZE_OVERFLOW, "axis %d would be too long", axis);
  }
  return success();
}

Status runConcat(OpCall &call) {
  if (call.count() == 0)
    return call.fail(MXRT_HOST_TYPE, "no operands");
  int64_t sizes[MXRT_MAX_RANK];
  MXRT_CHECK(concatShape(call, sizes));
  mxrt_tensor *first = MXRT_TRY(call.tensor(0));
  TensorRef result = MXRT_TRY(call.create(first->type, first->rank, sizes));

  // Copies in batches of this size; each batch is one call.
  constexpr size_t atOnce = 32;
  int64_t begin = 0;
  for (size_t done = 0; done < call.count();) {
    TensorRef parts[atOnce];
    mxrt_tensor *reads[atOnce], *writes[atOnce];
    size_t count = 0;
    for (; count < atOnce && done < call.count(); ++done) {
      mxrt_tensor *x = MXRT_TRY(call.tensor(done));
      int64_t end = begin + x->sizes()[call.op.axis];
      mxrt_tensor *part = nullptr;
      MXRT_CHECK(call.named(
          mxrt_tensor_slice(result.get(), call.op.axis, begin, end, 1, &call.location, &part)));
      parts[count] = TensorRef(part);
      reads[count] = x;
      writes[count++] = part;
      begin = end;
    }
    MXRT_CHECK(
        call.issue(copyPairs, reads, count, writes, count, &count, sizeof(count), call.op.device));
  }
  return call.give(std::move(result));
}

} // namespace mxrt::eager
