// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a graph to objects: the code units of its plan, from the cache or compiled.
#include "Lowering/EagerKernel.h"
#include "Pipeline/CodeUnits.h"
#include "Pipeline/Tune.h"
#include "Target/Hasher.h"
#include "dialects/mx/Locations.h"
#include "dialects/mxrt/Mxrt.h"

namespace mx::pipeline {
using namespace mlir;

Refusal::Refusal(llvm::StringRef problem) : text(problem) {
  llvm::StringRef rest = problem;
  unsigned number = 0;
  if (!rest.consume_front("R") || rest.size() < 6 || rest.take_front(4).getAsInteger(10, number) ||
      rest[4] != ' ')
    return;
  code = static_cast<int>(number);
  text = rest.drop_front(5).str();
}

std::optional<Variant> compileGraph(ir::GraphOp graph,
                                    ArrayRef<std::pair<std::string, int64_t>> sizes,
                                    llvm::StringRef identity, const std::string &entry,
                                    const target::TargetCpu &cpu, target::ObjectCache &cache,
                                    const Options &options) {
  target::Hasher hasher;
  hasher.add("variant").add(identity).add(entry).add(cpu.text()).add(options.key());
  for (auto &[name, value] : sizes)
    hasher.add(name).add(static_cast<uint64_t>(value));
  std::string variantKey = hasher.hex();
  if (!options.observer)
    if (auto stored = load(cache, variantKey, options))
      if (auto variant = Variant::deserialise(*stored))
        if (variant->tuned || !options.clock)
          return variant;

  OwningOpRef<ModuleOp> plan = makePlan(graph, sizes, entry, cpu.info(), options);
  if (!plan)
    return std::nullopt;
  Variant out;
  std::vector<CodeUnit> units;
  if (!lowerEntry(*plan, graph.getSymName(), options, out, units))
    return std::nullopt;
  if (!out.figures.refusal.empty())
    return out;
  out.tuned = options.clock != nullptr;
  std::vector<ir::KernelOp> bodies(units.size()); // of each code unit; the entry has none
  for (CodeUnit &unit : units)
    unit.key = variantKey + " entry";
  for (rt::KernelOp kernel : plan->getOps<rt::KernelOp>()) {
    CodeUnit unit;
    unit.name = kernel.getSymName().str();
    bodies.push_back(*kernel.getOps<ir::KernelOp>().begin());
    unit.location = ir::locationText(bodies.back().getLoc());
    unit.key = unitKey(textOf(bodies.back()), unit.name, cpu, options);
    unit.tiling = tilingOf(bodies.back(), unit.key, unit.location, kernelsFor(cpu, options), cpu,
                           cache, options);
    if (unit.tiling != lowering::Tiling())
      unit.key += " tiled " + unit.tiling.text();
    if (auto stored = options.observer ? std::nullopt : load(cache, unit.key, options))
      unit.object = std::move(*stored);
    units.push_back(std::move(unit));
  }
  ObjectCompiler objects(cpu, cache, options);
  for (size_t i : workOrder(bodies, options)) {
    CodeUnit &unit = units[i];
    if (!unit.object.empty())
      continue;
    if (bodies[i] && !options.stopped())
      unit.module = lowerKernel(bodies[i], unit.name, unit.tiling, cpu, options);
    if (!unit.module)
      return std::nullopt;
    objects.begin(unit);
  }
  std::string error;
  if (!objects.finish(error)) {
    graph.emitError() << error;
    return std::nullopt;
  }
  for (CodeUnit &unit : units)
    out.objects.push_back({unit.name, std::move(unit.object)});
  store(cache, variantKey, out.serialise(), options);
  return out;
}

std::optional<LoweredGraph> lowerGraph(ir::GraphOp graph,
                                       ArrayRef<std::pair<std::string, int64_t>> sizes,
                                       const std::string &entry, const target::TargetCpu &cpu,
                                       const Options &options) {
  OwningOpRef<ModuleOp> plan = makePlan(graph, sizes, entry, cpu.info(), options);
  if (!plan)
    return std::nullopt;
  LoweredGraph out;
  std::vector<CodeUnit> units;
  if (!lowerEntry(*plan, graph.getSymName(), options, out.variant, units))
    return std::nullopt;
  for (CodeUnit &unit : units)
    out.modules.push_back({unit.name, std::move(unit.module)});
  if (!out.variant.figures.refusal.empty())
    return out;
  for (rt::KernelOp kernel : plan->getOps<rt::KernelOp>()) {
    std::string name = kernel.getSymName().str();
    auto module = lowerKernel(*kernel.getOps<ir::KernelOp>().begin(), name,
                              options.kernels.tiling, cpu, options);
    if (!module)
      return std::nullopt;
    out.modules.push_back({name, std::move(module)});
  }
  return out;
}

std::optional<std::string> compileEagerKernel(MLIRContext &context, StringRef key,
                                              const std::string &entry,
                                              const target::TargetCpu &cpu,
                                              target::ObjectCache &cache, const Options &options,
                                              std::string &error) {
  CodeUnit unit;
  unit.name = entry;
  unit.key = unitKey(key, entry, cpu, options);
  if (auto stored = load(cache, unit.key, options))
    return stored;
  OwningOpRef<ModuleOp> module = lowering::buildEagerKernel(&context, key, &error);
  if (!module)
    return std::nullopt;
  unit.module = lowering::lowerKernel(lowering::kernelOf(*module), entry, kernelsFor(cpu, options));
  if (!unit.module) {
    error = "the kernel `" + key.str() + "` could not be lowered";
    return std::nullopt;
  }
  ObjectCompiler objects(cpu, cache, options);
  objects.begin(unit);
  if (!objects.finish(error))
    return std::nullopt;
  return std::move(unit.object);
}

} // namespace mx::pipeline
