// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random ops with independent elements: uniform, normal, Bernoulli.

#include "random/Fill.h"
#include "random/Quantile.h"

using namespace mxrt;

namespace {

__extension__ typedef unsigned __int128 Wide;

bool isFinite(double x) { return x - x == 0; }

uint64_t half(const Block &block, int lane) {
  return lane == 0 ? block.low64() : block.high64();
}

/// low + (high - low) * u, kept below high where rounding would reach it.
template <typename T> T position(T low, T high, T below, T unit) {
  T x = low + (high - low) * unit;
  return x < high ? x : below;
}

/// The largest number below x (finite).
float before(float x) {
  if (x == 0)
    return -0x1p-149f;
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  bits += x > 0 ? -1u : 1u;
  __builtin_memcpy(&x, &bits, sizeof(bits));
  return x;
}
double before(double x) {
  if (x == 0)
    return -0x1p-1074;
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  bits += x > 0 ? -1ull : 1ull;
  __builtin_memcpy(&x, &bits, sizeof(bits));
  return x;
}

constexpr const char *badRange =
    "a uniform draw needs finite bounds with low < high and high - low finite";

} // namespace

extern "C" {

mxrt_status mxrt_random_uniform_f32(const mxrt_context *context, mxrt_rng *rng,
                                    float low, float high, int64_t count,
                                    float *out) {
  if (!(low < high) || !isFinite(low) || !isFinite(high) ||
      !isFinite(high - low))
    return badArgument(context, badRange);
  float below = before(high);
  return fill<4>(context, rng, count, out, [=](const Block &block, int lane) {
    return position(low, high, below, unitFloat(block.word[lane]));
  });
}

mxrt_status mxrt_random_uniform_f64(const mxrt_context *context, mxrt_rng *rng,
                                    double low, double high, int64_t count,
                                    double *out) {
  if (!(low < high) || !isFinite(low) || !isFinite(high) ||
      !isFinite(high - low))
    return badArgument(context, badRange);
  double below = before(high);
  return fill<2>(context, rng, count, out, [=](const Block &block, int lane) {
    return position(low, high, below, unitDouble(half(block, lane)));
  });
}

mxrt_status mxrt_random_uniform_i32(const mxrt_context *context, mxrt_rng *rng,
                                    int32_t low, int32_t high, int64_t count,
                                    int32_t *out) {
  if (low >= high)
    return badArgument(context, "a uniform draw needs low < high");
  uint32_t range = static_cast<uint32_t>(high) - static_cast<uint32_t>(low);
  return fill<2>(context, rng, count, out, [=](const Block &block, int lane) {
    Wide product = static_cast<Wide>(half(block, lane)) * range;
    return static_cast<int32_t>(static_cast<uint32_t>(low) +
                                static_cast<uint32_t>(product >> 64));
  });
}

mxrt_status mxrt_random_uniform_i64(const mxrt_context *context, mxrt_rng *rng,
                                    int64_t low, int64_t high, int64_t count,
                                    int64_t *out) {
  if (low >= high)
    return badArgument(context, "a uniform draw needs low < high");
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  return fill<1>(context, rng, count, out, [=](const Block &block, int) {
    Wide carry = static_cast<Wide>(block.low64()) * range >> 64;
    Wide product = static_cast<Wide>(block.high64()) * range + carry;
    return static_cast<int64_t>(static_cast<uint64_t>(low) +
                                static_cast<uint64_t>(product >> 64));
  });
}

mxrt_status mxrt_random_normal_f32(const mxrt_context *context, mxrt_rng *rng,
                                   float mean, float deviation, int64_t count,
                                   float *out) {
  if (!isFinite(mean) || !isFinite(deviation) || deviation < 0)
    return badArgument(context,
                       "a normal draw needs a finite mean and deviation >= 0");
  double m = mean, s = deviation;
  return fill<4>(context, rng, count, out, [=](const Block &block, int lane) {
    return static_cast<float>(m +
                              s * normalQuantile(openUnit(block.word[lane])));
  });
}

mxrt_status mxrt_random_normal_f64(const mxrt_context *context, mxrt_rng *rng,
                                   double mean, double deviation, int64_t count,
                                   double *out) {
  if (!isFinite(mean) || !isFinite(deviation) || deviation < 0)
    return badArgument(context,
                       "a normal draw needs a finite mean and deviation >= 0");
  return fill<2>(context, rng, count, out, [=](const Block &block, int lane) {
    return mean + deviation * normalQuantile(openUnit(half(block, lane)));
  });
}

mxrt_status mxrt_random_bernoulli(const mxrt_context *context, mxrt_rng *rng,
                                  double p, int64_t count, uint8_t *out) {
  if (!(p >= 0 && p <= 1))
    return badArgument(context, "a probability must be between 0 and 1");
  // 2^32 for p = 1: every 32-bit word is below it.
  auto threshold = static_cast<uint64_t>(p * 0x1p32);
  return fill<4>(context, rng, count, out, [=](const Block &block, int lane) {
    return static_cast<uint8_t>(block.word[lane] < threshold);
  });
}

} // extern "C"
