// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10 counter-based RNG, inline, and the word layout that random ops share.

#ifndef MXRT_RANDOM_PHILOX_H
#define MXRT_RANDOM_PHILOX_H

#include "mxrt/random.h"

namespace mxrt {

/// 128 random bits.
struct Block {
  uint32_t word[4];

  uint64_t low64() const {
    return static_cast<uint64_t>(word[1]) << 32 | word[0];
  }
  uint64_t high64() const {
    return static_cast<uint64_t>(word[3]) << 32 | word[2];
  }
};

inline Block philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                    uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = static_cast<uint64_t>(0xD2511F53u) * c0;
    uint64_t b = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    uint32_t n0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
    uint32_t n2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(b);
    c3 = static_cast<uint32_t>(a);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// The purpose of a block, in the upper half of the counter.
enum class Use : uint32_t { Draw = 0, Split = 1, Fork = 2 };

/// `index` has at most 56 bits.
inline Block blockAt(uint64_t key, uint64_t position, Use use = Use::Draw,
                     uint64_t index = 0) {
  return philox(static_cast<uint32_t>(position),
                static_cast<uint32_t>(position >> 32),
                static_cast<uint32_t>(index),
                static_cast<uint32_t>(use) << 24 |
                    static_cast<uint32_t>(index >> 32),
                static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
}

/// Uniform in [0, 1) with 24 and 53 bits.
inline float unitFloat(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}
inline double unitDouble(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}
/// Uniform in (0, 1), symmetric around a half, for logarithms and quantiles.
inline double openUnit(uint32_t bits) {
  return (static_cast<double>(bits) + 0.5) * 0x1p-32;
}
inline double openUnit(uint64_t bits) {
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

} // namespace mxrt

#endif // MXRT_RANDOM_PHILOX_H
