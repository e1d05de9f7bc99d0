// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation of tensors: full, iota, literals.

#include "eager/Issue.h"

#include <cstring>

namespace mxrt::eager {

Status runFull(OpCall &call) {
  if (call.count() == 0)
    return call.fail(MXRT_HOST_TYPE, "no operands");
  int64_t sizes[MXRT_MAX_RANK];
  int32_t rank = 0;
  MXRT_CHECK(call.shape(1, sizes, rank));
  mxrt_tensor *value = tensorOf(call.call.args[0]);
  uint64_t bits = 0;
  if (!value) {
    MXRT_CHECK(call.element(0, call.op.type, bits));
    TensorRef result = MXRT_TRY(call.create(call.op.type, rank, sizes));
    MXRT_CHECK(call.fill(result.get(), bits));
    return call.give(std::move(result));
  }
  (void)MXRT_TRY(call.tensor(0, call.op.type));
  if (value->rank > 0)
    return call.fail(MXRT_SHAPE, "%s is not a single value", shapeText(value->shape()).text);
  MXRT_CHECK(call.onDevice(value));
  return call.give(MXRT_TRY(call.denseCopy(value, rank, sizes)));
}

Status runIota(OpCall &call) {
  MXRT_CHECK(call.operandCount(1));
  int64_t count = 0;
  int32_t rank = 0;
  MXRT_CHECK(call.shape(0, &count, rank));
  TensorRef result = MXRT_TRY(call.create(call.op.type, 1, &count));
  KernelCall kernel;
  kernel.sizes(IotaSizes{.N = count});
  kernel.arguments.kernel = MXRT_TRY(call.kernel(0, [&](KeyText &key) {
    key.write(signatures::Iota, {}, call.op.type);
  }));
  MXRT_CHECK(call.issue(kernel, result.get()));
  return call.give(std::move(result));
}

Status runLiteral(OpCall &call) {
  TensorRef result = MXRT_TRY(call.create(call.op.type, call.op.rank, call.op.sizes));
  if (uint64_t(result->elements) != call.count())
    return call.fail(MXRT_SHAPE, "%zu numbers for %s", call.count(),
                     shapeText(result->shape()).text);
  // The memory is not visible to others yet: no need to go through the engine.
  size_t bytes = size_t(mxrt_dtype_size(call.op.type));
  char *at = result->data();
  for (size_t i = 0; i < call.count(); ++i, at += bytes) {
    uint64_t bits = 0;
    MXRT_CHECK(call.element(i, call.op.type, bits));
    memcpy(at, &bits, bytes);
  }
  return call.give(std::move(result));
}

} // namespace mxrt::eager
