// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of TileChains: pattern matching of tileable chains, and their partition into rounds.
#include "Graph/MatmulChains.h"
#include "Graph/FusionGroups.h"
#include "dialects/mx/Marks.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace mx::graph {
namespace {

/// A device tensor with static sizes.
ir::TensorType plainType(Type type) {
  auto tensor = dyn_cast<ir::TensorType>(type);
  return tensor && !tensor.isHost() && tensor.isStatic() ? tensor : ir::TensorType();
}

} // namespace

bool Chain::fits(Type type) const {
  ir::TensorType tensor = plainType(type);
  if (!tensor || tensor.rank() > space.size())
    return false;
  return llvm::all_of(
      llvm::zip(llvm::reverse(tensor.numbers()), llvm::reverse(space)),
      [](auto pair) { return std::get<0>(pair) == 1 || std::get<0>(pair) == std::get<1>(pair); });
}

bool Chain::isOfRows(Value value) const {
  auto type = cast<ir::TensorType>(value.getType());
  return type.rank() == space.size() && type.getSizes().back().constant() == 1 && columns() != 1;
}

Value transposedFrom(Value value) {
  auto transpose = value.getDefiningOp<ir::TransposeOp>();
  if (!transpose || transpose.getOrder().size() < 2)
    return {};
  SmallVector<int64_t> order(transpose.getOrder());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return llvm::equal(order, llvm::seq<int64_t>(0, order.size())) ? transpose.getX() : Value();
}

namespace {

class Finder {
public:
  explicit Finder(ir::MatmulOp first) : block(first->getBlock()) {
    chain.space = first.getType().numbers();
    chain.members.insert(first);
  }

  std::optional<Chain> run() {
    grow();
    if (ends.empty() || !pruned() || !areAllEnds())
      return std::nullopt;
    borrow();
    if (!isClosed())
      return std::nullopt;
    inProgramOrder();
    formRounds();
    return std::move(chain);
  }

private:
  Block *block;
  Chain chain;
  llvm::SetVector<Operation *> ends; ///< matmuls that consume a member

  bool isMember(Value value) const {
    return value.getDefiningOp() && chain.members.contains(value.getDefiningOp());
  }
  bool isWhole(Value value) const {
    auto type = plainType(value.getType());
    return type && llvm::equal(type.numbers(), chain.space);
  }
  /// The member that the operand of a matmul is, directly or transposed; null if neither.
  Value memberOf(Value operand) const {
    if (isMember(operand))
      return operand;
    Value source = transposedFrom(operand);
    return source && isMember(source) ? source : Value();
  }

  /// Whether the op is row-wise: an element depends on the same index of the operands, or on its
  /// row.
  bool goesAlong(Operation *op) const {
    if (op->getBlock() != block || op->getNumResults() != 1 || !isMemoryEffectFree(op) ||
        mayFail(op) || op->getNumRegions() > 0)
      return false;
    ir::TensorType type = plainType(op->getResult(0).getType());
    if (!type || type.rank() != chain.space.size() || !chain.fits(type))
      return false;
    if (op->hasTrait<ir::Elementwise>() || isa<ir::BroadcastOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value operand) {
        auto own = dyn_cast<ir::TensorType>(operand.getType());
        return own && (own.isHost() || chain.fits(own));
      });
    if (!op->hasTrait<ir::Reduction>() || !op->hasAttr("keep"))
      return false;
    ArrayRef<int64_t> axes = op->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
    return axes.size() == 1 && axes[0] + 1 == static_cast<int64_t>(chain.space.size()) &&
           chain.fits(op->getOperand(0).getType());
  }
  /// A matmul of other operands whose result has the sizes of the space.
  bool isSource(Operation *op) const {
    auto matmul = dyn_cast<ir::MatmulOp>(op);
    if (!matmul || matmul->getBlock() != block || matmul.getPanels() || matmul.getInit() ||
        !isWhole(matmul.getResult()))
      return false;
    return llvm::all_of(matmul->getOperands(), [&](Value operand) {
      ir::TensorType type = plainType(operand.getType());
      return type && type.rank() >= 2 && !memberOf(operand);
    });
  }

