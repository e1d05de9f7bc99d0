// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver as hosts use it: two devices, streams, events, copies, graphs.
#include "Emulator.h"

#include <atomic>
#include <random>
#include <thread>

namespace mxemu {

class Host : public Gpu {
protected:
  static constexpr unsigned n = 1000;
  std::vector<float> ones = std::vector<float>(n, 1.0f);
  CUfunction saxpy() { return find(load(readInput("kernels.ptx")), "saxpy"); }
  Shape shape() { return Shape((n + 127) / 128, 128); }
};

TEST_F(Host, EveryEntryPointIsThere) {
  EXPECT_TRUE(cuda().missing.empty()) << cuda().missing.front();
  void *function = nullptr;
  int status = 5;
  CU_OK(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void *>(cuda().cuMemAlloc_v2));
}

TEST_F(Host, DevicesAndContexts) {
  int count = 0, value = 0;
  CU_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  CU_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));
  EXPECT_EQ(value, 32);
  EXPECT_EQ(cuda().cuDeviceGet(&value, 2), CUDA_ERROR_INVALID_DEVICE);
  char name[64];
  CU_OK(cuDeviceGetName(name, 64, 1));
  EXPECT_STREQ(name, "Emulated GPU 1");
  CUcontext top = nullptr;
  CU_OK(cuCtxPushCurrent_v2(contexts[1]));
  CU_OK(cuCtxGetDevice(&value));
  EXPECT_EQ(value, 1);
  CU_OK(cuCtxPopCurrent_v2(&top));
  EXPECT_EQ(top, contexts[1]);
  CU_OK(cuCtxGetDevice(&value));
  EXPECT_EQ(value, 0);
  size_t free = 0, total = 0, after = 0;
  CU_OK(cuMemGetInfo_v2(&free, &total));
  CUdeviceptr memory = allocate(1 << 20);
  CU_OK(cuMemGetInfo_v2(&after, &total));
  EXPECT_EQ(free - after, 1u << 20);
  CUdeviceptr huge;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&huge, total), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(std::string(cuda().mxemuLeaks()).find("device 0: 1048576 bytes"), std::string::npos);
  CU_OK(cuMemFree_v2(memory));
  EXPECT_STREQ(cuda().mxemuLeaks(), "");
}

TEST_F(Host, MemoryIsReusedWhenTheWindowIsFull) {
  setenv("MXEMU_MEMORY_MB", "8", 1);
  restart(0);
  unsetenv("MXEMU_MEMORY_MB");
  CUdeviceptr kept = upload(ones);
  for (int i = 0; i < 40; ++i) { // 80 MiB of 8
    CUdeviceptr memory = 0;
    CU_OK(cuMemAlloc_v2(&memory, 2 << 20));
    CU_OK(cuMemsetD8_v2(memory, 7, 2 << 20));
    CU_OK(cuCtxSynchronize());
    CU_OK(cuMemFree_v2(memory));
  }
  EXPECT_EQ(download<float>(kept, n), ones);
}

TEST_F(Host, TwoDevicesPeerCopiesAndEvents) {
  for (uint64_t seed : {0, 1, 2, 3, 4, 5}) {
    restart(seed);
    CUfunction first = saxpy();
    CUdeviceptr x0 = upload(ones), y0 = upload(ones);
    CUstream s0, s1;
    CUevent e0, e1;
    CU_OK(cuStreamCreate(&s0, CU_STREAM_NON_BLOCKING));
    CU_OK(cuEventCreate(&e0, CU_EVENT_DISABLE_TIMING));
    CU_OK(cuCtxSetCurrent(contexts[1]));
    CUfunction second = saxpy();
    CUdeviceptr x1 = upload(ones), y1 = allocate(n * 4);
    CU_OK(cuStreamCreateWithPriority(&s1, CU_STREAM_NON_BLOCKING, -1));
    CU_OK(cuEventCreate(&e1, 0));
    CU_OK(cuCtxSetCurrent(contexts[0]));
    ASSERT_EQ(launchIn(s0, first, shape(), x0, y0, 2.0f, n), 0); // 3
    CU_OK(cuMemcpyPeerAsync(y1, contexts[1], y0, contexts[0], n * 4, s0));
    CU_OK(cuEventRecord(e0, s0));
    CU_OK(cuCtxSetCurrent(contexts[1]));
    CU_OK(cuStreamWaitEvent(s1, e0, 0));
    ASSERT_EQ(launchIn(s1, second, shape(), x1, y1, 4.0f, n), 0); // 7
    CU_OK(cuEventRecord(e1, s1));
    CU_OK(cuEventSynchronize(e1));
    EXPECT_EQ(cuda().cuEventQuery(e1), 0);
    EXPECT_EQ(download<float>(y1, n), std::vector<float>(n, 7.0f)) << seed;
  }
}

