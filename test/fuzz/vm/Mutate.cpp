// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: vm-mutate [--count N] [--seed S] [--only I]
//
// Changes the seed programs N times (100,000) in a fixed sequence and checks
// each: refused, or run to an end. Prints figures; --only repeats number I of
// the sequence.

#include "Check.h"

#include "host/Module.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mxrt::host;

/// How many instructions of the table no seed program has.
static unsigned missingInstructions() {
  mxrt::host::Heap heap(mxrt_system_allocator(), SIZE_MAX / 2);
  std::vector<bool> seen(opcodeCount);
  for (const std::vector<uint8_t> &bytes : seedPrograms()) {
    Module module(heap);
    if (decodeModule(heap, bytes, module).ok())
      for (const FunctionData &fn : module.functions)
        for (const Instr &instr : fn.code)
          seen[instr.op] = true;
  }
  unsigned missing = 0;
  for (unsigned op = 0; op < opcodeCount; ++op)
    if (!seen[op]) {
      std::fprintf(stderr, "no seed program has %s\n", opcodeInfo(Opcode(op)).mnemonic);
      ++missing;
    }
  return missing;
}

int main(int argc, char **argv) {
  uint64_t count = 100000, seed = 1, only = UINT64_MAX;
  for (int i = 1; i + 1 < argc; i += 2) {
    uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (!std::strcmp(argv[i], "--count"))
      count = value;
    else if (!std::strcmp(argv[i], "--seed"))
      seed = value;
    else if (!std::strcmp(argv[i], "--only"))
      only = value;
  }
  const std::vector<std::vector<uint8_t>> &seeds = seedPrograms();
  if (missingInstructions())
    return 1;
  uint64_t verdicts[3] = {0, 0, 0};
  auto start = std::chrono::steady_clock::now();
  for (const std::vector<uint8_t> &bytes : seeds)
    if (checkProgram(bytes, true) == Verdict::Refused) {
      std::fprintf(stderr, "a seed program is refused\n");
      return 1;
    }
  for (uint64_t i = 0; i < count; ++i) {
    if (only != UINT64_MAX && i != only)
      continue;
    // Each input has a generator of its own, so that one can be repeated.
    Random random{seed * 0x9e3779b97f4a7c15u + i};
    std::vector<uint8_t> bytes = seeds[random.below(seeds.size())];
    // Mostly structured, some of them many steps from a seed, the rest bytes.
    unsigned bytesPercent = random.chance(70) ? 0 : random.chance(50) ? 100 : 25;
    uint64_t steps = 1 + random.below(random.chance(20) ? 20 : 2);
    for (; steps; --steps)
      if (random.chance(bytesPercent) || !mutateModule(random, bytes))
        mutateBytes(random, bytes);
    ++verdicts[unsigned(checkProgram(bytes, i % 16 == 0))];
  }
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu programs, seed %llu: %llu refused, %llu finished, %llu ended in an error; "
              "0 crashes, %.1f s\n",
              static_cast<unsigned long long>(verdicts[0] + verdicts[1] + verdicts[2]),
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(verdicts[0]),
              static_cast<unsigned long long>(verdicts[1]),
              static_cast<unsigned long long>(verdicts[2]), seconds);
  return 0;
}
