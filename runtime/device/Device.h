// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device interface of the runtime. cpu:0 and cpu:1 have separate pools and teams, so that
// placement can be tested on any machine; all CPU devices share the runtime's thread budget and
// memory limit. GPUs are in device/cuda.
//
// Work on a CPU is complete when its function returns. Work on a GPU is asynchronous: functions
// enqueue and return. The device tracks dependences: each block of its pool has a fence
// (device/cuda/Fence.h) with the work that accessed it, so that work of one GPU can be enqueued
// behind that of another without blocking the host.

#ifndef MXRT_DEVICE_DEVICE_H
#define MXRT_DEVICE_DEVICE_H

#include "memory/Collapse.h"
#include "memory/Pool.h"
#include "mxrt/launch.h"
#include "mxrt/parallel.h"

#include <span>

namespace mxrt {

/// An access of device work to a block of the device's pool (mxrt_buffer::data).
struct Access {
  const void *block;
  bool writes;
};

/// A range of bytes in a block.
struct DeviceBytes {
  void *data;
  const void *block;
};

/// Elements to copy between two views on one device.
struct DeviceCopy {
  void *to;
  const void *from;
  const Walk<2> *walk; // collapsed; strides of `from`, then of `to`
  int64_t elements;    // at least 1
  int64_t elementBytes;
};

/// Called once, on any thread, when a copy is complete.
struct Completion {
  void (*run)(void *user, Status status);
  void *user;
};

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
  /// Whether the host can access the device's addresses, and work is complete when its function
  /// returns.
  virtual bool hostVisible() const = 0;

  // -- work. An engine op that uses the device calls begin, enqueues, and calls end. The engine
  // orders the ops; begin and end order the work on the device.

  /// Enqueues the following work behind all earlier work that conflicts with the accesses.
  virtual Status begin(std::span<const Access> accesses, mxrt_location location) = 0;
  /// Records the accesses of the work enqueued since begin.
  virtual Status end(std::span<const Access> accesses, mxrt_location location) = 0;
  virtual Status launch(const mxrt_launch_info &info, const void *arguments,
                        mxrt_location location) = 0;
  /// A copy inside of the device, between begin and end.
  virtual Status copy(const DeviceCopy &job, mxrt_location location) = 0;

  // -- copies in and out; they order themselves.

  /// Copies from the host. `from` may change when this returns.
  virtual Status copyIn(DeviceBytes to, const void *from, int64_t bytes,
                        mxrt_location location) = 0;
  /// Copies to the host, and then calls `done`, unless an error is returned.
  virtual Status copyOut(void *to, DeviceBytes from, int64_t bytes, Completion done,
                         mxrt_location location) = 0;
  /// Copies from another device of the same kind.
  virtual Status copyPeer(DeviceBytes to, Device &source, DeviceBytes from, int64_t bytes,
                          mxrt_location location) = 0;

  // -- waiting

  /// Waits for the work that writes the block; the device's failure if it has failed.
  virtual Status wait(const void *block, mxrt_location location) = 0;
  /// The device's failure, if it has failed: then it runs nothing any more.
  virtual Status state(mxrt_location) { return success(); }
  /// The device's failure, unless a function has returned it already.
  virtual Status unseenFailure() { return success(); }
  /// Whether the caller must call `whenIdle` for the work that it enqueued: true once after each
  /// idle time.
  virtual bool needsWatch() { return false; }
  /// Calls `done` when nothing is in flight.
  virtual Status whenIdle(Completion done) = 0;
  /// Waits until nothing is in flight. Before the devices of a runtime are destroyed.
  virtual void finish() {}

  /// Frees the device with the allocator that created it.
  virtual void destroy(const mxrt_allocator *alloc) = 0;

private:
  mxrt_device id;
  Pool *memoryPool;
};

/// "cpu:0", "gpu:1". Unknown kinds are "device:0".
struct DeviceText {
  char text[24];
};
DeviceText deviceText(mxrt_device device);

/// cpu:`index` with its own pool and team.
Result<Device *> createCpuDevice(const mxrt_allocator *alloc, int32_t index,
                                 mxrt_thread_budget *threads,
                                 MemoryBudget *memory);

/// Settings of a GPU.
struct GpuSettings {
  int64_t memoryLimit = 0;  // 0: none
  bool checksLaunches = false; // wait after each launch
  int32_t cpuDevices = 0;   // for messages
  MemoryBudget *hostMemory = nullptr;
};

/// gpu:`index`, or R0401 with the reason.
Result<Device *> createCudaDevice(const mxrt_allocator *alloc, int32_t index,
                                  const GpuSettings &settings, mxrt_location location);

} // namespace mxrt

#endif // MXRT_DEVICE_DEVICE_H
