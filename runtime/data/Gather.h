// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op that makes a batch: rows of columns, converted; pictures decoded and
// changed. Rows are made in parallel, each by itself, so the bits do not depend
// on threads.

#ifndef MXRT_DATA_GATHER_H
#define MXRT_DATA_GATHER_H

#include "data/Dataset.h"

namespace mxrt::data {

/// Values that are released unless they were given away.
struct Parts {
  explicit Parts(host::Heap &heap) : heap(heap), list(heap.allocator()) {}
  Parts(const Parts &) = delete;
  Parts &operator=(const Parts &) = delete;
  ~Parts();
  /// A new tensor [rows, sizes...] or, without `rows`, [sizes...].
  Status add(mxrt_runtime *runtime, mxrt_dtype type, const int64_t *rows, int32_t rank,
             const int64_t *sizes, const mxrt_place &place);
  host::Heap &heap;
  Vec<host::Value> list;
};

/// The data set at the bottom, whose rows are taken.
struct GatherSource {
  std::span<const Column> columns;
  std::span<const int64_t> starts; // as those of a data set
  bool pictures = false;
  std::string_view name; // of the file with the pictures
};

/// Pushes the op for these columns and adds what it writes to `parts`. The
/// changes are those of the first column.
Status pushGather(DataHost &host, host::Invocation &call, const GatherSource &source,
                  std::span<const PictureChange> changes, const ItemRequest &request, Parts &parts);

} // namespace mxrt::data

#endif // MXRT_DATA_GATHER_H
