// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: what the turns of a loop add to gradients of values from outside of it. A
// turn that reads a place of its own writes its gradient there. The gradient of a matrix that each
// turn multiplies with is a sum of products, one for each turn; where both factors of all turns
// are in memory after the loop, it is one product.
#include "Graph/Adjoints.h"

using namespace mlir;

namespace mx::graph {

/// Whether a number in `back` is the turn of the first run that is undone (turnOf), counted from 0.
static bool isTurnOf(Value number, ir::ForOp back) {
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

/// The axis along which the op names the place of the turn, if it takes all of the others.
static std::optional<size_t> ownAxis(ArrayAttr spec, ValueRange at, ir::ForOp back) {
  std::optional<size_t> axis;
  for (auto [i, entry] : llvm::enumerate(spec.getAsRange<StringAttr>())) {
    if (entry == ":")
      continue;
    if (entry != "i" || axis)
      return std::nullopt;
    axis = i;
  }
  return axis && at.size() == 1 && isTurnOf(at[0], back) ? axis : std::nullopt;
}

/// A gradient that is zero before the loop, and of which each turn changes a place of its own: what
/// is added to it is written instead.
static void writeOwnPlace(BlockArgument sum, Value yielded, ir::ForOp back) {
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

/// Of each captured value, the product that is the sum of what turns would add to its gradient;
/// null if there is none. Then no turn adds to it any more.
SmallVector<Value> Reverse::productsOfTurns(ir::ForOp back, unsigned first,
                                            ArrayRef<Adjoint> before) {
  Block &block = back.getBody().front();
  Operation *yield = block.getTerminator();
  SmallVector<Value> out(before.size());
  auto sumOf = [&](size_t k) { return block.getArgument(1 + first + static_cast<unsigned>(k)); };
  for (size_t k = 0; k < before.size(); ++k)
    if (before[k].isZero())
      writeOwnPlace(sumOf(k), yield->getOperand(first + static_cast<unsigned>(k)), back);
  dropUnused(block);
  /// The loop's result with the value of each turn in it, and the axis of the turns.
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
    auto product = add->getOperand(1).getDefiningOp<ir::MatmulOp>();
    auto turned = product ? product.getX().getDefiningOp<ir::TransposeOp>() : ir::TransposeOp();
    if (!turned || !product->hasOneUse() || product.getType() != sumOf(k).getType() ||
        turned.getOrder() != ArrayRef<int64_t>{1, 0})
      continue;
    auto kept = turned.getX().getDefiningOp<ir::SliceOp>();
    bool isKept = kept && kept.getX().getParentBlock() != &block &&
                  ownAxis(kept.getSpec(), kept.getAt(), back) == 0;
    auto [written, axis] = isKept ? writtenOf(product.getY()) : std::pair<Value, size_t>();
    // Some places of a longer tensor are of no turn.
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
    out[k] = make<ir::MatmulOp>(product.getType(), across, right);
    yield->setOperand(slot, sumOf(k));
  }
  dropUnused(block);
  return out;
}

} // namespace mx::graph
