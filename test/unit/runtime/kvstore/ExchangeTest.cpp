// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collective calls: tables and their buckets, values against the reference for all
// topologies and random orders of pushes, ranks that disagree, ranks that fail.

#include "../TestAllocator.h"
#include "Cases.h"
#include "kvstore/Exchange.h"
#include "net/Local.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

namespace mxrt::test {
namespace {

using namespace kvstore;
using net::Local;
using net::LocalHub;

const mxrt_allocator *const alloc = mxrt_system_allocator();

struct Named {
  std::string name;
  std::vector<int64_t> shape;
  mxrt_dtype dtype = MXRT_F32;
};
std::vector<KeySpec> specsOf(const std::vector<Named> &keys) {
  std::vector<KeySpec> specs;
  for (const Named &key : keys)
    specs.push_back({key.name, key.dtype, key.shape, Form::Dense});
  return specs;
}

std::unique_ptr<KeyTable> tableOf(Action action, const std::vector<Named> &keys,
                                  const Layout &layout, int rank, int ranks,
                                  const BucketSizes &sizes = {}) {
  auto table = std::make_unique<KeyTable>(alloc);
  Status status = table->make(action, specsOf(keys), layout, rank, ranks, sizes);
  EXPECT_TRUE(status.ok()) << status.message();
  return table;
}

// -- tables -------------------------------------------------------------------

TEST(KeyTable, BucketsArePackedFromTheLastKey) {
  // 256 KB, 1 MB, 3 x 400 KB, 10 MB, 4 bytes, nothing
  auto table = tableOf(Action::Average,
                       {{"a", {64000}},
                        {"b", {250000}},
                        {"c", {100000}},
                        {"d", {100000}},
                        {"e", {100000}},
                        {"f", {2500000}},
                        {"g", {}},
                        {"h", {0, 7}}},
                       {}, 0, 2);
  std::vector<std::pair<uint32_t, uint32_t>> got;
  for (const Bucket &bucket : table->buckets)
    got.push_back({bucket.first, bucket.count});
  std::vector<std::pair<uint32_t, uint32_t>> wanted = {{6, 2}, {5, 1}, {2, 3}, {0, 2}};
  EXPECT_EQ(got, wanted);
  for (size_t i = 1; i < table->buckets.size(); ++i)
    EXPECT_GT(table->buckets[i].priority, table->buckets[i - 1].priority) << "front layers first";
  size_t elements = 0;
  for (const Bucket &bucket : table->buckets)
    elements += bucket.elements();
  EXPECT_EQ(elements, 64000u + 250000 + 3 * 100000 + 2500000 + 1);
  EXPECT_EQ(table->keys[1].offset, 64000u);
}

TEST(KeyTable, ElementTypesDoNotShareABucket) {
  auto table = tableOf(Action::Sum,
                       {{"a", {3}, MXRT_F16}, {"b", {3}}, {"c", {3}, MXRT_F64}, {"d", {3}}}, {},
                       0, 1);
  ASSERT_EQ(table->buckets.size(), 3u);
  EXPECT_EQ(table->buckets[2].count, 2u) << "f16 is summed in f32";
  EXPECT_EQ(table->buckets[2].dtype, MXRT_F32);
  EXPECT_EQ(table->buckets[1].dtype, MXRT_F64);
}

TEST(KeyTable, WrongKeysAreRefused) {
  auto refused = [](Action action, std::vector<Named> keys, Form form = Form::Dense) {
    KeyTable table(alloc);
    std::vector<KeySpec> specs = specsOf(keys);
    specs[0].form = form;
    return table.make(action, specs, {}, 0, 3);
  };
  Status status = refused(Action::Average, {{"net.n", {2}, MXRT_I64}});
  EXPECT_EQ(status.code(), MXRT_DTYPE);
  EXPECT_STREQ(status.message(),
               "average: `net.n: i64[2]` cannot be added; sums are of f16, bf16, f32 and f64");
  status = refused(Action::Scatter, {{"x", {4, 2}}});
  EXPECT_EQ(status.code(), MXRT_SHAPE);
  EXPECT_STREQ(status.message(),
               "scatter: the first axis of `x: f32[4, 2]` cannot be divided among 3 ranks");
  EXPECT_EQ(refused(Action::Gather, {{"x", {}}}).code(), MXRT_SHAPE);
  EXPECT_EQ(refused(Action::Gather, {{"x", {INT64_MAX / 8}}}).code(), MXRT_SIZE_OVERFLOW);
  EXPECT_EQ(refused(Action::Sum, {{"x", {}}}, Form::Rows).code(), MXRT_UNSUPPORTED);
  status = refused(Action::Sum, {{"w", {1}}, {"v", {1}}, {"w", {2}}});
  EXPECT_EQ(status.code(), MXRT_KVSTORE_KEY);
  EXPECT_STREQ(status.message(), "sum: two keys have the name `w`");
}

TEST(KeyTable, DescriptionsOfAPeerAreReadWithCare) {
  std::vector<Named> keys = {{"net.fc1.w", {10, 20}}, {"net.fc1.b", {20}}, {"m", {}, MXRT_F64}};
  auto own = tableOf(Action::Average, keys, {}, 2, 4);
  keys[1].shape = {30};
  auto other = tableOf(Action::Average, keys, {}, 0, 4);
  EXPECT_NE(own->hash, other->hash);
  Vec<char> bytes(alloc);
  ASSERT_TRUE(other->describe(bytes).ok());
  Status status = own->difference(2, 0, {bytes.data(), bytes.size()});
  EXPECT_EQ(status.code(), MXRT_KVSTORE_MISMATCH);
  EXPECT_STREQ(status.message(), "the ranks `average` different keys: number 2 is "
                                 "`net.fc1.b: f32[30]` at rank 0, `net.fc1.b: f32[20]` at rank 2");
  // Cut off anywhere, or with a byte changed: an answer, never a read outside.
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_TRUE(own->difference(2, 0, {bytes.data(), cut}).failed());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] = char(bytes[at] ^ (1 << bit));
      EXPECT_TRUE(own->difference(2, 0, {bytes.data(), bytes.size()}).failed());
      bytes[at] = char(bytes[at] ^ (1 << bit));
    }
}

