// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory planning: schedules ops, rematerialises values to fit a limit, and packs the arena.
#include "Pipeline/PlanMemory.h"
#include "Memory/Donation.h"
#include "Memory/PlanMistakes.h"
#include "Memory/Passes.h"
#include "Memory/Recompute.h"
#include "Memory/Schedule.h"
#include "dialects/mx/Exchange.h"
#include "dialects/mx/GradientTypes.h"
#include "dialects/mx/Marks.h"
#include "dialects/mxrt/Marks.h"
#include "mlir/Pass/PassManager.h"
#include <map>
#include <numeric>

namespace mx::pipeline {
using namespace mlir;

// ------------------------------------------------------------------------------ arguments

namespace {

/// Whether the type is, or contains, the gradient of a model.
bool hasGradient(Type type, ModuleOp source) {
  if (auto array = dyn_cast<ir::ArrayType>(type))
    return hasGradient(array.getElement(), source);
  auto aggregate = dyn_cast<ir::AggregateType>(type);
  return aggregate &&
         (ir::isGradient(source, aggregate) || llvm::any_of(aggregate.getParts(), [&](Type part) {
            return hasGradient(part, source);
          }));
}

memory::Use useOf(Type type, bool isChanged, ModuleOp source) {
  if (auto array = dyn_cast<ir::ArrayType>(type))
    return useOf(array.getElement(), isChanged, source);
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    if (aggregate.getName().empty())
      return memory::Use::Data;
    if (ir::isGradient(source, aggregate))
      return memory::Use::Gradient;
    // Optimizer state contains something like a gradient.
    return hasGradient(type, source) ? memory::Use::State : memory::Use::Parameter;
  }
  return isChanged ? memory::Use::Parameter : memory::Use::Data;
}

} // namespace

void markArguments(ir::GraphOp graph, ModuleOp source) {
  for (unsigned i = 0; i < graph.getNumArguments(); ++i) {
    bool isChanged = graph.getArgAttr(i, ir::kMut) != nullptr;
    const char *use = memory::useName(useOf(graph.getArgumentTypes()[i], isChanged, source));
    graph.setArgAttr(i, ir::kUse, StringAttr::get(graph.getContext(), use));
  }
}

void tellArguments(ir::GraphOp graph, rt::ProgramOp program) {
  Builder b(graph.getContext());
  SmallVector<Attribute> kinds;
  // Results of changed arguments come first, in their order.
  SmallVector<int64_t> given;
  for (unsigned i = 0; i < graph.getNumArguments(); ++i) {
    auto kind = graph.getArgAttrOfType<StringAttr>(i, ir::kUse);
    kinds.push_back(kind ? kind : b.getStringAttr(""));
    if (graph.getArgAttr(i, ir::kMut) && given.size() < graph.getNumResults())
      given.push_back(graph.getArgumentTypes()[i] == graph.getResultTypes()[given.size()]
                          ? static_cast<int64_t>(i)
                          : -1);
  }
  given.resize(graph.getNumResults(), -1);
  program->setAttr(rt::kUses, b.getArrayAttr(kinds));
  if (llvm::any_of(given, [](int64_t input) { return input >= 0; }))
    program->setAttr(rt::kGiven, b.getDenseI64ArrayAttr(given));
}

static int64_t limitOf(Operation *graph, const Options &options) {
  auto own = graph->getAttrOfType<IntegerAttr>(ir::kMaxBytes);
  if (!own || (options.maxBytes > 0 && options.maxBytes < own.getInt()))
    return options.maxBytes;
  return own.getInt();
}

void tellLimit(ir::GraphOp graph, const Options &options, rt::ProgramOp program) {
  if (int64_t limit = limitOf(graph, options); limit > 0)
    program->setAttr(rt::kLimit, Builder(graph.getContext()).getI64IntegerAttr(limit));
}

// ------------------------------------------------------------------------------ planning

