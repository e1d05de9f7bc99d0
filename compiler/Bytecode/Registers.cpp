// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register allocation with a free list per kind.
#include "Bytecode/Registers.h"

namespace mx::bytecode {

Reg Registers::addParameter(Kind kind, bool isMut) {
  if (state.size() >= mxrt::host::maxRegisters) {
    tooMany = true;
    return 0;
  }
  state.push_back(kUsed);
  return function.addParam(kind, isMut);
}

Reg Registers::take(Kind kind) {
  std::vector<Reg> &list = unusedOnes[size_t(kind)];
  Reg reg = 0;
  if (!list.empty()) {
    reg = list.back();
    list.pop_back();
  } else if (state.size() >= mxrt::host::maxRegisters) {
    // Reported once, at the end of the function; until then any register will do.
    tooMany = true;
    return 0;
  } else {
    reg = function.addRegister(kind);
    state.push_back(0);
  }
  state[reg] = kUsed;
  log.push_back(reg);
  return reg;
}

void Registers::free(Reg reg) {
  if (!(state[reg] & kUsed))
    return;
  state[reg] &= ~kUsed;
  if (!state[reg])
    unusedOnes[size_t(kind(reg))].push_back(reg);
}

void Registers::unreserve(Reg reg) {
  if (!(state[reg] & kReserved))
    return;
  state[reg] &= ~kReserved;
  if (!state[reg])
    unusedOnes[size_t(kind(reg))].push_back(reg);
}

void Registers::restore(const State &saved) {
  size_t count = state.size();
  state = saved;
  state.resize(count, 0);
  for (std::vector<Reg> &list : unusedOnes)
    list.clear();
  for (size_t reg = count; reg-- > 0;)
    if (!state[reg])
      unusedOnes[size_t(kind(Reg(reg)))].push_back(Reg(reg));
}

} // namespace mx::bytecode
