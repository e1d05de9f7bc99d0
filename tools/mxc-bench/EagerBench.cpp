// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eager dispatch benchmark: the overhead of an op on a tiny tensor.

#include "EagerBench.h"

#include "eager/Executor.h"
#include "host/text/Assembler.h"
#include "mxrt/engine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

using namespace mxrt;
using namespace mxrt::host;
using Clock = std::chrono::steady_clock;

namespace {

/// Handwritten kernels: the benchmark measures the dispatch overhead.
class HandKernels final : public eager::KernelSource {
public:
  Status find(std::string_view key, mxrt_compiled_kernel &out) override {
    if (key == "add f32:1c,f32:1c -> f32:1c")
      out = [](const mxrt_context *, void *const *b, const int64_t *n) -> mxrt_status {
        auto *x = static_cast<float *>(b[0]), *y = static_cast<float *>(b[1]),
             *z = static_cast<float *>(b[2]);
        for (int64_t i = 0; i < n[0]; ++i)
          z[i] = x[i] + y[i];
        return nullptr;
      };
    else if (key == "add f32:1c,f32:0 -> f32:1c")
      out = [](const mxrt_context *, void *const *b, const int64_t *n) -> mxrt_status {
        auto *x = static_cast<float *>(b[0]), *y = static_cast<float *>(b[1]),
             *z = static_cast<float *>(b[2]);
        for (int64_t i = 0; i < n[0]; ++i)
          z[i] = x[i] + *y;
        return nullptr;
      };
    else // the result does not matter
      out = [](const mxrt_context *, void *const *, const int64_t *) -> mxrt_status {
        return nullptr;
      };
    return success();
  }
};

struct Case {
  const char *name;
  const char *body; // x is r1, y is r2 (f32[4]), m is r3 (f32[2, 2])
};

const Case cases[] = {
    {"x + y, result dropped", " tensor _, \"add:f32\", [r1, r2]\n"},
    {"x = x + y", " tensor r1, \"add:f32\", [r1, r2]\n"},
    {"x = x + 1.0", " tensor r1, \"add:f32\", [r1, r6]\n"},
    {"m + y[0:2] (broadcast)", " tensor _, \"add:f32\", [r3, r4]\n"},
    {"m.sum(axis=0)", " tensor _, \"sum:f32(axes=0)\", [r3]\n"},
    {"m @ m", " tensor _, \"matmul:f32\", [r3, r3]\n"},
    {"x[1] (a view)", " tensor _, \"index(i)\", [r1, r7]\n"},
    {"x[1] = 1.0", " tensor _, \"update(i)\", [mut r1, r7, r6]\n"},
};

std::string programOf(const Case &c) {
  return std::string(
             "tensor \"add:f32\"(tensor, any) -> tensor\n"
             "tensor \"sum:f32(axes=0)\"(tensor) -> tensor\n"
             "tensor \"matmul:f32\"(tensor, tensor) -> tensor\n"
             "tensor \"index(i)\"(tensor, i64) -> tensor\n"
             "tensor \"index(rt)\"(tensor, i64) -> tensor\n"
             "tensor \"update(i)\"(mut tensor, i64, f32)\n"
             "tensor \"literal:f32(shape=4)\"(...) -> tensor\n"
             "tensor \"literal:f32(shape=2/2)\"(...) -> tensor\n"
             "native mx.sync()\n"
             "func bench(i64) -> i64 {\n reg tensor, tensor, tensor, tensor, i64, f32, i64\n"
             " const r6, 1.0f\n tensor r1, \"literal:f32(shape=4)\", [r6, r6, r6, r6]\n"
             " tensor r2, \"literal:f32(shape=4)\", [r6, r6, r6, r6]\n"
             " tensor r3, \"literal:f32(shape=2/2)\", [r6, r6, r6, r6]\n"
             " int r7, 2\n tensor r4, \"index(rt)\", [r2, r7]\n int r7, 1\n int r5, 0\nmore:\n") +
         c.body + " next.i r5, r0, more\n native _, mx.sync, []\n ret r5\n}\n";
}

/// Best of several rounds, in microseconds per iteration; < 0 if it failed.
double measure(Vm &vm, const Case &c, int iterations) {
  std::vector<uint8_t> bytes;
  std::string message;
  if (!assemble(programOf(c), bytes, message)) {
    std::fprintf(stderr, "%s: %s\n", c.name, message.c_str());
    return -1;
  }
  auto program = vm.load(bytes);
  if (program.failed()) {
    std::fprintf(stderr, "%s: %s\n", c.name, program.takeStatus().message());
    return -1;
  }
  double best = 1e9;
  for (int round = 0; round < 15; ++round) {
    Value args[] = {Value::integer(iterations)}, result;
    auto start = Clock::now();
    Status status = vm.call(*program, "bench", args, result);
    std::chrono::duration<double, std::micro> took = Clock::now() - start;
    if (status.failed()) {
      std::fprintf(stderr, "%s: %s\n", c.name, status.message());
      best = -1;
      break;
    }
    best = std::min(best, took.count() / iterations);
  }
  vm.unload(*program);
  return best;
}

} // namespace

int runEagerBench(int argc, char **argv) {
  bool naive = argc > 0 && std::strcmp(argv[0], "--naive") == 0;
  mxrt_runtime *runtime = nullptr;
  mxrt_engine *engine = nullptr;
  mxrt_engine_options options = {};
  options.kind = naive ? MXRT_ENGINE_NAIVE : MXRT_ENGINE_THREADED;
  if (mxrt_runtime_create(nullptr, &runtime) || mxrt_runtime_engine(runtime, &options, &engine))
    return 1;
  bool good = true;
  {
    HandKernels kernels;
    eager::EagerHost host({runtime, &kernels});
    VmOptions vmOptions;
    vmOptions.runtime = runtime;
    vmOptions.host = &host;
    auto vm = Vm::create(vmOptions);
    if (vm.failed() || host.registerNatives(**vm).failed())
      return 1;
    std::printf("%-28s %s\n", "operation", naive ? "us (naive)" : "us (threaded)");
    for (const Case &c : cases) {
      double us = measure(**vm, c, 10000);
      std::printf("%-28s %.2f\n", c.name, us);
      good = good && us >= 0 && us <= 3;
    }
    Vm::destroy(*vm);
  }
  mxrt_runtime_destroy(runtime);
  return good || naive ? 0 : 1;
}
