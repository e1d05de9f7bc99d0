// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Sema/Sema.h"
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
    checkAttributes(stmt->attributes, "an expression", {"remat"});
    if (auto *branch = as<If>(e->expr); branch && !wantValue) {
      statementIf = true;
      return check(e->expr);
    }
    return check(e->expr, expected);
  }
  checkStmt(stmt);
  if (stmt->kind == StmtKind::Return || stmt->kind == StmtKind::Raise || stmt->kind == StmtKind::Break ||
      stmt->kind == StmtKind::Continue)
    return nullptr;
  Value *v = arena.make<Value>();
  v->type = types.nothing();
  v->host = true;
  return v;
}

void Sema::checkStmt(Stmt *stmt) {
  switch (stmt->kind) {
  case StmtKind::Expr: {
    checkAttributes(stmt->attributes, "an expression", {"remat"});
    auto *e = as<ExprStmt>(stmt);
    statementIf = e->expr->kind == ExprKind::If;
    check(e->expr);
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
    return checkFor(as<For>(stmt));
  case StmtKind::While:
    checkAttributes(stmt->attributes, "a loop", {"remat"});
    return checkWhile(as<While>(stmt));
  case StmtKind::Return:
    return checkReturn(as<Return>(stmt));
  case StmtKind::Break:
  case StmtKind::Continue:
    if (context->loopDepth == 0)
      diags.report(Code::E0503, stmt->span,
                   std::string(stmt->kind == StmtKind::Break ? "`break`" : "`continue`") + " stands outside of a loop");
    return;
  case StmtKind::Raise: {
    auto *r = as<Raise>(stmt);
    const Value *v = check(r->value);
    if (v->type->isError() || v->type->is(Kind::Error_))
      return;
    Diagnostic &d = diags.report(Code::E0202, r->value->span, "`raise` takes an error, this is " + show(*v));
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
      // A local function's effects belong to whoever calls it.
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
      // An immutable host integer is a size, even if only the run knows its value.
      symbol->value.dim = dims.newSymbolDim(
          {std::string(pattern->name.text), SymbolRole::HostInt, false, pattern->name.span});
    }
    if (type->is(Kind::Nominal) && type->nominal->name == "Rng" && initial && initial->kind == ExprKind::Name &&
        !type->nominal->isModel)
      diags.report(Code::W0410, initial->span, "copying an `Rng` gives the same numbers twice")
          .caret("both names would draw the same")
          .help("derive an independent one: `" + textOf(initial) + ".fork(\"" + std::string(pattern->name.text) + "\")`");
    pattern->symbol = symbol;
    return;
  }
  if (type->isError()) {
    for (Pattern *part : pattern->parts)
      bindPattern(part, types.error(), nullptr, bind, nullptr, typeSpan);
    return;
  }
  if (!type->is(Kind::Tuple) || type->parts.size() != pattern->parts.size()) {
    std::string message =
        type->is(Kind::Tuple)
            ? "the pattern has " + std::to_string(pattern->parts.size()) + " names, the value has " +
                  std::to_string(type->parts.size()) + " parts"
            : "a pattern with " + std::to_string(pattern->parts.size()) + " names needs a tuple, this is " + show(type);
    Diagnostic &d = diags.report(Code::E0214, pattern->span, message);
    if (initial)
      d.label(initial->outerSpan, show(type));
    for (Pattern *part : pattern->parts)
      bindPattern(part, types.error(), nullptr, bind, nullptr, typeSpan);
    return;
  }
  auto *tuple = as<Tuple>(initial);
  for (size_t i = 0; i < pattern->parts.size(); ++i) {
    const Expr *partExpr = tuple && tuple->elements.size() == pattern->parts.size() ? tuple->elements[i] : nullptr;
    bindPattern(pattern->parts[i], type->parts[i], partExpr ? partExpr->checked : nullptr, bind, partExpr, typeSpan);
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
  if (let->type) {
    bool outer = bindingSizes;
    bindingSizes = true;
    firstNew = dims.newSymbol({"", SymbolRole::HostInt, true, {}});
    want = resolveType(let->type);
    bindingSizes = outer;
    binds = true;
  }
  const Value *value = check(let->value, want);
  if (binds && want->isTensor() && value->type->isTensor() && want->shape.size() == value->type->shape.size())
    for (size_t i = 0; i < want->shape.size(); ++i)
      if (auto id = dims.asSymbol(want->shape[i].dim); id && *id > firstNew && !value->type->shape[i].isPack())
        facts().assume({Relation::Equal, want->shape[i].dim, value->type->shape[i].dim, let->type->span});
  if (want && !want->isError())
    require(*value, want, let->value->outerSpan, "the value", let->type->span);
  if (value->type->is(Kind::Nothing) && !want) {
    diags.report(Code::E0222, let->value->span, "this gives no value")
        .caret("nothing to bind");
    value = arena.make<Value>(errorValue());
  }
  if (value->type->is(Kind::TypeName) || value->type->is(Kind::Module)) {
    diags.report(Code::E0217, let->value->span, show(*value) + " is not a value")
        .help(value->type->is(Kind::TypeName) ? "name a type with `type`: `type Name = " + textOf(let->value) + "`"
                                              : "give a module another name with `import … as …`");
    value = arena.make<Value>(errorValue());
  }
  if (want && !want->isError()) {
    Value v = adapted(*value, want);
    // The written type names sizes; the value may know more about where it lives.
    const Type *type = types.onDevice(want, value->type->device);
    bindPattern(let->pattern, type, &v, let->bind, let->value, let->type->span);
  } else {
    bindPattern(let->pattern, want ? want : value->type, value, let->bind, let->value, {});
  }
}

namespace {
Symbol *rootSymbol(const Expr *e) {
  while (e) {
    if (auto *m = as<Member>(e))
      e = m->object;
    else if (auto *i = as<Index>(e))
      e = i->object;
    else
      break;
  }
  auto *name = as<Name>(e);
  return name ? name->symbol : nullptr;
}
} // namespace

void Sema::checkAssign(Assign *a) {
  if (a->op == Tok::Equal) {
    if (auto *name = as<Name>(a->target); name && !lookup(name->text)) {
      check(a->value);
      diags.report(Code::E0801, name->span, "`" + std::string(name->text) + "` is not defined")
          .help("a new name is made with `let` (or `var`, if it changes): `let " + textOf(a->span) + "`");
      return;
    }
    const Type *expected = nullptr;
    if (as<Name>(a->target) || as<Member>(a->target) || as<Index>(a->target))
      expected = check(a->target)->type;
    const Value *value = check(a->value, expected && !expected->isError() ? expected : nullptr);
    assignTo(a->target, *value, a->value, a);
    return;
  }
  static const std::map<Tok, Tok> plain = {{Tok::PlusEqual, Tok::Plus},
                                           {Tok::MinusEqual, Tok::Minus},
                                           {Tok::StarEqual, Tok::Star},
                                           {Tok::SlashEqual, Tok::Slash}};
  const Value *target = check(a->target);
  const Value *value = check(a->value);
  if (target->type->isError() || value->type->isError())
    return;
  // `model -= gradient` changes parameters only.
  bool model = target->type->is(Kind::TypeVar) || (target->type->is(Kind::Nominal) && target->type->nominal->isModel);
  if (model && value->type->is(Kind::Grad) && (a->op == Tok::PlusEqual || a->op == Tok::MinusEqual)) {
    if (!equalTypes(types.grad(target->type), value->type)) {
      diags.report(Code::E0202, a->opSpan, show(*value) + " does not belong to " + show(*target))
          .label(a->target->outerSpan, show(*target))
          .label(a->value->outerSpan, show(*value));
      return;
    }
    assignTo(a->target, *target, a->value, a);
    return;
  }
  Value result = arithmeticOn(plain.at(a->op), *target, *value, a->target, a->value, a->opSpan);
  if (result.type->isError())
    return;
  // An update keeps the element type and the shape of what is updated.
  assignTo(a->target, result, a->value, a);
}

void Sema::assignTo(Expr *target, const Value &value, Expr *valueExpr, const Assign *whole) {
  if (auto *tuple = as<Tuple>(target)) {
    const Type *t = value.type;
    if (t->isError())
      return;
    if (!t->is(Kind::Tuple) || t->parts.size() != tuple->elements.size()) {
      diags.report(Code::E0214, target->span,
                   "the left side has " + std::to_string(tuple->elements.size()) + " parts, the value is " + show(t));
      return;
    }
    auto *parts = as<Tuple>(valueExpr);
    for (size_t i = 0; i < tuple->elements.size(); ++i) {
      Expr *partExpr = parts && parts->elements.size() == tuple->elements.size() ? parts->elements[i] : valueExpr;
      Value part = parts && partExpr->checked ? *partExpr->checked : valueOf(t->parts[i]);
      assignTo(tuple->elements[i], part, partExpr, whole);
    }
    return;
  }
  if (!as<Name>(target) && !as<Member>(target) && !as<Index>(target)) {
    diags.report(Code::E0218, target->outerSpan, "this cannot be assigned to")
        .help("a `var`, a part of one (`x[i]`, `net.w`) or a tuple of these can");
    return;
  }
  const Value *place = target->checked ? target->checked : check(target);
  if (place->type->isError() || value.type->isError())
    return;
  Symbol *root = rootSymbol(target);
  if (!place->mutablePlace) {
    std::string name(root ? root->name : std::string_view("it"));
    // `x.T` and `x.shape` of a `var` are computed, not kept: there is nothing to write to.
    bool computed = root && root->kind == SymbolKind::Variable && root->bind == BindKind::Var;
    if (!root || computed || (root->kind != SymbolKind::Variable && root->kind != SymbolKind::Field)) {
      Diagnostic &d = diags.report(Code::E0218, target->outerSpan, "this cannot be assigned to");
      if (computed)
        d.help("assign to the variable it comes from: `" + name + " = …`");
      return;
    }
    Diagnostic &d = diags.report(Code::E0204, target->outerSpan, "`" + name + "` cannot change");
    if (root->kind == SymbolKind::Field)
      d.caret("only a `mut fn` may change the fields of its model")
          .help("write `mut fn " + (context->function ? context->function->name : std::string("call")) + "(…)`");
    else if (root->isLoopVariable)
      d.caret("it is the variable of a loop").help("write `for mut " + name + " in …` to change the elements");
    else if (root->isParam)
      d.label(root->span, "a parameter").help("write `mut " + name + "` in the parameter list, or copy it: `var " + name + " = " + name + "`");
    else
      d.label(root->span, root->bind == BindKind::Const ? "bound with `const`" : "bound with `let`")
          .help("make it a `var`: `var " + name + " = …`");
    return;
  }
  Mismatch mismatch;
  if (!fits(value, place->type, &mismatch)) {
    auto *name = as<Name>(target);
    if (name && root && root->kind == SymbolKind::Variable && context->loopDepth > root->scopeDepth &&
        value.type->isTensor() && place->type->isTensor()) {
      carryMismatch(root, value.type, valueExpr, whole);
      return;
    }
    Diagnostic &d = diags.report(Code::E0202, valueExpr->outerSpan,
                                 "`" + textOf(target) + "` is " + show(*place) + ", it cannot become " + show(value));
    d.caret(show(value));
    if (root && root->span.valid() && name)
      d.label(root->span, show(*place) + " from here on");
    if (place->type->isTensor() && value.type->isTensor() && !(place->type->elem == value.type->elem) &&
        place->type->isScalar() && types.isInt(place->type->elem) && types.isFloat(value.type->elem) && root && root->initial)
      d.help("start with a float: `var " + std::string(root->name) + " = " + textOf(root->initial) + ".0`");
    else if (place->type->isTensor() && value.type->isTensor() && !(place->type->elem == value.type->elem) &&
             place->type->shape.size() == value.type->shape.size())
      d.help("convert it: `" + types.print(place->type->elem) + "(" + textOf(valueExpr) + ")`");
    return;
  }
  if (root && root->kind == SymbolKind::Variable && !value.host)
    root->value.host = false;
}

/// E0501: a variable that lives across turns keeps one type.
void Sema::carryMismatch(Symbol *variable, const Type *have, Expr *value, const Assign *whole) {
  Diagnostic &d = diags.report(Code::E0501, value->outerSpan,
                               "`" + std::string(variable->name) + "` changes its type in the loop");
  d.label(variable->span, show(variable->type) + " when the loop starts");
  d.caret(show(have) + " at the end of the first turn");
  const Stmt *loop = nullptr;
  for (const Stmt *l : context->loops)
    if (l->span.begin > variable->span.begin) {
      loop = l;
      break;
    }
  if (loop)
    d.show({loop->span.file, loop->span.begin, loop->span.begin});
  d.note("a variable that lives across turns keeps one type, so that its memory can be planned");
  // `h = concat(h, piece, axis=…)` in `for t in 0..T`: collect the pieces in a tensor made before.
  auto *call = as<Call>(value);
  auto *callee = call ? as<Name>(call->callee) : nullptr;
  auto *over = loop ? as<For>(loop) : nullptr;
  auto *range = over ? as<ast::Range>(over->iterable) : nullptr;
  if (callee && callee->text == "concat" && call->args.size() >= 2 && range && over->pattern->name.valid()) {
    Expr *piece = call->args[1].value;
    if (piece->checked && piece->checked->type->isTensor() && !as<Name>(piece)) {
      std::string name = std::string(variable->name) + "s";
      const Shape &s = piece->checked->type->shape;
      std::string sizes = textOf(range->to);
      for (const Axis &axis : s)
        sizes += ", " + (axis.isPack() ? "..." : dims.print(axis.dim));
      d.help("collect the turns instead: `var " + name + " = zeros([" + sizes + "])` and `" + name + "[" +
             std::string(over->pattern->name.text) + "] = " + textOf(piece) + "`");
    }
  }
  (void)whole;
}

void Sema::checkResult(const Value &value, Span span, Expr *expr) {
  const Type *want = context->declaredResult;
  if (!want || want->isError() || value.type->isError())
    return;
  std::string name = context->function && !context->function->name.empty() ? "`" + context->function->name + "`" : "the function";
  if (value.type->is(Kind::Nothing) && !want->is(Kind::Nothing)) {
    diags.report(Code::E0222, span, name + " declares " + show(want) + ", but gives no value")
        .label(context->resultSpan, "declared here")
        .help("end the block with the value, or write `return …`");
    return;
  }
  Mismatch m;
  if (!fits(value, want, &m)) {
    Diagnostic &d = diags.report(Code::E0302, span, name + " returns " + show(value) + ", but " + show(want) + " is declared");
    d.label(context->resultSpan, "declared here").caret("this is " + show(value));
    if (context->function && context->function->syntax && context->function->syntax->body && !expr) {
      Span body = context->function->syntax->body->span;
      d.show({body.file, body.end - 1, body.end});
    }
    if (m.axis >= 0)
      d.note("dimension " + std::to_string(m.axis) + ": " + dims.print(m.want) + " expected, " + dims.print(m.have) +
             " found" + ownersNote(m.want, m.have));
    else if (m.elements && want->isTensor() && value.type->isTensor())
      d.help("convert it: `" + types.print(want->elem) + "(" + (expr ? textOf(expr) : textOf(span)) + ")`");
    return;
  }
  if (context->function && value.type->device && !context->function->resultDevice)
    context->function->resultDevice = value.type->device;
}

void Sema::checkReturn(Return *r) {
  if (!context->function && !context->outer) {
    diags.report(Code::E0503, r->span, "`return` stands outside of a function");
    if (r->value)
      check(r->value);
    return;
  }
  if (!context->declaredResult) { // a lambda: its result is what it returns
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
      diags.report(Code::E0222, r->value->span,
                   "`" + (context->function ? context->function->name : "") + "` declares no result, but returns " + show(*v))
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
  if (v->type->isScalar() && types.isBool(v->type->elem))
    return true;
  Diagnostic &d = diags.report(Code::E0221, condition->outerSpan, std::string(what) + " needs a bool, this is " + show(*v));
  if (v->type->isTensor() && types.isBool(v->type->elem))
    d.help("say which: `" + operandText(condition) + ".all()` or `" + operandText(condition) + ".any()`");
  else if (v->type->isScalar())
    d.help("compare it: `" + operandText(condition) + " != 0`");
  return false;
}

const Type *Sema::iterationType(const Value &iterable, Expr *expr, For *loop, Value &element) {
  const Type *t = iterable.type;
  switch (t->kind) {
  case Kind::Error:
    return types.error();
  case Kind::Range: {
    element = hostValue(types.scalar(ElementType::I64));
    auto *range = as<ast::Range>(expr);
    Dim from = range && range->from->checked ? range->from->checked->dim : Dim();
    Dim to = range && range->to->checked ? range->to->checked->dim : Dim();
    bool positive = from && facts().lessEqual(dims.constant(0), from).proved();
    std::string name = loop && loop->pattern->name.valid() ? std::string(loop->pattern->name.text) : "i";
    element.dim = dims.newSymbolDim({name, SymbolRole::LoopIndex, positive, expr->span});
    if (from)
      facts().assume({Relation::LessEqual, from, element.dim, expr->span});
    if (to)
      facts().assume({Relation::LessEqual, dims.add(element.dim, dims.constant(1)), to, expr->span});
    return element.type;
  }
  case Kind::Array:
    element = valueOf(t->element);
    return t->element;
  case Kind::Progress: {
    Value inner = iterable;
    inner.type = t->element;
    return iterationType(inner, expr, loop, element);
  }
  case Kind::Dataset: {
    element = valueOf(t->parts.size() == 1 ? t->parts[0] : types.tuple(t->parts));
    return element.type;
  }
  case Kind::Loader: {
    Dim batch = t->count;
    if (!batch) {
      batch = dims.newSymbolDim({"n", SymbolRole::Fresh, true, expr->span});
      auto bound = loaderBounds.find(t);
      if (bound != loaderBounds.end())
        facts().assume({Relation::LessEqual, batch, bound->second, expr->span});
    }
    std::vector<const Type *> parts;
    for (const Type *item : t->parts)
      parts.push_back(batched(item, batch));
    element = valueOf(parts.size() == 1 ? parts[0] : types.tuple(parts));
    return element.type;
  }
  default: {
    Diagnostic &d = diags.report(Code::E0223, expr->outerSpan, "this cannot be looped over: it is " + show(t));
    if (t->isTensor() && !t->shape.empty() && !t->shape[0].isPack())
      d.help("loop over its indices: `for i in 0.." + dims.print(t->shape[0].dim) + " { … " + operandText(expr) + "[i] … }`");
    else if (t->isScalar() && types.isInt(t->elem))
      d.help("write a range: `0.." + textOf(expr) + "`");
    return types.error();
  }
  }
}

void Sema::checkFor(For *loop) {
  const Value *iterable = check(loop->iterable);
  size_t factCount = facts().size();
  Value element;
  const Type *type = iterationType(*iterable, loop->iterable, loop, element);
  Scope *outer = context->scope;
  context->scope = newScope(outer);
  ++context->loopDepth;
  context->loops.push_back(loop);
  if (element.type)
    bindPattern(loop->pattern, type, &element, BindKind::Let, nullptr, {});
  else
    bindPattern(loop->pattern, type, nullptr, BindKind::Let, nullptr, {});
  // Which names the loop made, and what they may do.
  std::function<void(Pattern *, size_t)> mark = [&](Pattern *p, size_t position) {
    for (size_t i = 0; i < p->parts.size(); ++i)
      mark(p->parts[i], i);
    if (!p->symbol)
      return;
    p->symbol->isLoopVariable = true;
    if (auto it = leafMutability.find(loop->iterable); it != leafMutability.end()) {
      if (position < it->second.size() && it->second[position])
        p->symbol->bind = BindKind::Var;
      p->symbol->origin = "leaf";
    } else if (loop->isMut) {
      p->symbol->bind = BindKind::Var;
    }
    const Type *over = iterable->type->is(Kind::Progress) ? iterable->type->element : iterable->type;
    if (over->is(Kind::Loader) && !over->note.empty())
      p->symbol->origin = over->note;
  };
  mark(loop->pattern, 0);
  if (loop->isMut && !iterable->type->isError()) {
    bool leaf = leafMutability.count(loop->iterable);
    if (!iterable->type->is(Kind::Array) || leaf)
      diags.report(Code::E0210, loop->iterable->span, "`for mut` changes the elements of an array, this is " + show(*iterable));
    else if (!iterable->mutablePlace)
      diags.report(Code::E0204, loop->iterable->outerSpan, "`" + textOf(loop->iterable) + "` cannot change")
          .help("`for mut` needs a `var`, or a field in a `mut fn`");
  }
  checkBlock(loop->body, nullptr, false);
  context->loops.pop_back();
  --context->loopDepth;
  context->scope = outer;
  facts().truncate(factCount);
}

void Sema::checkWhile(While *loop) {
  checkCondition(loop->condition, "`while`");
  if (loop->limit) {
    const Value *v = check(loop->limit);
    if (!v->type->isError() && !(v->type->isScalar() && types.isInt(v->type->elem) && v->host))
      diags.report(Code::E0216, loop->limit->span, "the limit of a loop is a whole number known before it starts");
  }
  ++context->loopDepth;
  context->loops.push_back(loop);
  checkBlock(loop->body, nullptr, false);
  context->loops.pop_back();
  --context->loopDepth;
  if (!loop->limit)
    noteUnboundedWhile(loop);
}

void Sema::checkTry(Try *stmt) {
  if (context->inGraph)
    diags.report(Code::E0401, Span{stmt->span.file, stmt->span.begin, stmt->span.begin + 3}, "a graph cannot catch errors")
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
