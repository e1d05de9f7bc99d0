// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fault injection: a program that depends on every order the device keeps, with one wrong use of
// the driver at a time. Each must show as an error, a finding or wrong data in at least one of six
// schedules. It uses the device directly, without engine threads, so runs are reproducible.
#include "GpuFixture.h"
#include "abi/Runtime.h"

#include <bit>
#include <functional>
#include <map>

using namespace mxrt;
using namespace mxrt::cuda;

namespace {

constexpr uint64_t seeds[] = {0, 1, 2, 3, 4, 5};
constexpr int64_t n = 2048;

/// What the replaced functions know. The table has plain functions, so this is of the process.
struct Known {
  Driver real;
  std::vector<CUstream> streams;          // of gpu:0: compute, in, out; then those of gpu:1
  std::map<CUevent, CUstream> recordedOn; // the stream of an event
  std::vector<CUcontext> contexts;
  const char *userSource = nullptr; // of the copy in progress
  CUdeviceptr copyStart = 0;
  CUmodule module = nullptr;
  int calls = 0;

  bool is(CUstream stream, size_t number) const {
    return number < streams.size() && streams[number] == stream;
  }
  CUstream stream(size_t number) const { return number < streams.size() ? streams[number] : nullptr; }
  bool isAt(CUevent event, size_t number) const {
    auto found = recordedOn.find(event);
    return found != recordedOn.end() && is(found->second, number);
  }
};
Known known;

class MistakeTest : public GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    known.real = driver();
  }
  void TearDown() override {
    driver() = known.real;
    closeRuntime();
    mxemu::cuda().mxemuReset(); // a mistake may leave memory
    EXPECT_EQ(alloc.liveBlocks(), 0);
    EXPECT_EQ(alloc.mistake(), "");
  }

  struct Gpu {
    Device *device;
    MistakeTest *test;
    /// The first error; the program goes on, as errors end it anyway.
    void note(Status status) const {
      if (status.failed() && test->failure.empty())
        test->failure = textOf(status.release());
    }
    PoolBlock block(int64_t bytes) const {
      auto made = device->pool().allocate(bytes, Pool::Kind::Tensor, NamedPurpose("block"), here);
      if (made.failed()) {
        note(made.takeStatus());
        return {};
      }
      return *made;
    }
    void release(const PoolBlock &memory) const {
      if (memory.data)
        device->pool().release(memory, Pool::Kind::Tensor);
    }
    void put(const PoolBlock &to, const std::vector<float> &values) const {
      known.userSource = reinterpret_cast<const char *>(values.data());
      known.copyStart = reinterpret_cast<CUdeviceptr>(to.data);
      note(device->copyIn({to.data, to.data}, values.data(), int64_t(values.size() * 4), here));
    }
    void put(const PoolBlock &to, float value) const {
      std::vector<float> values(n, value);
      put(to, values);
      std::fill(values.begin(), values.end(), -1.0f); // the copy may not need it any more
    }
    std::vector<float> get(const PoolBlock &from, size_t count = n) const {
      std::vector<float> values(count, -2.0f);
      struct Wait {
        Mutex mutex;
        Condition changed;
        bool isDone = false;
        Status status;
      } wait;
      Completion done = {[](void *user, Status status) {
                           auto *wait = static_cast<Wait *>(user);
                           Lock lock(wait->mutex);
                           wait->status = std::move(status);
                           wait->isDone = true;
                           wait->changed.wakeAll();
                         },
                         &wait};
      Status issued = device->copyOut(values.data(), {from.data, from.data}, int64_t(count * 4),
                                      done, here);
      if (issued.failed()) {
        note(std::move(issued));
        return values;
      }
      Lock lock(wait.mutex);
      while (!wait.isDone)
        wait.changed.wait(wait.mutex);
      note(std::move(wait.status));
      return values;
    }
    /// y += a * x
    void saxpy(const PoolBlock &x, const PoolBlock &y, float a) const {
      struct {
        void *x, *y;
        float a;
        uint32_t n;
      } arguments = {x.data, y.data, a, uint32_t(n)};
      static constexpr uint32_t offsets[] = {0, 8, 16, 20};
      mxrt_launch_info info = {};
      info.struct_size = sizeof(info);
      info.module = kernels().c_str();
      info.entry = "saxpy";
      info.grid[0] = n / 128;
      info.block[0] = 128;
      info.grid[1] = info.grid[2] = info.block[1] = info.block[2] = 1;
      info.argument_count = 4;
      info.argument_offsets = offsets;
      const Access accesses[] = {{x.data, false}, {y.data, true}};
      note(device->begin(accesses, here));
      note(device->launch(info, &arguments, here));
      note(device->end(accesses, here));
    }
    void copy(const PoolBlock &to, const PoolBlock &from) const {
      const Access accesses[] = {{from.data, false}, {to.data, true}};
      int64_t sizes[] = {n}, strides[] = {1};
      Walk<2> walk = collapse<2>(1, sizes, {strides, strides});
      note(device->begin(accesses, here));
      note(device->copy({to.data, from.data, &walk, n, 4}, here));
      note(device->end(accesses, here));
    }
    void peer(const PoolBlock &to, const Gpu &source, const PoolBlock &from) const {
      note(device->copyPeer({to.data, to.data}, *source.device, {from.data, from.data}, n * 4,
                            here));
    }
  };

  Gpu gpu(mxrt_device which) {
    auto device = runtime->device(which, here);
    if (device.failed()) {
      failure = textOf(device.takeStatus().release());
      return {nullptr, this};
    }
    return {*device, this};
  }
  void expect(const std::vector<float> &got, float wanted, const char *what) {
    for (float each : got)
      if (!(each == wanted) && failure.empty())
        failure = std::string(what) + ": " + std::to_string(each) + " instead of " +
                  std::to_string(wanted);
  }

  /// The first violation, or empty. Ends with the runtime destroyed.
  std::string run(uint64_t seed) {
    known.streams.clear();
    known.recordedOn.clear();
    known.contexts.clear();
    known.calls = 0;
    restart(seed);
    failure.clear();
    Gpu first = gpu(gpu0), second = gpu(gpu1);
    if (first.device && second.device)
      program(first, second);
    closeRuntime();
    if (failure.empty() && mxemu::cuda().mxemuFindingCount() != 0)
      failure = mxemu::cuda().mxemuLastFinding();
    return failure;
  }

  void program(const Gpu &a, const Gpu &b) {
    PoolBlock x = a.block(n * 4), y = a.block(n * 4), c = a.block(n * 4);
    PoolBlock w = b.block(n * 4), v = b.block(n * 4);
    if (!x.data || !y.data || !c.data || !w.data || !v.data)
      return;
    a.put(x, 1);
    a.put(y, 2);
    a.saxpy(x, y, 3); // 5, after the copies in
    expect(a.get(y), 5, "a kernel after copies in");
    // The other GPU reads y while a kernel that writes it is in flight; then y is written again.
    b.put(v, 1);
    a.saxpy(x, y, 2); // 7
    b.peer(w, a, y);
    a.saxpy(x, y, 1); // 8
    b.saxpy(w, v, 1); // 8
    expect(b.get(v), 8, "a kernel after a copy from the other GPU");
    expect(a.get(y), 8, "a write after the other GPU has read");
    // A copy inside of the GPU, between kernels.
    a.saxpy(x, y, 1); // 9
    a.copy(c, y);
    a.saxpy(x, y, 1); // 10
    expect(a.get(c), 9, "a copy between kernels");
    // A block is released and reused while the kernel that reads it is in flight.
    PoolBlock t = a.block(n * 4);
    a.put(t, 10);
    a.saxpy(t, y, 1); // 20
    a.release(t);
    t = a.block(n * 4);
    a.put(t, 100);
    a.saxpy(t, y, 1); // 120
    expect(a.get(y), 120, "a block used again");
    a.release(t);
    // In more pieces than there are pinned buffers.
    std::vector<float> many(6 << 18), wanted;
    for (size_t i = 0; i < many.size(); ++i)
      many[i] = float(i % 9973);
    wanted = many;
    PoolBlock large = a.block(int64_t(many.size()) * 4);
    if (large.data) {
      a.put(large, many);
      std::fill(many.begin(), many.end(), 0.0f);
      if (a.get(large, many.size()) != wanted && failure.empty())
        failure = "large copies differ";
      a.saxpy(large, y, 1); // in flight
      a.release(large);
      a.device->pool().trim(); // frees it
    }
    a.saxpy(x, y, 1);
    for (const PoolBlock &block : {x, y, c})
      a.release(block);
    for (const PoolBlock &block : {w, v})
      b.release(block);
    // The devices are destroyed with work in flight.
  }

  std::string failure;
};

