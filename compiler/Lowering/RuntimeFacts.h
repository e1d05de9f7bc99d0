// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled code knows of the runtime beside its functions: error numbers and the layout of
// structures, from the tables that the runtime itself is checked against.
#pragma once
#include <cstdint>

namespace mx::lowering {

/// The numbers of mxrt/codes.def.
enum class Code : int32_t {
#define MXRT_CODE(name, number, text) name = number,
#include "mxrt/codes.def"
};
constexpr int32_t numberOf(Code code) { return static_cast<int32_t>(code); }

/// Sizes and offsets of mxrt/layout.def, in bytes: layout::mxrt_context::location.
namespace layout {
#define MXRT_STRUCT(name, copied)                                                                  \
  namespace name {                                                                                 \
  inline constexpr int32_t kBytes = copied;                                                        \
  }
#define MXRT_FIELD(name, field, offset)                                                            \
  namespace name {                                                                                 \
  inline constexpr int32_t field = offset;                                                         \
  }
#define MXRT_CONSTANT(name, value) inline constexpr int32_t name = value;
#include "mxrt/layout.def"
} // namespace layout

} // namespace mx::lowering
