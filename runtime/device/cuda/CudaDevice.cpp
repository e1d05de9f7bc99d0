// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GPU device: kernels and copies on streams, ordered by the fences of memory blocks.

#include "device/Device.h"
#include "device/cuda/Completer.h"
#include "device/cuda/Modules.h"
#include "device/cuda/StridedCopy.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt {

using namespace cuda;

namespace {

class CudaDevice final : public Device {
public:
  CudaDevice(int32_t index, Pool *pool, Context *context, const GpuSettings &settings)
      : Device({MXRT_CUDA, index}, pool), context(*context), driver(context->driver),
        compute(context->streams->compute), in(context->streams->in),
        checksLaunches(settings.checksLaunches), name(deviceText({MXRT_CUDA, index})),
        failures(*context, name.text), modules(*context), uploads(*context),
        completer(*context, failures, name.text) {}
  ~CudaDevice() override {
    completer.stop();
    context.clearFences();
  }

  bool hostVisible() const override { return false; }

  Status begin(std::span<const Access> accesses, mxrt_location location) override {
    MXRT_CHECK(failures.ending(location));
    Current current(driver, context.handle);
    for (const Access &access : accesses)
      MXRT_CHECK(order(compute, context, access, location));
    return success();
  }

  Status end(std::span<const Access> accesses, mxrt_location location) override {
    Current current(driver, context.handle);
    Ticket ticket;
    MXRT_CHECK(failures.of(compute.record(ticket), "an event", location));
    for (const Access &access : accesses)
      note(context, access, ticket);
    return success();
  }

  Status launch(const mxrt_launch_info &info, const void *arguments,
                mxrt_location location) override;

  Status copy(const DeviceCopy &job, mxrt_location location) override;
  Status copyIn(DeviceBytes to, const void *from, int64_t bytes, mxrt_location location) override;
  Status copyOut(void *to, DeviceBytes from, int64_t bytes, Completion done,
                 mxrt_location location) override;
  Status copyPeer(DeviceBytes to, Device &source, DeviceBytes from, int64_t bytes,
                  mxrt_location location) override;

  Status wait(const void *block, mxrt_location location) override {
    MXRT_CHECK(failures.ending(location));
    if (Fence *fence = context.fenceOf(block)) {
      Fence::Before before = fence->before(false);
      for (size_t i = 0; i < before.count; ++i) {
        const Ticket &ticket = before.tickets[i];
        MXRT_CHECK(failures.of(ticket.stream->wait(ticket.number), "waiting", location));
      }
    }
    return failures.ending(location);
  }

  Status state(mxrt_location location) override {
    MXRT_CHECK(failures.ending(location));
    return failures.of(context.broken.load(std::memory_order_relaxed), "an allocation", location);
  }
  Status unseenFailure() override { return failures.unseen(); }
  bool needsWatch() override { return completer.needsWatch(); }
  Status whenIdle(Completion done) override { return completer.whenIdle(done); }

  void finish() override {
    for (Stream *stream : {&compute, &in, &context.streams->out})
      stream->wait(stream->recorded());
  }

  void destroy(const mxrt_allocator *alloc) override {
    Context *mine = &context;
    deleteObject(alloc, this);
    mine->release();
  }

private:
  static CUdeviceptr address(const void *data) { return reinterpret_cast<CUdeviceptr>(data); }

  Status fenceOf(Context &owner, const void *block, mxrt_location location, Fence *&out) {
    out = owner.fenceOf(block);
    return out ? success()
               : error(pool().allocator(), MXRT_UNSUPPORTED, location,
                       "%s: memory at %p is not of the runtime's pool",
                       static_cast<const char *>(name.text), block);
  }
  /// Orders the following work of a stream after the accesses that conflict with this one.
  Status order(Stream &stream, Context &owner, const Access &access, mxrt_location location) {
    Fence *fence = nullptr;
    MXRT_CHECK(fenceOf(owner, access.block, location, fence));
    Fence::Before before = fence->before(access.writes);
    for (size_t i = 0; i < before.count; ++i)
      MXRT_CHECK(failures.of(stream.follow(before.tickets[i]), "an event", location));
    return success();
  }
  static void note(Context &owner, const Access &access, Ticket ticket) {
    Fence *fence = owner.fenceOf(access.block);
    if (!fence)
      return;
    if (access.writes)
      return fence->wrote(ticket);
    if (Ticket displaced = fence->read(ticket); displaced.stream)
      displaced.stream->wait(displaced.number);
  }

