// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding benchmark through the public C++ API: the overhead of a call of a tiny model, the
// throughput of eight threads compared with one, and the cost of a session. Each figure is the best
// of several runs.

#include "EmbedBench.h"
#include "Measure.h"

#include <mxc/mxc.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char *kPrograms = R"(
import nn
model Mlp {
  sub fc1: nn.Dense[64, 32]
  sub fc2: nn.Dense[32, 8]
  fn call(x: f32[N, 64]) -> f32[N, 8] { x |> fc1 |> nn.relu |> fc2 }
}
model Large {
  sub fc1: nn.Dense[64, 512]
  sub fc2: nn.Dense[512, 64]
  fn call(x: f32[N, 64]) -> f32[N, 64] { x |> fc1 |> nn.relu |> fc2 }
}
var mlp = Mlp()
var large = Large()
graph fn nothing(x: f32[N]) -> f32[N] { x + 1.0 }
graph fn predict(net: Mlp, x: f32[N, 64]) -> f32[N, 8] { net(x) }
graph fn work(net: Large, x: f32[N, 64]) -> f32[N, 64] { net(x) }
fn eager(x: f32[N]) -> f32[N] { x + 1.0 }
)";

double seconds(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Seconds per call, the best of several rounds.
double perCall(int calls, const std::function<void()> &call) {
  double fastest = 1e300;
  for (int round = 0; round < 7; ++round) {
    auto begin = Clock::now();
    for (int i = 0; i < calls; ++i)
      call();
    fastest = std::min(fastest, seconds(begin) / calls);
  }
  return fastest;
}

/// Total calls per second of `threads` threads.
double throughput(int threads, int calls, const std::function<void()> &call) {
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    std::atomic<bool> go{false};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        while (!go)
          std::this_thread::yield();
        for (int i = 0; i < calls / threads; ++i)
          call();
      });
    auto begin = Clock::now();
    go = true;
    for (std::thread &thread : all)
      thread.join();
    best = std::max(best, calls / threads * threads / seconds(begin));
  }
  return best;
}

void run(const std::string &cache, mx::bench::Figures &figures) {
  mx::Options options;
  options.cacheFolder = cache;
  auto begin = Clock::now();
  mx::Session session(options);
  double start = seconds(begin);
  mx::Module program = session.loadSource(kPrograms).value();
  mx::Function nothing = program.function("nothing").value();
  mx::Function predict = program.function("predict").value();
  mx::Function work = program.function("work").value();
  mx::Function eager = program.function("eager").value();
  mx::Value mlp = program.value("mlp").value(), large = program.value("large").value();
  mlp.wait().value();
  large.wait().value();
  std::vector<float> x(64, 0.5f), rows(32 * 64, 0.5f);

  figures.title("a call from C++, waited for");
  mx::Value four = mx::Value::borrow(x.data(), {4}), one = mx::Value::borrow(x.data(), {1, 64});
  mx::Value batch = mx::Value::borrow(rows.data(), {32, 64});
  figures.add("a graph of one addition of 4 numbers",
              perCall(20000, [&] { (void)nothing(four).value(); }) * 1e6, "us", 0.5);
  figures.add("the same, with the tensor made for each call",
              perCall(20000, [&] { (void)nothing(mx::Value::borrow(x.data(), {4})).value(); }) *
                  1e6,
              "us", 0);
  figures.add("the same, issued and then waited for",
              perCall(20000, [&] { nothing.start(four).value().wait().value(); }) * 1e6, "us", 0);
  figures.add("network 64-32-8, one row",
              perCall(20000, [&] { (void)predict(mlp, one).value(); }) * 1e6, "us", 0);
  std::vector<float> out(8);
  figures.add("an addition of 4 numbers, written into memory of the host",
              perCall(20000, [&] { nothing.into(std::span<float>(out.data(), 4), four).value(); }) *
                  1e6,
              "us", 0.5);
  figures.add("network 64-32-8, one row, written into memory of the host",
              perCall(20000, [&] { predict.into(std::span<float>(out), mlp, one).value(); }) * 1e6,
              "us", 0);
  figures.add("a function: one eager addition",
              perCall(5000, [&] { (void)eager(four).value(); }) * 1e6, "us", 0);

  figures.title("calls a second of one graph, 8 threads beside 1");
  for (bool isLarge : {false, true}) {
    auto call = [&] { (void)(isLarge ? work(large, batch) : predict(mlp, one)).value(); };
    int calls = isLarge ? 2000 : 80000;
    double alone = throughput(1, calls, call), together = throughput(8, calls, call);
    std::string what = isLarge ? "network 64-512-64, 32 rows" : "network 64-32-8, one row";
    figures.add(what + ": 1 thread", alone / 1e3, "k/s", 0);
    figures.add(what + ": 8 threads", together / 1e3, "k/s", 0);
    figures.add(what + ": 8 threads / 1 thread", together / alone, "", 1, /*atLeast=*/true);
  }

  figures.title("a session");
  figures.add("made, the first of the process", start * 1e3, "ms", 0);
  figures.add("made and ended",
              perCall(20,
                      [&] {
                        mx::Options own;
                        own.cacheFolder = cache;
                        mx::Session other(own);
                      }) *
                  1e3,
              "ms", 0);
}

} // namespace

int runEmbedBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  mx::bench::Figures figures;
  std::string cache =
      std::filesystem::temp_directory_path() / ("mx-bench-" + std::to_string(getpid()));
  int code = 0;
  try {
    run(cache, figures);
  } catch (const mx::Failure &failure) {
    std::fprintf(stderr, "%s", failure.what());
    code = 1;
  }
  std::filesystem::remove_all(cache);
  if (json && !mx::bench::writeJson(json, [&](std::FILE *to) { figures.printJson(to); }))
    return 1;
  return code;
}