// Memory between kernels. On entry every buffer has a slice of its own.
static LogicalResult runMemoryPasses(ModuleOp plan, const Options &options,
                                     memory::PackArenaOptions pack = {}) {
  PassManager passes(plan.getContext());
  // A deliberate bug is for tests to notice, not for verifiers.
  passes.enableVerifier(options.mistake.empty());
  // First: it merges two buffers into one, and then there is less to pack.
  if (!options.disabled.count("in-place"))
    passes.addPass(memory::createReuseInPlace());
  // Assigns offsets, and with them the bytes that a call leases. It also drops unused slices, so it
  // always runs.
  pack.share = !options.disabled.count("co-share");
  passes.addPass(memory::createPackArena(pack));
  // A wrong plan gives wrong numbers, not errors: so each plan is verified.
  passes.addPass(memory::createVerifyPlan());
  if (failed(passes.run(plan)))
    return failure();
  if (!options.mistake.empty())
    memory::makeMistake(plan, options.mistake);
  return success();
}

static rt::ProgramOp programOf(ModuleOp plan) { return *plan.getOps<rt::ProgramOp>().begin(); }

static int64_t arenaBytes(ModuleOp plan) {
  int64_t sum = 0;
  for (auto arena : programOf(plan).getArenas().getAsRange<rt::ArenaAttr>())
    sum += arena.getBytes();
  return sum;
}

static int64_t limitOf(ModuleOp plan) {
  auto limit = programOf(plan)->getAttrOfType<IntegerAttr>(rt::kLimit);
  return limit ? limit.getInt() : 0;
}

namespace {

/// Rematerialisation to fit a limit. The bytes of a plan are known only after packing, so budgets
/// are tried from large to small, from a ladder that does not depend on the limit. The first plan
/// that fits is taken: it recomputes the least. If none fits, all were tried, and the smallest is
/// the best possible result.
class Fitting {
public:
  Fitting(const TargetInfo &target, const Options &options, int64_t limit)
      : target(target), options(options), limit(limit) {}

  OwningOpRef<ModuleOp> best; ///< null: no plan was found
  bool fits() const { return best && arenaBytes(*best) <= limit; }

  LogicalResult tryOrder(ModuleOp order) {
    memory::BudgetLadder ladder(programOf(order), target);
    while (!fits())
      if (std::optional<Rung> rung = ladder.next(); !rung)
        break;
      else if (rung->peak > limit)
        skipped.push_back({*rung, order});
      else if (failed(tryBudget(order, rung->budget)))
        return failure();
    return success();
  }

  /// Plans whose peak exceeds the limit are packed only to report how little would be enough.
  LogicalResult findSmallest() {
    // Ties go to the first order with larger budgets, which recomputes less.
    std::vector<size_t> byPeak(skipped.size());
    std::iota(byPeak.begin(), byPeak.end(), size_t(0));
    llvm::sort(byPeak, [&](size_t a, size_t b) {
      return std::pair(skipped[a].first.peak, a) < std::pair(skipped[b].first.peak, b);
    });
    for (size_t at : byPeak)
      if (auto &[rung, order] = skipped[at];
          (!best || rung.peak < arenaBytes(*best)) && failed(tryBudget(order, rung.budget)))
        return failure();
    return success();
  }

private:
  using Rung = memory::BudgetLadder::Rung;
  const TargetInfo &target;
  const Options &options;
  int64_t limit;
  std::vector<std::pair<Rung, ModuleOp>> skipped;

  LogicalResult tryBudget(ModuleOp order, int64_t budget) {
    OwningOpRef<ModuleOp> plan = order.clone();
    if (!memory::recompute(programOf(*plan), target, budget))
      return success();
    if (failed(runMemoryPasses(*plan, options)))
      return failure();
    if (!best || arenaBytes(*plan) < arenaBytes(*best))
      best = std::move(plan);
    return success();
  }
};

} // namespace

