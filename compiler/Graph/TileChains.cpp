// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TileChains: FlashAttention-style tiling of matmul chains. Large matrices between two matmuls are
// computed in blocks of rows that stay in the cache. A block has all columns, so softmax needs no
// online rescaling. MatmulChains.h finds the chains; this file emits the loops:
//
//   for each index of the outer batch axes:
//     slice the operands that all rows share
//     for each block of rows:
//       slice the operands of these rows, run the ops of the chain
//       store the rows of the results; matmuls that reduce over rows accumulate
#include "Graph/MatmulChains.h"
#include "Graph/Passes.h"
#include "Graph/Zeros.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/IRMapping.h"
#include <map>

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_TILECHAINS
#include "Graph/Passes.h.inc"

namespace {

/// The loops of a tiled chain.
struct Cut {
  size_t axes;  ///< looped batch axes, outermost first
  int64_t rows; ///< per block; if all: no loop over rows
};

int64_t bytesOf(Type element, ArrayRef<int64_t> sizes) {
  int64_t bytes = elementInfo(ir::elementFromMlir(element)).bytes;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return std::numeric_limits<int64_t>::max();
  return bytes;
}

Type elementOf(Value value) { return cast<ir::TensorType>(value.getType()).getElement(); }

/// Emits the loops of one round.
class RoundWriter {
public:
  RoundWriter(const Chain &chain, const ChainRound &round, Cut cut,
              const llvm::DenseMap<Value, Value> &kept)
      : chain(chain), round(round), cut(cut), kept(kept),
        b(round.ends.back().op.getLoc(), round.ends.back().op) {}

  /// Returns the replacements of the ends' results and of round.rows, in this order.
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
  const llvm::DenseMap<Value, Value> &kept; ///< per-row results of earlier rounds
  ImplicitLocOpBuilder b;
  SmallVector<Value> positions; ///< indices along the looped batch axes
  Value from, to;               ///< the rows of this block; null if it has all
  int64_t height = chain.rows();
  /// Slices that all rows share, and slices of this block, keyed by the tensor and its row axis.
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

