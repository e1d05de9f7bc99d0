// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row an instruction: its PTX over the registers %d %a %b %c (and predicates %p %q), the types
// of these, and a reference in plain C++ over their bits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mxemu {

struct OpcodeCase {
  std::string name; // unique
  std::string code;
  std::string types; // of d, a, b, c: "f32 f32 f32", without the ones that are not used
  std::function<uint64_t(uint64_t, uint64_t, uint64_t)> expected;
  double tolerance = 0; // relative, for approximate functions
  double absolute = 0;
};

std::vector<OpcodeCase> integerCases();
std::vector<OpcodeCase> floatCases();
std::vector<OpcodeCase> convertCases();
/// The kernel of a case, named op<index>.
std::string entryText(const OpcodeCase &opcode, size_t index);

} // namespace mxemu
