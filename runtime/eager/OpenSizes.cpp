// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nonzero and unique: functions with a data-dependent result size.

#include "eager/OpenSizes.h"
#include "base/Elements.h"
#include "base/Halfs.h"
#include "eager/TensorValue.h"
#include "memory/Tensor.h"
#include "mxrt/call.h"
#include "mxrt/routine.h"

#include <cstring>

namespace mxrt::eager {

using host::Invocation;
using host::Value;

namespace {

/// The operand, computed and dense; it may own a copy.
struct Operand {
  explicit Operand(void *host) : runtime(static_cast<EagerHost *>(host)->runtime()) {}

  mxrt_runtime *runtime;
  mxrt_tensor *tensor = nullptr;
  TensorRef copy;

  const mxrt_allocator *alloc() const { return mxrt_runtime_allocator(runtime); }
  int64_t size() const { return tensor->elements; }

  Status take(const Invocation &call, const char *name) {
    tensor = tensorOf(call.args[0]);
    if (!tensor || tensor->rank != 1)
      return error(alloc(), MXRT_SHAPE, noLocation, "%s: %s is not a vector", name,
                   tensor ? shapeText(tensor->shape()).text : "the operand");
    if (tensor->elements > INT32_MAX)
      return error(alloc(), MXRT_SHAPE, noLocation, "%s: %s has more elements than i32 can count",
                   name, shapeText(tensor->shape()).text);
    if (!mxrt_tensor_is_dense(tensor)) {
      mxrt_tensor *dense = nullptr;
      MXRT_CHECK(Status(mxrt_tensor_create(runtime, &tensor->buffer->device, tensor->type, 1,
                                           tensor->sizes(), &call.location, &dense)));
      copy = TensorRef(dense);
      MXRT_CHECK(Status(mxrt_call_copy(runtime, tensor, dense, &call.location)));
      tensor = dense;
    }
    return Status(mxrt_tensor_wait(runtime, tensor, &call.location));
  }

  /// A tensor of `count` elements on the same device; not visible to others yet.
  Result<TensorRef> result(const Invocation &call, mxrt_dtype type, int64_t count) const {
    mxrt_tensor *made = nullptr;
    MXRT_CHECK(Status(mxrt_tensor_create(runtime, &tensor->buffer->device, type, 1, &count,
                                         &call.location, &made)));
    return TensorRef(made);
  }
};

/// Whether both elements count as the same value.
bool isSame(mxrt_dtype type, const char *x, const char *y, size_t bytes) {
  return visitElement(type, [&](auto element) {
    if constexpr (element.isFloat) {
      auto a = element.load(x), b = element.load(y);
      return a == b || (a != a && b != b);
    } else {
      return memcmp(x, y, bytes) == 0;
    }
  });
}

} // namespace

Status nonzero(void *context, Invocation &call) {
  Operand mask(context);
  MXRT_CHECK(mask.take(call, "nonzero"));
  const char *flags = mask.tensor->data();
  int64_t count = 0;
  for (int64_t i = 0; i < mask.size(); ++i)
    count += flags[i] != 0;
  TensorRef result = MXRT_TRY(mask.result(call, MXRT_I32, count));
  auto *positions = reinterpret_cast<int32_t *>(result->data());
  for (int64_t i = 0; i < mask.size(); ++i)
    if (flags[i])
      *positions++ = int32_t(i);
  return giveTensor(call, std::move(result));
}

Status unique(void *context, Invocation &call) {
  Operand x(context);
  MXRT_CHECK(x.take(call, "unique"));
  mxrt_dtype type = x.tensor->type;
  auto bytes = size_t(mxrt_dtype_size(type));
  mxrt_context here = {};
  MXRT_CHECK(
      Status(mxrt_runtime_context(x.runtime, &x.tensor->buffer->device, &call.location, &here)));
  const void *inputs[] = {x.tensor->data()};
  const int64_t sizes[] = {1, x.size(), 1};
  const mxrt_workspace layout = mxrt_argsort_workspace(int64_t(bytes), sizes);
  TensorRef positions = MXRT_TRY(x.result(call, MXRT_I32, x.size()));
  TensorRef workspace = MXRT_TRY(x.result(call, MXRT_U8, mxrt_workspace_bytes(&layout)));
  auto *order = reinterpret_cast<int32_t *>(positions->data());
  MXRT_CHECK(Status(mxrt_argsort(&here, type, sizes, inputs, order, workspace->data())));

  auto *from = static_cast<const char *>(inputs[0]);
  int64_t count = 0; // the first of each value moves to the front
  for (int64_t i = 0; i < x.size(); ++i) {
    int32_t position = order[i];
    if (count == 0 || !isSame(type, from + size_t(order[count - 1]) * bytes,
                              from + size_t(position) * bytes, bytes))
      order[count++] = position;
  }
  TensorRef result = MXRT_TRY(x.result(call, type, count));
  char *to = result->data();
  for (int64_t i = 0; i < count; ++i)
    memcpy(to + size_t(i) * bytes, from + size_t(order[i]) * bytes, bytes);
  return giveTensor(call, std::move(result));
}

} // namespace mxrt::eager
