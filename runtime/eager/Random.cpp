// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random ops (Philox counter-based RNG). The stream is that of the seed, the counter its position:
// a sample is a pure function of its operands.

#include "mxrt/random.h"
#include "eager/Issue.h"

#include <cmath>
#include <cstring>

namespace mxrt::eager {

namespace {

struct Draw {
  mxrt_rng rng;
  Family family;
  double first, second;    // low and high, mean and deviation, p
  int64_t lowest, highest; // of randint; the number of a fork
};

mxrt_status randomKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                         const void *arguments) {
  Draw draw;
  memcpy(&draw, arguments, sizeof(draw));
  const mxrt_tensor *to = tensors[0];
  void *data = to->data();
  int64_t count = to->elements;
  mxrt_rng *rng = &draw.rng;
  bool wide = mxrt_dtype_size(to->type) == 8;
  switch (draw.family) {
  case Family::Uniform:
    return wide ? mxrt_random_uniform_f64(context, rng, draw.first, draw.second, count,
                                          static_cast<double *>(data))
                : mxrt_random_uniform_f32(context, rng, float(draw.first), float(draw.second),
                                          count, static_cast<float *>(data));
  case Family::Normal:
    return wide ? mxrt_random_normal_f64(context, rng, draw.first, draw.second, count,
                                         static_cast<double *>(data))
                : mxrt_random_normal_f32(context, rng, float(draw.first), float(draw.second), count,
                                         static_cast<float *>(data));
  case Family::Bernoulli:
    return mxrt_random_bernoulli(context, rng, draw.first, count, static_cast<uint8_t *>(data));
  case Family::RandInt:
    return wide ? mxrt_random_uniform_i64(context, rng, draw.lowest, draw.highest, count,
                                          static_cast<int64_t *>(data))
                : mxrt_random_uniform_i32(context, rng, int32_t(draw.lowest), int32_t(draw.highest),
                                          count, static_cast<int32_t *>(data));
  case Family::Fork: {
    mxrt_rng child;
    mxrt_rng_fork(rng, reinterpret_cast<const char *>(&draw.lowest), sizeof(draw.lowest), &child);
    memcpy(data, &child.key, sizeof(child.key));
    return nullptr;
  }
  default:
    return wide ? mxrt_random_permutation_i64(context, rng, count, static_cast<int64_t *>(data))
                : mxrt_random_permutation_i32(context, rng, count, static_cast<int32_t *>(data));
  }
}

mxrt_status categoricalKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                              const void *arguments) {
  mxrt_rng rng;
  memcpy(&rng, arguments, sizeof(rng));
  const mxrt_tensor *logits = tensors[0], *to = tensors[1];
  int64_t rows = to->elements;
  int64_t classes = logits->sizes()[logits->rank - 1];
  size_t bytes = size_t(rows) * sizeof(int64_t);
  auto *wide = static_cast<int64_t *>(allocateBytes(context->allocator, bytes));
  if (!wide)
    return outOfMemory(context->allocator, context->location).release();
  mxrt_status failure = mxrt_random_categorical_logits_f32(
      context, &rng, rows, classes, reinterpret_cast<const float *>(logits->data()), wide);
  auto *narrow = reinterpret_cast<int32_t *>(to->data());
  for (int64_t i = 0; !failure && i < rows; ++i)
    narrow[i] = int32_t(wide[i]);
  releaseBytes(context->allocator, wide, bytes);
  return failure;
}

} // namespace

static Status takeStream(OpCall &call, mxrt_rng &rng) {
  int64_t seed = MXRT_TRY(call.integer(0));
  int64_t counter = MXRT_TRY(call.integer(1));
  mxrt_rng_seed(&rng, uint64_t(seed));
  rng.position = uint64_t(counter);
  return success();
}

