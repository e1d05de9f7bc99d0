// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Segment: gradients of gathers leave a graph as the rows that they add to zeros, and
// gradients of dense layers as the two matrices of their matmul, where a KVStore averages them
// (decision 45). `mx.dist.average` takes such a gradient as a further pair of name and value,
// `mx.rows` or `mx.exchanged` (runtime/data/Dist.cpp); the gradient as a whole has an undefined
// tensor there.
#include "Graph/ExchangeForms.h"
#include "Graph/Sizes.h"
#include "dialects/mx/Exchange.h"
#include "dialects/mx/Table.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mx::graph {
namespace {

/// The value behind parts of aggregates that are made here.
Value resolved(Value value) {
  for (;;) {
    auto get = value.getDefiningOp<ir::GetOp>();
    if (!get)
      return value;
    Value whole = resolved(get.getAggregate());
    auto set = whole.getDefiningOp<ir::SetOp>();
    while (set && set.getPart() != get.getPart()) {
      whole = resolved(set.getAggregate());
      set = whole.getDefiningOp<ir::SetOp>();
    }
    if (set)
      value = set.getValue();
    else if (auto make = whole.getDefiningOp<ir::MakeOp>())
      value = make.getParts()[get.getPart()];
    else
      return value;
  }
}

bool isExact(Type element) { return element.isF32() || element.isF64(); }

/// The rows that a gradient adds to zeros: those of its last scatter last.
struct Rows {
  SmallVector<ir::ScatterAddOp> scatters;
  ir::SizeAttr count, table;
};
std::optional<Rows> rowsOf(Value gradient) {
  Rows out;
  for (;;) {
    auto scatter = gradient.getDefiningOp<ir::ScatterAddOp>();
    if (!scatter || scatter.getAxis() != 0 || !isExact(scatter.getType().getElement()))
      return std::nullopt;
    if (!out.scatters.empty() && scatter.getIndex().getType().getElement() !=
                                     out.scatters.front().getIndex().getType().getElement())
      return std::nullopt;
    out.scatters.insert(out.scatters.begin(), scatter);
    ir::SizeAttr count = ir::SizeAttr::get(scatter.getContext(), 1);
    for (ir::SizeAttr size : scatter.getIndex().getType().getSizes())
      count = count.times(size);
    out.count = out.count ? out.count.plus(count) : count;
    out.table = scatter.getType().getSizes()[0];
    if (ir::isZeros(scatter.getX()))
      break;
    gradient = scatter.getX();
  }
  std::optional<int64_t> count = out.count.constant(), table = out.table.constant();
  if (count && table && *count > *table / 2)
    return std::nullopt;
  return out;
}

/// uᵀ @ v.
struct Factors {
  Value u, v;
  ir::TensorType type;
};
std::optional<Factors> factorsOf(Value gradient) {
  auto matmul = gradient.getDefiningOp<ir::MatmulOp>();
  auto left = matmul ? matmul.getX().getDefiningOp<ir::TransposeOp>() : ir::TransposeOp();
  if (!left || matmul.getInit() || matmul.getPanels() || matmul.getType().rank() != 2 ||
      left.getType().rank() != 2 || left.getOrder() != ArrayRef<int64_t>({1, 0}))
    return std::nullopt;
  Factors out{left.getX(), matmul.getY(), matmul.getType()};
  Type element = matmul.getType().getElement();
  auto fits = [&](Value side) {
    auto type = cast<ir::TensorType>(side.getType());
    return type.rank() == 2 && type.getElement() == element && !type.isHost();
  };
  if (!isExact(element) || !fits(out.u) || !fits(out.v))
    return std::nullopt;
  return out;
}

/// Rewrites one average.
class Average {
public:
  Average(ir::NativeOp op, bool offersFactors, unsigned &names)
      : op(op), b(op.getLoc(), op), offersFactors(offersFactors), names(names) {}

