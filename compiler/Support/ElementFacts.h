// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of element types beside their name and size (ElementType.h): their ranges, and what
// other languages call them.
#pragma once
#include "Support/ElementType.h"
#include <iterator>

namespace mx {

struct ElementFacts {
  ElementType type;
  /// Binary digits of an integer without its sign, of the significand of a float.
  int digits;
  /// C has no type for 16-bit floats: their bit pattern is passed, as is that of a bf16 by NumPy.
  const char *inC, *inNumpy, *inCtypes;

  constexpr bool isSigned() const { return digits % 8 != 0; }
  /// Of an integer type.
  constexpr int64_t max() const { return static_cast<int64_t>((uint64_t(1) << digits) - 1); }
  constexpr int64_t min() const { return isSigned() ? -max() - 1 : 0; }
};

inline constexpr ElementFacts kElementFacts[] = {
    {ElementType::Bool, 1, "bool", "bool_", "c_bool"},
    {ElementType::I8, 7, "int8_t", "int8", "c_int8"},
    {ElementType::U8, 8, "uint8_t", "uint8", "c_uint8"},
    {ElementType::I32, 31, "int32_t", "int32", "c_int32"},
    {ElementType::I64, 63, "int64_t", "int64", "c_int64"},
    {ElementType::F16, 11, "uint16_t", "float16", "c_uint16"},
    {ElementType::BF16, 8, "uint16_t", "uint16", "c_uint16"},
    {ElementType::F32, 24, "float", "float32", "c_float"},
    {ElementType::F64, 53, "double", "float64", "c_double"},
};
static_assert(
    [] {
      for (const ElementInfo &info : kElements)
        if (kElementFacts[static_cast<int>(info.type)].type != info.type)
          return false;
      return std::size(kElementFacts) == std::size(kElements);
    }(),
    "the tables of element types differ");

inline constexpr const ElementFacts &elementFacts(ElementType type) {
  return kElementFacts[static_cast<int>(type)];
}

} // namespace mx
