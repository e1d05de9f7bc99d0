// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host VM benchmark: time per bytecode instruction and cancellation latency.

#include "VmBench.h"

#include "host/Vm.h"
#include "host/text/Assembler.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

using namespace mxrt;
using namespace mxrt::host;
using Clock = std::chrono::steady_clock;

namespace {

class SilentHost : public HostInterface {
public:
  Status print(std::string_view) override { return success(); }
};

/// `body` is run `iterations` times; `instructions` is the instruction count of one iteration.
struct Case {
  const char *name;
  const char *setup;
  const char *body;
  int instructions;
  int iterations;
};

const Case cases[] = {
    {"empty loop (next.i)", "", "", 1, 1000000},
    {"add.i, chained", "", " add.i r2, r2, r3\n add.i r2, r2, r3\n add.i r2, r2, r3\n add.i r2, r2, r3\n", 5,
     2000000},
    {"add.i mul.i sub.i mod.i", "", " add.i r2, r2, r3\n mul.i r3, r2, r3\n sub.i r2, r3, r2\n mod.i r4, r2, r5\n",
     5, 1000000},
    {"add.f mul.f lt.f jf", "",
     " add.f r8, r8, r9\n mul.f r8, r8, r9\n lt.f r10, r8, r9\n jf r10, on\non:\n", 5, 1000000},
    {"call, two i64", "", " call r2, add, [r2, r3]\n", 4, 1000000},
    {"call, mut array", " array r6, []\n", " call _, touch, [mut r6]\n", 3, 1000000},
    {"get and set of a tuple", " tuple r7, [r2, r3]\n", " get r2, r7, 0\n set r7, 1, r2\n", 3, 1000000},
    {"at and setat of an array", " array r6, [r2, r2]\n int r2, 1\n", " at r3, r6, r2\n setat r6, r2, r3\n", 3,
     1000000},
    {"copy of a str", " const r11, \"text\"\n", " copy r12, r11\n", 2, 1000000},
    {"cat of two str", " const r11, \"text\"\n", " cat r12, r11, r11\n", 2, 300000},
    {"fmt f32 \".4f\"", "", " fmt r12, r9, \".4f\"\n", 2, 2000000},
};

std::string programOf(const Case &c) {
  return std::string("func add(i64, i64) -> i64 {\n reg i64\n add.i r2, r0, r1\n ret r2\n}\n"
                     "func touch(mut array) {\n retu\n}\n"
                     "func bench(i64) -> i64 {\n reg i64, i64, i64, i64, i64, array, tuple\n"
                     " reg f32, f32, bool, str, str\n int r3, 3\n int r5, 1000003\n const r9, 0.999f\n") +
         c.setup + "more:\n" + c.body + " next.i r1, r0, more\n ret r2\n}\n" +
         "func endless() {\nagain:\n jmp again\n}\n";
}

/// Best of five: nanoseconds of CPU time per instruction. (CPU time is independent of other load on
/// the machine.)
double measure(Vm &vm, Program *program, const Case &c) {
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    Value args[] = {Value::integer(c.iterations)};
    Value result;
    std::clock_t start = std::clock();
    Status status = vm.call(program, "bench", args, result);
    double ns = double(std::clock() - start) * (1e9 / CLOCKS_PER_SEC);
    if (status.failed()) {
      std::fprintf(stderr, "%s: %s\n", c.name, status.message());
      return 1e9;
    }
    best = std::min(best, ns / (double(c.iterations) * c.instructions));
  }
  return best;
}

/// Milliseconds from cancel() to the return of the call, sorted.
std::vector<double> measureCancel(Vm &vm, Program *program, int rounds) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    Clock::time_point asked;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      asked = Clock::now();
      vm.cancel();
    });
    Value result;
    Status status = vm.call(program, "endless", {}, result);
    Clock::time_point stopped = Clock::now();
    other.join();
    vm.clearCancel();
    times.push_back(std::chrono::duration<double, std::milli>(stopped - asked).count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

} // namespace

int runVmBench(int, char **) {
  SilentHost host;
  VmOptions options;
  options.host = &host;
  Result<Vm *> made = Vm::create(options);
  if (made.failed())
    return 1;
  Vm *vm = made.take();
  bool good = true;
  std::printf("%-28s %10s\n", "host VM", "ns/instr");
  for (const Case &c : cases) {
    std::vector<uint8_t> bytes;
    std::string message;
    if (!assemble(programOf(c), bytes, message)) {
      std::fprintf(stderr, "%s: %s\n", c.name, message.c_str());
      return 1;
    }
    Result<Program *> loaded = vm->load(bytes);
    if (loaded.failed()) {
      std::fprintf(stderr, "%s: %s\n", c.name, loaded.takeStatus().message());
      return 1;
    }
    Program *program = loaded.take();
    double ns = measure(*vm, program, c);
    // The goal does not cover formatting of text.
    bool simple = c.body != std::string_view(" fmt r12, r9, \".4f\"\n");
    good &= !simple || ns < 100;
    std::printf("%-28s %10.2f\n", c.name, ns);
    if (&c == &cases[0]) {
      vm->setBudget(UINT64_MAX);
      Case watched = c;
      watched.iterations /= 10;
      std::printf("%-28s %10.2f\n", "  the same with a budget", measure(*vm, program, watched));
      vm->clearBudget();
      std::vector<double> times = measureCancel(*vm, program, 100);
      std::printf("%-28s %10.4f ms median, %.4f ms worst of 100\n", "  cancel to return", times[50],
                  times[99]);
    }
    vm->unload(program);
  }
  Vm::destroy(vm);
  return good ? 0 : 1;
}
