// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole compiler behind the front end: from a graph with names for sizes to objects that can be
// linked and called. Pipeline.cpp is the list of phases, in order, with the reason for each.
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

/// The phases one can look at, in order.
inline constexpr std::string_view kPhases[] = {"mx",   "mx-specialised", "mx-fused", "dot",
                                               "mxrt", "linalg",         "llvm",     "asm"};

/// Passes that can be left out; results are the same without them.
inline constexpr std::string_view kCanDisable[] = {"fuse",     "simplify", "cse",      "hoist",
                                                   "block",    "panels",   "schedule", "recompute",
                                                   "in-place", "co-share"};

struct Options {
  lowering::KernelOptions kernels;
  /// Instead of what the CPU has, for tests.
  std::optional<lowering::WordUnit> words;
  /// Passes to leave out, by their names: those of kCanDisable.
  std::set<std::string> disabled;
  /// A deliberate mistake of a pass, for tests of the tests: one that knowsMistake() knows.
  std::string mistake;
  unsigned threads = 1;
  /// Bytes that the arena of a graph may have; 0: no limit. Values are made again where it needs
  /// more.
  int64_t maxBytes = 0;
  /// Bytes of a matrix above which it is computed in blocks, and of a block; 0: as Block says.
  int64_t blockBytes = 0;
  /// Kernels are watched: they may change nothing but their outputs.
  bool guard = false;
  /// Code that is loaded is named in a file for `perf`.
  bool perfMap = false;
  /// Where it is said how long things took; may be null.
  Timing *timing = nullptr;
  /// Kernels that were not tuned yet are; null: they are as they are.
  KernelClock *clock = nullptr;
  /// Asked at times, from any thread; true ends compilation, which then fails. May be empty.
  std::function<bool()> isStopped;
  bool stopped() const { return isStopped && isStopped(); }
  /// Called with the text of each phase that `wanted` names; makes compilation slower.
  std::set<std::string> wanted;
  std::function<void(std::string_view phase, std::string_view text)> observer;
  bool wants(std::string_view phase) const {
    return observer && wanted.count(std::string(phase)) != 0;
  }
  /// All of it that changes code, for cache keys.
  std::string key() const;
  /// What of it is for kernels of the eager executor: no graph pass is.
  Options ofEagerKernels() const;
};

/// Whether a pass can be made to make the mistake of this name (Graph/Mistakes.h,
/// Memory/Mistakes.h).
bool knowsMistake(llvm::StringRef name);

/// One buffer of a variant's signature. A size is a number, or text over the variant's open sizes.
struct Buffer {
  ElementType element = ElementType::F32;
  std::vector<std::string> sizes;
  std::string device;
  bool host = false;
};

/// What users are told about the memory of a variant.
struct Figures {
  int64_t parameters = 0, data = 0;       ///< of the caller
  int64_t activations = 0, workspace = 0; ///< of the arena, where most is in use
  int64_t bound = 0;                      ///< in use at once
  int64_t largestBytes = 0;               ///< of the largest tensor there
  std::string largestPlace;               ///< file:line:column
  std::string again;                      ///< what is made again, in lines; empty: nothing
  std::string refusal;                    ///< why it is above the limit, in lines; empty: it is not
};

/// A compiled variant of a graph: plain data that can be stored.
struct Variant {
  std::string entry;
  std::vector<Buffer> inputs, outputs;
  std::vector<std::string> sizes;                      ///< open ones
  std::vector<std::pair<std::string, int64_t>> arenas; ///< device, bytes
  bool guarded = false;      ///< the arena needs guards around it (mxrt/guard.h)
  bool tuned = false;        ///< all kernels that could be tuned are
  std::vector<int64_t> over; ///< of each output: the input whose memory it is, or -1
  Figures figures;
  /// Objects by name: the entry, and each kernel once.
  std::vector<std::pair<std::string, std::string>> objects;

  std::string serialise() const;
  static std::optional<Variant> deserialise(std::string_view bytes);
};

/// Makes generated code what all later stages take: derives gradients. Errors go to the context's
/// diagnostics, and so do warnings that name parameters whose gradient is 0.
bool prepareModule(mlir::ModuleOp module);

/// Compiles `graph` for the given values of its sizes, under the symbol `entry`; `identity` is
/// identityOf(graph), which callers keep. The module the graph is in must hold what it calls; it is
/// left as it was. Errors go to the context's diagnostics, and nothing is returned. A variant that
/// needs more than the limit has no code, but says why in its figures.
std::optional<Variant> compileGraph(ir::GraphOp graph,
                                    llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
                                    llvm::StringRef identity, const std::string &entry,
                                    const target::TargetCpu &cpu, target::ObjectCache &cache,
                                    const Options &options);

/// A variant before it is compiled: the module of its entry, then one for each kernel, in the LLVM
/// dialect. `variant` has no objects.
struct LoweredGraph {
  Variant variant;
  std::vector<std::pair<std::string, mlir::OwningOpRef<mlir::ModuleOp>>> modules;
};

/// As compileGraph(), for who puts the code of many variants together; nothing is cached.
std::optional<LoweredGraph> lowerGraph(ir::GraphOp graph,
                                       llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
                                       const std::string &entry, const target::TargetCpu &cpu,
                                       const Options &options);

/// The road as far as memory is planned: `mxrt.kernel`s and the `mxrt.program` that calls them.
/// Null after an error, as above.
mlir::OwningOpRef<mlir::ModuleOp> makePlan(ir::GraphOp graph,
                                           llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
                                           const std::string &entry, const Options &options);

/// The object of one shape-generic kernel of the eager executor, under the symbol `entry`.
std::optional<std::string> compileEagerKernel(mlir::MLIRContext &context, llvm::StringRef key,
                                              const std::string &entry,
                                              const target::TargetCpu &cpu,
                                              target::ObjectCache &cache, const Options &options,
                                              std::string &error);

/// A hash of a graph with all it names, without places: equal graphs have equal code.
std::string identityOf(ir::GraphOp graph);

/// A fused graph as a picture for Graphviz: kernels with their ops, values with their types.
std::string dotOf(ir::GraphOp graph);

void registerDialects(mlir::DialectRegistry &registry);

} // namespace mx::pipeline
