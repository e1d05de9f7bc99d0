// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caching memory pool of one device: keeps released blocks in size bins for reuse, counts live,
// peak and cached bytes, in total and per source location, and obeys the runtime's memory limit.
//
// Size classes: multiples of 64 bytes up to 256, quarters of a power of two up to 1 MiB (at most
// a quarter is wasted), pages above. A large request reuses a cached block that is at most an
// eighth larger (best fit). An arena takes any cached arena that is large enough, and a new one
// replaces the cached ones that are smaller: successive calls of any sizes hold one arena of the
// largest, whatever their order; concurrent calls have one each.

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

/// What a request is for, for error messages. Formats lazily.
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

/// Thread-safe. Blocks may be released after the runtime has closed the pool: each keeps it
/// alive.
class Pool {
public:
  /// `name` ("cpu:0") is copied. `source` provides the memory and may differ from `alloc`, which
  /// holds the pool's own tables.
  static Result<Pool *> create(const mxrt_allocator *alloc, const mxrt_allocator *source,
                               MemoryBudget *budget, const char *name);
  /// The creator's last call: frees the cache, disables caching, and frees the pool once the last
  /// block is released.
  void close();

  enum class Kind { Tensor, Arena };
  /// At least `bytes` (>= 0), aligned. R0101 or R0102 name purpose and bytes.
  Result<PoolBlock> allocate(int64_t bytes, Kind kind, const Purpose &purpose, mxrt_location location);
  void release(const PoolBlock &block, Kind kind);

  /// Frees cached blocks; returns the number of bytes.
  int64_t trim();
  mxrt_memory_stats stats();
  void resetPeak();
  void visitSites(void (*visit)(void *, const mxrt_memory_site *), void *user);

  const mxrt_allocator *allocator() const { return &alloc; }

  Pool(const mxrt_allocator &alloc, const mxrt_allocator &source, MemoryBudget *budget,
       const char *name);

  /// The size that a request is rounded to; false on overflow. Also used by tests.
  static bool roundSize(int64_t bytes, int64_t &rounded);
  static constexpr int64_t largestSmall = 1 << 20;

private:
  ~Pool();
  template <typename T> friend void deleteObject(const mxrt_allocator *alloc, T *object);

  struct Cached {
    void *data;
    int64_t held;
    Kind kind = Kind::Tensor; // its last use
  };
  static constexpr int smallBins = 4 + 12 * 4;
  static int binOf(int64_t rounded);

  /// Small blocks are cached and counted separately for a few groups of threads, so that threads
  /// that call small graphs do not contend for one lock. A block belongs to the shelf it was taken
  /// from, whichever thread releases it. Larger blocks are on the first shelf: any thread may need
  /// them.
  struct alignas(64) Shelf {
    explicit Shelf(const mxrt_allocator *alloc) : sites(alloc), bins(alloc) {}
    Mutex mutex;
    // Guarded by mutex; no peak.
    mxrt_memory_stats figures{};
    SiteTable sites;
    Vec<Vec<Cached>> bins; // by size; the first shelf has one more, for large blocks
  };
  static constexpr uint32_t shelfCount = 8;
  static constexpr int64_t largestShelved = 16 << 10;
  static uint32_t shelfFor(int64_t rounded);

  static bool takeCached(Shelf &shelf, int64_t rounded, Kind kind, Cached &found);
  /// Accounts for a block that leaves the pool. Under the shelf's lock.
  PoolBlock counted(uint32_t shelf, const Cached &found, int64_t bytes, Kind kind,
                    mxrt_location location);
  bool keep(Shelf &shelf, void *data, int64_t held, Kind kind);
  void dropSuperseded(int64_t rounded);
  void giveBack(Shelf &shelf, const Cached &cached);
  Result<Cached> obtain(int64_t bytes, int64_t rounded, const Purpose &purpose, mxrt_location location);
  Status refusal(mxrt_code code, int64_t bytes, const Purpose &purpose, mxrt_location location);
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
