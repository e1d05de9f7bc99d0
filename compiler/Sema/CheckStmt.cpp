// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of statements: blocks, bindings, patterns, `return` and `try`.
#include "Sema/Internals.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

/// The value of a block is its last expression. Null: control does not reach the end.
const Value *Sema::checkBlock(Block *block, const Type *expected, bool wantValue) {
  static const Value none = [] {
    Value v;
    v.host = true;
    return v;
  }();
  if (!block)
    return nullptr;
  Scope *outer = context->scope;
  context->scope = newScope(outer);
  for (Stmt *s : block->stmts)
    if (auto *func = as<Func>(s)) {
      Symbol *symbol = newSymbol(SymbolKind::Function, func->name.text, func->name.span);
      FunctionInfo *f = declareFunction(func, context->module, nullptr, context->scope);
      symbol->functions.push_back(f);
      symbol->function = context->function;
      define(*context->scope, symbol, /*mayShadow=*/false);
    }
  const Value *result = &none;
  for (size_t i = 0; i < block->stmts.size() && !diags.full(); ++i) {
    Stmt *s = block->stmts[i];
    if (i + 1 == block->stmts.size())
      result = checkLastStmt(s, expected, wantValue);
    else
      checkStmt(s);
  }
  context->scope = outer;
  if (result == &none) {
    Value *v = arena.make<Value>(none);
    v->type = types.nothing();
    return v;
  }
  return result;
}

const Value *Sema::checkLastStmt(Stmt *stmt, const Type *expected, bool wantValue) {
  if (auto *e = as<ExprStmt>(stmt)) {
    checkAttributes(stmt->attributes, "an expression", {});
    if (auto *branch = as<If>(e->expr); branch && !wantValue) {
      statementIf = true;
      return check(e->expr);
    }
    return check(e->expr, expected);
  }
  checkStmt(stmt);
  if (stmt->kind == StmtKind::Return || stmt->kind == StmtKind::Raise ||
      stmt->kind == StmtKind::Break || stmt->kind == StmtKind::Continue)
    return nullptr;
  Value *v = arena.make<Value>();
  v->type = types.nothing();
  v->host = true;
  return v;
}

/// `@remat(every=k)`: k is a positive integer that is known at compile time.
static void checkRemat(Sema &sema, For *loop) {
  for (const ast::Attribute &a : loop->attributes) {
    if (a.name.text != "remat")
      continue;
    const Argument *every = a.args.size() == 1 ? &a.args[0] : nullptr;
    Dim count;
    if (every && every->name.text == "every" && every->value)
      count = sema.check(every->value)->dim;
    std::optional<int64_t> number = count ? count.constant() : std::nullopt;
    if (number && *number >= 1)
      continue;
    sema.diags
        .report(Code::E0806, a.span,
                number ? "`@remat` cannot keep one state in " + std::to_string(*number) + " iterations"
                       : "`@remat` of a loop needs a number")
        .help("write `@remat(every=16)`: one state in 16 iterations is kept");
  }
}

