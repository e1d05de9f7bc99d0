// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simplify patterns on control flow: `mx.if`, `mx.for` and `mx.while`.
#include "Graph/SimplifyRegions.h"
#include "dialects/mx/Marks.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace mx::graph {
namespace {

/// Replaces an `if` with equal branches by their body.
struct EqualBranches : OpRewritePattern<ir::IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::IfOp op, PatternRewriter &rewriter) const override {
    if (!OperationEquivalence::isRegionEquivalentTo(&op.getThenRegion(), &op.getElseRegion(),
                                                    OperationEquivalence::IgnoreLocations))
      return failure();
    Block &block = op.getThenRegion().front();
    Operation *yield = block.getTerminator();
    SmallVector<Value> results(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&block, op);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Drops results that both branches yield alike, or that have no uses.
struct NeedlessResults : OpRewritePattern<ir::IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::IfOp op, PatternRewriter &rewriter) const override {
    Operation *yields[] = {op.getThenRegion().front().getTerminator(),
                           op.getElseRegion().front().getTerminator()};
    llvm::BitVector needless(op.getNumResults());
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      if (Value value = alike(op, yields[0]->getOperand(i), yields[1]->getOperand(i)))
        rewriter.replaceAllUsesWith(op.getResult(i), value);
      needless[i] = op.getResult(i).use_empty();
    }
    if (needless.none())
      return failure();
    SmallVector<Type> types;
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      if (!needless[i])
        types.push_back(op.getResult(i).getType());
    for (Operation *yield : yields)
      rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(needless); });
    auto fewer = ir::IfOp::create(rewriter, op.getLoc(), types, op.getCondition());
    for (auto [to, from] : llvm::zip_equal(fewer->getRegions(), op->getRegions()))
      rewriter.inlineRegionBefore(from, to, to.end());
    unsigned next = 0;
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      if (!needless[i])
        rewriter.replaceAllUsesWith(op.getResult(i), fewer.getResult(next++));
    rewriter.eraseOp(op);
    return success();
  }

  /// The value that both branches yield, if it is defined outside of them. An undefined value
  /// matches any other.
  static Value alike(ir::IfOp op, Value first, Value second) {
    if (first.getDefiningOp<ir::UndefOp>())
      std::swap(first, second);
    bool inside = op->isAncestor(first.getParentBlock()->getParentOp());
    if (!inside && (first == second || second.getDefiningOp<ir::UndefOp>()))
      return first;
    return {};
  }
};

/// The common interface of `for` and `while`.
struct Loop {
  Operation *op;
  OperandRange carried;
  unsigned offset; ///< of the first carried value among the arguments of a block

  explicit Loop(ir::ForOp loop) : op(loop), carried(loop.getCarried()), offset(1) {}
  explicit Loop(ir::WhileOp loop) : op(loop), carried(loop.getCarried()), offset(0) {}
  Operation *yield() const { return op->getRegions().back().front().getTerminator(); }
};

/// Liveness of carried values: those that reach a used result, an effect, a condition, or a live
/// carried value of the next iteration.
llvm::BitVector neededCarried(const Loop &loop) {
  unsigned count = loop.op->getNumResults();
  llvm::BitVector needed(count);
  llvm::DenseSet<Value> seen;
  SmallVector<Value> work;
  auto need = [&](unsigned i) {
    if (needed.test(i))
      return;
    needed.set(i);
    work.push_back(loop.yield()->getOperand(i));
  };
  auto needOperands = [&](Operation *op) {
    llvm::append_range(work, op->getOperands());
    SetVector<Value> inside;
    getUsedValuesDefinedAbove(op->getRegions(), inside);
    llvm::append_range(work, inside);
  };
  for (unsigned i = 0; i < count; ++i)
    if (!loop.op->getResult(i).use_empty())
      need(i);
  for (Region &region : loop.op->getRegions())
    for (Operation &op : region.front()) {
      bool isCondition = isa<ir::WhileOp>(loop.op) && region.getRegionNumber() == 0 &&
                         op.hasTrait<OpTrait::IsTerminator>();
      if (isCondition || (!op.hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(&op)))
        needOperands(&op);
    }
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner()->getParentOp() == loop.op && argument.getArgNumber() >= loop.offset)
        need(argument.getArgNumber() - loop.offset);
    } else if (loop.op->isProperAncestor(value.getDefiningOp())) {
      needOperands(value.getDefiningOp());
    }
  }
  return needed;
}

