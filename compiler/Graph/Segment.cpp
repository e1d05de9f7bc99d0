// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Segment: partitions a graph that one call of an engine cannot run, because it uses several devices
// or exchanges values with other workers, into graphs called from a host function.
//
// In each block an op has a level: the maximum number of device changes on a path to it. Ops of one
// device and level depend only on each other and on lower levels: they form one graph (segment).
// Host ops (copies, exchanges, scalars, parts of models) keep their order within their level.
// An exchange begins as soon as the results it takes are complete, so segments of a graph with
// exchanges announce theirs. Ops whose types use a size that the block binds depend on the binding.
#include "Graph/ExchangeForms.h"
#include "Graph/FusionGroups.h"
#include "Graph/InlineCalls.h"
#include "Graph/Passes.h"
#include "Graph/Sizes.h"
#include "dialects/mx/Exchange.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_SEGMENT
#include "Graph/Passes.h.inc"

namespace {

using Devices = llvm::SmallSetVector<StringAttr, 2>;

void devicesOf(Operation *root, Devices &out) {
  AttrTypeWalker walker;
  walker.addWalk([&](ir::TensorType type) {
    if (!type.isHost())
      out.insert(type.getDevice());
  });
  root->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      walker.walk(type);
    for (Region &region : op->getRegions())
      for (Type type : region.getArgumentTypes())
        walker.walk(type);
  });
}

/// The device of an op that can be in a graph; null for host ops.
StringAttr deviceOf(Operation *op) {
  bool needsHost = op->hasAttr(ir::kOfExchange);
  op->walk([&](Operation *inner) {
    auto to = dyn_cast<ir::ToDeviceOp>(inner);
    needsHost |= isa<ir::PrintOp, ir::NativeOp, ir::TryOp, ir::ReadOp, ir::RaiseOp, ir::BindSizeOp,
                     ir::CallOp, ir::CallValueOp, ir::ClosureOp>(inner) ||
                 (to && !to.getX().getType().isHost());
  });
  if (needsHost || op->getNumResults() == 0 || op->hasTrait<OpTrait::IsTerminator>())
    return {};
  bool isControl = op->getNumRegions() > 0;
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<ir::TensorType>(type);
    if (!tensor || tensor.isHost())
      return {};
  }
  if (!isControl && (isa<ir::UndefOp>(op) || isa<ir::GetOp, ir::AtOp>(op)))
    return {};
  Devices devices;
  devicesOf(op, devices);
  return devices.size() == 1 ? devices[0] : StringAttr();
}

class Segmenter {
public:
  Segmenter(ir::FuncOp function, SymbolTable &symbols) : function(function), symbols(symbols) {
    function.walk([&](Operation *op) { announces |= ir::exchanges(op); });
  }

  void run(Block &block) {
    llvm::DenseMap<Operation *, unsigned> level;
    llvm::DenseMap<Operation *, StringAttr> device;
    unsigned last = 0;
    SmallVector<Operation *> ops;
    Bindings bindings;
    if (!findBindings(block, bindings))
      return;
    for (Operation &op : block.without_terminator()) {
      ops.push_back(&op);
      device[&op] = deviceOf(&op);
      if (!device[&op])
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            run(inner);
    }
    for (Operation *op : ops) {
      unsigned &own = level[op];
      SetVector<Value> used(op->operand_begin(), op->operand_end());
      getUsedValuesDefinedAbove(op->getRegions(), used);
      for (Value value : used) {
        Operation *from = value.getDefiningOp();
        if (!from || from->getBlock() != &block)
          continue;
        bool leaves = device[from] && device[from] != device[op];
        own = std::max(own, level[from] + leaves);
      }
      for (Operation *binding : bindings.lookup(op))
        own = std::max(own, level[binding]);
      last = std::max(last, own);
    }
    sinkSources(ops, device, level);
    for (unsigned at = 0; at <= last; ++at) {
      llvm::MapVector<StringAttr, SmallVector<Operation *>> segments;
      for (Operation *op : ops) {
        if (level[op] != at)
          continue;
        if (device[op])
          segments[device[op]].push_back(op);
        else
          op->moveBefore(block.getTerminator());
      }
      for (auto &[where, members] : segments)
        outline(members);
    }
  }

private:
  ir::FuncOp function;
  SymbolTable &symbols;
  bool announces = false;

