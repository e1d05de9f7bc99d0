// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One running parallel_for. It lives on the stack of its caller; the team's
// list and the helpers inside point to it only until the caller has closed it
// and all helpers have left.

#ifndef MXRT_BASE_PARALLELREGION_H
#define MXRT_BASE_PARALLELREGION_H

#include "base/Sync.h"
#include "base/ThreadBudget.h"
#include "mxrt/parallel.h"

namespace mxrt {

/// Most threads in one parallel_for, the caller's included.
constexpr int maxSeats = 64;

/// The chunks a participant has before it: [low, high) in one word, so that a
/// thief can take from the back while the owner takes from the front.
struct alignas(64) Seat {
  std::atomic<uint64_t> range;
};

inline uint64_t packRange(uint32_t low, uint32_t high) {
  return static_cast<uint64_t>(high) << 32 | low;
}
inline uint32_t rangeLow(uint64_t range) {
  return static_cast<uint32_t>(range);
}
inline uint32_t rangeHigh(uint64_t range) {
  return static_cast<uint32_t>(range >> 32);
}

class Region {
public:
  Region(const mxrt_context *context, int64_t count, int64_t grain,
         mxrt_range_body body, void *user);
  Region(const Region &) = delete;
  Region &operator=(const Region &) = delete;

  /// Deals the chunks to `count` seats in contiguous blocks. Before posting.
  void dealSeats(int count);

  /// Runs chunks until none is left that this participant can reach. A helper
  /// passes the budget and leaves early when it is overdrawn.
  void work(int seat, const mxrt_thread_budget *leaveIfOverdrawn);

  /// All chunks in order on this thread, up to the first error.
  mxrt_status runInline();

  /// The error of the lowest failing chunk. After all work is done.
  mxrt_status takeError() { return firstError; }

  uint32_t chunkCount() const { return chunks; }

  // Guarded by the team's mutex.
  Region *next = nullptr;
  Region *previous = nullptr;
  int seats = 1;
  int takenSeats = 1; // the caller has seat 0

  /// Helpers inside. The caller may go when it is 0 and the region is closed.
  std::atomic<uint32_t> active{0};

private:
  mxrt_status callChunk(uint32_t chunk, const mxrt_context *inner);
  void runChunk(uint32_t chunk, const mxrt_context *inner);
  bool popOwn(int seat, uint32_t &chunk);
  bool steal(int seat);

  const mxrt_context *context;
  int64_t count;
  int64_t grain;
  mxrt_range_body body;
  void *user;
  uint32_t chunks;

  /// Chunks above this one need not run any more.
  std::atomic<uint32_t> lowestFailure{UINT32_MAX};
  Mutex errorMutex;
  mxrt_status firstError = nullptr;

  // Raw storage: clearing 64 cache lines would cost more than a small loop.
  alignas(64) unsigned char seatStorage[maxSeats * sizeof(Seat)];
  Seat &seatAt(int i) { return reinterpret_cast<Seat *>(seatStorage)[i]; }
};

/// How long who waits spins: for as long as it worked, within limits, so that
/// waiting at most doubles the time of the processor. No longer than the least
/// time while others use more threads than are meant for them: a helper that
/// waits is not counted, a caller is. `free` are those that nobody uses.
constexpr int64_t leastSpinNs = 20000;
constexpr int64_t mostSpinNs = 500000;
inline int64_t spinNs(int64_t workedNs, int32_t free, bool isCounted) {
  if (workedNs < leastSpinNs || free < (isCounted ? 0 : 1))
    return leastSpinNs;
  return workedNs < mostSpinNs ? workedNs : mostSpinNs;
}

/// The chunk size actually used for (count, grain); a function of these only.
int64_t effectiveGrain(int64_t count, int64_t grain);

} // namespace mxrt

#endif // MXRT_BASE_PARALLELREGION_H
