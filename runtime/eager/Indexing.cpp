// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indexing: x[...] and x[...] = value. Integers, ranges and new axes make a view; a tensor of
// indices gathers with the kernel of `take`.

#include "eager/Issue.h"

#include <cstring>

namespace mxrt::eager {

namespace {

/// The indexed region of a tensor: a view, and an optional gather.
struct Region {
  int64_t offset = 0;
  int32_t rank = 0;
  int64_t sizes[MXRT_MAX_RANK];
  int64_t strides[MXRT_MAX_RANK];
  /// The axis of the view that a tensor of indices applies to, and that tensor.
  int32_t gatherAxis = -1;
  mxrt_tensor *gather = nullptr;
  int32_t shownAxis = -1; // for errors; -1 for class indices
};

class Indexer {
public:
  Indexer(OpCall &call, const mxrt_tensor *x) : call(call), x(x) {}

  Status run(Region &out) {
    region = Region();
    for (int32_t i = 0; i < call.op.itemCount; ++i)
      MXRT_CHECK(item(call.op.items[i]));
    while (axis < x->rank)
      MXRT_CHECK(whole());
    out = region;
    return success();
  }

private:
  Status item(const IndexItem &item) {
    if (item.sort == 'n')
      return keep(1, 0);
    if (axis == x->rank)
      return call.fail(MXRT_INDEX, "too many indices for %s", shapeText(x->shape()).text);
    switch (item.sort) {
    case 'i':
      return select();
    case 'r':
      return range(item);
    case 'l':
    case 't':
      region.gatherAxis = region.rank;
      region.shownAxis = item.sort == 'l' ? -1 : item.shown >= 0 ? item.shown : region.rank;
      region.gather = MXRT_TRY(call.tensor(operand++));
      return whole();
    default:
      return whole();
    }
  }

  Status keep(int64_t size, int64_t stride) {
    if (region.rank == MXRT_MAX_RANK)
      return call.fail(MXRT_RANK_LIMIT, "the result has more than %d dimensions", MXRT_MAX_RANK);
    region.sizes[region.rank] = size;
    region.strides[region.rank++] = stride;
    return success();
  }
  Status whole() {
    ++axis;
    return keep(x->sizes()[axis - 1], x->strides()[axis - 1]);
  }

  Status outside(const char *what, int64_t number) const {
    return call.fail(MXRT_INDEX, "%s %lld is out of range for axis %d of size %lld of %s", what,
                     static_cast<long long>(number), axis, static_cast<long long>(x->sizes()[axis]),
                     shapeText(x->shape()).text);
  }

  Status select() {
    int64_t size = x->sizes()[axis];
    int64_t given = MXRT_TRY(call.integer(operand++));
    int64_t number = given < 0 ? given + size : given;
    if (number < 0 || number >= size)
      return outside("index", given);
    region.offset += number * x->strides()[axis++];
    return success();
  }

  /// A bound of a range, counted from the start. `last` is the largest allowed value.
  Result<int64_t> bound(const char *what, int64_t last) {
    int64_t given = MXRT_TRY(call.integer(operand++));
    int64_t number = given < 0 ? given + x->sizes()[axis] : given;
    if (number < 0 || number > last)
      return outside(what, given);
    return number;
  }

  Status range(const IndexItem &item) {
    int64_t size = x->sizes()[axis];
    int64_t step = 1;
    if (item.step) {
      // The step comes last, but determines the meaning of the others.
      size_t at = operand + item.from + item.to;
      step = MXRT_TRY(call.integer(at));
      if (step == 0)
        return call.fail(MXRT_INDEX, "the step for axis %d of %s is 0", axis,
                         shapeText(x->shape()).text);
    }
    bool forward = step > 0;
    int64_t from = forward ? 0 : size - 1, to = forward ? size : -1;
    if (item.from)
      from = MXRT_TRY(bound("start", forward ? size : size - 1));
    if (item.to)
      to = MXRT_TRY(bound("end", size));
    operand += item.step;
    int64_t distance = forward ? to - from : from - to;
    uint64_t pace = forward ? uint64_t(step) : 0 - uint64_t(step);
    int64_t length = distance <= 0 ? 0 : int64_t((uint64_t(distance) - 1) / pace) + 1;
    int64_t stride = x->strides()[axis];
    if (length > 0)
      region.offset += from * stride;
    ++axis;
    // With at most one element a step may be arbitrarily large.
    return keep(length, length > 1 ? stride * step : stride);
  }

