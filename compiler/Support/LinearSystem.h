// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Systems of linear inequalities over numbers that are not negative, solved exactly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mx {

/// Each row says: the sum of coefficients[i] * x[i] is at most `bound`.
struct LinearRow {
  std::vector<int64_t> coefficients;
  int64_t bound = 0;
};

/// Whether some x >= 0 satisfies all rows, each with `columns` coefficients. Takes the pivots it
/// needs off `pivots`. The answer "no" may also mean that there were too few of those or that the
/// numbers outgrew int64; "yes" is checked against the rows.
bool hasSolution(const std::vector<LinearRow> &rows, size_t columns, int &pivots);

} // namespace mx
