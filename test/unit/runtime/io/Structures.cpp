// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Structures.h"
#include "Bytes.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace mxrt::test {
namespace {

/// What is left of a file from `at` on, at most `count` bytes; `at` is moved behind it.
std::string next(const std::string &file, size_t &at, size_t count) {
  std::string out = at < file.size() ? file.substr(at, count) : "";
  at += out.size();
  return out;
}

uint64_t numberAt(const std::string &bytes, size_t at, int width, bool bigEndian) {
  uint64_t value = 0;
  for (int i = 0; i < width; ++i) {
    size_t location = at + size_t(bigEndian ? i : width - 1 - i);
    value = value << 8 | (location < bytes.size() ? uint8_t(bytes[location]) : 0);
  }
  return value;
}

std::string sized(std::string text, size_t size) {
  text.resize(size);
  return text;
}

/// Words, numbers, strings in quotes, and each other character for itself.
Pieces tokens(const std::string &text) {
  Pieces out;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at++;
    auto isWord = [&](char c) {
      return std::isalnum(uint8_t(c)) || c == '.' || c == '_' || c == '-' || c == '+';
    };
    if (isWord(text[begin]))
      while (at < text.size() && isWord(text[at]))
        ++at;
    else if (text[begin] == '"' || text[begin] == '\'')
      while (at < text.size() && text[at++] != text[begin]) {
      }
    out.push_back(text.substr(begin, at - begin));
  }
  return out;
}
std::string together(const Pieces &pieces, size_t begin = 0, size_t end = SIZE_MAX) {
  std::string out;
  for (size_t i = begin; i < std::min(end, pieces.size()); ++i)
    out += pieces[i];
  return out;
}
std::string joinTokens(const Pieces &pieces) { return together(pieces); }

// -- idx: the type, the sizes, the elements -----------------------------------

size_t idxWidth(uint8_t type) {
  return type == 0x0b ? 2 : type == 0x0c || type == 0x0d ? 4 : type == 0x0e ? 8 : 1;
}
Pieces splitIdx(const std::string &file) {
  size_t at = 2;
  Pieces out = {next(file, at, 1)};
  size_t rank = numberAt(file, at++, 1, true);
  for (size_t i = 0; i < rank && at < file.size(); ++i)
    out.push_back(next(file, at, 4));
  out.push_back(next(file, at, SIZE_MAX));
  return out;
}
/// As many elements as the sizes say, where these are small.
std::string joinIdx(const Pieces &pieces) {
  if (pieces.size() < 2)
    return together(pieces);
  std::string type = sized(pieces[0], 1), sizes;
  uint64_t elements = 1;
  for (size_t i = 1; i + 1 < pieces.size(); ++i) {
    sizes += sized(pieces[i], 4);
    elements = std::min<uint64_t>(elements * numberAt(sizes, sizes.size() - 4, 4, true), 1 << 20);
  }
  std::string data = pieces.back();
  if (uint64_t bytes = elements * idxWidth(uint8_t(type[0])); bytes <= 4096)
    data.resize(bytes);
  return std::string(2, 0) + type + char(pieces.size() - 2) + sizes + data;
}

Pieces splitIdxGz(const std::string &file) { return splitIdx(unpacked(file, 15 + 16)); }
std::string joinIdxGz(const Pieces &pieces) { return packed(joinIdx(pieces), 15 + 16); }

// -- npy: the version, the words of the dictionary, the elements ---------------

Pieces splitNpy(const std::string &file) {
  size_t at = 6;
  std::string version = next(file, at, 2);
  int width = !version.empty() && version[0] > 1 ? 4 : 2;
  size_t length = numberAt(file, at, width, false);
  at += size_t(width);
  std::string header = next(file, at, length);
  while (!header.empty() && std::isspace(uint8_t(header.back())))
    header.pop_back();
  Pieces out = {version};
  for (std::string &token : tokens(header))
    out.push_back(std::move(token));
  out.push_back(next(file, at, SIZE_MAX));
  return out;
}
std::string joinNpy(const Pieces &pieces) {
  if (pieces.size() < 2)
    return together(pieces);
  std::string version = sized(pieces[0], 2), header = together(pieces, 1, pieces.size() - 1);
  int width = version[0] > 1 ? 4 : 2;
  while ((6 + 2 + size_t(width) + header.size() + 1) % 64 != 0)
    header += ' ';
  return "\x93NUMPY" + version + little(header.size() + 1, width) + header + "\n" + pieces.back();
}

// -- npz: name, coding and bytes of each file ----------------------------------

