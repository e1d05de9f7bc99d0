// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MxToMxrt: lowers a graph to a program. Every result of a kernel gets a slice of its own; memory
// sharing is left to the passes of compiler/Memory.
#include "Lowering/programs/HostMath.h"
#include "Lowering/programs/ProgramBuilder.h"
#include "Lowering/programs/Workspace.h"
#include "Support/CheckedMath.h"
#include "dialects/mx/Marks.h"
#include "dialects/mxrt/Marks.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace mx::lowering {

static bool isHost(Value value) { return cast<ir::TensorType>(value.getType()).isHost(); }

LogicalResult lowerToMxrt(ir::GraphOp graph, ModuleOp into) {
  MLIRContext *context = graph.getContext();
  context->loadDialect<rt::MxrtDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  KernelTable kernels;
  for (auto kernel : into.getOps<rt::KernelOp>())
    kernels[kernel.getSymName()] = kernel;
  return ProgramBuilder(graph, into, kernels).run();
}

ProgramBuilder::ProgramBuilder(ir::GraphOp graph, ModuleOp into, KernelTable &kernels)
    : graph(graph), into(into), kernels(kernels), builder(graph.getContext()) {}

LogicalResult ProgramBuilder::run() {
  if (failed(begin()))
    return failure();
  auto give = cast<ir::ReturnOp>(graph.getBody().front().getTerminator());
  ArrayRef<BlockArgument> outputs = program.outputArguments();
  writeDirectly(graph.getBody().front(), give.getValues(), SmallVector<Value>(outputs));
  if (failed(lowerBlock(graph.getBody().front())) || failed(end())) {
    program.erase();
    return failure();
  }
  return success();
}

/// Creates the empty program with the graph's signature.
LogicalResult ProgramBuilder::begin() {
  if (graph.isExternal())
    return graph.emitError() << "a graph without a body cannot be lowered";
  auto open = graph->getAttrOfType<DictionaryAttr>(ir::kDyn);
  SmallVector<Attribute> opens;
  for (auto name : graph.getSizes().getAsRange<StringAttr>()) {
    auto bound = open ? open.getAs<IntegerAttr>(name) : IntegerAttr();
    if (!bound || bound.getValue().isNegative())
      return graph.emitError() << "the size " << name << " is neither a number nor bounded";
    bounds[name.getValue()] = bound.getInt();
    opens.push_back(rt::OpenAttr::get(graph.getContext(), name, bound.getInt()));
  }
  SmallVector<Type> inputs, outputs;
  for (Type type : graph.getArgumentTypes()) {
    auto tensor = dyn_cast<ir::TensorType>(type);
    if (!tensor)
      return graph.emitError() << "an argument is a " << type << ", not a tensor";
    inputs.push_back(tensor.isHost() ? rt::scalarType(tensor.getElement())
                                     : rt::BufferType::get(graph.getContext(), tensor));
  }
  for (Type type : graph.getResultTypes()) {
    auto tensor = dyn_cast<ir::TensorType>(type);
    if (!tensor)
      return graph.emitError() << "a result is a " << type << ", not a tensor";
    outputs.push_back(rt::BufferType::get(graph.getContext(), tensor));
  }
  builder.setInsertionPointToEnd(into.getBody());
  program =
      rt::ProgramOp::create(builder, graph.getLoc(), graph.getSymName(), inputs, outputs, opens);
  if (graph->hasAttr(ir::kAnnounces))
    program->setAttr(rt::kAnnounces, builder.getUnitAttr());
  builder.setInsertionPointToEnd(&program.block());
  for (auto [index, argument] : llvm::enumerate(graph.getBody().getArguments())) {
    BlockArgument input = program.block().getArgument(index);
    input.setLoc(argument.getLoc());
    values[argument] = input;
  }
  return success();
}

