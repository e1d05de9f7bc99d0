// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic that reports overflow instead of wrapping. Sizes are int64 everywhere.
#pragma once
#include <cstdint>
#include <optional>

namespace mx {

inline std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r))
    return std::nullopt;
  return r;
}
inline std::optional<int64_t> checkedSub(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_sub_overflow(a, b, &r))
    return std::nullopt;
  return r;
}
inline std::optional<int64_t> checkedMul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r))
    return std::nullopt;
  return r;
}
/// Rounds towards minus infinity, as `//` does; nullopt for a zero divisor or INT64_MIN // -1.
inline std::optional<int64_t> checkedFloorDiv(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return std::nullopt;
  int64_t q = a / b;
  if (a % b != 0 && ((a < 0) != (b < 0)))
    --q;
  return q;
}
/// `x // y` of sizes at run time, the one definition: rounds towards minus infinity; 0 if y is 0;
/// INT64_MIN // -1 wraps. All evaluators agree on it (SizeEvaluatorsTest): graph calls
/// (compiler/Run), compiled programs and kernels (compiler/Lowering), and host code, which reports
/// a divisor of 0 unless the program is unchecked.
inline int64_t floorDivide(int64_t x, int64_t y) {
  if (y == -1)
    return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  return checkedFloorDiv(x, y).value_or(0);
}
/// The remainder of checkedFloorDiv. It has the sign of the divisor.
inline std::optional<int64_t> checkedFloorMod(int64_t a, int64_t b) {
  if (b == 0)
    return std::nullopt;
  if (b == -1)
    return 0;
  int64_t r = a % b;
  if (r != 0 && ((r < 0) != (b < 0)))
    r += b;
  return r;
}

} // namespace mx
