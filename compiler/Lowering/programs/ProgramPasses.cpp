// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two lowerings as passes over a module, for mxc-opt.
#include "Lowering/Programs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace mx::lowering {
namespace {

struct MxToMxrt : PassWrapper<MxToMxrt, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MxToMxrt)
  StringRef getArgument() const override { return "mx-to-mxrt"; }
  StringRef getDescription() const override {
    return "graphs whose work is in kernels become programs and their kernels";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<rt::MxrtDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  }
  void runOnOperation() override {
    for (auto graph : llvm::make_early_inc_range(getOperation().getOps<ir::GraphOp>())) {
      if (failed(lowerToMxrt(graph, getOperation())))
        return signalPassFailure();
      graph.erase();
    }
  }
};

struct MxrtToLLVM : PassWrapper<MxrtToLLVM, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MxrtToLLVM)
  StringRef getArgument() const override { return "mxrt-to-llvm"; }
  StringRef getDescription() const override {
    return "programs become functions of the LLVM dialect; their kernels are only declared";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, cf::ControlFlowDialect, arith::ArithDialect,
                    math::MathDialect, scf::SCFDialect>();
  }
  /// The code of one program is a module of its own; here each replaces its program.
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto program : llvm::make_early_inc_range(module.getOps<rt::ProgramOp>())) {
      ProgramInfo info;
      OwningOpRef<ModuleOp> code = lowerProgram(program, info);
      if (!code)
        return signalPassFailure();
      OpBuilder(program).insert(code.release());
      program.erase();
    }
    for (auto kernel : llvm::make_early_inc_range(module.getOps<rt::KernelOp>()))
      kernel.erase();
  }
};

} // namespace

void registerProgramPasses() {
  PassRegistration<MxToMxrt>();
  PassRegistration<MxrtToLLVM>();
}

} // namespace mx::lowering
