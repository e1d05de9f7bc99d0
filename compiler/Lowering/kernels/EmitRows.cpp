// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row kernels: fused reductions over the last axes. A row lies along the last axes, and all
// reductions of the kernel are over them. Reductions may use each other's results, and whole rows
// may be computed from them, as in softmax or normalisation. A row stays in the cache over all
// sweeps, so memory is read once. At the end the rows' results may be reduced to one number, as in
// the mean of a loss.
//
//   for each row:  sweep 0, sweep 1, …   the reductions that depend on 0, 1, … others before them
//                  the row's outputs
//
// Expensive values used in more than one sweep are kept for the length of a row. While a row is
// computed, the next one is prefetched: the hardware prefetcher would not do that, since its
// streams end at a page boundary.
#include "Lowering/kernels/EmitKernel.h"
#include "Lowering/kernels/Sweep.h"
#include "llvm/ADT/MapVector.h"
#include <deque>

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

/// At most this many values are kept on the stack for the length of a row.
constexpr int64_t kMaxKept = 4;

class Rows {
public:
  Rows(KernelEmitter &e, const OutputGroup &group)
      : e(e), group(group), evaluator(e), space(e.kernel.spaceSizes()) {}
  LogicalResult analyse();
  void emit();

private:
  /// An expensive value with a buffer for its elements of one row; computed in stage `first`.
  struct Kept {
    Value value;
    size_t first, last;
    Buffer row;
  };

  KernelEmitter &e;
  const OutputGroup &group;
  Evaluator evaluator;
  SmallVector<SizeAttr> space;
  size_t keptAxes = 0;
  SmallVector<SmallVector<Operation *>> levels; ///< the reductions of each sweep
  SmallVector<Operation *> totals;              ///< reductions over all rows
  SmallVector<Output> whole, perRow, overall;   ///< outputs: of the space, of a row, of all rows
  std::deque<Sweep> sweeps;
  SmallVector<Kept> kept;
  std::optional<int64_t> length; ///< of a row, if it is known

  bool isRowResult(ArrayRef<SizeAttr> sizes);
  LogicalResult sort(Operation *op, llvm::DenseMap<Operation *, size_t> &level);
  LogicalResult checkReads(Operation *op, const llvm::DenseMap<Operation *, size_t> &level);
  void chooseKept();
  void fetchAhead();
  int64_t bytesOf(TensorType type) {
    return e.memoryType(type.getElement()).getIntOrFloatBitWidth() / 8;
  }
  void useKept(size_t stage, Indices indices, Value r);
  void row(Indices at);
  void store(ArrayRef<Output> outputs, Indices indices);
};

/// Whether sizes are those of one element per row, with or without axes of size 1 for the others.
bool Rows::isRowResult(ArrayRef<SizeAttr> sizes) {
  ArrayRef<SizeAttr> front = ArrayRef(space).take_front(keptAxes);
  return sizes.size() >= keptAxes && sizes.take_front(keptAxes) == front &&
         (sizes.size() == keptAxes || sizes.size() == space.size()) &&
         llvm::all_of(sizes.drop_front(keptAxes), [](SizeAttr s) { return s.constant() == 1; });
}

LogicalResult Rows::analyse() {
  for (Operation *op : group.sources)
    if (spaceOf(op) == ArrayRef(space)) {
      keptAxes = space.size() - axesOf(op).size();
      break;
    }
  length = 1;
  for (SizeAttr size : ArrayRef(space).drop_front(keptAxes))
    length = length && size.constant() ? std::optional(*length * *size.constant()) : std::nullopt;
  llvm::DenseMap<Operation *, size_t> level; // length of the chain of reductions up to here
  for (Operation &op : *group.sources[0]->getBlock()) {
    size_t own = 0;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        own = std::max(own, level.lookup(producer));
    level[&op] = own;
    if (llvm::is_contained(group.sources, &op) ? failed(sort(&op, level))
                                               : own > 0 && failed(checkReads(&op, level)))
      return failure();
  }
  for (const Output &output : group.outputs) {
    auto sizes = cast<TensorType>(output.value.getType()).getSizes();
    Operation *op = output.value.getDefiningOp();
    bool isOverall = !totals.empty() && level.lookup(op) > levels.size();
    if (isOverall)
      overall.push_back(output);
    else if (sizes == ArrayRef(space) && !op->hasTrait<Reduction>())
      whole.push_back(output);
    else if (isRowResult(sizes))
      perRow.push_back(output);
    else if (!totals.empty() && !level.lookup(op) &&
             llvm::all_of(sizes, [](SizeAttr size) { return size.constant() == 1; }))
      overall.push_back(output); // one element that needs no row
    else
      return op->emitOpError() << "has another shape than the rows of its kernel";
  }
  return success();
}

