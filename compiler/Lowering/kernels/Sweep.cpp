// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions in a fixed order: lanes, blocks, tree reduction.
#include "Lowering/kernels/Sweep.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {

constexpr int64_t kBlock = 2048, kBlocks = 64 * kBlock;
/// Up to this many elements are reduced fully unrolled.
constexpr int64_t kFew = 16;

Sweep::Sweep(KernelEmitter &e, Evaluator &evaluator, ArrayRef<Operation *> ops, bool tiled)
    : e(e), evaluator(evaluator), x(cast<TensorType>(ops[0]->getOperand(0).getType())) {
  classifyAxes(axesOf(ops[0]), tiled);
  for (Operation *op : ops) {
    Combiner &c = combiners.emplace_back(e, op);
    if (!c.hasEmpty()) {
      Value some =
          e.compare(CmpIPredicate::ne, e.elementCount(cast<TensorType>(op->getResult(0).getType())),
                    e.number(0));
      e.b.setLoc(op->getLoc());
      std::string name = op->getName().stripDialect().str();
      e.failIf(arith::AndIOp::create(e.b, isEmpty, some), Code::SHAPE,
               MessagePart(name + " of no elements has no value"));
    }
    auto makeSlots = [&](int64_t count) {
      Slots slots{e.scratch(c.type, count), {}};
      if (c.hasIndex())
        slots.indices = e.scratch(e.b.getI32Type(), count);
      return slots;
    };
    int64_t width = hasTile ? kTile : 1;
    lanes.push_back(makeSlots(kLanes * width));
    parts.push_back(makeSlots(width));
    totals.push_back(makeSlots(width));
  }
}

void Sweep::classifyAxes(ArrayRef<int64_t> axes, bool tiled) {
  sizes = e.sizesOf(x);
  indices.assign(x.rank(), e.number(0));
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
  hasTile = tiled && !kept.empty() && kept.back() + 1 == x.rank() && !runs.empty() &&
            x.getSizes().back().constant() != 1;
  if (hasTile)
    kept.pop_back();
  if (runs.empty()) // over no axis: each element is its own result
    runs.push_back({});
  Value count = e.number(1);
  for (ArrayRef<unsigned> run : runs)
    count = e.mul(count, runSize(run));
  isEmpty = e.compare(CmpIPredicate::eq, count, e.number(0));
}
Value Sweep::runSize(ArrayRef<unsigned> run) {
  Value count = e.number(1);
  for (unsigned axis : run)
    count = count == e.number(1) ? sizes[axis] : e.mul(count, sizes[axis]);
  return count;
}
/// Sets the indices of a run's axes to those of its element r.
void Sweep::setRun(ArrayRef<unsigned> run, Value r) {
  while (!run.empty()) {
    unsigned axis = run.back();
    run = run.drop_back();
    if (x.getSizes()[axis].constant() == 1) {
      indices[axis] = e.number(0);
      continue;
    }
    if (run.empty()) {
      indices[axis] = r;
      return;
    }
    if (std::optional<int64_t> number = e.known(r), size = e.known(sizes[axis]); number && size) {
      indices[axis] = e.number(*number % *size);
      r = e.number(*number / *size);
      continue;
    }
    // There is an element, so no size is 0.
    Value whole = arith::DivUIOp::create(e.b, r, sizes[axis]);
    indices[axis] = e.sub(r, e.mul(whole, sizes[axis]));
    r = whole;
  }
}

Value Sweep::slot(Value lane, Value column, bool tiled) {
  return tiled ? e.add(e.mul(lane, e.number(kTile)), column) : lane;
}

void Sweep::eachColumn(Value width, llvm::function_ref<void(Value)> body) {
  if (!width)
    return body(e.number(0));
  e.loop(e.number(0), width, 1, body);
}

