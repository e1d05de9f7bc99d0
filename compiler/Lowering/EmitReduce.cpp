// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions. What is reduced is computed on the fly, and ops on the result follow it at once.
//
// The order of a reduction depends on its shape and axes alone, not on vectors, threads, strides or
// on what is fused with it. Neighbouring reduced axes count as one, in row-major order. The last of
// these is cut into blocks of 2048 elements. In a block element r belongs to lane r % 64; a lane is
// reduced in order, then lanes l and l + 32 are combined, l and l + 16, and so on down to one. 64
// blocks are combined in order, then the results of these, over all further reduced axes. So a
// million numbers are added up in chains of about a hundred, which keeps sums exact enough.
//
// Floats of 16 bits are accumulated in f32 and rounded at the end.
#include "Lowering/EmitKernel.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

constexpr int64_t kLanes = 64, kBlock = 2048, kBlocks = 64 * kBlock;
/// Columns that are reduced side by side where the innermost axis is kept.
constexpr int64_t kTile = 32;

/// One element under way: a value, and its place for argmax and argmin.
struct Partial {
  Value value, index = {};
};

/// What one op does to its elements.
class Combiner {
public:
  Combiner(KernelEmitter &e, Operation *op)
      : op(op), e(e), element(cast<TensorType>(op->getOperand(0).getType()).getElement()) {
    isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
    type = e.codeType(element);
    if (isa<AnyOp, AllOp>(op))
      type = e.b.getI1Type();
    else if (isFloatElement(element) && type.getIntOrFloatBitWidth() == 16)
      type = e.b.getF32Type();
  }

  Operation *op;
  Type type; ///< what is accumulated

  bool hasIndex() const { return isa<ArgmaxOp, ArgminOp>(op); }
  /// There is a result for no elements.
  bool hasEmpty() const { return !isa<MaxOp, MinOp, ArgmaxOp, ArgminOp>(op); }
  Partial identity(Value isEmpty);
  Partial first(Value x, Value index);
  Partial combine(Partial x, Partial y);
  /// As an element of the op's result.
  Value result(Partial x);

private:
  KernelEmitter &e;
  Type element;
  bool isUnsigned;

  bool isFloat() const { return isa<FloatType>(type); }
  Value limit(bool largest);
  Value isBetter(Partial x, Partial y);
};

Value Combiner::limit(bool largest) {
  if (isFloat()) {
    double infinity = std::numeric_limits<double>::infinity();
    return e.constantOf(type, largest ? infinity : -infinity);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  using llvm::APInt;
  APInt value = largest
                    ? (isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width))
                    : (isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width));
  return e.constant(type, IntegerAttr::get(type, value));
}
Partial Combiner::identity(Value isEmpty) {
  if (isa<SumOp>(op)) {
    // -0.0 changes nothing, while 0.0 would turn -0.0 into itself.
    if (isFloat())
      return {e.choose(isEmpty, e.constantOf(type, 0), e.constantOf(type, -0.0)), {}};
    return {e.constantOf(type, 0), {}};
  }
  if (isa<ProdOp, AllOp>(op))
    return {e.constantOf(type, 1), {}};
  if (isa<AnyOp>(op))
    return {e.constantOf(type, 0), {}};
  Value index;
  if (hasIndex()) // later than any place, so that this never wins
    index = e.constantOf(e.b.getI32Type(), std::numeric_limits<int32_t>::max());
  return {limit(isa<MinOp, ArgminOp>(op)), index};
}
Partial Combiner::first(Value x, Value index) {
  if (isa<AnyOp, AllOp>(op))
    return {emitCast(e, x, element, type), {}};
  if (x.getType() != type)
    x = arith::ExtFOp::create(e.b, type, x);
  if (hasIndex())
    index = arith::TruncIOp::create(e.b, e.b.getI32Type(), index);
  return {x, index};
}

