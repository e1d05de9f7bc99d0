// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Sema/Sema.h"
#include "Support/Suggest.h"
#include <algorithm>
#include <cmath>

namespace mx::sema {
using namespace ast;

void Sema::reportDeepType(Span at) {
  if (types.tookTooDeep())
    diags.report(Code::E0002, at, "a type is nested too deep").note("the limit is " + std::to_string(limits::kMaxTypeDepth) + " types inside each other");
}

const Value *Sema::check(Expr *e, const Type *expected) {
  Value v = checkKind(e, expected);
  if (!v.type)
    v.type = types.error();
  reportDeepType(e->span);
  Value *kept = arena.make<Value>(v);
  e->checked = kept;
  return kept;
}

Value Sema::checkKind(Expr *e, const Type *expected) {
  bool asStatement = statementIf;
  statementIf = false;
  switch (e->kind) {
  case ExprKind::Error:
    return errorValue();
  case ExprKind::Number: {
    auto *n = as<Number>(e);
    Value v;
    v.host = true;
    if (n->isFloat) {
      v.type = types.scalar(ElementType::F32);
      v.literal = Value::FloatLiteral;
      v.constant = Value::FloatConstant;
      v.number = n->floatValue;
    } else {
      v.type = types.scalar(ElementType::I64);
      v.literal = Value::IntLiteral;
      v.dim = dims.constant(n->intValue);
    }
    return v;
  }
  case ExprKind::String: {
    Value v = hostValue(types.str());
    v.constant = Value::StringConstant;
    v.text = as<String>(e)->value;
    return v;
  }
  case ExprKind::Bool: {
    Value v = hostValue(types.scalar(ElementType::Bool));
    v.constant = Value::BoolConstant;
    v.flag = as<Bool>(e)->value;
    return v;
  }
  case ExprKind::FString:
    return checkFString(as<FString>(e));
  case ExprKind::Name:
    return checkName(as<Name>(e));
  case ExprKind::Tuple: {
    auto *t = as<Tuple>(e);
    if (t->elements.empty())
      return hostValue(types.nothing());
    std::vector<const Type *> parts;
    bool host = true, bad = false;
    for (size_t i = 0; i < t->elements.size(); ++i) {
      const Type *want = expected && expected->is(Kind::Tuple) && expected->parts.size() == t->elements.size()
                             ? expected->parts[i]
                             : nullptr;
      const Value *v = check(t->elements[i], want);
      bad |= v->type->isError();
      host &= v->host;
      const Type *part = v->type;
      if (want && fits(*v, want))
        part = types.onDevice(want, v->type->device);
      parts.push_back(part);
    }
    if (bad)
      return errorValue();
    Value v = valueOf(types.tuple(std::move(parts)));
    v.host = host;
    return v;
  }
  case ExprKind::List:
    return checkList(as<ListExpr>(e), expected);
  case ExprKind::Comprehension:
    return checkComprehension(as<Comprehension>(e), expected);
  case ExprKind::Unary:
    return checkUnary(as<Unary>(e), expected);
  case ExprKind::Binary:
    return checkBinary(as<Binary>(e), expected);
  case ExprKind::Range: {
    auto *r = as<ast::Range>(e);
    for (Expr *end : {r->from, r->to}) {
      const Value *v = check(end);
      if (!v->type->isError() && !(v->type->isScalar() && types.isInt(v->type->elem))) {
        diags.report(Code::E0202, end->outerSpan, "the ends of a range are whole numbers, this is " + show(*v));
        return errorValue();
      }
    }
    return hostValue(types.range());
  }
  case ExprKind::Pipe:
    return checkPipe(as<Pipe>(e), expected);
  case ExprKind::Member:
    return checkMember(as<Member>(e));
  case ExprKind::Call:
    return checkCall(as<Call>(e), expected);
  case ExprKind::Index:
    return checkIndex(as<Index>(e));
  case ExprKind::If:
    statementIf = asStatement;
    return checkIf(as<If>(e), expected);
  case ExprKind::GraphBlock: {
    auto *g = as<GraphBlock>(e);
    bool outer = context->inGraph;
    Span outerSpan = context->graphSpan;
    if (!outer)
      context->graphSpan = {e->span.file, e->span.begin, e->span.begin + 5};
    context->inGraph = true;
    const Value *v = checkBlock(g->body, expected, true);
    context->inGraph = outer;
    context->graphSpan = outerSpan;
    if (!v)
      return errorValue();
    Value result = valueOf(v->type);
    result.host = v->type->is(Kind::Nothing);
    return result;
  }
  case ExprKind::OnBlock: {
    auto *o = as<OnBlock>(e);
    const Value *d = check(o->device);
    if (!d->type->isError() && !d->type->is(Kind::Device))
      diags.report(Code::E0602, o->device->outerSpan, "`on` needs a device, this is " + show(*d))
          .help("write `on device(" + (d->type->is(Kind::Str) ? textOf(o->device) : "\"cpu:0\"") + ") { … }`");
    Device outer = context->device;
    context->device = d->constant == Value::DeviceConstant ? d->device : nullptr;
    Device here = context->device;
    const Value *v = checkBlock(o->body, expected, true);
    context->device = outer;
    if (!v)
      return errorValue();
    Value result = *v;
    result.type = types.onDevice(v->type, here);
    result.root = nullptr;
    result.mutablePlace = false;
    return result;
  }
  case ExprKind::Grad:
    return checkGrad(as<ast::Grad>(e));
  case ExprKind::Lambda:
    return checkLambda(as<Lambda>(e), expected);
  }
  return errorValue();
}

// ------------------------------------------------------------------------------------------ names

Value Sema::checkName(Name *e) {
  Symbol *symbol = lookup(e->text);
  if (!symbol) {
    if (auto element = elementNamed(e->text))
      return hostValue(types.dtype(*element));
    unknownName(e->text, e->span, e);
    return errorValue();
  }
  e->symbol = symbol;
  return symbolValue(symbol, e->span);
}

Value Sema::symbolValue(Symbol *symbol, Span span) {
  symbol->used = true;
  switch (symbol->kind) {
  case SymbolKind::Variable: {
    if (!symbol->type)
      return errorValue();
    // A graph function sees its parameters and module constants, so that its C signature is complete.
    FunctionInfo *f = context->function;
    bool foreign = symbol->isModuleLevel || (f && symbol->function != f && !context->outer) ||
                   (f && f->isGraph() && symbol->function != f);
    if (f && f->isGraph() && foreign && symbol->bind != BindKind::Const && !symbol->type->isError()) {
      diags.report(Code::E0404, span, "`" + f->name + "` is a `graph fn` and cannot see `" + std::string(symbol->name) + "`")
          .label(symbol->span, "an outer variable")
          .caret("only parameters and module `const`s are known here")
          .help("pass it: `graph fn " + f->name + "(…, " + std::string(symbol->name) + ": " + show(symbol->type) + ")`, or make it a `const`");
      return errorValue();
    }
    if (f && symbol->isModuleLevel && symbol->bind != BindKind::Const && !f->outerVariable) {
      f->outerVariable = symbol; // whoever calls it from a `graph fn` sees it too
      f->outerSpan = span;
    }
    Value v = symbol->value;
    v.type = symbol->type;
    v.root = symbol;
    v.mutablePlace = symbol->bind == BindKind::Var;
    return v;
  }
  case SymbolKind::DimParam:
    return hostInt(symbol->dim);
  case SymbolKind::ElemParam:
    return hostValue(types.dtype(symbol->elem));
  case SymbolKind::TypeParam:
    return hostValue(types.typeName(symbol->type));
  case SymbolKind::PackParam:
    return hostValue(types.shape({Axis{{}, symbol->pack}}));
  case SymbolKind::Function:
  case SymbolKind::Method: {
    FunctionInfo &f = *symbol->functions[0];
    resolveSignature(f);
    std::vector<const Type *> params;
    for (const ParamInfo &p : f.params)
      params.push_back(p.type);
    Value v = hostValue(types.fn(std::move(params), f.result ? f.result : types.error()));
    return v;
  }
  case SymbolKind::Nominal:
    resolveHeader(*symbol->nominal);
    return hostValue(types.typeName(symbol->nominal->self ? symbol->nominal->self : types.error()));
  case SymbolKind::Alias: {
    const Type *type = expandAlias(symbol, {}, span);
    return type->isError() ? errorValue() : hostValue(types.typeName(type));
  }
  case SymbolKind::Module:
    return symbol->module ? hostValue(types.module(symbol->module)) : errorValue();
  case SymbolKind::Field: {
    FieldInfo *f = symbol->nominal->field(symbol->name);
    if (!f)
      return errorValue();
    resolveField(*symbol->nominal, *f);
    Value v = fieldValue(symbol->nominal->self, *f, nullptr);
    v.root = symbol;
    v.mutablePlace = context->function && (context->function->isMutMethod() || context->function->name.empty());
    return v;
  }
  }
  return errorValue();
}

/// A field of a value. Numbers of a handle (`kv.rank`) are host values; they are sizes as well.
Value Sema::fieldValue(const Type *object, FieldInfo &f, const Value *base) {
  const Type *type = f.type ? f.type : types.error();
  type = types.substitute(type, bindingsOf(object));
  if (object->device)
    type = types.onDevice(type, object->device);
  Value v = valueOf(type);
  v.host = object->nominal->isHandle || type->is(Kind::Str);
  if (object->nominal->isHandle && type->isScalar() && type->elem.is(ElementType::I64)) {
    Symbol *root = base ? base->root : nullptr;
    Dim &known = hostFields[{root, f.name}];
    if (!known || !root)
      known = dims.newSymbolDim({(root ? std::string(root->name) + "." : std::string()) + f.name, SymbolRole::HostInt, true, f.syntax->span});
    v.dim = known;
  }
  return v;
}

// ------------------------------------------------------------------------------- lists, tuples, ifs

Value Sema::checkList(ListExpr *e, const Type *expected) {
  if (expected && (expected->is(Kind::Shape) || expected->is(Kind::Axes))) {
    Shape shape;
    for (Expr *x : e->elements) {
      if (auto *name = as<Name>(x); name && name->text == "_" && expected->is(Kind::Shape)) {
        shape.push_back({});
        continue;
      }
      const Value *v = check(x);
      if (v->type->isError())
        return errorValue();
      if (v->dim && facts().lessEqual(v->dim, dims.constant(-1)).proved() && expected->is(Kind::Shape)) {
        diags.report(Code::E0310, x->outerSpan, "a size is not negative").caret(dims.print(v->dim));
        return errorValue();
      }
      if (!v->dim && v->type->isScalar() && types.isInt(v->type->elem)) {
        if (context->inGraph) {
          diags.report(Code::E0315, x->outerSpan, "a size in a graph cannot be a value it computes")
              .label(context->graphSpan, "a graph has all sizes before it runs")
              .help("pass it as `static`, or use a `let` made from sizes");
          return errorValue();
        }
        // Eager code waits for the value and goes on with its number (S2).
        shape.push_back(axisOf(dims.newSymbolDim({textOf(x), SymbolRole::HostInt, true, x->span})));
        continue;
      }
      if (!v->dim) {
        diags.report(Code::E0202, x->outerSpan, "a size is a whole number, this is " + show(*v));
        return errorValue();
      }
      shape.push_back(axisOf(v->dim));
    }
    if (shape.size() > static_cast<size_t>(limits::kMaxRank)) {
      diags.report(Code::E0314, e->span, "a tensor has at most 16 dimensions");
      return errorValue();
    }
    return hostValue(types.shape(std::move(shape)));
  }
  if (e->elements.empty()) {
    if (expected && expected->isTensor() && !expected->shape.empty())
      return valueOf(types.tensor(expected->elem, {axisOf(dims.constant(0))}));
    diags.report(Code::E0213, e->span, "the type of an empty list is not known")
        .help("write `zeros([0])`, or say what it is: `let x: f32[0] = []`");
    return errorValue();
  }
  if (e->elements.size() > static_cast<size_t>(limits::kMaxLiteralElements)) {
    diags.report(Code::E0002, e->span.start(), "a list has at most " + std::to_string(limits::kMaxLiteralElements) + " elements")
        .help("read it from a file: `data.bin(path)`, or `restore(path, mut x)`");
    return errorValue();
  }
  const Type *wantElement = expected && expected->is(Kind::Array) ? expected->element : nullptr;
  const Type *rowExpected = nullptr;
  if (expected && expected->isTensor() && !expected->shape.empty() && !expected->shape[0].isPack())
    rowExpected = types.tensor(expected->elem, Shape(expected->shape.begin() + 1, expected->shape.end()));
  std::vector<const Value *> values;
  bool tensors = true, host = true, anyFloat = false, anyFixed = false;
  Elem elem;
  for (Expr *x : e->elements) {
    const Value *v = check(x, wantElement ? wantElement : rowExpected);
    if (v->type->isError())
      return errorValue();
    if (v->type->is(Kind::Nothing)) {
      diags.report(Code::E0222, x->outerSpan, "this gives no value");
      return errorValue();
    }
    values.push_back(v);
    tensors &= v->type->isTensor();
    host &= v->host;
    if (!v->type->isTensor())
      continue;
    bool adapts = v->literal != Value::NotLiteral || (v->host && v->dim);
    anyFloat |= v->literal == Value::FloatLiteral;
    bool afterNumbers = !anyFixed && values.size() > 1 && types.isBool(v->type->elem);
    if (afterNumbers) {
      diags.report(Code::E0201, x->outerSpan, "a list has one element type: a bool stands among numbers")
          .caret(show(*v))
          .help("convert it: `f32(" + textOf(x) + ")`");
      return errorValue();
    }
    if (!adapts) {
      if (anyFixed && !(elem == v->type->elem)) {
        diags.report(Code::E0201, x->outerSpan, "a list has one element type: " + types.print(elem) + " and " +
                                                    types.print(v->type->elem) + " differ")
            .caret(show(*v))
            .help("convert it: `" + types.print(elem) + "(" + textOf(x) + ")`");
        return errorValue();
      }
      anyFixed = true;
      elem = v->type->elem;
    }
  }
  if (!tensors || wantElement) {
    for (size_t i = 1; i < values.size(); ++i)
      if (!equalTypes(values[0]->type, values[i]->type)) {
        diags.report(Code::E0202, e->elements[i]->outerSpan,
                     "the elements of an array have one type: " + show(*values[0]) + " and " + show(*values[i]) + " differ")
            .label(e->elements[0]->outerSpan, show(*values[0]));
        return errorValue();
      }
    Value v = valueOf(types.array(wantElement ? wantElement : values[0]->type,
                                  dims.constant(static_cast<int64_t>(values.size()))));
    v.host = host;
    return v;
  }
  if (!anyFixed) {
    bool adopt = expected && expected->isTensor() && !(anyFloat && types.isInt(expected->elem));
    elem = adopt ? expected->elem : anyFloat ? Elem(ElementType::F32) : Elem(ElementType::I64);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!literalFits(*values[i], elem, e->elements[i]->outerSpan))
      return errorValue();
    ShapeResult same = sameShape(values[0]->type->shape, values[i]->type->shape, facts());
    if (!same.ok()) {
      Diagnostic &d = diags.report(Code::E0308, e->elements[i]->outerSpan, "the rows of a list differ in shape");
      d.label(e->elements[0]->outerSpan, values[0]->type->shape.empty() ? "one value" : types.print(values[0]->type->shape));
      d.caret(values[i]->type->shape.empty() ? "one value" : types.print(values[i]->type->shape));
      return errorValue();
    }
    addConditions(same.conditions, e->elements[i]->span);
  }
  Shape shape = values[0]->type->shape;
  shape.insert(shape.begin(), axisOf(dims.constant(static_cast<int64_t>(values.size()))));
  if (shape.size() > static_cast<size_t>(limits::kMaxRank)) {
    diags.report(Code::E0314, e->span, "a tensor has at most 16 dimensions");
    return errorValue();
  }
  Value v = valueOf(types.tensor(elem, std::move(shape), context->device));
  v.literal = !anyFixed && host ? (anyFloat ? Value::FloatLiteral : Value::IntLiteral) : Value::NotLiteral;
  return v;
}

