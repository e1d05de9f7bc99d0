// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements. Ops that only read at other indices are pointwise (Evaluate.cpp); here
// are the indices of slices, concat and update, and the tiled transpose.
#include "Lowering/kernels/EmitKernel.h"
#include "dialects/mx/Over.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {

SmallVector<AxisPlan> planIndexing(KernelEmitter &e, TensorType x, ArrayAttr spec,
                                   ArrayRef<Value> at) {
  Value zero = e.number(0), one = e.number(1), minus = e.number(-1);
  SmallVector<AxisPlan> plans;
  size_t axis = 0;
  std::optional<SmallVector<SpecEntry>> entries = readSpec(spec);
  for (const SpecEntry &entry : *entries) {
    if (entry.kind == SpecEntry::New) {
      plans.push_back({Value(), Value(), one});
      continue;
    }
    Value size = e.size(x.getSizes()[axis]);
    std::string axisName = std::to_string(axis++);
    auto next = [&] {
      Value value = at.front();
      at = at.drop_front();
      return value;
    };
    // Negative indices count from the end; all are in [-size, last].
    auto wrapped = [&](Value index, Value last) {
      Value outside =
          arith::OrIOp::create(e.b, e.compare(CmpIPredicate::slt, index, e.sub(zero, size)),
                               e.compare(CmpIPredicate::sgt, index, last));
      e.failIf(outside, Code::INDEX,
               {"index ", index, " is out of range for axis ", MessagePart(axisName), " of size ",
                size});
      Value negative = e.compare(CmpIPredicate::slt, index, zero);
      return e.choose(negative, e.add(index, size), index);
    };
    if (entry.kind == SpecEntry::Index) {
      plans.push_back({wrapped(next(), e.sub(size, one)), Value(), Value()});
      continue;
    }
    if (entry.kind == SpecEntry::Whole || (!entry.from && !entry.to && !entry.step)) {
      plans.push_back({zero, one, size});
      continue;
    }
    Value from = entry.from ? next() : Value(), to = entry.to ? next() : Value();
    if (!entry.step) {
      from = from ? wrapped(from, size) : zero;
      to = to ? wrapped(to, size) : size;
      Value distance = e.sub(to, from);
      Value empty = e.compare(CmpIPredicate::slt, distance, zero);
      plans.push_back({from, one, e.choose(empty, zero, distance)});
      continue;
    }
    Value step = next();
    e.failIf(e.compare(CmpIPredicate::eq, step, zero), Code::INDEX,
             MessagePart("the step of a range is 0"));
    // A backward range begins at its last element, and ends before the first.
    Value back = e.compare(CmpIPredicate::slt, step, zero);
    Value last = e.choose(back, e.sub(size, one), size);
    from = from ? wrapped(from, last) : e.choose(back, e.sub(size, one), zero);
    to = to ? wrapped(to, last) : e.choose(back, minus, size);
    Value distance = e.choose(back, e.sub(from, to), e.sub(to, from));
    Value stride = e.choose(back, e.sub(zero, step), step);
    Value count = e.add(arith::DivUIOp::create(e.b, e.sub(distance, one), stride), one);
    Value empty = e.compare(CmpIPredicate::sle, distance, zero);
    plans.push_back({from, step, e.choose(empty, zero, count)});
  }
  return plans;
}

/// Copies the parts one after the other, each with loops of its own.
static void emitConcat(KernelEmitter &e, ConcatOp op, const Output &output) {
  Evaluator evaluator(e);
  evaluator.prepare(op.getParts());
  auto axis = static_cast<size_t>(op.getAxis());
  Value before = e.number(0);
  for (Value part : op.getParts()) {
    auto type = cast<TensorType>(part.getType());
    e.parallelFor(e.sizesOf(type), e.number(e.workOfElement()), [&](Indices indices) {
      Evaluator::Scope scope(evaluator);
      SmallVector<Value> to(indices);
      to[axis] = e.add(before, to[axis]);
      e.store(e.output(output.index), to, evaluator.at(part, indices));
    });
    before = e.add(before, e.size(type.getSizes()[axis]));
  }
}

void copyFirst(KernelEmitter &e, Evaluator &evaluator, Value x, const Output &output) {
  ArrayRef<int64_t> over = writesOver(e.kernel);
  auto argument = dyn_cast<BlockArgument>(x);
  if (argument && output.index < over.size() && over[output.index] == argument.getArgNumber())
    return;
  e.parallelFor(e.sizesOf(cast<TensorType>(x.getType())), e.number(e.workOfElement()),
                [&](Indices indices) {
                  Evaluator::Scope scope(evaluator);
                  e.store(e.output(output.index), indices, evaluator.at(x, indices));
                });
}

/// Copies x, then writes the replaced part.
static void emitUpdate(KernelEmitter &e, UpdateOp op, const Output &output) {
  Evaluator evaluator(e);
  evaluator.prepare(output.value);
  TensorType value = op.getValue().getType();
  SmallVector<AxisPlan> plans = evaluator.plan(op);
  SmallVector<Value> counts;
  for (const AxisPlan &plan : plans)
    if (plan.count)
      counts.push_back(plan.count);
  e.b.setLoc(op.getLoc());
  for (size_t back = 1; back <= value.rank(); ++back) {
    SizeAttr size = value.getSizes()[value.rank() - back];
    if (size.constant() == 1)
      continue;
    Value has = e.size(size), wanted = counts[counts.size() - back];
    e.failIf(e.compare(CmpIPredicate::ne, has, wanted), Code::SHAPE,
             {"a value of size ", has, " does not fit a part of size ", wanted});
  }
  const Buffer &out = e.output(output.index);
  copyFirst(e, evaluator, op.getX(), output);
  e.parallelFor(counts, e.number(e.workOfElement()), [&](Indices indices) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> to;
    size_t axis = 0;
    for (const AxisPlan &plan : plans) {
      if (!plan.start)
        ++axis;
      else if (!plan.step)
        to.push_back(plan.start);
      else
        to.push_back(e.add(plan.start, e.mul(indices[axis++], plan.step)));
    }
    e.store(out, to, evaluator.at(op.getValue(), broadcastFrom(e, value, indices)));
  });
}

