// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds, alignment, life, initialisation and races of single accesses.
#include "driver/Machine.h"
#include "exec/Warp.h"

#include <sys/mman.h>

namespace mxemu {

const Windows &windows() {
  static const Windows result = [] {
    void *memory = mmap(nullptr, 2 * Windows::bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      throw std::bad_alloc();
    uint64_t base = reinterpret_cast<uint64_t>(memory);
    return Windows{base, base + Windows::bytes};
  }();
  return result;
}

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
  return text;
}

void Warp::report(int code, const Inst &inst, int lane, const std::string &text) const {
  unsigned thread = index * 32 + unsigned(lane);
  const uint32_t *size = run->shape.block;
  auto triple = [](uint64_t x, uint64_t y, uint64_t z) {
    return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
  };
  throw Finding(
      code, text + "; kernel " + run->kernel->name + ", PTX line " + std::to_string(inst.line) +
                " (" + inst.name + "), block " + triple(block->id[0], block->id[1], block->id[2]) +
                ", thread " +
                triple(thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]));
}

static const char *verb(Mode mode) {
  return mode == Mode::Read ? "read" : mode == Mode::Write ? "write" : "atomic";
}

static std::string describe(const char *what, Mode mode, unsigned bytes, uint64_t address) {
  return std::string(what) + ": " + verb(mode) + " of " + std::to_string(bytes) + " bytes at " +
         hex(address);
}

static Access resolveGlobal(Warp &warp, const Inst &inst, int lane, uint64_t address,
                            unsigned bytes, Mode mode) {
  Allocation *allocation = warp.lastAllocation;
  DeviceMemory *memory = warp.lastMemory;
  if (!allocation || address - allocation->base >= allocation->size) {
    memory = machine().memoryOf(address);
    if (!memory) {
      if (machine().isPinned(address, bytes))
        return {reinterpret_cast<char *>(address), nullptr, nullptr, false};
      warp.report(CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
                  describe(machine().isMapped(address) ? "access to host memory that is not pinned"
                                                       : "access outside of all memory",
                           mode, bytes, address));
    }
    allocation = memory->find(address);
    if (!allocation) {
      std::string text = describe("access out of bounds", mode, bytes, address);
      if (auto *near = memory->nearest(address))
        text += ", " + std::to_string(address - near->base - near->size) +
                " bytes behind an allocation of " + std::to_string(near->size);
      warp.report(CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane, text);
    }
    if (allocation->state == Allocation::Freed)
      warp.report(CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
                  describe("use of freed memory", mode, bytes, address));
    if (allocation->state == Allocation::Ordered)
      warp.report(
          CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
          describe("use of memory before its allocation in stream order", mode, bytes, address));
    if (memory->device() != warp.run->device->index &&
        !machine().peerEnabled(warp.run->device->index, memory->device()))
      warp.report(
          CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
          describe("access to memory of another device without peer access", mode, bytes, address));
    warp.lastAllocation = allocation;
    warp.lastMemory = memory;
  }
  if (address - allocation->base + bytes > allocation->size)
    warp.report(CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
                describe("access out of bounds", mode, bytes, address) +
                    " reaches over the end of an allocation of " +
                    std::to_string(allocation->size));
  if (allocation->constant && mode != Mode::Read)
    warp.report(CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
                describe("write to constant memory", mode, bytes, address));
  return {memory->bytes(address), memory->states(address), &memory->cell(address), false};
}

Access resolve(Warp &warp, const Inst &inst, int lane, Space space, uint64_t address,
               unsigned bytes, Mode mode) {
  const Windows &window = windows();
  if (address & (bytes - 1))
    warp.report(CUDA_ERROR_MISALIGNED_ADDRESS, inst, lane,
                describe("misaligned address", mode, bytes, address));
  if (space == Space::Generic) {
    if (address - window.shared < Windows::bytes) {
      space = Space::Shared;
      address -= window.shared;
    } else if (address - window.local < Windows::bytes) {
      space = Space::Local;
      address -= window.local;
    } else {
      space = Space::Global;
    }
  }
  switch (space) {
  case Space::Shared: {
    Block &block = *warp.block;
    if (address >= block.shared.size() || address + bytes > block.shared.size())
      warp.report(CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
                  describe("shared memory out of bounds", mode, bytes, address) + " of " +
                      std::to_string(block.shared.size()));
    return {&block.shared[address], &block.sharedStates[address], &block.sharedCells[address / 4],
            true};
  }
  case Space::Local: {
    uint64_t size = warp.run->kernel->localBytes;
    if (address >= size || address + bytes > size)
      warp.report(CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
                  describe("local memory out of bounds", mode, bytes, address) + " of " +
                      std::to_string(size));
    size_t at = size_t(lane) * size + address;
    return {&warp.local[at], &warp.localStates[at], nullptr, false};
  }
  case Space::Param:
    if (mode != Mode::Read || address >= warp.run->kernel->paramBytes ||
        address + bytes > warp.run->kernel->paramBytes)
      warp.report(CUDA_ERROR_ILLEGAL_ADDRESS, inst, lane,
                  describe("parameter out of bounds", mode, bytes, address));
    return {const_cast<char *>(warp.run->params) + address, nullptr, nullptr, false};
  default:
    return resolveGlobal(warp, inst, lane, address, bytes, mode);
  }
}

