// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory statistics per source location: a hash table that only grows, up to a bound. When it
// cannot grow, allocations count for the unknown location (site 0): statistics never make an
// allocation fail.

#ifndef MXRT_MEMORY_SITETABLE_H
#define MXRT_MEMORY_SITETABLE_H

#include "base/Allocator.h"
#include "mxrt/memory.h"

namespace mxrt {

/// Not thread-safe: the owner locks.
class SiteTable {
public:
  explicit SiteTable(const mxrt_allocator *alloc) : alloc(alloc), sites(alloc), slots(alloc) {}
  ~SiteTable();
  SiteTable(const SiteTable &) = delete;
  SiteTable &operator=(const SiteTable &) = delete;

  /// The number of a source location; 0 for an unknown one or when memory is short.
  uint32_t find(const mxrt_location &location);
  void add(uint32_t site, int64_t bytes);
  void remove(uint32_t site, int64_t bytes);
  void resetPeaks();
  /// Visits locations that have allocated, the unknown one first.
  template <typename Visitor> void visit(const Visitor &visitor) const {
    if (unknown.allocations > 0)
      visitor(unknown);
    for (const Entry &entry : sites)
      visitor(entry.figures);
  }
  /// The statistics of a location that has allocated, or null.
  const mxrt_memory_site *lookUp(const mxrt_location &location) const;

  static constexpr size_t maxSites = 1 << 14;

private:
  uint32_t numberOf(const mxrt_location &location, uint64_t hash) const;
  uint32_t insert(const mxrt_location &location, uint64_t hash);
  bool grow();

  struct Entry {
    mxrt_memory_site figures{};
    uint64_t hash = 0;
  };
  const mxrt_allocator *alloc;
  mxrt_memory_site unknown{};
  Vec<Entry> sites;    // site i + 1 is sites[i]; owns its file name
  Vec<uint32_t> slots; // open addressing; 0 is empty; size a power of two
};

} // namespace mxrt

#endif // MXRT_MEMORY_SITETABLE_H
