// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting and parsing of byte counts, and settings from the environment.

#include "base/Units.h"
#include "base/CheckedMath.h"
#include "mxrt/bytes.h"

#include <cstdio>

namespace mxrt {

BytesText formatBytes(int64_t bytes) {
  static const char *const units[] = MXRT_BYTE_UNITS;
  BytesText result;
  int unit = mxrt_byte_unit(bytes);
  char number[24];
  mxrt_bytes_in(bytes, unit, number, sizeof(number));
  snprintf(result.text, sizeof(result.text), "%s %s", number, units[unit]);
  return result;
}

bool parseBytes(const char *text, int64_t &bytes) { return mxrt_parse_bytes(text, &bytes); }

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

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
