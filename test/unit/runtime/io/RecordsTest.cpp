// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RecordIO: what is written is read back, whatever the bytes; the layout is
// MXNet's; a file can be entered anywhere.

#include "io/Records.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace mxrt::test {
namespace {

const mxrt_allocator *alloc = mxrt_system_allocator();
const std::string magic = "\x0a\x23\xd7\xce";

std::string fileOf(const std::vector<std::string> &payloads) {
  Vec<char> file(alloc);
  for (const std::string &payload : payloads)
    EXPECT_TRUE(io::appendRecord(file, payload).ok());
  return {file.data(), file.size()};
}

std::string readNext(io::RecordReader &reader) {
  Vec<char> payload(alloc);
  Status status = reader.next(payload);
  return status.ok() ? std::string(payload.data(), payload.size()) : status.message();
}

TEST(Records, LayoutIsThatOfTheFormat) {
  using namespace std::string_literals;
  EXPECT_EQ(fileOf({"abc"}), magic + "\3\0\0\0abc\0"s);
  EXPECT_EQ(fileOf({""}), magic + "\0\0\0\0"s);
  // A magic at a multiple of 4 cuts; elsewhere it is bytes like any others.
  EXPECT_EQ(fileOf({"1234" + magic + "5"}),
            magic + "\4\0\0\x20"s + "1234" + magic + "\1\0\0\x60"s + "5\0\0\0"s);
  EXPECT_EQ(fileOf({magic + magic}),
            magic + "\0\0\0\x20"s + magic + "\0\0\0\x40"s + magic + "\0\0\0\x60"s);
  EXPECT_EQ(fileOf({"1" + magic}), magic + "\5\0\0\0"s + "1" + magic + "\0\0\0"s);
}

TEST(Records, AnyBytesComeBack) {
  std::mt19937 random(7);
  std::vector<std::string> payloads;
  for (int i = 0; i < 500; ++i) {
    std::string payload;
    // Few different bytes, so that the magic and pieces of it are common.
    for (unsigned n = random() % 40; n > 0; --n)
      payload += random() % 3 ? std::string(1, "\x0a\x23\xd7\xce"[random() % 4]) : magic;
    payloads.push_back(payload);
  }
  std::string file = fileOf(payloads);
  io::MemoryInput input(alloc, "file", file.data(), file.size());
  io::RecordReader reader(input);
  std::vector<int64_t> offsets;
  for (const std::string &payload : payloads) {
    offsets.push_back(reader.offset());
    EXPECT_EQ(readNext(reader), payload);
  }
  EXPECT_TRUE(reader.atEnd());
  Vec<io::RecordPosition> locations(alloc);
  ASSERT_TRUE(io::makeRecordIndex(input, locations).ok());
  ASSERT_EQ(locations.size(), payloads.size());
  for (size_t i = 0; i < locations.size(); ++i)
    EXPECT_EQ(locations[i].offset, offsets[i]);
  // From any byte on, the next record is found.
  for (int64_t from = 0; from <= int64_t(file.size()); from += 3) {
    ASSERT_TRUE(reader.seek(from).ok());
    auto next = std::lower_bound(offsets.begin(), offsets.end(), from);
    EXPECT_EQ(reader.offset(), next == offsets.end() ? int64_t(file.size()) : *next);
  }
}

TEST(Records, CutAtEveryByteIsWholeRecordsOrRefused) {
  std::string file = fileOf({"abcde", "1234" + magic + "5", ""});
  for (size_t length = 0; length < file.size(); ++length) {
    std::vector<char> copy(file.begin(), file.begin() + long(length));
    io::MemoryInput input(alloc, "file", copy.data(), copy.size());
    io::RecordReader reader(input);
    Vec<char> payload(alloc);
    Status status;
    while (status.ok() && !reader.atEnd())
      status = reader.next(payload);
    bool boundary = length == 0 || length == 16 || length == 40;
    EXPECT_EQ(status.ok(), boundary) << length;
    std::string message = status.ok() ? "file: byte 0\nrule: " : status.message();
    EXPECT_NE(message.find("file: byte "), std::string::npos) << message;
    EXPECT_NE(message.find("\nrule: "), std::string::npos) << message;
  }
}

TEST(Records, SaysWhatIsWrong) {
  using namespace std::string_literals;
  auto refusal = [](const std::string &file) {
    io::MemoryInput input(alloc, "file", file.data(), file.size());
    io::RecordReader reader(input);
    return readNext(reader);
  };
  EXPECT_EQ(refusal("abcdefgh"), "file: byte 0: a record begins with 0a 23 d7 ce, this with 61 62 "
                                 "63 64\nrule: magic");
  EXPECT_EQ(refusal(magic + "\0\0\0\x80"s),
            "file: byte 4: a record is of part 0 to 3, this of 4\nrule: part");
  EXPECT_EQ(refusal(magic + "\0\0\0\x60"s),
            "file: byte 4: a record begins with part 0 or 1, this is part 3\nrule: part");
  EXPECT_EQ(refusal(magic + "\0\0\0\x20"s + magic + "\0\0\0\0"s),
            "file: byte 12: parts 2 and 3 follow part 1, this is part 0\nrule: part");
  EXPECT_EQ(refusal(magic + "\1\0\0\0a\1\0\0"s),
            "file: byte 9: a record is filled up with zeros, this is 01\nrule: padding");
  EXPECT_EQ(refusal(magic + "\xff\xff\xff\x1f"s),
            "file: byte 8: a record needs 536870912 bytes, 0 are left\nrule: truncated");
}

TEST(Records, Index) {
  std::string text = "0\t0\n7\t128\n-1\t3";
  io::MemoryInput input(alloc, "file.idx", text.data(), text.size());
  Vec<io::RecordPosition> locations(alloc);
  ASSERT_TRUE(io::readRecordIndex(input, text, locations).ok());
  ASSERT_EQ(locations.size(), 3u);
  EXPECT_EQ(locations[1].key, 7);
  EXPECT_EQ(locations[1].offset, 128);
  for (const char *bad : {"0 0\n", "a\t1\n", "1\t\n", "1\t-5\n", "1\t2 \n", "\n"}) {
    Status status = io::readRecordIndex(input, bad, locations);
    EXPECT_FALSE(status.ok()) << bad;
  }
}

TEST(Records, Pictures) {
  Vec<char> payload(alloc);
  const float one[] = {3.5f}, several[] = {1, 2, 4};
  std::string nothing;
  io::MemoryInput input(alloc, "file", nothing.data(), 0);
  for (std::span<const float> labels :
       {std::span<const float>(one), std::span<const float>(several)}) {
    payload.clear();
    ASSERT_TRUE(io::appendImageRecord(payload, labels, 9, "JPEG"));
    EXPECT_EQ(payload.size(), 24 + (labels.size() == 1 ? 0 : 12) + 4u);
    io::ImageRecord record;
    ASSERT_TRUE(io::readImageRecord(input, 0, {payload.data(), payload.size()}, record).ok());
    ASSERT_EQ(record.labelCount(), labels.size());
    for (size_t i = 0; i < labels.size(); ++i)
      EXPECT_EQ(record.label(i), labels[i]);
    EXPECT_EQ(record.id, 9u);
    EXPECT_EQ(record.image, "JPEG");
  }
  io::ImageRecord record;
  EXPECT_FALSE(io::readImageRecord(input, 0, "short", record).ok());
  payload[0] = '\x7f'; // more labels than bytes
  EXPECT_FALSE(io::readImageRecord(input, 0, {payload.data(), payload.size()}, record).ok());
}

} // namespace
} // namespace mxrt::test
