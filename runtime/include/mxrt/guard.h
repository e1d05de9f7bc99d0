// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guarded kernel calls (`--check=memory`), with redzones and poisoned memory: writes
// outside of the outputs are detected, and memory that must not be read is poisoned.

#ifndef MXRT_GUARD_H
#define MXRT_GUARD_H

#include "mxrt/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Redzone: unused bytes before and behind a guarded arena, which belong to it.
#define MXRT_GUARD_BYTES 64
/// Every byte of undefined memory: a NaN as a float.
#define MXRT_POISON_BYTE 0xFF

/// How a guarded call uses an operand.
enum {
  MXRT_GUARD_READS = 1,
  MXRT_GUARD_WRITES = 2,
  MXRT_GUARD_ENDS = 4, // not read afterwards: it becomes poison
  MXRT_GUARD_OVER = 8, // overwrites an input: not poisoned before
  /// Its elements are floats of flags / MXRT_GUARD_ELEMENT bytes: an output that still holds
  /// poison after the call was not written.
  MXRT_GUARD_FLOATS = 16,
  MXRT_GUARD_ELEMENT = 256,
};

/// One operand, as the compiler lists it.
typedef struct mxrt_guard_operand {
  int64_t bytes; // of all its elements
  int64_t flags;
} mxrt_guard_operand;

/// Fills an arena and its redzones with poison.
MXRT_EXPORT void mxrt_guard_begin(void *arena, int64_t bytes);

/// Calls `kernel` and compares: in the arena and its redzones, only the outputs may have
/// changed. R0001 names `name` and the first byte that did. Outputs hold poison before the
/// call; R0001 names the first float of an output that still does afterwards, unless an input
/// holds poison too: parts of it may be filled by later calls. `operands` are those of
/// `buffers`, terminated by one with negative bytes. Needs as much additional memory as the
/// arena.
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
