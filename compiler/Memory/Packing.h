// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arena packing (dynamic storage allocation) as an abstract problem: blocks of known length and
// lifetime get offsets such that blocks live at the same time do not overlap and the total length
// is minimal. It is a kind of bin packing: offsets are one axis, time is the other and is given.
//
// Limits count steps, not time, unless the caller sets a time limit: the same blocks get the same
// offsets on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace mx::memory {

/// `bytes` that are live from step `first` to step `last`, both included.
struct Piece {
  int64_t bytes, first, last;
};

struct PackOptions {
  /// Work budget of heuristics and search in steps; a second is about 80 million. The result is
  /// optimal if the budget is large enough.
  int64_t effort = 3'000'000;
  /// Stops at a packing of this length. 0: as short as possible.
  int64_t target = 0;
  /// Stops at a packing that exceeds the live bound by no more than this fraction of it.
  double enough = 0;
  /// Polled now and then; true ends the search. A plan that depends on it depends on the machine.
  std::function<bool()> isLate = nullptr;
};

struct Packing {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
  bool isProven = false; ///< no packing is shorter
};

/// Max over the steps of the live bytes: a lower bound for every packing.
int64_t liveBound(const std::vector<Piece> &blocks);

Packing pack(const std::vector<Piece> &blocks, const PackOptions &options);

/// Blocks one after another, without sharing.
Packing packApart(const std::vector<Piece> &blocks);

} // namespace mx::memory
