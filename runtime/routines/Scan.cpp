// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prefix scans: cumulative sum, cumulative multiplication and linear recurrences. Sequential
// along the axis; the columns across it form tiles, which run in parallel.

#include "base/Elements.h"
#include "routines/Routines.h"

#include <type_traits>

using namespace mxrt;

namespace {

enum class Step { Add, Multiply, Recur };

/// Number of columns in a tile where the axis is not the last.
constexpr int64_t tileWidth = 1024;

/// The accumulator type. Integers wrap, so they are unsigned; narrow ones keep their type. Floats
/// use a wider type, since the errors of a running sum accumulate: in f32, the sum of a million
/// elements is off by 1e-5.
template <typename T> struct Wide {
  using type = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
template <> struct Wide<float> {
  using type = double;
  static double load(float x) { return x; }
  static float store(double x) { return float(x); }
};
template <> struct Wide<F16> {
  using type = float;
  static float load(F16 x) { return x.wide(); }
  static F16 store(float x) { return F16::of(x); }
};
template <> struct Wide<Bf16> {
  using type = float;
  static float load(Bf16 x) { return x.wide(); }
  static Bf16 store(float x) { return Bf16::of(x); }
};

template <typename T, Step step>
void scanTile(const T *a, const T *b, T *out, int64_t n, int64_t inner, int64_t width,
              typename Wide<T>::type *state) {
  using W = typename Wide<T>::type;
  for (int64_t c = 0; c < width; ++c)
    state[c] = W(step == Step::Multiply ? 1 : 0);
  for (int64_t i = 0; i < n; ++i) {
    const T *x = a + i * inner, *y = step == Step::Recur ? b + i * inner : nullptr;
    T *to = out + i * inner;
    for (int64_t c = 0; c < width; ++c) {
      W value = Wide<T>::load(x[c]);
      if constexpr (step == Step::Add)
        state[c] = W(state[c] + value);
      else if constexpr (step == Step::Multiply)
        state[c] = W(state[c] * value);
      else // no multiplication for the first: 0 times infinity is NaN
        state[c] = i == 0 ? Wide<T>::load(y[c]) : W(value * state[c] + Wide<T>::load(y[c]));
      to[c] = Wide<T>::store(state[c]);
    }
  }
}

template <typename T, Step step>
mxrt_status scan(const mxrt_context *context, const int64_t *sizes, const void *const *inputs,
                 void *out) {
  int64_t outer = sizes[0], n = sizes[1], inner = sizes[2];
  if (outer == 0 || n == 0 || inner == 0)
    return nullptr;
  auto *a = static_cast<const T *>(inputs[0]);
  auto *b = step == Step::Recur ? static_cast<const T *>(inputs[1]) : nullptr;
  auto *to = static_cast<T *>(out);
  int64_t tiles = ceilDiv(inner, tileWidth);
  int64_t width = inner < tileWidth ? inner : tileWidth;
  return inChunks(
      context, outer * tiles, mxrt_workspace_grain(n * width),
      [&](int64_t begin, int64_t end, int64_t, const mxrt_context *here) -> mxrt_status {
        typename Wide<T>::type state[tileWidth];
        for (int64_t unit = begin; unit < end; ++unit) {
          if (mxrt_status stop = mxrt_poll(here))
            return stop;
          int64_t column = unit % tiles * tileWidth;
          int64_t left = inner - column;
          int64_t at = unit / tiles * n * inner + column;
          scanTile<T, step>(a + at, b ? b + at : nullptr, to + at, n, inner,
                            left < tileWidth ? left : tileWidth, state);
        }
        return nullptr;
      });
}

template <Step step>
mxrt_status scanTyped(const mxrt_context *context, mxrt_dtype type, const char *name,
                      const int64_t *sizes, const void *const *inputs, void *out) {
  return visitElement(type, [&](auto element) -> mxrt_status {
    using T = std::conditional_t<element.isFloat, typename decltype(element)::Type,
                                 typename decltype(element)::Bits>; // integers wrap
    if constexpr (element.dtype == MXRT_BOOL || (step == Step::Recur && !element.isFloat))
      return wrongType(context, name, type);
    else
      return scan<T, step>(context, sizes, inputs, out);
  });
}

} // namespace

extern "C" {

mxrt_status mxrt_cumsum(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                        const void *const *inputs, void *out, void *) {
  return scanTyped<Step::Add>(context, type, "cumsum", sizes, inputs, out);
}

mxrt_status mxrt_cumprod(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                         const void *const *inputs, void *out, void *) {
  return scanTyped<Step::Multiply>(context, type, "cumprod", sizes, inputs, out);
}

mxrt_status mxrt_recurrence(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                            const void *const *inputs, void *out, void *) {
  return scanTyped<Step::Recur>(context, type, "recurrence", sizes, inputs, out);
}

} // extern "C"
