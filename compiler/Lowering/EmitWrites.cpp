// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops whose result is written in several parts: concat, update, and draws of the runtime.
#include "Lowering/EmitKernel.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

/// The one output that is the op's own result; such ops take no epilogue.
FailureOr<unsigned> ownOutput(Operation *op, const OutputGroup &group) {
  if (group.outputs.size() != 1 || group.outputs[0].value != op->getResult(0))
    return op->emitOpError() << "must be the last op of its kernel";
  return group.outputs[0].index;
}

LogicalResult emitConcat(KernelEmitter &e, ConcatOp op, const Buffer &out) {
  Evaluator evaluator(e);
  evaluator.prepare(op.getParts());
  auto axis = static_cast<size_t>(op.getAxis());
  Value start = e.number(0);
  for (Value part : op.getParts()) {
    auto type = cast<TensorType>(part.getType());
    e.nest(e.sizesOf(type), [&](Indices place) {
      Evaluator::Scope scope(evaluator);
      SmallVector<Value> to(place);
      to[axis] = e.add(to[axis], start);
      e.store(out, to, evaluator.at(part, place));
    });
    start = e.add(start, e.size(type.getSizes()[axis]));
  }
  return success();
}

/// A copy of x, then the part over it.
LogicalResult emitUpdate(KernelEmitter &e, UpdateOp op, const Buffer &out) {
  Evaluator evaluator(e);
  SmallVector<Value> roots{op.getX(), op.getValue()};
  llvm::append_range(roots, op.getAt());
  evaluator.prepare(roots);
  SmallVector<Value> numbers;
  for (Value v : op.getAt())
    numbers.push_back(emitCast(e, evaluator.at(v, {}), cast<TensorType>(v.getType()).getElement(),
                               e.b.getI64Type()));
  SmallVector<AxisPlan> plans = planIndexing(e, op.getX().getType(), op.getSpec(), numbers);
  e.nest(e.sizesOf(op.getType()), [&](Indices place) {
    Evaluator::Scope scope(evaluator);
    e.store(out, place, evaluator.at(op.getX(), place));
  });
  SmallVector<Value> sizes;
  for (const AxisPlan &plan : plans)
    if (plan.step || !plan.start)
      sizes.push_back(plan.count);
  TensorType value = op.getValue().getType();
  if (value.rank() > sizes.size())
    return op.emitOpError() << "has a value of more axes than the part it replaces";
  // Sizes of the value are 1 or those of the part; ranges of the run are known only now.
  size_t skip = sizes.size() - value.rank();
  for (auto [i, size] : llvm::enumerate(value.getSizes()))
    if (size.constant() != 1) {
      Value wanted = sizes[skip + i], have = e.size(size);
      e.failIf(e.compare(arith::CmpIPredicate::ne, wanted, have), Code::Shape,
               {"the part has ", wanted, " elements along an axis, the value ", have});
    }
  e.nest(sizes, [&](Indices place) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> to, from;
    for (auto [i, size] : llvm::enumerate(value.getSizes()))
      from.push_back(size.constant() == 1 ? e.number(0) : place[skip + i]);
    size_t next = 0;
    for (const AxisPlan &plan : plans) {
      if (!plan.start)
        ++next; // a new axis is not in x
      else if (!plan.step)
        to.push_back(plan.start);
      else
        to.push_back(e.add(plan.start, e.mul(place[next++], plan.step)));
    }
    e.store(out, to, evaluator.at(op.getValue(), from));
  });
  return success();
}

/// The runtime's generator, started at seed and counter.
LogicalResult emitRandom(KernelEmitter &e, RandomOp op, const Buffer &out) {
  Evaluator evaluator(e);
  SmallVector<Value> roots{op.getSeed(), op.getCounter()};
  llvm::append_range(roots, op.getParameters());
  evaluator.prepare(roots);
  Type i64 = e.b.getI64Type();
  auto scalar = [&](Value v, Type as) {
    return emitCast(e, evaluator.at(v, {}), cast<TensorType>(v.getType()).getElement(), as);
  };
  Buffer stream = e.scratch(i64, 2); // mxrt_rng: key, position
  e.call("mxrt_rng_seed", {stream.address, scalar(op.getSeed(), i64)});
  e.store(stream, {e.number(1)}, scalar(op.getCounter(), i64));
  Type element = op.getType().getElement();
  StringRef kind = op.getKind();
  Value count = e.elementCount(op.getType());
  std::string function;
  SmallVector<Value> arguments{e.context, stream.address};
  auto parameters = [&](Type as) {
    for (Value v : op.getParameters())
      arguments.push_back(scalar(v, as));
  };
  if ((kind == "uniform" || kind == "normal") && (element.isF32() || element.isF64())) {
    function = "mxrt_random_" + kind.str() + (element.isF32() ? "_f32" : "_f64");
    parameters(element);
  } else if (kind == "bernoulli") {
    function = "mxrt_random_bernoulli";
    parameters(e.b.getF64Type());
  } else if (kind == "randint" && element.isInteger(32)) {
    function = "mxrt_random_uniform_i32";
    parameters(element);
  } else if (kind == "permutation" && element.isInteger(32)) {
    function = "mxrt_random_permutation_i32";
  } else {
    return op.emitOpError() << "cannot draw `" << kind << "` of " << element << " in a graph yet";
  }
  arguments.push_back(count);
  arguments.push_back(out.address);
  e.failWith(e.call(function, arguments));
  return success();
}

} // namespace

LogicalResult emitWrites(KernelEmitter &e, const OutputGroup &group) {
  Operation *op = group.sources[0];
  FailureOr<unsigned> index = ownOutput(op, group);
  if (failed(index))
    return failure();
  e.b.setLoc(op->getLoc());
  const Buffer &out = e.output(*index);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return emitConcat(e, concat, out);
  if (auto update = dyn_cast<UpdateOp>(op))
    return emitUpdate(e, update, out);
  return emitRandom(e, cast<RandomOp>(op), out);
}

} // namespace mx::lowering
