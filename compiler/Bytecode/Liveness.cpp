// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backward liveness analysis over structured control flow, and the in-place updates it permits.
#include "Bytecode/Liveness.h"
#include "dialects/mx/Marks.h"

using namespace mlir;

namespace mx::bytecode {

Liveness::Liveness(ir::FuncOp function) {
  Block &body = function.getBody().front();
  auto number = [&](Block &block) {
    for (Value argument : block.getArguments())
      order.try_emplace(argument, order.size());
  };
  number(body);
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      order.try_emplace(result, order.size());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        number(block);
  });
  Set live;
  walkBlock(body, live);
  Set arguments(body.getArguments().begin(), body.getArguments().end());
  before[&body] = difference(arguments, live);
  function.getBody().walk([&](Operation *op) {
    if (isa<ir::SetOp, ir::SetAtOp>(op))
      findMoves(op);
    else if (isa<ir::LoadOp, ir::GlobalLoadOp>(op))
      findChange(op);
  });
}

Liveness::Values Liveness::difference(const Set &a, const Set &b) const {
  Values out;
  for (Value value : a)
    if (!b.contains(value))
      out.push_back(value);
  llvm::sort(out, [&](Value x, Value y) { return order.at(x) < order.at(y); });
  return out;
}

void Liveness::use(Operation *op, Value value, Set &live) {
  if (live.insert(value).second)
    ending[op].push_back(value);
}

void Liveness::define(Value value, Set &live) {
  if (!live.erase(value))
    unused.insert(value);
}

Liveness::Set Liveness::usedInside(Operation *op) {
  Set out;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          out.insert(operand);
    });
  return out;
}

void Liveness::walkBlock(Block &block, Set &live) {
  for (Operation &op : llvm::reverse(block))
    walkOp(op, live);
}

void Liveness::walkOp(Operation &op, Set &live) {
  for (Value result : op.getResults())
    define(result, live);
  if (auto branch = dyn_cast<ir::IfOp>(op))
    return walkIf(branch, live);
  if (auto loop = dyn_cast<ir::ForOp>(op))
    return walkFor(loop, live);
  if (auto loop = dyn_cast<ir::WhileOp>(op))
    return walkWhile(loop, live);
  if (auto guarded = dyn_cast<ir::TryOp>(op))
    return walkTry(guarded, live);
  for (Value operand : op.getOperands())
    use(&op, operand, live);
}

void Liveness::walkIf(ir::IfOp op, Set &live) {
  Set other = live;
  Block &yes = op.getThenRegion().front(), &no = op.getElseRegion().front();
  walkBlock(yes, live);
  walkBlock(no, other);
  before[&yes] = difference(other, live);
  before[&no] = difference(live, other);
  live.insert(other.begin(), other.end());
  use(op, op.getCondition(), live);
}

void Liveness::walkFor(ir::ForOp op, Set &live) {
  // The bound is compared in each iteration, so it counts as used in the body. The index is
  // incremented afterwards, so it never ends in the body.
  Set outer = usedInside(op);
  outer.insert(op.getTo());
  after[op] = difference(outer, live);
  live.insert(outer.begin(), outer.end());
  Block &body = op.getBody().front();
  Set inside = live;
  inside.insert(body.getArgument(0));
  walkBlock(body, inside);
  Set carried(std::next(body.args_begin()), body.args_end());
  before[&body] = difference(carried, inside);
  use(op, op.getFrom(), live);
  for (Value value : op.getCarried())
    use(op, value, live);
}

void Liveness::walkWhile(ir::WhileOp op, Set &live) {
  Set outer = usedInside(op);
  if (op.getLimit())
    outer.insert(op.getLimit());
  after[op] = difference(outer, live);
  live.insert(outer.begin(), outer.end());
  Block &condition = op.getCondition().front(), &body = op.getBody().front();
  // Values that the condition reads are passed on to the body, or out of the loop.
  Set inside = live;
  inside.insert(condition.args_begin(), condition.args_end());
  walkBlock(condition, inside);
  inside = live;
  walkBlock(body, inside);
  Set carried(body.args_begin(), body.args_end());
  before[&body] = difference(carried, inside);
  for (Value value : op.getCarried())
    use(op, value, live);
}

void Liveness::walkTry(ir::TryOp op, Set &live) {
  Set handler = live;
  walkBlock(op.getHandler().front(), handler);
  define(op.getHandler().getArgument(0), handler);
  after[op] = difference(handler, live);
  // The handler may start after any instruction of the body.
  live = handler;
  walkBlock(op.getBody().front(), live);
  inBody[op] = difference(live, handler);
}

