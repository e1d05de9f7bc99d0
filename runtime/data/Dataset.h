// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data sets: random access to items by index. A data set is immutable. `take`, `shard`, `repeat`,
// `filter`, `map` and image augmentations create a lazy view on top of it. Ops of the engine gather
// the items asynchronously, so they are usually ready before the program waits for them.

#ifndef MXRT_DATA_DATASET_H
#define MXRT_DATA_DATASET_H

#include "data/Augment.h"
#include "data/DataHost.h"
#include "memory/Tensor.h"

namespace mxrt::data {

/// One component of all items: rows of a tensor, optionally converted.
struct Column {
  TensorRef rows; // dense
  mxrt_dtype type = MXRT_F32;
  float scale = 1; // factor of elements that are converted to f32
  int32_t rank = 0;
  int64_t sizes[MXRT_MAX_RANK] = {}; // of an item
  int64_t elements = 1;              // of an item
};

struct Dataset {
  Dataset(host::Heap &heap, const mxrt_allocator *alloc)
      : heap(heap), alloc(alloc), columns(alloc), name(alloc), starts(alloc), kept(alloc) {}

  uint32_t refs = 1;
  host::Heap &heap;
  const mxrt_allocator *alloc;
  int64_t length = 0;
  Vec<Column> columns; // of the base data set; views have none
  /// The columns are a RecordIO file and the offsets of its records.
  bool pictures = false;
  Vec<char> name; // of that file
  /// The first column is a flat tensor; item i has its elements [starts[i], starts[i + 1]). Empty:
  /// it has rows.
  Vec<int64_t> starts;
  Dataset *below = nullptr;
  /// Item i of the view is item first + (i % period) * step of `below`.
  int64_t first = 0, step = 1, period = INT64_MAX;
  /// Of `filter`: item i is item kept[i] of `below`.
  bool filters = false;
  Vec<int64_t> kept;
  host::Value function; // of `map`
  bool spread = false;  // the parts of an item are separate arguments
  bool changes = false; // the first part of an item is an image that is augmented
  PictureChange change;

  /// The index in `below` of item i.
  int64_t numberBelow(int64_t i) const {
    return filters ? kept[static_cast<size_t>(i)] : first + (i % period) * step;
  }
};

extern const host::ForeignType datasetType;
void retain(Dataset *set);
void release(Dataset *set);

/// Wraps a data set in a handle. Takes ownership of the reference. Unset if out of memory.
host::Value makeDatasetValue(host::Heap &heap, Dataset *set);
inline Dataset *datasetOf(const host::Value &value) {
  return value.kind == host::Kind::Handle && value.foreign()->type == &datasetType
             ? static_cast<Dataset *>(value.foreign()->payload)
             : nullptr;
}
/// Makes `set` the call's result, or returns the error. Takes ownership of the reference.
Status giveDataset(host::Invocation &call, Dataset *set, Status status = success());
/// An empty data set without columns.
Result<Dataset *> makeDataset(host::Heap &heap, const mxrt_allocator *alloc);
/// A view of the call's first argument, of the same length.
Status makeAbove(void *context, host::Invocation &call, Dataset *&made);
/// Adds rows [n, ...] as elements of `type`. Takes ownership of the tensor.
Status addColumn(Dataset &set, mxrt_tensor *rows, mxrt_dtype type, float scale);

/// The requested items and the state of their random stream.
struct ItemRequest {
  std::span<const int64_t> numbers; // indices in the data set
  std::span<const int64_t> positions;  // positions in the loaded data set
  bool single = false;              // one item, not a batch
  int64_t length = -1;              // of sequences; -1: the length of the longest
  mxrt_rng stream = {};
  int64_t epoch = 0;
};

/// The result of the function of `map` or `filter` for item `r` of a request to `set`, the data set
/// below it. `spread`: the parts of an item are separate arguments.
Status callOnItem(DataHost &host, host::Invocation &call, Dataset *set, const host::Value &function,
                  bool spread, const ItemRequest &request, size_t r, host::Value &out);

/// The length of a sequence; -1 if the items are not sequences.
int64_t lengthOf(const Dataset *set, int64_t number);

/// The items stacked along a new first axis, or the single item: a tensor, or a tuple of tensors.
/// `tensors` receives borrowed references to them.
Status issueItems(DataHost &host, host::Invocation &call, Dataset *set, const ItemRequest &request,
                  host::Value &out, Vec<mxrt_tensor *> &tensors);

} // namespace mxrt::data

#endif // MXRT_DATA_DATASET_H
