// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FlattenAggregates: scalar replacement of aggregates. After this pass graphs hold only tensors.
#include "Graph/Passes.h"
#include "Graph/Sizes.h"
#include "Graph/UnrollArrayLoops.h"
#include "dialects/mx/Marks.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_FLATTENAGGREGATES
#include "Graph/Passes.h.inc"

namespace {

bool isStructured(Type type) { return isa<ir::AggregateType, ir::ArrayType>(type); }
bool isStructured(Value value) { return isStructured(value.getType()); }

/// The parts of one level: elements of an array, parts of an aggregate. Nothing if the number of
/// elements is not known.
std::optional<SmallVector<Type>> partsOf(Type type) {
  if (auto aggregate = dyn_cast<ir::AggregateType>(type))
    return SmallVector<Type>(aggregate.getParts());
  auto array = cast<ir::ArrayType>(type);
  std::optional<int64_t> count = array.getCount().constant();
  if (!count || *count < 0)
    return std::nullopt;
  return SmallVector<Type>(*count, array.getElement());
}

class Flattener {
public:
  Flattener(ir::GraphOp graph, int64_t limit) : graph(graph), limit(limit) {}

  LogicalResult run() {
    Block &body = graph.getBody().front();
    SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
    for (unsigned i = 0; i < graph.getNumArguments(); ++i)
      if (failed(leafAttributes(graph.getArgumentTypes()[i], graph.getArgAttrDict(i),
                                argumentAttributes)))
        return failure();
    for (unsigned i = 0; i < graph.getNumResults(); ++i)
      if (failed(leafAttributes(graph.getResultTypes()[i], graph.getResultAttrDict(i),
                                resultAttributes)))
        return failure();
    if (failed(flattenArguments(body)) || failed(flatten(body)))
      return failure();
    for (Operation *op : llvm::reverse(dead))
      op->erase();
    for (BlockArgument argument : llvm::reverse(deadArguments))
      argument.getOwner()->eraseArgument(argument.getArgNumber());

    graph.setFunctionType(FunctionType::get(graph.getContext(), body.getArgumentTypes(),
                                            body.getTerminator()->getOperandTypes()));
    graph.removeArgAttrsAttr();
    graph.removeResAttrsAttr();
    graph.setAllArgAttrs(argumentAttributes);
    graph.setAllResultAttrs(resultAttributes);
    return success();
  }

private:
  ir::GraphOp graph;
  int64_t limit;
  /// The leaves of each structured value visited so far.
  DenseMap<Value, SmallVector<Value>> leaves;
  DenseMap<Type, size_t> counts;
  // Erased at the end: until then they are the keys of `leaves`.
  SmallVector<Operation *> dead;
  SmallVector<BlockArgument> deadArguments;

  // ------------------------------------------------------------------------------ types and names

  /// Leaves are counted before any list of them is built, so that a nested array type of a few
  /// characters cannot exhaust memory.
  FailureOr<size_t> countLeaves(Type type) {
    if (!isStructured(type))
      return 1;
    if (auto found = counts.find(type); found != counts.end())
      return found->second;
    size_t sum = 0;
    if (auto array = dyn_cast<ir::ArrayType>(type)) {
      std::optional<int64_t> count = array.getCount().constant();
      if (!count || *count < 0)
        return graph.emitError() << "the number of elements of " << type << " is not a constant";
      FailureOr<size_t> each = countLeaves(array.getElement());
      if (failed(each))
        return failure();
      if (*each && static_cast<size_t>(*count) > limit / *each)
        return graph.emitError() << "a value in this graph has more than " << limit << " parts";
      sum = *each * *count;
    } else {
      for (Type part : cast<ir::AggregateType>(type).getParts()) {
        FailureOr<size_t> count = countLeaves(part);
        if (failed(count))
          return failure();
        sum += *count;
      }
    }
    if (sum > static_cast<size_t>(limit))
      return graph.emitError() << "a value in this graph has more than " << limit << " parts";
    counts[type] = sum;
    return sum;
  }
  LogicalResult leafTypes(TypeRange types, SmallVectorImpl<Type> &out) {
    for (Type type : types) {
      if (!isStructured(type)) {
        out.push_back(type);
        continue;
      }
      if (failed(countLeaves(type)) || failed(leafTypes(*partsOf(type), out)))
        return failure();
    }
    return success();
  }
  LogicalResult leafAttributes(Type type, DictionaryAttr given,
                               SmallVectorImpl<DictionaryAttr> &out) {
    if (failed(countLeaves(type)))
      return failure();
    if (!given)
      given = DictionaryAttr::get(graph.getContext());
    auto name = dyn_cast_or_null<StringAttr>(given.get(ir::kName));
    auto visit = [&](auto &self, Type at, const std::string &path) -> void {
      if (!isStructured(at)) {
        NamedAttrList attributes(given);
        if (name)
          attributes.set(ir::kName, StringAttr::get(graph.getContext(), path));
        out.push_back(attributes.getDictionary(graph.getContext()));
        return;
      }
      auto aggregate = dyn_cast<ir::AggregateType>(at);
      SmallVector<Type> parts = *partsOf(at);
      for (auto [i, part] : llvm::enumerate(parts)) {
        std::string word = std::to_string(i);
        if (aggregate && i < aggregate.getFields().size())
          if (auto field = dyn_cast<StringAttr>(aggregate.getFields()[i]))
            word = field.getValue().str();
        self(self, part, path + "." + word);
      }
    };
    visit(visit, type, name ? name.getValue().str() : "");
    return success();
  }

