// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting of bytes, times (showSeconds) and tables at the prompt.
#pragma once
#include "Support/Seconds.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mx::repl {

std::string showBytes(int64_t bytes); ///< 112 B, 1.6 MiB
/// Aligned columns; `none` without rows.
std::string table(const std::vector<std::vector<std::string>> &rows, const std::string &none);

} // namespace mx::repl
