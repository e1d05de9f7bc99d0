// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled kernels: plain functions over addresses and sizes. The meaning of `sizes` follows
// from the kernel's key; see runtime/eager/Kernels.h and docs/internals/runtime.md.

#ifndef MXRT_KERNEL_H
#define MXRT_KERNEL_H

#include "mxrt/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Code compiled by mxc. `buffers`: addresses of element 0 of the inputs, then the outputs,
/// then the workspace if any. `sizes`: see the key. Both are valid until it returns. An empty
/// operand may have any address.
///
/// Thread safety: called from any thread, possibly several times at once.
typedef mxrt_status (*mxrt_compiled_kernel)(const mxrt_context *context, void *const *buffers,
                                            const int64_t *sizes);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_KERNEL_H
