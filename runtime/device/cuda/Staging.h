// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Staging buffers in pinned host memory. Copies from and to pageable memory are not asynchronous,
// and need the memory to stay unchanged until they end.

#ifndef MXRT_DEVICE_CUDA_STAGING_H
#define MXRT_DEVICE_CUDA_STAGING_H

#include "device/cuda/Memory.h"

namespace mxrt::cuda {

inline constexpr int64_t stagingBytes = 1 << 20;

/// A ring (FIFO) of pinned buffers, each with a note about its contents. Not thread-safe.
template <typename Note> class Ring {
public:
  explicit Ring(Context &context) : context(context) {}
  Ring(const Ring &) = delete;
  Ring &operator=(const Ring &) = delete;
  ~Ring() {
    Current current(context.driver, context.handle);
    for (Slot &slot : slots)
      if (slot.data)
        context.driver.cuMemFreeHost(slot.data);
  }

  struct Slot {
    char *data = nullptr;
    Note note;
  };
  bool full() const { return used == count; }
  bool empty() const { return used == 0; }
  Slot &oldest() { return slots[head]; }
  void drop() {
    head = (head + 1) % count;
    --used;
  }
  /// The next free slot; `take` marks it as used. Allocates its buffer at first use. The context
  /// must be current.
  CUresult next(Slot *&out) {
    Slot &slot = slots[(head + used) % count];
    out = &slot;
    if (slot.data)
      return CUDA_SUCCESS;
    void *memory = nullptr;
    CUresult result = context.driver.cuMemHostAlloc(&memory, stagingBytes, CU_MEMHOSTALLOC_PORTABLE);
    slot.data = static_cast<char *>(memory);
    return result;
  }
  void take() { ++used; }

private:
  static constexpr size_t count = 4;
  Context &context;
  Slot slots[count];
  size_t head = 0, used = 0;
};

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_STAGING_H
