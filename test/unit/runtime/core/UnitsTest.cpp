// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "base/Units.h"

#include <gtest/gtest.h>

using namespace mxrt;

namespace {

int64_t bytesOf(const char *text) {
  int64_t bytes = -1;
  return parseBytes(text, bytes) ? bytes : -1;
}

TEST(Units, ReadsByteCounts) {
  EXPECT_EQ(bytesOf("1"), 1);
  EXPECT_EQ(bytesOf("1048576"), 1048576);
  EXPECT_EQ(bytesOf("512M"), int64_t(512) << 20);
  EXPECT_EQ(bytesOf("512m"), int64_t(512) << 20);
  EXPECT_EQ(bytesOf("1.5GiB"), int64_t(3) << 29);
  EXPECT_EQ(bytesOf("2 GB"), 2000000000);
  EXPECT_EQ(bytesOf(" 3 kib "), -1);
  EXPECT_EQ(bytesOf("0.5K"), 512);
  EXPECT_EQ(bytesOf("7b"), 7);
  EXPECT_EQ(bytesOf("1T"), int64_t(1) << 40);
  EXPECT_EQ(bytesOf("9223372036854775807"), INT64_MAX);
}

TEST(Units, RefusesEverythingElse) {
  for (const char *text :
       {"", " ", "M", "-1", "+1", "1x", "1Mi", "1 M B", "1e9", "1.", ".5", "0",
        "0.0", "0.1", "9223372036854775808", "8388608T", "99999999999999999999",
        "1.5.5", "1K1", "0x10", "1KiBB", "1Kb1", "1P", "inf", "nan"})
    EXPECT_EQ(bytesOf(text), -1) << text;
}

TEST(Units, FormatsByteCounts) {
  EXPECT_STREQ(formatBytes(0).text, "0 B");
  EXPECT_STREQ(formatBytes(1023).text, "1023 B");
  EXPECT_STREQ(formatBytes(1024).text, "1 KiB");
  EXPECT_STREQ(formatBytes(1536).text, "1.5 KiB");
  EXPECT_STREQ(formatBytes((int64_t(31) << 30) / 10).text, "3.1 GiB");
  EXPECT_STREQ(formatBytes((int64_t(1) << 20) - 1).text, "1024 KiB");
  EXPECT_STREQ(formatBytes(INT64_MAX).text, "8 EiB");
}

TEST(Units, ReadsIntegers) {
  int64_t value = 0;
  EXPECT_TRUE(parseInt("12", 1, 100, value));
  EXPECT_EQ(value, 12);
  EXPECT_TRUE(parseInt("-9223372036854775808", INT64_MIN, 0, value));
  EXPECT_EQ(value, INT64_MIN);
  for (const char *text : {"", "-", "0", "101", "1 ", " 1", "1.0", "0x1",
                           "9223372036854775808", "99999999999999999999"})
    EXPECT_FALSE(parseInt(text, 1, 100, value)) << text;
}

} // namespace
