// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTML of Markdown, without a library.
#pragma once
#include "Docs/Text.h"

inline std::string rendered(std::string_view text) {
  static mx::docs::Library none;
  return mx::docs::Writer(none, nullptr).prose(text);
}

inline std::string repeated(std::string_view text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i)
    out += text;
  return out;
}
