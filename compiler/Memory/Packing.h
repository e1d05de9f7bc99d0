// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The packing problem by itself: blocks of known length and life, to be put at offsets so that
// those alive at once do not overlap and the whole is as short as possible.
//
// Limits count steps, not time, unless one asks for time: the same blocks give the same offsets on
// every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace mx::memory {

/// `bytes` at some offset from step `first` to step `last`, both included.
struct Piece {
  int64_t bytes, first, last;
};

struct PackOptions {
  /// Steps for heuristics and searches; a second is about 80 million. With very many of them the
  /// result is exact in the end.
  int64_t effort = 3'000'000;
  /// Short enough: nothing shorter is looked for. 0: as short as possible.
  int64_t target = 0;
  /// Of what is alive at once: ends the search when a packing has no more than that above it.
  double enough = 0;
  /// Asked now and then; ends the search. A plan that depends on it depends on the machine.
  std::function<bool()> isLate = nullptr;
};

struct Packing {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
  bool isProven = false; ///< no packing is shorter
};

/// The most bytes that are alive at one step: no packing is shorter.
int64_t liveBound(const std::vector<Piece> &blocks);

Packing pack(const std::vector<Piece> &blocks, const PackOptions &options);

/// Blocks one after another, as if all were alive at once.
Packing packApart(const std::vector<Piece> &blocks);

} // namespace mx::memory
