// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overflow-checked validation and formatting of shapes.

#include "memory/Shape.h"
#include "base/CheckedMath.h"

#include <cstdio>
#include <cstring>

namespace mxrt {

size_t formatShape(const ShapeRef &shape, char *buffer, size_t capacity) {
  size_t length = 0;
  auto put = [&](const char *text) {
    for (; *text; ++text, ++length)
      if (length + 1 < capacity)
        buffer[length] = *text;
  };
  put(mxrt_dtype_name(shape.type));
  put("[");
  // A rank far above the limit comes from an incorrect caller: do not read that many sizes.
  int32_t shown = shape.rank <= 2 * MXRT_MAX_RANK ? shape.rank : 0;
  for (int32_t i = 0; i < shown; ++i) {
    char number[32];
    snprintf(number, sizeof(number), i ? ", %lld" : "%lld",
             static_cast<long long>(shape.sizes[i]));
    put(number);
  }
  if (shown < shape.rank)
    put("...");
  put("]");
  if (capacity == 0)
    return length;
  buffer[length < capacity ? length : capacity - 1] = 0;
  if (length >= capacity && capacity > 4)
    memcpy(buffer + capacity - 4, "...", 3);
  return length;
}

Status measureShape(const mxrt_allocator *alloc, const ShapeRef &shape,
                    mxrt_location location, int64_t &elements, int64_t &bytes) {
  int64_t elementBytes = mxrt_dtype_size(shape.type);
  if (elementBytes == 0)
    return error(alloc, MXRT_INVALID_ARGUMENT, location,
                 "unknown element type %d", static_cast<int>(shape.type));
  if (shape.rank < 0 || shape.rank > MXRT_MAX_RANK)
    return error(alloc, MXRT_RANK_LIMIT, location,
                 "a tensor of rank %d: the limit is %d dimensions", shape.rank,
                 MXRT_MAX_RANK);
  // Zeros are left out of the multiplication, so that [0, 2^62, 2^62] is an error and strides of
  // an empty tensor never overflow.
  int64_t product = 1;
  bool empty = false, fits = true;
  for (int32_t i = 0; i < shape.rank; ++i) {
    int64_t size = shape.sizes[i];
    if (size < 0)
      return error(alloc, MXRT_SHAPE, location,
                   "%s has the negative size %lld in dimension %d",
                   shapeText(shape).text, static_cast<long long>(size), i);
    if (size == 0)
      empty = true;
    else
      fits = fits && checkedMul(product, size, product);
  }
  int64_t total = 0;
  // A page of slack keeps every later rounding in range.
  if (!fits || !checkedMul(product, elementBytes, total) ||
      total > INT64_MAX - 4096)
    return error(alloc, MXRT_SIZE_OVERFLOW, location,
                 "%s needs more than 2^63 bytes (%lld bytes an element)",
                 shapeText(shape).text, static_cast<long long>(elementBytes));
  elements = empty ? 0 : product;
  bytes = empty ? 0 : total;
  return success();
}

void denseStrides(int32_t rank, const int64_t *sizes, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    if (sizes[i] > 1)
      stride *= sizes[i];
  }
}

} // namespace mxrt
