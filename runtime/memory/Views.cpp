// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views: new sizes and strides over the same buffer.

#include "base/CheckedMath.h"
#include "memory/Tensor.h"

#include <cstring>

namespace mxrt {
namespace {

const mxrt_allocator *allocatorOf(const mxrt_tensor *tensor) {
  return &tensor->buffer->alloc;
}

/// A tensor of `rank` on the same buffer and offset; sizes are uninitialised.
Result<mxrt_tensor *> makeView(const mxrt_tensor *base, int32_t rank,
                               bool owner, mxrt_location location) {
  base->buffer->retain();
  mxrt_tensor *view =
      MXRT_TRY(makeTensor(base->buffer, base->type, rank, owner, location));
  view->offset = base->offset;
  view->elements = base->elements;
  return view;
}

Result<mxrt_tensor *> makeView(const mxrt_tensor *base, int32_t rank,
                               mxrt_location location) {
  return makeView(base, rank, base->owner, location);
}

/// Converts a negative axis to one counted from the front. `limit` axes exist.
Status resolveAxis(const mxrt_tensor *tensor, int32_t &axis, int32_t limit,
                   mxrt_location location) {
  int32_t resolved = axis < 0 ? axis + limit : axis;
  if (resolved < 0 || resolved >= limit)
    return error(allocatorOf(tensor), MXRT_INDEX, location,
                 "axis %d of %s: it has %d", axis,
                 shapeText(tensor->shape()).text, tensor->rank);
  axis = resolved;
  return success();
}

void copyDims(const mxrt_tensor *from, mxrt_tensor *to) {
  for (int32_t i = 0; i < to->rank; ++i) {
    to->sizes()[i] = from->sizes()[i];
    to->strides()[i] = from->strides()[i];
  }
}

int64_t countElements(const mxrt_tensor *tensor) {
  int64_t elements = 1;
  for (int32_t i = 0; i < tensor->rank; ++i)
    elements *= tensor->sizes()[i]; // parts of a measured shape: no overflow
  return elements;
}

Status slice(mxrt_tensor *base, int32_t axis, int64_t begin, int64_t end,
             int64_t step, mxrt_location location, mxrt_tensor **out) {
  MXRT_CHECK(resolveAxis(base, axis, base->rank, location));
  int64_t size = base->sizes()[axis];
  bool inside = step > 0 ? begin >= 0 && begin <= end && end <= size
                         : end >= -1 && end <= begin && begin < size;
  if (step == 0 || step == INT64_MIN || !inside)
    return error(allocatorOf(base), MXRT_INDEX, location,
                 "slice %lld:%lld:%lld of axis %d of %s is out of range",
                 static_cast<long long>(begin), static_cast<long long>(end),
                 static_cast<long long>(step), axis,
                 shapeText(base->shape()).text);
  int64_t length = step > 0 ? ceilDiv(end - begin, step)
                            : ceilDiv(begin - end, -step);
  mxrt_tensor *view = MXRT_TRY(makeView(base, base->rank, location));
  copyDims(base, view);
  int64_t stride = base->strides()[axis];
  view->sizes()[axis] = length;
  if (length > 0)
    view->offset += begin * stride;
  if (length > 1) // then |step| < size, and the multiplication is in range
    view->strides()[axis] = stride * step;
  view->elements = countElements(view);
  *out = view;
  return success();
}

Status select(mxrt_tensor *base, int32_t axis, int64_t index, mxrt_location location,
              mxrt_tensor **out) {
  MXRT_CHECK(resolveAxis(base, axis, base->rank, location));
  if (index < 0 || index >= base->sizes()[axis])
    return error(allocatorOf(base), MXRT_INDEX, location,
                 "index %lld of axis %d of %s is out of range",
                 static_cast<long long>(index), axis,
                 shapeText(base->shape()).text);
  mxrt_tensor *view = MXRT_TRY(makeView(base, base->rank - 1, location));
  for (int32_t from = 0, to = 0; from < base->rank; ++from) {
    if (from == axis)
      continue;
    view->sizes()[to] = base->sizes()[from];
    view->strides()[to++] = base->strides()[from];
  }
  view->elements = countElements(view);
  if (view->elements > 0)
    view->offset += index * base->strides()[axis];
  *out = view;
  return success();
}

Status expand(mxrt_tensor *base, int32_t axis, mxrt_location location,
              mxrt_tensor **out) {
  if (base->rank == MXRT_MAX_RANK)
    return error(allocatorOf(base), MXRT_RANK_LIMIT, location,
                 "a new axis for %s: the limit is %d dimensions",
                 shapeText(base->shape()).text, MXRT_MAX_RANK);
  MXRT_CHECK(resolveAxis(base, axis, base->rank + 1, location));
  mxrt_tensor *view = MXRT_TRY(makeView(base, base->rank + 1, location));
  for (int32_t to = 0, from = 0; to < view->rank; ++to) {
    bool inserted = to == axis;
    view->sizes()[to] = inserted ? 1 : base->sizes()[from];
    view->strides()[to] = inserted ? 0 : base->strides()[from];
    from += !inserted;
  }
  *out = view;
  return success();
}

Status permute(mxrt_tensor *base, const int32_t *axes, mxrt_location location,
               mxrt_tensor **out) {
  uint32_t seen = 0;
  for (int32_t i = 0; i < base->rank; ++i) {
    int32_t axis = axes[i];
    if (axis < 0 || axis >= base->rank || (seen & 1u << axis))
      return error(allocatorOf(base), MXRT_INDEX, location,
                   "axis %d in a permutation of %s is out of range or there "
                   "twice",
                   axis, shapeText(base->shape()).text);
    seen |= 1u << axis;
  }
  mxrt_tensor *view = MXRT_TRY(makeView(base, base->rank, location));
  for (int32_t i = 0; i < base->rank; ++i) {
    view->sizes()[i] = base->sizes()[axes[i]];
    view->strides()[i] = base->strides()[axes[i]];
  }
  *out = view;
  return success();
}

Status broadcast(mxrt_tensor *base, const ShapeRef &shape, mxrt_location location,
                 mxrt_tensor **out) {
  int64_t elements, bytes;
  MXRT_CHECK(
      measureShape(allocatorOf(base), shape, location, elements, bytes));
  int32_t added = shape.rank - base->rank;
  bool fits = added >= 0;
  for (int32_t i = 0; fits && i < base->rank; ++i)
    fits = base->sizes()[i] == shape.sizes[added + i] || base->sizes()[i] == 1;
  if (!fits)
    return error(allocatorOf(base), MXRT_SHAPE, location,
                 "%s cannot be broadcast to %s", shapeText(base->shape()).text,
                 shapeText(shape).text);
  mxrt_tensor *view = MXRT_TRY(makeView(base, shape.rank, location));
  view->elements = elements;
  for (int32_t i = 0; i < shape.rank; ++i) {
    bool repeated = i < added || base->sizes()[i - added] != shape.sizes[i];
    view->sizes()[i] = shape.sizes[i];
    view->strides()[i] = repeated ? 0 : base->strides()[i - added];
  }
  *out = view;
  return success();
}

/// Strides for `shape` over the elements of `base` in row-major order; false if there are none.
/// Works on groups of axes with equal numbers of elements: inside a group the old axes must be
/// dense relative to each other.
bool reshapeStrides(const mxrt_tensor *base, const ShapeRef &shape,
                    int64_t *strides) {
  int32_t from = 0, to = 0;
  while (to < shape.rank) {
    if (shape.sizes[to] == 1) {
      strides[to++] = 0;
      continue;
    }
    while (from < base->rank && base->sizes()[from] == 1)
      ++from;
    int32_t firstFrom = from, firstTo = to;
    int64_t oldSize = base->sizes()[from++];
    int64_t newSize = shape.sizes[to++];
    while (oldSize != newSize) {
      if (oldSize < newSize)
        oldSize *= base->sizes()[from++];
      else
        newSize *= shape.sizes[to++];
    }
    int32_t last = firstFrom;
    for (int32_t i = firstFrom + 1; i < from; ++i) {
      if (base->sizes()[i] == 1)
        continue;
      if (base->strides()[last] != base->strides()[i] * base->sizes()[i])
        return false;
      last = i;
    }
    int64_t stride = base->strides()[last];
    for (int32_t i = to - 1; i >= firstTo; --i) {
      strides[i] = stride;
      stride *= shape.sizes[i];
    }
  }
  return true;
}

Status reshape(mxrt_tensor *base, const ShapeRef &shape, mxrt_location location,
               mxrt_tensor **out) {
  int64_t elements, bytes;
  MXRT_CHECK(
      measureShape(allocatorOf(base), shape, location, elements, bytes));
  if (elements != base->elements)
    return error(allocatorOf(base), MXRT_SHAPE, location,
                 "%s has %lld elements and cannot become %s with %lld",
                 shapeText(base->shape()).text,
                 static_cast<long long>(base->elements), shapeText(shape).text,
                 static_cast<long long>(elements));
  int64_t strides[MXRT_MAX_RANK];
  if (elements == 0)
    denseStrides(shape.rank, shape.sizes, strides);
  else if (!reshapeStrides(base, shape, strides))
    return success();
  mxrt_tensor *view = MXRT_TRY(makeView(base, shape.rank, location));
  for (int32_t i = 0; i < shape.rank; ++i) {
    view->sizes()[i] = shape.sizes[i];
    view->strides()[i] = strides[i];
  }
  *out = view;
  return success();
}

Status target(mxrt_tensor *base, mxrt_tensor **out) {
  mxrt_tensor *view = MXRT_TRY(makeView(base, base->rank, false, noLocation));
  copyDims(base, view);
  *out = view;
  return success();
}

} // namespace
} // namespace mxrt

