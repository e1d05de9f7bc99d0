// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements, variables and lvalues.
#include "IRGen/Emitter.h"
#include "dialects/mx/Marks.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

mlir::Value Emitter::emitBlock(const Block *block, bool wanted) {
  std::vector<Stmt *> stmts(block->stmts.begin(), block->stmts.end());
  return emitStmts(stmts, wanted);
}

/// After a statement with early exits, the rest runs only if none was taken.
mlir::Value Emitter::emitStmts(llvm::ArrayRef<Stmt *> stmts, bool wanted) {
  mlir::Value value;
  for (size_t i = 0; i < stmts.size() && !shared.failed; ++i) {
    bool last = i + 1 == stmts.size();
    value = emitStmt(stmts[i], wanted && last);
    uint8_t exits = exitsOf(stmts[i]);
    if (last || !exits)
      continue;
    StmtKind kind = stmts[i]->kind;
    if (kind == StmtKind::Return || kind == StmtKind::Break || kind == StmtKind::Continue)
      return {}; // the rest is unreachable
    // The value of the rest is the block's value; only functions have one here, and they keep it in
    // returnValue.
    llvm::ArrayRef<Stmt *> rest = stmts.drop_front(i + 1);
    Variables assigned;
    for (const Stmt *stmt : rest)
      assignedIn(stmt, assigned);
    bool functionBody = wanted && resultType;
    if (functionBody)
      assigned.insert(&returnValue);
    mlir::Value skip = skipping(exits);
    conditional(
        skip, assigned, {}, [&] { return mlir::Value(); },
        [&] {
          mlir::Value v = emitStmts(rest, wanted);
          if (functionBody && v)
            write(&returnValue, v);
          return mlir::Value();
        });
    return functionBody ? values.lookup(&returnValue) : mlir::Value();
  }
  return wanted ? value : mlir::Value();
}

mlir::Value Emitter::emitStmt(const Stmt *stmt, bool wanted) {
  Location saved = builder.getLoc();
  at(stmt->span);
  mlir::Value value;
  mlir::Block *block = builder.getInsertionBlock();
  Operation *before = block && !block->empty() ? &block->back() : nullptr;
  switch (stmt->kind) {
  case StmtKind::Expr: {
    const Expr *e = as<ExprStmt>(stmt)->expr;
    if (auto *branch = as<If>(e)) {
      value = emitIf(branch, wanted && e->checked && !e->checked->type->is(Kind::Nothing));
      break;
    }
    value = emit(e);
    break;
  }
  case StmtKind::Let:
    emitLet(as<Let>(stmt));
    break;
  case StmtKind::Assign:
    emitAssign(as<Assign>(stmt));
    break;
  case StmtKind::For:
    emitFor(as<For>(stmt));
    break;
  case StmtKind::While:
    emitWhile(as<While>(stmt));
    break;
  case StmtKind::Return:
    emitReturn(as<Return>(stmt));
    break;
  case StmtKind::Break:
    write(&brokenFlag, constantBool(true));
    break;
  case StmtKind::Continue:
    write(&continuedFlag, constantBool(true));
    break;
  case StmtKind::Raise: {
    mlir::Value error = emit(as<Raise>(stmt)->value);
    if (error && isa<ir::StrType>(error.getType()))
      error = create<ir::MakeErrorOp>(ir::ErrorType::get(&shared.context), error);
    if (error)
      create<ir::RaiseOp>(error);
    break;
  }
  case StmtKind::Assert:
    emitAssert(as<Assert>(stmt));
    break;
  case StmtKind::Try:
    emitTry(as<Try>(stmt));
    break;
  case StmtKind::Import:
  case StmtKind::Nominal:
  case StmtKind::TypeDef:
  case StmtKind::Test:
  case StmtKind::Func: // a local function is emitted at its calls
    break;
  case StmtKind::Error:
    unsupported(stmt->span, "this statement");
    break;
  }
  if (shared.options.statements && block)
    if (Operation *first = before           ? before->getNextNode()
                           : block->empty() ? nullptr
                                            : &block->front())
      first->setAttr(ir::kStatement, builder.getUnitAttr());
  builder.setLoc(saved);
  return value;
}