void Sema::checkStmt(Stmt *stmt) {
  switch (stmt->kind) {
  case StmtKind::Expr: {
    checkAttributes(stmt->attributes, "an expression", {});
    auto *e = as<ExprStmt>(stmt);
    statementIf = e->expr->kind == ExprKind::If;
    isAValue(*check(e->expr), e->expr);
    return;
  }
  case StmtKind::Let:
    checkAttributes(stmt->attributes, "a binding", {});
    return checkLet(as<Let>(stmt));
  case StmtKind::Assign:
    checkAttributes(stmt->attributes, "an assignment", {});
    return checkAssign(as<Assign>(stmt));
  case StmtKind::For:
    checkAttributes(stmt->attributes, "a loop", {"remat"});
    checkRemat(*this, as<For>(stmt));
    return checkFor(as<For>(stmt));
  case StmtKind::While:
    checkAttributes(stmt->attributes, "a `while` loop", {});
    return checkWhile(as<While>(stmt));
  case StmtKind::Return:
    return checkReturn(as<Return>(stmt));
  case StmtKind::Break:
  case StmtKind::Continue:
    if (context->loopDepth == 0)
      diags.report(Code::E0503, stmt->span,
                   std::string(stmt->kind == StmtKind::Break ? "`break`" : "`continue`") +
                       " outside of a loop");
    return;
  case StmtKind::Raise: {
    auto *r = as<Raise>(stmt);
    const Value *v = check(r->value);
    if (v->type->isError() || v->type->is(Kind::Error_))
      return;
    Diagnostic &d =
        diags.report(Code::E0202, r->value->span, "`raise` takes an error, this is " + show(*v));
    if (v->type->is(Kind::Str))
      d.help("write `raise Error(" + textOf(r->value) + ")`");
    return;
  }
  case StmtKind::Assert: {
    auto *a = as<Assert>(stmt);
    checkCondition(a->condition, "`assert`");
    if (a->message)
      require(*check(a->message), types.str(), a->message->span, "the message of `assert`");
    return;
  }
  case StmtKind::Try:
    return checkTry(as<Try>(stmt));
  case StmtKind::Test: {
    auto *t = as<Test>(stmt);
    Context ctx = *context;
    ctx.declaredResult = types.nothing();
    ctx.outer = context;
    inContext(ctx, [&] { checkBlock(t->body, nullptr, false); });
    return;
  }
  case StmtKind::Func:
    if (auto *f = as<Func>(stmt)->info) {
      checkBody(*f);
      // The effects of a local function belong to its callers.
    }
    return;
  case StmtKind::Import:
  case StmtKind::Nominal:
  case StmtKind::TypeDef:
  case StmtKind::Error:
    return;
  }
}

Symbol *Sema::defineVariable(const Identifier &name, const Type *type, BindKind bind) {
  Symbol *symbol = newSymbol(SymbolKind::Variable, name.text, name.span);
  symbol->type = type;
  symbol->bind = bind;
  symbol->function = context->function;
  symbol->isModuleLevel = context->scope == &context->module->scope;
  symbol->scopeDepth = context->loopDepth;
  symbol->value = valueOf(type);
  if (name.text != "_")
    define(*context->scope, symbol, /*mayShadow=*/true);
  return symbol;
}

void Sema::bindPattern(Pattern *pattern, const Type *type, const Value *value, BindKind bind,
                       const Expr *initial, Span typeSpan) {
  if (pattern->parts.empty()) {
    if (!pattern->name.valid())
      return;
    Symbol *symbol = defineVariable(pattern->name, type, bind);
    if (value) {
      symbol->value = *value;
      symbol->value.type = type;
      if (value->root && !value->root->origin.empty())
        symbol->origin = value->root->origin;
    }
    symbol->value.literal = Value::NotLiteral;
    symbol->value.root = nullptr;
    symbol->initial = initial;
    symbol->typeSpan = typeSpan;
    bool wholeNumber = type->isScalar() && type->elem.is(ElementType::I64);
    if (bind == BindKind::Var) {
      symbol->value.dim = {};
      symbol->value.constant = Value::NoConstant;
    } else if (wholeNumber && symbol->value.host && !symbol->value.dim) {
      // An immutable host integer is a size, even if its value is known only at run time.
      symbol->value.dim = newRunSize(
          {std::string(pattern->name.text), SymbolRole::HostInt, false, pattern->name.span});
    }
    if (type->is(Kind::Nominal) && type->nominal->name == "Rng" && initial &&
        initial->kind == ExprKind::Name && !type->nominal->isModel)
      diags.report(Code::W0410, initial->span, "copying an `Rng` gives the same numbers twice")
          .caret("both names would draw the same")
          .help("derive an independent one: `" + textOf(initial) + ".fork(\"" +
                std::string(pattern->name.text) + "\")`");
    pattern->symbol = symbol;
    return;
  }
  if (type->isError()) {
    for (Pattern *part : pattern->parts)
      bindPattern(part, types.error(), nullptr, bind, nullptr, typeSpan);
    return;
  }
  size_t count = pattern->parts.size();
  if (type->is(Kind::Shape) && !hasPack(type->shape) && type->shape.size() == count) {
    for (size_t i = 0; i < count; ++i) {
      Value size = hostInt(type->shape[i].dim);
      bindPattern(pattern->parts[i], size.type, &size, bind, nullptr, typeSpan);
    }
    return;
  }
  if (!type->is(Kind::Tuple) || type->parts.size() != count) {
    std::string message = type->is(Kind::Tuple)
                              ? "the pattern has " + std::to_string(pattern->parts.size()) +
                                    " names, the value has " + std::to_string(type->parts.size()) +
                                    " parts"
                          : type->is(Kind::Shape) && !hasPack(type->shape)
                              ? "the pattern has " + std::to_string(pattern->parts.size()) +
                                    " names, the shape has " + std::to_string(type->shape.size()) +
                                    (type->shape.size() == 1 ? " size" : " sizes")
                              : "a pattern with " + std::to_string(pattern->parts.size()) +
                                    " names needs a tuple, this is " + show(type);
    Diagnostic &d = diags.report(Code::E0214, pattern->span, message);
    if (initial)
      d.label(initial->outerSpan, show(type));
    for (Pattern *part : pattern->parts)
      bindPattern(part, types.error(), nullptr, bind, nullptr, typeSpan);
    return;
  }
  // The names keep what is known of the parts, also through a variable.
  auto *tuple = as<Tuple>(initial);
  if (auto *name = as<Name>(initial);
      name && name->symbol && name->symbol->bind == BindKind::Let && name->symbol->initial)
    tuple = as<Tuple>(name->symbol->initial);
  for (size_t i = 0; i < count; ++i) {
    const Expr *partExpr = tuple && tuple->elements.size() == count ? tuple->elements[i] : nullptr;
    bindPattern(pattern->parts[i], type->parts[i], partExpr ? partExpr->checked : nullptr, bind,
                partExpr, typeSpan);
  }
}

