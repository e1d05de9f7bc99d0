// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writer of TensorBoard event files: CRC-32C, TFRecord framing, Protocol Buffers encoding.

#include "io/Events.h"
#include "io/Json.h"

#include <array>
#include <bit>

namespace mxrt::io {

namespace {

constexpr std::array<uint32_t, 256> crcTable = [] {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit)
      sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78u : 0u);
    table[i] = sum;
  }
  return table;
}();

/// The masked CRC of the TFRecord format (rotate and add): a plain CRC of data that contains CRCs
/// is weak.
uint32_t masked(uint32_t sum) { return std::rotr(sum, 15) + 0xa282ead8u; }

template <typename T> bool appendWord(Vec<char> &out, T word) {
  for (size_t i = 0; i < sizeof word; ++i)
    if (!out.push(static_cast<char>(word >> (8 * i))))
      return false;
  return true;
}

// -- Protocol Buffers: a key (field number and wire type), then the value.

enum Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

bool appendVarint(Vec<char> &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    if (!out.push(static_cast<char>(value | 0x80)))
      return false;
  return out.push(static_cast<char>(value));
}
bool appendKey(Vec<char> &out, uint32_t field, Wire wire) {
  return appendVarint(out, field << 3 | wire);
}
bool appendBytes(Vec<char> &out, uint32_t field, std::string_view bytes) {
  return appendKey(out, field, Bytes) && appendVarint(out, bytes.size()) && append(out, bytes);
}
bool appendDouble(Vec<char> &out, uint32_t field, double value) {
  return appendKey(out, field, Fixed64) && appendWord(out, std::bit_cast<uint64_t>(value));
}

// Fields of Event, Summary and Summary.Value.
constexpr uint32_t eventTime = 1, eventStep = 2, eventVersion = 3, eventSummary = 5,
                   summaryValue = 1, valueTag = 1, valueNumber = 2;

std::string_view viewOf(const Vec<char> &bytes) { return {bytes.data(), bytes.size()}; }

} // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t sum = ~0u;
  for (char byte : bytes)
    sum = sum >> 8 ^ crcTable[(sum ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~sum;
}

bool appendEventRecord(Vec<char> &file, std::string_view message) {
  Vec<char> length(file.allocator());
  return appendWord(length, uint64_t(message.size())) && append(file, viewOf(length)) &&
         appendWord(file, masked(crc32c(viewOf(length)))) && append(file, message) &&
         appendWord(file, masked(crc32c(message)));
}

bool appendVersionEvent(Vec<char> &file, double time) {
  Vec<char> event(file.allocator());
  return appendDouble(event, eventTime, time) &&
         appendBytes(event, eventVersion, "brain.Event:2") &&
         appendEventRecord(file, viewOf(event));
}

bool appendScalarEvent(Vec<char> &file, double time, int64_t step, std::string_view tag,
                       float number) {
  const mxrt_allocator *alloc = file.allocator();
  Vec<char> value(alloc), summary(alloc), event(alloc);
  return appendBytes(value, valueTag, tag) && appendKey(value, valueNumber, Fixed32) &&
         appendWord(value, std::bit_cast<uint32_t>(number)) &&
         appendBytes(summary, summaryValue, viewOf(value)) &&
         appendDouble(event, eventTime, time) && appendKey(event, eventStep, Varint) &&
         appendVarint(event, static_cast<uint64_t>(step)) &&
         appendBytes(event, eventSummary, viewOf(summary)) &&
         appendEventRecord(file, viewOf(event));
}

} // namespace mxrt::io
