// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summarize: output shapes and FLOPs of each sub-model, by abstract interpretation of a call that
// never runs. Calls are followed with the sizes they pass and with the paths of their models.
#include "Graph/Passes.h"
#include "Graph/Sizes.h"
#include "dialects/mx/Marks.h"
#include <map>

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_SUMMARIZE
#include "Graph/Passes.h.inc"

namespace {

/// Maximum call depth, and maximum iterations of loops that take elements of arrays; beyond these,
/// costs are unknown.
constexpr unsigned kMaxNested = 200;
constexpr int64_t kMaxIterations = 1000;
constexpr int64_t kMaxOps = 1'000'000;
constexpr llvm::StringLiteral kLost = "lost$";

/// Facts about a value: the path of a sub-model in the described model, or an integer.
struct Known {
  std::optional<std::string> path;
  std::optional<int64_t> number;
};

struct Row {
  SmallVector<ir::TensorType> outputs; ///< of the latest call; empty if they are not tensors
  Dim flops;                           ///< none: unknown
};

class Reader {
public:
  Reader(Operation *branch, SymbolTable &symbols)
      : symbols(symbols), context(branch->getContext()),
        table(context->getOrLoadDialect<ir::MxDialect>()->sizes()) {
    std::lock_guard guard(table.lock);
    scale = table.dims.constant(1);
    lost = ir::SizeAttr::get(context, table.named(kLost));
  }

  /// Follows the last call of the block, whose first argument is the model.
  void read(Block &block) {
    ir::CallOp model;
    for (ir::CallOp call : block.getOps<ir::CallOp>())
      model = call;
    if (!model || model.getArgs().empty())
      return;
    Frame frame;
    // Sizes bound in the branch are erased with it.
    block.walk([&](ir::BindSizeOp bind) { frame.sizes[bind.getNameAttr()] = lost; });
    for (Operation &op : block) {
      if (&op == model.getOperation())
        break;
      if (!isa<ir::CallOp>(op))
        follow(&op, frame);
    }
    frame.known[model.getArgs()[0]].path = "";
    call(model, frame);
  }

  const std::map<std::string, Row> &found() const { return rows; }

private:
  struct Frame {
    llvm::DenseMap<Value, Known> known;
    SizeMap sizes;                       ///< size names here, in terms of the described call
    std::optional<std::string> receiver; ///< the model whose function this is
    unsigned depth = 0;
  };

  SymbolTable &symbols;
  MLIRContext *context;
  ir::SizeTable &table;
  std::map<std::string, Row> rows;
  SmallVector<std::string> open; ///< models whose functions are running
  Dim scale;                     ///< iterations of the enclosing loops
  ir::SizeAttr lost;             ///< stands for sizes bound in callees
  int64_t visited = 0;

  // ---- sizes

  Dim sizeIn(const Frame &frame, ir::SizeAttr size) {
    ir::SizeAttr seen = size.substitute(frame.sizes);
    if (!seen)
      return {};
    SmallVector<StringAttr> names;
    seen.names(names);
    return llvm::any_of(names, [](StringAttr name) { return name == kLost; }) ? Dim() : seen.dim();
  }
  Dim times(Dim x, Dim y) {
    std::lock_guard guard(table.lock);
    return x && y ? table.dims.mul(x, y) : Dim();
  }
  Dim constant(int64_t value) {
    std::lock_guard guard(table.lock);
    return table.dims.constant(value);
  }
  Dim elements(const Frame &frame, Value value) {
    Dim count = constant(1);
    for (ir::SizeAttr size : cast<ir::TensorType>(value.getType()).getSizes())
      count = times(count, sizeIn(frame, size));
    return count;
  }

  void charge(Dim cost) {
    cost = times(cost, scale);
    std::lock_guard guard(table.lock);
    for (const std::string &path : open) {
      Row &row = rows[path];
      row.flops = cost && row.flops ? table.dims.add(row.flops, cost) : Dim();
    }
  }

  // ---- ops

  void block(Block &body, Frame &frame) {
    for (Operation &op : body.without_terminator())
      follow(&op, frame);
  }

  static bool isFloat(Value value) {
    auto type = dyn_cast<ir::TensorType>(value.getType());
    return type && !type.isHost() && ir::isFloatElement(type.getElement());
  }

