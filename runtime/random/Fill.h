// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parallel loop shared by all random fills: element i comes from lane i % perBlock of Philox
// block i / perBlock. Chunks are split at block boundaries, so threads never share a block.

#ifndef MXRT_RANDOM_FILL_H
#define MXRT_RANDOM_FILL_H

#include "base/CheckedMath.h"
#include "base/Status.h"
#include "random/Philox.h"

namespace mxrt {

// About 20 us of work: large enough to pay for a thread.
constexpr int64_t blocksPerChunk = 2048;

inline mxrt_status badArgument(const mxrt_context *context,
                               const char *message) {
  return mxrt_status_text(context->allocator, MXRT_INVALID_ARGUMENT,
                          &context->location, message);
}

/// Fills out[0..count) with make(block, lane) and advances rng. On failure (cancellation, a
/// negative count) rng is unchanged.
template <int perBlock, typename T, typename Make>
mxrt_status fill(const mxrt_context *context, mxrt_rng *rng, int64_t count,
                 T *out, const Make &make) {
  if (count < 0)
    return badArgument(context, "cannot draw a negative number of elements");
  struct Job {
    mxrt_rng rng;
    int64_t count;
    T *out;
    const Make &make;
  } job = {*rng, count, out, make};
  int64_t blocks = ceilDiv(count, perBlock);
  mxrt_status failure = mxrt_parallel_for(
      context, blocks, blocksPerChunk,
      [](void *user, int64_t begin, int64_t end, int64_t,
         const mxrt_context *) -> mxrt_status {
        const Job &job = *static_cast<Job *>(user);
        // Whole blocks first: a fixed trip count lets the inner loop be unrolled.
        int64_t whole = end * perBlock <= job.count ? end : end - 1;
        for (int64_t b = begin; b < whole; ++b) {
          Block block = blockAt(job.rng.key,
                                job.rng.position + static_cast<uint64_t>(b));
          for (int lane = 0; lane < perBlock; ++lane)
            job.out[b * perBlock + lane] = job.make(block, lane);
        }
        if (whole < end) {
          Block block = blockAt(
              job.rng.key, job.rng.position + static_cast<uint64_t>(whole));
          for (int64_t i = whole * perBlock; i < job.count; ++i)
            job.out[i] =
                job.make(block, static_cast<int>(i - whole * perBlock));
        }
        return nullptr;
      },
      &job);
  if (!failure)
    rng->position += static_cast<uint64_t>(blocks);
  return failure;
}

} // namespace mxrt

#endif // MXRT_RANDOM_FILL_H
