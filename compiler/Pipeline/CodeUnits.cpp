// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering, compilation and caching of single code units.
#include "Pipeline/CodeUnits.h"
#include "Lowering/Programs.h"
#include "Memory/Donation.h"
#include "Pipeline/PlanMemory.h"
#include "Target/Hasher.h"
#include "dialects/mx/Kernels.h"
#include "dialects/mxrt/Marks.h"

namespace mx::pipeline {
using namespace mlir;

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  op->print(out, OpPrintingFlags().useLocalScope());
  return text;
}

std::string unitKey(std::string_view text, std::string_view name, const target::TargetCpu &cpu,
                    const Options &options) {
  target::Hasher hasher;
  // The text already reflects the passes.
  hasher.add("unit").add(name).add(text).add(cpu.text()).add(kernelKey(options));
  return hasher.hex();
}

std::optional<std::string> load(target::ObjectCache &cache, const std::string &key,
                                const Options &options) {
  Timing::Span span(options.timing, "the cache");
  return cache.load(key);
}
void store(target::ObjectCache &cache, const std::string &key, const std::string &bytes,
           const Options &options) {
  Timing::Span span(options.timing, "the cache");
  cache.store(key, bytes);
}

void ObjectCompiler::begin(CodeUnit &unit) {
  Timing::Span span(options.timing, "LLVM");
  target::CompileOptions how;
  how.name = unit.name;
  how.wantIrAfter = options.wants("llvm");
  how.wantAssembly = options.wants("asm");
  // For readers of the code and for profiles; nothing else can use them.
  how.lineTables = how.wantIrAfter || how.wantAssembly || options.perfMap;
  how.isStopped = options.isStopped;
  how.isPlain = unit.isEntry;
  queue.add(*unit.module, how);
  unit.module = nullptr;
  begun.push_back(&unit);
}

bool ObjectCompiler::finish(std::string &error) {
  Timing::Span span(options.timing, "LLVM");
  auto compiled = queue.finish();
  if (!compiled) {
    error = compiled.message();
    return false;
  }
  for (auto [unit, made] : llvm::zip_equal(begun, *compiled)) {
    if (options.wants("llvm"))
      options.observer("llvm", made.irAfter);
    if (options.wants("asm"))
      options.observer("asm", made.assembly);
    if (options.timing)
      options.timing->add({unit->name + (unit->location.empty() ? "" : " at ") + unit->location,
                           made.times.optimizeMs, made.times.generateMs});
    unit->object = std::move(made.object);
    store(cache, unit->key, unit->object, options);
  }
  return true;
}

static Buffer plain(const lowering::BufferInfo &info) {
  Buffer out;
  out.element = ir::elementFromMlir(info.element);
  for (ir::SizeAttr size : info.sizes)
    out.sizes.push_back(size.getText().str());
  out.device = info.device;
  out.host = info.host;
  return out;
}

bool lowerEntry(ModuleOp plan, StringRef name, const Options &options, Variant &out,
                std::vector<CodeUnit> &units) {
  out.figures = figuresOf(plan, name.str());
  if (!out.figures.refusal.empty())
    return true;
  for (rt::ProgramOp program : plan.getOps<rt::ProgramOp>()) {
    lowering::ProgramInfo info;
    CodeUnit unit;
    unit.name = program.getSymName().str();
    unit.isEntry = true;
    unit.module = lowering::lowerProgram(program, info);
    if (!unit.module)
      return false;
    units.push_back(std::move(unit));
    out.entry = info.entry;
    for (const lowering::BufferInfo &buffer : info.inputs)
      out.inputs.push_back(plain(buffer));
    for (const lowering::BufferInfo &buffer : info.outputs)
      out.outputs.push_back(plain(buffer));
    out.sizes.assign(info.sizes.begin(), info.sizes.end());
    out.arenas.assign(info.arenas.begin(), info.arenas.end());
    out.over = memory::outputsOver(program);
    out.announces = program->hasAttr(rt::kAnnounces);
  }
  out.guarded = options.guard;
  return true;
}

OwningOpRef<ModuleOp> lowerKernel(ir::KernelOp body, const std::string &name,
                                  const lowering::Tiling &tiling, const target::TargetCpu &cpu,
                                  const Options &options) {
  Timing::Span span(options.timing, "lowering kernels");
  std::string loops;
  lowering::KernelOptions how = kernelsFor(cpu, options);
  how.tiling = tiling;
  OwningOpRef<ModuleOp> module =
      lowering::lowerKernel(body, name, how, options.wants("loops") ? &loops : nullptr);
  if (module && options.wants("loops"))
    options.observer("loops", loops);
  return module;
}

std::vector<size_t> workOrder(ArrayRef<ir::KernelOp> bodies, const Options &options) {
  std::vector<std::pair<size_t, size_t>> order; // weight, index
  for (size_t i = 0; i < bodies.size(); ++i) {
    ir::KernelOp kernel = bodies[i];
    constexpr size_t kTiles = 100; // the code of a tile, in scalar ops
    size_t weight = !kernel || ir::hasTiles(kernel.kind()) ? kTiles : 0;
    if (kernel)
      weight += kernel.getBody().front().getOperations().size();
    order.push_back({weight, i});
  }
  if (!options.observer)
    llvm::sort(order, [](auto &a, auto &b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
  std::vector<size_t> out;
  for (auto &[weight, index] : order)
    out.push_back(index);
  return out;
}

} // namespace mx::pipeline
