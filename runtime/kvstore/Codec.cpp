// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient codecs: fp16, bf16, 1-bit and 2-bit quantisation, and top-k sparsification.

#include "kvstore/Codec.h"

#include "base/Crc32.h"
#include "base/Halfs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace mxrt::kvstore {
namespace {

using Kind = Codec::Kind;

static_assert(std::endian::native == std::endian::little, "encodings are little endian");

constexpr uint32_t codecMagic = 0x3143584D; // "MXC1"

struct Header {
  uint32_t magic, kind, count;
  uint32_t setting;  // block, threshold or number of elements kept
  uint32_t checksum; // of the fields above and the payload
};
static_assert(sizeof(Header) == encodingHeaderBytes);

/// Calls each(offset, count) for the parts of a section, with offsets in it.
template <typename Each> void eachPart(const Section &section, const Each &each) {
  size_t at = 0, end = section.begin + section.count;
  for (size_t part : section.parts) {
    size_t first = std::max(at, section.begin), last = std::min(at + part, end);
    if (first < last)
      each(first - section.begin, last - first);
    at += part;
  }
}

uint32_t settingOf(const Codec &codec, const Section &section) {
  size_t kept = 0;
  switch (codec.kind) {
  case Kind::Bit1:
    return codec.block;
  case Kind::Bit2:
    return std::bit_cast<uint32_t>(codec.threshold);
  case Kind::TopK:
    eachPart(section, [&](size_t, size_t count) { kept += codec.kept(count); });
    return uint32_t(kept);
  default:
    return 0;
  }
}

uint32_t checksumOf(const Header &header, const char *payload, size_t bytes) {
  return crc32(crc32(0, &header, offsetof(Header, checksum)), payload, bytes);
}

/// Of one part.
size_t bytesOfPart(const Codec &codec, size_t count) {
  switch (codec.kind) {
  case Kind::None:
    return count * 4;
  case Kind::Fp16:
  case Kind::Bf16:
    return count * 2;
  case Kind::Bit1: // two values a block, then the signs
    return (count + codec.block - 1) / codec.block * 8 + (count + 7) / 8;
  case Kind::Bit2:
    return (count + 3) / 4;
  case Kind::TopK:
    return codec.kept(count) * 8;
  }
  return 0;
}

template <typename T> T load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T> void store(char *at, T value) { std::memcpy(at, &value, sizeof value); }

/// Rounds one element to 16 bits, and gives the residual.
template <bool isF16> uint16_t roundHalf(float v, float &residual) {
  uint16_t bits = isF16 ? roundToF16(v) : roundToBf16(v);
  constexpr uint16_t infinity = isF16 ? 0x7C00 : 0x7F80;
  if (!std::isfinite(v)) {
    residual = 0;
    return bits;
  }
  if ((bits & 0x7FFF) == infinity) // the largest finite number is just below
    --bits;
  residual = v - (isF16 ? f16ToFloat(bits) : bf16ToFloat(bits));
  return bits;
}

struct Sum {
  const float *gradient;
  const float *residual;
  float operator[](size_t i) const { return gradient[i] + residual[i]; }
};

template <bool isF16> void encodeHalfs(Sum v, size_t count, float *next, char *out) {
  for (size_t i = 0; i < count; ++i)
    store(out + 2 * i, roundHalf<isF16>(v[i], next[i]));
}

void encodeBit1(const Codec &codec, Sum v, size_t count, float *next, char *out) {
  size_t blocks = (count + codec.block - 1) / codec.block;
  char *signs = out + blocks * 8;
  std::memset(signs, 0, (count + 7) / 8);
  for (size_t block = 0; block < blocks; ++block) {
    size_t begin = block * codec.block, end = std::min<size_t>(begin + codec.block, count);
    double sums[2] = {0, 0};
    size_t counts[2] = {0, 0};
    for (size_t i = begin; i < end; ++i) {
      float value = v[i];
      bool negative = value < 0;
      sums[negative] += value;
      ++counts[negative];
    }
    float means[2];
    for (int side = 0; side < 2; ++side) {
      means[side] = counts[side] ? float(sums[side] / double(counts[side])) : 0.0f;
      store(out + block * 8 + size_t(side) * 4, means[side]);
    }
    for (size_t i = begin; i < end; ++i) {
      float value = v[i];
      bool negative = value < 0;
      signs[i / 8] = char(signs[i / 8] | negative << i % 8);
      next[i] = value - means[negative];
    }
  }
}

void encodeBit2(const Codec &codec, Sum v, size_t count, float *next, char *out) {
  std::memset(out, 0, (count + 3) / 4);
  float t = codec.threshold;
  for (size_t i = 0; i < count; ++i) {
    float value = v[i];
    unsigned code = value >= t ? 1 : value <= -t ? 2 : 0;
    out[i / 4] = char(out[i / 4] | code << 2 * (i % 4));
    next[i] = code == 1 ? value - t : code == 2 ? value + t : value;
  }
}

/// Key in the order of magnitudes, NaN last.
uint32_t magnitude(float value) { return std::bit_cast<uint32_t>(value) & 0x7FFFFFFF; }

/// The magnitude of the k-th largest, and how many of exactly that are among the
/// k. Radix selection by digits of 11, 10 and 10 bits, from the top.
void selectLargest(Sum v, size_t count, size_t k, uint32_t &limit, size_t &equal) {
  uint32_t prefix = 0, known = 0; // bits of the limit that are known
  constexpr int shifts[] = {20, 10, 0}, widths[] = {11, 10, 10};
  for (int digit = 0; digit < 3; ++digit) {
    uint32_t counts[2048] = {};
    uint32_t mask = (1u << widths[digit]) - 1;
    for (size_t i = 0; i < count; ++i) {
      uint32_t size = magnitude(v[i]);
      if ((size & known) == prefix)
        ++counts[size >> shifts[digit] & mask];
    }
    uint32_t at = mask;
    while (counts[at] < k)
      k -= counts[at--];
    prefix |= at << shifts[digit];
    known |= mask << shifts[digit];
  }
  limit = prefix;
  equal = k;
}

void encodeTopK(const Codec &codec, Sum v, size_t count, float *next, char *out) {
  size_t kept = codec.kept(count), equal = 0;
  uint32_t limit = 0;
  if (kept > 0)
    selectLargest(v, count, kept, limit, equal);
  char *values = out + kept * 4;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    float value = v[i];
    uint32_t size = magnitude(value);
    bool sent = kept > 0 && (size > limit || (size == limit && equal > 0));
    if (!sent) {
      next[i] = value;
      continue;
    }
    if (size == limit)
      --equal; // of equal ones the first
    store(out + at * 4, uint32_t(i));
    store(values + at * 4, value);
    ++at;
    next[i] = 0;
  }
}

} // namespace

