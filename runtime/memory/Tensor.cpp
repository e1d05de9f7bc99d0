// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation, borrowing, properties and copy on write of tensors.

#include "memory/Tensor.h"
#include "abi/Runtime.h"
#include "base/CheckedMath.h"
#include "device/Device.h"

#include <cstring>

namespace mxrt {

static size_t tensorBytes(int32_t rank) {
  return sizeof(mxrt_tensor) + 2 * sizeof(int64_t) * static_cast<size_t>(rank);
}

Result<mxrt_tensor *> makeTensor(mxrt_buffer *buffer, mxrt_dtype type,
                                 int32_t rank, bool owner, mxrt_location location) {
  void *memory =
      allocateBytes(&buffer->alloc, tensorBytes(rank), alignof(mxrt_tensor));
  if (!memory) {
    Status failure = outOfMemory(&buffer->alloc, location);
    buffer->release();
    return failure;
  }
  auto *tensor = ::new (memory) mxrt_tensor;
  tensor->buffer = buffer;
  tensor->type = type;
  tensor->rank = rank;
  tensor->owner = owner;
  if (owner)
    buffer->owners.fetch_add(1, std::memory_order_relaxed);
  return tensor;
}

bool overlapsItself(int32_t rank, const int64_t *sizes,
                    const int64_t *strides) {
  int64_t size[MXRT_MAX_RANK], stride[MXRT_MAX_RANK];
  int count = 0;
  for (int32_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0)
      return false;
    if (sizes[i] == 1)
      continue;
    // Insertion sort by stride, smallest first.
    int64_t step = strides[i] < 0 ? -strides[i] : strides[i];
    int at = count++;
    for (; at > 0 && stride[at - 1] > step; --at) {
      size[at] = size[at - 1];
      stride[at] = stride[at - 1];
    }
    size[at] = sizes[i];
    stride[at] = step;
  }
  // Each stride must exceed the reach of the smaller ones.
  int64_t reach = 0;
  for (int i = 0; i < count; ++i) {
    if (stride[i] <= reach)
      return true;
    reach += (size[i] - 1) * stride[i];
  }
  return false;
}

static Status createTensor(mxrt_runtime *runtime, mxrt_device where,
                           const ShapeRef &shape, mxrt_location location,
                           mxrt_tensor **out) {
  int64_t elements, bytes;
  MXRT_CHECK(measureShape(&runtime->alloc, shape, location, elements, bytes));
  Device *device = MXRT_TRY(runtime->device(where, location));
  auto allocated = mxrt_buffer::allocate(&device->pool(), where, bytes, ShapePurpose(shape), location);
  if (allocated.failed()) {
    MXRT_CHECK(device->state(location)); // that it failed is the better answer
    return allocated.takeStatus();
  }
  mxrt_buffer *buffer = *allocated;
  buffer->hostVisible = device->hostVisible();
  mxrt_tensor *tensor =
      MXRT_TRY(makeTensor(buffer, shape.type, shape.rank, true, location));
  tensor->elements = elements;
  if (shape.rank > 0)
    memcpy(tensor->sizes(), shape.sizes,
           sizeof(int64_t) * static_cast<size_t>(shape.rank));
  denseStrides(shape.rank, tensor->sizes(), tensor->strides());
  *out = tensor;
  return success();
}

/// Lowest and highest element offset of a view, in bytes; false on overflow.
static bool viewExtent(const ShapeRef &shape, const int64_t *strides,
                       int64_t &lowest, int64_t &highest) {
  int64_t elementBytes = mxrt_dtype_size(shape.type);
  lowest = highest = 0;
  for (int32_t i = 0; i < shape.rank; ++i) {
    int64_t reach;
    if (shape.sizes[i] == 0) {
      lowest = highest = 0;
      return true;
    }
    if (!checkedMul(shape.sizes[i] - 1, strides[i], reach) ||
        !checkedMul(reach, elementBytes, reach))
      return false;
    int64_t &bound = reach < 0 ? lowest : highest;
    if (!checkedAdd(bound, reach, bound))
      return false;
  }
  int64_t span;
  return checkedSub(highest, lowest, span) &&
         checkedAdd(span, elementBytes, span);
}

static Status borrowTensor(mxrt_runtime *runtime, mxrt_device where,
                           const ShapeRef &shape, const int64_t *givenStrides,
                           void *data, uint32_t flags,
                           void (*releaseMemory)(void *), void *user,
                           mxrt_location location, mxrt_tensor **out) {
  const mxrt_allocator *alloc = &runtime->alloc;
  int64_t elements, bytes;
  MXRT_CHECK(measureShape(alloc, shape, location, elements, bytes));
  Device *device = MXRT_TRY(runtime->device(where, location));
  if (!device->hostVisible())
    return error(alloc, MXRT_UNSUPPORTED, location,
                 "memory of others cannot be borrowed on %s: copy it from the host",
                 deviceText(where).text);
  int64_t elementBytes = mxrt_dtype_size(shape.type);
  if ((!data && elements > 0) || reinterpret_cast<uintptr_t>(data) %
                                         static_cast<uintptr_t>(elementBytes) !=
                                     0)
    return error(alloc, MXRT_INVALID_ARGUMENT, location,
                 "borrowed memory for %s at %p is not aligned to %lld bytes",
                 shapeText(shape).text, data,
                 static_cast<long long>(elementBytes));
  int64_t strides[MXRT_MAX_RANK];
  if (givenStrides && shape.rank > 0)
    memcpy(strides, givenStrides,
           sizeof(int64_t) * static_cast<size_t>(shape.rank));
  else
    denseStrides(shape.rank, shape.sizes, strides);
  int64_t lowest, highest;
  if (!viewExtent(shape, strides, lowest, highest))
    return error(alloc, MXRT_SIZE_OVERFLOW, location,
                 "strides of borrowed %s reach beyond 2^63 bytes",
                 shapeText(shape).text);
  mxrt_buffer *buffer = MXRT_TRY(mxrt_buffer::borrow(
      alloc, where, data ? static_cast<char *>(data) + lowest : nullptr,
      elements ? highest - lowest + elementBytes : 0,
      (flags & MXRT_BORROW_WRITABLE) != 0, nullptr, nullptr));
  mxrt_tensor *tensor =
      MXRT_TRY(makeTensor(buffer, shape.type, shape.rank, true, location));
  // Set last: on failure the caller still owns the memory.
  buffer->releaseMemory = releaseMemory;
  buffer->releaseUser = user;
  tensor->elements = elements;
  tensor->offset = -lowest / elementBytes;
  if (shape.rank > 0) {
    size_t numbers = sizeof(int64_t) * static_cast<size_t>(shape.rank);
    memcpy(tensor->sizes(), shape.sizes, numbers);
    memcpy(tensor->strides(), strides, numbers);
  }
  *out = tensor;
  return success();
}

