// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts, and allocation of GPU memory with fences.

#include "device/cuda/Memory.h"

namespace mxrt::cuda {

CUresult Context::open() {
  CUresult result = driver.cuDevicePrimaryCtxRetain(&handle, number);
  if (result != CUDA_SUCCESS)
    return result;
  streams = newObject<Streams>(&alloc, driver, handle);
  if (!streams)
    return CUDA_ERROR_OUT_OF_MEMORY;
  for (Stream *stream : {&streams->compute, &streams->in, &streams->out})
    if (result == CUDA_SUCCESS)
      result = stream->open();
  return result;
}

Context::~Context() {
  deleteObject(&alloc, streams);
  if (handle)
    driver.cuDevicePrimaryCtxRelease_v2(number);
}

void Context::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  mxrt_allocator tables = alloc;
  deleteObject(&tables, this);
  releaseReserve(tables.reserve);
}

mxrt_allocator Context::source() {
  mxrt_allocator made = {};
  made.user = this;
  made.allocate = [](void *user, size_t bytes, size_t) {
    return static_cast<Context *>(user)->allocate(bytes);
  };
  made.release = [](void *user, void *data, size_t, size_t) {
    static_cast<Context *>(user)->giveBack(data);
  };
  return made;
}

/// The number of blocks below the address.
size_t Context::findBlock(uint64_t address) const {
  size_t low = 0, high = blocks.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (blocks[middle].address < address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void *Context::allocate(size_t bytes) {
  auto *fence = newObject<Fence>(&alloc);
  if (!fence)
    return nullptr;
  CUdeviceptr address = 0;
  {
    Current current(driver, handle);
    CUresult result = driver.cuMemAlloc_v2(&address, bytes);
    if (result != CUDA_SUCCESS)
      address = 0;
    if (isSticky(result))
      broken.store(result, std::memory_order_relaxed);
  }
  if (address) {
    Lock lock(mutex);
    if (blocks.push({address, fence})) {
      for (size_t i = blocks.size() - 1; i > 0 && blocks[i - 1].address > address; --i)
        std::swap(blocks[i], blocks[i - 1]);
      retain();
      return reinterpret_cast<void *>(address);
    }
  }
  if (address) {
    Current current(driver, handle);
    driver.cuMemFree_v2(address);
  }
  deleteObject(&alloc, fence);
  return nullptr;
}

void Context::giveBack(void *data) {
  auto address = reinterpret_cast<uint64_t>(data);
  Fence *fence = nullptr;
  {
    Lock lock(mutex);
    size_t at = findBlock(address);
    fence = blocks[at].fence;
    for (; at + 1 < blocks.size(); ++at)
      blocks[at] = blocks[at + 1];
    blocks.pop();
  }
  // A GPU that failed has nothing in flight; its memory goes with the context.
  Fence::Before before = fence->before(true);
  for (size_t i = 0; i < before.count; ++i)
    before.tickets[i].stream->wait(before.tickets[i].number);
  deleteObject(&alloc, fence);
  {
    Current current(driver, handle);
    driver.cuMemFree_v2(address);
  }
  release();
}

Fence *Context::fenceOf(const void *block) {
  auto address = reinterpret_cast<uint64_t>(block);
  Lock lock(mutex);
  size_t at = findBlock(address);
  return at < blocks.size() && blocks[at].address == address ? blocks[at].fence : nullptr;
}

void Context::clearFences() {
  Lock lock(mutex);
  for (Block &block : blocks)
    block.fence->clear();
}

} // namespace mxrt::cuda
