// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of kernels under guard (`--check=memory`): whatever a kernel changes
// besides its outputs is found, and what it must not read is poison.

#ifndef MXRT_GUARD_H
#define MXRT_GUARD_H

#include "mxrt/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes before and behind a guarded arena that belong to it and nobody uses.
#define MXRT_GUARD_BYTES 64
/// Every byte of what holds nothing: a NaN as a float.
#define MXRT_POISON_BYTE 0xFF

/// What a guarded call does with an operand.
enum {
  MXRT_GUARD_READS = 1,
  MXRT_GUARD_WRITES = 2,
  MXRT_GUARD_ENDS = 4, // nobody reads it afterwards: it becomes poison
  MXRT_GUARD_OVER = 8, // written over an input: not poison before
};

/// One operand, as the compiler lists it.
typedef struct mxrt_guard_operand {
  int64_t bytes; // at most; its memory is at least so long
  int64_t flags;
} mxrt_guard_operand;

/// Fills an arena, and the guards around it, with poison.
MXRT_EXPORT void mxrt_guard_begin(void *arena, int64_t bytes);

/// Calls `kernel` and compares: in the arena and its guards, only the outputs
/// may have changed. R0001 names `name` and the first byte that did. Outputs in
/// the arena hold poison before the call. `operands` are those of `buffers`, and
/// then one of negative bytes. Needs as much memory again as the arena has.
MXRT_EXPORT mxrt_status mxrt_guard_call(const mxrt_context *context,
                                        mxrt_compiled_kernel kernel,
                                        void *const *buffers,
                                        const int64_t *sizes, void *arena,
                                        int64_t arena_bytes,
                                        const mxrt_guard_operand *operands,
                                        const char *name);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_GUARD_H
