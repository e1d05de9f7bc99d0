// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for scalars on the host: each op is one or two instructions of the VM, or a
// native function of runtime/host/Math.def where there is none. i8, u8 and i32 are i64 registers
// that are wrapped after an op that may overflow their range.
#include "Bytecode/FunctionEmitter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <bit>

using namespace mlir;

namespace mx::bytecode {

static Type elementOf(Value value) { return cast<ir::TensorType>(value.getType()).getElement(); }

/// A constant that is used only as an immediate operand of additions.
bool FunctionEmitter::isImmediate(ir::ConstantOp op) const {
  auto value = dyn_cast<IntegerAttr>(op.getValue());
  if (!ir::isHostInt(op.getType()) || !value || op->use_empty())
    return false;
  // One less than the range: subtraction adds the negated constant.
  int64_t number = value.getInt();
  if (number < -32767 || number > 32767)
    return false;
  return llvm::all_of(op->getUses(), [](OpOperand &use) {
    return isa<ir::AddOp, ir::SubOp>(use.getOwner()) && use.getOperandNumber() == 1 &&
           isHostTensor(use.getOwner()->getResult(0).getType());
  });
}

void FunctionEmitter::emitHostConstant(ir::ConstantOp op) {
  Kind kind = kindOf(op.getType());
  uint64_t bits = 0;
  if (auto number = dyn_cast<IntegerAttr>(op.getValue())) {
    const APInt &value = number.getValue();
    bool isUnsigned = number.getType().isUnsignedInteger() || kind == Kind::Bool;
    bits = isUnsigned ? value.getZExtValue() : uint64_t(value.getSExtValue());
  } else {
    const APFloat &value = cast<FloatAttr>(op.getValue()).getValue();
    bits = kind == Kind::F64 ? std::bit_cast<uint64_t>(value.convertToDouble())
                             : std::bit_cast<uint32_t>(float(value.convertToDouble()));
  }
  values[op.getResult()] = constant(kind, bits);
}

void FunctionEmitter::wrap(Reg reg, Type element) {
  if (element.isUnsignedInteger(8))
    emit(Opcode::WrapU8, reg, reg);
  else if (element.isInteger(8))
    emit(Opcode::WrapI8, reg, reg);
  else if (element.isInteger(32))
    emit(Opcode::WrapI32, reg, reg);
}

void FunctionEmitter::emitMath(Operation *op, StringRef name, Kind kind) {
  SmallVector<uint16_t> operands;
  std::vector<ParamData> params;
  for (Value operand : op->getOperands()) {
    operands.push_back(use(operand));
    params.push_back({kind, false});
  }
  StringRef ending = kind == Kind::Int ? ".i" : kind == Kind::F32 ? ".f" : ".d";
  Kind resultKind = kindOf(op->getResult(0).getType());
  uint16_t row = tables.import(ImportKind::Native, ("mx.math." + name + ending).str(),
                               std::move(params), resultKind);
  releaseOperands();
  emit(Opcode::CallNative, define(op->getResult(0)), row, list(operands));
}

void FunctionEmitter::emitHostElementwise(Operation *op) {
  if (auto select = dyn_cast<ir::SelectOp>(op))
    return emitSelect(select);
  if (auto cast = dyn_cast<ir::CastOp>(op))
    return emitHostCast(cast);
  Type element = elementOf(op->getOperand(0));
  Kind kind = kindOfElement(element);
  if (kind == Kind::Bool)
    return emitHostLogic(op);
  if (emitHostCompare(op, kind) || emitHostArithmetic(op, element))
    return;
  bool isFloat = kind != Kind::Int;
  Value result = op->getResult(0);
  if (isa<ir::IsNanOp>(op) && isFloat) {
    Reg x = use(op->getOperand(0));
    releaseOperands();
    emit(kind == Kind::F32 ? Opcode::NeF32 : Opcode::NeF64, define(result), x, x);
  } else if (isa<ir::IsFiniteOp>(op) && isFloat) {
    emitIsFinite(op, kind);
  } else if (isa<ir::IsNanOp, ir::IsFiniteOp>(op)) {
    releaseOperands();
    emit(Opcode::BoolImm, define(result), isa<ir::IsFiniteOp>(op));
  } else if (isa<ir::BitNotOp>(op) && !isFloat) {
    // -x - 1
    Reg x = use(op->getOperand(0));
    releaseOperands();
    Reg reg = define(result);
    emit(Opcode::NegInt, reg, x);
    emit(Opcode::AddImm, reg, reg, uint16_t(-1));
    wrap(reg, element);
  } else if (isa<ir::FloorOp, ir::CeilOp, ir::RoundOp>(op) && !isFloat) {
    (void)defineFrom(op->getOperand(0), result);
  } else {
    static constexpr StringLiteral ints[] = {
#define MX_MATH_INT1(name, expression) #name,
#define MX_MATH_INT2(name, expression) #name,
#include "host/Math.def"
    };
    static constexpr StringLiteral floats[] = {
#define MX_MATH_FLOAT1(name, expression) #name,
#define MX_MATH_FLOAT2(name, expression) #name,
#include "host/Math.def"
    };
    StringRef name = op->getName().stripDialect();
    if (!(isFloat ? llvm::is_contained(floats, name) : llvm::is_contained(ints, name))) {
      error(op) << "is not there for " << elementName(element) << " on the host";
      return;
    }
    emitMath(op, name, kind);
    if (!isFloat)
      wrap(values[result], element);
  }
}

/// inf - inf and NaN - NaN are NaN, which is not equal to itself.
void FunctionEmitter::emitIsFinite(Operation *op, Kind kind) {
  Reg x = use(op->getOperand(0)), rest = temp(kind);
  emit(kind == Kind::F32 ? Opcode::SubF32 : Opcode::SubF64, rest, x, x);
  releaseOperands();
  emit(kind == Kind::F32 ? Opcode::EqF32 : Opcode::EqF64, define(op->getResult(0)), rest, rest);
}

bool FunctionEmitter::emitHostArithmetic(Operation *op, Type element) {
  struct Row {
    Opcode i, f, d;
    bool leavesRange; // of the narrow integers
  };
  constexpr Opcode kNone = Opcode::Nop;
  Row row = TypeSwitch<Operation *, Row>(op)
                .Case<ir::AddOp>([](auto) -> Row {
                  return {Opcode::AddInt, Opcode::AddF32, Opcode::AddF64, true};
                })
                .Case<ir::SubOp>([](auto) -> Row {
                  return {Opcode::SubInt, Opcode::SubF32, Opcode::SubF64, true};
                })
                .Case<ir::MulOp>([](auto) -> Row {
                  return {Opcode::MulInt, Opcode::MulF32, Opcode::MulF64, true};
                })
                .Case<ir::DivOp>([](auto) -> Row {
                  return {Opcode::DivInt, Opcode::DivF32, Opcode::DivF64, false};
                })
                .Case<ir::FloorDivOp>([](auto) -> Row {
                  return {Opcode::FloorDivInt, Opcode::FloorDivF32, Opcode::FloorDivF64, true};
                })
                .Case<ir::ModOp>([](auto) -> Row {
                  return {Opcode::ModInt, Opcode::ModF32, Opcode::ModF64, false};
                })
                .Case<ir::PowOp>([](auto) -> Row {
                  return {Opcode::PowInt, Opcode::PowF32, Opcode::PowF64, true};
                })
                .Case<ir::NegOp>([](auto) -> Row {
                  return {Opcode::NegInt, Opcode::NegF32, Opcode::NegF64, true};
                })
                .Default([](auto) -> Row {
                  return {kNone, kNone, kNone, false};
                });
  Kind kind = kindOfElement(element);
  Opcode opcode = kind == Kind::Int ? row.i : kind == Kind::F32 ? row.f : row.d;
  if (opcode == kNone)
    return false;
  Value result = op->getResult(0);
  Reg x = use(op->getOperand(0));
  // A small constant becomes an immediate operand.
  if (opcode == Opcode::AddInt || opcode == Opcode::SubInt) {
    auto known = op->getOperand(1).getDefiningOp<ir::ConstantOp>();
    auto value = known ? dyn_cast<IntegerAttr>(known.getValue()) : IntegerAttr();
    int64_t number = value ? value.getValue().getSExtValue() : INT64_MAX;
    if (number >= -32767 && number <= 32767 && !element.isUnsignedInteger()) {
      releaseOperands();
      Reg reg = define(result);
      emit(Opcode::AddImm, reg, x, uint16_t(opcode == Opcode::AddInt ? number : -number));
      wrap(reg, element);
      return true;
    }
  }
  Reg y = op->getNumOperands() == 2 ? use(op->getOperand(1)) : 0;
  releaseOperands();
  Reg reg = define(result);
  emit(opcode, reg, x, y);
  if (kind == Kind::Int && row.leavesRange)
    wrap(reg, element);
  return true;
}

bool FunctionEmitter::emitHostCompare(Operation *op, Kind kind) {
  auto pick = [&](Opcode i, Opcode f, Opcode d) {
    return kind == Kind::Int ? i : kind == Kind::F32 ? f : d;
  };
  Opcode opcode = Opcode::Nop;
  if (isa<ir::EqOp>(op))
    opcode = pick(Opcode::EqInt, Opcode::EqF32, Opcode::EqF64);
  else if (isa<ir::NeOp>(op))
    opcode = pick(Opcode::NeInt, Opcode::NeF32, Opcode::NeF64);
  else if (isa<ir::LtOp, ir::GtOp>(op))
    opcode = pick(Opcode::LtInt, Opcode::LtF32, Opcode::LtF64);
  else if (isa<ir::LeOp, ir::GeOp>(op))
    opcode = pick(Opcode::LeInt, Opcode::LeF32, Opcode::LeF64);
  else
    return false;
  Reg x = use(op->getOperand(0)), y = use(op->getOperand(1));
  if (isa<ir::GtOp, ir::GeOp>(op))
    std::swap(x, y);
  releaseOperands();
  emit(opcode, define(op->getResult(0)), x, y);
  return true;
}

/// Bools: `and` and `or` are jumps over a move.
void FunctionEmitter::emitHostLogic(Operation *op) {
  Value result = op->getResult(0);
  Reg x = use(op->getOperand(0));
  if (isa<ir::NotOp, ir::BitNotOp>(op)) {
    releaseOperands();
    emit(Opcode::Not, define(result), x);
    return;
  }
  if (isa<ir::IsNanOp, ir::IsFiniteOp>(op) || op->getNumOperands() != 2) {
    error(op) << "is not there for bool on the host";
    return;
  }
  Reg y = use(op->getOperand(1));
  if (isa<ir::EqOp, ir::NeOp, ir::BitXorOp>(op)) {
    releaseOperands();
    emit(isa<ir::EqOp>(op) ? Opcode::EqBool : Opcode::NeBool, define(result), x, y);
    return;
  }
  bool isAnd = isa<ir::AndOp, ir::BitAndOp, ir::MinimumOp, ir::MulOp>(op);
  if (isAnd || isa<ir::OrOp, ir::BitOrOp, ir::MaximumOp>(op)) {
    // y must outlive the first write to the result.
    Reg reg = define(result);
    emit(Opcode::Mov, reg, x);
    uint32_t over = emitJump(isAnd ? Opcode::JumpFalse : Opcode::JumpTrue, reg);
    emit(Opcode::Mov, reg, y);
    landHere(over);
    return;
  }
  if (isa<ir::LtOp, ir::LeOp, ir::GtOp, ir::GeOp>(op)) {
    Reg a = temp(Kind::Int), b = temp(Kind::Int);
    emit(Opcode::BoolToInt, a, x);
    emit(Opcode::BoolToInt, b, y);
    if (isa<ir::GtOp, ir::GeOp>(op))
      std::swap(a, b);
    releaseOperands();
    emit(isa<ir::LtOp, ir::GtOp>(op) ? Opcode::LtInt : Opcode::LeInt, define(result), a, b);
    return;
  }
  error(op) << "is not there for bool on the host";
}

void FunctionEmitter::emitSelect(ir::SelectOp op) {
  Reg condition = use(op.getCondition()), x = use(op.getX()), y = use(op.getY());
  Reg reg = define(op.getResult());
  emit(Opcode::Mov, reg, x);
  uint32_t over = emitJump(Opcode::JumpTrue, condition);
  emit(Opcode::Mov, reg, y);
  landHere(over);
}

void FunctionEmitter::emitHostCast(ir::CastOp op) {
  Type from = elementOf(op.getX()), to = elementOf(op.getResult());
  Kind source = kindOfElement(from), target = kindOfElement(to);
  bool fromFloat = source == Kind::F32 || source == Kind::F64;
  if (target == Kind::Int && fromFloat)
    return emitMath(op, "to_" + elementName(to), source);
  if (source == target) {
    Reg reg = defineFrom(op.getX(), op.getResult());
    if (target == Kind::Int && from != to)
      wrap(reg, to);
    return;
  }
  Reg x = use(op.getX());
  if (target == Kind::Bool) {
    Reg zero = constant(source, 0);
    releaseOperands();
    emit(source == Kind::Int   ? Opcode::NeInt
         : source == Kind::F32 ? Opcode::NeF32
                               : Opcode::NeF64,
         define(op.getResult()), x, zero);
    return;
  }
  if (source == Kind::Bool && target != Kind::Int) {
    Reg number = temp(Kind::Int);
    emit(Opcode::BoolToInt, number, x);
    x = number;
    source = Kind::Int;
  }
  releaseOperands();
  Opcode opcode = source == Kind::Bool                         ? Opcode::BoolToInt
                  : source == Kind::Int && target == Kind::F32 ? Opcode::IntToF32
                  : source == Kind::Int                        ? Opcode::IntToF64
                  : source == Kind::F32                        ? Opcode::F32ToF64
                                                               : Opcode::F64ToF32;
  emit(opcode, define(op.getResult()), x);
}

} // namespace mx::bytecode
