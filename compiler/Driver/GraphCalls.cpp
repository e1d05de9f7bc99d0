// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Driver/GraphParts.h"
#include "dialects/mx/Marks.h"
#include "eager/TensorValue.h"
#include "mlir/IR/Diagnostics.h"
#include <algorithm>
#include <chrono>

namespace mx::driver {
using namespace mxrt;
using namespace mxrt::host;
using mlir::cast;
using mlir::dyn_cast;
using mlir::isa;

GraphHost::GraphHost(const eager::EagerOptions &options, KernelStore &kernels,
                     std::function<void(const VariantEvent &)> onVariant)
    : EagerHost(options), kernels(kernels), onVariant(std::move(onVariant)) {}
GraphHost::~GraphHost() = default;

mxrt::Status GraphHost::fail(mxrt_code code, const mxrt_place &place, const std::string &message) {
  return mxrt::Status(
      mxrt_status_make(mxrt_runtime_allocator(runtime()), code, place, "%s", message.c_str()));
}

void GraphHost::addModule(mlir::ModuleOp module) {
  for (ir::GraphOp op : module.getOps<ir::GraphOp>()) {
    auto graph = std::make_unique<Graph>();
    graph->op = op;
    graph->name = op.getSymName().str();
    auto open = op->getAttrOfType<mlir::DictionaryAttr>("mx.dyn");
    for (mlir::Attribute size : op.getSizes()) {
      llvm::StringRef name = cast<mlir::StringAttr>(size).getValue();
      graph->sizes.push_back(name.str());
      auto bound = open ? open.getAs<mlir::IntegerAttr>(name) : mlir::IntegerAttr();
      graph->open.push_back(static_cast<bool>(bound));
      graph->bounds.push_back(bound ? bound.getInt() : 0);
    }
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
  // Code that no graph has any more, oldest first.
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

/// Where a variant runs: a buffer that it makes says so.
static mxrt_device deviceOf(const pipeline::Variant &code) {
  for (const pipeline::Buffer &buffer : code.outputs)
    return deviceNamed(buffer.device);
  for (const auto &[device, bytes] : code.arenas)
    return deviceNamed(device);
  return deviceNamed("");
}

/// 3.1 GiB; `unit` is of the largest of figures that belong together.
static std::string inUnit(int64_t bytes, int unit) {
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f" : "%.1f",
                double(bytes) / double(int64_t(1) << (10 * unit)));
  return text;
}

/// What a variant needs and how to learn more, for an error.
static std::string describeNeeds(const std::string &name, mlir::Location where,
                                 const std::vector<std::pair<std::string, int64_t>> &sizes,
                                 const pipeline::Variant &code) {
  static constexpr const char *kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  const pipeline::Figures &figures = code.figures;
  int64_t all = figures.parameters + figures.data + figures.activations + figures.workspace;
  int unit = 0;
  while (unit < 4 && all >> (10 * (unit + 1)) > 0)
    ++unit;
  std::string shapes;
  for (auto &[size, value] : sizes)
    shapes += (shapes.empty() ? "" : ",") + size + "=" + std::to_string(value);
  std::string text = "note: graph `" + name + "`" + (shapes.empty() ? "" : " for " + shapes) +
                     " needs " + inUnit(all, unit) + " " + kUnits[unit] + " (plan: params " +
                     inUnit(figures.parameters, unit) + ", arguments " +
                     inUnit(figures.data, unit) + ", activations " +
                     inUnit(figures.activations, unit) + ", workspace " +
                     inUnit(figures.workspace, unit) + ")\n";
  std::string file;
  where->walk([&](mlir::Location part) {
    auto at = dyn_cast<mlir::FileLineColLoc>(part);
    if (!at)
      return mlir::WalkResult::advance();
    file = at.getFilename().str();
    return mlir::WalkResult::interrupt();
  });
  text += "help: `mxc plan " + file + " " + name + (shapes.empty() ? "" : " --shapes " + shapes) +
          "` shows what is alive at the peak";
  if (figures.largestBytes > 0 && !figures.largestPlace.empty())
    text += " (" + figures.largestPlace + ", " + inUnit(figures.largestBytes, unit) + " " +
            kUnits[unit] + ")";
  return text;
}

mxrt::Status GraphHost::variantFor(Graph &graph, const std::vector<int64_t> &sizes,
                                   LoadedVariant *&out, const mxrt_place &place,
                                   std::span<Value> args) {
  std::vector<int64_t> key;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (graph.open[i] && sizes[i] > graph.bounds[i])
      return fail(MXRT_SHAPE, place,
                  graph.name + ": " + graph.sizes[i] + " = " + std::to_string(sizes[i]) +
                      " is above its bound " + std::to_string(graph.bounds[i]));
    key.push_back(graph.open[i] ? -1 : sizes[i]);
  }
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
  // A session may define a graph of this name again: its code needs a name of its own.
  std::string entry = graph.name + "_" + graph.identity.substr(0, 8);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (!graph.open[i]) {
      values.push_back({graph.sizes[i], sizes[i]});
      entry += "_" + std::to_string(sizes[i]);
    }
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(graph.op.getContext(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && problem.empty())
      problem = d.str();
    return mlir::success();
  });
  auto made = pipeline::compileGraph(graph.op, values, graph.identity, entry, kernels.cpu(),
                                     kernels.cache(), kernels.options());
  if (!made) {
    if (kernels.options().stopped())
      return fail(MXRT_CANCELLED, place, "graph `" + graph.name + "` was cancelled");
    return fail(MXRT_UNSUPPORTED, place,
                "graph `" + graph.name + "` could not be compiled: " + problem);
  }
  if (!made->figures.refusal.empty()) {
    return fail(MXRT_OUT_OF_MEMORY, place, made->figures.refusal);
  }
  auto loaded = std::make_unique<LoadedVariant>();
  loaded->code = std::move(*made);
  loaded->needs = describeNeeds(graph.name, graph.op.getLoc(), values, loaded->code);
  loaded->name = graph.name;
  if (isCounting)
    loaded->taken = std::make_unique<CallBytes>();
  loaded->device = deviceOf(loaded->code);
  loaded->entry = kernels.load(loaded->code, loaded->held, problem);
  if (!loaded->entry) {
    return fail(MXRT_INTERNAL, place, "graph `" + graph.name + "` could not be loaded: " + problem);
  }
  loaded->code.objects.clear();
  for (const pipeline::Buffer &buffer : loaded->code.outputs) {
    llvm::SmallVector<int64_t> &shape = loaded->shapes.emplace_back();
    for (const std::string &size : buffer.sizes) {
      int64_t number = -1;
      shape.push_back(llvm::StringRef(size).getAsInteger(10, number) ? -1 : number);
    }
  }
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
  event.place = place;
  event.suggested = dynamicType(graph, values);
  event.sizes = values;
  event.before = variants.first;
  event.variants = variants.loaded.size();
  event.ms = out->compileMs;
  event.again = out->code.figures.again;
  data::ShortBatch batch;
  if (batches && event.variants > 1 && batches->findShortBatch(args, batch)) {
    event.loader = batch.set;
    event.rows = batch.rows;
  }
  onVariant(event);
  return {};
}

