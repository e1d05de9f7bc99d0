// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured control flow in SSA form. A block yields the variables it assigns; `break`, `continue`
// and `return` set flags, and the code they would skip is put under a condition.
#include "IRGen/Emitter.h"
#include "dialects/mx/Marks.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

/// Carried values as SSA values, in the order of their symbols.
SmallVector<Symbol *> Emitter::carriedBy(const Variables &assigned) {
  SmallVector<Symbol *> out;
  for (Symbol *symbol : assigned)
    if (auto found = values.find(symbol); found != values.end())
      if (!isa<ir::CellType>(found->second.getType()))
        out.push_back(symbol);
  return out;
}

// -----------------------------------------------------------------------------------------------
// if

/// Emits an `if`; both blocks yield the variables they assign and, if `resultType` is set, a value.
mlir::Value Emitter::conditional(mlir::Value condition, const Variables &assigned,
                                 mlir::Type resultType, llvm::function_ref<mlir::Value()> then,
                                 llvm::function_ref<mlir::Value()> otherwise) {
  SmallVector<Symbol *> carried = carriedBy(assigned);
  SmallVector<mlir::Type> types;
  for (Symbol *symbol : carried)
    types.push_back(values[symbol].getType());
  if (resultType)
    types.push_back(resultType);
  auto op = create<ir::IfOp>(types, condition);
  auto before = values;
  auto names = sizeNames;
  for (bool first : {true, false}) {
    OpBuilder::InsertionGuard guard(builder);
    Region &region = first ? op.getThenRegion() : op.getElseRegion();
    builder.createBlock(&region);
    values = before;
    sizeNames = names;
    mlir::Value v = first ? then() : otherwise();
    SmallVector<mlir::Value> yielded;
    for (auto [symbol, type] : llvm::zip(carried, types))
      yielded.push_back(fit(values.lookup(symbol), type));
    if (resultType)
      yielded.push_back(v ? fit(v, resultType) : undefined(resultType));
    create<ir::YieldOp>(yielded);
  }
  values = before;
  sizeNames = names;
  for (auto [i, symbol] : llvm::enumerate(carried))
    values[symbol] = op.getResult(static_cast<unsigned>(i));
  return resultType ? op.getResult(static_cast<unsigned>(carried.size())) : mlir::Value();
}

mlir::Value Emitter::emitIf(const If *e, bool wanted) {
  auto otherwise = [&]() -> mlir::Value {
    if (e->elseIf)
      return emitIf(e->elseIf, wanted);
    return e->elseBlock ? emitBlock(e->elseBlock, wanted) : mlir::Value();
  };
  // A static condition is decided here: the other block need not even be valid.
  if (auto known = staticCondition(e->condition))
    return *known ? emitBlock(e->thenBlock, wanted) : otherwise();
  mlir::Value condition = emitCondition(e->condition);
  if (!condition)
    return {};
  if (auto constant = condition.getDefiningOp<ir::ConstantOp>())
    if (auto known = dyn_cast<BoolAttr>(constant.getValue()))
      return known.getValue() ? emitBlock(e->thenBlock, wanted) : otherwise();
  Variables assigned;
  assignedIn(static_cast<const Expr *>(e), assigned);
  mlir::Type type = wanted ? convert(e->checked->type, e->checked->host) : mlir::Type();
  return conditional(
      condition, assigned, type, [&] { return emitBlock(e->thenBlock, wanted); }, otherwise);
}

// --------------------------------------------------------------------------------------------
// loops

mlir::Value Emitter::skipping(uint8_t exits) {
  mlir::Value flag;
  auto add = [&](uint8_t exit, Symbol *symbol) {
    if (!(exits & exit) || !values.count(symbol))
      return;
    mlir::Value v = read(symbol);
    flag = flag ? elementwise("or", {flag, v}) : v;
  };
  add(Breaks, &brokenFlag);
  add(Continues, &continuedFlag);
  add(Returns, &returnedFlag);
  return flag ? flag : constantBool(false);
}