  // --------------------------------------------------------------------------------------- values

  SmallVector<Value> leavesOf(ValueRange values) {
    SmallVector<Value> out;
    for (Value value : values)
      if (isStructured(value))
        llvm::append_range(out, leaves[value]);
      else
        out.push_back(value);
    return out;
  }
  void setLeaves(Value value, ArrayRef<Value> parts) {
    if (isStructured(value))
      leaves[value] = SmallVector<Value>(parts);
    else
      value.replaceAllUsesWith(parts.front());
  }
  /// Assigns each of `values` its range of `parts`.
  void distribute(ValueRange values, ArrayRef<Value> parts) {
    for (Value value : values) {
      size_t count = *countLeaves(value.getType());
      setLeaves(value, parts.take_front(count));
      parts = parts.drop_front(count);
    }
  }
  LogicalResult flattenArguments(Block &block) {
    for (unsigned i = 0; i < block.getNumArguments(); ++i) {
      BlockArgument argument = block.getArgument(i);
      SmallVector<Type> types;
      if (!isStructured(argument))
        continue;
      if (failed(leafTypes(argument.getType(), types)))
        return failure();
      SmallVector<Value> parts;
      for (Type type : types)
        parts.push_back(block.insertArgument(++i, type, argument.getLoc()));
      leaves[argument] = parts;
      deadArguments.push_back(argument);
    }
    return success();
  }
  /// The offset and count of one part's leaves among the leaves of `type`.
  std::pair<size_t, size_t> range(Type type, size_t part) {
    SmallVector<Type> parts = *partsOf(type);
    size_t begin = 0;
    for (Type before : ArrayRef(parts).take_front(part))
      begin += *countLeaves(before);
    return {begin, *countLeaves(parts[part])};
  }
  void takePart(Value whole, size_t part, Value result) {
    auto [begin, count] = range(whole.getType(), part);
    setLeaves(result, ArrayRef(leaves[whole]).slice(begin, count));
  }
  void replacePart(Value whole, size_t part, Value value, Value result) {
    auto [begin, count] = range(whole.getType(), part);
    SmallVector<Value> parts = leaves[whole];
    llvm::copy(leavesOf(value), parts.begin() + begin);
    setLeaves(result, parts);
  }
  /// Negative indices count from the end.
  FailureOr<size_t> element(Operation *op, Value array, Value index) {
    int64_t count = *cast<ir::ArrayType>(array.getType()).getCount().constant();
    int64_t i = *constantInt(index);
    if (i < -count || i >= count)
      return op->emitError() << "index " << i << " is out of range for an array of " << count
                             << " elements";
    return i < 0 ? i + count : i;
  }
  /// Rebuilds the value from its leaves, for ops that only print it.
  Value remake(OpBuilder &b, Location loc, Type type, ArrayRef<Value> &rest) {
    if (!isStructured(type)) {
      Value leaf = rest.front();
      rest = rest.drop_front();
      return leaf;
    }
    SmallVector<Value> parts;
    SmallVector<Type> types = *partsOf(type);
    for (Type part : types)
      parts.push_back(remake(b, loc, part, rest));
    return ir::MakeOp::create(b, loc, type, parts);
  }

  // ------------------------------------------------------------------------------------------ ops

