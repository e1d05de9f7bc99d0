// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hard instances of memory packing with a known optimum, for the benchmark and for tests.
#pragma once
#include "Memory/Packing.h"
#include <algorithm>
#include <random>
#include <vector>

namespace mx::memory {

/// A rectangle cut into `count` blocks: the optimal packing has no gaps.
inline std::vector<Piece> cutRectangle(uint64_t seed, size_t count, int64_t height, int64_t steps) {
  std::mt19937_64 random(seed);
  std::vector<Piece> parts{{height, 0, steps - 1}};
  for (int tries = 0; parts.size() < count && tries < 1000000; ++tries) {
    Piece &part = parts[random() % parts.size()];
    int64_t length = part.last - part.first + 1;
    bool across = random() % 2 == 0;
    if (across ? part.bytes < 2 : length < 2)
      continue;
    Piece other = part;
    if (across) {
      other.bytes = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(part.bytes - 1));
      part.bytes -= other.bytes;
    } else {
      other.first =
          part.first + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(length - 1));
      part.last = other.first - 1;
    }
    parts.push_back(other);
  }
  std::shuffle(parts.begin(), parts.end(), random);
  return parts;
}

} // namespace mx::memory
