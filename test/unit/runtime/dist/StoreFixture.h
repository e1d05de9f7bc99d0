// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks with runtimes of their own that meet in one process.

#ifndef MX_TEST_UNIT_RUNTIME_DIST_STOREFIXTURE_H
#define MX_TEST_UNIT_RUNTIME_DIST_STOREFIXTURE_H

#include "../kvstore/Cases.h"
#include "dist/Store.h"
#include "mxrt/call.h"
#include "net/Local.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>

namespace mxrt::test {

struct Peer {
  mxrt_runtime *runtime = nullptr;
  mxrt_engine *engine = nullptr;
  dist::Store *store = nullptr;
  int rank = 0, ranks = 1;

  template <typename T>
  TensorRef tensor(const std::vector<int64_t> &shape, const std::vector<T> &values,
                   mxrt_dtype dtype) {
    mxrt_device cpu = {MXRT_CPU, 0};
    mxrt_tensor *made = nullptr;
    Status status(mxrt_tensor_create(runtime, &cpu, dtype, int32_t(shape.size()), shape.data(),
                                     nullptr, &made));
    EXPECT_TRUE(status.ok()) << status.message();
    if (!values.empty())
      std::memcpy(made->data(), values.data(), values.size() * sizeof(T));
    return TensorRef(made);
  }
  TensorRef floats(const std::vector<int64_t> &shape, const std::vector<float> &values) {
    return tensor(shape, values, MXRT_F32);
  }
  Status wait(const TensorRef &tensor) {
    return Status(mxrt_tensor_wait(runtime, tensor.get(), nullptr));
  }
  template <typename T = float> std::vector<T> values(const TensorRef &tensor) {
    Status status = wait(tensor);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<T> out(size_t(tensor->elements));
    if (status.ok() && !out.empty())
      std::memcpy(out.data(), tensor->data(), out.size() * sizeof(T));
    return out;
  }
  /// One call on one tensor.
  TensorRef one(kvstore::Action action, const TensorRef &tensor, double weight = 1,
                const char *name = "x") {
    dist::Item item = {name, tensor.get()};
    TensorRef result;
    Status status = store->issue(action, weight, {&item, 1}, noLocation, {&result, 1});
    EXPECT_TRUE(status.ok()) << status.message();
    return result;
  }
};

struct World {
  int ranks = 1;
  kvstore::Layout layout;
  kvstore::Codec codec;
  int32_t kind = MXRT_ENGINE_THREADED;
  /// Replaces the transport of a rank.
  std::function<net::TransportBox(net::TransportBox)> wrap;
};

/// A thread for each rank.
inline void meet(const World &world, const std::function<void(Peer &)> &body) {
  net::LocalHub hub(mxrt_system_allocator(), world.ranks);
  ASSERT_TRUE(hub.open().ok());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world.ranks; ++rank)
    threads.emplace_back([&, rank] {
      mxrt_options options;
      mxrt_options_init(&options);
      options.threads = 2;
      Peer peer;
      peer.rank = rank;
      peer.ranks = world.ranks;
      ASSERT_TRUE(Status(mxrt_runtime_create(&options, &peer.runtime)).ok());
      mxrt_engine_options engine = {};
      engine.kind = world.kind;
      ASSERT_TRUE(Status(mxrt_runtime_engine(peer.runtime, &engine, &peer.engine)).ok());
      const mxrt_allocator *alloc = mxrt_runtime_allocator(peer.runtime);
      auto *local = newObject<net::Local>(alloc, alloc, hub, rank);
      ASSERT_TRUE(local->open().ok());
      net::TransportBox transport(alloc, local);
      if (world.wrap)
        transport = world.wrap(std::move(transport));
      auto made = dist::Store::connect(peer.runtime, std::move(transport), world.layout, noLocation,
                                       kvstore::Form::Dense, world.codec);
      ASSERT_TRUE(made.ok());
      peer.store = made.take();
      body(peer);
      (void)Status(mxrt_engine_wait_all(peer.engine, noLocation));
      dist::Store::destroy(peer.store);
      mxrt_runtime_destroy(peer.runtime);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_DIST_STOREFIXTURE_H
