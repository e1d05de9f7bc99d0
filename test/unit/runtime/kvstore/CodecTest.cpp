// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codecs with error feedback: identities, ratios, reconstructions by hand and
// against simple references, and bytes that must be refused.

#include "kvstore/Codec.h"

#include "base/Crc32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace mxrt::test {
namespace {

using kvstore::Codec;
using kvstore::encodedBytes;
using Kind = Codec::Kind;
const mxrt_allocator *alloc = mxrt_system_allocator();

Codec codecOf(Kind kind) {
  Codec codec;
  codec.kind = kind;
  codec.threshold = 0.75f;
  codec.block = 64;
  codec.ratio = 0.05;
  return codec;
}
const Kind kinds[] = {Kind::None, Kind::Fp16, Kind::Bf16, Kind::Bit1, Kind::Bit2, Kind::TopK};

/// All of one key.
struct Whole {
  explicit Whole(size_t count) : count(count) {}
  operator kvstore::Section() const { return {{&count, 1}, 0, count}; }
  size_t count;
};
Result<size_t> bytesOf(const Codec &codec, size_t count) {
  return encodedBytes(alloc, codec, Whole(count));
}
Status encodeAll(const Codec &codec, const std::vector<float> &gradient,
                 std::vector<float> &residual, std::vector<char> &out) {
  return encode(alloc, codec, Whole(gradient.size()), {gradient, residual, residual}, out);
}
Status decodeAll(const Codec &codec, const std::vector<char> &bytes, std::vector<float> &out) {
  return decode(alloc, codec, Whole(out.size()), bytes, out);
}

std::vector<char> encoded(const Codec &codec, const std::vector<float> &gradient,
                          std::vector<float> &residual) {
  auto bytes = bytesOf(codec, gradient.size());
  EXPECT_TRUE(bytes.ok());
  std::vector<char> out(*bytes);
  EXPECT_TRUE(encodeAll(codec, gradient, residual, out).ok());
  return out;
}
std::vector<float> decoded(const Codec &codec, const std::vector<char> &bytes, size_t count) {
  std::vector<float> out(count, 123);
  Status status = decodeAll(codec, bytes, out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

std::vector<float> randomValues(size_t count, unsigned seed, int spread) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = std::ldexp(normal(random), spread ? int(random() % unsigned(spread)) - spread / 2 : 0);
  return values;
}

class Codecs : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(All, Codecs, ::testing::ValuesIn(kinds),
                         [](const auto &info) { return codecName(info.param); });

TEST_P(Codecs, SentAndResidualAreTheGradient) {
  Codec codec = codecOf(GetParam());
  bool exact = codec.kind != Kind::Bit1 && codec.kind != Kind::Bit2;
  for (size_t count : {0, 1, 7, 8, 9, 63, 64, 65, 1000, 20011})
    for (int spread : {0, 20, 60}) {
      std::vector<float> residual(count);
      for (unsigned step = 0; step < 4; ++step) {
        std::vector<float> gradient = randomValues(count, unsigned(count) + step, spread);
        std::vector<float> before = residual;
        std::vector<char> bytes = encoded(codec, gradient, residual);
        std::vector<float> sent = decoded(codec, bytes, count);
        for (size_t i = 0; i < count; ++i) {
          float v = gradient[i] + before[i];
          double lost = double(v) - (double(sent[i]) + double(residual[i]));
          // |v| < 2^30 here; fp16 ends below that.
          bool large = codec.kind == Kind::Fp16 && std::fabs(v) > 65504;
          double allowed = exact && !large ? 0 : std::fabs(double(v) - double(sent[i])) * 0x1p-24;
          ASSERT_LE(std::fabs(lost), allowed)
              << "element " << i << ": " << v << " sent as " << sent[i];
          if (exact && !large)
            ASSERT_EQ(sent[i] + residual[i], v);
        }
      }
    }
}

TEST_P(Codecs, ErrorFeedbackLosesNothingInTheLongRun) {
  // The same gradient again and again: what was sent approaches its sum.
  Codec codec = codecOf(GetParam());
  constexpr size_t count = 512, steps = 400;
  std::vector<float> gradient = randomValues(count, 5, 0), residual(count);
  for (float &value : gradient)
    value = std::clamp(value, -0.7f, 0.7f); // below the threshold of bit2
  std::vector<double> sent(count);
  for (size_t step = 0; step < steps; ++step) {
    std::vector<float> part = decoded(codec, encoded(codec, gradient, residual), count);
    for (size_t i = 0; i < count; ++i)
      sent[i] += part[i];
  }
  for (size_t i = 0; i < count; ++i)
    EXPECT_NEAR(sent[i] + residual[i], double(gradient[i]) * steps, 1e-2);
}

TEST_P(Codecs, EveryDamagedByteIsRefused) {
  Codec codec = codecOf(GetParam());
  std::vector<float> gradient = randomValues(101, 1, 4), residual(101);
  std::vector<char> good = encoded(codec, gradient, residual);
  auto refuses = [&](const std::vector<char> &bytes, size_t count) {
    std::vector<float> out(count, 123);
    Status status = decodeAll(codec, bytes, out);
    if (status.code() != MXRT_KVSTORE)
      return false;
    return std::all_of(out.begin(), out.end(), [](float value) { return value == 123; });
  };
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<char> bad = good;
      bad[i] = char(bad[i] ^ 1 << bit);
      ASSERT_TRUE(refuses(bad, 101)) << "byte " << i;
    }
  for (size_t length = 0; length < good.size(); ++length)
    ASSERT_TRUE(refuses({good.begin(), good.begin() + long(length)}, 101));
  std::vector<char> longer = good;
  longer.push_back(0);
  EXPECT_TRUE(refuses(longer, 101));
  EXPECT_TRUE(refuses(good, 100));
  EXPECT_TRUE(refuses(good, 0));
  for (Kind other : kinds)
    if (other != codec.kind) {
      std::vector<float> out(101);
      EXPECT_EQ(decodeAll(codecOf(other), good, out).code(), MXRT_KVSTORE);
    }
}

/// Puts the right checksum on bytes that were changed.
void seal(std::vector<char> &bytes) {
  uint32_t sum = crc32(crc32(0, bytes.data(), 16), bytes.data() + 20, bytes.size() - 20);
  std::memcpy(bytes.data() + 16, &sum, 4);
}

TEST(Codecs, HostileBytesWithARightChecksumAreRefused) {
  std::vector<float> gradient = randomValues(101, 1, 4), residual(101), out(101);
  auto refusal = [&](Kind kind, size_t at, std::vector<char> put) {
    Codec codec = codecOf(kind);
    std::fill(residual.begin(), residual.end(), 0.0f);
    std::vector<char> bytes = encoded(codec, gradient, residual);
    std::copy(put.begin(), put.end(), bytes.begin() + long(at));
    seal(bytes);
    Status status = decodeAll(codec, bytes, out);
    return std::string(status.message());
  };
  std::string prefix = "an encoded gradient (topk) is refused: ";
  // top-k of 5: 20 bytes of indices behind the header
  EXPECT_EQ(refusal(Kind::TopK, 36, {101, 0, 0, 0}),
            prefix + "indices do not increase, or are outside of the key");
  EXPECT_EQ(refusal(Kind::TopK, 36, {char(255), char(255), char(255), char(255)}),
            prefix + "indices do not increase, or are outside of the key");
  EXPECT_EQ(refusal(Kind::TopK, 20, {90, 0, 0, 0, 90, 0, 0, 0}),
            prefix + "indices do not increase, or are outside of the key");
  EXPECT_EQ(refusal(Kind::TopK, 12, {6}), prefix + "it has other sizes or settings");
  EXPECT_EQ(refusal(Kind::Bit2, 25, {3}), "an encoded gradient (bit2) is refused: a code is 3");
  EXPECT_EQ(refusal(Kind::Bit2, 45, {4}),
            "an encoded gradient (bit2) is refused: bits follow the last element");
  EXPECT_EQ(refusal(Kind::Bit1, 20, {0, 0, char(0x80), 0x7F}),
            "an encoded gradient (bit1) is refused: a value is not finite");
  EXPECT_EQ(refusal(Kind::Bit1, 48, {char(0xE0)}),
            "an encoded gradient (bit1) is refused: bits follow the last element");
}

TEST_P(Codecs, PartsAreEncodedApart) {
  // A section that begins and ends within a key, with empty keys in between: the same payloads as
  // its parts alone.
  Codec codec = codecOf(GetParam());
  const size_t parts[] = {30, 0, 200, 1, 0, 90};
  constexpr size_t begin = 10, count = 261; // 20, 200, 1, 40
  std::vector<float> gradient = randomValues(count, 9, 4), residual(count), next(count);
  kvstore::Section section = {parts, begin, count};
  std::vector<char> all(*encodedBytes(alloc, codec, section));
  ASSERT_TRUE(encode(alloc, codec, section, {gradient, residual, next}, all).ok());
  EXPECT_EQ(all.size(), kvstore::encodingHeaderBytes + payloadBytes(codec, section));
  std::vector<float> sent(count);
  ASSERT_TRUE(decode(alloc, codec, section, all, sent).ok());
  size_t at = 0, byte = kvstore::encodingHeaderBytes;
  for (size_t part : {20, 200, 1, 40}) {
    std::vector<float> own(gradient.begin() + long(at), gradient.begin() + long(at + part));
    std::vector<float> kept(part);
    std::vector<char> bytes = encoded(codec, own, kept);
    size_t payload = bytes.size() - kvstore::encodingHeaderBytes;
    EXPECT_TRUE(std::equal(bytes.begin() + kvstore::encodingHeaderBytes, bytes.end(),
                           all.begin() + long(byte)));
    std::vector<float> alone = decoded(codec, bytes, part);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), sent.begin() + long(at)));
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), next.begin() + long(at)));
    at += part;
    byte += payload;
  }
  EXPECT_EQ(byte, all.size());
  // Other lengths of parts are other bytes, and are refused.
  const size_t others[] = {30, 100, 100, 1, 0, 90};
  bool isBlind = codec.kind == Kind::None || codec.kind == Kind::Fp16 || codec.kind == Kind::Bf16 ||
                 codec.kind == Kind::Bit2;
  if (!isBlind)
    EXPECT_FALSE(decode(alloc, codec, {others, begin, count}, all, sent).ok());
}

