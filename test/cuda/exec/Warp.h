// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State of running warps and blocks. One host thread runs one kernel at a time. Races are found by
// the happens-before relation: clocks of warps and blocks, joined by barriers and by fences with
// atomics.
#pragma once

#include "exec/Memory.h"
#include "ptx/Program.h"

#include <random>
#include <set>
#include <stdexcept>

namespace mxemu {

struct Block;
struct Run;

/// Mistakes that a program made. They become the error of the device.
struct Finding : std::runtime_error {
  int code; // CUresult
  Finding(int code, const std::string &text) : std::runtime_error(text), code(code) {}
};

/// Windows of generic addresses that stand for shared and local memory.
struct Windows {
  static constexpr uint64_t bytes = 1 << 24;
  uint64_t shared, local;
};
const Windows &windows();

/// A cp.async that nobody waited for yet.
struct PendingCopy {
  uint64_t source;
  uint32_t target, bytes, sourceBytes, group, line;
};

struct Warp {
  Block *block = nullptr;
  Run *run = nullptr;
  unsigned index = 0;
  uint32_t alive = 0;   // lanes that have not exited
  uint32_t blocked = 0; // lanes that wait at a barrier
  uint32_t held = 0;    // lanes that wait for others of their warp at `pcs`
  uint32_t pcs[32] = {};
  uint32_t pc = 0;                 // of the instruction that is executing
  uint32_t active = 0;             // lanes at pc, guarded off or not
  const Inst *waitingAt = nullptr; // the barrier of the blocked lanes
  int waitingBarrier = -1;
  std::vector<char> storage;
  char *rows[2] = {};      // of the warp, of the kernel
  std::vector<char> local; // lane after lane
  std::vector<uint8_t> localStates;
  // Race detection: when the warp last saw the others, in the block's time.
  uint32_t known[32] = {};
  uint32_t lastSync = 0, lastFence = 0;
  std::vector<PendingCopy> copies[32];
  uint32_t copyGroup[32] = {};
  Allocation *lastAllocation = nullptr;
  DeviceMemory *lastMemory = nullptr;

  char *row(const Operand &operand) const { return rows[operand.constant] + operand.offset; }
  uint32_t predicate(const Operand &operand) const {
    uint32_t value;
    std::memcpy(&value, row(operand), 4);
    return operand.inverted ? ~value : value;
  }
  void setPredicate(const Operand &operand, uint32_t mask, uint32_t value) const {
    uint32_t old;
    char *where = row(operand);
    std::memcpy(&old, where, 4);
    old = (old & ~mask) | (value & mask);
    std::memcpy(where, &old, 4);
  }

  /// Runs until `budget` instructions are done or all lanes wait or are gone. True if any was done.
  bool step(uint64_t budget);
  [[noreturn]] void report(int code, const Inst &inst, int lane, const std::string &text) const;
};

/// A pointer to the bytes behind an address after all checks.
struct Access {
  char *bytes;
  uint8_t *states; // null: always written (host memory, parameters)
  Cell *cells;     // null: no races
  bool shared;
};
enum class Mode : uint8_t { Read, Write, Atomic };

/// Space, bounds, alignment and life of [address, address + bytes).
Access resolve(Warp &warp, const Inst &inst, int lane, Space space, uint64_t address,
               unsigned bytes, Mode mode);
/// Reports bytes that were never written.
void checkWritten(Warp &warp, const Inst &inst, int lane, const Access &access, uint64_t address,
                  unsigned bytes);
/// Reports accesses that nothing orders.
void checkRace(Warp &warp, const Inst &inst, int lane, const Access &access, uint64_t address,
               unsigned bytes, Mode mode, bool sameValue);

struct Barrier {
  unsigned arrived = 0;
  unsigned expected = 0; // 0: all threads
  uint32_t known[32] = {};
  uint32_t population = 0;
  bool all = true, any = false;
};

struct Block {
  Run *run = nullptr;
  uint32_t index = 0; // linear
  uint32_t id[3] = {};
  uint32_t serial = 0; // of shared memory's cells
  uint32_t time = 1;
  unsigned threads = 0;
  std::vector<Warp> warps;
  std::vector<char> shared;
  std::vector<uint8_t> sharedStates;
  std::vector<Cell> sharedCells;
  Barrier barriers[16];
  std::map<uint32_t, uint32_t> knownBlocks; // what other blocks released, by their time
  bool done() const;
  /// Lets warps run in a seeded order. False if none could.
  bool step();
  void arrive(Warp &warp, const Inst &inst, uint32_t mask);
  void completeBarriers();
  void complete(int number);
};

/// What an atomic passed on: clocks of blocks, and of the warps of one block.
struct Released {
  std::map<uint32_t, uint32_t> blocks;
  std::map<std::pair<uint32_t, unsigned>, uint32_t> warps;
};
void releaseAndAcquire(Warp &warp, uint64_t address, bool shared);

struct Device;

struct LaunchShape {
  uint32_t grid[3], block[3], dynamicShared;
};

/// One run of a kernel.
struct Run {
  const Kernel *kernel = nullptr;
  Device *device = nullptr;
  LaunchShape shape{};
  const char *params = nullptr;
  uint32_t serial = 0;
  bool checkInit = true, checkRaces = true;
  uint64_t seed = 0;
  uint64_t steps = 0, threadInstructions = 0, limit = 0;
  std::mt19937_64 random;
  std::map<uint64_t, Released> released;
  uint32_t blockCount() const { return shape.grid[0] * shape.grid[1] * shape.grid[2]; }
};

/// Runs the kernel to its end. Throws Finding.
void runKernel(Run &run, bool cooperative);

template <class T> inline constexpr int stride = sizeof(T) == 8 ? 8 : 4;
template <class T> inline T get(const char *row, int lane) {
  T value;
  std::memcpy(&value, row + lane * stride<T>, sizeof(T));
  return value;
}
template <class T> inline void put(char *row, int lane, T value) {
  std::memcpy(row + lane * stride<T>, &value, sizeof(T));
}
/// row[lane] = compute(lane) for the lanes of the mask.
template <class T, class F> inline void eachLane(uint32_t mask, char *row, F compute) {
  if (mask == ~0u) {
    T results[32];
    for (int lane = 0; lane < 32; ++lane)
      results[lane] = compute(lane);
    for (int lane = 0; lane < 32; ++lane)
      put<T>(row, lane, results[lane]);
    return;
  }
  for (; mask; mask &= mask - 1) {
    int lane = __builtin_ctz(mask);
    put<T>(row, lane, compute(lane));
  }
}
template <class F> inline void forLanes(uint32_t mask, F visit) {
  for (; mask; mask &= mask - 1)
    visit(__builtin_ctz(mask));
}
/// The address in a 32- or 64-bit row.
inline uint64_t addressAt(const Warp &warp, const Inst &inst, const Operand &operand, int lane) {
  const char *row = warp.row(operand);
  return (operand.bytes == 8 ? get<uint64_t>(row, lane) : get<uint32_t>(row, lane)) +
         uint64_t(inst.offset);
}
/// Writes an integer result into a register that may be wider than the type.
inline void putWide(char *row, const Operand &operand, int lane, uint64_t value) {
  if (operand.bytes == 8)
    put<uint64_t>(row, lane, value);
  else
    put<uint32_t>(row, lane, uint32_t(value));
}

} // namespace mxemu
