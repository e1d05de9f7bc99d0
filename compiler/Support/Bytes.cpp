// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing of byte counts with units.
#include "Support/Bytes.h"
#include <cstdlib>
#include <cstring>
#include <utility>

namespace mx {

std::optional<int64_t> parseBytes(const std::string &text) {
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(number > 0))
    return std::nullopt;
  static constexpr std::pair<const char *, double> kUnits[] = {
      {"", 1},       {"B", 1},           {"K", 1024.0},          {"KiB", 1024.0},
      {"M", 1 << 20}, {"MiB", 1 << 20},  {"G", 1 << 30},         {"GiB", 1 << 30},
      {"KB", 1e3},   {"MB", 1e6},        {"GB", 1e9},            {"TB", 1e12},
      {"T", 1099511627776.0}, {"TiB", 1099511627776.0}};
  for (auto [unit, factor] : kUnits)
    if (std::strcmp(end, unit) == 0 && number * factor < 9e18)
      return static_cast<int64_t>(number * factor);
  return std::nullopt;
}

} // namespace mx
