// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for tuples, structs, arrays, text, errors as values, and variables.
#include "Bytecode/FunctionEmitter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mx::bytecode {

bool FunctionEmitter::emitValueOp(Operation *op) {
  // a = b: one operand and one result.
  auto unary = [&](Opcode opcode, Value operand, uint16_t more = 0) {
    Reg from = use(operand);
    releaseOperands();
    emit(opcode, define(op->getResult(0)), from, more);
  };
  auto text = [&](StringRef value) {
    emitWide(Opcode::Const, define(op->getResult(0)),
             int32_t(tables.builder.constant(std::string_view(value))));
  };
  return TypeSwitch<Operation *, bool>(op)
      .Case<ir::TextOp>([&](ir::TextOp it) { return text(it.getValue()), true; })
      .Case<ir::ElementTypeOp>([&](ir::ElementTypeOp it) {
        auto type = mxrt_dtype(ir::elementFromMlir(it.getValue()));
        emit(Opcode::DTypeImm, define(it.getResult()), uint16_t(type));
        return true;
      })
      .Case<ir::JoinOp, ir::FormatOp, ir::PrintOp>(
          [&](auto) { return emitPrintOrFormat(op), true; })
      .Case<ir::CompareOp>([&](ir::CompareOp it) { return emitCompare(it), true; })
      .Case<ir::ReadOp>([&](ir::ReadOp it) {
        if (isHostTensor(it.getX().getType()))
          return (void)defineFrom(it.getX(), it.getResult()), true;
        return unary(Opcode::ReadTensor, it.getX()), true;
      })
      .Case<ir::MakeErrorOp>([&](ir::MakeErrorOp it) {
        return unary(Opcode::MakeError, it.getMessage(), uint16_t(MXRT_RAISED)), true;
      })
      .Case<ir::ErrorPartOp>([&](ir::ErrorPartOp it) {
        StringRef part = it.getPart();
        if (part != "message" && part != "code" && part != "location")
          error(op) << "asks for the part `" << part << "`";
        return unary(part == "message" ? Opcode::ErrMessage
                     : part == "code"  ? Opcode::ErrCodeText
                                       : Opcode::ErrLocation,
                     it.getError()),
               true;
      })
      .Case<ir::RaiseOp>(
          [&](ir::RaiseOp it) { return emit(Opcode::Raise, use(it.getError())), true; })
      .Case<ir::AssertOp>([&](ir::AssertOp it) { return emitAssert(it), true; })
      .Case<ir::SizeOp>([&](ir::SizeOp it) {
        values[it.getResult()] = size(it.getSize());
        pinned.insert(it.getResult());
        return true;
      })
      .Case<ir::BindSizeOp>([&](ir::BindSizeOp it) { return bindSize(it), true; })
      .Case<ir::MakeOp>([&](ir::MakeOp it) { return emitMake(it), true; })
      .Case<ir::UndefOp>([&](ir::UndefOp it) { return emitUndef(it), true; })
      .Case<ir::GetOp>([&](ir::GetOp it) {
        Reg from = use(it.getAggregate());
        releaseOperands();
        emit(live.movesPart(op) ? Opcode::Take : Opcode::Get, define(it.getResult()), from,
             uint16_t(it.getPart()));
        return true;
      })
      .Case<ir::SetOp>([&](ir::SetOp it) {
        Reg value = use(it.getValue());
        emit(Opcode::Set, defineFrom(it.getAggregate(), it.getResult()), uint16_t(it.getPart()),
             value);
        return true;
      })
      .Case<ir::AtOp>([&](ir::AtOp it) {
        Reg from = use(it.getArray()), index = useNumber(it.getIndex());
        releaseOperands();
        emit(live.movesPart(op) ? Opcode::TakeAt : Opcode::At, define(it.getResult()), from, index);
        return true;
      })
      .Case<ir::SetAtOp>([&](ir::SetAtOp it) {
        Reg index = useNumber(it.getIndex()), value = use(it.getValue());
        emit(Opcode::SetAt, defineFrom(it.getArray(), it.getResult()), index, value);
        return true;
      })
      .Case<ir::LengthOp>([&](ir::LengthOp it) {
        bool isText = isa<ir::StrType>(it.getValue().getType());
        return unary(isText ? Opcode::LenStr : Opcode::Len, it.getValue()), true;
      })
      .Case<ir::CellOp, ir::LoadOp, ir::StoreOp>([&](auto) { return emitCell(op), true; })
      .Case<ir::GlobalLoadOp, ir::GlobalStoreOp>([&](auto) { return emitGlobal(op), true; })
      .Default([](Operation *) { return false; });
}

void FunctionEmitter::emitMake(ir::MakeOp op) {
  SmallVector<uint16_t> parts;
  for (Value part : op.getParts())
    parts.push_back(use(part));
  uint16_t row = list(parts);
  releaseOperands();
  Reg reg = define(op.getResult());
  auto aggregate = dyn_cast<ir::AggregateType>(op.getType());
  if (!aggregate)
    emit(Opcode::MakeArray, reg, row);
  else if (kindOf(aggregate) == Kind::Tuple)
    emit(Opcode::MakeTuple, reg, row);
  else if (aggregate.getFields().size() != parts.size())
    error(op) << "has " << parts.size() << " parts for " << aggregate.getFields().size()
              << " names";
  else
    emit(Opcode::MakeStruct, reg, tables.structType(aggregate), row);
}

