// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MxrtToLLVM: lowers a program to a function of the LLVM dialect, with the type in Programs.h.
#include "Lowering/RuntimeFunctions.h"
#include "Lowering/programs/ProgramEmitter.h"
#include "dialects/mx/Over.h"
#include "dialects/mxrt/Marks.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mx::lowering {

static BufferInfo describe(Type type) {
  auto buffer = dyn_cast<rt::BufferType>(type);
  if (!buffer)
    return {type, {}, "host", /*host=*/true};
  return {buffer.getElement(), llvm::to_vector(buffer.getSizes()), buffer.getDevice().str(),
          buffer.isHost()};
}

OwningOpRef<ModuleOp> lowerProgram(rt::ProgramOp program, ProgramInfo &info) {
  MLIRContext *context = program.getContext();
  context->loadDialect<LLVM::LLVMDialect, cf::ControlFlowDialect, arith::ArithDialect,
                       math::MathDialect, scf::SCFDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(program.getLoc());
  ProgramEmitter emitter(program, *module);
  if (failed(emitter.run()))
    return {};
  info = {};
  info.entry = program.getSymName().str();
  for (BlockArgument input : program.inputArguments())
    info.inputs.push_back(describe(input.getType()));
  for (BlockArgument output : program.outputArguments())
    info.outputs.push_back(describe(output.getType()));
  for (auto open : program.getSizes().getAsRange<rt::OpenAttr>())
    info.sizes.push_back(open.getName().str());
  for (auto arena : program.getArenas().getAsRange<rt::ArenaAttr>())
    info.arenas.push_back({arena.getDevice().str(), arena.getBytes()});
  for (StringRef name : emitter.kernels())
    info.kernels.push_back(name.str());
  return module;
}

ProgramEmitter::ProgramEmitter(rt::ProgramOp program, ModuleOp module)
    : program(program), module(module), b(program.getLoc(), program.getContext()), runtime(module),
      pointer(LLVM::LLVMPointerType::get(program.getContext())) {}

LogicalResult ProgramEmitter::run() {
  makeFunction();
  checkSizes(moveBody());
  if (mlir::failed(lowerScf()))
    return failure();
  lowerOps();
  return lowerNumbers();
}

/// The entry block: the caller's arrays as values.
void ProgramEmitter::makeFunction() {
  b.setInsertionPointToEnd(module.getBody());
  function = LLVM::LLVMFuncOp::create(
      b, program.getSymName(),
      LLVM::LLVMFunctionType::get(pointer, {pointer, pointer, pointer, pointer}));
  entry = function.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);
  size_t maxBuffers = 0, maxSizes = 0;
  program.getBody().walk([&](rt::CallOp call) {
    maxBuffers = std::max(maxBuffers, call.getReads().size() + call.getWrites().size());
    maxSizes = std::max<size_t>(maxSizes, call.getSizes().size());
    if (kernelFunctions.try_emplace(call.getKernel()).second)
      kernelNames.push_back(call.getKernel());
  });
  // Kernels get a context of their own, in which the location changes from call to call.
  context = stack(b.getI8Type(), layout::mxrt_context::kBytes);
  pointers = stack(pointer, maxBuffers);
  sizeValues = stack(b.getI64Type(), maxSizes);
  if (program->hasAttr(rt::kGuarded))
    operands = stack(b.getI64Type(), 2 * (maxBuffers + 1));
  LLVM::MemcpyOp::create(b, context, function.getArgument(0), number(layout::mxrt_context::kBytes),
                         /*isVolatile=*/false);
  for (auto [index, open] : llvm::enumerate(program.getSizes().getAsRange<rt::OpenAttr>()))
    openSizes[open.getName().getValue()] =
        loadElement(function.getArgument(2), b.getI64Type(), index);
  for (auto [index, arena] : llvm::enumerate(program.getArenas().getAsRange<rt::ArenaAttr>()))
    arenas[arena.getDevice()] = loadElement(function.getArgument(3), pointer, index);

  failed = b.createBlock(&function.getBody(), {}, pointer, b.getLoc());
  LLVM::ReturnOp::create(b, failed->getArgument(0));
}

