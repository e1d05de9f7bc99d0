// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

namespace mx::bytecode {

/// Text of a module with functions @f0 … @fN; the last has no parameters. Names of types as in
/// BytecodeFixture, and `!p`, a pair of a tensor and a number.
std::string randomProgram(uint64_t seed);

} // namespace mx::bytecode
