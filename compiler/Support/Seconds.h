// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Human-readable durations.
#pragma once
#include <string>

namespace mx {

std::string showSeconds(double seconds); ///< 1.9 us, 11.8 ms, 3.21 s

} // namespace mx
