// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initialisation, errors, devices and contexts.
#include "driver/Machine.h"

#include <dlfcn.h>

namespace mxemu {

struct ContextObject {
  int device;
};

static uint64_t deviceBytes() {
  const char *text = std::getenv("MXEMU_MEMORY_MB");
  uint64_t megabytes = text && *text ? std::strtoull(text, nullptr, 10) : 256;
  return std::max<uint64_t>(megabytes, 1) << 20;
}

CUcontext makeContext(int device) {
  // One for each device and for all time, so that a stale handle is recognised and not followed.
  static ContextObject contexts[16];
  contexts[device].device = device;
  return &contexts[device];
}
int deviceOf(CUcontext context) {
  for (auto &device : machine().devices)
    if (device->context == context)
      return device->index;
  return -1;
}

static Device &deviceAt(int index) {
  if (index < 0 || size_t(index) >= machine().devices.size())
    refuse(CUDA_ERROR_INVALID_DEVICE);
  return *machine().devices[size_t(index)];
}
template <class T> static T &out(T *pointer) {
  if (!pointer)
    refuse(CUDA_ERROR_INVALID_VALUE, "a null pointer where a result belongs");
  return *pointer;
}

static int attribute(int which) {
  switch (which) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    return 64;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    return 0x7fffffff;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    return 65535;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return 48 * 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return 163 * 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return 164 * 1024;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    return 65536;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    return 65536;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    return 1000000;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return 4;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    return 1000000;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    return 256;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return 4 << 20;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return 2048;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return 32;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return 8;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    return 2;
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    return 1;
  default:
    return 0; // what the emulated device does not have
  }
}

} // namespace mxemu

using namespace mxemu;

MXEMU_API CUresult cuInit(unsigned flags) {
  return enter(Need::Nothing, [&] {
    if (flags)
      refuse(CUDA_ERROR_INVALID_VALUE);
    if (machine().devices.empty())
      refuse(CUDA_ERROR_NO_DEVICE);
    machine().initialized = true;
  });
}
MXEMU_API CUresult cuDriverGetVersion(int *version) {
  return enter(Need::Nothing, [&] { out(version) = 13000; });
}
static const struct {
  int value;
  const char *name, *text;
} errors[] = {
#define MXEMU_ERROR(NAME, VALUE, TEXT) {VALUE, #NAME, TEXT},
#include "driver/Values.def"
};
MXEMU_API CUresult cuGetErrorName(Enum error, const char **name) {
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  *name = nullptr;
  for (auto &known : errors)
    if (known.value == error)
      *name = known.name;
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
MXEMU_API CUresult cuGetErrorString(Enum error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  for (auto &known : errors)
    if (known.value == error)
      *text = known.text;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
MXEMU_API CUresult cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t,
                                       int *status) {
  return enter(Need::Nothing, [&] {
    if (!symbol)
      refuse(CUDA_ERROR_INVALID_VALUE);
    Dl_info self;
    void *library = nullptr;
    if (dladdr(reinterpret_cast<void *>(&cuInit), &self))
      library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    // The newest version of a function has the highest suffix.
    void *found = nullptr;
    for (auto suffix : {"_v3", "_v2", ""})
      if (library && !found)
        found = dlsym(library, (std::string(symbol) + suffix).c_str());
    if (library)
      dlclose(library);
    out(function) = found;
    if (status)
      *status = found ? 0 : 1;
    if (!found)
      refuse(CUDA_ERROR_NOT_FOUND);
  });
}

MXEMU_API CUresult cuDeviceGet(int *device, int ordinal) {
  return enter(Need::Init, [&] { out(device) = deviceAt(ordinal).index; });
}
MXEMU_API CUresult cuDeviceGetCount(int *count) {
  return enter(Need::Init, [&] { out(count) = int(machine().devices.size()); });
}
MXEMU_API CUresult cuDeviceGetName(char *name, int length, int device) {
  return enter(Need::Init, [&] {
    if (length < 1)
      refuse(CUDA_ERROR_INVALID_VALUE);
    std::snprintf(&out(name), size_t(length), "Emulated GPU %d", deviceAt(device).index);
  });
}
MXEMU_API CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
  return enter(Need::Init, [&] {
    deviceAt(device);
    out(bytes) = deviceBytes();
  });
}
MXEMU_API CUresult cuDeviceGetAttribute(int *value, Enum which, int device) {
  return enter(Need::Init, [&] {
    deviceAt(device);
    out(value) = which == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device + 1 : attribute(which);
  });
}
MXEMU_API CUresult cuDeviceCanAccessPeer(int *can, int device, int peer) {
  return enter(Need::Init, [&] { out(can) = &deviceAt(device) != &deviceAt(peer); });
}
MXEMU_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, int device) {
  return enter(Need::Init, [&] {
    Device &found = deviceAt(device);
    if (!found.defaultPool)
      found.defaultPool = makePool(device);
    out(pool) = found.defaultPool;
  });
}

