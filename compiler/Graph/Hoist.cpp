// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hoist: loop-invariant code motion. Ops with the same result in every iteration run once, before
// the loop.
#include "Graph/FusionGroups.h"
#include "Graph/Passes.h"
#include "dialects/mx/Mx.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_HOIST
#include "Graph/Passes.h.inc"

namespace {

class Hoister {
public:
  explicit Hoister(Operation *loop) : loop(loop) {}

  void run() {
    for (Region &region : loop->getRegions())
      for (Operation &op : llvm::make_early_inc_range(region.front())) {
        if (!isInvariant(&op))
          continue;
        if (isWorthIt(&op))
          moveOut(&op);
        else
          stays.insert(&op);
      }
  }

private:
  Operation *loop;
  /// Invariant, but cheaper to recompute in every iteration than to keep in memory.
  llvm::SmallPtrSet<Operation *, 16> stays;

  bool isOutside(Value value) {
    return !loop->isProperAncestor(value.getParentBlock()->getParentOp()) &&
           value.getParentBlock()->getParentOp() != loop;
  }

  /// Pure ops cannot fail: a loop without iterations must not fail either.
  bool isInvariant(Operation *op) {
    if (!isPure(op) || op->hasTrait<OpTrait::IsTerminator>() || ir::isScratch(op))
      return false;
    auto isKnown = [&](Value value) {
      return isOutside(value) || (value.getDefiningOp() && stays.count(value.getDefiningOp()));
    };
    llvm::SetVector<Value> inner;
    getUsedValuesDefinedAbove(op->getRegions(), inner);
    return llvm::all_of(op->getOperands(), isKnown) && llvm::all_of(inner, isKnown);
  }

  /// Keeping a value costs memory for the whole loop and a read in every iteration. That does not
  /// apply to scalars. Hoisting pays if recomputation would read as many elements.
  bool isWorthIt(Operation *op) {
    if (FusionGroups::isCheapTensor(op) || op->hasTrait<OpTrait::ConstantLike>())
      return false;
    if (!op->hasTrait<ir::Elementwise>() || ir::isExpensive(op))
      return true;
    SmallVector<Value> read(op->getOperands());
    for (size_t i = 0; i < read.size(); ++i)
      if (Operation *cheap = read[i].getDefiningOp(); cheap && stays.count(cheap))
        llvm::append_range(read, cheap->getOperands());
    return llvm::any_of(read, [&](Value value) {
      return isOutside(value) && countOf(value) == countOf(op->getResult(0));
    });
  }

  /// The number of elements, as a constant factor and the symbolic sizes in order.
  static std::pair<int64_t, SmallVector<ir::SizeAttr>> countOf(Value value) {
    std::pair<int64_t, SmallVector<ir::SizeAttr>> out{1, {}};
    if (auto type = dyn_cast<ir::TensorType>(value.getType()))
      for (ir::SizeAttr size : type.getSizes()) {
        if (std::optional<int64_t> number = size.constant())
          out.first *= *number;
        else
          out.second.push_back(size);
      }
    return out;
  }

  /// Hoists the op together with copies of the cheap ops it reads.
  void moveOut(Operation *op) {
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used); // still above, because the op is in the loop
    op->moveBefore(loop);
    for (Value value : used)
      if (!isOutside(value)) {
        Value copy = copyOf(value, op);
        value.replaceUsesWithIf(copy,
                                [&](OpOperand &use) { return op->isAncestor(use.getOwner()); });
      }
  }
  Value copyOf(Value value, Operation *before) {
    Operation *op = value.getDefiningOp();
    IRMapping map;
    for (Value operand : op->getOperands())
      if (!isOutside(operand))
        map.map(operand, copyOf(operand, before));
    OpBuilder b(before);
    return b.clone(*op, map)->getResult(cast<OpResult>(value).getResultNumber());
  }
};

struct Hoist : impl::HoistBase<Hoist> {
  using Base::Base;

  void runOnOperation() override {
    // Inner loops first: ops hoisted out of them may leave the outer ones too.
    getOperation()->walk<WalkOrder::PostOrder>([](Operation *op) {
      if (isa<ir::ForOp, ir::WhileOp>(op))
        Hoister(op).run();
    });
  }
};

} // namespace
} // namespace mx::graph
