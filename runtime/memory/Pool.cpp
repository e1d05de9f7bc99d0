// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "memory/Pool.h"
#include "base/CheckedMath.h"
#include "base/StatusReserve.h"
#include "base/Units.h"

#include <cstdio>

// Reuse hides mistakes from the address sanitizer; poisoning cached blocks
// shows them again.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define MXRT_POISON(memory, bytes)                                             \
  ASAN_POISON_MEMORY_REGION(memory, static_cast<size_t>(bytes))
#define MXRT_UNPOISON(memory, bytes)                                           \
  ASAN_UNPOISON_MEMORY_REGION(memory, static_cast<size_t>(bytes))
#endif
#endif
#ifndef MXRT_POISON
#define MXRT_POISON(memory, bytes) ((void)0)
#define MXRT_UNPOISON(memory, bytes) ((void)0)
#endif

namespace mxrt {

void NamedPurpose::describe(char *buffer, size_t capacity) const {
  snprintf(buffer, capacity, "%s", name);
}

static int floorLog2(int64_t value) {
  return 63 - __builtin_clzll(static_cast<unsigned long long>(value));
}

bool Pool::roundSize(int64_t bytes, int64_t &rounded) {
  if (bytes <= 0)
    bytes = 1;
  if (bytes <= 256)
    return checkedAlign(bytes, 64, rounded);
  if (bytes <= largestSmall)
    return checkedAlign(bytes, int64_t(1) << (floorLog2(bytes - 1) - 2),
                        rounded);
  return checkedAlign(bytes, 4096, rounded);
}

int Pool::binOf(int64_t rounded) {
  if (rounded <= 256)
    return static_cast<int>(rounded / 64) - 1;
  if (rounded > largestSmall)
    return smallBins;
  int power = floorLog2(rounded - 1);
  int64_t quarter = int64_t(1) << (power - 2);
  return 4 + (power - 8) * 4 +
         static_cast<int>((rounded - (int64_t(1) << power)) / quarter) - 1;
}

Pool::Pool(const mxrt_allocator &tables, const mxrt_allocator &source,
           MemoryBudget *budget, const char *name)
    : alloc(tables), source(source), budget(budget), sites(&alloc),
      bins(&alloc) {
  retainReserve(alloc.reserve); // errors may come after the runtime is gone
  snprintf(this->name, sizeof(this->name), "%s", name);
  budget->retain();
}

Pool::~Pool() { budget->release(); }

Result<Pool *> Pool::create(const mxrt_allocator *alloc,
                            const mxrt_allocator *source, MemoryBudget *budget,
                            const char *name) {
  Pool *pool = newObject<Pool>(alloc, *alloc, *source, budget, name);
  if (!pool)
    return outOfMemory(alloc);
  bool ready = pool->bins.reserve(smallBins + 1);
  for (int i = 0; ready && i <= smallBins; ++i)
    ready = pool->bins.push(Vec<Cached>(&pool->alloc));
  if (!ready || !budget->enlist(pool)) {
    pool->dropRef();
    return outOfMemory(alloc);
  }
  return pool;
}

void Pool::dropRef() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  mxrt_allocator tables = alloc;
  deleteObject(&tables, this);
  releaseReserve(tables.reserve);
}

void Pool::close() {
  budget->strike(this);
  {
    Lock lock(mutex);
    closed = true;
  }
  trim();
  dropRef();
}

/// Looks for a cached block that fits well enough. Under the lock.
bool Pool::takeCached(int64_t rounded, Kind kind, Cached &found) {
  int bin = binOf(rounded);
  Vec<Cached> &blocks = bins[static_cast<size_t>(bin)];
  if (blocks.empty())
    return false;
  if (bin < smallBins) { // all of one size
    found = blocks.back();
    blocks.pop();
    return true;
  }
  // An arena serves any smaller call: variants that run in turn need one.
  auto fits = [&](const Cached &block) {
    return block.held >= rounded &&
           (block.held - rounded <= rounded / 8 ||
            (kind == Kind::Arena && block.kind == Kind::Arena));
  };
  size_t best = blocks.size();
  for (size_t i = 0; i < blocks.size(); ++i)
    if (fits(blocks[i]) &&
        (best == blocks.size() || blocks[i].held < blocks[best].held))
      best = i;
  if (best == blocks.size())
    return false;
  found = blocks[best];
  blocks.swapRemove(best);
  return true;
}

/// Puts a block in the cache; false if it cannot be kept. Under the lock.
bool Pool::keep(void *data, int64_t held, Kind kind) {
  return !closed &&
         bins[static_cast<size_t>(binOf(held))].push({data, held, kind});
}

/// Gives one cached block back to the source. Under the lock.
void Pool::giveBack(const Cached &cached) {
  MXRT_UNPOISON(cached.data, cached.held);
  releaseBytes(&source, cached.data, static_cast<size_t>(cached.held),
               MXRT_ALIGNMENT);
  figures.cached_bytes -= cached.held;
  figures.held_bytes -= cached.held;
  budget->drop(cached.held);
}

