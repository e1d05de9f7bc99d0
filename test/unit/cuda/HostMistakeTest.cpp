// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hosts with one mistake each. Every one must show in at least one of six schedules: as an error, a
// finding or wrong data.
#include "Emulator.h"

#include <functional>

namespace mxemu {

class HostMistakes : public Gpu {
protected:
  static constexpr unsigned n = 512;
  std::vector<float> ones = std::vector<float>(n, 1.0f);
  CUfunction f = nullptr;
  CUdeviceptr x = 0, y = 0, fresh = 0;
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;

  void prepare(uint64_t seed) {
    restart(seed);
    f = find(load(readInput("kernels.ptx")), "saxpy");
    x = upload(ones), y = upload(ones), fresh = allocate(n * 4);
    CU_OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    CU_OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    CU_OK(cuEventCreate(&event, 0));
  }
  CUresult add(CUstream stream, CUdeviceptr from, CUdeviceptr to) {
    return launchIn(stream, f, Shape(n / 128, 128), from, to, 1.0f, n);
  }
  bool finding(const char *part) const {
    return std::string(cuda().mxemuLastFinding()).find(part) != std::string::npos;
  }
  /// Waits for all and says whether something was reported.
  bool failed() { return cuda().cuCtxSynchronize() != 0 || cuda().mxemuFindingCount() != 0; }
};

TEST_F(HostMistakes, AllShow) {
  const auto &c = cuda();
  struct {
    const char *name;
    std::function<bool()> shows;
  } const cases[] = {
      {"no event wait between streams",
       [&] {
         c.cuMemcpyHtoDAsync_v2(fresh, ones.data(), n * 4, a);
         add(b, fresh, y);
         c.cuStreamSynchronize(b);
         return failed();
       }},
      {"event recorded before the work",
       [&] {
         c.cuEventRecord(event, a);
         add(a, x, y);
         c.cuStreamWaitEvent(b, event, 0);
         c.cuMemcpyDtoDAsync_v2(fresh, y, n * 4, b);
         c.cuStreamSynchronize(b);
         return download<float>(fresh, n)[0] != 2.0f;
       }},
      {"wait for an event of the wrong stream",
       [&] {
         add(a, x, y);
         c.cuEventRecord(event, b);
         c.cuEventSynchronize(event);
         std::vector<float> got(n);
         c.cuMemcpyDtoH_v2(got.data(), y, n * 4);
         return got[0] != 2.0f;
       }},
      {"freed before the kernel ran",
       [&] {
         add(a, x, y);
         c.cuMemFree_v2(x);
         return failed() && finding("freed");
       }},
      {"use after free",
       [&] {
         c.cuMemFree_v2(x);
         add(nullptr, x, y);
         return failed() && finding("freed");
       }},
      {"freed twice",
       [&] {
         return c.cuMemFree_v2(x) == 0 && c.cuMemFree_v2(x) == CUDA_ERROR_INVALID_VALUE &&
                finding("twice");
       }},
      {"free inside of an allocation",
       [&] { return c.cuMemFree_v2(x + 256) == CUDA_ERROR_INVALID_VALUE && finding("inside"); }},
      {"free of host memory",
       [&] { return c.cuMemFree_v2(CUdeviceptr(ones.data())) == CUDA_ERROR_INVALID_VALUE; }},
      {"copy over the end",
       [&] {
         return c.cuMemcpyHtoD_v2(x + 4, ones.data(), n * 4) == CUDA_ERROR_INVALID_VALUE &&
                finding("over the end");
       }},
      {"host pointer as device target",
       [&] {
         std::vector<float> other(n);
         return c.cuMemcpyHtoD_v2(CUdeviceptr(other.data()), ones.data(), n * 4) ==
                CUDA_ERROR_INVALID_VALUE;
       }},
      {"device pointer as host target",
       [&] {
         return c.cuMemcpyDtoH_v2(reinterpret_cast<void *>(x), y, n * 4) ==
                CUDA_ERROR_INVALID_VALUE;
       }},
      {"memset over the end",
       [&] { return c.cuMemsetD32Async(x, 0, n + 1, a) == CUDA_ERROR_INVALID_VALUE; }},
      {"pageable source changes",
       [&] {
         std::vector<float> source(n, 2.0f);
         c.cuMemcpyHtoDAsync_v2(x, source.data(), n * 4, a);
         source[7] = 5;
         return failed() && finding("changed");
       }},
      {"pinned source changes",
       [&] {
         void *source = nullptr;
         c.cuMemHostAlloc(&source, n * 4, 0);
         c.cuMemcpyHtoDAsync_v2(x, source, n * 4, a);
         static_cast<float *>(source)[n - 1] = 5;
         return failed() && finding("changed");
       }},
      {"result read before the copy ran",
       [&] {
         std::vector<float> got(n, -1.0f);
         c.cuMemcpyDtoHAsync_v2(got.data(), x, n * 4, a);
         bool stale = got[0] != 1.0f;
         c.cuCtxSynchronize();
         return stale;
       }},
      {"pinned memory freed under a copy",
       [&] {
         void *source = nullptr;
         c.cuMemHostAlloc(&source, n * 4, 0);
         c.cuMemcpyHtoDAsync_v2(x, source, n * 4, a);
         return c.cuMemFreeHost(source) == CUDA_ERROR_ILLEGAL_STATE && finding("have not run");
       }},
      {"copy to the host of fresh memory",
       [&] {
         std::vector<float> got(n);
         return c.cuMemcpyDtoH_v2(got.data(), fresh, n * 4) != 0 && finding("never written");
       }},
      {"no context",
       [&] {
         c.cuCtxSetCurrent(nullptr);
         CUdeviceptr memory;
         return c.cuMemAlloc_v2(&memory, 4) == CUDA_ERROR_INVALID_CONTEXT;
       }},
      {"no parameters",
       [&] {
         return c.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, a, nullptr, nullptr) ==
                CUDA_ERROR_INVALID_VALUE;
       }},
      {"block too large",
       [&] { return launchIn(a, f, Shape(1, 2048), x, y, 1.0f, n) == CUDA_ERROR_INVALID_VALUE; }},
      {"empty grid",
       [&] { return launchIn(a, f, Shape(0, 32), x, y, 1.0f, n) == CUDA_ERROR_INVALID_VALUE; }},
      {"shared memory above the limit",
       [&] {
         return launchIn(a, f, Shape(1, 32, 64 << 10), x, y, 1.0f, n) == CUDA_ERROR_INVALID_VALUE;
       }},
      {"freed in another stream without order",
       [&] {
         CUdeviceptr memory;
         c.cuMemAllocAsync(&memory, n * 4, a);
         c.cuMemcpyHtoDAsync_v2(memory, ones.data(), n * 4, a);
         add(a, memory, y);
         c.cuMemFreeAsync(memory, b);
         return failed();
       }},
      {"used in another stream before its allocation",
       [&] {
         CUdeviceptr memory;
         c.cuMemAllocAsync(&memory, n * 4, a);
         c.cuMemsetD32Async(memory, 0, n, b);
         c.cuStreamSynchronize(b);
         return failed() && finding("not allocated yet");
       }},
      {"peer access that was not enabled",
       [&] {
         c.cuCtxSetCurrent(contexts[1]);
         CUdeviceptr far = upload(ones);
         c.cuCtxSetCurrent(contexts[0]);
         add(a, far, y);
         return failed() && finding("peer");
       }},
      {"kernel of another device",
       [&] {
         c.cuCtxSetCurrent(contexts[1]);
         return add(nullptr, x, y) == CUDA_ERROR_INVALID_HANDLE;
       }},
      {"stream of another device",
       [&] {
         c.cuCtxSetCurrent(contexts[1]);
         CUstream other;
         c.cuStreamCreate(&other, 0);
         c.cuCtxSetCurrent(contexts[0]);
         return add(other, x, y) == CUDA_ERROR_INVALID_HANDLE;
       }},
      {"destroyed stream",
       [&] {
         c.cuStreamDestroy_v2(a);
         return add(a, x, y) == CUDA_ERROR_INVALID_HANDLE;
       }},
      {"destroyed event",
       [&] {
         c.cuEventDestroy_v2(event);
         return c.cuEventRecord(event, a) == CUDA_ERROR_INVALID_HANDLE;
       }},
      {"wait while capturing",
       [&] {
         c.cuStreamBeginCapture_v2(a, 0);
         CUresult result = c.cuStreamSynchronize(a);
         CUgraph graph;
         return result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
                c.cuStreamEndCapture(a, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
       }},
      {"fork that is not joined",
       [&] {
         c.cuStreamBeginCapture_v2(a, 0);
         add(a, x, y);
         c.cuEventRecord(event, a);
         c.cuStreamWaitEvent(b, event, 0);
         add(b, x, y);
         CUgraph graph;
         return c.cuStreamEndCapture(a, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
       }},
      {"graph with freed memory",
       [&] {
         CUgraph graph;
         CUgraphExec exec;
         c.cuStreamBeginCapture_v2(a, 0);
         add(a, x, y);
         c.cuStreamEndCapture(a, &graph);
         c.cuGraphInstantiateWithFlags(&exec, graph, 0);
         c.cuMemFree_v2(x);
         c.cuGraphLaunch(exec, a);
         return failed() && finding("freed");
       }},
      {"driver called from a host function",
       [&] {
         CUresult inner = 0;
         c.cuLaunchHostFunc(
             a, [](void *out) { *static_cast<CUresult *>(out) = cuda().cuCtxSynchronize(); },
             &inner);
         c.cuStreamSynchronize(a);
         return inner == CUDA_ERROR_NOT_PERMITTED;
       }},
      {"host memory registered twice",
       [&] {
         c.cuMemHostRegister_v2(ones.data(), n * 4, 0);
         return c.cuMemHostRegister_v2(ones.data() + 4, 16, 0) ==
                CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
       }},
      {"module unloaded under a launch",
       [&] {
         CUmodule module = load(readInput("kernels.ptx"));
         f = find(module, "saxpy");
         add(a, x, y);
         return c.cuModuleUnload(module) == CUDA_ERROR_ILLEGAL_STATE;
       }},
      {"unknown kernel",
       [&] {
         CUfunction none;
         return c.cuModuleGetFunction(&none, load(readInput("kernels.ptx")), "nothing") ==
                CUDA_ERROR_NOT_FOUND;
       }},
  };
  EXPECT_GE(std::size(cases), 20u);
  for (auto &mistake : cases) {
    bool shown = false;
    for (uint64_t seed = 0; seed < 6 && !shown; ++seed) {
      prepare(seed);
      shown = mistake.shows();
    }
    EXPECT_TRUE(shown) << mistake.name << ": " << cuda().mxemuLastFinding();
    cuda().mxemuReset();
  }
}

/// The twins of the ordering mistakes never show.
TEST_F(HostMistakes, RightOrdersShowNothing) {
  const auto &c = cuda();
  for (uint64_t seed = 0; seed < 12; ++seed) {
    prepare(seed);
    CU_OK(cuMemcpyHtoDAsync_v2(fresh, ones.data(), n * 4, a));
    CU_OK(cuEventRecord(event, a));
    CU_OK(cuStreamWaitEvent(b, event, 0));
    ASSERT_EQ(add(b, fresh, y), 0);
    CU_OK(cuStreamSynchronize(b));
    EXPECT_EQ(download<float>(y, n), std::vector<float>(n, 2.0f));
    CUdeviceptr memory;
    CU_OK(cuMemAllocAsync(&memory, n * 4, a));
    CU_OK(cuMemcpyHtoDAsync_v2(memory, ones.data(), n * 4, a));
    ASSERT_EQ(add(a, memory, x), 0);
    CU_OK(cuEventRecord(event, a));
    CU_OK(cuStreamWaitEvent(b, event, 0));
    CU_OK(cuMemFreeAsync(memory, b));
    CU_OK(cuCtxSynchronize());
    EXPECT_EQ(c.mxemuFindingCount(), 0) << c.mxemuLastFinding();
  }
}

TEST_F(HostMistakes, HostsCannotReadDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  prepare(0);
  volatile float *device = reinterpret_cast<float *>(x);
  EXPECT_DEATH({ [[maybe_unused]] float value = *device; }, "");
}

} // namespace mxemu
