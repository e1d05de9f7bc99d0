// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of tensors as types of C++: one table, and a visitor instead of a switch.
//
//   double value = visitElement(type, [&](auto element) { return double(element.load(from)); });

#ifndef MXRT_BASE_ELEMENTS_H
#define MXRT_BASE_ELEMENTS_H

#include "base/Halfs.h"
#include "mxrt/types.h"

#include <cstring>

namespace mxrt {

//           name   type in memory, bits, infinity of a float
#define MXRT_ELEMENTS(X)                                                                           \
  X(BOOL, uint8_t, uint8_t, 0)                                                                     \
  X(I8, int8_t, uint8_t, 0)                                                                        \
  X(U8, uint8_t, uint8_t, 0)                                                                       \
  X(I32, int32_t, uint32_t, 0)                                                                     \
  X(I64, int64_t, uint64_t, 0)                                                                     \
  X(F16, F16, uint16_t, 0x7c00)                                                                    \
  X(BF16, Bf16, uint16_t, 0x7f80)                                                                  \
  X(F32, float, uint32_t, 0x7f800000)                                                              \
  X(F64, double, uint64_t, 0x7ff0000000000000)

template <mxrt_dtype Dtype, typename T, typename B, B Infinity> struct Element {
  using Type = T;
  using Bits = B;
  static constexpr mxrt_dtype dtype = Dtype;
  static constexpr bool isFloat = Infinity != 0;
  static constexpr Bits infinity = Infinity; ///< larger bits, without the sign, are NaN
  static constexpr Bits sign = Bits(Bits(1) << (sizeof(Bits) * 8 - 1));
  static_assert(sizeof(T) == sizeof(B));

  static Type stored(const void *from) {
    Type value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  /// The number at an address; 16-bit floats as f32.
  static auto load(const void *from) {
    if constexpr (requires(Type value) { value.wide(); })
      return stored(from).wide();
    else
      return stored(from);
  }
};

#define MXRT_ELEMENT(name, type, bits, infinity)                                                   \
  using Element##name = Element<MXRT_##name, type, bits, infinity>;
MXRT_ELEMENTS(MXRT_ELEMENT)
#undef MXRT_ELEMENT

/// Calls `visit` with the Element of a type.
template <typename Visit> auto visitElement(mxrt_dtype type, Visit &&visit) {
  switch (type) {
#define MXRT_ELEMENT(name, ...)                                                                    \
  case MXRT_##name:                                                                                \
    return visit(Element##name());
    MXRT_ELEMENTS(MXRT_ELEMENT)
#undef MXRT_ELEMENT
  case MXRT_DTYPE_COUNT:
    break;
  }
  __builtin_unreachable(); // tensors and numbers have no other
}

} // namespace mxrt

#endif // MXRT_BASE_ELEMENTS_H
