// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// jvp and vmap: transformations of a function value. The function must be known at compile time;
// its body is differentiated or looped over like any other code.
#include "IRGen/Compose.h"
#include "dialects/mx/Marks.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

/// The closure passed as the argument `f`.
ir::ClosureOp Composer::given(const Call &call) {
  const Expr *argument = e.argument(call, "f");
  mlir::Value f = argument ? e.emit(argument) : mlir::Value();
  auto closure = f ? f.getDefiningOp<ir::ClosureOp>() : ir::ClosureOp();
  if (f && !closure)
    fail(call, "`" + call.name.str() + "` of a function that is only known when it runs");
  return closure;
}

/// The value and its directional derivative at x along v: forward-mode autodiff.
mlir::Value Composer::jvp(const Call &call) {
  ir::ClosureOp f = given(call);
  mlir::Value x = operand(call, "x"), v = operand(call, "v");
  if (!f || !x || !v)
    return {};
  const Type *type = e.concrete(call.info->result ? call.info->result : call.whole->checked->type);
  auto pair = mlir::cast<ir::AggregateType>(e.convert(type));
  SmallVector<mlir::Value> args(f.getCaptured());
  auto position = static_cast<int64_t>(args.size());
  args.push_back(x);
  args.push_back(v);
  auto op = e.create<ir::GradOp>(TypeRange(pair.getParts()), f.getCallee(), args,
                                 ArrayRef<int64_t>(position), f.getSizes());
  op->setAttr(ir::kForward, e.builder.getUnitAttr());
  return e.create<ir::MakeOp>(pair, op.getResults());
}

/// Applies the function to each entry of the first axis, one after the other.
mlir::Value Composer::vmap(const Call &call) {
  ir::ClosureOp f = given(call);
  mlir::Value x = operand(call, "x");
  if (!f || !x)
    return {};
  const Type *type = e.concrete(call.info->result ? call.info->result : call.whole->checked->type);
  auto result = mlir::cast<ir::TensorType>(e.convert(type));
  auto whole = [&](size_t rank) {
    SmallVector<StringRef> spec(rank, ":");
    spec[0] = "i";
    return e.builder.getStrArrayAttr(spec);
  };
  mlir::Value out = full(result.getElement(), 0, result.getSizes());
  out.getDefiningOp()->setAttr(ir::kScratch, e.builder.getUnitAttr());
  auto loop =
      e.create<ir::ForOp>(TypeRange(result), integer(0), number(sizesOf(x)[0]), ValueRange(out));
  OpBuilder::InsertionGuard guard(e.builder);
  mlir::Block *block = e.builder.createBlock(&loop.getBody());
  mlir::Value iteration = block->addArgument(integer(0).getType(), e.builder.getLoc());
  mlir::Value so = block->addArgument(result, e.builder.getLoc());
  ir::TensorType entry = e.tensor(x).withSizes(e.tensor(x).getSizes().drop_front());
  SmallVector<mlir::Value> args(f.getCaptured());
  args.push_back(e.create<ir::SliceOp>(entry, x, ValueRange{iteration}, whole(rankOf(x))));
  ir::TensorType one = result.withSizes(result.getSizes().drop_front());
  mlir::Value y =
      e.create<ir::CallOp>(TypeRange(one), f.getCallee(), args, f.getSizes()).getResult(0);
  y = e.create<ir::UpdateOp>(result, so, y, ValueRange{iteration}, whole(result.rank()));
  e.create<ir::YieldOp>(y);
  return loop.getResult(0);
}

} // namespace mx::irgen