void FunctionEmitter::emitPrintOrFormat(Operation *op) {
  if (auto format = dyn_cast<ir::FormatOp>(op)) {
    Reg value = use(format.getValue());
    uint32_t row = 0;
    if (!format.getSpec().empty())
      row = tables.builder.constant(std::string_view(format.getSpec()));
    releaseOperands();
    Reg reg = define(format.getResult());
    if (format.getSpec().empty())
      emit(Opcode::ToStr, reg, value);
    else
      emit(Opcode::Format, reg, value, uint16_t(row));
    return;
  }
  SmallVector<uint16_t> parts;
  for (Value part : op->getOperands())
    parts.push_back(use(part));
  uint16_t row = list(parts);
  if (isa<ir::PrintOp>(op)) {
    emit(Opcode::Print, row);
    return;
  }
  releaseOperands();
  emit(Opcode::Join, define(op->getResult(0)), row);
}

void FunctionEmitter::emitCompare(ir::CompareOp op) {
  Reg x = use(op.getX()), y = use(op.getY());
  StringRef relation = op.getRelation();
  Kind kind = kindOf(op.getX().getType());
  bool isEqual = relation == "==" || relation == "!=";
  bool isLess = relation == "<" || relation == ">" || relation == "<=" || relation == ">=";
  if (!isEqual && (!isLess || kind != Kind::Str)) {
    error(op) << "`" << relation << "` does not compare values of type " << op.getX().getType();
    return;
  }
  if (relation == ">" || relation == ">=")
    std::swap(x, y);
  Opcode opcode = Opcode::EqAny;
  if (!isEqual)
    opcode = relation.size() == 1 ? Opcode::LtStr : Opcode::LeStr;
  else if (kind == Kind::Str)
    opcode = Opcode::EqStr;
  else if (kind == Kind::DType)
    opcode = Opcode::EqDType;
  releaseOperands();
  Reg reg = define(op.getResult());
  emit(opcode, reg, x, y);
  if (relation == "!=")
    emit(Opcode::Not, reg, reg);
}

uint16_t FunctionEmitter::globalRow(Operation *op, StringRef name, Type type) {
  std::optional<uint16_t> row = tables.global(name, kindOf(type));
  if (!row)
    error(op) << "the variable `" << name << "` is of another type elsewhere";
  return row.value_or(0);
}

void FunctionEmitter::emitGlobal(Operation *op) {
  if (auto store = dyn_cast<ir::GlobalStoreOp>(op)) {
    Reg value = use(store.getValue());
    emit(Opcode::SetGlobal, globalRow(op, store.getName(), store.getValue().getType()), value);
    return;
  }
  // A variable that is updated in place is moved out at the update.
  auto load = cast<ir::GlobalLoadOp>(op);
  if (!live.changesVariable(load))
    emit(Opcode::GetGlobal, define(load.getResult()),
         globalRow(op, load.getName(), load.getResult().getType()));
}

Reg FunctionEmitter::takeGlobal(ir::GlobalLoadOp op, Value result) {
  uint16_t row = globalRow(op, op.getName(), op.getResult().getType());
  Reg reg = define(result);
  emit(Opcode::TakeGlobal, reg, row);
  if (current.taken.empty())
    current.guardFrom = here();
  current.taken.push_back({row, reg});
  current.handedOver.push_back(op.getResult());
  return reg;
}

/// If the op that updates variables in place fails, an exception handler restores them from what it
/// left of them.
void FunctionEmitter::guardGlobals() {
  uint32_t end = here(), over = emitJump(Opcode::Jump), target = here();
  for (auto [row, reg] : current.taken)
    emit(Opcode::SetGlobal, row, reg);
  Reg error = temp(Kind::Error);
  emit(Opcode::Raise, error);
  landHere(over);
  code.handlers.push_back({current.guardFrom, end, target, error});
  // On the normal path the register is empty.
  current.temps.pop_back();
  registers.free(error);
}

/// A cell is a dedicated register.
void FunctionEmitter::emitCell(Operation *op) {
  if (auto cell = dyn_cast<ir::CellOp>(op)) {
    (void)defineFrom(cell.getInitial(), cell.getResult());
  } else if (auto load = dyn_cast<ir::LoadOp>(op)) {
    // A variable that is updated in place is updated in its own register.
    if (live.changesVariable(load))
      values[load.getResult()] = use(load.getCell());
    else
      (void)defineFrom(load.getCell(), load.getResult());
  } else {
    auto store = cast<ir::StoreOp>(op);
    Reg value = use(store.getValue()), into = use(store.getCell());
    if (value == into) {
      current.handedOver.push_back(store.getValue());
      return;
    }
    transfer(into, value, ends(store.getValue()));
    // Moved from: its register is free, and there is nothing to drop.
    if (ends(store.getValue())) {
      current.handedOver.push_back(store.getValue());
      registers.free(value);
    }
  }
}

} // namespace mx::bytecode
