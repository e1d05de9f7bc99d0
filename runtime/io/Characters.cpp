// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// UTF-8 encoding and decoding of characters.

#include "io/Arrays.h"

namespace mxrt::io {

int32_t nextCharacter(std::string_view text, size_t &at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned first = byte(at);
  if (first < 0x80) {
    ++at;
    return static_cast<int32_t>(first);
  }
  size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4 || at + more >= text.size())
    return -1;
  uint32_t value = first & (0x3Fu >> more);
  for (size_t i = 1; i <= more; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80)
      return -1;
    value = value << 6 | (byte(at + i) & 0x3F);
  }
  bool overlong = (more == 2 && value < 0x800) || (more == 3 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
    return -1;
  at += more + 1;
  return static_cast<int32_t>(value);
}

bool appendCharacter(Vec<char> &text, uint32_t c) {
  auto push = [&](uint32_t byte) { return text.push(static_cast<char>(byte)); };
  if (c < 0x80)
    return push(c);
  if (c < 0x800)
    return push(0xC0 | c >> 6) && push(0x80 | (c & 0x3F));
  if (c < 0x10000)
    return push(0xE0 | c >> 12) && push(0x80 | (c >> 6 & 0x3F)) && push(0x80 | (c & 0x3F));
  return push(0xF0 | c >> 18) && push(0x80 | (c >> 12 & 0x3F)) && push(0x80 | (c >> 6 & 0x3F)) &&
         push(0x80 | (c & 0x3F));
}

} // namespace mxrt::io