TEST_F(MistakeTest, TheProgramIsRightInEverySchedule) {
  for (uint64_t seed : seeds)
    EXPECT_EQ(run(seed), "") << "seed " << seed;
}

/// Installs the observers that mistakes use.
void observe(Driver &driver) {
  driver = known.real;
  driver.cuStreamCreate = [](CUstream *stream, unsigned flags) {
    CUresult result = known.real.cuStreamCreate(stream, flags);
    known.streams.push_back(*stream);
    return result;
  };
  driver.cuEventRecord = [](CUevent event, CUstream stream) {
    known.recordedOn[event] = stream;
    return known.real.cuEventRecord(event, stream);
  };
  driver.cuDevicePrimaryCtxRetain = [](CUcontext *context, CUdevice device) {
    CUresult result = known.real.cuDevicePrimaryCtxRetain(context, device);
    known.contexts.push_back(*context);
    return result;
  };
}

struct Mistake {
  const char *name;
  void (*make)(Driver &);
};

template <size_t Stream> void dropWaitsOf(Driver &driver) {
  driver.cuStreamWaitEvent = [](CUstream stream, CUevent event, unsigned flags) {
    return known.is(stream, Stream) ? CUresult(0)
                                    : known.real.cuStreamWaitEvent(stream, event, flags);
  };
}
template <size_t Stream> void dropHostWaitsFor(Driver &driver) {
  driver.cuEventSynchronize = [](CUevent event) {
    return known.isAt(event, Stream) ? CUresult(0) : known.real.cuEventSynchronize(event);
  };
}

