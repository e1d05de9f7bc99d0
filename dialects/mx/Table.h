// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of which few rows are named: the gradient of an embedding is zeros with rows added to
// them. Ops on such a gradient need not have it in memory; a kernel with both keeps the rows that
// were named, and finds them by their numbers.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

/// An `mx.scatter_add` of a few rows to zeros, along the first axis.
struct Table {
  ScatterAddOp op;
  int64_t rows;    ///< of the table
  int64_t entries; ///< that are added
  int64_t width;   ///< elements of a row

  // The workspace of a kernel that keeps the named rows: where each is found by a hash of its
  // number (i32), their numbers (i64), and their sums.
  int64_t slots() const; ///< a power of two, more than there are entries
  int64_t numbersAt() const;
  int64_t sumsAt() const;
  int64_t bytes() const;
};

/// Nothing if it is another one, or its sizes are not known.
std::optional<Table> tableOf(ScatterAddOp op);
/// That of a kernel whose other ops read the rows; it needs the workspace.
std::optional<Table> tableOf(KernelOp kernel);

} // namespace mx::ir
