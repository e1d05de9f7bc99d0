// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion between values of the VM and buffers of a variant: flattens models and tuples into
// tensors, and rebuilds them from the results.
#include "Run/GraphCalls.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"
#include <algorithm>
#include <cstring>
#include <memory_resource>

namespace mx::run {
using namespace mxrt;
using namespace mxrt::host;

/// One call in progress: the leaves of the arguments in order.
struct GraphCaller::Call {
  std::byte room[1536];
  std::pmr::monotonic_buffer_resource memory{room, sizeof room};
  std::pmr::vector<GraphInput> inputs{&memory}; ///< tensors are borrowed
  /// For each leaf: the object that holds the only reference to its tensor, or null.
  std::pmr::vector<ForeignObject *> owners{&memory};
  std::pmr::vector<mxrt_tensor *> made{&memory}; ///< dense copies and outputs: owned
  std::pmr::vector<mxrt_tensor *> outputs{&memory};
  explicit Call(const Code &code) {
    inputs.reserve(static_cast<size_t>(code.inputCount));
    owners.reserve(static_cast<size_t>(code.inputCount));
    outputs.reserve(static_cast<size_t>(code.outputCount));
    made.reserve(static_cast<size_t>(code.outputCount));
  }
  ~Call() {
    for (mxrt_tensor *tensor : made)
      mxrt_tensor_release(tensor);
  }
};

mxrt::Status GraphCaller::fail(mxrt_code code, const mxrt_location &location,
                               const std::string &message) const {
  return mxrt::Status(
      mxrt_status_make(mxrt_runtime_allocator(runtime()), code, location, "%s", message.c_str()));
}

std::vector<int64_t> GraphCaller::sizesOf(const Graph &graph, const Invocation &call) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < graph.sizeCount; ++i)
    sizes.push_back(call.args[static_cast<size_t>(i)].i);
  return sizes;
}

mxrt::Status GraphCaller::variantKey(const Graph &graph, std::span<const int64_t> sizes,
                                     const mxrt_location &location, std::vector<int64_t> &key) const {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (graph.bounds[i] >= 0 && sizes[i] > graph.bounds[i])
      return fail(MXRT_SHAPE, location,
                  std::string(graph.name) + ": " + graph.sizes[i] + " = " +
                      std::to_string(sizes[i]) + " is above its bound " +
                      std::to_string(graph.bounds[i]));
    key.push_back(graph.bounds[i] >= 0 ? -1 : sizes[i]);
  }
  return {};
}

mxrt::Status GraphCaller::flatten(const Part &part, const Value &value, Call &call, bool isOwned) {
  if (part.kind == Part::Number) {
    uint64_t bits = 0;
    if (part.dtype == MXRT_F32)
      std::memcpy(&bits, &value.f, sizeof value.f);
    else
      std::memcpy(&bits, &value.i, sizeof value.i); // little endian; f64 shares the union
    call.inputs.push_back({nullptr, bits});
    call.owners.push_back(nullptr);
    return {};
  }
  if (part.kind == Part::Tensor) {
    mxrt_tensor *given = eager::tensorOf(value);
    if (!given)
      return fail(MXRT_HOST_TYPE, {}, "an argument of a graph is not a tensor");
    if (!mxrt_tensor_is_dense(given)) {
      mxrt_tensor *dense = nullptr;
      mxrt_device device = mxrt_tensor_device(given);
      mxrt::Status status(mxrt_tensor_create(runtime(), &device, mxrt_tensor_dtype(given),
                                             mxrt_tensor_rank(given), mxrt_tensor_shape(given),
                                             nullptr, &dense));
      if (!status.ok())
        return status;
      call.made.push_back(dense);
      mxrt::Status copied(mxrt_call_copy(runtime(), given, dense, nullptr));
      if (!copied.ok())
        return copied;
      given = dense;
    }
    call.inputs.push_back({given, 0});
    call.owners.push_back(isOwned && value.object->refs == 1 ? value.foreign() : nullptr);
    return {};
  }
  if (part.kind == Part::Other)
    return fail(MXRT_UNSUPPORTED, {}, "an argument of a graph cannot be handed over");
  std::span<Value> items = value.aggregate()->view();
  isOwned &= value.object->refs == 1;
  if (part.kind != Part::Array && items.size() != static_cast<size_t>(part.count))
    return fail(MXRT_HOST_TYPE, {}, "an argument of a graph has the wrong parts");
  for (size_t i = 0; i < items.size(); ++i) {
    mxrt::Status status =
        flatten(part.parts[part.kind == Part::Array ? 0 : i], items[i], call, isOwned);
    if (!status.ok())
      return status;
  }
  return {};
}

/// The tensor of an output that overwrites an input (copy on write): the input itself if it is not
/// shared, otherwise a copy. The graph reads the copy as well.
mxrt::Status GraphCaller::takeOver(mxrt_tensor *&input, ForeignObject *owner, Call &call,
                                   const mxrt_location &location, mxrt_tensor *&out) {
  auto *data = static_cast<const char *>(mxrt_tensor_data(input));
  bool isAligned = reinterpret_cast<uintptr_t>(data) % MXRT_ALIGNMENT == 0;
  bool isMade = std::find(call.made.begin(), call.made.end(), input) != call.made.end();
  if (isAligned && isMade) { // a dense copy made for this call
    out = input;
    return {};
  }
  if (isAligned && owner && owner->payload == input) {
    mxrt::Status status(mxrt_call_prepare_write(runtime(), &input, &location));
    owner->payload = input;
    if (!status.ok())
      return status;
    out = mxrt_tensor_retain(input);
    call.made.push_back(out);
    return {};
  }
  mxrt_device device = mxrt_tensor_device(input);
  mxrt::Status status(mxrt_tensor_create(runtime(), &device, mxrt_tensor_dtype(input),
                                         mxrt_tensor_rank(input), mxrt_tensor_shape(input), &location,
                                         &out));
  if (!status.ok())
    return status;
  call.made.push_back(out);
  mxrt::Status copied(mxrt_call_copy(runtime(), input, out, &location));
  input = out;
  return copied;
}