Value Sema::checkComprehension(Comprehension *e, const Type *expected) {
  Scope *outer = context->scope;
  size_t factCount = facts().size();
  context->scope = newScope(outer);
  Shape lead;
  bool bad = false;
  for (const Comprehension::Clause &c : e->clauses) {
    const Value *range = check(c.range);
    Value element;
    const Type *type = iterationType(*range, c.range, nullptr, element);
    bindPattern(c.pattern, type, element.type ? &element : nullptr, BindKind::Let, nullptr, {});
    if (type->isError()) {
      bad = true;
      continue;
    }
    Dim length;
    if (range->type->is(Kind::Array)) {
      length = range->type->count;
    } else if (auto *r = as<ast::Range>(c.range)) {
      Dim from = r->from->checked->dim, to = r->to->checked->dim;
      length = from && to ? dims.sub(to, from) : Dim();
    }
    if (!length) {
      diags.report(Code::E0315, c.range->outerSpan, "a comprehension needs a size here that is known beforehand");
      bad = true;
      continue;
    }
    lead.push_back(axisOf(length));
  }
  const Value *v = check(e->element);
  context->scope = outer;
  facts().truncate(factCount);
  if (bad || v->type->isError())
    return errorValue();
  if (!v->type->isTensor()) {
    if (lead.size() == 1)
      return valueOf(types.array(v->type, lead[0].dim));
    diags.report(Code::E0202, e->element->outerSpan, "a comprehension over several ranges makes a tensor; this is " + show(*v));
    return errorValue();
  }
  Elem elem = v->type->elem;
  if (v->literal != Value::NotLiteral && expected && expected->isTensor())
    elem = expected->elem;
  lead.insert(lead.end(), v->type->shape.begin(), v->type->shape.end());
  if (lead.size() > static_cast<size_t>(limits::kMaxRank)) {
    diags.report(Code::E0314, e->span, "a tensor has at most 16 dimensions");
    return errorValue();
  }
  return valueOf(types.tensor(elem, std::move(lead), v->type->device));
}

