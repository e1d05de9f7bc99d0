// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic, comparison and logic: element types (S11), broadcasting (S12), devices (S16), and what
// to say when they do not fit.
#include "Sema/Sema.h"
#include <algorithm>
#include <cmath>

namespace mx::sema {
using namespace ast;

namespace {
std::string spelled(Tok op) { return std::string(tokenInfo(op).spelling); }
bool adapts(const Value &v) { return v.literal != Value::NotLiteral || (v.host && v.dim); }
} // namespace

Value Sema::checkUnary(Unary *e, const Type *expected) {
  const Value *v = check(e->operand, expected);
  if (v->type->isError())
    return errorValue();
  if (e->op == UnaryOp::Not) {
    if (!v->type->isTensor() || !types.isBool(v->type->elem)) {
      diags.report(Code::E0206, e->operand->outerSpan, "`not` takes a bool, this is " + show(*v));
      return errorValue();
    }
    Value r = *v;
    r.root = nullptr;
    r.mutablePlace = false;
    if (r.constant == Value::BoolConstant)
      r.flag = !r.flag;
    return r;
  }
  bool number = v->type->isTensor() && !types.isBool(v->type->elem);
  if (!number && !v->type->is(Kind::Grad)) {
    diags.report(Code::E0206, e->span, "`-` is not defined for " + show(*v)).label(e->operand->outerSpan, show(*v));
    return errorValue();
  }
  Value r = *v;
  r.root = nullptr;
  r.mutablePlace = false;
  r.number = -r.number;
  if (r.dim) {
    r.dim = dims.negate(r.dim);
    if (!r.dim)
      return sizeProblem(e->span);
  }
  return r;
}

Value Sema::sizeProblem(Span span) {
  diags.report(Code::E0310, span, "this number does not fit 64 bits, or is too complex for a size")
      .help("compute it with a `var`, or convert first: `f64(x)`");
  return errorValue();
}

Value Sema::checkBinary(Binary *e, const Type *expected) {
  // Literals take the type the other side has; the expected type helps neither side of a comparison.
  const Type *hint = nullptr;
  if (expected && expected->isTensor() && e->op != Tok::KwAnd && e->op != Tok::KwOr)
    hint = nullptr;
  const Value *l = check(e->left, hint);
  const Value *r = check(e->right, hint);
  if (l->type->isError() || r->type->isError())
    return errorValue();
  switch (e->op) {
  case Tok::KwAnd:
  case Tok::KwOr:
    return logic(e->op, *l, *r, e->left, e->right, e->opSpan);
  case Tok::EqualEqual:
  case Tok::NotEqual:
  case Tok::Less:
  case Tok::LessEqual:
  case Tok::Greater:
  case Tok::GreaterEqual:
    return compare(e->op, *l, *r, e->left, e->right, e->opSpan);
  case Tok::At:
    return matmul(*l, *r, e->left, e->right, e->opSpan);
  default:
    return arithmeticOn(e->op, *l, *r, e->left, e->right, e->opSpan);
  }
}

Value Sema::notDefined(const std::string &op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  Diagnostic &d = diags.report(Code::E0206, opSpan, "`" + op + "` is not defined for " + show(l) + " and " + show(r));
  d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
  if (l.type->is(Kind::Str) || r.type->is(Kind::Str))
    d.help("put values into text with an f-string: `f\"{x}\"`");
  if (l.type->is(Kind::Shape) || r.type->is(Kind::Shape))
    d.help("take one size: `x.shape[0]`");
  return errorValue();
}

bool Sema::literalFits(const Value &literal, Elem elem, Span span) {
  if (!adapts(literal) || !elem.valid())
    return true;
  if (literal.literal == Value::FloatLiteral && !types.isFloat(elem)) {
    diags.report(Code::E0205, span, "a number with a point does not fit " + types.print(elem))
        .help("write a whole number, or convert the other side: `f32(…)`");
    return false;
  }
  if (types.isBool(elem)) {
    diags.report(Code::E0205, span, "a number does not fit bool").help("write `true` or `false`");
    return false;
  }
  auto value = literal.dim.constant();
  if (!value || elem.isVariable() || !types.isInt(elem))
    return true;
  int64_t low = INT64_MIN, high = INT64_MAX;
  switch (elem.type()) {
  case ElementType::I8:
    low = INT8_MIN, high = INT8_MAX;
    break;
  case ElementType::U8:
    low = 0, high = UINT8_MAX;
    break;
  case ElementType::I32:
    low = INT32_MIN, high = INT32_MAX;
    break;
  default:
    break;
  }
  if (*value >= low && *value <= high)
    return true;
  diags.report(Code::E0205, span, std::to_string(*value) + " does not fit " + types.print(elem))
      .caret(types.print(elem) + " holds " + std::to_string(low) + " to " + std::to_string(high));
  return false;
}

Elem Sema::commonElem(const std::string &op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  bool la = adapts(l), ra = adapts(r);
  if (la && ra) {
    if (l.literal == Value::FloatLiteral || r.literal == Value::FloatLiteral)
      return types.isFloat(l.type->elem) ? l.type->elem : r.type->elem;
    return l.type->elem;
  }
  if (la)
    return literalFits(l, r.type->elem, left->outerSpan) ? r.type->elem : Elem();
  if (ra)
    return literalFits(r, l.type->elem, right->outerSpan) ? l.type->elem : Elem();
  if (l.type->elem == r.type->elem)
    return l.type->elem;
  Diagnostic &d = diags.report(Code::E0201, opSpan, "`" + op + "` takes one element type: " + show(l) + " and " + show(r) + " differ");
  d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
  d.caret("mx never converts between tensor types by itself");
  auto wrap = [&](Elem e, Expr *x) { return types.print(e) + "(" + textOf(x->span) + ")"; };
  auto convertLeft = [&] {
    d.help("to compute in " + types.print(r.type->elem) + " write `" + wrap(r.type->elem, left) + " " + op + " " + operandText(right) + "`");
  };
  auto convertRight = [&] {
    d.help("to compute in " + types.print(l.type->elem) + " write `" + operandText(left) + " " + op + " " + wrap(l.type->elem, right) + "`");
  };
  // The wider type first: that way nothing is lost.
  auto weight = [&](Elem e) {
    return e.isVariable() ? 0 : static_cast<int>(elementInfo(e.type()).kind) * 16 + elementInfo(e.type()).bytes;
  };
  if (weight(r.type->elem) >= weight(l.type->elem)) {
    convertLeft();
    convertRight();
  } else {
    convertRight();
    convertLeft();
  }
  return {};
}

void Sema::addConditions(const std::vector<DimCondition> &conditions, Span span) {
  // What could not be decided is checked where sizes are known; a function hands it on to callers.
  for (DimCondition c : conditions) {
    c.span = span;
    facts().assume(c);
    if (!context->function)
      continue;
    Requirement r;
    r.condition = c;
    r.text = dims.print(c.left) + (c.relation == Relation::LessEqual ? " <= " : c.relation == Relation::NotEqual ? " != " : " == ") + dims.print(c.right);
    r.span = span;
    r.owner = context->function->name;
    r.inferred = true;
    context->function->requirements.push_back(std::move(r));
  }
}

/// If a reduction inside `low` had kept its dimension it would fit: "sum(axis=1, keep=true) is …".
std::string Sema::keepHelp(Expr *low, const Shape &high) {
  for (Expr *e = low; e;) {
    auto *call = as<Call>(e);
    if (!call)
      return "";
    auto *member = as<Member>(call->callee);
    auto *name = as<Name>(call->callee);
    std::string callee(member ? member->name.text : name ? name->text : std::string_view());
    Expr *operand = member ? member->object : call->args.size() ? call->args[0].value : nullptr;
    bool reduces = callee == "sum" || callee == "mean" || callee == "max" || callee == "min" || callee == "std" ||
                   callee == "var" || callee == "norm" || callee == "prod" || callee == "logsumexp";
    if (reduces && operand && operand->checked && operand->checked->type->isTensor()) {
      std::optional<std::vector<int64_t>> axes;
      std::string axisText;
      for (const Argument &a : call->args) {
        bool axis = a.name.valid() ? a.name.text == "axis" : a.value != operand;
        if (a.name.valid() && a.name.text == "keep")
          return "";
        if (axis && a.value->checked && a.value->checked->dim && a.value->checked->dim.constant()) {
          axes = std::vector<int64_t>{*a.value->checked->dim.constant()};
          axisText = textOf(a.value);
        }
      }
      if (!axes)
        return "";
      ShapeResult kept = reduceShape(operand->checked->type->shape, *axes, false, true, dims);
      if (!kept.ok() || !broadcastShapes(high, kept.shape, facts()).ok())
        return "";
      return std::string("keep the ") + (callee == "sum" ? "summed" : "reduced") + " dimension: `" + callee + "(axis=" + axisText +
             ", keep=true)` is " + show(types.tensor(operand->checked->type->elem, kept.shape));
    }
    e = operand;
  }
  return "";
}

std::optional<Shape> Sema::broadcast(const std::string &op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  const Shape &a = l.type->shape, &b = r.type->shape;
  ShapeResult result = broadcastShapes(a, b, facts());
  if (result.ok()) {
    addConditions(result.conditions, opSpan);
    if (result.coincidence) {
      bool leftHigh = a.size() >= b.size();
      diags.report(Code::W0304, opSpan,
                   show(leftHigh ? r : l) + " fits " + show(leftHigh ? l : r) + " at dimension " +
                       std::to_string(result.problem.axis) + " too, by coincidence")
          .label(left->outerSpan, show(l))
          .label(right->outerSpan, show(r))
          .caret("it is laid on the last dimensions")
          .help("say which with `new`: `" + operandText(leftHigh ? right : left) + "[new, :]`");
    }
    return result.shape;
  }
  bool leftHigh = a.size() >= b.size();
  const Value &high = leftHigh ? l : r, &low = leftHigh ? r : l;
  Expr *lowExpr = leftHigh ? right : left, *highExpr = leftHigh ? left : right;
  size_t extra = high.type->shape.size() - low.type->shape.size();
  const ShapeProblem &p = result.problem;
  if (p.kind == ShapeProblem::Ambiguous) {
    Diagnostic &d = diags.report(Code::E0304, opSpan, "ambiguous broadcast of " + show(low) + " against " + show(high));
    d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
    std::string sizes;
    for (const Axis &axis : low.type->shape)
      sizes += (sizes.empty() ? "" : ", ") + dims.print(axis.dim);
    // Does the ordinary, right-aligned reading stretch a 1?
    std::string stretched;
    for (size_t i = 0; i < low.type->shape.size(); ++i)
      if (high.type->shape[extra + i].dim.isConstant(1) && !low.type->shape[i].dim.isConstant(1))
        stretched = std::to_string(extra + i);
    Elem elem = adapts(l) ? r.type->elem : l.type->elem;
    if (!stretched.empty())
      d.caret(sizes + " fits dimension " + std::to_string(p.axis) + ", and also stretches dimension " + stretched + " to " +
              show(types.tensor(elem, result.shape)));
    else
      d.caret(sizes + " fits dimension " + std::to_string(extra) + ", and also dimension " + std::to_string(p.axis));
    auto indexed = [&](size_t newsBefore, size_t newsBehind) {
      std::string text = operandText(lowExpr) + "[";
      for (size_t i = 0; i < newsBefore; ++i)
        text += "new, ";
      for (size_t i = 0; i < low.type->shape.size(); ++i)
        text += i ? ", :" : ":";
      for (size_t i = 0; i < newsBehind; ++i)
        text += ", new";
      text += "]";
      return leftHigh ? operandText(highExpr) + " " + op + " " + text : text + " " + op + " " + operandText(highExpr);
    };
    d.help("for one value a row write  `" + indexed(static_cast<size_t>(p.axis), extra - static_cast<size_t>(p.axis)) + "`");
    d.help("for every pair write       `" + indexed(extra, 0) + "`");
    return std::nullopt;
  }
  if (p.kind == ShapeProblem::Mismatch) {
    std::string message = extra ? show(low) + " does not fit the right of " + show(high)
                                : "`" + op + "` needs equal sizes: " + show(l) + " and " + show(r) + " differ";
    Diagnostic &d = diags.report(Code::E0308, opSpan, message);
    d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
    d.caret(leftHigh ? mayDiffer(p.left, p.right, p.answer) : mayDiffer(p.right, p.left, p.answer));
    std::string keep = keepHelp(lowExpr, high.type->shape);
    if (!keep.empty())
      d.help(keep);
    else if (low.type->shape.size() == 1 && extra == 1 &&
             facts().equal(low.type->shape[0].dim, high.type->shape[0].dim).proved())
      d.help("for one value a row write `" + operandText(lowExpr) + "[:, new]`");
    return std::nullopt;
  }
  diags.report(Code::E0308, opSpan, show(low) + " does not fit " + show(high))
      .label(left->outerSpan, show(l))
      .label(right->outerSpan, show(r))
      .caret("the number of dimensions is not known here");
  return std::nullopt;
}

Device Sema::commonDevice(const std::string &op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  if (context->device)
    return context->device; // inside `on`: what lives elsewhere is copied in
  Device a = l.type->device, b = r.type->device;
  if (!a || !b || a == b || l.type->shape.empty() || r.type->shape.empty())
    return a && !l.type->shape.empty() ? a : b ? b : a;
  Diagnostic &d = diags.report(Code::E0601, opSpan, "operands of `" + op + "` live on different devices");
  d.label(left->outerSpan, "on " + a->name).label(right->outerSpan, "on " + b->name);
  d.caret("no device holds both");
  std::string whole = operandText(left) + " " + op + " " + operandText(right);
  Dim count = elementCount(l.type->shape, dims);
  std::string bytes;
  if (auto n = count ? count.constant() : std::nullopt; n && !l.type->elem.isVariable())
    bytes = ", " + bytesText(static_cast<double>(*n) * elementInfo(l.type->elem.type()).bytes);
  auto deviceText = [](Device x) { return x->spelled.empty() ? "device(\"" + x->name + "\")" : x->spelled; };
  bool weight = as<Member>(right) != nullptr;
  d.help("compute where " + (weight ? std::string("the weight") : "`" + textOf(right) + "`") + " is: `on " + deviceText(b) + " { " + whole +
         " }`  (copies " + textOf(left) + bytes + ")");
  d.help("or move it yourself: `" + operandText(left) + ".to(" + deviceText(b) + ")`");
  return nullptr;
}

Value Sema::gradArithmetic(Tok op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  bool lg = l.type->is(Kind::Grad), rg = r.type->is(Kind::Grad);
  auto scalar = [&](const Value &v) { return v.type->isScalar() && !types.isBool(v.type->elem); };
  bool ok = false;
  if (lg && rg)
    ok = equalTypes(l.type, r.type);
  else if (lg)
    ok = scalar(r) && (op == Tok::Star || op == Tok::Slash);
  else
    ok = scalar(l) && op == Tok::Star;
  if (lg && rg && !(op == Tok::Plus || op == Tok::Minus || op == Tok::Star || op == Tok::Slash))
    ok = false;
  if (!ok) {
    Diagnostic &d = diags.report(Code::E0206, opSpan, "`" + spelled(op) + "` is not defined for " + show(l) + " and " + show(r));
    d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
    d.note("gradients are added to, and multiplied and divided by, gradients of the same model and scalars");
    return errorValue();
  }
  return valueOf(lg ? l.type : r.type);
}

Value Sema::arithmeticOn(Tok op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  std::string name = spelled(op);
  if (l.type->is(Kind::Grad) || r.type->is(Kind::Grad))
    return gradArithmetic(op, l, r, left, right, opSpan);
  if (l.type->is(Kind::Str) && r.type->is(Kind::Str) && op == Tok::Plus)
    return hostValue(types.str());
  if (!l.type->isTensor() || !r.type->isTensor())
    return notDefined(name, l, r, left, right, opSpan);
  if (types.isBool(l.type->elem) || types.isBool(r.type->elem)) {
    Diagnostic &d = diags.report(Code::E0206, opSpan, "`" + name + "` is not defined for bool");
    d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
    Expr *boolean = types.isBool(l.type->elem) ? left : right;
    d.help("convert first: `f32(" + textOf(boolean) + ")`");
    return errorValue();
  }
  Elem elem;
  // A float may be raised to a whole literal power.
  if (op == Tok::StarStar && adapts(r) && types.isInt(l.type->elem) && r.literal == Value::FloatLiteral && adapts(l))
    elem = r.type->elem;
  else
    elem = commonElem(name, l, r, left, right, opSpan);
  if (!elem.valid())
    return errorValue();
  auto shape = broadcast(name, l, r, left, right, opSpan);
  if (!shape)
    return errorValue();
  Device device = commonDevice(name, l, r, left, right, opSpan);
  if (op == Tok::Slash && types.isInt(elem))
    elem = ElementType::F32;
  Value v = valueOf(types.tensor(elem, *shape, device));
  v.host = l.host && r.host;
  bool literal = l.literal != Value::NotLiteral && r.literal != Value::NotLiteral && shape->empty();
  if (literal)
    v.literal = types.isFloat(elem) ? Value::FloatLiteral : Value::IntLiteral;
  if (v.host && l.dim && r.dim && types.isInt(elem)) {
    switch (op) {
    case Tok::Plus:
      v.dim = dims.add(l.dim, r.dim);
      break;
    case Tok::Minus:
      v.dim = dims.sub(l.dim, r.dim);
      break;
    case Tok::Star:
      v.dim = dims.mul(l.dim, r.dim);
      break;
    case Tok::SlashSlash:
    case Tok::Percent:
      if (r.dim.isConstant(0)) {
        diags.report(Code::E0310, right->outerSpan, "division by zero");
        return errorValue();
      }
      v.dim = op == Tok::Percent ? dims.mod(l.dim, r.dim) : dims.floorDiv(l.dim, r.dim);
      break;
    case Tok::StarStar:
      if (auto n = r.dim.constant(); n && *n >= 0 && *n <= 63) {
        v.dim = dims.constant(1);
        for (int64_t i = 0; i < *n; ++i)
          v.dim = dims.mul(v.dim, l.dim);
      } else if (n && *n < 0) {
        diags.report(Code::E0206, opSpan, "a whole number cannot be raised to a negative power")
            .help("write a float: `" + textOf(left) + ".0 ** " + textOf(right) + "`");
        return errorValue();
      } else {
        return v;
      }
      break;
    default:
      break;
    }
    if (!v.dim && (op != Tok::Slash))
      return sizeProblem(opSpan);
  }
  auto asNumber = [&](const Value &x) -> std::optional<double> {
    if (x.constant == Value::FloatConstant)
      return x.number;
    if (x.dim && x.dim.constant())
      return static_cast<double>(*x.dim.constant());
    return std::nullopt;
  };
  auto x = asNumber(l), y = asNumber(r);
  if (v.host && types.isFloat(elem) && x && y) {
    v.constant = Value::FloatConstant;
    v.number = op == Tok::Plus ? *x + *y : op == Tok::Minus ? *x - *y : op == Tok::Star ? *x * *y : op == Tok::Slash ? *x / *y : std::pow(*x, *y);
    if (op == Tok::SlashSlash || op == Tok::Percent)
      v.constant = Value::NoConstant;
  }
  return v;
}

Value Sema::compare(Tok op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  std::string name = spelled(op);
  bool equality = op == Tok::EqualEqual || op == Tok::NotEqual;
  if (l.type->isTensor() && r.type->isTensor()) {
    bool bools = types.isBool(l.type->elem) && types.isBool(r.type->elem);
    if (bools && !equality)
      return notDefined(name, l, r, left, right, opSpan);
    Elem elem = bools ? l.type->elem : commonElem(name, l, r, left, right, opSpan);
    if (!elem.valid())
      return errorValue();
    auto shape = broadcast(name, l, r, left, right, opSpan);
    if (!shape)
      return errorValue();
    Value v = valueOf(types.tensor(ElementType::Bool, *shape, commonDevice(name, l, r, left, right, opSpan)));
    v.host = l.host && r.host;
    if (v.host && l.dim && r.dim) {
      auto a = l.dim.constant(), b = r.dim.constant();
      if (a && b) {
        v.constant = Value::BoolConstant;
        v.flag = op == Tok::EqualEqual ? *a == *b : op == Tok::NotEqual ? *a != *b : op == Tok::Less ? *a < *b : op == Tok::LessEqual ? *a <= *b : op == Tok::Greater ? *a > *b : *a >= *b;
      }
    }
    return v;
  }
  if (l.type->kind == r.type->kind && equality &&
      (l.type->is(Kind::Str) || l.type->is(Kind::Device) || l.type->is(Kind::Dtype) || l.type->is(Kind::Shape))) {
    Value v = hostValue(types.scalar(ElementType::Bool));
    if (l.constant == Value::StringConstant && r.constant == Value::StringConstant) {
      v.constant = Value::BoolConstant;
      v.flag = (l.text == r.text) == (op == Tok::EqualEqual);
    }
    return v;
  }
  return notDefined(name, l, r, left, right, opSpan);
}

Value Sema::logic(Tok op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  std::string name = spelled(op);
  for (auto [v, e] : {std::pair(&l, left), std::pair(&r, right)})
    if (!v->type->isTensor() || !types.isBool(v->type->elem)) {
      Diagnostic &d = diags.report(Code::E0206, e->outerSpan, "`" + name + "` takes bools, this is " + show(*v));
      if (v->type->isTensor() && types.isInt(v->type->elem))
        d.help(std::string("for bits write `") + (op == Tok::KwAnd ? "bit_and" : "bit_or") + "(a, b)`");
      return errorValue();
    }
  auto shape = broadcast(name, l, r, left, right, opSpan);
  if (!shape)
    return errorValue();
  Value v = valueOf(types.tensor(ElementType::Bool, *shape, commonDevice(name, l, r, left, right, opSpan)));
  v.host = l.host && r.host;
  if (l.constant == Value::BoolConstant && r.constant == Value::BoolConstant) {
    v.constant = Value::BoolConstant;
    v.flag = op == Tok::KwAnd ? l.flag && r.flag : l.flag || r.flag;
  }
  return v;
}

Value Sema::matmul(const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan) {
  if (!l.type->isTensor() || !r.type->isTensor())
    return notDefined("@", l, r, left, right, opSpan);
  bool scalar = l.type->isScalar() || r.type->isScalar();
  if (scalar) {
    diags.report(Code::E0314, opSpan, "`@` multiplies matrices and vectors, not single values")
        .label(left->outerSpan, show(l))
        .label(right->outerSpan, show(r))
        .help("write `*`");
    return errorValue();
  }
  if (types.isBool(l.type->elem) || types.isBool(r.type->elem))
    return notDefined("@", l, r, left, right, opSpan);
  Elem elem = commonElem("@", l, r, left, right, opSpan);
  if (!elem.valid())
    return errorValue();
  ShapeResult result = matmulShape(l.type->shape, r.type->shape, facts());
  if (result.ok()) {
    addConditions(result.conditions, opSpan);
    return valueOf(types.tensor(elem, result.shape, commonDevice("@", l, r, left, right, opSpan)));
  }
  const ShapeProblem &p = result.problem;
  bool inner = p.kind == ShapeProblem::Mismatch && p.axis == static_cast<int>(l.type->shape.size()) - 1;
  if (p.kind == ShapeProblem::RankTooLow) {
    diags.report(Code::E0314, opSpan, "`@` needs to know the last dimensions of both sides")
        .label(left->outerSpan, show(l))
        .label(right->outerSpan, show(r));
    return errorValue();
  }
  if (!inner) {
    Diagnostic &d = diags.report(Code::E0308, opSpan, "leading dimensions of `@` differ: " + show(l) + " and " + show(r));
    d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
    if (p.left && p.right)
      d.caret(mayDiffer(p.left, p.right, p.answer));
    return errorValue();
  }
  Dim have = p.left, need = p.right;
  Diagnostic &d = diags.report(Code::E0301, opSpan, "inner dimensions of `@` differ: " + dims.print(need) + " is not " + dims.print(have));
  d.caret("`" + show(l) + " @ " + show(r) + "` needs " + dims.print(have) + " == " + dims.print(need));
  noteOperand(d, left, l, true);
  noteOperand(d, right, r, true);
  // Another tensor in scope that would fit, preferably one with a similar name; or a transpose.
  auto fitsHere = [&](const Type *t) {
    return t && t->isTensor() && t->shape.size() >= 2 && t->elem == r.type->elem && matmulShape(l.type->shape, t->shape, facts()).ok() &&
           matmulShape(l.type->shape, t->shape, facts()).conditions.empty();
  };
  auto *name = as<Name>(right);
  Symbol *best = nullptr;
  int bestScore = 1 << 20;
  if (name)
    for (Scope *s = context->scope; s && s != &context->module->scope; s = s->parent)
      for (auto &entry : s->names) {
        Symbol *c = entry.second;
        bool candidate = (c->kind == SymbolKind::Variable || c->kind == SymbolKind::Field) && c != name->symbol;
        if (!candidate || !fitsHere(c->type))
          continue;
        int score = std::abs(static_cast<int>(c->name.size()) - static_cast<int>(name->text.size())) * 8;
        for (size_t i = 0; i < std::min(c->name.size(), name->text.size()); ++i)
          score += c->name[i] != name->text[i];
        if (score < bestScore || (score == bestScore && c->span.begin < best->span.begin)) {
          best = c;
          bestScore = score;
        }
      }
  if (best) {
    if (best->span.file == opSpan.file)
      d.show(best->span);
    d.help("did you mean `" + operandText(left) + " @ " + std::string(best->name) + "`? it is " + show(best->type));
  } else if (ShapeResult t = swapLastTwo(r.type->shape); t.ok() && fitsHere(types.tensor(r.type->elem, t.shape))) {
    d.help("transpose it: `" + operandText(left) + " @ " + operandText(right) + ".T`");
  } else if (ShapeResult u = swapLastTwo(l.type->shape); u.ok() && matmulShape(u.shape, r.type->shape, facts()).ok()) {
    d.help("transpose it: `" + operandText(left) + ".T @ " + operandText(right) + "`");
  }
  return errorValue();
}

} // namespace mx::sema