TEST_F(Host, CopiesOfTwoDimensionsMemsetsAndPointers) {
  std::vector<uint32_t> host(6 * 8);
  for (size_t i = 0; i < host.size(); ++i)
    host[i] = uint32_t(i);
  CUdeviceptr device = allocate(4 * 64);
  CU_OK(cuMemsetD32_v2(device, 99, 64));
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 32;
  copy.srcXInBytes = 8;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = 64;
  copy.WidthInBytes = 12;
  copy.Height = 4;
  CU_OK(cuMemcpy2D_v2(&copy));
  auto got = download<uint32_t>(device, 64);
  for (uint32_t y = 0; y < 4; ++y)
    for (uint32_t x = 0; x < 16; ++x)
      EXPECT_EQ(got[y * 16 + x], x < 3 ? (y + 1) * 8 + x + 2 : 99);
  copy.Height = 5;
  copy.dstXInBytes = 4;
  EXPECT_EQ(cuda().cuMemcpy2D_v2(&copy), CUDA_ERROR_INVALID_VALUE);
  unsigned type = 0;
  CU_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 4));
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(cuda().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                         CUdeviceptr(host.data())),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Host, AllocationInStreamOrderAndHostFunctions) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    restart(seed);
    CUfunction function = saxpy();
    CUstream stream;
    CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr x = 0, y = upload(ones);
    CU_OK(cuMemAllocAsync(&x, n * 4, stream));
    CU_OK(cuMemcpyHtoDAsync_v2(x, ones.data(), n * 4, stream));
    ASSERT_EQ(launchIn(stream, function, shape(), x, y, 5.0f, n), 0);
    CU_OK(cuMemFreeAsync(x, stream));
    std::atomic<int> called{0};
    CU_OK(cuLaunchHostFunc(
        stream, [](void *flag) { ++*static_cast<std::atomic<int> *>(flag); }, &called));
    // Nobody waits: the function runs all the same, after what comes before it.
    while (!called)
      std::this_thread::yield();
    EXPECT_EQ(download<float>(y, n), std::vector<float>(n, 6.0f));
    EXPECT_EQ(cuda().mxemuFindingCount(), 0) << cuda().mxemuLastFinding();
  }
}

