// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All-reduce between threads of this process, against the reference, for every
// topology, number of ranks and size; payloads against the formula; failures.

#include "../TestAllocator.h"
#include "Cases.h"
#include "net/Local.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <thread>

namespace mxrt::test {
namespace {

using namespace kvstore;
using net::Local;
using net::LocalHub;

/// A thread for each rank.
void together(int ranks, const std::function<void(Local &)> &body) {
  TestAllocator memory;
  {
    LocalHub hub(memory.get(), ranks);
    ASSERT_TRUE(hub.open().ok());
    std::vector<std::unique_ptr<Local>> transports;
    for (int rank = 0; rank < ranks; ++rank) {
      transports.push_back(std::make_unique<Local>(memory.get(), hub, rank));
      ASSERT_TRUE(transports.back()->open().ok());
    }
    std::vector<std::thread> threads;
    for (auto &transport : transports)
      threads.emplace_back([&] { body(*transport); });
    for (std::thread &thread : threads)
      thread.join();
    transports.clear();
  }
  EXPECT_EQ(memory.liveBlocks(), 0);
  EXPECT_EQ(memory.mistake(), "");
}

template <typename T> void compareAll(int ranks, const std::vector<double> &weights) {
  const double *given = weights.empty() ? nullptr : weights.data();
  size_t most = size_t(ranks);
  std::vector<size_t> sizes = {0, 1, most - 1, most, most + 1, 97, 5003};
  std::vector<Layout> layouts = allLayouts(256);
  layouts.push_back({Topology::Ring, Topology::Direct, 1, 1 << 20});
  std::vector<std::vector<T>> wanted;
  for (const Layout &layout : layouts)
    for (size_t count : sizes)
      wanted.push_back(expected<T>(layout, ranks, count, given));
  together(ranks, [&](Local &transport) {
    uint32_t step = 0;
    int rank = transport.rank();
    for (const Layout &layout : layouts)
      for (size_t count : sizes) {
        std::vector<T> data = gradient<T>(rank, count);
        if (given && given[rank] == 0) // of no rows: it must not matter
          std::fill(data.begin(), data.end(), std::numeric_limits<T>::quiet_NaN());
        uint64_t before = transport.counters().sentBytes;
        Status status =
            exchange(transport, layout, step, data.data(), count, given ? &given[rank] : nullptr);
        ASSERT_TRUE(status.ok()) << nameOf(layout) << ": " << status.message();
        ASSERT_EQ(count ? std::memcmp(data.data(), wanted[step].data(), count * sizeof(T)) : 0, 0)
            << nameOf(layout) << ", rank " << rank << " of " << ranks << ", " << count;
        ASSERT_EQ(transport.counters().sentBytes - before,
                  expectedSentBytes(layout, rank, ranks, count, sizeof(T), given != nullptr))
            << nameOf(layout);
        ++step;
      }
  });
}

class Collectives : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Values(1, 2, 3, 4, 5, 8));

TEST_P(Collectives, SumsHaveTheBitsOfTheReference) {
  compareAll<float>(GetParam(), {});
  compareAll<double>(GetParam(), {});
}

TEST_P(Collectives, MeansHaveTheBitsOfTheReference) {
  std::vector<double> weights;
  for (int rank = 0; rank < GetParam(); ++rank)
    weights.push_back(rank == 1 ? 0 : 3 + 7 * rank);
  compareAll<float>(GetParam(), weights);
  compareAll<double>(GetParam(), weights);
}

TEST(Collectives, ReferenceByHand) {
  // 1 is lost beside 2^24 in f32, so the order shows.
  float big = 0x1p24f, inputs[4] = {1, big, -big, 1}, out = 0;
  const float *rows[] = {&inputs[0], &inputs[1], &inputs[2], &inputs[3]};
  referenceSum({Topology::Direct, Topology::Direct, 1, 4}, 4, rows, 1, &out);
  EXPECT_EQ(out, ((1 + big) - big) + 1); // ranks 0 1 2 3
  EXPECT_EQ(out, 1);
  referenceSum({Topology::Ring, Topology::Direct, 1, 4}, 4, rows, 1, &out);
  EXPECT_EQ(out, 2); // ranks 1 2 3 0, as element 0 is of chunk 0
  referenceSum({Topology::Tree, Topology::Direct, 1, 4}, 4, rows, 1, &out);
  EXPECT_EQ(out, (1 + (big + 1)) - big); // 0 + (1 + 3) + 2
  referenceSum({Topology::Levels, Topology::Direct, 2, 4}, 4, rows, 1, &out);
  EXPECT_EQ(out, (1 + big) + (-big + 1));
  double weights[] = {1, 0, 0, 3};
  referenceMean({Topology::Direct, Topology::Direct, 1, 4}, 4, rows, weights, 1, &out);
  EXPECT_EQ(out, 1);
}

TEST(Collectives, FormulaOfPayload) {
  for (int ranks : {1, 2, 3, 4, 5, 8, 64})
    for (size_t count : {size_t(0), size_t(1), size_t(63), size_t(1) << 20})
      for (const Layout &layout : allLayouts(1 << 16)) {
        uint64_t all = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          Plan plan(mxrt_system_allocator());
          ASSERT_TRUE(plan.make(layout, rank, ranks, count, 4).ok());
          EXPECT_EQ(plan.sentBytes(), expectedSentBytes(layout, rank, ranks, count, 4, false));
          all += plan.sentBytes();
        }
        // Every topology moves 2 N (W - 1) bytes in all.
        EXPECT_EQ(all, 2 * count * 4 * uint64_t(ranks - 1)) << nameOf(layout);
      }
  // 2 N (W - 1) / W a rank where chunks are equal.
  EXPECT_EQ(expectedSentBytes({}, 3, 4, 1000, 4, false), 2u * 4000 * 3 / 4);
  Layout ring = {Topology::Ring, Topology::Direct, 1, 1 << 20};
  EXPECT_EQ(expectedSentBytes(ring, 2, 5, 1000, 8, false), 2u * 8000 * 4 / 5);
}

