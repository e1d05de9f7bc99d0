// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Categorical sampling (also by Gumbel-max) and random permutations (Fisher-Yates).

#include "random/Fill.h"
#include "random/Quantile.h"

using namespace mxrt;

namespace {

__extension__ typedef unsigned __int128 Wide;

/// The 64-bit random number `index` after the stream's position.
uint64_t bitsAt(const mxrt_rng &rng, uint64_t index) {
  Block block = blockAt(rng.key, rng.position + index / 2);
  return index % 2 == 0 ? block.low64() : block.high64();
}

mxrt_status badRow(const mxrt_context *context, int64_t row,
                   const char *reason) {
  return error(context->allocator, MXRT_INVALID_ARGUMENT, context->location,
               "categorical draw, row %lld: %s", static_cast<long long>(row),
               reason)
      .release();
}

/// Common checks; *elements is rows * classes.
mxrt_status checkRows(const mxrt_context *context, int64_t rows,
                      int64_t classes, int64_t *elements) {
  if (rows < 0 || classes < 0 || !checkedMul(rows, classes, *elements))
    return error(context->allocator, MXRT_INVALID_ARGUMENT, context->location,
                 "categorical draw from %lld rows of %lld classes",
                 static_cast<long long>(rows), static_cast<long long>(classes))
        .release();
  if (rows > 0 && classes == 0)
    return badArgument(context, "categorical draw from 0 classes");
  return nullptr;
}

template <typename T> struct Job {
  mxrt_rng rng;
  int64_t classes;
  const T *values;
  int64_t *out;
};

template <typename T>
mxrt_status sampleWeights(const Job<T> &job, int64_t row,
                            const mxrt_context *context) {
  const T *weights = job.values + row * job.classes;
  double total = 0;
  int64_t last = 0; // the last class with a positive weight
  for (int64_t k = 0; k < job.classes; ++k) {
    double weight = weights[k];
    if (!(weight >= 0))
      return badRow(context, row, "a weight is negative or NaN");
    total += weight;
    last = weight > 0 ? k : last;
  }
  if (!(total > 0) || total - total != 0)
    return badRow(context, row, "the sum of the weights is 0 or not finite");
  double target = unitDouble(bitsAt(job.rng, static_cast<uint64_t>(row))) *
                  total;
  double sum = 0;
  job.out[row] = last; // rounding may make target equal to the total
  for (int64_t k = 0; k < job.classes; ++k) {
    sum += static_cast<double>(weights[k]);
    if (target < sum) {
      job.out[row] = k;
      break;
    }
  }
  return nullptr;
}

template <typename T>
mxrt_status sampleLogits(const Job<T> &job, int64_t row,
                           const mxrt_context *context) {
  const T *logits = job.values + row * job.classes;
  constexpr double infinity = __builtin_inf();
  int64_t best = -1;
  double bestScore = -infinity;
  for (int64_t k = 0; k < job.classes; ++k) {
    double logit = logits[k];
    if (!(logit < infinity))
      return badRow(context, row, "a logit is NaN or +inf");
    if (logit == -infinity)
      continue;
    double unit = openUnit(
        bitsAt(job.rng, static_cast<uint64_t>(row * job.classes + k)));
    double score = logit - portableLog(-portableLog(unit));
    if (best < 0 || score > bestScore) {
      best = k;
      bestScore = score;
    }
  }
  if (best < 0)
    return badRow(context, row, "every logit is -inf");
  job.out[row] = best;
  return nullptr;
}

/// Runs draw for every row, then advances rng by `bits64` samples of 64 bits.
template <typename T,
          mxrt_status (*draw)(const Job<T> &, int64_t, const mxrt_context *)>
mxrt_status forRows(const mxrt_context *context, mxrt_rng *rng, int64_t rows,
                    int64_t classes, int64_t bits64, const T *values,
                    int64_t *out) {
  Job<T> job = {*rng, classes, values, out};
  int64_t grain = classes >= 4096 ? 1 : 4096 / (classes ? classes : 1);
  mxrt_status failure = mxrt_parallel_for(
      context, rows, grain,
      [](void *user, int64_t begin, int64_t end, int64_t,
         const mxrt_context *inner) -> mxrt_status {
        for (int64_t row = begin; row < end; ++row)
          if (mxrt_status bad =
                  draw(*static_cast<const Job<T> *>(user), row, inner))
            return bad;
        return nullptr;
      },
      &job);
  if (!failure)
    rng->position += static_cast<uint64_t>(ceilDiv(bits64, 2));
  return failure;
}

template <typename T>
mxrt_status permute(const mxrt_context *context, mxrt_rng *rng, int64_t count,
                    T *out) {
  if (count < 0 || (sizeof(T) == 4 && count > int64_t(1) << 31))
    return error(context->allocator, MXRT_INVALID_ARGUMENT, context->location,
                 "permutation of %lld elements", static_cast<long long>(count))
        .release();
  constexpr int64_t pollEvery = 1 << 16;
  for (int64_t i = 0; i < count; ++i) {
    if (i % pollEvery == 0)
      if (mxrt_status stop = mxrt_poll(context))
        return stop;
    // Inside-out Fisher-Yates: element i goes to a random index in 0..i.
    Wide product = static_cast<Wide>(bitsAt(*rng, static_cast<uint64_t>(i))) *
                   static_cast<uint64_t>(i + 1);
    auto j = static_cast<int64_t>(product >> 64);
    if (j != i)
      out[i] = out[j];
    out[j] = static_cast<T>(i);
  }
  rng->position += static_cast<uint64_t>(ceilDiv(count, 2));
  return nullptr;
}

} // namespace

extern "C" {

mxrt_status mxrt_random_categorical_f32(const mxrt_context *context,
                                        mxrt_rng *rng, int64_t rows,
                                        int64_t classes, const float *weights,
                                        int64_t *out) {
  int64_t elements;
  if (mxrt_status bad = checkRows(context, rows, classes, &elements))
    return bad;
  return forRows<float, sampleWeights<float>>(context, rng, rows, classes,
                                                rows, weights, out);
}

mxrt_status mxrt_random_categorical_f64(const mxrt_context *context,
                                        mxrt_rng *rng, int64_t rows,
                                        int64_t classes, const double *weights,
                                        int64_t *out) {
  int64_t elements;
  if (mxrt_status bad = checkRows(context, rows, classes, &elements))
    return bad;
  return forRows<double, sampleWeights<double>>(context, rng, rows, classes,
                                                  rows, weights, out);
}

mxrt_status mxrt_random_categorical_logits_f32(const mxrt_context *context,
                                               mxrt_rng *rng, int64_t rows,
                                               int64_t classes,
                                               const float *logits,
                                               int64_t *out) {
  int64_t elements;
  if (mxrt_status bad = checkRows(context, rows, classes, &elements))
    return bad;
  return forRows<float, sampleLogits<float>>(context, rng, rows, classes,
                                               elements, logits, out);
}

mxrt_status mxrt_random_permutation_i32(const mxrt_context *context,
                                        mxrt_rng *rng, int64_t count,
                                        int32_t *out) {
  return permute(context, rng, count, out);
}

mxrt_status mxrt_random_permutation_i64(const mxrt_context *context,
                                        mxrt_rng *rng, int64_t count,
                                        int64_t *out) {
  return permute(context, rng, count, out);
}

} // extern "C"
