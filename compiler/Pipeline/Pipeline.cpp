// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass pipeline: graph passes, fusion, memory planning, lowering and compilation of code units.
#include "Pipeline/Pipeline.h"
#include "Graph/Mistakes.h"
#include "Graph/Passes.h"
#include "Lowering/EagerKernel.h"
#include "Lowering/Programs.h"
#include "Memory/Donation.h"
#include "Memory/Guard.h"
#include "Memory/Mistakes.h"
#include "Pipeline/PlanMemory.h"
#include "Pipeline/Tune.h"
#include "Target/CompileQueue.h"
#include "Target/Hasher.h"
#include "dialects/mx/Kernels.h"
#include "dialects/mx/Locations.h"
#include "dialects/mx/Marks.h"
#include "dialects/mxrt/Marks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mx::pipeline {
using namespace mlir;

void registerDialects(DialectRegistry &registry) {
  registry.insert<ir::MxDialect, rt::MxrtDialect>();
  lowering::registerLoweringDialects(registry);
  target::registerTranslations(registry);
}

static std::string kernelKey(const Options &options) {
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

bool knowsMistake(StringRef name) {
  return graph::knowsMistake(name) || memory::knowsMistake(name);
}

static std::string textOf(Operation *op, bool locations = false) {
  std::string text;
  llvm::raw_string_ostream out(text);
  OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, /*prettyForm=*/true);
  op->print(out, flags.useLocalScope());
  return text;
}

/// The graph and everything it references: calls, but also closures and derived functions.
static llvm::SetVector<Operation *> reachedFrom(ir::GraphOp graph) {
  std::optional<SymbolTable> symbols; // few graphs reference anything, and modules are long
  llvm::SetVector<Operation *> reached;
  reached.insert(graph);
  for (size_t i = 0; i < reached.size(); ++i)
    if (auto uses = SymbolTable::getSymbolUses(reached[i]))
      for (SymbolTable::SymbolUse use : *uses) {
        if (!symbols)
          symbols.emplace(graph->getParentOfType<ModuleOp>());
        if (Operation *named = symbols->lookup(use.getSymbolRef().getLeafReference()))
          reached.insert(named);
      }
  return reached;
}

std::string identityOf(ir::GraphOp graph) {
  target::Hasher hasher;
  for (Operation *op : reachedFrom(graph))
    hasher.add(textOf(op, /*locations=*/true));
  return hasher.hex();
}

Refusal::Refusal(llvm::StringRef problem) : text(problem) {
  llvm::StringRef rest = problem;
  unsigned number = 0;
  if (!rest.consume_front("R") || rest.size() < 6 || rest.take_front(4).getAsInteger(10, number) ||
      rest[4] != ' ')
    return;
  code = static_cast<int>(number);
  text = rest.drop_front(5).str();
}

bool prepareModule(ModuleOp module, StringRef mistake) {
  PassManager passes(module.getContext());
  passes.enableVerifier(true);
  // Reads code as it was written.
  passes.addPass(graph::createSummarize());
  // The device is part of a type, and derived code follows it.
  passes.addPass(graph::createAssignDevices());
  // Reverse passes have the same precision as their forward pass, so it is chosen before.
  passes.addPass(graph::createAmp());
  // Eager code and graphs run the same derived code, so it is derived before either is compiled.
  graph::DifferentiateOptions derived;
  derived.wrongRule = graph::wrongRuleOf(mistake).str();
  passes.addPass(graph::createDifferentiate(derived));
  // A compiled graph is one op of the engine, so it is on one device.
  passes.addPass(graph::createSegment());
  // A caller that uses one part of a tuple pays for that part only.
  passes.addPass(graph::createDropResults());
  return succeeded(passes.run(module));
}

// The graph pipeline. Each pass states what it needs from those before it.
static LogicalResult runGraphPasses(ModuleOp module, const TargetInfo &target,
                                    const Options &options) {
  PassManager passes(module.getContext());
  passes.enableVerifier(true);
  auto on = [&](const char *pass) { return !options.disabled.count(pass); };
  // One body: callees are inlined, so that all later passes see everything.
  passes.addPass(graph::createInlineCalls());
  // Models and tuples are flattened to tensors, which memory and kernels work on.
  passes.addNestedPass<ir::GraphOp>(graph::createFlattenAggregates());
  // Known sizes leave constants and static conditions behind, which fold.
  passes.addPass(createCanonicalizerPass());
  if (on("simplify"))
    passes.addNestedPass<ir::GraphOp>(graph::createSimplify());
  // Common subexpression elimination: a value used twice is computed once; dead values are dropped.
  if (on("cse"))
    passes.addPass(createCSEPass());
  // Loop-invariant code motion, after CSE has merged equal values.
  if (on("hoist"))
    passes.addNestedPass<ir::GraphOp>(graph::createHoist());
  passes.addPass(createCanonicalizerPass());
  passes.addNestedPass<ir::GraphOp>(graph::createDropRematBarriers());
  // Once the readers of a matrix are known.
  if (on("tile-chains")) {
    graph::TileChainsOptions tiles;
    if (options.tileBytes > 0)
      tiles = {options.tileBytes, options.tileBytes, 1}; // small ones too
    passes.addNestedPass<ir::GraphOp>(graph::createTileChains(target, tiles));
  }
  // No later pass folds reshapes and transposes.
  if (on("prepack"))
    passes.addNestedPass<ir::GraphOp>(graph::createPrepack(target));
  return passes.run(module);
}