  /// Matmuls and convolutions count 2 FLOPs per multiply-add, arithmetic and sums 1 per element;
  /// ops that only move, compare or select elements count 0.
  void cost(Operation *op, Frame &frame) {
    if (op->getNumResults() == 0 || op->getNumOperands() == 0 || !isFloat(op->getOperand(0)))
      return;
    if (auto matmul = dyn_cast<ir::MatmulOp>(op)) {
      auto sizes = cast<ir::TensorType>(matmul.getX().getType()).getSizes();
      charge(times(times(elements(frame, matmul.getResult()), sizeIn(frame, sizes.back())),
                   constant(2)));
    } else if (auto conv = dyn_cast<ir::ConvOp>(op)) {
      Dim work = times(elements(frame, conv.getResult()), constant(2));
      for (ir::SizeAttr size : conv.getW().getType().getSizes().drop_front())
        work = times(work, sizeIn(frame, size));
      charge(work);
    } else if (isa<ir::SumOp, ir::ProdOp, ir::FoldOp>(op)) {
      charge(elements(frame, op->getOperand(0)));
    } else if (auto scatter = dyn_cast<ir::ScatterAddOp>(op)) {
      charge(elements(frame, scatter.getY()));
    } else if (auto routine = dyn_cast<ir::RoutineOp>(op)) {
      StringRef kind = routine.getKind();
      if (kind == "cumsum" || kind == "cumprod")
        charge(elements(frame, op->getOperand(0)));
      else if (kind == "recurrence")
        charge(times(elements(frame, op->getOperand(0)), constant(2)));
      else if (kind == "scatter_add")
        charge(elements(frame, op->getOperand(2)));
      else if (!kind.starts_with("argsort") && !kind.starts_with("scatter"))
        charge({}); // linear algebra: depends on the data
    } else if (op->hasTrait<ir::Elementwise>() && isFloat(op->getResult(0)) &&
               !isa<ir::CastOp, ir::SelectOp, ir::NegOp, ir::AbsOp, ir::SignOp, ir::MaximumOp,
                    ir::MinimumOp, ir::FloorOp, ir::CeilOp, ir::RoundOp>(op)) {
      charge(elements(frame, op->getResult(0)));
    }
  }

  void follow(Operation *op, Frame &frame) {
    if (++visited > kMaxOps)
      return charge({});
    cost(op, frame);
    auto known = [&](Value value) { return frame.known.lookup(value); };
    if (auto get = dyn_cast<ir::GetOp>(op)) {
      auto type = cast<ir::AggregateType>(get.getAggregate().getType());
      auto path = known(get.getAggregate()).path;
      if (path && get.getPart() < type.getFields().size())
        frame.known[get.getResult()].path =
            (path->empty() ? "" : *path + ".") +
            cast<StringAttr>(type.getFields()[get.getPart()]).getValue().str();
    } else if (auto at = dyn_cast<ir::AtOp>(op)) {
      auto path = known(at.getArray()).path;
      if (auto index = numberOf(at.getIndex(), frame); path && index)
        frame.known[at.getResult()].path =
            (path->empty() ? "" : *path + ".") + std::to_string(*index);
    } else if (isa<ir::SetOp, ir::SetAtOp>(op)) {
      frame.known[op->getResult(0)] = known(op->getOperand(0));
    } else if (auto bind = dyn_cast<ir::BindSizeOp>(op)) {
      auto number = numberOf(bind.getValue(), frame);
      frame.sizes[bind.getNameAttr()] = number ? ir::SizeAttr::get(context, *number) : lost;
    } else if (auto made = dyn_cast<ir::CallOp>(op)) {
      call(made, frame);
    } else if (isa<ir::CallValueOp, ir::GradOp>(op)) {
      charge({});
    } else if (auto branch = dyn_cast<ir::IfOp>(op)) {
      either(branch, frame);
    } else if (auto loop = dyn_cast<ir::ForOp>(op)) {
      iterations(loop, frame);
    } else if (auto loop = dyn_cast<ir::WhileOp>(op)) {
      // The trip count is unknown.
      Dim outer = std::exchange(scale, Dim());
      pass(loop.getCarried(), loop.getBody().front().getArguments(), frame);
      charge({});
      block(loop.getBody().front(), frame);
      scale = outer;
      pass(loop.getBody().front().getTerminator()->getOperands(), loop.getResults(), frame);
    }
  }

  void pass(ValueRange from, ValueRange to, Frame &frame) {
    for (auto [source, target] : llvm::zip_equal(from, to)) {
      Known known = frame.known.lookup(source);
      if (!known.number)
        known.number = numberOf(source, frame);
      frame.known[target] = known;
    }
  }

