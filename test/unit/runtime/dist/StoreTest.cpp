// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collective calls on tensors, through both engines: values, poison, overlap with a
// running op, statistics, shutdown.

#include "StoreFixture.h"

#include "base/Halfs.h"
#include "net/Delayed.h"

#include <atomic>

namespace mxrt::test {
namespace {

using namespace kvstore;
using dist::Item;

class Stores : public ::testing::TestWithParam<std::tuple<int, int>> {
protected:
  World world(Layout layout = {}) const {
    World made;
    made.ranks = std::get<0>(GetParam());
    made.kind = std::get<1>(GetParam());
    made.layout = layout;
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(RanksAndEngines, Stores,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5, 8),
                                            ::testing::Values(MXRT_ENGINE_NAIVE,
                                                              MXRT_ENGINE_THREADED)));

std::vector<Layout> layouts() {
  return {{},
          {Topology::Ring, Topology::Direct, 1, 1 << 20},
          {Topology::Tree, Topology::Direct, 1, 1 << 20},
          {Topology::Levels, Topology::Ring, 2, 1 << 20}};
}

TEST_P(Stores, MeansOfAModelHaveTheBitsOfTheReference) {
  // Sizes of all kinds: several buckets, one with a large key alone.
  std::vector<std::vector<int64_t>> shapes = {{3, 5}, {}, {0, 4}, {1300000}, {1}, {77, 13}};
  std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  for (const Layout &layout : layouts()) {
    World w = world(layout);
    std::vector<double> weights;
    for (int rank = 0; rank < w.ranks; ++rank)
      weights.push_back(rank == 1 ? 0 : 1 + rank);
    auto size = [&](size_t k) {
      size_t count = 1;
      for (int64_t each : shapes[k])
        count *= size_t(each);
      return count;
    };
    auto values = [&](int rank, size_t k) { return gradient<float>(rank * 7 + int(k), size(k)); };
    std::vector<std::vector<std::vector<float>>> got(
        static_cast<size_t>(w.ranks), std::vector<std::vector<float>>(shapes.size()));
    meet(w, [&](Peer &peer) {
      std::vector<TensorRef> tensors;
      std::vector<Item> items;
      for (size_t k = 0; k < shapes.size(); ++k) {
        tensors.push_back(peer.floats(shapes[k], values(peer.rank, k)));
        items.push_back({names[k], tensors.back().get()});
      }
      std::vector<TensorRef> results(items.size());
      for (int step = 0; step < 2; ++step) { // the second one finds its table
        Status status = peer.store->issue(Action::Average, weights[size_t(peer.rank)], items,
                                          noLocation, results);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      for (size_t k = 0; k < shapes.size(); ++k) {
        got[size_t(peer.rank)][k] = peer.values(results[k]);
        EXPECT_EQ(peer.values(tensors[k]), values(peer.rank, k)) << "the gradient is not written";
      }
    });
    // Buckets: {e, f} and {d} alone and {a, b, c}; chunks of a ring are those of a bucket.
    for (std::vector<size_t> bucket :
         {std::vector<size_t>{4, 5}, std::vector<size_t>{3}, std::vector<size_t>{0, 1, 2}}) {
      std::vector<std::vector<float>> inputs(static_cast<size_t>(w.ranks));
      std::vector<const float *> rows;
      for (int rank = 0; rank < w.ranks; ++rank)
        for (size_t k : bucket) {
          std::vector<float> key = values(rank, k);
          inputs[size_t(rank)].insert(inputs[size_t(rank)].end(), key.begin(), key.end());
        }
      for (auto &input : inputs)
        rows.push_back(input.data());
      std::vector<float> wanted(inputs[0].size());
      referenceMean(layout, w.ranks, rows.data(), weights.data(), wanted.size(), wanted.data());
      for (int rank = 0; rank < w.ranks; ++rank) {
        std::vector<float> all;
        for (size_t k : bucket)
          all.insert(all.end(), got[size_t(rank)][k].begin(), got[size_t(rank)][k].end());
        ASSERT_EQ(all.size(), wanted.size());
        ASSERT_EQ(std::memcmp(all.data(), wanted.data(), all.size() * sizeof(float)), 0)
            << nameOf(layout) << ", rank " << rank << " of " << w.ranks;
      }
    }
  }
}

TEST_P(Stores, GatherAndScatterKeepTheOrderOfRanks) {
  for (const Layout &layout : layouts())
    meet(world(layout), [&](Peer &peer) {
      int64_t ranks = peer.ranks;
      // Two keys in one bucket, of different widths.
      auto x = peer.tensor<int64_t>({2, 3}, {0, 1, 2, 3, 4, int64_t(peer.rank)}, MXRT_I64);
      auto flags = peer.tensor<uint8_t>({1}, {uint8_t(peer.rank % 2)}, MXRT_BOOL);
      Item items[] = {{"x", x.get()}, {"flags", flags.get()}};
      TensorRef results[2];
      ASSERT_TRUE(peer.store->issue(Action::Gather, 1, items, noLocation, results).ok());
      std::vector<int64_t> all = peer.values<int64_t>(results[0]);
      std::vector<uint8_t> bits = peer.values<uint8_t>(results[1]);
      ASSERT_EQ(results[0]->sizes()[0], 2 * ranks);
      ASSERT_EQ(all.size(), size_t(6 * ranks));
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(all[size_t(6 * rank)], 0);
        EXPECT_EQ(all[size_t(6 * rank + 5)], rank);
        EXPECT_EQ(bits[size_t(rank)], rank % 2);
      }
      std::vector<float> rows(static_cast<size_t>(ranks) * 4);
      for (size_t i = 0; i < rows.size(); ++i)
        rows[i] = float(i) * float(peer.rank + 1);
      auto y = peer.floats({2 * ranks, 2}, rows);
      std::vector<float> part = peer.values(peer.one(Action::Scatter, y));
      ASSERT_EQ(part.size(), 4u);
      float factor = float(ranks * (ranks + 1) / 2); // exact: small whole numbers
      for (size_t i = 0; i < 4; ++i)
        EXPECT_EQ(part[i], float(size_t(peer.rank) * 4 + i) * factor);
      // Sum, and back: scatter of a gather.
      auto z = peer.floats({3}, {1, 2, float(peer.rank)});
      TensorRef gathered = peer.one(Action::Gather, z);
      EXPECT_EQ(peer.values(peer.one(Action::Scatter, gathered)),
                (std::vector<float>{float(ranks), 2.f * float(ranks),
                                    float(peer.rank) * float(ranks)}));
    });
}

TEST_P(Stores, InitBringsTheValuesOfRankZero) {
  meet(world(), [&](Peer &peer) {
    auto w = peer.floats({2}, {float(peer.rank) + 0.5f, NAN});
    auto n = peer.tensor<int32_t>({}, {peer.rank + 40}, MXRT_I32);
    auto big = peer.floats({400000}, std::vector<float>(400000, float(peer.rank)));
    Item items[] = {{"w", w.get()}, {"n", n.get()}, {"big", big.get()}};
    TensorRef results[3];
    ASSERT_TRUE(peer.store->issue(Action::Init, 1, items, noLocation, results).ok());
    EXPECT_EQ(peer.values(results[0])[0], 0.5f);
    EXPECT_TRUE(std::isnan(peer.values(results[0])[1]));
    EXPECT_EQ(peer.values<int32_t>(results[1]), std::vector<int32_t>{40});
    EXPECT_EQ(peer.values(results[2]), std::vector<float>(400000, 0.f));
  });
}

TEST_P(Stores, HalvesAreSummedWide) {
  meet(world(), [&](Peer &peer) {
    // 2048 + 1 is 2048 in f16: were the sums in f16, every 1 would be lost.
    float own = peer.rank == 0 ? 2048.f : 1.f;
    auto x = peer.tensor<uint16_t>({1}, {roundToF16(own)}, MXRT_F16);
    auto y = peer.tensor<uint16_t>({1}, {roundToBf16(own)}, MXRT_BF16);
    Item items[] = {{"x", x.get()}, {"y", y.get()}};
    TensorRef results[2];
    ASSERT_TRUE(peer.store->issue(Action::Sum, 1, items, noLocation, results).ok());
    float sum = 2048.f + float(peer.ranks - 1);
    EXPECT_EQ(peer.values<uint16_t>(results[0])[0], roundToF16(sum));
    EXPECT_EQ(peer.values<uint16_t>(results[1])[0], roundToBf16(sum));
  });
}

TEST_P(Stores, ViewsOfOneTensorAreKeysToo) {
  meet(world(), [&](Peer &peer) {
    auto x = peer.floats({2, 3}, {1, 2, 3, 4, 5, 6});
    mxrt_tensor *row = nullptr, *turned = nullptr;
    ASSERT_TRUE(Status(mxrt_tensor_select(x.get(), 0, 1, nullptr, &row)).ok());
    int32_t axes[] = {1, 0};
    ASSERT_TRUE(Status(mxrt_tensor_permute(x.get(), axes, nullptr, &turned)).ok());
    TensorRef first(row), second(turned);
    Item items[] = {{"whole", x.get()}, {"row", row}, {"turned", turned}};
    TensorRef results[3];
    ASSERT_TRUE(peer.store->issue(Action::Average, 2, items, noLocation, results).ok());
    EXPECT_EQ(peer.values(results[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(peer.values(results[1]), (std::vector<float>{4, 5, 6}));
    EXPECT_EQ(peer.values(results[2]), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  });
}

TEST_P(Stores, AveragesOfGradientsAreEncoded) {
  World coded = world();
  coded.layout = {};
  coded.codec.kind = kvstore::Codec::Kind::Bit2;
  coded.codec.threshold = 1;
  std::vector<std::vector<float>> results(size_t(coded.ranks));
  meet(coded, [&](Peer &peer) {
    // Shares of 0.4 reach the threshold of a share, 1 / ranks, only with what was left out before.
    float share = 0.4f;
    auto x = peer.floats({7}, std::vector<float>(7, share));
    auto mean = peer.one(Action::Mean, x, 1, "plain");
    EXPECT_NEAR(peer.values(mean)[0], share, 1e-6f);
    double received = 0;
    for (int step = 0; step < 20; ++step) {
      std::vector<float> got = peer.values(peer.one(Action::Average, x));
      received += double(got[0]);
      results[size_t(peer.rank)].insert(results[size_t(peer.rank)].end(), got.begin(), got.end());
      if (peer.ranks > 1)
        EXPECT_TRUE(got[0] == 0 || got[0] == 1) << got[0];
    }
    EXPECT_NEAR(received, 20 * double(share), 2);
    struct Kept {
      size_t keys = 0, elements = 0;
    } kept;
    auto count = [](void *user, std::string_view key, std::span<const int64_t> shape,
                    std::span<const float> residual) {
      auto &kept = *static_cast<Kept *>(user);
      ++kept.keys;
      kept.elements += residual.size();
      EXPECT_EQ(key, "x");
      EXPECT_EQ(shape.size(), 1u);
      return success();
    };
    EXPECT_TRUE(peer.store->eachResidual(count, &kept).ok());
    EXPECT_EQ(kept.keys, peer.ranks > 1 ? 1u : 0u);
    EXPECT_EQ(kept.elements, peer.ranks > 1 ? 7u : 0u);
  });
  for (auto &each : results)
    EXPECT_EQ(each, results[0]);
}

TEST_P(Stores, PoisonNamesItsCauseAndItsRank) {
  meet(world(), [&](Peer &peer) {
    auto good = peer.floats({4}, {1, 2, 3, 4});
    auto bad = peer.floats({300000}, {});
    if (peer.rank == peer.ranks - 1) {
      mxrt_call call = {};
      mxrt_tensor *write = bad.get();
      call.run = [](const mxrt_context *, const mxrt_tensor *const *, const void *) -> mxrt_status {
        return error(nullptr, MXRT_NAN_FOUND, noLocation, "a kernel found a NaN").release();
      };
      call.name = "backward";
      call.writes = &write;
      call.write_count = 1;
      ASSERT_TRUE(Status(mxrt_call_push(peer.runtime, &call)).ok());
    }
    Item items[] = {{"good", good.get()}, {"bad", bad.get()}};
    TensorRef results[2];
    ASSERT_TRUE(peer.store->issue(Action::Average, 1, items, noLocation, results).ok());
    Status status = peer.wait(results[1]);
    ASSERT_TRUE(status.failed());
    if (peer.rank == peer.ranks - 1) {
      EXPECT_EQ(status.code(), MXRT_NAN_FOUND);
    } else {
      EXPECT_EQ(status.code(), MXRT_KVSTORE);
      EXPECT_EQ(std::string(status.message()).find("rank " + std::to_string(peer.ranks - 1) +
                                                   " is lost: it gave up after an error"),
                0u)
          << status.message();
    }
    // Every later call fails: when it is issued, or its result.
    Item later = {"later", good.get()};
    TensorRef sum;
    Status issued = peer.store->issue(Action::Sum, 1, {&later, 1}, noLocation, {&sum, 1});
    EXPECT_TRUE(issued.failed() || peer.wait(sum).failed());
    EXPECT_TRUE(peer.store->barrier(noLocation).failed());
  });
}

TEST_P(Stores, RankThatLeavesEndsTheOthers) {
  meet(world(), [&](Peer &peer) {
    auto x = peer.floats({4}, {1, 2, 3, 4});
    TensorRef first = peer.one(Action::Sum, x);
    if (peer.rank > 0 && peer.rank == peer.ranks - 1) {
      peer.store->close(); // waits for the first call
      EXPECT_TRUE(peer.wait(first).ok());
      Item item = {"x", x.get()};
      TensorRef result;
      Status status = peer.store->issue(Action::Sum, 1, {&item, 1}, noLocation, {&result, 1});
      EXPECT_EQ(status.code(), MXRT_KVSTORE_CLOSED);
      EXPECT_STREQ(status.message(), "sum: the kvstore is closed");
      EXPECT_EQ(peer.store->barrier(noLocation).code(), MXRT_KVSTORE_CLOSED);
      return;
    }
    EXPECT_TRUE(peer.wait(first).ok());
    Status status = peer.store->barrier(noLocation);
    if (peer.ranks == 1) {
      EXPECT_TRUE(status.ok());
    } else {
      EXPECT_EQ(std::string(status.message()),
                "rank " + std::to_string(peer.ranks - 1) + " is lost: it left");
    }
  });
}

TEST_P(Stores, CancellationEndsEveryRank) {
  if (world().ranks == 1)
    return;
  meet(world(), [&](Peer &peer) {
    // Rank 0 waits for ranks that never come, until somebody stops the program.
    if (peer.rank > 0) {
      EXPECT_TRUE(peer.store->barrier(noLocation).failed());
      return;
    }
    std::thread stop([&] { mxrt_runtime_cancel(peer.runtime); });
    auto x = peer.floats({4}, {1, 2, 3, 4});
    Item item = {"x", x.get()};
    TensorRef result;
    // The other ranks are at a barrier: either that is found first, or the cancellation.
    if (peer.store->issue(Action::Sum, 1, {&item, 1}, noLocation, {&result, 1}).ok()) {
      Status status = peer.wait(result);
      EXPECT_TRUE(status.code() == MXRT_CANCELLED || status.code() == MXRT_KVSTORE_MISMATCH)
          << status.message();
    }
    stop.join();
  });
}

TEST_P(Stores, WeightsAreChecked) {
  meet(world(), [&](Peer &peer) {
    auto x = peer.floats({2}, {1, 2});
    Item item = {"x", x.get()};
    TensorRef result;
    for (double weight : {-1.0, double(NAN), double(INFINITY)}) {
      Status status =
          peer.store->issue(Action::Average, weight, {&item, 1}, noLocation, {&result, 1});
      EXPECT_EQ(status.code(), MXRT_KVSTORE_WEIGHT);
    }
    EXPECT_EQ(peer.wait(peer.one(Action::Average, x, 0)).code(), MXRT_KVSTORE_WEIGHT);
    // Nothing else is affected.
    EXPECT_EQ(peer.values(peer.one(Action::Average, x, 3)), (std::vector<float>{1, 2}));
  });
}

TEST(Store, LayoutsThatDifferAreNamed) {
  net::LocalHub hub(mxrt_system_allocator(), 2);
  ASSERT_TRUE(hub.open().ok());
  std::thread threads[2];
  for (int rank = 0; rank < 2; ++rank)
    threads[rank] = std::thread([&, rank] {
      mxrt_runtime *runtime = nullptr;
      ASSERT_TRUE(Status(mxrt_runtime_create(nullptr, &runtime)).ok());
      const mxrt_allocator *alloc = mxrt_runtime_allocator(runtime);
      auto *local = newObject<net::Local>(alloc, alloc, hub, rank);
      ASSERT_TRUE(local->open().ok());
      Layout layout;
      layout.topology = rank == 0 ? Topology::Ring : Topology::Tree;
      auto made =
          dist::Store::connect(runtime, net::TransportBox(alloc, local), layout, noLocation);
      ASSERT_TRUE(made.ok());
      dist::Store *store = made.take();
      Status status = store->barrier(noLocation);
      EXPECT_EQ(status.code(), MXRT_KVSTORE_MISMATCH);
      EXPECT_STREQ(status.message(), "the ranks connect with different settings: `over=ring` at "
                                     "rank 0, `over=tree` at rank 1");
      dist::Store::destroy(store);
      mxrt_runtime_destroy(runtime);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Store, FiguresFollowTheFormula) {
  World world;
  world.ranks = 3;
  meet(world, [](Peer &peer) {
    auto x = peer.floats({30}, std::vector<float>(30, 1.f));
    for (int i = 0; i < 5; ++i)
      (void)peer.values(peer.one(Action::Sum, x, 1, "net.w"));
    dist::Totals totals = peer.store->totals();
    // 16 bytes to each other rank for connect and for each call.
    uint64_t announced = 6 * 2 * 16;
    EXPECT_EQ(totals.sentBytes, announced + 5 * expectedSentBytes({}, peer.rank, 3, 30, 4, false));
    EXPECT_EQ(totals.calls, 5u);
    Vec<char> text(mxrt_system_allocator());
    ASSERT_TRUE(peer.store->describe("net.w", text).ok());
    std::string table(text.data(), text.size());
    EXPECT_NE(table.find("sum       net.w "), table.npos) << table;
    text.clear();
    Status status = peer.store->describe("net.v", text);
    EXPECT_EQ(status.code(), MXRT_KVSTORE_KEY);
    EXPECT_STREQ(status.message(), "the kvstore has no key `net.v`");
  });
}

// -- overlap ------------------------------------------------------------------

struct Backward {
  std::atomic<int> arrived{0}; // results of the exchange that were read
  std::vector<mxrt_var> gradients;
  std::atomic<bool> lastStarted{false};
};

TEST(Store, BucketsTravelWhileTheBackwardPassRuns) {
  World world;
  world.ranks = 2;
  meet(world, [](Peer &peer) {
    // The backward pass is one op. It releases the gradient of the last layer and then waits for
    // what was made of it: it would wait for ever if the exchange began only at its end.
    static constexpr size_t layers = 3, count = 300000; // 1.2 MB: a bucket each
    Backward state;
    std::vector<TensorRef> gradients, results(layers);
    std::vector<Item> items;
    const char *names[] = {"first", "middle", "last"};
    for (size_t i = 0; i < layers; ++i) {
      gradients.push_back(peer.floats({int64_t(count)}, {}));
      items.push_back({names[i], gradients[i].get()});
      mxrt_var variable = 0;
      ASSERT_TRUE(
          Status(mxrt_tensor_variable(peer.runtime, gradients[i].get(), &variable)).ok());
      state.gradients.push_back(variable);
    }
    struct Payload {
      Backward *state;
      float *data[layers];
    } payload = {&state, {}};
    for (size_t i = 0; i < layers; ++i)
      payload.data[i] = reinterpret_cast<float *>(gradients[i]->data());
    mxrt_op backward = {};
    backward.run = [](mxrt_op_context *context, void *raw) -> mxrt_status {
      auto &payload = *static_cast<Payload *>(raw);
      for (size_t i = layers; i-- > 0;) {
        if (i == 0)
          payload.state->lastStarted = true;
        std::fill_n(payload.data[i], count, float(i + 1));
        if (mxrt_status refused = mxrt_op_release(context, payload.state->gradients[i]))
          return refused;
        int wanted = int(layers - i);
        for (int seen; i > 0 && (seen = payload.state->arrived.load()) < wanted;)
          payload.state->arrived.wait(seen);
      }
      return nullptr;
    };
    backward.payload = &payload;
    backward.writes = state.gradients.data();
    backward.write_count = layers;
    backward.flags = MXRT_OP_RELEASES | MXRT_OP_OVERWRITES;
    backward.name = "backward";
    ASSERT_TRUE(Status(mxrt_engine_push(peer.engine, &backward)).ok());
    ASSERT_TRUE(
        peer.store->issue(Action::Average, 1 + peer.rank, items, noLocation, results).ok());
    // An update of each layer, as soon as its mean is there.
    for (size_t i = layers; i-- > 0;) {
      mxrt_var variable = 0;
      ASSERT_TRUE(Status(mxrt_tensor_variable(peer.runtime, results[i].get(), &variable)).ok());
      mxrt_op update = {};
      update.run = [](mxrt_op_context *, void *raw) -> mxrt_status {
        auto &state = *static_cast<Backward *>(raw);
        EXPECT_TRUE(state.arrived == int(layers) - 1 || !state.lastStarted);
        ++state.arrived;
        state.arrived.notify_all();
        return nullptr;
      };
      update.payload = &state;
      update.reads = &variable;
      update.read_count = 1;
      update.name = "update";
      ASSERT_TRUE(Status(mxrt_engine_push(peer.engine, &update)).ok());
    }
    ASSERT_TRUE(Status(mxrt_engine_wait_all(peer.engine, noLocation)).ok());
    EXPECT_EQ(state.arrived, int(layers));
    for (size_t i = 0; i < layers; ++i)
      EXPECT_EQ(peer.values(results[i]), std::vector<float>(count, float(i + 1)));
  });
}

TEST(Store, SlowLinksChangeNoBit) {
  // A test double for a network: a shared link of 40 MB/s with a latency.
  net::MonotonicClock clock;
  World fast, slow;
  fast.ranks = slow.ranks = 3;
  slow.wrap = [&](net::TransportBox inner) {
    const mxrt_allocator *alloc = inner->allocator();
    auto *delayed = newObject<net::Delayed>(alloc, std::move(inner), clock,
                                            net::Link{40e6, 300 * net::microsecond});
    return net::TransportBox(alloc, delayed);
  };
  std::vector<float> got[2];
  for (const World *world : {&fast, &slow})
    meet(*world, [&](Peer &peer) {
      auto x = peer.floats({50000}, gradient<float>(peer.rank, 50000));
      auto y = peer.floats({350000}, gradient<float>(peer.rank + 9, 350000));
      Item items[] = {{"x", x.get()}, {"y", y.get()}};
      TensorRef results[2];
      for (int step = 0; step < 3; ++step)
        ASSERT_TRUE(
            peer.store->issue(Action::Average, 1 + peer.rank, items, noLocation, results).ok());
      std::vector<float> all = peer.values(results[0]), more = peer.values(results[1]);
      all.insert(all.end(), more.begin(), more.end());
      if (peer.rank == 1)
        got[world == &slow] = all;
      // A failure does not wait for the link.
      if (peer.rank == 2)
        return;
      (void)peer.store->issue(Action::Average, 1, items, noLocation, results);
      EXPECT_EQ(peer.wait(results[1]).code(), MXRT_KVSTORE);
    });
  EXPECT_EQ(got[0], got[1]);
}

TEST(Store, TraceHasTheLaneOfTheExchange) {
  World world;
  world.ranks = 2;
  meet(world, [](Peer &peer) {
    mxrt_profile *profile = nullptr;
    ASSERT_TRUE(Status(mxrt_runtime_profile(peer.runtime, &profile)).ok());
    ASSERT_TRUE(Status(mxrt_profile_start(profile)).ok());
    auto x = peer.floats({30}, std::vector<float>(30, 1.f));
    (void)peer.values(peer.one(Action::Sum, x, 1, "net.w"));
    mxrt_profile_stop(profile);
    std::string trace;
    auto sink = [](void *user, const char *text, size_t size) -> mxrt_status {
      static_cast<std::string *>(user)->append(text, size);
      return nullptr;
    };
    ASSERT_TRUE(Status(mxrt_profile_write_trace(profile, sink, &trace)).ok());
    size_t at = trace.find("\"sum net.w\"");
    ASSERT_NE(at, trace.npos) << trace;
    EXPECT_NE(trace.find("\"bytes\":120"), trace.npos) << trace;
    EXPECT_NE(trace.find("comm"), trace.npos);
  });
}

} // namespace
} // namespace mxrt::test