/// Frees kept arenas whose calls an arena of this size will serve from now on.
void Pool::dropSuperseded(int64_t rounded) {
  Lock lock(mutex);
  Vec<Cached> &large = bins[smallBins];
  for (size_t i = large.size(); i-- > 0;)
    if (large[i].kind == Kind::Arena && large[i].held < rounded) {
      giveBack(large[i]);
      large.swapRemove(i);
    }
}

Status Pool::refusal(mxrt_code code, int64_t bytes, const Purpose &purpose,
                     mxrt_place place) {
  char what[256];
  purpose.describe(what, sizeof(what));
  int64_t live;
  {
    Lock lock(mutex);
    live = figures.live_bytes;
  }
  if (code == MXRT_MEMORY_LIMIT)
    return error(&alloc, code, place,
                 "memory limit reached on %s: %s needs %s (%lld bytes); the "
                 "limit is %s (%lld bytes) and %s are live here",
                 name, what, formatBytes(bytes).text,
                 static_cast<long long>(bytes),
                 formatBytes(budget->limitBytes()).text,
                 static_cast<long long>(budget->limitBytes()),
                 formatBytes(live).text);
  return error(&alloc, code, place,
               "out of memory on %s: %s needs %s (%lld bytes); %s are live "
               "here",
               name, what, formatBytes(bytes).text,
               static_cast<long long>(bytes), formatBytes(live).text);
}

/// A new block from the source. If the limit or the system refuses, caches of
/// all pools are given back and it is tried once more.
Result<Pool::Cached> Pool::obtain(int64_t bytes, int64_t rounded,
                                  const Purpose &purpose, mxrt_place place) {
  for (bool again = true;; again = false) {
    bool allowed = budget->hold(rounded);
    void *data = nullptr;
    if (allowed) {
      data = allocateBytes(&source, static_cast<size_t>(rounded),
                           MXRT_ALIGNMENT);
      if (data)
        return Cached{data, rounded};
      budget->drop(rounded);
    }
    if (!again || budget->reclaim() == 0)
      return refusal(allowed ? MXRT_OUT_OF_MEMORY : MXRT_MEMORY_LIMIT, bytes,
                     purpose, place);
  }
}

Result<PoolBlock> Pool::allocate(int64_t bytes, Kind kind,
                                 const Purpose &purpose, mxrt_place place) {
  int64_t rounded;
  if (bytes < 0 || !roundSize(bytes, rounded))
    return refusal(MXRT_OUT_OF_MEMORY, bytes, purpose, place);
  Cached found{nullptr, 0};
  { // One lock where a block is there: calls of small graphs do little else.
    Lock lock(mutex);
    if (takeCached(rounded, kind, found)) {
      figures.cached_bytes -= found.held;
      figures.reused += 1;
      return counted(found, bytes, kind, place);
    }
  }
  if (kind == Kind::Arena)
    dropSuperseded(rounded);
  found = MXRT_TRY(obtain(bytes, rounded, purpose, place));
  Lock lock(mutex);
  figures.held_bytes += found.held;
  return counted(found, bytes, kind, place);
}

PoolBlock Pool::counted(const Cached &found, int64_t bytes, Kind kind, mxrt_place place) {
  MXRT_UNPOISON(found.data, found.held);
  PoolBlock block{found.data, bytes, found.held, sites.find(place)};
  sites.add(block.site, bytes);
  figures.live_bytes += bytes;
  figures.live_blocks += 1;
  figures.allocations += 1;
  if (kind == Kind::Arena)
    figures.leased_bytes += bytes;
  if (figures.live_bytes > figures.peak_bytes)
    figures.peak_bytes = figures.live_bytes;
  refs.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void Pool::release(const PoolBlock &block, Kind kind) {
  bool kept;
  {
    Lock lock(mutex);
    sites.remove(block.site, block.requested);
    figures.live_bytes -= block.requested;
    figures.live_blocks -= 1;
    if (kind == Kind::Arena)
      figures.leased_bytes -= block.requested;
    kept = keep(block.data, block.held, kind);
    if (kept) {
      figures.cached_bytes += block.held;
      MXRT_POISON(block.data, block.held);
    } else {
      figures.held_bytes -= block.held;
    }
  }
  if (!kept) {
    releaseBytes(&source, block.data, static_cast<size_t>(block.held),
                 MXRT_ALIGNMENT);
    budget->drop(block.held);
  }
  dropRef();
}

int64_t Pool::trim() {
  int64_t freed = 0;
  Lock lock(mutex);
  for (Vec<Cached> &bin : bins) {
    for (Cached &cached : bin) {
      giveBack(cached);
      freed += cached.held;
    }
    bin.clear();
  }
  return freed;
}

mxrt_memory_stats Pool::stats() {
  Lock lock(mutex);
  mxrt_memory_stats copy = figures;
  copy.limit_bytes = budget->limitBytes();
  return copy;
}

void Pool::resetPeak() {
  Lock lock(mutex);
  figures.peak_bytes = figures.live_bytes;
  sites.resetPeaks();
}

void Pool::visitSites(void (*visit)(void *, const mxrt_memory_site *),
                      void *user) {
  Lock lock(mutex);
  sites.visit(visit, user);
}

} // namespace mxrt
