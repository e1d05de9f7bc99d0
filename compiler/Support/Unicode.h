// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The subset of Unicode that diagnostics and the lexer need.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mx {

struct CodePoint {
  uint32_t value = 0;
  uint32_t bytes = 0; ///< 0: not valid UTF-8 here
};

/// Decodes the code point at `at`. Rejects overlong forms, surrogates and values past U+10FFFF.
CodePoint decodeUtf8(std::string_view text, size_t at);
size_t countCodePoints(std::string_view text);
/// Terminal cells of a code point: 0 for combining marks, 2 for wide characters. Tabs count as 4.
int displayWidth(uint32_t codePoint);
int displayWidth(std::string_view text);
/// Characters that reorder text on screen, so that it reads differently from the compiled text.
bool isBidiControl(uint32_t codePoint);
void appendUtf8(std::string &out, uint32_t codePoint);

} // namespace mx
