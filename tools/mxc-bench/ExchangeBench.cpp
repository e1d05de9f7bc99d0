// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exchange benchmark: two ranks whose backward pass, one op, releases a gradient at a time, over a
// simulated link (net/Delayed.h, a test double). The step time is compared with max(compute,
// exchange), the lower bound, and with their sum, the time without overlap. Nothing is asserted.

#include "ExchangeBench.h"

#include "Measure.h"
#include "base/Os.h"
#include "dist/Store.h"
#include "mxrt/call.h"
#include "net/Delayed.h"
#include "net/Local.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace mxrt;

constexpr size_t layers = 20;
constexpr size_t layerElements = 1250000; // 5 MB: 100 MB in all
constexpr int ranks = 2;
constexpr int steps = 4; // the first one is not counted

[[noreturn]] void giveUp(const Status &status) {
  std::fprintf(stderr, "mxc-bench: %s\n", status.message());
  std::exit(1);
}
void check(Status status) {
  if (status.failed())
    giveUp(status);
}

/// The backward pass: sleeps instead of computing, so that two cores are enough.
struct Backward {
  std::vector<mxrt_var> gradients;
  int64_t layerNs = 0;
  bool releases = true;
};
mxrt_status runBackward(mxrt_op_context *context, void *payload) {
  auto &self = *static_cast<Backward *>(payload);
  for (size_t i = layers; i-- > 0;) {
    os::sleepNs(self.layerNs);
    if (self.releases)
      if (mxrt_status refused = mxrt_op_release(context, self.gradients[i]))
        return refused;
  }
  return nullptr;
}

/// Milliseconds of a step, on average.
double measure(double computeMs, double bytesPerSecond, bool overlaps) {
  net::LocalHub hub(mxrt_system_allocator(), ranks);
  check(hub.open());
  net::MonotonicClock clock;
  double took[ranks] = {};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const mxrt_allocator *alloc = mxrt_system_allocator();
      mxrt_runtime *runtime = nullptr;
      check(Status(mxrt_runtime_create(nullptr, &runtime)));
      mxrt_engine *engine = nullptr;
      check(Status(mxrt_runtime_engine(runtime, nullptr, &engine)));
      auto *local = newObject<net::Local>(alloc, alloc, hub, rank);
      check(local->open());
      auto *delayed = newObject<net::Delayed>(alloc, net::TransportBox(alloc, local), clock,
                                              net::Link{bytesPerSecond, 50 * net::microsecond});
      auto made = dist::Store::connect(runtime, net::TransportBox(alloc, delayed), {}, noLocation);
      if (made.failed())
        giveUp(made.takeStatus());
      dist::Store *store = made.take();
      {
        Backward backward;
        backward.layerNs = int64_t(computeMs * 1e6) / int64_t(layers);
        backward.releases = overlaps;
        std::vector<TensorRef> gradients;
        std::vector<dist::Item> items;
        std::vector<std::string> names;
        for (size_t i = 0; i < layers; ++i)
          names.push_back("layer" + std::to_string(i));
        for (size_t i = 0; i < layers; ++i) {
          mxrt_device cpu = {MXRT_CPU, 0};
          int64_t shape = layerElements;
          mxrt_tensor *tensor = nullptr;
          check(Status(
              mxrt_tensor_create(runtime, &cpu, MXRT_F32, 1, &shape, nullptr, &tensor)));
          std::memset(tensor->data(), 0, layerElements * sizeof(float));
          gradients.push_back(TensorRef(tensor));
          items.push_back({names[i], tensor});
          mxrt_var variable = 0;
          check(Status(mxrt_tensor_variable(runtime, tensor, &variable)));
          backward.gradients.push_back(variable);
        }
        double begin = 0;
        for (int step = 0; step < steps; ++step) {
          if (step == 1)
            begin = mx::bench::now();
          mxrt_op op = {};
          op.run = runBackward;
          op.payload = &backward;
          op.writes = backward.gradients.data();
          op.write_count = layers;
          op.flags = MXRT_OP_RELEASES | MXRT_OP_OVERWRITES;
          op.name = "backward";
          check(Status(mxrt_engine_push(engine, &op)));
          std::vector<TensorRef> results(layers);
          check(store->issue(kvstore::Action::Average, 1, items, noLocation, results));
          check(Status(mxrt_engine_wait_all(engine, noLocation)));
        }
        took[rank] = (mx::bench::now() - begin) / 1e3 / (steps - 1);
      }
      dist::Store::destroy(store);
      mxrt_runtime_destroy(runtime);
    });
  for (std::thread &thread : threads)
    thread.join();
  return *std::max_element(took, took + ranks);
}

} // namespace

int runExchangeBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  mx::bench::Figures figures;
  figures.title("100 MB of gradients, 20 layers, 2 ranks, a simulated link; ms a step");
  double computeMs = 200;
  for (double exchangeMs : {100.0, 200.0, 300.0}) {
    // Each rank sends 2 N (W - 1) / W bytes.
    double bytes = double(layers * layerElements * sizeof(float)) * 2 * (ranks - 1) / ranks;
    double bandwidth = bytes / (exchangeMs * 1e-3);
    char what[80];
    std::snprintf(what, sizeof what, "compute %.0f, exchange %.0f, max", computeMs, exchangeMs);
    figures.add(what, std::max(computeMs, exchangeMs), "ms");
    std::snprintf(what, sizeof what, "compute %.0f, exchange %.0f, overlapped", computeMs,
                  exchangeMs);
    figures.add(what, measure(computeMs, bandwidth, true), "ms");
    std::snprintf(what, sizeof what, "compute %.0f, exchange %.0f, after the pass", computeMs,
                  exchangeMs);
    figures.add(what, measure(computeMs, bandwidth, false), "ms");
  }
  if (json && !mx::bench::writeJson(json, [&](std::FILE *to) { figures.printJson(to); }))
    return 1;
  return 0;
}
