// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the prompt shows times, bytes and tables.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mx::repl {

std::string showSeconds(double seconds); ///< 1.9 us, 11.8 ms, 3.2 s
std::string showBytes(int64_t bytes);    ///< 112 B, 1.6 MiB
/// Columns side by side; `none` if there is no row.
std::string table(const std::vector<std::vector<std::string>> &rows, const std::string &none);

} // namespace mx::repl