  /// A host integer, if it follows from constants, sizes and loop indices.
  std::optional<int64_t> numberOf(Value value, Frame &frame) {
    if (auto number = frame.known.lookup(value).number)
      return number;
    if (auto number = constantInt(value))
      return number;
    Operation *op = value.getDefiningOp();
    if (auto size = dyn_cast_or_null<ir::SizeOp>(op)) {
      Dim dim = sizeIn(frame, size.getSize());
      return dim ? dim.constant() : std::nullopt;
    }
    if (!isa_and_nonnull<ir::AddOp, ir::SubOp, ir::MulOp>(op) || !ir::isHostInt(value.getType()))
      return std::nullopt;
    auto x = numberOf(op->getOperand(0), frame), y = numberOf(op->getOperand(1), frame);
    int64_t out = 0;
    if (!x || !y ||
        (isa<ir::AddOp>(op)   ? llvm::AddOverflow(*x, *y, out)
         : isa<ir::SubOp>(op) ? llvm::SubOverflow(*x, *y, out)
                              : llvm::MulOverflow(*x, *y, out)))
      return std::nullopt;
    return out;
  }

  /// Counts the more expensive branch, where the costs can be compared.
  void either(ir::IfOp op, Frame &frame) {
    auto constant = op.getCondition().getDefiningOp<ir::ConstantOp>();
    auto decided = constant ? dyn_cast<BoolAttr>(constant.getValue()) : BoolAttr();
    Region *regions[] = {&op.getThenRegion(), &op.getElseRegion()};
    auto run = [&](int side) {
      block(regions[side]->front(), frame);
      pass(regions[side]->front().getTerminator()->getOperands(), op.getResults(), frame);
    };
    if (decided || open.empty())
      return run(decided && !decided.getValue() ? 1 : 0);
    auto before = rows;
    run(1);
    auto other = rows;
    rows = before;
    run(0);
    for (const std::string &path : open) {
      Dim one = rows[path].flops, two = other[path].flops;
      bool same = one && two && one == two;
      if (same)
        continue;
      auto x = one ? one.constant() : std::nullopt, y = two ? two.constant() : std::nullopt;
      rows[path].flops = x && y ? (*x > *y ? one : two) : Dim();
    }
    for (auto &[path, row] : other)
      rows.try_emplace(path, row);
  }

  void iterations(ir::ForOp loop, Frame &frame) {
    auto from = numberOf(loop.getFrom(), frame), to = numberOf(loop.getTo(), frame);
    Block &body = loop.getBody().front();
    ValueRange carried = body.getArguments().drop_front();
    pass(loop.getCarried(), carried, frame);
    bool takes = false;
    loop.walk([&](Operation *op) { takes |= isa<ir::AtOp, ir::SetAtOp>(op); });
    // Visits each iteration separately, if the loop index matters.
    if (from && to && takes && *to - *from <= kMaxIterations) {
      for (int64_t iteration = *from; iteration < *to; ++iteration) {
        frame.known[body.getArgument(0)].number = iteration;
        block(body, frame);
        pass(body.getTerminator()->getOperands(), carried, frame);
      }
      pass(carried, loop.getResults(), frame);
      return;
    }
    Dim outer = scale, count;
    auto size = loop.getTo().getDefiningOp<ir::SizeOp>();
    if (from && to)
      count = constant(*to > *from ? *to - *from : 0);
    else if (size && from == 0)
      count = sizeIn(frame, size.getSize());
    scale = times(scale, count);
    frame.known[body.getArgument(0)] = {};
    for (Value value : carried) // they may differ in the second iteration
      frame.known[value].number.reset();
    block(body, frame);
    scale = outer;
    pass(body.getTerminator()->getOperands(), loop.getResults(), frame);
    for (Value value : loop.getResults())
      frame.known[value].number.reset();
  }

  void call(ir::CallOp op, Frame &frame) {
    auto callee = symbols.lookup<FunctionOpInterface>(op.getCallee());
    if (!callee || callee.isExternal() || frame.depth == kMaxNested ||
        sizesOf(callee).size() != op.getSizes().size())
      return charge({});
    Frame inside;
    inside.depth = frame.depth + 1;
    for (auto [name, value] : llvm::zip_equal(sizesOf(callee), op.getSizes())) {
      ir::SizeAttr size = cast<ir::SizeAttr>(value).substitute(frame.sizes);
      inside.sizes[cast<StringAttr>(name)] = size ? size : lost;
    }
    Block &body = callee.getFunctionBody().front();
    for (auto [argument, given] : llvm::zip_equal(body.getArguments(), op.getArgs())) {
      inside.known[argument] = frame.known.lookup(given);
      if (auto number = numberOf(given, frame))
        inside.known[argument].number = number;
    }
    // A model that calls its own functions is one model.
    if (!op.getArgs().empty() && isa<ir::AggregateType>(op.getArgs()[0].getType()))
      inside.receiver = frame.known.lookup(op.getArgs()[0]).path;
    bool isModel = inside.receiver && inside.receiver != frame.receiver;
    if (isModel) {
      auto [row, fresh] = rows.try_emplace(*inside.receiver);
      if (fresh)
        row->second.flops = constant(0);
      row->second.outputs.clear();
      outputs(op, frame, row->second);
      open.push_back(*inside.receiver);
    }
    block(body, inside);
    if (isModel)
      open.pop_back();
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
      frame.known[result] = inside.known.lookup(value);
  }