  OpCall &call;
  const mxrt_tensor *x;
  Region region;
  int32_t axis = 0;   // current axis of x
  size_t operand = 1; // next operand to use
};

} // namespace

/// Gather: x[A, N, B] at index[I] gives [A, I, B].
static Status gather(OpCall &call, const mxrt_tensor *base, const Region &region) {
  mxrt_tensor *index = region.gather;
  if (index->type != MXRT_I32 && index->type != MXRT_I64)
    return call.fail(MXRT_DTYPE, "an index of %s; it must be i32 or i64",
                     shapeText(index->shape()).text);
  MXRT_CHECK(call.onDevice(base));
  MXRT_CHECK(call.onDevice(index));
  int32_t rank = region.rank - 1 + index->rank;
  if (rank > MXRT_MAX_RANK)
    return call.fail(MXRT_RANK_LIMIT, "the result has more than %d dimensions", MXRT_MAX_RANK);
  int64_t sizes[MXRT_MAX_RANK];
  int32_t used = 0;
  for (int32_t i = 0; i < region.rank; ++i) {
    if (i != region.gatherAxis) {
      sizes[used++] = region.sizes[i];
      continue;
    }
    for (int32_t k = 0; k < index->rank; ++k)
      sizes[used++] = index->sizes()[k];
  }
  TensorRef x = MXRT_TRY(call.view(base, region.offset, region.rank, region.sizes, region.strides));
  TensorRef heldIndex;
  if (!mxrt_tensor_is_dense(index)) {
    heldIndex = MXRT_TRY(call.denseCopy(index));
    index = heldIndex.get();
  }
  TensorRef result = MXRT_TRY(call.create(base->type, rank, sizes));

  AxisGroup before, after;
  AxisGroup along = {region.sizes[region.gatherAxis], region.strides[region.gatherAxis]};
  bool folds = x->elements > 0;
  for (int32_t i = 0; folds && i < region.rank; ++i)
    if (i != region.gatherAxis)
      folds = (i < region.gatherAxis ? before : after).add(region.sizes[i], region.strides[i]);
  if (!folds) {
    if (x->elements > 0)
      x = MXRT_TRY(call.denseCopy(x.get()));
    before = after = AxisGroup();
    for (int32_t i = 0; i < region.rank; ++i)
      if (i != region.gatherAxis)
        (i < region.gatherAxis ? before : after).size *= region.sizes[i];
    after.stride = 1;
    along.stride = after.size;
    before.stride = along.size * after.size;
  }
  Layout layout = isDense3(before, along, after) ? Layout::Dense : Layout::Strided;
  KernelCall kernel;
  kernel.input(x.get());
  kernel.input(index);
  kernel.sizes(TakeSizes{.A = before.size,
                         .N = along.size,
                         .B = after.size,
                         .I = index->elements,
                         .X = region.shownAxis});
  addStrides3(kernel, layout, before, along, after);
  uint32_t form = uint32_t(layout) << 8 | uint32_t(base->type) << 4 | uint32_t(index->type);
  kernel.arguments.kernel = MXRT_TRY(call.kernel(form, [&](KeyText &key) {
    key.write(signatures::Take, {{base->type, layout}, {index->type, Layout::Dense}}, base->type);
  }));
  MXRT_CHECK(call.issue(kernel, result.get()));
  return call.give(std::move(result));
}

Status runIndex(OpCall &call) {
  MXRT_CHECK(call.operandCount(1 + size_t(call.op.indexOperands)));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0));
  Region region;
  MXRT_CHECK(Indexer(call, x).run(region));
  if (region.gather)
    return gather(call, x, region);
  return call.give(MXRT_TRY(call.view(x, region.offset, region.rank, region.sizes, region.strides)));
}

//===-- update --------------------------------------------------------------===//

