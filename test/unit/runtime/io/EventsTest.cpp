// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event files, byte by byte. test/data/log.test reads whole ones with a reader
// of its own.

#include "io/Events.h"

#include <gtest/gtest.h>

#include <string>

namespace mxrt::test {
namespace {

const mxrt_allocator *alloc = mxrt_system_allocator();

TEST(Events, TheChecksumIsCastagnolis) {
  // Vectors of RFC 3720.
  EXPECT_EQ(io::crc32c(""), 0u);
  EXPECT_EQ(io::crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(io::crc32c(std::string(32, 0)), 0x8a9136aau);
  EXPECT_EQ(io::crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Events, ANumberHasTheFieldsOfTheMessage) {
  Vec<char> file(alloc);
  ASSERT_TRUE(io::appendScalarEvent(file, 2.0, 300, "loss", 0.5f));
  const char expected[] = "\x09\0\0\0\0\0\0\0\x40"      // 1: f64 2.0
                          "\x10\xac\x02"                // 2: varint 300
                          "\x2a\x0d\x0a\x0b"            // 5: 13 bytes; in it 1: 11 bytes
                          "\x0a\x04loss\x15\0\0\0\x3f"; // 1: "loss", 2: f32 0.5
  std::string message(expected, sizeof expected - 1);
  ASSERT_EQ(file.size(), 12 + message.size() + 4);
  EXPECT_EQ(static_cast<unsigned char>(file[0]), message.size());
  EXPECT_EQ(std::string(file.data() + 12, message.size()), message);
}

TEST(Events, NegativeStepsAreTenBytes) {
  Vec<char> some(alloc), negative(alloc);
  ASSERT_TRUE(io::appendScalarEvent(some, 0, 1, "", 0));
  ASSERT_TRUE(io::appendScalarEvent(negative, 0, -1, "", 0));
  EXPECT_EQ(negative.size(), some.size() + 9);
}

} // namespace
} // namespace mxrt::test