/// Percent of a call's time that rematerialisation may cost when no limit requires it.
static constexpr double kCheapPercent = 2;
/// Several such plans may be packed: packing stops this close to the lower bound.
static constexpr double kCheapEnough = 0.005;

/// Rematerialises values that cost next to nothing. Null if that does not help.
static LogicalResult planCheap(ModuleOp order, const TargetInfo &target, const Options &options,
                               OwningOpRef<ModuleOp> &best) {
  std::optional<int64_t> budget = memory::cheapBudget(programOf(order), target, kCheapPercent);
  // If buffers do not fit into the budget without gaps, more of them are kept for the same bytes.
  for (int round = 0; round < 3 && budget; ++round) {
    OwningOpRef<ModuleOp> plan = order.clone();
    if (!memory::recomputeCheap(programOf(*plan), target, *budget))
      break;
    memory::PackArenaOptions pack;
    pack.enough = kCheapEnough;
    if (failed(runMemoryPasses(*plan, options, pack)))
      return failure();
    int64_t bytes = arenaBytes(*plan);
    if (!best || bytes <= arenaBytes(*best) + arenaBytes(*best) / 50)
      best = std::move(plan);
    if (bytes <= *budget + *budget / 50)
      break;
    *budget += (bytes - *budget) * 3 / 4;
  }
  return success();
}

LogicalResult planMemory(OwningOpRef<ModuleOp> &plan, const TargetInfo &target,
                         const Options &options) {
  // Every buffer has a slice of its own here, so this is the size without any planning.
  bool isLarge = arenaBytes(*plan) > target.arenaBytes;
  const int64_t limit = limitOf(*plan);
  bool mayRepeat = (isLarge || limit > 0) && !options.disabled.count("recompute");
  SmallVector<OwningOpRef<ModuleOp>> orders;
  // Another schedule of the ops may need less. Its gain is known only when both are packed.
  OwningOpRef<ModuleOp> other;
  if (!options.disabled.count("schedule")) {
    other = plan->clone();
    if (!memory::schedule(programOf(*other)))
      other = nullptr;
  }
  if (mayRepeat) {
    orders.push_back(plan->clone());
    if (other)
      orders.push_back(other->clone());
  }
  if (failed(runMemoryPasses(*plan, options)) ||
      (other && failed(runMemoryPasses(*other, options))))
    return failure();
  Builder b(plan->getContext());
  auto sourceBound = b.getI64IntegerAttr(memory::boundOf(programOf(*plan)));
  if (other && arenaBytes(*other) < arenaBytes(*plan)) {
    plan = std::move(other);
    std::reverse(orders.begin(), orders.end());
  }
  int64_t plain = arenaBytes(*plan);
  auto take = [&](OwningOpRef<ModuleOp> &smaller) {
    if (!smaller || arenaBytes(*smaller) >= arenaBytes(*plan))
      return;
    plan = std::move(smaller);
    programOf(*plan)->setAttr(rt::kPlainBytes, b.getI64IntegerAttr(plain));
  };
  if (mayRepeat && plain > target.arenaBytes) {
    OwningOpRef<ModuleOp> cheap;
    if (failed(planCheap(*orders.front(), target, options, cheap)))
      return failure();
    take(cheap);
  }
  if (mayRepeat && limit > 0 && arenaBytes(*plan) > limit) {
    Fitting fitting(target, options, limit);
    for (OwningOpRef<ModuleOp> &order : orders)
      if (!fitting.fits() && failed(fitting.tryOrder(*order)))
        return failure();
    if (!fitting.fits() && failed(fitting.findSmallest()))
      return failure();
    take(fitting.best);
  }
  programOf(*plan)->setAttr(rt::kSourceBound, sourceBound);
  if (!programOf(*plan)->hasAttr(rt::kAnnounces))
    return success();
  PassManager passes(plan->getContext());
  // When an output is complete is known once the order of the ops is.
  passes.addPass(memory::createAnnounceOutputs());
  // A report that comes too early is a race, which no run shows reliably.
  passes.addPass(memory::createVerifyReady());
  return passes.run(*plan);
}

