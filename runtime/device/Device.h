// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device interface of the runtime. cpu:0 and cpu:1 have separate pools and teams, so that
// placement can be tested on any machine; all CPU devices share the runtime's thread budget and
// memory limit.

#ifndef MXRT_DEVICE_DEVICE_H
#define MXRT_DEVICE_DEVICE_H

#include "memory/Pool.h"
#include "mxrt/parallel.h"

namespace mxrt {

/// Owned by the runtime; lives as long as it. Thread-safe.
class Device {
public:
  Device(mxrt_device id, Pool *pool) : id(id), memoryPool(pool) {}
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  virtual ~Device() { memoryPool->close(); }

  mxrt_device identity() const { return id; }
  Pool &pool() { return *memoryPool; }

  /// Helper threads for parallel_for; null on devices that have none.
  virtual mxrt_team *team() { return nullptr; }
  /// Whether the host can access the device's addresses.
  virtual bool hostVisible() const = 0;
  /// Synchronous copies of bytes between this device and the host.
  virtual Status copyFromHost(void *to, const void *from, int64_t bytes) = 0;
  virtual Status copyToHost(void *to, const void *from, int64_t bytes) = 0;
  /// Frees the device with the allocator that created it.
  virtual void destroy(const mxrt_allocator *alloc) = 0;

private:
  mxrt_device id;
  Pool *memoryPool;
};

/// "cpu:0". Unknown kinds are "device:0".
struct DeviceText {
  char text[24];
};
DeviceText deviceText(mxrt_device device);

/// cpu:`index` with its own pool and team.
Result<Device *> createCpuDevice(const mxrt_allocator *alloc, int32_t index,
                                 mxrt_thread_budget *threads,
                                 MemoryBudget *memory);

} // namespace mxrt

#endif // MXRT_DEVICE_DEVICE_H
