// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches and loops of a program: scf ops around the calls. Buffers are not passed through them: a
// result has one buffer, which every path to it fills.
#include "Lowering/programs/HostMath.h"
#include "Lowering/programs/ProgramBuilder.h"
#include "dialects/mx/Marks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mx::lowering {

static bool isHost(Type type) { return cast<ir::TensorType>(type).isHost(); }

/// The buffers and numbers in which results of `op` join.
FailureOr<ProgramBuilder::Joined> ProgramBuilder::join(Operation *op) {
  Joined joined;
  for (Value result : op->getResults()) {
    auto type = dyn_cast<ir::TensorType>(result.getType());
    if (!type) {
      op->emitOpError() << "has a " << result.getType() << ", which is not a tensor";
      return failure();
    }
    if (type.isHost()) {
      joined.buffers.push_back({});
      joined.numberTypes.push_back(rt::scalarType(type.getElement()));
      continue;
    }
    FailureOr<Value> to = destination(result);
    if (failed(to))
      return failure();
    joined.buffers.push_back(*to);
  }
  return joined;
}
void ProgramBuilder::bindResults(Operation *op, const Joined &joined, ValueRange numbers) {
  size_t next = 0;
  for (auto [result, buffer] : llvm::zip(op->getResults(), joined.buffers))
    values[result] = buffer ? buffer : numbers[next++];
}
void ProgramBuilder::bindCarried(ArrayRef<BlockArgument> arguments, const Joined &joined,
                                 ValueRange numbers) {
  size_t next = 0;
  for (auto [argument, buffer] : llvm::zip(arguments, joined.buffers))
    values[argument] = buffer ? buffer : numbers[next++];
}

/// Whether a loop updates part of its carried value, as an in-place update would. In memory of the
/// arena it is done in place (ReuseInPlace); in the caller's memory each iteration would copy all
/// of it.
static bool isChangedInPart(Value result) {
  Operation *loop = result.getDefiningOp();
  if (!isa_and_nonnull<ir::ForOp, ir::WhileOp>(loop))
    return false;
  unsigned index = cast<OpResult>(result).getResultNumber();
  Block &body = loop->getRegions().back().front();
  Value next = body.getTerminator()->getOperand(index);
  auto kernel = next.getDefiningOp<ir::KernelOp>();
  if (!kernel)
    return isChangedInPart(next);
  unsigned output = cast<OpResult>(next).getResultNumber();
  Operation *last = kernel.getBody().front().getTerminator()->getOperand(output).getDefiningOp();
  if (!isa_and_nonnull<ir::UpdateOp, ir::ScatterAddOp>(last))
    return false;
  return isa<BlockArgument>(last->getOperand(0));
}

/// Results of `block` that are computed in it are written directly to their destinations. Only if
/// nothing in the block reads those buffers.
void ProgramBuilder::writeDirectly(Block &block, ValueRange yielded, ArrayRef<Value> buffers) {
  for (auto [value, buffer] : llvm::zip(yielded, buffers)) {
    auto type = dyn_cast<ir::TensorType>(value.getType());
    Operation *by = value.getDefiningOp();
    bool isOfCaller = isa_and_nonnull<BlockArgument>(buffer);
    if (buffer && type && !type.isHost() && by && by->getBlock() == &block &&
        !(isOfCaller && isChangedInPart(value)))
      destinations.try_emplace(value, buffer);
  }
}
/// The same at the end of a loop's iteration, where the buffer holds the value of this iteration
/// until its last use.
void ProgramBuilder::writeCarriedDirectly(Block &body, ArrayRef<BlockArgument> carried,
                                          const Joined &joined) {
  auto yielded = cast<ir::YieldOp>(body.getTerminator()).getValues();
  for (auto [value, old, buffer] : llvm::zip(yielded, carried, joined.buffers)) {
    Operation *by = value.getDefiningOp();
    bool isFree = by && by->getBlock() == &body &&
                  llvm::all_of(old.getUsers(), [&, by = by](Operation *user) {
                    Operation *at = body.findAncestorOpInBlock(*user);
                    return at && at != by && at->isBeforeInBlock(by);
                  });
    if (isFree)
      writeDirectly(body, value, buffer);
  }
}

/// Fills the buffers from the values that a block yields; returns the numbers.
FailureOr<SmallVector<Value>> ProgramBuilder::leave(Block &block, const Joined &joined) {
  auto yield = cast<ir::YieldOp>(block.getTerminator());
  SmallVector<Value> numbers;
  Copies copies;
  for (auto [value, to] : llvm::zip(yield.getValues(), joined.buffers)) {
    if (to)
      copies.push_back({buffer(value, yield.getLoc()), to});
    else
      numbers.push_back(number(value, yield.getLoc()));
  }
  if (failed(copy(std::move(copies), yield.getLoc())))
    return failure();
  return numbers;
}

LogicalResult ProgramBuilder::lowerIf(ir::IfOp op) {
  Value condition = number(op.getCondition(), op.getLoc());
  FailureOr<Joined> joined = join(op);
  if (failed(joined))
    return failure();
  auto branch = scf::IfOp::create(builder, op.getLoc(), joined->numberTypes, condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [from, to] : {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
                          std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&to->front());
    Block &block = from->front();
    writeDirectly(block, cast<ir::YieldOp>(block.getTerminator()).getValues(), joined->buffers);
    if (failed(lowerBlock(block)))
      return failure();
    FailureOr<SmallVector<Value>> numbers = leave(block, *joined);
    if (failed(numbers))
      return failure();
    scf::YieldOp::create(builder, block.getTerminator()->getLoc(), *numbers);
  }
  bindResults(op, *joined, branch.getResults());
  return success();
}