// ------------------------------------------------------------------------------ several devices

namespace {

/// Adds the tensors of a value as keys below `name`.
void addKeys(Type type, const std::string &name, const rt::SizeBounds &bounds,
             std::vector<memory::ExchangedKey> &out) {
  if (auto tensor = dyn_cast<ir::TensorType>(type)) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << elementInfo(ir::elementFromMlir(tensor.getElement())).name << "[";
    llvm::interleaveComma(tensor.getSizes(), stream, [&](ir::SizeAttr size) {
      if (std::optional<int64_t> known = rt::largest(size, bounds))
        stream << *known;
      else
        stream << size.getText();
    });
    stream << "]";
    memory::ExchangedKey key;
    key.name = name;
    key.type = text;
    key.form = "dense";
    key.bytes = key.denseBytes = rt::largestBytes(tensor, bounds).value_or(0);
    out.push_back(key);
  } else if (auto array = dyn_cast<ir::ArrayType>(type)) {
    for (int64_t i = 0; i < array.getCount().constant().value_or(0); ++i)
      addKeys(array.getElement(), name + "." + std::to_string(i), bounds, out);
  } else if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    for (auto [i, part] : llvm::enumerate(aggregate.getParts())) {
      std::string field = std::to_string(i);
      if (i < aggregate.getFields().size())
        field = cast<StringAttr>(aggregate.getFields()[i]).str();
      addKeys(part, name + "." + field, bounds, out);
    }
  }
}

/// Gives a key the form that its further pair of name and value has.
void setForm(memory::ExchangedKey &key, StringRef form, int64_t entries, int64_t entryBytes) {
  key.form = form.str();
  key.entries = entries;
  key.entryBytes = entryBytes;
  key.bytes = entries * entryBytes;
}
/// `mx.rows`, `mx.exchanged`: see Graph/ExchangeForms.cpp.
void readForm(ir::NativeOp average, ir::AggregateType type, Value value,
              const rt::SizeBounds &bounds, memory::ExchangedKey &key) {
  if (type.getName() == "mx.rows") {
    int64_t entries = 1, rows = 1;
    for (ir::SizeAttr size : cast<ir::TensorType>(type.getParts()[0]).getSizes())
      entries *= rt::largest(size, bounds).value_or(0);
    if (auto make = value.getDefiningOp<ir::MakeOp>())
      if (auto size = make.getParts()[3].getDefiningOp<ir::SizeOp>())
        rows = std::max<int64_t>(rt::largest(size.getSize(), bounds).value_or(1), 1);
    if (2 * entries <= rows)
      setForm(key, "rows", entries, key.denseBytes / rows + (rows > UINT32_MAX ? 8 : 4));
    return;
  }
  average->getParentOfType<ir::FuncOp>().walk([&](ir::NativeOp factors) {
    if (factors.getName() != "mx.dist.factors")
      return;
    for (size_t i = 2; i + 2 < factors.getArgs().size(); i += 3) {
      auto name = factors.getArgs()[i].getDefiningOp<ir::TextOp>();
      if (!name || name.getValue() != key.name)
        continue;
      int64_t entries = 0, bytes = 0;
      for (Value side : factors.getArgs().slice(i + 1, 2)) {
        auto type = cast<ir::TensorType>(side.getType());
        entries = rt::largest(type.getSizes()[0], bounds).value_or(0);
        bytes += rt::largest(type.getSizes()[1], bounds).value_or(0) *
                 elementInfo(ir::elementFromMlir(type.getElement())).bytes;
      }
      setForm(key, "factors", entries, bytes);
    }
  });
}
/// The rows of factors, which a plan takes to be the same at all workers.
void addFactorRows(ir::FuncOp function, rt::SizeBounds &bounds,
                   SmallVectorImpl<std::pair<std::string, int64_t>> &sizes) {
  function.walk([&](ir::BindSizeOp bind) {
    auto rows = bind.getValue().getDefiningOp<ir::NativeOp>();
    auto all = rows && rows.getName() == "mx.dist.factor_rows"
                   ? rows.getArgs()[0].getDefiningOp<ir::NativeOp>()
                   : ir::NativeOp();
    auto key = all ? rows.getArgs()[1].getDefiningOp<ir::ConstantOp>() : ir::ConstantOp();
    auto number = key ? dyn_cast<IntegerAttr>(key.getValue()) : IntegerAttr();
    if (!number)
      return;
    Value u = all.getArgs()[3 * number.getInt() + 3];
    int64_t count =
        rt::largest(cast<ir::TensorType>(u.getType()).getSizes()[0], bounds).value_or(0);
    bounds[bind.getName().str()] = count;
    sizes.push_back({bind.getName().str(), count});
  });
}

