// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Full loop unrolling. For FlattenAggregates: elements of an array become separate values, so a
// loop that takes the i-th element in its i-th iteration must be unrolled; so must a loop whose
// iterations have tensors of different sizes. For Differentiate: loops that will be unrolled anyway
// are unrolled before, which needs no stack and no recomputation of iterations.
#include "Graph/UnrollArrayLoops.h"
#include "Graph/Sizes.h"
#include "Support/LocationText.h"
#include "dialects/mx/Marks.h"
#include "dialects/mx/Locations.h"
#include "mlir/IR/IRMapping.h"
#include <map>

using namespace mlir;

namespace mx::graph {
namespace {

/// The loops whose induction variable `index` depends on, innermost last. A backward slice through
/// all operands, carried values and loop bounds.
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

/// The trip count of a loop with constant bounds, if the unrolled loop has at most `limit` ops.
std::optional<int64_t> tripCountWithin(ir::ForOp loop, int64_t limit) {
  int64_t from = *constantInt(loop.getFrom()), to = *constantInt(loop.getTo());
  int64_t iterations = 0, ops = 0;
  loop.getBody().walk([&](Operation *) { ++ops; });
  if (to > from && (llvm::SubOverflow(to, from, iterations) || iterations > limit / ops))
    return std::nullopt;
  return iterations;
}

LogicalResult unroll(ir::ForOp loop, int64_t iterations, NamesInUse &names) {
  int64_t from = *constantInt(loop.getFrom());
  OpBuilder b(loop);
  auto indexType = cast<ir::TensorType>(loop.getFrom().getType());
  SmallVector<Value> carried(loop.getCarried());
  Block &body = loop.getBody().front();
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    IRMapping mapping;
    mapping.map(body.getArgument(0),
                ir::ConstantOp::create(b, loop.getLoc(), indexType,
                                       b.getIntegerAttr(indexType.getElement(), from + iteration))
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

/// An op that needs a compile-time constant and does not have it: an array access with its index,
/// or a size that depends on the iteration. Ops in `left` are skipped.
Operation *unknownAccess(FunctionOpInterface function, Value &index,
                         const llvm::DenseSet<Operation *> &left = {}) {
  Operation *found = nullptr;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto at = dyn_cast<ir::AtOp>(op))
      index = at.getIndex();
    else if (auto set = dyn_cast<ir::SetAtOp>(op))
      index = set.getIndex();
    else if (auto bind = dyn_cast<ir::BindSizeOp>(op))
      index = bind.getValue();
    else
      return WalkResult::advance();
    if (isa<ir::BindSizeOp>(op) && loopsBehind(index).empty())
      return WalkResult::advance();
    found = constantInt(index) || left.contains(op) ? nullptr : op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Rejects sizes known only at run time: memory is planned before a graph runs.
LogicalResult refuseOpenSizes(ir::GraphOp graph) {
  ir::BindSizeOp open;
  graph.walk([&](ir::BindSizeOp bind) {
    open = bind;
    return WalkResult::interrupt();
  });
  if (!open)
    return success();
  std::string where;
  if (auto line = ir::sourceLocation(open.getLoc()))
    where = " at " + locationText(line.getFilename().str(), line.getLine());
  return open.emitError()
         << "R0214 the memory of what happens" << where
         << " depends on a number that is known only when it runs\n"
            "note: a gradient keeps what a loop carries, for each of its iterations\n"
            "help: make the number known: `static n: i64`, or a size";
}

} // namespace

LogicalResult unrollArrayLoops(ir::GraphOp graph, int64_t limit) {
  if (failed(checkSizes(graph)))
    return failure();
  for (;;) {
    if (failed(foldSizes(graph)))
      return failure();
    Value index;
    Operation *access = unknownAccess(graph, index);
    if (!access)
      return failed(refuseOpenSizes(graph)) ? failure() : checkSizes(graph);
    SmallVector<ir::ForOp> loops = loopsBehind(index);
    bool isSize = isa<ir::BindSizeOp>(access);
    if (loops.empty())
      return access->emitError()
             << "which element of the array is meant is not known when the graph is compiled";
    // Inner loops first: unrolling an outer loop would multiply them.
    auto known = llvm::find_if(llvm::reverse(loops), isKnown);
    if (known == llvm::reverse(loops).end() && isSize)
      return refuseOpenSizes(graph);
    if (known == llvm::reverse(loops).end()) {
      InFlightDiagnostic error = loops.front().emitError()
                                 << "the number of iterations must be a constant, because the loop "
                                    "takes elements of an array";
      error.attachNote(access->getLoc()) << "it takes one here";
      return error;
    }
    std::optional<int64_t> iterations = tripCountWithin(*known, limit);
    if (!iterations)
      return (*known).emitError() << (isSize ? "R0214 " : "") << "written out, this loop "
                                  << (isSize ? "with tensors of different sizes"
                                             : "over array elements")
                                  << " has more than " << limit << " ops";
    NamesInUse names(graph);
    if (failed(unroll(*known, *iterations, names)))
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
    std::optional<int64_t> iterations;
    if (known != llvm::reverse(loops).end() && !(*known)->hasAttr(ir::kRemat))
      iterations = tripCountWithin(*known, limit);
    if (!iterations) {
      left.insert(access);
      continue;
    }
    NamesInUse names(function);
    if (failed(unroll(*known, *iterations, names)))
      return failure();
    left.clear(); // the ops of the loop were erased
  }
}

} // namespace mx::graph
