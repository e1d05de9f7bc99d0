// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and destruction of mxrt_runtime: options, environment settings, devices and component
// slots.

#include "abi/Runtime.h"
#include "base/Context.h"
#include "base/Os.h"
#include "base/Units.h"
#include "device/Device.h"
#include "memory/MemoryBudget.h"

#include <cstring>

using namespace mxrt;

namespace {

constexpr int32_t maxThreads = 1024;

Status settingError(const mxrt_allocator *alloc, const char *name,
                    const char *value, const char *wanted) {
  return error(alloc, MXRT_BAD_SETTING, noLocation, "%s is \"%.64s\", not %s",
               name, value, wanted);
}

Result<int32_t> threadCount(const mxrt_options &options,
                            const mxrt_allocator *alloc) {
  if (options.threads < 0 || options.threads > maxThreads)
    return error(alloc, MXRT_BAD_SETTING, noLocation,
                 "%d threads asked for, not 1 to %d", options.threads,
                 maxThreads);
  if (options.threads > 0)
    return options.threads;
  const char *text = os::environment("MX_NUM_THREADS");
  if (!text || !*text)
    return os::processorCount() < maxThreads ? os::processorCount()
                                              : maxThreads;
  int64_t count;
  if (!parseInt(text, 1, maxThreads, count))
    return settingError(alloc, "MX_NUM_THREADS", text, "a number 1 to 1024");
  return static_cast<int32_t>(count);
}

/// The limit that the options give, else the environment; 0: none.
Result<int64_t> memoryLimit(int64_t given, const char *variable, const mxrt_allocator *alloc) {
  if (given < 0)
    return error(alloc, MXRT_BAD_SETTING, noLocation, "a memory limit of %lld bytes",
                 static_cast<long long>(given));
  if (given > 0)
    return given;
  const char *text = os::environment(variable);
  if (!text || !*text)
    return int64_t(0);
  int64_t bytes;
  if (!parseBytes(text, bytes))
    return settingError(alloc, variable, text, "a size like 512M, 1.5GiB or 1000000");
  return bytes;
}

/// Creates everything after the object itself. On failure destroy frees what was created.
Status fill(mxrt_runtime *runtime, const mxrt_options &options) {
  mxrt_allocator *alloc = &runtime->alloc;
  alloc->reserve = createReserve(alloc);
  if (!alloc->reserve)
    return outOfMemory(alloc);
  int32_t threads = MXRT_TRY(threadCount(options, alloc));
  int64_t limit = MXRT_TRY(memoryLimit(options.memory_limit, "MX_MAX_MEMORY", alloc));
  runtime->gpuMemoryLimit =
      MXRT_TRY(memoryLimit(options.gpu_memory_limit, "MX_MAX_GPU_MEMORY", alloc));
  runtime->checksLaunches = options.check_launches != 0;
  MXRT_CHECK(
      Status(mxrt_thread_budget_create(alloc, threads, &runtime->budget)));
  runtime->memory = MXRT_TRY(MemoryBudget::create(alloc, limit, os::usableMemory()));
  int32_t devices = options.cpu_devices == 0 ? 2 : options.cpu_devices;
  if (devices < 1 || devices > maxCpuDevices)
    return error(alloc, MXRT_BAD_SETTING, noLocation,
                 "%d CPU devices asked for, not 1 to %d", devices,
                 maxCpuDevices);
  for (int32_t i = 0; i < devices; ++i) {
    runtime->cpu[i] =
        MXRT_TRY(createCpuDevice(alloc, i, runtime->budget, runtime->memory));
    runtime->cpuDevices = i + 1;
  }
  return success();
}

} // namespace

Result<void *> mxrt_runtime::part(Part which, Make make, Destroy destroy) {
  Slot &slot = slots[static_cast<int>(which)];
  if (void *object = slot.object.load(std::memory_order_acquire))
    return object;
  Lock lock(slot.mutex);
  if (void *object = slot.object.load(std::memory_order_relaxed))
    return object;
  void *object = nullptr;
  MXRT_CHECK(make(this, &object));
  slot.destroy = destroy;
  slot.object.store(object, std::memory_order_release);
  return object;
}

void *mxrt_runtime::partIfMade(Part which) const {
  return slots[static_cast<int>(which)].object.load(std::memory_order_acquire);
}

static Result<Device *> openGpu(mxrt_runtime *runtime, int32_t index, mxrt_location location) {
  Lock lock(runtime->gpuMutex);
  std::atomic<Device *> &slot = runtime->gpu[index];
  if (Device *device = slot.load(std::memory_order_relaxed))
    return device;
  GpuSettings settings;
  settings.memoryLimit = runtime->gpuMemoryLimit;
  settings.checksLaunches = runtime->checksLaunches;
  settings.cpuDevices = runtime->cpuDevices;
  settings.hostMemory = runtime->memory;
  Device *device = MXRT_TRY(createCudaDevice(&runtime->alloc, index, settings, location));
  slot.store(device, std::memory_order_release);
  return device;
}