// -- calls --------------------------------------------------------------------

/// What one rank does with its exchange.
struct Rank {
  Rank(Local &transport) : transport(transport), exchange(transport) {}
  Local &transport;
  Exchange exchange;
  std::vector<std::unique_ptr<Call>> calls;
  struct Outcome {
    bool done = false;
    Status status;
  };
  static void note(void *user, Status status) {
    auto &outcome = *static_cast<Outcome *>(user);
    EXPECT_FALSE(outcome.done) << "told twice";
    outcome.done = true;
    outcome.status = std::move(status);
  }
  Call &begin(const KeyTable &table, double weight = 1, Outcome *agreed = nullptr) {
    calls.push_back(std::make_unique<Call>(
        alloc, table, weight, agreed ? ExchangeDone{note, agreed} : ExchangeDone()));
    exchange.begin(*calls.back());
    return *calls.back();
  }
  void until(const std::function<bool()> &done) {
    while (!done())
      if (!transport.progress() && !done())
        transport.wait(-1);
  }
  /// Until all calls are over and what they sent was read.
  void finish() {
    until([&] {
      if (exchange.failure().failed())
        exchange.abandon();
      return std::all_of(calls.begin(), calls.end(), [](auto &call) { return call->finished(); });
    });
    calls.clear();
  }
};

