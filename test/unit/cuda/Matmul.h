// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace mxemu {

/// Deliberate bugs of the generated matmul.
struct MatmulMistake {
  bool noWait = false, noFirstBarrier = false, noSecondBarrier = false, weakAlignment = false;
};

/// The entry `name`(a, b, c, n, k): C = A B in f32 by tiles of 128 x 128 x 8, 256 threads, two stages of
/// cp.async. Each element is one chain of FMAs in the order of k. Sizes are multiples of the tile's.
std::string matmulEntry(const std::string &name, MatmulMistake mistake = {});

} // namespace mxemu
