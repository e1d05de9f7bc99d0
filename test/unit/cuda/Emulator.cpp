// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator.h"

#include <dlfcn.h>
#include <fstream>
#include <sstream>

namespace mxemu {

const Cuda &cuda() {
  static const Cuda driver = [] {
    Cuda result;
    void *library = dlopen(MXEMU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw std::runtime_error(dlerror());
    auto resolve = [&](const char *name) {
      void *symbol = dlsym(library, name);
      if (!symbol)
        result.missing.push_back(name);
      return symbol;
    };
#define MXEMU_ENTRY(NAME, PARAMETERS)                                                              \
  result.NAME = reinterpret_cast<decltype(result.NAME)>(resolve(#NAME));
#include "driver/Entries.def"
#undef MXEMU_ENTRY
#define MXEMU_OWN(NAME, RESULT, PARAMETERS)                                                        \
  result.NAME = reinterpret_cast<decltype(result.NAME)>(resolve(#NAME));
    MXEMU_OWN_ENTRIES(MXEMU_OWN)
#undef MXEMU_OWN
    return result;
  }();
  return driver;
}

std::string readInput(const std::string &name) {
  std::ifstream file(std::string(MX_SOURCE_DIR) + "/test/cuda/Inputs/" + name);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string moduleText(const std::string &entries) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n" + entries;
}

std::string errorName(CUresult result) {
  const char *name = nullptr;
  cuda().cuGetErrorName(result, &name);
  return name ? name : std::to_string(result);
}

void Gpu::restart(uint64_t seed) {
  cuda().mxemuReset();
  cuda().mxemuSetSeed(seed);
  CU_OK(cuInit(0));
  CU_OK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
  CU_OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
  CU_OK(cuCtxSetCurrent(contexts[0]));
}

CUmodule load(const std::string &ptx) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuda().cuModuleLoadData(&module, ptx.c_str()), 0) << cuda().mxemuLastFinding() << "\n"
                                                              << ptx.substr(0, 2000);
  return module;
}

CUfunction find(CUmodule module, const char *name) {
  CUfunction function = nullptr;
  if (module)
    EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, name), 0) << name;
  return function;
}

} // namespace mxemu
