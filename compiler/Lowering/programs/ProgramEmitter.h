// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers one program to the LLVM dialect.
#pragma once
#include "Lowering/Programs.h"
#include "Lowering/RuntimeFacts.h"
#include "Lowering/RuntimeFunctions.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mx::lowering {

/// In steps: the body moves into the function; scf becomes blocks; mxrt ops become LLVM ops, each
/// that can fail at the end of a block of its own; arith and cf follow.
class ProgramEmitter {
public:
  ProgramEmitter(rt::ProgramOp program, mlir::ModuleOp module);
  mlir::LogicalResult run();
  /// The called kernels, each once, in order.
  llvm::ArrayRef<llvm::StringRef> kernels() const { return kernelNames; }

private:
  using Pointer = mlir::LLVM::LLVMPointerType;

  rt::ProgramOp program;
  mlir::ModuleOp module;
  mlir::ImplicitLocOpBuilder b;
  RuntimeFunctions runtime;
  Pointer pointer;
  mlir::LLVM::LLVMFuncOp function;
  mlir::Block *entry = nullptr;
  mlir::Block *failed = nullptr; ///< returns the status passed as its argument
  mlir::Value context, pointers, sizeValues;
  mlir::Value operands; ///< of a guarded call, two numbers each
  llvm::StringMap<mlir::Value> openSizes;
  llvm::DenseMap<mlir::Attribute, mlir::Value> arenas;
  /// Addresses are rematerialised at each use: thousands that live from the start of the function
  /// on would only be spilled.
  llvm::DenseMap<mlir::Value, unsigned> arguments;
  llvm::DenseMap<mlir::Value, mlir::Value> slots;
  llvm::StringMap<mlir::LLVM::GlobalOp> texts;
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> locations;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> kernelFunctions;
  llvm::SmallVector<llvm::StringRef> kernelNames;

  // MxrtToLLVM.cpp: the function and the lowering of its ops.
  void makeFunction();
  mlir::Block *moveBody();
  void checkSizes(mlir::Block *body);
  mlir::LogicalResult lowerScf();
  void lowerOps();
  mlir::LogicalResult lowerNumbers();
  void lower(mlir::Operation *op);
  void lowerCall(rt::CallOp op);
  mlir::LLVM::CallOp guardedCall(rt::CallOp op, mlir::LLVM::LLVMFuncOp code);
  mlir::Value bytesOf(rt::BufferType type);
  void lowerCopy(rt::CopyOp op);
  void lowerLoad(rt::LoadOp op);
  void lowerStore(rt::StoreOp op);
  void lowerFail(rt::FailOp op);
  void lowerPoll(rt::PollOp op);
  void lowerReady(rt::ReadyOp op);

  // EmitAddresses.cpp: numbers, addresses and constants.
  mlir::Value number(int64_t value);
  mlir::Value offset(mlir::Value base, int64_t bytes);
  mlir::Value element(mlir::Value base, mlir::Type type, int64_t index);
  mlir::Value loadElement(mlir::Value base, mlir::Type type, int64_t index);
  mlir::Value address(mlir::Value buffer);
  mlir::Value loadNumber(mlir::Value from, mlir::Type type);
  mlir::Value size(ir::SizeAttr size);
  mlir::Value sizeOf(Dim dim, const DimContext &dims);
  mlir::Value floorDivide(mlir::Value x, mlir::Value y);
  mlir::Value text(llvm::StringRef value);
  mlir::Value location(mlir::Location loc);
  mlir::Value stack(mlir::Type type, int64_t count);
  mlir::LLVM::LLVMFuncOp kernel(llvm::StringRef name);
  /// Ends the block; the ops after the insertion point go to a block that runs on success.
  void endOnError(mlir::Value status);
};

/// The file, line and column of a location, the innermost if it has several; null if it has none.
mlir::FileLineColRange sourceOf(mlir::Location loc);

} // namespace mx::lowering
