// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of two operands, whatever these are: result[i, j] = sum over k of left[i, k] * right[k,
// j], with ops on the result. This is the only place that knows how such a sum is computed.
//
// Each element is summed up in the order of k, one product after the other, whatever the tiles.
// Floats of 16 bits are accumulated in f32.
//
// A tile of the result, a few rows by a few vectors of columns, stays in registers while k runs.
// The columns that a panel needs are first copied, tile by tile, for up to `depth` steps of k: they
// then lie together and stay in the second cache for a block of rows, while the rows that a tile
// reads stay in the first. Rows that would fight for the same places in it are copied as well, step
// by step, for a few tiles. Columns that are left over go vector by vector, filled up with zeros.
// Where the result is an output and nothing else is computed from it, sums are kept in it. An
// operand that was copied to panels before is read where it is.
//
//   for each block of rows and panel of columns (shared among threads):
//     for each stretch of k:
//       copy the panel
//       for each tile of rows, for each tile of columns:  the sums of the tile
//     the ops on the result, and the outputs
#pragma once
#include "Lowering/EmitKernel.h"

namespace mx::lowering {

class TileProduct {
public:
  TileProduct(KernelEmitter &e, const OutputGroup &group)
      : e(e), group(group), evaluator(e), source(group.sources[0]),
        depth(e.options.tiling.steps        ? e.options.tiling.steps
              : e.options.vectorBits >= 512 ? 512
                                            : 256) {}
  virtual ~TileProduct() = default;

protected:
  /// Columns of the result: those of a panel, and of a tile in it.
  struct Panel {
    Value begin, width;
  };
  struct Tile {
    int64_t vectors;
    Value column; ///< in the panel
    Value width;
    Value copied; ///< where its columns begin in the copy; null: they are read where they are
  };
  /// Rows of a block, from `first` on; where their number is known, these tiles of it.
  struct Block {
    Value first, count;
    Value fromTile, toTile;
  };
  static constexpr int64_t kRows = 6, kBlock = 48 * kRows, kColumns = 256;
  /// So many rows make up for copies that serve all of them.
  static constexpr int64_t kManyRows = 64 * kRows;
  /// From one step of a tile's copied rows to the next; tiles whose rows are copied together, since
  /// what lies together in memory is rows of several.
  static constexpr int64_t kRowsCopied = 8, kTilesCopied = 8;
  /// The first cache: bytes of a line, places for a line, and lines that may share one. The places
  /// of the second are of CPUs with vectors of 256 bits, and of 512.
  static constexpr int64_t kLine = 64, kPlaces = 64, kWays = 8;
  int64_t secondPlaces() { return e.options.vectorBits >= 512 ? 2048 : 1024; }
  int64_t secondWays() { return e.options.vectorBits >= 512 ? 16 : 8; }
  static int64_t mostInAPlace(int64_t count, int64_t bytes, int64_t apart, int64_t places);

  KernelEmitter &e;
  const OutputGroup &group;
  Evaluator evaluator;
  mlir::Operation *source;
  mlir::Type type;   ///< of the sums
  int64_t lanes = 1; ///< of a vector
  int64_t wide = 1;  ///< columns of a tile
  int64_t blockRows = kBlock, panelColumns = kColumns;
  int64_t mostColumns = kColumns; ///< of a panel, if it pays to have more
  int64_t unit = 1;               ///< a panel has a multiple of it
  int64_t given = 0;         ///< columns of each panel that the right operand lies in, if it does
  int64_t pitch = kColumns;  ///< from a row of sums to the next
  int64_t depth;             ///< a copy has room for so many steps
  int64_t stretch = depth;   ///< steps of k for which a panel is copied
  Value rows, columns, deep; ///< sizes
  SmallVector<Value> batch;  ///< place among the products
  Buffer copied, copiedRows; ///< columns of a panel; rows of a tile
  Buffer sums;               ///< of a panel, for the rows of a tile or of a block

