// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code units: the function of a program that calls kernels, and each kernel. They are lowered,
// compiled and cached one by one.
#pragma once
#include "Pipeline/Pipeline.h"
#include "Target/CompileQueue.h"

namespace mx::pipeline {

/// One code unit that must be compiled, or was found in the cache.
struct CodeUnit {
  std::string name, key;
  std::string location; ///< location of a kernel in the program
  lowering::Tiling tiling;
  bool isEntry = false; ///< the function that calls the kernels
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string object;
};

/// The options that change the code of kernels, for cache keys.
std::string kernelKey(const Options &options);
/// The requested options, and the features of the CPU.
lowering::KernelOptions kernelsFor(const target::TargetCpu &cpu, const Options &options);
/// The key of a unit with this text in the cache.
std::string unitKey(std::string_view text, std::string_view name, const target::TargetCpu &cpu,
                    const Options &options);
/// An op as text, without locations: what keys and observers see.
std::string textOf(mlir::Operation *op);

std::optional<std::string> load(target::ObjectCache &cache, const std::string &key,
                                const Options &options);
void store(target::ObjectCache &cache, const std::string &key, const std::string &bytes,
           const Options &options);

/// Lowers the function that calls the kernels, and fills in what its callers must know; only the
/// figures if the plan exceeds the limit. False after an error.
bool lowerEntry(mlir::ModuleOp plan, llvm::StringRef name, const Options &options, Variant &out,
                std::vector<CodeUnit> &units);
mlir::OwningOpRef<mlir::ModuleOp> lowerKernel(ir::KernelOp body, const std::string &name,
                                              const lowering::Tiling &tiling,
                                              const target::TargetCpu &cpu,
                                              const Options &options);
/// The order in which code units are lowered: those that take LLVM longest come first, so that all
/// threads end at about the same time. Observers of phases get them in program order.
std::vector<size_t> workOrder(llvm::ArrayRef<ir::KernelOp> bodies, const Options &options);

/// Compiles code units as they come, and stores them in the cache.
class ObjectCompiler {
public:
  ObjectCompiler(const target::TargetCpu &cpu, target::ObjectCache &cache, const Options &options)
      : queue(cpu, options.threads), cache(cache), options(options) {}
  /// `unit` must stay valid until finish(); its module is released.
  void begin(CodeUnit &unit);
  bool finish(std::string &error);

private:
  target::CompileQueue queue;
  target::ObjectCache &cache;
  const Options &options;
  std::vector<CodeUnit *> begun;
};

} // namespace mx::pipeline