void Emitter::emitAssert(const Assert *stmt) {
  mlir::Value condition = emitCondition(stmt->condition);
  if (!condition)
    return;
  std::string written = sema.textOf(stmt->condition->outerSpan);
  if (stmt->message && !inGraph) {
    // The message is evaluated only if the assertion fails.
    Variables assigned;
    assignedIn(stmt->message, assigned);
    conditional(
        condition, assigned, {}, [&] { return mlir::Value(); },
        [&] {
          mlir::Value why = emit(stmt->message);
          if (why)
            create<ir::AssertOp>(condition, why, builder.getStringAttr(written));
          return mlir::Value();
        });
    return;
  }
  if (stmt->message && stmt->message->checked->constant == sema::Value::StringConstant)
    written = std::string(stmt->message->checked->text);
  create<ir::AssertOp>(condition, mlir::Value(), builder.getStringAttr(written));
}

void Emitter::emitLet(const Let *let) {
  const sema::Value *known = let->value->checked;
  // A type annotation binds sizes of the value: `let i: i32[K] = nonzero(m)`. A literal takes the
  // annotated element type directly: f64 digits are not those of f32.
  Symbol *only = let->pattern->parts.empty() ? let->pattern->symbol : nullptr;
  bool adapts = only && only->type && only->type->isTensor() && known && known->type->isTensor();
  mlir::Value value = adapts ? emitAs(let->value, elementType(only->type->elem)) : emit(let->value);
  if (!value) {
    return;
  }
  if (let->pattern->parts.empty() && let->pattern->symbol) {
    Symbol *symbol = let->pattern->symbol;
    if (symbol->type && symbol->type->isTensor() && isa<ir::TensorType>(value.getType()))
      value = cast(value, elementType(symbol->type->elem));
  }
  if (known && known->type->isTensor())
    adoptSizes(value, concrete(known->type));
  // Sizes that the annotation names are those of the value.
  if (only && only->type && only->type->isTensor())
    adoptSizes(value, concrete(only->type));
  // Sizes known only at run time get the annotated names.
  if (adapts && value.getDefiningOp<ir::NativeOp>())
    value = fit(value, variableType(only));
  bindPattern(let->pattern, value);
}

void Emitter::bindPattern(const Pattern *pattern, mlir::Value value) {
  if (!value)
    return;
  if (pattern->parts.empty()) {
    if (pattern->symbol)
      define(pattern->symbol, value);
    return;
  }
  auto aggregate = dyn_cast<ir::AggregateType>(value.getType());
  auto shape = dyn_cast<ir::ArrayType>(value.getType());
  for (auto [i, part] : llvm::enumerate(pattern->parts))
    if (shape)
      bindPattern(
          part, create<ir::AtOp>(shape.getElement(), value, constantInt(static_cast<int64_t>(i))));
    else if (aggregate && i < aggregate.getParts().size())
      bindPattern(part, create<ir::GetOp>(aggregate.getParts()[i], value,
                                          builder.getI64IntegerAttr(static_cast<int64_t>(i))));
}

// ----------------------------------------------------------------------------------------
// variables

mlir::Type Emitter::variableType(Symbol *symbol) {
  return convert(symbol->type, symbol->value.host);
}

