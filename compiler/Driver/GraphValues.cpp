// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of the VM and buffers of a variant: models and tuples become their tensors on the way in,
// and are made again on the way out.
#include "Driver/GraphParts.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"
#include <cstring>

namespace mx::driver {
using namespace mxrt;
using namespace mxrt::host;
using mlir::cast;
using mlir::dyn_cast;
using mlir::isa;

mxrt::Status GraphHost::flatten(mlir::Type type, const Value &value, Call &call) {
  if (auto tensor = dyn_cast<ir::TensorType>(type)) {
    if (tensor.isHost()) {
      uint64_t bits = 0;
      mlir::Type element = tensor.getElement();
      if (element.isF32())
        std::memcpy(&bits, &value.f, sizeof value.f);
      else
        std::memcpy(&bits, &value.i, sizeof value.i); // integers little endian; f64 shares the room
      call.tensors.push_back(nullptr);
      call.numbers.push_back(bits);
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
    call.tensors.push_back(given);
    call.numbers.push_back(0);
    return {};
  }
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    std::span<Value> items = value.aggregate()->view();
    if (items.size() != aggregate.getParts().size())
      return fail(MXRT_HOST_TYPE, {}, "an argument of a graph has the wrong parts");
    for (auto [part, item] : llvm::zip(aggregate.getParts(), items)) {
      mxrt::Status status = flatten(part, item, call);
      if (!status.ok())
        return status;
    }
    return {};
  }
  if (auto array = dyn_cast<ir::ArrayType>(type)) {
    for (Value &item : value.aggregate()->view()) {
      mxrt::Status status = flatten(array.getElement(), item, call);
      if (!status.ok())
        return status;
    }
    return {};
  }
  return fail(MXRT_UNSUPPORTED, {}, "an argument of a graph cannot be handed over");
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
