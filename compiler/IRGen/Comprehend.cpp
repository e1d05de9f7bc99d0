// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// [element for i in 0..N, j in 0..M]. Vectorises the comprehension where possible: the element is
// computed for all indices at once. Each clause becomes a leading axis, an index becomes an iota
// along its axis, and x[i, k] becomes a transpose or a gather. Other elements become a loop that
// fills the result. Arrays of models are unrolled; their length must be known.
#include "IRGen/Compose.h"
#include "llvm/ADT/StringSwitch.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

class Comprehender {
public:
  Comprehender(Emitter &e) : e(e), c(e) {}
  mlir::Value run(const Comprehension *all);

private:
  struct Loop {
    Symbol *symbol;
    mlir::Value from;
    ir::SizeAttr count;
  };
  /// A value. If `lead`, it has one leading axis per loop: of the loop's size, or of size 1.
  struct Lifted {
    mlir::Value value;
    bool lead = false;
  };
  using Maybe = std::optional<Lifted>;

  Emitter &e;
  Composer c;
  SmallVector<Loop> loops;

  bool open(const Comprehension *all);
  bool varies(const Expr *x) {
    return e.mentions(x, llvm::map_to_vector(loops, [](Loop &l) { return l.symbol; }));
  }
  Maybe lift(const Expr *x, mlir::Type element = {});
  Maybe liftKind(const Expr *x, mlir::Type element);
  Maybe liftBinary(const Binary *x);
  Maybe liftIndex(const Index *x);
  Maybe liftCall(const Call *x);
  Maybe liftInner(const Comprehension *x);
  mlir::Value elementwise(StringRef op, ArrayRef<Lifted> operands, mlir::Type element = {});
  mlir::Value index(size_t loop);

  void nameLengths(const Comprehension *all, const Type *type);
  mlir::Value loop(const Comprehension *all, ir::TensorType type);
  mlir::Value unroll(const Comprehension *all);
};

/// Ranges of the clauses; false if one cannot be vectorised.
bool Comprehender::open(const Comprehension *all) {
  for (const Comprehension::Clause &clause : all->clauses) {
    auto *range = as<ast::Range>(clause.range);
    if (!range || !clause.pattern->parts.empty() || !clause.pattern->symbol ||
        varies(range->from) || varies(range->to) || !range->from->checked->dim ||
        !range->to->checked->dim)
      return false;
    Dim length = e.sema.dims.sub(range->to->checked->dim, range->from->checked->dim);
    if (!length || !e.isBound(length))
      return false;
    loops.push_back({clause.pattern->symbol, e.emitHostInt(range->from), e.size(length)});
  }
  return true;
}

mlir::Value Comprehender::index(size_t loop) {
  mlir::Value counted = c.countedAlong(loops[loop].count, loop, loops.size());
  auto from = loops[loop].from.getDefiningOp<ir::ConstantOp>();
  if (from && isa<IntegerAttr>(from.getValue()) &&
      mlir::cast<IntegerAttr>(from.getValue()).getValue().isZero())
    return counted;
  return e.elementwise("add", {counted, loops[loop].from});
}

/// Operands of lower rank get axes of size 1 between the leading axes and their own.
mlir::Value Comprehender::elementwise(StringRef op, ArrayRef<Lifted> operands, mlir::Type element) {
  size_t own = 0;
  for (const Lifted &x : operands)
    own = std::max(own, c.rankOf(x.value) - (x.lead ? loops.size() : 0));
  SmallVector<mlir::Value> values;
  for (const Lifted &x : operands) {
    mlir::Value v = x.value;
    if (x.lead && c.rankOf(v) < loops.size() + own) {
      Composer::Sizes sizes = c.sizesOf(v);
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(loops.size()),
                   loops.size() + own - c.rankOf(v), c.size(1));
      v = c.reshape(v, sizes);
    }
    values.push_back(v);
  }
  return e.elementwise(op, values, element);
}

Comprehender::Maybe Comprehender::lift(const Expr *x, mlir::Type element) {
  if (!varies(x)) {
    mlir::Value v = element ? e.emitAs(x, element) : e.emit(x);
    if (!v || !isa<ir::TensorType>(v.getType()))
      return std::nullopt;
    return Lifted{v, false};
  }
  Maybe out = liftKind(x, element);
  if (out && !out->value)
    return std::nullopt;
  if (out && element)
    out->value = e.cast(out->value, element);
  return out;
}

