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
  Status copyFromHost(void *to, const void *from, int64_t bytes) override {
    if (bytes > 0)
      memcpy(to, from, static_cast<size_t>(bytes));
    return success();
  }
  Status copyToHost(void *to, const void *from, int64_t bytes) override {
    return copyFromHost(to, from, bytes);
  }
  void destroy(const mxrt_allocator *alloc) override {
    deleteObject(alloc, this);
  }

private:
  mxrt_team *helpers;
};

} // namespace

DeviceText deviceText(mxrt_device device) {
  const char *kind = device.kind == MXRT_CPU    ? "cpu"
                     : device.kind == MXRT_CUDA ? "cuda"
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
