// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lowering/Collapse.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

/// Values that are computed in one nest of loops.
struct Space {
  SmallVector<SizeAttr> sizes;
  SmallVector<Value> values;
  SmallVector<bool> join; ///< axis i with axis i + 1
};

class Collapser {
public:
  Collapser(KernelOp kernel, Block &block) : kernel(kernel), block(block) {}
  void run();

private:
  KernelOp kernel;
  Block &block;
  SmallVector<Operation *> reductions;
  Space before, after; ///< of the reductions; without one all is after
  llvm::SmallPtrSet<Value, 16> inBefore, inAfter;

  bool collect();
  bool walkBack(Value from, Space &space, llvm::SmallPtrSet<Value, 16> &seen);
  bool mayJoin(const Space &space, size_t axis);
  void findJoins();
  void retype(const Space &space);
  SmallVector<SizeAttr> joined(const Space &space, ArrayRef<SizeAttr> sizes);
  ArrayRef<int64_t> axes() {
    return reductions[0]->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
  }
};

TensorType typeOf(Value v) { return cast<TensorType>(v.getType()); }

/// Adds what `from` is computed from; false if an op does more than to compute elements in place.
bool Collapser::walkBack(Value from, Space &space, llvm::SmallPtrSet<Value, 16> &seen) {
  SmallVector<Value> work{from};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    Operation *op = v.getDefiningOp();
    if (typeOf(v).rank() > space.sizes.size())
      return false;
    if (typeOf(v).rank() > 0)
      space.values.push_back(v);
    if (!op || llvm::is_contained(reductions, op))
      continue;
    bool isPlain = op->hasTrait<Elementwise>() ||
                   isa<BroadcastOp, FullOp, SizeOp, ToDeviceOp>(op) ||
                   (isa<ConstantOp>(op) && typeOf(v).rank() == 0);
    if (!isPlain)
      return false;
    llvm::append_range(work, op->getOperands());
  }
  return true;
}

bool Collapser::collect() {
  for (Operation &op : block.without_terminator())
    if (op.hasTrait<Reduction>())
      reductions.push_back(&op);
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().empty())
    return false;
  llvm::append_range(after.sizes, typeOf(yield.getValues()[0]).getSizes());
  for (Value v : yield.getValues())
    if (typeOf(v).getSizes() != ArrayRef(after.sizes) || !walkBack(v, after, inAfter))
      return false;
  if (reductions.empty())
    return true;
  llvm::append_range(before.sizes, typeOf(reductions[0]->getOperand(0)).getSizes());
  for (Operation *op : reductions) {
    if (op->getAttr("axes") != reductions[0]->getAttr("axes") ||
        op->hasAttr("keep") != reductions[0]->hasAttr("keep") ||
        typeOf(op->getOperand(0)).getSizes() != ArrayRef(before.sizes) ||
        typeOf(op->getResult(0)).getSizes() != ArrayRef(after.sizes) ||
        !walkBack(op->getOperand(0), before, inBefore))
      return false;
  }
  // A value on both sides would need two types.
  return llvm::none_of(before.values, [&](Value v) { return inAfter.contains(v); });
}

/// Every value has both axes, next to each other in memory, or neither.
bool Collapser::mayJoin(const Space &space, size_t axis) {
  return llvm::all_of(space.values, [&](Value v) {
    ArrayRef<SizeAttr> sizes = typeOf(v).getSizes();
    size_t missing = space.sizes.size() - sizes.size();
    auto has = [&](size_t i) {
      return i >= missing && sizes[i - missing] == space.sizes[i] && space.sizes[i].constant() != 1;
    };
    auto lacks = [&](size_t i) { return i < missing || sizes[i - missing].constant() == 1; };
    if (lacks(axis) && lacks(axis + 1))
      return true;
    // An axis of size 1 in the whole space joins any.
    bool both = (has(axis) || space.sizes[axis].constant() == 1) &&
                (has(axis + 1) || space.sizes[axis + 1].constant() == 1);
    auto argument = dyn_cast<BlockArgument>(v);
    bool strided =
        argument && kernel.getStrided() && (*kernel.getStrided())[argument.getArgNumber()];
    return both && !strided && missing <= axis;
  });
}

void Collapser::findJoins() {
  if (reductions.empty()) {
    for (size_t i = 0; i + 1 < after.sizes.size(); ++i)
      after.join.push_back(mayJoin(after, i));
    return;
  }
  bool keep = reductions[0]->hasAttr("keep");
  auto isReduced = [&](size_t axis) {
    return llvm::is_contained(axes(), static_cast<int64_t>(axis));
  };
  size_t own = 0; // the axis of the result
  after.join.assign(after.sizes.empty() ? 0 : after.sizes.size() - 1, false);
  for (size_t i = 0; i + 1 < before.sizes.size(); ++i) {
    bool same = isReduced(i) == isReduced(i + 1);
    bool remains = keep || !isReduced(i); // in the result
    bool join = same && mayJoin(before, i) && (!remains || mayJoin(after, own));
    before.join.push_back(join);
    if (join && remains)
      after.join[own] = true;
    own += remains;
  }
}

SmallVector<SizeAttr> Collapser::joined(const Space &space, ArrayRef<SizeAttr> sizes) {
  SizeTable &table = kernel.getContext()->getOrLoadDialect<MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  SmallVector<SizeAttr> out;
  size_t missing = space.sizes.size() - sizes.size();
  for (size_t i = missing; i < space.sizes.size(); ++i) {
    SizeAttr size = sizes[i - missing];
    if (i > missing && space.join[i - 1])
      out.back() = SizeAttr::get(kernel.getContext(), table.dims.mul(out.back().dim(), size.dim()));
    else
      out.push_back(size);
  }
  return out;
}
void Collapser::retype(const Space &space) {
  for (Value v : space.values)
    v.setType(typeOf(v).withSizes(joined(space, typeOf(v).getSizes())));
}

void Collapser::run() {
  if (!collect())
    return;
  findJoins();
  // Products of sizes that do not fit are left alone.
  SizeTable &table = kernel.getContext()->getOrLoadDialect<MxDialect>()->sizes();
  for (Space *space : {&before, &after}) {
    std::lock_guard guard(table.lock);
    Dim product = table.dims.constant(1);
    for (SizeAttr size : space->sizes)
      product = product ? table.dims.mul(product, size.dim()) : product;
    if (!product)
      return;
  }
  if (!reductions.empty()) {
    SmallVector<int64_t> left;
    int64_t axis = 0;
    for (size_t i = 0; i < before.sizes.size(); ++i) {
      if (i > 0 && before.join[i - 1])
        continue;
      if (llvm::is_contained(axes(), static_cast<int64_t>(i)))
        left.push_back(axis);
      ++axis;
    }
    auto attribute = DenseI64ArrayAttr::get(kernel.getContext(), left);
    for (Operation *op : reductions)
      op->setAttr("axes", attribute);
  }
  retype(before);
  retype(after);
}

} // namespace

OwningOpRef<KernelOp> collapsed(KernelOp kernel) {
  OperationState state(kernel.getLoc(), KernelOp::getOperationName());
  state.addAttributes(kernel->getAttrs());
  state.propertiesAttr = kernel->getPropertiesAsAttribute();
  IRMapping mapping;
  kernel.getBody().cloneInto(state.addRegion(), mapping);
  Block &block = state.regions[0]->front();
  Collapser(kernel, block).run();
  state.addTypes(cast<YieldOp>(block.getTerminator()).getValues().getTypes());
  return cast<KernelOp>(Operation::create(state));
}

} // namespace mx::lowering
