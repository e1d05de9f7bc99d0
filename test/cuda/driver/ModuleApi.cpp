// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, functions and launches.
#include "driver/Module.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace mxemu {

void runLaunch(const Launch &launch) {
  Run run;
  run.kernel = launch.kernel.get();
  run.device = launch.device;
  run.shape = launch.shape;
  run.params = launch.params.data();
  run.serial = ++machine().runSerial;
  run.checkInit = machine().checkInit;
  run.checkRaces = machine().checkRaces;
  run.seed = machine().seed;
  run.limit = machine().stepLimit;
  auto start = std::chrono::steady_clock::now();
  auto note = [&] {
    machine().threadInstructions += run.threadInstructions;
    machine().nanoseconds += uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now() - start)
                                          .count());
  };
  try {
    runKernel(run, launch.cooperative);
  } catch (...) {
    note();
    throw;
  }
  note();
}

template <class T> static T *live(T *handle, const char *what) {
  if (!handle || !machine().handles.count(handle))
    refuse(CUDA_ERROR_INVALID_HANDLE, std::string("a ") + what + " that does not exist (any more)");
  return handle;
}

/// Memory for a variable, with its initial value.
static uint64_t allocateVariable(Device &device, const Declaration &variable, Program *known,
                              std::vector<uint64_t> &memory) {
  uint64_t bytes = std::max<uint64_t>(variable.bytes(), 1);
  Allocation *allocation = device.memory->allocate(bytes, Allocation::Live);
  if (!allocation)
    throw std::bad_alloc();
  memory.push_back(allocation->base);
  allocation->constant = variable.space == Space::Const;
  char *to = device.memory->bytes(allocation->base);
  // Variables without an initial value are zero.
  std::memset(to, 0, bytes);
  std::memset(device.memory->states(allocation->base), Written, bytes);
  unsigned size = bytesOf(variable.type);
  for (size_t i = 0; i < variable.initial.size(); ++i) {
    auto &item = variable.initial[i];
    uint64_t bits = item.value.bits;
    if (!item.symbol.empty()) {
      auto found = known->globals.find(item.symbol);
      if (found == known->globals.end())
        throw PtxError(variable.line, "unknown name '" + item.symbol + "' in an initial value");
      bits += found->second.address;
    } else if (isFloat(variable.type)) {
      double value;
      float narrow;
      uint32_t word = uint32_t(bits);
      std::memcpy(&narrow, &word, 4);
      if (item.value.kind == Literal::Single)
        value = narrow;
      else if (item.value.kind == Literal::Double)
        std::memcpy(&value, &bits, 8);
      else
        value = double(bits);
      if (item.negative)
        value = -value;
      if (variable.type == Ty::F64) {
        std::memcpy(&bits, &value, 8);
      } else if (variable.type == Ty::F32) {
        narrow = float(value);
        std::memcpy(&word, &narrow, 4);
        bits = word;
      } else {
        bits = variable.type == Ty::BF16 ? Number<BHalf>::make(value).bits
                                         : Number<Half>::make(value).bits;
      }
    } else if (item.negative) {
      bits = -bits;
    }
    std::memcpy(to + i * size, &bits, size);
  }
  return allocation->base;
}

static void load(CUmodule *result, const void *image, std::string &log) {
  if (!result || !image)
    refuse(CUDA_ERROR_INVALID_VALUE);
  Device &device = *currentDevice();
  std::string_view text(static_cast<const char *>(image));
  if (text.substr(0, 4) == "\x7f"
                           "ELF")
    refuse(CUDA_ERROR_INVALID_IMAGE, "the emulator loads PTX, not cubins");
  auto module = std::make_shared<Module>();
  module->device = device.index;
  try {
    // Initial values may hold addresses of variables that come before.
    Program early;
    module->program = compile(text, [&](const Declaration &variable) {
      uint64_t address = allocateVariable(device, variable, &early, module->memory);
      early.globals[variable.name] = {variable, address};
      return address;
    });
  } catch (const PtxError &error) {
    for (uint64_t address : module->memory)
      device.memory->release(*device.memory->find(address));
    log = std::string("ptx error: ") + error.what();
    refuse(CUDA_ERROR_INVALID_PTX, log);
  }
  auto *handle = new ModuleObject{module, {}};
  machine().handles.insert(handle);
  *result = handle;
}

CUfunction functionHandle(CUfunction function) { return live(function, "function"); }

