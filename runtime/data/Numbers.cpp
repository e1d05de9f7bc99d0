// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads tensors and asynchronous scalars as numbers.

#include "data/Numbers.h"
#include "base/Elements.h"
#include "base/Halfs.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"

#include <cstring>

namespace mxrt::data {

using host::Kind;
using host::Value;

Status copyOf(DataHost &host, mxrt_tensor *tensor, const mxrt_location &location, TensorRef &out) {
  mxrt_tensor *copy = nullptr;
  mxrt_device device = {MXRT_CPU, 0};
  MXRT_CHECK(Status(mxrt_tensor_create(host.options.runtime, &device, tensor->type, tensor->rank,
                                       tensor->sizes(), &location, &copy)));
  out = TensorRef(copy);
  return Status(mxrt_call_copy(host.options.runtime, tensor, copy, &location));
}

Status denseOf(DataHost &host, mxrt_tensor *tensor, const mxrt_location &location, TensorRef &out) {
  if (!mxrt_tensor_is_dense(tensor))
    return copyOf(host, tensor, location, out);
  out = TensorRef(mxrt_tensor_retain(tensor));
  return success();
}

double elementOf(const mxrt_tensor *tensor, int64_t i) {
  return visitElement(tensor->type, [&](auto element) {
    return double(element.load(tensor->data() + i * int64_t(sizeof(typename decltype(element)::Bits))));
  });
}

Status readNumbers(DataHost &host, mxrt_tensor *tensor, const mxrt_location &location, Vec<double> &out) {
  TensorRef dense;
  MXRT_CHECK(denseOf(host, tensor, location, dense));
  MXRT_CHECK(Status(mxrt_tensor_wait(host.options.runtime, dense.get(), &location)));
  if (!out.resize(static_cast<size_t>(dense->elements)))
    return outOfMemory(host.allocator());
  for (int64_t i = 0; i < dense->elements; ++i)
    out[static_cast<size_t>(i)] = elementOf(dense.get(), i);
  return success();
}

Status takeNumber(DataHost &host, const Value &value, const char *name, const char *verb,
                  Number &out) {
  out = Number();
  if (mxrt_tensor *tensor = eager::tensorOf(value)) {
    if (tensor->elements != 1)
      return error(host.allocator(), MXRT_SHAPE, noLocation, "`%s` is %s, a single number is %s", name,
                   shapeText(tensor->shape()).text, verb);
    out.coming = TensorRef(mxrt_tensor_retain(tensor));
    return success();
  }
  out.known = true;
  switch (value.kind) {
  case Kind::Bool:
  case Kind::Int:
    out.value = double(value.i);
    return success();
  case Kind::F32:
    out.value = double(value.f);
    return success();
  case Kind::F64:
    out.value = value.d;
    return success();
  default:
    return error(host.allocator(), MXRT_HOST_TYPE, noLocation, "`%s` is %s, a number is %s", name,
                 host::kindName(value.kind), verb);
  }
}

Status awaitNumber(DataHost &host, const mxrt_location &location, Number &number) {
  if (!number.coming)
    return success();
  MXRT_CHECK(Status(mxrt_tensor_wait(host.options.runtime, number.coming.get(), &location)));
  number.value = elementOf(number.coming.get());
  number.known = true;
  number.coming = TensorRef();
  return success();
}

Status pollNumber(DataHost &host, const mxrt_location &location, Number &number) {
  if (!number.coming)
    return success();
  mxrt_runtime *runtime = host.options.runtime;
  mxrt_engine *engine = nullptr;
  mxrt_var variable;
  int32_t ready = 0;
  MXRT_CHECK(Status(mxrt_runtime_engine(runtime, nullptr, &engine)));
  MXRT_CHECK(Status(mxrt_tensor_variable(runtime, number.coming.get(), &variable)));
  MXRT_CHECK(Status(mxrt_engine_poll(engine, variable, &ready)));
  return ready ? awaitNumber(host, location, number) : success();
}

} // namespace mxrt::data