static bool isShared(const mxrt_tensor *tensor) {
  const mxrt_buffer *buffer = tensor->buffer;
  // Acquire: a thread that dropped its reference has finished with the tensor's metadata.
  return tensor->refs.load(std::memory_order_acquire) > 1 ||
         buffer->owners.load(std::memory_order_acquire) > 1 ||
         !buffer->writable ||
         overlapsItself(tensor->rank, tensor->sizes(), tensor->strides());
}

} // namespace mxrt

using namespace mxrt;

extern "C" {

mxrt_status mxrt_tensor_create(mxrt_runtime *runtime, const mxrt_device *device,
                               mxrt_dtype type, int32_t rank,
                               const int64_t *shape, const mxrt_location *location,
                               mxrt_tensor **out) {
  *out = nullptr;
  return createTensor(runtime, *device, {type, rank, shape}, locationOf(location),
                      out)
      .release();
}

mxrt_status mxrt_tensor_borrow(mxrt_runtime *runtime, const mxrt_device *device,
                               mxrt_dtype type, int32_t rank,
                               const int64_t *shape, const int64_t *strides,
                               void *data, uint32_t flags,
                               void (*release)(void *), void *user,
                               const mxrt_location *location, mxrt_tensor **out) {
  *out = nullptr;
  return borrowTensor(runtime, *device, {type, rank, shape}, strides, data,
                      flags, release, user, locationOf(location), out)
      .release();
}

mxrt_tensor *mxrt_tensor_retain(mxrt_tensor *tensor) {
  if (tensor)
    tensor->refs.fetch_add(1, std::memory_order_relaxed);
  return tensor;
}

void mxrt_tensor_release(mxrt_tensor *tensor) {
  if (!tensor || tensor->refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  mxrt_buffer *buffer = tensor->buffer;
  if (tensor->owner)
    buffer->owners.fetch_sub(1, std::memory_order_release);
  size_t bytes = tensorBytes(tensor->rank);
  tensor->~mxrt_tensor();
  releaseBytes(&buffer->alloc, tensor, bytes, alignof(mxrt_tensor));
  buffer->release();
}

mxrt_dtype mxrt_tensor_dtype(const mxrt_tensor *tensor) { return tensor->type; }
int32_t mxrt_tensor_rank(const mxrt_tensor *tensor) { return tensor->rank; }
const int64_t *mxrt_tensor_shape(const mxrt_tensor *tensor) {
  return tensor->sizes();
}
const int64_t *mxrt_tensor_strides(const mxrt_tensor *tensor) {
  return tensor->strides();
}
mxrt_device mxrt_tensor_device(const mxrt_tensor *tensor) {
  return tensor->buffer->device;
}
int64_t mxrt_tensor_elements(const mxrt_tensor *tensor) {
  return tensor->elements;
}
int64_t mxrt_tensor_bytes(const mxrt_tensor *tensor) {
  // No overflow: measured when the tensor was created.
  return tensor->elements * mxrt_dtype_size(tensor->type);
}
void *mxrt_tensor_data(const mxrt_tensor *tensor) { return tensor->data(); }

int32_t mxrt_tensor_is_dense(const mxrt_tensor *tensor) {
  int64_t expected = 1;
  if (tensor->elements == 0)
    return 1;
  for (int32_t i = tensor->rank - 1; i >= 0; --i) {
    if (tensor->sizes()[i] == 1)
      continue;
    if (tensor->strides()[i] != expected)
      return 0;
    expected *= tensor->sizes()[i];
  }
  return 1;
}

int32_t mxrt_tensor_is_shared(const mxrt_tensor *tensor) {
  return isShared(tensor);
}

size_t mxrt_tensor_describe(const mxrt_tensor *tensor, char *buffer,
                            size_t capacity) {
  return formatShape(tensor->shape(), buffer, capacity);
}

mxrt_status mxrt_tensor_prepare_write(mxrt_runtime *runtime,
                                      mxrt_tensor **tensor,
                                      const mxrt_location *location,
                                      mxrt_tensor **copy_from) {
  *copy_from = nullptr;
  mxrt_tensor *old = *tensor;
  if (!isShared(old))
    return nullptr;
  mxrt_tensor *fresh = nullptr;
  if (mxrt_status failure =
          createTensor(runtime, old->buffer->device, old->shape(),
                       locationOf(location), &fresh)
              .release())
    return failure;
  *tensor = fresh;
  *copy_from = old;
  return nullptr;
}

mxrt_buffer *mxrt_tensor_buffer(const mxrt_tensor *tensor) {
  return tensor->buffer;
}

} // extern "C"
