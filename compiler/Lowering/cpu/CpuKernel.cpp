// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of a kernel for CPUs, its arguments, and the emitter of each kind.
#include "Lowering/cpu/CpuKernel.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {

CpuKernel::CpuKernel(KernelOp kernel, StringRef name, const KernelOptions &options, ModuleOp module)
    : KernelEmitter(kernel, options, module) {
  auto type = LLVM::LLVMFunctionType::get(pointer(), {pointer(), pointer(), pointer()});
  auto made = LLVM::LLVMFuncOp::create(b, name, type);
  begin(made);
  context = entry->getArgument(0);
}

Value CpuKernel::bufferArgument(unsigned index) {
  Value buffers = entry->getArgument(1);
  Type pointer = buffers.getType();
  Value slot = LLVM::GEPOp::create(b, pointer, pointer, buffers,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  auto load = LLVM::LoadOp::create(b, pointer, slot, /*alignment=*/8);
  load.setInvariant(true);
  return load;
}

Value CpuKernel::sizeArgument(int64_t index) {
  Value sizes = entry->getArgument(2);
  Value address = LLVM::GEPOp::create(b, sizes.getType(), b.getI64Type(), sizes,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  auto load = LLVM::LoadOp::create(b, b.getI64Type(), address, /*alignment=*/8);
  load.setInvariant(true);
  return load;
}

void CpuKernel::prefetch(const Buffer &buffer, Value offset, bool first, bool written) {
  LLVM::Prefetch::create(b, addressAt(buffer, offset), /*rw=*/written, /*hint=*/first ? 3 : 2,
                         /*cache=*/1);
}

namespace {

/// The emitters, and what each promises about an output that has the memory of an input.
struct KindEmitter {
  KernelKind kind;
  InPlacePromise promise;
  LogicalResult (*emit)(CpuKernel &, const OutputGroup &);
};
/// An emitter that all frames share.
template <LogicalResult emit(KernelEmitter &, const OutputGroup &)>
LogicalResult shared(CpuKernel &e, const OutputGroup &group) {
  return emit(e, group);
}
constexpr InPlacePromise kNone{}, kByElement{.byElement = true}, kByRow{.byRow = true},
    kOfCopy{.ofCopy = true}, kOfCopyByElement{.byElement = true, .ofCopy = true};
constexpr KindEmitter kEmitters[] = {
    {KernelKind::Elementwise, kByElement, shared<emitPointwise>},
    {KernelKind::Gather, kNone, shared<emitPointwise>},
    {KernelKind::Reduce, kNone, shared<emitReduce>},
    {KernelKind::Rows, kByRow, shared<emitRows>},
    {KernelKind::Matmul, kByElement, emitMatmul},
    {KernelKind::Conv, kByElement, emitConv},
    {KernelKind::Scatter, kOfCopyByElement, shared<emitScatter>},
    {KernelKind::Move, kOfCopy, shared<emitMovement>},
    {KernelKind::Random, kNone, emitRandom},
    {KernelKind::Routine, kNone, emitRoutine},
};
static_assert(
    [] {
      for (uint32_t i = 0; i <= getMaxEnumValForKernelKind(); ++i)
        if (kEmitters[i].kind != static_cast<KernelKind>(i) ||
            kEmitters[i].promise != promiseOf(kEmitters[i].kind))
          return false;
      return std::size(kEmitters) == getMaxEnumValForKernelKind() + 1;
    }(),
    "an emitter and the dialect differ about what may be overwritten");

} // namespace

LogicalResult CpuKernel::emitGroup(const OutputGroup &group) {
  return kEmitters[static_cast<uint32_t>(kernel.kind())].emit(*this, group);
}

} // namespace mx::lowering
