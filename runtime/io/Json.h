// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pull parser for JSON that stops at the first unexpected token.

#ifndef MXRT_IO_JSON_H
#define MXRT_IO_JSON_H

#include "io/Input.h"

namespace mxrt::io {

/// Parses JSON text that starts at byte `base` of `input`.
class JsonReader {
public:
  JsonReader(const Input &input, std::string_view text, int64_t base)
      : input(input), text(text), base(base) {}

  Status expect(char wanted);
  /// Consumes `wanted` if it is next.
  bool next(char wanted);
  /// A string without its quotes, as written; `escaped` if it contains a backslash.
  Status string(std::string_view &written, bool &escaped);
  /// An integer from 0 to 2^63 - 1.
  Status natural(int64_t &value);
  bool atEnd();

  template <typename... Args> Status fault(const char *format, Args... args) const {
    if constexpr (sizeof...(args) == 0)
      return input.malformed(offset(), "header", "%s", format);
    else
      return input.malformed(offset(), "header", format, args...);
  }
  int64_t offset() const { return base + static_cast<int64_t>(at); }

private:
  void skipBlanks();
  const Input &input;
  std::string_view text;
  int64_t base;
  size_t at = 0;
};

/// Appends a string that JsonReader read, with its escapes decoded. R0602 for an unpaired
/// surrogate.
Status unescape(const JsonReader &reader, std::string_view written, Vec<char> &out);
/// Appends `text` (UTF-8) in quotes, with the escapes that JSON requires.
[[nodiscard]] bool appendQuoted(Vec<char> &out, std::string_view text);
[[nodiscard]] bool append(Vec<char> &out, std::string_view text);
/// The same with a printf format; texts longer than 500 bytes are truncated.
[[nodiscard]] bool appendf(Vec<char> &out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

} // namespace mxrt::io

#endif // MXRT_IO_JSON_H