  LogicalResult flatten(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(flatten(&op)))
        return failure();
    return success();
  }
  LogicalResult flatten(Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(countLeaves(type)))
        return failure();
    if (auto make = dyn_cast<ir::MakeOp>(op)) {
      setLeaves(make, leavesOf(make.getParts()));
    } else if (auto get = dyn_cast<ir::GetOp>(op)) {
      takePart(get.getAggregate(), get.getPart(), get);
    } else if (auto set = dyn_cast<ir::SetOp>(op)) {
      replacePart(set.getAggregate(), set.getPart(), set.getValue(), set);
    } else if (auto at = dyn_cast<ir::AtOp>(op)) {
      FailureOr<size_t> i = element(op, at.getArray(), at.getIndex());
      if (failed(i))
        return failure();
      takePart(at.getArray(), *i, at);
    } else if (auto set = dyn_cast<ir::SetAtOp>(op)) {
      FailureOr<size_t> i = element(op, set.getArray(), set.getIndex());
      if (failed(i))
        return failure();
      replacePart(set.getArray(), *i, set.getValue(), set);
    } else if (isa<ir::UndefOp>(op) && isStructured(op->getResult(0))) {
      SmallVector<Type> types;
      if (failed(leafTypes(op->getResultTypes(), types)))
        return failure();
      OpBuilder b(op);
      SmallVector<Value> parts;
      for (Type type : types)
        parts.push_back(ir::UndefOp::create(b, op->getLoc(), type));
      setLeaves(op->getResult(0), parts);
    } else if (isa<ir::IfOp, ir::ForOp, ir::WhileOp>(op)) {
      return flattenRegions(op);
    } else if (isa<ir::YieldOp, ir::ReturnOp>(op)) {
      op->setOperands(leavesOf(op->getOperands()));
      return success();
    } else if (isa<ir::PrintOp, ir::FormatOp>(op)) {
      OpBuilder b(op);
      for (OpOperand &operand : op->getOpOperands())
        if (isStructured(operand.get())) {
          ArrayRef<Value> rest = leaves[operand.get()];
          operand.set(remake(b, op->getLoc(), operand.get().getType(), rest));
        }
      return success();
    } else if (isa<ir::CallOp, ir::CallValueOp>(op)) {
      return op->emitError() << "calls have to be inlined before aggregates are flattened";
    } else if (llvm::any_of(op->getOperands(), [](Value v) { return isStructured(v); }) ||
               llvm::any_of(op->getResults(), [](Value v) { return isStructured(v); })) {
      return op->emitError() << "a graph cannot do this with an aggregate";
    } else {
      return success();
    }
    dead.push_back(op);
    return success();
  }
  /// Rebuilds the op with leaves as operands, block arguments and results.
  LogicalResult flattenRegions(Operation *op) {
    auto flattenBlocks = [&](Operation *of) {
      for (Region &region : of->getRegions())
        if (failed(flattenArguments(region.front())) || failed(flatten(region.front())))
          return failure();
      return success();
    };
    auto structured = [](Value v) { return isStructured(v); };
    if (llvm::none_of(op->getOperands(), structured) && llvm::none_of(op->getResults(), structured))
      return flattenBlocks(op);
    OperationState state(op->getLoc(), op->getName());
    SmallVector<Type> types;
    if (failed(leafTypes(op->getResultTypes(), types)))
      return failure();
    state.addTypes(types);
    for (size_t i = 0; i < op->getNumRegions(); ++i)
      state.addRegion();
    state.addOperands(leavesOf(op->getOperands()));
    state.addAttributes(op->getAttrs());
    if (auto loop = dyn_cast<ir::WhileOp>(op)) {
      int32_t carried = leavesOf(loop.getCarried()).size(), limits = loop.getLimit() ? 1 : 0;
      NamedAttrList attributes(op->getAttrs());
      attributes.set(loop.getOperandSegmentSizesAttrName(),
                     DenseI32ArrayAttr::get(op->getContext(), {carried, limits}));
      state.attributes = attributes;
    }
    OpBuilder b(op);
    Operation *flat = b.create(state);
    for (auto [to, from] : llvm::zip_equal(flat->getRegions(), op->getRegions()))
      to.takeBody(from);
    if (failed(flattenBlocks(flat)))
      return failure();
    distribute(op->getResults(), SmallVector<Value>(flat->getResults()));
    dead.push_back(op);
    return success();
  }
};

struct FlattenAggregates : impl::FlattenAggregatesBase<FlattenAggregates> {
  using Base::Base;

  void runOnOperation() override {
    ir::GraphOp graph = getOperation();
    if (graph.isExternal())
      return;
    if (failed(unrollArrayLoops(graph, limit)) || failed(Flattener(graph, limit).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace mx::graph