void Sema::checkLet(Let *let) {
  if (let->bind == BindKind::Const && let->pattern->symbol) { // a module's const, known already
    Symbol *symbol = let->pattern->symbol;
    if (auto it = pendingConsts.find(symbol); it != pendingConsts.end())
      resolveConst(symbol, it->second);
    return;
  }
  const Type *want = nullptr;
  AtomId firstNew = 0;
  bool binds = false;
  Scope *scope = context->scope, *newSizes = newScope(scope);
  if (let->type) {
    bool outer = bindingSizes;
    bindingSizes = true;
    firstNew = dims.newSymbol({"", SymbolRole::HostInt, true, {}});
    context->scope = newSizes;
    want = resolveType(let->type);
    context->scope = scope;
    bindingSizes = outer;
    binds = true;
  }
  const Value *value = check(let->value, want);
  // The value gives the new sizes their numbers, so it cannot use them.
  scope->names.insert(newSizes->names.begin(), newSizes->names.end());
  if (binds && want->isTensor() && value->type->isTensor() &&
      want->shape.size() == value->type->shape.size())
    for (size_t i = 0; i < want->shape.size(); ++i)
      if (auto id = dims.asSymbol(want->shape[i].dim);
          id && *id > firstNew && !value->type->shape[i].isPack())
        facts().assume(
            {Relation::Equal, want->shape[i].dim, value->type->shape[i].dim, let->type->span});
  if (want && !want->isError())
    require(*value, want, let->value->outerSpan, "the value", let->type->span);
  if (value->type->is(Kind::Nothing) && !want) {
    diags.report(Code::E0222, let->value->span, "this has no value").caret("nothing to bind");
    value = arena.make<Value>(errorValue());
  }
  if (!isAValue(*value, let->value))
    value = arena.make<Value>(errorValue());
  if (want && !want->isError()) {
    Value v = adapted(*value, want);
    // The written type names sizes. The value may know more about its device.
    const Type *type = types.onDevice(want, value->type->device);
    bindPattern(let->pattern, type, &v, let->bind, let->value, let->type->span);
  } else {
    bindPattern(let->pattern, want ? want : value->type, value, let->bind, let->value, {});
  }
}

bool Sema::isAValue(const Value &found, const Expr *e) {
  bool isType = found.type->is(Kind::TypeName);
  if (!isType && !found.type->is(Kind::Module))
    return true;
  diags.report(Code::E0217, e->span, show(found) + " is not a value")
      .help(isType ? "name a type with `type`: `type Name = " + textOf(e) + "`"
                   : "give a module another name with `import … as …`");
  return false;
}

