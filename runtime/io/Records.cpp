// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RecordIO reader and writer, index files, and image record headers.

#include "io/Records.h"
#include "io/Json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace mxrt::io {

namespace {

/// The position of a part in its record.
enum Part : uint32_t { Whole = 0, First = 1, Middle = 2, Last = 3 };

uint32_t loadWord(const char *bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}
bool appendWord(Vec<char> &out, uint64_t value, int bytes = 4) {
  char word[8];
  for (int i = 0; i < bytes; ++i)
    word[i] = static_cast<char>(value >> (8 * i));
  return append(out, {word, static_cast<size_t>(bytes)});
}
int64_t padded(int64_t length) { return (length + 3) & ~int64_t(3); }

bool appendPart(Vec<char> &out, Part part, std::string_view bytes) {
  bool room = appendWord(out, recordMagic) &&
              appendWord(out, part << 29 | static_cast<uint32_t>(bytes.size())) &&
              append(out, bytes);
  for (auto at = static_cast<int64_t>(bytes.size()); room && at % 4 != 0; ++at)
    room = out.push(0);
  return room;
}

constexpr size_t imageHeaderBytes = 24;

} // namespace

Status appendRecord(Vec<char> &file, std::string_view payload) {
  size_t begin = 0;
  auto add = [&](Part part, size_t end) -> Status {
    if (end - begin >= maxRecordPart)
      return error(file.allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                   "a record of %zu bytes, at most %zu are possible", end - begin,
                   maxRecordPart - 1);
    if (!appendPart(file, part, payload.substr(begin, end - begin)))
      return outOfMemory(file.allocator());
    return success();
  };
  for (size_t at = 0; at + 4 <= payload.size(); at += 4) {
    if (loadWord(payload.data() + at) != recordMagic)
      continue;
    MXRT_CHECK(add(begin == 0 ? First : Middle, at));
    begin = at + 4;
  }
  return add(begin == 0 ? Whole : Last, payload.size());
}

Status RecordReader::header(int64_t where, uint32_t &part, int64_t &length) const {
  if (input.size - where < 8)
    return input.truncated(where, "the header of a record", 8, input.size - where);
  char bytes[8];
  MXRT_CHECK(input.read(where, bytes, 8));
  if (loadWord(bytes) != recordMagic)
    return input.malformed(
        where, "magic",
        "a record begins with 0a 23 d7 ce, this with %02x %02x "
        "%02x %02x",
        static_cast<unsigned char>(bytes[0]), static_cast<unsigned char>(bytes[1]),
        static_cast<unsigned char>(bytes[2]), static_cast<unsigned char>(bytes[3]));
  uint32_t word = loadWord(bytes + 4);
  part = word >> 29;
  length = word & (maxRecordPart - 1);
  if (part > Last)
    return input.malformed(where + 4, "part", "a record is of part 0 to 3, this of %u", part);
  if (padded(length) > input.size - where - 8)
    return input.truncated(where + 8, "a record", padded(length), input.size - where - 8);
  return success();
}

Status RecordReader::next(Vec<char> &payload) {
  payload.clear();
  for (bool first = true;; first = false) {
    uint32_t part = 0;
    int64_t length = 0;
    MXRT_CHECK(header(at, part, length));
    bool begins = part == Whole || part == First;
    if (begins != first)
      return input.malformed(at + 4, "part",
                             first ? "a record begins with part 0 or 1, this is part %u"
                                   : "parts 2 and 3 follow part 1, this is part %u",
                             part);
    // The magic between two parts is part of the payload.
    if (!first && !appendWord(payload, recordMagic))
      return outOfMemory(input.alloc);
    size_t used = payload.size();
    if (!payload.resize(used + static_cast<size_t>(length)))
      return outOfMemory(input.alloc);
    MXRT_CHECK(input.read(at + 8, payload.data() + used, static_cast<size_t>(length)));
    char rest[4] = {};
    int64_t padding = padded(length) - length;
    MXRT_CHECK(input.read(at + 8 + length, rest, static_cast<size_t>(padding)));
    for (int64_t i = 0; i < padding; ++i)
      if (rest[i] != 0)
        return input.malformed(at + 8 + length + i, "padding",
                               "a record is filled up with zeros, this is %02x",
                               static_cast<unsigned char>(rest[i]));
    at += 8 + padded(length);
    if (part == Whole || part == Last)
      return success();
  }
}

