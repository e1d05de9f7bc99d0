// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse gradients of embedding tables: a zero tensor to which few rows are added. Fused ops need
// not materialise such a gradient: a kernel with both the scatter and its users keeps only the
// touched rows in a hash table, keyed by row number.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

/// An `mx.scatter_add` of a few rows to zeros, along the first axis.
struct Table {
  ScatterAddOp op;
  int64_t rows;    ///< of the table
  int64_t entries; ///< added rows
  int64_t width;   ///< elements per row

  // The workspace of a kernel that keeps the touched rows: a hash table from row number to
  // entry (i32), the row numbers (i64), and their sums.
  int64_t slots() const; ///< a power of two, larger than the number of entries
  int64_t numbersAt() const;
  int64_t sumsAt() const;
  int64_t bytes() const;
};

/// Whether all elements are +0, as constants show.
bool isZeros(mlir::Value value);

/// The number of elements, if all sizes are known.
std::optional<int64_t> countOf(llvm::ArrayRef<SizeAttr> sizes);

/// Nothing if the op does not match, or its sizes are not known. `more` is added to the entries.
std::optional<Table> tableOf(ScatterAddOp op, int64_t more = 0);
/// The table of a kernel's body whose other ops read the rows; it needs the workspace.
std::optional<Table> tableOf(mlir::Block &body);
inline std::optional<Table> tableOf(KernelOp kernel) { return tableOf(kernel.getBody().front()); }

} // namespace mx::ir
