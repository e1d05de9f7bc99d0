// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU device: host memory, a pool and a team of helper threads.

#include "device/Device.h"

#include <cstdio>
#include <cstring>

namespace mxrt {
namespace {

class CpuDevice final : public Device {
public:
  CpuDevice(int32_t index, Pool *pool, mxrt_team *helpers)
      : Device({MXRT_CPU, index}, pool), helpers(helpers) {}
  ~CpuDevice() override { mxrt_team_destroy(helpers); }

  mxrt_team *team() override { return helpers; }
  bool hostVisible() const override { return true; }

  Status begin(std::span<const Access>, mxrt_location) override { return success(); }
  Status end(std::span<const Access>, mxrt_location) override { return success(); }
  Status launch(const mxrt_launch_info &info, const void *, mxrt_location location) override {
    return error(pool().allocator(), MXRT_UNSUPPORTED, location,
                 "kernel `%.64s` is code for GPUs, but the call is on %s", info.entry,
                 static_cast<const char *>(deviceText(identity()).text));
  }
  Status copy(const DeviceCopy &, mxrt_location location) override {
    return error(pool().allocator(), MXRT_INTERNAL, location,
                 "copies on CPUs are calls of mxrt_tensor_copy");
  }
  Status copyIn(DeviceBytes to, const void *from, int64_t bytes, mxrt_location) override {
    return copyBytes(to.data, from, bytes);
  }
  Status copyOut(void *to, DeviceBytes from, int64_t bytes, Completion done,
                 mxrt_location) override {
    done.run(done.user, copyBytes(to, from.data, bytes));
    return success();
  }
  Status copyPeer(DeviceBytes to, Device &, DeviceBytes from, int64_t bytes,
                  mxrt_location) override {
    return copyBytes(to.data, from.data, bytes);
  }
  Status wait(const void *, mxrt_location) override { return success(); }
  Status whenIdle(Completion done) override {
    done.run(done.user, success());
    return success();
  }
  void destroy(const mxrt_allocator *alloc) override {
    deleteObject(alloc, this);
  }

private:
  static Status copyBytes(void *to, const void *from, int64_t bytes) {
    if (bytes > 0)
      memcpy(to, from, static_cast<size_t>(bytes));
    return success();
  }

  mxrt_team *helpers;
};

} // namespace

DeviceText deviceText(mxrt_device device) {
  const char *kind = device.kind == MXRT_CPU    ? "cpu"
                     : device.kind == MXRT_CUDA ? "gpu"
                                                : "device";
  DeviceText result;
  snprintf(result.text, sizeof(result.text), "%s:%d", kind, device.index);
  return result;
}

Result<Device *> createCpuDevice(const mxrt_allocator *alloc, int32_t index,
                                 mxrt_thread_budget *threads,
                                 MemoryBudget *memory) {
  mxrt_team *helpers = nullptr;
  MXRT_CHECK(Status(mxrt_team_create(alloc, threads, &helpers)));
  auto pool = Pool::create(alloc, alloc, memory,
                           deviceText({MXRT_CPU, index}).text);
  if (pool.failed()) {
    mxrt_team_destroy(helpers);
    return pool.takeStatus();
  }
  auto *device = newObject<CpuDevice>(alloc, index, *pool, helpers);
  if (!device) {
    (*pool)->close();
    mxrt_team_destroy(helpers);
    return outOfMemory(alloc);
  }
  return static_cast<Device *>(device);
}

} // namespace mxrt
