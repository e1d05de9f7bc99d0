// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small file of each format, made by hand: what they hold is written in the
// standards, not by our own writers.

#include "Bytes.h"
#include "Formats.h"

namespace mxrt::test {
namespace {

std::string idx() {
  std::string out = std::string("\0\0\x08\3", 4) + big(2, 4) + big(2, 4) + big(3, 4);
  for (int i = 0; i < 12; ++i)
    out += static_cast<char>(i * 21);
  return out;
}
std::string idxFloats() {
  return std::string("\0\0\x0d\1", 4) + big(2, 4) + big(0x3f800000, 4) + big(0xc0490fdb, 4);
}
std::string idxGz() { return packed(idx(), 15 + 16); }

std::string npyOf(const std::string &dictionary, const std::string &data) {
  std::string header = dictionary;
  while ((10 + header.size() + 1) % 64 != 0)
    header += ' ';
  header += '\n';
  return "\x93NUMPY\1" + std::string(1, 0) + little(header.size(), 2) + header + data;
}
std::string npy() {
  return npyOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
               little(0x3f800000, 4) + little(0x40000000, 4) + little(0x40400000, 4) +
                   std::string(12, 7));
}

std::string npz() {
  std::string second = npyOf("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", "abcd");
  std::string directory, out;
  out += zipEntry("a.npy", npy(), npy(), 0, directory, out.size());
  out += zipEntry("b.npy", second, packed(second, -15), 8, directory, out.size());
  return out + zipEnd(directory, 2, out.size());
}

std::string csv() { return "x,y\n1,2.5\n-3e2,\"4\"\r\nnan, 6 "; }
std::string text() { return "hello, w\xc3\xb6rld \xf0\x9f\x99\x82\n"; }

std::string safetensors() {
  std::string header = "{\"__metadata__\":{\"made\":\"by hand\"},"
                       "\"net.w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                       "\"n\\u00e4me\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[16,24]},"
                       "\"empty\":{\"dtype\":\"BOOL\",\"shape\":[0,3],\"data_offsets\":[24,24]}}  ";
  return little(header.size(), 8) + header + std::string(16, 1) + little(42, 8);
}

/// As we write them: aligned, with a checksum.
std::string checkpoint() {
  std::string header = "{\"__metadata__\":{\"format\":\"mx\",\"mx.crc32\":\"00000000\"},"
                       "\"net.w\":{\"dtype\":\"F32\",\"shape\":[4,4],\"data_offsets\":[0,64]},"
                       "\"rng\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[64,80]},"
                       "\"flag\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[80,81]}}";
  while ((8 + header.size()) % 64 != 0)
    header += ' ';
  return withChecksum(little(header.size(), 8) + header + std::string(64, 3) + little(5, 8) +
                      little(7, 8) + "\1");
}

/// Two records, the second in three parts, and a picture with two labels.
std::string records() {
  return recordPart(0, "abcde") + recordPart(1, "") + recordPart(2, "1234") + recordPart(3, "xy") +
         recordPart(0, little(2, 4) + little(0, 4) + little(9, 8) + little(0, 8) +
                           little(0x3f800000, 4) + little(0x40000000, 4) + "image");
}
std::string recordIndex() { return "0\t0\n1\t16\n-7\t48\n"; }

/// 5 x 4 pixels, by libjpeg at quality 30.
std::string jpeg() {
  const char digits[] =
      "ffd8ffdb0043001b12141714111b1716171e1c1b2028422b28252528513a3d3042605565645f555d5b6a7899"
      "816a7190735b5d85b586909ea3abadab6780bcc9baa6c799a8aba4ffdb0043011c1e1e2823284e2b2b4ea46e"
      "5d6ea4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4"
      "a4a4a4a4a4a4a4a4ffc00011080004000503012200021101031101ffc4001500010100000000000000000000"
      "000000000003ffc4001d100002020105000000000000000000000001020003041113223191ffc40014010100"
      "000000000000000000000000000001ffc4001811010003010000000000000000000000000100022112ffda00"
      "0c03010002110311003f009e4b3e3ed5343b54a2b0dc4e84924f7e44446ba43ab1833fffd9";
  std::string out;
  auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (size_t i = 0; i + 1 < sizeof digits; i += 2)
    out += static_cast<char>(nibble(digits[i]) << 4 | nibble(digits[i + 1]));
  return out;
}

/// 3 x 2 pixels of red, green and blue bytes.
std::string png() {
  std::string rows;
  for (int y = 0; y < 2; ++y) {
    rows += '\0';
    for (int i = 0; i < 9; ++i)
      rows += static_cast<char>(i * 20 + y * 90);
  }
  return "\x89PNG\r\n\x1a\n" +
         pngChunk("IHDR", big(3, 4) + big(2, 4) + std::string("\x08\x02\0\0\0", 5)) +
         pngChunk("IDAT", packed(rows, 15)) + pngChunk("IEND", "");
}

/// Both pictures, with one label and with two.
std::string imageRecords() {
  std::string ids = little(9, 8) + little(0, 8);
  return recordPart(0, little(0, 4) + little(0x3f800000, 4) + ids + jpeg()) +
         recordPart(0, little(2, 4) + little(0, 4) + ids + little(0x3f800000, 8) + png());
}

/// Two merges, then the tokens a, ab, abc.
std::string merges() {
  return "\2" + little('a', 4) + little('b', 4) + little(256, 4) + little('c', 4) + little('a', 4) +
         little(256, 4) + little(257, 4);
}

} // namespace

const Format formats[] = {{"idx", readIdx, idx, true},
                          {"idx_floats", readIdx, idxFloats, true},
                          {"idx_gz", readIdx, idxGz, true},
                          {"npy", readNpy, npy, true},
                          {"npz", readNpz, npz, true},
                          {"csv", readCsv, csv, false},
                          {"text", readCharacters, text, false},
                          {"safetensors", readSafetensors, safetensors, true},
                          {"checkpoint", readSafetensors, checkpoint, true},
                          {"records", readRecords, records, false},
                          {"record_index", readIndex, recordIndex, false},
                          {"image_records", readImageRecords, imageRecords, false},
                          {"jpeg", readPicture, jpeg, false},
                          {"png", readPicture, png, false},
                          {"bpe", readBpe, text, false},
                          {"merges", readMerges, merges, false}};
const size_t formatCount = sizeof formats / sizeof formats[0];

} // namespace mxrt::test