/// Whether y takes the place of x: it is larger (smaller), or the first NaN, or equal and earlier.
Value Combiner::isBetter(Partial x, Partial y) {
  bool largest = isa<ArgmaxOp>(op);
  Value earlier = e.compare(CmpIPredicate::slt, y.index, x.index);
  if (!isFloat()) {
    CmpIPredicate beyond = largest ? (isUnsigned ? CmpIPredicate::ugt : CmpIPredicate::sgt)
                                   : (isUnsigned ? CmpIPredicate::ult : CmpIPredicate::slt);
    Value equal = e.compare(CmpIPredicate::eq, x.value, y.value);
    return arith::OrIOp::create(e.b, e.compare(beyond, y.value, x.value),
                                arith::AndIOp::create(e.b, equal, earlier));
  }
  auto is = [&](CmpFPredicate p, Value a, Value b) -> Value {
    return arith::CmpFOp::create(e.b, p, a, b);
  };
  Value xIsNan = is(CmpFPredicate::UNO, x.value, x.value);
  Value yIsNan = is(CmpFPredicate::UNO, y.value, y.value);
  Value beyond = is(largest ? CmpFPredicate::OGT : CmpFPredicate::OLT, y.value, x.value);
  Value onlyY = arith::AndIOp::create(
      e.b, yIsNan, arith::XOrIOp::create(e.b, xIsNan, e.constantOf(e.b.getI1Type(), 1)));
  Value equal = arith::OrIOp::create(e.b, is(CmpFPredicate::OEQ, x.value, y.value),
                                     arith::AndIOp::create(e.b, xIsNan, yIsNan));
  return arith::OrIOp::create(e.b, arith::OrIOp::create(e.b, beyond, onlyY),
                              arith::AndIOp::create(e.b, equal, earlier));
}

Partial Combiner::combine(Partial x, Partial y) {
  auto flags = arith::FastMathFlagsAttr::get(e.b.getContext(), e.fast());
  if (hasIndex()) {
    Value better = isBetter(x, y);
    return {e.choose(better, y.value, x.value), e.choose(better, y.index, x.index)};
  }
  if (isa<SumOp>(op))
    return {isFloat() ? Value(arith::AddFOp::create(e.b, x.value, y.value, flags))
                      : e.add(x.value, y.value)};
  if (isa<ProdOp>(op))
    return {isFloat() ? Value(arith::MulFOp::create(e.b, x.value, y.value, flags))
                      : e.mul(x.value, y.value)};
  if (isa<AnyOp>(op))
    return {arith::OrIOp::create(e.b, x.value, y.value)};
  if (isa<AllOp>(op))
    return {arith::AndIOp::create(e.b, x.value, y.value)};
  if (isa<MaxOp>(op))
    return {isFloat()    ? Value(arith::MaximumFOp::create(e.b, x.value, y.value, flags))
            : isUnsigned ? Value(arith::MaxUIOp::create(e.b, x.value, y.value))
                         : Value(arith::MaxSIOp::create(e.b, x.value, y.value))};
  return {isFloat()    ? Value(arith::MinimumFOp::create(e.b, x.value, y.value, flags))
          : isUnsigned ? Value(arith::MinUIOp::create(e.b, x.value, y.value))
                       : Value(arith::MinSIOp::create(e.b, x.value, y.value))};
}
Value Combiner::result(Partial x) {
  if (hasIndex())
    return x.index;
  Type wanted = e.codeType(cast<TensorType>(op->getResult(0).getType()).getElement());
  return x.value.getType() == wanted ? x.value
                                     : Value(arith::TruncFOp::create(e.b, wanted, x.value));
}

/// Partial results on the stack.
struct Slots {
  Buffer values, indices;
  Partial load(KernelEmitter &e, Value at) const {
    return {e.load(values, at), indices.address ? e.load(indices, at) : Value()};
  }
  void store(KernelEmitter &e, Value at, Partial x) const {
    e.store(values, at, x.value);
    if (indices.address)
      e.store(indices, at, x.index);
  }
};

