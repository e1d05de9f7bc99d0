// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peak multiply-add throughput and memcpy bandwidth of one thread.

#include "LimitsBench.h"
#include "Measure.h"

#include <mxrt/cpu.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

/// Microseconds of CPU time of this thread, independent of other load on the machine.
double cpuTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

#if defined(__x86_64__)
constexpr int kPeakIterations = 200000;
/// Independent FMA chains on vectors of `bytes`, enough of them to hide the FMA latency, all in
/// registers: any of them ("v"; "x" would be the first 16 of 32).
#define PEAK(name, features, bytes, count)                                                         \
  __attribute__((target(features), noinline)) double name() {                                      \
    typedef float Vector __attribute__((vector_size(bytes)));                                      \
    Vector sums[count] = {}, factor = Vector{} + 0.999f, more = Vector{} + 1e-4f;                  \
    for (int i = 0; i < kPeakIterations; ++i) {                                                    \
      _Pragma("GCC unroll 32") for (Vector & sum : sums) {                                         \
        sum = sum * factor + more;                                                                 \
        asm volatile("" : "+v"(sum));                                                              \
      }                                                                                            \
    }                                                                                              \
    volatile float used = sums[0][0];                                                              \
    (void)used;                                                                                    \
    return 2.0 * kPeakIterations * count * bytes / 4;                                              \
  }
PEAK(peakOf256, "avx2,fma", 32, 12)
PEAK(peakOf512, "avx512f", 64, 24)
#undef PEAK

/// The same with VDPBF16PS: two multiply-adds in each of 16 lanes.
__attribute__((target("avx512f,avx512bf16"), noinline)) double peakOfDots() {
  constexpr int count = 24;
  __m512 sums[count] = {};
  auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  for (int i = 0; i < kPeakIterations; ++i) {
    _Pragma("GCC unroll 32") for (__m512 &sum : sums) {
      sum = _mm512_dpbf16_ps(sum, ones, ones);
      asm volatile("" : "+v"(sum));
    }
  }
  volatile float used = sums[0][0];
  (void)used;
  return 2.0 * kPeakIterations * count * 32;
}
#endif

/// The best of many runs in GFLOP/s; `work` returns its floating-point operations.
double best(double (*work)()) {
  double out = 0;
  for (int i = 0; work && i < 100; ++i) {
    double begin = cpuTime(), done = work();
    out = std::max(out, done / (cpuTime() - begin) / 1e3);
  }
  return out;
}

/// GB/s of memcpy, bytes read and written: the median of many copies that move `bytes` in total.
double copyRate(size_t bytes) {
  std::vector<uint8_t> from(bytes / 2, 1), to(bytes / 2, 2);
  std::vector<double> rates;
  for (int i = 0; i < 31; ++i) {
    double begin = cpuTime();
    std::memcpy(to.data(), from.data(), from.size());
    asm volatile("" : : "r"(to.data()) : "memory");
    rates.push_back(static_cast<double>(bytes) / (cpuTime() - begin) / 1e3);
  }
  return mx::bench::quartilesOf(std::move(rates)).median;
}

} // namespace

namespace mx::bench {

double peakF32() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return best(peakOf512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return best(peakOf256);
#endif
  return 0;
}

double peakBf16() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16") && !mxrt_may_use_state(MXRT_STATE_TILES))
    return best(peakOfDots);
#endif
  return 0;
}

} // namespace mx::bench

int runLimitsBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  if (argc > 0)
    return std::fprintf(stderr, "mxc-bench limits: unknown option `%s`\n", argv[0]), 2;
  mx::bench::Figures figures;
  figures.title("limits of one thread");
  // A peak that is not known is left out.
  if (double rate = mx::bench::peakF32(); rate > 0)
    figures.add("f32 multiply-add", rate, "GFLOP/s");
  if (double rate = mx::bench::peakBf16(); rate > 0)
    figures.add("bf16 dot products", rate, "GFLOP/s");
  for (size_t megabytes : {1u, 16u, 64u, 256u})
    figures.add("memcpy of " + std::to_string(megabytes) + " MB read and written",
                copyRate(megabytes << 20), "GB/s");
  if (json && !mx::bench::writeJson(json, [&](std::FILE *to) { figures.printJson(to); }))
    return 1;
  return 0;
}
