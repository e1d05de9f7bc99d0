// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM benchmark against OpenBLAS and oneDNN, each called from C++ as a program would: mx through
// libmxc into host memory. Libraries that are not installed are skipped. All contenders use the
// same operands, and their results are compared before anything is timed.

#include "MatmulBench.h"
#include "LimitsBench.h"
#include "Measure.h"
#include "routines/OpenBlas.h"

#include <mxc/mxc.hpp>
#include <mxrt/cpu.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <filesystem>
#include <sched.h>
#include <unistd.h>

namespace {

using mx::bench::Contender;

constexpr const char *kPrograms = R"(
graph fn plain(x: f32[M, K], y: f32[K, N]) -> f32[M, N] { x @ y }
graph fn transposedA(x: f32[K, M], y: f32[K, N]) -> f32[M, N] { x.T @ y }
graph fn transposedB(x: f32[M, K], y: f32[N, K]) -> f32[M, N] { x @ y.T }
graph fn bf16Matmul(x: bf16[M, K], y: bf16[K, N]) -> bf16[M, N] { x @ y }
graph fn narrowed(x: f32[M, N]) -> bf16[M, N] { bf16(x) }
graph fn rounded(x: f32[M, N]) -> f32[M, N] { f32(bf16(x)) }
)";

struct Case {
  int m, n, k;
  const char *form = "plain";
};
constexpr Case kCases[] = {{64, 64, 64},
                           {128, 128, 128},
                           {255, 255, 255},
                           {256, 256, 256},
                           {257, 257, 257},
                           {512, 512, 512},
                           {512, 512, 512, "transposedA"},
                           {512, 512, 512, "transposedB"},
                           {1000, 1000, 1000},
                           {1024, 1024, 1024},
                           {2048, 2048, 2048},
                           {64, 512, 784},
                           {32, 4096, 1024}};

template <typename Function> bool find(void *library, const char *name, Function &function) {
  void *symbol = library ? dlsym(library, name) : nullptr;
  std::memcpy(&function, &symbol, sizeof(function));
  return symbol;
}

/// Row-major, as in mx: 111 is CblasNoTrans, 112 CblasTrans.
using CblasSgemm = void (*)(int order, int left, int right, int m, int n, int k, float alpha,
                            const float *a, int lda, const float *b, int ldb, float beta, float *c,
                            int ldc);
using DnnlSgemm = int (*)(char left, char right, int64_t m, int64_t n, int64_t k, float alpha,
                          const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                          float *c, int64_t ldc);

struct Peers {
  CblasSgemm openBlas = nullptr;
  DnnlSgemm oneDnn = nullptr;

  explicit Peers(int threads) {
    // Not all libraries read the number of threads from the environment, so the CPU affinity limits
    // them too.
    cpu_set_t some;
    CPU_ZERO(&some);
    for (int i = 0; i < threads; ++i)
      CPU_SET(i, &some);
    sched_setaffinity(0, sizeof(some), &some);
    std::string count = std::to_string(threads);
    setenv("OMP_NUM_THREADS", count.c_str(), 1); // read when the libraries are loaded
    setenv("OPENBLAS_NUM_THREADS", count.c_str(), 1);
    setenv(mxrt::openBlasVariable, mxrt::openBlasCoreType(), 0);
    find(dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL), "cblas_sgemm", openBlas);
    for (const char *name : {"libdnnl.so.3", "libdnnl.so.2"})
      if (find(dlopen(name, RTLD_NOW | RTLD_LOCAL), "dnnl_sgemm", oneDnn))
        break;
  }
};

std::vector<float> numbers(size_t count, unsigned salt) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>((i * 7919 + salt * 104729) % 1000) / 500.0f - 1.0f;
  return out;
}

