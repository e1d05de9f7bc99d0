// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text as numbers: characters and their vocabulary.

#include "io/Arrays.h"

#include <algorithm>

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

Status readVocabulary(const Input &input, std::string_view text, Vec<uint32_t> &vocabulary,
                      int64_t &characters) {
  characters = 0;
  uint32_t latest = UINT32_MAX;
  for (size_t at = 0; at < text.size(); ++characters) {
    size_t begin = at;
    int32_t c = nextCharacter(text, at);
    if (c < 0)
      return input.malformed(static_cast<int64_t>(begin), "utf-8", "the text is not UTF-8");
    auto wanted = static_cast<uint32_t>(c);
    if (wanted == latest)
      continue;
    latest = wanted;
    uint32_t *found = std::lower_bound(vocabulary.begin(), vocabulary.end(), wanted);
    if (found != vocabulary.end() && *found == wanted)
      continue;
    auto place = found - vocabulary.begin();
    if (!vocabulary.push(wanted))
      return outOfMemory(input.alloc);
    std::rotate(vocabulary.begin() + place, vocabulary.end() - 1, vocabulary.end());
  }
  return success();
}

void readCharacters(std::string_view text, const Vec<uint32_t> &vocabulary, int32_t *into) {
  for (size_t at = 0; at < text.size();) {
    auto c = static_cast<uint32_t>(nextCharacter(text, at));
    const uint32_t *found = std::lower_bound(vocabulary.begin(), vocabulary.end(), c);
    *into++ = static_cast<int32_t>(found - vocabulary.begin());
  }
}

} // namespace mxrt::io
