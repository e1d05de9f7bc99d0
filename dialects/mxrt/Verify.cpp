// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers: invariants between types, buffers and the memory plan.
#include "dialects/mx/Over.h"
#include "dialects/mxrt/Marks.h"
#include "dialects/mxrt/Mxrt.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace mx::rt {

// ------------------------------------------------------------------------------ single ops

LogicalResult SliceOp::verify() {
  int64_t offset = static_cast<int64_t>(getOffset()), bytes = static_cast<int64_t>(getBytes());
  if (offset < 0 || bytes < 0)
    return emitOpError() << "has a negative offset or length";
  if (offset % kAlignment != 0)
    return emitOpError() << "begins at " << offset << ", which is not a multiple of " << kAlignment;
  if (getType().isHost())
    return emitOpError() << "is of an arena; the host has none";
  return success();
}
LogicalResult SlotOp::verify() {
  if (!getType().isHost())
    return emitOpError() << "is for numbers of the host, not for " << getType();
  return success();
}
static LogicalResult verifyNumber(Operation *op, BufferType buffer, Type number) {
  if (!buffer.isScalar())
    return op->emitOpError() << "is for buffers of rank 0, not for " << buffer;
  if (buffer.scalar() != number)
    return op->emitOpError() << number << " is not the number in " << buffer;
  return success();
}
LogicalResult LoadOp::verify() { return verifyNumber(*this, getBuffer().getType(), getType()); }
LogicalResult StoreOp::verify() {
  return verifyNumber(*this, getBuffer().getType(), getValue().getType());
}
LogicalResult CopyOp::verify() {
  BufferType from = getFrom().getType(), to = getTo().getType();
  if (from.getElement() != to.getElement() || from.getSizes() != to.getSizes())
    return emitOpError() << "copies " << from << " to " << to;
  if (getFrom() == getTo())
    return emitOpError() << "copies a buffer to itself";
  return success();
}
LogicalResult ReadyOp::verify() {
  auto output = dyn_cast<BlockArgument>(getBuffer());
  auto program = output ? dyn_cast<ProgramOp>(output.getOwner()->getParentOp()) : ProgramOp();
  if (!program || output.getArgNumber() < program.getInputs())
    return emitOpError() << "is of an output of the program";
  return success();
}
LogicalResult FailOp::verify() {
  if (static_cast<int32_t>(getCode()) <= 0)
    return emitOpError() << "has no code";
  return success();
}

LogicalResult CallOp::verify() {
  llvm::SmallPtrSet<Value, 8> written;
  for (Value buffer : getWrites()) {
    if (!written.insert(buffer).second)
      return emitOpError() << "writes one buffer twice, a " << buffer.getType();
  }
  return success();
}

// ------------------------------------------------------------------------------ kernels

LogicalResult KernelOp::verifyRegions() {
  ir::KernelOp inner = kernel();
  if (!inner || !llvm::hasSingleElement(getBody().front()))
    return emitOpError() << "holds one mx.kernel and nothing else";
  if (inner.getInputs() != getBody().getArguments())
    return emitOpError() << "its arguments are not the inputs of its mx.kernel, in order";
  return success();
}

static LogicalResult verifyBuffers(CallOp call, StringRef what, OperandRange buffers,
                                   ArrayRef<Type> tensors) {
  if (buffers.size() != tensors.size())
    return call.emitOpError() << what << " " << buffers.size() << " buffers, but the kernel has "
                              << tensors.size();
  for (auto [buffer, tensor] : llvm::zip(buffers, tensors))
    if (cast<BufferType>(buffer.getType()).getTensor() != tensor)
      return call.emitOpError() << what << " " << buffer.getType() << " where the kernel has "
                                << tensor;
  return success();
}
/// Whether the program's caller passes one address for this input and this output (a donated
/// input).
static bool isGivenUp(Value input, Value output) {
  auto from = dyn_cast<BlockArgument>(input), to = dyn_cast<BlockArgument>(output);
  auto program = from ? dyn_cast<ProgramOp>(from.getOwner()->getParentOp()) : ProgramOp();
  auto over =
      program ? program->getAttrOfType<DenseI64ArrayAttr>(kOverInputs) : DenseI64ArrayAttr();
  if (!over || !to || from.getOwner() != to.getOwner() || to.getArgNumber() < program.getInputs())
    return false;
  auto index = static_cast<int64_t>(to.getArgNumber() - program.getInputs());
  return index < over.size() && over[index] == static_cast<int64_t>(from.getArgNumber());
}
static bool isOneMemory(Value a, Value b) {
  auto first = a.getDefiningOp<SliceOp>(), second = b.getDefiningOp<SliceOp>();
  return a == b || isGivenUp(a, b) ||
         (first && second && first.getOffset() == second.getOffset() &&
          first.getType().getDevice() == second.getType().getDevice());
}

