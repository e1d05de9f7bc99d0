// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and memsets. An asynchronous copy reads its source when it runs, not when it is issued.
#include "driver/Machine.h"

#include <sys/uio.h>
#include <unistd.h>

namespace mxemu {

/// One side of a copy: `rows` rows of `width` bytes, `pitch` apart.
struct Side {
  uint64_t address = 0;
  uint64_t pitch = 0;
  bool device = false;
};

static std::string amount(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

/// Finds the side in device memory and checks its bounds; host memory stays as it is.
static void settle(Side &side, uint64_t width, uint64_t rows, int expectDevice, const char *role) {
  DeviceMemory *memory = machine().memoryOf(side.address);
  side.device = memory != nullptr;
  if (expectDevice == 1 && !memory && !machine().isPinned(side.address, 1))
    refuse(CUDA_ERROR_INVALID_VALUE,
           std::string("the ") + role + " of a copy is not device memory");
  if (expectDevice == 0 && memory)
    refuse(CUDA_ERROR_INVALID_VALUE, std::string("the ") + role + " of a copy is not host memory");
  if (!memory)
    return;
  Allocation *allocation = memory->find(side.address);
  if (!allocation || allocation->state == Allocation::Freed)
    refuse(CUDA_ERROR_INVALID_VALUE, std::string("the ") + role + " of a copy is " +
                                         (allocation ? "freed memory" : "not allocated"));
  uint64_t extent = (rows - 1) * side.pitch + width;
  if (side.address - allocation->base + extent > allocation->size)
    refuse(CUDA_ERROR_INVALID_VALUE,
           std::string("the ") + role + " of a copy of " + amount(extent) +
               " reaches over the end of an allocation of " + amount(allocation->size));
}

/// The bytes of a row when the copy runs, and their states (null on the host).
static char *rowBytes(const Side &side, uint64_t row, uint64_t width, const char *role,
                      uint8_t *&states) {
  uint64_t address = side.address + row * side.pitch;
  states = nullptr;
  if (!side.device)
    return reinterpret_cast<char *>(address);
  DeviceMemory *memory = machine().memoryOf(address);
  Allocation *allocation = memory ? memory->find(address) : nullptr;
  if (!allocation || allocation->state == Allocation::Freed)
    throw Finding(CUDA_ERROR_ILLEGAL_ADDRESS, std::string("use of freed memory: the ") + role +
                                                  " of a copy was freed before the copy ran");
  if (allocation->state == Allocation::Ordered)
    throw Finding(CUDA_ERROR_ILLEGAL_ADDRESS,
                  std::string("the ") + role + " of a copy is not allocated yet in stream order");
  if (address - allocation->base + width > allocation->size)
    throw Finding(CUDA_ERROR_ILLEGAL_ADDRESS,
                  std::string("the ") + role + " of a copy is out of bounds");
  states = memory->states(address);
  return memory->bytes(address);
}

static uint64_t hashBytes(uint64_t hash, const char *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    hash = (hash ^ uint8_t(bytes[i])) * 0x100000001b3;
  return hash;
}
static bool readable(const char *bytes, uint64_t count) {
  if (!count)
    return true;
  // A read by the kernel fails where ours would fault.
  for (uint64_t at = 0; at < count; at += 4096) {
    char byte;
    iovec local{&byte, 1}, remote{const_cast<char *>(bytes + at), 1};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1 && errno == EFAULT)
      return false;
  }
  return true;
}
static uint64_t hashSource(const Side &side, uint64_t width, uint64_t rows) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t row = 0; row < rows; ++row)
    hash = hashBytes(hash, reinterpret_cast<const char *>(side.address + row * side.pitch), width);
  return hash;
}

static void transfer(const Side &to, const Side &from, uint64_t width, uint64_t rows) {
  for (uint64_t row = 0; row < rows; ++row) {
    uint8_t *toStates, *fromStates;
    char *target = rowBytes(to, row, width, "target", toStates);
    char *source = rowBytes(from, row, width, "source", fromStates);
    if (fromStates && !toStates && machine().checkInit)
      for (uint64_t i = 0; i < width; ++i)
        if (fromStates[i] == NeverWritten)
          throw Finding(CUDA_ERROR_LAUNCH_FAILED,
                        "a copy to the host of device memory that was never written (byte " +
                            std::to_string(i) + " of " + std::to_string(width) + ")");
    std::memmove(target, source, width);
    if (toStates && fromStates)
      std::memmove(toStates, fromStates, width);
    else if (toStates)
      std::memset(toStates, Written, width);
  }
}