void checkWritten(Warp &warp, const Inst &inst, int lane, const Access &access, uint64_t address,
                  unsigned bytes) {
  if (!access.states || !warp.run->checkInit)
    return;
  for (unsigned i = 0; i < bytes; ++i)
    if (access.states[i] == CopyPending)
      warp.report(
          CUDA_ERROR_LAUNCH_FAILED, inst, lane,
          describe("read of a cp.async target before its wait_group", Mode::Read, bytes, address));
  for (unsigned i = 0; i < bytes; ++i)
    if (access.states[i] == NeverWritten)
      warp.report(CUDA_ERROR_LAUNCH_FAILED, inst, lane,
                  describe(access.shared ? "read of shared memory that was never written"
                                         : "read of memory that was never written",
                           Mode::Read, bytes, address));
}

namespace {

struct Checker {
  Warp &warp;
  const Inst &inst;
  int lane;
  const Access &access;
  uint64_t address;
  Mode mode;
  bool strong;

  [[noreturn]] void race(const char *with, uint32_t block, int otherWarp, int otherLane) {
    std::string text = std::string("race: ") + verb(mode) + " of " +
                       (access.shared ? "shared" : "global") + " memory at " + hex(address) +
                       " is not ordered with a " + with;
    if (block == manyBlocks)
      text += " by other blocks";
    else if (block != warp.block->index)
      text += " by block " + std::to_string(block);
    else if (otherWarp >= 0)
      text += " by warp " + std::to_string(otherWarp) +
              (otherLane != manyLanes ? " lane " + std::to_string(otherLane) : "");
    warp.report(CUDA_ERROR_LAUNCH_FAILED, inst, lane, text);
  }
  /// Whether this warp is behind an access of warp `other` in the same block at `time`.
  bool seen(unsigned other, uint32_t time) const {
    return other == warp.index ? time < warp.lastSync : warp.known[other] >= time;
  }
  bool seenBlock(uint32_t block, uint32_t time) const {
    auto found = warp.block->knownBlocks.find(block);
    return found != warp.block->knownBlocks.end() && found->second >= time;
  }

  void againstWrite(const Cell &cell, uint8_t bytes, bool sameValue) {
    if (!cell.writeTime || !(cell.writeBytes & bytes) || (strong && cell.writeStrong))
      return;
    if (cell.writeBlock != warp.block->index) {
      if (!seenBlock(cell.writeBlock, cell.writeTime))
        race("write", cell.writeBlock, -1, 0);
      return;
    }
    if (cell.writeWarp == warp.index) {
      bool ordered =
          cell.writeLane == lane || cell.writeLane == manyLanes || cell.writeTime < warp.lastSync;
      if (!ordered && !(mode == Mode::Write && sameValue))
        race("write", cell.writeBlock, cell.writeWarp, cell.writeLane);
    } else if (!seen(cell.writeWarp, cell.writeTime)) {
      race("write", cell.writeBlock, cell.writeWarp, cell.writeLane);
    }
  }

  void againstReads(const Cell &cell, uint8_t bytes) {
    if (!cell.readWarps || !(cell.readBytes & bytes) || (strong && cell.readStrong))
      return;
    if (cell.readBlock == manyBlocks)
      race("read", manyBlocks, -1, 0);
    if (cell.readBlock != warp.block->index) {
      if (!seenBlock(cell.readBlock, cell.readTime))
        race("read", cell.readBlock, -1, 0);
      return;
    }
    for (uint32_t left = cell.readWarps; left; left &= left - 1) {
      unsigned other = unsigned(__builtin_ctz(left));
      if (other == warp.index) {
        bool ordered = cell.readLane == lane || cell.readTime < warp.lastSync;
        if (!ordered && cell.readWarps == 1u << other && cell.readLane != manyLanes)
          race("read", cell.readBlock, int(other), cell.readLane);
      } else if (!seen(other, cell.readTime)) {
        race("read", cell.readBlock, int(other), manyLanes);
      }
    }
  }

