// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of FlattenAggregates: elements of an array become separate values, so a loop that takes the
// i-th in its i-th turn has to be written out. And of Differentiate: what is written out anyway is
// differentiated so, without a stack and without running each turn again.
#include "Graph/UnrollArrayLoops.h"
#include "Graph/Sizes.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/IRMapping.h"
#include <map>

using namespace mlir;

namespace mx::graph {
namespace {

/// The loops whose turn decides `index`, innermost ones last. Goes back through everything that the
/// value is computed from, also through carried values and the bounds of loops.
SmallVector<ir::ForOp> loopsBehind(Value index) {
  llvm::SetVector<Operation *> loops;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> work{index};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op) {
      op = value.getParentBlock()->getParentOp();
      if (!isa<ir::ForOp, ir::WhileOp>(op))
        continue;
      if (isa<ir::ForOp>(op))
        loops.insert(op);
    }
    llvm::append_range(work, op->getOperands());
    for (Region &region : op->getRegions())
      if (!region.empty())
        llvm::append_range(work, region.front().getTerminator()->getOperands());
  }
  auto depth = [](Operation *op) {
    unsigned n = 0;
    for (; op; op = op->getParentOp())
      ++n;
    return n;
  };
  std::map<unsigned, SmallVector<ir::ForOp>> byDepth;
  for (Operation *op : loops)
    byDepth[depth(op)].push_back(cast<ir::ForOp>(op));
  SmallVector<ir::ForOp> sorted;
  for (auto &[level, those] : byDepth)
    llvm::append_range(sorted, those);
  return sorted;
}

bool isKnown(ir::ForOp loop) { return constantInt(loop.getFrom()) && constantInt(loop.getTo()); }

/// The turns of a loop with known ends, if written out they have no more than `limit` ops.
std::optional<int64_t> turnsWithin(ir::ForOp loop, int64_t limit) {
  int64_t from = *constantInt(loop.getFrom()), to = *constantInt(loop.getTo());
  int64_t turns = 0, ops = 0;
  loop.getBody().walk([&](Operation *) { ++ops; });
  if (to > from && (llvm::SubOverflow(to, from, turns) || turns > limit / ops))
    return std::nullopt;
  return turns;
}

LogicalResult unroll(ir::ForOp loop, int64_t turns, NamesInUse &names) {
  int64_t from = *constantInt(loop.getFrom());
  OpBuilder b(loop);
  auto indexType = cast<ir::TensorType>(loop.getFrom().getType());
  SmallVector<Value> carried(loop.getCarried());
  Block &body = loop.getBody().front();
  for (int64_t turn = 0; turn < turns; ++turn) {
    IRMapping mapping;
    mapping.map(body.getArgument(0),
                ir::ConstantOp::create(b, loop.getLoc(), indexType,
                                       b.getIntegerAttr(indexType.getElement(), from + turn))
                    .getResult());
    mapping.map(body.getArguments().drop_front(), carried);
    SmallVector<Operation *> copies;
    for (Operation &op : body.without_terminator())
      copies.push_back(b.clone(op, mapping));
    SizeMap renamed;
    names.take(copies, renamed);
    if (failed(replaceSizes(copies, renamed)))
      return failure();
    for (auto [next, value] : llvm::zip_equal(carried, body.getTerminator()->getOperands()))
      next = mapping.lookupOrDefault(value);
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
  return success();
}

/// An array access whose index is not a constant, other than those in `left`.
Operation *unknownAccess(FunctionOpInterface function, Value &index,
                         const llvm::DenseSet<Operation *> &left = {}) {
  Operation *found = nullptr;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto at = dyn_cast<ir::AtOp>(op))
      index = at.getIndex();
    else if (auto set = dyn_cast<ir::SetAtOp>(op))
      index = set.getIndex();
    else
      return WalkResult::advance();
    found = constantInt(index) || left.contains(op) ? nullptr : op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Memory is planned before a graph runs, so a size that only the run knows cannot be there.
LogicalResult refuseOpenSizes(ir::GraphOp graph) {
  ir::BindSizeOp open;
  graph.walk([&](ir::BindSizeOp bind) {
    open = bind;
    return WalkResult::interrupt();
  });
  if (!open)
    return success();
  Location place = open.getLoc();
  while (auto call = dyn_cast<CallSiteLoc>(place))
    place = call.getCallee();
  std::string where;
  if (auto line = dyn_cast<FileLineColLoc>(place))
    where = " at " + line.getFilename().str() + ":" + std::to_string(line.getLine());
  return open.emitError() << "the memory of what happens" << where
                          << " depends on a number that is known only when it runs\n"
                             "note: a gradient keeps what a loop carries, for each of its turns\n"
                             "help: make the number known: `static n: i64`, or a size";
}

} // namespace

LogicalResult unrollArrayLoops(ir::GraphOp graph, int64_t limit) {
  for (;;) {
    if (failed(foldSizes(graph)))
      return failure();
    Value index;
    Operation *access = unknownAccess(graph, index);
    if (!access)
      return refuseOpenSizes(graph);
    SmallVector<ir::ForOp> loops = loopsBehind(index);
    if (loops.empty())
      return access->emitError()
             << "which element of the array is meant is not known when the graph is compiled";
    // Inner loops first, since outer ones would only multiply them.
    auto known = llvm::find_if(llvm::reverse(loops), isKnown);
    if (known == llvm::reverse(loops).end()) {
      InFlightDiagnostic error =
          loops.front().emitError()
          << "the number of turns must be a constant, because the loop takes elements of an array";
      error.attachNote(access->getLoc()) << "it takes one here";
      return error;
    }
    std::optional<int64_t> turns = turnsWithin(*known, limit);
    if (!turns)
      return (*known).emitError() << "written out, this loop over array elements has more than "
                                  << limit << " ops";
    NamesInUse names(graph);
    if (failed(unroll(*known, *turns, names)))
      return failure();
  }
}

LogicalResult unrollWhereKnown(FunctionOpInterface function, int64_t limit) {
  Value index;
  if (!unknownAccess(function, index))
    return success();
  llvm::DenseSet<Operation *> left;
  for (;;) {
    if (failed(foldSizes(function)))
      return failure();
    Operation *access = unknownAccess(function, index, left);
    if (!access)
      return success();
    SmallVector<ir::ForOp> loops = loopsBehind(index);
    auto known = llvm::find_if(llvm::reverse(loops), isKnown);
    std::optional<int64_t> turns;
    if (known != llvm::reverse(loops).end() && !(*known)->hasAttr(ir::kRemat))
      turns = turnsWithin(*known, limit);
    if (!turns) {
      left.insert(access);
      continue;
    }
    NamesInUse names(function);
    if (failed(unroll(*known, *turns, names)))
      return failure();
    left.clear(); // the ops of the loop are gone
  }
}

} // namespace mx::graph
