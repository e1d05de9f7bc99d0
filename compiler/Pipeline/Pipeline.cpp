// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of all passes, with the reason for each position.
#include "Pipeline/Pipeline.h"
#include "Graph/Mistakes.h"
#include "Graph/Passes.h"
#include "Lowering/Programs.h"
#include "Memory/Guard.h"
#include "Pipeline/CodeUnits.h"
#include "Pipeline/PlanMemory.h"
#include "Target/Hasher.h"
#include "dialects/mx/Locations.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mx::pipeline {
using namespace mlir;

void registerDialects(DialectRegistry &registry) {
  registry.insert<ir::MxDialect, rt::MxrtDialect>();
  lowering::registerLoweringDialects(registry);
  target::registerTranslations(registry);
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
  markArguments(*made, graph->getParentOfType<ModuleOp>());
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

} // namespace mx::pipeline
