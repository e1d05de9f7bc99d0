// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of tensors, in one table.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace mx {

//            name    bytes  class
#define MX_ELEMENT_TYPES(X)                                                                        \
  X(Bool, "bool", 1, Bool)                                                                         \
  X(I8, "i8", 1, Int)                                                                              \
  X(U8, "u8", 1, Int)                                                                              \
  X(I32, "i32", 4, Int)                                                                            \
  X(I64, "i64", 8, Int)                                                                            \
  X(F16, "f16", 2, Float)                                                                          \
  X(BF16, "bf16", 2, Float)                                                                        \
  X(F32, "f32", 4, Float)                                                                          \
  X(F64, "f64", 8, Float)

enum class ElementClass : uint8_t { Bool, Int, Float };

enum class ElementType : uint8_t {
#define X(NAME, TEXT, BYTES, CLASS) NAME,
  MX_ELEMENT_TYPES(X)
#undef X
};

struct ElementInfo {
  ElementType type;
  std::string_view name;
  int bytes;
  ElementClass kind;
};

inline constexpr ElementInfo kElements[] = {
#define X(NAME, TEXT, BYTES, CLASS) {ElementType::NAME, TEXT, BYTES, ElementClass::CLASS},
    MX_ELEMENT_TYPES(X)
#undef X
};

inline const ElementInfo &elementInfo(ElementType type) {
  return kElements[static_cast<int>(type)];
}
inline std::optional<ElementType> elementNamed(std::string_view name) {
  for (const ElementInfo &info : kElements)
    if (info.name == name)
      return info.type;
  return std::nullopt;
}

} // namespace mx