const char *codecName(Kind kind) {
  constexpr const char *names[] = {"none", "fp16", "bf16", "bit1", "bit2", "topk"};
  return size_t(kind) < std::size(names) ? names[size_t(kind)] : "?";
}

Status Codec::check(const mxrt_allocator *alloc) const {
  if (kind > Kind::TopK)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "there is no codec %d", int(kind));
  if (kind == Kind::Bit2 && !(std::isfinite(threshold) && threshold > 0))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "the threshold of bit2 must be finite and above 0, not %g", double(threshold));
  if (kind == Kind::Bit1 && (block == 0 || block % 8 != 0))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "a block of bit1 must be a multiple of 8 elements, not %u", block);
  if (kind == Kind::TopK && !(ratio > 0 && ratio <= 1))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "the ratio of topk must be above 0 and at most 1, not %g", ratio);
  return success();
}

size_t Codec::kept(size_t count) const {
  if (count == 0)
    return 0;
  return std::clamp<size_t>(size_t(double(count) * ratio), 1, count);
}

size_t payloadBytes(const Codec &codec, const Section &section) {
  size_t bytes = 0;
  eachPart(section, [&](size_t, size_t count) { bytes += bytesOfPart(codec, count); });
  return bytes;
}

Result<size_t> encodedBytes(const mxrt_allocator *alloc, const Codec &codec,
                            const Section &section) {
  MXRT_CHECK(codec.check(alloc));
  if (section.count > UINT32_MAX)
    return error(alloc, MXRT_SIZE_OVERFLOW, noLocation,
                 "%zu elements are too many for one encoding: split the key", section.count);
  return sizeof(Header) + payloadBytes(codec, section);
}

