// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting and parsing of byte counts, and settings from the environment.

#ifndef MXRT_BASE_UNITS_H
#define MXRT_BASE_UNITS_H

#include "base/Status.h"

namespace mxrt {

/// "64 B", "1.5 KiB", "3 GiB".
struct BytesText {
  char text[32];
};
BytesText formatBytes(int64_t bytes);

/// Parses "1048576", "512M", "1.5GiB", "2 GB". K, M, G, T (also KiB ...) are powers of 1024;
/// KB, MB, GB, TB powers of 1000; case-insensitive. False for anything else, for 0 and for
/// values that do not fit in 63 bits.
bool parseBytes(const char *text, int64_t &bytes);

/// Parses a whole number from low to high and nothing else. No locale, no octal.
bool parseInt(const char *text, int64_t low, int64_t high, int64_t &value);

} // namespace mxrt

#endif // MXRT_BASE_UNITS_H
