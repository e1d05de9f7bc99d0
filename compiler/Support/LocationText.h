// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source locations as text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace mx {

/// `net.mx:12:5`, or `net.mx:12` for column 0.
inline std::string locationText(std::string_view file, int64_t line, int64_t column = 0) {
  std::string text = std::string(file) + ":" + std::to_string(line);
  return column > 0 ? text + ":" + std::to_string(column) : text;
}

} // namespace mx