void together(int ranks, const std::function<void(Rank &)> &body) {
  LocalHub hub(alloc, ranks);
  ASSERT_TRUE(hub.open().ok());
  std::vector<std::unique_ptr<Local>> transports;
  for (int rank = 0; rank < ranks; ++rank) {
    transports.push_back(std::make_unique<Local>(alloc, hub, rank));
    ASSERT_TRUE(transports.back()->open().ok());
  }
  std::vector<std::thread> threads;
  for (auto &transport : transports)
    threads.emplace_back([&] {
      {
        Rank rank(*transport);
        body(rank);
      }
      transport.reset(); // it leaves
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// The elements of key `k` at a rank.
std::vector<float> elements(int rank, size_t k, size_t count) {
  std::vector<float> all = gradient<float>(rank * 31 + int(k), count);
  return all;
}

class Exchanges : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Exchanges, ::testing::Values(1, 2, 3, 4, 5, 8));

TEST_P(Exchanges, BucketsInAnyOrderHaveTheBitsOfTheReference) {
  int ranks = GetParam();
  std::vector<Named> keys = {{"a", {100}}, {"b", {}},      {"c", {0}},
                             {"d", {33}},  {"e", {7, 11}}, {"f", {5003}}};
  for (const Layout &layout : allLayouts(256))
    for (bool mean : {false, true}) {
      // Small buckets: several, some of several keys.
      BucketSizes sizes = {200, 512};
      auto reference = tableOf(mean ? Action::Average : Action::Sum, keys, layout, 0, ranks, sizes);
      std::vector<std::vector<std::vector<float>>> got(
          static_cast<size_t>(ranks)); // of each rank, of each bucket
      std::vector<double> weights;
      for (int rank = 0; rank < ranks; ++rank)
        weights.push_back(rank == 1 ? 0 : 2 + 3 * rank);
      auto packed = [&](int rank, const Bucket &bucket) {
        std::vector<float> memory;
        for (uint32_t k = bucket.first; k < bucket.first + bucket.count; ++k) {
          std::vector<float> key = elements(rank, k, reference->keys[k].elements);
          memory.insert(memory.end(), key.begin(), key.end());
        }
        return memory;
      };
      together(ranks, [&](Rank &rank) {
        int self = rank.transport.rank();
        auto table =
            tableOf(mean ? Action::Average : Action::Sum, keys, layout, self, ranks, sizes);
        auto &memory = got[size_t(self)];
        for (const Bucket &bucket : table->buckets)
          memory.push_back(packed(self, bucket));
        std::vector<Rank::Outcome> outcomes(memory.size());
        Call &call = rank.begin(*table, weights[size_t(self)]);
        std::vector<uint32_t> order;
        for (uint32_t i = 0; i < memory.size(); ++i)
          order.push_back(i);
        std::shuffle(order.begin(), order.end(), std::minstd_rand(unsigned(self) + 5));
        for (uint32_t i : order) {
          rank.exchange.push(call, i, memory[i].data(), {Rank::note, &outcomes[i]});
          rank.transport.progress();
        }
        rank.finish();
        for (Rank::Outcome &outcome : outcomes) {
          EXPECT_TRUE(outcome.done);
          EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
        }
      });
      for (size_t b = 0; b < reference->buckets.size(); ++b) {
        std::vector<std::vector<float>> inputs;
        std::vector<const float *> rows;
        for (int rank = 0; rank < ranks; ++rank)
          inputs.push_back(packed(rank, reference->buckets[b]));
        for (auto &input : inputs)
          rows.push_back(input.data());
        std::vector<float> wanted(inputs[0].size());
        if (mean)
          referenceMean(layout, ranks, rows.data(), weights.data(), wanted.size(), wanted.data());
        else
          referenceSum(layout, ranks, rows.data(), wanted.size(), wanted.data());
        for (int rank = 0; rank < ranks; ++rank)
          ASSERT_TRUE(wanted.empty() || std::memcmp(got[size_t(rank)][b].data(), wanted.data(),
                                                    wanted.size() * sizeof(float)) == 0)
              << nameOf(layout) << ", rank " << rank << ", bucket " << b;
      }
    }
}

TEST_P(Exchanges, MovesBringEveryElement) {
  int ranks = GetParam();
  for (const Layout &layout : allLayouts(256))
    together(ranks, [&](Rank &rank) {
      int self = rank.transport.rank();
      size_t n = 301;
      auto gather = tableOf(Action::Gather, {{"x", {int64_t(n)}, MXRT_BOOL}}, layout, self, ranks);
      auto init = tableOf(Action::Init, {{"x", {int64_t(n)}, MXRT_I8}}, layout, self, ranks);
      auto scatter = tableOf(Action::Scatter, {{"x", {int64_t(n) * ranks}}}, layout, self, ranks);
      std::vector<uint8_t> all(n * size_t(ranks), 0xEE), first(n);
      std::vector<float> sums;
      std::vector<const float *> rows;
      std::vector<std::vector<float>> inputs;
      for (size_t i = 0; i < n; ++i) {
        all[size_t(self) * n + i] = uint8_t(i * 7 + size_t(self));
        first[i] = uint8_t(i * 3 + size_t(self) * 50);
      }
      for (int r = 0; r < ranks; ++r)
        inputs.push_back(elements(r, 9, n * size_t(ranks)));
      for (auto &input : inputs)
        rows.push_back(input.data());
      sums = inputs[size_t(self)];
      Rank::Outcome outcomes[3];
      // Three calls in flight at the same time.
      rank.exchange.push(rank.begin(*gather), 0, all.data(), {Rank::note, &outcomes[0]});
      rank.exchange.push(rank.begin(*init), 0, first.data(), {Rank::note, &outcomes[1]});
      rank.exchange.push(rank.begin(*scatter), 0, sums.data(), {Rank::note, &outcomes[2]});
      rank.finish();
      for (Rank::Outcome &outcome : outcomes)
        ASSERT_TRUE(outcome.done && outcome.status.ok());
      for (size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(all[i], uint8_t(i % n * 7 + i / n));
      for (size_t i = 0; i < n; ++i)
        ASSERT_EQ(first[i], uint8_t(i * 3)) << nameOf(layout);
      std::vector<float> wanted(n * size_t(ranks));
      referenceSum(layout, ranks, rows.data(), wanted.size(), wanted.data());
      ASSERT_EQ(std::memcmp(sums.data() + size_t(self) * n, wanted.data() + size_t(self) * n,
                            n * sizeof(float)),
                0)
          << nameOf(layout) << ", rank " << self;
    });
}

TEST(Exchange, ReduceScatterSendsHalf) {
  for (Topology topology : {Topology::Direct, Topology::Ring}) {
    Plan plan(alloc);
    ASSERT_TRUE(
        plan.make({topology, Topology::Direct, 1, 1 << 20}, 1, 4, 4000, 4, Pattern::ReduceScatter)
            .ok());
    EXPECT_EQ(plan.sentBytes(), 4000u * 4 * 3 / 4);
  }
  Plan plan(alloc);
  ASSERT_TRUE(plan.make({}, 1, 4, 4000, 1, Pattern::Gather).ok());
  EXPECT_EQ(plan.sentBytes(), 3000u);
  ASSERT_TRUE(plan.make({}, 0, 5, 4000, 1, Pattern::Broadcast).ok());
  EXPECT_EQ(plan.sentBytes(), 8000u) << "to ranks 1 and 2";
  EXPECT_EQ(plan.make({}, 0, 3, 4, 4, Pattern::Gather).code(), MXRT_INVALID_ARGUMENT);
}

TEST(Exchange, BarrierOpensWhenAllAreThere) {
  std::atomic<int> arrived{0};
  together(4, [&](Rank &rank) {
    auto table = tableOf(Action::Barrier, {}, {}, rank.transport.rank(), 4);
    for (int i = 1; i <= 20; ++i) {
      Rank::Outcome outcome;
      ++arrived;
      rank.begin(*table, 1, &outcome);
      rank.until([&] { return outcome.done; });
      EXPECT_TRUE(outcome.status.ok());
      EXPECT_GE(arrived.load(), 4 * i);
    }
    rank.finish();
  });
}

TEST(Exchange, DifferentModelsAreNamedAtEveryRank) {
  for (int odd = 0; odd < 3; ++odd)
    together(3, [&](Rank &rank) {
      int self = rank.transport.rank();
      auto same = tableOf(Action::Average, {{"loss", {}}}, {}, self, 3);
      auto table = tableOf(Action::Average, {{"fc.w", {4, self == odd ? 5 : 6}}, {"fc.b", {4}}},
                           {}, self, 3);
      std::vector<float> loss(1, 1), memory(64, 1);
      Rank::Outcome first, second, third;
      Call &before = rank.begin(*same);
      Call &call = rank.begin(*table);
      Call &after = rank.begin(*same);
      rank.exchange.push(call, 0, memory.data(), {Rank::note, &second});
      rank.until([&] { return second.done; });
      std::string text = second.status.message();
      EXPECT_EQ(second.status.code(), MXRT_KVSTORE_MISMATCH);
      EXPECT_NE(text.find("the ranks `average` different keys: number 1 is `fc.w: f32[4, "),
                text.npos)
          << text;
      EXPECT_NE(text.find("at rank " + std::to_string(odd)), text.npos) << text;
      // What was agreed on before goes on, also when it is pushed only now.
      rank.exchange.push(before, 0, loss.data(), {Rank::note, &first});
      rank.exchange.push(after, 0, memory.data(), {Rank::note, &third});
      rank.finish();
      EXPECT_TRUE(first.done && first.status.ok());
      EXPECT_EQ(third.status.code(), MXRT_KVSTORE_MISMATCH);
      EXPECT_EQ(rank.exchange.failure().code(), MXRT_KVSTORE_MISMATCH);
    });
}

TEST(Exchange, DifferentCallsAreAnErrorAndNoHang) {
  together(2, [](Rank &rank) {
    int self = rank.transport.rank();
    auto table = tableOf(self == 0 ? Action::Barrier : Action::Init, {}, {}, self, 2);
    Rank::Outcome outcome;
    rank.begin(*table, 1, &outcome);
    rank.finish();
    ASSERT_TRUE(outcome.done);
    EXPECT_STREQ(outcome.status.message(),
                 "the ranks make different calls: `barrier` at rank 0, `init` at rank 1");
  });
}

TEST(Exchange, WeightsThatAddUpToZeroFailTheCallAlone) {
  together(3, [](Rank &rank) {
    auto table = tableOf(Action::Average, {{"x", {5}}}, {}, rank.transport.rank(), 3);
    std::vector<float> data(5, float(rank.transport.rank()));
    for (double weight : {0.0, 1e-300, 4e307 * 4, 2.0}) {
      Rank::Outcome outcome;
      std::vector<float> copy = data;
      Call &call = rank.begin(*table, weight);
      rank.exchange.push(call, 0, copy.data(), {Rank::note, &outcome});
      rank.finish();
      ASSERT_TRUE(outcome.done);
      if (weight == 2) {
        EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
        EXPECT_EQ(copy[4], 1);
      } else {
        EXPECT_EQ(outcome.status.code(), MXRT_KVSTORE_WEIGHT) << weight;
      }
    }
  });
}

TEST(Exchange, ErrorOfOneRankEndsAll) {
  for (const Layout &layout : allLayouts(64))
    together(4, [&](Rank &rank) {
      int self = rank.transport.rank();
      auto table = tableOf(Action::Sum, {{"x", {500}}, {"y", {500}}}, layout, self, 4, {1000, 2000});
      std::vector<float> x(500, 1), y(500, 1);
      Rank::Outcome first, second;
      Call &call = rank.begin(*table);
      rank.exchange.push(call, 0, x.data(), {Rank::note, &first});
      if (self == 2)
        rank.exchange.fail(error(alloc, MXRT_NAN_FOUND, noLocation, "a gradient is not a number"));
      rank.exchange.push(call, 1, y.data(), {Rank::note, &second});
      rank.finish();
      ASSERT_TRUE(first.done && second.done);
      EXPECT_TRUE(second.status.failed()) << nameOf(layout);
      EXPECT_EQ(second.status.code(), self == 2 ? MXRT_NAN_FOUND : MXRT_KVSTORE);
      if (self != 2) {
        EXPECT_STREQ(second.status.message(),
                     "rank 2 is lost: it gave up after an error of its own");
      }
    });
}

TEST(Exchange, RankThatLeavesEarlyIsNamed) {
  together(3, [](Rank &rank) {
    int self = rank.transport.rank();
    auto table = tableOf(Action::Average, {{"x", {50}}}, {}, self, 3);
    std::vector<float> data(50, 1);
    for (int step = 0; step < 3; ++step) {
      if (self == 1 && step == 2)
        return;
      Rank::Outcome outcome;
      rank.exchange.push(rank.begin(*table), 0, data.data(), {Rank::note, &outcome});
      rank.finish();
      ASSERT_TRUE(outcome.done);
      EXPECT_EQ(outcome.status.ok(), step < 2) << outcome.status.message();
      if (step == 2) {
        EXPECT_STREQ(outcome.status.message(), "rank 1 is lost: it left");
      }
    }
  });
}

TEST(Exchange, RanksThatFailDoNotWaitForEachOther) {
  // Rank 2 leaves. Ranks 0 and 1 find that out before they have read each other's announcement
  // of the next call.
  LocalHub hub(alloc, 3);
  ASSERT_TRUE(hub.open().ok());
  Local transports[] = {{alloc, hub, 0}, {alloc, hub, 1}};
  {
    Local gone(alloc, hub, 2);
    ASSERT_TRUE(gone.open().ok());
  }
  std::unique_ptr<KeyTable> tables[2];
  std::unique_ptr<Exchange> exchanges[2];
  std::unique_ptr<Call> pending[2];
  Rank::Outcome outcomes[2];
  for (int self = 0; self < 2; ++self) {
    ASSERT_TRUE(transports[self].open().ok());
    tables[self] = tableOf(Action::Barrier, {}, {}, self, 3);
    exchanges[self] = std::make_unique<Exchange>(transports[self]);
    pending[self] = std::make_unique<Call>(alloc, *tables[self], 1,
                                           ExchangeDone{Rank::note, &outcomes[self]});
    exchanges[self]->begin(*pending[self]);
    transports[self].progress(); // rank 2 is lost; rank 1 is not there yet
    transports[self].progress();
    ASSERT_TRUE(outcomes[self].done);
    EXPECT_STREQ(outcomes[self].status.message(), "rank 2 is lost: it left");
  }
  for (int round = 0; round < 3; ++round)
    for (int self = 0; self < 2; ++self) {
      exchanges[self]->abandon();
      transports[self].progress();
    }
  EXPECT_TRUE(pending[0]->finished());
  EXPECT_TRUE(pending[1]->finished());
}

TEST(Exchange, EveryAllocationMayFail) {
  // Rank 1 has no memory from its nth allocation on: an error at both, no hang, no leak.
  bool wentThrough = false;
  for (long n = 1; n < 400 && !wentThrough; ++n) {
    TestAllocator memory(TestAllocator::Fail::From, n);
    {
      LocalHub hub(alloc, 2);
      ASSERT_TRUE(hub.open().ok());
      bool fine[2] = {};
      std::thread threads[2];
      for (int self = 0; self < 2; ++self)
        threads[self] = std::thread([&, self] {
          Local transport(self == 1 ? memory.get() : alloc, hub, self);
          if (transport.open().failed()) {
            // It never joined: somebody says so in its place.
            Local stand(alloc, hub, self);
            (void)stand.open();
            return;
          }
          KeyTable table(transport.allocator());
          std::vector<int64_t> shape = {40};
          KeySpec spec = {"x", MXRT_F32, shape, Form::Dense};
          Rank::Outcome outcome;
          float data[40] = {};
          {
            Rank rank(transport);
            if (table.make(Action::Average, {&spec, 1}, {}, self, 2).failed()) {
              transport.giveUp(outOfMemory());
              return;
            }
            rank.exchange.push(rank.begin(table), 0, data, {Rank::note, &outcome});
            rank.finish();
          }
          EXPECT_TRUE(outcome.done);
          fine[self] = outcome.status.ok();
        });
      for (std::thread &thread : threads)
        thread.join();
      // Without memory for the text of a loss that comes after the end, nothing else fails.
      EXPECT_TRUE((fine[0] && fine[1]) || memory.failures() > 0) << n;
      EXPECT_EQ(fine[0], fine[1]) << n;
      wentThrough = memory.failures() == 0;
    }
    EXPECT_EQ(memory.liveBlocks(), 0) << n;
    EXPECT_EQ(memory.mistake(), "");
  }
  EXPECT_TRUE(wentThrough);
}

} // namespace
} // namespace mxrt::test