std::shared_ptr<Launch> makeLaunch(CUfunction function, const LaunchShape &shape, void **params,
                                   void **extra, bool cooperative) {
  live(function, "function");
  const Kernel &kernel = *function->kernel;
  Device &device = *currentDevice();
  if (function->module->device != device.index)
    refuse(CUDA_ERROR_INVALID_HANDLE,
           "kernel " + kernel.name + " was loaded in the context of another device");
  uint64_t threads = uint64_t(shape.block[0]) * shape.block[1] * shape.block[2];
  uint64_t blocks = uint64_t(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  if (!threads || !blocks || shape.block[0] > 1024 || shape.block[1] > 1024 ||
      shape.block[2] > 64 || threads > 1024 || shape.grid[0] > 0x7fffffff ||
      shape.grid[1] > 65535 || shape.grid[2] > 65535 || blocks > 0x7fffffff)
    refuse(CUDA_ERROR_INVALID_VALUE,
           "kernel " + kernel.name + ": a grid or block of this size does not exist");
  if (threads > kernel.maxThreads)
    refuse(CUDA_ERROR_INVALID_VALUE, "kernel " + kernel.name + ": more threads than its .maxntid");
  if (shape.dynamicShared > function->maxDynamicShared ||
      kernel.dynamicOffset + uint64_t(shape.dynamicShared) > 163 * 1024)
    refuse(CUDA_ERROR_INVALID_VALUE, "kernel " + kernel.name + ": " +
                                         std::to_string(shape.dynamicShared) +
                                         " bytes of dynamic shared memory, but its limit is " +
                                         std::to_string(function->maxDynamicShared));
  if (extra)
    refuse(CUDA_ERROR_NOT_SUPPORTED, "the argument `extra` of launches is not supported");
  if (!params && !kernel.params.empty())
    refuse(CUDA_ERROR_INVALID_VALUE,
           "kernel " + kernel.name + " has parameters, but none were given");
  auto launch = std::make_shared<Launch>();
  launch->kernel = function->kernel;
  launch->module = function->module;
  launch->device = &device;
  launch->shape = shape;
  launch->function = function;
  launch->cooperative = cooperative;
  launch->params.resize(kernel.paramBytes + 16);
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (!params[i])
      refuse(CUDA_ERROR_INVALID_VALUE,
             "kernel " + kernel.name + ": parameter " + std::to_string(i) + " is null");
    std::memcpy(&launch->params[kernel.params[i].offset], params[i], kernel.params[i].bytes);
  }
  return launch;
}

static void launchKernel(CUfunction function, const LaunchShape &shape, CUstream handle,
                         void **params, void **extra, bool cooperative) {
  auto stream = streamOf(handle);
  auto launch = makeLaunch(function, shape, params, extra, cooperative);
  if (stream->device != launch->device)
    refuse(CUDA_ERROR_INVALID_HANDLE,
           "kernel " + launch->kernel->name + " is launched in a stream of another device");
  Node node;
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  node.launch = launch;
  if (!stream->capture) {
    ++launch->module->pending;
    node.run = [launch] {
      --launch->module->pending;
      runLaunch(*launch);
    };
  }
  issueOrCapture(stream, std::move(node));
}

static int activeBlocks(CUfunction function, int threads, size_t dynamicShared) {
  if (threads < 1 || threads > 1024)
    refuse(CUDA_ERROR_INVALID_VALUE);
  const Kernel &kernel = *function->kernel;
  int warps = (threads + 31) / 32;
  int byThreads = 64 / warps, byRegisters = int(65536 / (kernel.registers * 32 * unsigned(warps)));
  size_t shared = kernel.sharedBytes + dynamicShared;
  int byShared = shared ? int(164 * 1024 / (shared + 1024)) : 32;
  return std::min({32, byThreads, byRegisters, byShared});
}

} // namespace mxemu

using namespace mxemu;

