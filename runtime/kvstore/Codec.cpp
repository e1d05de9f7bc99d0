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
static_assert(sizeof(Header) == 20);

uint32_t settingOf(const Codec &codec, size_t count) {
  switch (codec.kind) {
  case Kind::Bit1:
    return codec.block;
  case Kind::Bit2:
    return std::bit_cast<uint32_t>(codec.threshold);
  case Kind::TopK:
    return uint32_t(codec.kept(count));
  default:
    return 0;
  }
}

uint32_t checksumOf(const Header &header, const char *payload, size_t bytes) {
  return crc32(crc32(0, &header, offsetof(Header, checksum)), payload, bytes);
}

/// Without the header.
size_t payloadBytes(const Codec &codec, size_t count) {
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

void encodeBit1(const Codec &codec, Sum v, size_t count, float *residual, char *out) {
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
      residual[i] = value - means[negative];
    }
  }
}

void encodeBit2(const Codec &codec, Sum v, size_t count, float *residual, char *out) {
  std::memset(out, 0, (count + 3) / 4);
  float t = codec.threshold;
  for (size_t i = 0; i < count; ++i) {
    float value = v[i];
    unsigned code = value >= t ? 1 : value <= -t ? 2 : 0;
    out[i / 4] = char(out[i / 4] | code << 2 * (i % 4));
    residual[i] = code == 1 ? value - t : code == 2 ? value + t : value;
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

void encodeTopK(const Codec &codec, Sum v, size_t count, float *residual, char *out) {
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
      residual[i] = value;
      continue;
    }
    if (size == limit)
      --equal; // of equal ones the first
    store(out + at * 4, uint32_t(i));
    store(values + at * 4, value);
    ++at;
    residual[i] = 0;
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

Result<size_t> encodedBytes(const mxrt_allocator *alloc, const Codec &codec, size_t count) {
  MXRT_CHECK(codec.check(alloc));
  if (count > UINT32_MAX)
    return error(alloc, MXRT_SIZE_OVERFLOW, noLocation,
                 "%zu elements are too many for one encoding: split the key", count);
  return sizeof(Header) + payloadBytes(codec, count);
}

Status encode(const mxrt_allocator *alloc, const Codec &codec, std::span<const float> gradient,
              std::span<float> residual, std::span<char> out) {
  size_t count = gradient.size();
  size_t bytes = MXRT_TRY(encodedBytes(alloc, codec, count));
  bool none = codec.kind == Kind::None;
  if (out.size() != bytes || (residual.size() != count && !(none && residual.empty())))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "%zu elements have an encoding of %zu bytes, not %zu, and as many residuals",
                 count, bytes, out.size());
  Sum v = {gradient.data(), residual.data()};
  if (codec.kind == Kind::Bit1 || codec.kind == Kind::Bit2)
    for (size_t i = 0; i < count; ++i)
      if (!std::isfinite(v[i]))
        return error(alloc, MXRT_NAN_FOUND, noLocation,
                     "element %zu of a gradient is %g, which %s cannot send", i, double(v[i]),
                     codecName(codec.kind));
  char *payload = out.data() + sizeof(Header);
  switch (codec.kind) {
  case Kind::None:
    if (count)
      std::memcpy(payload, gradient.data(), count * 4);
    break;
  case Kind::Fp16:
    for (size_t i = 0; i < count; ++i)
      store(payload + 2 * i, roundHalf<true>(v[i], residual[i]));
    break;
  case Kind::Bf16:
    for (size_t i = 0; i < count; ++i)
      store(payload + 2 * i, roundHalf<false>(v[i], residual[i]));
    break;
  case Kind::Bit1:
    encodeBit1(codec, v, count, residual.data(), payload);
    break;
  case Kind::Bit2:
    encodeBit2(codec, v, count, residual.data(), payload);
    break;
  case Kind::TopK:
    encodeTopK(codec, v, count, residual.data(), payload);
    break;
  }
  Header header = {codecMagic, uint32_t(codec.kind), uint32_t(count), settingOf(codec, count), 0};
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

Status decodeBit1(const mxrt_allocator *alloc, const Codec &codec, const char *payload,
                  std::span<float> out) {
  size_t count = out.size(), blocks = (count + codec.block - 1) / codec.block;
  const char *signs = payload + blocks * 8;
  for (size_t i = 0; i < 2 * blocks; ++i)
    if (!std::isfinite(load<float>(payload + i * 4)))
      return refused(alloc, codec, "a value is not finite");
  if (count % 8 && static_cast<unsigned char>(signs[count / 8]) >> count % 8)
    return refused(alloc, codec, "bits follow the last element");
  for (size_t i = 0; i < count; ++i) {
    size_t negative = static_cast<unsigned char>(signs[i / 8]) >> i % 8 & 1;
    out[i] = load<float>(payload + i / codec.block * 8 + negative * 4);
  }
  return success();
}

Status decodeBit2(const mxrt_allocator *alloc, const Codec &codec, const char *payload,
                  std::span<float> out) {
  size_t count = out.size();
  for (size_t i = 0; i < (count + 3) / 4; ++i) {
    auto byte = static_cast<unsigned char>(payload[i]);
    if (byte & byte >> 1 & 0x55)
      return refused(alloc, codec, "a code is 3");
  }
  if (count % 4 && static_cast<unsigned char>(payload[count / 4]) >> 2 * (count % 4))
    return refused(alloc, codec, "bits follow the last element");
  const float values[] = {0, codec.threshold, -codec.threshold, 0};
  for (size_t i = 0; i < count; ++i)
    out[i] = values[static_cast<unsigned char>(payload[i / 4]) >> 2 * (i % 4) & 3];
  return success();
}

Status decodeTopK(const mxrt_allocator *alloc, const Codec &codec, const char *payload,
                  std::span<float> out) {
  size_t kept = codec.kept(out.size());
  int64_t last = -1;
  for (size_t i = 0; i < kept; ++i) {
    int64_t index = load<uint32_t>(payload + i * 4);
    if (index <= last || index >= int64_t(out.size()))
      return refused(alloc, codec, "indices do not increase, or are outside of the key");
    last = index;
  }
  std::fill(out.begin(), out.end(), 0.0f);
  for (size_t i = 0; i < kept; ++i)
    out[load<uint32_t>(payload + i * 4)] = load<float>(payload + (kept + i) * 4);
  return success();
}

} // namespace

Status decode(const mxrt_allocator *alloc, const Codec &codec, std::span<const char> bytes,
              std::span<float> out) {
  size_t count = out.size();
  size_t wanted = MXRT_TRY(encodedBytes(alloc, codec, count));
  if (bytes.size() != wanted)
    return refused(alloc, codec, "its length is wrong");
  auto header = load<Header>(bytes.data());
  const char *payload = bytes.data() + sizeof header;
  if (header.magic != codecMagic || header.kind != uint32_t(codec.kind))
    return refused(alloc, codec, "it has another codec");
  if (header.count != count || header.setting != settingOf(codec, count))
    return refused(alloc, codec, "it has other sizes or settings");
  if (header.checksum != checksumOf(header, payload, wanted - sizeof header))
    return refused(alloc, codec, "its checksum is wrong");
  switch (codec.kind) {
  case Kind::None:
    if (count)
      std::memcpy(out.data(), payload, count * 4);
    return success();
  case Kind::Fp16:
    for (size_t i = 0; i < count; ++i)
      out[i] = f16ToFloat(load<uint16_t>(payload + 2 * i));
    return success();
  case Kind::Bf16:
    for (size_t i = 0; i < count; ++i)
      out[i] = bf16ToFloat(load<uint16_t>(payload + 2 * i));
    return success();
  case Kind::Bit1:
    return decodeBit1(alloc, codec, payload, out);
  case Kind::Bit2:
    return decodeBit2(alloc, codec, payload, out);
  case Kind::TopK:
    return decodeTopK(alloc, codec, payload, out);
  }
  return refused(alloc, codec, "there is no such codec");
}

} // namespace mxrt::kvstore