/// Makes operand 0 a writable tensor, in the VM's value or, if that is shared, in a new one (copy
/// on write). `owned` has a reference of its own afterwards.
static Status prepareTarget(OpCall &call, TensorRef &owned) {
  host::Value &slot = call.call.args[0];
  host::ForeignObject *object = slot.foreign();
  mxrt_tensor *x = static_cast<mxrt_tensor *>(object->payload);
  if (call.op.firstIsMut && object->refs == 1) {
    // Not shared as a VM value; prepareWrite checks whether it is shared as a tensor.
    MXRT_CHECK(call.prepareWrite(x));
    object->payload = x;
    owned = TensorRef(mxrt_tensor_retain(x));
    return success();
  }
  TensorRef copy = MXRT_TRY(call.denseCopy(x));
  if (call.op.firstIsMut) {
    host::Value value = makeTensorValue(call.call.vm.heap(), mxrt_tensor_retain(copy.get()));
    if (!value.isSet()) {
      mxrt_tensor_release(copy.get());
      return call.call.vm.heap().exhausted();
    }
    host::replace(call.call.vm.heap(), slot, value);
  }
  owned = std::move(copy);
  return success();
}

static Status checkValue(OpCall &call, const mxrt_tensor *x, const mxrt_tensor *value,
                         const Region &region) {
  if (value->type != x->type)
    return call.fail(MXRT_DTYPE, "%s for a part of %s", shapeText(value->shape()).text,
                     shapeText(x->shape()).text);
  if (!broadcastsTo(value, region.rank, region.sizes))
    return call.fail(
        MXRT_SHAPE, "%s does not fit the part %s of %s", shapeText(value->shape()).text,
        shapeText({x->type, region.rank, region.sizes}).text, shapeText(x->shape()).text);
  return success();
}

Status runUpdate(OpCall &call) {
  if (call.op.tensorItem >= 0)
    return call.fail(MXRT_UNSUPPORTED, "writing by a tensor of indices is not supported yet");
  size_t valueAt = 1 + size_t(call.op.indexOperands);
  MXRT_CHECK(call.operandCount(valueAt + 1));
  mxrt_tensor *x = MXRT_TRY(call.tensor(0));
  // All checks come before the first change.
  Region region;
  MXRT_CHECK(Indexer(call, x).run(region));
  TensorRef value;
  uint64_t bits = 0;
  if (mxrt_tensor *given = tensorOf(call.call.args[valueAt])) {
    MXRT_CHECK(checkValue(call, x, given, region));
    mxrt_device where = given->buffer->device, wanted = x->buffer->device;
    bool elsewhere = where.kind != wanted.kind || where.index != wanted.index;
    if (elsewhere && given->rank > 0)
      return call.fail(MXRT_WRONG_DEVICE, "%s and %s are on different devices",
                       shapeText(given->shape()).text, shapeText(x->shape()).text);
    value = elsewhere ? MXRT_TRY(call.moved(given, wanted)) : TensorRef(mxrt_tensor_retain(given));
  } else {
    MXRT_CHECK(call.element(valueAt, x->type, bits));
  }

  TensorRef target;
  MXRT_CHECK(prepareTarget(call, target));
  MXRT_CHECK(Indexer(call, target.get()).run(region)); // strides may have changed
  TensorRef part =
      MXRT_TRY(call.view(target.get(), region.offset, region.rank, region.sizes, region.strides));
  if (part->elements > 0 && value) {
    mxrt_tensor *wide = nullptr;
    MXRT_CHECK(call.named(
        mxrt_tensor_broadcast(value.get(), region.rank, region.sizes, &call.location, &wide)));
    value = TensorRef(wide);
    MXRT_CHECK(call.copyInto(wide, part.get()));
  } else if (part->elements > 0) {
    MXRT_CHECK(call.fill(part.get(), bits));
  }
  if (!call.op.firstIsMut)
    return call.give(std::move(target));
  if (call.op.resultKind == host::Kind::Unit)
    return success();
  host::retain(call.call.args[0]);
  call.call.result = call.call.args[0];
  return success();
}

} // namespace mxrt::eager