/// The value of a size of the variant, a number or a formula over open sizes.
static std::optional<int64_t> evaluate(ir::SizeTable &table, const std::string &text,
                                       const std::vector<std::pair<std::string, int64_t>> &values) {
  int64_t number = 0;
  if (!llvm::StringRef(text).getAsInteger(10, number))
    return number;
  std::lock_guard guard(table.lock);
  auto dim = table.parse(text);
  if (!dim)
    return std::nullopt;
  std::map<AtomId, int64_t> at;
  for (auto &[name, value] : values)
    if (auto atom = table.dims.asSymbol(table.named(name)))
      at[*atom] = value;
  return table.dims.evaluate(*dim, at);
}

mxrt::Status GraphHost::bind(Graph &graph, const std::vector<int64_t> &sizes,
                             const mxrt_place &place, std::span<Value> args,
                             const BoundVariant *&out) {
  if (graph.variants)
    if (auto found = graph.variants->bound.find(sizes); found != graph.variants->bound.end()) {
      graph.variants->lastUse = ++clock;
      out = found->second.get();
      return {};
    }
  LoadedVariant *variant = nullptr;
  if (mxrt::Status status = variantFor(graph, sizes, variant, place, args); !status.ok())
    return status;
  const pipeline::Variant &code = variant->code;
  std::vector<std::pair<std::string, int64_t>> named;
  for (size_t i = 0; i < sizes.size(); ++i)
    named.push_back({graph.sizes[i], sizes[i]});
  auto valueOf = [&](const std::string &size) {
    return evaluate(graph.op.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes(), size, named)
        .value_or(0);
  };
  auto made = std::make_unique<BoundVariant>();
  made->variant = variant;
  for (const std::string &size : code.sizes)
    made->open.push_back(valueOf(size));
  for (size_t i = 0; i < code.outputs.size(); ++i) {
    made->shapes.push_back(variant->shapes[i]);
    for (auto [axis, size] : llvm::enumerate(made->shapes.back()))
      if (size < 0)
        size = valueOf(code.outputs[i].sizes[axis]);
  }
  made->outputOf.assign(code.inputs.size(), -1);
  for (auto [i, over] : llvm::enumerate(code.over))
    if (over >= 0) {
      made->outputOf[static_cast<size_t>(over)] = static_cast<int64_t>(i);
      made->isOver = true;
    }
  out = (graph.variants->bound[sizes] = std::move(made)).get();
  return {};
}

