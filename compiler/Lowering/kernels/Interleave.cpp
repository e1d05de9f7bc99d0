// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SIMD interleaving: the number of vectors that a loop computes interleaved. LLVM chooses it for
// loops of few ops, and leaves others alone, as they keep a CPU busy. But a polynomial is a
// dependency chain in which each step waits for the previous one: with one vector after the other,
// the CPU sees too few independent ops at a time to hide the latency. And with 16 registers most
// coefficients are loaded for each use; interleaved vectors share these loads.
//
// Loops of few ops and few iterations are fully unrolled, with all of their vectors interleaved.
// That keeps lanes of sums in registers.
#include "Lowering/kernels/LowerToLlvm.h"
#include "Lowering/kernels/RareCases.h"
#include "Support/CodeMarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mx::lowering {
namespace {

/// Float ops from which on LLVM leaves a loop alone: about those of one exponential.
constexpr int64_t kManyOps = 16;
/// Interleaved vectors: for loops of many ops, and of few.
constexpr int64_t kInterleaved = 4, kMaxInterleaved = 8;
/// If the size is not a multiple of the interleaved step, there are so many steps that the
/// remainder is small.
constexpr int64_t kManySteps = 4;

/// Counts the float ops of a loop without loops, branches and calls in it; 0 for others.
int64_t countOps(scf::ForOp loop) {
  int64_t count = 0;
  for (Operation &op : *loop.getBody()) {
    if (op.getNumRegions() || (isa<LLVM::CallOp>(op) && !isRareCall(&op)))
      return 0;
    bool isArithmetic =
        isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) || isa<LLVM::FMAOp>(op);
    count += isArithmetic && op.getNumResults() == 1 && isa<FloatType>(op.getResult(0).getType()) &&
             !isa<arith::ConstantOp, arith::BitcastOp>(op);
  }
  return count;
}

} // namespace

void interleaveLoops(ModuleOp module, unsigned vectorBits) {
  Builder b(module.getContext());
  int64_t width = vectorBits / 32;
  module.walk([&](scf::ForOp loop) {
    int64_t ops = countOps(loop), together = kInterleaved;
    if (ops == 0 || getConstantIntValue(loop.getStep()) != 1)
      return;
    std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound()),
                           to = getConstantIntValue(loop.getUpperBound()), count;
    if (from && to)
      count = *to - *from;
    if (ops < kManyOps) {
      if (!count || *count % width != 0 || *count > kMaxInterleaved * width)
        return;
      together = *count / width;
    }
    auto isFine = [&] {
      int64_t step = together * width;
      return !count || *count % step == 0 || *count >= kManySteps * step;
    };
    while (together > 1 && !isFine())
      together /= 2;
    if (together <= 1)
      return;
    // The 16 registers then hold the vectors: a coefficient is loaded once for all of them.
    if (ops >= kManyOps && vectorBits < 512)
      loop->getParentOfType<LLVM::LLVMFuncOp>().setPassthroughAttr(
          b.getArrayAttr(b.getStringAttr(kLoadsConstants)));
    auto interleave = LLVM::LoopInterleaveAttr::get(b.getContext(), b.getI32IntegerAttr(together));
    loop->setDiscardableAttr(
        kLoopAnnotation, LLVM::LoopAnnotationAttr::get(b.getContext(), {}, {}, interleave, {}, {},
                                                       {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
  });
}

} // namespace mx::lowering