void Emitter::define(Symbol *symbol, mlir::Value value) {
  if (instance.function && llvm::is_contained(instance.function->fed, symbol))
    return; // the caller's value is kept
  mlir::Type type = variableType(symbol);
  if (isa<ir::TensorType>(value.getType()) && isa<ir::TensorType>(type)) {
    // The annotation may write equal sizes differently; the value's own are as good.
    ir::TensorType have = tensor(value), want = mlir::cast<ir::TensorType>(type);
    if (have.isHost() != want.isHost() || have.getElement() != want.getElement() ||
        symbol->bind == BindKind::Var)
      value = fit(value, type);
  }
  if (symbol->value.host && symbol->value.dim && isHost(value))
    if (auto atom = sema.dims.asSymbol(symbol->value.dim); atom && !sizeNames.count(*atom)) {
      SymbolRole role = sema.dims.symbolInfo(*atom).role;
      bool isOfRun = role == SymbolRole::HostInt || role == SymbolRole::LoopIndex;
      if ((role == SymbolRole::HostInt && !inGraph) || (isOfRun && isUsedAsSize(*atom)))
        bindSize(*atom, value);
    }
  if (shared.globals.count(symbol)) {
    create<ir::GlobalStoreOp>(builder.getStringAttr(shared.globalName(*symbol)), value);
    return;
  }
  values[symbol] = value;
}

mlir::Value Emitter::read(Symbol *symbol) {
  if (auto found = values.find(symbol); found != values.end()) {
    if (auto cell = dyn_cast<ir::CellType>(found->second.getType()))
      return create<ir::LoadOp>(cell.getElement(), found->second);
    return found->second;
  }
  if (shared.globals.count(symbol))
    return create<ir::GlobalLoadOp>(variableType(symbol),
                                    builder.getStringAttr(shared.globalName(*symbol)));
  // A parameter of the constructor, stored in the model.
  if (instance.function && instance.function->owner)
    for (const sema::ParamInfo &param : instance.function->owner->params)
      if (param.symbol == symbol) {
        mlir::Value object = self();
        size_t part = fieldIndex(*instance.function->owner, param.name);
        auto aggregate = mlir::cast<ir::AggregateType>(object.getType());
        return create<ir::GetOp>(aggregate.getParts()[part], object,
                                 builder.getI64IntegerAttr(static_cast<int64_t>(part)));
      }
  // A module's `const`: pure, so it is evaluated at its uses.
  if (symbol->bind == BindKind::Const && symbol->initial)
    return emit(symbol->initial);
  if (mlir::Value v = emitConstant(symbol->value, symbol->type))
    return v;
  return unsupported(symbol->span, "`" + std::string(symbol->name) + "` from here");
}

void Emitter::write(Symbol *symbol, mlir::Value value) {
  if (!value)
    return;
  auto found = values.find(symbol);
  if (found != values.end()) {
    if (auto cell = dyn_cast<ir::CellType>(found->second.getType())) {
      create<ir::StoreOp>(fit(value, cell.getElement()), found->second);
      return;
    }
    found->second = fit(value, found->second.getType());
    return;
  }
  if (shared.globals.count(symbol)) {
    create<ir::GlobalStoreOp>(builder.getStringAttr(shared.globalName(*symbol)),
                              fit(value, variableType(symbol)));
    return;
  }
  values[symbol] = value;
}

Symbol *Emitter::selfSymbol() { return &selfPlaceholder; }
mlir::Value Emitter::self() { return values.lookup(&selfPlaceholder); }
void Emitter::setSelf(mlir::Value value) { values[&selfPlaceholder] = value; }

size_t Emitter::fieldIndex(const NominalInfo &nominal, StringRef name) {
  for (auto [i, field] : llvm::enumerate(nominal.fields))
    if (StringRef(field.name) == name)
      return i;
  size_t index = nominal.fields.size();
  for (const sema::ParamInfo &param : nominal.params)
    if (!param.isStatic) {
      if (StringRef(param.name) == name)
        return index;
      ++index;
    }
  return 0;
}

// -------------------------------------------------------------------------------------------
// lvalues

