// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of kernels for CPUs. The function has the C type of mxrt/kernel.h:
//
//   mxrt_status k(const mxrt_context *context, void *const *buffers, const int64_t *sizes)
//
// Loops are split with the runtime's parallel_for (ParallelFor.cpp); a failure is a status
// (CpuErrors.cpp).
#pragma once
#include "Lowering/kernels/EmitKernel.h"

namespace mx::lowering {

class CpuKernel final : public KernelEmitter {
public:
  CpuKernel(ir::KernelOp kernel, StringRef name, const KernelOptions &options,
            mlir::ModuleOp module);

  Value context; ///< the function's argument

  llvm::LogicalResult emitGroup(const OutputGroup &group) override;
  /// The first `front` axes, and more if these are short, are cut into chunks for parallel_for.
  void parallelFor(ArrayRef<Value> sizes, Value work, llvm::function_ref<void(Indices)> body,
                   size_t front = 1) override;
  void failIf(Value condition, Code code, ArrayRef<MessagePart> message) override;
  void noteFault(mlir::Operation *op, Value condition, Code code, StringRef message) override;
  void prefetch(const Buffer &buffer, Value offset, bool first, bool written) override;
  /// Then loops that are worth it are split for threads.
  void finish() override;

  /// Branches to one of two parts of the function, which may have parallel loops. Not inside loops;
  /// values that a part computes are not known after it.
  void fork(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  /// Returns a status from the function if it is not null. Not inside loops.
  void failWith(Value status);
  Value call(StringRef runtimeFunction, mlir::ValueRange arguments);

protected:
  Value bufferArgument(unsigned index) override;
  Value sizeArgument(int64_t index) override;

private:
  struct Fault {
    mlir::Operation *op;
    Value flag;
    Code code;
    std::string message;
  };
  /// A loop whose iterations may run in parallel.
  struct ParallelLoop {
    mlir::scf::ForOp loop;
    Value work; ///< of one iteration
  };
  SmallVector<Fault> faults;
  SmallVector<ParallelLoop> parallelLoops;

  /// The mxrt_location of the call.
  Value location();
  Value textGlobal(StringRef text);
  Value message(ArrayRef<MessagePart> parts);
  mlir::LLVM::LLVMFuncOp numberWriter();
  void outline(ParallelLoop &spread, Value grain);
  void outlineParallelLoops();
};

// The emitters of kernels that other frames do not share.
llvm::LogicalResult emitMatmul(CpuKernel &e, const OutputGroup &group);
llvm::LogicalResult emitConv(CpuKernel &e, const OutputGroup &group);
llvm::LogicalResult emitRandom(CpuKernel &e, const OutputGroup &group);
llvm::LogicalResult emitRoutine(CpuKernel &e, const OutputGroup &group);

} // namespace mx::lowering