  bool run() {
    auto name = op.getArgs()[2].getDefiningOp<ir::TextOp>();
    if (!name)
      return false;
    Value rest = without(op.getArgs()[3], name.getValue().str());
    exchangeFactors();
    if (pairs.empty())
      return false;
    SmallVector<Value> operands(op.getArgs().take_front(3));
    operands.push_back(rest);
    for (Pair &pair : pairs)
      operands.append({text(pair.path), pair.form});
    op.getArgsMutable().assign(operands);
    return true;
  }

private:
  struct Pair {
    std::string path;
    Value form;
    std::optional<Factors> factors;
  };
  ir::NativeOp op;
  ImplicitLocOpBuilder b;
  bool offersFactors;
  unsigned &names;
  SmallVector<Pair> pairs;

  template <class Op, class... Args> Value make(Args &&...args) {
    return Op::create(b, std::forward<Args>(args)...).getResult();
  }
  Value text(const std::string &value) {
    return make<ir::TextOp>(ir::StrType::get(b.getContext()), b.getStringAttr(value));
  }
  ir::TensorType hostType(Type element) { return ir::TensorType::host(element); }
  Value number(int64_t value) {
    return make<ir::ConstantOp>(hostType(b.getI64Type()), b.getI64IntegerAttr(value));
  }
  Value size(ir::SizeAttr size) { return make<ir::SizeOp>(hostType(b.getI64Type()), size); }
  Value native(StringRef name, Type type, ArrayRef<Value> operands) {
    return ir::NativeOp::create(b, TypeRange(type), ("mx.dist." + name).str(), operands)
        ->getResult(0);
  }
  Value get(Value tuple, int64_t part) {
    return make<ir::GetOp>(cast<ir::AggregateType>(tuple.getType()).getParts()[part], tuple,
                           b.getI64IntegerAttr(part));
  }
  Value aggregate(StringRef name, ArrayRef<StringRef> fields, ArrayRef<Value> parts) {
    auto type = ir::AggregateType::get(b.getContext(), b.getStringAttr(name),
                                       b.getStrArrayAttr(fields),
                                       llvm::to_vector(ValueRange(parts).getTypes()));
    return make<ir::MakeOp>(type, ValueRange(parts));
  }
  /// A branch of the host: neither block runs unless it is taken.
  Value choose(Value condition, Type type, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise) {
    auto branch = ir::IfOp::create(b, TypeRange(type), condition);
    branch->setAttr(ir::kOfExchange, b.getUnitAttr());
    for (bool first : {true, false}) {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(first ? &branch.getThenRegion() : &branch.getElseRegion());
      Value value = first ? then() : otherwise();
      ir::YieldOp::create(b, ValueRange(value));
    }
    return branch.getResult(0);
  }

  /// The gradient with undefined tensors where there is another form.
  Value without(Value whole, const std::string &path) {
    Value value = resolved(whole);
    if (isa<ir::TensorType>(value.getType())) {
      Pair pair{path, {}, {}};
      if (std::optional<Rows> rows = rowsOf(value))
        pair.form = rowsForm(*rows, value);
      else if (offersFactors)
        pair.factors = factorsOf(value);
      if (!pair.form && !pair.factors)
        return whole;
      pairs.push_back(std::move(pair));
      return make<ir::UndefOp>(value.getType());
    }
    auto parts = value.getDefiningOp<ir::MakeOp>();
    if (!parts)
      return whole;
    auto type = dyn_cast<ir::AggregateType>(value.getType());
    SmallVector<Value> now;
    for (auto [i, part] : llvm::enumerate(parts.getParts())) {
      std::string field = std::to_string(i);
      if (type && i < type.getFields().size())
        field = cast<StringAttr>(type.getFields()[i]).str();
      now.push_back(without(part, path + "." + field));
    }
    if (llvm::equal(now, parts.getParts()))
      return whole;
    return make<ir::MakeOp>(value.getType(), now);
  }

  // ------------------------------------------------------------------------------------------ rows

