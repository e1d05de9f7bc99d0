// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs from the grammar, spelled with random white space, line breaks where they are
// legal, and comments. The same seed gives the same program.
#pragma once
#include <cstdint>
#include <string>

namespace mx {
std::string randomProgram(uint32_t seed);
} // namespace mx