void Sweep::run(Value from, Value width) {
  if (std::optional<int64_t> few = e.known(runSize(runs.back()));
      few && *few >= 1 && *few <= kFew && runs.size() == 1 && !before)
    return runFew(*few, from, width);
  for (auto [c, total] : llvm::zip_equal(combiners, totals))
    eachColumn(width, [&](Value t) { total.store(e, t, c.identity(isEmpty)); });
  // The further reduced axes in order, around the last one.
  SmallVector<Value> outer;
  for (ArrayRef<unsigned> run : ArrayRef(runs).drop_back())
    outer.push_back(runSize(run));
  bool anyOrder = !width && llvm::all_of(combiners, [](Combiner &c) { return c.isExact(); });
  e.nest(outer, [&](Indices at) {
    Value linear = e.number(0);
    for (auto [run, r] : llvm::zip(ArrayRef(runs).drop_back(), at)) {
      setRun(run, r);
      linear = e.add(e.mul(linear, runSize(run)), r);
    }
    if (anyOrder)
      reduceInAnyOrder();
    else
      reduceRun(e.mul(linear, runSize(runs.back())), from, width);
  });
}

/// Reduces the last run in any order.
void Sweep::reduceInAnyOrder() {
  Value zero = e.number(0);
  Type word = e.b.getI32Type();
  SmallVector<Value> signs;
  for (auto [c, part] : llvm::zip_equal(combiners, parts)) {
    part.store(e, zero, c.identity(isEmpty));
    signs.push_back(c.hasZeros() ? e.variable(word, c.noSigns()) : Value());
  }
  e.loop(zero, runSize(runs.back()), 1, [&](Value r) {
    Evaluator::Scope scope(evaluator);
    setRun(runs.back(), r);
    if (before)
      before(r);
    for (auto [c, part, sign] : llvm::zip_equal(combiners, parts, signs)) {
      e.b.setLoc(c.op->getLoc());
      Partial next = c.first(evaluator.at(c.op->getOperand(0), indices), Value());
      Partial all = part.load(e, zero);
      if (sign) {
        part.store(e, zero, {c.combineZeros(all.value, next.value)});
        e.write(sign, c.combineSigns(e.read(sign, word), next.value));
      } else {
        part.store(e, zero, c.combine(all, next));
      }
    }
  });
  for (auto [c, part, total, sign] : llvm::zip_equal(combiners, parts, totals, signs)) {
    Partial all = part.load(e, zero);
    if (sign)
      all.value = c.withSign(all.value, e.read(sign, word));
    total.store(e, zero, c.combine(total.load(e, zero), all));
  }
}

/// Reduces a few elements, fully unrolled; in the same order.
void Sweep::runFew(int64_t count, Value from, Value width) {
  eachColumn(width, [&](Value t) {
    Evaluator::Scope scope(evaluator);
    if (width)
      indices.back() = e.add(from, t);
    for (auto [c, total] : llvm::zip_equal(combiners, totals)) {
      e.b.setLoc(c.op->getLoc());
      SmallVector<Partial> lane;
      for (int64_t r = 0; r < count; ++r) {
        setRun(runs.back(), e.number(r));
        Value element = evaluator.at(c.op->getOperand(0), indices);
        lane.push_back(
            c.combine(c.identity(isEmpty), c.first(element, c.hasIndex() ? e.number(r) : Value())));
      }
      for (int64_t half = kLanes / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < std::min(half, count - half); ++l)
          lane[static_cast<size_t>(l)] =
              c.combine(lane[static_cast<size_t>(l)], lane[static_cast<size_t>(l + half)]);
      Partial part = c.combine(c.identity(isEmpty), lane[0]);
      total.store(e, t, c.combine(c.identity(isEmpty), part));
    }
  });
}

/// Reduces the last run; `linear` is the number of the elements before it.
void Sweep::reduceRun(Value linear, Value from, Value width) {
  Value size = runSize(runs.back());
  e.loop(e.number(0), size, kBlocks, [&](Value first) {
    for (auto [c, part] : llvm::zip_equal(combiners, parts))
      eachColumn(width, [&](Value t) { part.store(e, t, c.identity(isEmpty)); });
    Value end = e.min(e.add(first, e.number(kBlocks)), size);
    e.loop(first, end, kBlock, [&](Value block) {
      reduceBlock(linear, block, e.min(e.number(kBlock), e.sub(end, block)), from, width);
    });
    for (auto [c, part, total] : llvm::zip_equal(combiners, parts, totals))
      eachColumn(width,
                 [&](Value t) { total.store(e, t, c.combine(total.load(e, t), part.load(e, t))); });
  });
}