  /// Adds all row-wise users of members, and side inputs.
  void grow() {
    for (size_t i = 0; i < chain.members.size(); ++i) {
      Operation *member = chain.members[i];
      for (Operation *user : member->getUsers()) {
        if (isa<ir::MatmulOp>(user))
          ends.insert(user);
        else if (goesAlong(user))
          chain.members.insert(user);
        else if (user->getNumResults() == 1 && transposedFrom(user->getResult(0)))
          for (Operation *end : user->getUsers())
            ends.insert(end);
      }
      // Side inputs used only by members belong to the chain: matmuls, and ops on these.
      if (!isa<ir::MatmulOp>(member))
        for (Value operand : member->getOperands())
          addBeside(operand);
    }
  }
  void addBeside(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || chain.members.contains(op) || ends.contains(op) || !(isSource(op) || goesAlong(op)))
      return;
    if (llvm::all_of(op->getUsers(),
                     [&](Operation *user) { return user->getBlock() == block && reaches(user); }))
      chain.members.insert(op);
  }
  /// A member, or a side input used only by members.
  bool reaches(Operation *op, unsigned depth = 0) const {
    constexpr unsigned kDeepest = 8;
    if (chain.members.contains(op))
      return true;
    return depth < kDeepest && !ends.contains(op) && goesAlong(op) && !op->use_empty() &&
           llvm::all_of(op->getUsers(), [&](Operation *user) { return reaches(user, depth + 1); });
  }

  /// Keeps the members that lead to an end. False if none is left.
  bool pruned() {
    llvm::SetVector<Operation *> needed;
    for (Operation *end : ends)
      for (Value operand : end->getOperands())
        if (Value member = memberOf(operand))
          needed.insert(member.getDefiningOp());
    for (size_t i = 0; i < needed.size(); ++i)
      for (Value operand : needed[i]->getOperands())
        if (isMember(operand) && !isa<ir::MatmulOp>(needed[i]))
          needed.insert(operand.getDefiningOp());
    chain.members = std::move(needed);
    return !chain.members.empty();
  }

  /// Whether every end is a matmul that can be computed block by block.
  bool areAllEnds() {
    for (Operation *op : ends) {
      auto matmul = dyn_cast<ir::MatmulOp>(op);
      if (!matmul || op->getBlock() != block || matmul.getPanels() || matmul.getInit() ||
          chain.members.contains(op) || !endOf(matmul))
        return false;
    }
    return true;
  }

  static std::optional<ChainEnd> labelled(ir::MatmulOp op, ArrayRef<Along> x, ArrayRef<Along> y) {
    ChainEnd end{op, {x[0], x[1]}, {y[0], y[1]}, {}};
    // The reduction dimension is along the same axis in both operands.
    if (end.x[1] == Along::Other)
      end.x[1] = end.y[0];
    else if (end.y[0] == Along::Other)
      end.y[0] = end.x[1];
    if (end.x[1] != end.y[0])
      return std::nullopt;
    end.result[0] = end.x[0];
    end.result[1] = end.y[1];
    int rows = (end.result[0] == Along::Rows) + (end.result[1] == Along::Rows) + end.sums();
    return rows == 1 ? std::optional(end) : std::nullopt;
  }
  std::optional<ChainEnd> endOf(ir::MatmulOp op) const {
    auto axesOf = [&](Value operand) -> std::optional<std::array<Along, 2>> {
      ir::TensorType type = plainType(operand.getType());
      if (!type || type.rank() < 2)
        return std::nullopt;
      Value member = memberOf(operand);
      if (!member)
        return std::array{Along::Other, Along::Other};
      if (!isWhole(member))
        return std::nullopt;
      return member == operand ? std::array{Along::Rows, Along::Columns}
                               : std::array{Along::Columns, Along::Rows};
    };
    auto x = axesOf(op.getX()), y = axesOf(op.getY());
    ir::TensorType type = plainType(op.getType());
    if (!x || !y || !type || type.rank() != chain.space.size() ||
        !llvm::equal(ArrayRef(type.numbers()).drop_back(2), ArrayRef(chain.space).drop_back(2)))
      return std::nullopt;
    return labelled(op, *x, *y);
  }

  // -------------------------------------------------------------------------------- side inputs

  /// Whether a block of the value can be recomputed with a few simple ops from tensors that are not
  /// matrices.
  bool isSimple(Value value, unsigned depth = 0) const {
    constexpr unsigned kDeepest = 8;
    ir::TensorType type = plainType(value.getType());
    Operation *op = value.getDefiningOp();
    if (!type || !op || depth > kDeepest || op->getBlock() != block || !isMemoryEffectFree(op) ||
        mayFail(op) || ir::isExpensive(op) || ir::isScratch(op) || !chain.fits(type) ||
        !(op->hasTrait<ir::Elementwise>() || isa<ir::BroadcastOp>(op)))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      auto own = dyn_cast<ir::TensorType>(operand.getType());
      return own && (own.isHost() || (chain.fits(own) && (!isMatrix(own) || chain.has(operand) ||
                                                          isSimple(operand, depth + 1))));
    });
  }
  /// Whether the type has both rows and columns of the space.
  static bool isMatrix(ir::TensorType type) {
    return type.rank() >= 2 && type.getSizes().back().constant() != 1 &&
           type.getSizes()[type.rank() - 2].constant() != 1;
  }
  void borrow() {
    SmallVector<Value> work;
    for (Operation *member : chain.members)
      if (!isa<ir::MatmulOp>(member))
        llvm::append_range(work, member->getOperands());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      auto type = dyn_cast<ir::TensorType>(value.getType());
      if (!type || !isMatrix(type) || chain.has(value) || !isSimple(value))
        continue;
      chain.borrowed.insert(value.getDefiningOp());
      llvm::append_range(work, value.getDefiningOp()->getOperands());
    }
  }

  // -------------------------------------------------------------------------------------- rounds

  /// Whether the matrices have no other readers.
  bool isClosed() const {
    return llvm::all_of(chain.members, [&](Operation *member) {
      return llvm::all_of(member->getUsers(), [&](Operation *user) {
        if (user->getBlock() != block)
          return false;
        if (chain.members.contains(user) || ends.contains(user))
          return true;
        if (user->getNumResults() == 1 && transposedFrom(user->getResult(0)))
          return llvm::all_of(user->getUsers(), [&](Operation *end) { return ends.contains(end); });
        return chain.isOfRows(member->getResult(0));
      });
    });
  }
  static void sort(llvm::SetVector<Operation *> &ops) {
    SmallVector<Operation *> list(ops.begin(), ops.end());
    llvm::sort(list, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    ops = llvm::SetVector<Operation *>(list.begin(), list.end());
  }
  void inProgramOrder() {
    sort(chain.members);
    sort(ends);
  }

  /// The ops of the chain that an end depends on, up to per-row results that are already computed.
  llvm::SetVector<Operation *> coneOf(const ChainEnd &end) const {
    llvm::SetVector<Operation *> cone;
    auto add = [&](Value value) {
      bool isKept = chain.isOfRows(value) && llvm::any_of(finished(), [&](const ChainRound &round) {
                      return round.ops.contains(value.getDefiningOp());
                    });
      if (chain.has(value) && !isKept)
        cone.insert(value.getDefiningOp());
    };
    for (Value operand : end.op->getOperands())
      if (Value member = memberOf(operand))
        add(member);
    for (size_t i = 0; i < cone.size(); ++i)
      if (!isa<ir::MatmulOp>(cone[i]))
        for (Value operand : cone[i]->getOperands())
          add(operand);
    return cone;
  }
  ArrayRef<ChainRound> finished() const {
    return ArrayRef(chain.rounds).drop_back(chain.rounds.empty() ? 0 : 1);
  }

  /// Whether the end can join the last round: it does not depend on it, and users of that round can
  /// run later.
  bool joins(const ChainEnd &end, const ChainRound &round) const {
    auto isAfter = [&](Value value) {
      return !chain.has(value) && value.getDefiningOp() &&
             round.after.contains(block->findAncestorOpInBlock(*value.getDefiningOp()));
    };
    if (round.after.contains(end.op) || llvm::any_of(end.op->getOperands(), isAfter))
      return false;
    for (Operation *op : coneOf(end))
      if (llvm::any_of(op->getOperands(), isAfter))
        return false;
    for (Operation *op = round.ends.front().op; op != end.op; op = op->getNextNode())
      if (!isMemoryEffectFree(op))
        return false;
    return true;
  }
  void follow(Operation *from, ChainRound &round) const {
    SmallVector<Operation *> work{from};
    while (!work.empty())
      for (Operation *user : work.pop_back_val()->getUsers())
        if (Operation *at = block->findAncestorOpInBlock(*user);
            at && round.after.insert(at).second)
          work.push_back(at);
  }
  void formRounds() {
    for (Operation *op : ends) {
      ChainEnd end = *endOf(cast<ir::MatmulOp>(op));
      if (chain.rounds.empty() || !joins(end, chain.rounds.back()))
        chain.rounds.emplace_back();
      ChainRound &round = chain.rounds.back();
      round.ends.push_back(end);
      for (Operation *needed : coneOf(end))
        round.ops.insert(needed);
      follow(op, round);
      for (Operation *needed : round.ops)
        if (chain.isOfRows(needed->getResult(0)))
          for (Operation *user : needed->getUsers())
            if (!chain.members.contains(user) && round.after.insert(user).second)
              follow(user, round);
    }
    for (ChainRound &round : chain.rounds)
      sort(round.ops);
    for (ChainRound &round : chain.rounds)
      for (Operation *op : round.ops)
        if (Value result = op->getResult(0); chain.isOfRows(result) && isNeeded(result, round))
          round.rows.push_back(result);
  }
  /// Whether the result has users outside the chain, or in a later round that does not recompute
  /// it.
  bool isNeeded(Value result, const ChainRound &round) const {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      if (!chain.members.contains(user))
        return true;
      return llvm::any_of(chain.rounds, [&](const ChainRound &other) {
        return &other != &round && other.ops.contains(user) &&
               !other.ops.contains(result.getDefiningOp());
      });
    });
  }
};

} // namespace

std::optional<Chain> chainFrom(ir::MatmulOp first) {
  ir::TensorType type = plainType(first.getType());
  if (!type || type.rank() < 2 || first.getPanels() || first.getInit())
    return std::nullopt;
  for (Value operand : first->getOperands()) {
    ir::TensorType own = plainType(operand.getType());
    if (!own || own.rank() < 2)
      return std::nullopt;
  }
  return Finder(first).run();
}

} // namespace mx::graph