/// `op` is an mx.set or mx.set_at. Searches for the mx.get or mx.at before it.
void Liveness::findMoves(Operation *op) {
  Value whole = op->getOperand(0);
  if (!endsAt(op, whole))
    return;
  auto sameLocation = [&](Operation *other) {
    if (auto set = dyn_cast<ir::SetOp>(op)) {
      auto get = dyn_cast<ir::GetOp>(other);
      return get && get.getPart() == set.getPart();
    }
    auto at = dyn_cast<ir::AtOp>(other);
    return at && at.getIndex() == cast<ir::SetAtOp>(op).getIndex();
  };
  // The last read of that element before the update, if it is the only read since then. Reads of
  // other fields of a struct do not matter.
  Operation *found = nullptr;
  for (Operation *user : whole.getUsers()) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    if (!here || user == op)
      continue;
    if (user == here && sameLocation(user) && (!found || found->isBeforeInBlock(user)))
      found = user;
  }
  if (!found)
    return;
  for (Operation *user : whole.getUsers()) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    if (!here || user == op || user == found || here->isBeforeInBlock(found))
      continue;
    auto get = dyn_cast<ir::GetOp>(user);
    if (!get || sameLocation(get))
      return;
  }
  // Moving a number out saves nothing.
  if (!isa<ir::TensorType>(found->getResult(0).getType()) ||
      !cast<ir::TensorType>(found->getResult(0).getType()).isHost())
    moving.insert(found);
}

// ------------------------------------------------------------------------------------------------
// variables

static bool isStore(Operation *op) { return isa<ir::StoreOp, ir::GlobalStoreOp>(op); }

/// Whether a load or store accesses the variable that `load` loads.
static bool isSameVariable(Operation *op, Operation *load) {
  if (auto cell = dyn_cast<ir::LoadOp>(load)) {
    if (auto other = dyn_cast<ir::LoadOp>(op))
      return other.getCell() == cell.getCell();
    auto store = dyn_cast<ir::StoreOp>(op);
    return store && store.getCell() == cell.getCell();
  }
  StringRef name = cast<ir::GlobalLoadOp>(load).getName();
  if (auto other = dyn_cast<ir::GlobalLoadOp>(op))
    return other.getName() == name;
  auto store = dyn_cast<ir::GlobalStoreOp>(op);
  return store && store.getName() == name;
}

/// The result that is the updated operand; nothing if the op does not work in place. Functions are
/// excluded: one that fails half way may have nothing to give back.
static std::optional<unsigned> changedResult(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<ir::UpdateOp, ir::SetOp, ir::SetAtOp>(op))
    return use.getOperandNumber() == 0 ? std::optional(0u) : std::nullopt;
  auto call = dyn_cast<ir::CallOp>(op);
  auto graph = call ? SymbolTable::lookupNearestSymbolFrom<ir::GraphOp>(op, call.getCalleeAttr())
                    : ir::GraphOp();
  if (!graph)
    return std::nullopt;
  unsigned result = 0;
  for (unsigned i = 0; i < graph.getNumArguments(); ++i)
    if (graph.getArgAttr(i, ir::kMut)) {
      if (i == use.getOperandNumber())
        return result;
      ++result;
    }
  return std::nullopt;
}

void Liveness::findChange(Operation *load) {
  Value loaded = load->getResult(0);
  auto tensor = dyn_cast<ir::TensorType>(loaded.getType());
  if (!loaded.hasOneUse() || (tensor && tensor.isHost()) || isa<ir::DtypeType>(loaded.getType()))
    return;
  OpOperand &use = *loaded.use_begin();
  Operation *change = use.getOwner();
  std::optional<unsigned> result = changedResult(use);
  if (change->getBlock() != load->getBlock() || !result || *result >= change->getNumResults() ||
      !change->getResult(*result).hasOneUse())
    return;
  // The store follows, possibly after stores of other variables that were updated with it.
  Operation *store = *change->getResult(*result).user_begin();
  if (!isSameVariable(store, load) || store->getBlock() != load->getBlock())
    return;
  for (Operation *op = change->getNextNode(); op != store; op = op->getNextNode())
    if (!op || !isStore(op) || isSameVariable(op, load))
      return;
  for (OpOperand &other : change->getOpOperands())
    if (Operation *from = other.get().getDefiningOp();
        &other != &use && from && isSameVariable(from, load))
      return;
  // A callee may write to a module's variables.
  bool isGlobal = isa<ir::GlobalLoadOp>(load);
  for (Operation *op = load->getNextNode(); op != change; op = op->getNextNode()) {
    WalkResult found = op->walk([&](Operation *inner) {
      bool writes = isStore(inner) && isSameVariable(inner, load);
      bool calls = isGlobal && isa<ir::CallOp, ir::CallValueOp, ir::NativeOp>(inner);
      return writes || calls ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted())
      return;
  }
  changing.insert(load);
}

} // namespace mx::bytecode
