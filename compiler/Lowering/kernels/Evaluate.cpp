// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates elements of values at an index: fusion of pointwise ops, gathers, reshapes and col2im.
#include "Lowering/kernels/Evaluate.h"
#include "dialects/mx/Marks.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {

SmallVector<Operation *> operationsBehind(ValueRange roots, bool pointwise) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> work, out;
  auto visit = [&](Value v) {
    if (Operation *op = v.getDefiningOp(); op && seen.insert(op).second)
      work.push_back(op);
  };
  for (Value v : roots)
    visit(v);
  while (!work.empty())
    if (Operation *op = work.pop_back_val(); !pointwise || isPointwise(op))
      for (Value v : op->getOperands())
        visit(v);
  if (seen.empty())
    return out;
  for (Operation &op : *(*seen.begin())->getBlock())
    if (seen.contains(&op))
      out.push_back(&op);
  return out;
}

SmallVector<Value> broadcastFrom(KernelEmitter &e, TensorType operand, Indices indices) {
  SmallVector<Value> out;
  size_t skip = indices.size() - operand.rank();
  for (auto [i, size] : llvm::enumerate(operand.getSizes()))
    out.push_back(size.constant() == 1 ? e.number(0) : indices[skip + i]);
  return out;
}

/// An axis of size 1 has one index, however it is written.
static std::pair<void *, std::vector<void *>> keyOf(Value value, Indices indices) {
  ArrayRef<SizeAttr> sizes = cast<TensorType>(value.getType()).getSizes();
  std::vector<void *> parts;
  for (auto [v, size] : llvm::zip_equal(indices, sizes))
    parts.push_back(size.constant() == 1 ? nullptr : v.getAsOpaquePointer());
  return {value.getAsOpaquePointer(), std::move(parts)};
}

void Evaluator::bind(Value value, Indices indices, Value element) {
  known[keyOf(value, indices)] = element;
}

void Evaluator::prepare(ValueRange roots) {
  llvm::SmallPtrSet<Operation *, 8> late; // known only inside a loop
  for (Operation *op : operationsBehind(roots)) {
    bool isLate =
        !isPointwise(op) && !isa<UpdateOp, ConcatOp, RandomOp, ScatterAddOp, RoutineOp>(op);
    for (Value operand : op->getOperands())
      isLate |= operand.getDefiningOp() && late.contains(operand.getDefiningOp());
    if (isLate) {
      late.insert(op);
      continue;
    }
    e.b.setLoc(op->getLoc());
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand) && isScalarTensor(operand.getType()))
        at(operand, {});
    auto numbersAt = [&](ValueRange at) {
      SmallVector<Value> out;
      for (Value v : at)
        out.push_back(emitCast(e, this->at(v, {}), cast<TensorType>(v.getType()).getElement(),
                               e.b.getI64Type()));
      return out;
    };
    if (auto slice = dyn_cast<SliceOp>(op))
      plans[op] =
          planIndexing(e, slice.getX().getType(), slice.getSpec(), numbersAt(slice.getAt()));
    else if (auto update = dyn_cast<UpdateOp>(op))
      plans[op] =
          planIndexing(e, update.getX().getType(), update.getSpec(), numbersAt(update.getAt()));
    else if (auto take = dyn_cast<TakeOp>(op))
      checkIndices(take, take.getIndex(), take.getX().getType(), take.getAxis());
    else if (auto scatter = dyn_cast<ScatterAddOp>(op))
      checkIndices(scatter, scatter.getIndex(), scatter.getX().getType(), scatter.getAxis());
    if (auto slice = dyn_cast<SliceOp>(op)) {
      // The loops run over the type's sizes: these must match those of the ranges.
      size_t axis = 0;
      for (const AxisPlan &part : plans[op]) {
        if (part.count && part.step) {
          Value size = e.size(slice.getType().getSizes()[axis]);
          if (part.count != size)
            e.failIf(e.compare(arith::CmpIPredicate::ne, part.count, size), Code::SHAPE,
                     {"the range has ", part.count, " elements, not ", size});
        }
        axis += part.step || !part.start;
      }
    }
    if (op->getNumResults() == 1 && isPointwise(op) && isScalarTensor(op->getResult(0).getType()))
      at(op->getResult(0), {});
  }
}

