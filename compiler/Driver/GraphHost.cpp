// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JIT compilation and caching of graph variants, keyed by sizes, and their calls from host code.
#include "Driver/GraphHost.h"
#include "Support/LocationText.h"
#include "mlir/IR/Diagnostics.h"
#include "mxrt/engine.h"
#include "dialects/mx/Locations.h"
#include <algorithm>
#include <chrono>

namespace mx::driver {
using namespace mxrt;
using namespace mxrt::host;
using mlir::cast;
using mlir::dyn_cast;
using mlir::isa;

/// The compiled variants of a graph. Inputs of a session that call the same graph share them.
struct GraphHost::Variants {
  std::map<std::vector<int64_t>, std::unique_ptr<LoadedVariant>> loaded;
  std::map<std::vector<int64_t>, std::unique_ptr<BoundVariant>> bound; ///< by all sizes
  std::vector<std::pair<std::string, int64_t>> first;                  ///< sizes of the first one
  uint64_t lastUse = 0;
};

struct GraphHost::Graph {
  ir::GraphOp op;
  build::Callables memory; ///< of `call`
  run::Graph call = {};
  std::string name;
  std::string identity;               ///< hash of its text, computed on demand
  std::shared_ptr<Variants> variants; ///< null until it is called
};

GraphHost::GraphHost(const eager::EagerOptions &options, KernelStore &kernels,
                     std::function<void(const VariantEvent &)> onVariant)
    : GraphCaller(options), kernels(kernels), onVariant(std::move(onVariant)) {}
GraphHost::~GraphHost() = default;

void GraphHost::addModule(mlir::ModuleOp module) {
  for (ir::GraphOp op : module.getOps<ir::GraphOp>()) {
    auto graph = std::make_unique<Graph>();
    graph->op = op;
    graph->name = op.getSymName().str();
    graph->call = graph->memory.describe(op);
    auto &slot = graphs[graph->name];
    if (slot)
      retired.push_back(std::move(slot));
    slot = std::move(graph);
  }
}

void GraphHost::dropModule(mlir::ModuleOp module) {
  auto isOfIt = [&](const Graph &graph) { return graph.op->getParentOp() == module; };
  std::erase_if(graphs, [&](auto &entry) { return isOfIt(*entry.second); });
  std::erase_if(retired, [&](auto &graph) { return isOfIt(*graph); });
  // Evicts code that no graph uses any more, least recently used first.
  constexpr size_t kKept = 64;
  std::vector<std::pair<uint64_t, decltype(compiled)::iterator>> idle;
  for (auto it = compiled.begin(); it != compiled.end(); ++it)
    if (it->second.use_count() == 1)
      idle.push_back({it->second->lastUse, it});
  if (idle.size() <= kKept)
    return;
  std::sort(idle.begin(), idle.end(), [](auto &a, auto &b) { return a.first < b.first; });
  for (size_t i = 0; i + kKept < idle.size(); ++i)
    compiled.erase(idle[i].second);
}

void GraphHost::visitVariants(llvm::function_ref<void(const LoadedVariant &)> visit) const {
  for (auto &[key, variants] : compiled)
    for (auto &[sizes, variant] : variants->loaded)
      visit(*variant);
}

mxrt::Status GraphHost::readScalar(const Value &tensor, Kind wanted, Value &out) {
  if (!notifyWait)
    return EagerHost::readScalar(tensor, wanted, out);
  auto begin = std::chrono::steady_clock::now();
  mxrt::Status status = EagerHost::readScalar(tensor, wanted, out);
  notifyWait(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return status;
}

mxrt::Status GraphHost::show(const Value &foreign, std::string_view spec, Text &out) {
  if (!notifyWait)
    return EagerHost::show(foreign, spec, out);
  auto begin = std::chrono::steady_clock::now();
  mxrt::Status status = EagerHost::show(foreign, spec, out);
  notifyWait(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return status;
}

GraphHost::Graph *GraphHost::find(std::string_view name) const {
  auto found = graphs.find(name);
  return found == graphs.end() ? nullptr : found->second.get();
}

mxrt::Status GraphHost::resolveGraph(std::string_view name, const Signature &, void *&target) {
  target = find(name);
  return target ? mxrt::Status()
                : fail(MXRT_HOST_BYTECODE, {}, "there is no graph `" + std::string(name) + "`");
}

/// `f32[dyn N <= 128, 784]` for a parameter whose size N has changed.
std::string GraphHost::dynamicType(const Graph &graph, const Sizes &now) const {
  std::string name;
  int64_t largest = 0;
  const Sizes &first = graph.variants->first;
  for (size_t i = 0; i < now.size() && name.empty(); ++i)
    if (i >= first.size() || first[i] != now[i]) {
      name = now[i].first;
      largest = std::max(now[i].second, i < first.size() ? first[i].second : 0);
    }
  ir::GraphOp op = graph.op;
  for (mlir::Type type : op.getArgumentTypes()) {
    auto tensor = dyn_cast<ir::TensorType>(type);
    if (!tensor || name.empty())
      continue;
    bool mentions = false;
    std::string text(elementInfo(ir::elementFromMlir(tensor.getElement())).name);
    text += "[";
    for (auto [i, size] : llvm::enumerate(tensor.getSizes())) {
      bool here = size.getText() == name;
      mentions |= here;
      text += (i ? ", " : "") +
              (here ? "dyn " + name + " <= " + std::to_string(largest) : size.getText().str());
    }
    if (mentions)
      return text + "]";
  }
  return "";
}

mxrt::Status GraphHost::variantFor(Graph &graph, const std::vector<int64_t> &sizes,
                                   LoadedVariant *&out, const mxrt_location &location,
                                   std::span<Value> args) {
  std::vector<int64_t> key;
  if (mxrt::Status status = variantKey(graph.call, sizes, location, key); !status.ok())
    return status;
  Timing::Span span(kernels.options().timing, "finding code of graphs");
  if (!graph.variants) {
    graph.identity = pipeline::identityOf(graph.op);
    std::shared_ptr<Variants> &known = compiled[{graph.name, graph.identity}];
    if (!known)
      known = std::make_shared<Variants>();
    graph.variants = known;
  }
  Variants &variants = *graph.variants;
  variants.lastUse = ++clock;
  if (auto known = variants.loaded.find(key); known != variants.loaded.end()) {
    out = known->second.get();
    return {};
  }
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, int64_t>> values;
  // A session may redefine a graph of this name: its code needs a unique name.
  std::string entry = graph.name + "_" + graph.identity.substr(0, 8);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (key[i] >= 0) {
      values.push_back({graph.call.sizes[i], sizes[i]});
      entry += "_" + std::to_string(sizes[i]);
    }
  std::string problem, file;
  mxrt_location where = location; // location of the op that cannot be compiled
  mlir::ScopedDiagnosticHandler handler(graph.op.getContext(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && problem.empty()) {
      problem = d.str();
      if (auto line = ir::sourceLocation(d.getLocation())) {
        file = line.getFilename().str();
        where = {file.c_str(), int32_t(line.getLine()), int32_t(line.getColumn())};
      }
    }
    return mlir::success();
  });
  std::unique_lock gate = kernels.enterGate();
  auto made = pipeline::compileGraph(graph.op, values, graph.identity, entry, kernels.cpu(),
                                     kernels.cache(), kernels.options());
  if (!made) {
    if (kernels.options().stopped())
      return fail(MXRT_CANCELLED, location, "graph `" + graph.name + "` was cancelled");
    pipeline::Refusal refusal(problem);
    if (refusal.code)
      return fail(mxrt_code(refusal.code), where, refusal.text);
    return fail(MXRT_UNSUPPORTED, location,
                "graph `" + graph.name + "` could not be compiled: " + problem);
  }
  if (!made->figures.refusal.empty()) {
    return fail(MXRT_OUT_OF_MEMORY, location, made->figures.refusal);
  }
  auto loaded = std::make_unique<LoadedVariant>();
  loaded->code = std::move(*made);
  loaded->name = graph.name;
  loaded->call = loaded->memory.describe(loaded->code, graph.call, graph.op, values);
  if (isCounting)
    loaded->taken = std::make_unique<run::CallBytes>();
  loaded->call.entry =
      reinterpret_cast<mxrt_aot_entry>(kernels.load(loaded->code, loaded->held, problem));
  if (!loaded->call.entry) {
    return fail(MXRT_INTERNAL, location, "graph `" + graph.name + "` could not be loaded: " + problem);
  }
  loaded->code.objects.clear();
  out = loaded.get();
  out->sizes = values;
  out->compileMs =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  variants.loaded[key] = std::move(loaded);
  if (variants.loaded.size() == 1)
    variants.first = values;
  if (!onVariant)
    return {};
  VariantEvent event;
  event.graph = graph.name;
  event.location = location;
  event.suggested = dynamicType(graph, values);
  event.sizes = values;
  event.before = variants.first;
  event.variants = variants.loaded.size();
  event.ms = out->compileMs;
  event.recomputed = out->code.figures.recomputed;
  data::ShortBatch batch;
  if (batches && event.variants > 1 && batches->findShortBatch(args, batch)) {
    event.loader = batch.set;
    event.rows = batch.rows;
  }
  onVariant(event);
  return {};
}

mxrt::Status GraphHost::bind(Graph &graph, const std::vector<int64_t> &sizes,
                             const mxrt_location &location, std::span<Value> args,
                             const BoundVariant *&out) {
  if (graph.variants)
    if (auto found = graph.variants->bound.find(sizes); found != graph.variants->bound.end()) {
      graph.variants->lastUse = ++clock;
      out = found->second.get();
      return {};
    }
  LoadedVariant *variant = nullptr;
  if (mxrt::Status status = variantFor(graph, sizes, variant, location, args); !status.ok())
    return status;
  // Another graph with the same code may have bound these sizes. Its entry stays: hosts hold
  // pointers to it.
  std::unique_ptr<BoundVariant> &made = graph.variants->bound[sizes];
  out = made.get();
  if (out)
    return {};
  made = std::make_unique<BoundVariant>();
  made->variant = variant;
  made->taken = variant->taken.get();
  made->spare = &variant->spare;
  run::bindCode(variant->call, sizes, *made);
  out = made.get();
  return {};
}

void GraphHost::writeBytes(std::ostream &out) const {
  for (auto &[named, variants] : compiled)
    for (auto &[key, variant] : variants->loaded)
      if (const run::CallBytes *taken = variant->taken.get(); taken && taken->calls > 0) {
        const pipeline::Figures &figures = variant->code.figures;
        out << "bytes of " << named.first;
        for (auto &[size, value] : variant->sizes)
          out << " " << size << "=" << value;
        out << ": planned " << figures.activations + figures.workspace << ", leased "
            << taken->leased << ", besides " << taken->besides << ", bound " << figures.bound
            << ", " << taken->calls << (taken->calls == 1 ? " call\n" : " calls\n");
      }
}

mxrt::Status GraphHost::invokeGraph(void *target, Invocation &invocation) {
  Graph &graph = *static_cast<Graph *>(target);
  return comparison ? runBothWays(graph, invocation) : runGraph(graph, invocation);
}

/// Runs the graph eagerly on copies of the arguments, then compiled. The result or error of the
/// compiled graph is the one returned.
mxrt::Status GraphHost::runBothWays(Graph &graph, Invocation &invocation) {
  if (!graph.call.eager || !program)
    return runGraph(graph, invocation);
  Heap &heap = invocation.vm.heap();
  std::vector<Value> copies(invocation.args.begin(), invocation.args.end());
  for (Value &value : copies)
    retain(value);
  auto first = static_cast<size_t>(graph.call.sizeCount);
  auto count = static_cast<size_t>(graph.call.argumentCount);
  // The first error of a result or of a `mut` argument.
  auto errorOf = [&](const Value &result, std::span<Value> arguments) {
    mxrt_status status = waitForTensors(runtime(), result, invocation.location);
    for (size_t i = 0; i < count && !status; ++i)
      if (graph.call.isMut[i])
        status = waitForTensors(runtime(), arguments[first + i], invocation.location);
    return mxrt::Status(status);
  };
  mxrt_engine *engine = nullptr;
  mxrt::Status status(mxrt_runtime_engine(runtime(), nullptr, &engine));
  mxrt_engine_stats before = {};
  if (status.ok())
    mxrt_engine_get_stats(engine, &before);
  Value result;
  mxrt::Status eager;
  if (status.ok()) {
    eager = invocation.vm.call(program, graph.call.eager, std::span<Value>(copies), result);
    if (eager.ok())
      eager = errorOf(result, copies);
    // Errors of the eager run are not errors of the program.
    status = mxrt::Status(mxrt_engine_notice_from(engine, before.pushed, invocation.location));
  }
  bool ran = status.ok();
  if (ran && (eager.ok() || eager.code() != MXRT_CANCELLED)) {
    status = runGraph(graph, invocation);
    if (status.ok())
      status = errorOf(invocation.result, invocation.args);
  } else if (ran) {
    status = std::move(eager);
    ran = false;
  }
  if (ran) {
    std::string where = "`" + graph.name + "`";
    if (invocation.location.file)
      where += " at " + locationText(invocation.location.file, invocation.location.line,
                                     invocation.location.column);
    ++comparison->calls;
    if (eager.ok() && status.ok()) {
      comparison->add(result, invocation.result, where);
      for (size_t i = 0; i < count; ++i)
        if (graph.call.isMut[i])
          comparison->add(copies[first + i], invocation.args[first + i],
                          where + ", argument " + std::to_string(i));
    } else {
      comparison->addEndings(eager.code(), status.code(), where);
    }
  }
  for (Value &value : copies)
    release(heap, value);
  release(heap, result);
  return status;
}

mxrt::Status GraphHost::runGraph(Graph &graph, Invocation &invocation) {
  const BoundVariant *bound = nullptr;
  if (mxrt::Status status =
          bind(graph, sizesOf(graph.call, invocation), invocation.location, invocation.args, bound);
      !status.ok())
    return status;
  ++bound->variant->calls;
  return callGraph(graph.call, *bound, invocation);
}

} // namespace mx::driver
