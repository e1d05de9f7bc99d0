// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous device work of engine ops. An op enqueues its work on the GPU and completes at
// once; later ops, on this or another GPU, enqueue behind that work without blocking the host.
// A watch op stays in flight while the GPU is busy, so that wait_all waits for the GPU too.

#ifndef MXRT_ABI_DEVICEWORK_H
#define MXRT_ABI_DEVICEWORK_H

#include "abi/Runtime.h"
#include "device/Device.h"
#include "memory/Tensor.h"
#include "mxrt/engine.h"

namespace mxrt {

/// Pushes the watch op if none is in flight. Call it after enqueuing work.
Status watchDevice(mxrt_engine *engine, Device &device);

/// Runs body() -> Status, which enqueues work with these accesses.
template <typename Body>
Status runOnDevice(mxrt_engine *engine, Device &device, std::span<const Access> accesses,
                   mxrt_location location, Body &&body) {
  if (device.hostVisible())
    return body();
  MXRT_CHECK(device.begin(accesses, location));
  Status status = body();
  // Also after an error: work that was enqueued before it still runs.
  Status ended = device.end(accesses, location);
  Status watched = watchDevice(engine, device);
  if (status.ok())
    status = std::move(ended);
  return status.ok() ? std::move(watched) : std::move(status);
}

/// Enqueues a copy of elements on the tensors' device, inside of runOnDevice.
Status copyOnDevice(Device &device, const mxrt_tensor *from, const mxrt_tensor *to,
                    mxrt_location location);

/// Issues a dense copy on a device, which may be that of `from`.
Result<TensorRef> moveTensor(mxrt_runtime *runtime, mxrt_tensor *from, mxrt_device device,
                             mxrt_location location);
/// The tensor itself if its memory is host-visible, else a copy on cpu:0. Waits for its elements.
Result<TensorRef> hostTensor(mxrt_runtime *runtime, mxrt_tensor *tensor, mxrt_location location);

} // namespace mxrt

#endif // MXRT_ABI_DEVICEWORK_H
