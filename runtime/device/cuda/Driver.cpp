// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dynamic loading of the CUDA driver, and the texts of its errors.

#include "device/cuda/Driver.h"
#include "base/Sync.h"

#include <cstdio>
#include <cstring>

namespace mxrt::cuda {

namespace {

/// The user may name another library with the same functions.
constexpr const char *libraryVariable = "MX_CUDA";
constexpr const char *libraryName = "libcuda.so.1";

/// State of the process: the library is loaded once. Written under the lock, and not after
/// `tried`.
struct Loaded {
  Mutex lock;
  std::atomic<bool> tried{false};
  Driver table;
  char why[300] = "";
  Opened opened = {nullptr, why, 0};
};
Loaded loaded;

template <typename Function> bool find(void *library, const char *name, Function &function) {
  void *symbol = os::librarySymbol(library, name);
  memcpy(&function, &symbol, sizeof(function));
  return symbol;
}

template <typename... Args> void explain(const char *format, Args... args) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-security"
  snprintf(loaded.why, sizeof(loaded.why), format, args...);
#pragma clang diagnostic pop
}

void load() {
  const char *given = os::environment(libraryVariable);
  const char *name = given && given[0] ? given : libraryName;
  void *library = os::openLibrary(name);
  if (!library)
    return explain("the CUDA driver %.200s was not found", name);
  Driver &driver = loaded.table;
  for (const char *wanted : functionNames)
    if (!os::librarySymbol(library, wanted))
      return explain("the CUDA driver %.150s has no function %s; install a newer one", name, wanted);
#define MXRT_CUDA(symbol, parameters) find(library, #symbol, driver.symbol);
#include "device/cuda/Driver.def"
  CUresult result = driver.cuInit(0);
  if (result == CUDA_ERROR_STUB_LIBRARY)
    return explain("%.200s is the CUDA toolkit's stub, not a driver", name);
  int count = 0;
  if (result == CUDA_SUCCESS)
    result = driver.cuDeviceGetCount(&count);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && count == 0))
    return explain("the CUDA driver found no GPU");
  if (result != CUDA_SUCCESS)
    return explain("the CUDA driver does not start: %s",
                   static_cast<const char *>(resultText(driver, result).text));
  loaded.opened.driver = &driver;
  loaded.opened.deviceCount = count;
}

} // namespace

const Opened &openDriver() {
  if (loaded.tried.load(std::memory_order_acquire))
    return loaded.opened;
  Lock lock(loaded.lock);
  if (!loaded.tried.load(std::memory_order_relaxed)) {
    load();
    loaded.tried.store(true, std::memory_order_release);
  }
  return loaded.opened;
}

ResultText resultText(const Driver &driver, CUresult result) {
  const char *name = nullptr, *text = nullptr;
  if (driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = "CUDA error";
  if (driver.cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    text = "no description";
  ResultText made;
  snprintf(made.text, sizeof(made.text), "%s (%d): %s", name, result, text);
  return made;
}

bool isSticky(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_UNKNOWN:
    return true;
  default: // stack, instruction, alignment, address space, program counter, launch
    return result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED;
  }
}

} // namespace mxrt::cuda
