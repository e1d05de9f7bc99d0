// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions, values and blocks: register allocation and parallel moves; the header describes how
// they work together.
#include "Bytecode/FunctionEmitter.h"
#include "dialects/mx/Marks.h"
#include "dialects/mx/Locations.h"

using namespace mlir;

namespace mx::bytecode {

FunctionEmitter::FunctionEmitter(ModuleTables &tables, ir::FuncOp function, bool locations)
    : tables(tables), function(function), self(*tables.callee(function.getSymName())),
      code(tables.builderOf(function)), live(function), registers(code), locations(locations) {}

bool FunctionEmitter::run() {
  emitBody();
  checkLimits(function);
  return !failed;
}

void FunctionEmitter::checkLimits(Operation *op) {
  if (failed)
    return;
  if (registers.overflowed())
    overLimit(op) << "this function has more than " << host::maxRegisters << " values at once";
  else if (code.lists.size() > host::maxTableRows || code.handlers.size() > host::maxTableRows ||
           code.code.size() > host::maxCode)
    overLimit(op) << "this function is too large: at most " << host::maxTableRows << " calls, "
                  << host::maxTableRows << " `try` blocks and " << host::maxCode
                  << " instructions are possible";
}

InFlightDiagnostic FunctionEmitter::overLimit(Operation *op) {
  failed = true;
  return op->emitError() << "E0002 ";
}

InFlightDiagnostic FunctionEmitter::error(Operation *op) {
  failed = true;
  return op->emitOpError();
}

// ------------------------------------------------------------------------------------------------
// source locations

void FunctionEmitter::locationAt(Operation *op, bool mayBegin) {
  if (!locations)
    return;
  // Stays set over ops without instructions: the statement begins with the first instruction.
  statement |= mayBegin && op->hasAttr(ir::kStatement);
  ir::findSourceLocation(op->getLoc(), [&](FileLineColLoc location) {
    if (code.file.empty())
      code.file = location.getFilename().str();
    // A VM function is in one file.
    if (location.getFilename() != code.file)
      return false;
    line = location.getLine();
    column = location.getColumn();
    return true;
  });
}

void FunctionEmitter::writeLocation() {
  if (line == 0 || (!statement && line == lastLine && column == lastColumn))
    return;
  code.location(line, column, statement);
  lastLine = line;
  lastColumn = column;
  statement = false;
}

// ------------------------------------------------------------------------------------------------
// instructions

uint32_t FunctionEmitter::emit(Opcode op, uint16_t a, uint16_t b, uint16_t c) {
  writeLocation();
  return code.emit(op, a, b, c);
}

uint32_t FunctionEmitter::emitWide(Opcode op, uint16_t a, int32_t wide) {
  writeLocation();
  return code.emitWide(op, a, wide);
}

uint16_t FunctionEmitter::list(SmallVector<uint16_t> entries) {
  if (entries.size() > UINT16_MAX) {
    overLimit(current.op) << "this has " << entries.size() << " parts, at most " << UINT16_MAX
                          << " are possible";
    return 0;
  }
  auto [row, isNew] = listRows.try_emplace(entries, uint16_t(code.lists.size()));
  if (isNew)
    code.lists.emplace_back(entries.begin(), entries.end());
  return row->second;
}

void FunctionEmitter::drop(Reg reg) { emit(Opcode::Drop, reg); }

void FunctionEmitter::transfer(Reg dst, Reg src, bool ends) {
  if (dst == src)
    return;
  if (host::isInline(registers.kind(dst)))
    emit(Opcode::Mov, dst, src);
  else
    emit(ends ? Opcode::Move : Opcode::Copy, dst, src);
}

void FunctionEmitter::transferAll(SmallVector<Transfer> moves) {
  llvm::erase_if(moves, [&](Transfer &move) {
    if (move.dst != move.src)
      return false;
    // It stays in its register, so others may only copy it.
    for (Transfer &other : moves)
      if (other.src == move.src)
        other.ends = false;
    return true;
  });
  auto isSource = [&](Reg reg) {
    return llvm::any_of(moves, [&](const Transfer &move) { return move.src == reg; });
  };
  while (!moves.empty()) {
    auto free = llvm::find_if(moves, [&](const Transfer &m) { return !isSource(m.dst); });
    if (free != moves.end()) {
      Transfer move = *free;
      moves.erase(free);
      transfer(move.dst, move.src, move.ends && !isSource(move.src));
      continue;
    }
    // A cycle: saves its first value in a temporary.
    Transfer &first = moves.front();
    Reg aside = temp(registers.kind(first.src)), from = first.src;
    transfer(aside, from, /*ends=*/true);
    for (Transfer &move : moves)
      if (move.src == from)
        move = {move.dst, aside, true};
  }
}

// ------------------------------------------------------------------------------------------------
// values

Reg FunctionEmitter::use(Value value) {
  if (auto constantOp = value.getDefiningOp<ir::ConstantOp>();
      constantOp && isHostTensor(value.getType())) {
    emitHostConstant(constantOp);
    return values[value];
  }
  auto found = values.find(value);
  if (found == values.end()) {
    error(current.op ? current.op : function) << "uses a value that has no register";
    return 0;
  }
  return found->second;
}

Reg FunctionEmitter::useNumber(Value value) {
  Reg reg = use(value);
  auto type = dyn_cast<ir::TensorType>(value.getType());
  if (!type || type.isHost())
    return reg;
  Reg number = temp(kindOfElement(type.getElement()));
  emit(Opcode::ReadTensor, number, reg);
  return number;
}

Reg FunctionEmitter::useTensor(Value value) {
  Reg reg = use(value);
  auto type = cast<ir::TensorType>(value.getType());
  return type.isHost() ? makeTensor(reg, type) : reg;
}

Reg FunctionEmitter::temp(Kind kind) {
  Reg reg = registers.take(kind);
  current.temps.push_back(reg);
  return reg;
}

Reg FunctionEmitter::define(Value result) {
  Kind kind = kindOf(result.getType());
  auto hint = hints.find(result);
  Reg reg = 0;
  if (hint != hints.end() && registers.isReserved(hint->second) &&
      !registers.isUsed(hint->second) && registers.kind(hint->second) == kind) {
    reg = hint->second;
    registers.fill(reg);
  } else {
    reg = registers.take(kind);
  }
  values[result] = reg;
  return reg;
}

Reg FunctionEmitter::defineIfUsed(Value result) {
  return live.isUnused(result) ? host::noRegister : define(result);
}

Reg FunctionEmitter::defineFrom(Value operand, Value result) {
  if (auto global = operand.getDefiningOp<ir::GlobalLoadOp>();
      global && live.changesVariable(global))
    return takeGlobal(global, result);
  Reg from = use(operand);
  if (ends(operand) && !llvm::is_contained(current.handedOver, operand) &&
      llvm::count(current.op->getOperands(), operand) == 1) {
    current.handedOver.push_back(operand);
    values[result] = from;
    return from;
  }
  Reg reg = define(result);
  transfer(reg, from, /*ends=*/false);
  return reg;
}

bool FunctionEmitter::isPinned(Value value) const {
  return pinned.contains(value) ||
         (isHostTensor(value.getType()) && value.getDefiningOp<ir::ConstantOp>());
}

bool FunctionEmitter::ends(Value value) const {
  return live.endsAt(current.op, value) && !isPinned(value);
}

void FunctionEmitter::beginOp(Operation *op) {
  current = Current();
  current.op = op;
}

void FunctionEmitter::releaseOperands() {
  current.released = true;
  for (Value value : live.endingAt(current.op)) {
    if (isPinned(value) || llvm::is_contained(current.handedOver, value))
      continue;
    Reg reg = use(value);
    registers.free(reg);
    current.freed.push_back(reg);
  }
}

void FunctionEmitter::endOperands() {
  if (!current.released)
    releaseOperands();
  for (Reg reg : current.temps) {
    registers.free(reg);
    current.freed.push_back(reg);
  }
  llvm::sort(current.freed);
  current.freed.erase(llvm::unique(current.freed), current.freed.end());
  // Returning frees everything anyway, unless the regions of the op come first.
  bool isLast =
      current.op->getNumRegions() == 0 && isa_and_present<ir::ReturnOp>(current.op->getNextNode());
  for (Reg reg : current.freed)
    if (!isLast && !registers.isUsed(reg) && host::isCounted(registers.kind(reg)))
      drop(reg);
  current = Current();
}

void FunctionEmitter::endOp() {
  if (!current.taken.empty())
    guardGlobals();
  if (!current.released)
    releaseOperands();
  for (Value result : current.op->getResults())
    if (live.isUnused(result) && !isPinned(result) && values.contains(result)) {
      registers.free(values[result]);
      current.freed.push_back(values[result]);
    }
  endOperands();
}

void FunctionEmitter::endValue(Value value) {
  if (isPinned(value))
    return;
  Reg reg = use(value);
  registers.free(reg);
  if (host::isCounted(registers.kind(reg)))
    drop(reg);
}

// ------------------------------------------------------------------------------------------------
// blocks

void FunctionEmitter::emitBody() {
  Block &body = function.getBody().front();
  locationAt(function, /*mayBegin=*/false);
  scopes.emplace_back();
  for (Attribute name : function.getSizes())
    scopes.back().names[cast<StringAttr>(name).getValue()] =
        registers.addParameter(Kind::Int, false);
  SmallVector<uint16_t> mutRegisters;
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    ParamData param = self.params[self.sizeCount + i];
    Reg reg = values[argument] = registers.addParameter(param.kind, param.isMut);
    if (!param.isMut)
      continue;
    registers.reserve(reg);
    mutRegisters.push_back(reg);
  }
  auto terminator = cast<ir::ReturnOp>(body.getTerminator());
  openBlock(body, terminator.getValues().take_front(mutRegisters.size()), mutRegisters);
  for (Operation &op : body.without_terminator())
    emitOp(op);
  if (!failed)
    emitReturn(terminator);
}

