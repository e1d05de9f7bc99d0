// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The packing problem by itself: blocks of known length and life, to be put at offsets so that
// those alive at once do not overlap and the whole is as short as possible.
//
// All limits count steps, not time: the same blocks give the same offsets on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mx::memory {

/// `bytes` at some offset from step `first` to step `last`, both included.
struct Piece {
  int64_t bytes, first, last;
};

struct PackOptions {
  /// Steps for the heuristics and the search around the best of them: about 100 million a second.
  int64_t effort = 5'000'000;
  /// Nodes that the exact search may visit; 0: none. Only for up to `kExactBlocks` blocks.
  int64_t exactNodes = 200'000;
};
inline constexpr std::size_t kExactBlocks = 64;

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

namespace detail {

/// Who may not overlap whom. Empty where that would take too much memory.
using Conflicts = std::vector<std::vector<uint32_t>>;

/// Branch and bound (PackExact.cpp): a packing shorter than `best`, or `best`.
Packing packExactly(const std::vector<Piece> &blocks, const Conflicts &conflicts, Packing best,
                    int64_t nodes);

} // namespace detail
} // namespace mx::memory
