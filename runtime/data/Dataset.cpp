// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "data/Dataset.h"
#include "data/Pictures.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"

#include <algorithm>
#include <cstring>

namespace mxrt::data {

using eager::makeTensorValue;
using eager::tensorOf;
using host::Invocation;
using host::Kind;
using host::Value;

const host::ForeignType datasetType = {
    "data set", [](void *payload) { release(static_cast<Dataset *>(payload)); }};

void retain(Dataset *set) { ++set->refs; }

void release(Dataset *set) {
  while (set && --set->refs == 0) {
    Dataset *below = set->below;
    host::release(set->heap, set->function);
    deleteObject(set->alloc, set);
    set = below;
  }
}

Value makeDatasetValue(host::Heap &heap, Dataset *set) {
  host::ForeignObject *object = host::makeForeign(heap, &datasetType, set);
  return object ? Value(Kind::Handle, object) : Value();
}

Result<Dataset *> makeDataset(host::Heap &heap, const mxrt_allocator *alloc) {
  Dataset *set = newObject<Dataset>(alloc, heap, alloc);
  if (!set)
    return outOfMemory(alloc);
  return set;
}

Status addColumn(Dataset &set, mxrt_tensor *rows, mxrt_dtype type, float scale) {
  Column column;
  column.rows = TensorRef(rows);
  column.type = type;
  column.scale = scale;
  column.rank = rows->rank - 1;
  for (int32_t i = 0; i < column.rank; ++i) {
    column.sizes[i] = rows->sizes()[i + 1];
    column.elements *= column.sizes[i];
  }
  set.length = rows->sizes()[0];
  if (!set.columns.push(std::move(column)))
    return outOfMemory(set.alloc);
  return success();
}

// -- gathering ----------------------------------------------------------------

namespace {

struct GatherHead {
  int64_t columns, rows;
};
struct GatherColumn {
  int64_t elements;
  float scale;
};

template <typename To> void convertBytes(const uint8_t *from, To *to, int64_t count, float scale) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = scale == 1 ? static_cast<To>(from[i]) : static_cast<To>(float(from[i]) * scale);
}

/// Tensors: the rows of every column, then the batch of each. Arguments: the
/// head, the columns, the numbers of the items.
mxrt_status gatherKernel(const mxrt_context *, const mxrt_tensor *const *tensors,
                         const void *arguments) {
  auto *head = static_cast<const GatherHead *>(arguments);
  auto *columns = reinterpret_cast<const GatherColumn *>(head + 1);
  auto *numbers = reinterpret_cast<const int64_t *>(columns + head->columns);
  for (int64_t c = 0; c < head->columns; ++c) {
    const mxrt_tensor *from = tensors[c], *to = tensors[head->columns + c];
    int64_t count = columns[c].elements;
    int64_t fromBytes = count * mxrt_dtype_size(from->type);
    int64_t toBytes = count * mxrt_dtype_size(to->type);
    for (int64_t r = 0; r < head->rows; ++r) {
      const char *source = from->data() + numbers[r] * fromBytes;
      char *target = to->data() + r * toBytes;
      if (from->type == to->type)
        std::memcpy(target, source, static_cast<size_t>(toBytes));
      else if (to->type == MXRT_F32)
        convertBytes(reinterpret_cast<const uint8_t *>(source), reinterpret_cast<float *>(target),
                     count, columns[c].scale);
      else
        convertBytes(reinterpret_cast<const uint8_t *>(source), reinterpret_cast<int32_t *>(target),
                     count, 1);
    }
  }
  return nullptr;
}
/// The same for a file of records: pictures and labels.
mxrt_status pictureKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                          const void *arguments) {
  auto *head = static_cast<const GatherHead *>(arguments);
  auto *columns = reinterpret_cast<const GatherColumn *>(head + 1);
  auto *numbers = reinterpret_cast<const int64_t *>(columns + head->columns);
  const mxrt_tensor *to = tensors[2];
  const int64_t *sizes = to->sizes() + to->rank - 2;
  return gatherPictures(context, tensors[0], tensors[1], {numbers, static_cast<size_t>(head->rows)},
                        sizes[0], sizes[1], reinterpret_cast<float *>(to->data()),
                        reinterpret_cast<float *>(tensors[3]->data()))
      .release();
}
static_assert(sizeof(GatherHead) % 8 == 0 && sizeof(GatherColumn) % 8 == 0);

