// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds a program from one graph: the buffer or register of each of its values.
#pragma once
#include "Lowering/Programs.h"
#include "Lowering/RuntimeFacts.h"
#include "llvm/ADT/MapVector.h"

namespace mx::lowering {

using KernelTable = llvm::StringMap<rt::KernelOp>;

/// Device tensors are in buffers, host numbers in registers. Each value has a buffer of its own, so
/// a buffer never changes while its value may be read: only buffers of loop-carried values are
/// rewritten, at the end of an iteration.
class ProgramBuilder {
public:
  ProgramBuilder(ir::GraphOp graph, mlir::ModuleOp into, KernelTable &kernels);
  mlir::LogicalResult run();

private:
  using Copies = llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>; ///< from, to

  ir::GraphOp graph;
  mlir::ModuleOp into;
  KernelTable &kernels;
  rt::ProgramOp program;
  rt::SizeBounds bounds;
  mlir::OpBuilder builder;
  /// Slices, slots and sizes are at the start of the program, before everything else.
  mlir::Operation *lastPlanned = nullptr;
  llvm::MapVector<mlir::StringAttr, int64_t> arenas;
  /// For each value of the graph: the buffer, or the host number.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Destinations of results that are not computed yet.
  llvm::DenseMap<mlir::Value, mlir::Value> destinations;
  /// Host numbers in memory, for kernels.
  llvm::DenseMap<mlir::Value, mlir::Value> slots;
  llvm::DenseMap<mlir::Attribute, mlir::Value> sizes;

  mlir::LogicalResult begin();
  mlir::LogicalResult end();

  // Memory.
  mlir::FailureOr<mlir::Value> slice(ir::TensorType type, mlir::Location loc);
  mlir::FailureOr<mlir::Value> destination(mlir::Value result);
  mlir::Value buffer(mlir::Value value, mlir::Location loc);
  mlir::Value number(mlir::Value value, mlir::Location loc);
  mlir::Value size(ir::SizeAttr size, mlir::Location loc);
  template <class Make> mlir::Value plan(Make make);
  mlir::LogicalResult copy(Copies copies, mlir::Location loc);

  // Ops.
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerKernel(ir::KernelOp op);
  mlir::LogicalResult lowerHost(mlir::Operation *op);
  mlir::LogicalResult lowerUndef(ir::UndefOp op);
  mlir::LogicalResult lowerMove(mlir::Operation *op);
  mlir::LogicalResult lowerAssert(ir::AssertOp op);
  mlir::LogicalResult lowerRaise(ir::RaiseOp op);
  mlir::FailureOr<rt::KernelOp> kernel(ir::KernelOp op);

  // Control flow (ProgramControl.cpp). A loop or `if` has a buffer for each device result and the
  // host numbers as values of the scf op.
  struct Joined {
    llvm::SmallVector<mlir::Value> buffers; ///< null for numbers
    llvm::SmallVector<mlir::Type> numberTypes;
  };
  mlir::LogicalResult lowerIf(ir::IfOp op);
  mlir::LogicalResult lowerFor(ir::ForOp op);
  mlir::LogicalResult lowerWhile(ir::WhileOp op);
  mlir::FailureOr<Joined> join(mlir::Operation *op);
  void bindResults(mlir::Operation *op, const Joined &joined, mlir::ValueRange numbers);
  mlir::LogicalResult enterLoop(mlir::Operation *op, mlir::ValueRange initial, const Joined &joined,
                                llvm::SmallVector<mlir::Value> &numbers);
  void bindCarried(llvm::ArrayRef<mlir::BlockArgument> arguments, const Joined &joined,
                   mlir::ValueRange numbers);
  void writeCarriedDirectly(mlir::Block &body, llvm::ArrayRef<mlir::BlockArgument> carried,
                            const Joined &joined);
  void writeDirectly(mlir::Block &block, mlir::ValueRange yielded,
                     llvm::ArrayRef<mlir::Value> buffers);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> leave(mlir::Block &block, const Joined &joined);
};

} // namespace mx::lowering
