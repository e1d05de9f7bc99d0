// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation on devices and hosts.
#include "driver/Machine.h"

#include <sys/mman.h>

namespace mxemu {

struct PoolObject {
  int device = 0;
  uint64_t threshold = 0;
};
CUmemoryPool makePool(int device) {
  auto *pool = new PoolObject;
  pool->device = device;
  machine().handles.insert(pool);
  return pool;
}
static PoolObject &poolOf(CUmemoryPool pool) {
  if (!pool || !machine().handles.count(pool))
    refuse(CUDA_ERROR_INVALID_HANDLE, "a memory pool that does not exist (any more)");
  return *pool;
}

static Allocation *allocate(CUdeviceptr *address, size_t bytes, Device &device,
                            Allocation::State state) {
  if (!address || !bytes)
    refuse(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  Allocation *allocation = device.memory->allocate(bytes, state);
  if (!allocation)
    refuse(CUDA_ERROR_OUT_OF_MEMORY);
  *address = allocation->base;
  return allocation;
}

/// The allocation that starts at the address and may be freed.
static Allocation &freeable(CUdeviceptr address) {
  DeviceMemory *memory = machine().memoryOf(address);
  Allocation *allocation = memory ? memory->find(address) : nullptr;
  if (!allocation)
    refuse(CUDA_ERROR_INVALID_VALUE, "free of an address that was never allocated");
  if (allocation->base != address)
    refuse(CUDA_ERROR_INVALID_VALUE, "free of an address inside of an allocation");
  if (allocation->state == Allocation::Freed || allocation->freeOrdered)
    refuse(CUDA_ERROR_INVALID_VALUE, "memory is freed twice");
  return *allocation;
}

static void allocateAsync(CUdeviceptr *address, size_t bytes, int device, CUstream handle) {
  auto stream = streamOf(handle);
  if (stream->capture)
    refuse(CUDA_ERROR_NOT_SUPPORTED, "allocation nodes of graphs are not supported");
  Device &owner = *machine().devices[size_t(device)];
  if (!owner.memory)
    refuse(CUDA_ERROR_INVALID_CONTEXT);
  Allocation *allocation = allocate(address, bytes, owner, Allocation::Ordered);
  allocation->async = true;
  uint64_t base = allocation->base;
  DeviceMemory *memory = owner.memory.get();
  machine().issue(stream, {[memory, base] {
                             Allocation *found = memory->find(base);
                             if (found && found->state == Allocation::Ordered)
                               found->state = Allocation::Live;
                           },
                           {},
                           false});
}

static void pinMemory(void *memory, size_t bytes, bool owned) {
  uint64_t base = reinterpret_cast<uint64_t>(memory);
  auto above = machine().pinned.lower_bound(base);
  bool overlaps = (above != machine().pinned.end() && above->first < base + bytes) ||
                  (above != machine().pinned.begin() &&
                   std::prev(above)->first + std::prev(above)->second.bytes > base);
  if (overlaps)
    refuse(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "host memory is registered twice");
  machine().pinned[base] = {bytes, owned, 0};
}
static void allocateHost(void **memory, size_t bytes) {
  if (!memory || !bytes)
    refuse(CUDA_ERROR_INVALID_VALUE);
  void *result = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (result == MAP_FAILED)
    refuse(CUDA_ERROR_OUT_OF_MEMORY);
  std::memset(result, 0xcd, bytes);
  pinMemory(result, bytes, true);
  *memory = result;
}
static void unpin(void *memory, bool owned) {
  auto found = machine().pinned.find(reinterpret_cast<uint64_t>(memory));
  if (found == machine().pinned.end() || found->second.owned != owned)
    refuse(owned ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
           "host memory is released that is not pinned this way");
  if (found->second.pending)
    refuse(CUDA_ERROR_ILLEGAL_STATE, "pinned host memory is released while " +
                                         std::to_string(found->second.pending) +
                                         " copies with it have not run");
  if (owned)
    munmap(memory, found->second.bytes);
  machine().pinned.erase(found);
}

} // namespace mxemu

using namespace mxemu;

MXEMU_API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  return enter(Need::Context,
               [&] { allocate(address, bytes, *currentDevice(), Allocation::Live); });
}
MXEMU_API CUresult cuMemFree_v2(CUdeviceptr address) {
  return enter(Need::Context, [&] {
    if (!address)
      return;
    machine().memoryOf(address) ? machine().memoryOf(address)->release(freeable(address))
                                : (void)freeable(address);
  });
}
MXEMU_API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  return enter(Need::Context,
               [&] { allocateAsync(address, bytes, currentDevice()->index, stream); });
}
MXEMU_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                           CUstream stream) {
  return enter(Need::Context, [&] { allocateAsync(address, bytes, poolOf(pool).device, stream); });
}
MXEMU_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return enter(Need::Context, [&] {
    if (!address)
      return;
    auto stream = streamOf(handle);
    if (stream->capture)
      refuse(CUDA_ERROR_NOT_SUPPORTED, "free nodes of graphs are not supported");
    freeable(address).freeOrdered = true;
    DeviceMemory *memory = machine().memoryOf(address);
    machine().issue(
        stream, {[memory, address] {
                   Allocation *found = memory->find(address);
                   if (found && found->state == Allocation::Ordered)
                     throw Finding(CUDA_ERROR_INVALID_VALUE,
                                   "memory is freed in a stream before its allocation in another");
                   if (found && found->state == Allocation::Live)
                     memory->release(*found);
                 },
                 {},
                 false});
  });
}
MXEMU_API CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
  return enter(Need::Context, [&] {
    if (!pool || !properties || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        properties->location.id < 0 || size_t(properties->location.id) >= machine().devices.size())
      refuse(CUDA_ERROR_INVALID_VALUE);
    *pool = makePool(properties->location.id);
  });
}
MXEMU_API CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return enter(Need::Context, [&] {
    PoolObject &found = poolOf(pool);
    if (machine().devices[size_t(found.device)]->defaultPool == pool)
      refuse(CUDA_ERROR_NOT_PERMITTED, "the default pool cannot be destroyed");
    machine().handles.erase(pool);
    delete pool;
  });
}
MXEMU_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return enter(Need::Context, [&] { poolOf(pool); });
}
MXEMU_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, Enum attribute, void *value) {
  return enter(Need::Context, [&] {
    if (!value)
      refuse(CUDA_ERROR_INVALID_VALUE);
    if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
      poolOf(pool).threshold = *static_cast<uint64_t *>(value);
    else
      poolOf(pool);
  });
}
MXEMU_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, Enum attribute, void *value) {
  return enter(Need::Context, [&] {
    PoolObject &found = poolOf(pool);
    if (!value)
      refuse(CUDA_ERROR_INVALID_VALUE);
    auto &device = *machine().devices[size_t(found.device)];
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<uint64_t *>(value) = found.threshold;
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *static_cast<uint64_t *>(value) = device.memory ? device.memory->used() : 0;
      break;
    default:
      refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
  });
}
MXEMU_API CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  return enter(Need::Context, [&] { allocateHost(memory, bytes); });
}
MXEMU_API CUresult cuMemAllocHost_v2(void **memory, size_t bytes) {
  return enter(Need::Context, [&] { allocateHost(memory, bytes); });
}
MXEMU_API CUresult cuMemFreeHost(void *memory) {
  return enter(Need::Context, [&] { unpin(memory, true); });
}
MXEMU_API CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned) {
  return enter(Need::Context, [&] {
    if (!memory || !bytes)
      refuse(CUDA_ERROR_INVALID_VALUE);
    pinMemory(memory, bytes, false);
  });
}
MXEMU_API CUresult cuMemHostUnregister(void *memory) {
  return enter(Need::Context, [&] { unpin(memory, false); });
}
MXEMU_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned) {
  return enter(Need::Context, [&] {
    if (!address || !machine().isPinned(reinterpret_cast<uint64_t>(memory), 1))
      refuse(CUDA_ERROR_INVALID_VALUE, "the device address of host memory that is not pinned");
    *address = reinterpret_cast<uint64_t>(memory);
  });
}
MXEMU_API CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  return enter(Need::Context, [&] {
    if (!free || !total)
      refuse(CUDA_ERROR_INVALID_VALUE);
    DeviceMemory &memory = *currentDevice()->memory;
    *free = memory.capacity() - memory.used();
    *total = memory.capacity();
  });
}
MXEMU_API CUresult cuPointerGetAttribute(void *value, Enum attribute, CUdeviceptr address) {
  return enter(Need::Init, [&] {
    if (!value)
      refuse(CUDA_ERROR_INVALID_VALUE);
    DeviceMemory *memory = machine().memoryOf(address);
    Allocation *allocation = memory ? memory->find(address) : nullptr;
    if (allocation && allocation->state == Allocation::Freed)
      allocation = nullptr;
    bool host = !allocation && machine().isPinned(address, 1);
    if (!allocation && !host)
      refuse(CUDA_ERROR_INVALID_VALUE);
    auto above = machine().pinned.upper_bound(address);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext *>(value) =
          host ? nullptr : machine().devices[size_t(memory->device())]->context;
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned *>(value) = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr *>(value) = address;
      break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!host)
        refuse(CUDA_ERROR_INVALID_VALUE);
      *static_cast<uint64_t *>(value) = address;
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<int *>(value) = 0;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int *>(value) = host ? 0 : memory->device();
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<uint64_t *>(value) = host ? std::prev(above)->first : allocation->base;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t *>(value) = host ? std::prev(above)->second.bytes : allocation->size;
      break;
    default:
      refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
  });
}

MXEMU_API const char *mxemuLeaks() {
  static thread_local std::string text;
  std::unique_lock<std::recursive_mutex> guard(machine().lock);
  text.clear();
  for (auto &device : machine().devices)
    if (device->memory)
      device->memory->forEachLive([&](const Allocation &allocation) {
        text += "device " + std::to_string(device->index) + ": " + std::to_string(allocation.size) +
                " bytes\n";
      });
  for (auto &[base, range] : machine().pinned)
    text += "pinned host memory: " + std::to_string(range.bytes) + " bytes\n";
  return text.c_str();
}
