// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Latency around kernels: starting mxc, compiling a graph, a cache hit, calling the graph, and one
// eager op. Each figure is the best of several runs.

#include "SpineBench.h"
#include "Measure.h"

#include "Driver/Installed.h"
#include "Driver/InputSession.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace {

using Clock = std::chrono::steady_clock;

double best(int runs, const std::function<double()> &measure) {
  double fastest = 1e300;
  for (int i = 0; i < runs; ++i)
    fastest = std::min(fastest, measure());
  return fastest;
}

double seconds(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Runs a program and discards its output; negative if it failed.
double spawned(std::vector<const char *> words) {
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1 /* O_WRONLY */, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
  auto begin = Clock::now();
  pid_t child = 0;
  int failed = posix_spawnp(&child, words[0], &actions, nullptr,
                            const_cast<char *const *>(words.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 1;
  if (failed || waitpid(child, &status, 0) != child || status != 0)
    return -1;
  return seconds(begin);
}

/// An unrolled dense network: 20 ops before fusion.
std::string network() {
  std::string text = "let x = ones([32, 64])\nlet w = full(0.01, [64, 64])\nlet b = ones([64])\n"
                     "graph fn net(x: f32[N, 64], w: f32[64, 64], b: f32[64]) -> f32[N, 64] {\n"
                     "  var h = x\n";
  for (int i = 0; i < 6; ++i)
    text += "  h = maximum(h @ w + b, 0.0)\n";
  return text + "  h * 2.0 - 1.0\n}\n";
}

/// A training step of an LSTM over `steps` characters: a gradient through a loop.
std::string recurrent(int steps) {
  std::string n = std::to_string(steps);
  return R"(
model Cell[D, H] {
  param wx: f32[D, 4 * H] = zeros()
  param wh: f32[H, 4 * H] = zeros()
  param b: f32[4 * H] = zeros()
  fn call(x: f32[B, D], h: f32[B, H], c: f32[B, H]) -> (f32[B, H], f32[B, H]) {
    let z = x @ wx + h @ wh + b
    let c2 = sigmoid(z[:, H : 2 * H]) * c + sigmoid(z[:, 0 : H]) * tanh(z[:, 2 * H : 3 * H])
    (sigmoid(z[:, 3 * H : 4 * H]) * tanh(c2), c2)
  }
}
graph fn train(mut m: Cell[D, H], x: f32[T, B, D]) -> f32 {
  let (loss, g) = grad(m) {
    var (h, c) = (zeros([B, H]), zeros([B, H]))
    var s = 0.0
    for t in 0..T {
      (h, c) = m(x[t], h, c)
      s += (h ** 2).mean()
    }
    s
  }
  m -= 0.1 * g
  loss
}
var cell = Cell[8, 16]()
let text = ones([)" + n + ", 2, 8])\n";
}

/// A training step of LeNet on 64 images.
constexpr const char *kLeNet = R"(
import nn
from loss import xent
type W1 = f32[20, 1, 5, 5]
type W2 = f32[50, 20, 5, 5]
fn value(w1: W1, b1: f32[20], w2: W2, b2: f32[50], w3: f32[800, 500], b3: f32[500], w4: f32[500, 10],
         b4: f32[10], x: f32[B, 1, 28, 28], y: i32[B]) -> f32 {
  let a = maxpool2d(maximum(conv2d(x, w1) + b1.reshape([20, 1, 1]), 0.0), 2)
  let c = maxpool2d(maximum(conv2d(a, w2) + b2.reshape([50, 1, 1]), 0.0), 2)
  xent(maximum(c.reshape([x.shape[0], 800]) @ w3 + b3, 0.0) @ w4 + b4, y)
}
graph fn step(mut w1: W1, mut b1: f32[20], mut w2: W2, mut b2: f32[50], mut w3: f32[800, 500], mut b3: f32[500],
              mut w4: f32[500, 10], mut b4: f32[10], x: f32[N, 1, 28, 28], y: i32[N]) -> f32 {
  let (l, (d1, e1, d2, e2, d3, e3, d4, e4)) = grad(w1, b1, w2, b2, w3, b3, w4, b4) {
    value(w1, b1, w2, b2, w3, b3, w4, b4, x, y)
  }
  w1 -= 0.01 * d1
  b1 -= 0.01 * e1
  w2 -= 0.01 * d2
  b2 -= 0.01 * e2
  w3 -= 0.01 * d3
  b3 -= 0.01 * e3
  w4 -= 0.01 * d4
  b4 -= 0.01 * e4
  l
}
var (w1, b1) = (full(0.1, [20, 1, 5, 5]), zeros([20]))
var (w2, b2) = (full(0.01, [50, 20, 5, 5]), zeros([50]))
var (w3, b3) = (full(0.01, [800, 500]), zeros([500]))
var (w4, b4) = (full(0.01, [500, 10]), zeros([10]))
let x = ones([64, 1, 28, 28])
let y = zeros([64], i32)
)";

/// A training step of ResNet-50 on one image.
constexpr const char *kResNet50 = R"(
import models, optim
from loss import xent
graph fn step(mut net: models.ResNet50[1000], mut opt: optim.Sgd[models.ResNet50[1000]],
              x: f32[B, 3, 224, 224], y: i32[B]) -> f32 {
  let (loss, g) = grad(net) { xent(net(x, true), y) }
  opt.step(mut net, g)
  loss
}
var net = models.ResNet50[1000]()
var opt = optim.sgd(net, lr=0.1, momentum=0.9)
let x = ones([1, 3, 224, 224])
let y = zeros([1], i32)
)";

} // namespace

int runSpineBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  mx::bench::Figures figures;
  std::string mxc = mx::bench::commandOf(argc, argv);
  std::filesystem::path cache =
      std::filesystem::temp_directory_path() / ("mxc-bench-" + std::to_string(getpid()));
  setenv("MX_CACHE_DIR", cache.c_str(), 1);

  figures.title("start (milliseconds, best of 20)");
  double start = best(20, [&] { return spawned({mxc.c_str(), "-e", "print(1.0 + 1.0)"}); });
  figures.add("mxc -e 'print(1.0 + 1.0)'", start * 1e3, "ms", 60);
  double tensor = best(20, [&] { return spawned({mxc.c_str(), "-e", "print(ones([3]) + 1.0)"}); });
  figures.add("mxc -e 'print(ones([3]) + 1.0)'", tensor * 1e3, "ms", 80);
  double python = best(10, [&] { return spawned({"python3", "-c", "print(1.0 + 1.0)"}); });
  double numpy = best(5, [&] { return spawned({"python3", "-c", "import numpy; print(numpy.ones(3) + 1.0)"}); });
  figures.add("python3 -c 'print(1.0 + 1.0)'", python * 1e3, "ms");
  figures.add("python3 with numpy", numpy * 1e3, "ms");

  mx::driver::SessionOptions options;
  options.check.stdlib = mx::driver::findStdlib();
  options.cacheFolder = cache;
  std::ostringstream out, err;
  auto input = [&](mx::driver::InputSession &session, const std::string &text) {
    bool complete = true;
    auto begin = Clock::now();
    if (!session.runInput("<bench>", text, complete)) {
      std::fprintf(stderr, "mxc-bench: %s", err.str().c_str());
      std::exit(1);
    }
    return seconds(begin);
  };
  auto firstOf = [&](const std::string &setup, const std::string &call) {
    mx::driver::InputSession session(options, out, err);
    input(session, setup);
    double cold = input(session, "let first = " + call + "\nsync()\n");
    double warm = input(session, "let second = " + call + "\nsync()\n");
    return cold - warm;
  };
  auto firstCall = [&] { return firstOf(network(), "net(x, w, b)"); };
  figures.title("a graph of 20 ops (milliseconds, best of 5; the call itself taken off)");
  double compile = best(5, [&] {
    std::filesystem::remove_all(cache);
    return firstCall();
  });
  figures.add("compiled", compile * 1e3, "ms", 60);
  figures.add("from the cache on disk", best(5, firstCall) * 1e3, "ms", 5);
  figures.title("a gradient through a loop (milliseconds, best of 3; the call itself taken off)");
  for (int steps : {10, 1000, 10000}) {
    double first = best(3, [&] {
      std::filesystem::remove_all(cache);
      return firstOf(recurrent(steps), "train(mut cell, text)");
    });
    figures.add("an LSTM of " + std::to_string(steps) + " steps, compiled", first * 1e3, "ms",
                1000);
  }

  figures.title("a training step (milliseconds, best of 3; the call itself taken off)");
  auto training = [&](const char *name, const char *setup, const char *call, double cold,
                      double warm) {
    double compiled = best(3, [&] {
      std::filesystem::remove_all(cache);
      return firstOf(setup, call);
    });
    figures.add(std::string(name) + ", compiled", compiled * 1e3, "ms", cold);
    figures.add((std::string(name) + ", from the cache on disk").c_str(),
                best(3, [&] { return firstOf(setup, call); }) * 1e3, "ms", warm);
  };
  training("LeNet", kLeNet,
           "step(mut w1, mut b1, mut w2, mut b2, mut w3, mut b3, mut w4, mut b4, x, y)", 300, 10);
  training("ResNet-50", kResNet50, "step(mut net, mut opt, x, y)", 5000, 100);

  figures.title("calls from a loop of the host (microseconds, best of 5, everything waited for)");
  mx::driver::InputSession session(options, out, err);
  input(session, "graph fn tiny(x: f32[4]) -> f32[4] { x + 1.0 }\nvar v = ones([4])\n"
                 "fn calls(x: f32[4], n: i64) -> f32[4] {\n  var y = x\n  for i in 0..n { y = tiny(y) }\n  y\n}\n"
                 "fn ops(x: f32[4], n: i64) -> f32[4] {\n  var y = x\n  for i in 0..n { y = y + 1.0 }\n  y\n}\n");
  auto each = [&](const std::string &function) {
    constexpr int kMany = 20000;
    double few = input(session, "v = " + function + "(v, 1)\nsync()\n");
    return (input(session, "v = " + function + "(v, " + std::to_string(kMany) + ")\nsync()\n") - few) /
           kMany;
  };
  figures.add("a tiny graph", best(5, [&] { return each("calls"); }) * 1e6, "us", 2);
  figures.add("a small eager op", best(5, [&] { return each("ops"); }) * 1e6, "us", 3);
  std::filesystem::remove_all(cache);
  if (json && !mx::bench::writeJson(json, [&](std::FILE *to) { figures.printJson(to); }))
    return 1;
  return 0;
}
