// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: gradient rules of `mx.for` and `mx.while`. The reverse loop visits the
// iterations from the last to the first; each recomputes its body and then runs its adjoint. The
// forward loop saves carried values on stacks, one for each value that the adjoint needs.
#include "Graph/Adjoints.h"
#include "dialects/mx/Marks.h"

using namespace mlir;

namespace mx::graph {

/// A placeholder for a carried value at the start of an iteration: built from leaves that are
/// filled in later, if they are used.
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
  leaf->setAttr(ir::kLeaf, b.getI64IntegerAttr(next++));
  return leaf;
}

/// The leaves of a carried value, in numbering order.
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

/// The iteration of the forward loop that an iteration of `back` reverses.
Value Reverse::iterationOf(ir::ForOp back) {
  Value iteration = back.getBody().front().getArgument(0), from = back.getFrom();
  Value one = make<ir::ConstantOp>(typeOf(from), b.getIntegerAttr(typeOf(from).getElement(), 1));
  if (wrongRule == "order")
    return iteration;
  Value done = constantInt(from) == 0 ? iteration : elementwise("sub", {iteration, from});
  return elementwise("sub", {elementwise("sub", {back.getTo(), one}), done});
}

/// The adjoint after a loop. Where an iteration passes its input adjoint `given` through unchanged
/// to its output `left`, this is the adjoint from before the loop, which may be empty.
static Adjoint afterIterations(const Adjoint &before, const Adjoint &given, const Adjoint &left,
                               const Adjoint &after) {
  if (given.value && given.value == left.value)
    return before;
  if (given.parts.empty() || left.parts.size() != given.parts.size())
    return after;
  Adjoint out;
  for (size_t i = 0; i < given.parts.size(); ++i)
    out.parts.push_back(afterIterations(i < before.parts.size() ? before.parts[i] : Adjoint(),
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
  SmallVector<Adjoint> before, given, left; // of captured values
  for (Value value : captured) {
    before.push_back(adjoints.lookup(value));
    initial.push_back(whole(before.back(), value.getType()));
  }
  if (failedAt)
    return op->emitError() << "the length of an array must be known for a gradient";
  Value zero = loop ? Value() : wholeNumber(0);
  // The trip count of a `for` is known before it runs; a `while` will count its iterations.
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
  Originals originals; // of the recomputed ops
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&back.getBody());
    block->addArgument(from.getType(), loc);
    for (Type type : types)
      block->addArgument(type, loc);
    IRMapping mapping;
    if (loop)
      mapping.map(body.getArgument(0), iterationOf(back));
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
    // Folds extractions from placeholders to the leaves.
    back.walk([&](ir::GetOp get) {
      if (auto made = get.getAggregate().getDefiningOp<ir::MakeOp>()) {
        get.replaceAllUsesWith(made.getParts()[get.getPart()]);
        erase(get);
      }
    });
    dropUnused(*block);
  }

  // Otherwise a stack may be longer than the number of iterations.
  bool isCounted = loop && !op->hasAttr(ir::kIterations);
  if (failed(keepStates(op, back, pending, paths, originals)))
    return failure();
  SmallVector<Value> matmuls(captured.size());
  if (isCounted)
    matmuls = matmulsOfIterations(back, static_cast<unsigned>(slots.size()), before);
  for (auto [k, value] : llvm::enumerate(captured)) {
    Value after = back.getResult(static_cast<unsigned>(slots.size() + k));
    if (matmuls[k]) // no iteration adds to it any more
      left[k] = given[k];
    adjoints[value] = afterIterations(before[k], given[k], left[k], apart(after, value.getType()));
    if (matmuls[k])
      contribute(value, matmuls[k]);
  }
  for (auto [k, slot] : llvm::enumerate(slots))
    contribute(carried[slot],
               apart(back.getResult(static_cast<unsigned>(k)), carried[slot].getType()));
  return success();
}

} // namespace mx::graph