Value Sema::checkIf(If *e, const Type *expected) {
  bool asStatement = statementIf;
  statementIf = false;
  checkCondition(e->condition, "`if`");
  const Value *condition = e->condition->checked;
  size_t factCount = facts().size();
  // Inside the branch the condition holds; sizes compared there are known.
  if (auto fact = quietCondition(e->condition))
    facts().assume(*fact);
  const Value *then = checkBlock(e->thenBlock, expected, !asStatement);
  facts().truncate(factCount);
  const Value *otherwise = nullptr;
  bool hasElse = e->elseIf || e->elseBlock;
  if (e->elseIf) {
    statementIf = asStatement;
    otherwise = check(e->elseIf, expected);
  } else if (e->elseBlock) {
    otherwise = checkBlock(e->elseBlock, expected, !asStatement);
  }
  if (asStatement)
    return hostValue(types.nothing());
  if (!hasElse) {
    // Without `else` there is a value only if nobody asks for one.
    return hostValue(types.nothing());
  }
  if (!then && !otherwise)
    return hostValue(types.nothing());
  if (!then || !otherwise)
    return *(then ? then : otherwise);
  if (condition && condition->constant == Value::BoolConstant)
    return condition->flag ? *then : *otherwise;
  if (then->type->isError() || otherwise->type->isError())
    return errorValue();
  Value result = *then;
  result.host = then->host && otherwise->host && condition && condition->host;
  result.root = nullptr;
  result.mutablePlace = false;
  result.constant = Value::NoConstant;
  if (!(then->dim == otherwise->dim))
    result.dim = {};
  if (fits(*otherwise, then->type))
    return result;
  if (fits(*then, otherwise->type)) {
    result.type = otherwise->type;
    result.literal = otherwise->literal;
    return result;
  }
  auto lastOf = [](const Block *b) { return b->stmts.empty() ? b->span : b->stmts.back()->span; };
  Span elseSpan = e->elseIf ? e->elseIf->span : lastOf(e->elseBlock);
  diags.report(Code::E0307, elseSpan, "the branches of this `if` differ in type: " + show(*then) + " and " + show(*otherwise))
      .label(lastOf(e->thenBlock), show(*then))
      .caret(show(*otherwise));
  return errorValue();
}

