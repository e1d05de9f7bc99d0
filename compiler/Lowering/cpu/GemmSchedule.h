// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule of a packed GEMM (TiledMatmul.h): sizes of register tiles, panels and blocks, as
// plain numbers that follow from the problem and the target. No IR here.
#pragma once
#include "Support/TargetInfo.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace mx::lowering {

/// Cache blocking of GEMM, set by autotuning; 0: the schedule chooses. Results have the same bits
/// for any tiling.
struct Tiling {
  int64_t columns = 0; ///< of a panel
  int64_t steps = 0;   ///< of a packed K-block
  bool operator==(const Tiling &) const = default;
  /// Parses `128,256`; nullopt for invalid text, or for sizes that kernels have no room for.
  static std::optional<Tiling> parse(llvm::StringRef text);
  std::string text() const;
};

struct GemmProblem {
  using Size = std::optional<int64_t>; ///< nothing: known at run time only
  Size rows, columns, steps;
  llvm::SmallVector<Size> batch; ///< sizes of the batch: more matrices for threads to share
  unsigned bits = 32;            ///< of a sum
  int64_t depth = 256;           ///< max steps of k in a packed panel
  int64_t blockDepth = 256;      ///< steps of k in a K-block
  int64_t maxColumns = 256;      ///< max columns of a panel, if more pay off
  int64_t unit = 1;              ///< the columns of a panel are a multiple of it
  int64_t chosenColumns = 0;     ///< of a panel, by autotuning; 0: none are
  bool sumsInPlace = false;      ///< sums are accumulated in the output
  bool rowsInPlace = false;      ///< rows may be read where they are
  Size rowPitch;                 ///< elements from one row in memory to the next
  bool columnsInPlace = false;   ///< whole tiles of columns are read where they are
  bool isPrepacked = false;

  /// All of k is one K-block.
  bool isShallow() const { return steps && *steps <= blockDepth; }
};

struct GemmSchedule {
  int64_t lanes = 1; ///< of a vector
  int64_t wide = 1;  ///< columns of a tile
  int64_t blockRows = 0, panelColumns = 0;
  int64_t pitch = 0; ///< elements from one row of sums to the next
  bool areRowsPacked = false;
  /// If the row count is known: number of tiles; tiles with one row more than the others; rows of
  /// these others; tiles of a block.
  int64_t tileCount = 0, tallTiles = 0, lowRows = 0, blockTiles = 0;

  static GemmSchedule choose(const GemmProblem &problem, const TargetInfo &target);
};

/// Of `count` memory segments of `bytes` each, `apart` from each other: the max number of cache
/// lines that share one set of the cache.
int64_t maxPerSet(int64_t count, int64_t bytes, int64_t apart, const CacheInfo &cache);

} // namespace mx::lowering
