// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation, borrowing and reference counting of buffers.

#include "memory/Buffer.h"

using namespace mxrt;

Result<mxrt_buffer *> mxrt_buffer::allocate(Pool *pool, mxrt_device device,
                                            int64_t bytes,
                                            const Purpose &purpose,
                                            mxrt_location location) {
  PoolBlock block =
      MXRT_TRY(pool->allocate(bytes, Pool::Kind::Tensor, purpose, location));
  auto *buffer =
      newObject<mxrt_buffer>(pool->allocator(), *pool->allocator(), device);
  if (!buffer) {
    pool->release(block, Pool::Kind::Tensor);
    return outOfMemory(pool->allocator(), location);
  }
  buffer->pool = pool;
  buffer->block = block;
  buffer->data = block.data;
  buffer->bytes = bytes;
  return buffer;
}

Result<mxrt_buffer *> mxrt_buffer::borrow(const mxrt_allocator *alloc,
                                          mxrt_device device, void *data,
                                          int64_t bytes, bool writable,
                                          void (*releaseMemory)(void *),
                                          void *user) {
  auto *buffer = newObject<mxrt_buffer>(alloc, *alloc, device);
  if (!buffer)
    return outOfMemory(alloc);
  buffer->data = data;
  buffer->bytes = bytes;
  buffer->writable = writable;
  buffer->releaseMemory = releaseMemory;
  buffer->releaseUser = user;
  return buffer;
}

void mxrt_buffer::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (void *last = variable.load(std::memory_order_acquire))
    if (dropVariable)
      dropVariable(last);
  mxrt_allocator source = alloc;
  Pool *owner = pool;
  PoolBlock memory = block;
  void (*giveBack)(void *) = releaseMemory;
  void *user = releaseUser;
  deleteObject(&source, this);
  if (owner)
    owner->release(memory, Pool::Kind::Tensor);
  else if (giveBack)
    giveBack(user);
  releaseReserve(source.reserve);
}

extern "C" {

mxrt_buffer *mxrt_buffer_retain(mxrt_buffer *buffer) {
  if (buffer)
    buffer->retain();
  return buffer;
}

void mxrt_buffer_release(mxrt_buffer *buffer) {
  if (buffer)
    buffer->release();
}

void *mxrt_buffer_data(const mxrt_buffer *buffer) { return buffer->data; }
int64_t mxrt_buffer_bytes(const mxrt_buffer *buffer) { return buffer->bytes; }

void *mxrt_buffer_set_variable(mxrt_buffer *buffer, void *variable,
                               void (*drop)(void *)) {
  Lock lock(buffer->variableMutex);
  if (void *present = buffer->variable.load(std::memory_order_relaxed))
    return present;
  buffer->dropVariable = drop;
  buffer->variable.store(variable, std::memory_order_release);
  return variable;
}

void *mxrt_buffer_variable(const mxrt_buffer *buffer) {
  return buffer->variable.load(std::memory_order_acquire);
}

} // extern "C"
