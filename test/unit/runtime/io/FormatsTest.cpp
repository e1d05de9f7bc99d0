// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every format: its golden file, the file cut at every byte, every bit of it
// turned, files with changed parts, and files that announce more than there is.

#include "Formats.h"
#include "Structures.h"
#include "base/Status.h"

#include <gtest/gtest.h>

namespace mxrt::test {
namespace {

/// Counts the largest request; refuses what is beyond any of the files here.
struct Meter {
  static constexpr size_t most = size_t(4) << 20;
  size_t largest = 0;
  mxrt_allocator face{this, allocate, release, nullptr};
  static void *allocate(void *user, size_t bytes, size_t align) {
    auto *self = static_cast<Meter *>(user);
    self->largest = std::max(self->largest, bytes);
    const mxrt_allocator *system = mxrt_system_allocator();
    return bytes > most ? nullptr : system->allocate(system->user, bytes, align);
  }
  static void release(void *, void *memory, size_t bytes, size_t align) {
    const mxrt_allocator *system = mxrt_system_allocator();
    system->release(system->user, memory, bytes, align);
  }
};

Status read(ReadFormat format, const std::string &bytes, std::string &summary,
            const mxrt_allocator *alloc = mxrt_system_allocator()) {
  // A copy of exactly this size, so that a sanitizer sees a byte too many.
  std::vector<char> copy(bytes.begin(), bytes.end());
  io::MemoryInput input(alloc, "file", copy.data(), copy.size());
  return format(input, summary);
}

std::string refusal(ReadFormat format, const std::string &bytes) {
  std::string summary;
  Status status = read(format, bytes, summary);
  return status.ok() ? "accepted: " + summary : status.message();
}

class EveryFormat : public ::testing::TestWithParam<Format> {};

TEST_P(EveryFormat, GoldenFileIsRead) {
  std::string summary;
  Status status = read(GetParam().read, GetParam().golden(), summary);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(summary.empty());
}

/// Refusals name the file, the byte and the rule.
void expectNamed(const Status &status, const std::string &where) {
  EXPECT_EQ(status.code(), MXRT_FILE_FORMAT) << where << ": " << status.message();
  std::string message = status.message();
  EXPECT_NE(message.find("file: byte "), std::string::npos) << where << ": " << message;
  EXPECT_NE(message.find("\nrule: "), std::string::npos) << where << ": " << message;
}

TEST_P(EveryFormat, CutAtEveryByteIsRefused) {
  std::string golden = GetParam().golden();
  for (size_t length = 0; length < golden.size(); ++length) {
    std::string summary, where = "cut at " + std::to_string(length);
    Status status = read(GetParam().read, golden.substr(0, length), summary);
    if (status.ok())
      ASSERT_FALSE(GetParam().everyByteCounts) << where << ": " << summary;
    else
      expectNamed(status, where);
  }
}

TEST_P(EveryFormat, PartsMakeTheSameFile) {
  const Structure *structure = structureOf(GetParam().name);
  ASSERT_TRUE(structure);
  std::string before, after;
  ASSERT_TRUE(read(GetParam().read, GetParam().golden(), before).ok());
  Status status =
      read(GetParam().read, structure->join(structure->split(GetParam().golden())), after);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(before, after);
}

TEST_P(EveryFormat, MutatedFilesAreReadOrRefused) {
  const Structure *structure = structureOf(GetParam().name);
  ASSERT_TRUE(structure);
  std::minstd_rand random(1);
  auto change = [&](std::string &part) { changeSomeBytes(part, random); };
  std::string file = GetParam().golden();
  int accepted = 0, rounds = 4000;
  for (int i = 0; i < rounds; ++i) {
    std::string mutated = mutate(*structure, file, random, change), summary;
    Meter meter;
    Status status = read(GetParam().read, mutated, summary, &meter.face);
    EXPECT_LE(meter.largest, Meter::most) << "round " << i;
    if (!status.ok())
      expectNamed(status, "round " + std::to_string(i));
    accepted += status.ok();
    // Some go on from what was read, so that the files get stranger.
    file = status.ok() && mutated.size() < 2000 && i % 8 ? mutated : GetParam().golden();
    if (HasFailure())
      return;
  }
  // Lengths and sums fit: the readers get to see what is inside of them.
  EXPECT_GT(accepted, rounds / 100);
  RecordProperty("accepted", accepted);
}

TEST_P(EveryFormat, OneByteMoreIsRefused) {
  if (GetParam().everyByteCounts) {
    std::string message = refusal(GetParam().read, GetParam().golden() + "x");
    EXPECT_EQ(message.find("accepted"), std::string::npos) << message;
  }
}

TEST_P(EveryFormat, AnyTurnedBitIsReadOrRefused) {
  std::string golden = GetParam().golden();
  for (size_t bit = 0; bit < golden.size() * 8; ++bit) {
    std::string turned = golden, summary;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << (bit % 8)));
    Meter meter;
    Status status = read(GetParam().read, turned, summary, &meter.face);
    // What a damaged header announces is compared with the file before it is allocated.
    EXPECT_LE(meter.largest, Meter::most) << "bit " << bit;
    if (!status.ok()) {
      EXPECT_EQ(status.code(), MXRT_FILE_FORMAT) << "bit " << bit << ": " << status.message();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Io, EveryFormat, ::testing::ValuesIn(formats, formats + formatCount),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Idx, SaysWhatIsWrong) {
  using namespace std::string_literals;
  EXPECT_EQ(refusal(readIdx, "\1\0\x08\1"s),
            "file: byte 0: an idx file begins with two zeros, this with 01 00\nrule: magic");
  EXPECT_EQ(refusal(readIdx, "\0\0\x0b\1"s),
            "file: byte 2: element type 0b is not one of 08 09 0c 0d 0e\nrule: type");
  EXPECT_EQ(refusal(readIdx, "\0\0\x08\x11"s),
            "file: byte 3: 17 dimensions, at most 16 can be read\nrule: rank");
  EXPECT_EQ(refusal(readIdx, "\0\0\x08\1\xff\xff\xff\xff"s),
            "file: byte 8: the header announces 4294967295 bytes, at most 0 can follow\nrule: "
            "size");
  std::string huge = "\0\0\x08\3"s;
  for (int i = 0; i < 12; ++i)
    huge += "\xff"s;
  EXPECT_EQ(refusal(readIdx, huge),
            "file: byte 4: the sizes of the array multiply to more than 63 bits\nrule: size");
}

TEST(Idx, MayBeEmptyOrASingleNumber) {
  using namespace std::string_literals;
  EXPECT_EQ(refusal(readIdx, "\0\0\x08\0\x07"s), "accepted: u8 rank 0 elements 1 7; ");
  EXPECT_EQ(refusal(readIdx, "\0\0\x08\1\0\0\0\0"s), "accepted: u8 rank 1 elements 0 0; ");
}

TEST(Idx, GzipWithSeveralMembersIsOneStream) {
  std::string whole = formats[2].golden();
  std::string summary;
  ASSERT_TRUE(read(readIdx, whole, summary).ok());
  EXPECT_EQ(refusal(readIdx, whole + whole),
            "file: byte 28: (of the decompressed data) bytes follow what the header "
            "describes\nrule: trailing");
}

TEST(Npz, NamesWhatThereIs) {
  std::string bytes = formats[4].golden();
  io::MemoryInput input(mxrt_system_allocator(), "file", bytes.data(), bytes.size());
  io::Stream stream(input);
  Status status = io::openNpz(input, "c", stream);
  EXPECT_NE(std::string(status.message()).find("of 2 arrays none is `c`; there are: a, b"),
            std::string::npos)
      << status.message();
}

TEST(Csv, SaysWhatIsWrong) {
  EXPECT_EQ(refusal(readCsv, "x\n1,2\n3\n"),
            "file: byte 8: row 2 has 1 columns, the first has 2\nrule: columns");
  EXPECT_EQ(refusal(readCsv, "x\n1,two\n"),
            "file: byte 4: row 1, column 2: `two` is not a number\nrule: number");
  EXPECT_EQ(refusal(readCsv, "x\n1,\"2\n"),
            "file: byte 4: row 1, column 2: a quote is not closed, or something follows "
            "it\nrule: quotes");
  EXPECT_EQ(refusal(readCsv, "x\n1\n\n"),
            "file: byte 4: row 2, column 1: `` is not a number\nrule: number");
  EXPECT_EQ(refusal(readCsv, ""), "accepted: 0 x 0 numbers 0 0; ");
}

std::string safe(const std::string &header, size_t data) {
  std::string out;
  for (int i = 0; i < 8; ++i)
    out += static_cast<char>(header.size() >> (8 * i));
  return out + header + std::string(data, 0);
}

TEST(Safetensors, RefusesWhatTheReferenceRefuses) {
  auto entry = [](const char *shape, int from, int to) {
    return "{\"dtype\":\"U8\",\"shape\":" + std::string(shape) + ",\"data_offsets\":[" +
           std::to_string(from) + "," + std::to_string(to) + "]}";
  };
  auto rule = [&](const std::string &header, size_t data) {
    std::string message = refusal(readSafetensors, safe(header, data));
    size_t at = message.find("rule: ");
    return at == std::string::npos ? message : message.substr(at + 6);
  };
  EXPECT_EQ(rule("{\"a\":" + entry("[2]", 0, 2) + ",\"b\":" + entry("[2]", 3, 5) + "}", 5), "gaps");
  EXPECT_EQ(rule("{\"a\":" + entry("[2]", 0, 2) + ",\"b\":" + entry("[2]", 1, 3) + "}", 3), "gaps");
  EXPECT_EQ(rule("{\"a\":" + entry("[2]", 0, 2) + "}", 3), "trailing");
  EXPECT_EQ(rule("{\"a\":" + entry("[2]", 0, 2) + "}", 1), "truncated");
  EXPECT_EQ(rule("{\"a\":" + entry("[3]", 0, 2) + "}", 2), "header");
  EXPECT_EQ(rule("{\"a\":" + entry("[4294967296,4294967296,4294967296]", 0, 0) + "}", 0), "header");
  EXPECT_EQ(rule("{\"a\":" + entry("[0]", 0, 0) + ",\"a\":" + entry("[0]", 0, 0) + "}", 0),
            "names");
  EXPECT_EQ(rule("[]", 0), "header");
  EXPECT_EQ(rule(" {}", 0), "header");
  EXPECT_EQ(rule("{}x", 0), "header");
  EXPECT_EQ(rule("{\"a\":" + entry("[-1]", 0, 0) + "}", 0), "header");
  EXPECT_EQ(refusal(readSafetensors, safe("{}", 0)), "accepted: ");
  std::string length(8, '\xff');
  EXPECT_NE(refusal(readSafetensors, length).find("rule: header-length"), std::string::npos);
}

TEST(Text, RefusesWhatIsNotUtf8) {
  for (const char *bad :
       {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xc3", "\x80"})
    EXPECT_NE(refusal(readCharacters, bad).find("rule: utf-8"), std::string::npos) << bad;
  EXPECT_EQ(refusal(readCharacters, ""), "accepted:  ids 0 0; ");
}

} // namespace
} // namespace mxrt::test
