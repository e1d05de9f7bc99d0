// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native functions besides the operations: waits, and properties of a tensor that are known without
// waiting.

#include "base/Os.h"
#include "eager/Executor.h"
#include "eager/OpenSizes.h"
#include "eager/Summary.h"
#include "memory/Tensor.h"
#include "mxrt/call.h"
#include "mxrt/random.h"

#include <charconv>
#include <cstring>

namespace mxrt::eager {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

static mxrt_runtime *runtimeOf(void *context) {
  return static_cast<EagerHost *>(context)->runtime();
}

static Status notATensor(void *context, const Invocation &call) {
  return error(mxrt_runtime_allocator(runtimeOf(context)), MXRT_HOST_TYPE, noLocation,
               "%.*s: the tensor is of another host", int(call.name.size()), call.name.data());
}

static Status sync(void *context, Invocation &call) {
  mxrt_engine *engine = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_engine(runtimeOf(context), nullptr, &engine)));
  return Status(mxrt_engine_wait_all(engine, call.location));
}

/// Number of ops pushed so far: marks the start of a `try`.
static Status issuedSoFar(void *context, Invocation &call) {
  mxrt_engine *engine = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_engine(runtimeOf(context), nullptr, &engine)));
  mxrt_engine_stats stats;
  mxrt_engine_get_stats(engine, &stats);
  call.result = Value::integer(int64_t(stats.pushed));
  return success();
}

/// A `try` that started at this mark has caught an error. In program order, that error would have
/// ended the block: other failures of the block are not separate errors.
static Status caughtError(void *context, Invocation &call) {
  mxrt_engine *engine = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_engine(runtimeOf(context), nullptr, &engine)));
  return Status(mxrt_engine_notice_from(engine, uint64_t(call.args[0].i), call.location));
}

/// Maximum nesting of values, as when they are shown.
static constexpr unsigned maxNesting = 200;

static Status waitFor(void *context, const Invocation &call, const Value &value, unsigned nesting) {
  if (const mxrt_tensor *tensor = tensorOf(value))
    return Status(mxrt_tensor_wait(runtimeOf(context), tensor, &call.location));
  if (!host::isAggregate(value.kind))
    return success();
  const mxrt_allocator *alloc = mxrt_runtime_allocator(runtimeOf(context));
  if (nesting == maxNesting)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "wait: values are nested deeper than %u",
                 maxNesting);
  if (call.vm.cancelRequested()) // shared parts are visited repeatedly
    return error(alloc, MXRT_CANCELLED, noLocation, "cancelled");
  for (const Value &part : value.aggregate()->view())
    MXRT_CHECK(waitFor(context, call, part, nesting + 1));
  return success();
}

static Status wait(void *context, Invocation &call) {
  return waitFor(context, call, call.args[0], 0);
}

static Status exists(void *, Invocation &call) {
  host::StrObject *path = call.args[0].str();
  bool whole = std::strlen(path->text()) == path->size; // contains no zero byte
  call.result = Value::boolean(whole && os::fileExists(path->text()));
  return success();
}

/// FNV-1a. The compiler computes the same for constant texts.
static uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

static Status textHash(void *, Invocation &call) {
  host::StrObject *text = call.args[0].str();
  call.result = Value::integer(int64_t(hashOf({text->text(), text->size})));
  return success();
}

/// A tensor of rank 0.
static Result<TensorRef> wholeNumber(mxrt_runtime *runtime, int64_t value) {
  mxrt_device device = {};
  mxrt_tensor *made = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_create(runtime, &device, MXRT_I64, 0, nullptr, nullptr, &made)));
  memcpy(mxrt_tensor_data(made), &value, sizeof(value)); // nobody else knows its memory yet
  return TensorRef(made);
}

/// Appends a generator `Rng(seed, counter=0)`.
static Status appendRng(Invocation &call, mxrt_runtime *runtime, host::StructTypeObject *type,
                        host::AggregateObject *array, uint64_t seed) {
  host::Heap &heap = call.vm.heap();
  TensorRef parts[] = {MXRT_TRY(wholeNumber(runtime, int64_t(seed))),
                       MXRT_TRY(wholeNumber(runtime, 0))};
  host::AggregateObject *made = host::makeAggregate(heap, 2, type);
  if (!made)
    return heap.exhausted();
  Value generator(Kind::Struct, made);
  for (TensorRef &part : parts) {
    Value value = makeTensorValue(heap, part.get());
    if (!value.isSet()) {
      host::release(heap, generator);
      return heap.exhausted();
    }
    part.release();
    ::new (made->items() + made->count++) Value(value);
  }
  ::new (array->items() + array->count++) Value(generator);
  return success();
}