/// Reads and writes must not alias, except where the kernel's code has one address for both; there
/// they must.
static LogicalResult verifyTakenOver(CallOp call, ir::KernelOp kernel) {
  ArrayRef<int64_t> over = ir::writesOver(kernel);
  for (auto [w, written] : llvm::enumerate(call.getWrites())) {
    int64_t taken = w < over.size() ? over[w] : -1;
    for (auto [r, read] : llvm::enumerate(call.getReads())) {
      if (static_cast<int64_t>(r) == taken ? !isOneMemory(read, written) : read == written)
        return call.emitOpError() << (read == written
                                          ? "reads and writes one buffer, a "
                                          : "has two buffers where its kernel has one, a ")
                                  << written.getType();
    }
  }
  return success();
}

ir::TensorType workspaceType(ir::KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  auto byte = IntegerType::get(context, 8, IntegerType::Unsigned);
  auto type =
      ir::TensorType::get(context, byte, {ir::SizeAttr::get(context, kernel.getWorkspace())});
  return kernel.getOutputs().empty()
             ? type
             : type.onDevice(cast<ir::TensorType>(kernel.getOutputs()[0].getType()).getDevice());
}

static LogicalResult verifyCall(CallOp call, KernelOp kernel) {
  if (!kernel)
    return call.emitOpError() << "there is no kernel " << call.getKernelAttr();
  ir::KernelOp inner = kernel.kernel();
  if (!inner)
    return success(); // the kernel's own verifier reports it
  SmallVector<Type> outputs(inner.getOutputs().getTypes());
  if (inner.getWorkspace() > 0)
    outputs.push_back(workspaceType(inner));
  if (failed(verifyBuffers(call, "reads", call.getReads(),
                           SmallVector<Type>(inner.getInputs().getTypes()))) ||
      failed(verifyBuffers(call, "writes", call.getWrites(), outputs)))
    return failure();
  if (call.getSizes().size() != inner.getSizes().size())
    return call.emitOpError() << "gives " << call.getSizes().size() << " sizes to a kernel with "
                              << inner.getSizes().size();
  return verifyTakenOver(call, inner);
}

// ------------------------------------------------------------------------------ programs

/// Each slice lies in its arena and has room for its type. Which slices may share bytes depends on
/// their lifetimes: verify-plan of compiler/Memory proves that.
static LogicalResult verifyPlan(ProgramOp program, ArrayRef<SliceOp> slices) {
  llvm::MapVector<Attribute, int64_t> arenas;
  for (auto arena : program.getArenas().getAsRange<ArenaAttr>()) {
    if (arena.getBytes() < 0)
      return program.emitOpError() << "an arena has a negative length";
    if (!arenas.insert({arena.getDevice(), arena.getBytes()}).second)
      return program.emitOpError() << "has two arenas of " << arena.getDevice();
  }
  SizeBounds bounds = program.bounds();
  for (SliceOp slice : slices) {
    int64_t offset = slice.getOffset(), bytes = slice.getBytes();
    auto arena = arenas.find(slice.getType().getDevice());
    if (arena == arenas.end())
      return slice.emitOpError() << "there is no arena of " << slice.getType().getDevice();
    if (bytes > arena->second || offset > arena->second - bytes)
      return slice.emitOpError() << "ends behind its arena of " << arena->second << " bytes";
    std::optional<int64_t> needed = largestBytes(slice.getType().getTensor(), bounds);
    if (!needed)
      return slice.emitOpError() << "the size of " << slice.getType() << " has no bound";
    if (*needed > bytes)
      return slice.emitOpError() << "has " << bytes << " bytes, but " << slice.getType()
                                 << " needs " << *needed;
  }
  return success();
}

