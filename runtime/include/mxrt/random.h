// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counter-based random number generation: Philox4x32-10 (Salmon et al., SC 2011). Every element
// is a function of the key and its own counter, so a seed gives the same bits on every engine,
// device and number of threads. Part of mxrt_core.
//
// Layout of the 128-bit counter: words 0 and 1 are the block number of the stream (the position
// plus the element's block), words 2 and 3 separate sampling (0) from deriving new streams.
//
// Normal samples use the inverse of the distribution function (Wichura's AS 241) with a
// logarithm made of IEEE basic operations only. No result depends on the machine's libm.

#ifndef MXRT_RANDOM_H
#define MXRT_RANDOM_H

#include "mxrt/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A stream of random numbers: a value of 16 bytes, copied freely. Every function that takes it
/// by pointer advances it, so that no number is used twice. Not locked: one thread at a time.
typedef struct mxrt_rng {
  uint64_t key;
  uint64_t position; // in blocks of 128 bits
} mxrt_rng;

/// One block of Philox4x32-10.
MXRT_EXPORT void mxrt_philox(const uint32_t counter[4], const uint32_t key[2],
                             uint32_t out[4]);

/// The stream of a seed, from its beginning.
MXRT_EXPORT void mxrt_rng_seed(mxrt_rng *rng, uint64_t seed);

/// Creates `count` (0 to 2^48) new streams, independent of each other and of later samples from
/// `rng`. R0002 for a count out of range.
MXRT_EXPORT mxrt_status mxrt_rng_split(const mxrt_context *context,
                                       mxrt_rng *rng, int64_t count,
                                       mxrt_rng *children);
/// A new stream named by text (`length` bytes, any value). Different names at
/// the same position give different streams.
MXRT_EXPORT void mxrt_rng_fork(mxrt_rng *rng, const char *name, int64_t length,
                               mxrt_rng *child);

// Random ops. `out` has `count` elements, densely packed; count < 0 is R0002, and 0 generates
// nothing. Large fills use parallel_for with the context's team. On error `rng` is unchanged
// and `out` is undefined.

/// Uniform in [low, high): finite and low < high, else R0002. f32 has 24 random
/// bits, f64 has 53.
MXRT_EXPORT mxrt_status mxrt_random_uniform_f32(const mxrt_context *context,
                                                mxrt_rng *rng, float low,
                                                float high, int64_t count,
                                                float *out);
MXRT_EXPORT mxrt_status mxrt_random_uniform_f64(const mxrt_context *context,
                                                mxrt_rng *rng, double low,
                                                double high, int64_t count,
                                                double *out);
/// Uniform integers in [low, high), low < high. 64 (for i32) or 128 (for i64) random bits per
/// element, so the bias is below 2^-32 and 2^-64.
MXRT_EXPORT mxrt_status mxrt_random_uniform_i32(const mxrt_context *context,
                                                mxrt_rng *rng, int32_t low,
                                                int32_t high, int64_t count,
                                                int32_t *out);
MXRT_EXPORT mxrt_status mxrt_random_uniform_i64(const mxrt_context *context,
                                                mxrt_rng *rng, int64_t low,
                                                int64_t high, int64_t count,
                                                int64_t *out);
/// Normal with mean and standard deviation (finite, deviation >= 0). f32 samples reach 6.3
/// deviations, f64 samples 8.2.
MXRT_EXPORT mxrt_status mxrt_random_normal_f32(const mxrt_context *context,
                                               mxrt_rng *rng, float mean,
                                               float deviation, int64_t count,
                                               float *out);
MXRT_EXPORT mxrt_status mxrt_random_normal_f64(const mxrt_context *context,
                                               mxrt_rng *rng, double mean,
                                               double deviation, int64_t count,
                                               double *out);
/// Bytes 1 with probability p (0 <= p <= 1), else 0. Exact for multiples of
/// 2^-32.
MXRT_EXPORT mxrt_status mxrt_random_bernoulli(const mxrt_context *context,
                                              mxrt_rng *rng, double p,
                                              int64_t count, uint8_t *out);
/// One class for each of `rows` rows of `classes` weights (>= 0, finite, with
/// a positive sum; need not sum to 1). R0002 names the first bad row.
MXRT_EXPORT mxrt_status mxrt_random_categorical_f32(const mxrt_context *context,
                                                    mxrt_rng *rng, int64_t rows,
                                                    int64_t classes,
                                                    const float *weights,
                                                    int64_t *out);
MXRT_EXPORT mxrt_status mxrt_random_categorical_f64(const mxrt_context *context,
                                                    mxrt_rng *rng, int64_t rows,
                                                    int64_t classes,
                                                    const double *weights,
                                                    int64_t *out);
/// The same from logarithms of weights (-inf is weight 0; NaN, +inf and a row
/// of -inf are R0002), by the Gumbel-max method.
MXRT_EXPORT mxrt_status mxrt_random_categorical_logits_f32(
    const mxrt_context *context, mxrt_rng *rng, int64_t rows, int64_t classes,
    const float *logits, int64_t *out);
/// A permutation of 0 .. count-1 (Fisher-Yates; on the calling thread).
MXRT_EXPORT mxrt_status mxrt_random_permutation_i32(const mxrt_context *context,
                                                    mxrt_rng *rng,
                                                    int64_t count,
                                                    int32_t *out);
MXRT_EXPORT mxrt_status mxrt_random_permutation_i64(const mxrt_context *context,
                                                    mxrt_rng *rng,
                                                    int64_t count,
                                                    int64_t *out);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_RANDOM_H