void GraphHost::writeBytes(std::ostream &out) const {
  for (auto &[named, variants] : compiled)
    for (auto &[key, variant] : variants->loaded)
      if (const CallBytes *taken = variant->taken.get(); taken && taken->calls > 0) {
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

/// First op by op on copies of the arguments, then compiled; the compiled results count.
mxrt::Status GraphHost::runBothWays(Graph &graph, Invocation &invocation) {
  auto twin = graph.op->getAttrOfType<mlir::StringAttr>(ir::kEager);
  if (!twin || !program)
    return runGraph(graph, invocation);
  Heap &heap = invocation.vm.heap();
  std::vector<Value> copies(invocation.args.begin(), invocation.args.end());
  for (Value &value : copies)
    retain(value);
  Value result;
  mxrt::Status status =
      invocation.vm.call(program, twin.getValue(), std::span<Value>(copies), result);
  if (status.ok())
    status = runGraph(graph, invocation);
  std::string where = "`" + graph.name + "`";
  if (invocation.place.file)
    where += std::string(" at ") + invocation.place.file + ":" +
             std::to_string(invocation.place.line) + ":" + std::to_string(invocation.place.column);
  if (status.ok()) {
    ++comparison->calls;
    status = mxrt::Status(
        comparison->add(runtime(), result, invocation.result, where, invocation.place));
    for (unsigned i = 0; i < graph.op.getNumArguments() && status.ok(); ++i)
      if (graph.op.getArgAttr(i, "mx.mut"))
        status = mxrt::Status(comparison->add(
            runtime(), copies[graph.sizes.size() + i], invocation.args[graph.sizes.size() + i],
            where + ", argument " + std::to_string(i), invocation.place));
  }
  for (Value &value : copies)
    release(heap, value);
  release(heap, result);
  return status;
}

mxrt::Status GraphHost::runGraph(Graph &graph, Invocation &invocation) {
  size_t sizeCount = graph.sizes.size();
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < sizeCount; ++i)
    sizes.push_back(invocation.args[i].i);
  const BoundVariant *bound = nullptr;
  if (mxrt::Status status = bind(graph, sizes, invocation.place, invocation.args, bound);
      !status.ok())
    return status;

  Call call;
  for (size_t i = 0; i < graph.op.getNumArguments(); ++i)
    if (mxrt::Status status =
            flatten(graph.op.getArgumentTypes()[i], invocation.args[sizeCount + i], call,
                    graph.op.getArgAttr(static_cast<unsigned>(i), "mx.mut") != nullptr);
        !status.ok())
      return status;
  ++bound->variant->calls;
  if (call.inputs.size() != bound->outputOf.size())
    return fail(MXRT_INTERNAL, invocation.place,
                graph.name + ": the variant expects other arguments");
  if (mxrt::Status status = makeOutputs(*bound, call, invocation.place); !status.ok())
    return status;
  if (mxrt::Status status =
          issueGraph(runtime(), *bound, call.inputs, call.outputs, invocation.place);
      !status.ok())
    return status;

  // What changed goes back to its argument; the rest is the result.
  Heap &heap = invocation.vm.heap();
  llvm::ArrayRef<mlir::Type> results = graph.op.getResultTypes();
  size_t next = 0, changed = 0;
  for (unsigned i = 0; i < graph.op.getNumArguments(); ++i) {
    if (!graph.op.getArgAttr(i, "mx.mut"))
      continue;
    Value value;
    if (mxrt::Status status = rebuild(results[changed++], call, next, heap, value); !status.ok())
      return status;
    replace(heap, invocation.args[sizeCount + i], value);
  }
  size_t rest = results.size() - changed;
  if (rest == 0)
    return {};
  if (rest == 1)
    return rebuild(results.back(), call, next, heap, invocation.result);
  AggregateObject *tuple = makeAggregate(heap, static_cast<uint32_t>(rest), nullptr);
  if (!tuple)
    return fail(MXRT_OUT_OF_MEMORY, invocation.place, "out of memory");
  invocation.result = Value(Kind::Tuple, tuple);
  for (mlir::Type type : results.drop_front(changed)) {
    Value item;
    if (mxrt::Status status = rebuild(type, call, next, heap, item); !status.ok())
      return status;
    tuple->items()[tuple->count++] = item;
  }
  return {};
}

} // namespace mx::driver