void FunctionEmitter::openBlock(Block &block, ValueRange yielded, Regs targets) {
  scopes.emplace_back();
  for (Value value : live.endingBefore(&block))
    endValue(value);
  // Register hints: a yielded value is computed in its target register, if that is free by then.
  for (auto [value, target] : llvm::zip(yielded, targets))
    if (value.getDefiningOp() && value.getParentBlock() == &block)
      hints.try_emplace(value, target);
}

void FunctionEmitter::closeBlock() {
  for (Reg reg : scopes.back().owned)
    registers.free(reg);
  scopes.pop_back();
}

void FunctionEmitter::emitBlock(Block &block, Regs targets) {
  auto yield = cast<ir::YieldOp>(block.getTerminator());
  openBlock(block, yield.getValues(), targets);
  for (Operation &op : block.without_terminator())
    emitOp(op);
  if (!failed)
    emitYield(yield, targets);
  closeBlock();
}

void FunctionEmitter::emitYield(ir::YieldOp op, Regs targets) {
  beginOp(op);
  SmallVector<Transfer> moves;
  for (auto [value, target] : llvm::zip(op.getValues(), targets))
    moves.push_back({target, use(value), ends(value)});
  transferAll(std::move(moves));
  // Values that ended were moved to their targets: nothing is left to drop.
  for (Value value : live.endingAt(op))
    if (!isPinned(value))
      registers.free(use(value));
  for (Reg reg : current.temps)
    registers.free(reg);
  current = Current();
}

