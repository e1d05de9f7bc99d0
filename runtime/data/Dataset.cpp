// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Item access of data sets: gathers batches, and calls the functions of `map` and `filter`.

#include "data/Dataset.h"
#include "data/Gather.h"
#include "data/Numbers.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"

#include <algorithm>

namespace mxrt::data {

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

int64_t lengthOf(const Dataset *set, int64_t number) {
  for (; set->below; set = set->below) {
    if (set->function.isSet())
      return -1;
    number = set->numberBelow(number);
  }
  if (set->starts.empty())
    return -1;
  return set->starts[static_cast<size_t>(number) + 1] - set->starts[static_cast<size_t>(number)];
}

Status giveDataset(Invocation &call, Dataset *set, Status status) {
  if (status.ok()) {
    call.result = makeDatasetValue(call.vm.heap(), set);
    if (call.result.isSet())
      return success();
    call.result = Value::unit();
    status = call.vm.heap().exhausted();
  }
  release(set);
  return status;
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

namespace {

/// A tuple of the values, or the only value. Takes ownership of the contents of `parts`.
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

/// Copies the parts of item `row` into their slices of the batch. Allocates the batch with the
/// first item.
Status copyItem(DataHost &host, Invocation &call, const Value &item, int64_t rows, int64_t row,
                Parts &parts) {
  mxrt_runtime *runtime = host.options.runtime;
  std::span<const Value> given(&item, 1);
  if (item.kind == Kind::Tuple)
    given = item.aggregate()->view();
  for (size_t p = 0; p < given.size(); ++p) {
    mxrt_tensor *tensor = tensorOf(given[p]);
    if (!tensor)
      return error(host.allocator(), MXRT_HOST_TYPE, noLocation,
                   "map: the function gives %s, items are tensors", host::kindName(given[p].kind));
    if (row == 0)
      MXRT_CHECK(
          parts.add(runtime, tensor->type, &rows, tensor->rank, tensor->sizes(), call.location));
    mxrt_tensor *batch = tensorOf(parts.list[p]), *target = nullptr, *slot = nullptr;
    bool same = batch->rank == tensor->rank + 1 && batch->type == tensor->type &&
                std::equal(tensor->sizes(), tensor->sizes() + tensor->rank, batch->sizes() + 1);
    if (!same)
      return error(host.allocator(), MXRT_SHAPE, noLocation,
                   "map: item %lld is %s, the first of the batch has another shape",
                   static_cast<long long>(row), shapeText(tensor->shape()).text);
    MXRT_CHECK(Status(mxrt_tensor_target(batch, &target)));
    TensorRef targetOwner(target);
    MXRT_CHECK(Status(mxrt_tensor_select(target, 0, row, &call.location, &slot)));
    TensorRef slotOwner(slot);
    MXRT_CHECK(Status(mxrt_call_copy(runtime, tensor, slot, &call.location)));
  }
  return success();
}

/// Augments the first part of items that a function returned. The others are unchanged.
Status changeParts(DataHost &host, Invocation &call, std::span<const PictureChange> changes,
                   const ItemRequest &request, Parts &parts) {
  mxrt_tensor *batch = tensorOf(parts.list[0]);
  if (!batch)
    return error(host.allocator(), MXRT_HOST_TYPE, noLocation,
                 "the items begin with %s, pictures are tensors",
                 host::kindName(parts.list[0].kind));
  Column column;
  MXRT_CHECK(denseOf(host, batch, call.location, column.rows));
  column.type = batch->type;
  int32_t lead = request.single ? 0 : 1;
  column.rank = batch->rank - lead;
  for (int32_t i = 0; i < column.rank; ++i) {
    column.sizes[i] = batch->sizes()[i + lead];
    column.elements *= column.sizes[i];
  }
  Vec<int64_t> own(host.allocator());
  if (!own.resize(request.numbers.size()))
    return outOfMemory(host.allocator());
  for (size_t r = 0; r < own.size(); ++r)
    own[r] = static_cast<int64_t>(r);
  ItemRequest rows = request;
  rows.numbers = {own.data(), own.size()};
  MXRT_CHECK(pushGather(host, call, {{&column, 1}, {}, false, {}}, changes, rows, parts));
  std::swap(parts.list[0], parts.list[parts.list.size() - 1]);
  host::release(parts.heap, parts.list[parts.list.size() - 1]);
  parts.list.pop();
  return success();
}

/// The parts of an item that a function returned, as values that `parts` owns.
Status takeParts(Value &item, Parts &parts) {
  std::span<Value> given(&item, 1);
  if (item.kind == Kind::Tuple)
    given = item.aggregate()->view();
  for (const Value &value : given) {
    if (!parts.list.push(value))
      return outOfMemory(parts.list.allocator());
    host::retain(parts.list[parts.list.size() - 1]);
  }
  return success();
}

} // namespace

Status callOnItem(DataHost &host, Invocation &call, Dataset *set, const Value &function,
                  bool spread, const ItemRequest &request, size_t r, Value &out) {
  Value item;
  Vec<mxrt_tensor *> unused(set->alloc);
  ItemRequest one = request;
  one.numbers = request.numbers.subspan(r, 1);
  one.positions = request.positions.subspan(r, 1);
  one.single = true;
  MXRT_CHECK(issueItems(host, call, set, one, item, unused));
  std::span<Value> args(&item, 1);
  if (spread)
    args = item.aggregate()->view();
  Status status = call.vm.call(function, args, out);
  host::release(call.vm.heap(), item);
  return status;
}

Status issueItems(DataHost &host, Invocation &call, Dataset *set, const ItemRequest &request,
                  Value &out, Vec<mxrt_tensor *> &tensors) {
  // Descends to the rows, or to a function.
  Vec<int64_t> below(set->alloc);
  Vec<PictureChange> changes(set->alloc);
  if (!below.resize(request.numbers.size()))
    return outOfMemory(set->alloc);
  std::copy(request.numbers.begin(), request.numbers.end(), below.begin());
  while (set->below && !set->function.isSet()) {
    if (set->changes && changes.size() == maxChanges)
      return error(set->alloc, MXRT_INVALID_ARGUMENT, noLocation,
                   "pictures are changed %zu times at most on their way", maxChanges);
    if (set->changes && !changes.push(set->change))
      return outOfMemory(set->alloc);
    for (int64_t &number : below)
      number = set->numberBelow(number);
    set = set->below;
  }
  std::reverse(changes.begin(), changes.end());
  std::span<const PictureChange> all(changes.data(), changes.size());
  ItemRequest found = request;
  found.numbers = {below.data(), below.size()};
  Parts parts(call.vm.heap());
  if (!set->below) {
    MXRT_CHECK(pushGather(host, call,
                          {{set->columns.data(), set->columns.size()},
                           {set->starts.data(), set->starts.size()},
                           set->pictures,
                           {set->name.data(), set->name.size()}},
                          all, found, parts));
  } else if (request.single) {
    if (all.empty())
      return callOnItem(host, call, set->below, set->function, set->spread, found, 0, out);
    Value item;
    MXRT_CHECK(callOnItem(host, call, set->below, set->function, set->spread, found, 0, item));
    Status status = takeParts(item, parts);
    host::release(call.vm.heap(), item);
    MXRT_CHECK(std::move(status));
    MXRT_CHECK(changeParts(host, call, all, found, parts));
  } else {
    for (size_t r = 0; r < below.size(); ++r) {
      Value item;
      MXRT_CHECK(callOnItem(host, call, set->below, set->function, set->spread, found, r, item));
      Status status = copyItem(host, call, item, static_cast<int64_t>(below.size()),
                               static_cast<int64_t>(r), parts);
      host::release(call.vm.heap(), item);
      MXRT_CHECK(std::move(status));
    }
    if (!all.empty())
      MXRT_CHECK(changeParts(host, call, all, found, parts));
  }
  for (Value &part : parts.list)
    if (!tensors.push(tensorOf(part)))
      return outOfMemory(set->alloc);
  return bundle(call.vm.heap(), parts.list, out);
}

} // namespace mxrt::data