class Reducer {
public:
  Reducer(KernelEmitter &e, const OutputGroup &group)
      : e(e), group(group), evaluator(e),
        x(cast<TensorType>(group.sources[0]->getOperand(0).getType())) {}
  void emit();

private:
  KernelEmitter &e;
  const OutputGroup &group;
  Evaluator evaluator;
  TensorType x;
  SmallVector<Combiner> combiners;
  SmallVector<Slots> lanes, parts, totals; ///< of a block, of 64 blocks, of all
  SmallVector<Value> sizes;                ///< of x
  SmallVector<unsigned> kept;              ///< axes, without the tile
  SmallVector<SmallVector<unsigned>> runs; ///< reduced axes, neighbours together
  bool innermostKept = false;              ///< the last axis is the tile
  Value isEmpty;
  SmallVector<Value> place; ///< in x, as far as it is known

  void classifyAxes();
  void columns();
  void reduceTile(Value from, Value width);
  void reduceRun(Value linear, Value from, Value width);
  void reduceBlock(Value linear, Value block, Value count, Value from, Value width);
  void finish(Value from, Value width);
  Value runSize(ArrayRef<unsigned> run);
  void setRun(ArrayRef<unsigned> run, Value r);
  /// Calls body with each column of the tile; with 0 if there is no tile.
  void eachColumn(Value width, llvm::function_ref<void(Value)> body);
  Value slot(Value lane, Value column, bool tiled) {
    return tiled ? e.add(e.mul(lane, e.number(kTile)), column) : lane;
  }
};

void Reducer::classifyAxes() {
  auto axes = group.sources[0]->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
  sizes = e.sizesOf(x);
  place.assign(x.rank(), e.number(0));
  std::optional<unsigned> before;
  for (unsigned axis = 0; axis < x.rank(); ++axis) {
    if (!llvm::is_contained(axes, axis)) {
      kept.push_back(axis);
      continue;
    }
    if (before && *before + 1 == axis)
      runs.back().push_back(axis);
    else
      runs.push_back({axis});
    before = axis;
  }
  innermostKept = !kept.empty() && kept.back() + 1 == x.rank() && !runs.empty() &&
                  x.getSizes().back().constant() != 1;
  if (innermostKept)
    kept.pop_back();
  if (runs.empty()) // over no axis: each element is its own result
    runs.push_back({});
  Value count = e.number(1);
  for (ArrayRef<unsigned> run : runs)
    count = e.mul(count, runSize(run));
  isEmpty = e.compare(CmpIPredicate::eq, count, e.number(0));
}
Value Reducer::runSize(ArrayRef<unsigned> run) {
  Value count = e.number(1);
  for (unsigned axis : run)
    count = count == e.number(1) ? sizes[axis] : e.mul(count, sizes[axis]);
  return count;
}
/// Sets the places of a run's axes to those of its element r.
void Reducer::setRun(ArrayRef<unsigned> run, Value r) {
  while (!run.empty()) {
    unsigned axis = run.back();
    run = run.drop_back();
    if (run.empty()) {
      place[axis] = r;
      return;
    }
    // There is an element, so no size is 0.
    Value whole = arith::DivUIOp::create(e.b, r, sizes[axis]);
    place[axis] = e.sub(r, e.mul(whole, sizes[axis]));
    r = whole;
  }
}