Pieces splitNpz(const std::string &file) {
  Pieces out;
  for (size_t at = 0; at + 30 <= file.size() && file.compare(at, 4, "PK\3\4") == 0;) {
    uint64_t method = numberAt(file, at + 8, 2, false),
             packedSize = numberAt(file, at + 18, 4, false);
    size_t nameSize = numberAt(file, at + 26, 2, false), extra = numberAt(file, at + 28, 2, false);
    at += 30;
    out.push_back(next(file, at, nameSize));
    at += extra;
    std::string data = next(file, at, packedSize);
    out.push_back(std::string(1, char(method)));
    out.push_back(method == 8 ? unpacked(data, -15) : data);
  }
  return out;
}
std::string joinNpz(const Pieces &pieces) {
  std::string out, directory;
  size_t count = pieces.size() / 3;
  for (size_t i = 0; i < count; ++i) {
    const std::string &name = pieces[3 * i], &coding = pieces[3 * i + 1], &raw = pieces[3 * i + 2];
    int method = coding.empty() ? 0 : uint8_t(coding[0]);
    out += zipEntry(name, raw, method == 8 ? packed(raw, -15) : raw, method, directory, out.size());
  }
  return out + zipEnd(directory, count, out.size());
}

// -- safetensors: name, type, sizes and elements of each tensor -----------------

size_t safeWidth(const std::string &type) {
  return type.find("64") != std::string::npos   ? 8
         : type.find("32") != std::string::npos ? 4
         : type.find("16") != std::string::npos ? 2
                                                : 1;
}
Pieces splitTensors(const std::string &file) {
  size_t at = 8;
  Pieces words = tokens(next(file, at, numberAt(file, 0, 8, false))), out;
  for (size_t i = 0; i + 4 < words.size(); ++i) {
    if (words[i] != "{" || words[i + 1] != "\"dtype\"" || i < 2)
      continue;
    std::string name = words[i - 2], type = words[i + 3], sizes;
    for (i += 5; i < words.size() && words[i] != "]"; ++i)
      if (std::isdigit(uint8_t(words[i][0])))
        sizes += (sizes.empty() ? "" : ",") + words[i];
    uint64_t ends[2] = {};
    for (size_t n = 0; i < words.size() && words[i] != "}" && n < 2; ++i)
      if (std::isdigit(uint8_t(words[i][0])))
        ends[n++] = std::strtoull(words[i].c_str(), nullptr, 10);
    size_t begin = at + std::min<uint64_t>(ends[0], file.size());
    out.insert(out.end(),
               {name, type, sizes, next(file, begin, ends[1] - std::min(ends[0], ends[1]))});
  }
  return out;
}
std::string joinTensors(const Pieces &pieces) {
  std::string header = "{", data;
  for (size_t i = 0; i + 3 < pieces.size(); i += 4) {
    std::string elements = pieces[i + 3];
    uint64_t bytes = safeWidth(pieces[i + 1]);
    for (const std::string &size : tokens(pieces[i + 2]))
      if (size != ",")
        bytes = std::min<uint64_t>(bytes * std::strtoull(size.c_str(), nullptr, 10), 1 << 20);
    if (bytes <= 4096)
      elements.resize(bytes);
    header += (i ? "," : "") + pieces[i] + ":{\"dtype\":" + pieces[i + 1] + ",\"shape\":[" +
              pieces[i + 2] + "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + elements.size()) + "]}";
    data += elements;
  }
  header += "}";
  return little(header.size(), 8) + header + data;
}

// -- checkpoints: the words of the header, the elements; the checksum is right ----

Pieces splitCheckpoint(const std::string &file) {
  size_t at = 8;
  Pieces out = tokens(next(file, at, numberAt(file, 0, 8, false)));
  out.push_back(next(file, at, SIZE_MAX));
  return out;
}
std::string joinCheckpoint(const Pieces &pieces) {
  size_t last = pieces.empty() ? 0 : pieces.size() - 1;
  std::string header = together(pieces, 0, last);
  return withChecksum(little(header.size(), 8) + header + together(pieces, last));
}

// -- RecordIO: which part and what bytes, one behind the other ------------------

Pieces splitRecords(const std::string &file) {
  Pieces out;
  for (size_t at = 0; at + 8 <= file.size();) {
    uint64_t word = numberAt(file, at + 4, 4, false);
    at += 8;
    out.push_back(std::string(1, char(word >> 29)));
    out.push_back(next(file, at, word & 0x1fffffff));
    at = (at + 3) / 4 * 4;
  }
  return out;
}
std::string joinRecords(const Pieces &pieces) {
  std::string out;
  for (size_t i = 0; i + 1 < pieces.size(); i += 2)
    out += recordPart(pieces[i].empty() ? 0 : uint8_t(pieces[i][0]) & 7, pieces[i + 1]);
  return out;
}

// -- JPEG: mark and bytes of each segment; the bytes of pixels are one ----------