  // ---- what the operands are
  /// An element of the left operand, in the type of the sums.
  virtual Value left(Value i, Value k) = 0;
  /// Steps of k lie together in memory; otherwise a tile's rows are copied.
  virtual bool mayReadRowsInPlace() = 0;
  /// Where the rows from i on lie in memory at a step, if one behind the other; else null.
  virtual Value rowsAt(Value, Value) { return {}; }
  /// Where the steps of a row from k on lie in memory, if one behind the other; else null. And how
  /// far, in elements, one row lies behind another.
  virtual Value stepsAt(Value, Value) { return {}; }
  virtual std::optional<int64_t> rowPitch() { return {}; }
  /// Where the sum at a row and column is to be kept, if not in memory of our own.
  virtual bool maySumInPlace() { return false; }
  virtual Value resultAt(Value, Value) { return {}; }
  /// Where the number lies that the sum at a row and column begins with, if it is not 0.
  virtual bool hasBegin() { return false; }
  virtual Value beginAt(Value, Value) { return {}; }
  /// Whole tiles of columns are read where they are, with the address from columnsAt().
  virtual bool mayReadInPlace() { return false; }
  /// Whole tiles of columns are copied by the first tile of rows, while it uses them.
  virtual bool mayCopyOnTheWay() { return false; }
  virtual Value columnsAt(Value, Value) { return {}; }
  /// Copies the columns of the panel behind `from`, tile after tile: to copiedPlace().
  virtual void copy(const Panel &panel, Value from, Value k0, Value steps) = 0;
  /// Elements that a copy of this many columns needs, and where in it a tile's columns begin. Those
  /// of each step follow those of the one before, or are as far behind the first as copiedAfter()
  /// says.
  virtual int64_t copiedRoom(int64_t columns) { return columns * depth; }
  virtual Value copiedBegin(const Tile &tile) { return tile.copied; }
  virtual bool areCopiedInOrder() { return true; }
  virtual Value copiedAfter(Value) { return {}; }
  /// The ops on sums, and the outputs, for `count` rows from i and `width` columns from `begin`.
  /// Their sums are at sumAt(), counted from `row` and 0.
  virtual void finish(Value row, Value i, Value count, Value begin, Value width) = 0;

  // ---- for them
  /// Whether sums are all that is asked for, as they are: with ops on them, what these read may be
  /// where the result is written to.
  bool isOnlyOutput();
  /// Prepares the ops around `source`, and finds the type of its sums.
  void prepare();
  /// All products; `result` are the sizes of `batch`.
  void run(SmallVector<Value> result);
  Value widen(Value element);
  Value multiplyAdd(Value sum, Value a, Value b);
  Value smaller(Value size, int64_t most);
  /// Columns of tiles that have all of them.
  Value wholeTiles(Value width);
  /// Where a column of the panel, in the tile that begins at `tile`, is copied to at a step.
  Value copiedPlace(Value tile, Value k, Value j);
  /// Copies the columns of the panel behind `from` where the steps of a column lie together in
  /// memory: `line` writes those of column j behind `to` in `lines`, and a few of them are
  /// transposed in registers.
  void copyByColumns(const Panel &panel, Value from, Value steps,
                     llvm::function_ref<void(Value j, Value to)> line);
  Buffer lines;
  /// A sum as an element of the result.
  Value sumAt(Value row, Value column);

  /// Copies a vector of `lanes` from one address to another.
  void moveVector(Value from, Value to);
  /// Which of `size` lanes are among the first ones, `count` of them.
  Value firstLanes(int64_t size, Value count);

private:
  bool isInPlace = false; ///< sums are kept in the result
  bool areRowsCopied = false;
  /// Of known rows: tiles in all; those with one row more than the others; rows of these; tiles of
  /// a block.
  int64_t tileCount = 0, tallTiles = 0, lowRows = 0, blockTiles = 0;

  unsigned alignment() { return type.getIntOrFloatBitWidth() / 8; }
  mlir::Type vectorType() { return mlir::VectorType::get({lanes}, type); }
  /// All of k is one stretch, so that the rows of a tile are finished at once.
  bool isShallow() { return e.known(deep) && *e.known(deep) <= stretch; }
  bool isAllInPlace();
  bool copiesOnTheWay();
  /// A tile begins with the sums until here, which it would wait for if the result is in no cache.
  /// Other vectors were not measured.
  bool fetchesSums() { return isInPlace && !isShallow() && e.options.vectorBits == 256; }
  bool doRowsCollide();
  bool doCopiesOfRowsPay();
  Value spreadOut(Value element);
  Value parts(Value size, int64_t part);

  void chooseTiles(ArrayRef<Value> others);
  int64_t columnsOfUnits(int64_t most);
  void panel(const Block &block, const Panel &panel);
  Block blockOf(Value number);
  /// Rows that a tile reads: counted in the block, and in all; and where they are copied to.
  struct Lines {
    int64_t height;
    Value row, i, copied;
    bool copiesColumns = false; ///< on the way, for the tiles after it
  };
  /// Calls body with each tile of a block; before that, rows are copied for steps from k0 on.
  void tiles(const Block &block, Value k0, Value steps, llvm::function_ref<void(Lines)> body);
  void copyRows(Value i, int64_t height, Value count, Value k0, Value steps);
  void copySteps(Value i, int64_t height, Value to, Value k0, Value steps);
  void eachTile(const Panel &panel, llvm::function_ref<void(const Tile &)> body);
  void sumUp(const Lines &lines, const Panel &panel, const Tile &tile, Value k0, Value steps);
  Value behind(Value address, Value elements);
  void transposeBlock(ArrayRef<Value> from, Value to, int64_t pitch);
  /// From one of `lines`, or one tile of `copiedRows`, to the next: not a power of two, which would
  /// be the same places in the cache.
  int64_t apart() { return depth + 16; }
  int64_t rowsApart() { return kRowsCopied * depth + 16; }
};

} // namespace mx::lowering
