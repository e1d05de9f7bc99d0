// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulated driver, opened by its path as a program would open libcuda.so.1, and shorthands for
// tests.
#pragma once

#include "driver/Cuda.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace mxemu {

struct Cuda {
#define MXEMU_ENTRY(NAME, PARAMETERS) CUresult(*NAME) PARAMETERS = nullptr;
#include "driver/Entries.def"
#undef MXEMU_ENTRY
#define MXEMU_OWN(NAME, RESULT, PARAMETERS) RESULT(*NAME) PARAMETERS = nullptr;
  MXEMU_OWN_ENTRIES(MXEMU_OWN)
#undef MXEMU_OWN
  std::vector<std::string> missing;
};
const Cuda &cuda();

/// A file of test/cuda/Inputs.
std::string readInput(const std::string &name);
/// A whole module around the text of entries and variables.
std::string moduleText(const std::string &entries);

/// A fresh machine with the context of device 0 current.
class Gpu : public testing::Test {
protected:
  void SetUp() override { restart(0); }
  void TearDown() override { cuda().mxemuReset(); }
  void restart(uint64_t seed);
  CUcontext contexts[2] = {};
};

std::string errorName(CUresult result);
#define CU_OK(CALL)                                                                                \
  do {                                                                                             \
    ::mxemu::CUresult result_ = ::mxemu::cuda().CALL;                                              \
    ASSERT_EQ(result_, 0) << #CALL << ": " << ::mxemu::errorName(result_) << ", "                  \
                          << ::mxemu::cuda().mxemuLastFinding();                                   \
  } while (0)

CUmodule load(const std::string &ptx);
CUfunction find(CUmodule module, const char *name);

/// Device memory with a host copy's content.
template <class T> CUdeviceptr upload(const std::vector<T> &values) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&address, values.size() * sizeof(T)), 0);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(T)), 0);
  return address;
}
inline CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&address, bytes), 0);
  return address;
}
template <class T> std::vector<T> download(CUdeviceptr address, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(values.data(), address, count * sizeof(T)), 0)
      << cuda().mxemuLastFinding();
  return values;
}

struct Shape {
  unsigned grid[3] = {1, 1, 1}, block[3] = {32, 1, 1}, shared = 0;
  Shape(unsigned grid, unsigned block, unsigned shared = 0)
      : grid{grid, 1, 1}, block{block, 1, 1}, shared(shared) {}
  Shape(unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned shared)
      : grid{gx, gy, 1}, block{bx, by, 1}, shared(shared) {}
};
template <class... Args>
CUresult launchIn(CUstream stream, CUfunction function, Shape shape, Args... args) {
  void *params[] = {static_cast<void *>(&args)..., nullptr};
  return cuda().cuLaunchKernel(function, shape.grid[0], shape.grid[1], shape.grid[2],
                               shape.block[0], shape.block[1], shape.block[2], shape.shared, stream,
                               params, nullptr);
}
/// Launches and waits.
template <class... Args> CUresult launch(CUfunction function, Shape shape, Args... args) {
  CUresult result = launchIn(nullptr, function, shape, args...);
  return result ? result : cuda().cuCtxSynchronize();
}

} // namespace mxemu