/// Dead carried values are passed through unchanged; then they need not be carried.
template <class LoopOp> struct UnneededCarried : OpRewritePattern<LoopOp> {
  using OpRewritePattern<LoopOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp op, PatternRewriter &rewriter) const override {
    Loop loop(op);
    llvm::BitVector needed = neededCarried(loop);
    Operation *yield = loop.yield();
    Block &body = op->getRegions().back().front();
    bool changed = false;
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      BlockArgument argument = body.getArgument(i + loop.offset);
      if (needed.test(i) || yield->getOperand(i) == argument)
        continue;
      rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(i, argument); });
      changed = true;
    }
    return success(changed);
  }
};

Operation *withCarried(ir::ForOp op, ValueRange carried, RewriterBase &rewriter) {
  return ir::ForOp::create(rewriter, op.getLoc(), carried.getTypes(), op.getFrom(), op.getTo(),
                           carried);
}
Operation *withCarried(ir::WhileOp op, ValueRange carried, RewriterBase &rewriter) {
  return ir::WhileOp::create(rewriter, op.getLoc(), carried.getTypes(), carried, op.getLimit());
}

template <class LoopOp> LogicalResult dropUnchanged(LoopOp op, RewriterBase &rewriter) {
  Loop loop(op);
  Operation *yield = loop.yield();
  Block &body = op->getRegions().back().front();
  unsigned count = op->getNumResults();
  llvm::BitVector unchanged(count);
  for (unsigned i = 0; i < count; ++i)
    unchanged[i] = yield->getOperand(i) == body.getArgument(i + loop.offset) ||
                   yield->getOperand(i) == loop.carried[i];
  if (unchanged.none())
    return failure();
  SmallVector<Value> carried, results(count);
  for (unsigned i = 0; i < count; ++i) {
    if (!unchanged[i]) {
      carried.push_back(loop.carried[i]);
      continue;
    }
    for (Region &region : op->getRegions())
      rewriter.replaceAllUsesWith(region.front().getArgument(i + loop.offset), loop.carried[i]);
    results[i] = loop.carried[i];
  }
  rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(unchanged); });
  Operation *fewer = withCarried(op, carried, rewriter);
  fewer->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [to, from] : llvm::zip_equal(fewer->getRegions(), op->getRegions())) {
    rewriter.inlineRegionBefore(from, to, to.end());
    for (unsigned i = count; i-- > 0;)
      if (unchanged[i])
        to.front().eraseArgument(i + loop.offset);
  }
  unsigned next = 0;
  for (unsigned i = 0; i < count; ++i)
    if (!unchanged[i])
      results[i] = fewer->getResult(next++);
  rewriter.replaceOp(op, results);
  return success();
}

/// Replaces a carried value that no iteration changes by its initial value.
template <class LoopOp> struct UnchangedCarried : OpRewritePattern<LoopOp> {
  using OpRewritePattern<LoopOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp op, PatternRewriter &rewriter) const override {
    return op->hasAttr(ir::kRecomputed) ? failure() : dropUnchanged(op, rewriter);
  }
};

} // namespace

void releaseUnchanged(ir::ForOp loop) {
  IRRewriter rewriter(loop);
  (void)dropUnchanged(loop, rewriter);
}

void addRegionPatterns(RewritePatternSet &patterns) {
  patterns
      .add<EqualBranches, NeedlessResults, UnneededCarried<ir::ForOp>, UnneededCarried<ir::WhileOp>,
           UnchangedCarried<ir::ForOp>, UnchangedCarried<ir::WhileOp>>(patterns.getContext());
  ir::IfOp::getCanonicalizationPatterns(patterns, patterns.getContext());
}

} // namespace mx::graph
