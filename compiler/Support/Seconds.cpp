// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting of durations.
#include "Support/Seconds.h"
#include <cstdio>

namespace mx {

std::string showSeconds(double seconds) {
  char text[32];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  else if (seconds < 1)
    std::snprintf(text, sizeof text, "%.1f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

} // namespace mx
