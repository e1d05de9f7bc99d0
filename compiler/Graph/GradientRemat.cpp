// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: rematerialisation (gradient checkpointing). `@remat(every=k)` splits a
// loop of n iterations into n / k blocks of k iterations each. The reverse pass saves the state at
// the start of each block and recomputes a block before its adjoint: n / k + k states instead of n,
// for one more run. With `@remat` on a function, a call saves its arguments and its body is
// recomputed.
#include "Graph/Adjoints.h"
#include "Graph/InlineCalls.h"

using namespace mlir;

namespace mx::graph {

/// The trip count of a loop as a size, if it is known before execution.
static std::optional<ir::SizeAttr> knownTripCount(ir::ForOp loop) {
  std::optional<int64_t> from = constantInt(loop.getFrom()), to = constantInt(loop.getTo());
  if (from && to)
    return ir::SizeAttr::get(loop.getContext(), *to > *from ? *to - *from : 0);
  if (auto size = loop.getTo().getDefiningOp<ir::SizeOp>(); size && from == 0)
    return size.getSize();
  return std::nullopt;
}

void Reverse::cutIntoBlocks() {
  SmallVector<ir::ForOp> loops;
  function->walk([&](ir::ForOp loop) {
    if (loop->hasAttr(ir::kRemat))
      loops.push_back(loop);
  });
  for (ir::ForOp loop : loops) {
    int64_t every = loop->getAttrOfType<IntegerAttr>(ir::kRemat).getInt();
    loop->removeAttr(ir::kRemat);
    Value from = loop.getFrom(), to = loop.getTo();
    if (!ir::isHostInt(from.getType()) || from.getType() != to.getType())
      continue; // rejected later, with the loop itself
    b.setInsertionPoint(loop);
    b.setLoc(loop.getLoc());
    auto number = [&](int64_t value) {
      return make<ir::ConstantOp>(from.getType(),
                                  b.getIntegerAttr(typeOf(from).getElement(), value));
    };
    Value zero = number(0), blocks;
    if (std::optional<ir::SizeAttr> iterations = knownTripCount(loop);
        iterations && typeOf(from).getElement().isInteger(64)) {
      ir::SizeTable &table = b.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
      ir::SizeAttr roundedUp = iterations->plus(sizeOf(every - 1));
      Dim count;
      {
        std::lock_guard guard(table.lock);
        count = table.dims.floorDiv(roundedUp.dim(), table.dims.constant(every));
      }
      if (count)
        blocks = make<ir::SizeOp>(from.getType(), ir::SizeAttr::get(b.getContext(), count));
    }
    if (!blocks) {
      Value iterations = elementwise("maximum", {elementwise("sub", {to, from}), zero});
      blocks = elementwise("floordiv",
                           {elementwise("add", {iterations, number(every - 1)}), number(every)});
    }
    SmallVector<Type> types(loop.getResultTypes());
    auto outer = ir::ForOp::create(b, types, zero, blocks, loop.getCarried());
    Block *block = b.createBlock(&outer.getBody());
    Value at = block->addArgument(from.getType(), loop.getLoc());
    SmallVector<Value> carried;
    for (Type type : types)
      carried.push_back(block->addArgument(type, loop.getLoc()));
    Value begin = elementwise("mul", {at, number(every)});
    if (constantInt(from) != 0)
      begin = elementwise("add", {from, begin});
    Value end = elementwise("minimum", {elementwise("add", {begin, number(every)}), to});
    auto inner = ir::ForOp::create(b, types, begin, end, carried);
    inner->setAttr(ir::kIterations, b.getI64IntegerAttr(every));
    inner.getBody().takeBody(loop.getBody());
    ir::YieldOp::create(b, inner.getResults());
    loop.replaceAllUsesWith(outer.getResults());
    loop.erase();
  }
}

/// The parts of an adjoint that the body contributed to.
static Adjoint whereUsed(const Adjoint &inside, const Adjoint &after) {
  if (inside.isZero())
    return {};
  if (inside.value || after.parts.empty())
    return after;
  Adjoint out;
  for (size_t i = 0; i < after.parts.size(); ++i)
    out.parts.push_back(
        whereUsed(i < inside.parts.size() ? inside.parts[i] : Adjoint(), after.parts[i]));
  return out;
}

/// Puts the recomputed body and its adjoint into a loop of one iteration. The loop carries the
/// arguments of the call, so that common subexpression elimination cannot merge the recomputed
/// values with those of the first run.
LogicalResult Reverse::rematerialise(ir::CallOp op) {
  auto callee = symbols.lookup<FunctionOpInterface>(op.getCallee());
  if (!callee || !callee->hasAttr(ir::kRemat))
    return withoutRule(op);
  SmallVector<Value> initial(op.getArgs());
  SmallVector<unsigned> slots;      // arguments with adjoints
  llvm::SetVector<Value> continued; // those whose adjoint is accumulated inside, as one sum
  SmallVector<Adjoint> inside;      // of those with adjoints
  for (auto [i, argument] : llvm::enumerate(op.getArgs())) {
    if (!isActive(argument))
      continue;
    slots.push_back(static_cast<unsigned>(i));
    Value before = adjoints.lookup(argument).value;
    bool first = before && isa<ir::TensorType>(argument.getType()) && continued.insert(argument);
    initial.push_back(first ? before : make<ir::UndefOp>(adjointType(argument.getType())));
  }
  SmallVector<Type> types(ValueRange(initial).getTypes());
  auto once = ir::ForOp::create(b, types, wholeNumber(0), wholeNumber(1), initial);
  once->setAttr(ir::kRecomputed, b.getUnitAttr());
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&once.getBody());
    block->addArgument(once.getFrom().getType(), op.getLoc());
    for (Type type : types)
      block->addArgument(type, op.getLoc());
    ValueRange arguments = block->getArguments().slice(1, op.getArgs().size());
    auto call =
        ir::CallOp::create(b, op.getResultTypes(), op.getCallee(), arguments, op.getSizes());
    call->setAttr(ir::kRecomputed, b.getUnitAttr());
    auto end = ir::YieldOp::create(b, call.getResults());
    if (failed(inlineCalls(function, symbols, limit, /*keepRules=*/true)) ||
        failed(refuseStale(*block)))
      return failure();
    SmallVector<Value> results(end.getOperands());
    end.erase();
    dropOnce(once.getOperation());
    SmallVector<Operation *> ops;
    for (Operation &inner : *block)
      ops.push_back(&inner);
    llvm::DenseSet<Value> begun;
    for (auto [k, slot] : llvm::enumerate(slots)) {
      markActive(arguments[slot]);
      Value given = op.getArgs()[slot];
      if (continued.contains(given) && begun.insert(given).second)
        adjoints[arguments[slot]].value =
            block->getArgument(static_cast<unsigned>(1 + op.getArgs().size() + k));
    }
    findActive(*block);
    if (failed(refuseHidden()))
      return failure();
    b.setInsertionPointToEnd(block);
    for (auto [value, result] : llvm::zip_equal(results, op.getResults()))
      contribute(value, adjoints.lookup(result));
    if (failed(reverse(ops)))
      return failure();
    b.setLoc(op.getLoc());
    SmallVector<Value> yielded(arguments);
    for (unsigned slot : slots) {
      inside.push_back(adjoints.lookup(arguments[slot]));
      yielded.push_back(whole(inside.back(), arguments[slot].getType()));
    }
    ir::YieldOp::create(b, yielded);
    if (failedAt)
      return op->emitError() << "the length of an array must be known for a gradient";
    dropUnused(*block);
  }
  for (auto [k, slot] : llvm::enumerate(slots)) {
    Value given = op.getArgs()[slot];
    if (continued.remove(given))
      adjoints[given] = {};
    contribute(given,
               whereUsed(inside[k],
                         apart(once.getResult(static_cast<unsigned>(op.getArgs().size() + k)),
                               given.getType())));
  }
  return success();
}

} // namespace mx::graph
