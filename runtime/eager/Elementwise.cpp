// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise operations: broadcasting, axis collapsing, then one kernel.

#include "eager/CarriedKeys.h"
#include "eager/Issue.h"
#include "memory/Collapse.h"

#include <cstdio>
#include <cstring>

namespace mxrt::eager {

bool broadcastsTo(const mxrt_tensor *tensor, int32_t rank, const int64_t *sizes) {
  int32_t added = rank - tensor->rank;
  for (int32_t i = 0; added >= 0 && i < tensor->rank; ++i)
    if (tensor->sizes()[i] != 1 && tensor->sizes()[i] != sizes[added + i])
      return false;
  return added >= 0;
}

namespace {

struct Operand {
  mxrt_tensor *tensor = nullptr; // null: a host number
  uint64_t bits = 0;
  mxrt_dtype type;
  Layout layout = Layout::Single;
};

struct Elementwise {
  OpCall &call;
  Operand operands[maxInputs];
  int32_t count = 0;
  TensorRef held[maxInputs]; // copies of operands that could not be used directly
  int32_t rank = 0;          // of the result
  int64_t sizes[MXRT_MAX_RANK];

  Status take();
  Status takeOne(int32_t index, mxrt_dtype type);
  Status broadcast();
  Status misfit() const;
  bool flatten(int64_t elements);
  void strides(int32_t index, int64_t *out) const;
  Status copyOddOnes(int64_t elements);
  Result<TensorRef> run(mxrt_dtype result);
  Status issueWalk(mxrt_tensor *result, Walk<maxInputs> &walk);
};

Status Elementwise::takeOne(int32_t index, mxrt_dtype type) {
  Operand &operand = operands[index];
  operand.type = type;
  operand.tensor = tensorOf(call.call.args[size_t(index)]);
  if (!operand.tensor)
    return call.element(size_t(index), type, operand.bits);
  if (operand.tensor->type != type)
    return call.tensor(size_t(index), type).takeStatus();
  const mxrt_device &where = operand.tensor->buffer->device;
  if (where.kind != call.op.device.kind || where.index != call.op.device.index) {
    if (operand.tensor->rank > 0)
      return call.onDevice(operand.tensor);
    // Single values are copied freely between devices.
    held[index] = MXRT_TRY(call.moved(operand.tensor, call.op.device));
    operand.tensor = held[index].get();
  }
  return success();
}

Status Elementwise::take() {
  count = call.op.info->operands;
  MXRT_CHECK(call.operandCount(size_t(count)));
  for (int32_t i = 0; i < count; ++i) {
    bool condition = call.op.info->family == Family::Select && i == 0;
    MXRT_CHECK(takeOne(i, condition ? MXRT_BOOL : call.op.type));
  }
  return success();
}

Status Elementwise::misfit() const {
  char text[640] = "";
  size_t used = 0;
  int32_t tensors = 0, seen = 0;
  for (int32_t i = 0; i < count; ++i)
    tensors += operands[i].tensor != nullptr;
  for (int32_t i = 0; i < count; ++i) {
    if (!operands[i].tensor)
      continue;
    ++seen;
    used += size_t(snprintf(text + used, sizeof(text) - used, "%s%s",
                            seen == 1         ? ""
                            : seen == tensors ? " and "
                                              : ", ",
                            shapeText(operands[i].tensor->shape()).text));
  }
  return call.fail(MXRT_SHAPE, "%s do not fit", text);
}

Status Elementwise::broadcast() {
  for (int32_t i = 0; i < count; ++i)
    if (operands[i].tensor && operands[i].tensor->rank > rank)
      rank = operands[i].tensor->rank;
  for (int32_t axis = 0; axis < rank; ++axis)
    sizes[axis] = 1;
  for (int32_t i = 0; i < count; ++i) {
    const mxrt_tensor *tensor = operands[i].tensor;
    if (!tensor)
      continue;
    int64_t *at = sizes + (rank - tensor->rank);
    for (int32_t axis = 0; axis < tensor->rank; ++axis) {
      int64_t size = tensor->sizes()[axis];
      if (size == 1 || size == at[axis])
        continue;
      if (at[axis] != 1)
        return misfit();
      at[axis] = size;
    }
  }
  return success();
}

/// Chooses layouts of the flat form: every operand is the whole result in order, or one element.
/// False if that is not possible.
bool Elementwise::flatten(int64_t elements) {
  bool anyTensor = false;
  for (int32_t i = 0; i < count; ++i) {
    Operand &operand = operands[i];
    const mxrt_tensor *tensor = operand.tensor;
    anyTensor |= tensor != nullptr;
    if (!tensor)
      operand.layout = Layout::Single;
    else if (elements <= 1) // empty, or one element of each
      operand.layout = Layout::Dense;
    else if (tensor->elements == 1)
      operand.layout = Layout::Single;
    else if (tensor->elements == elements && mxrt_tensor_is_dense(tensor))
      operand.layout = Layout::Dense;
    else
      return false;
  }
  // Without tensors the kernel for tensors of one element is used.
  for (int32_t i = 0; !anyTensor && i < count; ++i)
    operands[i].layout = Layout::Dense;
  return true;
}

void Elementwise::strides(int32_t index, int64_t *out) const {
  const mxrt_tensor *tensor = operands[index].tensor;
  memset(out, 0, sizeof(int64_t) * MXRT_MAX_RANK);
  if (!tensor || index >= count || tensor->elements == 1)
    return;
  int32_t added = rank - tensor->rank;
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (tensor->sizes()[i] != 1)
      out[added + i] = tensor->strides()[i];
}

/// Fallback: copies the operands that prevent the flat form.
Status Elementwise::copyOddOnes(int64_t elements) {
  for (int32_t i = 0; i < count; ++i) {
    Operand &operand = operands[i];
    if (!operand.tensor || operand.tensor->elements == 1 ||
        (operand.tensor->elements == elements && mxrt_tensor_is_dense(operand.tensor)))
      continue;
    held[i] = MXRT_TRY(call.denseCopy(operand.tensor, rank, sizes));
    operand.tensor = held[i].get();
  }
  (void)flatten(elements); // succeeds now
  return success();
}

Status Elementwise::issueWalk(mxrt_tensor *result, Walk<maxInputs> &walk) {
  if (call.carriesKernels()) {
    Layout layouts[maxInputs];
    for (int32_t i = 0; i < count; ++i)
      layouts[i] = operands[i].layout;
    widenForm(count, layouts, walk.rank, walk.sizes, walk.strides);
    for (int32_t i = 0; i < count; ++i)
      operands[i].layout = layouts[i];
  }
  KernelCall kernel;
  uint32_t form = uint32_t(walk.rank);
  kernel.sizes(walk.sizes, walk.rank);
  for (int32_t i = 0; i < count; ++i) {
    const Operand &operand = operands[i];
    form = form << 2 | uint32_t(operand.layout);
    if (operand.tensor)
      kernel.input(operand.tensor);
    else
      kernel.scalar(operand.bits);
    if (operand.layout == Layout::Strided)
      kernel.sizes(walk.strides[i], walk.rank);
  }
  kernel.arguments.kernel = MXRT_TRY(call.kernel(form, [&](KeyText &key) {
    KeyOperand of[maxInputs];
    for (int32_t i = 0; i < count; ++i)
      of[i] = {operands[i].type, operands[i].layout};
    key.writeElementwise(call.op.info->name, walk.rank, {of, size_t(count)}, result->type);
  }));
  return call.issue(kernel, result);
}

Result<TensorRef> Elementwise::run(mxrt_dtype type) {
  MXRT_CHECK(broadcast());
  TensorRef result = MXRT_TRY(call.create(type, rank, sizes));
  int64_t elements = result->elements;
  Walk<maxInputs> walk;
  if (!flatten(elements)) {
    int64_t steps[maxInputs][MXRT_MAX_RANK];
    for (int32_t i = 0; i < maxInputs; ++i)
      strides(i, steps[i]);
    walk = collapse<maxInputs>(rank, sizes, {steps[0], steps[1], steps[2]});
    if (walk.rank > maxKernelRank)
      MXRT_CHECK(copyOddOnes(elements));
    else {
      for (int32_t i = 0; i < count; ++i) {
        Operand &operand = operands[i];
        operand.layout = Layout::Single;
        if (!operand.tensor || operand.tensor->elements == 1)
          continue;
        int64_t dense[MXRT_MAX_RANK];
        denseStrides(walk.rank, walk.sizes, dense);
        bool same = memcmp(dense, walk.strides[i], sizeof(int64_t) * size_t(walk.rank)) == 0;
        operand.layout = same ? Layout::Dense : Layout::Strided;
      }
      MXRT_CHECK(issueWalk(result.get(), walk));
      return result;
    }
  }
  walk.rank = 1;
  walk.sizes[0] = elements;
  for (int32_t i = 0; i < count; ++i)
    walk.strides[i][0] = operands[i].layout == Layout::Dense;
  MXRT_CHECK(issueWalk(result.get(), walk));
  return result;
}

} // namespace

Status runElementwise(OpCall &call) {
  Elementwise work{call, {}, 0, {}, 0, {}};
  MXRT_CHECK(work.take());
  return call.give(MXRT_TRY(work.run(call.op.result)));
}

Result<TensorRef> castTensor(OpCall &call, mxrt_tensor *from, mxrt_dtype to) {
  TensorRef result = MXRT_TRY(call.create(to, from->rank, from->sizes()));
  KernelCall kernel;
  kernel.input(from);
  kernel.size(from->elements);
  kernel.arguments.kernel = MXRT_TRY(call.kernel(0, [&](KeyText &key) {
    KeyOperand operand = {from->type, Layout::Dense};
    key.writeElementwise("cast", 1, {&operand, 1}, to);
  }));
  MXRT_CHECK(call.issue(kernel, result.get()));
  return result;
}

} // namespace mxrt::eager