/// Microseconds: on one thread the CPU time of the process, independent of other load on the
/// machine.
double clockOf(int threads) {
  if (threads > 1)
    return mx::bench::now();
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

/// Threads of a peer spin after a call, those of OpenBLAS for 0.1 s, and would compete with the
/// next contender for the processors. Waits until the process is idle.
void waitForPeers() {
  constexpr useconds_t pause = 10000; // microseconds
  for (double before = -pause, now; (now = clockOf(1)) - before > pause / 20.0; before = now)
    usleep(pause);
}

/// Microseconds per call.
double block(int threads, int calls, const std::function<void()> &call) {
  if (threads > 1) {
    waitForPeers();
    for (int i = 0; i < std::max(1, calls / 8); ++i)
      call();
  }
  double begin = clockOf(threads);
  for (int i = 0; i < calls; ++i)
    call();
  return (clockOf(threads) - begin) / calls;
}

/// On several threads, a block must be long compared with the wake-up time.
int callsOf(int threads, double flops) {
  return std::max(1, static_cast<int>((threads > 1 ? 2e10 : 4e8) / flops));
}

/// Compares with a tolerance: the orders of summation differ.
bool agree(const std::vector<float> &a, const std::vector<float> &b, int k) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i] - b[i]) > 1e-5f * static_cast<float>(k))
      return false;
  return true;
}

/// The name of a row of the table.
std::string nameOf(const Case &given) {
  std::string work =
      std::to_string(given.m) + "x" + std::to_string(given.n) + "x" + std::to_string(given.k);
  return std::strcmp(given.form, "plain") ? work + " " + given.form : work;
}

bool measure(const Case &given, int threads, const mx::Module &program, const Peers &peers,
             mx::bench::Report &report) {
  auto [m, n, k, form] = given;
  bool left = !std::strcmp(form, "transposedA"), right = !std::strcmp(form, "transposedB");
  auto area = [](int rows, int columns) {
    return static_cast<size_t>(rows) * static_cast<size_t>(columns);
  };
  std::vector<float> a = numbers(area(m, k), 1), b = numbers(area(k, n), 2);
  std::vector<float> ours(area(m, n)), theirs(ours.size());
  mx::Value x =
      mx::Value::borrow(a.data(), left ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k});
  mx::Value y =
      mx::Value::borrow(b.data(), right ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n});
  mx::Function function = program.function(form).value();
  auto flops = 2.0 * m * n * k;
  int calls = callsOf(threads, flops);

  std::vector<std::pair<std::string, std::function<void()>>> sides;
  sides.emplace_back("mx", [&] { function.into(std::span<float>(ours), x, y).value(); });
  if (peers.openBlas)
    sides.emplace_back("OpenBLAS", [&] {
      peers.openBlas(101, left ? 112 : 111, right ? 112 : 111, m, n, k, 1, a.data(), left ? m : k,
                     b.data(), right ? k : n, 0, theirs.data(), n);
    });
  if (peers.oneDnn)
    sides.emplace_back("oneDNN", [&] {
      peers.oneDnn(left ? 'T' : 'N', right ? 'T' : 'N', m, n, k, 1, a.data(), left ? m : k,
                   b.data(), right ? k : n, 0, theirs.data(), n);
    });
  std::vector<Contender> contenders;
  for (auto &[name, call] : sides) {
    call();
    if (name != "mx" && !agree(ours, theirs, k)) {
      std::fprintf(stderr, "mxc-bench: %s has another result for %d x %d x %d\n", name.c_str(), m,
                   n, k);
      return false;
    }
    contenders.push_back(
        {name, [threads, calls, call = call] { return block(threads, calls, call); }});
  }
  report.compare(nameOf(given), 0, contenders);
  return true;
}

