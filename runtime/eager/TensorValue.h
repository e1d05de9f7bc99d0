// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as values of the host VM.

#ifndef MXRT_EAGER_TENSORVALUE_H
#define MXRT_EAGER_TENSORVALUE_H

#include "host/Value.h"
#include "mxrt/tensor.h"

namespace mxrt {
class Status;
class TensorRef;
namespace host {
struct Invocation;
} // namespace host
} // namespace mxrt

namespace mxrt::eager {

/// The type of every tensor that the executor creates or accepts.
extern const host::ForeignType tensorType;

/// A VM value of `tensor`, which takes ownership of the reference; unset if out of memory, and then
/// the reference is still the caller's.
host::Value makeTensorValue(host::Heap &heap, mxrt_tensor *tensor);

/// Makes the tensor the result of a call.
Status giveTensor(host::Invocation &call, TensorRef tensor);

/// The tensor of a value, borrowed; nullptr if it is not a tensor.
inline mxrt_tensor *tensorOf(const host::Value &value) {
  return value.kind == host::Kind::Tensor && value.foreign()->type == &tensorType
             ? static_cast<mxrt_tensor *>(value.foreign()->payload)
             : nullptr;
}

} // namespace mxrt::eager

#endif // MXRT_EAGER_TENSORVALUE_H
