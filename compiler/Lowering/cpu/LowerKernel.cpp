// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers one kernel from `mx` to the LLVM dialect, for CPUs.
#include "Lowering/cpu/CpuKernel.h"
#include "Lowering/kernels/LowerToLlvm.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {

OwningOpRef<ModuleOp> lowerKernel(KernelOp kernel, StringRef name, const KernelOptions &options,
                                  std::string *loopText) {
  MLIRContext *context = kernel.getContext();
  loadLoweringDialects(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  CpuKernel emitter(kernel, name, options, *module);
  if (failed(emitKernel(emitter)) || emitter.isBroken)
    return nullptr;
  interleaveLoops(*module, options.target.vectorBits);
  if (loopText) {
    llvm::raw_string_ostream out(*loopText);
    module->print(out);
  }
  if (failed(verify(*module)))
    return nullptr;
  expandHalfs(*module, options.target.hasHalf);
  if (failed(lowerToLlvm(*module)) || failed(verifyAllocatesNothing(*module)))
    return nullptr;
  return module;
}

} // namespace mx::lowering