SmallVector<Value> Evaluator::all(ValueRange roots, Indices indices) {
  // Operands before users, so that long chains need no deep recursion.
  for (Operation *op : operationsBehind(roots, /*pointwise=*/true))
    if (op->hasTrait<Elementwise>() && op->getResult(0).getType() != Type() && !roots.empty() &&
        cast<TensorType>(op->getResult(0).getType()).getSizes() ==
            cast<TensorType>(roots[0].getType()).getSizes() &&
        llvm::all_of(op->getOperands(), [&](Value v) {
          return !v.getDefiningOp() ||
                 known.contains(
                     keyOf(v, broadcastFrom(e, cast<TensorType>(v.getType()), indices))) ||
                 !v.getDefiningOp()->hasTrait<Elementwise>();
        }))
      at(op->getResult(0), indices);
  SmallVector<Value> out;
  for (Value root : roots)
    out.push_back(at(root, indices));
  return out;
}

Value Evaluator::at(Value value, Indices indices) {
  auto key = keyOf(value, indices);
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Value element;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    element = e.load(e.input(argument), indices);
  } else {
    Location before = e.b.getLoc();
    e.b.setLoc(value.getLoc());
    element = compute(value.getDefiningOp(), indices);
    e.b.setLoc(before);
  }
  known[std::move(key)] = element;
  return element;
}

Value Evaluator::compute(Operation *op, Indices indices) {
  auto type = cast<TensorType>(op->getResult(0).getType());
  if (op->hasTrait<Elementwise>()) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          at(operand, broadcastFrom(e, cast<TensorType>(operand.getType()), indices)));
    return emitElementwise(e, op, operands);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return at(broadcast.getX(), broadcastFrom(e, broadcast.getX().getType(), indices));
  if (auto full = dyn_cast<FullOp>(op))
    return at(full.getValue(), {});
  if (isa<IotaOp>(op))
    return emitCast(e, indices[0], e.b.getI64Type(), type.getElement());
  if (auto size = dyn_cast<SizeOp>(op))
    return e.size(size.getSize());
  if (auto to = dyn_cast<ToDeviceOp>(op))
    return at(to.getX(), indices);
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<Value> from(indices.size());
    for (auto [i, axis] : llvm::enumerate(transpose.getOrder()))
      from[axis] = indices[i];
    return at(transpose.getX(), from);
  }
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    if (isa<DenseElementsAttr>(constant.getValue()))
      return e.load(e.constantBuffer(constant), indices);
    Type code = e.codeType(type.getElement());
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      return e.constant(code, IntegerAttr::get(code, number.getValue()));
    return e.constant(code, constant.getValue());
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshaped(reshape, indices);
  if (auto windows = dyn_cast<WindowsOp>(op))
    return underWindow(windows, indices);
  if (auto fold = dyn_cast<FoldOp>(op))
    return folded(fold, indices);
  if (auto take = dyn_cast<TakeOp>(op))
    return at(take.getX(),
              takenIndices(take.getIndex(), take.getX().getType(), take.getAxis(), indices));
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice) {
    op->emitOpError() << "is read before its loops have computed it";
    e.isBroken = true;
    return e.constantOf(e.codeType(type.getElement()), 0);
  }
  SmallVector<Value> from;
  size_t axis = 0;
  for (const AxisPlan &part : plans[op]) {
    if (!part.start) { // a new axis
      ++axis;
    } else if (!part.step) {
      from.push_back(part.start);
    } else {
      Value index = indices[axis++];
      from.push_back(part.step == e.number(1) && part.start == e.number(0)
                         ? index
                         : e.add(part.start, e.mul(index, part.step)));
    }
  }
  return at(slice.getX(), from);
}