/// rng.split(n): child i is named `#i`, as in compiled code with a static number.
static Status splitRng(void *context, Invocation &call) {
  mxrt_runtime *runtime = runtimeOf(context);
  host::Heap &heap = call.vm.heap();
  int64_t count = call.args[2].i;
  if (count < 0)
    return error(mxrt_runtime_allocator(runtime), MXRT_INVALID_ARGUMENT, noLocation,
                 "split: %lld is not a number of generators", static_cast<long long>(count));
  if (count > UINT32_MAX)
    return heap.exhausted();
  host::StrObject *name = host::makeStr(heap, "Rng");
  host::StrObject *fields[] = {host::makeStr(heap, "seed"), host::makeStr(heap, "counter")};
  host::StructTypeObject *type =
      name && fields[0] && fields[1] ? host::makeStructType(heap, name, fields) : nullptr;
  for (host::StrObject *text : {name, fields[0], fields[1]})
    if (text)
      host::release(heap, text);
  host::AggregateObject *array =
      type ? host::makeAggregate(heap, uint32_t(count), nullptr) : nullptr;
  Status status = array ? success() : heap.exhausted();
  for (int64_t i = 0; i < count && status.ok(); ++i) {
    char text[24] = "#";
    char *end = std::to_chars(text + 1, text + sizeof(text), i).ptr;
    uint64_t number = hashOf({text, size_t(end - text)});
    mxrt_rng parent, child;
    mxrt_rng_seed(&parent, uint64_t(call.args[0].i));
    parent.position = uint64_t(call.args[1].i);
    mxrt_rng_fork(&parent, reinterpret_cast<const char *>(&number), sizeof(number), &child);
    status = appendRng(call, runtime, type, array, child.key);
    if (call.vm.cancelRequested() && status.ok())
      status = error(mxrt_runtime_allocator(runtime), MXRT_CANCELLED, noLocation, "cancelled");
  }
  if (type)
    host::release(heap, type);
  if (status.ok())
    call.result = Value(Kind::Array, array);
  else if (array)
    host::release(heap, array);
  return status;
}

static Status shape(void *context, Invocation &call) {
  const mxrt_tensor *tensor = tensorOf(call.args[0]);
  if (!tensor)
    return notATensor(context, call);
  host::Heap &heap = call.vm.heap();
  host::AggregateObject *array = host::makeAggregate(heap, uint32_t(tensor->rank), nullptr);
  if (!array)
    return heap.exhausted();
  for (int32_t i = 0; i < tensor->rank; ++i)
    ::new (array->items() + array->count++) Value(Value::integer(tensor->sizes()[i]));
  call.result = Value(Kind::Array, array);
  return success();
}

static Status dim(void *context, Invocation &call) {
  const mxrt_tensor *tensor = tensorOf(call.args[0]);
  if (!tensor)
    return notATensor(context, call);
  int64_t axis = call.args[1].i;
  int64_t resolved = axis < 0 ? axis + tensor->rank : axis;
  if (resolved < 0 || resolved >= tensor->rank)
    return error(mxrt_runtime_allocator(runtimeOf(context)), MXRT_INDEX, noLocation,
                 "axis %lld of %s, which has %d", static_cast<long long>(axis),
                 shapeText(tensor->shape()).text, tensor->rank);
  call.result = Value::integer(tensor->sizes()[resolved]);
  return success();
}

Status EagerHost::registerNatives(host::Vm &vm) {
  static constexpr ParamData any[] = {{Kind::Any, false}};
  static constexpr ParamData number[] = {{Kind::Int, false}};
  static constexpr ParamData threeInts[] = {
      {Kind::Int, false}, {Kind::Int, false}, {Kind::Int, false}};
  static constexpr ParamData str[] = {{Kind::Str, false}};
  static constexpr ParamData tensor[] = {{Kind::Tensor, false}};
  static constexpr ParamData tensorInt[] = {{Kind::Tensor, false}, {Kind::Int, false}};
  struct Row {
    const char *name;
    std::span<const ParamData> params;
    Kind result;
    host::NativeFunction function;
  };
  const Row rows[] = {{"mx.sync", {}, Kind::Unit, sync},
                      {"mx.issued", {}, Kind::Int, issuedSoFar},
                      {"mx.caught", number, Kind::Unit, caughtError},
                      {"mx.wait", any, Kind::Unit, wait},
                      {"mx.exists", str, Kind::Bool, exists},
                      {"mx.text_hash", str, Kind::Int, textHash},
                      {"mx.rng.split", threeInts, Kind::Array, splitRng},
                      {"mx.nonzero", tensor, Kind::Tensor, nonzero},
                      {"mx.unique", tensor, Kind::Tensor, unique},
                      {"mx.shape", tensor, Kind::Array, shape},
                      {"mx.dim", tensorInt, Kind::Int, dim}};
  for (const Row &row : rows)
    MXRT_CHECK(vm.registerNative(row.name, {row.params, false, row.result}, row.function, this));
  return vm.registerNative("mx.summary", {{}, true, Kind::Unit}, summarize, this);
}

} // namespace mxrt::eager
