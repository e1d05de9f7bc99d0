// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPU work through the engine: order, blocking and non-blocking calls, reuse of memory.
#include "GpuFixture.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

namespace {

class OrderTest : public GpuTest {
protected:
  std::vector<float> filled(float value, size_t count = 500) {
    return std::vector<float>(count, value);
  }
};

/// While the host cannot wait for the GPU at all, chains over both GPUs are enqueued to their end.
TEST_F(OrderTest, WorkOfGpusDoesNotWaitOnTheHost) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    restart(seed);
    std::vector<float> result;
    {
      Gate gate(driver());
      Ref x = moved(floats(filled(1)), gpu0), y = moved(floats(filled(0)), gpu0);
      Ref z = moved(floats(filled(1)), gpu1), there;
      for (int i = 0; i < 10; ++i) {
        MX_OK(saxpy(x, y, 1)); // in place, again and again
        there = moved(y, gpu1);
        MX_OK(saxpy(there, z, 1, gpu1));
      }
      mxrt_engine *engine = nullptr;
      MX_OK(mxrt_runtime_engine(runtime, nullptr, &engine));
      // All but the two ops that watch the GPUs end.
      mxrt_engine_stats stats = {};
      for (int i = 0; i < 20000; ++i) {
        mxrt_engine_get_stats(engine, &stats);
        if (stats.completed + 2 == stats.pushed)
          break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_EQ(stats.completed + 2, stats.pushed);
      gate.open();
      EXPECT_EQ(elements<float>(y), filled(10));
      EXPECT_EQ(elements<float>(z), filled(1 + 55));
    }
    MX_OK(waitAll());
  }
}

TEST_F(OrderTest, WaitingForAllWaitsForTheGpu) {
  Ref x = moved(floats(filled(1)), gpu0), y = moved(floats(filled(2)), gpu0);
  std::atomic<bool> isOver{false};
  Gate gate(driver());
  MX_OK(saxpy(x, y, 1));
  std::thread waiter([&] {
    EXPECT_EQ(textOf(waitAll()), "");
    isOver = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(isOver);
  gate.open();
  waiter.join();
  EXPECT_TRUE(isOver);
}

/// A random program with a plain model: tensors of one size on two CPUs and two GPUs.
TEST_F(OrderTest, RandomProgramsOnFourDevices) {
  constexpr mxrt_device devices[] = {cpu0, cpu1, gpu0, gpu1};
  for (uint64_t seed = 0; seed < 12; ++seed) {
    restart(seed % 6);
    std::mt19937 random(uint32_t(seed + 100));
    struct Variable {
      Ref tensor;
      std::vector<float> model;
      mxrt_device device;
    };
    std::vector<Variable> variables;
    size_t count = 1 + random() % 700;
    for (int i = 0; i < 6; ++i) {
      std::vector<float> values(count);
      for (float &value : values)
        value = float(random() % 16);
      variables.push_back({moved(floats(values), devices[2 + i % 2]), values, devices[2 + i % 2]});
    }
    for (int step = 0; step < 120; ++step) {
      Variable &from = variables[random() % variables.size()];
      Variable &to = variables[random() % variables.size()];
      switch (random() % 4) {
      case 0: { // a copy replaces a tensor, whose memory others get
        mxrt_device device = devices[random() % 4];
        to.tensor = moved(from.tensor, device);
        to.model = from.model;
        to.device = device;
        break;
      }
      case 1: // memory is freed and taken for other uses
        (void)moved(from.tensor, devices[random() % 4]);
        break;
      default: {
        if (&from == &to || from.device.kind != MXRT_CUDA || to.device.kind != MXRT_CUDA ||
            from.device.index != to.device.index)
          break;
        // Small whole numbers, exact in any order of rounding.
        mxrt_tensor *raw = to.tensor.release();
        MX_OK(mxrt_call_prepare_write(runtime, &raw, &here));
        to.tensor = Ref(raw);
        float sign = from.model[0] + to.model[0] > 500 ? -1.0f : 1.0f;
        MX_OK(saxpy(from.tensor, to.tensor, sign, to.device));
        for (size_t i = 0; i < count; ++i)
          to.model[i] += sign * from.model[i];
      }
      }
      if (random() % 16 == 0)
        ASSERT_EQ(elements<float>(from.tensor), from.model) << "step " << step << " seed " << seed;
    }
    for (Variable &each : variables)
      ASSERT_EQ(elements<float>(each.tensor), each.model) << "seed " << seed;
    MX_OK(waitAll());
    ASSERT_EQ(mxemu::cuda().mxemuFindingCount(), 0) << mxemu::cuda().mxemuLastFinding();
  }
}

/// More items in flight than a stream has events.
TEST_F(OrderTest, LongQueues) {
  for (uint64_t seed : {0, 1, 5}) {
    restart(seed);
    Ref x = moved(floats({1}), gpu0), y = moved(floats({0}), gpu0), other = moved(floats({0}), gpu1);
    Ref early;
    {
      Gate gate(driver());
      for (int i = 0; i < 300; ++i) {
        MX_OK(saxpy(x, y, 1));
        if (i == 9)
          early = moved(y, gpu1);
      }
    }
    EXPECT_EQ(elements<float>(y), std::vector<float>{300});
    EXPECT_EQ(elements<float>(early), std::vector<float>{10});
  }
}

TEST_F(OrderTest, StatisticsOfTheGpusMemory) {
  EXPECT_EQ(stats(gpu0).live_bytes, 0);
  Ref a = make(MXRT_F32, {1000}, gpu0);
  EXPECT_EQ(stats(gpu0).live_bytes, 4000);
  EXPECT_EQ(stats(gpu0).live_blocks, 1);
  EXPECT_EQ(stats(gpu1).live_bytes, 0);
  a = Ref();
  EXPECT_EQ(stats(gpu0).live_bytes, 0);
  EXPECT_EQ(stats(gpu0).peak_bytes, 4000);
  EXPECT_GT(stats(gpu0).cached_bytes, 0);
  MX_OK(mxrt_memory_trim(runtime, &gpu0));
  EXPECT_EQ(stats(gpu0).cached_bytes, 0);
  mxrt_arena arena;
  MX_OK(mxrt_arena_lease(runtime, &gpu0, 5000, "graph `g`", &here, &arena));
  EXPECT_EQ(stats(gpu0).leased_bytes, 5000);
  mxrt_arena_return(&arena);
}

} // namespace