/// The index of the same element in another shape: the last axes that both share keep theirs.
Value Evaluator::reshaped(ReshapeOp op, Indices indices) {
  TensorType from = op.getX().getType(), to = op.getType();
  auto linearOf = [&](size_t axes) {
    Value linear;
    for (size_t i = 0; i < axes; ++i)
      if (SizeAttr size = to.getSizes()[i]; size.constant() != 1)
        linear = linear ? e.add(e.mul(linear, e.size(size)), indices[i]) : indices[i];
    return linear ? linear : e.number(0);
  };
  if (auto argument = dyn_cast<BlockArgument>(op.getX())) {
    if (!e.isStrided(argument)) {
      Buffer flat = e.input(argument);
      flat.strides = {e.number(1)};
      return e.load(flat, linearOf(to.rank()));
    }
  }
  SmallVector<Value> at(from.rank(), e.number(0));
  size_t own = to.rank(), others = from.rank();
  for (; own > 0 && others > 0 && to.getSizes()[own - 1] == from.getSizes()[others - 1]; --own)
    at[--others] = indices[own - 1];
  Value linear = linearOf(own);
  std::optional<size_t> first;
  for (size_t i = others; i-- > 0;)
    if (from.getSizes()[i].constant() != 1)
      first = i;
  for (size_t i = others; first && i-- > *first;) {
    if (from.getSizes()[i].constant() == 1)
      continue;
    if (i == *first) {
      at[i] = linear;
      break;
    }
    // There is an element, so no size is 0.
    Value size = e.size(from.getSizes()[i]);
    Value whole = arith::DivUIOp::create(e.b, linear, size);
    at[i] = e.sub(linear, e.mul(whole, size));
    linear = whole;
  }
  return this->at(op.getX(), at);
}

Value Evaluator::underWindow(WindowsOp op, Indices indices) {
  size_t spatial = op.getStride().size(), lead = op.getX().getType().rank() - spatial;
  SmallVector<Value> from(indices.take_front(lead));
  for (size_t d = 0; d < spatial; ++d) {
    Value of = e.mul(indices[lead + spatial + d], e.size(cast<SizeAttr>(op.getStride()[d])));
    Value in = e.mul(indices[lead + d], e.size(cast<SizeAttr>(op.getDilation()[d])));
    from.push_back(e.add(of, in));
  }
  return at(op.getX(), from);
}

/// col2im: sums the contributions of all windows that cover the index.
Value Evaluator::folded(FoldOp op, Indices indices) {
  TensorType x = op.getX().getType();
  size_t spatial = op.getStride().size(), lead = op.getType().rank() - spatial;
  Type element = e.codeType(x.getElement()), type = element;
  bool isHalf = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  if (isHalf)
    type = e.b.getF32Type();
  Value sum = e.variable(type, e.constantOf(type, 0));
  SmallVector<Value> in, of;
  std::function<void()> deeper = [&] {
    size_t d = in.size();
    if (d == spatial) {
      Scope scope(*this);
      SmallVector<Value> from(indices.take_front(lead));
      from.append(in);
      from.append(of);
      Value more = at(op.getX(), from), before = e.read(sum, type);
      if (isHalf)
        more = arith::ExtFOp::create(e.b, type, more);
      e.write(sum, isa<FloatType>(type) ? Value(arith::AddFOp::create(e.b, before, more))
                                        : Value(arith::AddIOp::create(e.b, before, more)));
      return;
    }
    Value stride = e.size(cast<SizeAttr>(op.getStride()[d])),
          dilation = e.size(cast<SizeAttr>(op.getDilation()[d]));
    Value window = e.size(x.getSizes()[lead + d]), out = e.size(x.getSizes()[lead + spatial + d]);
    auto visit = [&](Value t, Value p) {
      in.push_back(t);
      of.push_back(p);
      deeper();
      in.pop_back();
      of.pop_back();
    };
    auto visitUnder = [&](Value t) {
      Value distance = e.sub(indices[lead + d], e.mul(t, dilation));
      Value p = arith::DivUIOp::create(e.b, distance, stride);
      Value isUnder = arith::AndIOp::create(
          e.b, e.compare(arith::CmpIPredicate::sge, distance, e.number(0)),
          arith::AndIOp::create(e.b,
                                e.compare(arith::CmpIPredicate::eq, distance, e.mul(p, stride)),
                                e.compare(arith::CmpIPredicate::ult, p, out)));
      e.when(isUnder, [&] { visit(t, p); });
    };
    // Without dilation, only every stride-th tap can cover the index.
    std::optional<int64_t> step = e.known(stride), many = e.known(out);
    Value size = e.size(op.getType().getSizes()[lead + d]);
    if (e.known(dilation) != 1 || !step) {
      e.loop(e.number(0), window, 1, visitUnder);
    } else if (e.known(window) == step && many && e.known(size) == *many * *step) {
      // Windows do not overlap: one window covers each index.
      visit(arith::RemUIOp::create(e.b, indices[lead + d], stride),
            arith::DivUIOp::create(e.b, indices[lead + d], stride));
    } else {
      e.loop(arith::RemUIOp::create(e.b, indices[lead + d], stride), window, *step, visitUnder);
    }
  };
  deeper();
  Value result = e.read(sum, type);
  return isHalf ? Value(arith::TruncFOp::create(e.b, element, result)) : result;
}