TEST_F(Host, QueriesMakeProgress) {
  for (uint64_t seed : {0, 3}) {
    restart(seed);
    CUfunction function = saxpy();
    CUdeviceptr x = upload(ones), y = upload(ones);
    CUstream stream;
    CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(launchIn(stream, function, shape(), x, y, 1.0f, n), 0);
    EXPECT_EQ(cuda().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    while (CUresult result = cuda().cuStreamQuery(stream))
      ASSERT_EQ(result, CUDA_ERROR_NOT_READY);
    EXPECT_EQ(download<float>(y, n)[n - 1], 6.0f);
  }
}

TEST_F(Host, LegacyStreamOrdersBlockingStreams) {
  for (uint64_t seed : {0, 1, 2, 3, 4}) {
    restart(seed);
    CUfunction function = saxpy();
    CUdeviceptr x = upload(ones), y = upload(ones);
    CUstream a, b;
    CU_OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    CU_OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
    ASSERT_EQ(launchIn(a, function, shape(), x, y, 1.0f, n), 0);        // y = 2
    ASSERT_EQ(launchIn(nullptr, function, shape(), y, x, 10.0f, n), 0); // x = 21
    ASSERT_EQ(launchIn(b, function, shape(), x, y, 1.0f, n), 0);        // y = 23
    CU_OK(cuStreamSynchronize(b));
    EXPECT_EQ(download<float>(y, n), std::vector<float>(n, 23.0f));
  }
}

TEST_F(Host, GraphReplayHasTheBitsOfPlainLaunches) {
  std::mt19937 random(4);
  std::vector<float> input(n);
  for (auto &value : input)
    value = std::uniform_real_distribution<float>(-1, 1)(random);
  // Two branches that are joined, three times over, with a scale that changes.
  auto issue = [&](CUstream a, CUstream b, CUevent fork, CUevent join, CUfunction f, CUdeviceptr x,
                   CUdeviceptr y, CUdeviceptr z, float scale) {
    EXPECT_EQ(launchIn(a, f, shape(), x, y, scale, n), 0);
    EXPECT_EQ(cuda().cuEventRecord(fork, a), 0);
    EXPECT_EQ(cuda().cuStreamWaitEvent(b, fork, 0), 0);
    EXPECT_EQ(launchIn(b, f, shape(), y, z, 0.5f, n), 0);
    EXPECT_EQ(launchIn(a, f, shape(), y, x, 0.25f, n), 0);
    EXPECT_EQ(cuda().cuEventRecord(join, b), 0);
    EXPECT_EQ(cuda().cuStreamWaitEvent(a, join, 0), 0);
    EXPECT_EQ(launchIn(a, f, shape(), z, y, -0.125f, n), 0);
  };
  std::vector<float> plain, replayed;
  for (uint64_t seed : {0, 1, 2, 3})
    for (bool graph : {false, true}) {
      restart(seed);
      CUfunction f = saxpy();
      CUdeviceptr x = upload(input), y = upload(input), z = upload(input);
      CUstream a, b;
      CUevent fork, join;
      CU_OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
      CU_OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
      CU_OK(cuEventCreate(&fork, 0));
      CU_OK(cuEventCreate(&join, 0));
      const float scales[] = {0.3f, 0.7f, -1.1f};
      if (!graph) {
        for (float scale : scales)
          issue(a, b, fork, join, f, x, y, z, scale);
      } else {
        CUgraph captured;
        CUgraphExec exec;
        CU_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
        issue(a, b, fork, join, f, x, y, z, 99.0f);
        Enum status = 0;
        CU_OK(cuStreamIsCapturing(b, &status));
        EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        CU_OK(cuStreamEndCapture(a, &captured));
        size_t count = 0;
        CU_OK(cuGraphGetNodes(captured, nullptr, &count));
        ASSERT_EQ(count, 4u);
        std::vector<CUgraphNode> nodes(count);
        CU_OK(cuGraphGetNodes(captured, nodes.data(), &count));
        CU_OK(cuGraphInstantiateWithFlags(&exec, captured, 0));
        for (float scale : scales) {
          CUDA_KERNEL_NODE_PARAMS params;
          CU_OK(cuGraphKernelNodeGetParams_v2(nodes[0], &params));
          unsigned size = n;
          void *values[] = {&x, &y, &scale, &size};
          params.kernelParams = values;
          CU_OK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &params));
          CU_OK(cuGraphLaunch(exec, a));
        }
        CU_OK(cuStreamSynchronize(a));
        CU_OK(cuGraphExecDestroy(exec));
        CU_OK(cuGraphDestroy(captured));
      }
      CU_OK(cuCtxSynchronize());
      auto result = download<float>(y, n);
      auto &reference = graph ? replayed : plain;
      if (reference.empty())
        reference = result;
      EXPECT_EQ(std::memcmp(reference.data(), result.data(), n * 4), 0);
    }
  EXPECT_EQ(std::memcmp(plain.data(), replayed.data(), n * 4), 0);
}

TEST_F(Host, FunctionAttributesAndOccupancy) {
  CUmodule module = load(readInput("kernels.ptx"));
  CUfunction function = find(module, "reduce");
  int value = 0, grid = 0, block = 0;
  CU_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
  EXPECT_EQ(value, 1024);
  CU_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 256, 0));
  EXPECT_GE(value, 1);
  CU_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0));
  EXPECT_GE(block, 32);
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 256;
  CUdeviceptr x = upload(std::vector<float>(256, 1)), out = upload(std::vector<float>{0});
  unsigned count = 256;
  void *params[] = {&x, &out, &count};
  CU_OK(cuLaunchKernelEx(&config, function, params, nullptr));
  EXPECT_EQ(download<float>(out, 1)[0], 512.0f);
}

} // namespace mxemu