MXEMU_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, int device) {
  return enter(Need::Init, [&] {
    Device &found = deviceAt(device);
    if (!found.memory)
      found.memory = std::make_unique<DeviceMemory>(device, deviceBytes());
    ++found.retained;
    out(context) = found.context;
  });
}
static void resetDevice(Device &device) {
  for (auto &stream : device.streams) {
    stream->completed = stream->issued;
    stream->tasks.clear();
    stream->capture = nullptr;
  }
  device.error = 0;
  device.peers.clear();
  device.memory = nullptr;
}
MXEMU_API CUresult cuDevicePrimaryCtxRelease_v2(int device) {
  return enter(Need::Init, [&] {
    Device &found = deviceAt(device);
    if (!found.retained)
      refuse(CUDA_ERROR_INVALID_CONTEXT,
             "a primary context is released more often than it was retained");
    if (!--found.retained) {
      machine().driveDevice(found);
      resetDevice(found);
    }
  });
}
MXEMU_API CUresult cuDevicePrimaryCtxReset_v2(int device) {
  return enter(Need::Init, [&] {
    Device &found = deviceAt(device);
    bool retained = found.retained;
    resetDevice(found);
    if (retained)
      found.memory = std::make_unique<DeviceMemory>(device, deviceBytes());
  });
}
MXEMU_API CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  return enter(Need::Init, [&] {
    out(flags) = 0;
    out(active) = deviceAt(device).retained > 0;
  });
}

static void checkContext(CUcontext context) {
  if (context && (deviceOf(context) < 0 || !machine().devices[size_t(deviceOf(context))]->retained))
    refuse(CUDA_ERROR_INVALID_CONTEXT, "this context does not exist (any more)");
}
MXEMU_API CUresult cuCtxSetCurrent(CUcontext context) {
  return enter(Need::Init, [&] {
    checkContext(context);
    auto &stack = contextStack();
    if (!stack.empty())
      stack.pop_back();
    if (context)
      stack.push_back(context);
  });
}
MXEMU_API CUresult cuCtxGetCurrent(CUcontext *context) {
  return enter(Need::Init,
               [&] { out(context) = contextStack().empty() ? nullptr : contextStack().back(); });
}
MXEMU_API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return enter(Need::Init, [&] {
    if (!context)
      refuse(CUDA_ERROR_INVALID_CONTEXT);
    checkContext(context);
    contextStack().push_back(context);
  });
}
MXEMU_API CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  return enter(Need::Init, [&] {
    auto &stack = contextStack();
    if (stack.empty())
      refuse(CUDA_ERROR_INVALID_CONTEXT, "no context was pushed");
    if (context)
      *context = stack.back();
    stack.pop_back();
  });
}
MXEMU_API CUresult cuCtxGetDevice(int *device) {
  return enter(Need::Context, [&] { out(device) = currentDevice()->index; });
}
MXEMU_API CUresult cuCtxSynchronize() {
  return enter(Need::Context, [&] {
    Device &device = *currentDevice();
    for (auto &stream : device.streams)
      if (stream->capture) {
        stream->capture->invalid = true;
        refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
               "cuCtxSynchronize while a stream is capturing");
      }
    machine().driveDevice(device);
  });
}
MXEMU_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return enter(Need::Context, [&] {
    int other = deviceOf(peer);
    if (other < 0 || flags || other == currentDevice()->index)
      refuse(CUDA_ERROR_INVALID_VALUE);
    if (!currentDevice()->peers.insert(other).second)
      refuse(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  });
}
MXEMU_API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return enter(Need::Context, [&] {
    if (!currentDevice()->peers.erase(deviceOf(peer)))
      refuse(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  });
}
MXEMU_API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return enter(Need::Context, [&] {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = -2;
  });
}

MXEMU_API void mxemuReset() {
  std::unique_lock<std::recursive_mutex> guard(machine().lock);
  contextStack().clear();
  machine().reset();
}
MXEMU_API void mxemuSetSeed(uint64_t seed) {
  std::unique_lock<std::recursive_mutex> guard(machine().lock);
  machine().seed = seed;
  machine().random.seed(seed);
}
MXEMU_API const char *mxemuLastFinding() {
  static thread_local std::string text;
  std::unique_lock<std::recursive_mutex> guard(machine().lock);
  text = machine().lastFinding;
  return text.c_str();
}
MXEMU_API int mxemuFindingCount() {
  std::unique_lock<std::recursive_mutex> guard(machine().lock);
  return machine().findings;
}
MXEMU_API void mxemuStatistics(uint64_t *threadInstructions, uint64_t *nanoseconds) {
  std::unique_lock<std::recursive_mutex> guard(machine().lock);
  *threadInstructions = machine().threadInstructions;
  *nanoseconds = machine().nanoseconds;
}