Pieces splitJpeg(const std::string &file) {
  Pieces out;
  for (size_t at = 2; at + 4 <= file.size() && uint8_t(file[at]) == 0xff;) {
    std::string mark = file.substr(at + 1, 1);
    size_t length = numberAt(file, at + 2, 2, true);
    at += 4;
    out.push_back(mark);
    out.push_back(next(file, at, length < 2 ? 0 : length - 2));
    if (uint8_t(mark[0]) != 0xda)
      continue;
    size_t end = at; // of the pixels: the next mark that is not stuffing or a restart
    while (end + 1 < file.size() && !(uint8_t(file[end]) == 0xff && file[end + 1] != 0 &&
                                      (uint8_t(file[end + 1]) & 0xf8) != 0xd0))
      ++end;
    out.push_back("");
    out.push_back(next(file, at, end - at));
  }
  return out;
}
std::string joinJpeg(const Pieces &pieces) {
  std::string out = "\xff\xd8";
  for (size_t i = 0; i + 1 < pieces.size(); i += 2) {
    if (!pieces[i].empty())
      out += "\xff" + pieces[i].substr(0, 1) + big(pieces[i + 1].size() + 2, 2);
    out += pieces[i + 1];
  }
  return out + "\xff\xd9";
}

// -- PNG: name and bytes of each chunk; those of pixels unpacked ----------------

Pieces splitPng(const std::string &file) {
  Pieces out;
  for (size_t at = 8; at + 8 <= file.size(); at += 4) {
    size_t length = numberAt(file, at, 4, true);
    at += 4;
    out.push_back(next(file, at, 4));
    std::string data = next(file, at, length);
    out.push_back(out.back() == "IDAT" ? unpacked(data, 15) : data);
  }
  return out;
}
std::string joinPng(const Pieces &pieces) {
  std::string out = "\x89PNG\r\n\x1a\n";
  for (size_t i = 0; i + 1 < pieces.size(); i += 2) {
    std::string name = sized(pieces[i], 4);
    out += pngChunk(name, name == "IDAT" ? packed(pieces[i + 1], 15) : pieces[i + 1]);
  }
  return out;
}

// -- pictures in records: the words of the header, the labels, the picture ------

Pieces splitImageRecords(const std::string &file) {
  Pieces out, parts = splitRecords(file);
  for (size_t i = 1; i < parts.size(); i += 2) {
    size_t at = 0, labels = numberAt(parts[i], 0, 4, false);
    out.push_back(next(parts[i], at, 4));
    out.push_back(next(parts[i], at, 20));
    out.push_back(next(parts[i], at, labels > 64 ? 0 : 4 * labels));
    out.push_back(next(parts[i], at, SIZE_MAX));
  }
  return out;
}
std::string joinImageRecords(const Pieces &pieces) {
  std::string out;
  for (size_t i = 0; i + 3 < pieces.size(); i += 4)
    out += recordPart(0, together(pieces, i, i + 4));
  return out;
}

// -- merges: their number, pairs of tokens, tokens ------------------------------

Pieces splitMerges(const std::string &file) {
  size_t at = 0;
  Pieces out = {next(file, at, 1)};
  while (at < file.size())
    out.push_back(next(file, at, 8));
  return out;
}
std::string joinMerges(const Pieces &pieces) {
  return pieces.empty() ? "" : sized(pieces[0], 1) + together(pieces, 1);
}

const std::vector<std::string> sizes32 = {big(0, 4), big(1, 4), big(0x7fffffff, 4),
                                          big(0xffffffff, 4), big(0x80000000, 4)};
const std::vector<std::string> jsonWords = {"{",
                                            "}",
                                            "[",
                                            "]",
                                            ":",
                                            ",",
                                            "0",
                                            "1",
                                            "-1",
                                            "1e3",
                                            "null",
                                            "true",
                                            "\"F32\"",
                                            "\"I4\"",
                                            "\"U16\"",
                                            "\"BOOL\"",
                                            "\"a\"",
                                            "\"\\u0000\"",
                                            "\"\\ud800\"",
                                            "9223372036854775807",
                                            "18446744073709551616",
                                            "4294967296",
                                            "\"dtype\"",
                                            "\"shape\"",
                                            "\"data_offsets\"",
                                            "\"__metadata__\"",
                                            "\"\\\""};
const std::vector<std::string> npyWords = {"{",
                                           "}",
                                           "(",
                                           ")",
                                           ",",
                                           ":",
                                           "0",
                                           "1",
                                           "-1",
                                           "True",
                                           "None",
                                           "'<f4'",
                                           "'>f8'",
                                           "'|b1'",
                                           "'<i8'",
                                           "'|O'",
                                           "'<U9'",
                                           "'descr'",
                                           "'shape'",
                                           "'fortran_order'",
                                           "9223372036854775807",
                                           "[('a', '<f4')]"};

