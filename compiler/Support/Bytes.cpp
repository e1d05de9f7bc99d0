// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing and formatting of byte counts with units.
#include "Support/Bytes.h"
#include <cmath>
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

int byteUnitOf(double bytes) {
  int unit = 0;
  for (; bytes >= 1024 && unit < 6; ++unit)
    bytes /= 1024;
  return unit;
}

std::string bytesIn(double bytes, int unit) {
  // By integers: the decimal point of printf is the locale's.
  auto tenths = static_cast<int64_t>(std::round(std::ldexp(bytes, -10 * unit) * 10));
  std::string text = std::to_string(tenths / 10);
  return tenths % 10 ? text + "." + std::to_string(tenths % 10) : text;
}

std::string formatBytes(double bytes) {
  int unit = byteUnitOf(bytes);
  return bytesIn(bytes, unit) + " " + kByteUnits[unit];
}

} // namespace mx
