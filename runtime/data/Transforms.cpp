// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data set constructors and views: data.rows, take, shard, repeat, map, filter, and the length.

#include "base/CheckedMath.h"
#include "data/Dataset.h"
#include "data/Numbers.h"
#include "eager/TensorValue.h"

#include <algorithm>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

/// Creates a view of args[0]. The caller sets its other members.
Status makeAbove(void *context, Invocation &call, Dataset *&made) {
  Dataset *below = datasetOf(call.args[0]);
  made = MXRT_TRY(makeDataset(call.vm.heap(), hostOf(context).allocator()));
  retain(below);
  made->below = below;
  made->length = below->length;
  return success();
}

namespace {

Status refuse(void *context, const char *format, int64_t number) {
  return error(hostOf(context).allocator(), MXRT_INVALID_ARGUMENT, noLocation, format,
               static_cast<long long>(number));
}

Status take(void *context, Invocation &call) {
  int64_t count = call.args[1].i;
  if (count < 0)
    return refuse(context, "take: a number of items is not negative, this is %lld", count);
  Dataset *set = nullptr;
  MXRT_CHECK(makeAbove(context, call, set));
  set->length = std::min(set->length, count);
  return giveDataset(call, set);
}

Status shard(void *context, Invocation &call) {
  int64_t rank = call.args[1].i, size = call.args[2].i;
  if (size < 1)
    return refuse(context, "shard: there is at least one share, this is %lld", size);
  if (rank < 0 || rank >= size)
    return refuse(context, "shard: ranks are 0 to the number of shares - 1, this is %lld", rank);
  Dataset *set = nullptr;
  MXRT_CHECK(makeAbove(context, call, set));
  set->first = rank;
  set->step = size;
  set->length = set->length > rank ? (set->length - rank - 1) / size + 1 : 0;
  return giveDataset(call, set);
}

Status repeat(void *context, Invocation &call) {
  int64_t times = call.args[1].i;
  if (times < 0)
    return refuse(context, "repeat: a number of times is not negative, this is %lld", times);
  Dataset *set = nullptr;
  MXRT_CHECK(makeAbove(context, call, set));
  set->period = std::max<int64_t>(set->length, 1);
  if (!checkedMul(set->length, times, set->length)) {
    release(set);
    return refuse(context, "repeat: more than 2^63 items, %lld times", times);
  }
  return giveDataset(call, set);
}

Status map(void *context, Invocation &call) {
  Dataset *set = nullptr;
  MXRT_CHECK(makeAbove(context, call, set));
  set->function = call.args[1];
  host::retain(set->function);
  set->spread = call.args[2].i != 0;
  return giveDataset(call, set);
}

/// Calls the predicate on items [begin, end). All calls are issued before the first result is
/// waited for.
Status askAbout(DataHost &host, Invocation &call, int64_t begin, int64_t end, Dataset &set) {
  size_t count = static_cast<size_t>(end - begin);
  Vec<int64_t> numbers(set.alloc);
  Vec<Value> answers(set.alloc);
  if (!numbers.resize(count) || !answers.reserve(count))
    return outOfMemory(set.alloc);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = begin + static_cast<int64_t>(i);
  ItemRequest request;
  request.numbers = request.positions = {numbers.data(), numbers.size()};
  auto run = [&]() -> Status {
    for (size_t i = 0; i < count; ++i) {
      Value answer;
      MXRT_CHECK(
          callOnItem(host, call, set.below, call.args[1], call.args[2].i != 0, request, i, answer));
      if (!answers.push(answer)) {
        host::release(call.vm.heap(), answer);
        return outOfMemory(set.alloc);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      Number number;
      MXRT_CHECK(takeNumber(host, answers[i], "filter", "kept", number));
      MXRT_CHECK(awaitNumber(host, call.location, number));
      if (number.value != 0 && !set.kept.push(numbers[i]))
        return outOfMemory(set.alloc);
    }
    return success();
  };
  Status status = run();
  for (Value &answer : answers)
    host::release(call.vm.heap(), answer);
  return status;
}

/// filter(set, function, spread)
Status filter(void *context, Invocation &call) {
  constexpr int64_t ahead = 256;
  Dataset *set = nullptr;
  MXRT_CHECK(makeAbove(context, call, set));
  set->filters = true;
  Status status;
  for (int64_t at = 0; at < set->below->length && status.ok(); at += ahead)
    status = askAbout(hostOf(context), call, at, std::min(at + ahead, set->below->length), *set);
  set->length = static_cast<int64_t>(set->kept.size());
  return giveDataset(call, set, std::move(status));
}

/// Adds the tensors from `begin` on as columns of rows, all of one length.
Status addRows(DataHost &host, Invocation &call, size_t begin, Dataset &set) {
  for (size_t i = begin; i < call.args.size(); ++i) {
    mxrt_tensor *tensor = eager::tensorOf(call.args[i]);
    if (!tensor || tensor->rank == 0)
      return error(host.allocator(), MXRT_SHAPE, noLocation,
                   "rows: value %zu is not a tensor with rows", i + 1);
    if (i > begin && tensor->sizes()[0] != set.length)
      return error(host.allocator(), MXRT_SHAPE, noLocation,
                   "rows: value %zu is %s, the first has %lld rows", i + 1,
                   shapeText(tensor->shape()).text, static_cast<long long>(set.length));
    // A tensor that is used as a column twice is copied, since an op lists each variable once.
    bool again = false;
    for (const Column &column : set.columns)
      again |= column.rows->buffer == tensor->buffer;
    TensorRef dense;
    MXRT_CHECK(again ? copyOf(host, tensor, call.location, dense)
                     : denseOf(host, tensor, call.location, dense));
    MXRT_CHECK(addColumn(set, dense.release(), tensor->type, 1));
  }
  return success();
}

Status rows(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Dataset *set = MXRT_TRY(makeDataset(call.vm.heap(), host.allocator()));
  return giveDataset(call, set, addRows(host, call, 0, *set));
}

/// Reads the start offsets of the sequences from their lengths; waits for these.
Status readStarts(DataHost &host, Invocation &call, Dataset &set) {
  mxrt_tensor *values = eager::tensorOf(call.args[0]);
  Vec<double> lengths(host.allocator());
  MXRT_CHECK(readNumbers(host, eager::tensorOf(call.args[1]), call.location, lengths));
  if (!set.starts.resize(lengths.size() + 1))
    return outOfMemory(host.allocator());
  set.starts[0] = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0)
      return error(host.allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                   "sequences: length %zu is %lld", i, static_cast<long long>(lengths[i]));
    set.starts[i + 1] = set.starts[i] + static_cast<int64_t>(lengths[i]);
  }
  if (set.starts[lengths.size()] != values->elements)
    return error(host.allocator(), MXRT_SHAPE, noLocation,
                 "sequences: the lengths sum to %lld, there are %lld values",
                 static_cast<long long>(set.starts[lengths.size()]),
                 static_cast<long long>(values->elements));
  return success();
}