  /// Emits a loop with trip count `iterations`; `body` builds its body from the induction variable
  /// and the carried values.
  SmallVector<Value> loop(int64_t iterations, ArrayRef<Value> carried,
                          llvm::function_ref<SmallVector<Value>(Value, SmallVector<Value>)> body) {
    Value from = number(0);
    if (iterations == 1)
      return body(from, SmallVector<Value>(carried));
    auto made =
        ir::ForOp::create(b, ValueRange(carried).getTypes(), from, number(iterations), carried);
    mlir::Block &block = made.getBody().emplaceBlock();
    Value iteration = block.addArgument(from.getType(), b.getLoc());
    SmallVector<Value> own;
    for (Value value : carried)
      own.push_back(block.addArgument(value.getType(), b.getLoc()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    ir::YieldOp::create(b, body(iteration, std::move(own)));
    return SmallVector<Value>(made.getResults());
  }

  SmallVector<Value> loops(size_t axis, SmallVector<Value> carried) {
    if (axis == cut.axes)
      return matrix(std::move(carried));
    return loop(chain.space[axis], carried, [&](Value iteration, SmallVector<Value> own) {
      positions.push_back(iteration);
      SmallVector<Value> out = loops(axis + 1, std::move(own));
      positions.pop_back();
      return out;
    });
  }

  /// Whether an end accumulates across blocks.
  bool goesOn(const ChainEnd &end) const { return isCut() && end.sums(); }

  /// All rows, at one index of the batch axes.
  SmallVector<Value> matrix(SmallVector<Value> carried) {
    whole.clear();
    if (!isCut())
      return rows({}, chain.rows(), std::move(carried));
    prepare();
    // The destinations of rows, followed by the accumulators.
    SmallVector<Value> values, sums;
    for (auto [i, value] : llvm::enumerate(carried))
      if (i < round.ends.size() && round.ends[i].sums())
        sums.push_back(
            zeros(partType(round.ends[i].op.getType(), round.ends[i].result, chain.rows())));
      else
        values.push_back(value);
    size_t next = 0, sum = values.size();
    llvm::append_range(values, sums);
    int64_t iterations = chain.rows() / cut.rows, rest = chain.rows() % cut.rows;
    values = loop(iterations, values, [&](Value iteration, SmallVector<Value> own) {
      Value first = ir::MulOp::create(b, iteration.getType(), iteration, number(cut.rows));
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

  /// Which of the last two axes holds the rows; -1: none.
  static int rowAxis(ArrayRef<Along> axes) {
    return axes[0] == Along::Rows ? 0 : axes[1] == Along::Rows ? 1 : -1;
  }
  /// The type of a slice: without the looped axes, with `height` rows.
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
  /// The region of a slice: the loop indices along the first axes, this block's rows, all of the
  /// others.
  std::pair<SmallVector<Value>, SmallVector<StringRef>> spec(ir::TensorType type,
                                                             ArrayRef<Along> axes) {
    std::pair<SmallVector<Value>, SmallVector<StringRef>> out;
    size_t missing = chain.space.size() - type.rank();
    for (size_t i = 0; i < type.rank(); ++i) {
      bool isOne = type.getSizes()[i].constant() == 1;
      size_t fromEnd = type.rank() - i;
      if (i + missing < cut.axes) {
        out.first.push_back(isOne ? number(0) : positions[i + missing]);
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
  /// A slice of a tensor in memory: for this block, or shared by all blocks.
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

  /// An operand of a matmul: from the chain, from outside, or the transpose of one of these.
  Value operand(Value value, ArrayRef<Along> axes, IRMapping &map) {
    if (Value known = map.lookupOrNull(value))
      return known;
    Value source = transposedFrom(value);
    if (!source)
      return part(value, axes);
    Value own = map.lookupOrNull(source);
    if (!own)
      own = part(source, {axes[1], axes[0]});
    auto type = cast<ir::TensorType>(own.getType());
    SmallVector<ir::SizeAttr> sizes(type.getSizes());
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
    std::swap(order[sizes.size() - 1], order[sizes.size() - 2]);
    return ir::TransposeOp::create(b, value.getLoc(), type.withSizes(sizes), own,
                                   b.getDenseI64ArrayAttr(order));
  }

  /// Hoists slices without rows out of the loop over rows.
  void prepare() {
    auto visit = [&](Value value, ArrayRef<Along> axes) {
      auto type = cast<ir::TensorType>(value.getType());
      if (!type.isHost() && partType(type, axes, chain.rows()) == partType(type, axes, cut.rows))
        part(value, axes);
    };
    auto visitOperand = [&](Value value, ArrayRef<Along> axes) {
      Value source = transposedFrom(value);
      if (!source && !chain.has(value))
        visit(value, axes);
      else if (source && !chain.has(source))
        visit(source, {axes[1], axes[0]});
    };
    for (Operation *op : round.ops) {
      if (auto matmul = dyn_cast<ir::MatmulOp>(op)) {
        visitOperand(matmul.getX(), kLeft);
        visitOperand(matmul.getY(), kRight);
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
  /// The tensor in memory that holds a chain value of an earlier round.
  Value memoryOf(Value value) const {
    Value other = kept.lookup(value);
    return other ? other : value;
  }

  /// Emits `count` rows from `first` on, or all without it. `values` are the destinations of the
  /// ends and of round.rows, followed by the accumulators of the rows before.
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
      if (auto matmul = dyn_cast<ir::MatmulOp>(op)) {
        operands = {operand(matmul.getX(), kLeft, map), operand(matmul.getY(), kRight, map)};
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

struct TileChains : impl::TileChainsBase<TileChains> {
  using Base::Base;
  TileChains(const TargetInfo &target, TileChainsOptions options)
      : Base(std::move(options)), target(target) {}
  TargetInfo target;

  void runOnOperation() override {
    if (minBytes == 0)
      minBytes = target.matrixBytes;
    if (tileBytes == 0)
      tileBytes = target.keptBytes;
    SmallVector<ir::MatmulOp> matmuls;
    getOperation()->walk([&](ir::MatmulOp op) { matmuls.push_back(op); });
    llvm::DenseSet<Operation *> gone;
    for (ir::MatmulOp op : matmuls) {
      if (gone.contains(op) || !op.getType().isStatic() ||
          bytesOf(op.getType().getElement(), op.getType().numbers()) < minBytes)
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
  /// Chooses the loops so that a block of a matrix is small; nothing if tiling does not help.
  std::optional<Cut> cutOf(const Chain &chain, const ChainRound &round) {
    Type element = elementOf(chain.members.front()->getResult(0));
    ArrayRef<int64_t> space = chain.space;
    size_t batch = space.size() - 2;
    Cut cut{0, chain.rows()};
    while (cut.axes < batch && bytesOf(element, space.drop_front(cut.axes)) > tileBytes)
      ++cut.axes;
    // 16-bit sums are rounded at their end: they cannot continue across blocks.
    bool mayCut = llvm::all_of(round.ends, [](const ChainEnd &end) {
      Type own = elementOf(end.op);
      return !end.sums() || own.isF32() || own.isF64();
    });
    int64_t row = std::max<int64_t>(1, bytesOf(element, space.take_back(1)));
    int64_t maxRows = std::max<int64_t>(minRows, tileBytes / row);
    if (mayCut && cut.axes == batch && maxRows < chain.rows()) {
      cut.rows = maxRows;
      // Prefers a few rows less to a remainder block.
      for (int64_t rows = maxRows; rows > maxRows / 2; --rows)
        if (chain.rows() % rows == 0) {
          cut.rows = rows;
          break;
        }
    }
    bool loops = cut.axes > 0 || cut.rows < chain.rows();
    return loops && isWorthIt(chain, round, cut) ? std::optional(cut) : std::nullopt;
  }

  /// Cost model. The matrices must be large compared with the operands they are computed from, or
  /// there is little to save. Each block rereads every operand without rows, K elements per column;
  /// that must be less than writing and reading a matrix.
  bool isWorthIt(const Chain &chain, const ChainRound &round, const Cut &cut) {
    int64_t deep = 0, matmuls = 0;
    auto add = [&](Value value, size_t back) {
      auto sizes = cast<ir::TensorType>(value.getType()).getSizes();
      deep += *sizes[sizes.size() - back].constant();
      ++matmuls;
    };
    for (Operation *op : round.ops)
      if (auto matmul = dyn_cast<ir::MatmulOp>(op))
        add(matmul.getX(), 1);
    for (const ChainEnd &end : round.ends)
      add(end.op, end.result[0] == Along::Other ? 2 : 1);
    double each = double(deep) / double(matmuls), rows = double(chain.rows()),
           columns = double(chain.columns());
    bool always = minRows == 1; // single-row blocks are for tests
    return always || (2 * each * (rows + columns) <= rows * columns &&
                      (cut.rows == chain.rows() || each <= 2 * double(cut.rows)));
  }

  static void rewrite(const Chain &chain, ArrayRef<Cut> cuts, llvm::DenseSet<Operation *> &gone) {
    llvm::DenseMap<Value, Value> kept;
    for (auto [round, cut] : llvm::zip_equal(chain.rounds, cuts)) {
      Operation *last = round.ends.back().op;
      SmallVector<Value> made = RoundWriter(chain, round, cut, kept).run();
      // Users of an earlier end run after the loops.
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
          if (Operation *transposed = operand.getDefiningOp();
              isa_and_nonnull<ir::TransposeOp>(transposed) && transposed->use_empty())
            transposed->erase();
      }
    for (Operation *member : llvm::reverse(chain.members)) {
      gone.insert(member);
      member->erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createTileChains(const TargetInfo &target, TileChainsOptions options) {
  return std::make_unique<TileChains>(target, std::move(options));
}

} // namespace mx::graph
