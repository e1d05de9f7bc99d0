// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU feature detection (CPUID) for the selection of ahead-of-time variants.

#include "mxrt/aot.h"

#if defined(__x86_64__)
#include <atomic>
#include <cpuid.h>

namespace {

/// Checks all features beyond x86-64-v4 that code for `sapphirerapids` may use. AMX tile registers
/// count if the system saves them; the code itself queries whether this process may use them
/// (mxrt/cpu.h).
bool hasSapphireRapids() {
  unsigned a = 0, b = 0, c = 0, d = 0, a1 = 0, b1 = 0, c1 = 0, d1 = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || a < 1 ||
      !__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1))
    return false;
  constexpr unsigned ifma = 1u << 21, sha = 1u << 29;                 // ebx
  constexpr unsigned vbmi = 1u << 1, vbmi2 = 1u << 6, gfni = 1u << 8, // ecx
      vaes = 1u << 9, vpclmulqdq = 1u << 10, vnni = 1u << 11, bitalg = 1u << 12,
                     vpopcntdq = 1u << 14;
  constexpr unsigned amxBf16 = 1u << 22, fp16 = 1u << 23, amxTile = 1u << 24, // edx
      amxInt8 = 1u << 25;
  constexpr unsigned avxVnni = 1u << 4, bf16 = 1u << 5; // eax of 7, 1
  auto all = [](unsigned word, unsigned bits) { return (word & bits) == bits; };
  if (!all(b, ifma | sha) || !all(d, amxBf16 | fp16 | amxTile | amxInt8) ||
      !all(a1, avxVnni | bf16) ||
      !all(c, vbmi | vbmi2 | gfni | vaes | vpclmulqdq | vnni | bitalg | vpopcntdq))
    return false;
  unsigned low = 0, high = 0; // XCR0; readable, since AVX is present
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return all(low, 1u << 17 | 1u << 18);
}

int32_t findLevel() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("x86-64-v4")   ? (hasSapphireRapids() ? 5 : 4)
         : __builtin_cpu_supports("x86-64-v3") ? 3
         : __builtin_cpu_supports("x86-64-v2") ? 2
                                               : 0;
}

} // namespace

int32_t mxrt_aot_cpu_level(void) {
  static std::atomic<int32_t> known{-1}; // CPUID can take microseconds
  int32_t level = known.load(std::memory_order_relaxed);
  if (level < 0)
    known.store(level = findLevel(), std::memory_order_relaxed);
  return level;
}
#else
int32_t mxrt_aot_cpu_level(void) { return 0; }
#endif
