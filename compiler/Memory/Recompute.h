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

/// Makes values again that cost next to nothing, so that as little as possible is in use at once:
/// only calls that move bytes for longer than they compute run again, all of them together for at
/// most `percent` of the program's time, as far as that is known. The least budget for that;
/// nothing if less than a twentieth would be won, or the program uses several devices.
std::optional<int64_t> cheapBudget(rt::ProgramOp program, double percent);
/// Makes only such values again; else as recompute().
bool recomputeCheap(rt::ProgramOp program, int64_t budget);

/// Budgets for recompute(), from large to small: the same ones for a program whatever it is to fit
/// into, so that what fits into a limit fits into each larger one.
class BudgetLadder {
public:
  struct Rung {
    int64_t budget;
    int64_t peak; ///< in use at once then, at most
  };
  explicit BudgetLadder(rt::ProgramOp program);
  ~BudgetLadder();
  /// The next for which there is a way, and a better one than before; nothing at the end: then
  /// several in turn had none, or a call needs more by itself.
  std::optional<Rung> next();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mx::memory