/// Copies the initial values of a loop to the buffers it carries.
LogicalResult ProgramBuilder::enterLoop(Operation *op, ValueRange initial, const Joined &joined,
                                        SmallVector<Value> &numbers) {
  Copies copies;
  for (auto [value, to] : llvm::zip(initial, joined.buffers)) {
    Operation *by = value.getDefiningOp();
    if (to && !ir::isScratch(by) && !isa_and_nonnull<ir::UndefOp>(by))
      copies.push_back({buffer(value, op->getLoc()), to});
    else if (!to)
      numbers.push_back(number(value, op->getLoc()));
  }
  return copy(std::move(copies), op->getLoc());
}

LogicalResult ProgramBuilder::lowerFor(ir::ForOp op) {
  Location loc = op.getLoc();
  Type element = cast<ir::TensorType>(op.getFrom().getType()).getElement();
  if (!element.isInteger())
    return op.emitOpError() << "counts in " << element;
  FailureOr<Joined> joined = join(op);
  SmallVector<Value> initial;
  if (failed(joined) || failed(enterLoop(op, op.getCarried(), *joined, initial)))
    return failure();
  HostMath math(builder, loc);
  Value from = math.widen(number(op.getFrom(), loc), element);
  Value to = math.widen(number(op.getTo(), loc), element);
  Value one = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
  auto loop = scf::ForOp::create(builder, loc, from, to, one, initial);
  Block &iteration = *loop.getBody();
  if (!iteration.empty())
    iteration.back().erase(); // made for loops without results
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&iteration);
  rt::PollOp::create(builder, loc);
  Block &body = op.getBody().front();
  Value index = HostMath(builder, loc).narrow(loop.getInductionVar(), element);
  if (!isHost(op.getFrom().getType())) {
    FailureOr<Value> kept = slice(cast<ir::TensorType>(op.getFrom().getType()), loc);
    if (failed(kept))
      return failure();
    rt::StoreOp::create(builder, loc, index, *kept);
    index = *kept;
  }
  values[body.getArgument(0)] = index;
  ArrayRef<BlockArgument> carried = body.getArguments().drop_front();
  bindCarried(carried, *joined, loop.getRegionIterArgs());
  writeCarriedDirectly(body, carried, *joined);
  if (failed(lowerBlock(body)))
    return failure();
  FailureOr<SmallVector<Value>> numbers = leave(body, *joined);
  if (failed(numbers))
    return failure();
  scf::YieldOp::create(builder, body.getTerminator()->getLoc(), *numbers);
  bindResults(op, *joined, loop.getResults());
  return success();
}

/// With a limit, the number of completed iterations is carried as the last number.
LogicalResult ProgramBuilder::lowerWhile(ir::WhileOp op) {
  Location loc = op.getLoc();
  FailureOr<Joined> joined = join(op);
  SmallVector<Value> initial;
  if (failed(joined) || failed(enterLoop(op, op.getCarried(), *joined, initial)))
    return failure();
  Value limit;
  if (Value given = op.getLimit()) {
    Type element = cast<ir::TensorType>(given.getType()).getElement();
    if (!element.isInteger())
      return op.emitOpError() << "has a limit in " << element;
    limit = HostMath(builder, loc).widen(number(given, loc), element);
    initial.push_back(arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0)));
  }
  auto loop = scf::WhileOp::create(builder, loc, ValueRange(initial).getTypes(), initial,
                                   /*beforeBuilder=*/nullptr, /*afterBuilder=*/nullptr);
  OpBuilder::InsertionGuard guard(builder);
  Block &test = op.getCondition().front(), &body = op.getBody().front();
  Block &before = loop.getBefore().front(), &after = loop.getAfter().front();

  builder.setInsertionPointToEnd(&before);
  bindCarried(test.getArguments(), *joined, before.getArguments());
  if (failed(lowerBlock(test)))
    return failure();
  auto yield = cast<ir::YieldOp>(test.getTerminator());
  scf::ConditionOp::create(builder, yield.getLoc(), number(yield.getValues()[0], yield.getLoc()),
                           before.getArguments());

  builder.setInsertionPointToEnd(&after);
  if (limit) {
    Value past = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                       after.getArguments().back(), limit);
    rt::FailOp::create(builder, loc, past, numberOf(Code::LOOP_LIMIT), "loop limit reached");
  }
  rt::PollOp::create(builder, loc);
  bindCarried(body.getArguments(), *joined, after.getArguments());
  writeCarriedDirectly(body, body.getArguments(), *joined);
  if (failed(lowerBlock(body)))
    return failure();
  FailureOr<SmallVector<Value>> numbers = leave(body, *joined);
  if (failed(numbers))
    return failure();
  if (limit) {
    Value one = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
    numbers->push_back(arith::AddIOp::create(builder, loc, after.getArguments().back(), one));
  }
  scf::YieldOp::create(builder, body.getTerminator()->getLoc(), *numbers);
  bindResults(op, *joined, loop.getResults());
  return success();
}

} // namespace mx::lowering
