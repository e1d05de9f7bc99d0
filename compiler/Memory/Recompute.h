// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values are made again where they are needed, so that less is in use at once.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// On a call or copy that recompute added.
inline constexpr llvm::StringLiteral kAgain = "mxrt.again";

/// Makes values again so that no more than `budget` bytes are in use at once, with as little work
/// as it finds. In: a program in which each buffer has a slice of its own. False, and nothing has
/// changed, if it finds no way, or the program uses several devices.
bool recompute(rt::ProgramOp program, int64_t budget);

/// The least budget that recompute() finds a way for, and the bytes in use without it.
struct BudgetRange {
  int64_t least = 0, plain = 0;
};
BudgetRange budgetsOf(rt::ProgramOp program);

} // namespace mx::memory