/// The exchanges of a function, and of those that it calls for the purpose.
void addExchanges(ir::FuncOp function, const rt::SizeBounds &bounds,
                  std::vector<memory::ExchangeReport> &out) {
  function.walk([&](Operation *op) {
    if (auto call = dyn_cast<ir::CallOp>(op); call && call->hasAttr(ir::kExchanges)) {
      if (auto callee =
              SymbolTable::lookupNearestSymbolFrom<ir::FuncOp>(call, call.getCalleeAttr()))
        addExchanges(callee, bounds, out);
      return;
    }
    auto native = dyn_cast<ir::NativeOp>(op);
    StringRef action = native ? native.getName() : StringRef();
    if (!action.consume_front("mx.dist.") || action == "factors")
      return;
    memory::ExchangeReport exchange{action.str(), {}};
    for (auto [before, value] : llvm::zip(native.getArgs(), native.getArgs().drop_front()))
      if (auto name = before.getDefiningOp<ir::TextOp>()) {
        auto form = dyn_cast<ir::AggregateType>(value.getType());
        if (!form || !form.getName().getValue().starts_with("mx.")) {
          addKeys(value.getType(), name.getValue().str(), bounds, exchange.keys);
          continue;
        }
        for (memory::ExchangedKey &key : exchange.keys)
          if (key.name == name.getValue())
            readForm(native, form, value, bounds, key);
      }
    if (!exchange.keys.empty())
      out.push_back(std::move(exchange));
  });
}

/// Visits the tensors of a value.
void forLeaves(Type type, llvm::function_ref<void(ir::TensorType)> seen) {
  if (auto tensor = dyn_cast<ir::TensorType>(type)) {
    if (!tensor.isHost())
      seen(tensor);
  } else if (auto array = dyn_cast<ir::ArrayType>(type)) {
    for (int64_t i = 0; i < array.getCount().constant().value_or(0); ++i)
      forLeaves(array.getElement(), seen);
  } else if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    for (Type part : aggregate.getParts())
      forLeaves(part, seen);
  }
}

/// Appends the report of the next graph: the bytes in use on a device over time, and their max.
void append(memory::DeviceReport &all, const memory::DeviceReport &next) {
  auto time = static_cast<int64_t>(all.inUse.size());
  all.inUse.insert(all.inUse.end(), next.inUse.begin(), next.inUse.end());
  for (memory::Placed placed : next.slices) {
    placed.first += time;
    placed.last += time;
    all.slices.push_back(std::move(placed));
  }
  all.alone = std::max(all.alone, next.alone);
  all.arena = std::max(all.arena, next.arena);
  if (next.bound > all.bound) {
    all.bound = next.bound;
    all.peak = next.peak;
    all.peakLocation = next.peakLocation;
    all.atPeak = next.atPeak;
  }
}

} // namespace