/// Ops on the results of a row must read those of the same row.
LogicalResult Rows::checkReads(Operation *op, const llvm::DenseMap<Operation *, size_t> &level) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  bool keepsIndices = op->hasTrait<Elementwise>() || isa<BroadcastOp>(op);
  size_t rank = cast<TensorType>(op->getResult(0).getType()).rank();
  for (Value operand : op->getOperands()) {
    if (!level.lookup(operand.getDefiningOp()))
      continue;
    // Broadcasting adds axes in front: a result without the reduced axes would lie along them.
    size_t from = cast<TensorType>(operand.getType()).rank();
    if (!keepsIndices || (from != 0 && from != rank))
      return op->emitOpError() << "reads results of other rows";
  }
  return success();
}

LogicalResult Rows::sort(Operation *op, llvm::DenseMap<Operation *, size_t> &level) {
  size_t own = level[op];
  if (spaceOf(op) == ArrayRef(space)) {
    for (auto [i, axis] : llvm::enumerate(axesOf(op)))
      if (axesOf(op).size() != space.size() - keptAxes ||
          axis != static_cast<int64_t>(keptAxes + i))
        return op->emitOpError() << "is not over the rows of its kernel";
    if (levels.size() <= own)
      levels.resize(own + 1);
    levels[own].push_back(op);
    level[op] = own + 1;
    return success();
  }
  if (!isRowResult(spaceOf(op)) || axesOf(op).size() != spaceOf(op).size())
    return op->emitOpError() << "is neither over a row of its kernel nor over all rows";
  totals.push_back(op);
  level[op] = group.sources.size() + 1; // after everything else
  return success();
}

/// Stage i is sweep i; the last one computes the outputs.
void Rows::chooseKept() {
  // A row of f32 takes half of L1.
  if (!length || *length > e.target.firstCache.bytes() / 2 / int64_t(sizeof(float)))
    return;
  llvm::MapVector<Operation *, std::pair<size_t, size_t>> stages;
  for (size_t stage = 0; stage <= levels.size(); ++stage) {
    SmallVector<Value> work;
    if (stage == levels.size())
      for (const Output &output : whole)
        work.push_back(output.value);
    else
      for (Operation *op : levels[stage])
        work.push_back(op->getOperand(0));
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || op->hasTrait<Reduction>() || !seen.insert(op).second)
        continue;
      if (isExpensive(op) &&
          cast<TensorType>(op->getResult(0).getType()).getSizes() == ArrayRef(space))
        stages.try_emplace(op, stage, stage).first->second.second = stage;
      else
        llvm::append_range(work, op->getOperands());
    }
  }
  for (auto &[op, range] : stages)
    if (range.first < range.second && kept.size() < kMaxKept) {
      Value value = op->getResult(0);
      Type type = e.codeType(cast<TensorType>(value.getType()).getElement());
      kept.push_back({value, range.first, range.second, e.scratch(type, *length)});
    }
}

/// Called before the elements of a stage are computed at an index, which is number r of its row.
void Rows::useKept(size_t stage, Indices indices, Value r) {
  for (Kept &each : kept) {
    if (each.first == stage)
      e.store(each.row, r, evaluator.at(each.value, indices));
    else if (each.first < stage && stage <= each.last)
      evaluator.bind(each.value, indices, e.load(each.row, r));
  }
}

