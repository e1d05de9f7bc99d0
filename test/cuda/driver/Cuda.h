// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA driver interface that the emulator offers, declared here so that the project builds
// without the CUDA toolkit. In a namespace, so that a test can include cuda.h beside it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mxemu {

enum CudaValue : int {
#define MXEMU_ERROR(NAME, VALUE, TEXT) NAME = VALUE,
#define MXEMU_VALUE(NAME, VALUE) NAME = VALUE,
#include "driver/Values.def"
};
using CUresult = int;
using Enum = int;
using CUdeviceptr = unsigned long long;

using CUcontext = struct ContextObject *;
using CUmodule = struct ModuleObject *;
using CUfunction = struct FunctionObject *;
using CUstream = struct StreamObject *;
using CUevent = struct EventObject *;
using CUgraph = struct GraphObject *;
using CUgraphExec = struct GraphExecObject *;
using CUgraphNode = struct NodeObject *;
using CUmemoryPool = struct PoolObject *;

struct CUlaunchAttribute {
  Enum id;
  char pad[4];
  union {
    char bytes[64];
    int cooperative;
    int priority;
  } value;
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams;
  void **extra;
  void *kern;
  CUcontext ctx;
};
struct CUmemPoolProps {
  Enum allocType, handleTypes;
  struct {
    Enum type;
    int id;
  } location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  Enum srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  Enum dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

/// Names of the emulator's own functions. They are exported by the library beside the driver's.
///   mxemuReset(): forgets all devices, errors and findings, and reads the environment again
///   mxemuSetSeed(seed): order of streams, blocks, warps and lanes from here on
///   mxemuLastFinding(): text of the last finding, empty for none; valid until the thread's next call
///   mxemuFindingCount(): how many there were since the last reset
///   mxemuLeaks(): what is still allocated, one line each
///   mxemuStatistics(threadInstructions, nanoseconds): of all kernels since the last reset
#define MXEMU_OWN_ENTRIES(X)                                                                       \
  X(mxemuReset, void, ())                                                                          \
  X(mxemuSetSeed, void, (uint64_t seed))                                                           \
  X(mxemuLastFinding, const char *, ())                                                            \
  X(mxemuFindingCount, int, ())                                                                    \
  X(mxemuLeaks, const char *, ())                                                                  \
  X(mxemuStatistics, void, (uint64_t * threadInstructions, uint64_t *nanoseconds))

} // namespace mxemu
