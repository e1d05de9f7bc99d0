// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feasibility of linear inequalities over non-negative variables, decided exactly (simplex method).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mx {

/// The inequality: the sum of coefficients[i] * x[i] is at most `bound`.
struct LinearRow {
  std::vector<int64_t> coefficients;
  int64_t bound = 0;
};

/// Whether some x >= 0 satisfies all rows, each with `columns` coefficients. Subtracts the pivots
/// it needs from `pivots`. False may also mean that the pivots ran out or that a number overflowed
/// int64. True is verified against the rows.
bool hasSolution(const std::vector<LinearRow> &rows, size_t columns, int &pivots);

} // namespace mx