/// Reads the parameters between counter and sizes; returns their number.
static Result<size_t> takeParameters(OpCall &call, Draw &draw) {
  switch (draw.family) {
  case Family::Uniform:
    draw.first = MXRT_TRY(call.number(2));
    draw.second = MXRT_TRY(call.number(3));
    if (!std::isfinite(draw.first) || !std::isfinite(draw.second) || !(draw.first < draw.second))
      return call.fail(MXRT_INVALID_ARGUMENT, "low %g must be below high %g, both finite",
                       draw.first, draw.second);
    return 2;
  case Family::Normal:
    draw.first = MXRT_TRY(call.number(2));
    draw.second = MXRT_TRY(call.number(3));
    if (!std::isfinite(draw.first) || !std::isfinite(draw.second) || draw.second < 0)
      return call.fail(MXRT_INVALID_ARGUMENT, "mean %g and std %g must be finite, std not negative",
                       draw.first, draw.second);
    return 2;
  case Family::Bernoulli:
    draw.first = MXRT_TRY(call.number(2));
    if (!(draw.first >= 0 && draw.first <= 1))
      return call.fail(MXRT_INVALID_ARGUMENT, "p %g is not between 0 and 1", draw.first);
    return 1;
  case Family::RandInt: {
    draw.lowest = MXRT_TRY(call.integer(2));
    draw.highest = MXRT_TRY(call.integer(3));
    bool fits = call.op.type == MXRT_I64 || (draw.lowest >= INT32_MIN && draw.highest <= INT32_MAX);
    if (draw.lowest >= draw.highest || !fits)
      return call.fail(MXRT_INVALID_ARGUMENT, "low %lld must be below high %lld, both %s",
                       static_cast<long long>(draw.lowest), static_cast<long long>(draw.highest),
                       mxrt_dtype_name(call.op.type));
    return 2;
  }
  case Family::Fork:
    draw.lowest = MXRT_TRY(call.integer(2));
    return 1;
  default:
    return 0;
  }
}

Status runRandom(OpCall &call) {
  Draw draw = {};
  draw.family = call.op.info->family;
  MXRT_CHECK(takeStream(call, draw.rng));
  size_t parameters = MXRT_TRY(takeParameters(call, draw));
  int64_t sizes[MXRT_MAX_RANK];
  int32_t rank = 0;
  if (draw.family == Family::Permutation)
    MXRT_CHECK(call.operandCount(3));
  MXRT_CHECK(call.shape(2 + parameters, sizes, rank));
  if (draw.family == Family::Permutation && call.op.type == MXRT_I32 && sizes[0] > INT32_MAX)
    return call.fail(MXRT_SHAPE, "%lld numbers are more than i32 can count",
                     static_cast<long long>(sizes[0]));
  bool half = call.op.type == MXRT_F16 || call.op.type == MXRT_BF16;
  TensorRef drawn = MXRT_TRY(call.create(half ? MXRT_F32 : call.op.type, rank, sizes));
  mxrt_tensor *to = drawn.get();
  MXRT_CHECK(call.issue(randomKernel, nullptr, 0, &to, 1, &draw, sizeof(draw), call.op.device));
  if (half)
    drawn = MXRT_TRY(castTensor(call, to, call.op.type));
  return call.give(std::move(drawn));
}

Status runCategorical(OpCall &call) {
  MXRT_CHECK(call.operandCount(3));
  mxrt_rng rng;
  MXRT_CHECK(takeStream(call, rng));
  mxrt_tensor *logits = MXRT_TRY(call.tensor(2, call.op.type));
  MXRT_CHECK(call.onDevice(logits));
  if (logits->rank == 0 || logits->sizes()[logits->rank - 1] == 0 ||
      logits->sizes()[logits->rank - 1] > INT32_MAX)
    return call.fail(MXRT_SHAPE, "%s has no classes to choose from",
                     shapeText(logits->shape()).text);
  TensorRef held;
  if (!mxrt_tensor_is_dense(logits)) {
    held = MXRT_TRY(call.denseCopy(logits));
    logits = held.get();
  }
  TensorRef result = MXRT_TRY(call.create(call.op.result, logits->rank - 1, logits->sizes()));
  mxrt_tensor *to = result.get();
  MXRT_CHECK(call.issue(categoricalKernel, &logits, 1, &to, 1, &rng, sizeof(rng), call.op.device));
  return call.give(std::move(result));
}

} // namespace mxrt::eager
