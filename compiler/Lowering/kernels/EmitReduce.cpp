// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over any axes. The reduced values are computed on the fly (fused producers), and ops
// on the result run right after it. Sweep.h defines the order.
#include "Lowering/kernels/EmitKernel.h"
#include "Lowering/kernels/Sweep.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

class Reducer {
public:
  Reducer(KernelEmitter &e, const OutputGroup &group) : e(e), group(group), evaluator(e) {}
  void emit();

private:
  KernelEmitter &e;
  const OutputGroup &group;
  Evaluator evaluator;

  Value work(Sweep &sweep);
  void columns(Sweep &sweep);
  void reduce(Sweep &sweep, Value from, Value width);
};

void Reducer::emit() {
  evaluator.prepare(group.values());
  Sweep sweep(e, evaluator, group.sources, /*tiled=*/true);
  SmallVector<Value> outer;
  for (unsigned axis : sweep.kept)
    outer.push_back(sweep.sizes[axis]);
  e.b.setLoc(group.sources[0]->getLoc());
  auto setIndices = [&](Indices at) {
    for (auto [axis, index] : llvm::zip_equal(sweep.kept, at))
      sweep.indices[axis] = index;
  };
  if (!sweep.hasTile)
    return e.parallelFor(outer, work(sweep), [&](Indices at) {
      setIndices(at);
      reduce(sweep, Value(), Value());
    });
  if (!spaceOf(group.sources[0]).back().constant())
    return e.parallelFor(outer, work(sweep), [&](Indices at) {
      setIndices(at);
      columns(sweep);
    });
  // Several columns at once, each in its own lanes.
  Value size = sweep.sizes.back();
  outer.push_back(e.number(llvm::divideCeil(*KernelEmitter::known(size), kTile)));
  e.parallelFor(
      outer, work(sweep),
      [&](Indices at) {
        setIndices(at.drop_back());
        Value from = e.mul(at.back(), e.number(kTile));
        bool isOne = *KernelEmitter::known(size) <= kTile;
        reduce(sweep, from, isOne ? size : e.min(e.number(kTile), e.sub(size, from)));
      },
      outer.size());
}

/// Work of an iteration, which reduces all elements of an index, or of a tile of columns.
Value Reducer::work(Sweep &sweep) {
  Value work = e.number(e.workOfElement() * (sweep.hasTile ? kTile : 1));
  for (int64_t axis : axesOf(group.sources[0]))
    work = e.mul(work, sweep.sizes[static_cast<size_t>(axis)]);
  return work;
}

/// Columns whose number is not known. A single one is reduced as a row.
void Reducer::columns(Sweep &sweep) {
  Value size = sweep.sizes.back();
  auto tiles = [&] {
    e.loop(e.number(0), size, kTile,
           [&](Value from) { reduce(sweep, from, e.min(e.number(kTile), e.sub(size, from))); });
  };
  e.when(
      e.compare(CmpIPredicate::eq, size, e.number(1)),
      [&] {
        sweep.indices.back() = e.number(0);
        reduce(sweep, Value(), Value());
      },
      tiles);
}

/// The results, the ops on them, and the outputs.
void Reducer::reduce(Sweep &sweep, Value from, Value width) {
  sweep.run(from, width);
  sweep.eachColumn(width, [&](Value t) {
    Evaluator::Scope scope(evaluator);
    if (width)
      sweep.indices.back() = e.add(from, t);
    sweep.bindResults(t);
    SmallVector<Value> at = sweep.resultIndices(group.sources[0]);
    SmallVector<Value> elements = evaluator.all(group.values(), at);
    for (auto [output, element] : llvm::zip_equal(group.outputs, elements))
      e.store(e.output(output.index), at, element);
  });
}

} // namespace

LogicalResult emitReduce(KernelEmitter &e, const OutputGroup &group) {
  if (failed(hasShapeOf(group)))
    return failure();
  for (Operation *op : group.sources)
    if (!mayShareLoops(op, group.sources[0]))
      return op->emitOpError() << "and another reduction of another shape are in one kernel";
  Reducer(e, group).emit();
  return success();
}

} // namespace mx::lowering