/// A tuple of the values, or the only one; takes over what `parts` own.
Status bundle(host::Heap &heap, Vec<Value> &parts, Value &out) {
  if (parts.size() == 1) {
    out = parts[0];
    parts.clear();
    return success();
  }
  host::AggregateObject *tuple =
      host::makeAggregate(heap, static_cast<uint32_t>(parts.size()), nullptr);
  if (!tuple)
    return heap.exhausted();
  for (Value &part : parts)
    ::new (tuple->items() + tuple->count++) Value(part);
  parts.clear();
  out = Value(Kind::Tuple, tuple);
  return success();
}

/// Values that are released unless they were given away.
struct Parts {
  explicit Parts(host::Heap &heap) : heap(heap), list(heap.allocator()) {}
  ~Parts() {
    for (Value &value : list)
      host::release(heap, value);
  }
  /// A new tensor [rows, sizes...] or, without `rows`, [sizes...].
  Status add(mxrt_runtime *runtime, mxrt_dtype type, const int64_t *rows, int32_t rank,
             const int64_t *sizes, const mxrt_place &place) {
    int64_t shape[MXRT_MAX_RANK + 1] = {};
    int32_t count = 0;
    if (rows)
      shape[count++] = *rows;
    for (int32_t i = 0; i < rank; ++i)
      shape[count++] = sizes[i];
    mxrt_tensor *made = nullptr;
    mxrt_device device = {MXRT_CPU, 0};
    MXRT_CHECK(Status(mxrt_tensor_create(runtime, &device, type, count, shape, &place, &made)));
    Value value = makeTensorValue(heap, made);
    if (!value.isSet() || !list.push(value)) {
      if (value.isSet())
        host::release(heap, value);
      else
        mxrt_tensor_release(made);
      return heap.exhausted();
    }
    return success();
  }
  host::Heap &heap;
  Vec<Value> list;
};

Status gather(DataHost &host, Invocation &call, Dataset *set, std::span<const int64_t> numbers,
              bool single, Parts &parts) {
  mxrt_runtime *runtime = host.options.runtime;
  int64_t rows = static_cast<int64_t>(numbers.size());
  size_t columns = set->columns.size();
  Vec<mxrt_tensor *> reads(set->alloc), writes(set->alloc);
  Vec<int64_t> words(set->alloc);
  size_t headWords = (sizeof(GatherHead) + columns * sizeof(GatherColumn)) / 8;
  if (!reads.reserve(columns) || !writes.reserve(columns) ||
      !words.resize(headWords + numbers.size()))
    return outOfMemory(set->alloc);
  GatherHead head = {static_cast<int64_t>(columns), rows};
  std::memcpy(words.data(), &head, sizeof head);
  for (size_t c = 0; c < columns; ++c) {
    Column &column = set->columns[c];
    MXRT_CHECK(parts.add(runtime, column.type, single ? nullptr : &rows, column.rank, column.sizes,
                         call.place));
    GatherColumn entry = {column.elements, column.scale};
    std::memcpy(reinterpret_cast<char *>(words.data()) + sizeof head + c * sizeof entry, &entry,
                sizeof entry);
    if (!reads.push(column.rows.get()) || !writes.push(tensorOf(parts.list[c])))
      return outOfMemory(set->alloc);
  }
  if (!numbers.empty())
    std::memcpy(words.data() + headWords, numbers.data(), numbers.size() * 8);
  mxrt_call push = {};
  push.run = set->pictures ? pictureKernel : gatherKernel;
  push.name = set->pictures ? "decode" : "gather";
  push.reads = reads.data();
  push.read_count = columns;
  push.writes = writes.data();
  push.write_count = columns;
  push.arguments = words.data();
  push.argument_bytes = words.size() * 8;
  push.flags = MXRT_OP_OVERWRITES;
  push.place = call.place;
  return Status(mxrt_call_push(runtime, &push));
}