static LogicalResult runFusion(ModuleOp module, const TargetInfo &target, const Options &options) {
  PassManager passes(module.getContext());
  graph::FuseOptions fuse;
  if (options.disabled.count("fuse"))
    fuse.maxOps = 1;
  fuse.repeats = !options.disabled.count("recompute");
  fuse.explain = options.wants("fusion");
  std::string reasons;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &found) {
    if (found.getSeverity() != DiagnosticSeverity::Remark)
      return failure();
    reasons += ir::locationText(found.getLocation()) + ": " + found.str();
    for (Diagnostic &note : found.getNotes())
      reasons += ", " + note.str() + " (" + ir::locationText(note.getLocation()) + ")";
    reasons += "\n";
    return success();
  });
  // Fusion into kernels: the unit of code and of memory planning.
  passes.addNestedPass<ir::GraphOp>(graph::createFuse(target, fuse));
  // Every op must still have a source location: errors and profiles depend on it.
  passes.addPass(graph::createVerifyLocations());
  LogicalResult result = passes.run(module);
  if (options.wants("fusion") && !reasons.empty())
    options.observer("fusion", reasons);
  return result;
}

namespace {

/// One code unit that must be compiled, or was found in the cache.
struct CodeUnit {
  std::string name, key;
  std::string location; ///< location of a kernel in the program
  lowering::Tiling tiling;
  bool isEntry = false; ///< the function that calls the kernels
  OwningOpRef<ModuleOp> module;
  std::string object;
};

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

/// Compiles code units as they come, and stores them in the cache.
class ObjectCompiler {
public:
  ObjectCompiler(const target::TargetCpu &cpu, target::ObjectCache &cache, const Options &options)
      : queue(cpu, options.threads), cache(cache), options(options) {}

  /// `unit` must stay valid until finish(); its module is released.
  void begin(CodeUnit &unit) {
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

  bool finish(std::string &error) {
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

private:
  target::CompileQueue queue;
  target::ObjectCache &cache;
  const Options &options;
  std::vector<CodeUnit *> begun;
};

/// The requested options, and the features of the CPU.
lowering::KernelOptions kernelsFor(const target::TargetCpu &cpu, const Options &options) {
  lowering::KernelOptions out = options.kernels;
  out.target = cpu.info();
  if (options.bf16)
    out.target.bf16 = *options.bf16;
  return out;
}

std::string unitKey(std::string_view text, std::string_view name, const target::TargetCpu &cpu,
                    const Options &options) {
  target::Hasher hasher;
  // The text already reflects the passes.
  hasher.add("unit").add(name).add(text).add(cpu.text()).add(kernelKey(options));
  return hasher.hex();
}

Buffer plain(const lowering::BufferInfo &info) {
  Buffer out;
  out.element = ir::elementFromMlir(info.element);
  for (ir::SizeAttr size : info.sizes)
    out.sizes.push_back(size.getText().str());
  out.device = info.device;
  out.host = info.host;
  return out;
}

/// Lowers the function that calls the kernels, and fills in what its callers must know; only the
/// figures if the plan exceeds the limit. False after an error.
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

/// The order in which code units are lowered: those that take LLVM longest come first, so that all
/// threads end at about the same time. Observers of phases get them in program order.
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

} // namespace

OwningOpRef<ModuleOp> makePlan(ir::GraphOp graph, ArrayRef<std::pair<std::string, int64_t>> sizes,
                               const std::string &entry, const TargetInfo &target,
                               const Options &options) {
  MLIRContext *context = graph.getContext();
  Timing::Span whole(options.timing, "passes of graphs");
  // A copy of the graph with its callees: specialisation and inlining change it.
  OwningOpRef<ModuleOp> module = ModuleOp::create(graph.getLoc());
  for (Operation *op : reachedFrom(graph))
    module->push_back(op->clone());
  auto copy = cast<ir::GraphOp>(module->getBody()->front());
  SmallVector<std::pair<StringAttr, int64_t>> values;
  for (auto &[name, value] : sizes)
    values.push_back({StringAttr::get(context, name), value});
  FailureOr<ir::GraphOp> made = graph::specialize(copy, values, entry);
  if (failed(made))
    return {};
  copy.erase();
  markArguments(*made);
  if (failed(runGraphPasses(*module, target, options)) || options.stopped())
    return {};
  for (Operation &op : llvm::make_early_inc_range(*module->getBody()))
    if (&op != made->getOperation())
      op.erase();
  if (options.wants("mx-specialised"))
    options.observer("mx-specialised", textOf(*module));
  auto body = cast<ir::GraphOp>(module->getBody()->front());
  if (!options.mistake.empty())
    graph::makeMistake(body, options.mistake, /*fused=*/false);
  Timing::Span fusing(options.timing, "fusing");
  if (failed(runFusion(*module, target, options)) || options.stopped())
    return {};
  if (!options.mistake.empty())
    graph::makeMistake(body, options.mistake, /*fused=*/true);
  if (options.wants("mx-fused"))
    options.observer("mx-fused", textOf(*module));

  if (options.wants("dot"))
    options.observer("dot", dotOf(body));

  Timing::Span planning(options.timing, "planning memory");
  OwningOpRef<ModuleOp> plan = ModuleOp::create(module->getLoc());
  if (failed(lowering::lowerToMxrt(body, *plan)) || options.stopped())
    return {};
  for (auto program : plan->getOps<rt::ProgramOp>()) {
    tellArguments(body, program);
    tellLimit(graph, options, program);
  }
  if (failed(planMemory(plan, target, options)))
    return {};
  if (options.guard)
    for (auto program : plan->getOps<rt::ProgramOp>())
      memory::guard(program);
  if (options.wants("mxrt"))
    options.observer("mxrt", textOf(*plan));
  return plan;
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