// ------------------------------------------------------------------------------------------- grad

Value Sema::checkGrad(ast::Grad *e) {
  std::vector<const Type *> gradients;
  bool bad = false;
  for (Expr *target : e->targets) {
    const Value *v = check(target);
    const Type *t = v->type;
    if (t->isError()) {
      bad = true;
      continue;
    }
    bool place = as<Name>(target) || as<Member>(target) || as<Index>(target);
    bool model = t->is(Kind::TypeVar) || (t->is(Kind::Nominal) && t->nominal->isModel);
    bool tensor = t->isTensor() && types.isFloat(t->elem) && !(v->literal != Value::NotLiteral);
    if (!place || (!model && !tensor)) {
      Diagnostic &d = diags.report(Code::E0505, target->outerSpan,
                                   place ? "`grad` cannot differentiate by " + show(t)
                                         : "`grad` needs the name of what to differentiate by");
      if (t->isTensor() && !types.isFloat(t->elem))
        d.caret("only floats have gradients");
      else
        d.help("a float tensor, a model or a part of one: `grad(net.fc1, x) { … }`");
      bad = true;
      continue;
    }
    gradients.push_back(model ? types.onDevice(types.grad(t), t->device) : t);
  }
  const ast::Grad *outer = context->grad;
  context->grad = e;
  const Value *v = checkBlock(e->body, nullptr, true);
  context->grad = outer;
  if (bad || !v || v->type->isError())
    return errorValue();
  const Type *t = v->type->is(Kind::Tuple) ? v->type->parts[0] : v->type;
  if (!t->isScalar() || !types.isFloat(t->elem)) {
    Span at = e->body->stmts.empty() ? e->body->span : e->body->stmts.back()->span;
    Diagnostic &d = diags.report(Code::E0505, at, "`grad` differentiates one float, this is " + show(t));
    d.label(e->keyword, "the value of the block is differentiated");
    if (t->isTensor() && types.isFloat(t->elem))
      d.help("reduce it: `….sum()` or `….mean()`");
    return errorValue();
  }
  const Type *g = gradients.size() == 1 ? gradients[0] : types.tuple(gradients);
  return valueOf(types.tuple({v->type, g}));
}

