// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Autotuning of GEMM and convolution tilings.
#include "Pipeline/Tune.h"
#include "Target/CompileQueue.h"
#include "dialects/mx/Kernels.h"

namespace mx::pipeline {
using namespace mlir;
using lowering::Tiling;

namespace {

constexpr int kIterations = 5, kLastRounds = 11; ///< rounds for all tilings, and for the last two
/// A gain of less than a thirtieth may be noise.
constexpr double kFaster = 29.0 / 30;

/// Sizes from `first` on, each twice the one before, for as long as kernels have room for them.
std::vector<Tiling> doubled(Tiling first, int64_t Tiling::*size) {
  std::vector<Tiling> out;
  for (; Tiling::parse(first.text()); first.*size *= 2)
    out.push_back(first);
  return out;
}

/// Whether a kernel is a matmul or convolution with tiles of TiledMatmul, and all of its sizes are
/// known at compile time.
bool isTunable(ir::KernelOp kernel, const lowering::KernelOptions &how) {
  if (!ir::hasTiles(kernel.kind()) || kernel.hasStrides() || !kernel.getSizes().empty())
    return false;
  auto isBf16 = [](Operation &op) {
    return ir::kindOf(&op) && ir::hasTiles(*ir::kindOf(&op)) &&
           cast<ir::TensorType>(op.getOperand(0).getType()).getElement().isBF16();
  };
  return how.target.bf16.kind == Bf16Unit::None || llvm::none_of(kernel.getBody().front(), isBf16);
}

std::optional<KernelClock::Room> roomOf(Type type) {
  auto tensor = cast<ir::TensorType>(type);
  int64_t bytes = (std::max(8u, tensor.getElement().getIntOrFloatBitWidth())) / 8;
  for (ir::SizeAttr size : tensor.getSizes())
    if (!size.constant() || __builtin_mul_overflow(bytes, *size.constant(), &bytes))
      return std::nullopt;
  return KernelClock::Room{bytes, isa<FloatType>(tensor.getElement())};
}

/// The buffers in the order of the function's arguments.
std::optional<std::vector<KernelClock::Room>> roomsOf(ir::KernelOp kernel) {
  std::vector<KernelClock::Room> out;
  auto types =
      llvm::concat<const Type>(kernel.getBody().getArgumentTypes(), kernel.getResultTypes());
  for (Type type : types) {
    std::optional<KernelClock::Room> room = roomOf(type);
    if (!room || room->bytes == 0)
      return std::nullopt;
    out.push_back(*room);
  }
  if (kernel.getWorkspace() > 0)
    out.push_back({static_cast<int64_t>(kernel.getWorkspace()), false});
  return out;
}

/// Other work on a machine slows it down for seconds at a time, by more than tuning can gain. So
/// tilings are timed in rounds, interleaved, and each time counts relative to the default tiling's
/// time of the same round.
class Tuner {
public:
  Tuner(ir::KernelOp kernel, const lowering::KernelOptions &how, const target::TargetCpu &cpu,
        const Options &options, std::vector<KernelClock::Room> buffers)
      : kernel(kernel), how(how), cpu(cpu), options(options), buffers(std::move(buffers)) {}

  /// Tunes the number of columns first, then that of steps with it; the winner is compared once
  /// more. False if no tiling could be timed.
  bool run(KernelClock::Found &found) {
    std::vector<Tiling> ways =
        doubled({.columns = how.target.gemm.minColumns}, &Tiling::columns);
    if (!compile({Tiling()}) || !compile(ways) || !compare(kIterations))
      return false;
    int64_t columns = best().tiling.columns;
    ways = doubled({.columns = columns, .steps = how.target.panelSteps() / 4}, &Tiling::steps);
    keepBest();
    if (!compile(ways) || !compare(kIterations))
      return false;
    keepBest();
    if (!compare(kLastRounds))
      return false;
    bool isFaster = best().ratio < kFaster;
    found.tiling = isFaster ? best().tiling : Tiling();
    found.before = tried.front().time;
    found.now = isFaster ? best().time : found.before;
    return true;
  }

private:
  struct Way {
    Tiling tiling;
    std::string object;
    double ratio = 1; ///< of its time to the default's: median of all rounds
    double time = 0;  ///< min
  };
  static constexpr const char *kName = "mx_tuned";

  ir::KernelOp kernel;
  lowering::KernelOptions how;
  const target::TargetCpu &cpu;
  const Options &options;
  std::vector<KernelClock::Room> buffers;
  std::vector<Way> tried; ///< the first is TiledMatmul's default

  const Way &best() {
    return *llvm::min_element(tried, [](const Way &a, const Way &b) { return a.ratio < b.ratio; });
  }
  /// The default stays, as the baseline.
  void keepBest() {
    Way found = best();
    tried.resize(1);
    if (found.tiling != tried.front().tiling)
      tried.push_back(std::move(found));
  }

  /// Tilings that compile to the same code count as one.
  bool compile(ArrayRef<Tiling> ways) {
    target::CompileQueue queue(cpu, options.threads);
    for (const Tiling &tiling : ways) {
      how.tiling = tiling;
      OwningOpRef<ModuleOp> module = lowering::lowerKernel(kernel, kName, how);
      if (!module || options.stopped())
        return false;
      target::CompileOptions compile;
      compile.name = kName;
      compile.isStopped = options.isStopped;
      queue.add(*module, compile);
    }
    auto compiled = queue.finish();
    if (!compiled)
      return false;
    for (auto [tiling, made] : llvm::zip_equal(ways, *compiled))
      if (llvm::none_of(tried, [&](const Way &way) { return way.object == made.object; }))
        tried.push_back({tiling, std::move(made.object)});
    return true;
  }

  bool compare(int iterations) {
    if (tried.size() == 1) // nothing to compare with, but it needs a time
      iterations = 1;
    std::vector<std::vector<double>> ratios(tried.size());
    for (int iteration = 0; iteration < iterations; ++iteration) {
      double usual = 0;
      for (auto [way, list] : llvm::zip_equal(tried, ratios)) {
        std::optional<double> time = options.clock->time(way.object, kName, buffers);
        if (!time || options.stopped())
          return false;
        if (list.empty() || *time < way.time)
          way.time = *time;
        if (&way == &tried.front())
          usual = *time;
        list.push_back(*time / usual);
      }
    }
    for (auto [way, list] : llvm::zip_equal(tried, ratios)) {
      llvm::sort(list);
      way.ratio = list[list.size() / 2];
    }
    return true;
  }
};

} // namespace

Tiling tilingOf(ir::KernelOp kernel, const std::string &key, const std::string &location,
                const lowering::KernelOptions &how, const target::TargetCpu &cpu,
                target::ObjectCache &cache, const Options &options) {
  if (how.tiling != Tiling() || !isTunable(kernel, how))
    return how.tiling;
  std::string saved = key + " tiling";
  if (auto text = cache.load(saved))
    if (auto tiling = Tiling::parse(*text))
      return *tiling;
  if (!options.clock)
    return {};
  Timing::Span span(options.timing, "tuning");
  auto buffers = roomsOf(kernel);
  KernelClock::Found found{location, {}, 0, 0};
  if (!buffers || !Tuner(kernel, how, cpu, options, std::move(*buffers)).run(found))
    return {};
  cache.store(saved, found.tiling.text());
  options.clock->found(found);
  return found.tiling;
}

} // namespace mx::pipeline
