// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxc-opt: runs passes on textual IR, for tests and inspection.
#include "Bytecode/Bytecode.h"
#include "Graph/Passes.h"
#include "Lowering/Kernels.h"
#include "Lowering/Programs.h"
#include "Memory/Passes.h"
#include "dialects/mx/Mx.h"
#include "dialects/mxrt/Mxrt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry
      .insert<mx::ir::MxDialect, mx::rt::MxrtDialect, mlir::arith::ArithDialect,
              mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
              mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
              mlir::scf::SCFDialect, mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  mx::graph::registerGraphPasses();
  mx::memory::registerMemoryPasses();
  mx::lowering::registerLowerKernelsPass();
  mx::lowering::registerProgramPasses();
  mx::bytecode::registerBytecodePasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "mxc-opt - runs passes on the IR of mx\n", registry));
}