Result<Device *> mxrt_runtime::device(mxrt_device which, mxrt_location location) {
  if (which.kind == MXRT_CPU && which.index >= 0 && which.index < cpuDevices)
    return cpu[which.index];
  if (which.kind == MXRT_CUDA && which.index >= 0 && which.index < maxGpuDevices) {
    if (Device *device = gpu[which.index].load(std::memory_order_acquire))
      return device;
    return openGpu(this, which.index, location);
  }
  return error(&alloc, MXRT_NO_DEVICE, location,
               "no device %s: there are cpu:0 to cpu:%d",
               deviceText(which).text, cpuDevices - 1);
}

mxrt_context mxrt_runtime::context(mxrt_device which, mxrt_location location) {
  mxrt_context context{};
  context.allocator = &alloc;
  bool known = which.kind == MXRT_CPU && which.index >= 0 &&
               which.index < cpuDevices;
  context.team = known ? cpu[which.index]->team() : nullptr;
  static_assert(sizeof(cancelled) == sizeof(uint32_t));
  context.cancelled = reinterpret_cast<const uint32_t *>(&cancelled);
  context.runtime = this;
  context.device = which;
  context.location = location;
  return context;
}

extern "C" {

mxrt_status mxrt_abi_check(uint32_t abi_version) {
  if (abi_version >> 16 == MXRT_ABI_MAJOR &&
      (abi_version & 0xFFFF) <= MXRT_ABI_MINOR)
    return nullptr;
  return error(nullptr, MXRT_ABI_MISMATCH, noLocation,
               "compiled for ABI %u.%u, but this runtime has %d.%d",
               abi_version >> 16, abi_version & 0xFFFF, MXRT_ABI_MAJOR,
               MXRT_ABI_MINOR)
      .release();
}

mxrt_status mxrt_runtime_create(const mxrt_options *given, mxrt_runtime **out) {
  *out = nullptr;
  mxrt_options options;
  mxrt_options_init(&options);
  if (given) {
    if (mxrt_status mismatch = mxrt_abi_check(given->abi_version))
      return mismatch;
    // An older caller has a shorter struct; the other fields keep their defaults.
    size_t known = given->struct_size < sizeof(options) ? given->struct_size
                                                        : sizeof(options);
    memcpy(&options, given, known);
  }
  mxrt_allocator source =
      options.allocator ? *options.allocator : *mxrt_system_allocator();
  source.reserve = nullptr;
  auto *runtime = newObject<mxrt_runtime>(&source, source);
  if (!runtime)
    return outOfMemory(&source).release();
  Status made = fill(runtime, options);
  if (made.failed()) {
    mxrt_runtime_destroy(runtime);
    return made.release();
  }
  *out = runtime;
  return nullptr;
}

void mxrt_runtime_destroy(mxrt_runtime *runtime) {
  if (!runtime)
    return;
  for (int i = static_cast<int>(Part::Count) - 1; i >= 0; --i) {
    mxrt_runtime::Slot &slot = runtime->slots[i];
    if (void *object = slot.object.exchange(nullptr))
      slot.destroy(runtime, object);
  }
  for (auto &device : runtime->gpu)
    if (Device *gpu = device.load())
      gpu->finish(); // one may wait for another
  for (auto &device : runtime->gpu)
    if (Device *gpu = device.exchange(nullptr))
      gpu->destroy(&runtime->alloc);
  for (Device *device : runtime->cpu)
    if (device)
      device->destroy(&runtime->alloc);
  if (runtime->memory)
    runtime->memory->release();
  mxrt_thread_budget_destroy(runtime->budget);
  mxrt_allocator source = runtime->alloc;
  deleteObject(&source, runtime);
  releaseReserve(source.reserve);
}

const mxrt_allocator *mxrt_runtime_allocator(const mxrt_runtime *runtime) {
  return &runtime->alloc;
}
int32_t mxrt_runtime_threads(const mxrt_runtime *runtime) {
  return mxrt_thread_budget_total(runtime->budget);
}
int32_t mxrt_runtime_cpu_devices(const mxrt_runtime *runtime) {
  return runtime->cpuDevices;
}

mxrt_status mxrt_runtime_context(mxrt_runtime *runtime,
                                 const mxrt_device *device,
                                 const mxrt_location *location, mxrt_context *out) {
  mxrt_location where = location ? *location : noLocation;
  mxrt_context made = runtime->context(*device, where);
  memcpy(out, &made, contextBaseBytes); // a caller built for ABI 2.0 has no more fields
  auto known = runtime->device(*device, where);
  return known.failed() ? known.takeStatus().release() : nullptr;
}

void mxrt_runtime_cancel(mxrt_runtime *runtime) {
  runtime->cancelled.store(1, std::memory_order_relaxed);
}
void mxrt_runtime_clear_cancel(mxrt_runtime *runtime) {
  runtime->cancelled.store(0, std::memory_order_relaxed);
}
int32_t mxrt_runtime_cancelled(const mxrt_runtime *runtime) {
  return runtime->cancelled.load(std::memory_order_relaxed) != 0;
}

} // extern "C"