void Reducer::emit() {
  SmallVector<Value> roots = group.values();
  evaluator.prepare(roots);
  classifyAxes();
  for (Operation *op : group.sources) {
    Combiner &c = combiners.emplace_back(e, op);
    if (!c.hasEmpty()) {
      Value some =
          e.compare(CmpIPredicate::ne, e.elementCount(cast<TensorType>(op->getResult(0).getType())),
                    e.number(0));
      e.b.setLoc(op->getLoc());
      std::string name = op->getName().stripDialect().str();
      e.failIf(arith::AndIOp::create(e.b, isEmpty, some), Code::InvalidArgument,
               MessagePart(name + " of no elements has no value"));
    }
    auto makeSlots = [&](int64_t count) {
      Slots slots{e.scratch(c.type, count), {}};
      if (c.hasIndex())
        slots.indices = e.scratch(e.b.getI32Type(), count);
      return slots;
    };
    int64_t width = innermostKept ? kTile : 1;
    lanes.push_back(makeSlots(kLanes * width));
    parts.push_back(makeSlots(width));
    totals.push_back(makeSlots(width));
  }
  SmallVector<Value> outer;
  for (unsigned axis : kept)
    outer.push_back(sizes[axis]);
  e.b.setLoc(group.sources[0]->getLoc());
  e.nest(outer, [&](Indices at) {
    for (auto [axis, index] : llvm::zip_equal(kept, at))
      place[axis] = index;
    if (innermostKept)
      columns();
    else
      reduceTile(Value(), Value());
  });
}

/// The innermost axis is kept: several columns at once, each in its own lanes. A single column is
/// a row of its own.
void Reducer::columns() {
  unsigned last = static_cast<unsigned>(x.rank()) - 1;
  Value size = sizes[last];
  auto tiles = [&] {
    e.loop(e.number(0), size, kTile, [&](Value from) {
      Value width = e.least(e.number(kTile), e.sub(size, from));
      reduceTile(from, width);
    });
  };
  if (x.getSizes()[last].constant())
    return tiles();
  e.when(
      e.compare(CmpIPredicate::eq, size, e.number(1)),
      [&] {
        place[last] = e.number(0);
        reduceTile(Value(), Value());
      },
      tiles);
}

void Reducer::eachColumn(Value width, llvm::function_ref<void(Value)> body) {
  if (!width)
    return body(e.number(0));
  e.loop(e.number(0), width, 1, body);
}

void Reducer::reduceTile(Value from, Value width) {
  for (auto [c, total] : llvm::zip_equal(combiners, totals))
    eachColumn(width, [&](Value t) { total.store(e, t, c.identity(isEmpty)); });
  // The further reduced axes in order, around the last one.
  SmallVector<Value> outer;
  for (ArrayRef<unsigned> run : ArrayRef(runs).drop_back())
    outer.push_back(runSize(run));
  e.nest(outer, [&](Indices at) {
    Value linear = e.number(0);
    for (auto [run, r] : llvm::zip(ArrayRef(runs).drop_back(), at)) {
      setRun(run, r);
      linear = e.add(e.mul(linear, runSize(run)), r);
    }
    reduceRun(e.mul(linear, runSize(runs.back())), from, width);
  });
  finish(from, width);
}

/// The last run; `linear` is the number of the elements before it.
void Reducer::reduceRun(Value linear, Value from, Value width) {
  Value size = runSize(runs.back());
  e.loop(e.number(0), size, kBlocks, [&](Value first) {
    for (auto [c, part] : llvm::zip_equal(combiners, parts))
      eachColumn(width, [&](Value t) { part.store(e, t, c.identity(isEmpty)); });
    Value end = e.least(e.add(first, e.number(kBlocks)), size);
    e.loop(first, end, kBlock, [&](Value block) {
      reduceBlock(linear, block, e.least(e.number(kBlock), e.sub(end, block)), from, width);
    });
    for (auto [c, part, total] : llvm::zip_equal(combiners, parts, totals))
      eachColumn(width,
                 [&](Value t) { total.store(e, t, c.combine(total.load(e, t), part.load(e, t))); });
  });
}