Value Sema::checkLambda(Lambda *e, const Type *expected) {
  Func *func = e->func;
  bool known = expected && expected->is(Kind::Fn) && expected->parts.size() == func->params.size();
  Context ctx = *context;
  ctx.outer = context;
  ctx.returned.clear();
  ctx.loopDepth = 0;
  ctx.loops.clear();
  ctx.scope = newScope(context->scope);
  std::vector<const Type *> params;
  const Type *result = nullptr;
  bool bad = false;
  for (size_t i = 0; i < func->params.size(); ++i) {
    Param &p = func->params[i];
    const Type *type = p.type ? resolveType(p.type) : known ? expected->parts[i] : nullptr;
    if (!type) {
      diags.report(Code::E0213, p.name.span, "the type of `" + std::string(p.name.text) + "` is not known here")
          .help("write it: `fn(" + std::string(p.name.text) + ": f32) { … }`");
      type = types.error();
      bad = true;
    }
    Symbol *symbol = newSymbol(SymbolKind::Variable, p.name.text, p.name.span);
    symbol->type = type;
    symbol->isParam = true;
    symbol->isMutParam = p.isMut;
    symbol->bind = p.isMut ? BindKind::Var : BindKind::Let;
    symbol->function = context->function;
    symbol->value = valueOf(type);
    p.symbol = symbol;
    define(*ctx.scope, symbol, /*mayShadow=*/false);
    params.push_back(type);
  }
  ctx.declaredResult = func->result ? resolveType(func->result) : nullptr;
  ctx.resultSpan = func->result ? func->result->span : Span();
  inContext(ctx, [&] {
    const Value *v = checkBlock(func->body, ctx.declaredResult, true);
    if (ctx.declaredResult) {
      if (v)
        checkResult(*v, func->body->stmts.empty() ? func->body->span : func->body->stmts.back()->span, nullptr);
      result = ctx.declaredResult;
    } else {
      result = v ? v->type : ctx.returned.empty() ? types.nothing() : ctx.returned[0].first;
      for (auto &[type, span] : ctx.returned)
        if (!equalTypes(result, type)) {
          diags.report(Code::E0302, span, "this function returns " + show(result) + " and " + show(type));
          bad = true;
        }
    }
  });
  if (bad)
    return errorValue();
  return hostValue(types.fn(std::move(params), result));
}

