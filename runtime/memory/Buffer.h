// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference-counted buffer of device memory. It has two counts: `refs` keeps it alive and
// includes work in flight; `owners` counts tensors that are values of the program, and alone
// decides whether a write must copy (copy on write).

#ifndef MXRT_MEMORY_BUFFER_H
#define MXRT_MEMORY_BUFFER_H

#include "base/StatusReserve.h"
#include "memory/Pool.h"
#include "mxrt/tensor.h"

struct mxrt_buffer {
  mxrt_buffer(const mxrt_allocator &alloc, mxrt_device device)
      : alloc(alloc), device(device) {
    mxrt::retainReserve(alloc.reserve);
  }

  /// Memory from a device's pool.
  static mxrt::Result<mxrt_buffer *> allocate(mxrt::Pool *pool,
                                              mxrt_device device, int64_t bytes,
                                              const mxrt::Purpose &purpose,
                                              mxrt_location location);
  /// Borrowed memory; releaseMemory (may be null) returns it to its owner.
  static mxrt::Result<mxrt_buffer *>
  borrow(const mxrt_allocator *alloc, mxrt_device device, void *data,
         int64_t bytes, bool writable, void (*releaseMemory)(void *),
         void *user);

  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();

  /// Holds a reference to the reserve for errors: the buffer may outlive the runtime.
  mxrt_allocator alloc;
  mxrt_device device;
  std::atomic<int64_t> refs{1};
  std::atomic<int64_t> owners{0};
  void *data = nullptr;
  int64_t bytes = 0;
  bool writable = true;
  /// Whether the host may access `data`.
  bool hostVisible = true;

  mxrt::Pool *pool = nullptr; // null for borrowed memory
  mxrt::PoolBlock block;
  void (*releaseMemory)(void *) = nullptr;
  void *releaseUser = nullptr;

  std::atomic<void *> variable{nullptr};
  void (*dropVariable)(void *) = nullptr; // written before `variable` becomes visible
  mxrt::Mutex variableMutex;
};

#endif // MXRT_MEMORY_BUFFER_H
