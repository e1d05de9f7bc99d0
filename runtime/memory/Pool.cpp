// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caching memory pool: size classes, best-fit reuse of large blocks, statistics.

#include "memory/Pool.h"
#include "base/CheckedMath.h"
#include "base/StatusReserve.h"
#include "base/Units.h"

#include <cstdio>

// Reuse hides errors from the address sanitizer; poisoning cached blocks exposes them again.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define MXRT_POISON(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, static_cast<size_t>(bytes))
#define MXRT_UNPOISON(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, static_cast<size_t>(bytes))
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
    return checkedAlign(bytes, int64_t(1) << (floorLog2(bytes - 1) - 2), rounded);
  return checkedAlign(bytes, 4096, rounded);
}

int Pool::binOf(int64_t rounded) {
  if (rounded <= 256)
    return static_cast<int>(rounded / 64) - 1;
  if (rounded > largestSmall)
    return smallBins;
  int power = floorLog2(rounded - 1);
  int64_t quarter = int64_t(1) << (power - 2);
  return 4 + (power - 8) * 4 + static_cast<int>((rounded - (int64_t(1) << power)) / quarter) - 1;
}

Pool::Pool(const mxrt_allocator &tables, const mxrt_allocator &source, MemoryBudget *budget,
           const char *name)
    : alloc(tables), source(source), budget(budget) {
  retainReserve(alloc.reserve); // errors may occur after the runtime is destroyed
  snprintf(this->name, sizeof(this->name), "%s", name);
  budget->retain();
}

Pool::~Pool() { budget->release(); }

Result<Pool *> Pool::create(const mxrt_allocator *alloc, const mxrt_allocator *source,
                            MemoryBudget *budget, const char *name) {
  Pool *pool = newObject<Pool>(alloc, *alloc, *source, budget, name);
  if (!pool)
    return outOfMemory(alloc);
  bool ready = true;
  for (uint32_t shelf = 0; ready && shelf < shelfCount; ++shelf) {
    pool->shelves[shelf] = Box<Shelf>(&pool->alloc, newObject<Shelf>(&pool->alloc, &pool->alloc));
    int bins = (shelf == 0 ? smallBins : binOf(largestShelved)) + 1;
    ready = pool->shelves[shelf] && pool->shelves[shelf]->bins.reserve(static_cast<size_t>(bins));
    for (int i = 0; ready && i < bins; ++i)
      ready = pool->shelves[shelf]->bins.push(Vec<Cached>(&pool->alloc));
  }
  if (!ready || !budget->enlist(pool)) {
    pool->dropRef();
    return outOfMemory(alloc);
  }
  return pool;
}

