// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prepack: weight prepacking. A matrix that is the loop-invariant right-hand operand (B) of matmuls
// in a loop is packed into panels once, before the loop, so that the columns of a register tile are
// contiguous. Otherwise each matmul packs B itself (TiledMatmul.h).
#include "Graph/Passes.h"
#include "dialects/mx/Mx.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_PREPACK
#include "Graph/Passes.h.inc"

namespace {

bool isLoop(Operation *op) { return isa<ir::ForOp, ir::WhileOp>(op); }

/// The matrix that y is the transpose of; null if y is not a transpose.
Value transposedFrom(Value y) {
  auto transpose = y.getDefiningOp<ir::TransposeOp>();
  return transpose && transpose.getOrder() == ArrayRef<int64_t>{1, 0} ? transpose.getX() : Value();
}

/// The outermost loop around the op that the value is invariant in; null if it depends on the
/// iteration.
Operation *loopWithout(Value value, Operation *op) {
  Operation *found = nullptr;
  for (Operation *around = op->getParentOp(); around && !isa<ir::GraphOp>(around);
       around = around->getParentOp()) {
    if (around->isAncestor(value.getParentBlock()->getParentOp()))
      break;
    if (isLoop(around))
      found = around;
  }
  return found;
}

class Packer {
public:
  explicit Packer(const GemmInfo &gemm) : gemm(gemm) {}
  void visit(ir::MatmulOp op) {
    ir::TensorType x = op.getX().getType(), y = op.getY().getType();
    Value from = transposedFrom(op.getY());
    std::optional<int64_t> rows = x.rank() < 2 ? 1 : x.getSizes()[x.rank() - 2].constant();
    bool fits = !op.getPanels() && y.rank() == 2 && !y.isHost() &&
                (y.getElement().isF32() || y.getElement().isF64()) &&
                y.getSizes()[0].constant().value_or(0) > 0 &&
                y.getSizes()[1].constant().value_or(0) > 0 &&
                *y.getSizes()[1].constant() % gemm.prepackedColumns == 0 && rows;
    if (!fits || (!from && x.rank() == 2 && *rows <= gemm.fewRows))
      return;
    Operation *loop = loopWithout(from ? from : op.getY(), op);
    if (!loop)
      return;
    op.getYMutable().assign(panelsOf(from ? from : op.getY(), y, from != Value(), loop));
    op.setPanels(true);
  }

private:
  const GemmInfo &gemm;
  llvm::DenseMap<std::pair<Value, Operation *>, Value> made[2]; ///< [1]: of transposed matrices

  Value panelsOf(Value from, ir::TensorType y, bool isTransposed, Operation *loop) {
    Value &panels = made[isTransposed][{from, loop}];
    if (panels)
      return panels;
    OpBuilder b(loop);
    auto size = [&](int64_t number) { return ir::SizeAttr::get(b.getContext(), number); };
    ir::SizeAttr deep = y.getSizes()[0], wide = size(gemm.prepackedColumns),
                 count = size(*y.getSizes()[1].constant() / gemm.prepackedColumns);
    SmallVector<ir::SizeAttr> apart = isTransposed ? SmallVector<ir::SizeAttr>{count, wide, deep}
                                                   : SmallVector<ir::SizeAttr>{deep, count, wide};
    SmallVector<int64_t> order =
        isTransposed ? SmallVector<int64_t>{0, 2, 1} : SmallVector<int64_t>{1, 0, 2};
    Value parts = ir::ReshapeOp::create(b, loop->getLoc(), y.withSizes(apart), from);
    panels = ir::TransposeOp::create(b, loop->getLoc(), y.withSizes({count, deep, wide}), parts,
                                     b.getDenseI64ArrayAttr(order));
    return panels;
  }
};

struct Prepack : impl::PrepackBase<Prepack> {
  using Base::Base;
  explicit Prepack(const TargetInfo &target) : target(target) {}
  TargetInfo target;

  void runOnOperation() override {
    Packer packer(target.gemm);
    getOperation()->walk([&](ir::MatmulOp op) { packer.visit(op); });
  }
};

} // namespace

std::unique_ptr<Pass> createPrepack(const TargetInfo &target) {
  return std::make_unique<Prepack>(target);
}

} // namespace mx::graph
