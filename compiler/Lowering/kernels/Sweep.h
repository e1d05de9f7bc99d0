// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over the same axes of one space, all in one sweep over its elements.
//
// The order of a reduction depends on its shape and axes alone, not on vectors, threads, strides or
// on what is fused with it. Neighbouring reduced axes count as one, in row-major order. The last of
// these is cut into blocks of 2048 elements. In a block, element r belongs to lane r % 64; a lane
// is reduced in order, then lanes l and l + 32 are combined, l and l + 16, and so on down to one
// (tree reduction). 64 blocks are combined in order, then the results of these, over all further
// reduced axes. So a million numbers are added in chains of about a hundred, which keeps sums
// accurate. If every order gives the same result (max, any, integer sums) there is one plain loop,
// which LLVM vectorises.
#pragma once
#include "Lowering/kernels/Combine.h"
#include <functional>

namespace mx::lowering {

/// Columns that are reduced interleaved.
constexpr int64_t kTile = 32;
/// Adjacent elements that are reduced interleaved, one in each lane.
constexpr int64_t kLanes = 64;

class Sweep {
public:
  /// At the top of the function: checks that there are elements where there must be, and allocates
  /// partial results. `tiled`: if the innermost axis is kept, several of its columns are reduced
  /// interleaved.
  Sweep(KernelEmitter &e, Evaluator &evaluator, ArrayRef<mlir::Operation *> ops, bool tiled);

  SmallVector<Value> sizes;   ///< of the space
  SmallVector<unsigned> kept; ///< axes, without the tile
  bool hasTile = false;       ///< the last axis is the tile
  SmallVector<Value> indices; ///< index in the space; the caller sets the axes in `kept`

  /// Runs in each iteration of the innermost loop, before the elements at `indices` are computed;
  /// `r` is the number of the element among the last reduced axes.
  std::function<void(Value r)> before;

  /// Runs before each step of kLanes elements, of which `r` is the first; not if the order does not
  /// matter.
  std::function<void(Value r)> ahead;

  /// Reduces for one index of the kept axes, or, with a width, for the columns from `from` on.
  void run(Value from = {}, Value width = {});
  /// Binds the results in the evaluator, at the index of column t.
  void bindResults(Value t);
  /// Calls body with each column of the tile; with 0 without a tile.
  void eachColumn(Value width, llvm::function_ref<void(Value)> body);
  /// The index in the result of `op` of the element at `indices`.
  SmallVector<Value> resultIndices(mlir::Operation *op);

private:
  KernelEmitter &e;
  Evaluator &evaluator;
  TensorType x;
  SmallVector<Combiner> combiners;
  SmallVector<Slots> lanes, parts, totals; ///< of a block, of 64 blocks, of all
  SmallVector<SmallVector<unsigned>> runs; ///< reduced axes, neighbours merged
  Value isEmpty;

  void classifyAxes(ArrayRef<int64_t> axes, bool tiled);
  void runFew(int64_t count, Value from, Value width);
  void reduceInAnyOrder();
  void reduceRun(Value linear, Value from, Value width);
  void reduceBlock(Value linear, Value block, Value count, Value from, Value width);
  Partial reduceLanes(Combiner &c, const Slots &lane);
  Value runSize(ArrayRef<unsigned> run);
  void setRun(ArrayRef<unsigned> run, Value r);
  Value slot(Value lane, Value column, bool tiled);
};

} // namespace mx::lowering