/// sequences(values, lengths, ...)
Status sequences(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Dataset *set = MXRT_TRY(makeDataset(call.vm.heap(), host.allocator()));
  auto fill = [&]() -> Status {
    mxrt_tensor *values = eager::tensorOf(call.args[0]);
    TensorRef dense;
    MXRT_CHECK(denseOf(host, values, call.location, dense));
    MXRT_CHECK(addColumn(*set, dense.release(), values->type, 1));
    set->columns[0].rank = 1; // its size is that of a batch
    MXRT_CHECK(readStarts(host, call, *set));
    return addRows(host, call, 1, *set);
  };
  return giveDataset(call, set, fill());
}

Status length(void *, Invocation &call) {
  call.result = Value::integer(datasetOf(call.args[0])->length);
  return success();
}

} // namespace

static constexpr ParamData set[] = {{Kind::Handle, false}};
static constexpr ParamData setInt[] = {{Kind::Handle, false}, {Kind::Int, false}};
static constexpr ParamData setIntInt[] = {
    {Kind::Handle, false}, {Kind::Int, false}, {Kind::Int, false}};
static constexpr ParamData setFn[] = {
    {Kind::Handle, false}, {Kind::Fn, false}, {Kind::Bool, false}};
static const NativeRow natives[] = {{"mx.data.take", setInt, false, Kind::Handle, take},
                                    {"mx.data.shard", setIntInt, false, Kind::Handle, shard},
                                    {"mx.data.repeat", setInt, false, Kind::Handle, repeat},
                                    {"mx.data.map", setFn, false, Kind::Handle, map},
                                    {"mx.data.filter", setFn, false, Kind::Handle, filter},
                                    {"mx.data.rows", {}, true, Kind::Handle, rows},
                                    {"mx.data.sequences", {}, true, Kind::Handle, sequences},
                                    {"mx.data.length", set, false, Kind::Int, length}};
const NativeGroup mxrt_natives_datasets = {"mxrt_natives_datasets", natives, std::size(natives)};

} // namespace mxrt::data
