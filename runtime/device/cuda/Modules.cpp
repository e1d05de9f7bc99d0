// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading of PTX and lookup of its entries.

#include "device/cuda/Modules.h"

#include <cstring>

namespace mxrt::cuda {

/// Dynamic shared memory that every kernel may use; more needs an attribute of the function.
static constexpr uint32_t plainSharedBytes = 48 << 10;

/// FNV-1a.
static uint64_t hashText(const char *text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (; *text; ++text)
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
  return hash ? hash : 1;
}

/// The first line that says something.
static void keepFirstLine(char *log) {
  size_t begin = strspn(log, "\r\n ");
  size_t length = strcspn(log + begin, "\r\n");
  memmove(log, log + begin, length);
  log[length] = 0;
}

Modules::~Modules() {
  Current current(context.driver, context.handle);
  for (Box<Module> &module : modules) {
    for (Function &function : module->functions)
      releaseBytes(&context.alloc, function.name, strlen(function.name) + 1, 1);
    context.driver.cuModuleUnload(module->handle);
  }
}

Modules::Module *Modules::moduleOf(const mxrt_launch_info &info, Found &out) {
  uint64_t key = info.module_key ? info.module_key : hashText(info.module);
  for (Box<Module> &known : modules)
    if (known->key == key)
      return known.get();
  Box<Module> made(&context.alloc, newObject<Module>(&context.alloc, &context.alloc));
  if (!made || !modules.reserve(modules.size() + 1)) {
    out.outOfMemory = true;
    return nullptr;
  }
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {out.log, reinterpret_cast<void *>(sizeof(out.log) - 1)};
  out.result =
      context.driver.cuModuleLoadDataEx(&made->handle, info.module, 2, options, values);
  if (out.result != CUDA_SUCCESS) {
    keepFirstLine(out.log);
    out.doing = "the driver refuses a module";
    return nullptr;
  }
  made->key = key;
  Module *module = made.get();
  return modules.push(std::move(made)) ? module : nullptr; // there is room
}

Modules::Function *Modules::functionOf(Module &module, const char *name, Found &out) {
  for (Function &known : module.functions)
    if (strcmp(known.name, name) == 0)
      return &known;
  size_t bytes = strlen(name) + 1;
  if (!module.functions.reserve(module.functions.size() + 1)) {
    out.outOfMemory = true;
    return nullptr;
  }
  CUfunction handle = nullptr;
  out.result = context.driver.cuModuleGetFunction(&handle, module.handle, name);
  if (out.result != CUDA_SUCCESS) {
    out.doing = "a module has no such entry";
    return nullptr;
  }
  auto *copy = static_cast<char *>(allocateBytes(&context.alloc, bytes, 1));
  if (!copy) {
    out.outOfMemory = true;
    return nullptr;
  }
  memcpy(copy, name, bytes);
  return module.functions.push({copy, handle, plainSharedBytes}) ? &module.functions.back()
                                                                 : nullptr; // there is room
}

Modules::Found Modules::find(const mxrt_launch_info &info) {
  Found out;
  Lock lock(mutex);
  Module *module = moduleOf(info, out);
  Function *function = module ? functionOf(*module, info.entry, out) : nullptr;
  if (!function)
    return out;
  if (info.shared_bytes > function->sharedBytes) {
    out.result = context.driver.cuFuncSetAttribute(
        function->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        static_cast<int>(info.shared_bytes));
    out.doing = "the kernel cannot have so much shared memory";
    if (out.result != CUDA_SUCCESS)
      return out;
    function->sharedBytes = info.shared_bytes;
  }
  out.function = function->handle;
  return out;
}

} // namespace mxrt::cuda