mxrt::Status GraphCaller::makeOutputs(const BoundCode &bound, Call &call, const mxrt_location &location) {
  for (size_t i = 0; i < bound.shapes.size(); ++i) {
    mxrt_tensor *made = nullptr;
    if (int64_t over = bound.code->outputs[i].over; over >= 0) {
      auto at = static_cast<size_t>(over);
      mxrt::Status status = takeOver(call.inputs[at].tensor, call.owners[at], call, location, made);
      if (!status.ok())
        return status;
      call.outputs.push_back(made);
      continue;
    }
    mxrt::Status status = makeGraphOutput(runtime(), bound, i, location, made);
    if (!status.ok())
      return status;
    call.made.push_back(made);
    call.outputs.push_back(made);
  }
  return {};
}

mxrt::Status GraphCaller::rebuild(const Part &part, Call &call, size_t &next, Heap &heap,
                                  Value &out) {
  auto noMemory = [&] { return fail(MXRT_OUT_OF_MEMORY, {}, "out of memory"); };
  if (part.kind == Part::Tensor || part.kind == Part::Number) {
    mxrt_tensor *tensor = mxrt_tensor_retain(call.outputs[next++]);
    out = eager::makeTensorValue(heap, tensor);
    if (!out.isSet()) {
      mxrt_tensor_release(tensor);
      return noMemory();
    }
    return {};
  }
  StructTypeObject *structType = nullptr;
  if (part.kind == Part::Struct) {
    StrObject *name = makeStr(heap, part.name);
    std::vector<StrObject *> fields;
    for (int64_t i = 0; i < part.count; ++i)
      fields.push_back(makeStr(heap, part.fields[i]));
    structType = makeStructType(heap, name, fields);
    release(heap, name);
    for (StrObject *field : fields)
      release(heap, field);
    if (!structType)
      return noMemory();
  }
  AggregateObject *made = makeAggregate(heap, static_cast<uint32_t>(part.count), structType);
  if (structType)
    release(heap, structType);
  if (!made)
    return noMemory();
  out = Value(part.kind == Part::Struct  ? Kind::Struct
              : part.kind == Part::Array ? Kind::Array
                                         : Kind::Tuple,
              made);
  for (int64_t i = 0; i < part.count; ++i) {
    Value item;
    mxrt::Status status =
        rebuild(part.parts[part.kind == Part::Array ? 0 : i], call, next, heap, item);
    if (!status.ok()) {
      release(heap, out);
      return status;
    }
    made->items()[made->count++] = item;
  }
  return {};
}

mxrt::Status GraphCaller::callGraph(const Graph &graph, const BoundCode &bound,
                                    Invocation &invocation) {
  auto sizeCount = static_cast<size_t>(graph.sizeCount);
  auto argumentCount = static_cast<size_t>(graph.argumentCount);
  Call call(*bound.code);
  for (size_t i = 0; i < argumentCount; ++i)
    if (mxrt::Status status =
            flatten(graph.arguments[i], invocation.args[sizeCount + i], call, graph.isMut[i] != 0);
        !status.ok())
      return status;
  if (call.inputs.size() != bound.outputOf.size())
    return fail(MXRT_INTERNAL, invocation.location,
                std::string(graph.name) + ": the variant expects other arguments");
  if (mxrt::Status status = makeOutputs(bound, call, invocation.location); !status.ok())
    return status;
  if (mxrt::Status status =
          issueGraph(runtime(), bound, call.inputs, call.outputs, invocation.location);
      !status.ok())
    return status;

  // Updated values go back to their `mut` arguments; the rest is the result.
  Heap &heap = invocation.vm.heap();
  size_t next = 0;
  const Part *result = graph.results;
  for (size_t i = 0; i < argumentCount; ++i) {
    if (!graph.isMut[i])
      continue;
    Value value;
    if (mxrt::Status status = rebuild(*result++, call, next, heap, value); !status.ok())
      return status;
    replace(heap, invocation.args[sizeCount + i], value);
  }
  int64_t rest = graph.resultCount - (result - graph.results);
  if (rest == 0)
    return {};
  if (rest == 1)
    return rebuild(*result, call, next, heap, invocation.result);
  AggregateObject *tuple = makeAggregate(heap, static_cast<uint32_t>(rest), nullptr);
  if (!tuple)
    return fail(MXRT_OUT_OF_MEMORY, invocation.location, "out of memory");
  invocation.result = Value(Kind::Tuple, tuple);
  for (int64_t i = 0; i < rest; ++i) {
    Value item;
    if (mxrt::Status status = rebuild(result[i], call, next, heap, item); !status.ok())
      return status;
    tuple->items()[tuple->count++] = item;
  }
  return {};
}

} // namespace mx::run