namespace {

/// Tiled transpose: the loops of a large transpose. Its result is written in order. Read that way,
/// one element or run after the other, x is accessed on as many cache lines as the last moved axis
/// is long, far apart. So that axis is cut into tiles, and each tile is traversed along the axis
/// that is contiguous in x: a few streams, which the hardware prefetcher follows.
struct TiledTranspose {
  static constexpr int64_t kPart = 16;
  size_t last = 0;   ///< the last permuted axis of the result; a contiguous run follows
  size_t stream = 0; ///< the axis of the result along which x is read
};

std::optional<TiledTranspose> tiledTransposeOf(KernelEmitter &e, const OutputGroup &group) {
  Value root = group.outputs[0].value;
  auto transpose = root.getDefiningOp<TransposeOp>();
  if (group.outputs.size() != 1 || !transpose)
    return std::nullopt;
  Value from = transpose.getX();
  while (isa_and_nonnull<SliceOp, ReshapeOp>(from.getDefiningOp()))
    from = from.getDefiningOp()->getOperand(0);
  TensorType type = transpose.getType();
  std::optional<int64_t> count = e.known(e.elementCount(type));
  int64_t bits = e.memoryType(type.getElement()).getIntOrFloatBitWidth();
  if (!isa<BlockArgument>(from) || !count || *count / 8 * bits < e.target.keptBytes)
    return std::nullopt;
  ArrayRef<int64_t> order = transpose.getOrder();
  size_t moved = order.size(); // axes before the run
  while (moved > 0 && order[moved - 1] == static_cast<int64_t>(moved) - 1)
    --moved;
  if (moved < 2)
    return std::nullopt;
  auto stream = llvm::find(order, static_cast<int64_t>(moved) - 1) - order.begin();
  return TiledTranspose{moved - 1, static_cast<size_t>(stream)};
}

} // namespace

bool emitTiledTranspose(KernelEmitter &e, const OutputGroup &group) {
  std::optional<TiledTranspose> transpose = tiledTransposeOf(e, group);
  if (!transpose)
    return false;
  Evaluator evaluator(e);
  Value root = group.outputs[0].value;
  evaluator.prepare(root);
  SmallVector<Value> sizes = e.sizesOf(cast<TensorType>(root.getType())), outer;
  SmallVector<size_t> axes;
  int64_t run = 1, extent = *e.known(sizes[transpose->last]);
  for (size_t axis = 0; axis < transpose->last; ++axis)
    if (axis != transpose->stream)
      axes.push_back(axis);
  axes.append({transpose->last, transpose->stream});
  for (size_t axis : axes)
    outer.push_back(axis == transpose->last
                        ? e.number(llvm::divideCeil(extent, TiledTranspose::kPart))
                        : sizes[axis]);
  ArrayRef<Value> inner = ArrayRef(sizes).drop_front(transpose->last + 1);
  for (Value size : inner)
    run *= *e.known(size);
  e.parallelFor(outer, e.number(e.workOfElement() * run * TiledTranspose::kPart), [&](Indices at) {
    SmallVector<Value> indices(sizes.size());
    for (auto [axis, index] : llvm::zip_equal(axes, at))
      indices[axis] = index;
    Value begin = e.mul(indices[transpose->last], e.number(TiledTranspose::kPart));
    Value end = e.add(begin, e.number(TiledTranspose::kPart));
    if (extent % TiledTranspose::kPart != 0)
      end = e.min(end, e.number(extent));
    e.loop(begin, end, 1, [&](Value i) {
      e.nest(inner, [&](Indices behind) {
        Evaluator::Scope scope(evaluator);
        SmallVector<Value> to(indices);
        to[transpose->last] = i;
        llvm::copy(behind, to.begin() + static_cast<std::ptrdiff_t>(transpose->last) + 1);
        e.store(e.output(group.outputs[0].index), to, evaluator.at(root, to));
      });
    });
  });
  return true;
}

LogicalResult emitMovement(KernelEmitter &e, const OutputGroup &group) {
  Operation *source = group.sources[0];
  for (const Output &output : group.outputs) {
    if (output.value.getDefiningOp() != source)
      return source->emitOpError() << "must be the last op of its kernel";
    if (auto concat = dyn_cast<ConcatOp>(source)) {
      emitConcat(e, concat, output);
      continue;
    }
    auto update = cast<UpdateOp>(source);
    size_t rank = 0;
    std::optional<SmallVector<SpecEntry>> spec = readSpec(update.getSpec());
    for (const SpecEntry &entry : *spec)
      rank += entry.kind != SpecEntry::Index;
    if (update.getValue().getType().rank() > rank)
      return update.emitOpError() << "its value has more axes than the part it replaces";
    emitUpdate(e, update, output);
  }
  return success();
}

} // namespace mx::lowering
