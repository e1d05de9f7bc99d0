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
static Status textHash(void *, Invocation &call) {
  host::StrObject *text = call.args[0].str();
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < text->size; ++i)
    hash = (hash ^ static_cast<unsigned char>(text->text()[i])) * 0x100000001b3;
  call.result = Value::integer(int64_t(hash));
  return success();
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
                      {"mx.nonzero", tensor, Kind::Tensor, nonzero},
                      {"mx.unique", tensor, Kind::Tensor, unique},
                      {"mx.shape", tensor, Kind::Array, shape},
                      {"mx.dim", tensorInt, Kind::Int, dim}};
  for (const Row &row : rows)
    MXRT_CHECK(vm.registerNative(row.name, {row.params, false, row.result}, row.function, this));
  return vm.registerNative("mx.summary", {{}, true, Kind::Unit}, summarize, this);
}

} // namespace mxrt::eager