void Sema::checkResult(const Value &value, Span span, Expr *expr) {
  const Type *want = context->declaredResult;
  if (!want || want->isError() || value.type->isError())
    return;
  std::string name = context->function && !context->function->name.empty()
                         ? "`" + context->function->name + "`"
                         : "the function";
  if (value.type->is(Kind::Nothing) && !want->is(Kind::Nothing)) {
    diags.report(Code::E0222, span, name + " declares " + show(want) + ", but returns no value")
        .label(context->resultSpan, "declared here")
        .help("end the block with the value, or write `return …`");
    return;
  }
  Mismatch m;
  if (!fits(value, want, &m)) {
    Diagnostic &d =
        diags.report(Code::E0302, span,
                     name + " returns " + show(value) + ", but " + show(want) + " is declared");
    d.label(context->resultSpan, "declared here").caret("this is " + show(value));
    if (context->function && context->function->syntax && context->function->syntax->body &&
        !expr) {
      Span body = context->function->syntax->body->span;
      d.show({body.file, body.end - 1, body.end});
    }
    if (m.axis >= 0)
      d.note("dimension " + std::to_string(m.axis) + ": " + dims.print(m.want) + " expected, " +
             dims.print(m.have) + " found" + ownersNote(m.want, m.have));
    else if (m.elements && want->isTensor() && value.type->isTensor())
      d.help("convert it: `" + types.print(want->elem) + "(" +
             (expr ? textOf(expr) : textOf(span)) + ")`");
    return;
  }
  if (want->isTensor() && value.type->isTensor() && !literalFits(value, want->elem, span))
    return;
  if (context->function && value.type->device && !context->function->resultDevice)
    context->function->resultDevice = value.type->device;
}

void Sema::checkReturn(Return *r) {
  if (!context->function && !context->outer) {
    diags.report(Code::E0503, r->span, "`return` outside of a function");
    if (r->value)
      check(r->value);
    return;
  }
  if (!context->declaredResult) { // a lambda: the result type is inferred from its `return`s
    const Type *t = r->value ? check(r->value)->type : types.nothing();
    context->returned.push_back({t, r->span});
    return;
  }
  if (!r->value) {
    if (!context->declaredResult->is(Kind::Nothing))
      checkResult(hostValue(types.nothing()), r->span, nullptr);
    return;
  }
  if (context->declaredResult->is(Kind::Nothing)) {
    const Value *v = check(r->value);
    if (!v->type->isError() && !v->type->is(Kind::Nothing))
      diags
          .report(Code::E0222, r->value->span,
                  "`" + (context->function ? context->function->name : "") +
                      "` declares no result, but returns " + show(*v))
          .help("declare it: `-> " + show(*v) + "`");
    return;
  }
  const Value *v = check(r->value, context->declaredResult);
  checkResult(*v, r->value->outerSpan, r->value);
}

bool Sema::checkCondition(Expr *condition, const char *what) {
  const Value *v = check(condition);
  if (v->type->isError())
    return false;
  noteWait(*v);
  if (v->type->isScalar() && types.isBool(v->type->elem))
    return true;
  Diagnostic &d = diags.report(Code::E0221, condition->outerSpan,
                               std::string(what) + " needs a bool, this is " + show(*v));
  if (v->type->isTensor() && types.isBool(v->type->elem))
    d.help("say which: `" + operandText(condition) + ".all()` or `" + operandText(condition) +
           ".any()`");
  else if (v->type->isScalar())
    d.help("compare it: `" + operandText(condition) + " != 0`");
  return false;
}

void Sema::checkTry(Try *stmt) {
  if (context->inGraph)
    diags
        .report(Code::E0401, Span{stmt->span.file, stmt->span.begin, stmt->span.begin + 3},
                "a graph cannot catch errors")
        .label(context->graphSpan, "a graph is compiled as a whole")
        .help("catch them where the graph is called");
  checkBlock(stmt->body, nullptr, false);
  Scope *outer = context->scope;
  context->scope = newScope(outer);
  if (stmt->name.valid()) {
    Symbol *symbol = defineVariable(stmt->name, types.caughtError(), BindKind::Let);
    symbol->value.host = true;
    stmt->symbol = symbol;
  }
  checkBlock(stmt->handler, nullptr, false);
  context->scope = outer;
}

} // namespace mx::sema
