// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native code of a session: kernels of the eager executor by key, and objects of graphs. Compiled
// on first use (JIT), or taken from the cache on disk.
#pragma once
#include "Launch/CompileGate.h"
#include "Pipeline/Pipeline.h"
#include "Target/Jit.h"
#include "eager/Kernels.h"

namespace mx::driver {

class KernelStore final : public mxrt::eager::KernelSource {
public:
  KernelStore(mlir::MLIRContext &context, const pipeline::Options &options,
              const std::string &cacheFolder, const std::string &cpu,
              const mxrt_allocator *allocator);

  /// Empty on success, otherwise why no code can be generated on this machine.
  const std::string &problem() const { return trouble; }

  mxrt::Status find(std::string_view key, mxrt_compiled_kernel &out) override;

  /// Code that stays loaded while it is referenced.
  using Code = std::shared_ptr<target::JitUnit>;

  /// Loads the objects of a variant that are not loaded yet; `held` gets all it needs. Null on
  /// failure, with the reason in `error`.
  void *load(const pipeline::Variant &variant, std::vector<Code> &held, std::string &error);

  /// A separate JIT, whose code may refer to the same functions of the runtime.
  target::Result<target::Jit> newJit() const;

  /// Kernels are compiled in another context from now on.
  void useContext(mlir::MLIRContext &other) { context = &other; }

  /// Held while code is compiled; null: no other session compiles.
  void useGate(launch::CompileGate *shared) { gate = shared; }
  std::unique_lock<launch::CompileGate> enterGate() const {
    return gate ? std::unique_lock(*gate) : std::unique_lock<launch::CompileGate>();
  }

  const target::TargetCpu &cpu() const { return *machine; }
  target::ObjectCache &cache() { return *disk; }
  const pipeline::Options &options() const { return compileOptions; }

private:
  const std::map<std::string_view, std::string_view> &prebuilt();

  mlir::MLIRContext *context;
  const pipeline::Options &compileOptions;
  const mxrt_allocator *allocator;
  launch::CompileGate *gate = nullptr;
  std::string cpuName; ///< as requested
  std::optional<target::TargetCpu> machine;
  std::unique_ptr<target::ObjectCache> disk;
  std::optional<target::Jit> jit;
  std::vector<target::JitUnit> units; ///< of eager kernels
  /// Objects of graphs in `jit`, by name; graphs share kernels.
  std::map<std::string, std::weak_ptr<target::JitUnit>> loaded;
  /// Prebuilt objects by key, for this CPU.
  std::optional<std::map<std::string_view, std::string_view>> unpacked;
  std::string trouble;
};

/// Identifies a build of the compiler.
std::string buildId();

} // namespace mx::driver
