// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel that copies elements between two strided views on a GPU: the runtime's own, so that
// views can be copied without a compiler.

#ifndef MXRT_DEVICE_CUDA_STRIDEDCOPY_H
#define MXRT_DEVICE_CUDA_STRIDEDCOPY_H

#include "memory/Collapse.h"
#include "mxrt/launch.h"

namespace mxrt::cuda {

/// The module, for all of the GPUs that the driver supports.
extern const char *const stridedCopyModule;

/// A launch with its arguments. Not copyable: the launch points to them.
class StridedCopy {
public:
  static constexpr int64_t maxElements = 0x7fffffff; // its index code has 32 bits

  /// `strides` of the walk: those of `from`, then those of `to`, in elements.
  StridedCopy(void *to, const void *from, const Walk<2> &walk, int64_t elements,
              int64_t elementBytes);
  StridedCopy(const StridedCopy &) = delete;
  StridedCopy &operator=(const StridedCopy &) = delete;

  mxrt_launch_info info = {};
  struct Arguments {
    void *to;
    const void *from;
    uint32_t count;
    uint32_t sizes[MXRT_MAX_RANK]; // innermost first
    int64_t toStrides[MXRT_MAX_RANK], fromStrides[MXRT_MAX_RANK]; // in bytes
  } arguments;
};

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_STRIDEDCOPY_H