Comprehender::Maybe Comprehender::liftKind(const Expr *x, mlir::Type element) {
  if (auto *name = as<Name>(x)) {
    for (size_t i = 0; i < loops.size(); ++i)
      if (loops[i].symbol == name->symbol)
        return Lifted{index(i), true};
    return std::nullopt;
  }
  if (auto *unary = as<Unary>(x)) {
    Maybe operand = lift(unary->operand);
    if (!operand)
      return std::nullopt;
    return Lifted{elementwise(unary->op == UnaryOp::Not ? "not" : "neg", {*operand}), true};
  }
  if (auto *binary = as<Binary>(x))
    return liftBinary(binary);
  if (auto *index = as<Index>(x))
    return liftIndex(index);
  if (auto *call = as<Call>(x))
    return liftCall(call);
  if (auto *inner = as<Comprehension>(x))
    return liftInner(inner);
  return std::nullopt;
}

Comprehender::Maybe Comprehender::liftBinary(const Binary *x) {
  const sema::Value &left = *x->left->checked, &right = *x->right->checked;
  if (!left.type->isTensor() || !right.type->isTensor() || x->op == Tok::At)
    return std::nullopt;
  mlir::Type boolean = e.builder.getI1Type(), element, result;
  static constexpr std::pair<Tok, const char *> kOps[] = {
      {Tok::Plus, "add"},        {Tok::Minus, "sub"},           {Tok::Star, "mul"},
      {Tok::Slash, "div"},       {Tok::SlashSlash, "floordiv"}, {Tok::Percent, "mod"},
      {Tok::StarStar, "pow"},    {Tok::EqualEqual, "eq"},       {Tok::NotEqual, "ne"},
      {Tok::Less, "lt"},         {Tok::LessEqual, "le"},        {Tok::Greater, "gt"},
      {Tok::GreaterEqual, "ge"}, {Tok::KwAnd, "and"},           {Tok::KwOr, "or"}};
  auto *found = llvm::find_if(kOps, [&](auto &entry) { return entry.first == x->op; });
  if (found == std::end(kOps))
    return std::nullopt;
  StringRef op = found->second;
  bool compares = llvm::is_contained({"eq", "ne", "lt", "le", "gt", "ge"}, op);
  if (!left.adapts())
    element = e.elementType(e.concrete(left.type->elem));
  else if (!right.adapts())
    element = e.elementType(e.concrete(right.type->elem));
  else if (compares || op == "div")
    element =
        left.literal == sema::Value::FloatLiteral || right.literal == sema::Value::FloatLiteral
            ? mlir::Type(e.builder.getF32Type())
            : mlir::Type(e.builder.getI64Type());
  else
    element = e.elementType(e.concrete(x->checked->type)->elem);
  if (compares || op == "and" || op == "or")
    result = boolean;
  else if (op == "div")
    result = isa<FloatType>(element) ? element : mlir::Type(e.builder.getF32Type());
  Maybe l = lift(x->left, element), r = l ? lift(x->right, element) : std::nullopt;
  if (!r)
    return std::nullopt;
  e.at(x->opSpan);
  return Lifted{elementwise(op, {*l, *r}, result), true};
}

