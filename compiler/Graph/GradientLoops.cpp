// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: rules of `mx.for` and `mx.while`. The reverse pass goes through the turns
// from the last to the first; each runs again and then its adjoint. What the loop carried into each
// turn is kept by the first run in stacks, one for each value that the adjoint needs.
#include "Graph/Adjoints.h"

using namespace mlir;

namespace mx::graph {

/// Marks what stands for a leaf of a carried value, with its number.
static constexpr char kLeaf[] = "mx.leaf";
/// With more parts than this the whole is kept instead.
static constexpr size_t kMostParts = 4;

/// Stands for what was carried into a turn: a value made of leaves that are filled in later, if
/// anything needs them.
Value Reverse::placeholder(Type type, int64_t &next) {
  SmallVector<Value> parts;
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    for (Type part : aggregate.getParts())
      parts.push_back(placeholder(part, next));
    return make<ir::MakeOp>(type, parts);
  }
  if (auto array = dyn_cast<ir::ArrayType>(type); array && array.getCount().constant()) {
    for (int64_t i = 0; i < *array.getCount().constant(); ++i)
      parts.push_back(placeholder(array.getElement(), next));
    return make<ir::MakeOp>(type, parts);
  }
  auto leaf = ir::UndefOp::create(b, type);
  leaf->setAttr(kLeaf, b.getI64IntegerAttr(next++));
  return leaf;
}

/// The leaves of a carried value, in the order of their numbers.
static void leavesOf(Type type, unsigned carried, SmallVector<int64_t> path,
                     SmallVectorImpl<Reverse::Leaf> &out) {
  auto deeper = [&](int64_t i, Type part) {
    SmallVector<int64_t> longer(path);
    longer.push_back(i);
    leavesOf(part, carried, longer, out);
  };
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    for (auto [i, part] : llvm::enumerate(aggregate.getParts()))
      deeper(static_cast<int64_t>(i), part);
  } else if (auto array = dyn_cast<ir::ArrayType>(type); array && array.getCount().constant()) {
    for (int64_t i = 0; i < *array.getCount().constant(); ++i)
      deeper(i, array.getElement());
  } else {
    out.push_back({carried, path});
  }
}

/// The turn of the first run that a turn of `back` undoes.
Value Reverse::turnOf(ir::ForOp back) {
  Value turn = back.getBody().front().getArgument(0), from = back.getFrom();
  Value one = make<ir::ConstantOp>(typeOf(from), b.getIntegerAttr(typeOf(from).getElement(), 1));
  if (wrongRule() == "order")
    return turn;
  Value done = constantInt(from) == 0 ? turn : elementwise("sub", {turn, from});
  return elementwise("sub", {elementwise("sub", {back.getTo(), one}), done});
}

/// The adjoint after a loop: wherever its turns hand on what they are `given`, the one from before,
/// which may be nothing. `left` is what a turn leaves.
static Adjoint afterTurns(const Adjoint &before, const Adjoint &given, const Adjoint &left,
                          const Adjoint &after) {
  if (given.value && given.value == left.value)
    return before;
  if (given.parts.empty() || left.parts.size() != given.parts.size())
    return after;
  Adjoint out;
  for (size_t i = 0; i < given.parts.size(); ++i)
    out.parts.push_back(afterTurns(i < before.parts.size() ? before.parts[i] : Adjoint(),
                                   given.parts[i], left.parts[i], after.parts[i]));
  return out;
}

