// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel benchmarks for autotuning: min time of repeated calls.
#include "Driver/KernelTimer.h"
#include "Support/Seconds.h"
#include "mxrt/kernel.h"
#include "mxrt/memory.h"
#include <chrono>
#include <cstring>

namespace mx::driver {
namespace {

/// Total time of the timed calls of a kernel; at least one call is timed.
constexpr double kEnough = 2000; // microseconds
constexpr int64_t kLine = 64;

/// Every byte of a float: a value of moderate size in f16, bf16, f32 and f64.
constexpr int kFloatByte = 0x3f;

double now() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

} // namespace

std::optional<double> KernelTimer::time(const std::string &object, const std::string &name,
                                        llvm::ArrayRef<Room> buffers) {
  auto unit = jit.add({std::string_view(object)});
  auto *kernel = unit ? reinterpret_cast<mxrt_compiled_kernel>(unit->address(name)) : nullptr;
  if (!kernel)
    return std::nullopt;
  int64_t bytes = 0;
  for (const Room &room : buffers)
    bytes += llvm::alignTo(room.bytes, kLine);
  mxrt_device device = {};
  mxrt_location location = {};
  mxrt_context context;
  mxrt_arena arena = {};
  mxrt_status status = mxrt_runtime_context(runtime, &device, &location, &context);
  if (!status)
    status = mxrt_arena_lease(runtime, &device, bytes, "tuning", &location, &arena);
  std::vector<void *> addresses;
  char *next = static_cast<char *>(arena.base);
  for (size_t i = 0; i < buffers.size() && !status; ++i) {
    std::memset(next, buffers[i].isFloat ? kFloatByte : 0, static_cast<size_t>(buffers[i].bytes));
    addresses.push_back(next);
    next += llvm::alignTo(buffers[i].bytes, kLine);
  }
  int64_t noSizes = 0;
  if (!status)
    status = kernel(&context, addresses.data(), &noSizes);
  double fastest = 0, spent = 0;
  for (int calls = 0; !status && (calls == 0 || spent < kEnough); ++calls) {
    double begin = now();
    status = kernel(&context, addresses.data(), &noSizes);
    double took = now() - begin;
    fastest = calls == 0 ? took : std::min(fastest, took);
    spent += took;
  }
  mxrt_arena_return(&arena);
  bool isFine = status == nullptr;
  mxrt_status_release(status);
  return isFine ? std::optional(fastest) : std::nullopt;
}

void KernelTimer::found(const Found &kernel) {
  out << "tuned " << kernel.location << ": " << showSeconds(kernel.now * 1e-6);
  const lowering::Tiling &tiling = kernel.tiling;
  if (tiling == lowering::Tiling()) {
    out << ", as it was\n";
    return;
  }
  out << ", was " << showSeconds(kernel.before * 1e-6) << " (";
  if (tiling.columns)
    out << tiling.columns << " columns" << (tiling.steps ? ", " : "");
  if (tiling.steps)
    out << tiling.steps << " steps";
  out << ")\n";
}

} // namespace mx::driver
