// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutation testing of the compiler: deliberately wrong rewrites.
#include "Graph/Mistakes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mx::graph {
namespace {

Type typeOf(Operation *op) { return op->getResult(0).getType(); }

/// Replaces the uses of the op by `value`; the op itself stays without users.
void replace(Operation *op, Value value) {
  if (typeOf(op) == value.getType())
    op->getResult(0).replaceAllUsesExcept(value, value.getDefiningOp());
}

bool isZero(Value value) {
  while (auto broadcast = value.getDefiningOp<ir::BroadcastOp>())
    value = broadcast.getX();
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  if (!constant)
    return false;
  if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
    return real.getValue().isZero();
  if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
    return integer.getValue().isZero();
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  auto real = splat ? dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>()) : FloatAttr();
  return real && real.getValue().isZero();
}

void timesZero(Operation *op) {
  if (!isa<ir::MulOp>(op))
    return;
  for (Value zero : op->getOperands())
    if (isZero(zero)) {
      OpBuilder b(op);
      auto type = cast<ir::TensorType>(typeOf(op));
      if (zero.getType() != type)
        zero = cast<ir::TensorType>(zero.getType()).isHost()
                   ? Value(ir::FullOp::create(b, op->getLoc(), type, zero))
                   : Value(ir::BroadcastOp::create(b, op->getLoc(), type, zero));
      return replace(op, zero);
    }
}

/// Replaces `op` by the first op before it in its block that `equal` accepts.
void mergeWithEarlier(Operation *op, llvm::function_ref<bool(Operation *)> equal) {
  for (Operation &other : *op->getBlock()) {
    if (&other == op)
      return;
    if (other.getName() == op->getName() && other.getResultTypes() == op->getResultTypes() &&
        equal(&other))
      return replace(op, other.getResult(0));
  }
}

void equalDifferences(Operation *op) {
  if (isa<ir::SubOp>(op))
    mergeWithEarlier(op, [&](Operation *other) {
      return other->getOperand(0) == op->getOperand(1) && other->getOperand(1) == op->getOperand(0);
    });
}

void equalAttributes(Operation *op) {
  if (op->getNumResults() == 1 && op->getNumOperands() > 0 && op->getNumRegions() == 0 &&
      isMemoryEffectFree(op))
    mergeWithEarlier(
        op, [&](Operation *other) { return llvm::equal(other->getOperands(), op->getOperands()); });
}

void castOfCast(Operation *op) {
  if (auto last = dyn_cast<ir::CastOp>(op))
    if (auto inner = last.getX().getDefiningOp<ir::CastOp>())
      op->setOperand(0, inner.getX());
}

void wholeSlice(Operation *op) {
  auto slice = dyn_cast<ir::SliceOp>(op);
  if (slice && llvm::all_of(slice.getSpec(), [](Attribute entry) {
        StringRef text = cast<StringAttr>(entry).getValue();
        return text == ":" || text.starts_with("r");
      }))
    replace(op, slice.getX());
}

void squareTranspose(Operation *op) {
  if (isa<ir::TransposeOp>(op))
    replace(op, op->getOperand(0));
}

void reshapeOfTranspose(Operation *op) {
  if (isa<ir::ReshapeOp>(op))
    if (auto inner = op->getOperand(0).getDefiningOp<ir::TransposeOp>())
      op->setOperand(0, inner.getX());
}

void firstBranch(Operation *op) {
  auto branch = dyn_cast<ir::IfOp>(op);
  if (!branch)
    return;
  Operation *yield = branch.getThenRegion().front().getTerminator();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), yield->getOperands()))
    if (!op->isAncestor(value.getParentBlock()->getParentOp()))
      result.replaceAllUsesWith(value);
}

void iterationLess(Operation *op) {
  auto loop = dyn_cast<ir::ForOp>(op);
  auto to = loop ? loop.getTo().getDefiningOp<ir::ConstantOp>() : ir::ConstantOp();
  auto count = to ? dyn_cast<IntegerAttr>(to.getValue()) : IntegerAttr();
  if (!count || count.getValue().isZero())
    return;
  OpBuilder b(op);
  auto less = b.getIntegerAttr(count.getType(), count.getValue() - 1);
  loop.getToMutable().assign(ir::ConstantOp::create(b, op->getLoc(), to.getType(), less));
}

