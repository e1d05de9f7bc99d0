// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables at the prompt; byte counts (formatBytes) and times (showSeconds).
#pragma once
#include "Support/Bytes.h"
#include "Support/Seconds.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mx::repl {

/// Aligned columns; `none` without rows.
std::string table(const std::vector<std::vector<std::string>> &rows, const std::string &none);

} // namespace mx::repl
