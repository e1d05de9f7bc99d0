// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting and parsing of byte counts, and settings from the environment.

#include "base/Units.h"
#include "base/CheckedMath.h"

#include <cstdio>

namespace mxrt {

BytesText formatBytes(int64_t bytes) {
  BytesText result;
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    snprintf(result.text, sizeof(result.text), "%lld bytes",
             static_cast<long long>(bytes));
    return result;
  }
  // Tenths by integer arithmetic: the decimal point must not follow the host's locale.
  int unit = 0;
  int64_t scale = 1024;
  while (unit < 5 && bytes / scale >= 1024) {
    scale *= 1024;
    ++unit;
  }
  int64_t whole = bytes / scale;
  int64_t tenths = (bytes % scale) / (scale / 1024) * 10 / 1024;
  snprintf(result.text, sizeof(result.text), "%lld.%lld %s",
           static_cast<long long>(whole), static_cast<long long>(tenths),
           units[unit]);
  return result;
}

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The factor of a unit name, or 0.
static int64_t unitFactor(const char *name) {
  int power = 0;
  switch (lower(*name)) {
  case 0:
    return 1;
  case 'b':
    return name[1] == 0 ? 1 : 0;
  case 'k':
    power = 1;
    break;
  case 'm':
    power = 2;
    break;
  case 'g':
    power = 3;
    break;
  case 't':
    power = 4;
    break;
  default:
    return 0;
  }
  int64_t base = 1024;
  ++name;
  if (lower(name[0]) == 'i' && lower(name[1]) == 'b' && name[2] == 0)
    base = 1024;
  else if (lower(name[0]) == 'b' && name[1] == 0)
    base = 1000;
  else if (name[0] != 0)
    return 0;
  int64_t factor = 1;
  while (power-- > 0)
    factor *= base;
  return factor;
}

bool parseBytes(const char *text, int64_t &bytes) {
  while (*text == ' ')
    ++text;
  if (!isDigit(*text))
    return false;
  int64_t whole = 0;
  for (; isDigit(*text); ++text)
    if (!checkedMul(whole, 10, whole) || !checkedAdd(whole, *text - '0', whole))
      return false;
  // At most nine decimals of a fraction; more would not change a byte count.
  int64_t fraction = 0, fractionScale = 1;
  if (*text == '.') {
    ++text;
    if (!isDigit(*text))
      return false;
    for (; isDigit(*text); ++text)
      if (fractionScale < 1000000000) {
        fraction = fraction * 10 + (*text - '0');
        fractionScale *= 10;
      }
  }
  while (*text == ' ')
    ++text;
  int64_t factor = unitFactor(text);
  if (factor == 0)
    return false;
  int64_t total;
  if (!checkedMul(whole, factor, total))
    return false;
  // factor <= 2^40 and fraction < 10^9: split to stay within 63 bits.
  int64_t part = factor / fractionScale * fraction +
                 factor % fractionScale * fraction / fractionScale;
  if (!checkedAdd(total, part, total) || total <= 0)
    return false;
  bytes = total;
  return true;
}

bool parseInt(const char *text, int64_t low, int64_t high, int64_t &value) {
  bool negative = *text == '-';
  if (negative)
    ++text;
  if (!isDigit(*text))
    return false;
  int64_t number = 0;
  for (; isDigit(*text); ++text)
    if (!checkedMul(number, 10, number) ||
        !checkedSub(number, *text - '0', number))
      return false;
  if (*text != 0 || (!negative && number == INT64_MIN))
    return false;
  number = negative ? number : -number;
  if (number < low || number > high)
    return false;
  value = number;
  return true;
}

} // namespace mxrt