void Pool::dropRef() {
  if (counts.refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  mxrt_allocator tables = alloc;
  deleteObject(&tables, this);
  releaseReserve(tables.reserve);
}

void Pool::close() {
  budget->strike(this);
  // A thread that locks a shelf before trim() does has its blocks freed by it; a thread that
  // locks it later sees this.
  closed.store(true, std::memory_order_relaxed);
  trim();
  dropRef();
}

/// Threads are assigned to shelves round robin.
uint32_t Pool::shelfFor(int64_t rounded) {
  static std::atomic<uint32_t> threads{0};
  static thread_local uint32_t own = threads.fetch_add(1, std::memory_order_relaxed) % shelfCount;
  return rounded <= largestShelved ? own : 0;
}

/// Best fit among the cached blocks that fit well enough. Under the lock.
bool Pool::takeCached(Shelf &shelf, int64_t rounded, Kind kind, Cached &found) {
  int bin = binOf(rounded);
  Vec<Cached> &blocks = shelf.bins[static_cast<size_t>(bin)];
  if (blocks.empty())
    return false;
  if (bin < smallBins) { // all of one size
    found = blocks.back();
    blocks.pop();
    return true;
  }
  // An arena serves any smaller call: variants that run alternately need one.
  auto fits = [&](const Cached &block) {
    return block.held >= rounded && (block.held - rounded <= rounded / 8 ||
                                     (kind == Kind::Arena && block.kind == Kind::Arena));
  };
  size_t best = blocks.size();
  for (size_t i = 0; i < blocks.size(); ++i)
    if (fits(blocks[i]) && (best == blocks.size() || blocks[i].held < blocks[best].held))
      best = i;
  if (best == blocks.size())
    return false;
  found = blocks[best];
  blocks.swapRemove(best);
  return true;
}

/// Puts a block in the cache; false if it cannot be kept. Under the lock.
bool Pool::keep(Shelf &shelf, void *data, int64_t held, Kind kind) {
  return !closed.load(std::memory_order_relaxed) &&
         shelf.bins[static_cast<size_t>(binOf(held))].push({data, held, kind});
}

/// Returns one cached block to the source. Under the lock.
void Pool::giveBack(Shelf &shelf, const Cached &cached) {
  MXRT_UNPOISON(cached.data, cached.held);
  releaseBytes(&source, cached.data, static_cast<size_t>(cached.held), MXRT_ALIGNMENT);
  shelf.figures.cached_bytes -= cached.held;
  shelf.figures.held_bytes -= cached.held;
  budget->drop(cached.held);
}

/// Frees cached arenas that are superseded by an arena of this size.
void Pool::dropSuperseded(int64_t rounded) {
  Shelf &shelf = *shelves[0];
  Lock lock(shelf.mutex);
  Vec<Cached> &large = shelf.bins[smallBins];
  for (size_t i = large.size(); i-- > 0;)
    if (large[i].kind == Kind::Arena && large[i].held < rounded) {
      giveBack(shelf, large[i]);
      large.swapRemove(i);
    }
}

Status Pool::refusal(mxrt_code code, int64_t bytes, const Purpose &purpose, mxrt_location location) {
  char what[256];
  purpose.describe(what, sizeof(what));
  int64_t live = counts.live.load(std::memory_order_relaxed);
  if (code == MXRT_MEMORY_LIMIT)
    return error(&alloc, code, location,
                 "memory limit reached on %s: %s needs %s (%lld bytes); the "
                 "limit is %s (%lld bytes) and %s are live here",
                 name, what, formatBytes(bytes).text, static_cast<long long>(bytes),
                 formatBytes(budget->limitBytes()).text,
                 static_cast<long long>(budget->limitBytes()), formatBytes(live).text);
  int64_t machine = budget->machineBytes();
  if (machine > 0 && bytes > machine - live)
    return error(&alloc, code, location,
                 "out of memory on %s: %s needs %s (%lld bytes); %s %s %s, and %s are live here",
                 name, what, formatBytes(bytes).text, static_cast<long long>(bytes),
                 budget->before(), formatBytes(machine).text, budget->after(),
                 formatBytes(live).text);
  return error(&alloc, code, location,
               "out of memory on %s: %s needs %s (%lld bytes); %s are live "
               "here",
               name, what, formatBytes(bytes).text, static_cast<long long>(bytes),
               formatBytes(live).text);
}

/// A new block from the source. If the limit or the system refuses, frees the caches of all
/// pools, then waits for issued work, which may hold memory that it will free. Retries as long
/// as that changes something.
Result<Pool::Cached> Pool::obtain(int64_t bytes, int64_t rounded, const Purpose &purpose,
                                  mxrt_location location) {
  for (;;) {
    bool allowed = budget->hold(rounded);
    if (allowed) {
      if (void *data = allocateBytes(&source, static_cast<size_t>(rounded), MXRT_ALIGNMENT))
        return Cached{data, rounded};
      budget->drop(rounded);
    }
    if (budget->hasRoom(rounded, /*ever=*/true)) {
      if (budget->reclaim() > 0 || budget->relieve())
        continue;
      // Work may have ended between the two checks.
      if (budget->reclaim() > 0 || (!allowed && budget->hasRoom(rounded)))
        continue;
    }
    bool byUser = !allowed && budget->limitBytes() > 0;
    return refusal(byUser ? MXRT_MEMORY_LIMIT : MXRT_OUT_OF_MEMORY, bytes, purpose, location);
  }
}

Result<PoolBlock> Pool::allocate(int64_t bytes, Kind kind, const Purpose &purpose,
                                 mxrt_location location) {
  int64_t rounded;
  if (bytes < 0 || !roundSize(bytes, rounded))
    return refusal(MXRT_OUT_OF_MEMORY, bytes, purpose, location);
  Cached found{nullptr, 0};
  uint32_t number = shelfFor(rounded);
  Shelf &shelf = *shelves[number];
  { // Fast path with one lock: calls of small graphs do little else.
    Lock lock(shelf.mutex);
    if (takeCached(shelf, rounded, kind, found)) {
      shelf.figures.cached_bytes -= found.held;
      shelf.figures.reused += 1;
      return counted(number, found, bytes, kind, location);
    }
  }
  if (kind == Kind::Arena)
    dropSuperseded(rounded);
  found = MXRT_TRY(obtain(bytes, rounded, purpose, location));
  Lock lock(shelf.mutex);
  shelf.figures.held_bytes += found.held;
  return counted(number, found, bytes, kind, location);
}

/// A site number has its shelf's number in the upper bits.
static constexpr uint32_t siteBits = 28;
static_assert(SiteTable::maxSites < (1u << siteBits));

PoolBlock Pool::counted(uint32_t number, const Cached &found, int64_t bytes, Kind kind,
                        mxrt_location location) {
  MXRT_UNPOISON(found.data, found.held);
  Shelf &shelf = *shelves[number];
  uint32_t site = shelf.sites.find(location);
  shelf.sites.add(site, bytes);
  shelf.figures.live_bytes += bytes;
  shelf.figures.live_blocks += 1;
  shelf.figures.allocations += 1;
  if (kind == Kind::Arena)
    shelf.figures.leased_bytes += bytes;
  counts.refs.fetch_add(1, std::memory_order_relaxed);
  int64_t live = counts.live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = counts.peak.load(std::memory_order_relaxed);
  while (live > peak && !counts.peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  return PoolBlock{found.data, bytes, found.held, number << siteBits | site};
}

void Pool::release(const PoolBlock &block, Kind kind) {
  bool kept;
  {
    Shelf &shelf = *shelves[block.site >> siteBits];
    Lock lock(shelf.mutex);
    shelf.sites.remove(block.site & ((1u << siteBits) - 1), block.requested);
    shelf.figures.live_bytes -= block.requested;
    shelf.figures.live_blocks -= 1;
    if (kind == Kind::Arena)
      shelf.figures.leased_bytes -= block.requested;
    counts.live.fetch_sub(block.requested, std::memory_order_relaxed);
    kept = keep(shelf, block.data, block.held, kind);
    if (kept) {
      shelf.figures.cached_bytes += block.held;
      MXRT_POISON(block.data, block.held);
    } else {
      shelf.figures.held_bytes -= block.held;
    }
  }
  if (!kept) {
    releaseBytes(&source, block.data, static_cast<size_t>(block.held), MXRT_ALIGNMENT);
    budget->drop(block.held);
  }
  dropRef();
}

int64_t Pool::trim() {
  int64_t freed = 0;
  for (Box<Shelf> &shelf : shelves) {
    Lock lock(shelf->mutex);
    for (Vec<Cached> &bin : shelf->bins) {
      for (Cached &cached : bin) {
        giveBack(*shelf, cached);
        freed += cached.held;
      }
      bin.clear();
    }
  }
  return freed;
}

mxrt_memory_stats Pool::stats() {
  mxrt_memory_stats sum{};
  for (Box<Shelf> &shelf : shelves) {
    Lock lock(shelf->mutex);
    const mxrt_memory_stats &own = shelf->figures;
    sum.live_bytes += own.live_bytes;
    sum.cached_bytes += own.cached_bytes;
    sum.held_bytes += own.held_bytes;
    sum.live_blocks += own.live_blocks;
    sum.allocations += own.allocations;
    sum.reused += own.reused;
    sum.leased_bytes += own.leased_bytes;
  }
  sum.peak_bytes = counts.peak.load(std::memory_order_relaxed);
  sum.limit_bytes = budget->limitBytes();
  return sum;
}

void Pool::resetPeak() {
  counts.peak.store(counts.live.load(std::memory_order_relaxed), std::memory_order_relaxed);
  for (Box<Shelf> &shelf : shelves) {
    Lock lock(shelf->mutex);
    shelf->sites.resetPeaks();
  }
}

/// Source locations that occur on several shelves are visited once, with the sums of their
/// statistics: the actual peak is at most the reported one.
void Pool::visitSites(void (*visit)(void *, const mxrt_memory_site *), void *user) {
  for (Box<Shelf> &shelf : shelves)
    shelf->mutex.lock();
  auto others = [&](size_t first, size_t last, const mxrt_location &location, auto &&use) {
    for (size_t i = first; i < last; ++i)
      if (const mxrt_memory_site *site = shelves[i]->sites.lookUp(location))
        use(*site);
  };
  for (size_t i = 0; i < shelfCount; ++i)
    shelves[i]->sites.visit([&](const mxrt_memory_site &site) {
      bool isKnown = false;
      others(0, i, site.location, [&](const mxrt_memory_site &) { isKnown = true; });
      if (isKnown)
        return;
      mxrt_memory_site sum = site;
      others(i + 1, shelfCount, site.location, [&](const mxrt_memory_site &more) {
        sum.live_bytes += more.live_bytes;
        sum.peak_bytes += more.peak_bytes;
        sum.live_blocks += more.live_blocks;
        sum.allocations += more.allocations;
      });
      visit(user, &sum);
    });
  for (Box<Shelf> &shelf : shelves)
    shelf->mutex.unlock();
}

} // namespace mxrt
