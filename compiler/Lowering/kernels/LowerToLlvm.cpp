// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dialect conversion of scf, cf, arith and math to the LLVM dialect.
#include "Lowering/kernels/LowerToLlvm.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace mx::lowering {

void registerLoweringDialects(DialectRegistry &registry) {
  registry.insert<ir::MxDialect, arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                  math::MathDialect, scf::SCFDialect>();
}

void loadLoweringDialects(MLIRContext *context) {
  context->loadDialect<ir::MxDialect, arith::ArithDialect, cf::ControlFlowDialect,
                       LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
}

LogicalResult lowerToLlvm(ModuleOp module) {
  // Every type already is one of the LLVM dialect (KernelEmitter.h), so the conversions need no
  // order and run as one.
  MLIRContext *context = module.getContext();
  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect>();
  target.addLegalOp<ModuleOp>();
  // No rollback: an op that cannot be converted is an error, and the module is discarded.
  ConversionConfig config;
  config.allowPatternRollback = false;
  if (failed(applyFullConversion(module, target, std::move(patterns), config)))
    return failure();
  // The annotation of a loop ends up on its back edge, but under another name than the one that is
  // read there.
  module.walk([](LLVM::BrOp branch) {
    if (Attribute said = branch->removeDiscardableAttr(kLoopAnnotation))
      branch.setLoopAnnotationAttr(cast<LLVM::LoopAnnotationAttr>(said));
  });
  return success();
}

LogicalResult verifyAllocatesNothing(ModuleOp module) {
  static constexpr llvm::StringLiteral kAllocators[] = {
      "malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "free"};
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (llvm::is_contained(kAllocators, function.getName()))
      return function.emitError("a kernel allocates memory with ") << function.getName();
  return success();
}

} // namespace mx::lowering