static void encodePart(const Codec &codec, Sum v, size_t count, float *next, char *out) {
  switch (codec.kind) {
  case Kind::None:
    std::memcpy(out, v.gradient, count * 4);
    return;
  case Kind::Fp16:
    return encodeHalfs<true>(v, count, next, out);
  case Kind::Bf16:
    return encodeHalfs<false>(v, count, next, out);
  case Kind::Bit1:
    return encodeBit1(codec, v, count, next, out);
  case Kind::Bit2:
    return encodeBit2(codec, v, count, next, out);
  case Kind::TopK:
    return encodeTopK(codec, v, count, next, out);
  }
}

Status encode(const mxrt_allocator *alloc, const Codec &codec, const Section &section,
              const Feedback &values, std::span<char> out) {
  size_t count = section.count;
  size_t bytes = MXRT_TRY(encodedBytes(alloc, codec, section));
  bool feeds = codec.kind != Kind::None;
  if (out.size() != bytes || values.gradient.size() != count ||
      (feeds && (values.residual.size() != count || values.next.size() != count)))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "%zu elements have an encoding of %zu bytes, not %zu, and as many residuals",
                 count, bytes, out.size());
  const float *gradient = values.gradient.data(), *residual = values.residual.data();
  if (codec.kind == Kind::Bit1 || codec.kind == Kind::Bit2)
    for (size_t i = 0; i < count; ++i)
      if (float value = gradient[i] + residual[i]; !std::isfinite(value))
        return error(alloc, MXRT_NAN_FOUND, noLocation,
                     "element %zu of a gradient is %g, which %s cannot send", i, double(value),
                     codecName(codec.kind));
  char *payload = out.data() + sizeof(Header), *to = payload;
  eachPart(section, [&](size_t at, size_t part) {
    encodePart(codec, {gradient + at, feeds ? residual + at : nullptr}, part,
               feeds ? values.next.data() + at : nullptr, to);
    to += bytesOfPart(codec, part);
  });
  Header header = {codecMagic, uint32_t(codec.kind), uint32_t(count), settingOf(codec, section), 0};
  header.checksum = checksumOf(header, payload, bytes - sizeof header);
  std::memcpy(out.data(), &header, sizeof header);
  return success();
}

// -- decoding -----------------------------------------------------------------

namespace {

Status refused(const mxrt_allocator *alloc, const Codec &codec, const char *what) {
  return error(alloc, MXRT_KVSTORE, noLocation, "an encoded gradient (%s) is refused: %s",
               codecName(codec.kind), what);
}

/// What is wrong with the payload of a part of so many elements, or nullptr.
const char *problemOf(const Codec &codec, const char *payload, size_t count) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(payload[i]); };
  if (codec.kind == Kind::Bit1) {
    size_t blocks = (count + codec.block - 1) / codec.block;
    for (size_t i = 0; i < 2 * blocks; ++i)
      if (!std::isfinite(load<float>(payload + i * 4)))
        return "a value is not finite";
    if (count % 8 && byte(blocks * 8 + count / 8) >> count % 8)
      return "bits follow the last element";
  } else if (codec.kind == Kind::Bit2) {
    for (size_t i = 0; i < (count + 3) / 4; ++i)
      if (byte(i) & byte(i) >> 1 & 0x55)
        return "a code is 3";
    if (count % 4 && byte(count / 4) >> 2 * (count % 4))
      return "bits follow the last element";
  } else if (codec.kind == Kind::TopK) {
    int64_t last = -1;
    for (size_t i = 0; i < codec.kept(count); ++i) {
      int64_t index = load<uint32_t>(payload + i * 4);
      if (index <= last || index >= int64_t(count))
        return "indices do not increase, or are outside of the key";
      last = index;
    }
  }
  return nullptr;
}