Comprehender::Maybe Comprehender::liftIndex(const Index *x) {
  const Type *object = e.concrete(x->object->checked->type);
  if (!object->isTensor() || varies(x->object))
    return std::nullopt;
  mlir::Value from = e.toDevice(e.emit(x->object));
  if (!from)
    return std::nullopt;
  auto result = mlir::cast<ir::TensorType>(e.convert(e.concrete(x->checked->type)));
  // Loop-invariant entries first; the others keep their axis for now.
  SmallVector<std::string> spec;
  SmallVector<mlir::Value> at;
  SmallVector<const Expr *> varying;
  SmallVector<int64_t> varyingAxes, askedAxes, otherAxes;
  Composer::Sizes sizes;
  size_t written = 0, own = 0, axis = 0;
  for (const IndexArg &arg : x->args)
    written += arg.kind != IndexArg::New && arg.kind != IndexArg::Ellipsis;
  if (written > c.rankOf(from))
    return std::nullopt;
  auto keep = [&](std::string entry) {
    spec.push_back(std::move(entry));
    otherAxes.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(result.getSizes()[own++]);
  };
  bool filled = false;
  auto fill = [&] {
    for (size_t i = 0; i < c.rankOf(from) - written; ++i, ++axis)
      keep(":");
    filled = true;
  };
  for (const IndexArg &arg : x->args) {
    if (arg.kind == IndexArg::Ellipsis) {
      fill();
    } else if (arg.kind == IndexArg::New) {
      keep("n");
    } else if (arg.kind == IndexArg::Slice) {
      std::string entry = arg.from || arg.to || arg.step ? "r" : ":";
      for (auto [part, letter] : {std::pair(arg.from, 'f'), {arg.to, 't'}, {arg.step, 's'}})
        if (part) {
          if (varies(part))
            return std::nullopt;
          entry += letter;
          at.push_back(e.emitHostInt(part));
        }
      keep(entry);
      ++axis;
    } else if (!e.concrete(arg.value->checked->type)->isScalar()) {
      return std::nullopt;
    } else if (varies(arg.value)) {
      spec.push_back(":");
      varying.push_back(arg.value);
      varyingAxes.push_back(static_cast<int64_t>(sizes.size()));
      askedAxes.push_back(static_cast<int64_t>(axis));
      sizes.push_back(c.sizesOf(from)[axis++]);
    } else {
      spec.push_back("i");
      at.push_back(e.emit(arg.value));
      ++axis;
    }
  }
  if (!filled)
    fill();
  if (llvm::is_contained(at, mlir::Value()))
    return std::nullopt;
  if (llvm::any_of(spec, [](const std::string &entry) { return entry != ":"; }))
    from = e.create<ir::SliceOp>(e.tensor(from).withSizes(sizes), from, at, e.specAttr(spec));

  // x[i, j] where each index is a plain loop index from 0: a transpose.
  SmallVector<std::pair<size_t, int64_t>> plain;
  for (auto [value, axis] : llvm::zip_equal(varying, varyingAxes)) {
    auto *name = as<Name>(value);
    for (size_t i = 0; name && i < loops.size(); ++i)
      if (loops[i].symbol == name->symbol && e.tensor(from).getSizes()[axis] == loops[i].count &&
          isa<ir::IotaOp, ir::ReshapeOp>(index(i).getDefiningOp()) &&
          llvm::none_of(plain, [&](auto &p) { return p.first == i; }))
        plain.push_back({i, axis});
  }
  if (plain.size() == varying.size()) {
    llvm::sort(plain);
    SmallVector<int64_t> order;
    Composer::Sizes lifted(loops.size(), c.size(1));
    for (auto [loop, axis] : plain) {
      order.push_back(axis);
      lifted[loop] = loops[loop].count;
    }
    for (int64_t other : otherAxes) {
      order.push_back(other);
      lifted.push_back(sizes[static_cast<size_t>(other)]);
    }
    return Lifted{c.reshape(c.transpose(from, order), lifted), true};
  }
  SmallVector<mlir::Value> positions;
  for (const Expr *value : varying) {
    Maybe position = lift(value, e.builder.getI64Type());
    if (!position || c.rankOf(position->value) != loops.size())
      return std::nullopt;
    positions.push_back(position->value);
  }
  SmallVector<int64_t> order(varyingAxes);
  llvm::append_range(order, otherAxes);
  return Lifted{c.gatherAt(c.transpose(from, order), positions, askedAxes), true};
}

Comprehender::Maybe Comprehender::liftCall(const Call *x) {
  if (!x->info || x->info->target != sema::CallInfo::Primitive)
    return std::nullopt;
  StringRef name(x->info->function->primitive->name), family(x->info->function->primitive->family);
  Emitter::PrimitiveCall call{x, name, x->info, {}};
  if (family == "elementwise") {
    bool tests = name == "isnan" || name == "isfinite";
    mlir::Type element = e.elementType(e.concrete(x->info->result)->elem);
    SmallVector<Lifted> operands;
    for (auto [i, argument] : llvm::enumerate(x->info->arguments)) {
      bool asIs = tests || (name == "select" && i == 0);
      Maybe v = argument ? lift(argument, asIs ? mlir::Type() : element) : std::nullopt;
      if (!v)
        return std::nullopt;
      operands.push_back(*v);
    }
    if (name == "stop")
      return operands[0];
    return Lifted{elementwise(name, operands, tests ? e.builder.getI1Type() : mlir::Type()), true};
  }
  if (!llvm::is_contained({"sum", "prod", "max", "min", "mean", "any", "all"}, name))
    return std::nullopt;
  const Expr *operand = e.argument(call, "x"), *axis = nullptr;
  for (size_t p = 0; p < x->info->function->params.size(); ++p)
    if (x->info->function->params[p].name == "axis")
      axis = x->info->arguments[p];
  Maybe v = operand ? lift(operand) : std::nullopt;
  auto keep = e.staticBool(call, "keep");
  if (!v || !keep || !v->lead)
    return std::nullopt;
  auto lead = static_cast<int64_t>(loops.size());
  int64_t own = static_cast<int64_t>(c.rankOf(v->value)) - lead;
  SmallVector<int64_t> axes;
  if (axis) {
    auto given = e.staticInts(axis);
    if (!given)
      return std::nullopt;
    for (int64_t a : *given)
      axes.push_back((a < 0 ? a + own : a) + lead);
    llvm::sort(axes);
  } else {
    axes = llvm::to_vector(llvm::seq<int64_t>(lead, lead + own));
  }
  return Lifted{
      name == "mean" ? e.mean(v->value, axes, *keep) : e.reduce(name, v->value, axes, *keep), true};
}

