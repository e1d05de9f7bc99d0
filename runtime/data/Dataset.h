// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data sets: items by number. A data set never changes; `take`, `shard`,
// `repeat`, `filter`, `map` and changes of pictures make another one on top. Items are gathered by
// ops of the engine, so they are ready when somebody waits for them.

#ifndef MXRT_DATA_DATASET_H
#define MXRT_DATA_DATASET_H

#include "data/Augment.h"
#include "data/DataHost.h"
#include "memory/Tensor.h"

namespace mxrt::data {

/// One part of all items: rows of a tensor, perhaps converted.
struct Column {
  TensorRef rows; // dense
  mxrt_dtype type = MXRT_F32;
  float scale = 1; // of elements that are converted to f32
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
  Vec<Column> columns; // of the first one; those on top have none
  /// The columns are a file of records and the offsets of records in it.
  bool pictures = false;
  Vec<char> name; // of that file
  /// The first column is a tensor of which item i has the elements starts[i] up
  /// to starts[i + 1]; empty: it has rows.
  Vec<int64_t> starts;
  Dataset *below = nullptr;
  /// Item i is item first + (i % period) * step below.
  int64_t first = 0, step = 1, period = INT64_MAX;
  /// Of `filter`: item i is item kept[i] below.
  bool filters = false;
  Vec<int64_t> kept;
  host::Value function; // of `map`
  bool spread = false;  // it takes the parts of an item one by one
  bool changes = false; // the first part of an item is a picture that is changed
  PictureChange change;

  /// Which item below its item i is.
  int64_t numberBelow(int64_t i) const {
    return filters ? kept[static_cast<size_t>(i)] : first + (i % period) * step;
  }
};

extern const host::ForeignType datasetType;
void retain(Dataset *set);
void release(Dataset *set);

/// A handle; takes over the reference. Unset if there is no memory.
host::Value makeDatasetValue(host::Heap &heap, Dataset *set);
inline Dataset *datasetOf(const host::Value &value) {
  return value.kind == host::Kind::Handle && value.foreign()->type == &datasetType
             ? static_cast<Dataset *>(value.foreign()->payload)
             : nullptr;
}
/// Makes `set` the call's result unless there is an error, which is returned;
/// takes over the reference.
Status giveDataset(host::Invocation &call, Dataset *set, Status status = success());
/// An empty one; its columns are to be added.
Result<Dataset *> makeDataset(host::Heap &heap, const mxrt_allocator *alloc);
/// One on top of the call's first argument, of the same length.
Status makeAbove(void *context, host::Invocation &call, Dataset *&made);
/// Adds rows [n, ...] as elements of `type`; takes over the tensor.
Status addColumn(Dataset &set, mxrt_tensor *rows, mxrt_dtype type, float scale);

/// Which items, and what is random about them.
struct ItemRequest {
  std::span<const int64_t> numbers; // in the data set
  std::span<const int64_t> places;  // in the one that is loaded
  bool single = false;              // one item, not a batch of them
  int64_t length = -1;              // of sequences; -1: that of the longest
  mxrt_rng stream = {};
  int64_t epoch = 0;
};

/// What the function of `map` or `filter` gives for item `r` of a request to `set`, the data set
/// below it. `spread`: it takes the parts of an item one by one.
Status callOnItem(DataHost &host, host::Invocation &call, Dataset *set, const host::Value &function,
                  bool spread, const ItemRequest &request, size_t r, host::Value &out);

/// The length of a sequence; -1 if the items are none.
int64_t lengthOf(const Dataset *set, int64_t number);

/// The items, one behind the other along a new first axis, or the single one: a
/// tensor, or a tuple of tensors. `tensors` gets them as well, borrowed.
Status issueItems(DataHost &host, host::Invocation &call, Dataset *set, const ItemRequest &request,
                  host::Value &out, Vec<mxrt_tensor *> &tensors);

} // namespace mxrt::data

#endif // MXRT_DATA_DATASET_H
