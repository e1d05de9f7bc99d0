// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache of loaded modules of one GPU: PTX is compiled by the driver at its first launch.

#ifndef MXRT_DEVICE_CUDA_MODULES_H
#define MXRT_DEVICE_CUDA_MODULES_H

#include "device/cuda/Memory.h"
#include "mxrt/launch.h"

namespace mxrt::cuda {

/// Thread-safe. Modules stay loaded until the cache is destroyed.
class Modules {
public:
  explicit Modules(Context &context) : context(context), modules(&context.alloc) {}
  Modules(const Modules &) = delete;
  Modules &operator=(const Modules &) = delete;
  ~Modules();

  struct Found {
    CUfunction function = nullptr;
    CUresult result = CUDA_SUCCESS;
    bool outOfMemory = false;     // for the cache's own tables
    const char *doing = nullptr;  // what failed
    char log[240] = "";           // the driver's words on PTX that it refused
  };
  /// The entry of a launch, with enough dynamic shared memory.
  Found find(const mxrt_launch_info &info);
  size_t loaded() {
    Lock lock(mutex);
    return modules.size();
  }

private:
  struct Function {
    char *name;
    CUfunction handle;
    uint32_t sharedBytes; // that the function may use by default
  };
  struct Module {
    explicit Module(const mxrt_allocator *alloc) : functions(alloc) {}
    uint64_t key = 0;
    CUmodule handle = nullptr;
    Vec<Function> functions;
  };
  Module *moduleOf(const mxrt_launch_info &info, Found &out);
  Function *functionOf(Module &module, const char *name, Found &out);

  Context &context;
  Mutex mutex;
  Vec<Box<Module>> modules; // guarded by mutex
};

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_MODULES_H
