// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed GEMM with a register-tile microkernel, for any two operands: result[i, j] = sum over k of
// left[i, k] * right[k, j], with an epilogue of ops on the result. No other file knows how such a
// sum is computed; Bf16Matmul.h has the bf16 instructions. Convolutions use this file as an
// implicit GEMM (EmitConv.cpp).
//
// Each element is accumulated in the order of k, one multiply-add after the other, whatever the
// tiles. 16-bit floats are accumulated in f32.
//
// A register tile of the result, a few rows by a few vectors of columns, stays in registers over
// the loop of k. The columns of a panel are packed first, tile by tile, for up to `depth` steps of
// k (a K-block). The packed panel is contiguous and stays in L2 for a block of rows; the rows that
// a tile reads stay in L1. Rows that would conflict in the same L1 sets are packed too, step by
// step, for a few tiles. Leftover columns are computed vector by vector, padded with zeros. If the
// result is an output and nothing else is computed from it, sums are accumulated in the output. An
// operand that was packed to panels before (prepacked) is read without a copy.
//
//   for each block of rows and panel of columns (in parallel):
//     for each K-block:
//       pack the panel
//       for each tile of rows, for each tile of columns:  the sums of the tile (microkernel)
//     the epilogue ops, and the outputs
#pragma once
#include "Lowering/cpu/CpuKernel.h"

namespace mx::lowering {

/// Emits the GEMM by its schedule; its operands are those of the derived class.
class TiledMatmul : protected GemmSchedule {
public:
  TiledMatmul(KernelEmitter &e, const OutputGroup &group)
      : e(e), group(group), evaluator(e), source(group.sources[0]),
        depth(e.options.tiling.steps ? e.options.tiling.steps : e.target.panelSteps()) {}
  virtual ~TiledMatmul() = default;

protected:
  /// Columns of the result: of a panel, and of a tile in it.
  struct Panel {
    Value begin, width;
  };
  struct Tile {
    int64_t vectors;
    Value column; ///< in the panel
    Value width;
    Value packed; ///< where its columns begin in the packed panel; null: they are not packed
  };
  /// Rows of a block, from `first` on; if the row count is known, these tiles of it.
  struct Block {
    Value first, count;
    Value fromTile, toTile;
  };
  /// Elements from one step of a tile's packed rows to the next. Tiles whose rows are packed
  /// together: contiguous memory holds rows of several tiles.
  static constexpr int64_t kPackedRows = 8, kPackedTiles = 8;

  KernelEmitter &e;
  const TargetInfo &target = e.target;
  const GemmInfo &gemm = target.gemm;
  const OutputGroup &group;
  Evaluator evaluator;
  mlir::Operation *source;
  mlir::Type type;   ///< of the sums
  int64_t maxColumns = gemm.panelColumns; ///< max columns of a panel, if more pay off
  int64_t unit = 1;              ///< the columns of a panel are a multiple of it
  int64_t given = 0;             ///< columns of each panel of a prepacked right operand, else 0
  int64_t depth;                 ///< max steps of k in a packed panel
  int64_t blockDepth = depth;    ///< steps of k in a K-block
  Value rows, columns, deep;     ///< sizes
  SmallVector<Value> batch;      ///< index of the matrix in the batch
  Buffer packed, packedRows;     ///< packed columns of a panel; packed rows of a tile
  Buffer sums;                   ///< of a panel, for the rows of a tile or of a block

  // ---- the operands
  /// An element of the left operand, in the type of the sums.
  virtual Value left(Value i, Value k) = 0;
  /// Steps of k are contiguous in memory; otherwise a tile's rows are packed.
  virtual bool mayReadRowsInPlace() = 0;
  /// Address of the rows from i on at step k, if they are contiguous; else null.
  virtual Value rowsAt(Value, Value) { return {}; }
  /// Address of the steps of a row from k on, if they are contiguous; else null. And the distance
  /// in elements from one row to the next.
  virtual Value stepsAt(Value, Value) { return {}; }
  virtual std::optional<int64_t> rowPitch() { return {}; }
  /// Address of the sum at a row and column, if sums are accumulated in the output.
  virtual bool maySumInPlace() { return false; }
  virtual Value resultAt(Value, Value) { return {}; }
  /// Address of the initial accumulator of a row and column, if it is not 0.
  virtual bool hasInit() { return false; }
  virtual Value initAt(Value, Value) { return {}; }
  /// Whole tiles of columns are read unpacked, at the address from columnsAt().
  virtual bool mayReadInPlace() { return false; }
  /// Whole tiles of columns are packed on the fly by the first tile of rows.
  virtual bool mayPackOnTheFly() { return false; }
  virtual Value columnsAt(Value, Value) { return {}; }
  /// Packs the columns of the panel from `from` on, tile after tile: to packedIndex().
  virtual void copy(const Panel &panel, Value from, Value k0, Value steps) = 0;
  /// Elements that packing this many columns needs, and the offset of a tile's columns in them. The
  /// columns of each step follow those of the previous step, or are at the distance
  /// packedStepOffset() from the first.
  virtual int64_t packedSize(int64_t columns) { return columns * depth; }
  virtual Value packedBegin(const Tile &tile) { return tile.packed; }
  virtual bool isPackedInOrder() { return true; }
  virtual Value packedStepOffset(Value) { return {}; }
  /// Epilogue: the ops on sums, and the outputs, for `count` rows from i and `width` columns from
  /// `begin`. Their sums are at sumAt(), counted from `row` and 0.
  virtual void finish(Value row, Value i, Value count, Value begin, Value width) = 0;