  Context &context; // one reference
  Driver &driver;
  Stream &compute, &in;
  const bool checksLaunches;
  const DeviceText name;
  Failures failures;
  Modules modules;
  Mutex uploadMutex;
  Ring<Ticket> uploads; // guarded by uploadMutex
  Mutex peerMutex;
  uint32_t peers = 0; // devices that were made accessible; guarded by peerMutex
  Completer completer;
};

Status CudaDevice::launch(const mxrt_launch_info &info, const void *arguments,
                          mxrt_location location) {
  constexpr uint32_t maxArguments = 256;
  MXRT_CHECK(failures.ending(location));
  if (!info.module || !info.entry || info.argument_count > maxArguments)
    return error(pool().allocator(), MXRT_INVALID_ARGUMENT, location,
                 "a launch without a module or an entry, or of more than %u arguments",
                 maxArguments);
  if (std::find(info.grid, info.grid + 3, 0u) != info.grid + 3)
    return success();
  Current current(driver, context.handle);
  Modules::Found found = modules.find(info);
  if (found.outOfMemory)
    return outOfMemory(pool().allocator(), location);
  char doing[120];
  auto name = [&](const char *what) {
    snprintf(doing, sizeof(doing), "kernel `%.64s`: %s", info.entry, what);
    return doing;
  };
  if (!found.function)
    return failures.of(found.result, name(found.doing), location, found.log);
  void *values[maxArguments];
  for (uint32_t i = 0; i < info.argument_count; ++i)
    values[i] = const_cast<char *>(static_cast<const char *>(arguments) + info.argument_offsets[i]);
  failures.noteLaunch(info, location);
  MXRT_CHECK(failures.of(driver.cuLaunchKernel(found.function, info.grid[0], info.grid[1],
                                               info.grid[2], info.block[0], info.block[1],
                                               info.block[2], info.shared_bytes, compute.handle(),
                                               values, nullptr),
                         name("the launch"), location));
  if (!checksLaunches)
    return success();
  MXRT_CHECK(failures.of(driver.cuStreamSynchronize(compute.handle()), name("the kernel"), location));
  failures.forgetLaunches();
  return success();
}

Status CudaDevice::copy(const DeviceCopy &job, mxrt_location location) {
  const Walk<2> &walk = *job.walk;
  bool isDense = walk.rank == 0 ||
                 (walk.rank == 1 && walk.strides[0][0] == 1 && walk.strides[1][0] == 1);
  if (isDense) {
    Current current(driver, context.handle);
    return failures.of(
        driver.cuMemcpyDtoDAsync_v2(address(job.to), address(job.from),
                                    static_cast<size_t>(job.elements * job.elementBytes),
                                    compute.handle()),
        "a copy", location);
  }
  if (job.elements > StridedCopy::maxElements)
    return error(pool().allocator(), MXRT_UNSUPPORTED, location,
                 "%s: a copy of %lld elements between strided views; the limit is %lld",
                 static_cast<const char *>(name.text), static_cast<long long>(job.elements),
                 static_cast<long long>(StridedCopy::maxElements));
  StridedCopy strided(job.to, job.from, walk, job.elements, job.elementBytes);
  return launch(strided.info, &strided.arguments, location);
}

/// Through pinned buffers: the copy engine reads them after this has returned.
Status CudaDevice::copyIn(DeviceBytes to, const void *from, int64_t bytes,
                          mxrt_location location) {
  MXRT_CHECK(failures.ending(location));
  if (bytes == 0)
    return success();
  Lock lock(uploadMutex);
  Current current(driver, context.handle);
  const Access access = {to.block, true};
  MXRT_CHECK(order(in, context, access, location));
  Ticket ticket;
  Status status;
  for (int64_t offset = 0; offset < bytes && status.ok(); offset += stagingBytes) {
    auto piece = static_cast<size_t>(std::min(bytes - offset, stagingBytes));
    if (uploads.full()) {
      Ticket oldest = uploads.oldest().note;
      status = failures.of(oldest.stream->wait(oldest.number), "a copy from the host", location);
      uploads.drop();
      if (status.failed())
        break;
    }
    Ring<Ticket>::Slot *slot = nullptr;
    CUresult result = uploads.next(slot);
    if (result == CUDA_SUCCESS) {
      memcpy(slot->data, static_cast<const char *>(from) + offset, piece);
      result = driver.cuMemcpyHtoDAsync_v2(address(to.data) + static_cast<uint64_t>(offset),
                                           slot->data, piece, in.handle());
    }
    if (result == CUDA_SUCCESS)
      result = in.record(ticket);
    if (result == CUDA_SUCCESS) {
      slot->note = ticket;
      uploads.take();
    }
    status = failures.of(result, "a copy from the host", location);
  }
  if (ticket.stream)
    note(context, access, ticket);
  return status;
}

/// The engine holds back writers of the source until `done`, so that its fence need not know of
/// this read.
Status CudaDevice::copyOut(void *to, DeviceBytes from, int64_t bytes, Completion done,
                           mxrt_location location) {
  MXRT_CHECK(failures.ending(location));
  if (bytes == 0) {
    done.run(done.user, success());
    return success();
  }
  Fence *fence = nullptr;
  MXRT_CHECK(fenceOf(context, from.block, location, fence));
  Fence::Before before = fence->before(false);
  return completer.copyOut(to, address(from.data), bytes,
                           before.count ? before.tickets[0] : Ticket(), done, location);
}

Status CudaDevice::copyPeer(DeviceBytes to, Device &source, DeviceBytes from, int64_t bytes,
                            mxrt_location location) {
  auto &other = static_cast<CudaDevice &>(source);
  MXRT_CHECK(failures.ending(location));
  MXRT_CHECK(other.failures.ending(location));
  if (bytes == 0)
    return success();
  Current current(driver, context.handle);
  {
    // Without peer access the driver copies through the host.
    Lock lock(peerMutex);
    uint32_t bit = 1u << source.identity().index;
    int can = 0;
    if (!(peers & bit) &&
        driver.cuDeviceCanAccessPeer(&can, context.number, other.context.number) == CUDA_SUCCESS &&
        can)
      (void)driver.cuCtxEnablePeerAccess(other.context.handle, 0);
    peers |= bit;
  }
  const Access reads = {from.block, false}, writes = {to.block, true};
  MXRT_CHECK(order(in, other.context, reads, location));
  MXRT_CHECK(order(in, context, writes, location));
  MXRT_CHECK(failures.of(driver.cuMemcpyPeerAsync(address(to.data), context.handle,
                                                  address(from.data), other.context.handle,
                                                  static_cast<size_t>(bytes), in.handle()),
                         "a copy from another GPU", location));
  Ticket ticket;
  MXRT_CHECK(failures.of(in.record(ticket), "an event", location));
  note(other.context, reads, ticket);
  note(context, writes, ticket);
  return success();
}

/// A reference that is dropped unless it is taken.
struct ContextRef {
  Context *context;
  ~ContextRef() {
    if (context)
      context->release();
  }
};

} // namespace

