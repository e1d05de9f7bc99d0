// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of host numbers to and from elements, including rounding to f16 and bf16.

#include "eager/Scalars.h"
#include "base/Elements.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace mxrt::eager {

using host::Kind;
using host::Value;

uint16_t floatToF16(double value) {
  uint16_t sign = uint16_t(std::signbit(value) ? 0x8000 : 0);
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return uint16_t(sign | 0x7e00);
  if (magnitude >= 65520) // half way to the number after the largest finite one
    return uint16_t(sign | 0x7c00);
  // The distance between neighbours is 2^(exponent - 10), at least 2^-24.
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : -14;
  exponent = exponent < -14 ? -14 : exponent;
  double steps = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  // The addition carries into the exponent.
  return uint16_t(sign | (uint32_t(exponent + 14) * 1024 + uint32_t(steps)));
}

uint16_t floatToBf16(double value) {
  if (std::isnan(value))
    return uint16_t(std::signbit(value) ? 0xffc0 : 0x7fc0);
  // To f32 by truncation with a sticky bit, so that the value is rounded only once.
  float narrow = float(value);
  uint32_t bits = std::bit_cast<uint32_t>(narrow);
  if (double(narrow) != value && std::isfinite(narrow)) {
    if (std::fabs(double(narrow)) > std::fabs(value))
      --bits;
    bits |= 1;
  }
  if (std::isinf(narrow))
    return uint16_t(bits >> 16);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double asDouble(const Value &number) {
  return number.kind == Kind::F32   ? double(number.f)
         : number.kind == Kind::F64 ? number.d
                                    : double(number.i);
}

static bool asInt(const Value &number, int64_t &out) {
  if (number.kind == Kind::Bool || number.kind == Kind::Int) {
    out = number.i;
    return true;
  }
  double value = asDouble(number);
  if (!(value > -9223372036854777856.0 && value < 9223372036854775808.0))
    return false;
  out = int64_t(value);
  return true;
}

bool toElement(const Value &number, mxrt_dtype type, uint64_t &bits) {
  bits = 0;
  int64_t whole = 0;
  switch (type) {
  case MXRT_BOOL:
    bits = number.kind == Kind::F32 || number.kind == Kind::F64 ? asDouble(number) != 0
                                                                : number.i != 0;
    return true;
  case MXRT_I8:
  case MXRT_U8:
  case MXRT_I32:
  case MXRT_I64:
    if (!asInt(number, whole))
      return false;
    // Little endian: the low bytes are the wrapped number.
    static_assert(std::endian::native == std::endian::little);
    bits = uint64_t(whole);
    return true;
  case MXRT_F16:
    bits = floatToF16(asDouble(number));
    return true;
  case MXRT_BF16:
    bits = floatToBf16(asDouble(number));
    return true;
  case MXRT_F32:
    bits = std::bit_cast<uint32_t>(number.kind == Kind::Int ? float(number.i)
                                                            : float(asDouble(number)));
    return true;
  case MXRT_F64:
    bits = std::bit_cast<uint64_t>(asDouble(number));
    return true;
  default:
    return false;
  }
}

Value fromElement(mxrt_dtype type, const void *data) {
  return visitElement(type, [&](auto element) {
    auto number = element.load(data);
    if constexpr (element.dtype == MXRT_BOOL)
      return Value::boolean(number != 0);
    else if constexpr (!element.isFloat)
      return Value::integer(number);
    else if constexpr (element.dtype == MXRT_F64)
      return Value::f64(number);
    else
      return Value::f32(number);
  });
}

bool convertNumber(const Value &number, Kind wanted, Value &out) {
  int64_t whole = 0;
  switch (wanted) {
  case Kind::Bool:
    out =
        Value::boolean(number.kind == Kind::F32 || number.kind == Kind::F64 ? asDouble(number) != 0
                                                                            : number.i != 0);
    return true;
  case Kind::Int:
    if (!asInt(number, whole))
      return false;
    out = Value::integer(whole);
    return true;
  case Kind::F32:
    out = Value::f32(number.kind == Kind::Int ? float(number.i) : float(asDouble(number)));
    return true;
  case Kind::F64:
    out = Value::f64(asDouble(number));
    return true;
  default:
    return false;
  }
}

} // namespace mxrt::eager