/// The values that the loop carries. `break` and `continue` inside are its own; those of the
/// enclosing loop are saved until endLoop.
Emitter::Carried Emitter::beginLoop(uint8_t exits, Variables &assigned) {
  Carried state;
  state.outerBroken = values.lookup(&brokenFlag);
  state.outerContinued = values.lookup(&continuedFlag);
  values.erase(&brokenFlag);
  values.erase(&continuedFlag);
  if (exits & Breaks) {
    values[&brokenFlag] = constantBool(false);
    assigned.insert(&brokenFlag);
  }
  if (exits & Returns) {
    assigned.insert(&returnedFlag);
    assigned.insert(&returnValue);
  }
  state.parts.symbols = carriedBy(assigned);
  for (Symbol *symbol : state.parts.symbols) {
    state.parts.initial.push_back(values[symbol]);
    state.parts.types.push_back(values[symbol].getType());
  }
  return state;
}

void Emitter::endLoop(const Carried &state, ResultRange results) {
  for (auto [symbol, result] : llvm::zip(state.parts.symbols, results))
    values[symbol] = result;
  values.erase(&brokenFlag);
  values.erase(&continuedFlag);
  if (state.outerBroken)
    values[&brokenFlag] = state.outerBroken;
  if (state.outerContinued)
    values[&continuedFlag] = state.outerContinued;
}

void Emitter::emitForRange(const For *loop, mlir::Value from, mlir::Value to,
                           llvm::function_ref<void(mlir::Value)> bind,
                           llvm::function_ref<void(mlir::Value)> after) {
  uint8_t exits = exitsOf(loop->body);
  Variables assigned;
  assignedIn(loop->body, assigned);
  if (Symbol *root = loop->isMut ? rootOf(loop->iterable) : nullptr)
    assigned.insert(root);
  Carried state = beginLoop(exits, assigned);
  auto &[carried, initial, types] = state.parts;
  auto names = sizeNames;
  auto body = [&](mlir::Value index) {
    if (exits & Continues)
      values[&continuedFlag] = constantBool(false);
    bind(index);
    emitBlock(loop->body, false);
    after(index);
    values.erase(&continuedFlag);
  };
  Operation *op = nullptr;
  unsigned firstResult = 0;
  bool leaves = exits & (Breaks | Returns);
  // `@remat(every=k)`
  int64_t keepEvery = 0;
  for (const ast::Attribute &attribute : loop->attributes)
    if (attribute.name.text == "remat")
      if (const sema::Value *every = attribute.args[0].value->checked; every && every->dim)
        keepEvery = number(every->dim).value_or(0);
  if (leaves && keepEvery > 0) {
    unsupported(loop->iterable->span, "`@remat` of a loop that `break` or `return` leaves");
    return;
  }
  if (!leaves) {
    auto made = create<ir::ForOp>(types, from, to, initial);
    op = made;
    if (keepEvery > 0)
      made->setAttr(ir::kRemat, builder.getI64IntegerAttr(keepEvery));
    OpBuilder::InsertionGuard guard(builder);
    mlir::Block *block = builder.createBlock(&made.getBody());
    mlir::Value index = block->addArgument(from.getType(), builder.getLoc());
    auto before = values;
    for (auto [symbol, type] : llvm::zip(carried, types))
      values[symbol] = block->addArgument(type, builder.getLoc());
    body(index);
    SmallVector<mlir::Value> yielded;
    for (auto [symbol, type] : llvm::zip(carried, types))
      yielded.push_back(fit(values[symbol], type));
    create<ir::YieldOp>(yielded);
    values = before;
  } else {
    // A loop with early exits counts its iterations itself.
    SmallVector<mlir::Value> all{from};
    llvm::append_range(all, initial);
    SmallVector<mlir::Type> allTypes{from.getType()};
    llvm::append_range(allTypes, types);
    // The maximum number of iterations; the reverse pass needs it.
    mlir::Value most = elementwise("maximum", {elementwise("sub", {to, from}), constantInt(0)});
    auto made = create<ir::WhileOp>(allTypes, all, most);
    op = made;
    firstResult = 1;
    OpBuilder::InsertionGuard guard(builder);
    auto before = values;
    for (Region *region : {&made.getCondition(), &made.getBody()}) {
      mlir::Block *block = builder.createBlock(region);
      mlir::Value index = block->addArgument(from.getType(), builder.getLoc());
      values = before;
      for (auto [symbol, type] : llvm::zip(carried, types))
        values[symbol] = block->addArgument(type, builder.getLoc());
      if (region == &made.getCondition()) {
        mlir::Value more = elementwise("lt", {index, to}, builder.getI1Type());
        mlir::Value stop = skipping(exits & (Breaks | Returns));
        create<ir::YieldOp>(ValueRange{elementwise("and", {more, elementwise("not", {stop})})});
        continue;
      }
      body(index);
      SmallVector<mlir::Value> yielded{elementwise("add", {index, constantInt(1)})};
      for (auto [symbol, type] : llvm::zip(carried, types))
        yielded.push_back(fit(values[symbol], type));
      create<ir::YieldOp>(yielded);
    }
    values = before;
  }
  sizeNames = names;
  endLoop(state, op->getResults().drop_front(firstResult));
}