/// Inner loops become axes after the outer ones, and then own axes of the value.
Comprehender::Maybe Comprehender::liftInner(const Comprehension *x) {
  size_t outer = loops.size();
  const Type *type = e.concrete(x->checked->type);
  if (!type->isTensor() || !open(x)) {
    loops.truncate(outer);
    return std::nullopt;
  }
  Maybe v = lift(x->element, e.elementType(type->elem));
  Composer::Sizes sizes;
  if (v && v->lead) {
    sizes = c.sizesOf(v->value);
    for (size_t i = outer; i < loops.size(); ++i)
      sizes[i] = loops[i].count;
    v->value = c.broadcast(v->value, sizes);
  }
  loops.truncate(outer);
  return v && v->lead ? v : std::nullopt;
}

// ------------------------------------------------------------------------------------------
// one by one

mlir::Value Comprehender::loop(const Comprehension *all, ir::TensorType type) {
  Emitter::Variables assigned;
  e.assignedIn(all->element, assigned);
  SmallVector<Symbol *> carried = e.carriedBy(assigned);
  auto names = e.sizeNames;
  mlir::Value filled = c.full(e.constantNumber(type.getElement(), 0, 0, true), type.getSizes());
  SmallVector<mlir::Value> positions;
  std::function<mlir::Value(size_t, mlir::Value)> nest = [&](size_t depth,
                                                             mlir::Value so) -> mlir::Value {
    if (depth == all->clauses.size()) {
      mlir::Value value = e.emitAs(all->element, type.getElement());
      if (!value)
        return {};
      SmallVector<std::string> spec(type.rank(), ":");
      std::fill_n(spec.begin(), positions.size(), "i");
      return e.create<ir::UpdateOp>(type, so, e.toDevice(value), positions, e.specAttr(spec));
    }
    const Comprehension::Clause &clause = all->clauses[depth];
    mlir::Value from = e.constantInt(0), to, array;
    if (auto *range = as<ast::Range>(clause.range)) {
      from = e.emitHostInt(range->from);
      to = e.emitHostInt(range->to);
    } else {
      array = e.emit(clause.range);
      to = e.sizeValue(e.concrete(clause.range->checked->type)->count);
    }
    if (!from || !to || e.shared.failed)
      return {};
    SmallVector<mlir::Value> initial{so};
    for (Symbol *symbol : carried)
      initial.push_back(e.values[symbol]);
    auto made = e.create<ir::ForOp>(ValueRange(initial).getTypes(), from, to, initial);
    {
      OpBuilder::InsertionGuard guard(e.builder);
      mlir::Block *block = e.builder.createBlock(&made.getBody());
      mlir::Value index = block->addArgument(from.getType(), e.builder.getLoc());
      mlir::Value inner = block->addArgument(so.getType(), e.builder.getLoc());
      auto before = e.values;
      for (Symbol *symbol : carried)
        e.values[symbol] = block->addArgument(before[symbol].getType(), e.builder.getLoc());
      positions.push_back(e.elementwise("sub", {index, from}));
      e.bindPattern(
          clause.pattern,
          array ? e.create<ir::AtOp>(mlir::cast<ir::ArrayType>(array.getType()).getElement(), array,
                                     index)
                      .getResult()
                : index);
      inner = nest(depth + 1, inner);
      positions.pop_back();
      if (!inner)
        return {};
      SmallVector<mlir::Value> yielded{inner};
      for (Symbol *symbol : carried)
        yielded.push_back(e.fit(e.values[symbol], before[symbol].getType()));
      e.create<ir::YieldOp>(yielded);
      e.values = before;
    }
    for (auto [i, symbol] : llvm::enumerate(carried))
      e.values[symbol] = made.getResult(static_cast<unsigned>(i) + 1);
    return made.getResult(0);
  };
  mlir::Value out = nest(0, filled);
  e.sizeNames = names;
  return out;
}

