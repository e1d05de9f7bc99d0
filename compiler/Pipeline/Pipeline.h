// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler pipeline after the front end: from a graph with symbolic sizes to objects that can
// be linked and called. Pipeline.cpp is the list of passes, in order, with the reason for each.
#pragma once
#include "Lowering/Kernels.h"
#include "Support/ElementType.h"
#include "Support/Timing.h"
#include "Target/Compile.h"
#include "Target/ObjectCache.h"
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <map>
#include <set>

namespace mx::pipeline {

class KernelClock; // Tune.h

/// The phases that can be printed, in order.
inline constexpr std::string_view kPhases[] = {"mx",   "mx-specialised", "mx-fused", "dot",
                                               "mxrt", "loops",          "llvm",     "asm"};

/// Passes that can be disabled; results are the same without them.
inline constexpr std::string_view kCanDisable[] = {
    "fuse",    "simplify", "cse",       "hoist",    "tile-chains",
    "prepack", "schedule", "recompute", "in-place", "co-share"};

struct Options {
  lowering::KernelOptions kernels;
  /// Overrides the bf16 instructions of the CPU, for tests.
  std::optional<Bf16Unit> bf16;
  /// Disabled passes, by their names: those of kCanDisable.
  std::set<std::string> disabled;
  /// A deliberate bug in a pass, for tests of the tests (mutation testing): one that knowsMistake()
  /// knows.
  std::string mistake;
  unsigned threads = 1;
  /// Max bytes of the arena of a graph; 0: no limit. Values are rematerialised if it needs more.
  int64_t maxBytes = 0;
  /// Bytes of a matrix above which it is computed in blocks, and of a block; 0: the defaults of
  /// Block.
  int64_t tileBytes = 0;
  /// Guards kernels: they may change nothing but their outputs.
  bool guard = false;
  /// Writes the symbols of loaded code to a file for `perf`.
  bool perfMap = false;
  /// Receives the time of each step; may be null.
  Timing *timing = nullptr;
  /// Autotunes kernels that were not tuned yet; null: kernels are not tuned.
  KernelClock *clock = nullptr;
  /// Polled from any thread; true cancels compilation, which then fails. May be empty.
  std::function<bool()> isStopped;
  bool stopped() const { return isStopped && isStopped(); }
  /// Called with the text of each phase that `wanted` names; slows compilation down.
  std::set<std::string> wanted;
  std::function<void(std::string_view phase, std::string_view text)> observer;
  bool wants(std::string_view phase) const {
    return observer && wanted.count(std::string(phase)) != 0;
  }
  /// All options that change code, for cache keys.
  std::string key() const;
  /// The options that affect kernels of the eager executor: no graph pass does.
  Options ofEagerKernels() const;
};

/// Whether a pass has a deliberate bug of this name (Graph/Mistakes.h, Memory/PlanMistakes.h).
bool knowsMistake(llvm::StringRef name);

/// One buffer of a variant's signature. A size is a number, or text over the variant's open sizes.
struct Buffer {
  ElementType element = ElementType::F32;
  std::vector<std::string> sizes;
  std::string device;
  bool host = false;
};

/// The memory figures of a variant that users see.
struct Figures {
  int64_t parameters = 0, data = 0;       ///< of the caller
  int64_t activations = 0, workspace = 0; ///< of the arena, at the peak
  int64_t bound = 0;                      ///< live at once
  int64_t largestBytes = 0;               ///< of the largest tensor there
  std::string largestLocation;            ///< file:line:column
  std::string recomputed;                 ///< what is rematerialised, in lines; empty: nothing
  std::string refusal;                    ///< why it exceeds the limit, in lines; empty: it fits
};

/// A compiled variant of a graph: plain data that can be stored.
struct Variant {
  std::string entry;
  std::vector<Buffer> inputs, outputs;
  std::vector<std::string> sizes;                      ///< open ones
  std::vector<std::pair<std::string, int64_t>> arenas; ///< device, bytes
  bool announces = false;    ///< reports results before the call ends (mxrt_ready)
  bool guarded = false;      ///< the arena needs guards around it (mxrt/guard.h)
  bool tuned = false;        ///< all tunable kernels are tuned
  std::vector<int64_t> over; ///< of each output: the input whose memory it reuses, or -1
  Figures figures;
  /// Objects by name: the entry, and each kernel once.
  std::vector<std::pair<std::string, std::string>> objects;

  std::string serialise() const;
  static std::optional<Variant> deserialise(std::string_view bytes);
};

/// Prepares generated code for all later stages: derives gradients (reverse-mode autodiff). Errors
/// go to the context's diagnostics, and so do warnings that name parameters whose gradient is 0.
bool prepareModule(mlir::ModuleOp module, llvm::StringRef mistake = {});

/// Compiles `graph` for the given values of its sizes, under the symbol `entry`; `identity` is
/// identityOf(graph), which callers keep. The graph's module must hold its callees; it is not
/// changed. Errors go to the context's diagnostics, and nullopt is returned. A variant that needs
/// more than the limit has no code; its figures hold the reason.
std::optional<Variant> compileGraph(ir::GraphOp graph,
                                    llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
                                    llvm::StringRef identity, const std::string &entry,
                                    const target::TargetCpu &cpu, target::ObjectCache &cache,
                                    const Options &options);

/// The diagnostic of a graph that has no code. An error of the program has the code that the run
/// would report, such as 201; 0: it has none.
struct Refusal {
  int code = 0;
  std::string text;
  explicit Refusal(llvm::StringRef problem);
};

/// A variant before it is compiled: the module of its entry, then one for each kernel, in the LLVM
/// dialect. `variant` has no objects.
struct LoweredGraph {
  Variant variant;
  std::vector<std::pair<std::string, mlir::OwningOpRef<mlir::ModuleOp>>> modules;
};

/// As compileGraph(), for callers that combine the code of many variants; nothing is cached.
std::optional<LoweredGraph> lowerGraph(ir::GraphOp graph,
                                       llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
                                       const std::string &entry, const target::TargetCpu &cpu,
                                       const Options &options);

/// Runs the pipeline up to memory planning: `mxrt.kernel`s and the `mxrt.program` that calls them.
/// Null after an error, as above.
mlir::OwningOpRef<mlir::ModuleOp> makePlan(ir::GraphOp graph,
                                           llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
                                           const std::string &entry, const TargetInfo &target,
                                           const Options &options);

/// The object of one shape-generic kernel of the eager executor, under the symbol `entry`.
std::optional<std::string> compileEagerKernel(mlir::MLIRContext &context, llvm::StringRef key,
                                              const std::string &entry,
                                              const target::TargetCpu &cpu,
                                              target::ObjectCache &cache, const Options &options,
                                              std::string &error);

/// A hash of a graph with everything it references. It contains the locations, because code reports
/// them in errors. Kernels report none and have keys of their own, so they are found again when a
/// file has changed above a graph.
std::string identityOf(ir::GraphOp graph);

/// A fused graph in Graphviz format: kernels with their ops, values with their types.
std::string dotOf(ir::GraphOp graph);

void registerDialects(mlir::DialectRegistry &registry);

} // namespace mx::pipeline
