// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slicing-by-8: eight bytes per step. Table k has the effect of a byte followed by k more bytes.

#include "base/Crc32.h"

#include <cstring>

namespace mxrt {
namespace {

struct Tables {
  uint32_t of[8][256] = {};
  constexpr Tables() {
    constexpr uint32_t polynomial = 0xEDB88320; // bit-reversed
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t sum = byte;
      for (int bit = 0; bit < 8; ++bit)
        sum = sum & 1 ? sum >> 1 ^ polynomial : sum >> 1;
      of[0][byte] = sum;
    }
    for (int k = 1; k < 8; ++k)
      for (uint32_t byte = 0; byte < 256; ++byte)
        of[k][byte] = of[k - 1][byte] >> 8 ^ of[0][of[k - 1][byte] & 0xFF];
  }
};
constexpr Tables tables;

} // namespace

uint32_t crc32(uint32_t before, const void *bytes, size_t count) {
  auto *at = static_cast<const unsigned char *>(bytes);
  uint32_t sum = ~before;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; count >= 8; count -= 8, at += 8) {
    uint32_t low, high;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= sum;
    sum = tables.of[7][low & 0xFF] ^ tables.of[6][low >> 8 & 0xFF] ^
          tables.of[5][low >> 16 & 0xFF] ^ tables.of[4][low >> 24] ^ tables.of[3][high & 0xFF] ^
          tables.of[2][high >> 8 & 0xFF] ^ tables.of[1][high >> 16 & 0xFF] ^
          tables.of[0][high >> 24];
  }
#endif
  for (; count > 0; --count, ++at)
    sum = sum >> 8 ^ tables.of[0][(sum ^ *at) & 0xFF];
  return ~sum;
}

} // namespace mxrt
