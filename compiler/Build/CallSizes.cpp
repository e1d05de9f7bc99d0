// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprocedural constant propagation of sizes from host code to the graphs it calls.
#include "Build/CallSizes.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

namespace mx::build {
namespace {

/// Values that a size symbol may have; `exact`: no others.
struct Values {
  std::vector<int64_t> list;
  bool exact = false;
};
using Names = std::map<std::string, Values, std::less<>>;

std::optional<int64_t> constantOf(mlir::Value value) {
  mlir::Attribute number;
  if (!value || !mlir::matchPattern(value, mlir::m_Constant(&number)))
    return std::nullopt;
  if (auto elements = mlir::dyn_cast<mlir::DenseIntElementsAttr>(number);
      elements && elements.isSplat())
    return elements.getSplatValue<llvm::APInt>().getSExtValue();
  if (auto plain = mlir::dyn_cast<mlir::IntegerAttr>(number))
    return plain.getInt();
  return std::nullopt;
}

class Finder {
public:
  Finder(mlir::ModuleOp module, llvm::StringRef entry) : module(module) {
    auto add = [](std::vector<int64_t> &known, mlir::Value value) {
      if (auto number = constantOf(value); number && !llvm::is_contained(known, *number))
        known.push_back(*number);
    };
    module.walk([&](ir::NativeOp native) {
      if (native.getName() == "mx.data.plan" && native.getArgs().size() >= 3)
        add(batches, native.getArgs()[2]);
      else if (native.getName() == "mx.dist.local")
        add(workers, native.getArgs()[0]);
    });
    // Eager twins are not called by host code; everything else is reached from the entry, or as a
    // value.
    std::set<std::string> twins;
    for (ir::GraphOp graph : module.getOps<ir::GraphOp>())
      if (auto twin = graph->getAttrOfType<mlir::StringAttr>(ir::kEager))
        twins.insert(twin.str());
    if (auto main = module.lookupSymbol<ir::FuncOp>(entry))
      visit(main, {});
    for (ir::FuncOp function : module.getOps<ir::FuncOp>()) {
      bool isUsedAsValue = false;
      if (auto uses = mlir::SymbolTable::getSymbolUses(function, module))
        for (mlir::SymbolTable::SymbolUse use : *uses)
          isUsedAsValue |= mlir::isa<ir::ClosureOp>(use.getUser()) &&
                           use.getUser()->getParentOfType<ir::FuncOp>() != nullptr;
      if (isUsedAsValue && !twins.count(function.getSymName().str()))
        visit(function, {});
    }
  }

  std::vector<CalledGraph> take() {
    std::vector<CalledGraph> out;
    for (ir::GraphOp graph : module.getOps<ir::GraphOp>())
      if (auto found = graphs.find(graph.getSymName()); found != graphs.end())
        out.push_back(std::move(found->second));
      else if (isUsedByHost(graph))
        out.push_back(unknown(graph));
    return out;
  }

private:
  static constexpr size_t kMost = kMaxVariants;

  /// Whether host code refers to the graph in a way that this analysis does not follow.
  bool isUsedByHost(ir::GraphOp graph) const {
    auto uses = mlir::SymbolTable::getSymbolUses(graph, module);
    return uses && llvm::any_of(*uses, [](mlir::SymbolTable::SymbolUse use) {
             return use.getUser()->getParentOfType<ir::FuncOp>() != nullptr;
           });
  }
  static CalledGraph unknown(ir::GraphOp graph) {
    CalledGraph out;
    out.graph = graph;
    out.seen.resize(graph.getSizes().size());
    auto open = graph->getAttrOfType<mlir::DictionaryAttr>(ir::kDyn);
    out.isOpen = llvm::any_of(graph.getSizes().getAsRange<mlir::StringAttr>(),
                              [&](mlir::StringAttr name) { return !open || !open.get(name); });
    if (!out.isOpen)
      out.sizes.insert(std::vector<int64_t>(graph.getSizes().size(), -1));
    return out;
  }

  /// The rows of factors: as many as this worker has.
  static std::vector<int64_t> rowsOf(ir::NativeOp rows, const Names &names) {
    auto factors = rows.getArgs()[0].getDefiningOp<ir::NativeOp>();
    std::optional<int64_t> key = constantOf(rows.getArgs()[1]);
    if (!factors || !key)
      return {};
    auto own = mlir::cast<ir::TensorType>(factors.getArgs()[3 * *key + 3].getType()).getSizes()[0];
    if (std::optional<int64_t> known = own.constant())
      return {*known};
    auto found = names.find(own.getText().str());
    return found == names.end() ? std::vector<int64_t>() : found->second.list;
  }
  Values valuesOf(ir::BindSizeOp bind, const Names &names) {
    if (auto number = constantOf(bind.getValue()))
      return {{*number}, true};
    auto dim = bind.getValue().getDefiningOp<ir::NativeOp>();
    if (dim && dim.getName() == "mx.dist.size")
      return {workers, false};
    if (dim && dim.getName() == "mx.dist.factor_rows")
      return {rowsOf(dim, names), false};
    if (!dim || dim.getName() != "mx.dim")
      return {};
    // The batch dimension of a data loader's output.
    mlir::Value tensor = dim.getArgs()[0];
    mlir::Operation *from = tensor.getDefiningOp();
    while (from && !mlir::isa<ir::NativeOp>(from) && from->getNumOperands() == 1)
      from = from->getOperand(0).getDefiningOp();
    auto next = mlir::dyn_cast_or_null<ir::NativeOp>(from);
    if (next && next.getName().starts_with("mx.data.next"))
      return {batches, false};
    return {};
  }