/// Clones the program's block after the entry.
Block *ProgramEmitter::moveBody() {
  IRMapping mapping;
  program.getBody().cloneInto(&function.getBody(), function.getBody().end(), mapping);
  Block *body = mapping.lookup(&program.block());
  body->moveBefore(failed);
  b.setInsertionPointToEnd(entry);
  for (auto [index, argument] : llvm::enumerate(program.getBody().getArguments())) {
    Value moved = mapping.lookup(argument);
    if (isa<rt::BufferType>(argument.getType())) {
      // Stands for the buffer until all its uses are addresses.
      Value stand = UnrealizedConversionCastOp::create(b, argument.getType(), context).getResult(0);
      moved.replaceAllUsesWith(stand);
      arguments[stand] = index;
      continue;
    }
    Value from = loadElement(function.getArgument(1), pointer, index);
    moved.replaceAllUsesWith(loadNumber(from, argument.getType()));
  }
  body->eraseArguments(0, body->getNumArguments());
  return body;
}

/// A size beyond its bound would write past the arena. Branches to the body.
void ProgramEmitter::checkSizes(Block *body) {
  b.setInsertionPointToEnd(entry);
  for (auto open : program.getSizes().getAsRange<rt::OpenAttr>()) {
    // Unsigned: a negative size is too large as well.
    Value outside = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ugt,
                                         openSizes.lookup(open.getName()), number(open.getBound()));
    std::string message =
        "the size " + open.getName().str() + " is not in 0 to " + std::to_string(open.getBound());
    rt::FailOp::create(b, outside, numberOf(Code::SHAPE), message);
  }
  LLVM::BrOp::create(b, ValueRange(), body);
}

LogicalResult ProgramEmitter::lowerScf() {
  RewritePatternSet patterns(b.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*b.getContext());
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(function, target, std::move(patterns));
}

/// From the end of each block to its start, so that splitting a block moves few ops.
void ProgramEmitter::lowerOps() {
  SmallVector<Operation *> ops;
  for (Block &block : function.getBody())
    for (Operation &op : llvm::reverse(block))
      if (isa<rt::SlotOp>(op))
        slots[op.getResult(0)] = stack(b.getI64Type(), 1);
      else if (isa<rt::MxrtDialect>(op.getDialect()))
        ops.push_back(&op);
  for (Operation *op : ops) {
    b.setLoc(op->getLoc());
    b.setInsertionPoint(op);
    lower(op);
  }
  // Ops that only stood for memory are unused now.
  SmallVector<Operation *> rest;
  function.walk([&](Operation *op) {
    if (isa<rt::SliceOp, rt::SlotOp, UnrealizedConversionCastOp>(op))
      rest.push_back(op);
  });
  for (Operation *op : rest)
    op->erase();
}

void ProgramEmitter::lower(Operation *op) {
  bool stays = false;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](rt::CallOp call) { lowerCall(call); })
      .Case([&](rt::CopyOp copy) { lowerCopy(copy); })
      .Case([&](rt::LoadOp load) { lowerLoad(load); })
      .Case([&](rt::StoreOp store) { lowerStore(store); })
      .Case([&](rt::ReadyOp ready) { lowerReady(ready); })
      .Case([&](rt::FailOp fail) { lowerFail(fail); })
      .Case([&](rt::PollOp poll) { lowerPoll(poll); })
      .Case([&](rt::SizeOp sizeOp) { sizeOp.replaceAllUsesWith(size(sizeOp.getSize())); })
      .Case([&](rt::ReturnOp) { LLVM::ReturnOp::create(b, LLVM::ZeroOp::create(b, pointer)); })
      .Default([&](Operation *) { stays = true; });
  if (!stays)
    op->erase();
}

