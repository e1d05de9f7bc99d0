// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which registers of a function are in use. A register has one kind for the whole function, so a
// free one serves any later value of its kind; the one freed last goes first, which often makes the
// result of an instruction replace the operand that ended there.
//
// A register can be reserved: it is kept for one purpose (the result of an `if`, a value that a
// loop carries) while nothing, or for a time something else on its way there, is in it.
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
  /// Something is in it.
  bool isUsed(Reg reg) const { return state[reg] & kUsed; }
  bool isReserved(Reg reg) const { return state[reg] & kReserved; }
  /// More were asked for than a function may have.
  bool overflowed() const { return tooMany; }

  Reg addParameter(Kind kind, bool isMut);
  Reg take(Kind kind);
  /// Puts something into a reserved register that is empty.
  void fill(Reg reg) {
    state[reg] |= kUsed;
    log.push_back(reg);
  }
  void free(Reg reg);
  void reserve(Reg reg) { state[reg] |= kReserved; }
  void unreserve(Reg reg);

  /// Which are in use, to come back to for the other branch. Registers made since are free then.
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