  void visit(ir::FuncOp function, const std::vector<std::optional<int64_t>> &given) {
    auto &before = visited[function.getSymName()];
    if (before.size() >= kMost || !before.insert(given).second)
      return;
    Names names;
    auto sizes = function.getSizes().getAsRange<mlir::StringAttr>();
    for (auto [i, name] : llvm::enumerate(sizes))
      if (i < given.size() && given[i])
        names[name.str()] = {{*given[i]}, true};
    function.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
      if (auto bind = mlir::dyn_cast<ir::BindSizeOp>(op))
        names[bind.getName().str()] = valuesOf(bind, names);
      else if (auto call = mlir::dyn_cast<ir::CallOp>(op))
        follow(call.getCallee(), call.getSizes(), names);
      else if (auto closure = mlir::dyn_cast<ir::ClosureOp>(op))
        follow(closure.getCallee(), closure.getSizes(), names);
    });
  }

  /// Visits the callee with every combination of values of the size symbols in the call.
  void follow(llvm::StringRef callee, mlir::ArrayAttr sizes, const Names &names) {
    mlir::Operation *target = module.lookupSymbol(callee);
    ir::SizeTable &table = module.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
    std::lock_guard guard(table.lock);
    std::vector<AtomId> used;
    for (auto size : sizes.getAsRange<ir::SizeAttr>())
      if (Dim dim = size.dim())
        table.dims.symbols(dim, used);
    std::vector<std::map<AtomId, int64_t>> choices(1);
    bool exact = true;
    for (AtomId atom : used) {
      auto known = names.find(table.dims.symbolInfo(atom).name);
      if (known == names.end() || known->second.list.empty()) {
        exact = false;
        continue;
      }
      exact &= known->second.exact;
      std::vector<std::map<AtomId, int64_t>> more;
      for (auto &choice : choices)
        for (int64_t value : known->second.list) {
          more.push_back(choice);
          more.back()[atom] = value;
        }
      if (more.size() > kMost) {
        exact = false;
        continue;
      }
      choices = std::move(more);
    }
    for (auto &choice : choices) {
      std::vector<std::optional<int64_t>> values;
      for (auto size : sizes.getAsRange<ir::SizeAttr>())
        values.push_back(size.dim() ? table.dims.evaluate(size.dim(), choice) : std::nullopt);
      if (auto graph = mlir::dyn_cast_or_null<ir::GraphOp>(target))
        note(graph, values, exact);
      else if (auto function = mlir::dyn_cast_or_null<ir::FuncOp>(target))
        visit(function, values);
    }
  }

  void note(ir::GraphOp graph, const std::vector<std::optional<int64_t>> &values, bool exact) {
    CalledGraph &called = graphs[graph.getSymName()];
    called.graph = graph;
    called.seen.resize(graph.getSizes().size());
    auto open = graph->getAttrOfType<mlir::DictionaryAttr>(ir::kDyn);
    std::vector<int64_t> key;
    bool isKnown = true, mayDiffer = false;
    for (auto [i, name] : llvm::enumerate(graph.getSizes().getAsRange<mlir::StringAttr>())) {
      if (open && open.get(name)) {
        key.push_back(-1);
        continue;
      }
      mayDiffer = true;
      isKnown &= values[i].has_value();
      key.push_back(values[i].value_or(0));
      if (values[i])
        called.seen[i].insert(*values[i]);
    }
    if (isKnown && (called.sizes.size() < kMost || called.sizes.count(key)))
      called.sizes.insert(key);
    else
      exact = false;
    called.isOpen |= mayDiffer && !exact;
  }

  mlir::ModuleOp module;
  std::vector<int64_t> batches; ///< batch sizes of the data loaders
  std::vector<int64_t> workers; ///< of the KVStores
  llvm::StringMap<std::set<std::vector<std::optional<int64_t>>>> visited;
  llvm::StringMap<CalledGraph> graphs;
};

} // namespace

std::vector<CalledGraph> findCallSizes(mlir::ModuleOp module, llvm::StringRef entry) {
  return Finder(module, entry).take();
}

bool addShapes(std::vector<CalledGraph> &graphs, const Shapes &shapes, Span program,
               Diagnostics &diags) {
  std::set<std::string> found;
  for (CalledGraph &called : graphs) {
    auto open = called.graph->getAttrOfType<mlir::DictionaryAttr>(ir::kDyn);
    std::vector<std::vector<int64_t>> all(1);
    bool isNamed = false, isKnown = true;
    for (auto [i, name] : llvm::enumerate(called.graph.getSizes().getAsRange<mlir::StringAttr>())) {
      std::vector<int64_t> values(called.seen[i].begin(), called.seen[i].end());
      for (auto &[size, given] : shapes)
        if (name == size) {
          values = given;
          isNamed = true;
          found.insert(size);
        }
      if (open && open.get(name))
        values = {-1};
      isKnown &= !values.empty();
      std::vector<std::vector<int64_t>> more;
      for (auto &each : all)
        for (int64_t value : values) {
          more.push_back(each);
          more.back().push_back(value);
        }
      all = std::move(more);
    }
    if (!isNamed || !isKnown)
      continue;
    called.sizes.insert(all.begin(), all.end());
    if (called.sizes.size() > kMaxVariants) {
      diags
          .report(Code::E1002, program,
                  "`" + called.graph.getSymName().str() + "` would have " +
                      std::to_string(called.sizes.size()) + " variants; there may be " +
                      std::to_string(kMaxVariants))
          .help("give fewer values");
      return false;
    }
  }
  for (auto &[size, given] : shapes)
    if (!found.count(size)) {
      diags
          .report(Code::E1002, program, "no graph that the program calls has a size `" + size + "`")
          .help("leave `" + size + "=…` out of --shapes");
      return false;
    }
  return true;
}

} // namespace mx::build