MXEMU_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                      Enum *options, void **values) {
  std::string log;
  CUresult result = enter(Need::Context, [&] { load(module, image, log); });
  char *buffer = nullptr;
  size_t room = 0, sizeAt = count;
  for (unsigned i = 0; i < count && options && values; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      room = size_t(values[i]) & 0xffffffff; // an unsigned int instead of the pointer
      sizeAt = i;
    }
  }
  if (buffer && room)
    std::snprintf(buffer, room, "%s", log.c_str());
  if (sizeAt < count)
    values[sizeAt] = reinterpret_cast<void *>(std::min(room, log.size()));
  return result;
}
MXEMU_API CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  std::string log;
  return enter(Need::Context, [&] { load(module, image, log); });
}
MXEMU_API CUresult cuModuleUnload(CUmodule module) {
  return enter(Need::Context, [&] {
    live(module, "module");
    if (module->module->pending)
      refuse(CUDA_ERROR_ILLEGAL_STATE, "a module is unloaded while " +
                                           std::to_string(module->module->pending) +
                                           " of its launches have not run");
    machine().handles.erase(module);
    for (auto &[name, function] : module->functions)
      machine().handles.erase(function.get());
    Device &device = *machine().devices[size_t(module->module->device)];
    for (uint64_t address : module->module->memory)
      if (Allocation *allocation = device.memory ? device.memory->find(address) : nullptr)
        device.memory->release(*allocation);
    delete module;
  });
}
MXEMU_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  return enter(Need::Context, [&] {
    live(module, "module");
    if (!function || !name)
      refuse(CUDA_ERROR_INVALID_VALUE);
    auto found = module->module->program.kernels.find(name);
    if (found == module->module->program.kernels.end())
      refuse(CUDA_ERROR_NOT_FOUND, std::string("the module has no kernel '") + name + "'");
    auto &handle = module->functions[name];
    if (!handle) {
      handle = std::make_unique<FunctionObject>();
      handle->kernel = found->second;
      handle->module = module->module;
      machine().handles.insert(handle.get());
    }
    *function = handle.get();
  });
}
MXEMU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module,
                                        const char *name) {
  return enter(Need::Context, [&] {
    live(module, "module");
    if (!name)
      refuse(CUDA_ERROR_INVALID_VALUE);
    auto &globals = module->module->program.globals;
    auto found = globals.find(name);
    if (found == globals.end())
      refuse(CUDA_ERROR_NOT_FOUND, std::string("the module has no variable '") + name + "'");
    if (address)
      *address = found->second.address;
    if (bytes)
      *bytes = found->second.declaration.bytes();
  });
}
MXEMU_API CUresult cuFuncGetAttribute(int *value, Enum attribute, CUfunction function) {
  return enter(Need::Context, [&] {
    live(function, "function");
    if (!value)
      refuse(CUDA_ERROR_INVALID_VALUE);
    const Kernel &kernel = *function->kernel;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = int(kernel.maxThreads);
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = int(kernel.sharedBytes);
      break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = int(kernel.localBytes);
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = int(kernel.registers);
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = 80;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = int(function->maxDynamicShared);
      break;
    default:
      *value = 0;
      break;
    }
  });
}
MXEMU_API CUresult cuFuncSetAttribute(CUfunction function, Enum attribute, int value) {
  return enter(Need::Context, [&] {
    live(function, "function");
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
      return;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        unsigned(value) + function->kernel->dynamicOffset > 163 * 1024)
      refuse(CUDA_ERROR_INVALID_VALUE);
    function->maxDynamicShared = unsigned(value);
  });
}
MXEMU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                               int threads, size_t dynamicShared) {
  return enter(Need::Context, [&] {
    live(function, "function");
    if (!blocks)
      refuse(CUDA_ERROR_INVALID_VALUE);
    *blocks = activeBlocks(function, threads, dynamicShared);
  });
}
MXEMU_API CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                                    size_t (*shared)(int), size_t dynamicShared,
                                                    int limit) {
  return enter(Need::Context, [&] {
    live(function, "function");
    if (!grid || !block)
      refuse(CUDA_ERROR_INVALID_VALUE);
    int max = std::min(limit > 0 ? limit : 1024, int(function->kernel->maxThreads)), best = 0;
    *block = *grid = 0;
    for (int threads = max / 32 * 32; threads >= 32; threads -= 32) {
      int blocks = activeBlocks(function, threads, shared ? shared(threads) : dynamicShared);
      if (blocks * threads > best) {
        best = blocks * threads;
        *block = threads;
        *grid = blocks * 4;
      }
    }
  });
}
MXEMU_API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  CUstream stream, void **params, void **extra) {
  return enter(Need::Context, [&] {
    launchKernel(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, params, extra, false);
  });
}
MXEMU_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy,
                                             unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                             unsigned shared, CUstream stream, void **params) {
  return enter(Need::Context, [&] {
    live(function, "function");
    if (uint64_t(gx) * gy * gz > uint64_t(4 * activeBlocks(function, int(bx * by * bz), shared)))
      refuse(CUDA_ERROR_INVALID_VALUE, "a cooperative launch needs all its blocks at once");
    launchKernel(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, params, nullptr, true);
  });
}
MXEMU_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                    void **params, void **extra) {
  return enter(Need::Context, [&] {
    if (!config)
      refuse(CUDA_ERROR_INVALID_VALUE);
    bool cooperative = false;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const CUlaunchAttribute &attribute = config->attrs[i];
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        cooperative = attribute.value.cooperative;
      else if (attribute.id != CU_LAUNCH_ATTRIBUTE_IGNORE &&
               attribute.id != CU_LAUNCH_ATTRIBUTE_PRIORITY)
        refuse(CUDA_ERROR_NOT_SUPPORTED,
               "launch attribute " + std::to_string(attribute.id) + " is not supported");
    }
    launchKernel(function,
                 {{config->gridDimX, config->gridDimY, config->gridDimZ},
                  {config->blockDimX, config->blockDimY, config->blockDimZ},
                  config->sharedMemBytes},
                 config->hStream, params, extra, cooperative);
  });
}
