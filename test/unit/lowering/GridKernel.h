// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A second frame, for tests of the interface between kernels and targets. It generates code for a
// grid, as on a GPU: without a context or runtime functions. All blocks of the grid run the same
// code,
//
//   void k(void *const *buffers, const int64_t *sizes, int64_t block, int64_t blocks, Failure
//   *failure)
//
// parallel nests are grid-stride loops, and a failure is recorded.
#pragma once
#include "Lowering/kernels/EmitKernel.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

namespace mx::lowering {

/// What a grid records of a failure; the last writer wins. 0: nothing failed.
using Failure = int32_t;

class GridKernel final : public KernelEmitter {
public:
  GridKernel(ir::KernelOp kernel, StringRef name, const KernelOptions &options,
             mlir::ModuleOp module)
      : KernelEmitter(kernel, options, module) {
    mlir::Type number = b.getI64Type(), none = mlir::LLVM::LLVMVoidType::get(b.getContext());
    auto type =
        mlir::LLVM::LLVMFunctionType::get(none, {pointer(), pointer(), number, number, pointer()});
    auto made = mlir::LLVM::LLVMFuncOp::create(b, name, type);
    begin(made);
  }

  mlir::LogicalResult emitGroup(const OutputGroup &group) override {
    switch (kernel.kind()) {
    case ir::KernelKind::Elementwise:
    case ir::KernelKind::Gather:
      return emitPointwise(*this, group);
    case ir::KernelKind::Reduce:
      return emitReduce(*this, group);
    case ir::KernelKind::Rows:
      return emitRows(*this, group);
    default:
      return kernel.emitOpError() << "of the kind " << stringifyKernelKind(kernel.kind())
                                  << " has no emitter for grids";
    }
  }

  /// Block n computes the iterations n, n + blocks, …; without a front axis, block 0 does.
  void parallelFor(ArrayRef<Value> sizes, Value, llvm::function_ref<void(Indices)> body,
                   size_t front) override {
    front = std::min(front, sizes.size());
    Value count = number(1);
    for (Value size : sizes.take_front(front))
      count = mul(count, size);
    auto loop = mlir::scf::ForOp::create(b, entry->getArgument(2), count, entry->getArgument(3));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> at(front);
    Value rest = loop.getInductionVar();
    for (size_t axis = front; axis-- > 0;) {
      Value whole = mlir::arith::DivUIOp::create(b, rest, sizes[axis]);
      at[axis] = sub(rest, mul(whole, sizes[axis]));
      rest = whole;
    }
    nest(sizes.drop_front(front), [&](Indices inner) {
      SmallVector<Value> indices(at);
      llvm::append_range(indices, inner);
      body(indices);
    });
  }

  void failIf(Value condition, Code code, ArrayRef<MessagePart>) override {
    mlir::Block *from = b.getInsertionBlock();
    mlir::Region &body = function.getBody();
    mlir::Block *failing = b.createBlock(&body, body.end());
    record(code);
    mlir::LLVM::ReturnOp::create(b, mlir::ValueRange());
    mlir::Block *onward = b.createBlock(&body, body.end());
    b.setInsertionPointToEnd(from);
    mlir::cf::CondBranchOp::create(b, condition, failing, mlir::ValueRange(), onward,
                                   mlir::ValueRange());
    b.setInsertionPointToEnd(onward);
  }
  void noteFault(mlir::Operation *, Value condition, Code code, StringRef) override {
    when(condition, [&] { record(code); });
  }
  void finish() override { mlir::LLVM::ReturnOp::create(b, mlir::ValueRange()); }

protected:
  Value bufferArgument(unsigned index) override {
    return element(entry->getArgument(0), pointer(), index);
  }
  Value sizeArgument(int64_t index) override {
    return element(entry->getArgument(1), b.getI64Type(), index);
  }

private:
  Value element(Value array, mlir::Type type, int64_t index) {
    Value address = mlir::LLVM::GEPOp::create(
        b, pointer(), type, array, ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(index)});
    return mlir::LLVM::LoadOp::create(b, type, address);
  }
  void record(Code code) {
    Value value = constantOf(b.getI32Type(), static_cast<int32_t>(code));
    mlir::LLVM::StoreOp::create(b, value, entry->getArgument(4));
  }
};

} // namespace mx::lowering
