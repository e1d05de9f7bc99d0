// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op that gathers a batch: copies and converts rows of columns, decodes and augments images.
// Rows are independent and processed in parallel, so the result is bitwise independent of the
// number of threads.

#ifndef MXRT_DATA_GATHER_H
#define MXRT_DATA_GATHER_H

#include "data/Dataset.h"

namespace mxrt::data {

/// Values that are released unless ownership was transferred.
struct Parts {
  explicit Parts(host::Heap &heap) : heap(heap), list(heap.allocator()) {}
  Parts(const Parts &) = delete;
  Parts &operator=(const Parts &) = delete;
  ~Parts();
  /// A new tensor [rows, sizes...] or, without `rows`, [sizes...].
  Status add(mxrt_runtime *runtime, mxrt_dtype type, const int64_t *rows, int32_t rank,
             const int64_t *sizes, const mxrt_location &location);
  host::Heap &heap;
  Vec<host::Value> list;
};

/// The base data set whose rows are gathered.
struct GatherSource {
  std::span<const Column> columns;
  std::span<const int64_t> starts; // as in Dataset
  bool pictures = false;
  std::string_view name; // of the image file
};

/// Pushes the op for these columns and adds its outputs to `parts`. The augmentations apply to the
/// first column.
Status pushGather(DataHost &host, host::Invocation &call, const GatherSource &source,
                  std::span<const PictureChange> changes, const ItemRequest &request, Parts &parts);

} // namespace mxrt::data

#endif // MXRT_DATA_GATHER_H
