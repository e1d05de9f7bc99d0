// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of an emulated GPU. An address that programs see lies in a window without access rights,
// so that a host that dereferences it faults; the bytes are elsewhere, at the same offset. Beside
// the bytes are two shadows: one byte a byte (written or not), and one Cell a word (who accessed
// it).
//
// Freed addresses are handed out again only when the window is full, so that late uses are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mxemu {

/// Last accesses of a 4-byte word in the run (of a kernel, or of a block for shared memory) `run`.
struct Cell {
  uint32_t run;
  uint32_t writeBlock, writeTime; // time 0: none
  uint8_t writeWarp, writeLane, writeBytes, writeStrong;
  uint32_t readBlock, readTime;
  uint32_t readWarps; // a bit a warp; 0: none
  uint8_t readLane, readBytes, readStrong, unused;
};
static_assert(sizeof(Cell) == 32);

inline constexpr uint8_t manyLanes = 0xff;
inline constexpr uint32_t manyBlocks = 0xffffffff;

enum ByteState : uint8_t { NeverWritten = 0, Written = 1, CopyPending = 2 };

struct Allocation {
  enum State : uint8_t {
    Ordered,
    Live,
    Freed
  }; // Ordered: by cuMemAllocAsync, which has not run yet
  uint64_t base = 0, size = 0;
  State state = Live;
  bool constant = false;
  bool async = false;
  bool freeOrdered = false;
  uint64_t freedBy = 0;
};

class DeviceMemory {
public:
  DeviceMemory(int device, uint64_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;

  /// Null when the memory does not suffice.
  Allocation *allocate(uint64_t size, Allocation::State state);
  void release(Allocation &allocation);
  bool contains(uint64_t address) const { return address - window < windowBytes; }
  /// The allocation, live or not, in whose bytes the address lies.
  Allocation *find(uint64_t address);
  /// The closest one below, for messages.
  const Allocation *nearest(uint64_t address) const;

  char *bytes(uint64_t address) const { return data + (address - window); }
  uint8_t *states(uint64_t address) const { return written + (address - window); }
  Cell &cell(uint64_t address) const { return cells[(address - window) / 4]; }

  template <class F> void forEachLive(F visit) const {
    for (auto &[base, allocation] : allocations)
      if (allocation.state != Allocation::Freed)
        visit(allocation);
  }

  int device() const { return index; }
  uint64_t capacity() const { return capacityBytes; }
  uint64_t used() const { return usedBytes; }

private:
  int index;
  uint64_t capacityBytes, windowBytes, usedBytes = 0;
  uint64_t window = 0;
  char *data = nullptr;
  uint8_t *written = nullptr;
  Cell *cells = nullptr;
  uint64_t next = 4096; // offset of memory that was never handed out; the first page is a gap
  std::map<uint64_t, Allocation>
      allocations; // by base; freed ones too, until their bytes are reused

  uint64_t findFree(uint64_t size);
};

} // namespace mxemu
