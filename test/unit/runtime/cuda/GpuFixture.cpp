// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuFixture.h"

#include <bit>
#include <cstdlib>
#include <sched.h>

using namespace mxrt;

/// Before any test opens the driver.
static const int driverIsNamed = setenv("MX_CUDA", MXEMU_LIBRARY, 1);

void GpuTest::closeRuntime() {
  mxrt_runtime_destroy(runtime);
  runtime = nullptr;
}

void GpuTest::restart(uint64_t seed) {
  ASSERT_EQ(driverIsNamed, 0);
  closeRuntime();
  mxemu::cuda().mxemuReset();
  mxemu::cuda().mxemuSetSeed(seed);
  ASSERT_EQ(mxemu::cuda().cuInit(0), 0); // the runtime did so once for the process
  mxrt_options options;
  mxrt_options_init(&options);
  options.allocator = alloc.get();
  options.threads = 2;
  setOptions(options);
  ASSERT_EQ(mxrt_runtime_create(&options, &runtime), nullptr);
}

void GpuTest::TearDown() {
  MemoryTest::TearDown();
  runtime = nullptr;
  EXPECT_STREQ(mxemu::cuda().mxemuLeaks(), "");
}

const std::string &GpuTest::kernels() {
  static const std::string text = mxemu::readInput("kernels.ptx");
  return text;
}

cuda::Driver &GpuTest::driver() { return *cuda::openDriver().driver; }

static std::atomic<bool> gateIsClosed{false};
static decltype(cuda::Driver::cuEventSynchronize) waitForEvent = nullptr;

Gate::Gate(cuda::Driver &driver) : driver(driver) {
  gateIsClosed = true;
  waitForEvent = driver.cuEventSynchronize;
  driver.cuEventSynchronize = [](cuda::CUevent event) {
    while (gateIsClosed)
      sched_yield();
    return waitForEvent(event);
  };
}
Gate::~Gate() {
  open();
  driver.cuEventSynchronize = waitForEvent;
}
void Gate::open() { gateIsClosed = false; }

namespace {

/// What a call carries: the launch, the number of tensors and of numbers, the numbers.
struct Passed {
  mxrt_launch_info info;
  uint32_t numbers;
  uint32_t values[8];
};

mxrt_status launchKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                         const void *raw) {
  Passed passed = *static_cast<const Passed *>(raw);
  uint32_t offsets[16], count = passed.info.argument_count;
  char block[256];
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    void *data = i < count - passed.numbers ? mxrt_tensor_data(tensors[i]) : nullptr;
    offsets[i] = at;
    if (data) {
      memcpy(block + at, &data, sizeof(data));
      at += sizeof(data);
    } else {
      memcpy(block + at, &passed.values[i - (count - passed.numbers)], 4);
      at += 4;
    }
  }
  passed.info.argument_offsets = offsets;
  return mxrt_launch(context, &passed.info, block);
}

} // namespace

mxrt_status GpuTest::launch(const Kernel &kernel, const std::vector<const Ref *> &reads,
                            const std::vector<const Ref *> &writes, mxrt_device device,
                            mxrt_location location) {
  std::vector<mxrt_tensor *> read, written;
  for (const Ref *tensor : reads)
    read.push_back(tensor->get());
  for (const Ref *tensor : writes)
    written.push_back(tensor->get());
  Passed passed = {};
  passed.info.struct_size = sizeof(passed.info);
  passed.info.module = kernel.module;
  passed.info.entry = kernel.entry;
  std::copy_n(kernel.grid, 3, passed.info.grid);
  std::copy_n(kernel.block, 3, passed.info.block);
  passed.info.shared_bytes = kernel.shared;
  passed.numbers = uint32_t(kernel.numbers.size());
  std::copy(kernel.numbers.begin(), kernel.numbers.end(), passed.values);
  passed.info.argument_count = uint32_t(read.size() + written.size()) + passed.numbers;
  mxrt_call call = {};
  call.run = launchKernel;
  call.name = kernel.entry;
  call.reads = read.data();
  call.read_count = read.size();
  call.writes = written.data();
  call.write_count = written.size();
  call.arguments = &passed;
  call.argument_bytes = sizeof(passed);
  call.device = device;
  call.location = location;
  mxrt_call_options options;
  mxrt_call_options_init(&options);
  options.enqueues = 1;
  return mxrt_call_push_with(runtime, &call, &options);
}

mxrt_status GpuTest::saxpy(const Ref &x, const Ref &y, float a, mxrt_device device,
                           mxrt_location location) {
  auto n = uint32_t(mxrt_tensor_elements(x.get()));
  return launch({kernels().c_str(), "saxpy", {(n + 127) / 128, 1, 1}, {128, 1, 1}, 0,
                 {std::bit_cast<uint32_t>(a), n}},
                {&x}, {&y}, device, location);
}
