// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels on GPUs. The code of a kernel is PTX text, which the driver compiles; a
// kernel of compiled code is a host function with the usual signature (mxrt/kernel.h) that
// calls mxrt_launch.

#ifndef MXRT_LAUNCH_H
#define MXRT_LAUNCH_H

#include "mxrt/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Zero-initialise, set struct_size, then the other fields. Nothing is kept after the call: the
/// driver has its own copy of a module that is loaded.
typedef struct mxrt_launch_info {
  /// sizeof(mxrt_launch_info) of the caller.
  uint32_t struct_size;
  uint32_t argument_count;
  /// PTX, terminated by a zero byte, and the name of an entry in it.
  const char *module;
  const char *entry;
  /// Identifies the text among all modules of the process: a hash of it. 0: the runtime computes
  /// it at each launch.
  uint64_t module_key;
  /// Blocks and threads in each dimension. A launch of no blocks does nothing.
  uint32_t grid[3];
  uint32_t block[3];
  /// Dynamic shared memory of a block.
  uint32_t shared_bytes;
  /// Layout of the arguments: argument i begins at this offset of the block that is passed.
  const uint32_t *argument_offsets;
} mxrt_launch_info;

/// Enqueues a kernel on the compute stream of the context's device and returns. The calling code
/// runs as a call that enqueues (mxrt_call_options.enqueues), which orders the kernel with other
/// work on its operands. R0005 on a device that has no kernels of this kind; R0403 if the driver
/// refuses the module or the launch. Errors inside of the kernel are found later.
MXRT_EXPORT mxrt_status mxrt_launch(const mxrt_context *context, const mxrt_launch_info *info,
                                    const void *arguments);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_LAUNCH_H
