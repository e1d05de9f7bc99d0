// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine as a part of a runtime, created on first use.

#include "abi/Runtime.h"
#include "base/Os.h"
#include "device/Device.h"
#include "engine/Engine.h"
#include "memory/MemoryBudget.h"
#include "profile/Profile.h"

#include <cstring>

using namespace mxrt;

/// The engine kind that MX_ENGINE selects.
static Result<int32_t> kindFromEnvironment(const mxrt_allocator *alloc) {
  const char *wanted = os::environment("MX_ENGINE");
  if (!wanted || !*wanted || std::strcmp(wanted, "threaded") == 0)
    return static_cast<int32_t>(MXRT_ENGINE_THREADED);
  if (std::strcmp(wanted, "naive") == 0)
    return static_cast<int32_t>(MXRT_ENGINE_NAIVE);
  return error(alloc, MXRT_BAD_SETTING, noLocation,
               "MX_ENGINE is '%s'; it can be naive or threaded", wanted);
}

/// mxrt_runtime::part passes no argument through. The call that creates the engine runs on the
/// thread of the caller, so this thread-local does.
static thread_local const mxrt_engine_options *givenOptions = nullptr;

static Status makeEngine(mxrt_runtime *runtime, void **object) {
  mxrt_engine_options options = {};
  if (givenOptions)
    options = *givenOptions;
  else
    options.kind = MXRT_TRY(kindFromEnvironment(&runtime->alloc));
  if (!options.allocator)
    options.allocator = &runtime->alloc;
  if (!options.thread_budget)
    options.thread_budget = runtime->budget;
  if (!options.cancelled)
    options.cancelled = reinterpret_cast<const uint32_t *>(&runtime->cancelled);
  if (options.workers_per_device <= 0)
    options.workers_per_device = mxrt_thread_budget_total(runtime->budget);
  if (!options.profile)
    MXRT_CHECK(Status(mxrt_runtime_profile(runtime, &options.profile)));
  int64_t limit = runtime->memory->limitBytes();
  mxrt_engine *engine = MXRT_TRY(engine::createEngine(
      engine::completeOptions(&options, limit > 0 ? static_cast<uint64_t>(limit) : 0)));
  runtime->memory->setRelief(
      [](void *user) { return static_cast<mxrt_engine *>(user)->settle(); }, engine);
  engine->lateUser = runtime;
  engine->lateFailure = [](void *user) -> Status {
    for (auto &slot : static_cast<mxrt_runtime *>(user)->gpu)
      if (Device *device = slot.load(std::memory_order_acquire))
        MXRT_CHECK(device->unseenFailure());
    return success();
  };
  *object = engine;
  return success();
}

mxrt_status mxrt_runtime_engine(mxrt_runtime *runtime,
                                const mxrt_engine_options *options,
                                mxrt_engine **engine) {
  *engine = nullptr;
  givenOptions = options;
  Result<void *> part = runtime->part(
      Part::Engine, makeEngine, [](mxrt_runtime *owner, void *object) {
        owner->memory->setRelief(nullptr, nullptr);
        mxrt_engine_destroy(static_cast<mxrt_engine *>(object));
      });
  givenOptions = nullptr;
  if (part.failed())
    return part.takeStatus().release();
  *engine = static_cast<mxrt_engine *>(*part);
  return nullptr;
}