using namespace mxrt;

extern "C" {

mxrt_status mxrt_tensor_slice(mxrt_tensor *tensor, int32_t axis, int64_t begin,
                              int64_t end, int64_t step,
                              const mxrt_location *location, mxrt_tensor **out) {
  *out = nullptr;
  return slice(tensor, axis, begin, end, step, locationOf(location), out).release();
}

mxrt_status mxrt_tensor_select(mxrt_tensor *tensor, int32_t axis, int64_t index,
                               const mxrt_location *location, mxrt_tensor **out) {
  *out = nullptr;
  return mxrt::select(tensor, axis, index, locationOf(location), out).release();
}

mxrt_status mxrt_tensor_expand(mxrt_tensor *tensor, int32_t axis,
                               const mxrt_location *location, mxrt_tensor **out) {
  *out = nullptr;
  return expand(tensor, axis, locationOf(location), out).release();
}

mxrt_status mxrt_tensor_permute(mxrt_tensor *tensor, const int32_t *axes,
                                const mxrt_location *location, mxrt_tensor **out) {
  *out = nullptr;
  return permute(tensor, axes, locationOf(location), out).release();
}

mxrt_status mxrt_tensor_broadcast(mxrt_tensor *tensor, int32_t rank,
                                  const int64_t *shape, const mxrt_location *location,
                                  mxrt_tensor **out) {
  *out = nullptr;
  return broadcast(tensor, {tensor->type, rank, shape}, locationOf(location), out)
      .release();
}

mxrt_status mxrt_tensor_reshape(mxrt_tensor *tensor, int32_t rank,
                                const int64_t *shape, const mxrt_location *location,
                                mxrt_tensor **out) {
  *out = nullptr;
  return reshape(tensor, {tensor->type, rank, shape}, locationOf(location), out)
      .release();
}

mxrt_status mxrt_tensor_target(mxrt_tensor *tensor, mxrt_tensor **out) {
  *out = nullptr;
  return target(tensor, out).release();
}

} // extern "C"
