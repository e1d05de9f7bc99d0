// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Fuse: rematerialisation. Kernels recompute cheap values instead of reading them from
// memory.
//
// If a kernel would store a value for other kernels, and a few cheap ops compute it from values
// that are in memory anyway, its readers may contain these ops: then it is never stored, and peak
// memory is smaller by one tensor until its last reader. Gradients are full of such values, like a
// centred value before it was squared, or the mask of a relu. It is done only if it reduces memory
// traffic, and if it does not extend the lifetimes of its inputs by more than it saves.
#include "Graph/FusionGroups.h"

using namespace mlir;

namespace mx::graph {
namespace {

/// Maximum number of ops recomputed for one value.
constexpr size_t kMaxOps = 8;

/// One or two instructions per vector.
bool isQuick(Operation *op) {
  return isa<ir::NegOp, ir::AbsOp, ir::NotOp, ir::AddOp, ir::SubOp, ir::MulOp, ir::DivOp,
             ir::MaximumOp, ir::MinimumOp, ir::AndOp, ir::OrOp, ir::EqOp, ir::NeOp, ir::LtOp,
             ir::LeOp, ir::GtOp, ir::GeOp, ir::SelectOp, ir::CastOp>(op) &&
         !mayFail(op);
}

/// Nothing if the size is not known; host scalars take no memory.
std::optional<int64_t> bytesOf(Type type) {
  auto tensor = dyn_cast<ir::TensorType>(type);
  if (!tensor)
    return std::nullopt;
  if (tensor.isHost())
    return 0;
  int64_t bytes = elementInfo(ir::elementFromMlir(tensor.getElement())).bytes;
  for (ir::SizeAttr size : tensor.getSizes()) {
    std::optional<int64_t> known = size.constant();
    if (!known || __builtin_mul_overflow(bytes, *known, &bytes))
      return std::nullopt;
  }
  return bytes;
}

} // namespace

/// The recomputation of one value from values in memory.
struct FusionGroups::Recipe {
  SmallVector<unsigned, 4> readers; ///< groups that will recompute it
  bool goesOn = false; ///< also past values in memory, up to those that the readers load anyway
  SmallVector<unsigned, 8> ops; ///< recomputed ops, in groups
  llvm::SmallSetVector<Value, 8> reads;
};

bool FusionGroups::follow(unsigned index, Recipe &recipe) const {
  if (llvm::is_contained(recipe.ops, index))
    return true;
  if (!isQuick(ops[index]) || recipe.ops.size() == kMaxOps)
    return false;
  recipe.ops.push_back(index);
  return followOperands(index, recipe);
}

bool FusionGroups::followOperands(unsigned index, Recipe &recipe) const {
  for (Value operand : ops[index]->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || producer->getBlock() != &block) {
      recipe.reads.insert(operand);
      continue;
    }
    unsigned from = numbers.lookup(producer);
    if (!group[from] && absorbs(ops[index], producer)) {
      if (!followOperands(from, recipe))
        return false;
      continue;
    }
    // A small operand can be stored for this; an operand in no group is in memory already.
    std::optional<int64_t> bytes = bytesOf(operand.getType());
    if (!bytes)
      return false;
    bool isThere = !group[from] || written[from] || *bytes < options.fewBytes();
    bool passes = recipe.goesOn && group[from] && isQuick(producer) && *bytes >= options.fewBytes() &&
                  llvm::none_of(recipe.readers, [&](unsigned reader) {
                    return hasInHand(*groups[reader], operand);
                  });
    if (isThere && !passes)
      recipe.reads.insert(operand);
    else if (!follow(from, recipe))
      return false;
  }
  return true;
}

/// Whether all readers of the value can recompute it; `readers` are their groups.
bool FusionGroups::readersOf(unsigned index, SmallVectorImpl<unsigned> &readers) const {
  auto type = cast<ir::TensorType>(ops[index]->getResult(0).getType());
  for (Operation *user : ops[index]->getUsers()) {
    if (user->getBlock() != &block)
      return false;
    unsigned at = numbers.lookup(user), by = group[at];
    if (by == group[index])
      continue;
    if (!by || groups[by]->kind == FusionClass::Single ||
        (groups[by]->kind == FusionClass::Matmul && groups[by]->hub == at) ||
        !llvm::equal(groups[by]->space, type.getSizes()))
      return false;
    if (!llvm::is_contained(readers, by))
      readers.push_back(by);
  }
  return !readers.empty();
}

/// The last op of this block that uses the value.
unsigned FusionGroups::lastUse(Value value) const {
  unsigned last = 0;
  for (Operation *user : value.getUsers())
    if (std::optional<unsigned> at = indexOf(user))
      last = std::max(last, group[*at] ? groups[group[*at]]->ops.back() : *at);
  return last;
}

/// Whether the kernel already reads the value element by element; the hub of a matmul reads it in
/// blocks.
bool FusionGroups::hasInHand(const FusionGroup &kernel, Value value) const {
  return llvm::any_of(kernel.ops, [&](unsigned member) {
    return (kernel.kind != FusionClass::Matmul || member != kernel.hub) &&
           llvm::is_contained(ops[member]->getOperands(), value);
  });
}

bool FusionGroups::isWorthRepeating(unsigned index, const Recipe &recipe) const {
  ArrayRef<unsigned> readers = recipe.readers;
  Value value = ops[index]->getResult(0);
  auto own = static_cast<double>(*bytesOf(value.getType()));
  unsigned end = lastUse(value);
  // Change in bytes moved, and in bytes times lifetime.
  double moved = -own * double(1 + readers.size());
  double kept = -own * double(end - index);
  for (Value read : recipe.reads) {
    std::optional<int64_t> bytes = bytesOf(read.getType());
    if (!bytes)
      return false;
    for (unsigned reader : readers)
      if (!hasInHand(*groups[reader], read))
        moved += double(*bytes);
    Operation *producer = read.getDefiningOp();
    unsigned until = lastUse(read);
    if (producer && producer->getBlock() == &block && until < end)
      kept += double(*bytes) * double(end - until);
  }
  return moved < 0 && kept <= 0;
}

void FusionGroups::chooseRepeats() {
  written.assign(ops.size(), false);
  for (unsigned i = 0; i < ops.size(); ++i)
    written[i] = group[i] && llvm::any_of(ops[i]->getUsers(), [&](Operation *user) {
                   std::optional<unsigned> at = indexOf(user);
                   return !at || group[*at] != group[i];
                 });
  if (!options.repeats || options.maxOps == 1)
    return;
  // In program order: the operands of a value are decided before it.
  for (unsigned i = 0; i < ops.size(); ++i) {
    if (!written[i] || !isQuick(ops[i]) ||
        bytesOf(ops[i]->getResult(0).getType()).value_or(0) < options.fewBytes())
      continue;
    Recipe recipe;
    if (!readersOf(i, recipe.readers))
      continue;
    auto works = [&](bool goesOn) {
      recipe.ops.clear();
      recipe.reads.clear();
      recipe.goesOn = goesOn;
      return follow(i, recipe) && isWorthRepeating(i, recipe);
    };
    if (!works(false) && !works(true))
      continue;
    written[i] = false;
    for (unsigned reader : recipe.readers)
      for (unsigned op : recipe.ops)
        repeated.insert({reader, op});
    for (Value read : recipe.reads)
      if (Operation *producer = read.getDefiningOp(); producer && producer->getBlock() == &block)
        if (unsigned from = numbers.lookup(producer); group[from])
          written[from] = true;
  }
}

} // namespace mx::graph
