// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar types of PTX, and rounding to them. Every rounding goes through one function that works on
// long double, which holds every value of every type exactly.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace mxemu {

enum class Ty : uint8_t {
  None, Pred,
  B8, B16, B32, B64,
  U8, U16, U32, U64,
  S8, S16, S32, S64,
  F16, BF16, F16x2, BF16x2, TF32, F32, F64,
};

struct Half {
  uint16_t bits;
};
struct BHalf {
  uint16_t bits;
};

enum class Round : uint8_t { Nearest, Zero, Down, Up, NearestAway };

inline unsigned bytesOf(Ty type) {
  switch (type) {
  case Ty::None:
  case Ty::Pred: return 0;
  case Ty::B8: case Ty::U8: case Ty::S8: return 1;
  case Ty::B16: case Ty::U16: case Ty::S16: case Ty::F16: case Ty::BF16: return 2;
  case Ty::B64: case Ty::U64: case Ty::S64: case Ty::F64: return 8;
  default: return 4;
  }
}
inline bool isSigned(Ty type) { return type >= Ty::S8 && type <= Ty::S64; }
inline bool isFloat(Ty type) { return type >= Ty::F16; }
inline bool isInteger(Ty type) { return type >= Ty::U8 && type <= Ty::S64; }
inline bool isBits(Ty type) { return type >= Ty::B8 && type <= Ty::B64; }

/// Significand bits (with the implicit one) and smallest exponent of a normal number.
struct Format {
  int precision;
  int minExponent;
  int maxExponent;
};
inline constexpr Format half{11, -14, 15}, bhalf{8, -126, 127}, single{24, -126, 127},
    tf32{11, -126, 127}, real{53, -1022, 1023};

/// `value` rounded once to the format; overflow gives infinity or the largest finite number as the
/// mode says.
inline long double roundToFormat(long double value, Format format, Round mode) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::ilogb(value);
  int quantum = (exponent > format.minExponent ? exponent : format.minExponent) - (format.precision - 1);
  long double scaled = std::scalbn(value, -quantum), rounded = 0;
  switch (mode) {
  case Round::Nearest: rounded = std::nearbyint(scaled); break;
  case Round::Zero: rounded = std::trunc(scaled); break;
  case Round::Down: rounded = std::floor(scaled); break;
  case Round::Up: rounded = std::ceil(scaled); break;
  case Round::NearestAway: rounded = std::round(scaled); break;
  }
  long double result = std::copysign(std::scalbn(rounded, quantum), value);
  long double largest =
      std::scalbn((long double)2 - std::scalbn((long double)1, 1 - format.precision), format.maxExponent);
  if (std::fabs(result) <= largest)
    return result;
  bool toInfinity = mode == Round::Nearest || mode == Round::NearestAway ||
                    (mode == Round::Up && value > 0) || (mode == Round::Down && value < 0);
  return std::copysign(toInfinity ? std::numeric_limits<long double>::infinity() : largest, value);
}

/// Bits of a 16-bit float whose value is exactly `value`.
inline uint16_t packHalf(long double value, Format format, uint16_t canonicalNan) {
  int mantissaBits = format.precision - 1;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  int bias = format.maxExponent;
  if (std::isnan(value))
    return canonicalNan;
  if (std::isinf(value))
    return sign | uint16_t((2 * bias + 1) << mantissaBits);
  value = std::fabs(value);
  if (value == 0)
    return sign;
  int exponent = std::ilogb(value);
  if (exponent < format.minExponent)
    return sign | uint16_t(std::scalbn(value, mantissaBits - format.minExponent));
  uint32_t significand = uint32_t(std::scalbn(value, mantissaBits - exponent));
  return sign | uint16_t((exponent + bias) << mantissaBits) |
         uint16_t(significand & ((1u << mantissaBits) - 1));
}

inline float fromHalf(Half value) {
  int exponent = (value.bits >> 10) & 31, mantissa = value.bits & 1023;
  float result = exponent == 31 ? (mantissa ? std::nanf("") : INFINITY)
                 : exponent     ? std::ldexp(float(mantissa | 1024), exponent - 25)
                                : std::ldexp(float(mantissa), -24);
  return value.bits & 0x8000 ? -result : result;
}
inline float fromHalf(BHalf value) {
  uint32_t bits = uint32_t(value.bits) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

inline float canonicalNan() {
  uint32_t bits = 0x7fffffff;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

/// How a type computes: exact values as long double, results rounded with a mode.
template <class T> struct Number {
  static long double get(T value) { return value; }
};
template <> struct Number<Half> {
  static constexpr Format format = half;
  static long double get(Half value) { return fromHalf(value); }
  static Half make(long double value, Round mode = Round::Nearest) {
    return {packHalf(roundToFormat(value, format, mode), format, 0x7fff)};
  }
};
template <> struct Number<BHalf> {
  static constexpr Format format = bhalf;
  static long double get(BHalf value) { return fromHalf(value); }
  static BHalf make(long double value, Round mode = Round::Nearest) {
    return {packHalf(roundToFormat(value, format, mode), format, 0x7fff)};
  }
};
template <> struct Number<float> {
  static constexpr Format format = single;
  static long double get(float value) { return value; }
  static float make(long double value, Round mode = Round::Nearest) {
    return std::isnan(value) ? canonicalNan() : float(roundToFormat(value, format, mode));
  }
};
template <> struct Number<double> {
  static constexpr Format format = real;
  static long double get(double value) { return value; }
  static double make(long double value, Round mode = Round::Nearest) {
    return std::isnan(value) ? std::nan("") : double(roundToFormat(value, format, mode));
  }
};

inline float flush(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}

/// a + b in double, rounded to odd: rounding the result again, to 51 bits or fewer, rounds the exact
/// sum once.
inline double addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double bb = sum - a, error = (a - (sum - bb)) + (b - bb);
  uint64_t bits;
  std::memcpy(&bits, &sum, 8);
  if (error == 0 || (bits & 1))
    return sum;
  // Even and inexact: the neighbour on the side of the error is odd.
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

} // namespace mxemu