TEST(Codecs, RatiosForAMillionValues) {
  constexpr size_t count = 1000000;
  struct {
    Kind kind;
    double atLeast;
  } cases[] = {{Kind::Fp16, 1.9999},
               {Kind::Bf16, 1.9999},
               {Kind::Bit2, 15},
               {Kind::Bit1, 30},
               {Kind::TopK, 45}};
  for (auto [kind, atLeast] : cases) {
    Codec codec;
    codec.kind = kind;
    std::vector<float> gradient = randomValues(count, 3, 0), residual(count);
    std::vector<char> bytes = encoded(codec, gradient, residual);
    double ratio = 4.0 * count / double(bytes.size());
    std::printf("%s: %zu bytes, ratio %.2f\n", codecName(kind), bytes.size(), ratio);
    EXPECT_GE(ratio, atLeast) << codecName(kind);
    EXPECT_EQ(decoded(codec, bytes, count).size(), count);
  }
}

TEST(Codecs, Bit1SendsTwoMeansABlock) {
  Codec codec = codecOf(Kind::Bit1);
  codec.block = 8;
  std::vector<float> gradient = {1, 2, 3, -4, -6, 0, -0.0f, 6, /* next */ -1, -3}, residual(10);
  std::vector<float> sent = decoded(codec, encoded(codec, gradient, residual), 10);
  EXPECT_EQ(sent, (std::vector<float>{2, 2, 2, -5, -5, 2, 2, 2, -2, -2}));
  EXPECT_EQ(residual, (std::vector<float>{-1, 0, 1, 1, -1, -2, -2, 4, 1, -1}));
}

