// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simplify patterns on slices and updates with known regions. Gradients of `split`, and of arrays
// of which each loop iteration reads one row, consist of these.
#include "Graph/Regions.h"
#include "Graph/SimplifyRegions.h"
#include "Graph/Sizes.h"
#include "dialects/mx/Marks.h"

using namespace mlir;

namespace mx::graph {
namespace {

/// A slice disjoint from an update reads the tensor before the update.
struct SliceBesideUpdate : OpRewritePattern<ir::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SliceOp op, PatternRewriter &rewriter) const override {
    auto update = op.getX().getDefiningOp<ir::UpdateOp>();
    std::optional<Part> wanted = update ? partOf(op) : std::nullopt;
    std::optional<Part> changed = wanted ? partOf(update) : std::nullopt;
    if (!changed || !areDisjoint(*wanted, *changed))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(update.getX()); });
    return success();
  }
};

struct SliceOfFull : OpRewritePattern<ir::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SliceOp op, PatternRewriter &rewriter) const override {
    auto full = op.getX().getDefiningOp<ir::FullOp>();
    if (!full || ir::isScratch(full) || !partOf(op))
      return failure();
    rewriter.replaceOpWithNewOp<ir::FullOp>(op, op.getType(), full.getValue());
    return success();
  }
};

/// A chain of updates that together cover the whole tensor becomes a concatenation.
struct UpdatesOfAll : OpRewritePattern<ir::UpdateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::UpdateOp last, PatternRewriter &rewriter) const override {
    // Starts at the last update: a chain is visited once.
    if (last->hasOneUse())
      if (auto next = dyn_cast<ir::UpdateOp>(*last->user_begin()); next && next.getX() == last)
        return failure();
    std::map<int64_t, std::pair<int64_t, Value>> parts; // by start: end and value
    std::optional<size_t> axis;
    std::optional<int64_t> size;
    int64_t covered = 0;
    for (ir::UpdateOp op = last; op; op = op.getX().getDefiningOp<ir::UpdateOp>()) {
      std::optional<Part> part = partOf(op);
      if (!part || (op != last && !op->hasOneUse()))
        return failure();
      SmallVector<ir::SizeAttr> sizes;
      std::optional<size_t> own;
      for (auto [i, span] : llvm::enumerate(*part)) {
        int64_t all = *last.getType().getSizes()[i].constant();
        sizes.push_back(ir::SizeAttr::get(getContext(), span.to - span.from));
        if (span.isOne || !span.isAll || (span.to - span.from != all && own))
          return failure();
        if (span.to - span.from != all)
          own = i;
      }
      if (!own || (axis && axis != own) ||
          op.getValue().getType() != last.getType().withSizes(sizes))
        return failure();
      axis = own;
      size = last.getType().getSizes()[*axis].constant();
      const Span &span = (*part)[*axis];
      auto after = parts.lower_bound(span.from);
      bool overlaps = (after != parts.end() && after->first < span.to) ||
                      (after != parts.begin() && std::prev(after)->second.first > span.from);
      if (overlaps || span.to == span.from)
        return failure();
      parts[span.from] = {span.to, op.getValue()};
      covered += span.to - span.from;
      if (covered == *size)
        break;
    }
    if (!size || covered != *size)
      return failure();
    SmallVector<Value> values;
    for (auto &[from, part] : parts)
      values.push_back(part.second);
    rewriter.replaceOpWithNewOp<ir::ConcatOp>(last, last.getType(), values,
                                              rewriter.getI64IntegerAttr(*axis));
    return success();
  }
};

/// Whether the index differs in all iterations: the induction variable, or a constant minus it.
bool isOwnOfIteration(Value number, Value iteration) {
  if (number == iteration)
    return true;
  auto minus = number.getDefiningOp<ir::SubOp>();
  return minus && minus->getOperand(1) == iteration && constantInt(minus->getOperand(0));
}

/// A loop-carried tensor that starts as one scalar everywhere, of which each iteration reads and
/// overwrites its own slice: the slice it reads is that scalar. If the iterations cover the whole
/// tensor, its initial value is never read and it becomes scratch memory.
struct OwnRegions : OpRewritePattern<ir::ForOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ForOp loop, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      changed |= visit(loop, i, rewriter);
    return success(changed);
  }

private:
  static bool visit(ir::ForOp loop, unsigned index, PatternRewriter &rewriter) {
    auto full = loop.getCarried()[index].getDefiningOp<ir::FullOp>();
    Block &body = loop.getBody().front();
    BlockArgument tensor = body.getArgument(index + 1);
    auto update = body.getTerminator()->getOperand(index).getDefiningOp<ir::UpdateOp>();
    if (!full || ir::isScratch(full) || !update || update.getX() != tensor)
      return false;
    std::optional<Part> part = partOf(update);
    if (!part || update.getAt().size() != 1 || update.getValue() == tensor ||
        !isOwnOfIteration(update.getAt()[0], body.getArgument(0)))
      return false;
    std::optional<size_t> axis;
    for (auto [i, span] : llvm::enumerate(*part))
      if (span.isOne)
        axis = i;
    if (!axis)
      return false;
    SmallVector<ir::SliceOp> slices;
    for (Operation *user : tensor.getUsers()) {
      if (user == update)
        continue;
      auto slice = dyn_cast<ir::SliceOp>(user);
      if (!slice || slice.getSpec() != update.getSpec() || slice.getAt() != update.getAt() ||
          !partOf(slice))
        return false;
      slices.push_back(slice);
    }
    for (ir::SliceOp slice : slices) {
      rewriter.setInsertionPoint(slice);
      rewriter.replaceOpWithNewOp<ir::FullOp>(slice, slice.getType(), full.getValue());
    }
    bool goesThroughAll = llvm::all_of(llvm::enumerate(*part), [&](auto entry) {
      return entry.value().from == 0 &&
             entry.value().to == *full.getType().getSizes()[entry.index()].constant();
    });
    auto from = constantInt(loop.getFrom()), to = constantInt(loop.getTo());
    if (goesThroughAll && from && to && *to - *from == (*part)[*axis].to) {
      rewriter.setInsertionPoint(loop);
      auto scratch = ir::FullOp::create(rewriter, full.getLoc(), full.getType(), full.getValue());
      scratch->setAttr(ir::kScratch, rewriter.getUnitAttr());
      rewriter.modifyOpInPlace(loop, [&] { loop.getCarriedMutable()[index].assign(scratch); });
      return true;
    }
    return !slices.empty();
  }
};

} // namespace

void addPartPatterns(RewritePatternSet &patterns) {
  patterns.add<SliceBesideUpdate, SliceOfFull, UpdatesOfAll, OwnRegions>(patterns.getContext());
}

} // namespace mx::graph
