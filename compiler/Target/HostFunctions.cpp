// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libc and libm functions, and 16-bit float conversions, for generated code.
#include "Target/HostFunctions.h"
#include <bit>
#include <cstdint>
#include <math.h>
#include <string.h>

namespace mx::target {

namespace {

// ------------------------------------------------------ narrow floats in software
//
// Compiler support libraries differ in which of these they have, so they are defined here. Their C
// types exist only in newer compilers; but 16-bit floats are passed in the low bits of a float
// register, on x86-64 and on AArch64, so float stands in for them.

/// Rounds once, to nearest, ties to even.
uint16_t narrow(double value, int exponentBits, int mantissaBits) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = bits & ~(uint64_t(1) << 63);
  const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int bias = (1 << (exponentBits - 1)) - 1;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponentBits) - 1) << mantissaBits);
  const uint64_t wideInfinity = uint64_t(0x7ff) << 52;
  if (magnitude > wideInfinity) {
    const uint64_t payload = (magnitude >> (52 - mantissaBits)) & ((1u << mantissaBits) - 1);
    return static_cast<uint16_t>(sign | infinity | payload | (1u << (mantissaBits - 1)));
  }
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent > bias)
    return sign | infinity;
  const bool tiny = exponent < 1 - bias;
  const int shift = 52 - mantissaBits + (tiny ? 1 - bias - exponent : 0);
  if (shift > 54)
    return sign;
  const uint64_t mantissa = (magnitude & ((uint64_t(1) << 52) - 1)) | (uint64_t(1) << 52);
  uint64_t kept = mantissa >> shift;
  const uint64_t rest = mantissa & ((uint64_t(1) << shift) - 1);
  const uint64_t half = uint64_t(1) << (shift - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  // `kept` includes the implicit leading one of the format; a carry out of the mantissa correctly
  // increments the exponent and, from the largest number, gives infinity.
  const uint64_t base = tiny ? 0 : uint64_t(exponent + bias - 1) << mantissaBits;
  return static_cast<uint16_t>(sign | (base + kept));
}

float inRegister(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
uint16_t fromRegister(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value)); }

float floatToHalf(float value) { return inRegister(narrow(value, 5, 10)); }
float doubleToHalf(double value) { return inRegister(narrow(value, 5, 10)); }
float floatToBrain(float value) { return inRegister(narrow(value, 8, 7)); }
float doubleToBrain(double value) { return inRegister(narrow(value, 8, 7)); }
float brainToFloat(float value) {
  return std::bit_cast<float>(uint32_t(fromRegister(value)) << 16);
}
float halfToFloat(float value) {
  const uint16_t bits = fromRegister(value);
  const uint32_t sign = uint32_t(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13 | (mantissa ? 0x400000 : 0));
  if (exponent == 0) { // zero and subnormals: mantissa * 2^-24, exactly
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}
double halfToDouble(float value) { return halfToFloat(value); }

/// x to an integer power, for llvm.powi; also from the compilers' support libraries.
template <typename T> T powi(T base, int exponent) {
  unsigned rest = exponent < 0 ? -static_cast<unsigned>(exponent) : exponent;
  T result = 1;
  for (; rest; rest >>= 1, base *= base)
    if (rest & 1)
      result *= base;
  return exponent < 0 ? 1 / result : result;
}

template <typename Function> HostSymbol entry(const char *name, Function *function) {
  return {name, reinterpret_cast<const void *>(function)};
}

} // namespace