  void check(Cell &cell, uint8_t bytes, bool sameValue) {
    uint32_t run = access.shared ? warp.block->serial : warp.run->serial;
    uint32_t block = warp.block->index, time = warp.block->time;
    if (cell.run != run) {
      cell = Cell();
      cell.run = run;
    } else {
      againstWrite(cell, bytes, sameValue);
      if (mode != Mode::Read)
        againstReads(cell, bytes);
    }
    if (mode != Mode::Read) {
      bool merge = cell.writeTime == time && cell.writeWarp == warp.index &&
                   cell.writeBlock == block && cell.writeLane != lane && !(cell.writeBytes & bytes);
      cell.writeBytes = merge ? cell.writeBytes | bytes : bytes;
      cell.writeLane = merge ? manyLanes : uint8_t(lane);
      cell.writeBlock = block;
      cell.writeTime = time;
      cell.writeWarp = uint8_t(warp.index);
      cell.writeStrong = strong;
      if (mode == Mode::Write || !strong)
        return;
    }
    uint32_t self = 1u << warp.index;
    if (!cell.readWarps || (cell.readBlock == block && readsAreBehind(cell))) {
      cell.readBlock = block;
      cell.readWarps = self;
      cell.readLane = uint8_t(lane);
      cell.readBytes = bytes;
      cell.readStrong = strong;
    } else if (cell.readBlock != block) {
      cell.readBlock = manyBlocks;
      cell.readBytes |= bytes;
      cell.readStrong &= strong;
    } else {
      if (!(cell.readWarps == self && cell.readLane == lane))
        cell.readLane = manyLanes;
      cell.readWarps |= self;
      cell.readBytes |= bytes;
      cell.readStrong &= strong;
    }
    cell.readTime = time;
  }
  /// All earlier reads are ordered before this one, so it stands for them.
  bool readsAreBehind(const Cell &cell) const {
    if (cell.readWarps == 1u << warp.index)
      return cell.readTime < warp.lastSync;
    for (uint32_t left = cell.readWarps; left; left &= left - 1)
      if (!seen(unsigned(__builtin_ctz(left)), cell.readTime))
        return false;
    return true;
  }
};

} // namespace

void checkRace(Warp &warp, const Inst &inst, int lane, const Access &access, uint64_t address,
               unsigned bytes, Mode mode, bool sameValue) {
  if (!access.cells || !warp.run->checkRaces)
    return;
  bool strong = inst.strong || mode == Mode::Atomic;
  Checker checker{warp, inst, lane, access, address, mode, strong};
  if (bytes >= 4) {
    uint32_t run = access.shared ? warp.block->serial : warp.run->serial;
    for (unsigned word = 0; word < bytes / 4; ++word) {
      Cell &cell = access.cells[word];
      // Reads after reads, the common case: nothing to compare, little to note.
      if (mode == Mode::Read && cell.run == run && cell.readTime == warp.block->time && !strong &&
          cell.readBlock == warp.block->index && (cell.readWarps >> warp.index & 1) &&
          cell.readBytes == 15 && (cell.readLane == manyLanes || cell.readLane == lane) &&
          !cell.readStrong &&
          (!cell.writeTime ||
           (cell.writeBlock == warp.block->index &&
            (cell.writeWarp == warp.index ? cell.writeTime < warp.lastSync
                                          : warp.known[cell.writeWarp] >= cell.writeTime))))
        continue;
      checker.check(cell, 15, sameValue);
    }
    return;
  }
  checker.check(access.cells[0], uint8_t(((1u << bytes) - 1) << (address & 3)), sameValue);
}

void releaseAndAcquire(Warp &warp, uint64_t address, bool shared) {
  Block &block = *warp.block;
  uint64_t key = shared ? address ^ (uint64_t(block.index + 1) << 40) : address;
  auto &released = warp.run->released;
  auto found = released.find(key);
  if (found != released.end()) {
    for (auto &[other, time] : found->second.blocks)
      if (other != block.index)
        block.knownBlocks[other] = std::max(block.knownBlocks[other], time);
    for (auto &[who, time] : found->second.warps)
      if (who.first == block.index && who.second != warp.index)
        warp.known[who.second] = std::max(warp.known[who.second], time);
  }
  if (!warp.lastFence)
    return;
  Released &mine = released[key];
  mine.blocks[block.index] = std::max(mine.blocks[block.index], warp.lastFence);
  for (auto &[other, time] : block.knownBlocks)
    mine.blocks[other] = std::max(mine.blocks[other], time);
  auto &own = mine.warps[{block.index, warp.index}];
  own = std::max(own, warp.lastFence);
}

} // namespace mxemu
