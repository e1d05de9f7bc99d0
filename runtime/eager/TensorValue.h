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

/// The type of every tensor that the executor makes or takes.
extern const host::ForeignType tensorType;

/// A VM value of `tensor`, whose reference it takes over; unset if there is no
/// memory, and the reference is still the caller's.
host::Value makeTensorValue(host::Heap &heap, mxrt_tensor *tensor);

/// Makes it the result of a call.
Status giveTensor(host::Invocation &call, TensorRef tensor);

/// The tensor of a value, borrowed; nullptr if it is none.
inline mxrt_tensor *tensorOf(const host::Value &value) {
  return value.kind == host::Kind::Tensor && value.foreign()->type == &tensorType
             ? static_cast<mxrt_tensor *>(value.foreign()->payload)
             : nullptr;
}

} // namespace mxrt::eager

#endif // MXRT_EAGER_TENSORVALUE_H
