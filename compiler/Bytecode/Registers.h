// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register allocation within a function, in the one walk that emits it, as in linear-scan
// allocators. A register has one kind for the whole function, so a free one can be reused for any
// later value of its kind. Reuse is LIFO, which often makes the result of an instruction replace
// the operand that ended there.
//
// A register can be reserved: it is kept for one purpose (the result of an `if`, a loop-carried
// value) while it is empty or holds a value on its way there.
#pragma once
#include "host/text/ModuleBuilder.h"
#include <array>

namespace mx::bytecode {

using Kind = mxrt::host::Kind;
using Reg = uint16_t;

class Registers {
public:
  explicit Registers(mxrt::host::FunctionBuilder &function) : function(function) {}

  Kind kind(Reg reg) const { return function.registers[reg]; }
  /// It holds a value.
  bool isUsed(Reg reg) const { return state[reg] & kUsed; }
  bool isReserved(Reg reg) const { return state[reg] & kReserved; }
  /// The function needs more registers than it may have.
  bool overflowed() const { return tooMany; }

  Reg addParameter(Kind kind, bool isMut);
  Reg take(Kind kind);
  /// Marks an empty reserved register as filled.
  void fill(Reg reg) {
    state[reg] |= kUsed;
    log.push_back(reg);
  }
  void free(Reg reg);
  void reserve(Reg reg) { state[reg] |= kReserved; }
  void unreserve(Reg reg);

  /// The registers in use, to restore for the other branch. Registers created since are free then.
  using State = std::vector<uint8_t>;
  const State &save() const { return state; }
  void restore(const State &saved);

  /// Registers taken or filled since the log had this length.
  size_t logLength() const { return log.size(); }
  Reg logged(size_t index) const { return log[index]; }

private:
  static constexpr uint8_t kUsed = 1, kReserved = 2;
  mxrt::host::FunctionBuilder &function;
  State state;
  std::array<std::vector<Reg>, mxrt::host::kindCount> unusedOnes;
  std::vector<Reg> log;
  bool tooMany = false;
};

} // namespace mx::bytecode
