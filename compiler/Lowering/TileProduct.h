// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of two operands, whatever these are: result[i, j] = sum over k of left[i, k] * right[k,
// j], with ops on the result. This is the only place that knows how such a sum is computed.
//
// Each element is summed up in the order of k, one product after the other, whatever the tiles.
// Floats of 16 bits are accumulated in f32.
//
// A tile of the result, a few rows by a few vectors of columns, stays in registers while k runs.
// The columns that a panel needs are first copied, tile by tile, for up to `kDeep` steps of k: they
// then lie together and stay in the second cache for a block of rows, while the rows that a tile
// reads stay in the first. Columns that are left over go vector by vector, filled up with zeros.
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
      : e(e), group(group), evaluator(e), source(group.sources[0]) {}
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
  static constexpr int64_t kRows = 6, kBlock = 32 * kRows, kColumns = 256, kDeep = 256;

  KernelEmitter &e;
  const OutputGroup &group;
  Evaluator evaluator;
  mlir::Operation *source;
  mlir::Type type;   ///< of the sums
  int64_t lanes = 1; ///< of a vector
  int64_t wide = 1;  ///< columns of a tile
  int64_t blockRows = kBlock, panelColumns = kColumns;
  int64_t unit = 1;          ///< a panel has a multiple of it
  int64_t pitch = kColumns;  ///< from a row of sums to the next
  int64_t stretch = kDeep;   ///< steps of k for which a panel is copied
  Value rows, columns, deep; ///< sizes
  SmallVector<Value> batch;  ///< place among the products
  Buffer copied, copiedRows; ///< columns of a panel; rows of a tile

  // ---- what the operands are
  /// An element of the left operand, in the type of the sums.
  virtual Value left(Value i, Value k) = 0;
  /// Steps of k lie together in memory; otherwise a tile's rows are copied.
  virtual bool mayReadRowsInPlace() = 0;
  /// Whole tiles of columns are read where they are, with the address from columnsAt().
  virtual bool mayReadInPlace() { return false; }
  virtual Value columnsAt(Value, Value) { return {}; }
  /// Copies the columns of the panel behind `from`, tile after tile: to copiedPlace().
  virtual void copy(const Panel &panel, Value from, Value k0, Value steps) = 0;
  /// Elements that a copy of this many columns needs, and where in it a tile's columns begin. Those
  /// of each step follow those of the one before, or are as far behind the first as copiedAfter()
  /// says.
  virtual int64_t copiedRoom(int64_t columns) { return columns * kDeep; }
  virtual Value copiedBegin(const Tile &tile) { return tile.copied; }
  virtual bool areCopiedInOrder() { return true; }
  virtual Value copiedAfter(Value) { return {}; }
  /// The ops on sums, and the outputs, for `count` rows from i and `width` columns from `begin`.
  /// Their sums are at sumAt(), counted from `row` and 0.
  virtual void finish(Value row, Value i, Value count, Value begin, Value width) = 0;

  // ---- for them
  /// Prepares the ops around `source`, and finds the type of its sums.
  void prepare();
  /// All products; `result` are the sizes of `batch`.
  void run(SmallVector<Value> result);
  Value widen(Value element);
  Value multiplyAdd(Value sum, Value a, Value b);
  /// Columns of tiles that have all of them.
  Value wholeTiles(Value width);
  /// Where a column of the panel, in the tile that begins at `tile`, is copied to at a step.
  Value copiedPlace(Value tile, Value k, Value j);
  /// Copies the columns of the panel behind `from` where the steps of a column lie together in
  /// memory: `line` writes those of column j behind `to` in `lines`, and a few of them are transposed
  /// in registers.
  void copyByColumns(const Panel &panel, Value from, Value steps,
                     llvm::function_ref<void(Value j, Value to)> line);
  Buffer lines;
  /// A sum as an element of the result.
  Value sumAt(Value row, Value column);

private:
  Buffer sums; ///< of a panel, for the rows of a tile or of a block

  mlir::Type vectorType() { return mlir::VectorType::get({lanes}, type); }
  /// All of k is one stretch, so that the rows of a tile are finished at once.
  bool isShallow() { return e.known(deep) && *e.known(deep) <= stretch; }
  Value spreadOut(Value element);
  Value parts(Value size, int64_t part);
  Value smaller(Value size, int64_t most);

  void chooseTiles(ArrayRef<Value> others);
  void panel(Value i0, Value count, const Panel &panel);
  void copyRows(Value i, int64_t height, Value k0, Value steps);
  void tiles(Value count, llvm::function_ref<void(Value first, int64_t height)> body);
  void eachTile(const Panel &panel, llvm::function_ref<void(const Tile &)> body);
  void sumUp(Value row, Value i, int64_t height, const Panel &panel, const Tile &tile, Value k0,
             Value steps);
  Value behind(Value address, Value elements);
  void transposeBlock(Value from, Value to, int64_t size);
};

} // namespace mx::lowering