/// The sweeps after the first, which waits for memory, prefetch what the first will read of the
/// next row; the last one prefetches the destinations of this row's outputs. Rows, all inputs
/// together, that fit into a part of L1 are prefetched there, longer ones into L2; much longer ones
/// not at all.
void Rows::fetchAhead() {
  SmallVector<const Buffer *> inputs, outputs;
  int64_t rowBytes = 0;
  auto isWorthIt = [&](TensorType type) {
    int64_t bytes = bytesOf(type);
    std::optional<int64_t> count = KernelEmitter::known(e.elementCount(type));
    if (type.getSizes() != ArrayRef(space) || (count && *count < e.target.residentBytes / bytes))
      return false;
    rowBytes += *length * bytes;
    return true;
  };
  if (!length || *length < kLanes)
    return;
  for (BlockArgument input : e.kernel.getBody().getArguments())
    if (!e.isStrided(input) && isWorthIt(cast<TensorType>(input.getType())))
      inputs.push_back(&e.input(input));
  for (const Output &output : whole)
    if (isWorthIt(cast<TensorType>(output.value.getType())))
      outputs.push_back(&e.output(output.index));
  if (rowBytes > e.target.keptBytes)
    return;
  for (size_t stage = sweeps.size() > 1; stage < sweeps.size(); ++stage)
    sweeps[stage].ahead = [=, this,
                           isShort = rowBytes <= e.target.firstCache.bytes() / 2](Value r) {
      SmallVector<Value> start(sweeps[stage].indices);
      llvm::fill(MutableArrayRef(start).drop_front(keptAxes), e.number(0));
      auto fetch = [&](const Buffer &buffer, int64_t behind, bool written) {
        Value indices = e.add(e.add(e.offset(buffer, start), r), e.number(behind));
        int64_t line =
            e.target.firstCache.line * 8 / e.memoryType(buffer.element).getIntOrFloatBitWidth();
        for (int64_t i = 0; i < kLanes; i += line)
          e.prefetch(buffer, e.add(indices, e.number(i)), isShort, written);
      };
      for (auto [i, input] : llvm::enumerate(inputs))
        if (sweeps.size() == 1 || 1 + i % (sweeps.size() - 1) == stage)
          fetch(*input, *length, /*written=*/false);
      if (stage + 1 == sweeps.size())
        for (const Buffer *output : outputs)
          fetch(*output, 0, /*written=*/true);
    };
}

void Rows::emit() {
  evaluator.prepare(group.values());
  for (ArrayRef<Operation *> ops : levels)
    sweeps.emplace_back(e, evaluator, ops, /*tiled=*/false);
  chooseKept();
  fetchAhead();
  for (size_t stage = 0; stage < sweeps.size(); ++stage)
    sweeps[stage].before = [this, stage](Value r) { useKept(stage, sweeps[stage].indices, r); };
  e.b.setLoc(group.sources[0]->getLoc());
  if (totals.empty()) {
    SmallVector<Value> outer(ArrayRef(sweeps[0].sizes).take_front(keptAxes));
    Value work = e.number(static_cast<int64_t>(levels.size() + 1) * e.workOfElement());
    for (Value size : ArrayRef(sweeps[0].sizes).drop_front(keptAxes))
      work = e.mul(work, size);
    e.parallelFor(outer, work, [&](Indices at) {
      Evaluator::Scope scope(evaluator);
      row(at);
    });
    return;
  }
  Sweep all(e, evaluator, totals, /*tiled=*/false);
  all.before = [&](Value) { row(Indices(all.indices).take_front(keptAxes)); };
  all.run();
  Evaluator::Scope scope(evaluator);
  all.bindResults(e.number(0));
  for (const Output &output : overall) {
    SmallVector<Value> indices(cast<TensorType>(output.value.getType()).rank(), e.number(0));
    store(output, indices);
  }
}

/// The caller discards what is known of the row.
void Rows::row(Indices at) {
  for (Sweep &sweep : sweeps) {
    for (size_t axis = 0; axis < keptAxes; ++axis)
      sweep.indices[axis] = at[axis];
    sweep.run();
    sweep.bindResults(e.number(0));
  }
  for (const Output &output : perRow) {
    SmallVector<Value> indices(at);
    indices.resize(cast<TensorType>(output.value.getType()).rank(), e.number(0));
    store(output, indices);
  }
  if (whole.empty())
    return;
  e.nest(ArrayRef(sweeps[0].sizes).drop_front(keptAxes), [&](Indices inner) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> indices(at);
    llvm::append_range(indices, inner);
    Value r = e.number(0);
    for (auto [index, size] : llvm::zip(inner, ArrayRef(sweeps[0].sizes).drop_front(keptAxes)))
      r = e.add(e.mul(r, size), index);
    useKept(levels.size(), indices, r);
    store(whole, indices);
  });
}

/// Computes all elements at an index before one is stored.
void Rows::store(ArrayRef<Output> outputs, Indices indices) {
  SmallVector<Value> values;
  for (const Output &output : outputs)
    values.push_back(output.value);
  for (auto [output, element] : llvm::zip_equal(outputs, evaluator.all(values, indices)))
    e.store(e.output(output.index), indices, element);
}

} // namespace

LogicalResult emitRows(KernelEmitter &e, const OutputGroup &group) {
  Rows rows(e, group);
  if (failed(rows.analyse()))
    return failure();
  rows.emit();
  return success();
}

} // namespace mx::lowering