  /// All scatters as one: their indices and their rows.
  std::pair<Value, Value> joined(const Rows &rows) {
    ir::ScatterAddOp first = rows.scatters.front();
    if (rows.scatters.size() == 1)
      return {first.getIndex(), first.getY()};
    SmallVector<Value> indices, entries;
    ArrayRef<ir::SizeAttr> row = first.getType().getSizes().drop_front();
    auto flat = [&](Value value, ir::SizeAttr count, ArrayRef<ir::SizeAttr> rest) -> Value {
      SmallVector<ir::SizeAttr> sizes{count};
      sizes.append(rest.begin(), rest.end());
      auto type = cast<ir::TensorType>(value.getType());
      ir::TensorType wanted = type.withSizes(sizes);
      return wanted == type ? value : make<ir::ReshapeOp>(wanted, value);
    };
    for (ir::ScatterAddOp scatter : rows.scatters) {
      ir::SizeAttr count = ir::SizeAttr::get(b.getContext(), 1);
      for (ir::SizeAttr size : scatter.getIndex().getType().getSizes())
        count = count.times(size);
      indices.push_back(flat(scatter.getIndex(), count, {}));
      entries.push_back(flat(scatter.getY(), count, row));
    }
    auto concat = [&](ArrayRef<Value> values, ArrayRef<ir::SizeAttr> rest) {
      SmallVector<ir::SizeAttr> sizes{rows.count};
      sizes.append(rest.begin(), rest.end());
      ir::TensorType type = cast<ir::TensorType>(values.front().getType()).withSizes(sizes);
      return make<ir::ConcatOp>(type, ValueRange(values), b.getI64IntegerAttr(0));
    };
    return {concat(indices, {}), concat(entries, row)};
  }

  Value rowsForm(const Rows &rows, Value gradient) {
    auto [index, entries] = joined(rows);
    Value sparse, dense = entries; // not read
    if (rows.count.constant() && rows.table.constant()) {
      sparse = make<ir::ConstantOp>(hostType(b.getI1Type()), b.getBoolAttr(true));
    } else {
      Value twice = size(rows.count.plus(rows.count));
      sparse = ir::makeElementwise(b, b.getLoc(), "le", {twice, size(rows.table)}, b.getI1Type());
      dense = choose(
          sparse, gradient.getType(), [&] { return make<ir::UndefOp>(gradient.getType()); },
          [&] {
            ir::ScatterAddOp first = rows.scatters.front();
            Value sum = first.getX();
            if (Operation *zeros = sum.getDefiningOp(); zeros && !isa<ir::ConstantOp>(zeros))
              sum = b.clone(*zeros)->getResult(0);
            for (ir::ScatterAddOp scatter : rows.scatters)
              sum = make<ir::ScatterAddOp>(scatter.getType(), sum, scatter.getIndex(),
                                           scatter.getY(), scatter.getAxisAttr());
            return sum;
          });
    }
    return aggregate("mx.rows", {"index", "rows", "dense", "size", "sparse"},
                     {index, entries, dense, size(rows.table), sparse});
  }

  // --------------------------------------------------------------------------------------- factors

  void exchangeFactors() {
    SmallVector<Value> operands{op.getArgs()[0], op.getArgs()[1]};
    for (Pair &pair : pairs)
      if (pair.factors)
        operands.append({text(pair.path), pair.factors->u, pair.factors->v});
    if (operands.size() == 2)
      return;
    Value all = native("factors", ir::HandleType::get(b.getContext(), b.getStringAttr("factors")),
                       operands);
    int64_t key = 0;
    for (Pair &pair : pairs) {
      if (!pair.factors)
        continue;
      Value number = this->number(key++);
      Value travel = native("factors_travel", hostType(b.getI1Type()), {all, number});
      Value mean = choose(
          travel, pair.factors->type,
          [&] { return meanOf(all, number, *pair.factors); },
          [&] { return multiplied(pair.factors->u, pair.factors->v, *pair.factors); });
      pair.form = aggregate("mx.exchanged", {"value", "done"}, {mean, travel});
    }
  }

