// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arenas for ahead-of-time code. Part of mxrt_core.

#include "base/Allocator.h"
#include "base/CheckedMath.h"
#include "base/Units.h"
#include "mxrt/memory.h"

using namespace mxrt;

extern "C" {

mxrt_status mxrt_arena_open(const mxrt_allocator *allocator, int64_t bytes,
                            mxrt_arena *out) {
  *out = mxrt_arena{};
  if (!allocator)
    allocator = mxrt_system_allocator();
  int64_t rounded;
  if (bytes < 0 || !checkedAlign(bytes, MXRT_ALIGNMENT, rounded))
    return error(allocator, MXRT_SIZE_OVERFLOW, noLocation,
                 "an arena of %lld bytes", static_cast<long long>(bytes))
        .release();
  if (rounded == 0)
    rounded = MXRT_ALIGNMENT;
  void *memory = allocateBytes(allocator, static_cast<size_t>(rounded),
                               MXRT_ALIGNMENT);
  if (!memory)
    return error(allocator, MXRT_OUT_OF_MEMORY, noLocation,
                 "out of memory: an arena needs %s (%lld bytes)",
                 formatBytes(bytes).text, static_cast<long long>(bytes))
        .release();
  out->base = memory;
  out->bytes = bytes;
  out->held = rounded;
  return nullptr;
}

void mxrt_arena_close(const mxrt_allocator *allocator, mxrt_arena *arena) {
  if (!allocator)
    allocator = mxrt_system_allocator();
  releaseBytes(allocator, arena->base, static_cast<size_t>(arena->held),
               MXRT_ALIGNMENT);
  *arena = mxrt_arena{};
}

mxrt_status mxrt_arena_wrap(const mxrt_context *context, void *memory,
                            int64_t bytes, mxrt_arena *out) {
  *out = mxrt_arena{};
  if (bytes < 0 || (!memory && bytes > 0) ||
      reinterpret_cast<uintptr_t>(memory) % MXRT_ALIGNMENT != 0)
    return error(context->allocator, MXRT_INVALID_ARGUMENT, context->location,
                 "workspace of %lld bytes at %p: it must start at a multiple "
                 "of %d",
                 static_cast<long long>(bytes), memory, MXRT_ALIGNMENT)
        .release();
  out->base = memory;
  out->bytes = bytes;
  return nullptr;
}

mxrt_status mxrt_arena_slice(const mxrt_context *context,
                             const mxrt_arena *arena, int64_t offset,
                             int64_t bytes, void **out) {
  int64_t end;
  if (offset < 0 || bytes < 0 || offset % MXRT_ALIGNMENT != 0 ||
      !checkedAdd(offset, bytes, end) || end > arena->bytes) {
    *out = nullptr;
    return error(context->allocator, MXRT_INTERNAL, context->location,
                 "memory plan asks for bytes %lld+%lld of an arena of %lld",
                 static_cast<long long>(offset), static_cast<long long>(bytes),
                 static_cast<long long>(arena->bytes))
        .release();
  }
  *out = static_cast<char *>(arena->base) + offset;
  return nullptr;
}

} // extern "C"