  using Bindings = llvm::DenseMap<Operation *, SmallVector<Operation *, 1>>;

  /// The bindings of sizes that each op of the block depends on. Fails if a name is used before it
  /// is bound, or bound twice: then a type depends on its position, and nothing can be moved.
  static bool findBindings(Block &block, Bindings &out) {
    if (block.getOps<ir::BindSizeOp>().empty())
      return true;
    llvm::DenseMap<StringAttr, Operation *> bound;
    llvm::DenseSet<StringAttr> used;
    for (Operation &op : block) {
      SmallVector<StringAttr> names;
      sizeNamesIn(&op, names);
      for (StringAttr name : names) {
        used.insert(name);
        if (Operation *binding = bound.lookup(name);
            binding && !llvm::is_contained(out[&op], binding))
          out[&op].push_back(binding);
      }
      auto bind = dyn_cast<ir::BindSizeOp>(op);
      if (!bind)
        continue;
      if (used.contains(bind.getNameAttr()) || !bound.insert({bind.getNameAttr(), bind}).second)
        return false;
    }
    return true;
  }

  /// Ops that depend on no other segment run in the first segment that uses them, not in their own.
  static void sinkSources(ArrayRef<Operation *> ops,
                          const llvm::DenseMap<Operation *, StringAttr> &device,
                          llvm::DenseMap<Operation *, unsigned> &level) {
    for (Operation *op : llvm::reverse(ops)) {
      if (!device.lookup(op) || level[op] != 0)
        continue;
      std::optional<unsigned> first;
      for (Operation *user : op->getUsers()) {
        Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
        bool same = here && device.lookup(here) == device.lookup(op);
        unsigned limit = !same || !level.count(here) ? 0 : level[here];
        first = std::min(first.value_or(limit), limit);
      }
      level[op] = first.value_or(0);
    }
  }

  /// Scalars known at compile time are cloned into the graph, because its loops depend on them.
  static bool isKnownNumber(Operation *op) {
    return op && isa<ir::ConstantOp, ir::SizeOp, ir::LengthOp>(op) &&
           cast<ir::TensorType>(op->getResult(0).getType()).isHost();
  }

  void outline(ArrayRef<Operation *> given) {
    SmallVector<Operation *> members;
    auto add = [&](auto &self, Operation *op) -> void {
      SetVector<Value> used(op->operand_begin(), op->operand_end());
      getUsedValuesDefinedAbove(op->getRegions(), used);
      for (Value value : used)
        if (Operation *number = value.getDefiningOp();
            isKnownNumber(number) && !llvm::is_contained(members, number))
          self(self, number);
      members.push_back(op);
    };
    for (Operation *op : given)
      add(add, op);
    llvm::SmallPtrSet<Operation *, 16> inside(members.begin(), members.end());
    SetVector<Value> inputs;
    SmallVector<Value> outputs;
    for (Operation *op : members) {
      SetVector<Value> used(op->operand_begin(), op->operand_end());
      getUsedValuesDefinedAbove(op->getRegions(), used);
      for (Value value : used)
        if (!value.getDefiningOp() || !inside.contains(value.getDefiningOp()))
          inputs.insert(value);
      if (isKnownNumber(op))
        continue; // also stays outside
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
              return !here || !inside.contains(here);
            }))
          outputs.push_back(result);
    }
    Block &block = *given.front()->getBlock();
    OpBuilder b(block.getTerminator());
    Location loc = given.back()->getLoc();
    SmallVector<StringAttr> names;
    for (Operation *op : members)
      sizeNamesIn(op, names);
    SmallVector<Attribute> sizes, values;
    ir::SizeTable &table = b.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
    auto named = [&](StringAttr name) {
      std::lock_guard guard(table.lock);
      return ir::SizeAttr::get(b.getContext(), table.named(name.getValue()));
    };
    for (StringAttr name : llvm::SetVector<StringAttr>(names.begin(), names.end())) {
      sizes.push_back(name);
      values.push_back(named(name));
    }
    auto call = ir::CallOp::create(b, loc, ValueRange(outputs).getTypes(),
                                   make(members, inputs.getArrayRef(), outputs, sizes, loc),
                                   inputs.getArrayRef(), b.getArrayAttr(values));
    for (auto [old, now] : llvm::zip_equal(outputs, call.getOuts()))
      old.replaceUsesWithIf(now, [&](OpOperand &use) {
        Operation *here = block.findAncestorOpInBlock(*use.getOwner());
        return !here || !inside.contains(here);
      });
    for (Operation *op : llvm::reverse(given))
      op->erase();
  }

  StringAttr make(ArrayRef<Operation *> members, ArrayRef<Value> inputs, ArrayRef<Value> outputs,
                  ArrayRef<Attribute> sizes, Location loc) {
    OpBuilder b(function);
    OperationState state(loc, ir::GraphOp::getOperationName());
    state.addAttribute("sym_name", b.getStringAttr(function.getSymName() + ".segment"));
    state.addAttribute("function_type",
                       TypeAttr::get(b.getFunctionType(ValueRange(inputs).getTypes(),
                                                       ValueRange(outputs).getTypes())));
    state.addAttribute("sizes", b.getArrayAttr(sizes));
    if (Attribute limit = function->getAttr(ir::kMaxBytes)) // applies to each of them
      state.addAttribute(ir::kMaxBytes, limit);
    if (announces)
      state.addAttribute(ir::kAnnounces, b.getUnitAttr());
    auto *body = new Block;
    state.addRegion()->push_back(body);
    auto graph = cast<ir::GraphOp>(Operation::create(state));
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    b.setInsertionPointToEnd(body);
    for (Operation *op : members)
      b.clone(*op, mapping);
    SmallVector<Value> results;
    for (Value output : outputs)
      results.push_back(mapping.lookup(output));
    ir::ReturnOp::create(b, loc, results);
    return symbols.insert(graph, std::next(function->getIterator()));
  }
};