/// Copies results that are not in their outputs yet, and sets the totals of the plan.
LogicalResult ProgramBuilder::end() {
  auto give = cast<ir::ReturnOp>(graph.getBody().front().getTerminator());
  Copies copies;
  for (auto [value, output] : llvm::zip(give.getValues(), program.outputArguments())) {
    if (isHost(value))
      rt::StoreOp::create(builder, give.getLoc(), number(value, give.getLoc()), output);
    else
      copies.push_back({buffer(value, give.getLoc()), output});
  }
  if (failed(copy(std::move(copies), give.getLoc())))
    return failure();
  rt::ReturnOp::create(builder, give.getLoc());
  SmallVector<Attribute> list;
  for (auto [device, bytes] : arenas)
    list.push_back(rt::ArenaAttr::get(graph.getContext(), device, bytes));
  program.setArenasAttr(builder.getArrayAttr(list));
  return success();
}

// ------------------------------------------------------------------------------ memory

/// Creates an op at the start of the program, after those created before.
template <class Make> Value ProgramBuilder::plan(Make make) {
  OpBuilder::InsertionGuard guard(builder);
  if (lastPlanned)
    builder.setInsertionPointAfter(lastPlanned);
  else
    builder.setInsertionPointToStart(&program.block());
  Value value = make();
  lastPlanned = value.getDefiningOp();
  return value;
}

FailureOr<Value> ProgramBuilder::slice(ir::TensorType type, Location loc) {
  std::optional<int64_t> bytes = rt::largestBytes(type, bounds);
  int64_t &used = arenas[type.getDevice()];
  // Leaves room for the alignment, so that rounding up cannot overflow.
  std::optional<int64_t> next = bytes ? checkedAdd(used, *bytes) : std::nullopt;
  if (!next || *next > INT64_MAX - rt::kAlignment) {
    emitError(loc) << "the memory for " << type << " has no bound that fits in 63 bits";
    return failure();
  }
  int64_t offset = used;
  used = llvm::alignTo(*next, rt::kAlignment);
  return plan([&]() -> Value {
    return rt::SliceOp::create(builder, loc, rt::BufferType::get(type.getContext(), type), offset,
                               *bytes);
  });
}

/// The buffer that a device result is written to.
FailureOr<Value> ProgramBuilder::destination(Value result) {
  if (Value known = destinations.lookup(result))
    return known;
  return slice(cast<ir::TensorType>(result.getType()), result.getLoc());
}

Value ProgramBuilder::buffer(Value value, Location loc) {
  Value known = values.lookup(value);
  if (!isHost(value))
    return known;
  Value &slot = slots[value];
  if (slot)
    return slot;
  slot = plan([&]() -> Value {
    return rt::SlotOp::create(
        builder, loc,
        rt::BufferType::get(value.getContext(), cast<ir::TensorType>(value.getType())));
  });
  // Stored where the number is defined, so that every use of the slot sees the last one.
  OpBuilder::InsertionGuard guard(builder);
  auto argument = dyn_cast<BlockArgument>(known);
  if (argument ? argument.getOwner() == &program.block()
               : isa<rt::SizeOp>(known.getDefiningOp())) // these are among the planned ops
    builder.setInsertionPointAfter(lastPlanned);
  else
    builder.setInsertionPointAfterValue(known);
  rt::StoreOp::create(builder, loc, known, slot);
  return slot;
}

Value ProgramBuilder::number(Value value, Location loc) {
  Value known = values.lookup(value);
  if (isHost(value))
    return known;
  return rt::LoadOp::create(builder, loc, cast<rt::BufferType>(known.getType()).scalar(), known);
}

Value ProgramBuilder::size(ir::SizeAttr size, Location loc) {
  Value &known = sizes[size];
  if (!known)
    known = plan(
        [&]() -> Value { return rt::SizeOp::create(builder, loc, builder.getI64Type(), size); });
  return known;
}

/// A parallel copy: a buffer is read before it is overwritten. Values that are exchanged go through
/// a temporary slice.
LogicalResult ProgramBuilder::copy(Copies copies, Location loc) {
  llvm::erase_if(copies, [](auto &pair) { return pair.first == pair.second; });
  while (!copies.empty()) {
    auto isRead = [&](Value buffer) {
      return llvm::any_of(copies, [&](auto &pair) { return pair.first == buffer; });
    };
    auto free = llvm::find_if(copies, [&](auto &pair) { return !isRead(pair.second); });
    if (free != copies.end()) {
      rt::CopyOp::create(builder, loc, free->first, free->second);
      copies.erase(free);
      continue;
    }
    Value old = copies.front().second;
    FailureOr<Value> kept = slice(cast<rt::BufferType>(old.getType()).getTensor(), loc);
    if (failed(kept))
      return failure();
    rt::CopyOp::create(builder, loc, old, *kept);
    for (auto &pair : copies)
      if (pair.first == old)
        pair.first = *kept;
  }
  return success();
}