void hoistedCarried(Operation *op) {
  auto loop = dyn_cast<ir::ForOp>(op);
  if (!loop)
    return;
  Block &body = loop.getBody().front();
  auto isOwn = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body;
  };
  for (Operation &inner : body.without_terminator()) {
    bool movable = inner.hasTrait<ir::Elementwise>() && isMemoryEffectFree(&inner) &&
                   llvm::any_of(inner.getOperands(), isOwn);
    for (Value operand : inner.getOperands())
      movable &= isOwn(operand) ? cast<BlockArgument>(operand).getArgNumber() > 0
                                : !op->isAncestor(operand.getParentBlock()->getParentOp());
    if (!movable)
      continue;
    OpBuilder b(op);
    Operation *copy = b.clone(inner);
    for (OpOperand &operand : copy->getOpOperands())
      if (isOwn(operand.get()))
        operand.set(loop.getCarried()[cast<BlockArgument>(operand.get()).getArgNumber() - 1]);
    return inner.replaceAllUsesWith(copy);
  }
}

/// Swaps the first two adjacent operands of equal types.
void swapOperands(Operation *op) {
  for (unsigned i = 0; i + 1 < op->getNumOperands(); ++i) {
    Value first = op->getOperand(i), second = op->getOperand(i + 1);
    if (first != second && first.getType() == second.getType()) {
      op->setOperand(i, second);
      op->setOperand(i + 1, first);
      return;
    }
  }
}

void concatOrder(Operation *op) {
  if (isa<ir::ConcatOp>(op))
    swapOperands(op);
}

void oldSlice(Operation *op) {
  if (isa<ir::SliceOp>(op))
    if (auto update = op->getOperand(0).getDefiningOp<ir::UpdateOp>())
      op->setOperand(0, update.getX());
}

void kernelOutputs(Operation *op) {
  if (auto kernel = dyn_cast<ir::KernelOp>(op))
    swapOperands(kernel.getBody().front().getTerminator());
}

/// Every output may overwrite every input of its type, however the kernel reads it.
void readAfterStore(Operation *op) {
  auto kernel = dyn_cast<ir::KernelOp>(op);
  if (!kernel)
    return;
  Builder b(op->getContext());
  SmallVector<Attribute> lists;
  for (Type type : kernel.getResultTypes()) {
    SmallVector<int64_t> inputs;
    for (BlockArgument input : kernel.getBody().getArguments())
      if (input.getType() == type)
        inputs.push_back(input.getArgNumber());
    lists.push_back(b.getDenseI64ArrayAttr(inputs));
  }
  kernel.setOverwritesAttr(b.getArrayAttr(lists));
}

struct Mistake {
  StringRef name;
  void (*make)(Operation *);
  bool afterFusion = false;
};

constexpr Mistake kMistakes[] = {
    {"times-zero", timesZero},                    // x * 0 is 0, also where x is NaN or infinite
    {"equal-differences", equalDifferences},      // x - y and y - x are one value
    {"equal-attributes", equalAttributes},        // ops with equal operands and types are equal
    {"cast-of-cast", castOfCast},                 // only the last conversion counts
    {"whole-slice", wholeSlice},                  // a slice of equal size takes all, in order
    {"square-transpose", squareTranspose},        // a transpose that keeps the type does nothing
    {"reshape-of-transpose", reshapeOfTranspose}, // elements keep their order
    {"first-branch", firstBranch},                // one branch's captured value is the result
    {"iteration-less", iterationLess},            // a loop skips its last iteration
    {"hoisted-carried", hoistedCarried},     // an op on carried values is hoisted out of the loop
    {"concat-order", concatOrder},           // operands of equal types are swapped
    {"old-slice", oldSlice},                 // a slice of an updated tensor reads the old one
    {"kernel-outputs", kernelOutputs, true}, // outputs of equal types are swapped
    {"read-after-store", readAfterStore, true}, // outputs overwrite inputs that are still read
};

constexpr StringRef kWrongRules[] = {"mul",  "tanh",   "neg", "div",   "matmul", "slice",
                                     "update", "take", "select", "sum", "order",  "maximum"};

const Mistake *find(StringRef name) {
  const auto *found =
      llvm::find_if(kMistakes, [&](const Mistake &mistake) { return mistake.name == name; });
  return found == std::end(kMistakes) ? nullptr : found;
}

} // namespace

bool knowsMistake(StringRef name) { return find(name) || !wrongRuleOf(name).empty(); }

StringRef wrongRuleOf(StringRef name) {
  return name.consume_front("gradient-") && llvm::is_contained(kWrongRules, name) ? name : "";
}

void makeMistake(ir::GraphOp graph, StringRef name, bool fused) {
  const Mistake *mistake = find(name);
  if (!mistake || mistake->afterFusion != fused)
    return;
  SmallVector<Operation *> ops;
  graph.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    mistake->make(op);
}

} // namespace mx::graph
