// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise sums and scaling, vectorised by the compiler.

#include "kvstore/Fold.h"

#include "net/Faults.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace mxrt::kvstore {
namespace {

template <typename T>
void addApart(T *__restrict out, const T *__restrict a, const T *__restrict b, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] = a[i] + b[i];
}
template <typename T> void addBehind(T *__restrict out, const T *__restrict b, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] = out[i] + b[i];
}
template <typename T> void addBefore(T *__restrict out, const T *__restrict a, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] = a[i] + out[i];
}
/// One loop for each kind of aliasing, so that the compiler can vectorise them
/// all.
template <typename T> void addTwo(T *out, const T *a, const T *b, size_t count) {
  if (out == a)
    addBehind(out, b, count);
  else if (out == b)
    addBefore(out, a, count);
  else
    addApart(out, a, b, count);
}

} // namespace

template <typename T>
void foldInto(T *out, const T *const *inputs, size_t inputCount, size_t count) {
  if (inputCount == 1) {
    if (out != inputs[0] && count > 0)
      std::memcpy(out, inputs[0], count * sizeof(T));
    return;
  }
  if constexpr (!std::is_floating_point_v<T>)
    return; // bytes are only copied
  if (inputCount == 2) {
    addTwo(out, inputs[0], inputs[1], count);
    return;
  }
  // Sums of a block stay in the cache; `out` may alias a later input.
  constexpr size_t block = 4096 / sizeof(T);
  T sums[block];
  for (size_t begin = 0; begin < count; begin += block) {
    size_t here = std::min(block, count - begin);
    const T *a = inputs[0] + begin, *b = inputs[1] + begin;
    for (size_t i = 0; i < here; ++i)
      sums[i] = a[i] + b[i];
    for (size_t k = 2; k < inputCount; ++k) {
      const T *c = inputs[k] + begin;
      for (size_t i = 0; i < here; ++i)
        sums[i] += c[i];
    }
    std::memcpy(out + begin, sums, here * sizeof(T));
  }
}

template <typename T> void scaleBy(T *out, T factor, size_t count) {
  if (factor == T(0) && !net::planted(net::Fault::ZeroWeightMultiplied)) {
    std::fill(out, out + count, T(0));
    return;
  }
  if (factor != T(1))
    for (size_t i = 0; i < count; ++i)
      out[i] *= factor;
}

template <typename T> void divideBy(T *out, T divisor, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] /= divisor;
}

template void foldInto(uint8_t *, const uint8_t *const *, size_t, size_t);
template void foldInto(float *, const float *const *, size_t, size_t);
template void foldInto(double *, const double *const *, size_t, size_t);
template void scaleBy(float *, float, size_t);
template void scaleBy(double *, double, size_t);
template void divideBy(float *, float, size_t);
template void divideBy(double *, double, size_t);

} // namespace mxrt::kvstore