LogicalResult Reverse::reverseLoop(Operation *op) {
  auto loop = dyn_cast<ir::ForOp>(op);
  auto until = dyn_cast<ir::WhileOp>(op);
  Block &body = loop ? loop.getBody().front() : until.getBody().front();
  unsigned first = loop ? 1 : 0;
  SmallVector<Value> carried(loop ? loop.getCarried() : until.getCarried());
  SmallVector<Value> captured;
  for (Value value : capturedBy(op))
    captured.push_back(value);
  Location loc = op->getLoc();
  Type i64 = ir::TensorType::host(b.getI64Type());

  SmallVector<unsigned> slots; // carried values with adjoints
  SmallVector<Value> initial;
  for (auto [i, value] : llvm::enumerate(carried))
    if (isActive(body.getArgument(first + static_cast<unsigned>(i)))) {
      slots.push_back(static_cast<unsigned>(i));
      initial.push_back(
          whole(adjoints.lookup(op->getResult(static_cast<unsigned>(i))), value.getType()));
    }
  SmallVector<Adjoint> before, given, left; // of what is captured
  for (Value value : captured) {
    before.push_back(adjoints.lookup(value));
    initial.push_back(whole(before.back(), value.getType()));
  }
  if (failedAt)
    return op->emitError() << "the length of an array must be known for a gradient";
  Value zero = loop ? Value() : wholeNumber(0);
  // The number of turns is known before a `for`; a `while` will count them.
  Operation *pending = nullptr;
  Value from = loop ? loop.getFrom() : zero;
  Value to = loop ? loop.getTo() : Value();
  if (!loop) {
    pending = ir::UndefOp::create(b, i64);
    to = pending->getResult(0);
  }
  SmallVector<Type> types(ValueRange(initial).getTypes());
  auto back = ir::ForOp::create(b, types, from, to, initial);
  int64_t next = 0;
  SmallVector<Leaf> paths;
  Originals originals; // of the ops that run again
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&back.getBody());
    block->addArgument(from.getType(), loc);
    for (Type type : types)
      block->addArgument(type, loc);
    IRMapping mapping;
    if (loop)
      mapping.map(body.getArgument(0), turnOf(back));
    for (auto [i, value] : llvm::enumerate(carried)) {
      Value argument = body.getArgument(first + static_cast<unsigned>(i));
      Value saved = placeholder(argument.getType(), next);
      leavesOf(argument.getType(), static_cast<unsigned>(i), {}, paths);
      mapping.map(argument, saved);
      if (isActive(argument))
        markActive(saved);
    }
    SmallVector<Operation *> copies;
    if (failed(repeat(body, mapping, copies)))
      return failure();
    for (Operation &original : body.without_terminator())
      if (original.getNumResults() == 1)
        if (Value copy = mapping.lookupOrNull(original.getResult(0)))
          if (Operation *made = copy.getDefiningOp())
            originals[made] = &original;
    for (auto [k, value] : llvm::enumerate(captured)) {
      given.push_back(
          apart(block->getArgument(1 + static_cast<unsigned>(slots.size() + k)), value.getType()));
      adjoints[value] = given.back();
    }
    for (auto [k, slot] : llvm::enumerate(slots)) {
      Value yielded = body.getTerminator()->getOperand(slot);
      contribute(mapping.lookupOrDefault(yielded),
                 apart(block->getArgument(1 + static_cast<unsigned>(k)), yielded.getType()));
    }
    if (failed(reverse(copies)))
      return failure();
    b.setLoc(loc);
    SmallVector<Value> yielded;
    for (unsigned slot : slots) {
      Value argument = body.getArgument(first + slot);
      yielded.push_back(whole(adjoints.lookup(mapping.lookup(argument)), argument.getType()));
    }
    for (Value value : captured) {
      left.push_back(adjoints.lookup(value));
      yielded.push_back(whole(left.back(), value.getType()));
    }
    ir::YieldOp::create(b, yielded);
    if (failedAt)
      return op->emitError() << "the length of an array must be known for a gradient";
    // Parts of placeholders are the leaves themselves.
    back.walk([&](ir::GetOp get) {
      if (auto made = get.getAggregate().getDefiningOp<ir::MakeOp>()) {
        get.replaceAllUsesWith(made.getParts()[get.getPart()]);
        erase(get);
      }
    });
    dropUnused(*block);
  }

  for (auto [k, value] : llvm::enumerate(captured))
    adjoints[value] = afterTurns(
        before[k], given[k], left[k],
        apart(back.getResult(static_cast<unsigned>(slots.size() + k)), value.getType()));
  for (auto [k, slot] : llvm::enumerate(slots))
    contribute(carried[slot],
               apart(back.getResult(static_cast<unsigned>(k)), carried[slot].getType()));
  return keepStates(op, back, pending, paths, originals);
}