// ---------------------------------------------------------------------------------------- members

Value Sema::checkMember(Member *e) {
  const Value *object = check(e->object);
  if (object->type->isError() || !e->name.valid())
    return errorValue();
  return memberOf(*object, e);
}

Value Sema::memberOf(const Value &object, Member *e) {
  std::string name(e->name.text);
  const Type *t = object.type;
  auto missing = [&](const std::vector<std::string> &known) {
    Diagnostic &d = diags.report(Code::E0209, e->name.span, show(t) + " has no member `" + name + "`");
    std::string near = nearest(name, known);
    if (!near.empty())
      d.caret("did you mean `" + near + "`?");
    else if (FunctionInfo *f = findFreeFunction(name, t))
      d.help("it is a function, call it: `" + textOf(e->object) + "." + f->name + "(…)`");
    return errorValue();
  };
  switch (t->kind) {
  case Kind::Module: {
    Symbol *symbol = lookupMember(*t->module, e->name);
    if (!symbol)
      return errorValue();
    e->symbol = symbol;
    if (auto pending = pendingConsts.find(symbol); pending != pendingConsts.end())
      resolveConst(symbol, pending->second);
    return symbolValue(symbol, e->name.span);
  }
  case Kind::Tensor: {
    if (name == "T") {
      ShapeResult r = swapLastTwo(t->shape);
      if (!r.ok()) {
        diags.report(Code::E0314, e->name.span, "`.T` swaps the last two dimensions, " + show(t) + " has fewer")
            .label(e->object->outerSpan, show(t));
        return errorValue();
      }
      Value v = valueOf(types.tensor(t->elem, r.shape, t->device));
      return v;
    }
    if (name == "shape") {
      return hostValue(types.shape(t->shape));
    }
    if (name == "dtype")
      return hostValue(types.dtype(t->elem));
    if (name == "rank")
      return hostInt(hasPack(t->shape) ? dims.newSymbolDim({"rank", SymbolRole::HostInt, true, e->span})
                                       : dims.constant(static_cast<int64_t>(t->shape.size())));
    if (name == "path" && object.root && object.root->origin == "leaf")
      return hostValue(types.str());
    return missing({"T", "shape", "dtype", "rank"});
  }
  case Kind::Nominal: {
    NominalInfo &n = *t->nominal;
    resolveFields(n);
    if (FieldInfo *f = n.field(name)) {
      resolveField(n, *f);
      Value v = fieldValue(t, *f, &object);
      v.root = object.root;
      v.mutablePlace = object.mutablePlace;
      return v;
    }
    if (n.methods.count(name)) {
      FunctionInfo &f = *n.methods.at(name);
      resolveSignature(f);
      std::vector<const Type *> params;
      Bindings b = bindingsOf(t);
      for (const ParamInfo &p : f.params)
        params.push_back(types.substitute(p.type, b));
      return hostValue(types.fn(std::move(params), types.substitute(f.result, b)));
    }
    for (size_t i = 0; i < n.staticParams.size(); ++i)
      if (n.staticName(i) == name && i < t->statics.size()) {
        const StaticValue &s = t->statics[i];
        if (s.kind == StaticValue::Int)
          return hostInt(s.dim);
        return hostValue(n.params[n.staticParams[i]].type);
      }
    std::vector<std::string> known;
    for (const FieldInfo &f : n.fields)
      known.push_back(f.name);
    for (auto &m : n.methods)
      known.push_back(m.first);
    return missing(known);
  }
  case Kind::Grad: {
    if (!t->element->is(Kind::Nominal))
      return missing({});
    NominalInfo &n = *t->element->nominal;
    resolveFields(n);
    std::vector<std::string> known;
    for (FieldInfo &f : n.fields) {
      if (f.kind == FieldKind::State)
        continue;
      known.push_back(f.name);
      if (f.name != name)
        continue;
      Value v = fieldValue(t->element, f, nullptr);
      if (v.type->is(Kind::Nominal))
        v.type = types.grad(v.type);
      else if (v.type->is(Kind::Array) && v.type->element->is(Kind::Nominal))
        v.type = types.array(types.grad(v.type->element), v.type->count);
      v.root = object.root;
      v.mutablePlace = object.mutablePlace;
      return v;
    }
    return missing(known);
  }
  case Kind::Error_:
    if (name == "message" || name == "code" || name == "place")
      return hostValue(types.str());
    return missing({"message", "code", "place"});
  case Kind::TypeName:
    diags.report(Code::E0209, e->name.span, show(t) + " has no member `" + name + "`");
    return errorValue();
  default:
    return missing({});
  }
}