std::vector<HostSymbol> hostFunctions() {
  // <math.h> overloads the plain names in C++; the types pick the C functions.
  using F1 = float(float);
  using D1 = double(double);
  using F2 = float(float, float);
  using D2 = double(double, double);
#define MX_UNARY(NAME) entry<F1>(#NAME "f", ::NAME##f), entry<D1>(#NAME, ::NAME)
#define MX_BINARY(NAME) entry<F2>(#NAME "f", ::NAME##f), entry<D2>(#NAME, ::NAME)
  return {
      entry<void *(void *, const void *, size_t)>("memcpy", ::memcpy),
      entry<void *(void *, const void *, size_t)>("memmove", ::memmove),
      entry<void *(void *, int, size_t)>("memset", ::memset),
      entry<int(const void *, const void *, size_t)>("memcmp", ::memcmp),
      entry<int(const void *, const void *, size_t)>("bcmp", ::memcmp),
      // rounding
      MX_UNARY(ceil),
      MX_UNARY(floor),
      MX_UNARY(nearbyint),
      MX_UNARY(rint),
      MX_UNARY(round),
      MX_UNARY(roundeven),
      MX_UNARY(trunc),
      entry<long(float)>("lrintf", ::lrintf),
      entry<long(double)>("lrint", ::lrint),
      entry<long(float)>("lroundf", ::lroundf),
      entry<long(double)>("lround", ::lround),
      entry<long long(float)>("llrintf", ::llrintf),
      entry<long long(double)>("llrint", ::llrint),
      entry<long long(float)>("llroundf", ::llroundf),
      entry<long long(double)>("llround", ::llround),
      // arithmetic
      entry<float(float, float, float)>("fmaf", ::fmaf),
      entry<double(double, double, double)>("fma", ::fma),
      MX_BINARY(fdim),
      MX_BINARY(fmax),
      MX_BINARY(fmin),
      MX_BINARY(fmod),
      MX_BINARY(remainder),
      MX_BINARY(copysign),
      MX_UNARY(fabs),
      MX_UNARY(sqrt),
      MX_UNARY(cbrt),
      MX_BINARY(hypot),
      MX_BINARY(pow),
      entry<float(float, int)>("__powisf2", powi<float>),
      entry<double(double, int)>("__powidf2", powi<double>),
      entry<float(float, int)>("ldexpf", ::ldexpf),
      entry<double(double, int)>("ldexp", ::ldexp),
      entry<float(float, int *)>("frexpf", ::frexpf),
      entry<double(double, int *)>("frexp", ::frexp),
      entry<float(float, float *)>("modff", ::modff),
      entry<double(double, double *)>("modf", ::modf),
      // exponentials and logarithms
      MX_UNARY(exp),
      MX_UNARY(exp2),
      MX_UNARY(exp10),
      MX_UNARY(expm1),
      MX_UNARY(log),
      MX_UNARY(log2),
      MX_UNARY(log10),
      MX_UNARY(log1p),
      // circular and hyperbolic functions
      MX_UNARY(sin),
      MX_UNARY(cos),
      MX_UNARY(tan),
      MX_UNARY(asin),
      MX_UNARY(acos),
      MX_UNARY(atan),
      MX_BINARY(atan2),
      MX_UNARY(sinh),
      MX_UNARY(cosh),
      MX_UNARY(tanh),
      MX_UNARY(asinh),
      MX_UNARY(acosh),
      MX_UNARY(atanh),
      // LLVM merges the sine and the cosine of the same angle into one call.
      entry<void(float, float *, float *)>("sincosf", ::sincosf),
      entry<void(double, double *, double *)>("sincos", ::sincos),
      // special functions
      MX_UNARY(erf),
      MX_UNARY(erfc),
      MX_UNARY(tgamma),
      MX_UNARY(lgamma),
      // 16-bit floats on CPUs without instructions for them
      entry<F1>("__truncsfhf2", floatToHalf),
      entry<float(double)>("__truncdfhf2", doubleToHalf),
      entry<F1>("__extendhfsf2", halfToFloat),
      entry<double(float)>("__extendhfdf2", halfToDouble),
      entry<F1>("__truncsfbf2", floatToBrain),
      entry<float(double)>("__truncdfbf2", doubleToBrain),
      entry<F1>("__extendbfsf2", brainToFloat),
  };
#undef MX_UNARY
#undef MX_BINARY
}

} // namespace mx::target
