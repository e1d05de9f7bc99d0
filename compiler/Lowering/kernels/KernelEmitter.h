// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KernelEmitter, the base of the kernel emitters of all targets: values, buffers and sizes, memory
// accesses and loops. The code is scf over arith, math and accesses of the LLVM dialect; indices
// are i64 throughout, so that nothing needs another type later.
//
// A frame derives from it for each kind of target (cpu/CpuKernel.h). It has what differs: the
// function and its arguments, how loops are split among threads, how a failure is reported, and the
// emitters that are its own.
#pragma once
#include "Lowering/Kernels.h"
#include "Lowering/RuntimeFacts.h"
#include "dialects/mx/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mx::lowering {

using ir::TensorType; // not MLIR's own
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::Value;
using Indices = ArrayRef<Value>;

/// Memory that holds the elements of a tensor. The type of an element in memory differs from the
/// one in code only for bool.
struct Buffer {
  Value address;
  mlir::Type element; ///< of the tensor: i1, ui8, f16, …
  SmallVector<Value> strides;
  mlir::ArrayAttr scopes, others; ///< alias scopes it is in, and those it is not in
};

/// A part of a message: text, or a number known at run time.
struct MessagePart {
  MessagePart(const char *text) : text(text) {}
  MessagePart(std::string text) : text(std::move(text)) {}
  MessagePart(Value number) : number(number) {}
  std::string text;
  Value number;
};

struct OutputGroup;

class KernelEmitter {
public:
  virtual ~KernelEmitter() = default;

  ir::KernelOp kernel;
  const KernelOptions &options;
  const TargetInfo &target;
  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
  mlir::ImplicitLocOpBuilder b;
  bool isBroken = false; ///< an op could not be emitted, and an error was reported

  // ---- the frame
  /// Emits outputs that are computed from ops that are not pointwise (EmitKernel.h).
  virtual llvm::LogicalResult emitGroup(const OutputGroup &group) = 0;
  /// A nest whose iterations may run in parallel: none reads or writes what another one writes. At
  /// least the first `front` axes may be split. `work` is that of one iteration, in simple ops on
  /// an element.
  virtual void parallelFor(ArrayRef<Value> sizes, Value work,
                           llvm::function_ref<void(Indices)> body, size_t front = 1) = 0;
  /// Returns an error from the function if the condition holds. Not inside loops.
  virtual void failIf(Value condition, Code code, ArrayRef<MessagePart> message) = 0;
  /// Records that an element of `op` failed; the kernel then returns this error. Inside loops.
  virtual void noteFault(mlir::Operation *op, Value condition, Code code, StringRef message) = 0;
  /// Prefetches the line at an offset, which may be past the buffer's end, into L1 or L2, for
  /// reading or writing; may do nothing.
  virtual void prefetch(const Buffer &, Value, bool /*first*/, bool /*written*/) {}
  /// Reports recorded faults and returns.
  virtual void finish() = 0;

  // ---- values
  Value number(int64_t value);
  Value constant(mlir::Type type, mlir::Attribute value);
  Value constantOf(mlir::Type type, double value); ///< of any type of code
  Value size(ir::SizeAttr size);
  SmallVector<Value> sizesOf(ir::TensorType type);
  Value elementCount(ir::TensorType type);
  /// The value of a number that is known at compile time.
  static std::optional<int64_t> known(Value number);
  Value add(Value x, Value y);
  Value mul(Value x, Value y);
  Value sub(Value x, Value y);
  Value min(Value x, Value y);
  Value compare(mlir::arith::CmpIPredicate p, Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, p, x, y);
  }
  Value choose(Value condition, Value x, Value y) {
    return mlir::arith::SelectOp::create(b, condition, x, y);
  }
  /// x // y rounded down, i64. Nothing traps, but the result for 0 is not defined.
  Value floorDivide(Value x, Value y);
  /// Allowed fast-math flags. Two ops are never contracted to one: a result would then depend on
  /// what is fused with what (decision 10).
  mlir::arith::FastMathFlags fast() const;

  // ---- memory
  mlir::Type pointer() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  /// The type of an element in code: as in the tensor, without signs.
  mlir::Type codeType(mlir::Type element) const;
  mlir::Type memoryType(mlir::Type element) const;
  const Buffer &input(mlir::BlockArgument argument);
  /// Whether its strides are passed with the call; otherwise it is dense.
  bool isStrided(mlir::BlockArgument argument);
  const Buffer &output(unsigned index) const { return outputs[index]; }
  /// Its address, or null if the kernel has none.
  Value workspace();
  /// A dense constant, kept in a global.
  const Buffer &constantBuffer(ir::ConstantOp op);
  /// Numbers known at compile time, kept in a global.
  Buffer table(ArrayRef<int64_t> numbers);
  Value offset(const Buffer &buffer, Indices at);
  Value addressAt(const Buffer &buffer, Value offset);
  Value load(const Buffer &buffer, Indices at);
  void store(const Buffer &buffer, Indices at, Value value);
  /// Elements on the stack; `type` is a type of code.
  Buffer scratch(mlir::Type type, int64_t count);
  /// One variable on the stack, which mem2reg promotes to a value.
  Value variable(mlir::Type type, Value initial);
  Value read(Value variable, mlir::Type type);
  void write(Value variable, Value value);

  // ---- loops
  void loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body);
  /// A loop nest over the sizes, the last one innermost, in order.
  void nest(ArrayRef<Value> sizes, llvm::function_ref<void(Indices)> body);
  /// Cost of the kernel's pointwise ops for one element, in the unit of parallelFor().
  int64_t workOfElement();
  void when(Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = {});

protected:
  KernelEmitter(ir::KernelOp kernel, const KernelOptions &options, mlir::ModuleOp module)
      : kernel(kernel), options(options), target(options.target), module(module),
        b(kernel.getLoc(), mlir::OpBuilder::atBlockEnd(module.getBody())) {}
  /// Begins the body of `made`, whose arguments the next two functions read.
  void begin(mlir::LLVM::LLVMFuncOp made);
  /// The address of a buffer: of inputs, then of outputs, then the workspace.
  virtual Value bufferArgument(unsigned index) = 0;
  /// A size, then a stride of an input with strides of its own.
  virtual Value sizeArgument(int64_t index) = 0;

  mlir::Block *entry = nullptr; ///< values that the whole function uses; ends with a branch
  unsigned globalCount = 0;
  /// Calls `make` with the builder at the end of the entry block.
  template <class Make> auto inEntry(Make make) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(entry->getTerminator());
    return make();
  }

private:
  SmallVector<Buffer> inputs, outputs;
  llvm::DenseMap<mlir::Attribute, Value> sizeValues;
  llvm::DenseMap<int64_t, Value> numbers;
  llvm::DenseMap<mlir::Operation *, Buffer> globals;

  Value constantInMemory(mlir::DenseElementsAttr flat);
  void makeBuffers();
  Value sizeOf(Dim dim);
  Value floorDivideSizes(Value x, Value y);
  SmallVector<Value> denseStrides(ir::TensorType type);
};

} // namespace mx::lowering
