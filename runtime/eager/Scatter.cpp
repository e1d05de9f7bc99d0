// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatter-add along one axis: x[A, N, B] with y[A, I, B] added at index[I].

#include "eager/Issue.h"

namespace mxrt::eager {

Status runScatterAdd(OpCall &call) {
  const Operation &op = call.op;
  MXRT_CHECK(call.operandCount(3));
  mxrt_tensor *given[] = {MXRT_TRY(call.tensor(0, op.type)), MXRT_TRY(call.tensor(1)),
                          MXRT_TRY(call.tensor(2, op.type))};
  mxrt_tensor *x = given[0], *index = given[1], *y = given[2];
  if (index->type != MXRT_I32 && index->type != MXRT_I64)
    return call.fail(MXRT_DTYPE, "an index of %s; it must be i32 or i64",
                     shapeText(index->shape()).text);
  int32_t axis = op.axis;
  bool fits = axis < x->rank && y->rank == x->rank - 1 + index->rank;
  for (int32_t i = 0; fits && i < y->rank; ++i) {
    bool isIndex = i >= axis && i < axis + index->rank;
    int32_t own = i < axis ? i : i - index->rank + 1;
    fits = y->sizes()[i] == (isIndex ? index->sizes()[i - axis] : x->sizes()[own]);
  }
  if (!fits)
    return call.fail(MXRT_SHAPE, "%s at positions %s of axis %d does not fit %s",
                     shapeText(y->shape()).text, shapeText(index->shape()).text, int(axis),
                     shapeText(x->shape()).text);
  TensorRef held[3];
  KernelCall kernel;
  for (int i = 0; i < 3; ++i) {
    MXRT_CHECK(call.onDevice(given[i]));
    if (!mxrt_tensor_is_dense(given[i])) {
      held[i] = MXRT_TRY(call.denseCopy(given[i]));
      given[i] = held[i].get();
    }
    kernel.input(given[i]);
  }
  TensorRef result = MXRT_TRY(call.create(x->type, x->rank, x->sizes()));
  int64_t before = 1, after = 1;
  for (int32_t i = 0; i < x->rank; ++i)
    if (i != axis)
      (i < axis ? before : after) *= x->sizes()[i];
  kernel.sizes(ScatterAddSizes{
      .A = before, .N = x->sizes()[axis], .B = after, .I = index->elements, .X = axis});
  uint32_t form = uint32_t(x->type) << 4 | uint32_t(index->type);
  kernel.arguments.kernel = MXRT_TRY(call.kernel(form, [&](KeyText &key) {
    key.write(signatures::ScatterAdd,
              {{x->type, Layout::Dense}, {index->type, Layout::Dense}, {x->type, Layout::Dense}},
              x->type);
  }));
  MXRT_CHECK(call.issue(kernel, result.get()));
  return call.give(std::move(result));
}

} // namespace mxrt::eager