// ------------------------------------------------------------------------------ ops

LogicalResult ProgramBuilder::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(lowerOp(&op)))
      return failure();
  return success();
}

LogicalResult ProgramBuilder::lowerOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ir::KernelOp kernel) { return lowerKernel(kernel); })
      .Case([&](ir::IfOp branch) { return lowerIf(branch); })
      .Case([&](ir::ForOp loop) { return lowerFor(loop); })
      .Case([&](ir::WhileOp loop) { return lowerWhile(loop); })
      .Case([&](ir::AssertOp assertion) { return lowerAssert(assertion); })
      .Case([&](ir::RaiseOp raise) { return lowerRaise(raise); })
      // Text is only used by messages, which look it up themselves.
      .Case<ir::TextOp, ir::MakeErrorOp>([](auto) { return success(); })
      .Case([&](ir::UndefOp undef) { return lowerUndef(undef); })
      .Case([&](ir::FullOp full) -> LogicalResult {
        if (!ir::isScratch(full))
          return lowerHost(full);
        // Memory without any contents yet.
        FailureOr<Value> room = destination(full.getResult());
        if (succeeded(room))
          values[full.getResult()] = *room;
        return room;
      })
      .Case<ir::ReadOp, ir::ToDeviceOp>([&](auto move) { return lowerMove(move); })
      .Case([&](ir::SizeOp sizeOp) {
        values[sizeOp.getResult()] = size(sizeOp.getSize(), op->getLoc());
        return success();
      })
      .Default([&](Operation *other) { return lowerHost(other); });
}

/// Arithmetic on host numbers, and constants of rank 0 on devices.
LogicalResult ProgramBuilder::lowerHost(Operation *op) {
  bool isNumber = op->getNumResults() == 1 && op->getNumRegions() == 0 &&
                  ir::isScalarTensor(op->getResult(0).getType()) &&
                  (isHost(op->getResult(0)) || isa<ir::ConstantOp>(op));
  Value result;
  if (isNumber) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(ir::isScalarTensor(operand.getType()) ? number(operand, op->getLoc())
                                                               : Value());
    if (!llvm::is_contained(operands, Value()))
      result = HostMath(builder, op->getLoc()).lower(op, operands);
  }
  if (!result)
    return op->emitOpError() << "is not in a kernel and not lowered by itself";
  if (isHost(op->getResult(0))) {
    values[op->getResult(0)] = result;
    return success();
  }
  FailureOr<Value> to = destination(op->getResult(0));
  if (failed(to))
    return failure();
  rt::StoreOp::create(builder, op->getLoc(), result, *to);
  values[op->getResult(0)] = *to;
  return success();
}

/// Any number, or a buffer with any contents: it is never read.
LogicalResult ProgramBuilder::lowerUndef(ir::UndefOp op) {
  auto type = dyn_cast<ir::TensorType>(op.getType());
  if (!type)
    return op.emitOpError() << "of " << op.getType() << " is not lowered";
  if (type.isHost()) {
    Type number = rt::scalarType(type.getElement());
    values[op.getResult()] =
        arith::ConstantOp::create(builder, op.getLoc(), builder.getZeroAttr(number));
    return success();
  }
  FailureOr<Value> to = destination(op.getResult());
  if (failed(to))
    return failure();
  values[op.getResult()] = *to;
  return success();
}

/// Copies from one device to another, to the host or from it.
LogicalResult ProgramBuilder::lowerMove(Operation *op) {
  Value from = op->getOperand(0), result = op->getResult(0);
  if (isHost(result)) {
    values[result] = number(from, op->getLoc());
    return success();
  }
  FailureOr<Value> to = destination(result);
  if (failed(to))
    return failure();
  if (isHost(from))
    rt::StoreOp::create(builder, op->getLoc(), number(from, op->getLoc()), *to);
  else
    rt::CopyOp::create(builder, op->getLoc(), buffer(from, op->getLoc()), *to);
  values[result] = *to;
  return success();
}

