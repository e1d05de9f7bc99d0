// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work of engine ops on devices. An op that uses a GPU enqueues and ends: ops behind it on the
// same GPU, or another, enqueue behind its work without a wait of the host. One more op stays in
// flight as long as the GPU works, so that waiting for everything waits for the GPU.

#ifndef MXRT_ABI_DEVICEWORK_H
#define MXRT_ABI_DEVICEWORK_H

#include "abi/Runtime.h"
#include "device/Device.h"
#include "memory/Tensor.h"
#include "mxrt/engine.h"

namespace mxrt {

/// Pushes that op if none is in flight. After work was enqueued.
Status watchDevice(mxrt_engine *engine, Device &device);

/// Runs body() -> Status, which enqueues work that makes the accesses.
template <typename Body>
Status runOnDevice(mxrt_engine *engine, Device &device, std::span<const Access> accesses,
                   mxrt_location location, Body &&body) {
  if (device.hostVisible())
    return body();
  MXRT_CHECK(device.begin(accesses, location));
  Status status = body();
  // Also after an error: what was enqueued before it still runs.
  Status ended = device.end(accesses, location);
  Status watched = watchDevice(engine, device);
  if (status.ok())
    status = std::move(ended);
  return status.ok() ? std::move(watched) : std::move(status);
}

/// Enqueues a copy of elements on the tensors' device, inside of runOnDevice.
Status copyOnDevice(Device &device, const mxrt_tensor *from, const mxrt_tensor *to,
                    mxrt_location location);

/// A dense copy on another device, or on the same; issued.
Result<TensorRef> moveTensor(mxrt_runtime *runtime, mxrt_tensor *from, mxrt_device device,
                             mxrt_location location);
/// The tensor itself if the host sees its memory, else a copy on cpu:0. Waits for its elements.
Result<TensorRef> hostTensor(mxrt_runtime *runtime, mxrt_tensor *tensor, mxrt_location location);

} // namespace mxrt

#endif // MXRT_ABI_DEVICEWORK_H