void Reducer::reduceBlock(Value linear, Value block, Value count, Value from, Value width) {
  Value zero = e.number(0), used = e.least(e.number(kLanes), count);
  bool tiled = static_cast<bool>(width);
  for (auto [c, lane] : llvm::zip_equal(combiners, lanes))
    e.loop(zero, used, 1, [&](Value l) {
      eachColumn(width, [&](Value t) { lane.store(e, slot(l, t, tiled), c.identity(isEmpty)); });
    });
  e.loop(zero, count, kLanes, [&](Value step) {
    Value left = e.least(e.number(kLanes), e.sub(count, step));
    Value base = e.add(block, step);
    e.loop(zero, left, 1, [&](Value l) {
      Value r = e.add(base, l);
      setRun(runs.back(), r);
      eachColumn(width, [&](Value t) {
        Evaluator::Scope scope(evaluator);
        if (tiled)
          place.back() = e.add(from, t);
        for (auto [c, lane] : llvm::zip_equal(combiners, lanes)) {
          e.b.setLoc(c.op->getLoc());
          Value element = evaluator.at(c.op->getOperand(0), place);
          Partial next = c.first(element, c.hasIndex() ? e.add(linear, r) : Value());
          Value at = slot(l, t, tiled);
          lane.store(e, at, c.combine(lane.load(e, at), next));
        }
      });
    });
  });
  for (auto [c, lane, part] : llvm::zip_equal(combiners, lanes, parts)) {
    // Halves of 32, 16, … 1 lanes; those that were not used are left out, which changes nothing.
    e.loop(zero, e.number(llvm::Log2_64(kLanes)), 1, [&](Value turn) {
      Value half = arith::ShRUIOp::create(e.b, e.number(kLanes / 2), turn);
      e.loop(zero, e.least(half, e.sub(used, half)), 1, [&](Value l) {
        eachColumn(width, [&](Value t) {
          Value low = slot(l, t, tiled), high = slot(e.add(l, half), t, tiled);
          lane.store(e, low, c.combine(lane.load(e, low), lane.load(e, high)));
        });
      });
    });
    eachColumn(width,
               [&](Value t) { part.store(e, t, c.combine(part.load(e, t), lane.load(e, t))); });
  }
}

/// The ops on the result, and the outputs.
void Reducer::finish(Value from, Value width) {
  auto result = cast<TensorType>(group.outputs[0].value.getType());
  bool keep = group.sources[0]->hasAttr("keep");
  auto axes = group.sources[0]->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
  eachColumn(width, [&](Value t) {
    Evaluator::Scope scope(evaluator);
    if (width)
      place.back() = e.add(from, t);
    SmallVector<Value> at;
    for (unsigned axis = 0; axis < x.rank(); ++axis) {
      bool reduced = llvm::is_contained(axes, axis);
      if (!reduced)
        at.push_back(result.getSizes()[at.size()].constant() == 1 ? e.number(0) : place[axis]);
      else if (keep)
        at.push_back(e.number(0));
    }
    for (auto [c, total] : llvm::zip_equal(combiners, totals))
      evaluator.bind(c.op->getResult(0), at, c.result(total.load(e, t)));
    SmallVector<Value> elements = evaluator.all(group.values(), at);
    for (auto [output, element] : llvm::zip_equal(group.outputs, elements))
      e.store(e.output(output.index), at, element);
  });
}

} // namespace

bool mayShareLoops(Operation *x, Operation *y) {
  if (x == y)
    return true;
  return x->hasTrait<Reduction>() && y->hasTrait<Reduction>() &&
         cast<TensorType>(x->getOperand(0).getType()).getSizes() ==
             cast<TensorType>(y->getOperand(0).getType()).getSizes() &&
         x->getAttr("axes") == y->getAttr("axes") && x->hasAttr("keep") == y->hasAttr("keep");
}

LogicalResult emitReduce(KernelEmitter &e, const OutputGroup &group) {
  auto reduced = cast<TensorType>(group.sources[0]->getResult(0).getType()).getSizes();
  for (const Output &output : group.outputs)
    if (cast<TensorType>(output.value.getType()).getSizes() != reduced)
      return group.sources[0]->emitOpError()
             << "is followed by an op of another shape, which must be in another kernel";
  for (Operation *op : group.sources)
    if (!mayShareLoops(op, group.sources[0]))
      return op->emitOpError() << "and another reduction of another shape are in one kernel";
  Reducer(e, group).emit();
  return success();
}

} // namespace mx::lowering