// -------------------------------------------------------------------------------------- f-strings

Value Sema::checkFString(FString *e) {
  for (const FString::Part &part : e->parts) {
    if (!part.expr)
      continue;
    const Value *v = check(part.expr);
    if (v->type->isError())
      continue;
    if (v->type->is(Kind::Nothing) || v->type->is(Kind::Fn) || v->type->is(Kind::TypeName) || v->type->is(Kind::Module)) {
      diags.report(Code::E0202, part.expr->outerSpan, show(*v) + " cannot be shown as text");
      continue;
    }
    checkFormat(part, *v);
  }
  return hostValue(types.str());
}

/// [[fill]align][sign][0][width][,][.precision][type]
void Sema::checkFormat(const FString::Part &part, const Value &value) {
  std::string_view f = part.format;
  if (f.empty())
    return;
  size_t i = 0;
  auto isAlign = [&](size_t k) { return k < f.size() && (f[k] == '<' || f[k] == '>' || f[k] == '^'); };
  // The fill is one character; it may take several bytes.
  size_t fill = 1;
  while (fill < f.size() && (static_cast<unsigned char>(f[fill]) & 0xC0) == 0x80)
    ++fill;
  if (isAlign(fill) && fill < f.size())
    i = fill + 1;
  else if (isAlign(0))
    i = 1;
  if (i < f.size() && (f[i] == '+' || f[i] == '-' || f[i] == ' '))
    ++i;
  if (i < f.size() && f[i] == '0')
    ++i;
  auto number = [&] {
    size_t start = i;
    while (i < f.size() && std::isdigit(static_cast<unsigned char>(f[i])))
      ++i;
    return i - start <= 4;
  };
  bool sane = number();
  if (i < f.size() && f[i] == ',')
    ++i;
  bool precision = false;
  if (i < f.size() && f[i] == '.') {
    ++i;
    size_t start = i;
    sane &= number();
    precision = true;
    sane &= i > start;
  }
  char kind = i < f.size() ? f[i++] : '\0';
  bool known = kind == '\0' || std::string_view("dfeEgGsxob%").find(kind) != std::string_view::npos;
  if (i != f.size() || !known || !sane) {
    diags.report(Code::E0220, part.formatSpan, "`" + std::string(f) + "` is not a format")
        .help("a format is [fill][<^>][+][0][width][,][.precision][d f e g x s %], for example `8.3f`");
    return;
  }
  bool isInt = value.type->isTensor() && types.isInt(value.type->elem);
  bool isFloat = value.type->isTensor() && types.isFloat(value.type->elem);
  bool wantsFloat = kind == 'f' || kind == 'e' || kind == 'E' || kind == 'g' || kind == 'G' || kind == '%';
  bool wantsInt = kind == 'd' || kind == 'x' || kind == 'o' || kind == 'b';
  bool wrong = (wantsInt && !isInt) || (wantsFloat && !isFloat && !isInt) ||
               (kind == 's' && !value.type->is(Kind::Str)) || (precision && isInt && !wantsFloat);
  if (wrong)
    diags.report(Code::E0220, part.formatSpan, "the format `" + std::string(f) + "` does not fit " + show(value))
        .label(part.expr->outerSpan, show(value))
        .help(isInt ? "whole numbers take `d` or `x`, or a width alone" : isFloat ? "floats take `f`, `e` or `g`" : "strings take a width alone");
}

} // namespace mx::sema
