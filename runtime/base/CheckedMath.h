// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overflow-checked arithmetic on sizes. Every size is an int64 and every multiplication is
// checked: a crafted shape must cause an error, never an undersized buffer.

#ifndef MXRT_BASE_CHECKEDMATH_H
#define MXRT_BASE_CHECKEDMATH_H

#include <cstdint>

namespace mxrt {

[[nodiscard]] inline bool checkedAdd(int64_t a, int64_t b, int64_t &result) {
  return !__builtin_add_overflow(a, b, &result);
}
[[nodiscard]] inline bool checkedSub(int64_t a, int64_t b, int64_t &result) {
  return !__builtin_sub_overflow(a, b, &result);
}
[[nodiscard]] inline bool checkedMul(int64_t a, int64_t b, int64_t &result) {
  return !__builtin_mul_overflow(a, b, &result);
}
/// For a >= 0 and b > 0; cannot overflow.
inline int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }
/// Next multiple of a power of two; false on overflow.
[[nodiscard]] inline bool checkedAlign(int64_t value, int64_t align,
                                       int64_t &result) {
  if (!checkedAdd(value, align - 1, result))
    return false;
  result &= ~(align - 1);
  return true;
}

} // namespace mxrt

#endif // MXRT_BASE_CHECKEDMATH_H
