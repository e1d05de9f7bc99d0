// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native code of a session: kernels of the eager executor by key, objects of graphs. Compiled when
// first asked for, or taken from the cache on disk.
#pragma once
#include "Pipeline/Pipeline.h"
#include "Target/Jit.h"
#include "eager/Kernels.h"

namespace mx::driver {

class KernelStore final : public mxrt::eager::KernelSource {
public:
  KernelStore(mlir::MLIRContext &context, const pipeline::Options &options,
              const std::string &cacheFolder, const std::string &cpu,
              const mxrt_allocator *allocator);

  /// Empty if all is well, else why no code can be made on this machine.
  const std::string &problem() const { return trouble; }

  mxrt::Status find(std::string_view key, mxrt_compiled_kernel &out) override;

  /// Code that is loaded as long as somebody holds it.
  using Code = std::shared_ptr<target::JitUnit>;

  /// Loads the objects of a variant that are not there yet; `held` gets all it needs. Null, and
  /// why, on failure.
  void *load(const pipeline::Variant &variant, std::vector<Code> &held, std::string &error);

  /// A place for code of its own, which may refer to the same functions of the runtime.
  target::Result<target::Jit> newJit() const;

  /// Kernels are made in another context from now on.
  void useContext(mlir::MLIRContext &other) { context = &other; }

  const target::TargetCpu &cpu() const { return *machine; }
  target::ObjectCache &cache() { return *disk; }
  const pipeline::Options &options() const { return compileOptions; }

private:
  const std::map<std::string_view, std::string_view> &prebuilt();

  mlir::MLIRContext *context;
  const pipeline::Options &compileOptions;
  const mxrt_allocator *allocator;
  std::string cpuName; ///< as it was asked for
  std::optional<target::TargetCpu> machine;
  std::unique_ptr<target::ObjectCache> disk;
  std::optional<target::Jit> jit;
  std::vector<target::JitUnit> units; ///< of eager kernels
  /// Objects of graphs that are in `jit`, by name; kernels are shared by graphs.
  std::map<std::string, std::weak_ptr<target::JitUnit>> loaded;
  /// Objects by key, for this CPU.
  std::optional<std::map<std::string_view, std::string_view>> unpacked;
  std::string trouble;
};

/// What tells one build of the compiler from another.
std::string buildId();

} // namespace mx::driver