/// The bound on the turns as a size: of a stack.
FailureOr<ir::SizeAttr> Reverse::turnsOf(Operation *op) {
  auto loop = dyn_cast<ir::ForOp>(op);
  Value from = loop ? loop.getFrom() : Value();
  Value to = loop ? loop.getTo() : cast<ir::WhileOp>(op).getLimit();
  if (auto most = op->getAttrOfType<IntegerAttr>(ir::kTurns))
    return sizeOf(most.getInt());
  if (!to)
    return op->emitError() << "`grad` needs a bound on this loop: its states are kept";
  std::optional<int64_t> begin = from ? constantInt(from) : 0, end = constantInt(to);
  if (begin && end)
    return sizeOf(std::max<int64_t>(*end > *begin ? *end - *begin : 0, 0));
  if (auto size = to.getDefiningOp<ir::SizeOp>(); size && begin == 0)
    return size.getSize();
  if (!ir::isHostInt(to.getType()))
    return op->emitError() << "`grad` needs to know the bound of this loop before it starts";
  Value count = begin == 0 ? to : elementwise("sub", {to, from});
  count = elementwise("maximum", {count, wholeNumber(0)});
  // A name that nothing else has.
  llvm::DenseSet<StringAttr> used;
  for (Attribute name : sizesOf(function))
    used.insert(cast<StringAttr>(name));
  function->walk([&](ir::BindSizeOp bind) { used.insert(bind.getNameAttr()); });
  std::string name = "turns";
  for (int i = 1; used.contains(b.getStringAttr(name)); ++i)
    name = "turns$" + std::to_string(i);
  ir::BindSizeOp::create(b, count, b.getStringAttr(name));
  ir::SizeTable &table = b.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  return ir::SizeAttr::get(b.getContext(), table.named(name));
}

/// If a leaf is only looked at in parts, each the copy of an op of the first run: these parts. To
/// keep them is less than to keep a whole tensor for each turn.
SmallVector<Operation *> Reverse::partsOnly(ir::UndefOp leaf, const Originals &originals) {
  SmallVector<Operation *> parts;
  for (Operation *user : leaf->getUsers()) {
    bool isPart = isa<ir::SliceOp, ir::TakeOp>(user) && originals.contains(user) &&
                  user->getOperand(0) == leaf.getResult() &&
                  llvm::count(user->getOperands(), leaf.getResult()) == 1;
    if (!isPart || parts.size() == kMostParts)
      return {};
    parts.push_back(user);
  }
  return parts;
}

