// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the pipeline: their part of cache keys, and what they come to for kernels.
#include "Graph/Mistakes.h"
#include "Memory/PlanMistakes.h"
#include "Pipeline/CodeUnits.h"

namespace mx::pipeline {
using namespace mlir;

std::string kernelKey(const Options &options) {
  const lowering::KernelOptions &kernels = options.kernels;
  std::string key = kernels.unchecked ? "unchecked " : "";
  if (options.bf16)
    key += "bf16=" + options.bf16->text() + " ";
  if (kernels.tiling != lowering::Tiling())
    key += "tiling=" + kernels.tiling.text() + " ";
  if (kernels.chunkWork != lowering::KernelOptions().chunkWork)
    key += "chunk=" + std::to_string(kernels.chunkWork) + " ";
  return key + (kernels.fastMath ? "fast-math " : "");
}

std::string Options::key() const {
  std::string key = kernelKey(*this);
  for (const std::string &pass : disabled)
    key += "-" + pass + " ";
  if (guard)
    key += "guard ";
  if (tileBytes > 0)
    key += "block=" + std::to_string(tileBytes) + " ";
  if (maxBytes > 0)
    key += "max-bytes=" + std::to_string(maxBytes) + " ";
  return mistake.empty() ? key : key + "mistake=" + mistake;
}

Options Options::ofEagerKernels() const {
  Options out;
  out.kernels = kernels;
  out.kernels.chunkWork = lowering::KernelOptions().chunkWork;
  out.kernels.tiling = {};
  out.bf16 = bf16;
  out.threads = threads;
  out.isStopped = isStopped;
  return out;
}

lowering::KernelOptions kernelsFor(const target::TargetCpu &cpu, const Options &options) {
  lowering::KernelOptions out = options.kernels;
  out.target = cpu.info();
  if (options.bf16)
    out.target.bf16 = *options.bf16;
  return out;
}

bool knowsMistake(StringRef name) {
  return graph::knowsMistake(name) || memory::knowsMistake(name);
}

} // namespace mx::pipeline
