// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Seeding and derived streams (split, fork).

#include "base/Status.h"
#include "random/Philox.h"

using namespace mxrt;

extern "C" {

void mxrt_philox(const uint32_t counter[4], const uint32_t key[2],
                 uint32_t out[4]) {
  Block block = philox(counter[0], counter[1], counter[2], counter[3], key[0],
                       key[1]);
  for (int i = 0; i < 4; ++i)
    out[i] = block.word[i];
}

void mxrt_rng_seed(mxrt_rng *rng, uint64_t seed) {
  rng->key = seed;
  rng->position = 0;
}

mxrt_status mxrt_rng_split(const mxrt_context *context, mxrt_rng *rng,
                           int64_t count, mxrt_rng *children) {
  if (count < 0 || count > int64_t(1) << 48)
    return error(context->allocator, MXRT_INVALID_ARGUMENT, context->location,
                 "cannot split a stream of random numbers into %lld",
                 static_cast<long long>(count))
        .release();
  for (int64_t i = 0; i < count; ++i) {
    Block block = blockAt(rng->key, rng->position, Use::Split,
                          static_cast<uint64_t>(i));
    children[i].key = block.low64();
    children[i].position = 0;
  }
  // A second split must not return the same streams.
  rng->position += 1;
  return nullptr;
}

void mxrt_rng_fork(mxrt_rng *rng, const char *name, int64_t length,
                   mxrt_rng *child) {
  // Absorb the name eight bytes at a time: each step is a block whose key is the state so far.
  // The length comes first, so no name is a prefix of another.
  uint64_t state = blockAt(rng->key, rng->position, Use::Fork,
                           static_cast<uint64_t>(length) & 0xFFFFFFFFFFFFull)
                       .low64();
  for (int64_t at = 0; at < length; at += 8) {
    uint64_t piece = 0;
    for (int64_t i = 0; i < 8 && at + i < length; ++i)
      piece |= static_cast<uint64_t>(static_cast<unsigned char>(name[at + i]))
               << (8 * i);
    state = blockAt(state, piece, Use::Fork,
                    static_cast<uint64_t>(at / 8 + 1) & 0xFFFFFFFFFFFFull)
                .low64();
  }
  child->key = state;
  child->position = 0;
  rng->position += 1;
}

} // extern "C"
