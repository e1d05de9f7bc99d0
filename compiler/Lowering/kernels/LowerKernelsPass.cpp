// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--mx-lower-kernels`, for tests: each kernel of a module becomes an LLVM function, named after
// the function around it, which is removed.
#include "Lowering/kernels/KernelEmitter.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

struct LowerKernelsPass : PassWrapper<LowerKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerKernelsPass)

  LowerKernelsPass() = default;
  LowerKernelsPass(const LowerKernelsPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "mx-lower-kernels"; }
  StringRef getDescription() const override { return "kernels to functions of the LLVM dialect"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registerLoweringDialects(registry);
  }

  Option<bool> loops{*this, "loops", llvm::cl::desc("print the loops of each kernel first")};
  Option<bool> unchecked{*this, "unchecked", llvm::cl::desc("integers divided by 0 give 0")};
  Option<bool> fastMath{*this, "fast-math", llvm::cl::desc("sums may be reordered")};
  Option<unsigned> vectorBits{*this, "vector-bits", llvm::cl::init(TargetInfo().vectorBits),
                              llvm::cl::desc("the widest vectors of the target")};
  Option<std::string> bf16{
      *this, "bf16", llvm::cl::init("none"),
      llvm::cl::desc("instructions of bf16 matmul: amx, emulated-avx512bf16, …")};

  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation().walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    unsigned count = 0;
    for (KernelOp kernel : kernels) {
      std::string name = "kernel." + std::to_string(count++);
      if (auto symbol = kernel->getParentOfType<SymbolOpInterface>())
        name = symbol.getName().str();
      std::string text;
      KernelOptions options{unchecked, fastMath};
      options.target.vectorBits = vectorBits;
      std::optional<Bf16Unit> unit = Bf16Unit::parse(bf16.getValue());
      if (!unit)
        return signalPassFailure();
      options.target.bf16 = *unit;
      OwningOpRef<ModuleOp> lowered = lowerKernel(kernel, name, options, loops ? &text : nullptr);
      if (!lowered)
        return signalPassFailure();
      if (loops)
        llvm::outs() << text;
      Operation *around = kernel->getParentOfType<FunctionOpInterface>();
      Operation *before = around ? around : kernel.getOperation();
      // Each function keeps a module of its own: names of globals are only unique within it.
      before->getBlock()->getOperations().insert(before->getIterator(), lowered.release());
      before->erase();
    }
  }
};

} // namespace

void registerLowerKernelsPass() { PassRegistration<LowerKernelsPass>(); }

} // namespace mx::lowering
