// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block: large matrices between two products are computed in blocks of rows that stay in the cache.
// BlockChains.h tells which; here loops are written for them.
//
//   for each place of the first batch axes:
//     parts of what all rows need
//     for each block of rows:
//       parts of what these rows need, the ops of the chain
//       rows of results are put in their places; products that sum over rows go on with their sums
#include "Graph/BlockChains.h"
#include "Graph/Passes.h"
#include "Graph/Zeros.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/IRMapping.h"
#include <map>

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_BLOCK
#include "Graph/Passes.h.inc"

namespace {

/// What is looped over.
struct Cut {
  size_t axes;  ///< batch axes, from the first on
  int64_t rows; ///< of a block; all: rows are not looped over
};

int64_t bytesOf(Type element, ArrayRef<int64_t> sizes) {
  int64_t bytes = elementInfo(ir::elementFromMlir(element)).bytes;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return std::numeric_limits<int64_t>::max();
  return bytes;
}

Type elementOf(Value value) { return cast<ir::TensorType>(value.getType()).getElement(); }

/// Writes the loops of one round.
class RoundWriter {
public:
  RoundWriter(const Chain &chain, const ChainRound &round, Cut cut,
              const llvm::DenseMap<Value, Value> &kept)
      : chain(chain), round(round), cut(cut), kept(kept),
        b(round.ends.back().op.getLoc(), round.ends.back().op) {}

  /// What stands for the results of the ends and for round.rows, in this order.
  SmallVector<Value> run() {
    SmallVector<Value> carried;
    for (const ChainEnd &end : round.ends)
      carried.push_back(scratch(end.op.getType()));
    for (Value rows : round.rows)
      carried.push_back(scratch(cast<ir::TensorType>(rows.getType())));
    return loops(0, std::move(carried));
  }

private:
  const Chain &chain;
  const ChainRound &round;
  Cut cut;
  const llvm::DenseMap<Value, Value> &kept; ///< results of rows of earlier rounds
  ImplicitLocOpBuilder b;
  SmallVector<Value> places; ///< along the batch axes that are looped over
  Value from, to;            ///< the rows of this block, if it has not all
  int64_t height = chain.rows();
  /// Parts of tensors that all rows need, and those of this block, by the tensor and where its rows
  /// lie.
  std::map<std::pair<void *, int>, Value> whole, ofRows;

  bool isCut() const { return cut.rows < chain.rows(); }
  Value number(int64_t value) {
    return ir::ConstantOp::create(b, ir::TensorType::host(b.getI64Type()),
                                  b.getI64IntegerAttr(value));
  }
  Value zeros(ir::TensorType type) { return makeZeros(b, b.getLoc(), type); }
  Value scratch(ir::TensorType type) {
    Value room = zeros(type);
    room.getDefiningOp()->setAttr(ir::kScratch, b.getUnitAttr());
    return room;
  }

  // --------------------------------------------------------------------------------------- loops

