// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Routines on whole tensors: one call of the runtime's function of that name.
#include "Lowering/cpu/CpuKernel.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

/// The address of a dense input, or null.
Value addressOf(CpuKernel &e, Value input) {
  auto argument = dyn_cast<BlockArgument>(input);
  return argument && !e.isStrided(argument) ? e.input(argument).address : Value();
}

LogicalResult emitCall(CpuKernel &e, RoutineOp op, const Output &output) {
  Type pointer = e.pointer();
  e.b.setLoc(op.getLoc());
  auto parts = op.callSizes();
  Buffer sizes = e.scratch(e.b.getI64Type(), static_cast<int64_t>(parts.size()));
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value count = e.number(1);
    for (SizeAttr size : part)
      count = e.mul(count, e.size(size));
    e.store(sizes, e.number(static_cast<int64_t>(i)), count);
  }
  auto count = static_cast<int64_t>(op.getInputs().size());
  // Addresses are stored in an array of i64 words.
  Value inputs = e.scratch(e.b.getI64Type(), count).address;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    Value address = addressOf(e, input);
    if (!address)
      return op.emitOpError() << op.getKind() << " needs dense inputs";
    Value slot = LLVM::GEPOp::create(e.b, pointer, e.b.getI64Type(), inputs,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(e.b, address, slot);
  }
  // The runtime numbers element types as the compiler does.
  ElementType element = elementFromMlir(cast<TensorType>(op.getInputs()[0].getType()).getElement());
  Value type = e.constantOf(e.b.getI32Type(), static_cast<int>(element));
  e.failWith(
      e.call(("mxrt_" + op.getKind()).str(), {e.context, type, sizes.address, inputs,
                                              e.output(output.index).address, e.workspace()}));
  return success();
}

} // namespace

LogicalResult emitRoutine(CpuKernel &e, const OutputGroup &group) {
  Operation *source = group.sources[0];
  for (const Output &output : group.outputs) {
    if (output.value.getDefiningOp() != source)
      return source->emitOpError() << "must be the last op of its kernel";
    if (failed(emitCall(e, cast<RoutineOp>(source), output)))
      return failure();
  }
  return success();
}

} // namespace mx::lowering
