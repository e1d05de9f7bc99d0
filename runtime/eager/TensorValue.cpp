// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as reference-counted foreign objects of the host VM.

#include "eager/TensorValue.h"
#include "host/Vm.h"
#include "memory/Tensor.h"

namespace mxrt::eager {

const host::ForeignType tensorType = {
    "tensor", [](void *payload) { mxrt_tensor_release(static_cast<mxrt_tensor *>(payload)); }};

host::Value makeTensorValue(host::Heap &heap, mxrt_tensor *tensor) {
  host::ForeignObject *object = host::makeForeign(heap, &tensorType, tensor);
  return object ? host::Value(host::Kind::Tensor, object) : host::Value();
}

Status giveTensor(host::Invocation &call, TensorRef tensor) {
  host::Value value = makeTensorValue(call.vm.heap(), tensor.get());
  if (!value.isSet())
    return call.vm.heap().exhausted();
  tensor.release();
  call.result = value;
  return success();
}

} // namespace mxrt::eager