mlir::Value Comprehender::unroll(const Comprehension *all) {
  const Comprehension::Clause &clause = all->clauses[0];
  auto type = mlir::cast<ir::ArrayType>(e.convert(e.concrete(all->checked->type)));
  auto count = type.getCount().constant();
  if (!count)
    return e.unsupported(all->span, "an array whose length is not a number");
  auto *range = as<ast::Range>(clause.range);
  mlir::Value array = range ? mlir::Value() : e.emit(clause.range);
  auto first = range ? e.staticInt(range->from) : std::optional<int64_t>(0);
  if (!first || (!range && !array))
    return e.shared.failed ? mlir::Value()
                           : e.unsupported(clause.range->span, "a range that begins at no number");
  SmallVector<mlir::Value> elements;
  for (int64_t i = 0; i < *count && !e.shared.failed; ++i) {
    auto names = e.sizeNames;
    mlir::Value at = e.constantInt(*first + i);
    Symbol *symbol = clause.pattern->symbol;
    auto atom = range && symbol && symbol->value.dim ? e.sema.dims.asSymbol(symbol->value.dim)
                                                     : std::nullopt;
    // The index is a constant here, also where it is used as a size.
    if (atom)
      e.instance.bindings.dims[*atom] = e.sema.dims.constant(*first + i);
    if (atom && symbol)
      e.values[symbol] = at;
    else
      e.bindPattern(clause.pattern,
                    range ? at
                          : e.create<ir::AtOp>(
                                 mlir::cast<ir::ArrayType>(array.getType()).getElement(), array, at)
                                .getResult());
    mlir::Value value = e.emit(all->element);
    if (atom)
      e.instance.bindings.dims.erase(*atom);
    e.sizeNames = names;
    if (!value)
      return {};
    elements.push_back(e.fit(value, type.getElement()));
  }
  return e.shared.failed ? mlir::Value() : e.create<ir::MakeOp>(type, elements).getResult();
}

/// Binds the names of lengths known only at run time before the type is built.
void Comprehender::nameLengths(const Comprehension *all, const Type *type) {
  for (auto [i, clause] : llvm::enumerate(all->clauses)) {
    auto *range = as<ast::Range>(clause.range);
    Dim length = type->isTensor() ? type->shape[i].dim : type->count;
    auto atom = range && length ? e.sema.dims.asSymbol(length) : std::nullopt;
    if (!atom || e.isBound(length) ||
        e.sema.dims.symbolInfo(*atom).role != SymbolRole::HostInt)
      continue;
    mlir::Value from = e.emitHostInt(range->from), to = e.emitHostInt(range->to);
    if (!from || !to)
      return;
    e.adopted.insert(*atom);
    e.bindSize(*atom, e.elementwise("maximum", {e.elementwise("sub", {to, from}), e.constantInt(0)}));
  }
}

mlir::Value Comprehender::run(const Comprehension *all) {
  const Type *type = e.concrete(all->checked->type);
  nameLengths(all, type);
  if (!type->isTensor())
    return unroll(all);
  auto wanted = mlir::cast<ir::TensorType>(e.convert(type));
  // Elements with side effects are computed in order.
  Emitter::Variables assigned;
  e.assignedIn(all->element, assigned);
  mlir::Block *block = e.builder.getInsertionBlock();
  mlir::Operation *before = block->empty() ? nullptr : &block->back();
  auto names = e.sizeNames;
  auto adopted = e.adopted, awaited = e.awaited;
  if (assigned.empty() && open(all)) {
    Maybe v = lift(all->element, wanted.getElement());
    if (v) {
      Composer::Sizes sizes = c.sizesOf(v->value);
      if (!v->lead)
        return c.broadcast(e.toDevice(v->value), wanted.getSizes());
      for (size_t i = 0; i < loops.size(); ++i)
        sizes[i] = loops[i].count;
      return c.reshape(c.broadcast(v->value, sizes), wanted.getSizes());
    }
  }
  if (e.shared.failed)
    return {};
  // Rolls back the partially emitted code.
  while (!block->empty() && &block->back() != before && block->back().use_empty())
    block->back().erase();
  e.sizeNames = std::move(names);
  e.adopted = std::move(adopted);
  e.awaited = std::move(awaited);
  loops.clear();
  return loop(all, wanted);
}

mlir::Value Emitter::emitComprehension(const Comprehension *e) {
  return Comprehender(*this).run(e);
}

} // namespace mx::irgen