struct Expect {
  int target = -1, source = -1; // 1 device, 0 host, -1 either
};

static void copy(Side to, Side from, uint64_t width, uint64_t rows, Expect expect,
                 const std::shared_ptr<Stream> &stream, bool wait) {
  if (!width || !rows)
    return;
  settle(to, width, rows, expect.target, "target");
  settle(from, width, rows, expect.source, "source");
  if (!from.device &&
      !readable(reinterpret_cast<char *>(from.address), (rows - 1) * from.pitch + width))
    refuse(CUDA_ERROR_INVALID_VALUE, "the source of a copy is not mapped");
  std::vector<HostRange *> pins;
  for (auto *side : {&to, &from})
    if (!side->device && !wait && !stream->capture)
      if (HostRange *range = machine().pinnedRange(side->address, 1)) {
        ++range->pending;
        pins.push_back(range);
      }
  bool check = !from.device && !wait && !stream->capture;
  uint64_t hash = check ? hashSource(from, width, rows) : 0;
  Node node;
  node.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  node.run = [=] {
    for (HostRange *range : pins)
      --range->pending;
    if (check) {
      if (!readable(reinterpret_cast<char *>(from.address), (rows - 1) * from.pitch + width))
        throw Finding(CUDA_ERROR_ILLEGAL_ADDRESS,
                      "the host memory of an asynchronous copy was unmapped before the copy ran");
      if (hashSource(from, width, rows) != hash)
        throw Finding(CUDA_ERROR_LAUNCH_FAILED,
                      "the source of an asynchronous copy was changed before the copy ran");
    }
    transfer(to, from, width, rows);
  };
  if (!wait)
    return issueOrCapture(stream, std::move(node));
  if (stream->capture)
    refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  Task task;
  task.run = std::move(node.run);
  machine().drive(machine().issue(stream, std::move(task)));
}

static Side at(uint64_t address) { return {address, 0, false}; }
static Side at(const void *address) { return {reinterpret_cast<uint64_t>(address), 0, false}; }
static std::shared_ptr<Stream> legacy() { return currentDevice()->legacy; }

static void copy2D(const CUDA_MEMCPY2D *c, const std::shared_ptr<Stream> &stream, bool wait) {
  if (!c)
    refuse(CUDA_ERROR_INVALID_VALUE);
  auto side = [&](Enum type, const void *host, CUdeviceptr device, size_t x, size_t y,
                  size_t pitch) {
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
      refuse(CUDA_ERROR_NOT_SUPPORTED, "copies of arrays are not supported");
    if (pitch && pitch < c->WidthInBytes + x)
      refuse(CUDA_ERROR_INVALID_VALUE, "a pitch that is smaller than a row");
    uint64_t base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
    size_t step = pitch ? pitch : c->WidthInBytes + x;
    return Side{base + y * step + x, step, false};
  };
  Side to = side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstPitch);
  Side from =
      side(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, c->srcPitch);
  auto expect = [](Enum type) {
    return type == CU_MEMORYTYPE_HOST ? 0 : type == CU_MEMORYTYPE_DEVICE ? 1 : -1;
  };
  copy(to, from, c->WidthInBytes, c->Height, {expect(c->dstMemoryType), expect(c->srcMemoryType)},
       stream, wait);
}

template <class T>
static void fill(CUdeviceptr target, T value, size_t count, const std::shared_ptr<Stream> &stream) {
  if (!count)
    return;
  if (target % sizeof(T))
    refuse(CUDA_ERROR_INVALID_VALUE, "a memset of a misaligned address");
  Side to = at(target);
  uint64_t bytes = count * sizeof(T);
  settle(to, bytes, 1, 1, "target");
  Node node;
  node.type = CU_GRAPH_NODE_TYPE_MEMSET;
  node.run = [=] {
    uint8_t *states;
    char *memory = rowBytes(to, 0, bytes, "target", states);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(memory + i * sizeof(T), &value, sizeof(T));
    if (states)
      std::memset(states, Written, bytes);
  };
  issueOrCapture(stream, std::move(node));
}

