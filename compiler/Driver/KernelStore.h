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

  /// Loads the objects of a variant that are not there yet. Null, and why, on failure.
  void *load(const pipeline::Variant &variant, std::string &error);

  const target::TargetCpu &cpu() const { return *machine; }
  target::ObjectCache &cache() { return *disk; }
  const pipeline::Options &options() const { return compileOptions; }

private:
  const std::map<std::string_view, std::string_view> &prebuilt();

  mlir::MLIRContext &context;
  const pipeline::Options &compileOptions;
  const mxrt_allocator *allocator;
  std::string cpuName; ///< as it was asked for
  std::optional<target::TargetCpu> machine;
  std::unique_ptr<target::ObjectCache> disk;
  std::optional<target::Jit> jit;
  std::vector<target::JitUnit> units;
  std::set<std::string> loaded; ///< names of the objects in `jit`
  /// Objects by key, for this CPU.
  std::optional<std::map<std::string_view, std::string_view>> unpacked;
  std::string trouble;
};

/// What tells one build of the compiler from another.
std::string buildId();

} // namespace mx::driver
