// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver (libcuda.so.1), opened at the first use of a GPU. The runtime links no CUDA
// library and needs no CUDA header: one binary runs with and without a GPU.

#ifndef MXRT_DEVICE_CUDA_DRIVER_H
#define MXRT_DEVICE_CUDA_DRIVER_H

#include "base/Status.h"

#include <cstddef>

namespace mxrt::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;

// Values of cuda.h; a test compares them.
enum : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_UNKNOWN = 999,

  CU_STREAM_NON_BLOCKING = 1,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_MEMHOSTALLOC_PORTABLE = 1,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

/// Function table of the driver, complete.
struct Driver {
#define MXRT_CUDA(symbol, parameters) CUresult(*symbol) parameters = nullptr;
#include "device/cuda/Driver.def"
};

/// The names in Driver.def.
inline constexpr const char *functionNames[] = {
#define MXRT_CUDA(symbol, parameters) #symbol,
#include "device/cuda/Driver.def"
};

/// The initialised driver, loaded by the first call (dlopen), or the reason for the user why there
/// is none. MX_CUDA names another library than libcuda.so.1. One per process; thread-safe.
struct Opened {
  Driver *driver; // null: see `why`
  const char *why;
  int deviceCount;
};
const Opened &openDriver();

/// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
struct ResultText {
  char text[200];
};
ResultText resultText(const Driver &driver, CUresult result);

/// Whether an error ends the context: all later calls return it too.
bool isSticky(CUresult result);

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_DRIVER_H
