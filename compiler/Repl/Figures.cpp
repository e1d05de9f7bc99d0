// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting of bytes and tables.
#include "Repl/Figures.h"
#include "Support/Unicode.h"
#include <algorithm>
#include <cstdio>

namespace mx::repl {

std::string showBytes(int64_t bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string table(const std::vector<std::vector<std::string>> &rows, const std::string &none) {
  if (rows.empty())
    return none;
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i)
        widths.push_back(0);
      widths[i] = std::max(widths[i], static_cast<size_t>(displayWidth(row[i])));
    }
  std::string out;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size())
        line += std::string(widths[i] - static_cast<size_t>(displayWidth(row[i])) + 3, ' ');
    }
    while (!line.empty() && line.back() == ' ')
      line.pop_back();
    out += line + "\n";
  }
  return out;
}

} // namespace mx::repl
