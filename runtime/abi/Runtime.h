// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internals of mxrt_runtime. Components that the core does not know (engine, profiler, host VM,
// kvstore) register in a slot and are destroyed with the runtime.

#ifndef MXRT_ABI_RUNTIME_H
#define MXRT_ABI_RUNTIME_H

#include "base/Allocator.h"
#include "base/StatusReserve.h"
#include "base/Sync.h"
#include "mxrt/parallel.h"
#include "mxrt/runtime.h"

namespace mxrt {

class Device;
class MemoryBudget;

/// Slots are destroyed from last to first: the host VM before the engine it
/// pushes to, the engine before the profiler it reports to.
enum class Part : int { Profile, Engine, KvStore, Host, Io, Extra, Count };

constexpr int maxCpuDevices = 16;
constexpr int maxGpuDevices = 16;

} // namespace mxrt

struct mxrt_runtime {
  explicit mxrt_runtime(const mxrt_allocator &source) : alloc(source) {}

  /// The host's allocator plus the reserve for errors. Everything in the runtime allocates with
  /// &alloc.
  mxrt_allocator alloc;
  mxrt_thread_budget *budget = nullptr;
  mxrt::MemoryBudget *memory = nullptr;
  int32_t cpuDevices = 0;
  mxrt::Device *cpu[mxrt::maxCpuDevices] = {};
  /// Opened at their first use, under the mutex.
  std::atomic<mxrt::Device *> gpu[mxrt::maxGpuDevices] = {};
  mxrt::Mutex gpuMutex;
  int64_t gpuMemoryLimit = 0;
  bool checksLaunches = false;
  /// The word that mxrt_context::cancelled points to.
  std::atomic<uint32_t> cancelled{0};

  /// A component created by another folder. `make` is called at most once per slot and runtime,
  /// under a lock, on first use.
  using Make = mxrt::Status (*)(mxrt_runtime *runtime, void **object);
  using Destroy = void (*)(mxrt_runtime *runtime, void *object);
  /// The part's object, created on first use. Thread-safe.
  mxrt::Result<void *> part(mxrt::Part which, Make make, Destroy destroy);
  /// The part's object, or nullptr if it was not created yet. Thread-safe.
  void *partIfMade(mxrt::Part which) const;

  /// The device, or R0401. The first use of a GPU opens it.
  mxrt::Result<mxrt::Device *> device(mxrt_device which, mxrt_location location);
  /// A context for work on a device of this runtime.
  mxrt_context context(mxrt_device which, mxrt_location location);

  struct Slot {
    std::atomic<void *> object{nullptr};
    Destroy destroy = nullptr;
    mxrt::Mutex mutex;
  };
  Slot slots[static_cast<int>(mxrt::Part::Count)];
};

#endif // MXRT_ABI_RUNTIME_H
