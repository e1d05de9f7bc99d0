// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions: the axes of any tensor are grouped as [A, R, B], of which R is reduced.

#include "base/Elements.h"
#include "eager/Issue.h"

namespace mxrt::eager {

namespace {

struct Folding {
  AxisGroup a, r, b;

  /// Kept axes before, reduced ones, kept axes after: no axis is moved.
  bool inPlace(const mxrt_tensor *x, uint32_t axes) {
    *this = Folding();
    for (int32_t i = 0; i < x->rank; ++i) {
      int64_t size = x->sizes()[i], stride = x->strides()[i];
      if (size == 1)
        continue;
      bool fits = axes >> i & 1 ? b.size == 1 && r.add(size, stride)
                  : r.size == 1 ? a.add(size, stride)
                                : b.add(size, stride);
      if (!fits)
        return false;
    }
    return true;
  }
  /// All kept axes, then all reduced ones.
  bool reordered(const mxrt_tensor *x, uint32_t axes) {
    *this = Folding();
    for (int32_t i = 0; i < x->rank; ++i)
      if (!(axes >> i & 1 ? r : a).add(x->sizes()[i], x->strides()[i]))
        return false;
    return true;
  }
  /// The same for a dense tensor with the axes in that order.
  void dense(const mxrt_tensor *x, uint32_t axes) {
    *this = Folding();
    for (int32_t i = 0; i < x->rank; ++i)
      (axes >> i & 1 ? r : a).size *= x->sizes()[i];
    r.stride = 1;
    a.stride = r.size;
  }
};

} // namespace

static Result<TensorRef> reorderedCopy(OpCall &call, mxrt_tensor *x, uint32_t axes) {
  int32_t order[MXRT_MAX_RANK], used = 0;
  for (uint32_t reduced : {0u, 1u})
    for (int32_t i = 0; i < x->rank; ++i)
      if ((axes >> i & 1) == reduced)
        order[used++] = i;
  mxrt_tensor *view = nullptr;
  MXRT_CHECK(call.named(mxrt_tensor_permute(x, order, &call.location, &view)));
  TensorRef owner(view);
  return call.denseCopy(view);
}

static Status checkSizes(OpCall &call, const mxrt_tensor *x, const Folding &fold) {
  const char *name = call.op.info->name;
  bool isArg = call.op.info->result == OpResult::I32;
  bool needsOne = !call.op.total && (isArg || name[0] == 'm'); // max and min
  if (needsOne && fold.r.size == 0 && fold.a.size > 0 && fold.b.size > 0)
    return call.fail(MXRT_SHAPE,
                     "%s is empty where it is reduced, and nothing "
                     "has no %s",
                     shapeText(x->shape()).text,
                     name[isArg ? 4 : 1] == 'a' ? "largest element" : "smallest element");
  if (isArg && fold.r.size > INT32_MAX)
    return call.fail(MXRT_SHAPE, "%s has more elements than i32 can count",
                     shapeText(x->shape()).text);
  return success();
}

/// -inf in a float type.
static uint64_t lowestBits(mxrt_dtype type) {
  return visitElement(type,
                      [](auto element) { return uint64_t(element.sign | element.infinity); });
}

Status runReduce(OpCall &call) {
  const Operation &op = call.op;
  MXRT_CHECK(call.operandCount(1));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0, op.type));
  MXRT_CHECK(call.onDevice(x));
  uint32_t present = (1u << x->rank) - 1;
  uint32_t axes = op.axes == allAxes ? present : op.axes;
  if (axes & ~present)
    return call.fail(MXRT_SHAPE, "axis %d of %s, which has %d", 31 - __builtin_clz(axes),
                     shapeText(x->shape()).text, x->rank);

  int64_t sizes[MXRT_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->rank; ++i) {
    bool reduced = axes >> i & 1;
    if (!reduced || op.keep)
      sizes[rank++] = reduced ? 1 : x->sizes()[i];
  }

  Folding fold;
  TensorRef held;
  if (x->elements == 0) {
    fold.dense(x, axes);
  } else if (!fold.inPlace(x, axes) && !fold.reordered(x, axes)) {
    held = MXRT_TRY(reorderedCopy(call, x, axes));
    fold.dense(x, axes);
    x = held.get();
  }
  MXRT_CHECK(checkSizes(call, x, fold));
  TensorRef result = MXRT_TRY(call.create(op.result, rank, sizes));
  if (op.total && fold.r.size == 0) {
    MXRT_CHECK(call.fill(result.get(), lowestBits(op.type)));
    return call.give(std::move(result));
  }

  bool dense = x->elements == 0 || isDense3(fold.a, fold.r, fold.b);
  Layout layout = dense ? Layout::Dense : Layout::Strided;
  KernelCall kernel;
  kernel.input(x);
  kernel.sizes(ReduceSizes{.A = fold.a.size, .R = fold.r.size, .B = fold.b.size});
  addStrides3(kernel, layout, fold.a, fold.r, fold.b);
  kernel.arguments.kernel = MXRT_TRY(call.kernel(uint32_t(layout), [&](KeyText &key) {
    key.write(signatures::Reduce, {{op.type, layout}}, op.result, op.info->name);
  }));
  MXRT_CHECK(call.issue(kernel, result.get()));
  return call.give(std::move(result));
}

} // namespace mxrt::eager