Status RecordReader::seek(int64_t offset) {
  for (at = padded(std::max<int64_t>(offset, 0)); input.size - at >= 8; at += 4) {
    char bytes[8];
    MXRT_CHECK(input.read(at, bytes, 8));
    uint32_t part = loadWord(bytes + 4) >> 29;
    if (loadWord(bytes) == recordMagic && (part == Whole || part == First))
      return success();
  }
  at = input.size;
  return success();
}

// -- the index ----------------------------------------------------------------

Status readRecordIndex(const Input &input, std::string_view text, Vec<RecordPosition> &positions) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    RecordPosition position = {};
    const char *first = line.data(), *last = first + line.size();
    auto key = std::from_chars(first, last, position.key);
    bool fine = key.ec == std::errc() && key.ptr != last && *key.ptr == '\t';
    if (fine) {
      auto offset = std::from_chars(key.ptr + 1, last, position.offset);
      fine = offset.ec == std::errc() && offset.ptr == last && position.offset >= 0;
    }
    if (!fine)
      return input.malformed(static_cast<int64_t>(begin), "line",
                             "line %zu of an index is `key<TAB>offset`, this is `%.*s`",
                             positions.size() + 1, int(std::min<size_t>(line.size(), 60)),
                             line.data());
    if (!positions.push(position))
      return outOfMemory(input.alloc);
    begin = end + 1;
  }
  return success();
}

Status makeRecordIndex(Input &input, Vec<RecordPosition> &positions) {
  RecordReader reader(input);
  Vec<char> payload(input.alloc);
  while (!reader.atEnd()) {
    RecordPosition position = {static_cast<int64_t>(positions.size()), reader.offset()};
    MXRT_CHECK(reader.next(payload));
    if (!positions.push(position))
      return outOfMemory(input.alloc);
  }
  return success();
}

// -- images -------------------------------------------------------------------

float ImageRecord::label(size_t i) const {
  return std::bit_cast<float>(loadWord(labels.data() + 4 * i));
}

Status readImageRecord(const Input &input, int64_t offset, std::string_view payload,
                       ImageRecord &record) {
  if (payload.size() < imageHeaderBytes)
    return input.malformed(offset + 8, "picture",
                           "the header of a picture has 24 bytes, the record has %zu",
                           payload.size());
  uint32_t flag = loadWord(payload.data());
  auto wide = [&](size_t at) {
    return loadWord(payload.data() + at) | uint64_t(loadWord(payload.data() + at + 4)) << 32;
  };
  record.id = wide(8);
  record.id2 = wide(16);
  payload.remove_prefix(imageHeaderBytes);
  if (flag == 0) { // one label, in the header itself
    record.labels = {payload.data() - imageHeaderBytes + 4, 4};
  } else {
    if (flag > payload.size() / 4)
      return input.malformed(offset + 8, "picture", "%u labels do not fit in %zu bytes", flag,
                             payload.size());
    record.labels = {payload.data(), size_t(flag) * 4};
    payload.remove_prefix(size_t(flag) * 4);
  }
  record.image = payload;
  return success();
}

bool appendImageRecord(Vec<char> &payload, std::span<const float> labels, uint64_t id,
                       std::string_view image) {
  bool single = labels.size() == 1;
  bool room = appendWord(payload, single ? 0 : labels.size()) &&
              appendWord(payload, single ? std::bit_cast<uint32_t>(labels[0]) : 0) &&
              appendWord(payload, id, 8) && appendWord(payload, 0, 8);
  for (size_t i = 0; room && !single && i < labels.size(); ++i)
    room = appendWord(payload, std::bit_cast<uint32_t>(labels[i]));
  return room && append(payload, image);
}

} // namespace mxrt::io
