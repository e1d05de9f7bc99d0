// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pool allocator for ops in flight: blocks in five size classes, never returned to the system
// while the engine lives. Pushing threads take blocks, workers give them back. The two sides
// meet only when the takers' free list is empty: they then collect all returned blocks in one
// atomic exchange.

#ifndef MXRT_ENGINE_OPPOOL_H
#define MXRT_ENGINE_OPPOOL_H

#include "engine/Op.h"

namespace mxrt::engine {

template <typename Sync> class OpPool {
public:
  explicit OpPool(const mxrt_allocator *alloc) : alloc(alloc) {}
  OpPool(const OpPool &) = delete;
  /// All blocks must have come back.
  ~OpPool() {
    while (Chunk *chunk = chunks) {
      chunks = chunk->next;
      releaseBytes(alloc, chunk, chunk->bytes, 64);
    }
  }

  static size_t tileBytes(size_t accesses, size_t payloadBytes) {
    return sizeof(Op<Sync>) + accesses * sizeof(Access<Sync>) +
           ((payloadBytes + 15) & ~size_t{15});
  }

  /// An op with room for this many accesses and payload bytes, or nullptr without memory.
  /// Accesses are constructed; everything else is as in a new Op.
  Op<Sync> *acquire(size_t accesses, size_t payloadBytes) {
    size_t bytes = tileBytes(accesses, payloadBytes);
    uint32_t sizeClass = classOf(bytes);
    void *memory = sizeClass == oversize ? acquireOversize(bytes)
                                         : acquireBlock(sizeClass);
    if (!memory)
      return nullptr;
    auto *op = ::new (memory) Op<Sync>();
    op->sizeClass = static_cast<uint8_t>(sizeClass & 7);
    op->accessCount = static_cast<uint16_t>(accesses);
    Access<Sync> *nodes = op->accesses();
    for (size_t i = 0; i < accesses; ++i)
      ::new (static_cast<void *>(nodes + i)) Access<Sync>();
    return op;
  }
  /// Address of a payload of `payloadBytes`, aligned to 16.
  static void *payloadRoom(Op<Sync> *op) {
    return op->accesses() + op->accessCount;
  }

  void giveBack(Op<Sync> *op) {
    if (op->sizeClass == oversize) {
      auto *header = reinterpret_cast<Oversize *>(op) - 1;
      releaseBytes(alloc, header, header->bytes, 64);
      return;
    }
    // A stack with push and take-all only: no ABA problem. Relaxed suffices for the first load,
    // since the exchange repeats it.
    auto &returned = classes[op->sizeClass].returned;
    Op<Sync> *head = returned.load(std::memory_order_relaxed);
    do
      op->next = head;
    while (!returned.compare_exchange_weak(head, op, std::memory_order_release,
                                           std::memory_order_relaxed));
  }

private:
  static constexpr size_t smallest = 256;
  static constexpr uint32_t classCount = 5; // 256 .. 4096 bytes
  static constexpr uint32_t oversize = classCount;

  struct Chunk {
    Chunk *next;
    size_t bytes;
  };
  struct alignas(64) Oversize {
    size_t bytes;
  };
  struct Class {
    alignas(64) Mutex mutex; // guards free
    Op<Sync> *free = nullptr;
    // On a cache line of its own: workers write it. Not a Sync::Atomic: the choice of block for
    // an op changes nothing else, so the schedule explorer need not branch on it.
    alignas(64) std::atomic<Op<Sync> *> returned{nullptr};
  };

  static uint32_t classOf(size_t bytes) {
    uint32_t sizeClass = 0;
    for (size_t size = smallest; size < bytes && sizeClass < oversize; size *= 2)
      ++sizeClass;
    return sizeClass;
  }

  void *acquireBlock(uint32_t sizeClass) {
    Class &from = classes[sizeClass];
    Lock lock(from.mutex);
    if (!from.free)
      from.free = from.returned.exchange(nullptr, std::memory_order_acquire);
    if (!from.free)
      from.free = newChunk(smallest << sizeClass);
    if (Op<Sync> *op = from.free) {
      from.free = op->next;
      return op;
    }
    return nullptr;
  }

  /// A list of new blocks. Called under a class's mutex, so the list of chunks, which all
  /// classes share, has its own mutex.
  Op<Sync> *newChunk(size_t size) {
    size_t count = Sync::opsPerChunk * smallest / size;
    count = count < 2 ? 2 : count;
    size_t bytes = 64 + count * size;
    auto *memory = static_cast<char *>(allocateBytes(alloc, bytes, 64));
    if (!memory)
      return nullptr;
    auto *chunk = ::new (memory) Chunk{nullptr, bytes};
    {
      Lock lock(chunksMutex);
      chunk->next = chunks;
      chunks = chunk;
    }
    Op<Sync> *list = nullptr;
    for (size_t i = count; i-- > 0;) {
      auto *op = ::new (memory + 64 + i * size) Op<Sync>();
      op->next = list;
      list = op;
    }
    return list;
  }

  void *acquireOversize(size_t bytes) {
    size_t total = bytes + sizeof(Oversize);
    void *memory = allocateBytes(alloc, total, 64);
    if (!memory)
      return nullptr;
    return ::new (memory) Oversize{total} + 1;
  }

  const mxrt_allocator *const alloc;
  Class classes[classCount];
  Mutex chunksMutex;
  Chunk *chunks = nullptr;
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_OPPOOL_H