void Emitter::emitFor(const For *loop) {
  if (isLeaves(loop->iterable))
    return emitLeaves(loop);
  const Type *over = concrete(loop->iterable->checked->type);
  if (over->is(Kind::Range)) {
    mlir::Value from, to;
    if (auto *range = as<ast::Range>(loop->iterable)) {
      from = emitHostInt(range->from);
      to = emitHostInt(range->to);
    } else if (mlir::Value range = emit(loop->iterable)) {
      mlir::Type whole = ir::TensorType::host(builder.getI64Type());
      from = create<ir::GetOp>(whole, range, builder.getI64IntegerAttr(0));
      to = create<ir::GetOp>(whole, range, builder.getI64IntegerAttr(1));
    }
    if (!from || !to)
      return;
    emitForRange(
        loop, from, to, [&](mlir::Value index) { bindPattern(loop->pattern, index); },
        [](mlir::Value) {});
    return;
  }
  if (over->is(Kind::Array)) {
    mlir::Value array = emit(loop->iterable);
    if (!array)
      return;
    auto type = mlir::cast<ir::ArrayType>(array.getType());
    mlir::Value count = sizeValue(over->count);
    // With `mut` the elements are written back to the array, which is then assigned as a whole.
    emitForRange(
        loop, constantInt(0), count,
        [&](mlir::Value index) {
          mlir::Value from = loop->isMut ? emit(loop->iterable) : array;
          bindPattern(loop->pattern, create<ir::AtOp>(type.getElement(), from, index));
        },
        [&](mlir::Value index) {
          if (!loop->isMut || !loop->pattern->symbol)
            return;
          mlir::Value from = emit(loop->iterable);
          assign(loop->iterable,
                 create<ir::SetAtOp>(type, from, index, read(loop->pattern->symbol)));
        });
    return;
  }
  if (over->is(Kind::Loader) || over->is(Kind::Dataset) || over->is(Kind::Progress))
    return emitForData(loop, over);
  if (sema::CheckedProgram::isQueue(over))
    return emitForQueue(loop, over);
  unsupported(loop->iterable->span, "a loop over " + sema.show(over));
}

