// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One running parallel_for (fork-join with work stealing). It lives on the stack of its caller;
// the team's list and the helpers inside point to it only until the caller has closed it and
// all helpers have left.

#ifndef MXRT_BASE_PARALLELREGION_H
#define MXRT_BASE_PARALLELREGION_H

#include "base/Sync.h"
#include "base/ThreadBudget.h"
#include "mxrt/parallel.h"

namespace mxrt {

/// Maximum number of threads in one parallel_for, including the caller's.
constexpr int maxSeats = 64;

/// The remaining chunks of a participant: [low, high) in one word, so that a thief can steal
/// from the back while the owner takes from the front.
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

  /// Distributes the chunks over `count` seats in contiguous blocks. Call before posting.
  void dealSeats(int count);

  /// Runs chunks until this participant can reach no more. A helper passes the budget and leaves
  /// early when it is overdrawn.
  void work(int seat, const mxrt_thread_budget *leaveIfOverdrawn);

  /// Runs all chunks in order on this thread, up to the first error.
  mxrt_status runInline();

  /// The error of the lowest failing chunk. Call after all work is complete.
  mxrt_status takeError() { return firstError; }

  uint32_t chunkCount() const { return chunks; }

  // Guarded by the team's mutex.
  Region *next = nullptr;
  Region *previous = nullptr;
  int seats = 1;
  int takenSeats = 1; // the caller has seat 0

  /// Number of helpers inside. The caller may return when it is 0 and the region is closed.
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

  // Raw storage: initialising 64 cache lines would cost more than a small loop.
  alignas(64) unsigned char seatStorage[maxSeats * sizeof(Seat)];
  Seat &seatAt(int i) { return reinterpret_cast<Seat *>(seatStorage)[i]; }
};

/// Spin time of a waiting thread: the duration of its last work, clamped, so that waiting at
/// most doubles the processor time. It is the minimum while the thread budget, including this
/// thread, is overdrawn: then other threads need the processors. A waiting helper is not
/// counted in the budget, a waiting caller is. `free` is the number of unused threads of the
/// budget.
constexpr int64_t minSpinNs = 20000;
constexpr int64_t maxSpinNs = 500000;
inline int64_t spinNs(int64_t workedNs, int32_t free, bool isCounted) {
  if (workedNs < minSpinNs || free < (isCounted ? 0 : 1))
    return minSpinNs;
  return workedNs < maxSpinNs ? workedNs : maxSpinNs;
}

/// The chunk size used for (count, grain); a function of these only.
int64_t effectiveGrain(int64_t count, int64_t grain);

} // namespace mxrt

#endif // MXRT_BASE_PARALLELREGION_H