struct Segment : impl::SegmentBase<Segment> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    bool factors = offersFactors(getOperation());
    for (auto graph : llvm::make_early_inc_range(getOperation().getOps<ir::GraphOp>())) {
      if (graph.isExternal() || !needsSegments(graph, symbols))
        continue;
      ir::FuncOp function = asFunction(graph, symbols);
      if (failed(inlineCalls(function, symbols, limit)))
        return signalPassFailure();
      chooseForms(function, factors);
      Segmenter(function, symbols).run(function.getFunctionBody().front());
    }
  }

private:
  static bool needsSegments(ir::GraphOp graph, SymbolTable &symbols) {
    Devices devices;
    bool ofHost = false;
    AttrTypeWalker handles;
    handles.addWalk([&](ir::HandleType) { ofHost = true; });
    for (Type type : graph.getArgumentTypes())
      handles.walk(type);
    llvm::SetVector<Operation *> reached;
    reached.insert(graph);
    for (size_t i = 0; i < reached.size(); ++i) {
      devicesOf(reached[i], devices);
      reached[i]->walk([&](Operation *op) { ofHost |= ir::exchanges(op); });
      for (Type type : cast<FunctionOpInterface>(reached[i]).getArgumentTypes())
        if (auto tensor = dyn_cast<ir::TensorType>(type); tensor && !tensor.isHost())
          devices.insert(tensor.getDevice());
      if (auto uses = SymbolTable::getSymbolUses(reached[i]))
        for (SymbolTable::SymbolUse use : *uses)
          if (Operation *named = symbols.lookup(use.getSymbolRef().getLeafReference()))
            reached.insert(named);
    }
    return ofHost || devices.size() > 1;
  }

  static ir::FuncOp asFunction(ir::GraphOp graph, SymbolTable &symbols) {
    OperationState state(graph.getLoc(), ir::FuncOp::getOperationName());
    state.addAttributes(graph->getAttrs());
    state.attributes.erase(ir::kEager);
    state.attributes.erase(ir::kDyn);
    state.addRegion()->takeBody(graph.getFunctionBody());
    OpBuilder b(graph);
    symbols.remove(graph);
    auto function = cast<ir::FuncOp>(b.create(state));
    graph.erase();
    symbols.insert(function);
    return function;
  }
};

} // namespace
} // namespace mx::graph
