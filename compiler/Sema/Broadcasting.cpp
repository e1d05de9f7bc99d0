// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broadcasting and promotion: shapes, devices and element types of two operands, with the
// diagnostics of a mismatch (S11, S12, S16).
#include "Sema/Internals.h"
#include "Support/Bytes.h"
#include "Support/ElementFacts.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

bool Sema::literalFits(const Value &literal, Elem elem, Span span) {
  if (!literal.adapts() || !elem.valid())
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
  int64_t low = elementFacts(elem.type()).min(), high = elementFacts(elem.type()).max();
  if (*value >= low && *value <= high)
    return true;
  diags.report(Code::E0205, span, std::to_string(*value) + " does not fit " + types.print(elem))
      .caret(types.print(elem) + " holds " + std::to_string(low) + " to " + std::to_string(high));
  return false;
}

Elem Sema::commonElem(const std::string &op, const Value &l, const Value &r, Expr *left,
                      Expr *right, Span opSpan) {
  bool la = l.adapts(), ra = r.adapts();
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
  Diagnostic &d = diags.report(Code::E0201, opSpan,
                               "`" + op + "` takes one element type: " + show(l) + " and " +
                                   show(r) + " differ");
  d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
  d.caret("mx never converts between tensor types by itself");
  auto wrap = [&](Elem e, Expr *x) { return types.print(e) + "(" + textOf(x->span) + ")"; };
  auto convertLeft = [&] {
    d.help("to compute in " + types.print(r.type->elem) + " write `" + wrap(r.type->elem, left) +
           " " + op + " " + operandText(right) + "`");
  };
  auto convertRight = [&] {
    d.help("to compute in " + types.print(l.type->elem) + " write `" + operandText(left) + " " +
           op + " " + wrap(l.type->elem, right) + "`");
  };
  // The wider type comes first, so that the conversion loses no precision.
  auto weight = [&](Elem e) {
    return e.isVariable()
               ? 0
               : static_cast<int>(elementInfo(e.type()).kind) * 16 + elementInfo(e.type()).bytes;
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
  // Undecided conditions are checked at run time, where sizes are known. A function passes them on
  // to its callers.
  for (DimCondition c : conditions) {
    c.span = span;
    facts().assume(c);
    if (!context->function)
      continue;
    Requirement r;
    r.condition = c;
    r.text = dims.print(c.left) +
             (c.relation == Relation::LessEqual  ? " <= "
              : c.relation == Relation::NotEqual ? " != "
                                                 : " == ") +
             dims.print(c.right);
    r.span = span;
    r.owner = context->function->name;
    r.inferred = true;
    context->function->requirements.push_back(std::move(r));
  }
}

/// Whether a reduction inside `low` would broadcast with its dimension kept: "sum(axis=1,
/// keep=true) is …".
std::string Sema::keepHelp(Expr *low, const Shape &high) {
  for (Expr *e = low; e;) {
    auto *call = as<Call>(e);
    if (!call)
      return "";
    auto *member = as<Member>(call->callee);
    auto *name = as<Name>(call->callee);
    std::string callee(member ? member->name.text : name ? name->text : std::string_view());
    Expr *operand = member ? member->object : call->args.size() ? call->args[0].value : nullptr;
    bool reduces = callee == "sum" || callee == "mean" || callee == "max" || callee == "min" ||
                   callee == "std" || callee == "var" || callee == "norm" || callee == "prod" ||
                   callee == "logsumexp";
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
      return std::string("keep the ") + (callee == "sum" ? "summed" : "reduced") + " dimension: `" +
             callee + "(axis=" + axisText + ", keep=true)` is " +
             show(types.tensor(operand->checked->type->elem, kept.shape));
    }
    e = operand;
  }
  return "";
}

