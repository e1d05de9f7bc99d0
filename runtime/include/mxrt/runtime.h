// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime object: owner of devices, pools, thread teams, the engine and everything else
// with state. No state is global; two runtimes in one process share nothing but the machine.

#ifndef MXRT_RUNTIME_H
#define MXRT_RUNTIME_H

#include "mxrt/parallel.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Fill with mxrt_options_init, then change fields.
typedef struct mxrt_options {
  /// MXRT_ABI_VERSION of the caller's headers and sizeof(mxrt_options).
  uint32_t abi_version;
  uint32_t struct_size;
  /// The allocator of all memory; copied. NULL: the system allocator. Its functions must work
  /// until the runtime and its last error are gone.
  const mxrt_allocator *allocator;
  /// Threads that may compute at the same time, including the caller's. 0: MX_NUM_THREADS, else
  /// the processors this process may use.
  int32_t threads;
  /// Number of CPU devices (cpu:0 .. cpu:n-1), 1 to 16. 0: 2.
  int32_t cpu_devices;
  /// Maximum bytes of tensors, arenas and caches at any time, over all CPU devices.
  /// 0: MX_MAX_MEMORY ("512M", "1.5GiB", plain bytes), else no limit.
  int64_t memory_limit;
  /// The same for each GPU. 0: MX_MAX_GPU_MEMORY, else no limit.
  int64_t gpu_memory_limit;
  /// 1: wait after each kernel launched on a GPU, so that a failure names the kernel.
  int32_t check_launches;
} mxrt_options;

/// Uses the caller's struct size and version, whatever the library's are.
static inline void mxrt_options_init(mxrt_options *options) {
  memset(options, 0, sizeof(*options));
  options->abi_version = MXRT_ABI_VERSION;
  options->struct_size = (uint32_t)sizeof(*options);
}

/// R0003 if compiled code (or a host) was built for another ABI: majors must be equal and the
/// runtime's minor must be at least the caller's.
MXRT_EXPORT mxrt_status mxrt_abi_check(uint32_t abi_version);

/// Creates a runtime; *out is NULL on failure. `options` may be NULL. Starts no thread: teams
/// and workers start with their first work.
MXRT_EXPORT mxrt_status mxrt_runtime_create(const mxrt_options *options,
                                            mxrt_runtime **out);

/// Waits for pending work, then frees everything. The caller guarantees that no other thread
/// uses the runtime any more and that all its tensors are released; the memory of tensors still
/// alive is freed with their last reference. NULL is allowed.
MXRT_EXPORT void mxrt_runtime_destroy(mxrt_runtime *runtime);

/// The runtime's allocator; valid as long as the runtime.
MXRT_EXPORT const mxrt_allocator *
mxrt_runtime_allocator(const mxrt_runtime *runtime);
/// The size of the thread budget.
MXRT_EXPORT int32_t mxrt_runtime_threads(const mxrt_runtime *runtime);
MXRT_EXPORT int32_t mxrt_runtime_cpu_devices(const mxrt_runtime *runtime);

/// A context for calling kernels, parallel_for and random ops directly on a device of the
/// runtime. R0401 for an unknown device. Valid as long as the runtime and location->file.
MXRT_EXPORT mxrt_status mxrt_runtime_context(mxrt_runtime *runtime,
                                             const mxrt_device *device,
                                             const mxrt_location *location,
                                             mxrt_context *out);

/// Requests cancellation: it is polled between kernels, loop iterations and parallel_for chunks
/// and ends work with R0004. Stays set until cleared. Thread-safe; safe in a signal handler of
/// the host.
MXRT_EXPORT void mxrt_runtime_cancel(mxrt_runtime *runtime);
MXRT_EXPORT void mxrt_runtime_clear_cancel(mxrt_runtime *runtime);
MXRT_EXPORT int32_t mxrt_runtime_cancelled(const mxrt_runtime *runtime);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_RUNTIME_H