/// Makes the first run keep the leaves that `back` needs, and count its turns if `pending` waits
/// for their number.
LogicalResult Reverse::keepStates(Operation *op, ir::ForOp back, Operation *pending,
                                  ArrayRef<Leaf> paths, const Originals &originals) {
  // Each is a value of a turn, and what stands for it in `back`.
  SmallVector<Kept> needed;
  for (auto leaf : llvm::make_early_inc_range(back.getBody().front().getOps<ir::UndefOp>())) {
    if (!leaf->hasAttr(kLeaf))
      continue;
    SmallVector<Operation *> parts = partsOnly(leaf, originals);
    for (Operation *part : parts)
      needed.push_back({part->getResult(0), nullptr, originals.lookup(part)->getResult(0)});
    if (parts.empty())
      needed.push_back(
          {leaf.getResult(),
           &paths[static_cast<size_t>(leaf->getAttrOfType<IntegerAttr>(kLeaf).getInt())],
           {}});
  }
  if (needed.empty() && !pending)
    return success();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  b.setLoc(op->getLoc());
  auto loop = dyn_cast<ir::ForOp>(op);
  SmallVector<Value> carried(loop ? loop.getCarried() : cast<ir::WhileOp>(op).getCarried());
  size_t own = carried.size();
  if (pending)
    carried.push_back(wholeNumber(0));
  ir::SizeAttr turns;
  if (!needed.empty()) {
    FailureOr<ir::SizeAttr> bound = turnsOf(op);
    if (failed(bound))
      return failure();
    turns = *bound;
  }
  SmallVector<ir::TensorType> stacks;
  for (const Kept &value : needed) {
    auto type = dyn_cast<ir::TensorType>(value.back.getType());
    if (!type)
      return op->emitError() << "the gradient of this loop would have to keep a "
                             << value.back.getType();
    SmallVector<ir::SizeAttr> sizes{turns};
    llvm::append_range(sizes, type.getSizes());
    stacks.push_back((type.isHost() ? type.onDevice("") : type).withSizes(sizes));
    Value stack = zeros(stacks.back());
    stack.getDefiningOp()->setAttr(ir::kScratch, b.getUnitAttr());
    carried.push_back(stack);
  }
  SmallVector<Type> types(ValueRange(carried).getTypes());
  Operation *kept;
  if (loop)
    kept = ir::ForOp::create(b, types, loop.getFrom(), loop.getTo(), carried);
  else
    kept = ir::WhileOp::create(b, types, carried, cast<ir::WhileOp>(op).getLimit());
  for (auto [to, from] : llvm::zip_equal(kept->getRegions(), op->getRegions())) {
    to.takeBody(from);
    for (Type type : ArrayRef(types).drop_front(own))
      to.front().addArgument(type, op->getLoc());
  }
  Block &body = kept->getRegions().back().front();
  unsigned first = loop ? 1 : 0;
  Operation *yield = body.getTerminator();
  SmallVector<Value> next(yield->getOperands());
  b.setInsertionPointToStart(&body);
  Value turn;
  unsigned argument = first + static_cast<unsigned>(own);
  if (pending) {
    turn = body.getArgument(argument++);
    next.push_back(elementwise("add", {turn, wholeNumber(1)}));
  } else {
    turn = body.getArgument(0);
    if (constantInt(loop.getFrom()) != 0)
      turn = elementwise("sub", {turn, loop.getFrom()});
  }
  auto spec = [&](ir::TensorType stack) {
    SmallVector<StringRef> entries(stack.rank(), ":");
    entries[0] = "i";
    return b.getStrArrayAttr(entries);
  };
  for (auto [entry, stack] : llvm::zip_equal(needed, stacks)) {
    Value value = entry.first;
    if (value)
      b.setInsertionPointAfterValue(value);
    else
      value = body.getArgument(first + entry.leaf->carried);
    for (int64_t part : entry.leaf ? ArrayRef<int64_t>(entry.leaf->path) : ArrayRef<int64_t>()) {
      if (auto aggregate = dyn_cast<ir::AggregateType>(value.getType()))
        value = make<ir::GetOp>(aggregate.getParts()[static_cast<size_t>(part)], value,
                                b.getI64IntegerAttr(part));
      else
        value = make<ir::AtOp>(cast<ir::ArrayType>(value.getType()).getElement(), value,
                               wholeNumber(part));
    }
    next.push_back(make<ir::UpdateOp>(stack, body.getArgument(argument++), onDevice(value),
                                      ValueRange{turn}, spec(stack)));
  }
  yield->setOperands(next);
  op->replaceAllUsesWith(kept->getResults().take_front(own));
  unsigned result = static_cast<unsigned>(own);
  if (pending) {
    pending->replaceAllUsesWith(ValueRange{kept->getResult(result++)});
    erase(pending);
  }
  b.setInsertionPointToStart(&back.getBody().front());
  Value place = turnOf(back);
  if (constantInt(back.getFrom()) != 0)
    place = elementwise("sub", {place, back.getFrom()});
  SmallVector<Operation *> parts;
  llvm::SetVector<Operation *> leaves;
  for (auto [entry, stack] : llvm::zip_equal(needed, stacks)) {
    auto type = cast<ir::TensorType>(entry.back.getType());
    ir::TensorType device = type.isHost() ? type.onDevice("") : type;
    Value value =
        make<ir::SliceOp>(device, kept->getResult(result++), ValueRange{place}, spec(stack));
    if (type.isHost())
      value = make<ir::ReadOp>(type, value);
    entry.back.replaceAllUsesWith(value);
    Operation *stood = entry.back.getDefiningOp();
    if (entry.leaf) {
      leaves.insert(stood);
    } else {
      parts.push_back(stood);
      leaves.insert(stood->getOperand(0).getDefiningOp());
    }
  }
  // Only now: the builder stood before one of them.
  b.setInsertionPointAfter(back);
  for (Operation *part : parts)
    erase(part);
  for (Operation *leaf : leaves)
    erase(leaf);
  erase(op);
  return success();
}

} // namespace mx::graph