void Sweep::reduceBlock(Value linear, Value block, Value count, Value from, Value width) {
  Value zero = e.number(0), used = e.min(e.number(kLanes), count);
  bool tiled = static_cast<bool>(width);
  for (auto [c, lane] : llvm::zip_equal(combiners, lanes))
    e.loop(zero, used, 1, [&](Value l) {
      eachColumn(width, [&](Value t) { lane.store(e, slot(l, t, tiled), c.identity(isEmpty)); });
    });
  std::optional<int64_t> all = e.known(runSize(runs.back()));
  bool isEven = all && *all % kLanes == 0;
  e.loop(zero, count, kLanes, [&](Value step) {
    // Loops of a known length are vectorised without a remainder loop.
    Value left = isEven ? e.number(kLanes) : e.min(e.number(kLanes), e.sub(count, step));
    Value base = e.add(block, step);
    if (ahead)
      ahead(base);
    e.loop(zero, left, 1, [&](Value l) {
      Value r = e.add(base, l);
      setRun(runs.back(), r);
      eachColumn(width, [&](Value t) {
        Evaluator::Scope scope(evaluator);
        if (tiled)
          indices.back() = e.add(from, t);
        if (before)
          before(r);
        for (auto [c, lane] : llvm::zip_equal(combiners, lanes)) {
          e.b.setLoc(c.op->getLoc());
          Value element = evaluator.at(c.op->getOperand(0), indices);
          Partial next = c.first(element, c.hasIndex() ? e.add(linear, r) : Value());
          Value at = slot(l, t, tiled);
          lane.store(e, at, c.combine(lane.load(e, at), next));
        }
      });
    });
  });
  for (auto [c, lane, part] : llvm::zip_equal(combiners, lanes, parts)) {
    if (isEven && !tiled && isa<FloatType>(c.type) && !c.hasIndex()) {
      part.store(e, zero, c.combine(part.load(e, zero), reduceLanes(c, lane)));
      continue;
    }
    // Halves of 32, 16, … 1 lanes; unused lanes are skipped, which changes nothing.
    e.loop(zero, e.number(llvm::Log2_64(kLanes)), 1, [&](Value iteration) {
      Value half = arith::ShRUIOp::create(e.b, e.number(kLanes / 2), iteration);
      e.loop(zero, e.min(half, e.sub(used, half)), 1, [&](Value l) {
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

/// Reduces all lanes of floats, in vectors of the target.
Partial Sweep::reduceLanes(Combiner &c, const Slots &lane) {
  auto width = static_cast<int64_t>(e.target.vectorBits / c.type.getIntOrFloatBitWidth());
  auto type = VectorType::get({width}, c.type);
  SmallVector<Value> vectors;
  for (int64_t from = 0; from < kLanes; from += width)
    vectors.push_back(
        LLVM::LoadOp::create(e.b, type, e.addressAt(lane.values, e.number(from)), 64));
  for (size_t half = vectors.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      vectors[i] = c.combine({vectors[i]}, {vectors[i + half]}).value;
  Value sum = vectors[0];
  for (int64_t half = width / 2; half > 0; half /= 2) {
    auto part = [&](int64_t from) -> Value {
      SmallVector<int32_t> lanes;
      for (int64_t i = from; i < from + half; ++i)
        lanes.push_back(static_cast<int32_t>(i));
      return LLVM::ShuffleVectorOp::create(e.b, sum, sum, lanes);
    };
    sum = c.combine({part(0)}, {part(half)}).value;
  }
  return {LLVM::ExtractElementOp::create(e.b, sum, e.number(0))};
}

SmallVector<Value> Sweep::resultIndices(Operation *op) {
  auto result = cast<TensorType>(op->getResult(0).getType());
  SmallVector<Value> at;
  for (unsigned axis = 0; axis < x.rank(); ++axis) {
    if (!llvm::is_contained(axesOf(op), axis))
      at.push_back(result.getSizes()[at.size()].constant() == 1 ? e.number(0) : indices[axis]);
    else if (op->hasAttr("keep"))
      at.push_back(e.number(0));
  }
  return at;
}

void Sweep::bindResults(Value t) {
  for (auto [c, total] : llvm::zip_equal(combiners, totals))
    evaluator.bind(c.op->getResult(0), resultIndices(c.op), c.result(total.load(e, t)));
}

} // namespace mx::lowering