void FunctionEmitter::emitReturn(ir::ReturnOp op) {
  locationAt(op);
  beginOp(op);
  size_t mutCount = self.mutArguments.size();
  ValueRange given = op.getValues().take_front(mutCount),
             results = op.getValues().drop_front(mutCount);
  SmallVector<Transfer> moves;
  for (auto [argument, value] : llvm::zip(self.mutArguments, given))
    moves.push_back({Reg(self.sizeCount + argument), use(value), ends(value)});
  if (results.empty()) {
    transferAll(std::move(moves));
    emit(Opcode::RetUnit);
    return;
  }
  Reg result = 0;
  if (results.size() == 1) {
    result = use(results[0]);
    // A `mut` parameter may have to receive another value before its current one is returned.
    if (llvm::any_of(moves, [&](const Transfer &m) { return m.dst == result; })) {
      Reg aside = temp(registers.kind(result));
      moves.push_back({aside, result, ends(results[0])});
      result = aside;
    }
  } else {
    SmallVector<uint16_t> parts;
    for (Value value : results)
      parts.push_back(use(value));
    result = temp(Kind::Tuple);
    emit(Opcode::MakeTuple, result, list(parts));
  }
  // The result itself is still needed after the moves.
  for (Transfer &move : moves)
    if (move.src == result)
      move.ends = false;
  transferAll(std::move(moves));
  emit(Opcode::Ret, result);
}

void FunctionEmitter::emitOp(Operation &op) {
  if (failed)
    return;
  locationAt(&op);
  if (emitControl(&op))
    return;
  beginOp(&op);
  if (!emitTensorOp(&op) && !emitCallOp(&op) && !emitValueOp(&op))
    error(&op) << "has no bytecode";
  if (!failed)
    endOp();
  checkLimits(&op);
}

} // namespace mx::bytecode
