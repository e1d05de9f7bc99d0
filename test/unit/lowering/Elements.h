// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types as C++ types, with plain conversions, and edge-case values.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace mx::lowering {

/// A float of 16 bits: Exponent bits, the rest mantissa. Conversions are by definition, not fast.
template <int Exponent> struct Small {
  uint16_t bits = 0;
  static constexpr int kMantissa = 15 - Exponent, kBias = (1 << (Exponent - 1)) - 1;

  Small() = default;
  explicit Small(double x) {
    uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    constexpr uint16_t infinity = ((1 << Exponent) - 1) << kMantissa;
    if (std::isnan(x)) {
      bits = sign | infinity | (1 << (kMantissa - 1));
      return;
    }
    x = std::fabs(x);
    if (std::isinf(x)) {
      bits = sign | infinity;
      return;
    }
    int exponent = x == 0 ? 1 - kBias : std::max(std::ilogb(x), 1 - kBias);
    // Units in the last place, rounded to even by the default mode.
    double units = std::nearbyint(std::ldexp(x, kMantissa - exponent));
    if (units >= (2 << kMantissa)) {
      units /= 2;
      ++exponent;
    }
    if (exponent > kBias) {
      bits = sign | infinity;
      return;
    }
    auto mantissa = static_cast<int>(units);
    int field = mantissa >= (1 << kMantissa) ? exponent + kBias : 0;
    bits = static_cast<uint16_t>(sign | field << kMantissa | (mantissa & ((1 << kMantissa) - 1)));
  }
  explicit operator double() const {
    int field = (bits & 0x7fff) >> kMantissa, mantissa = bits & ((1 << kMantissa) - 1);
    double value = field == (1 << Exponent) - 1
                       ? (mantissa ? std::nan("") : std::numeric_limits<double>::infinity())
                   : field ? std::ldexp(mantissa + (1 << kMantissa), field - kBias - kMantissa)
                           : std::ldexp(mantissa, 1 - kBias - kMantissa);
    return bits & 0x8000 ? -value : value;
  }
};
using F16 = Small<5>;
using BF16 = Small<8>;
struct Bool {
  uint8_t value = 0;
  Bool() = default;
  Bool(bool b) : value(b) {}
  operator bool() const { return value; }
};

template <class T> struct ElementOf;
template <> struct ElementOf<Bool> { static constexpr const char *name = "bool"; };
template <> struct ElementOf<int8_t> { static constexpr const char *name = "i8"; };
template <> struct ElementOf<uint8_t> { static constexpr const char *name = "u8"; };
template <> struct ElementOf<int32_t> { static constexpr const char *name = "i32"; };
template <> struct ElementOf<int64_t> { static constexpr const char *name = "i64"; };
template <> struct ElementOf<F16> { static constexpr const char *name = "f16"; };
template <> struct ElementOf<BF16> { static constexpr const char *name = "bf16"; };
template <> struct ElementOf<float> { static constexpr const char *name = "f32"; };
template <> struct ElementOf<double> { static constexpr const char *name = "f64"; };

template <class T>
inline constexpr bool isFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
/// The type that an op on T is computed in.
template <class T> struct WideOf { using Type = T; };
template <> struct WideOf<F16> { using Type = float; };
template <> struct WideOf<BF16> { using Type = float; };
template <> struct WideOf<Bool> { using Type = bool; };
template <class T> using Wide = typename WideOf<T>::Type;
template <class T> Wide<T> widen(T x) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>)
    return static_cast<float>(static_cast<double>(x));
  else
    return x;
}

/// The same bits, where all NaN are one.
template <class T> bool same(T x, T y) {
  if constexpr (isFloat<T>)
    if (std::isnan(static_cast<double>(x)) || std::isnan(static_cast<double>(y)))
      return std::isnan(static_cast<double>(x)) && std::isnan(static_cast<double>(y));
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}
template <class T> std::string show(T x) {
  if constexpr (isFloat<T>) {
    char text[64];
    snprintf(text, sizeof text, "%.17g", static_cast<double>(x));
    return text;
  } else {
    return std::to_string(static_cast<int64_t>(x));
  }
}

template <class T> std::vector<T> specials() {
  std::vector<T> out;
  if constexpr (std::is_same_v<T, Bool>) {
    out = {false, true};
  } else if constexpr (isFloat<T>) {
    double infinity = std::numeric_limits<double>::infinity();
    for (double x : {0.0,  -0.0,    1.0,     -1.0, 0.5,   -0.5,     1.5,       2.5,
                     -2.5, 3.0,     -7.0,    1e-3, 1e4,   1e30,     -1e30,     1e-40,
                     6e-8, 65504.0, 65519.0, 88.7, -87.5, infinity, -infinity, std::nan("")})
      out.push_back(T(x));
  } else {
    using Limits = std::numeric_limits<T>;
    for (T x : {T(0), T(1), T(-1), T(2), T(-2), T(3), T(7), T(-7), Limits::min(), Limits::max(),
                T(Limits::max() - 1), T(31), T(32), T(33), T(8), T(63)})
      out.push_back(x);
  }
  return out;
}

/// Specials first, then numbers of many sizes. `shift` makes pairs of specials differ.
template <class T> std::vector<T> values(size_t count, size_t shift = 0, unsigned seed = 1) {
  std::vector<T> special = specials<T>(), out;
  std::mt19937_64 random(seed);
  size_t n = special.size();
  for (size_t i = 0; i < count; ++i) {
    if (i < n * n) {
      out.push_back(special[shift == 0 ? i % n : i / n % n]);
    } else if constexpr (isFloat<T>) {
      double scale = std::ldexp(1.0, static_cast<int>(random() % 12) - 6);
      out.push_back(T((static_cast<double>(random() >> 11) * 0x1p-52 - 1) * scale));
    } else if constexpr (std::is_same_v<T, Bool>) {
      out.push_back(random() & 1);
    } else {
      out.push_back(static_cast<T>(random() >> (random() % 64)));
    }
  }
  return out;
}

} // namespace mx::lowering
