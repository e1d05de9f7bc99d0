// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CSV reader for tables of numbers.

#include "io/Arrays.h"

#include <charconv>

namespace mxrt::io {

namespace {

/// Reads one cell from `at` on, without surrounding blanks and quotes. Advances `at` to its
/// terminator. False if a quote is not closed.
bool nextCell(std::string_view text, char separator, size_t &at, std::string_view &cell) {
  auto blank = [&](char c) { return c == ' ' || (c == '\t' && separator != '\t'); };
  while (at < text.size() && blank(text[at]))
    ++at;
  if (at < text.size() && text[at] == '"') {
    size_t end = text.find_first_of("\"\n", at + 1);
    if (end == std::string_view::npos || text[end] != '"')
      return false;
    cell = text.substr(at + 1, end - at - 1);
    at = end + 1;
    while (at < text.size() && blank(text[at]))
      ++at;
    return at == text.size() || text[at] == separator || text[at] == '\n' || text[at] == '\r';
  }
  size_t end = at;
  while (end < text.size() && text[end] != separator && text[end] != '\n' && text[end] != '\r')
    ++end;
  cell = text.substr(at, end - at);
  at = end;
  while (!cell.empty() && blank(cell.back()))
    cell.remove_suffix(1);
  return true;
}

/// A number in C syntax, independent of the locale: 1, -2.5, +1e-3, nan, inf.
bool parseNumber(std::string_view cell, double &value) {
  if (!cell.empty() && cell[0] == '+')
    cell.remove_prefix(1);
  auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (problem == std::errc::result_out_of_range)
    return false;
  return problem == std::errc() && end == cell.data() + cell.size();
}

/// Advances `at` past a line end; false if there is none.
bool nextLine(std::string_view text, size_t &at) {
  if (at < text.size() && text[at] == '\r')
    ++at;
  if (at == text.size())
    return true;
  if (text[at] != '\n')
    return false;
  ++at;
  return true;
}

} // namespace

Status readCsvHead(const Input &input, std::string_view text, char separator, bool header,
                   CsvHead &head) {
  size_t at = text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0;
  if (header) {
    size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
  head.begin = static_cast<int64_t>(at);
  while (at < text.size()) {
    int64_t columns = 0;
    for (;;) {
      std::string_view cell;
      size_t begin = at;
      if (!nextCell(text, separator, at, cell))
        return input.malformed(static_cast<int64_t>(begin), "quotes",
                               "row %lld, column %lld: a quote is not closed, or something "
                               "follows it",
                               static_cast<long long>(head.rows + 1),
                               static_cast<long long>(columns + 1));
      double value = 0;
      if (!parseNumber(cell, value))
        return input.malformed(static_cast<int64_t>(begin), "number",
                               "row %lld, column %lld: `%.*s` is not a number%s",
                               static_cast<long long>(head.rows + 1),
                               static_cast<long long>(columns + 1),
                               int(std::min<size_t>(cell.size(), 40)), cell.data(),
                               head.rows == 0 && !header ? "; names in the first row need "
                                                           "header=true"
                                                         : "");
      ++columns;
      if (at < text.size() && text[at] == separator) {
        ++at;
        continue;
      }
      if (!nextLine(text, at))
        return input.malformed(static_cast<int64_t>(at), "line", "a line ends in \\n or \\r\\n");
      break;
    }
    if (head.rows > 0 && columns != head.columns)
      return input.malformed(static_cast<int64_t>(at), "columns",
                             "row %lld has %lld columns, the first has %lld",
                             static_cast<long long>(head.rows + 1), static_cast<long long>(columns),
                             static_cast<long long>(head.columns));
    head.columns = columns;
    ++head.rows;
  }
  return success();
}

void readCsv(std::string_view text, char separator, const CsvHead &head, float *into) {
  size_t at = static_cast<size_t>(head.begin);
  for (int64_t i = 0; i < head.rows; ++i) {
    for (int64_t j = 0; j < head.columns; ++j) {
      std::string_view cell;
      double value = 0;
      nextCell(text, separator, at, cell);
      parseNumber(cell, value);
      *into++ = static_cast<float>(value);
      if (j + 1 < head.columns)
        ++at;
    }
    nextLine(text, at);
  }
}

} // namespace mxrt::io
