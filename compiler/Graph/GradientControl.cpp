// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: cloning and recomputing blocks, and the gradient rule of `mx.if`. The
// reverse pass recomputes a block from the inputs of its first run, followed by its adjoint.
#include "Graph/Adjoints.h"
#include "dialects/mx/Exchange.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mx::graph {

/// Hoists extractions of parts of outer aggregates out of the blocks that use them: then a block
/// depends on these parts and not on whole models.
void Reverse::hoistParts() {
  for (bool changed = true; changed;) {
    changed = false;
    function->walk([&](Operation *op) {
      Operation *parent = op->getParentOp();
      if (!isa<ir::GetOp>(op) || !isa<ir::IfOp, ir::ForOp, ir::WhileOp>(parent) ||
          op->getOperand(0).getParentRegion()->getParentOp() == parent)
        return;
      op->moveBefore(parent);
      changed = true;
    });
  }
}

/// Active values defined outside the op, in order of use.
SmallVector<Value> Reverse::capturedBy(Operation *op) {
  llvm::SetVector<Value> found;
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (Value operand : inner->getOperands())
      if (isActive(operand) && !op->isAncestor(operand.getParentRegion()->getParentOp()))
        found.insert(operand);
  });
  return found.takeVector();
}

/// Side effects that recomputation must not repeat.
static bool onlyOnce(Operation *op) {
  return isa<ir::PrintOp, ir::AssertOp, ir::RaiseOp, ir::GlobalStoreOp, ir::StoreOp>(op) ||
         (isa<ir::NativeOp>(op) && op->getNumResults() == 0);
}

/// Rejects the recomputation of loads from variables that the function writes: the load could
/// return another value.
LogicalResult Reverse::refuseStale(Block &block) {
  llvm::DenseSet<StringAttr> written;
  function->walk([&](ir::GlobalStoreOp store) { written.insert(store.getNameAttr()); });
  Operation *stale = nullptr;
  block.walk([&](ir::GlobalLoadOp load) {
    if (written.contains(load.getNameAttr()))
      stale = load;
  });
  if (!stale)
    return success();
  return stale->emitError()
         << "a gradient runs this block again, and the variable it reads has changed by then";
}

/// Erases side effects nested in recomputed ops.
void Reverse::dropOnce(ArrayRef<Operation *> ops) {
  SmallVector<Operation *> found;
  for (Operation *op : ops)
    op->walk([&](Operation *inner) {
      if (inner != op && onlyOnce(inner))
        found.push_back(inner);
    });
  for (Operation *op : found)
    op->erase();
}

/// Clones the ops of a block at the builder's insertion point, with fresh names for sizes.
LogicalResult Reverse::repeat(Block &from, IRMapping &mapping,
                              SmallVectorImpl<Operation *> &copies) {
  NamesInUse names(function);
  SizeMap renamed;
  if (failed(refuseStale(from)))
    return failure();
  for (Operation &op : from.without_terminator()) {
    if (onlyOnce(&op))
      continue;
    if (isa<ir::CellOp, ir::TryOp, ir::LoadOp>(op))
      return withoutRule(&op);
    names.take({&op}, renamed);
    copies.push_back(b.clone(op, mapping));
  }
  dropOnce(copies);
  if (failed(replaceSizes(copies, renamed)))
    return failure();
  // A clone is active if its original is.
  auto mark = [&](Value old, Value now) {
    if (isActive(old))
      markActive(now);
  };
  for (Operation &op : from.without_terminator())
    op.walk([&](Operation *inner) {
      for (Value result : inner->getResults())
        if (Value now = mapping.lookupOrNull(result))
          mark(result, now);
      for (Region &region : inner->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            if (Value now = mapping.lookupOrNull(argument))
              mark(argument, now);
    });
  return success();
}

/// Whether the op has no effect but its result. A `while` counts: it terminated in the first run,
/// so its recomputation terminates.
static bool isNeedless(Operation *op) {
  if (isa<ir::IfOp, ir::ForOp, ir::WhileOp>(op))
    return llvm::all_of(op->getRegions(), [](Region &region) {
      return llvm::all_of(region.front().without_terminator(),
                          [](Operation &inner) { return isNeedless(&inner); });
    });
  // Neither does an exchange here matter if it matters nowhere: all workers run the same code.
  return isMemoryEffectFree(op) ||
         isa<ir::ReadOp, ir::FormatOp, ir::GlobalLoadOp, ir::CallOp>(op) ||
         !ir::linearExchange(op).empty();
}

/// Dead-code elimination: drops ops that the adjoint of a block does not need. Remaining calls are
/// of functions with a gradient rule.
void Reverse::dropUnused(Block &block, llvm::function_ref<void(Operation *)> dropping) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>() && isNeedless(&op)) {
      if (dropping)
        dropping(&op);
      erase(&op);
    }
}

/// Erases an op and all records about its values: a new op may reuse its address.
void Reverse::erase(Operation *op) {
  op->walk([&](Operation *inner) {
    auto forget = [&](Value value) {
      active.erase(value);
      adjoints.erase(value);
    };
    for (Value result : inner->getResults())
      forget(result);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          forget(argument);
  });
  op->erase();
}

LogicalResult Reverse::reverseIf(ir::IfOp op) {
  SmallVector<Value> captured = capturedBy(op);
  SmallVector<Type> types;
  for (Value value : captured)
    types.push_back(adjointType(value.getType()));
  if (captured.empty())
    return success();
  auto out = ir::IfOp::create(b, types, op.getCondition());
  Region *from[] = {&op.getThenRegion(), &op.getElseRegion()};
  Region *to[] = {&out.getThenRegion(), &out.getElseRegion()};
  SmallVector<Adjoint> outside;
  for (Value value : captured)
    outside.push_back(adjoints.lookup(value));
  for (int side : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(to[side]);
    for (Value value : captured)
      adjoints.erase(value);
    IRMapping mapping;
    SmallVector<Operation *> copies;
    if (failed(repeat(from[side]->front(), mapping, copies)))
      return failure();
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), from[side]->front().getTerminator()->getOperands()))
      contribute(mapping.lookupOrDefault(value), adjoints.lookup(result));
    if (failed(reverse(copies)))
      return failure();
    b.setLoc(op.getLoc());
    SmallVector<Value> yielded;
    for (Value value : captured)
      yielded.push_back(whole(adjoints.lookup(value), value.getType()));
    ir::YieldOp::create(b, yielded);
    dropUnused(*b.getInsertionBlock());
  }
  for (auto [i, value] : llvm::enumerate(captured)) {
    adjoints[value] = outside[i];
    contribute(value, apart(out.getResult(static_cast<unsigned>(i)), value.getType()));
  }
  return success();
}

} // namespace mx::graph
