// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables with aligned columns.
#include "Repl/Figures.h"
#include "Support/Unicode.h"
#include <algorithm>

namespace mx::repl {

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