TEST(Codecs, Bit2SendsTheThreshold) {
  Codec codec = codecOf(Kind::Bit2);
  codec.threshold = 0.5f;
  std::vector<float> gradient = {0.25f, 0.5f, -0.5f, 2, -3}, residual(5);
  EXPECT_EQ(decoded(codec, encoded(codec, gradient, residual), 5),
            (std::vector<float>{0, 0.5f, -0.5f, 0.5f, -0.5f}));
  EXPECT_EQ(residual, (std::vector<float>{0.25f, 0, 0, 1.5f, -2.5f}));
  EXPECT_EQ(decoded(codec, encoded(codec, gradient, residual), 5),
            (std::vector<float>{0.5f, 0.5f, -0.5f, 0.5f, -0.5f}));
}

TEST(Codecs, TopKKeepsTheLargestAndOfEqualOnesTheFirst) {
  for (size_t count : {1, 2, 10, 1000, 5000})
    for (double ratio : {0.001, 0.1, 0.5, 1.0})
      for (bool ties : {false, true}) {
        Codec codec = codecOf(Kind::TopK);
        codec.ratio = ratio;
        std::vector<float> gradient = randomValues(count, unsigned(count), 8), residual(count);
        if (ties)
          for (float &value : gradient)
            value = std::round(value);
        std::vector<size_t> order(count);
        std::iota(order.begin(), order.end(), size_t(0));
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
          float x = std::fabs(gradient[a]), y = std::fabs(gradient[b]);
          return x != y ? x > y : a < b;
        });
        std::vector<float> wanted(count);
        for (size_t i = 0; i < codec.kept(count); ++i)
          wanted[order[i]] = gradient[order[i]];
        EXPECT_EQ(decoded(codec, encoded(codec, gradient, residual), count), wanted);
      }
}

