// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One statement, as the instruction decoders (ops/) see it. A modifier that no decoder takes is an
// error, so nothing is ignored by accident.
#pragma once

#include "ptx/Program.h"

namespace mxemu {

struct Symbol {
  enum Kind : uint8_t { Register, Shared, Global, Local, KernelParam, Function } kind = Register;
  Ty type = Ty::None;
  Operand row;        // Register
  uint64_t value = 0; // address or offset
};

/// Names, rows and constants of the kernel that is being built.
class Builder {
public:
  virtual ~Builder() = default;
  virtual const Symbol *find(const std::string &name) = 0;
  virtual Operand constant(uint64_t bits, unsigned bytes) = 0;
  virtual Operand scratch(unsigned bytes) = 0;
  virtual Kernel &kernel() = 0;
};

class Decoder {
public:
  Decoder(Builder &builder, const Statement &statement, Inst &inst)
      : builder(builder), statement(statement), inst(inst), mods(statement.modifiers),
        taken(mods.size()) {}

  Builder &builder;
  const Statement &statement;
  Inst &inst;

  [[noreturn]] void fail(const std::string &message) const {
    throw PtxError(statement.line, message + " in '" + spelling() + "'");
  }
  std::string spelling() const;

  /// Whether the modifier is there; it counts as known then.
  bool take(std::string_view modifier);
  /// The next type among the modifiers.
  Ty takeType();
  Ty takeTypeOr(Ty other);
  /// .rn .rz .rm .rp and their integer forms.
  bool takeRound(Round &round, bool integer = false);
  void takeFloatModifiers() {
    inst.ftz = take("ftz");
    inst.sat = take("sat");
  }
  /// .v2, .v4; 1 for none.
  unsigned takeVector();
  void finish() const;

  size_t count() const { return statement.operands.size(); }
  void expectOperands(size_t min, size_t max);
  const Argument &written(size_t index) const {
    if (index >= count())
      fail("too few operands");
    return statement.operands[index];
  }
  /// A row to write. `_` is a row that nobody reads.
  Operand destination(const Argument &operand, Ty type);
  Operand destination(size_t index, Ty type) { return destination(written(index), type); }
  Operand source(const Argument &operand, Ty type);
  Operand source(size_t index, Ty type) { return source(written(index), type); }
  /// Fragment or vector operand: rows are appended to inst.vector.
  void sources(size_t index, Ty type, size_t expected);
  void destinations(size_t index, Ty type, size_t expected);
  /// An address; sets inst.offset. The row holds the base.
  Operand address(size_t index);
  int64_t immediate(size_t index);
  bool isImmediate(size_t index) const {
    return index < count() && statement.operands[index].kind == Argument::Immediate;
  }
  /// d, a, b, … with one type each.
  void simple(std::initializer_list<Ty> types);

private:
  const std::vector<std::string> &mods;
  std::vector<bool> taken;
  void checkWidth(const Symbol &symbol, const std::string &name, Ty type) const;
};

using Decode = void (*)(Decoder &);
using DecodeTable = std::map<std::string, Decode>;
const DecodeTable &decodeTable();

// Each file of ops/ adds its instructions.
void addIntegerOps(DecodeTable &table);
void addLogicOps(DecodeTable &table);
void addFloatOps(DecodeTable &table);
void addHalfOps(DecodeTable &table);
void addCompareOps(DecodeTable &table);
void addConvertOps(DecodeTable &table);
void addMemoryOps(DecodeTable &table);
void addAtomicOps(DecodeTable &table);
void addControlOps(DecodeTable &table);
void addWarpOps(DecodeTable &table);
void addAsyncOps(DecodeTable &table);
void addMatrixOps(DecodeTable &table);

// Arithmetic names are shared by integers and floats: the type decides.
void decodeFloatArithmetic(Decoder &decoder, Ty type);
void decodeHalfArithmetic(Decoder &decoder, Ty type);

} // namespace mxemu
