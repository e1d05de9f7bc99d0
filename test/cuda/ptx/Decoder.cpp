// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ptx/Decoder.h"

namespace mxemu {

std::string Decoder::spelling() const {
  std::string text = statement.opcode;
  for (auto &modifier : mods)
    text += "." + modifier;
  return text;
}

bool Decoder::take(std::string_view modifier) {
  for (size_t i = 0; i < mods.size(); ++i)
    if (!taken[i] && mods[i] == modifier)
      return taken[i] = true;
  return false;
}

Ty Decoder::takeTypeOr(Ty other) {
  for (size_t i = 0; i < mods.size(); ++i)
    if (Ty type = typeFromName(mods[i]); !taken[i] && type != Ty::None) {
      taken[i] = true;
      return type;
    }
  return other;
}

Ty Decoder::takeType() {
  Ty type = takeTypeOr(Ty::None);
  if (type == Ty::None)
    fail("no type");
  return type;
}

bool Decoder::takeRound(Round &round, bool integer) {
  static const std::pair<std::string_view, Round> modes[] = {{"rn", Round::Nearest},
                                                             {"rz", Round::Zero},
                                                             {"rm", Round::Down},
                                                             {"rp", Round::Up},
                                                             {"rna", Round::NearestAway}};
  for (auto &[name, mode] : modes)
    if (take(integer ? std::string(name) + "i" : std::string(name))) {
      round = mode;
      return true;
    }
  return false;
}

unsigned Decoder::takeVector() { return take("v2") ? 2 : take("v4") ? 4 : 1; }

void Decoder::finish() const {
  for (size_t i = 0; i < mods.size(); ++i)
    if (!taken[i])
      fail("unknown modifier '." + mods[i] + "'");
}

void Decoder::expectOperands(size_t min, size_t max) {
  if (count() < min || count() > max)
    fail("wrong number of operands");
}

void Decoder::checkWidth(const Symbol &symbol, const std::string &name, Ty type) const {
  if ((type == Ty::Pred) != (symbol.type == Ty::Pred))
    fail("operand '" + name + "' is" + (type == Ty::Pred ? " no predicate" : " a predicate"));
}

Operand Decoder::destination(const Argument &operand, Ty type) {
  if (operand.kind != Argument::Name)
    fail("the destination must be a register");
  if (operand.name == "_")
    return builder.scratch(bytesOf(type));
  const Symbol *symbol = builder.find(operand.name);
  if (!symbol || symbol->kind != Symbol::Register)
    fail("unknown register '" + operand.name + "'");
  checkWidth(*symbol, operand.name, type);
  if (symbol->row.bytes < bytesOf(type))
    fail("register '" + operand.name + "' is too narrow");
  if (symbol->row.offset < SpecialRows * 128)
    fail("'" + operand.name + "' cannot be written");
  return symbol->row;
}

Operand Decoder::source(const Argument &operand, Ty type) {
  if (operand.kind == Argument::Immediate) {
    uint64_t bits = operand.value.bits;
    if (type == Ty::Pred)
      return builder.constant(bits ? ~0u : 0, 4);
    if (operand.value.kind == Literal::Integer) {
      if (isFloat(type) && type != Ty::F16x2 && type != Ty::BF16x2)
        fail("an integer where a float belongs");
      if (operand.negative)
        bits = -bits;
      if (operand.inverted)
        bits = !bits;
    } else {
      double value;
      if (operand.value.kind == Literal::Single) {
        float narrow;
        std::memcpy(&narrow, &bits, 4);
        value = narrow;
      } else {
        std::memcpy(&value, &bits, 8);
      }
      if (operand.negative)
        value = -value;
      if (type == Ty::F32 || type == Ty::TF32 ||
          (type == Ty::B32 && operand.value.kind == Literal::Single)) {
        float narrow = float(value);
        uint32_t word;
        std::memcpy(&word, &narrow, 4);
        bits = operand.value.kind == Literal::Single && !operand.negative ? bits : word;
      } else if (type == Ty::F64 || type == Ty::B64) {
        std::memcpy(&bits, &value, 8);
      } else if (type == Ty::F16) {
        bits = Number<Half>::make(value).bits;
      } else if (type == Ty::BF16) {
        bits = Number<BHalf>::make(value).bits;
      } else {
        fail("a float where an integer belongs");
      }
    }
    return builder.constant(bits, bytesOf(type));
  }
  if (operand.kind != Argument::Name)
    fail("expected a register or a number");
  const Symbol *symbol = builder.find(operand.name);
  if (!symbol)
    fail("unknown name '" + operand.name + "'");
  if (symbol->kind != Symbol::Register)
    return builder.constant(symbol->value + uint64_t(operand.offset), bytesOf(type));
  checkWidth(*symbol, operand.name, type);
  // A wider register may be read for narrower types: its low bytes count.
  if (symbol->row.bytes < bytesOf(type) && !(type == Ty::B64 && symbol->row.bytes == 4))
    fail("register '" + operand.name + "' is too narrow");
  Operand row = symbol->row;
  row.inverted = operand.inverted;
  return row;
}

void Decoder::sources(size_t index, Ty type, size_t expected) {
  const Argument &operand = written(index);
  if (operand.kind != Argument::Vector) {
    if (expected != 1)
      fail("expected a vector operand");
    inst.vector.push_back(source(operand, type));
    return;
  }
  if (operand.parts.size() != expected)
    fail("a vector operand of another length");
  for (auto &part : operand.parts)
    inst.vector.push_back(source(part, type));
}

void Decoder::destinations(size_t index, Ty type, size_t expected) {
  const Argument &operand = written(index);
  if (operand.kind != Argument::Vector) {
    if (expected != 1)
      fail("expected a vector operand");
    inst.vector.push_back(destination(operand, type));
    return;
  }
  if (operand.parts.size() != expected)
    fail("a vector operand of another length");
  for (auto &part : operand.parts)
    inst.vector.push_back(destination(part, type));
}

Operand Decoder::address(size_t index) {
  const Argument &operand = written(index);
  if (operand.kind != Argument::Address)
    fail("expected an address in brackets");
  inst.offset = operand.offset;
  if (operand.name.empty())
    return builder.constant(0, 8);
  const Symbol *symbol = builder.find(operand.name);
  if (!symbol)
    fail("unknown name '" + operand.name + "'");
  if (symbol->kind == Symbol::Register) {
    if (symbol->row.bytes < 4)
      fail("register '" + operand.name + "' is too narrow for an address");
    return symbol->row;
  }
  return builder.constant(symbol->value, 8);
}

int64_t Decoder::immediate(size_t index) {
  const Argument &operand = written(index);
  if (operand.kind != Argument::Immediate || operand.value.kind != Literal::Integer)
    fail("expected an integer");
  return operand.negative ? -int64_t(operand.value.bits) : int64_t(operand.value.bits);
}

void Decoder::simple(std::initializer_list<Ty> types) {
  expectOperands(types.size(), types.size());
  size_t index = 0;
  for (Ty type : types) {
    inst.op[index] = index ? source(index, type) : destination(index, type);
    ++index;
  }
}

const DecodeTable &decodeTable() {
  static const DecodeTable table = [] {
    DecodeTable result;
    addIntegerOps(result);
    addLogicOps(result);
    addFloatOps(result);
    addHalfOps(result);
    addCompareOps(result);
    addConvertOps(result);
    addMemoryOps(result);
    addAtomicOps(result);
    addControlOps(result);
    addWarpOps(result);
    addAsyncOps(result);
    addMatrixOps(result);
    return result;
  }();
  return table;
}

} // namespace mxemu