/// `condition(stop)` is computed before each iteration; `stop`, if it is set, says that the body left
/// the loop.
void Emitter::emitLoopWhile(const Block *body, Variables &assigned, mlir::Value limit,
                            llvm::function_ref<mlir::Value(mlir::Value)> condition,
                            llvm::function_ref<void()> bind) {
  uint8_t exits = exitsOf(body);
  Carried state = beginLoop(exits, assigned);
  auto &[carried, initial, types] = state.parts;
  auto op = create<ir::WhileOp>(types, initial, limit);
  auto before = values;
  auto names = sizeNames;
  {
    OpBuilder::InsertionGuard guard(builder);
    for (Region *region : {&op.getCondition(), &op.getBody()}) {
      mlir::Block *block = builder.createBlock(region);
      values = before;
      sizeNames = names;
      for (auto [symbol, type] : llvm::zip(carried, types))
        values[symbol] = block->addArgument(type, builder.getLoc());
      if (region == &op.getCondition()) {
        bool leaves = exits & (Breaks | Returns);
        mlir::Value more = condition(leaves ? skipping(exits & (Breaks | Returns)) : mlir::Value());
        create<ir::YieldOp>(ValueRange{more ? more : constantBool(false)});
        continue;
      }
      if (exits & Continues)
        values[&continuedFlag] = constantBool(false);
      bind();
      emitBlock(body, false);
      SmallVector<mlir::Value> yielded;
      for (auto [symbol, type] : llvm::zip(carried, types))
        yielded.push_back(fit(values[symbol], type));
      create<ir::YieldOp>(yielded);
    }
  }
  values = before;
  sizeNames = names;
  endLoop(state, op->getResults());
}

void Emitter::emitWhile(const While *loop) {
  Variables assigned;
  assignedIn(loop->body, assigned);
  assignedIn(loop->condition, assigned);
  mlir::Value limit = loop->limit ? emitHostInt(loop->limit) : mlir::Value();
  emitLoopWhile(
      loop->body, assigned, limit,
      [&](mlir::Value stop) {
        mlir::Value more = emitCondition(loop->condition);
        return more && stop ? elementwise("and", {elementwise("not", {stop}), more}) : more;
      },
      [] {});
}

// --------------------------------------------------------------------------------- return,
// try/catch

void Emitter::emitReturn(const Return *stmt) {
  if (stmt->value) {
    mlir::Value v = resultType && resultType->isTensor() && stmt->value->checked->type->isTensor()
                        ? emitAs(stmt->value, elementType(resultType->elem))
                        : emit(stmt->value);
    if (v && resultType)
      v = fit(v, convert(resultType));
    write(&returnValue, v);
  }
  write(&returnedFlag, constantBool(true));
}

/// Variables that the body assigns become memory cells during the `try`: an error may leave the
/// body between two assignments.
void Emitter::emitTry(const Try *stmt) {
  Variables assigned;
  assignedIn(stmt->body, assigned);
  uint8_t exits = exitsOf(stmt->body) | exitsOf(stmt->handler);
  if (exits & Returns) {
    assigned.insert(&returnedFlag);
    assigned.insert(&returnValue);
  }
  if (exits & Breaks)
    assigned.insert(&brokenFlag);
  if (exits & Continues)
    assigned.insert(&continuedFlag);
  Variables inHandler;
  assignedIn(stmt->handler, inHandler);
  for (Symbol *symbol : inHandler)
    assigned.insert(symbol);
  SmallVector<Symbol *> carried = carriedBy(assigned);
  for (Symbol *symbol : carried) {
    mlir::Value v = values[symbol];
    values[symbol] = create<ir::CellOp>(ir::CellType::get(&shared.context, v.getType()), v);
  }
  auto op = create<ir::TryOp>(TypeRange());
  auto before = values;
  auto names = sizeNames;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&op.getBody());
    emitBlock(stmt->body, false);
    create<ir::YieldOp>(ValueRange());
    values = before;
    sizeNames = names;
    mlir::Block *handler = builder.createBlock(&op.getHandler());
    mlir::Value error = handler->addArgument(ir::ErrorType::get(&shared.context), builder.getLoc());
    if (stmt->symbol)
      values[stmt->symbol] = error;
    emitBlock(stmt->handler, false);
    create<ir::YieldOp>(ValueRange());
  }
  values = before;
  sizeNames = names;
  for (Symbol *symbol : carried) {
    mlir::Value cell = values[symbol];
    values[symbol] =
        create<ir::LoadOp>(mlir::cast<ir::CellType>(cell.getType()).getElement(), cell);
  }
}

} // namespace mx::irgen