  // ---- helpers for the operands
  /// Whether the plain sums are the only output. Ops on the sums might read memory that the result
  /// is written to.
  bool isOnlyOutput();
  /// Prepares the ops around `source`, and finds the type of its sums.
  void prepare();
  /// Computes all matrices of the batch; `result` are the sizes of `batch`.
  void run(SmallVector<Value> result);
  Value widen(Value element);
  Value multiplyAdd(Value sum, Value a, Value b);
  Value smaller(Value size, int64_t limit);
  /// The columns in whole tiles.
  Value wholeTiles(Value width);
  /// Offset in the packed panel of column j of the tile that begins at `tile`, at step k.
  Value packedIndex(Value tile, Value k, Value j);
  /// Packs the columns of the panel from `from` on, if the steps of a column are contiguous in
  /// memory: `column` writes the steps of column j to `staged` from `to` on. A few columns at a
  /// time are transposed in registers.
  void packByColumns(const Panel &panel, Value from, Value steps,
                     llvm::function_ref<void(Value j, Value to)> column);
  Buffer staged; ///< these columns, before they are transposed
  /// A sum as an element of the result.
  Value sumAt(Value row, Value column);

  /// Copies a vector of `lanes` from one address to another.
  void moveVector(Value from, Value to);
  /// Mask of the first `count` of `size` lanes.
  Value firstLanes(int64_t size, Value count);

private:
  bool isInPlace = false; ///< sums are accumulated in the output

  unsigned alignment() { return type.getIntOrFloatBitWidth() / 8; }
  mlir::Type vectorType() { return mlir::VectorType::get({lanes}, type); }
  /// All of k is one K-block, so the epilogue of a tile's rows runs right after the tile.
  bool isShallow() { return e.known(deep) && *e.known(deep) <= blockDepth; }
  bool isAllInPlace();
  bool packsOnTheFly();
  /// A tile begins by loading the sums so far; it would stall if the result is not in a cache.
  /// Measured for 256-bit vectors only.
  bool fetchesSums() { return isInPlace && !isShallow() && e.target.vectorBits == 256; }
  Value splat(Value element);
  Value parts(Value size, int64_t part);

  void chooseTiles(ArrayRef<Value> others);
  void panel(const Block &block, const Panel &panel);
  Block blockOf(Value number);
  /// The rows of a tile: index in the block, and in the result; offset of the packed rows.
  struct TileRows {
    int64_t height;
    Value row, i, packed;
    bool packsColumns = false; ///< packs the columns on the fly, for the tiles after it
  };
  /// Calls body with each tile of a block. Before that, packs the rows for the steps from k0 on.
  void tiles(const Block &block, Value k0, Value steps, llvm::function_ref<void(TileRows)> body);
  void packRows(Value i, int64_t height, Value count, Value k0, Value steps);
  void packSteps(Value i, int64_t height, Value to, Value k0, Value steps);
  void eachTile(const Panel &panel, llvm::function_ref<void(const Tile &)> body);
  void sumUp(const TileRows &tileRows, const Panel &panel, const Tile &tile, Value k0, Value steps);
  Value behind(Value address, Value elements);
  void transposeBlock(ArrayRef<Value> from, Value to, int64_t pitch);
  /// Elements from one column in `staged`, or one tile of `packedRows`, to the next: not a power of
  /// two, which would map to the same cache sets.
  int64_t apart() { return depth + 16; }
  int64_t rowsApart() { return kPackedRows * depth + 16; }
};

} // namespace mx::lowering