  /// A loop of `turns`, written with what `body` makes of its number and what it carries.
  SmallVector<Value> loop(int64_t turns, ArrayRef<Value> carried,
                          llvm::function_ref<SmallVector<Value>(Value, SmallVector<Value>)> body) {
    Value from = number(0);
    if (turns == 1)
      return body(from, SmallVector<Value>(carried));
    auto made = ir::ForOp::create(b, ValueRange(carried).getTypes(), from, number(turns), carried);
    mlir::Block &block = made.getBody().emplaceBlock();
    Value turn = block.addArgument(from.getType(), b.getLoc());
    SmallVector<Value> own;
    for (Value value : carried)
      own.push_back(block.addArgument(value.getType(), b.getLoc()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    ir::YieldOp::create(b, body(turn, std::move(own)));
    return SmallVector<Value>(made.getResults());
  }

  SmallVector<Value> loops(size_t axis, SmallVector<Value> carried) {
    if (axis == cut.axes)
      return matrix(std::move(carried));
    return loop(chain.space[axis], carried, [&](Value turn, SmallVector<Value> own) {
      places.push_back(turn);
      SmallVector<Value> out = loops(axis + 1, std::move(own));
      places.pop_back();
      return out;
    });
  }

  /// Whether the sums of an end go on from block to block.
  bool goesOn(const ChainEnd &end) const { return isCut() && end.sums(); }

  /// All rows, at one place of the batch axes.
  SmallVector<Value> matrix(SmallVector<Value> carried) {
    whole.clear();
    if (!isCut())
      return rows({}, chain.rows(), std::move(carried));
    prepare();
    // What rows are put into, and behind it the sums.
    SmallVector<Value> values, sums;
    for (auto [i, value] : llvm::enumerate(carried))
      if (i < round.ends.size() && round.ends[i].sums())
        sums.push_back(
            zeros(partType(round.ends[i].op.getType(), round.ends[i].result, chain.rows())));
      else
        values.push_back(value);
    size_t next = 0, sum = values.size();
    llvm::append_range(values, sums);
    int64_t turns = chain.rows() / cut.rows, rest = chain.rows() % cut.rows;
    values = loop(turns, values, [&](Value turn, SmallVector<Value> own) {
      Value first = ir::MulOp::create(b, turn.getType(), turn, number(cut.rows));
      return rows(first, cut.rows, std::move(own));
    });
    if (rest)
      values = rows(number(chain.rows() - rest), rest, std::move(values));
    for (auto [i, value] : llvm::enumerate(carried))
      if (i < round.ends.size() && round.ends[i].sums())
        value = put(value, values[sum++], round.ends[i].result);
      else
        value = values[next++];
    return carried;
  }

  // --------------------------------------------------------------------------------------- parts

  /// Where the rows are among the last two axes; -1: there are none.
  static int rowAxis(ArrayRef<Along> axes) {
    return axes[0] == Along::Rows ? 0 : axes[1] == Along::Rows ? 1 : -1;
  }
  /// The type of a part: without the axes that are looped over, of some rows.
  ir::TensorType partType(ir::TensorType type, ArrayRef<Along> axes, int64_t height) {
    size_t missing = chain.space.size() - type.rank();
    SmallVector<ir::SizeAttr> sizes(type.getSizes().drop_front(
        cut.axes > missing ? std::min(cut.axes - missing, type.rank()) : 0));
    int row = rowAxis(axes);
    if (row >= 0 && sizes.size() + static_cast<size_t>(row) >= 2) {
      ir::SizeAttr &size = sizes[sizes.size() - 2 + static_cast<size_t>(row)];
      if (size.constant() == chain.rows())
        size = ir::SizeAttr::get(b.getContext(), height);
    }
    return type.withSizes(sizes);
  }
  /// Its places: those of the loops along the first axes, some of the rows, all of the others.
  std::pair<SmallVector<Value>, SmallVector<StringRef>> spec(ir::TensorType type,
                                                             ArrayRef<Along> axes) {
    std::pair<SmallVector<Value>, SmallVector<StringRef>> out;
    size_t missing = chain.space.size() - type.rank();
    for (size_t i = 0; i < type.rank(); ++i) {
      bool isOne = type.getSizes()[i].constant() == 1;
      size_t fromEnd = type.rank() - i;
      if (i + missing < cut.axes) {
        out.first.push_back(isOne ? number(0) : places[i + missing]);
        out.second.push_back("i");
      } else if (from && fromEnd <= 2 && axes[2 - fromEnd] == Along::Rows && !isOne) {
        out.first.append({from, to});
        out.second.push_back("rft");
      } else {
        out.second.push_back(":");
      }
    }
    return out;
  }
  /// A part of a tensor that is in memory: of this block, or the same for all of them.
  Value part(Value value, ArrayRef<Along> axes) {
    auto type = cast<ir::TensorType>(value.getType());
    if (type.isHost())
      return value;
    std::pair<void *, int> key{value.getAsOpaquePointer(), rowAxis(axes)};
    for (auto *known : {&whole, &ofRows})
      if (auto found = known->find(key); found != known->end())
        return found->second;
    ir::TensorType own = partType(type, axes, height);
    auto [at, entries] = spec(type, axes);
    Value made = llvm::all_of(entries, [](StringRef entry) { return entry == ":"; })
                     ? value
                     : Value(ir::SliceOp::create(b, own, value, at, b.getStrArrayAttr(entries)));
    (from ? ofRows : whole)[key] = made;
    return made;
  }
  Value put(Value into, Value value, ArrayRef<Along> axes) {
    auto type = cast<ir::TensorType>(into.getType());
    auto [at, entries] = spec(type, axes);
    return ir::UpdateOp::create(b, type, into, value, at, b.getStrArrayAttr(entries));
  }

  // ---------------------------------------------------------------------------------------- rows

  static constexpr Along kNormal[] = {Along::Rows, Along::Columns};
  static constexpr Along kLeft[] = {Along::Rows, Along::Other};
  static constexpr Along kRight[] = {Along::Other, Along::Columns};

  /// An operand of a product: of the chain, from outside, or one of these transposed.
  Value operand(Value value, ArrayRef<Along> axes, IRMapping &map) {
    if (Value known = map.lookupOrNull(value))
      return known;
    Value turned = turnedFrom(value);
    if (!turned)
      return part(value, axes);
    Value own = map.lookupOrNull(turned);
    if (!own)
      own = part(turned, {axes[1], axes[0]});
    auto type = cast<ir::TensorType>(own.getType());
    SmallVector<ir::SizeAttr> sizes(type.getSizes());
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
    std::swap(order[sizes.size() - 1], order[sizes.size() - 2]);
    return ir::TransposeOp::create(b, value.getLoc(), type.withSizes(sizes), own,
                                   b.getDenseI64ArrayAttr(order));
  }

  /// Before the loop over rows: parts that have none of them.
  void prepare() {
    auto visit = [&](Value value, ArrayRef<Along> axes) {
      auto type = cast<ir::TensorType>(value.getType());
      if (!type.isHost() && partType(type, axes, chain.rows()) == partType(type, axes, cut.rows))
        part(value, axes);
    };
    auto visitOperand = [&](Value value, ArrayRef<Along> axes) {
      Value turned = turnedFrom(value);
      if (!turned && !chain.has(value))
        visit(value, axes);
      else if (turned && !chain.has(turned))
        visit(turned, {axes[1], axes[0]});
    };
    for (Operation *op : round.ops) {
      if (auto product = dyn_cast<ir::MatmulOp>(op)) {
        visitOperand(product.getX(), kLeft);
        visitOperand(product.getY(), kRight);
        continue;
      }
      for (Value value : op->getOperands())
        if (!round.ops.contains(value.getDefiningOp()))
          visit(memoryOf(value), kNormal);
    }
    for (const ChainEnd &end : round.ends) {
      visitOperand(end.op.getX(), end.x);
      visitOperand(end.op.getY(), end.y);
    }
  }
  /// Where a value of the chain is that an earlier round has computed.
  Value memoryOf(Value value) const {
    Value other = kept.lookup(value);
    return other ? other : value;
  }

  /// `count` rows from `first` on, or all without it. `values` are what results are put into, of
  /// the ends and of round.rows, and behind them sums of the rows before.
  SmallVector<Value> rows(Value first, int64_t count, SmallVector<Value> values) {
    ofRows.clear();
    from = first;
    height = count;
    if (from)
      to = ir::AddOp::create(b, from.getType(), from, number(height));
    IRMapping map;
    for (Operation *op : round.ops) {
      b.setLoc(op->getLoc());
      auto type = partType(cast<ir::TensorType>(op->getResult(0).getType()), kNormal, height);
      SmallVector<Value> operands;
      if (auto product = dyn_cast<ir::MatmulOp>(op)) {
        operands = {operand(product.getX(), kLeft, map), operand(product.getY(), kRight, map)};
      } else {
        for (Value value : op->getOperands()) {
          Value own = map.lookupOrNull(value);
          operands.push_back(own ? own : part(memoryOf(value), kNormal));
        }
      }
      Operation *copy = b.clone(*op);
      copy->setOperands(operands);
      copy->getResult(0).setType(type);
      if (op->hasTrait<ir::Reduction>())
        copy->setAttr("axes", b.getDenseI64ArrayAttr({static_cast<int64_t>(type.rank()) - 1}));
      map.map(op->getResult(0), copy->getResult(0));
    }
    size_t out = 0, sum = values.size() - static_cast<size_t>(llvm::count_if(
                                              round.ends, [&](auto &end) { return goesOn(end); }));
    for (const ChainEnd &end : round.ends) {
      b.setLoc(end.op.getLoc());
      Value x = operand(end.op.getX(), end.x, map), y = operand(end.op.getY(), end.y, map);
      Value &value = values[goesOn(end) ? sum++ : out++];
      Value made = ir::MatmulOp::create(b, partType(end.op.getType(), end.result, height), x, y,
                                        goesOn(end) ? value : Value(), /*panels=*/false);
      value = goesOn(end) ? made : put(value, made, end.result);
    }
    for (Value result : round.rows) {
      b.setLoc(result.getLoc());
      values[out] = put(values[out], map.lookup(result), kNormal);
      ++out;
    }
    from = to = {};
    height = chain.rows();
    return values;
  }
};

struct Block : impl::BlockBase<Block> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ir::MatmulOp> products;
    getOperation()->walk([&](ir::MatmulOp op) { products.push_back(op); });
    llvm::DenseSet<Operation *> gone;
    for (ir::MatmulOp op : products) {
      if (gone.contains(op) || !op.getType().isStatic() ||
          bytesOf(op.getType().getElement(), op.getType().numbers()) < leastBytes)
        continue;
      std::optional<Chain> chain = chainFrom(op);
      if (!chain)
        continue;
      SmallVector<Cut> cuts;
      for (const ChainRound &round : chain->rounds) {
        std::optional<Cut> cut = cutOf(*chain, round);
        if (!cut)
          break;
        cuts.push_back(*cut);
      }
      if (cuts.size() == chain->rounds.size())
        rewrite(*chain, cuts, gone);
    }
  }

private:
  /// What is looped over so that a block of a matrix is small; nothing if it is no use.
  std::optional<Cut> cutOf(const Chain &chain, const ChainRound &round) {
    Type element = elementOf(chain.members.front()->getResult(0));
    ArrayRef<int64_t> space = chain.space;
    size_t batch = space.size() - 2;
    Cut cut{0, chain.rows()};
    while (cut.axes < batch && bytesOf(element, space.drop_front(cut.axes)) > blockBytes)
      ++cut.axes;
    // Sums of 16 bits are rounded at their end: they cannot go on after a block.
    bool mayCut = llvm::all_of(round.ends, [](const ChainEnd &end) {
      Type own = elementOf(end.op);
      return !end.sums() || own.isF32() || own.isF64();
    });
    int64_t row = std::max<int64_t>(1, bytesOf(element, space.take_back(1)));
    int64_t most = std::max<int64_t>(leastRows, blockBytes / row);
    if (mayCut && cut.axes == batch && most < chain.rows()) {
      cut.rows = most;
      // Better a few rows less than some that are left over.
      for (int64_t rows = most; rows > most / 2; --rows)
        if (chain.rows() % rows == 0) {
          cut.rows = rows;
          break;
        }
    }
    bool loops = cut.axes > 0 || cut.rows < chain.rows();
    return loops && isWorthIt(chain, round, cut) ? std::optional(cut) : std::nullopt;
  }