/// Whether the CPU has bf16 matmul instructions (AMX tiles or AVX512_BF16), which the compiler then
/// uses.
bool hasBf16Instructions() {
  return mxrt_may_use_state(MXRT_STATE_TILES) || __builtin_cpu_supports("avx512bf16");
}
/// bf16 GEMM compared with our f32 GEMM.
bool measureBf16(const Case &given, int threads, const mx::Module &program,
                  mx::bench::Report &report) {
  int m = given.m, n = given.n, k = given.k;
  auto area = [](int rows, int columns) {
    return static_cast<size_t>(rows) * static_cast<size_t>(columns);
  };
  std::vector<float> a = numbers(area(m, k), 1), b = numbers(area(k, n), 2), wide(area(m, n));
  std::vector<uint16_t> narrow(wide.size());
  mx::Value x = mx::Value::borrow(a.data(), {m, k}), y = mx::Value::borrow(b.data(), {k, n});
  mx::Function half = program.function("narrowed").value(),
               round = program.function("rounded").value(),
               narrowMatmul = program.function("bf16Matmul").value(),
               wideMatmul = program.function("plain").value();
  mx::Value narrowX = half(x).value(), narrowY = half(y).value(), wideX = round(x).value(),
            wideY = round(y).value();
  std::pair<std::string, std::function<void()>> sides[] = {
      {"mx", [&] { narrowMatmul.into(std::span<uint16_t>(narrow), narrowX, narrowY).value(); }},
      {"f32", [&] { wideMatmul.into(std::span<float>(wide), wideX, wideY).value(); }}};
  int calls = callsOf(threads, 2.0 * m * n * k);
  std::vector<Contender> contenders;
  for (auto &[name, call] : sides) {
    call();
    contenders.push_back(
        {name, [threads, calls, call = call] { return block(threads, calls, call); }});
  }
  for (size_t i = 0; i < wide.size(); ++i) {
    float got = std::bit_cast<float>(static_cast<uint32_t>(narrow[i]) << 16);
    if (std::abs(got - wide[i]) > std::abs(wide[i]) / 256 + 1e-5f * static_cast<float>(k)) {
      std::fprintf(stderr, "mxc-bench: bf16 has another result for %d x %d x %d\n", m, n, k);
      return false;
    }
  }
  report.compare(nameOf(given) + " bf16", 0, contenders);
  return true;
}

} // namespace

int runMatmulBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  int threads = 1, blocks = 15;
  bool withBf16 = hasBf16Instructions();
  std::string only; // filter: rows whose names contain it
  for (int i = 0; i < argc; ++i)
    if (!std::strncmp(argv[i], "--threads=", 10))
      threads = std::atoi(argv[i] + 10);
    else if (!std::strncmp(argv[i], "--blocks=", 9))
      blocks = std::atoi(argv[i] + 9);
    else if (!std::strncmp(argv[i], "--only=", 7))
      only = argv[i] + 7;
    else if (!std::strcmp(argv[i], "--bf16"))
      withBf16 = true;
    else
      return std::fprintf(stderr, "mxc-bench matmul: unknown option `%s`\n", argv[i]), 2;
  threads = std::max(1, threads);
  Peers peers(threads);
  std::string cache =
      (std::filesystem::temp_directory_path() / ("mxc-bench-" + std::to_string(getpid()))).string();
  bool fine = true;
  {
    mx::Options options;
    options.cacheFolder = cache;
    options.threads = threads;
    mx::Session session(options);
    mx::Module program = session.loadSource(kPrograms).value();
    mx::bench::Report report(std::max(1, blocks));
    auto isWanted = [&](const std::string &name) { return name.find(only) != name.npos; };
    for (const Case &one : kCases)
      if (isWanted(nameOf(one)))
        fine &= measure(one, threads, program, peers, report);
    for (const Case &one :
         {Case{256, 256, 256}, Case{512, 512, 512}, Case{1024, 1024, 1024}, Case{64, 512, 784}})
      if (withBf16 && isWanted(nameOf(one) + " bf16"))
        fine &= measureBf16(one, threads, program, report);
    if (!hasBf16Instructions())
      report.note(std::string("bf16 is ") + (withBf16 ? "widened" : "left out (--bf16 measures it)") +
                  ": this CPU has no bf16 instructions (AMX, AVX512_BF16)");
    for (auto [name, isThere] : {std::pair("OpenBLAS", peers.openBlas != nullptr),
                                 std::pair("oneDNN", peers.oneDnn != nullptr)})
      if (!isThere)
        report.note(std::string(name) + " is not on this machine");
    if (double rate = mx::bench::peakF32(); rate > 0)
      report.note("peak of one thread: " + std::to_string(std::lround(rate)) + " GFLOP/s");
    report.note("microseconds a matmul, " + std::to_string(threads) +
                " thread(s); ratio: the peer's time / ours");
    report.printTable(stdout);
    fine &= !json || mx::bench::writeJson(json, [&](std::FILE *to) { report.printJson(to); });
  }
  std::filesystem::remove_all(cache);
  return fine ? 0 : 1;
}