static void peer(CUdeviceptr target, CUcontext toContext, CUdeviceptr source, CUcontext fromContext,
                 size_t bytes, const std::shared_ptr<Stream> &stream) {
  for (auto [address, context, role] :
       {std::tuple(target, toContext, "target"), std::tuple(source, fromContext, "source")}) {
    DeviceMemory *memory = machine().memoryOf(address);
    if (!memory || memory->device() != deviceOf(context))
      refuse(CUDA_ERROR_INVALID_VALUE,
             std::string("the ") + role + " of a peer copy is not memory of its context");
  }
  copy(at(target), at(source), bytes, 1, {1, 1}, stream, false);
}

} // namespace mxemu

using namespace mxemu;

MXEMU_API CUresult cuMemcpy(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
  return enter(Need::Context, [&] { copy(at(target), at(source), bytes, 1, {}, legacy(), true); });
}
MXEMU_API CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes,
                                 CUstream stream) {
  return enter(Need::Context,
               [&] { copy(at(target), at(source), bytes, 1, {}, streamOf(stream), false); });
}
MXEMU_API CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t bytes) {
  return enter(Need::Context, [&] {
    copy(at(target), at(source), bytes, 1, {1, 0}, legacy(), true);
  });
}
MXEMU_API CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t bytes) {
  return enter(Need::Context, [&] {
    copy(at(target), at(source), bytes, 1, {0, 1}, legacy(), true);
  });
}
MXEMU_API CUresult cuMemcpyDtoD_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
  return enter(Need::Context, [&] {
    copy(at(target), at(source), bytes, 1, {1, 1}, legacy(), false);
  });
}
MXEMU_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t bytes,
                                        CUstream stream) {
  return enter(Need::Context, [&] {
    copy(at(target), at(source), bytes, 1, {1, 0}, streamOf(stream), false);
  });
}
MXEMU_API CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes,
                                        CUstream stream) {
  return enter(Need::Context, [&] {
    copy(at(target), at(source), bytes, 1, {0, 1}, streamOf(stream), false);
  });
}
MXEMU_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes,
                                        CUstream stream) {
  return enter(Need::Context, [&] {
    copy(at(target), at(source), bytes, 1, {1, 1}, streamOf(stream), false);
  });
}
MXEMU_API CUresult cuMemcpyPeer(CUdeviceptr target, CUcontext toContext, CUdeviceptr source,
                                CUcontext fromContext, size_t bytes) {
  return enter(Need::Context,
               [&] { peer(target, toContext, source, fromContext, bytes, legacy()); });
}
MXEMU_API CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext toContext, CUdeviceptr source,
                                     CUcontext fromContext, size_t bytes, CUstream stream) {
  return enter(Need::Context,
               [&] { peer(target, toContext, source, fromContext, bytes, streamOf(stream)); });
}
MXEMU_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c) {
  return enter(Need::Context, [&] { copy2D(c, legacy(), true); });
}
MXEMU_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream) {
  return enter(Need::Context, [&] { copy2D(c, streamOf(stream), false); });
}
MXEMU_API CUresult cuMemsetD8_v2(CUdeviceptr target, unsigned char value, size_t count) {
  return enter(Need::Context, [&] { fill(target, value, count, legacy()); });
}
MXEMU_API CUresult cuMemsetD16_v2(CUdeviceptr target, unsigned short value, size_t count) {
  return enter(Need::Context, [&] { fill(target, value, count, legacy()); });
}
MXEMU_API CUresult cuMemsetD32_v2(CUdeviceptr target, unsigned value, size_t count) {
  return enter(Need::Context, [&] { fill(target, value, count, legacy()); });
}
MXEMU_API CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t count,
                                   CUstream stream) {
  return enter(Need::Context, [&] { fill(target, value, count, streamOf(stream)); });
}
MXEMU_API CUresult cuMemsetD16Async(CUdeviceptr target, unsigned short value, size_t count,
                                    CUstream stream) {
  return enter(Need::Context, [&] { fill(target, value, count, streamOf(stream)); });
}
MXEMU_API CUresult cuMemsetD32Async(CUdeviceptr target, unsigned value, size_t count,
                                    CUstream stream) {
  return enter(Need::Context, [&] { fill(target, value, count, streamOf(stream)); });
}
