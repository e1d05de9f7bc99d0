// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strict JSON reader, and helpers to write JSON.

#include "io/Json.h"
#include "io/Arrays.h"

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>

namespace mxrt::io {

void JsonReader::skipBlanks() {
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'))
    ++at;
}

Status JsonReader::expect(char wanted) {
  skipBlanks();
  if (at >= text.size() || text[at] != wanted)
    return fault("`%c` was expected", wanted);
  ++at;
  return success();
}

bool JsonReader::next(char wanted) {
  skipBlanks();
  if (at >= text.size() || text[at] != wanted)
    return false;
  ++at;
  return true;
}

bool JsonReader::atEnd() {
  skipBlanks();
  return at == text.size();
}

Status JsonReader::string(std::string_view &written, bool &escaped) {
  MXRT_CHECK(expect('"'));
  size_t begin = at;
  escaped = false;
  while (at < text.size() && text[at] != '"') {
    auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20)
      return fault("a string has a control character in it");
    if (c == '\\') {
      escaped = true;
      ++at;
      if (at >= text.size() ||
          std::string_view("\"\\/bfnrtu").find(text[at]) == std::string_view::npos)
        return fault("no such escape");
      if (text[at] == 'u')
        for (int i = 0; i < 4; ++i) {
          ++at;
          char d = at < text.size() ? text[at] : 0;
          bool hex = (d >= '0' && d <= '9') || (d >= 'a' && d <= 'f') || (d >= 'A' && d <= 'F');
          if (!hex)
            return fault("\\u needs four hexadecimal digits");
        }
      ++at;
      continue;
    }
    if (nextCharacter(text, at) < 0)
      return fault("the header is not UTF-8");
  }
  if (at >= text.size())
    return fault("a string is not closed");
  written = {text.data() + begin, at - begin};
  ++at;
  return success();
}

Status JsonReader::natural(int64_t &value) {
  skipBlanks();
  size_t begin = at;
  value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, text[at] - '0', &value))
      return fault("a number does not fit in 63 bits");
    ++at;
  }
  if (at == begin || (at - begin > 1 && text[begin] == '0'))
    return fault("a whole number was expected");
  return success();
}

Status unescape(const JsonReader &reader, std::string_view written, Vec<char> &out) {
  auto digit = [](char c) {
    return static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  };
  auto unit = [&](size_t at) {
    return digit(written[at]) << 12 | digit(written[at + 1]) << 8 | digit(written[at + 2]) << 4 |
           digit(written[at + 3]);
  };
  for (size_t at = 0; at < written.size();) {
    uint32_t c = static_cast<unsigned char>(written[at]);
    bool room = true;
    if (c != '\\') {
      room = out.push(written[at++]);
    } else {
      char kind = written[at + 1];
      at += 2;
      static constexpr std::string_view from = "bfnrt", to = "\b\f\n\r\t";
      if (size_t which = from.find(kind); which != std::string_view::npos) {
        room = out.push(to[which]);
      } else if (kind == 'u') {
        c = unit(at);
        at += 4;
        bool high = c >= 0xD800 && c < 0xDC00;
        bool pair = high && at + 2 <= written.size() && written[at] == '\\' && written[at + 1] == 'u';
        uint32_t low = pair ? unit(at + 2) : 0;
        if ((c >= 0xDC00 && c < 0xE000) || (high && (low < 0xDC00 || low > 0xDFFF)))
          return reader.fault("half of a surrogate pair");
        if (high) {
          c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
          at += 6;
        }
        room = appendCharacter(out, c);
      } else {
        room = out.push(kind);
      }
    }
    if (!room)
      return outOfMemory(out.allocator());
  }
  return success();
}

bool append(Vec<char> &out, std::string_view text) {
  // Geometric growth: there are many small entries.
  if (out.size() + text.size() > 64 && !out.reserve(std::bit_ceil(out.size() + text.size())))
    return false;
  for (char c : text)
    if (!out.push(c))
      return false;
  return true;
}

bool appendQuoted(Vec<char> &out, std::string_view text) {
  bool room = out.push('"');
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      static const char digits[] = "0123456789abcdef";
      char escape[] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
      room = room && append(out, {escape, 6});
    } else {
      if (c == '"' || c == '\\')
        room = room && out.push('\\');
      room = room && out.push(c);
    }
  }
  return room && out.push('"');
}

bool appendf(Vec<char> &out, const char *format, ...) {
  char text[501];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return append(out, {text, std::min(size_t(std::max(length, 0)), sizeof text - 1)});
}

} // namespace mxrt::io
