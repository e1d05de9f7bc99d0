// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: contributions of loop iterations to gradients of captured values. An
// iteration that reads its own slice writes the gradient of that slice. The gradient of a matrix
// that each iteration multiplies with is a sum of matmuls, one per iteration. If both factors of
// all iterations are in memory after the loop, it becomes one GEMM over a longer K dimension.
#include "Graph/Adjoints.h"

using namespace mlir;

namespace mx::graph {

/// Whether an index in `back` is the reversed iteration of the forward loop (iterationOf), counted
/// from 0.
static bool isIterationOf(Value number, ir::ForOp back) {
  auto minus = number.getDefiningOp<ir::SubOp>();
  if (!minus || constantInt(back.getFrom()) != 0 ||
      minus->getOperand(1) != back.getBody().front().getArgument(0))
    return false;
  Value last = minus->getOperand(0);
  if (std::optional<int64_t> end = constantInt(back.getTo()))
    if (std::optional<int64_t> known = constantInt(last))
      return *known == *end - 1;
  auto before = last.getDefiningOp<ir::SubOp>();
  return before && before->getOperand(0) == back.getTo() && constantInt(before->getOperand(1)) == 1;
}

/// The axis that the op indexes with the iteration number, if it takes the whole of all other axes.
static std::optional<size_t> ownAxis(ArrayAttr spec, ValueRange at, ir::ForOp back) {
  std::optional<size_t> axis;
  for (auto [i, entry] : llvm::enumerate(spec.getAsRange<StringAttr>())) {
    if (entry == ":")
      continue;
    if (entry != "i" || axis)
      return std::nullopt;
    axis = i;
  }
  return axis && at.size() == 1 && isIterationOf(at[0], back) ? axis : std::nullopt;
}

/// A gradient that is zero before the loop, of which each iteration updates its own slice: stores
/// instead of accumulating.
static void writeOwnRegion(BlockArgument sum, Value yielded, ir::ForOp back) {
  auto update = yielded.getDefiningOp<ir::UpdateOp>();
  auto add = update ? update.getValue().getDefiningOp<ir::AddOp>() : ir::AddOp();
  auto slice = add ? add->getOperand(0).getDefiningOp<ir::SliceOp>() : ir::SliceOp();
  bool fits = slice && update.getX() == sum && slice.getX() == sum && slice->hasOneUse() &&
              add->hasOneUse() && llvm::range_size(sum.getUses()) == 2 &&
              slice.getSpec() == update.getSpec() && slice.getAt() == update.getAt() &&
              add->getOperand(1).getType() == slice.getType() &&
              ownAxis(update.getSpec(), update.getAt(), back);
  if (fits)
    update.getValueMutable().assign(add->getOperand(1));
}

/// For each captured value, the one matmul that equals the sum of the iterations' contributions to
/// its gradient; null if there is none. Then no iteration adds to it any more.
SmallVector<Value> Reverse::matmulsOfIterations(ir::ForOp back, unsigned first,
                                                ArrayRef<Adjoint> before) {
  Block &block = back.getBody().front();
  Operation *yield = block.getTerminator();
  SmallVector<Value> out(before.size());
  auto sumOf = [&](size_t k) { return block.getArgument(1 + first + static_cast<unsigned>(k)); };
  for (size_t k = 0; k < before.size(); ++k)
    if (before[k].isZero())
      writeOwnRegion(sumOf(k), yield->getOperand(first + static_cast<unsigned>(k)), back);
  dropUnused(block);
  /// The loop's result that stacks the value of each iteration, and the axis of the iterations.
  auto writtenOf = [&](Value value) -> std::pair<Value, size_t> {
    for (size_t k = 0; k < before.size(); ++k) {
      unsigned slot = first + static_cast<unsigned>(k);
      auto update = yield->getOperand(slot).getDefiningOp<ir::UpdateOp>();
      if (!update || !before[k].isZero() || update.getX() != sumOf(k) || !sumOf(k).hasOneUse() ||
          update.getValue() != value)
        continue;
      if (std::optional<size_t> axis = ownAxis(update.getSpec(), update.getAt(), back))
        return {back.getResult(slot), *axis};
    }
    return {};
  };
  auto matrix = [&](Value stack) {
    ArrayRef<ir::SizeAttr> sizes = typeOf(stack).getSizes();
    return make<ir::ReshapeOp>(typeOf(stack).withSizes({sizes[0].times(sizes[1]), sizes[2]}),
                               stack);
  };
  for (size_t k = 0; k < before.size(); ++k) {
    unsigned slot = first + static_cast<unsigned>(k);
    auto add = yield->getOperand(slot).getDefiningOp<ir::AddOp>();
    if (!add || !add->hasOneUse() || add->getOperand(0) != sumOf(k) || !sumOf(k).hasOneUse())
      continue;
    auto gemm = add->getOperand(1).getDefiningOp<ir::MatmulOp>();
    auto transposed = gemm ? gemm.getX().getDefiningOp<ir::TransposeOp>() : ir::TransposeOp();
    if (!transposed || !gemm->hasOneUse() || gemm.getType() != sumOf(k).getType() ||
        transposed.getOrder() != ArrayRef<int64_t>{1, 0})
      continue;
    auto kept = transposed.getX().getDefiningOp<ir::SliceOp>();
    bool isKept = kept && kept.getX().getParentBlock() != &block &&
                  ownAxis(kept.getSpec(), kept.getAt(), back) == 0;
    auto [written, axis] = isKept ? writtenOf(gemm.getY()) : std::pair<Value, size_t>();
    // Some slices of a longer tensor belong to no iteration.
    if (!written || axis > 1 ||
        typeOf(written).getSizes()[axis] != typeOf(kept.getX()).getSizes()[0])
      continue;
    Value factors = kept.getX();
    if (axis == 1) {
      ArrayRef<ir::SizeAttr> sizes = typeOf(factors).getSizes();
      factors = make<ir::TransposeOp>(typeOf(factors).withSizes({sizes[1], sizes[0], sizes[2]}),
                                      factors, b.getDenseI64ArrayAttr({1, 0, 2}));
    }
    Value left = matrix(factors), right = matrix(written);
    ArrayRef<ir::SizeAttr> sizes = typeOf(left).getSizes();
    Value across = make<ir::TransposeOp>(typeOf(left).withSizes({sizes[1], sizes[0]}), left,
                                         b.getDenseI64ArrayAttr({1, 0}));
    out[k] = make<ir::MatmulOp>(gemm.getType(), across, right);
    yield->setOperand(slot, sumOf(k));
  }
  dropUnused(block);
  return out;
}

} // namespace mx::graph
