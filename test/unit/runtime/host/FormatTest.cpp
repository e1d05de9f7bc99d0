// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f-string formats, compared with Python's.

#include "host/Format.h"

#include "gtest/gtest.h"

#include <bit>
#include <fstream>
#include <string>
#include <vector>

namespace mxrt::host {
namespace {

struct FormatTest : ::testing::Test {
  Heap heap{mxrt_system_allocator(), SIZE_MAX / 2};

  template <typename Body> std::string result(std::string_view specText, Body body) {
    Text out(heap);
    FormatSpec spec;
    const char *wrong = parseFormatSpec(specText, spec);
    if (!wrong)
      wrong = body(out, spec);
    EXPECT_FALSE(out.failed());
    return wrong ? "!" : std::string(out.view());
  }
  std::string integer(std::string_view spec, int64_t value) {
    return result(spec, [&](Text &out, FormatSpec &s) { return formatInt(out, s, value); });
  }
  std::string number(std::string_view spec, double value) {
    return result(spec, [&](Text &out, FormatSpec &s) { return formatF64(out, s, value); });
  }
  std::string single(std::string_view spec, float value) {
    return result(spec, [&](Text &out, FormatSpec &s) { return formatF32(out, s, value); });
  }
  std::string text(std::string_view spec, std::string_view value) {
    return result(spec, [&](Text &out, FormatSpec &s) { return formatStr(out, s, value); });
  }
  std::string boolean(std::string_view spec, bool value) {
    return result(spec, [&](Text &out, FormatSpec &s) { return formatBool(out, s, value); });
  }
};

TEST_F(FormatTest, AgreesWithPython) {
  std::ifstream file(MX_SOURCE_DIR "/test/unit/runtime/host/Inputs/format_cases.txt");
  ASSERT_TRUE(file);
  size_t cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    std::vector<std::string> parts(1);
    for (char c : line)
      if (c == '\t')
        parts.emplace_back();
      else
        parts.back() += c;
    ASSERT_EQ(parts.size(), 4u) << line;
    std::string found;
    if (parts[0] == "int")
      found = integer(parts[1], std::stoll(parts[2]));
    else if (parts[0] == "float")
      found = number(parts[1], std::bit_cast<double>(uint64_t(std::stoull(parts[2], nullptr, 16))));
    else
      found = text(parts[1], parts[2]);
    EXPECT_EQ(found, parts[3]) << "case " << line;
  }
  EXPECT_GT(cases, 5000u);
}

TEST_F(FormatTest, F32HasItsOwnShortestForm) {
  EXPECT_EQ(single("", 0.1f), "0.1");
  EXPECT_EQ(single("", 16777216.0f), "16777216.0");
  EXPECT_EQ(single("", 1e20f), "1e+20");
  EXPECT_EQ(single(".10f", 0.1f), "0.1000000015");
}

TEST_F(FormatTest, BoolsAreWords) {
  EXPECT_EQ(boolean("", true), "true");
  EXPECT_EQ(boolean("6", false), "false ");
  EXPECT_EQ(boolean(">6", true), "  true");
  EXPECT_EQ(boolean("d", true), "1");
  EXPECT_EQ(boolean("03d", true), "001");
}

TEST_F(FormatTest, LongNumbers) {
  EXPECT_EQ(number(".1100f", 5e-324).substr(0, 4), "0.00");
  EXPECT_EQ(number(".1100f", 5e-324).size(), 1102u);
  EXPECT_EQ(number(".1074f", 5e-324).substr(1070), "265625");
  EXPECT_EQ(number(".2000e", 1.0).size(), 2006u);
  EXPECT_EQ(number("f", 1.7976931348623157e308).size(), 316u);
  EXPECT_EQ(integer("65535", 1).size(), 65535u);
}

TEST_F(FormatTest, RefusesInvalidFormats) {
  for (const char *spec : {".", "q", "5 ", "65536", ".65536", "5,,", "+-", "\xff<5", "99999999999999999999"})
    EXPECT_EQ(integer(spec, 1), "!") << spec;
}

TEST_F(FormatTest, Utf8) {
  EXPECT_TRUE(isUtf8("aé日\xf0\x9f\x98\x80"));
  for (const char *bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xe6\x97"})
    EXPECT_FALSE(isUtf8(bad));
  EXPECT_EQ(countCodePoints("aé日\xf0\x9f\x98\x80"), 4u);
  for (uint32_t code : {0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xffffu, 0x10000u, 0x10ffffu}) {
    char bytes[4];
    size_t length = encodeCodePoint(code, bytes);
    EXPECT_EQ(codePointLength({bytes, length}), length) << code;
  }
  char bytes[4];
  EXPECT_EQ(encodeCodePoint(0xd800, bytes), 0u);
  EXPECT_EQ(encodeCodePoint(0x110000, bytes), 0u);
}

} // namespace
} // namespace mxrt::host