TEST(Codecs, ValuesThatAreNotFinite) {
  float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  std::vector<float> gradient = {1, inf, -inf, nan, 1e30f, -3.4028235e38f};
  for (Kind kind : kinds) {
    Codec codec = codecOf(kind);
    codec.ratio = 1;
    std::vector<float> residual(6, 0.25f);
    residual[4] = residual[5] = 0;
    if (kind == Kind::Bit1 || kind == Kind::Bit2) {
      std::vector<float> before = residual;
      std::vector<char> out(*bytesOf(codec, 6), 'x');
      Status status = encodeAll(codec, gradient, residual, out);
      EXPECT_EQ(status.code(), MXRT_NAN_FOUND);
      EXPECT_EQ(residual, before);
      EXPECT_EQ(out, std::vector<char>(out.size(), 'x'));
      continue;
    }
    std::vector<float> sent = decoded(codec, encoded(codec, gradient, residual), 6);
    EXPECT_EQ(sent[1], inf);
    EXPECT_EQ(sent[2], -inf);
    EXPECT_TRUE(std::isnan(sent[3]));
    EXPECT_TRUE(std::isfinite(sent[4]) && std::isfinite(sent[5]));
    if (kind != Kind::None) {
      EXPECT_EQ(residual[1], 0);
      EXPECT_EQ(residual[3], 0);
      EXPECT_TRUE(std::isfinite(residual[4]) && std::isfinite(residual[5]));
    }
    if (kind == Kind::Fp16)
      EXPECT_EQ(sent[4], 65504);
  }
}

TEST(Codecs, WrongSettingsAreRefused) {
  std::vector<Codec> wrong(8);
  for (size_t i = 0; i < 3; ++i)
    wrong[i].kind = Kind::Bit2;
  wrong[0].threshold = 0;
  wrong[1].threshold = -1;
  wrong[2].threshold = std::nanf("");
  wrong[3].kind = wrong[4].kind = Kind::Bit1;
  wrong[3].block = 0;
  wrong[4].block = 12;
  wrong[5].kind = wrong[6].kind = Kind::TopK;
  wrong[5].ratio = 0;
  wrong[6].ratio = 1.5;
  wrong[7].kind = Kind(6);
  for (const Codec &codec : wrong)
    EXPECT_EQ(bytesOf(codec, 10).takeStatus().code(), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(bytesOf({}, size_t(1) << 32).takeStatus().code(), MXRT_SIZE_OVERFLOW);
  std::vector<float> four(4), three(3);
  std::vector<char> out(*bytesOf(codecOf(Kind::Fp16), 4));
  EXPECT_EQ(encodeAll(codecOf(Kind::Fp16), four, three, out).code(), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(encodeAll(codecOf(Kind::Fp16), three, three, out).code(), MXRT_INVALID_ARGUMENT);
}

} // namespace
} // namespace mxrt::test
