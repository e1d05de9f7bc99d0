// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Growth of texts, and UTF-8 validation and encoding.

#include "host/Text.h"

#include <charconv>

namespace mxrt::host {

bool Text::enlarge(size_t bytes) {
  size_t wanted = used + bytes;
  if (bytes > maxStrBytes || wanted > maxStrBytes) {
    broken = true;
    return false;
  }
  size_t size = wanted + wanted / 2;
  auto *larger = static_cast<char *>(heap.allocate(size));
  if (!larger) {
    broken = true;
    return false;
  }
  std::memcpy(larger, items, used);
  if (items != small)
    heap.release(items, room);
  items = larger;
  room = size;
  return true;
}

void Text::appendInt(int64_t number) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  append(std::string_view(digits, size_t(end - digits)));
}

size_t codePointLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  auto tail = [&](size_t i) {
    return i < text.size() && (byte(i) & 0xc0) == 0x80;
  };
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xc2 && lead <= 0xdf)
    return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!tail(1) || !tail(2))
      return 0;
    bool overlong = lead == 0xe0 && byte(1) < 0xa0;
    bool surrogate = lead == 0xed && byte(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3))
      return 0;
    bool overlong = lead == 0xf0 && byte(1) < 0x90;
    bool beyond = lead == 0xf4 && byte(1) >= 0x90;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

size_t countCodePoints(std::string_view text) {
  size_t count = 0;
  while (!text.empty()) {
    size_t length = codePointLength(text);
    text.remove_prefix(length ? length : 1);
    ++count;
  }
  return count;
}

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = codePointLength(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

size_t encodeCodePoint(uint64_t code, char *out) {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return 0;
  if (code < 0x80) {
    out[0] = char(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = char(0xc0 | code >> 6);
    out[1] = char(0x80 | (code & 0x3f));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = char(0xe0 | code >> 12);
    out[1] = char(0x80 | (code >> 6 & 0x3f));
    out[2] = char(0x80 | (code & 0x3f));
    return 3;
  }
  out[0] = char(0xf0 | code >> 18);
  out[1] = char(0x80 | (code >> 12 & 0x3f));
  out[2] = char(0x80 | (code >> 6 & 0x3f));
  out[3] = char(0x80 | (code & 0x3f));
  return 4;
}

} // namespace mxrt::host
