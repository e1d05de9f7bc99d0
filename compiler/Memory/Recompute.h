// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rematerialisation: recomputes values where they are needed to lower peak memory.
#pragma once
#include "Support/TargetInfo.h"
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Recomputes values so that at most `budget` bytes are in use at once, with as little extra work
/// as it finds. Input: a program in which each buffer has a slice of its own. Returns false and
/// changes nothing if it finds no schedule, or if the program uses several devices.
bool recompute(rt::ProgramOp program, const TargetInfo &target, int64_t budget);

/// The smallest budget that cheap rematerialisation reaches: only memory-bound calls rerun,
/// together for at most `percent` of the program's estimated time. Nothing if the gain is below a
/// twentieth, or if the program uses several devices.
std::optional<int64_t> cheapBudget(rt::ProgramOp program, const TargetInfo &target, double percent);
/// Recomputes only such cheap values; otherwise like recompute().
bool recomputeCheap(rt::ProgramOp program, const TargetInfo &target, int64_t budget);

/// Decreasing budgets for recompute(). A program has the same ladder for every limit, so that what
/// fits into a limit fits into each larger one.
class BudgetLadder {
public:
  struct Rung {
    int64_t budget;
    int64_t peak; ///< peak bytes with that budget
  };
  BudgetLadder(rt::ProgramOp program, const TargetInfo &target);
  ~BudgetLadder();
  /// The next rung with a schedule that needs less than the one before. Nothing at the end: several
  /// consecutive budgets had no schedule, or a single call needs more.
  std::optional<Rung> next();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mx::memory