void decodeBit1(const Codec &codec, const char *payload, size_t count, float *out) {
  const char *signs = payload + (count + codec.block - 1) / codec.block * 8;
  for (size_t i = 0; i < count; ++i) {
    size_t negative = static_cast<unsigned char>(signs[i / 8]) >> i % 8 & 1;
    out[i] = load<float>(payload + i / codec.block * 8 + negative * 4);
  }
}

void decodeBit2(const Codec &codec, const char *payload, size_t count, float *out) {
  const float values[] = {0, codec.threshold, -codec.threshold, 0};
  for (size_t i = 0; i < count; ++i)
    out[i] = values[static_cast<unsigned char>(payload[i / 4]) >> 2 * (i % 4) & 3];
}

void decodeTopK(const Codec &codec, const char *payload, size_t count, float *out) {
  size_t kept = codec.kept(count);
  std::fill(out, out + count, 0.0f);
  for (size_t i = 0; i < kept; ++i)
    out[load<uint32_t>(payload + i * 4)] = load<float>(payload + (kept + i) * 4);
}

void decodePart(const Codec &codec, const char *payload, size_t count, float *out) {
  switch (codec.kind) {
  case Kind::None:
    std::memcpy(out, payload, count * 4);
    return;
  case Kind::Fp16:
    for (size_t i = 0; i < count; ++i)
      out[i] = f16ToFloat(load<uint16_t>(payload + 2 * i));
    return;
  case Kind::Bf16:
    for (size_t i = 0; i < count; ++i)
      out[i] = bf16ToFloat(load<uint16_t>(payload + 2 * i));
    return;
  case Kind::Bit1:
    return decodeBit1(codec, payload, count, out);
  case Kind::Bit2:
    return decodeBit2(codec, payload, count, out);
  case Kind::TopK:
    return decodeTopK(codec, payload, count, out);
  }
}

} // namespace

Status decode(const mxrt_allocator *alloc, const Codec &codec, const Section &section,
              std::span<const char> bytes, std::span<float> out) {
  size_t wanted = MXRT_TRY(encodedBytes(alloc, codec, section));
  if (bytes.size() != wanted || out.size() != section.count)
    return refused(alloc, codec, "its length is wrong");
  auto header = load<Header>(bytes.data());
  const char *payload = bytes.data() + sizeof header;
  if (header.magic != codecMagic || header.kind != uint32_t(codec.kind))
    return refused(alloc, codec, "it has another codec");
  if (header.count != section.count || header.setting != settingOf(codec, section))
    return refused(alloc, codec, "it has other sizes or settings");
  if (header.checksum != checksumOf(header, payload, wanted - sizeof header))
    return refused(alloc, codec, "its checksum is wrong");
  const char *problem = nullptr, *from = payload;
  eachPart(section, [&](size_t, size_t count) {
    problem = problem ? problem : problemOf(codec, from, count);
    from += bytesOfPart(codec, count);
  });
  if (problem)
    return refused(alloc, codec, problem);
  from = payload;
  eachPart(section, [&](size_t at, size_t count) {
    decodePart(codec, from, count, out.data() + at);
    from += bytesOfPart(codec, count);
  });
  return success();
}

} // namespace mxrt::kvstore
