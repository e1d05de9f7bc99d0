// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of the VM and buffers of a variant: models and tuples become their tensors on the way in,
// and are made again on the way out.
#include "Driver/GraphParts.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"
#include <cstring>

namespace mx::driver {

mxrt_device deviceNamed(llvm::StringRef name) {
  int32_t index = 0;
  if (name.split(':').second.getAsInteger(10, index))
    index = 0;
  return {name.starts_with("cuda") ? MXRT_CUDA : MXRT_CPU, index};
}

mxrt::Status explain(mxrt_runtime *runtime, const std::string &needs, mxrt_status status) {
  mxrt_code code = mxrt_status_code(status);
  if (needs.empty() || (code != MXRT_OUT_OF_MEMORY && code != MXRT_MEMORY_LIMIT))
    return mxrt::Status(status);
  // The first line says what happened; whose memory it was is for the graph to say.
  std::string message = mxrt_status_message(status);
  std::string what = message.substr(0, message.find(": "));
  std::string rest = message.substr(std::min(message.size(), what.size() + 2));
  mxrt::Status out(mxrt_status_make(mxrt_runtime_allocator(runtime), code,
                                    mxrt_status_place(status), "%s\n%s\n%s", what.c_str(),
                                    rest.c_str(), needs.c_str()));
  mxrt_status_release(status);
  return out;
}

using namespace mxrt;
using namespace mxrt::host;
using mlir::cast;
using mlir::dyn_cast;
using mlir::isa;

mxrt::Status GraphHost::flatten(mlir::Type type, const Value &value, Call &call, bool isOwned) {
  if (auto tensor = dyn_cast<ir::TensorType>(type)) {
    if (tensor.isHost()) {
      uint64_t bits = 0;
      mlir::Type element = tensor.getElement();
      if (element.isF32())
        std::memcpy(&bits, &value.f, sizeof value.f);
      else
        std::memcpy(&bits, &value.i, sizeof value.i); // integers little endian; f64 shares the room
      call.inputs.push_back({nullptr, bits});
      call.owners.push_back(nullptr);
      return {};
    }
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
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    std::span<Value> items = value.aggregate()->view();
    isOwned &= value.object->refs == 1;
    if (items.size() != aggregate.getParts().size())
      return fail(MXRT_HOST_TYPE, {}, "an argument of a graph has the wrong parts");
    for (auto [part, item] : llvm::zip(aggregate.getParts(), items)) {
      mxrt::Status status = flatten(part, item, call, isOwned);
      if (!status.ok())
        return status;
    }
    return {};
  }
  if (auto array = dyn_cast<ir::ArrayType>(type)) {
    isOwned &= value.object->refs == 1;
    for (Value &item : value.aggregate()->view()) {
      mxrt::Status status = flatten(array.getElement(), item, call, isOwned);
      if (!status.ok())
        return status;
    }
    return {};
  }
  return fail(MXRT_UNSUPPORTED, {}, "an argument of a graph cannot be handed over");
}

/// A tensor for an output that is written over an input: the input itself if nobody else can see
/// it, else a copy. The graph reads the copy as well.
mxrt::Status GraphHost::takeOver(mxrt_tensor *&input, ForeignObject *owner, Call &call,
                                 const mxrt_place &place, mxrt_tensor *&out) {
  auto *data = static_cast<const char *>(mxrt_tensor_data(input));
  bool isAligned = reinterpret_cast<uintptr_t>(data) % MXRT_ALIGNMENT == 0;
  if (isAligned && llvm::is_contained(call.made, input)) { // made dense for this call
    out = input;
    return {};
  }
  if (isAligned && owner && owner->payload == input) {
    mxrt::Status status(mxrt_call_prepare_write(runtime(), &input, &place));
    owner->payload = input;
    if (!status.ok())
      return status;
    out = mxrt_tensor_retain(input);
    call.made.push_back(out);
    return {};
  }
  mxrt_device device = mxrt_tensor_device(input);
  mxrt::Status status(mxrt_tensor_create(runtime(), &device, mxrt_tensor_dtype(input),
                                         mxrt_tensor_rank(input), mxrt_tensor_shape(input), &place,
                                         &out));
  if (!status.ok())
    return status;
  call.made.push_back(out);
  mxrt::Status copied(mxrt_call_copy(runtime(), input, out, &place));
  input = out;
  return copied;
}

mxrt::Status GraphHost::makeOutputs(const BoundVariant &bound, Call &call,
                                    const mxrt_place &place) {
  const pipeline::Variant &code = bound.variant->code;
  for (size_t i = 0; i < code.outputs.size(); ++i) {
    mxrt_tensor *made = nullptr;
    if (int64_t over = code.over[i]; over >= 0) {
      auto at = static_cast<size_t>(over);
      mxrt::Status status = takeOver(call.inputs[at].tensor, call.owners[at], call, place, made);
      if (!status.ok())
        return status;
      call.outputs.push_back(made);
      continue;
    }
    mxrt::Status status = makeGraphOutput(runtime(), bound, i, place, made);
    if (!status.ok())
      return status;
    call.made.push_back(made);
    call.outputs.push_back(made);
  }
  return {};
}

mxrt::Status GraphHost::rebuild(mlir::Type type, Call &call, size_t &next, Heap &heap, Value &out) {
  auto noMemory = [&] { return fail(MXRT_OUT_OF_MEMORY, {}, "out of memory"); };
  if (isa<ir::TensorType>(type)) {
    mxrt_tensor *tensor = mxrt_tensor_retain(call.outputs[next++]);
    out = eager::makeTensorValue(heap, tensor);
    if (!out.isSet()) {
      mxrt_tensor_release(tensor);
      return noMemory();
    }
    return {};
  }
  std::vector<mlir::Type> parts;
  StructTypeObject *structType = nullptr;
  Kind kind = Kind::Tuple;
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    parts.assign(aggregate.getParts().begin(), aggregate.getParts().end());
    if (!aggregate.getName().getValue().empty()) {
      kind = Kind::Struct;
      StrObject *name = makeStr(heap, aggregate.getName().getValue());
      std::vector<StrObject *> fields;
      for (mlir::Attribute field : aggregate.getFields())
        fields.push_back(makeStr(heap, cast<mlir::StringAttr>(field).getValue()));
      structType = makeStructType(heap, name, fields);
      release(heap, name);
      for (StrObject *field : fields)
        release(heap, field);
      if (!structType)
        return noMemory();
    }
  } else if (auto array = dyn_cast<ir::ArrayType>(type)) {
    kind = Kind::Array;
    parts.assign(static_cast<size_t>(array.getCount().constant().value_or(0)), array.getElement());
  }
  AggregateObject *made = makeAggregate(heap, static_cast<uint32_t>(parts.size()), structType);
  if (structType)
    release(heap, structType);
  if (!made)
    return noMemory();
  out = Value(kind, made);
  for (mlir::Type part : parts) {
    Value item;
    mxrt::Status status = rebuild(part, call, next, heap, item);
    if (!status.ok()) {
      release(heap, out);
      return status;
    }
    made->items()[made->count++] = item;
  }
  return {};
}

} // namespace mx::driver