/// `op` has been replaced by code that gives `status`; the program continues only if that is null.
void ProgramEmitter::endOnError(Value status) {
  Block *block = b.getInsertionBlock();
  Block *next = block->splitBlock(b.getInsertionPoint());
  b.setInsertionPointToEnd(block);
  Value null = LLVM::ZeroOp::create(b, pointer);
  Value isError = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, status, null);
  LLVM::CondBrOp::create(b, isError, failed, ValueRange{status}, next, ValueRange{});
}

void ProgramEmitter::lowerCall(rt::CallOp op) {
  int64_t count = 0;
  for (OperandRange buffers : {op.getReads(), op.getWrites()})
    for (Value buffer : buffers)
      LLVM::StoreOp::create(b, address(buffer), element(pointers, pointer, count++));
  for (auto [index, value] : llvm::enumerate(op.getSizes()))
    LLVM::StoreOp::create(b, value, element(sizeValues, b.getI64Type(), index));
  if (FileLineColRange source = sourceOf(op.getLoc())) {
    auto number = [&](unsigned n) -> Value {
      return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(n));
    };
    auto store = [&](Value part, int32_t at) {
      LLVM::StoreOp::create(b, part, offset(context, layout::mxrt_context::location + at));
    };
    store(text(source.getFilename()), layout::mxrt_location::file);
    store(number(source.getStartLine()), layout::mxrt_location::line);
    store(number(source.getStartColumn()), layout::mxrt_location::column);
  }
  LLVM::LLVMFuncOp code = kernel(op.getKernel());
  auto call = program->hasAttr(rt::kGuarded)
                  ? guardedCall(op, code)
                  : LLVM::CallOp::create(b, code, ValueRange{context, pointers, sizeValues});
  endOnError(call.getResult());
}

/// Calls through the runtime, which compares the arena before and after (mxrt/guard.h).
LLVM::CallOp ProgramEmitter::guardedCall(rt::CallOp op, LLVM::LLVMFuncOp code) {
  using namespace layout;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(program, op.getKernelAttr());
  ArrayRef<int64_t> over =
      kernel && kernel.kernel() ? ir::writesOver(kernel.kernel()) : ArrayRef<int64_t>();
  auto ends = op->getAttrOfType<DenseI64ArrayAttr>(rt::kEnds);
  SmallVector<Value> table;
  auto add = [&](Value buffer, int64_t flags) {
    auto type = cast<rt::BufferType>(buffer.getType());
    if (isa<FloatType>(type.getElement()))
      flags |= MXRT_GUARD_FLOATS +
               MXRT_GUARD_ELEMENT * elementInfo(ir::elementFromMlir(type.getElement())).bytes;
    table.push_back(bytesOf(type));
    table.push_back(number(flags));
  };
  for (auto [i, buffer] : llvm::enumerate(op.getReads())) {
    bool isLast = ends && llvm::is_contained(ends.asArrayRef(), static_cast<int64_t>(i)) &&
                  !llvm::is_contained(over, static_cast<int64_t>(i));
    add(buffer, MXRT_GUARD_READS | (isLast ? MXRT_GUARD_ENDS : 0));
  }
  for (auto [i, buffer] : llvm::enumerate(op.getWrites()))
    add(buffer, MXRT_GUARD_WRITES | (i < over.size() && over[i] >= 0 ? MXRT_GUARD_OVER : 0));
  table.append({number(-1), number(0)});
  for (auto [i, value] : llvm::enumerate(table))
    LLVM::StoreOp::create(b, value, element(operands, b.getI64Type(), i));
  Value arena = LLVM::ZeroOp::create(b, pointer), bytes = number(0);
  for (auto given : program.getArenas().getAsRange<rt::ArenaAttr>()) {
    if (given.getBytes() == 0)
      continue;
    arena = arenas.lookup(given.getDevice());
    bytes = number(given.getBytes());
  }
  return LLVM::CallOp::create(b, runtime.get("mxrt_guard_call"),
                              ValueRange{context, LLVM::AddressOfOp::create(b, code), pointers,
                                         sizeValues, arena, bytes, operands, text(op.getKernel())});
}

