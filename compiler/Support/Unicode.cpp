// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Support/Unicode.h"
#include <iterator>

namespace mx {

CodePoint decodeUtf8(std::string_view text, size_t at) {
  auto byte = [&](size_t i) -> uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0x100u;
  };
  auto continues = [&](size_t i) { return (byte(i) & 0x1C0u) == 0x80u; };
  uint32_t b0 = byte(0);
  if (b0 < 0x80)
    return {b0, 1};
  if (b0 >= 0xC2 && b0 <= 0xDF && continues(1))
    return {(b0 & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (b0 >= 0xE0 && b0 <= 0xEF && continues(1) && continues(2)) {
    uint32_t value = (b0 & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    if (value >= 0x800 && !(value >= 0xD800 && value <= 0xDFFF))
      return {value, 3};
  }
  if (b0 >= 0xF0 && b0 <= 0xF4 && continues(1) && continues(2) && continues(3)) {
    uint32_t value =
        (b0 & 7) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    if (value >= 0x10000 && value <= 0x10FFFF)
      return {value, 4};
  }
  return {b0, 0};
}

size_t countCodePoints(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++count) {
    CodePoint c = decodeUtf8(text, i);
    i += c.bytes ? c.bytes : 1;
  }
  return count;
}

namespace {
struct Interval {
  uint32_t first, last;
};
// Wide and full-width blocks (East Asian Width W and F) and the emoji planes.
constexpr Interval kWide[] = {{0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},
                              {0x23E9, 0x23EC},   {0x23F0, 0x23F0},   {0x23F3, 0x23F3},
                              {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},
                              {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
                              {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},
                              {0x26CE, 0x26CE},   {0x26D4, 0x26D4},   {0x26EA, 0x26EA},
                              {0x26F2, 0x26F3},   {0x26F5, 0x26F5},   {0x26FA, 0x26FA},
                              {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
                              {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},
                              {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
                              {0x27B0, 0x27B0},   {0x27BF, 0x27BF},   {0x2B1B, 0x2B1C},
                              {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
                              {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
                              {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
                              {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
                              {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF},
                              {0x1B000, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF},
                              {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320},
                              {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393},
                              {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0},
                              {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440},
                              {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E},
                              {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596},
                              {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5},
                              {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2}, {0x1F6D5, 0x1F6D7},
                              {0x1F6DC, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC},
                              {0x1F7E0, 0x1F7EB}, {0x1F7F0, 0x1F7F0}, {0x1F90C, 0x1F93A},
                              {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF}, {0x1FA70, 0x1FAFF},
                              {0x20000, 0x2FFFD}, {0x30000, 0x3FFFD}};
// Combining marks, joiners and variation selectors that take no cell of their own.
constexpr Interval kZeroWidth[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x0900, 0x0902}, {0x093C, 0x093C}, {0x0941, 0x0948},   {0x0E31, 0x0E31},
    {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},   {0x200B, 0x200F},
    {0x20D0, 0x20FF}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},   {0xFEFF, 0xFEFF},
    {0xE0100, 0xE01EF}};

template <size_t N> bool contains(const Interval (&table)[N], uint32_t c) {
  for (const Interval &i : table)
    if (c >= i.first && c <= i.last)
      return true;
  return false;
}
} // namespace

int displayWidth(uint32_t c) {
  if (c == '\t')
    return 4;
  if (c < 0x300)
    return 1;
  if (contains(kZeroWidth, c))
    return 0;
  return contains(kWide, c) ? 2 : 1;
}

int displayWidth(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size();) {
    CodePoint c = decodeUtf8(text, i);
    width += displayWidth(c.bytes ? c.value : 0xFFFD);
    i += c.bytes ? c.bytes : 1;
  }
  return width;
}

bool isBidiControl(uint32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

void appendUtf8(std::string &out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

} // namespace mx
