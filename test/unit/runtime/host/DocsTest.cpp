// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/internals/runtime.md has every instruction and every rule, in the words of the
// tables.

#include "host/Module.h"

#include "gtest/gtest.h"

#include <fstream>
#include <iterator>
#include <string>

namespace mxrt::host {
namespace {

TEST(DocsTest, RuntimeMdHasTheTables) {
  std::ifstream file(MX_SOURCE_DIR "/docs/internals/runtime.md");
  ASSERT_TRUE(file);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (unsigned op = 0; op < opcodeCount; ++op) {
    const OpcodeInfo &info = opcodeInfo(Opcode(op));
    size_t row = text.find(std::string("\n| `") + info.mnemonic + "` | ");
    ASSERT_NE(row, std::string::npos) << info.mnemonic;
    std::string line = text.substr(row + 1, text.find('\n', row + 1) - row - 1);
    std::string ending = std::string(" | ") + info.doc + " |";
    EXPECT_TRUE(line.ends_with(ending)) << line << "\nshould end in\n" << ending;
  }
  for (unsigned rule = 0; rule < ruleCount; ++rule) {
    std::string line = std::string("\n| `") + ruleName(Rule(rule)) + "` | " + ruleDoc(Rule(rule)) + " |\n";
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

} // namespace
} // namespace mxrt::host
