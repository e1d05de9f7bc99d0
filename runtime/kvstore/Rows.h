// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of tables that few rows were read from: the rows, and where they
// belong. A row may be there several times: those of a rank are added in their
// order, from zero, as the dense gradient of the rank would be. Then ranks are
// added in the order of the topology, as dense gradients of a bucket by itself.
// So the result has the bits of the dense mean.

#ifndef MXRT_KVSTORE_ROWS_H
#define MXRT_KVSTORE_ROWS_H

#include "kvstore/Plan.h"
#include "mxrt/types.h"

namespace mxrt::kvstore {

/// A table, f32 or f64.
struct TableShape {
  size_t rows = 0, width = 0; // elements of a row
  mxrt_dtype dtype = MXRT_F32;
  size_t rowBytes() const { return width * size_t(mxrt_dtype_size(dtype)); }
  /// Of the number of a row.
  size_t numberBytes() const { return rows > UINT32_MAX ? 8 : 4; }
  /// Of a row and its number, in messages.
  size_t entryBytes() const { return rowBytes() + numberBytes(); }
};

/// The rows of a rank, and their numbers: i32 or i64, negative ones count from
/// the end.
struct OwnRows {
  const void *rows = nullptr, *index = nullptr;
  mxrt_dtype indexType = MXRT_I32;
  size_t count = 0;
};

/// R0204 for a number that the table has no row of.
Status checkRows(const mxrt_allocator *alloc, const TableShape &table, const OwnRows &own);
/// The form in messages: `count` rows, then their numbers. The numbers were checked.
void packRows(const TableShape &table, const OwnRows &own, void *out);
/// Adds them to `dense`, which is all zeros.
void addRows(const TableShape &table, const OwnRows &own, void *dense);

/// What a rank sent.
struct PackedRows {
  const void *data = nullptr;
  size_t count = 0;
  double weight = 1;
};
/// The weighted mean over all ranks, into `dense`, which is all zeros. R0701 for a
/// number that the table has no row of. `total` is the sum of all weights.
Status averageRows(const mxrt_allocator *alloc, const Layout &layout, const TableShape &table,
                   std::span<const PackedRows> ranks, double total, void *dense);

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_ROWS_H
