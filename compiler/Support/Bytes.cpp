// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing and formatting of byte counts with units.
#include "Support/Bytes.h"
#include "mxrt/bytes.h"
#include <cmath>

namespace mx {

const char *const kByteUnits[7] = MXRT_BYTE_UNITS;

std::optional<int64_t> parseBytes(const std::string &text) {
  int64_t bytes = 0;
  return mxrt_parse_bytes(text.c_str(), &bytes) ? std::optional(bytes) : std::nullopt;
}

static int64_t countOf(double bytes) {
  return bytes < 0x1p63 ? std::llround(bytes) : INT64_MAX; // a plan may need more than there can be
}

int byteUnitOf(double bytes) { return mxrt_byte_unit(countOf(bytes)); }

std::string bytesIn(double bytes, int unit) {
  char text[24];
  mxrt_bytes_in(countOf(bytes), unit, text, sizeof text);
  return text;
}

std::string formatBytes(double bytes) {
  int unit = byteUnitOf(bytes);
  return bytesIn(bytes, unit) + " " + kByteUnits[unit];
}

} // namespace mx
