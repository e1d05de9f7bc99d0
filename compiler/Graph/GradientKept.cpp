// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: which values a loop saves for the reverse pass (checkpointing). It saves
// the carried values that the adjoint needs, or the few slices of them that it reads, and results
// of matmuls and convolutions. Everything else is recomputed from these. A stack has one entry for
// each iteration.
#include "Graph/Adjoints.h"
#include "dialects/mx/Marks.h"

using namespace mlir;

namespace mx::graph {

/// A leaf read in more slices than this is saved whole.
static constexpr size_t kMaxParts = 4;
/// A matmul or convolution with fewer terms is recomputed: saving an element costs a write and a
/// read, eight bytes, and a byte is counted like eight operations (Memory/Work.cpp).
static constexpr int64_t kFewTerms = 32;

/// An upper bound on the number of iterations as a size, if it is known before execution.
std::optional<ir::SizeAttr> Reverse::boundOf(Operation *op) {
  auto loop = dyn_cast<ir::ForOp>(op);
  Value from = loop ? loop.getFrom() : Value();
  Value to = loop ? loop.getTo() : cast<ir::WhileOp>(op).getLimit();
  if (auto limit = op->getAttrOfType<IntegerAttr>(ir::kIterations))
    return sizeOf(limit.getInt());
  if (!to)
    return std::nullopt;
  std::optional<int64_t> begin = from ? constantInt(from) : 0, end = constantInt(to);
  if (begin && end)
    return sizeOf(std::max<int64_t>(*end > *begin ? *end - *begin : 0, 0));
  if (auto size = to.getDefiningOp<ir::SizeOp>(); size && begin == 0)
    return size.getSize();
  return std::nullopt;
}

/// The bound on the number of iterations as a size: the length of a stack.
FailureOr<ir::SizeAttr> Reverse::iterationsOf(Operation *op) {
  if (std::optional<ir::SizeAttr> known = boundOf(op))
    return *known;
  auto loop = dyn_cast<ir::ForOp>(op);
  Value from = loop ? loop.getFrom() : Value();
  Value to = loop ? loop.getTo() : cast<ir::WhileOp>(op).getLimit();
  if (!to)
    return op->emitError() << "`grad` needs a bound on this loop: its states are kept";
  if (!ir::isHostInt(to.getType()))
    return op->emitError() << "`grad` needs to know the bound of this loop before it starts";
  Value count = !from || constantInt(from) == 0 ? to : elementwise("sub", {to, from});
  count = elementwise("maximum", {count, wholeNumber(0)});
  // A fresh name.
  llvm::DenseSet<StringAttr> used;
  for (Attribute name : sizesOf(function))
    used.insert(cast<StringAttr>(name));
  function->walk([&](ir::BindSizeOp bind) { used.insert(bind.getNameAttr()); });
  std::string name = "iterations";
  for (int i = 1; used.contains(b.getStringAttr(name)); ++i)
    name = "iterations$" + std::to_string(i);
  ir::BindSizeOp::create(b, count, b.getStringAttr(name));
  ir::SizeTable &table = b.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  return ir::SizeAttr::get(b.getContext(), table.named(name));
}

/// If all uses of a leaf are slices, each the clone of an op of the forward loop: these slices.
/// Saving them takes less memory than a whole tensor for each iteration.
SmallVector<Operation *> Reverse::partsOnly(ir::UndefOp leaf, const Originals &originals) {
  SmallVector<Operation *> parts;
  for (Operation *user : leaf->getUsers()) {
    bool isPart = isa<ir::SliceOp, ir::TakeOp>(user) && originals.contains(user) &&
                  user->getOperand(0) == leaf.getResult() &&
                  // A size bound in an iteration has another name in the clone, and no stack fits
                  // it.
                  originals.lookup(user)->getResult(0).getType() == user->getResult(0).getType() &&
                  llvm::count(user->getOperands(), leaf.getResult()) == 1;
    if (!isPart || parts.size() == kMaxParts)
      return {};
    parts.push_back(user);
  }
  return parts;
}

/// Whether each element of the op's result is a sum of many terms (large reduction dimension).
static bool isLargeMatmul(Operation *op) {
  SmallVector<ir::SizeAttr> terms;
  if (auto matmul = dyn_cast<ir::MatmulOp>(op))
    terms = {cast<ir::TensorType>(matmul.getX().getType()).getSizes().back()};
  else if (auto conv = dyn_cast<ir::ConvOp>(op))
    terms.append(
        llvm::to_vector(cast<ir::TensorType>(conv.getW().getType()).getSizes().drop_front()));
  else
    return false;
  int64_t known = 1;
  for (ir::SizeAttr size : terms) {
    std::optional<int64_t> number = size.constant();
    if (!number)
      return true; // such sizes are rarely small
    known *= std::min(*number, kFewTerms);
  }
  return known >= kFewTerms;
}

/// The value to save for a matmul recomputed in `back`: the end of the chain of elementwise ops on
/// it, so that other operands of these ops are not needed either.
static Operation *endOfChain(Operation *matmul, const Reverse::Originals &originals) {
  Operation *last = matmul;
  while (last->hasOneUse()) {
    Operation *user = *last->getUsers().begin();
    bool follows = user->getBlock() == last->getBlock() && originals.contains(user) &&
                   user->hasTrait<ir::Elementwise>() && isPure(user) &&
                   user->getResult(0).getType() == last->getResult(0).getType();
    if (!follows)
      break;
    last = user;
  }
  return last;
}

/// Matmuls and convolutions are saved, not recomputed. Each saved value gets a placeholder in
/// `back`; ops that only they needed become dead. A stack that nothing else needs must have a known
/// bound.
void Reverse::keepMatmuls(Operation *op, ir::ForOp back, const Originals &originals,
                          SmallVectorImpl<Kept> &needed) {
  Block &block = back.getBody().front();
  auto leaves = block.getOps<ir::UndefOp>();
  if (!boundOf(op) && llvm::none_of(leaves, [](ir::UndefOp leaf) { return !leaf.use_empty(); }))
    return;
  SmallVector<Operation *> matmuls;
  for (Operation &inner : block)
    if (originals.contains(&inner) && isLargeMatmul(&inner))
      matmuls.push_back(&inner);
  llvm::SmallPtrSet<Operation *, 8> gone;
  // In reverse order: saving a later one may make its operands dead.
  for (Operation *each : llvm::reverse(matmuls)) {
    if (gone.contains(each))
      continue;
    Operation *kept = endOfChain(each, originals), *first = originals.lookup(kept);
    auto type = dyn_cast<ir::TensorType>(kept->getResult(0).getType());
    if (!type || type.isHost() || first->getResult(0).getType() != type)
      continue; // its size depends on the iteration
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    auto stands = ir::UndefOp::create(b, type);
    kept->getResult(0).replaceAllUsesWith(stands.getResult());
    needed.push_back({stands.getResult(), nullptr, first->getResult(0)});
    dropUnused(block, [&](Operation *dropped) { gone.insert(dropped); });
  }
}

/// Makes the forward loop save the leaves that `back` needs, and count its iterations if `pending`
/// waits for their number.
LogicalResult Reverse::keepStates(Operation *op, ir::ForOp back, Operation *pending,
                                  ArrayRef<Leaf> paths, const Originals &originals) {
  // Each pairs a value of an iteration with its placeholder in `back`.
  SmallVector<Kept> needed;
  keepMatmuls(op, back, originals, needed);
  for (auto leaf : llvm::make_early_inc_range(back.getBody().front().getOps<ir::UndefOp>())) {
    if (!leaf->hasAttr(ir::kLeaf))
      continue;
    SmallVector<Operation *> parts = partsOnly(leaf, originals);
    for (Operation *part : parts)
      needed.push_back({part->getResult(0), nullptr, originals.lookup(part)->getResult(0)});
    if (parts.empty())
      needed.push_back(
          {leaf.getResult(),
           &paths[static_cast<size_t>(leaf->getAttrOfType<IntegerAttr>(ir::kLeaf).getInt())],
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
  ir::SizeAttr iterations;
  if (!needed.empty()) {
    FailureOr<ir::SizeAttr> bound = iterationsOf(op);
    if (failed(bound))
      return failure();
    iterations = *bound;
  }
  SmallVector<ir::TensorType> stacks;
  for (const Kept &value : needed) {
    auto type = dyn_cast<ir::TensorType>(value.back.getType());
    if (!type)
      return op->emitError() << "the gradient of this loop would have to keep a "
                             << value.back.getType();
    SmallVector<ir::SizeAttr> sizes{iterations};
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
  Value iteration;
  unsigned argument = first + static_cast<unsigned>(own);
  if (pending) {
    iteration = body.getArgument(argument++);
    next.push_back(elementwise("add", {iteration, wholeNumber(1)}));
  } else {
    iteration = body.getArgument(0);
    if (constantInt(loop.getFrom()) != 0)
      iteration = elementwise("sub", {iteration, loop.getFrom()});
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
                                      ValueRange{iteration}, spec(stack)));
  }
  yield->setOperands(next);
  op->replaceAllUsesWith(kept->getResults().take_front(own));
  unsigned result = static_cast<unsigned>(own);
  if (pending) {
    pending->replaceAllUsesWith(ValueRange{kept->getResult(result++)});
    erase(pending);
  }
  b.setInsertionPointToStart(&back.getBody().front());
  Value position = iterationOf(back);
  if (constantInt(back.getFrom()) != 0)
    position = elementwise("sub", {position, back.getFrom()});
  SmallVector<Operation *> parts;
  llvm::SetVector<Operation *> leaves;
  for (auto [entry, stack] : llvm::zip_equal(needed, stacks)) {
    auto type = cast<ir::TensorType>(entry.back.getType());
    ir::TensorType device = type.isHost() ? type.onDevice("") : type;
    Value value =
        make<ir::SliceOp>(device, kept->getResult(result++), ValueRange{position}, spec(stack));
    if (type.isHost())
      value = make<ir::ReadOp>(type, value);
    entry.back.replaceAllUsesWith(value);
    Operation *stood = entry.back.getDefiningOp();
    if (isa<ir::UndefOp>(stood)) {
      leaves.insert(stood);
    } else {
      parts.push_back(stood);
      leaves.insert(stood->getOperand(0).getDefiningOp());
    }
  }
  // Only now: the builder's insertion point was before one of them.
  b.setInsertionPointAfter(back);
  for (Operation *part : parts)
    erase(part);
  for (Operation *leaf : leaves)
    erase(leaf);
  erase(op);
  return success();
}

} // namespace mx::graph
