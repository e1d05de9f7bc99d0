// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "exec/Memory.h"

#include <cstring>
#include <new>
#include <sys/mman.h>

namespace mxemu {

static constexpr uint64_t granule = 256; // allocations start at multiples, with one between them

static char *reserve(uint64_t bytes, int protection) {
  void *memory =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  return static_cast<char *>(memory);
}

DeviceMemory::DeviceMemory(int device, uint64_t capacity)
    : index(device), capacityBytes(capacity), windowBytes(2 * capacity) {
  window = reinterpret_cast<uint64_t>(reserve(windowBytes, PROT_NONE));
  data = reserve(windowBytes, PROT_READ | PROT_WRITE);
  written = reinterpret_cast<uint8_t *>(reserve(windowBytes, PROT_READ | PROT_WRITE));
  cells = reinterpret_cast<Cell *>(reserve(windowBytes / 4 * sizeof(Cell), PROT_READ | PROT_WRITE));
}

DeviceMemory::~DeviceMemory() {
  munmap(reinterpret_cast<void *>(window), windowBytes);
  munmap(data, windowBytes);
  munmap(written, windowBytes);
  munmap(cells, windowBytes / 4 * sizeof(Cell));
}

/// An offset with room for `size` bytes and a gap behind, or windowBytes.
uint64_t DeviceMemory::findFree(uint64_t size) {
  uint64_t room = (size + 2 * granule - 1) / granule * granule;
  if (next + room <= windowBytes) {
    next += room;
    return next - room;
  }
  // The window is full: forget freed allocations, the lowest first, until there is room.
  uint64_t gap = 4096;
  auto first = allocations.begin();
  for (auto it = allocations.begin(); it != allocations.end();) {
    if (it->second.state != Allocation::Freed) {
      gap = it->first + (it->second.size + 2 * granule - 1) / granule * granule - window;
      first = ++it;
      continue;
    }
    ++it;
    uint64_t end = it == allocations.end() ? windowBytes : it->first - window;
    if (end - gap >= room) {
      allocations.erase(first, it);
      return gap;
    }
  }
  return windowBytes;
}

Allocation *DeviceMemory::allocate(uint64_t size, Allocation::State state) {
  if (size == 0 || size > capacityBytes - usedBytes)
    return nullptr;
  uint64_t offset = findFree(size);
  if (offset == windowBytes)
    return nullptr;
  uint64_t base = window + offset;
  std::memset(data + offset, 0xff, size);
  std::memset(written + offset, NeverWritten, size);
  usedBytes += size;
  Allocation &allocation = allocations[base];
  allocation = Allocation();
  allocation.base = base;
  allocation.size = size;
  allocation.state = state;
  return &allocation;
}

void DeviceMemory::release(Allocation &allocation) {
  allocation.state = Allocation::Freed;
  usedBytes -= allocation.size;
  // Whole pages go back to the system; nothing reads them before the next allocation.
  uint64_t begin = (allocation.base - window + 4095) / 4096 * 4096;
  uint64_t end = (allocation.base - window + allocation.size) / 4096 * 4096;
  if (begin < end) {
    madvise(data + begin, end - begin, MADV_DONTNEED);
    madvise(written + begin, end - begin, MADV_DONTNEED);
    madvise(reinterpret_cast<char *>(cells) + begin * 8, (end - begin) * 8, MADV_DONTNEED);
  }
}

const Allocation *DeviceMemory::nearest(uint64_t address) const {
  auto above = allocations.upper_bound(address);
  return above == allocations.begin() ? nullptr : &std::prev(above)->second;
}

Allocation *DeviceMemory::find(uint64_t address) {
  auto *below = const_cast<Allocation *>(nearest(address));
  return below && address - below->base < below->size ? below : nullptr;
}

} // namespace mxemu