Result<Device *> createCudaDevice(const mxrt_allocator *alloc, int32_t index,
                                  const GpuSettings &settings, mxrt_location location) {
  const DeviceText name = deviceText({MXRT_CUDA, index});
  const Opened &opened = openDriver();
  char why[400];
  if (!opened.driver)
    snprintf(why, sizeof(why), "%s", opened.why);
  else if (index > 0 && opened.deviceCount == 1)
    snprintf(why, sizeof(why), "the only GPU is gpu:0");
  else if (index < 0 || index >= opened.deviceCount)
    snprintf(why, sizeof(why), "the GPUs are gpu:0 to gpu:%d", opened.deviceCount - 1);
  else
    why[0] = 0;
  if (why[0])
    return error(alloc, MXRT_NO_DEVICE, location,
                 "no device %s: %s\nhelp: the CPU devices are cpu:0 to cpu:%d",
                 static_cast<const char *>(name.text), static_cast<char *>(why),
                 settings.cpuDevices - 1);
  Driver &driver = *opened.driver;
  auto failed = [&](CUresult result) {
    return error(alloc, result == CUDA_ERROR_OUT_OF_MEMORY ? MXRT_OUT_OF_MEMORY : MXRT_DEVICE_FAILURE,
                 location, "%s cannot be opened: %s", static_cast<const char *>(name.text),
                 static_cast<const char *>(resultText(driver, result).text));
  };
  CUdevice number = 0;
  size_t bytes = 0;
  CUresult result = driver.cuDeviceGet(&number, index);
  if (result == CUDA_SUCCESS)
    result = driver.cuDeviceTotalMem_v2(&bytes, number);
  if (result != CUDA_SUCCESS)
    return failed(result);
  ContextRef context{newObject<Context>(alloc, *alloc, driver, number)};
  if (!context.context)
    return outOfMemory(alloc, location);
  result = context.context->open();
  if (result != CUDA_SUCCESS)
    return failed(result);
  MemoryBudget *budget = MXRT_TRY(
      MemoryBudget::create(alloc, settings.memoryLimit, static_cast<int64_t>(bytes)));
  budget->nameMemory("the device has", "of memory");
  // Waiting for issued work waits for the GPU too.
  budget->setRelief(
      [](void *host) { return static_cast<MemoryBudget *>(host)->relieve(); },
      settings.hostMemory);
  mxrt_allocator source = context.context->source();
  auto pool = Pool::create(alloc, &source, budget, name.text);
  budget->release(); // owned by the pool now
  if (pool.failed())
    return pool.takeStatus();
  auto *device = newObject<CudaDevice>(alloc, index, *pool, context.context, settings);
  if (!device) {
    (*pool)->close();
    return outOfMemory(alloc, location);
  }
  context.context = nullptr;
  return static_cast<Device *>(device);
}

} // namespace mxrt