const Mistake mistakes[] = {
    {"kernels do not wait for copies in", dropWaitsOf<0>},
    {"copies in do not wait for kernels on the old content", dropWaitsOf<1>},
    {"copies out do not wait for kernels", dropWaitsOf<2>},
    {"copies from another GPU do not wait", dropWaitsOf<4>},
    {"kernels of the second GPU do not wait for the copy", dropWaitsOf<3>},
    {"waits go to the legacy stream",
     [](Driver &driver) {
       driver.cuStreamWaitEvent = [](CUstream, CUevent event, unsigned flags) {
         return known.real.cuStreamWaitEvent(nullptr, event, flags);
       };
     }},
    {"waits are for an event of another stream",
     [](Driver &driver) {
       driver.cuStreamWaitEvent = [](CUstream stream, CUevent event, unsigned flags) {
         CUevent other = nullptr;
         for (auto &[candidate, recorded] : known.recordedOn)
           if (recorded == stream)
             other = candidate;
         return known.real.cuStreamWaitEvent(stream, other ? other : event, flags);
       };
     }},
    {"events are not recorded",
     [](Driver &driver) {
       driver.cuEventRecord = [](CUevent event, CUstream stream) {
         known.recordedOn[event] = stream;
         return CUresult(0);
       };
     }},
    {"events are recorded in the legacy stream",
     [](Driver &driver) {
       driver.cuEventRecord = [](CUevent event, CUstream stream) {
         known.recordedOn[event] = stream;
         return known.real.cuEventRecord(event, nullptr);
       };
     }},
    {"every second event is not recorded",
     [](Driver &driver) {
       driver.cuEventRecord = [](CUevent event, CUstream stream) {
         known.recordedOn[event] = stream;
         return ++known.calls % 2 ? CUresult(0) : known.real.cuEventRecord(event, stream);
       };
     }},
    {"events of kernels are recorded in the stream of copies in",
     [](Driver &driver) {
       driver.cuEventRecord = [](CUevent event, CUstream stream) {
         known.recordedOn[event] = stream;
         return known.real.cuEventRecord(event, known.is(stream, 0) ? known.stream(1) : stream);
       };
     }},
    {"the host never waits",
     [](Driver &driver) { driver.cuEventSynchronize = [](CUevent) { return CUresult(0); }; }},
    {"pinned buffers are used again too early", dropHostWaitsFor<1>},
    {"results are taken too early", dropHostWaitsFor<2>},
    {"memory is freed under a kernel", dropHostWaitsFor<0>},
    {"copies in are issued to another stream",
     [](Driver &driver) {
       driver.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void *from, size_t bytes, CUstream) {
         return known.real.cuMemcpyHtoDAsync_v2(to, from, bytes, known.stream(2));
       };
     }},
    {"copies out are issued to another stream",
     [](Driver &driver) {
       driver.cuMemcpyDtoHAsync_v2 = [](void *to, CUdeviceptr from, size_t bytes, CUstream) {
         return known.real.cuMemcpyDtoHAsync_v2(to, from, bytes, known.stream(1));
       };
     }},
    {"kernels are issued to another stream",
     [](Driver &driver) {
       driver.cuLaunchKernel = [](CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  CUstream stream, void **arguments, void **extra) {
         return known.real.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared,
                                          known.is(stream, 0) ? known.stream(1) : stream,
                                          arguments, extra);
       };
     }},
    {"copies inside of a GPU are issued to another stream",
     [](Driver &driver) {
       driver.cuMemcpyDtoDAsync_v2 = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
         return known.real.cuMemcpyDtoDAsync_v2(to, from, bytes, known.stream(2));
       };
     }},
    {"copies between GPUs are issued to a stream of the source",
     [](Driver &driver) {
       driver.cuMemcpyPeerAsync = [](CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                                     CUcontext fromContext, size_t bytes, CUstream) {
         return known.real.cuMemcpyPeerAsync(to, toContext, from, fromContext, bytes,
                                             known.stream(2));
       };
     }},
    {"copies between GPUs with the contexts the other way round",
     [](Driver &driver) {
       driver.cuMemcpyPeerAsync = [](CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                                     CUcontext fromContext, size_t bytes, CUstream stream) {
         return known.real.cuMemcpyPeerAsync(to, fromContext, from, toContext, bytes, stream);
       };
     }},
    {"copies between GPUs in the other direction",
     [](Driver &driver) {
       driver.cuMemcpyPeerAsync = [](CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                                     CUcontext fromContext, size_t bytes, CUstream stream) {
         return known.real.cuMemcpyPeerAsync(from, fromContext, to, toContext, bytes, stream);
       };
     }},
    {"copies in read the caller's pageable memory",
     [](Driver &driver) {
       driver.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void *, size_t bytes,
                                        CUstream stream) {
         return known.real.cuMemcpyHtoDAsync_v2(to, known.userSource + (to - known.copyStart),
                                                bytes, stream);
       };
     }},
    {"pinned memory is freed under a copy",
     [](Driver &driver) {
       driver.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void *from, size_t bytes,
                                        CUstream stream) {
         CUresult result = known.real.cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
         known.real.cuMemFreeHost(const_cast<void *>(from));
         return result;
       };
     }},
    {"memory is freed twice",
     [](Driver &driver) {
       driver.cuMemFree_v2 = [](CUdeviceptr address) {
         known.real.cuMemFree_v2(address);
         return known.real.cuMemFree_v2(address);
       };
     }},
    {"allocations are too small",
     [](Driver &driver) {
       driver.cuMemAlloc_v2 = [](CUdeviceptr *address, size_t bytes) {
         return known.real.cuMemAlloc_v2(address, bytes - 64);
       };
     }},
    {"the context of the other GPU is current",
     [](Driver &driver) {
       driver.cuCtxPushCurrent_v2 = [](CUcontext context) {
         for (CUcontext other : known.contexts)
           if (other != context)
             return known.real.cuCtxPushCurrent_v2(other);
         return known.real.cuCtxPushCurrent_v2(context);
       };
     }},
    {"modules are unloaded under their kernels",
     [](Driver &driver) {
       driver.cuModuleLoadDataEx = [](CUmodule *module, const void *image, unsigned count,
                                      int *options, void **values) {
         CUresult result = known.real.cuModuleLoadDataEx(module, image, count, options, values);
         known.module = *module;
         return result;
       };
       driver.cuLaunchKernel = [](CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  CUstream stream, void **arguments, void **extra) {
         CUresult result = known.real.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared,
                                                     stream, arguments, extra);
         known.real.cuModuleUnload(known.module);
         return result;
       };
     }},
};

TEST_F(MistakeTest, EachMistakeShows) {
  static_assert(std::size(mistakes) >= 20);
  for (const Mistake &mistake : mistakes) {
    std::string shown;
    for (uint64_t seed : seeds) {
      observe(driver());
      mistake.make(driver());
      shown = run(seed);
      driver() = known.real;
      if (!shown.empty())
        break;
    }
    EXPECT_NE(shown, "") << mistake.name;
    if (std::getenv("MX_SHOW_MISTAKES"))
      printf("%s\n    %s\n", mistake.name, shown.c_str());
  }
}

} // namespace
