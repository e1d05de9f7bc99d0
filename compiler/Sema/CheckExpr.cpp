// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of expressions: dispatch by kind, names, tuples and `if`.
#include "Sema/Internals.h"
#include "Support/Suggest.h"
#include "Syntax/Children.h"
#include <algorithm>
#include <cmath>

namespace mx::sema {
using namespace ast;

void Sema::reportDeepType(Span at) {
  if (types.tookTooDeep())
    diags.report(Code::E0002, at, "a type is nested too deep")
        .note("the limit is " + std::to_string(limits::kMaxTypeDepth) + " types inside each other");
}

/// Counts a type and its nested parts, with multiplicity. Saturates at the limit plus one.
uint32_t Sema::countParts(const Type *type) {
  bool isWhole = type->is(Kind::Tuple) || type->is(Kind::Nominal) || type->is(Kind::Array) ||
                 type->is(Kind::Grad);
  if (!isWhole)
    return 1;
  auto [known, isNew] = partCounts.try_emplace(type, 1);
  if (!isNew)
    return known->second;
  uint64_t count = 1;
  for (const Type *part : type->parts)
    count += countParts(part);
  if (type->element)
    count += countParts(type->element);
  if (type->is(Kind::Nominal) && type->nominal->state >= NominalInfo::FieldsDone) {
    Bindings bindings = bindingsOf(type);
    for (const FieldInfo &field : type->nominal->fields)
      if (field.type)
        count += countParts(types.substitute(field.type, bindings));
  } else if (type->is(Kind::Nominal)) {
    partCounts.erase(type); // not all fields are known yet
    return 1;
  }
  return partCounts[type] =
             static_cast<uint32_t>(std::min<uint64_t>(count, limits::kMaxParts + uint64_t(1)));
}

const Value *Sema::check(Expr *e, const Type *expected) {
  Value v = checkKind(e, expected);
  if (!v.type)
    v.type = types.error();
  reportDeepType(e->span);
  if (v.type->isTensor() && !v.type->shape.empty())
    noteRunSizes(v.type, e);
  else if (countParts(v.type) > limits::kMaxParts) {
    diags
        .report(Code::E0226, e->span,
                "this value has more than " + std::to_string(limits::kMaxParts) + " parts")
        .caret(show(v.type))
        .help("keep values of one type in an array, `[T; n]`, or in one tensor");
    v = errorValue();
  }
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
      const Type *want =
          expected && expected->is(Kind::Tuple) && expected->parts.size() == t->elements.size()
              ? expected->parts[i]
              : nullptr;
      const Value *v = check(t->elements[i], want);
      bad |= v->type->isError();
      host &= v->host;
      const Type *part = v->type;
      if (want && fits(*v, want)) {
        part = types.onDevice(want, v->type->device);
        bad |= want->isTensor() && !literalFits(*v, want->elem, t->elements[i]->outerSpan);
      }
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
        diags.report(Code::E0202, end->outerSpan,
                     "the ends of a range are whole numbers, this is " + show(*v));
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
          .help("write `on device(" + (d->type->is(Kind::Str) ? textOf(o->device) : "\"cpu:0\"") +
                ") { … }`");
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
    result.isLvalue = false;
    return result;
  }
  case ExprKind::Grad:
    return checkGrad(as<ast::Grad>(e));
  case ExprKind::Lambda:
    return checkLambda(as<Lambda>(e), expected);
  }
  return errorValue();
}

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

/// Whether the value of a `const` comes from other workers: a graph evaluates a constant where it is
/// used.
static bool usesNetwork(const Expr *e) {
  if (!e)
    return false;
  const CallInfo *info = callOf(e);
  bool found = info && info->function && (info->function->effects & (kNet | kExchange)) != 0;
  children(
      e, [&](const Expr *part) { found |= usesNetwork(part); }, [](const Block *) {});
  return found;
}

Value Sema::symbolValue(Symbol *symbol, Span span) {
  symbol->used = true;
  switch (symbol->kind) {
  case SymbolKind::Variable: {
    if (!symbol->type)
      return errorValue();
    // A graph function may use only its parameters and module constants, so that its C signature is
    // complete.
    FunctionInfo *f = context->function;
    bool foreign = symbol->isModuleLevel || (f && symbol->function != f && !context->outer) ||
                   (f && f->isGraph() && symbol->function != f);
    bool connects = foreign && symbol->bind == BindKind::Const && usesNetwork(symbol->initial);
    if (f && f->isGraph() && connects) {
      diags
          .report(Code::E0404, span,
                  "`" + f->name + "` is a `graph fn` and cannot see `" + std::string(symbol->name) +
                      "`")
          .label(symbol->span, "its value uses the network")
          .help("pass it: `graph fn " + f->name + "(…, " + std::string(symbol->name) + ": " +
                show(symbol->type) + ")`");
      return errorValue();
    }
    if (f && f->isGraph() && foreign && symbol->bind != BindKind::Const &&
        !symbol->type->isError()) {
      diags
          .report(Code::E0404, span,
                  "`" + f->name + "` is a `graph fn` and cannot see `" + std::string(symbol->name) +
                      "`")
          .label(symbol->span, "an outer variable")
          .caret("only parameters and module `const`s are known here")
          .help("pass it: `graph fn " + f->name + "(…, " + std::string(symbol->name) + ": " +
                show(symbol->type) + ")`, or make it a `const`");
      return errorValue();
    }
    if (f && symbol->isModuleLevel && (symbol->bind != BindKind::Const || connects) &&
        !f->outerVariable) {
      f->outerVariable = symbol; // a caller that is a `graph fn` sees it too
      f->outerSpan = span;
    }
    if (f && symbol->isModuleLevel)
      symbol->usedByFunction = true;
    Value v = symbol->value;
    v.type = symbol->type;
    v.root = symbol;
    v.isLvalue = symbol->bind == BindKind::Var;
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
    v.isLvalue =
        context->function && (context->function->isMutMethod() || context->function->name.empty());
    return v;
  }
  }
  return errorValue();
}

Value Sema::checkIf(If *e, const Type *expected) {
  bool asStatement = statementIf;
  statementIf = false;
  checkCondition(e->condition, "`if`");
  const Value *condition = e->condition->checked;
  size_t factCount = facts().size();
  // The condition holds inside the branch, so sizes that it compares are known there.
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
    // An `if` without `else` has no value.
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
  result.isLvalue = false;
  result.constant = Value::NoConstant;
  if (!(then->dim == otherwise->dim))
    result.dim = {};
  auto lastOf = [](const Block *b) { return b->stmts.empty() ? b->span : b->stmts.back()->span; };
  Span elseSpan = e->elseIf ? e->elseIf->span : lastOf(e->elseBlock);
  // A literal takes the element type of the other branch.
  auto adapts = [&](const Value &literal, const Value &other, Span span) {
    return !other.type->isTensor() || other.adapts() ||
           literalFits(literal, other.type->elem, span);
  };
  if (fits(*otherwise, then->type))
    return adapts(*otherwise, *then, elseSpan) ? result : errorValue();
  if (fits(*then, otherwise->type)) {
    result.type = otherwise->type;
    result.literal = otherwise->literal;
    return adapts(*then, *otherwise, lastOf(e->thenBlock)) ? result : errorValue();
  }
  diags
      .report(Code::E0307, elseSpan,
              "the branches of this `if` differ in type: " + show(*then) + " and " +
                  show(*otherwise))
      .label(lastOf(e->thenBlock), show(*then))
      .caret(show(*otherwise));
  return errorValue();
}

} // namespace mx::sema
