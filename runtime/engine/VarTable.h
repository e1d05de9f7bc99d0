// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table of variables by handle. A handle is an index and a generation. The storage of a deleted
// variable is reused under the next generation and is never returned to the system while the
// engine lives. So a stale handle is always safe to dereference, and is detected.

#ifndef MXRT_ENGINE_VARTABLE_H
#define MXRT_ENGINE_VARTABLE_H

#include "engine/Op.h"

namespace mxrt::engine {

template <typename Sync> class VarTable {
public:
  using Var = Variable<Sync>;

  explicit VarTable(const mxrt_allocator *alloc) : alloc(alloc) {}
  VarTable(const VarTable &) = delete;
  ~VarTable() {
    uint32_t end = used.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < end; ++i)
      Failure::release(at(i)->poison);
    for (uint32_t c = 0; c * Sync::varsPerChunk < end; ++c)
      releaseBytes(alloc, chunks[c].load(std::memory_order_relaxed), chunkBytes,
                   64);
    releaseBytes(alloc, chunks, tableBytes, 64);
  }

  /// Call once, before anything else. False without memory.
  bool prepare() {
    void *memory = allocateBytes(alloc, tableBytes, 64);
    if (!memory)
      return false;
    chunks = static_cast<std::atomic<Var *> *>(memory);
    for (uint32_t c = 0; c < Sync::varChunks; ++c)
      ::new (static_cast<void *>(chunks + c)) std::atomic<Var *>(nullptr);
    return true;
  }

  /// nullptr without memory, or with Sync::varChunks * varsPerChunk alive.
  Var *create() {
    Var *var;
    {
      Lock lock(mutex);
      var = free;
      if (var)
        free = var->nextFree;
      else if (!(var = grow()))
        return nullptr;
    }
    Guard<Sync> guard(var->mutex); // a stale handle may be reading it
    var->alive = true;
    var->deleting = false;
    var->version = 0;
    alive.fetch_add(1, std::memory_order_relaxed);
    return var;
  }

  /// The variable's queue is empty and no handle finds it any more.
  void recycle(Var *var) {
    {
      Guard<Sync> guard(var->mutex);
      Failure::release(std::exchange(var->poison, nullptr));
      var->alive = false;
      // Generation 0 would form a handle that looks like the null handle, after 2^32 reuses.
      if (++var->generation == 0)
        var->generation = 1;
    }
    Lock lock(mutex);
    var->nextFree = free;
    free = var;
    alive.fetch_sub(1, std::memory_order_relaxed);
  }

  /// The storage that a handle refers to, or nullptr if it never existed. Whether the generation
  /// still matches is known only under the variable's mutex.
  Var *find(mxrt_var handle) const {
    uint32_t index = static_cast<uint32_t>(handle) - 1u;
    // acquire: pairs with grow().
    if (index >= used.load(std::memory_order_acquire))
      return nullptr;
    return at(index);
  }
  static uint32_t generationOf(mxrt_var handle) {
    return static_cast<uint32_t>(handle >> 32);
  }
  /// Under the variable's mutex.
  static bool usable(const Var &var, uint32_t generation) {
    if (Sync::fault(Fault::DeletedHandleAccepted))
      return var.alive && var.generation == generation;
    return var.alive && !var.deleting && var.generation == generation;
  }

  uint64_t aliveCount() const { return alive.load(std::memory_order_relaxed); }

private:
  static constexpr size_t chunkBytes = Sync::varsPerChunk * sizeof(Var);
  static constexpr size_t tableBytes =
      Sync::varChunks * sizeof(std::atomic<Var *>);

  Var *at(uint32_t index) const {
    return chunks[index / Sync::varsPerChunk].load(std::memory_order_relaxed) +
           index % Sync::varsPerChunk;
  }

  Var *grow() {
    uint32_t index = used.load(std::memory_order_relaxed);
    uint32_t chunk = index / Sync::varsPerChunk;
    if (chunk >= Sync::varChunks)
      return nullptr;
    if (index % Sync::varsPerChunk == 0) {
      void *memory = allocateBytes(alloc, chunkBytes, 64);
      if (!memory)
        return nullptr;
      chunks[chunk].store(static_cast<Var *>(memory),
                          std::memory_order_relaxed);
    }
    Var *var = ::new (static_cast<void *>(at(index))) Var(index);
    used.store(index + 1, std::memory_order_release);
    return var;
  }

  const mxrt_allocator *const alloc;
  Mutex mutex; // guards free and growth
  Var *free = nullptr;
  std::atomic<Var *> *chunks = nullptr;
  std::atomic<uint32_t> used{0};
  std::atomic<uint64_t> alive{0};
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_VARTABLE_H
