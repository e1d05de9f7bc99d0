// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simplify patterns on gradients of tables (embeddings), which are scatters into zeros.
#include "Graph/SimplifyRegions.h"
#include "dialects/mx/Table.h"

using namespace mlir;

namespace mx::graph {
namespace {

/// The gradient of a table that is read twice is a scatter into a scatter. One scatter of both
/// concatenated indices adds in the same order, and stays sparse (decision 31).
struct ScatterOfScatter : OpRewritePattern<ir::ScatterAddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ScatterAddOp op, PatternRewriter &rewriter) const override {
    auto first = op.getX().getDefiningOp<ir::ScatterAddOp>();
    if (!first || !first->hasOneUse() || op.getAxis() != 0 ||
        first.getIndex().getType().getElement() != op.getIndex().getType().getElement())
      return failure();
    std::optional<int64_t> more = ir::countOf(op.getIndex().getType().getSizes());
    std::optional<ir::Table> table = more ? ir::tableOf(first, *more) : std::nullopt;
    if (!table)
      return failure();
    Location loc = rewriter.getFusedLoc({first.getLoc(), op.getLoc()});
    auto flat = [&](Value value, int64_t entries, ArrayRef<ir::SizeAttr> row) -> Value {
      auto type = cast<ir::TensorType>(value.getType());
      SmallVector<ir::SizeAttr> sizes{ir::SizeAttr::get(getContext(), entries)};
      sizes.append(row.begin(), row.end());
      ir::TensorType wanted = type.withSizes(sizes);
      return wanted == type ? value : ir::ReshapeOp::create(rewriter, loc, wanted, value);
    };
    auto join = [&](Value x, Value y, ArrayRef<ir::SizeAttr> row) -> Value {
      x = flat(x, table->entries - *more, row);
      y = flat(y, *more, row);
      SmallVector<ir::SizeAttr> sizes{ir::SizeAttr::get(getContext(), table->entries)};
      sizes.append(row.begin(), row.end());
      ir::TensorType type = cast<ir::TensorType>(x.getType()).withSizes(sizes);
      return ir::ConcatOp::create(rewriter, loc, type, ValueRange{x, y},
                                  rewriter.getI64IntegerAttr(0));
    };
    Value index = join(first.getIndex(), op.getIndex(), {});
    Value rows = join(first.getY(), op.getY(), op.getType().getSizes().drop_front());
    rewriter.replaceOpWithNewOp<ir::ScatterAddOp>(op, op.getType(), first.getX(), index, rows,
                                                  op.getAxisAttr());
    return success();
  }
};

} // namespace

void addTablePatterns(RewritePatternSet &patterns) {
  patterns.add<ScatterOfScatter>(patterns.getContext());
}

} // namespace mx::graph