SmallVector<Value> Evaluator::takenIndices(Value index, TensorType x, size_t axis,
                                           Indices indices) {
  auto type = cast<TensorType>(index.getType());
  Value row =
      emitCast(e, at(index, indices.slice(axis, type.rank())), type.getElement(), e.b.getI64Type());
  // Negative indices count from the end; checkIndices has verified that they are in range.
  Value negative = e.compare(arith::CmpIPredicate::slt, row, e.number(0));
  row = e.choose(negative, e.add(row, e.size(x.getSizes()[axis])), row);
  SmallVector<Value> from(indices.take_front(axis));
  from.push_back(row);
  llvm::append_range(from, indices.drop_front(axis + type.rank()));
  return from;
}

/// A pass over the indices before anything is read with them.
void Evaluator::checkIndices(Operation *op, Value indices, TensorType x, size_t axis) {
  auto index = cast<TensorType>(indices.getType());
  Type i1 = e.b.getI1Type(), i64 = e.b.getI64Type();
  Value size = e.size(x.getSizes()[axis]);
  // Class numbers do not count from the end. Eager kernels are the same for both; a negative axis
  // marks class numbers.
  auto shown = op->getAttrOfType<SizeAttr>(kShownAxis);
  Value isLabel = e.constantOf(i1, op->hasAttr(kLabels));
  if (shown)
    isLabel = e.compare(arith::CmpIPredicate::slt, e.size(shown), e.number(0));
  Value lowest = e.choose(isLabel, e.number(0), e.sub(e.number(0), size));
  Value bad = e.variable(i1, e.constantOf(i1, 0)), badIndex = e.variable(i64, e.number(0));
  // If there is nothing to read, no index is checked, as an empty result has no element.
  e.nest(e.sizesOf(index), [&](Indices position) {
    Scope scope(*this);
    Value row = emitCast(e, at(indices, position), index.getElement(), i64);
    Value outside = arith::OrIOp::create(e.b, e.compare(arith::CmpIPredicate::slt, row, lowest),
                                         e.compare(arith::CmpIPredicate::sge, row, size));
    Value before = e.read(bad, i1);
    e.write(badIndex, e.choose(before, e.read(badIndex, i64), row));
    e.write(bad, arith::OrIOp::create(e.b, before, outside));
  });
  if (shown || op->hasAttr(kLabels))
    e.failIf(arith::AndIOp::create(e.b, isLabel, e.read(bad, i1)), Code::INDEX,
             {"label ", e.read(badIndex, i64), " is out of range for ", size, " classes"});
  if (op->hasAttr(kLabels))
    return;
  MessagePart number = shown ? MessagePart(e.size(shown)) : MessagePart(std::to_string(axis));
  e.failIf(
      e.read(bad, i1), Code::INDEX,
      {"index ", e.read(badIndex, i64), " is out of range for axis ", number, " of size ", size});
}

} // namespace mx::lowering
