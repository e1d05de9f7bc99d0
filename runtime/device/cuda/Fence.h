// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fence of a block of GPU memory: tickets of the last write and of the reads since. It stays
// with the block when the pool reuses the block for another tensor, so the first work on the new
// tensor waits, on the GPU, for the last work on the old one.

#ifndef MXRT_DEVICE_CUDA_FENCE_H
#define MXRT_DEVICE_CUDA_FENCE_H

#include "device/cuda/Stream.h"

namespace mxrt::cuda {

/// Thread-safe. The engine keeps conflicting accesses apart: reads may be added at the same time.
class Fence {
public:
  static constexpr size_t maxReads = 4;

  /// What an access must come after.
  struct Before {
    Ticket tickets[maxReads + 1];
    size_t count = 0;
  };
  Before before(bool writes) {
    Lock lock(mutex);
    Before result;
    if (write.stream)
      result.tickets[result.count++] = write;
    for (size_t i = 0; i < readCount && writes; ++i)
      result.tickets[result.count++] = reads[i];
    return result;
  }

  void wrote(Ticket ticket) {
    Lock lock(mutex);
    write = ticket;
    readCount = 0;
  }

  /// Adds a read. With more than maxReads streams it replaces another, which is returned: the
  /// caller waits for that one.
  Ticket read(Ticket ticket) {
    Lock lock(mutex);
    for (size_t i = 0; i < readCount; ++i)
      if (reads[i].stream == ticket.stream) {
        if (reads[i].number < ticket.number)
          reads[i] = ticket;
        return {};
      }
    if (readCount < maxReads) {
      reads[readCount++] = ticket;
      return {};
    }
    Ticket displaced = reads[0];
    reads[0] = ticket;
    return displaced;
  }

  /// All work is complete and streams may go.
  void clear() {
    Lock lock(mutex);
    write = {};
    readCount = 0;
  }

private:
  Mutex mutex;
  Ticket write;
  Ticket reads[maxReads];
  size_t readCount = 0;
};

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_FENCE_H
