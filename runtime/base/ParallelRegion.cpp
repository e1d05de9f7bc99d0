// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chunks of a parallel_for: grain size, distribution over seats, and work stealing.

#include "base/ParallelRegion.h"
#include "base/CheckedMath.h"
#include "base/Context.h"

#include <cstring>
#include <new>

namespace mxrt {

// Chunk numbers fit in 32 bits with headroom for arithmetic.
constexpr int64_t maxChunks = 1 << 30;
// Number of chunks when the runtime chooses: enough to balance 16 threads, few enough that a
// partial result per chunk is cheap.
constexpr int64_t defaultChunks = 64;

int64_t effectiveGrain(int64_t count, int64_t grain) {
  if (grain <= 0)
    grain = ceilDiv(count, defaultChunks);
  if (grain < 1)
    grain = 1;
  // Too many chunks: enlarge them by an integer factor, so that boundaries stay multiples of the
  // grain.
  int64_t chunks = ceilDiv(count, grain);
  if (chunks > maxChunks && !checkedMul(grain, ceilDiv(chunks, maxChunks),
                                         grain))
    grain = INT64_MAX;
  return grain;
}

Region::Region(const mxrt_context *context, int64_t count, int64_t grain,
               mxrt_range_body body, void *user)
    : context(context), count(count), grain(effectiveGrain(count, grain)),
      body(body), user(user),
      chunks(static_cast<uint32_t>(ceilDiv(count, this->grain))) {}

void Region::dealSeats(int seatCount) {
  seats = seatCount;
  uint32_t each = chunks / static_cast<uint32_t>(seatCount);
  uint32_t longer = chunks % static_cast<uint32_t>(seatCount);
  uint32_t low = 0;
  for (int i = 0; i < seatCount; ++i) {
    uint32_t high = low + each + (static_cast<uint32_t>(i) < longer ? 1 : 0);
    ::new (&seatAt(i)) Seat{{packRange(low, high)}};
    low = high;
  }
}

mxrt_status Region::callChunk(uint32_t chunk, const mxrt_context *inner) {
  if (mxrt_status stop = mxrt_poll(inner))
    return stop;
  int64_t begin = static_cast<int64_t>(chunk) * grain;
  int64_t length = count - begin < grain ? count - begin : grain;
  return body(user, begin, begin + length, chunk, inner);
}

void Region::runChunk(uint32_t chunk, const mxrt_context *inner) {
  if (chunk > lowestFailure.load(std::memory_order_relaxed))
    return;
  mxrt_status failure = callChunk(chunk, inner);
  if (!failure) [[likely]]
    return;
  Lock lock(errorMutex);
  if (chunk < lowestFailure.load(std::memory_order_relaxed)) {
    mxrt_status previousError = firstError;
    firstError = failure;
    failure = previousError;
    lowestFailure.store(chunk, std::memory_order_relaxed);
  }
  mxrt_status_release(failure);
}

bool Region::popOwn(int seat, uint32_t &chunk) {
  std::atomic<uint64_t> &range = seatAt(seat).range;
  uint64_t now = range.load(std::memory_order_relaxed);
  while (rangeLow(now) < rangeHigh(now)) {
    if (range.compare_exchange_weak(
            now, packRange(rangeLow(now) + 1, rangeHigh(now)),
            std::memory_order_relaxed)) {
      chunk = rangeLow(now);
      return true;
    }
  }
  return false;
}

/// Work stealing: moves the back half of another seat's chunks to this (empty) seat.
bool Region::steal(int seat) {
  for (int step = 1; step < seats; ++step) {
    std::atomic<uint64_t> &victim = seatAt((seat + step) % seats).range;
    uint64_t now = victim.load(std::memory_order_relaxed);
    for (;;) {
      uint32_t low = rangeLow(now), high = rangeHigh(now);
      if (low >= high)
        break;
      uint32_t middle = low + (high - low) / 2;
      if (victim.compare_exchange_weak(now, packRange(low, middle),
                                       std::memory_order_relaxed)) {
        seatAt(seat).range.store(packRange(middle, high),
                                 std::memory_order_relaxed);
        return true;
      }
    }
  }
  return false;
}

/// Compiled code has only the first part of a context for its kernels.
static void copyForChunks(const mxrt_context *context, mxrt_context &inner) {
  memcpy(&inner, context, contextBaseBytes);
  inner.nested = 1;
  inner.holds_thread &= MXRT_CONTEXT_HOLDS_THREAD;
}

void Region::work(int seat, const mxrt_thread_budget *leaveIfOverdrawn) {
  mxrt_context inner;
  copyForChunks(context, inner);
  inner.holds_thread = MXRT_CONTEXT_HOLDS_THREAD;
  uint32_t chunk;
  for (;;) {
    // The remaining chunks of this seat stay available for stealing; the caller rechecks after
    // all helpers have left.
    if (leaveIfOverdrawn && leaveIfOverdrawn->overdrawn())
      return;
    if (popOwn(seat, chunk))
      runChunk(chunk, &inner);
    else if (!steal(seat))
      return;
  }
}

mxrt_status Region::runInline() {
  mxrt_context inner;
  copyForChunks(context, inner);
  for (uint32_t chunk = 0; chunk < chunks; ++chunk)
    if (mxrt_status failure = callChunk(chunk, &inner))
      return failure;
  return nullptr;
}

} // namespace mxrt