  /// The result, which follows the `mut` arguments.
  void outputs(ir::CallOp op, const Frame &frame, Row &row) {
    if (op.getNumResults() == 0)
      return;
    Type type = op->getResult(op.getNumResults() - 1).getType();
    SmallVector<Type> parts{type};
    if (auto tuple = dyn_cast<ir::AggregateType>(type); tuple && tuple.getName().empty())
      parts.assign(tuple.getParts().begin(), tuple.getParts().end());
    for (Type part : parts) {
      auto tensor = dyn_cast<ir::TensorType>(part);
      if (!tensor)
        return row.outputs.clear();
      SmallVector<ir::SizeAttr> sizes;
      for (ir::SizeAttr size : tensor.getSizes()) {
        Dim dim = sizeIn(frame, size);
        sizes.push_back(dim ? ir::SizeAttr::get(context, dim) : ir::SizeAttr());
      }
      // Unknown sizes have no attribute: such a shape cannot be a type.
      if (llvm::is_contained(sizes, ir::SizeAttr()))
        return row.outputs.clear();
      row.outputs.push_back(tensor.withSizes(sizes));
    }
  }
};

std::string elementName(Type element) {
  if (element.isInteger(1))
    return "bool";
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return element.isUnsignedInteger(8) ? "u8" : text;
}

/// `f32[32, 10]`, or several of them.
Value textOf(OpBuilder &b, Location loc, ArrayRef<ir::TensorType> types) {
  auto str = ir::StrType::get(b.getContext());
  SmallVector<Value> parts;
  std::string text;
  auto flush = [&] {
    if (!text.empty())
      parts.push_back(ir::TextOp::create(b, loc, str, b.getStringAttr(text)));
    text.clear();
  };
  for (auto [i, type] : llvm::enumerate(types)) {
    text += (i ? ", " : "") + elementName(type.getElement());
    for (auto [k, size] : llvm::enumerate(type.getSizes())) {
      text += k ? ", " : "[";
      if (auto number = size.constant()) {
        text += std::to_string(*number);
        continue;
      }
      flush();
      Value number =
          ir::SizeOp::create(b, loc, ir::TensorType::host(b.getI64Type()), size).getResult();
      parts.push_back(ir::FormatOp::create(b, loc, str, number, b.getStringAttr("")));
    }
    text += type.rank() ? "]" : "";
  }
  if (types.empty())
    text = "?";
  flush();
  return parts.size() == 1 ? parts[0] : ir::JoinOp::create(b, loc, str, parts).getResult();
}

struct Summarize : impl::SummarizeBase<Summarize> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ir::IfOp> branches;
    getOperation().walk([&](ir::IfOp branch) {
      if (branch->hasAttr(ir::kSummary))
        branches.push_back(branch);
    });
    if (branches.empty())
      return;
    SymbolTable symbols(getOperation());
    for (ir::IfOp branch : branches) {
      if (auto native = dyn_cast_or_null<ir::NativeOp>(tableAfter(branch))) {
        Reader reader(branch, symbols);
        reader.read(branch.getThenRegion().front());
        OpBuilder b(native);
        SmallVector<Value> more;
        auto host = ir::TensorType::host(b.getI64Type());
        for (auto &[path, row] : reader.found()) {
          more.push_back(ir::TextOp::create(b, native.getLoc(), ir::StrType::get(&getContext()),
                                            b.getStringAttr(path)));
          more.push_back(textOf(b, native.getLoc(), row.outputs));
          if (row.flops)
            more.push_back(ir::SizeOp::create(b, native.getLoc(), host,
                                              ir::SizeAttr::get(&getContext(), row.flops)));
          else
            more.push_back(
                ir::ConstantOp::create(b, native.getLoc(), host, b.getI64IntegerAttr(-1)));
        }
        native->insertOperands(native->getNumOperands(), more);
      }
      branch.erase();
    }
  }

  /// The native call that prints, a few constants later.
  static Operation *tableAfter(Operation *op) {
    while ((op = op->getNextNode()))
      if (auto native = dyn_cast<ir::NativeOp>(op))
        return native.getName() == "mx.summary" ? op : nullptr;
    return nullptr;
  }
};

} // namespace
} // namespace mx::graph