/// The kernel with this body: created once, named by its text without locations.
FailureOr<rt::KernelOp> ProgramBuilder::kernel(ir::KernelOp op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  op->print(out, OpPrintingFlags().printGenericOpForm().useLocalScope());
  std::string name = "k_" + llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true,
                                            /*Width=*/16);
  rt::KernelOp &known = kernels[name];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(program);
  OperationState state(op.getLoc(), rt::KernelOp::getOperationName());
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  Block &block = state.addRegion()->emplaceBlock();
  IRMapping mapping;
  for (Value input : op.getInputs())
    block.addArgument(input.getType(), input.getLoc());
  builder.setInsertionPointToEnd(&block);
  auto inner = cast<ir::KernelOp>(builder.clone(*op, mapping));
  inner.getInputsMutable().assign(block.getArguments());
  builder.setInsertionPoint(program);
  known = cast<rt::KernelOp>(builder.create(state));
  return known;
}

LogicalResult ProgramBuilder::lowerKernel(ir::KernelOp op) {
  if (op.getStrided() && llvm::is_contained(*op.getStrided(), true))
    return op.emitOpError() << "has strided inputs, but buffers of programs are dense";
  if (int64_t bytes = workspaceOf(op, bounds); bytes > 0)
    op.setWorkspace(bytes);
  FailureOr<rt::KernelOp> callee = kernel(op);
  if (failed(callee))
    return failure();
  Location loc = op.getLoc();
  SmallVector<Value> reads, writes, sizeValues;
  for (Value input : op.getInputs())
    reads.push_back(buffer(input, loc));
  for (Value output : op.getOutputs()) {
    if (isHost(output))
      return op.emitOpError() << "gives a number of the host; kernels write to devices";
    FailureOr<Value> to = destination(output);
    if (failed(to))
      return failure();
    writes.push_back(*to);
    values[output] = *to;
  }
  if (op.getWorkspace() > 0) {
    FailureOr<Value> workspace = slice(rt::workspaceType(op), loc);
    if (failed(workspace))
      return failure();
    writes.push_back(*workspace);
  }
  for (auto name : op.getSizes().getAsRange<StringAttr>()) {
    if (!bounds.contains(name.getValue()))
      return op.emitOpError() << "needs the size " << name << ", which the graph does not list";
    ir::SizeTable &table = op.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
    std::lock_guard guard(table.lock);
    sizeValues.push_back(
        size(ir::SizeAttr::get(op.getContext(), table.named(name.getValue())), loc));
  }
  rt::CallOp::create(builder, loc, callee->getSymName(), reads, writes, sizeValues);
  return success();
}

// ------------------------------------------------------------------------------ errors

static std::optional<StringRef> textOf(Value message) {
  auto text = message ? message.getDefiningOp<ir::TextOp>() : ir::TextOp();
  return text ? std::optional(text.getValue()) : std::nullopt;
}

LogicalResult ProgramBuilder::lowerAssert(ir::AssertOp op) {
  Value holds = number(op.getCondition(), op.getLoc());
  Value yes = arith::ConstantOp::create(builder, op.getLoc(), builder.getBoolAttr(true));
  Value fails = arith::XOrIOp::create(builder, op.getLoc(), holds, yes);
  // A message composed at run time is not known here; the text of the condition is.
  std::string message = "assertion failed: " + op.getText().str();
  rt::FailOp::create(builder, op.getLoc(), fails, numberOf(Code::ASSERTION),
                     textOf(op.getMessage()).value_or(message));
  return success();
}

LogicalResult ProgramBuilder::lowerRaise(ir::RaiseOp op) {
  auto error = op.getError().getDefiningOp<ir::MakeErrorOp>();
  Value yes = arith::ConstantOp::create(builder, op.getLoc(), builder.getBoolAttr(true));
  rt::FailOp::create(
      builder, op.getLoc(), yes, numberOf(Code::RAISED),
      textOf(error ? error.getMessage() : Value()).value_or("error raised by the program"));
  return success();
}

} // namespace mx::lowering
