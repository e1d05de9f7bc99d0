// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors to and from the memory of a bucket: parts for ranks, f16 and bf16 as f32.

#include "base/Halfs.h"
#include "dist/StoreParts.h"

#include <cstring>

namespace mxrt::dist {

using kvstore::Action;
using kvstore::Bucket;
using kvstore::Key;

namespace {

template <typename Half> void widen(const char *from, char *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Half half;
    std::memcpy(&half, from + i * sizeof half, sizeof half);
    float wide = half.wide();
    std::memcpy(to + i * sizeof wide, &wide, sizeof wide);
  }
}
template <typename Half> void narrow(const char *from, char *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float wide;
    std::memcpy(&wide, from + i * sizeof wide, sizeof wide);
    Half half = Half::of(wide);
    std::memcpy(to + i * sizeof half, &half, sizeof half);
  }
}

/// Bytes of an element of a tensor, in units of the bucket's elements.
size_t widthOf(const Bucket &bucket, const Key &key) {
  return bucket.dtype == MXRT_U8 ? 1 : size_t(mxrt_dtype_size(key.dtype));
}

void copyIn(const Bucket &bucket, const Key &key, const char *from, char *to, size_t count) {
  if (bucket.dtype == MXRT_F32 && key.dtype == MXRT_F16)
    widen<F16>(from, to, count);
  else if (bucket.dtype == MXRT_F32 && key.dtype == MXRT_BF16)
    widen<Bf16>(from, to, count);
  else if (count > 0 && from != to)
    std::memcpy(to, from, count * widthOf(bucket, key));
}
void copyOut(const Bucket &bucket, const Key &key, const char *from, char *to, size_t count) {
  if (bucket.dtype == MXRT_F32 && key.dtype == MXRT_F16)
    narrow<F16>(from, to, count);
  else if (bucket.dtype == MXRT_F32 && key.dtype == MXRT_BF16)
    narrow<Bf16>(from, to, count);
  else if (count > 0 && from != to)
    std::memcpy(to, from, count * widthOf(bucket, key));
}

} // namespace

void packBucket(const kvstore::KeyTable &keys, uint32_t number, int rank,
                std::span<const Operand> inputs, char *memory) {
  const Bucket &bucket = keys.buckets[number];
  if (keys.action == Action::Init && rank != 0)
    return; // it gets those of rank 0
  size_t width = size_t(mxrt_dtype_size(bucket.dtype));
  bool isScatter = keys.action == Action::Scatter;
  size_t first = keys.action == Action::Gather ? size_t(rank) : 0;
  size_t end = isScatter ? bucket.parts : first + 1;
  for (uint32_t i = 0; i < bucket.count; ++i) {
    const Key &key = keys.keys[bucket.first + i];
    for (size_t part = first; part < end; ++part)
      copyIn(bucket, key, inputs[i].data + (part - first) * key.part * widthOf(bucket, key),
             memory + (part * bucket.part + key.offset) * width, key.part);
  }
}

void unpackBucket(const kvstore::KeyTable &keys, uint32_t number, int rank, const char *memory,
                  std::span<const Operand> outputs) {
  const Bucket &bucket = keys.buckets[number];
  size_t width = size_t(mxrt_dtype_size(bucket.dtype));
  bool isGather = keys.action == Action::Gather;
  size_t first = keys.action == Action::Scatter ? size_t(rank) : 0;
  size_t end = isGather ? bucket.parts : first + 1;
  for (uint32_t i = 0; i < bucket.count; ++i) {
    const Key &key = keys.keys[bucket.first + i];
    for (size_t part = first; part < end; ++part)
      copyOut(bucket, key, memory + (part * bucket.part + key.offset) * width,
              outputs[i].data + (part - first) * key.part * widthOf(bucket, key), key.part);
  }
}

} // namespace mxrt::dist
