// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C API for launches of kernels on GPUs.

#include "abi/Runtime.h"
#include "device/Device.h"

#include <cstring>

using namespace mxrt;

extern "C" mxrt_status mxrt_launch(const mxrt_context *context, const mxrt_launch_info *given,
                                   const void *arguments) {
  if (!context->runtime)
    return error(context->allocator, MXRT_NO_DEVICE, context->location,
                 "a kernel for GPUs is called without a runtime")
        .release();
  mxrt_launch_info info = {};
  // An older caller has a shorter struct.
  memcpy(&info, given, given->struct_size < sizeof(info) ? given->struct_size : sizeof(info));
  auto device = context->runtime->device(context->device, context->location);
  if (device.failed())
    return device.takeStatus().release();
  return (*device)->launch(info, arguments, context->location).release();
}