TEST(Collectives, WrongArgumentsAreRefused) {
  Plan plan(mxrt_system_allocator());
  EXPECT_EQ(plan.make({}, 2, 2, 1, 4).code(), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(plan.make({Topology::Levels, Topology::Levels, 1, 64}, 0, 2, 1, 4).code(),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(plan.make({Topology::Levels, Topology::Ring, 0, 64}, 0, 2, 1, 4).code(),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(plan.make({Topology::Ring, Topology::Ring, 1, 3}, 0, 2, 1, 4).code(),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(plan.make({Topology::Ring, Topology::Ring, 1, 4}, 0, 2, SIZE_MAX / 8, 4).code(),
            MXRT_SIZE_OVERFLOW);
  together(1, [](Local &transport) {
    Plan plan(transport.allocator());
    ASSERT_TRUE(plan.make({}, 0, 1, 1, 4).ok());
    float value = 1;
    for (double weight : {-1.0, double(NAN), double(INFINITY)}) {
      Reduction what;
      what.data = &value;
      what.mean = true;
      what.weight = weight;
      EXPECT_EQ(Collective(transport, plan, what).start().code(), MXRT_INVALID_ARGUMENT);
    }
    Reduction what;
    what.dtype = MXRT_BF16;
    EXPECT_EQ(Collective(transport, plan, what).start().code(), MXRT_DTYPE);
    what.dtype = MXRT_F64;
    EXPECT_EQ(Collective(transport, plan, what).start().code(), MXRT_INVALID_ARGUMENT);
  });
}

TEST(Collectives, WeightsThatAreAllZeroFailAtEveryRank) {
  together(3, [](Local &transport) {
    double zero = 0;
    float data[5] = {1, 2, 3, 4, 5};
    Status status = exchange(transport, {}, 1, data, 5, &zero);
    EXPECT_EQ(status.code(), MXRT_KVSTORE_WEIGHT);
    EXPECT_STREQ(status.message(), "the weights of all ranks add up to 0");
    // The transport goes on.
    double one = 1;
    EXPECT_TRUE(exchange(transport, {}, 2, data, 5, &one).ok());
  });
}

TEST(Collectives, RanksThatDisagreeOnSizesAllFail) {
  for (const Layout &layout : allLayouts(1 << 20))
    together(4, [&](Local &transport) {
      // All pieces are there, and one rank has an element more.
      std::vector<float> data(size_t(401 + (transport.rank() == 2)), 1);
      Status status = exchange(transport, layout, 0, data.data(), data.size());
      EXPECT_TRUE(status.failed()) << nameOf(layout) << ", rank " << transport.rank();
      EXPECT_EQ(status.code(), MXRT_KVSTORE);
    });
}

TEST(Collectives, ManyKeysInAnyOrder) {
  constexpr int ranks = 3, keys = 200;
  Layout layout = {Topology::Ring, Topology::Direct, 1, 512};
  together(ranks, [&](Local &transport) {
    std::vector<std::vector<float>> data;
    std::vector<std::unique_ptr<Plan>> plans;
    std::vector<std::unique_ptr<Collective>> all;
    for (int i = 0; i < keys; ++i) {
      data.push_back(gradient<float>(transport.rank(), size_t(i)));
      plans.push_back(std::make_unique<Plan>(transport.allocator()));
      ASSERT_TRUE(plans.back()->make(layout, transport.rank(), ranks, size_t(i), 4).ok());
    }
    for (int i = 0; i < keys; ++i) {
      // Rank 1 starts from the other end.
      int key = transport.rank() == 1 ? keys - 1 - i : i;
      Reduction what;
      what.tag = {0, 0, uint32_t(key), 0};
      what.data = data[size_t(key)].data();
      all.push_back(std::make_unique<Collective>(transport, *plans[size_t(key)], what));
      ASSERT_TRUE(all.back()->start().ok());
    }
    for (auto &collective : all)
      ASSERT_TRUE(waitFor(transport, *collective).ok());
    for (int key = 0; key < keys; ++key)
      ASSERT_EQ(data[size_t(key)], expected<float>(layout, ranks, size_t(key)));
  });
}

TEST(Collectives, RankThatLeavesIsNamed) {
  for (const Layout &layout : allLayouts(1 << 20)) {
    LocalHub hub(mxrt_system_allocator(), 4);
    ASSERT_TRUE(hub.open().ok());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 4; ++rank)
      threads.emplace_back([&, rank] {
        Local transport(mxrt_system_allocator(), hub, rank);
        ASSERT_TRUE(transport.open().ok());
        if (rank == 2)
          return; // it ends without a word
        std::vector<float> data(100, 1);
        Status status = exchange(transport, layout, 0, data.data(), data.size());
        ASSERT_EQ(status.code(), MXRT_KVSTORE) << nameOf(layout);
        // A rank that needs nothing of it hears from one that does.
        std::string text = status.message();
        EXPECT_TRUE(text == "rank 2 is lost: it left" || text.find(" gave up after") != text.npos)
            << text;
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

TEST(Collectives, NansArriveEverywhere) {
  together(3, [](Local &transport) {
    float data[4] = {1, NAN, INFINITY, -INFINITY};
    if (transport.rank() == 1)
      data[2] = -INFINITY;
    ASSERT_TRUE(exchange(transport, {}, 0, data, 4).ok());
    EXPECT_EQ(data[0], 3);
    EXPECT_TRUE(std::isnan(data[1]));
    EXPECT_TRUE(std::isnan(data[2]));
    EXPECT_EQ(data[3], -INFINITY);
  });
}

} // namespace
} // namespace mxrt::test
