// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of arithmetic, comparison and logic operators: element types (S11), broadcasting
// (S12), devices (S16), and the diagnostics of a mismatch.
#include "Sema/Internals.h"
#include <algorithm>
#include <cmath>

namespace mx::sema {
using namespace ast;

namespace {
std::string spelled(Tok op) { return std::string(tokenInfo(op).spelling); }
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
    r.isLvalue = false;
    if (r.constant == Value::BoolConstant)
      r.flag = !r.flag;
    return r;
  }
  bool number = v->type->isTensor() && !types.isBool(v->type->elem);
  if (!number && !v->type->is(Kind::Grad)) {
    diags.report(Code::E0206, e->span, "`-` is not defined for " + show(*v))
        .label(e->operand->outerSpan, show(*v));
    return errorValue();
  }
  Value r = *v;
  r.root = nullptr;
  r.isLvalue = false;
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

Value Sema::checkBinary(Binary *e, const Type * /*expected*/) {
  // A literal takes the type of the other operand. The expected type of the result is not used for
  // either.
  const Value *l = check(e->left);
  const Value *r = check(e->right);
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

Value Sema::notDefined(const std::string &op, const Value &l, const Value &r, Expr *left,
                       Expr *right, Span opSpan) {
  Diagnostic &d = diags.report(Code::E0206, opSpan,
                               "`" + op + "` is not defined for " + show(l) + " and " + show(r));
  d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
  if (l.type->is(Kind::Str) || r.type->is(Kind::Str))
    d.help("put values into text with an f-string: `f\"{x}\"`");
  if (l.type->is(Kind::Shape) || r.type->is(Kind::Shape))
    d.help("take one size: `x.shape[0]`");
  return errorValue();
}

Value Sema::gradArithmetic(Tok op, const Value &l, const Value &r, Expr *left, Expr *right,
                           Span opSpan) {
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
    Diagnostic &d =
        diags.report(Code::E0206, opSpan,
                     "`" + spelled(op) + "` is not defined for " + show(l) + " and " + show(r));
    d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
    d.note("gradients are added to, and multiplied and divided by, gradients of the same model and "
           "scalars");
    return errorValue();
  }
  return valueOf(lg ? l.type : r.type);
}

Value Sema::arithmeticOn(Tok op, const Value &l, const Value &r, Expr *left, Expr *right,
                         Span opSpan) {
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
  // An integer literal is allowed as the exponent of a float.
  if (op == Tok::StarStar && r.adapts() && types.isInt(l.type->elem) &&
      r.literal == Value::FloatLiteral && l.adapts())
    elem = r.type->elem;
  else
    elem = commonElem(name, l, r, left, right, opSpan);
  if (!elem.valid())
    return errorValue();
  auto shape = broadcast(name, l, r, left, right, opSpan);
  if (!shape)
    return errorValue();
  Device device = commonDevice(name, l, r, left, right, opSpan);
  bool dividesIntegers = op == Tok::Slash && types.isInt(elem);
  if (dividesIntegers) {
    if (l.host && r.host && r.dim && r.dim.isConstant(0)) {
      diags.report(Code::E0310, right->outerSpan, "division by zero");
      return errorValue();
    }
    elem = ElementType::F32;
  }
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
  if (v.host && types.isFloat(elem))
    foldFloat(op, l, r, literal, dividesIntegers, v);
  return v;
}

/// A float as its element type holds it. Nothing for 16 bits and type parameters, which are left to
/// the code that runs.
static std::optional<double> rounded(double number, Elem elem) {
  if (elem.is(ElementType::F64))
    return number;
  if (elem.is(ElementType::F32))
    return static_cast<double>(static_cast<float>(number));
  return std::nullopt;
}

std::optional<double> Sema::constantNumber(const Value &v) {
  if (v.constant == Value::FloatConstant)
    return v.number;
  if (v.dim && v.dim.constant())
    return static_cast<double>(*v.dim.constant());
  return std::nullopt;
}

/// Computes what is known at compile time, with the bits that the code would give: operands and
/// result are rounded to the element type. Literals have no type yet, so they are exact up to f64;
/// powers of others are left to the code, which has a `pow` of its own.
void Sema::foldFloat(Tok op, const Value &l, const Value &r, bool literal, bool dividesIntegers,
                     Value &v) {
  Elem elem = v.type->elem;
  auto operand = [&](const Value &given) -> std::optional<double> {
    std::optional<double> number = constantNumber(given);
    // The quotient of two integers is that of two f64, rounded once.
    return !number || literal || dividesIntegers ? number : rounded(*number, elem);
  };
  auto x = operand(l), y = operand(r);
  if (!x || !y)
    return;
  std::optional<double> result;
  switch (op) {
  case Tok::Plus:
    result = *x + *y;
    break;
  case Tok::Minus:
    result = *x - *y;
    break;
  case Tok::Star:
    result = *x * *y;
    break;
  case Tok::Slash:
    result = *x / *y;
    break;
  case Tok::StarStar:
    if (literal)
      result = std::pow(*x, *y);
    break;
  default:
    break;
  }
  if (result && !literal)
    result = rounded(*result, elem);
  if (!result)
    return;
  v.constant = Value::FloatConstant;
  v.number = *result;
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
    Value v = valueOf(
        types.tensor(ElementType::Bool, *shape, commonDevice(name, l, r, left, right, opSpan)));
    v.host = l.host && r.host;
    if (v.host && l.dim && r.dim) {
      auto a = l.dim.constant(), b = r.dim.constant();
      if (a && b) {
        v.constant = Value::BoolConstant;
        v.flag = op == Tok::EqualEqual  ? *a == *b
                 : op == Tok::NotEqual  ? *a != *b
                 : op == Tok::Less      ? *a < *b
                 : op == Tok::LessEqual ? *a <= *b
                 : op == Tok::Greater   ? *a > *b
                                        : *a >= *b;
      }
    }
    return v;
  }
  if (l.type->kind == r.type->kind && equality &&
      (l.type->is(Kind::Str) || l.type->is(Kind::Device) || l.type->is(Kind::Dtype) ||
       l.type->is(Kind::Shape))) {
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
      Diagnostic &d = diags.report(Code::E0206, e->outerSpan,
                                   "`" + name + "` takes bools, this is " + show(*v));
      if (v->type->isTensor() && types.isInt(v->type->elem))
        d.help(std::string("for bits write `") + (op == Tok::KwAnd ? "bit_and" : "bit_or") +
               "(a, b)`");
      return errorValue();
    }
  auto shape = broadcast(name, l, r, left, right, opSpan);
  if (!shape)
    return errorValue();
  Value v = valueOf(
      types.tensor(ElementType::Bool, *shape, commonDevice(name, l, r, left, right, opSpan)));
  v.host = l.host && r.host;
  if (l.constant == Value::BoolConstant && r.constant == Value::BoolConstant) {
    v.constant = Value::BoolConstant;
    v.flag = op == Tok::KwAnd ? l.flag && r.flag : l.flag || r.flag;
  }
  return v;
}

} // namespace mx::sema
