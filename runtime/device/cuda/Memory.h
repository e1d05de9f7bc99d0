// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory of one GPU, the source of its pool. Each block has a fence from allocation to
// release; a release waits for the work in flight on the block.

#ifndef MXRT_DEVICE_CUDA_MEMORY_H
#define MXRT_DEVICE_CUDA_MEMORY_H

#include "base/StatusReserve.h"
#include "device/cuda/Fence.h"

namespace mxrt::cuda {

/// A GPU's primary context, its streams and its memory. Blocks may outlive the device and the
/// runtime: each holds a reference. Thread-safe.
class Context {
public:
  Context(const mxrt_allocator &source, Driver &driver, CUdevice number)
      : alloc(source), driver(driver), number(number), blocks(&alloc) {
    retainReserve(alloc.reserve);
  }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  ~Context();

  CUresult open();
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();

  /// The allocator of a pool: it returns blocks of this GPU.
  mxrt_allocator source();
  /// The fence of a block, by its first byte; null for other memory.
  Fence *fenceOf(const void *block);
  /// Forgets the tickets of all blocks, once no work is in flight anywhere.
  void clearFences();

  const mxrt_allocator alloc;
  Driver &driver;
  const CUdevice number;
  CUcontext handle = nullptr;
  /// Streams for kernels and device-to-device copies, for uploads, and for downloads.
  struct Streams {
    Streams(const Driver &driver, CUcontext context)
        : compute(driver, context), in(driver, context), out(driver, context) {}
    Stream compute, in, out;
  };
  Streams *streams = nullptr;
  /// A sticky error of an allocation, which an allocator cannot return.
  std::atomic<CUresult> broken{CUDA_SUCCESS};

private:
  struct Block {
    uint64_t address;
    Fence *fence;
  };
  void *allocate(size_t bytes);
  void giveBack(void *data);
  size_t findBlock(uint64_t address) const;

  std::atomic<uint32_t> refs{1};
  Mutex mutex;
  Vec<Block> blocks; // by address; guarded by mutex
};

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_MEMORY_H