  Value multiplied(Value u, Value v, const Factors &like) {
    auto type = cast<ir::TensorType>(u.getType());
    Value left = make<ir::TransposeOp>(type.withSizes({type.getSizes()[1], type.getSizes()[0]}), u,
                                       b.getDenseI64ArrayAttr({1, 0}));
    return make<ir::MatmulOp>(Type(like.type), left, v);
  }

  /// The matmul of a rank, times its weight.
  Value weighted(Value all, Value key, Value rank, const Factors &like) {
    auto name = b.getStringAttr("kv.rows" + std::to_string(names++));
    ir::BindSizeOp::create(b, native("factor_rows", hostType(b.getI64Type()), {all, key, rank}),
                           name);
    ir::SizeTable &table = b.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
    ir::SizeAttr rows;
    {
      std::lock_guard guard(table.lock);
      rows = ir::SizeAttr::get(b.getContext(), table.named(name.getValue()));
    }
    auto ofRank = [&](Value side) {
      auto type = cast<ir::TensorType>(side.getType());
      return type.withSizes({rows, type.getSizes()[1]});
    };
    Type tuple = ir::AggregateType::tuple(
        b.getContext(), {ofRank(like.u), ofRank(like.v), hostType(b.getF64Type())});
    Value pair = native("factor_pair", tuple, {all, key, rank});
    return ir::makeElementwise(b, b.getLoc(), "mul",
                               {multiplied(get(pair, 0), get(pair, 1), like),
                                narrowed(get(pair, 2), like)});
  }
  Value narrowed(Value weight, const Factors &like) {
    Type element = like.type.getElement();
    return element.isF64() ? weight : make<ir::CastOp>(hostType(element), weight);
  }

  /// The matmuls of all ranks are added in rank order.
  Value meanOf(Value all, Value key, const Factors &like) {
    Value first = weighted(all, key, number(0), like);
    Value ranks = native("size", hostType(b.getI64Type()), {op.getArgs()[0]});
    auto loop = ir::ForOp::create(b, TypeRange(first.getType()), number(1), ranks, ValueRange(first));
    loop->setAttr(ir::kOfExchange, b.getUnitAttr());
    {
      OpBuilder::InsertionGuard guard(b);
      Block *body = b.createBlock(&loop.getBody(), {}, {hostType(b.getI64Type()), first.getType()},
                                  {b.getLoc(), b.getLoc()});
      Value next = weighted(all, key, body->getArgument(0), like);
      Value sum = ir::makeElementwise(b, b.getLoc(), "add", {body->getArgument(1), next});
      ir::YieldOp::create(b, ValueRange(sum));
    }
    Value total = native("weights", hostType(b.getF64Type()), {all});
    return ir::makeElementwise(b, b.getLoc(), "div", {loop.getResult(0), narrowed(total, like)});
  }
};

/// Dense gradients that nothing uses any more, and the aggregates that held them.
void eraseUnused(ir::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](ir::GetOp get) {
    if (Value value = resolved(get); value != get.getResult())
      get.getResult().replaceAllUsesWith(value);
  });
  // Erased from the last on: what is in an op goes before the op.
  function.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

} // namespace

bool offersFactors(ModuleOp module) {
  bool found = false;
  module.walk([&](ir::TextOp text) {
    found |= text.getValue() == "factors" || text.getValue() == "auto";
  });
  return found;
}

void chooseForms(ir::FuncOp function, bool factors) {
  SmallVector<ir::NativeOp> averages;
  function.walk([&](ir::NativeOp op) {
    if (ir::linearExchange(op) == "average" && op.getArgs().size() == 4)
      averages.push_back(op);
  });
  unsigned names = 0;
  bool changed = false;
  for (ir::NativeOp op : averages)
    changed |= Average(op, factors, names).run();
  if (changed)
    eraseUnused(function);
}

} // namespace mx::graph