std::optional<Shape> Sema::broadcast(const std::string &op, const Value &l, const Value &r,
                                     Expr *left, Expr *right, Span opSpan) {
  const Shape &a = l.type->shape, &b = r.type->shape;
  ShapeResult result = broadcastShapes(a, b, facts());
  if (result.ok()) {
    addConditions(result.conditions, opSpan);
    if (result.coincidence) {
      bool leftHigh = a.size() >= b.size();
      diags
          .report(Code::W0304, opSpan,
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
    Diagnostic &d = diags.report(Code::E0304, opSpan,
                                 "ambiguous broadcast of " + show(low) + " against " + show(high));
    d.label(left->outerSpan, show(l)).label(right->outerSpan, show(r));
    std::string sizes;
    for (const Axis &axis : low.type->shape)
      sizes += (sizes.empty() ? "" : ", ") + dims.print(axis.dim);
    // Whether right-aligned broadcasting would broadcast a dimension of size 1.
    std::string broadcasted;
    for (size_t i = 0; i < low.type->shape.size(); ++i)
      if (high.type->shape[extra + i].dim.isConstant(1) && !low.type->shape[i].dim.isConstant(1))
        broadcasted = std::to_string(extra + i);
    Elem elem = l.adapts() ? r.type->elem : l.type->elem;
    if (!broadcasted.empty())
      d.caret(sizes + " fits dimension " + std::to_string(p.axis) +
              ", and also broadcasts dimension " + broadcasted + " to " +
              show(types.tensor(elem, result.shape)));
    else
      d.caret(sizes + " fits dimension " + std::to_string(extra) + ", and also dimension " +
              std::to_string(p.axis));
    auto indexed = [&](size_t newsBefore, size_t newsBehind) {
      std::string text = operandText(lowExpr) + "[";
      for (size_t i = 0; i < newsBefore; ++i)
        text += "new, ";
      for (size_t i = 0; i < low.type->shape.size(); ++i)
        text += i ? ", :" : ":";
      for (size_t i = 0; i < newsBehind; ++i)
        text += ", new";
      text += "]";
      return leftHigh ? operandText(highExpr) + " " + op + " " + text
                      : text + " " + op + " " + operandText(highExpr);
    };
    d.help("for one value a row write  `" +
           indexed(static_cast<size_t>(p.axis), extra - static_cast<size_t>(p.axis)) + "`");
    d.help("for every pair write       `" + indexed(extra, 0) + "`");
    return std::nullopt;
  }
  if (p.kind == ShapeProblem::Mismatch) {
    std::string message =
        extra ? show(low) + " does not fit the right of " + show(high)
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

Device Sema::commonDevice(const std::string &op, const Value &l, const Value &r, Expr *left,
                          Expr *right, Span opSpan) {
  if (context->device)
    return context->device; // inside `on`: operands on other devices are copied in
  Device a = l.type->device, b = r.type->device;
  if (!a || !b || a == b || l.type->shape.empty() || r.type->shape.empty())
    return a && !l.type->shape.empty() ? a : b ? b : a;
  Diagnostic &d =
      diags.report(Code::E0601, opSpan, "operands of `" + op + "` live on different devices");
  d.label(left->outerSpan, "on " + a->name).label(right->outerSpan, "on " + b->name);
  d.caret("no device holds both");
  std::string whole = operandText(left) + " " + op + " " + operandText(right);
  Dim count = elementCount(l.type->shape, dims);
  std::string bytes;
  if (auto n = count ? count.constant() : std::nullopt; n && !l.type->elem.isVariable())
    bytes = ", " + formatBytes(static_cast<double>(*n) * elementInfo(l.type->elem.type()).bytes);
  auto deviceText = [](Device x) {
    return x->spelled.empty() ? "device(\"" + x->name + "\")" : x->spelled;
  };
  bool weight = as<Member>(right) != nullptr;
  d.help("compute where " + (weight ? std::string("the weight") : "`" + textOf(right) + "`") +
         " is: `on " + deviceText(b) + " { " + whole + " }`  (copies " + textOf(left) + bytes +
         ")");
  d.help("or move it yourself: `" + operandText(left) + ".to(" + deviceText(b) + ")`");
  return nullptr;
}

} // namespace mx::sema
