// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The allocator of one device: keeps released blocks by size for reuse, counts
// what is live, peak and cached, in all and per source place, and obeys the
// runtime's memory limit.
//
// Sizes are rounded: to 64 bytes up to 256, to a quarter of a power of two up
// to 1 MiB (at most a quarter is wasted), to pages above. A large request
// reuses a cached block at most an eighth larger. An arena takes any kept arena
// that is large enough, and a new one replaces the kept ones that are smaller:
// calls of any sizes in turn hold one arena of the largest, whatever their
// order; calls at the same time have one each.

#ifndef MXRT_MEMORY_POOL_H
#define MXRT_MEMORY_POOL_H

#include "memory/MemoryBudget.h"
#include "memory/SiteTable.h"
#include "mxrt/memory.h"

namespace mxrt {

struct PoolBlock {
  void *data = nullptr;
  int64_t requested = 0;
  int64_t held = 0; // the rounded size
  uint32_t site = 0;
};

/// What a request is for; errors say it. Formats only when asked.
class Purpose {
public:
  virtual void describe(char *buffer, size_t capacity) const = 0;

protected:
  ~Purpose() = default;
};

class NamedPurpose final : public Purpose {
public:
  explicit NamedPurpose(const char *name) : name(name) {}
  void describe(char *buffer, size_t capacity) const override;

private:
  const char *name;
};

/// Any thread may call anything. Blocks may be released after the runtime has
/// closed the pool: each keeps it alive.
class Pool {
public:
  /// `name` ("cpu:0") is copied. `source` gives the memory and may differ from
  /// `alloc`, which holds the pool's own tables.
  static Result<Pool *> create(const mxrt_allocator *alloc, const mxrt_allocator *source,
                               MemoryBudget *budget, const char *name);
  /// The creator's last call: frees the cache, keeps no more of it, and frees
  /// the pool once the last block is back.
  void close();

  enum class Kind { Tensor, Arena };
  /// At least `bytes` (>= 0), aligned. R0101 or R0102 name purpose and bytes.
  Result<PoolBlock> allocate(int64_t bytes, Kind kind, const Purpose &purpose, mxrt_place place);
  void release(const PoolBlock &block, Kind kind);

  /// Gives cached blocks back; returns how many bytes.
  int64_t trim();
  mxrt_memory_stats stats();
  void resetPeak();
  void visitSites(void (*visit)(void *, const mxrt_memory_site *), void *user);

  const mxrt_allocator *allocator() const { return &alloc; }

  Pool(const mxrt_allocator &alloc, const mxrt_allocator &source, MemoryBudget *budget,
       const char *name);

  /// The size a request is rounded to; false on overflow. For tests too.
  static bool roundSize(int64_t bytes, int64_t &rounded);
  static constexpr int64_t largestSmall = 1 << 20;

private:
  ~Pool();
  template <typename T> friend void deleteObject(const mxrt_allocator *alloc, T *object);

  struct Cached {
    void *data;
    int64_t held;
    Kind kind = Kind::Tensor; // what it served for last
  };
  static constexpr int smallBins = 4 + 12 * 4;
  static int binOf(int64_t rounded);

  /// Small blocks are kept and counted apart for a few sets of threads, so that many threads that
  /// call small graphs do not wait for one another. A block belongs to the shelf it was taken from,
  /// whoever releases it. Larger ones are on the first shelf: any thread may need them.
  struct alignas(64) Shelf {
    explicit Shelf(const mxrt_allocator *alloc) : sites(alloc), bins(alloc) {}
    Mutex mutex;
    // Guarded by mutex; no peak.
    mxrt_memory_stats figures{};
    SiteTable sites;
    Vec<Vec<Cached>> bins; // by size, on the first shelf at last one for large blocks
  };
  static constexpr uint32_t shelfCount = 8;
  static constexpr int64_t largestShelved = 16 << 10;
  static uint32_t shelfFor(int64_t rounded);

  static bool takeCached(Shelf &shelf, int64_t rounded, Kind kind, Cached &found);
  /// A block that leaves the pool. Under the shelf's lock.
  PoolBlock counted(uint32_t shelf, const Cached &found, int64_t bytes, Kind kind,
                    mxrt_place place);
  bool keep(Shelf &shelf, void *data, int64_t held, Kind kind);
  void dropSuperseded(int64_t rounded);
  void giveBack(Shelf &shelf, const Cached &cached);
  Result<Cached> obtain(int64_t bytes, int64_t rounded, const Purpose &purpose, mxrt_place place);
  Status refusal(mxrt_code code, int64_t bytes, const Purpose &purpose, mxrt_place place);
  void dropRef();

  mxrt_allocator alloc;
  mxrt_allocator source;
  MemoryBudget *budget;
  char name[24];
  std::atomic<bool> closed{false}; // then all shelves are emptied
  struct alignas(64) {
    std::atomic<int64_t> refs{1}; // the creator and every live block
    std::atomic<int64_t> live{0}, peak{0};
  } counts;
  Box<Shelf> shelves[shelfCount];
};

} // namespace mxrt

#endif // MXRT_MEMORY_POOL_H