void Emitter::assign(const Expr *lvalue, mlir::Value value) {
  if (!value)
    return;
  auto setPart = [&](mlir::Value object, size_t part) -> mlir::Value {
    auto aggregate = mlir::cast<ir::AggregateType>(object.getType());
    return create<ir::SetOp>(aggregate, object, fit(value, aggregate.getParts()[part]),
                             builder.getI64IntegerAttr(static_cast<int64_t>(part)));
  };
  if (auto *name = as<Name>(lvalue)) {
    Symbol *symbol = name->symbol;
    if (symbol && symbol->kind == sema::SymbolKind::Field) {
      if (mlir::Value object = self())
        setSelf(setPart(object, fieldIndex(*symbol->nominal, StringRef(symbol->name))));
      return;
    }
    if (symbol)
      write(symbol, value);
    return;
  }
  if (auto *tuple = as<Tuple>(lvalue)) {
    auto aggregate = dyn_cast<ir::AggregateType>(value.getType());
    for (auto [i, part] : llvm::enumerate(tuple->elements))
      if (aggregate)
        assign(part, create<ir::GetOp>(aggregate.getParts()[i], value,
                                       builder.getI64IntegerAttr(static_cast<int64_t>(i))));
    return;
  }
  if (auto *member = as<Member>(lvalue)) {
    mlir::Value object = emit(member->object);
    const Type *type = concrete(member->object->checked->type);
    if (!object)
      return;
    std::optional<size_t> part;
    if (type->is(Kind::Nominal))
      part = fieldIndex(*type->nominal, StringRef(member->name.text));
    else if (type->is(Kind::Grad))
      part = partOfGradient(mlir::cast<ir::AggregateType>(object.getType()),
                            StringRef(member->name.text));
    if (part)
      return assign(member->object, setPart(object, *part));
  }
  if (auto *index = as<Index>(lvalue)) {
    mlir::Value object = emit(index->object);
    if (!object)
      return;
    if (auto array = dyn_cast<ir::ArrayType>(object.getType())) {
      mlir::Value i = emit(index->args[0].value);
      if (i)
        assign(index->object, create<ir::SetAtOp>(array, object, inGraph ? i : toHost(i),
                                                  fit(value, array.getElement())));
      return;
    }
    if (isa<ir::TensorType>(object.getType())) {
      assign(index->object, emitUpdate(index, object, value));
      return;
    }
  }
  unsupported(lvalue->span, "an assignment to this");
}

void Emitter::emitAssign(const Assign *stmt) {
  const sema::Value *target = stmt->target->checked;
  if (stmt->op == Tok::Equal) {
    mlir::Value value = target && target->type->isTensor() && stmt->value->checked->type->isTensor()
                            ? emitAs(stmt->value, elementType(target->type->elem))
                            : emit(stmt->value);
    assign(stmt->target, value);
    return;
  }
  if (!target->type->isTensor()) {
    if (target->type->is(Kind::Str)) {
      mlir::Value l = emit(stmt->target), r = emit(stmt->value);
      if (l && r)
        assign(stmt->target,
               create<ir::JoinOp>(ir::StrType::get(&shared.context), ValueRange{l, r}));
      return;
    }
    Tok op = stmt->op == Tok::PlusEqual    ? Tok::Plus
             : stmt->op == Tok::MinusEqual ? Tok::Minus
             : stmt->op == Tok::StarEqual  ? Tok::Star
                                           : Tok::Slash;
    emitGradUpdate(stmt, op);
    return;
  }
  Tok op = stmt->op == Tok::PlusEqual    ? Tok::Plus
           : stmt->op == Tok::MinusEqual ? Tok::Minus
           : stmt->op == Tok::StarEqual  ? Tok::Star
                                         : Tok::Slash;
  mlir::Value l = emit(stmt->target);
  mlir::Value r = l ? emitAs(stmt->value, elementOf(l)) : mlir::Value();
  at(stmt->opSpan);
  if (l && r)
    assign(stmt->target, arithmetic(op, l, r, concrete(target->type)));
}

} // namespace mx::irgen