  /// The matrices are to be large beside the operands they are made of, or there is little to save.
  /// Each block reads all of an operand that has no rows, as many elements as the product is deep
  /// for each column; that is to be less than to write a matrix and to read it.
  bool isWorthIt(const Chain &chain, const ChainRound &round, const Cut &cut) {
    int64_t deep = 0, products = 0;
    auto add = [&](Value value, size_t back) {
      auto sizes = cast<ir::TensorType>(value.getType()).getSizes();
      deep += *sizes[sizes.size() - back].constant();
      ++products;
    };
    for (Operation *op : round.ops)
      if (auto product = dyn_cast<ir::MatmulOp>(op))
        add(product.getX(), 1);
    for (const ChainEnd &end : round.ends)
      add(end.op, end.result[0] == Along::Other ? 2 : 1);
    double each = double(deep) / double(products), rows = double(chain.rows()),
           columns = double(chain.columns());
    bool always = leastRows == 1; // blocks of single rows are for tests
    return always || (2 * each * (rows + columns) <= rows * columns &&
                      (cut.rows == chain.rows() || each <= 2 * double(cut.rows)));
  }

  static void rewrite(const Chain &chain, ArrayRef<Cut> cuts, llvm::DenseSet<Operation *> &gone) {
    llvm::DenseMap<Value, Value> kept;
    for (auto [round, cut] : llvm::zip_equal(chain.rounds, cuts)) {
      Operation *last = round.ends.back().op;
      SmallVector<Value> made = RoundWriter(chain, round, cut, kept).run();
      // What uses an earlier end runs after the loops.
      Operation *behind = last;
      for (Operation *op = round.ends.front().op, *next; op != last; op = next) {
        next = op->getNextNode();
        if (!round.after.contains(op))
          continue;
        op->moveAfter(behind);
        behind = op;
      }
      for (auto [i, end] : llvm::enumerate(round.ends))
        end.op.getResult().replaceAllUsesWith(made[i]);
      for (auto [i, rows] : llvm::enumerate(round.rows))
        kept[rows] = made[round.ends.size() + i];
    }
    llvm::SmallPtrSet<Operation *, 32> members(chain.members.begin(), chain.members.end());
    for (auto [rows, other] : kept)
      rows.replaceUsesWithIf(other,
                             [&](OpOperand &use) { return !members.contains(use.getOwner()); });
    for (const ChainRound &round : chain.rounds)
      for (const ChainEnd &end : round.ends) {
        llvm::SmallSetVector<Value, 2> operands(end.op->operand_begin(), end.op->operand_end());
        gone.insert(end.op);
        end.op->erase();
        for (Value operand : operands)
          if (Operation *turn = operand.getDefiningOp();
              isa_and_nonnull<ir::TransposeOp>(turn) && turn->use_empty())
            turn->erase();
      }
    for (Operation *member : llvm::reverse(chain.members)) {
      gone.insert(member);
      member->erase();
    }
  }
};

} // namespace
} // namespace mx::graph
