// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Open-addressing hash table of memory statistics by source location.

#include "memory/SiteTable.h"

#include <cstring>

namespace mxrt {

/// Does not hash the file name: it would be read for each allocation, and few locations of two
/// files share line and column.
static uint64_t hashLocation(const mxrt_location &location) {
  uint64_t hash = static_cast<uint64_t>(static_cast<uint32_t>(location.line)) << 32 |
                  static_cast<uint32_t>(location.column);
  hash *= 0x9E3779B97F4A7C15ull;
  return (hash ^ hash >> 29) * 0x9E3779B97F4A7C15ull;
}

static bool sameLocation(const mxrt_location &a, const mxrt_location &b) {
  if (a.line != b.line || a.column != b.column || !a.file != !b.file)
    return false;
  return a.file == b.file || strcmp(a.file, b.file) == 0;
}

SiteTable::~SiteTable() {
  for (Entry &entry : sites)
    if (const char *file = entry.figures.location.file)
      releaseBytes(alloc, const_cast<char *>(file), strlen(file) + 1, 1);
}

static bool isUnknown(const mxrt_location &location) { return !location.file && location.line <= 0; }

/// 0 if it is not in the table.
uint32_t SiteTable::numberOf(const mxrt_location &location, uint64_t hash) const {
  if (slots.empty())
    return 0;
  size_t mask = slots.size() - 1;
  for (size_t i = hash & mask; slots[i] != 0; i = (i + 1) & mask) {
    const Entry &entry = sites[slots[i] - 1];
    if (entry.hash == hash && sameLocation(entry.figures.location, location))
      return slots[i];
  }
  return 0;
}

uint32_t SiteTable::find(const mxrt_location &location) {
  if (isUnknown(location))
    return 0;
  uint64_t hash = hashLocation(location);
  uint32_t known = numberOf(location, hash);
  return known ? known : insert(location, hash);
}

const mxrt_memory_site *SiteTable::lookUp(const mxrt_location &location) const {
  if (isUnknown(location))
    return unknown.allocations > 0 ? &unknown : nullptr;
  uint32_t known = numberOf(location, hashLocation(location));
  return known ? &sites[known - 1].figures : nullptr;
}

/// Doubles the slots; false if out of memory.
bool SiteTable::grow() {
  Vec<uint32_t> larger(alloc);
  if (!larger.resize(slots.empty() ? 64 : slots.size() * 2))
    return false;
  size_t mask = larger.size() - 1;
  for (size_t site = 0; site < sites.size(); ++site) {
    size_t i = sites[site].hash & mask;
    while (larger[i] != 0)
      i = (i + 1) & mask;
    larger[i] = static_cast<uint32_t>(site) + 1;
  }
  slots = std::move(larger);
  return true;
}

uint32_t SiteTable::insert(const mxrt_location &location, uint64_t hash) {
  if (sites.size() >= maxSites)
    return 0;
  if ((sites.size() + 1) * 2 > slots.size() && !grow())
    return 0;
  Entry entry;
  entry.hash = hash;
  entry.figures.location = location;
  size_t length = 0;
  char *file = nullptr;
  if (location.file) {
    length = strlen(location.file) + 1;
    file = static_cast<char *>(allocateBytes(alloc, length, 1));
    if (!file)
      return 0;
    memcpy(file, location.file, length);
    entry.figures.location.file = file;
  }
  if (!sites.push(entry)) {
    releaseBytes(alloc, file, length, 1);
    return 0;
  }
  size_t mask = slots.size() - 1;
  size_t i = hash & mask;
  while (slots[i] != 0)
    i = (i + 1) & mask;
  slots[i] = static_cast<uint32_t>(sites.size());
  return slots[i];
}

void SiteTable::add(uint32_t site, int64_t bytes) {
  mxrt_memory_site &figures = site ? sites[site - 1].figures : unknown;
  figures.live_bytes += bytes;
  figures.live_blocks += 1;
  figures.allocations += 1;
  if (figures.live_bytes > figures.peak_bytes)
    figures.peak_bytes = figures.live_bytes;
}

void SiteTable::remove(uint32_t site, int64_t bytes) {
  mxrt_memory_site &figures = site ? sites[site - 1].figures : unknown;
  figures.live_bytes -= bytes;
  figures.live_blocks -= 1;
}

void SiteTable::resetPeaks() {
  unknown.peak_bytes = unknown.live_bytes;
  for (Entry &entry : sites)
    entry.figures.peak_bytes = entry.figures.live_bytes;
}

} // namespace mxrt
