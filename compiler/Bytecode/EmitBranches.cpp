// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for branches, loops and errors. Registers are reserved for the results of such an
// op and for loop-carried values while the blocks run; blocks write their yielded values there.
#include "Bytecode/FunctionEmitter.h"

using namespace mlir;

namespace mx::bytecode {

bool FunctionEmitter::emitControl(Operation *op) {
  if (auto branch = dyn_cast<ir::IfOp>(op))
    emitIf(branch);
  else if (auto loop = dyn_cast<ir::ForOp>(op))
    emitFor(loop);
  else if (auto loop = dyn_cast<ir::WhileOp>(op))
    emitWhile(loop);
  else if (auto guarded = dyn_cast<ir::TryOp>(op))
    emitTry(guarded);
  else
    return false;
  return true;
}

FunctionEmitter::Results FunctionEmitter::reserveResults(Operation *op) {
  Results results;
  for (Value result : op->getResults()) {
    Reg reg = define(result);
    results.reserved.push_back(!registers.isReserved(reg));
    results.regs.push_back(reg);
    registers.reserve(reg);
    registers.free(reg); // it is still empty
  }
  return results;
}

/// Marks the registers of the results as filled.
void FunctionEmitter::keepResults(Operation *op, const Results &results) {
  for (auto [reg, ours] : llvm::zip(results.regs, results.reserved)) {
    registers.fill(reg);
    if (ours)
      registers.unreserve(reg);
  }
  for (Value result : op->getResults())
    if (live.isUnused(result))
      endValue(result);
}

void FunctionEmitter::emitIf(ir::IfOp op) {
  beginOp(op);
  Reg condition = useNumber(op.getCondition());
  Results results = reserveResults(op);
  endOperands();
  uint32_t toElse = emitJump(Opcode::JumpFalse, condition);
  Registers::State saved = registers.save();
  emitBlock(op.getThenRegion().front(), results.regs);
  Block &otherwise = op.getElseRegion().front();
  bool isEmpty = op->getNumResults() == 0 && &otherwise.front() == otherwise.getTerminator() &&
                 llvm::none_of(live.endingBefore(&otherwise), [](Value value) {
                   return host::isCounted(kindOf(value.getType()));
                 });
  locationAt(op, /*mayBegin=*/false);
  uint32_t toEnd = isEmpty ? 0 : emitJump(Opcode::Jump);
  landHere(toElse);
  registers.restore(saved);
  emitBlock(otherwise, results.regs);
  if (!isEmpty)
    landHere(toEnd);
  keepResults(op, results);
}

// ------------------------------------------------------------------------------------------------
// loops

/// Moves the initial values of a loop into the registers of its loop-carried values.
FunctionEmitter::Results FunctionEmitter::carry(Operation *op, OperandRange carried) {
  Results results;
  for (auto [value, result] : llvm::zip(carried, op->getResults())) {
    Reg reg = defineFrom(value, result);
    results.reserved.push_back(!registers.isReserved(reg));
    results.regs.push_back(reg);
    registers.reserve(reg);
  }
  return results;
}

void FunctionEmitter::setCarried(Block &block, size_t first, const Results &results) {
  for (auto [i, reg] : llvm::enumerate(results.regs)) {
    values[block.getArgument(unsigned(first + i))] = reg;
    registers.fill(reg);
  }
}

void FunctionEmitter::emitFor(ir::ForOp op) {
  beginOp(op);
  auto type = cast<ir::TensorType>(op.getFrom().getType());
  if (kindOfElement(type.getElement()) != Kind::Int) {
    error(op) << "counts " << elementName(type.getElement());
    return;
  }
  Results results = carry(op, op.getCarried());
  // Dedicated registers for the duration of the loop. The bound stays in the register of its value,
  // which counts as used in the loop, unless it must be read from a tensor.
  Reg from = useNumber(op.getFrom()), to = useNumber(op.getTo());
  Reg index = registers.take(Kind::Int), test = registers.take(Kind::Bool);
  bool readsBound = !type.isHost();
  if (readsBound) {
    Reg bound = registers.take(Kind::Int);
    emit(Opcode::Mov, bound, to);
    to = bound;
  }
  emit(Opcode::Mov, index, from);
  endOperands();
  emit(Opcode::LtInt, test, index, to);
  uint32_t toEnd = emitJump(Opcode::JumpFalse, test);
  uint32_t top = here();
  Block &body = op.getBody().front();
  setCarried(body, 1, results);
  Value counter = body.getArgument(0);
  if (type.isHost()) {
    values[counter] = index;
    emitBlock(body, results.regs);
  } else {
    // The loop counts on the host and makes a tensor of the index in each iteration.
    beginOp(op);
    Reg tensor = registers.take(Kind::Tensor);
    uint16_t row = tables.import(ImportKind::TensorOp, "full:" + elementName(type.getElement()),
                                 {{Kind::Int, false}}, Kind::Tensor);
    emit(Opcode::CallTensor, tensor, row, list({index}));
    current = Current();
    values[counter] = tensor;
    emitBlock(body, results.regs);
    registers.free(tensor);
    drop(tensor);
  }
  if (failed)
    return;
  locationAt(op, /*mayBegin=*/false);
  if (int64_t(here()) - top < INT16_MAX) {
    code.patchJump(emit(Opcode::NextInt, index, to), top);
  } else {
    emit(Opcode::AddImm, index, index, 1);
    emit(Opcode::LtInt, test, index, to);
    code.patchJump(emitJump(Opcode::JumpTrue, test), top);
  }
  landHere(toEnd);
  registers.free(index);
  registers.free(test);
  if (readsBound)
    registers.free(to);
  for (Value value : live.endingAfter(op))
    endValue(value);
  keepResults(op, results);
}

/// A comparison of i64 whose only use is the condition that follows it: fuses into a
/// compare-and-jump instruction.
bool FunctionEmitter::fusesWithJump(Operation *op) const {
  if (!isa<ir::EqOp, ir::NeOp, ir::LtOp, ir::LeOp, ir::GtOp, ir::GeOp>(op))
    return false;
  return isHostTensor(op->getOperand(0).getType()) &&
         kindOf(op->getOperand(0).getType()) == Kind::Int && op->hasOneUse() &&
         *op->user_begin() == op->getBlock()->getTerminator() &&
         op->getNextNode() == op->getBlock()->getTerminator();
}

/// The end of the condition of a `while`: jumps to `target` if it holds.
void FunctionEmitter::jumpBackIf(ir::YieldOp op, uint32_t target) {
  Operation *compare = op.getValues()[0].getDefiningOp();
  bool isNear = int64_t(here()) - target < INT16_MAX - 64;
  if (!compare || compare->getBlock() != op->getBlock() || !fusesWithJump(compare) || !isNear) {
    if (compare && compare->getBlock() == op->getBlock() && fusesWithJump(compare))
      emitOp(*compare);
    beginOp(op);
    Reg condition = useNumber(op.getValues()[0]);
    endOperands();
    code.patchJump(emitJump(Opcode::JumpTrue, condition), target);
    return;
  }
  locationAt(compare);
  beginOp(compare);
  Reg x = use(compare->getOperand(0)), y = use(compare->getOperand(1));
  if (isa<ir::GtOp, ir::GeOp>(compare))
    std::swap(x, y);
  Opcode opcode = isa<ir::EqOp>(compare)             ? Opcode::JumpEqInt
                  : isa<ir::NeOp>(compare)           ? Opcode::JumpNeInt
                  : isa<ir::LtOp, ir::GtOp>(compare) ? Opcode::JumpLtInt
                                                     : Opcode::JumpLeInt;
  releaseOperands();
  code.patchJump(emit(opcode, x, y), target);
  current = Current();
}

void FunctionEmitter::emitWhile(ir::WhileOp op) {
  beginOp(op);
  Results results = carry(op, op.getCarried());
  Reg limit = 0, iterations = 0;
  bool readsLimit = false;
  if (op.getLimit()) {
    iterations = registers.take(Kind::Int);
    limit = useNumber(op.getLimit());
    readsLimit = isDeviceTensor(op.getLimit().getType());
    if (readsLimit) {
      Reg number = registers.take(Kind::Int);
      emit(Opcode::Mov, number, limit);
      limit = number;
    }
    emitWide(Opcode::IntImm, iterations, 0);
  }
  endOperands();
  uint32_t toCondition = emitJump(Opcode::Jump);
  uint32_t top = here();
  if (op.getLimit()) {
    uint32_t over = emit(Opcode::JumpLtInt, iterations, limit);
    Reg message = registers.take(Kind::Str);
    emitWide(Opcode::Const, message, int32_t(tables.builder.constant("loop limit reached")));
    raise(message, MXRT_LOOP_LIMIT);
    registers.free(message);
    landHere(over);
    emit(Opcode::AddImm, iterations, iterations, 1);
  }
  // Loop inversion: the condition comes after the body, so that an iteration has one jump.
  Block &condition = op.getCondition().front(), &body = op.getBody().front();
  setCarried(body, 0, results);
  emitBlock(body, results.regs);
  landHere(toCondition);
  setCarried(condition, 0, results);
  openBlock(condition, {}, {});
  auto yield = cast<ir::YieldOp>(condition.getTerminator());
  for (Operation &inner : condition.without_terminator())
    if (!fusesWithJump(&inner))
      emitOp(inner);
  if (failed)
    return;
  locationAt(op, /*mayBegin=*/false);
  jumpBackIf(yield, top);
  closeBlock();
  if (op.getLimit()) {
    registers.free(iterations);
    if (readsLimit)
      registers.free(limit);
  }
  for (Value value : live.endingAfter(op))
    endValue(value);
  keepResults(op, results);
}

// ------------------------------------------------------------------------------------------------
// errors

void FunctionEmitter::raise(Reg message, mxrt_code code) {
  Reg error = registers.take(Kind::Error);
  emit(Opcode::MakeError, error, message, uint16_t(code));
  emit(Opcode::Raise, error);
  registers.free(error);
}

void FunctionEmitter::emitTry(ir::TryOp op) {
  Results results = reserveResults(op);
  // Number of operations issued before: later ones belong to the body.
  Reg issued = registers.take(Kind::Int);
  emit(Opcode::CallNative, issued, tables.import(ImportKind::Native, "mx.issued", {}, Kind::Int),
       list({}));
  Registers::State saved = registers.save();
  size_t logged = registers.logLength();
  uint32_t begin = here();
  emitBlock(op.getBody().front(), results.regs);
  if (failed)
    return;
  if (here() == begin)
    emit(Opcode::Nop);
  uint32_t end = here();
  locationAt(op, /*mayBegin=*/false);
  for (Value value : live.endingAfter(op))
    endValue(value);
  uint32_t toEnd = emitJump(Opcode::Jump);

  // Values that the body left behind, wherever it stopped: registers it used that hold no value
  // from before the `try` any more.
  registers.restore(saved);
  Block &handler = op.getHandler().front();
  SmallVector<Reg> left;
  for (Value value : live.endingInBody(op))
    if (!isPinned(value)) {
      registers.free(use(value));
      left.push_back(use(value));
    }
  for (size_t i = logged; i < registers.logLength(); ++i)
    left.push_back(registers.logged(i));
  llvm::sort(left);
  left.erase(llvm::unique(left), left.end());
  uint32_t target = here();
  Value error = handler.getArgument(0);
  uint16_t errorReg = host::noRegister;
  if (!live.isUnused(error))
    errorReg = define(error);
  for (Reg reg : left)
    if (!registers.isUsed(reg) && host::isCounted(registers.kind(reg)))
      drop(reg);
  emit(Opcode::CallNative, host::noRegister,
       tables.import(ImportKind::Native, "mx.caught", {{Kind::Int, false}}, Kind::Unit),
       list({uint16_t(issued)}));
  registers.free(issued);
  emitBlock(handler, results.regs);
  landHere(toEnd);
  code.handlers.push_back({begin, end, target, errorReg});
  keepResults(op, results);
}

void FunctionEmitter::emitAssert(ir::AssertOp op) {
  Reg condition = useNumber(op.getCondition());
  Reg given = op.getMessage() ? use(op.getMessage()) : 0;
  uint32_t over = emitJump(Opcode::JumpTrue, condition);
  if (op.getMessage()) {
    raise(given, MXRT_ASSERTION);
  } else {
    // Not a temporary of the op: if the condition holds there is nothing to drop.
    Reg message = registers.take(Kind::Str);
    std::string text = "assertion failed: " + op.getText().str();
    emitWide(Opcode::Const, message, int32_t(tables.builder.constant(text)));
    raise(message, MXRT_ASSERTION);
    registers.free(message);
  }
  landHere(over);
}

} // namespace mx::bytecode