/// Copies the parts of item `row` of a batch into their places; makes the batch
/// with the first one.
Status placeItem(DataHost &host, Invocation &call, const Value &item, int64_t rows, int64_t row,
                 Parts &parts) {
  mxrt_runtime *runtime = host.options.runtime;
  std::span<const Value> given(&item, 1);
  if (item.kind == Kind::Tuple)
    given = item.aggregate()->view();
  for (size_t p = 0; p < given.size(); ++p) {
    mxrt_tensor *tensor = tensorOf(given[p]);
    if (!tensor)
      return error(host.allocator(), MXRT_HOST_TYPE, noPlace,
                   "map: the function gives %s, items are tensors", host::kindName(given[p].kind));
    if (row == 0)
      MXRT_CHECK(
          parts.add(runtime, tensor->type, &rows, tensor->rank, tensor->sizes(), call.place));
    mxrt_tensor *batch = tensorOf(parts.list[p]), *target = nullptr, *place = nullptr;
    bool same = batch->rank == tensor->rank + 1 && batch->type == tensor->type &&
                std::equal(tensor->sizes(), tensor->sizes() + tensor->rank, batch->sizes() + 1);
    if (!same)
      return error(host.allocator(), MXRT_SHAPE, noPlace,
                   "map: item %lld is %s, the first of the batch has another shape",
                   static_cast<long long>(row), shapeText(tensor->shape()).text);
    MXRT_CHECK(Status(mxrt_tensor_target(batch, &target)));
    TensorRef targetOwner(target);
    MXRT_CHECK(Status(mxrt_tensor_select(target, 0, row, &call.place, &place)));
    TensorRef placeOwner(place);
    MXRT_CHECK(Status(mxrt_call_copy(runtime, tensor, place, &call.place)));
  }
  return success();
}

Status mapItem(DataHost &host, Invocation &call, Dataset *set, int64_t number, Value &out) {
  Value item;
  Vec<mxrt_tensor *> unused(set->alloc);
  MXRT_CHECK(issueItems(host, call, set->below, {&number, 1}, true, item, unused));
  std::span<Value> args(&item, 1);
  if (set->spread)
    args = item.aggregate()->view();
  Status status = call.vm.call(set->function, args, out);
  host::release(set->heap, item);
  return status;
}

} // namespace

Status issueItems(DataHost &host, Invocation &call, Dataset *set, std::span<const int64_t> numbers,
                  bool single, Value &out, Vec<mxrt_tensor *> &tensors) {
  // Down to the rows, or to a function.
  Vec<int64_t> below(set->alloc);
  if (!below.resize(numbers.size()))
    return outOfMemory(set->alloc);
  std::copy(numbers.begin(), numbers.end(), below.begin());
  while (set->below && !set->function.isSet()) {
    for (int64_t &number : below)
      number = set->first + (number % set->period) * set->step;
    set = set->below;
  }
  std::span<const int64_t> found(below.data(), below.size());
  Parts parts(call.vm.heap());
  if (!set->below) {
    MXRT_CHECK(gather(host, call, set, found, single, parts));
  } else if (single) {
    return mapItem(host, call, set, found[0], out);
  } else {
    for (size_t r = 0; r < found.size(); ++r) {
      Value item;
      MXRT_CHECK(mapItem(host, call, set, found[r], item));
      Status status = placeItem(host, call, item, static_cast<int64_t>(found.size()),
                                static_cast<int64_t>(r), parts);
      host::release(call.vm.heap(), item);
      MXRT_CHECK(std::move(status));
    }
  }
  for (Value &part : parts.list)
    if (!tensors.push(tensorOf(part)))
      return outOfMemory(set->alloc);
  return bundle(call.vm.heap(), parts.list, out);
}

} // namespace mxrt::data
