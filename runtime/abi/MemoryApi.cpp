// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C API for the memory of a runtime's devices.

#include "abi/Runtime.h"
#include "device/Device.h"

using namespace mxrt;

namespace {

Status lease(mxrt_runtime *runtime, mxrt_device where, int64_t bytes,
             const char *what, mxrt_location location, mxrt_arena *out) {
  Device *device = MXRT_TRY(runtime->device(where, location));
  if (bytes < 0 || bytes > INT64_MAX - 4096)
    return error(&runtime->alloc, MXRT_SIZE_OVERFLOW, location,
                 "%s needs %lld bytes", what, static_cast<long long>(bytes));
  auto allocated = device->pool().allocate(bytes, Pool::Kind::Arena, NamedPurpose(what), location);
  if (allocated.failed()) {
    MXRT_CHECK(device->state(location));
    return allocated.takeStatus();
  }
  PoolBlock block = *allocated;
  out->base = block.data;
  out->bytes = bytes;
  out->owner = &device->pool();
  out->held = block.held;
  out->site = block.site;
  return success();
}

/// Calls use(pool), or returns the error for an unknown device.
template <typename Use>
mxrt_status withPool(mxrt_runtime *runtime, const mxrt_device *device,
                     Use use) {
  auto found = runtime->device(*device, noLocation);
  if (found.failed())
    return found.takeStatus().release();
  use((*found)->pool());
  return nullptr;
}

} // namespace

extern "C" {

mxrt_status mxrt_arena_lease(mxrt_runtime *runtime, const mxrt_device *device,
                             int64_t bytes, const char *what,
                             const mxrt_location *location, mxrt_arena *out) {
  *out = mxrt_arena{};
  return lease(runtime, *device, bytes, what ? what : "an arena",
               location ? *location : noLocation, out)
      .release();
}

void mxrt_arena_return(mxrt_arena *arena) {
  if (!arena->owner)
    return;
  PoolBlock block{arena->base, arena->bytes, arena->held, arena->site};
  static_cast<Pool *>(arena->owner)->release(block, Pool::Kind::Arena);
  *arena = mxrt_arena{};
}

mxrt_status mxrt_memory_get_stats(mxrt_runtime *runtime,
                                  const mxrt_device *device,
                                  mxrt_memory_stats *out) {
  return withPool(runtime, device, [&](Pool &pool) { *out = pool.stats(); });
}

mxrt_status mxrt_memory_visit_sites(
    mxrt_runtime *runtime, const mxrt_device *device,
    void (*visit)(void *user, const mxrt_memory_site *site), void *user) {
  return withPool(runtime, device,
                  [&](Pool &pool) { pool.visitSites(visit, user); });
}

mxrt_status mxrt_memory_reset_peak(mxrt_runtime *runtime,
                                   const mxrt_device *device) {
  return withPool(runtime, device, [](Pool &pool) { pool.resetPeak(); });
}

mxrt_status mxrt_memory_trim(mxrt_runtime *runtime, const mxrt_device *device) {
  return withPool(runtime, device, [](Pool &pool) { pool.trim(); });
}

} // extern "C"