static LogicalResult verifyArguments(ProgramOp program) {
  if (static_cast<uint64_t>(program.getInputs()) > program.getBody().getNumArguments())
    return program.emitOpError() << "has fewer arguments than inputs";
  for (BlockArgument input : program.inputArguments())
    if (auto buffer = dyn_cast<BufferType>(input.getType());
        buffer ? buffer.isHost() : !input.getType().isIntOrFloat())
      return program.emitOpError()
             << "an input is a buffer of a device or a number, not " << input.getType();
  for (BlockArgument output : program.outputArguments())
    if (!isa<BufferType>(output.getType()))
      return program.emitOpError() << "an output is a buffer, not " << output.getType();
  llvm::SmallDenseSet<Attribute> names;
  for (auto open : program.getSizes().getAsRange<OpenAttr>())
    if (open.getBound() < 0 || !names.insert(open.getName()).second)
      return program.emitOpError()
             << "the size " << open.getName() << " is listed twice or has a negative bound";
  return success();
}

/// Nothing writes to inputs that the caller only lends.
static LogicalResult verifyWrites(ProgramOp program, Operation *op) {
  auto isInput = [&](Value buffer) {
    auto argument = dyn_cast<BlockArgument>(buffer);
    return argument && argument.getOwner() == &program.block() &&
           argument.getArgNumber() < program.getInputs();
  };
  SmallVector<Value> written;
  if (auto call = dyn_cast<CallOp>(op))
    llvm::append_range(written, call.getWrites());
  else if (auto copy = dyn_cast<CopyOp>(op))
    written.push_back(copy.getTo());
  else if (auto store = dyn_cast<StoreOp>(op))
    written.push_back(store.getBuffer());
  if (llvm::any_of(written, isInput))
    return op->emitOpError() << "writes to an input of the program";
  return success();
}

/// Kernels are siblings of the program, so this runs when the module is verified.
LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &symbols) {
  WalkResult walked = getBody().walk([&](CallOp call) -> WalkResult {
    return verifyCall(call, symbols.lookupNearestSymbolFrom<KernelOp>(*this, call.getKernelAttr()));
  });
  return failure(walked.wasInterrupted());
}

/// Outputs that alias an input have its type, and no input is aliased twice.
static LogicalResult verifyGivenUp(ProgramOp program) {
  auto over = program->getAttrOfType<DenseI64ArrayAttr>(kOverInputs);
  if (!over)
    return success();
  ArrayRef<BlockArgument> inputs = program.inputArguments(), outputs = program.outputArguments();
  if (static_cast<size_t>(over.size()) != outputs.size())
    return program.emitOpError() << "has " << outputs.size() << " outputs, but " << over.size()
                                 << " numbers in `" << kOverInputs << "`";
  llvm::SmallDenseSet<int64_t> seen;
  for (auto [output, input] : llvm::zip(outputs, over.asArrayRef()))
    if (input >= 0 && (static_cast<size_t>(input) >= inputs.size() ||
                       inputs[input].getType() != output.getType() || !seen.insert(input).second))
      return program.emitOpError() << "has an output in the memory of input " << input
                                   << ", which cannot be given up for it";
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  if (failed(verifyArguments(*this)) || failed(verifyGivenUp(*this)))
    return failure();
  SizeBounds bounds = this->bounds();
  SmallVector<SliceOp> slices;
  WalkResult walked = getBody().walk([&](Operation *op) -> WalkResult {
    if (auto slice = dyn_cast<SliceOp>(op)) {
      slices.push_back(slice);
      return WalkResult::advance();
    }
    if (auto size = dyn_cast<SizeOp>(op); size && !largest(size.getSize(), bounds))
      return (size.emitOpError() << "is of a name that the program does not list",
              WalkResult::interrupt());
    if (failed(verifyWrites(*this, op)))
      return WalkResult::interrupt();
    // A buffer passed through scf could be any of several: then the plan could not be verified.
    auto isBuffer = [](Type type) { return isa<BufferType>(type); };
    bool passes = !isa<SlotOp>(op) && llvm::any_of(op->getResultTypes(), isBuffer);
    for (Region &region : op->getRegions())
      passes |= llvm::any_of(region.getArgumentTypes(), isBuffer);
    if (passes)
      return (op->emitOpError() << "passes a buffer on; buffers are arguments, slices and slots",
              WalkResult::interrupt());
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted() || failed(verifyPlan(*this, slices)));
}

} // namespace mx::rt
