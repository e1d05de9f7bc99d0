// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eager/TensorValue.h"

namespace mxrt::eager {

const host::ForeignType tensorType = {
    "tensor", [](void *payload) { mxrt_tensor_release(static_cast<mxrt_tensor *>(payload)); }};

host::Value makeTensorValue(host::Heap &heap, mxrt_tensor *tensor) {
  host::ForeignObject *object = host::makeForeign(heap, &tensorType, tensor);
  return object ? host::Value(host::Kind::Tensor, object) : host::Value();
}

} // namespace mxrt::eager