/// The bytes of a buffer with the sizes of this call.
Value ProgramEmitter::bytesOf(rt::BufferType type) {
  Value bytes = number(elementInfo(ir::elementFromMlir(type.getElement())).bytes);
  for (ir::SizeAttr length : type.getSizes())
    bytes = LLVM::MulOp::create(b, bytes, size(length));
  return bytes;
}
void ProgramEmitter::lowerCopy(rt::CopyOp op) {
  LLVM::MemcpyOp::create(b, address(op.getTo()), address(op.getFrom()),
                         bytesOf(op.getFrom().getType()), /*isVolatile=*/false);
}
void ProgramEmitter::lowerLoad(rt::LoadOp op) {
  op.replaceAllUsesWith(loadNumber(address(op.getBuffer()), op.getType()));
}
void ProgramEmitter::lowerStore(rt::StoreOp op) {
  Value value = op.getValue();
  if (value.getType().isInteger(1))
    value = LLVM::ZExtOp::create(b, b.getI8Type(), value);
  LLVM::StoreOp::create(b, value, address(op.getBuffer()));
}
void ProgramEmitter::lowerPoll(rt::PollOp op) {
  endOnError(LLVM::CallOp::create(b, runtime.get("mxrt_poll"), context).getResult());
}
/// Reports to the caller's own context: kernels get a copy of its first part, without the callback.
void ProgramEmitter::lowerReady(rt::ReadyOp op) {
  auto output = static_cast<int64_t>(arguments.lookup(op.getBuffer())) -
                static_cast<int64_t>(program.getInputs());
  endOnError(LLVM::CallOp::create(b, runtime.get("mxrt_ready"),
                                  ValueRange{function.getArgument(0), number(output)})
                 .getResult());
}
void ProgramEmitter::lowerFail(rt::FailOp op) {
  Block *block = b.getInsertionBlock();
  Block *next = block->splitBlock(b.getInsertionPoint());
  Block *raise = b.createBlock(failed);
  static_assert(layout::mxrt_context::allocator == 0);
  Value allocator = LLVM::LoadOp::create(b, pointer, context);
  Value code = LLVM::ConstantOp::create(b, b.getI32Type(), op.getCodeAttr());
  auto status = LLVM::CallOp::create(
      b, runtime.get("mxrt_status_text"),
      ValueRange{allocator, code, location(op.getLoc()), text(op.getMessage())});
  LLVM::BrOp::create(b, status.getResult(), failed);
  b.setInsertionPointToEnd(block);
  LLVM::CondBrOp::create(b, op.getCondition(), raise, ValueRange{}, next, ValueRange{});
}

/// Math functions on host numbers are those of the C library, which the host's bytecode calls too.
static void callMathFunctions(ModuleOp module) {
  static constexpr StringLiteral names[] = {
#define MXRT_FUNCTION1(name, doc) #name,
#define MXRT_FUNCTION2(name, doc) #name,
#include "mxrt/functions.def"
  };
  module.walk([&](Operation *op) {
    StringRef name = isa<math::PowFOp>(op) ? "pow" : op->getName().stripDialect();
    if (!isa<math::PowFOp>(op) &&
        !(isa_and_nonnull<math::MathDialect>(op->getDialect()) && llvm::is_contained(names, name)))
      return;
    OpBuilder b(op);
    auto function = mathFunction(module, name, op->getResult(0).getType(), op->getNumOperands());
    op->replaceAllUsesWith(LLVM::CallOp::create(b, op->getLoc(), function, op->getOperands()));
    op->erase();
  });
}

LogicalResult ProgramEmitter::lowerNumbers() {
  callMathFunctions(module);
  LLVMTypeConverter types(b.getContext());
  RewritePatternSet patterns(b.getContext());
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*b.getContext());
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

} // namespace mx::lowering