std::optional<memory::PlanReport> planSegments(ir::FuncOp function,
                                               ArrayRef<std::pair<std::string, int64_t>> given,
                                               const std::string &name, const TargetInfo &target,
                                               const Options &options) {
  memory::PlanReport out;
  out.name = name;
  out.plain = 0;
  out.limit = limitOf(function, options);
  std::map<std::string, memory::DeviceReport> devices;
  auto on = [&](StringRef device) -> memory::DeviceReport & {
    memory::DeviceReport &report = devices[device.str()];
    report.device = device.str();
    return report;
  };
  rt::SizeBounds bounds;
  for (auto &[size, value] : given)
    bounds[size] = value;
  SmallVector<std::pair<std::string, int64_t>> sizes(given);
  addFactorRows(function, bounds, sizes);
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    bool isChanged = function.getArgAttr(static_cast<unsigned>(i), ir::kMut) != nullptr;
    memory::Use use = useOf(type, isChanged, function->getParentOfType<ModuleOp>());
    forLeaves(type, [&](ir::TensorType tensor) {
      int64_t bytes = rt::largestBytes(tensor, bounds).value_or(0);
      on(tensor.getDevice()).inputs += bytes;
      on(tensor.getDevice()).arguments[use] += bytes;
    });
  }
  for (Type type : function.getResultTypes())
    forLeaves(type, [&](ir::TensorType tensor) {
      on(tensor.getDevice()).outputs += rt::largestBytes(tensor, bounds).value_or(0);
    });
  addExchanges(function, bounds, out.exchanges);
  bool isFine = true;
  function.walk([&](ir::CallOp call) {
    auto graph = SymbolTable::lookupNearestSymbolFrom<ir::GraphOp>(call, call.getCalleeAttr());
    if (!graph || !isFine)
      return;
    OwningOpRef<ModuleOp> plan = makePlan(graph, sizes, graph.getSymName().str(), target, options);
    isFine &= static_cast<bool>(plan);
    if (!plan)
      return;
    memory::PlanReport part = memory::describePlan(programOf(*plan), name);
    out.work.operations += part.work.operations;
    out.work.bytes += part.work.bytes;
    out.work.isExact &= part.work.isExact && call->getParentOp() == function;
    out.recomputed.operations += part.recomputed.operations;
    out.recomputed.bytes += part.recomputed.bytes;
    out.plain = std::max(out.plain, part.plain);
    out.sourceBound = std::max(out.sourceBound, part.sourceBound);
    out.locations.insert(out.locations.end(), part.locations.begin(), part.locations.end());
    for (const memory::DeviceReport &device : part.devices)
      append(on(device.device), device);
  });
  if (!isFine)
    return std::nullopt;
  for (auto &[device, report] : devices)
    out.devices.push_back(std::move(report));
  return out;
}

Figures figuresOf(ModuleOp plan, const std::string &name) {
  memory::PlanReport report = memory::describePlan(programOf(plan), name);
  Figures out;
  out.refusal = memory::refusalOf(report, name);
  // Rematerialisation that costs next to nothing is not reported.
  if (report.limit > 0 && report.plain > report.limit)
    out.recomputed = memory::describeRecomputed(report);
  for (const memory::DeviceReport &device : report.devices) {
    for (auto [use, bytes] : device.arguments)
      (use == memory::Use::Parameter || use == memory::Use::State ? out.parameters : out.data) +=
          bytes;
    auto workspace = device.atPeak.find(memory::Use::Workspace);
    int64_t working = workspace == device.atPeak.end() ? 0 : workspace->second;
    out.workspace += working;
    out.activations += device.arena - working;
    out.bound += device.bound;
    if (!device.peak.empty() && device.peak.front().bytes > out.largestBytes) {
      out.largestBytes = device.peak.front().bytes;
      out.largestLocation = device.peak.front().location;
    }
  }
  return out;
}

} // namespace mx::pipeline
