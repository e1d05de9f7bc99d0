// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of bf16 instructions.
#include "Support/TargetInfo.h"

namespace mx {

std::optional<Bf16Unit> Bf16Unit::parse(std::string_view name) {
  if (name == "none")
    return Bf16Unit{None, false, kTileState};
  if (name == "avx512bf16")
    return Bf16Unit{Avx512Bf16, false, kTileState};
  if (name == "amx")
    return Bf16Unit{Amx, false, kTileState};
  if (name == "emulated-avx512bf16")
    return Bf16Unit{Avx512Bf16, true, kNoState};
  if (name == "emulated-amx")
    return Bf16Unit{Amx, true, kNoState};
  if (name == "refused-amx")
    return Bf16Unit{Amx, true, kRefusedState};
  return std::nullopt;
}
std::string Bf16Unit::text() const {
  return std::to_string(kind) + (isEmulated ? " emulated " : " ") + std::to_string(state);
}

} // namespace mx