const Structure structures[] = {
    {"idx", splitIdx, joinIdx, sizes32},
    {"idx_floats", splitIdx, joinIdx, sizes32},
    {"idx_gz", splitIdxGz, joinIdxGz, sizes32},
    {"npy", splitNpy, joinNpy, npyWords},
    {"npz", splitNpz, joinNpz, {"a.npy", "b.npy", "../a.npy", "\x08", std::string(1, 0), "\x63"}},
    {"csv",
     tokens,
     joinTokens,
     {",", "\n", "\r\n", "\"", "\"1\"", "1e999", "-0", "nan", "inf", " ", "x"}},
    {"text",
     tokens,
     joinTokens,
     {"\xc3\xa4", "\xf0\x9f\x99\x82", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\n", ""}},
    {"safetensors",
     splitTensors,
     joinTensors,
     {"\"F32\"", "\"I64\"", "\"BOOL\"", "\"F8_E4M3\"", "\"F4\"", "\"I4\"", "\"a\"", "\"\\ud800\"",
      "0", "1,1", "3,0,2", "4294967296,4294967296", "-1"}},
    {"checkpoint", splitCheckpoint, joinCheckpoint, jsonWords},
    {"records",
     splitRecords,
     joinRecords,
     {little(0xced7230a, 4), "\1", "\2", "\3", std::string(1, 0)}},
    {"record_index", tokens, joinTokens, {"\t", "\n", "-1", "0", "9223372036854775808", " "}},
    {"image_records",
     splitImageRecords,
     joinImageRecords,
     {little(0, 4), little(1, 4), little(0xffffffff, 4)}},
    {"jpeg",
     splitJpeg,
     joinJpeg,
     {"\xc2", "\xc4", "\xdb", "\xdd", "\xda", "\xe1", std::string(4, 0)}},
    {"png",
     splitPng,
     joinPng,
     {"IHDR", "IDAT", "PLTE", "tRNS", "gAMA", "IEND", big(0x7fffffff, 4)}},
    {"bpe", tokens, joinTokens, {" ", "aa", "abab", "12", "\n", "\xc3\xa4"}},
    {"merges",
     splitMerges,
     joinMerges,
     {little(97, 4) + little(98, 4), little(256, 4) + little(256, 4), little(0xffffffff, 8)}},
};

} // namespace

const Structure *structureOf(const char *format) {
  for (const Structure &structure : structures)
    if (std::strcmp(structure.format, format) == 0)
      return &structure;
  return nullptr;
}

/// A part that is a file itself is changed as such.
static void changePart(std::string &part, std::minstd_rand &random,
                       const ChangeBytes &changeBytes) {
  const std::pair<const char *, const char *> beginnings[] = {
      {"\x93NUMPY", "npy"}, {"\xff\xd8\xff", "jpeg"}, {"\x89PNG", "png"}};
  for (auto &[begin, format] : beginnings)
    if (part.compare(0, std::strlen(begin), begin) == 0 && random() % 4) {
      part = mutate(*structureOf(format), part, random, changeBytes);
      return;
    }
  changeBytes(part);
}

std::string mutate(const Structure &structure, const std::string &file, std::minstd_rand &random,
                   const ChangeBytes &changeBytes) {
  auto below = [&](size_t count) { return count ? random() % count : 0; };
  std::string out = file;
  if (below(8) == 0) {
    changeBytes(out); // as it is, also the lengths and sums
    return out;
  }
  Pieces pieces = structure.split(file);
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    size_t location = below(pieces.size());
    if (pieces.empty()) {
      pieces.push_back(structure.words[below(structure.words.size())]);
      continue;
    }
    switch (below(6)) {
    case 0:
      pieces.erase(pieces.begin() + long(location));
      break;
    case 1:
      pieces.insert(pieces.begin() + long(location), std::string(pieces[below(pieces.size())]));
      break;
    case 2:
      std::swap(pieces[location], pieces[below(pieces.size())]);
      break;
    case 3:
      pieces[location] = structure.words[below(structure.words.size())];
      break;
    case 4:
      pieces.insert(pieces.begin() + long(location), structure.words[below(structure.words.size())]);
      break;
    default:
      changePart(pieces[location], random, changeBytes);
    }
  }
  return structure.join(pieces);
}

void changeSomeBytes(std::string &text, std::minstd_rand &random) {
  auto below = [&](size_t count) { return count ? random() % count : 0; };
  for (size_t changes = 1 + below(3); changes > 0; --changes) {
    size_t location = below(text.size());
    if (text.empty() || below(4) == 0)
      text.insert(text.begin() + long(location), char(random()));
    else if (below(4) == 0)
      text.erase(location, 1 + below(4));
    else if (below(2) == 0)
      text[location] = char(text[location] ^ (1 << below(8)));
    else
      text[location] = "\0\1\x7f\x80\xff"[below(5)];
  }
}

} // namespace mxrt::test
