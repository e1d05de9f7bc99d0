// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 16-bit floats (f16, bf16) converted to f32, which represents all of them exactly.

#ifndef MXRT_BASE_HALFS_H
#define MXRT_BASE_HALFS_H

#include <bit>
#include <cstdint>

namespace mxrt {

inline float f16ToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) { // zero and subnormals: fraction * 2^-24, exactly
    float magnitude = float(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}
inline float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Rounds to nearest, ties to even.
inline uint16_t roundToF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), size = bits & 0x7fffffff;
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  if (size > 0x7f800000)
    return uint16_t(sign | 0x7e00);
  if (size >= 0x477ff000) // half way to the number after the largest finite one
    return uint16_t(sign | 0x7c00);
  if (size < 0x38800000) // subnormal: adding 0.5 rounds to multiples of 2^-24
    return uint16_t(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) & 0x7fff));
  return uint16_t(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}
inline uint16_t roundToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Element types of tensors that C++ has no type for.
struct F16 {
  uint16_t bits;
  float wide() const { return f16ToFloat(bits); }
  static F16 of(float value) { return {roundToF16(value)}; }
};
struct Bf16 {
  uint16_t bits;
  float wide() const { return bf16ToFloat(bits); }
  static Bf16 of(float value) { return {roundToBf16(value)}; }
};

} // namespace mxrt

#endif // MXRT_BASE_HALFS_H
