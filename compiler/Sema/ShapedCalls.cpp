// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of builtins whose arguments are matched by their signature and whose result shape
// follows a rule of Support/Shape. This file passes the rules their arguments and words their
// diagnostics.
#include "Sema/Internals.h"
#include <algorithm>
#include <functional>

namespace mx::sema {
using namespace ast;

/// Builtins whose arguments are matched by their signature and whose result shape follows a rule.
Value Sema::finishPrimitive(FunctionInfo &f, CallState &state, std::vector<Arg> &args,
                            std::vector<int> &slots, Expr *callee, Expr *whole,
                            const Type *result) {
  auto argOf = [&](std::string_view name) -> Arg * {
    for (size_t p = 0; p < f.params.size(); ++p)
      if (f.params[p].name == name && slots[p] >= 0)
        return &args[static_cast<size_t>(slots[p])];
    return nullptr;
  };
  Arg *x = argOf(f.params[0].name);
  const Value *v = x ? x->value : nullptr;
  auto axisProblem = [&](const ShapeProblem &p, Expr *at) {
    if (p.kind == ShapeProblem::PackInTheWay)
      diags
          .report(Code::E0311, at->outerSpan,
                  "axis " + std::to_string(p.axis) + " of " + show(*v) + " is not known here")
          .help("count from the end: `axis=-1`");
    else
      diags
          .report(Code::E0311, at->outerSpan,
                  "axis " + std::to_string(p.axis) + " is out of range for " + show(*v))
          .caret(v->type->shape.empty() ? "it has no dimensions"
                 : v->type->shape.size() == 1
                     ? "its only axis is 0, or -1"
                     : "its axes are 0 to " + std::to_string(v->type->shape.size() - 1) + ", or -" +
                           std::to_string(v->type->shape.size()) + " to -1");
    return errorValue();
  };
  auto tensorWith = [&](Shape s) {
    return valueOf(types.tensor(result->elem, std::move(s), v->type->device));
  };
  switch (f.primitive->rule) {
  case ShapeRule::Broadcast: {
    Arg *y = argOf("y");
    auto shape = broadcast(f.name, *v, *y->value, x->expr, y->expr, whole->span);
    if (!shape)
      return errorValue();
    commonDevice(f.name, *v, *y->value, x->expr, y->expr, callee->span);
    return tensorWith(*shape);
  }
  case ShapeRule::Select: {
    Arg *a = argOf("a"), *b = argOf("b");
    auto values = broadcast(f.name, *a->value, *b->value, a->expr, b->expr, whole->span);
    if (!values)
      return errorValue();
    Value joined = valueOf(types.tensor(result->elem, *values));
    auto shape = broadcast(f.name, *v, joined, x->expr, a->expr, whole->span);
    if (!shape)
      return errorValue();
    return tensorWith(*shape);
  }
  case ShapeRule::Reduce: {
    Arg *axis = argOf("axis"), *keep = argOf("keep");
    std::vector<int64_t> axes;
    if (axis) {
      auto list = axesOf(axis->expr);
      if (!list)
        return errorValue();
      axes = *list;
    }
    bool kept = keep && keep->value->constant == Value::BoolConstant && keep->value->flag;
    ShapeResult r = reduceShape(v->type->shape, axes, axis == nullptr, kept, dims);
    if (!r.ok())
      return axisProblem(r.problem, axis ? axis->expr : whole);
    return tensorWith(r.shape);
  }
  case ShapeRule::Axis: {
    if (Arg *axis = argOf("axis")) {
      auto list = axesOf(axis->expr);
      if (!list)
        return errorValue();
      ShapeResult r = reduceShape(v->type->shape, *list, false, false, dims);
      if (!r.ok())
        return axisProblem(r.problem, axis->expr);
      // `flip` and `roll` along several axes apply to one axis after the other.
      if (list->size() != 1 && f.name != "flip" && f.name != "roll") {
        diags.report(Code::E0311, axis->expr->outerSpan, "`" + f.name + "` goes along one axis")
            .caret(list->empty() ? "this list is empty" : "these are " + std::to_string(list->size()))
            .help("write `axis=" + std::to_string(list->empty() ? -1 : list->front()) + "`");
        return errorValue();
      }
    } else if (v->type->shape.empty()) {
      diags.report(Code::E0314, x->span, "a single value has no axis");
      return errorValue();
    }
    if (Arg *index = argOf("index")) { // take_along: one index per element along the axis
      const Shape &taken = index->value->type->shape;
      if (!hasPack(taken) && !hasPack(v->type->shape) && taken.size() != v->type->shape.size()) {
        diags
            .report(Code::E0202, index->span,
                    "the indices of `" + f.name + "` have the rank of the tensor: " +
                        show(*index->value) + " and " + show(*v) + " differ")
            .label(x->expr->outerSpan, show(*v))
            .help("write `take` for whole rows, or give the indices that rank: `index[:, new]`");
        return errorValue();
      }
    }
    return valueOf(result);
  }
  case ShapeRule::TopK: {
    Arg *k = argOf("k"), *axis = argOf("axis");
    std::vector<int64_t> axes = {-1};
    if (axis) {
      auto list = axesOf(axis->expr);
      if (!list)
        return errorValue();
      axes = *list;
    }
    auto index = axes.size() == 1 ? axisIndex(v->type->shape, axes[0]) : std::nullopt;
    if (!index)
      return axisProblem(
          {ShapeProblem::AxisRange, static_cast<int>(axes.empty() ? 0 : axes[0]), {}, {}, {}},
          axis ? axis->expr : whole);
    Shape s = v->type->shape;
    Dim count = k->value->dim;
    if (facts().lessEqual(count, s[*index].dim).refuted() && count.constant() &&
        s[*index].dim.constant()) {
      diags.report(Code::E0309, k->span,
                   "the " + dims.print(count) + " largest of " + dims.print(s[*index].dim) +
                       " values are asked for");
      return errorValue();
    }
    if (auto n = count.constant(); n && *n < 0) {
      diags.report(Code::E0309, k->span, "the number of largest values is 0 or more")
          .caret("this is " + std::to_string(*n));
      return errorValue();
    }
    s[*index] = axisOf(count);
    return valueOf(
        types.tuple({types.tensor(v->type->elem, s), types.tensor(ElementType::I32, s)}));
  }
  case ShapeRule::Reshape: {
    Arg *to = argOf("shape");
    Shape target = to->value->type->shape;
    ShapeResult r = reshapeShape(v->type->shape, target, facts());
    if (r.ok()) {
      addConditions(r.conditions, whole->span);
      return tensorWith(r.shape);
    }
    Shape shown = target;
    for (Axis &a : shown)
      if (!a.isPack() && !a.dim)
        a = axisOf(dims.newSymbolDim({"_", SymbolRole::HostInt, true, {}}));
    std::string message =
        "cannot reshape " + show(*v) + " to " + show(types.tensor(v->type->elem, shown));
    Diagnostic &d = diags.report(Code::E0306, to->expr->outerSpan, message);
    const ShapeProblem &p = r.problem;
    if (p.kind == ShapeProblem::Elements || p.kind == ShapeProblem::Indivisible) {
      std::string factors;
      for (const Axis &a : v->type->shape)
        factors += (factors.empty() ? "" : "*") + dims.printFactor(a.dim);
      std::string total = dims.print(p.left);
      std::string have = factors == total || factors.empty() ? total : factors + " = " + total;
      if (p.kind == ShapeProblem::Elements)
        d.caret(have + " elements, but " + dims.print(p.right) + " are asked for");
      else
        d.caret(have + " elements cannot be divided by " + dims.print(p.right));
      if (auto *name = as<Name>(x->expr); name && name->symbol) {
        std::string reason = why(name->symbol);
        if (!reason.empty())
          d.note(std::string(name->text) + ": " + show(*v) + " " + reason);
      }
      // The last literal size is the one that was computed by hand.
      auto *list = as<ListExpr>(to->expr);
      if (list && p.kind == ShapeProblem::Elements)
        for (size_t i = target.size(); i-- > 0;) {
          if (!target[i].dim.constant() || as<Number>(list->elements[i]) == nullptr)
            continue;
          Dim others = dims.constant(1);
          for (size_t j = 0; j < target.size(); ++j)
            if (j != i)
              others = dims.mul(others, target[j].dim);
          Dim right = others && !others.isConstant(0)
                          ? facts().simplify(dims.floorDiv(p.left, others))
                          : Dim();
          if (!right || !facts().equal(dims.mul(right, others), p.left).proved())
            break;
          auto text = [&](const std::string &last) {
            std::string s = "[";
            for (size_t j = 0; j < target.size(); ++j)
              s += (j ? ", " : "") + (j == i ? last : textOf(list->elements[j]));
            return s + "]";
          };
          d.help("write `" + text(dims.print(right)) + "`, or let the compiler count: `" +
                 text("_") + "`");
          break;
        }
    } else if (p.kind == ShapeProblem::TwoInferred) {
      d.caret("only one `_` can be counted");
    } else {
      d.caret("the number of elements is not known here");
    }
    return errorValue();
  }
  case ShapeRule::Like: {
    Arg *to = argOf("shape");
    Shape target = to->value->type->shape;
    ShapeResult r = broadcastShapes(target, v->type->shape, facts());
    bool grows = r.ok() && !sameShape(r.shape, target, facts()).ok();
    if (!r.ok() || grows || target.size() < v->type->shape.size()) {
      diags.report(Code::E0308, to->expr->outerSpan,
                   show(*v) + " cannot be broadcast to " + types.print(target));
      return errorValue();
    }
    return tensorWith(target);
  }
  case ShapeRule::Permute: {
    Arg *order = argOf("order");
    auto list = axesOf(order->expr);
    if (!list)
      return errorValue();
    ShapeResult r = permuteShape(v->type->shape, *list);
    if (!r.ok()) {
      diags.report(Code::E0311, order->expr->outerSpan,
                   "the order must name each of the " + std::to_string(v->type->shape.size()) +
                       " axes of " + show(*v) + " once");
      return errorValue();
    }
    return tensorWith(r.shape);
  }
  case ShapeRule::Squeeze: {
    Arg *axis = argOf("axis");
    auto list = axesOf(axis->expr);
    if (!list)
      return errorValue();
    ShapeResult r = reduceShape(v->type->shape, *list, false, false, dims);
    if (!r.ok())
      return axisProblem(r.problem, axis->expr);
    for (int64_t a : *list)
      if (auto i = axisIndex(v->type->shape, a); i && !v->type->shape[*i].dim.isConstant(1)) {
        diags
            .report(Code::E0308, axis->expr->outerSpan,
                    "dimension " + std::to_string(a) + " of " + show(*v) + " is not 1")
            .help("`squeeze` takes away dimensions of size 1 only");
        return errorValue();
      }
    return tensorWith(r.shape);
  }
  case ShapeRule::Split: {
    Arg *parts = argOf("parts"), *axis = argOf("axis");
    auto n = staticInt(parts->expr, "the number of parts");
    auto a = axis ? staticInt(axis->expr, "an axis") : std::optional<int64_t>(0);
    if (!n || !a)
      return errorValue();
    if (*n < 1 || *n > limits::kMaxTupleElements) {
      diags.report(Code::E0309, parts->expr->outerSpan,
                   "a tensor is split into 1 to " + std::to_string(limits::kMaxTupleElements) +
                       " parts");
      return errorValue();
    }
    ShapeResult r = splitShape(v->type->shape, *n, *a, facts());
    if (!r.ok()) {
      if (r.problem.kind == ShapeProblem::Indivisible) {
        Diagnostic &d = diags.report(Code::E0308, parts->expr->outerSpan,
                                     dims.print(r.problem.left) + " cannot be split into " +
                                         std::to_string(*n) + " equal parts");
        d.label(x->expr->outerSpan, show(*v));
        if (!r.problem.answer.example.empty())
          d.note("it fails for example with " + example(r.problem.answer));
        return errorValue();
      }
      return axisProblem(r.problem, axis ? axis->expr : whole);
    }
    addConditions(r.conditions, whole->span);
    const Type *part = types.tensor(v->type->elem, r.shape, v->type->device);
    if (*n == 1)
      return valueOf(part);
    return valueOf(types.tuple(std::vector<const Type *>(static_cast<size_t>(*n), part)));
  }
  case ShapeRule::Take: {
    Arg *index = argOf("index"), *axis = argOf("axis");
    auto a = axis ? staticInt(axis->expr, "an axis") : std::optional<int64_t>(0);
    if (!a)
      return errorValue();
    auto at = axisIndex(v->type->shape, *a);
    if (!at)
      return axisProblem(
          {hasPack(v->type->shape) ? ShapeProblem::PackInTheWay : ShapeProblem::AxisRange,
           static_cast<int>(*a),
           {},
           {},
           {}},
          axis ? axis->expr : x->expr);
    Shape s(v->type->shape.begin(), v->type->shape.begin() + static_cast<std::ptrdiff_t>(*at));
    const Shape &inner = index->value->type->shape;
    s.insert(s.end(), inner.begin(), inner.end());
    s.insert(s.end(), v->type->shape.begin() + static_cast<std::ptrdiff_t>(*at) + 1,
             v->type->shape.end());
    return tensorWith(s);
  }
  case ShapeRule::Tile: {
    Arg *times = argOf("times");
    auto list = sizesOf(times->expr, *v, "how often a tensor is repeated");
    if (!list)
      return errorValue();
    Shape s;
    for (size_t i = 0; i < list->size(); ++i) {
      Dim d = dims.mul(v->type->shape[i].dim, (*list)[i]);
      if (!d)
        return sizeProblem(times->expr->span);
      s.push_back(axisOf(d));
    }
    return tensorWith(s);
  }
  case ShapeRule::Pad: {
    Arg *before = argOf("before"), *after = argOf("after"), *mode = argOf("mode");
    auto b = sizesOf(before->expr, *v, "a border");
    auto a = b ? sizesOf(after->expr, *v, "a border") : std::nullopt;
    if (!a)
      return errorValue();
    if (mode && (mode->value->constant != Value::StringConstant ||
                 (mode->value->text != "constant" && mode->value->text != "edge" &&
                  mode->value->text != "reflect"))) {
      diags.report(Code::E0701, mode->expr->outerSpan,
                   "`mode` is \"constant\", \"edge\" or \"reflect\", this is " +
                       textOf(mode->expr));
      return errorValue();
    }
    Shape s;
    for (size_t i = 0; i < a->size(); ++i) {
      Dim border = dims.add((*b)[i], (*a)[i]);
      Dim d = border ? dims.add(v->type->shape[i].dim, border) : Dim();
      if (!d)
        return sizeProblem(whole->span);
      s.push_back(axisOf(d));
    }
    return tensorWith(s);
  }
  case ShapeRule::Nonzero: {
    Arg *max = argOf("max");
    if (max) {
      Shape s = {axisOf(max->value->dim)};
      return valueOf(
          types.tuple({types.tensor(ElementType::I32, s), types.scalar(ElementType::I32)}));
    }
    [[fallthrough]];
  }
  case ShapeRule::Unique: {
    const Type *open = types.tensor(
        result->elem, {axisOf(dims.newSymbolDim({"?", SymbolRole::Unknown, true, whole->span}))},
        v->type->device);
    if (!context->inGraph)
      return valueOf(open);
    Diagnostic &d =
        diags.report(Code::E0402, whole->span,
                     "the size of `" + f.name + "` depends on data, so it cannot be planned");
    d.label(context->graphSpan, "a graph has all sizes before it runs");
    d.caret(show(open) + ": known only after it ran");
    std::string mask = textOf(x->expr);
    if (f.primitive->rule == ShapeRule::Nonzero)
      d.help("give a bound: `nonzero(" + mask + ", max=100)` returns (i32[100], count)");
    auto *cmp = as<Binary>(x->expr);
    if (cmp && cmp->left->checked && cmp->left->checked->type->isTensor() &&
        !cmp->left->checked->type->shape.empty())
      d.help("or use a mask: `select(" + mask + ", " + textOf(cmp->left) + ", 0.0)` keeps " +
             show(*cmp->left->checked));
    if (context->function && context->function->isGraph())
      d.help("or make `" + context->function->name + "` a plain `fn`; eager code may use `" +
             show(open) + "`");
    return errorValue();
  }
  case ShapeRule::File: { // the contents of a file are known after it was read
    auto open = [&](const Type *type, size_t rank) {
      Shape s;
      for (size_t i = 0; i < rank; ++i) {
        bool fixed = i < type->shape.size() && type->shape[i].dim.constant();
        s.push_back(fixed
                        ? type->shape[i]
                        : axisOf(dims.newSymbolDim({"?", SymbolRole::Unknown, true, whole->span})));
      }
      return types.tensor(type->elem, std::move(s));
    };
    if (result->is(Kind::Tuple))
      return valueOf(
          types.tuple({open(result->parts[0], result->parts[0]->shape.size()), result->parts[1]}));
    size_t rank = result->shape.size();
    if (Arg *given = argOf("rank")) {
      auto n = staticInt(given->expr, "a rank");
      if (!n)
        return errorValue();
      if (*n < 0 || *n > 16) {
        diags.report(Code::E0701, given->span,
                     "a rank is a number from 0 to 16, this is " + std::to_string(*n));
        return errorValue();
      }
      rank = static_cast<size_t>(*n);
    }
    return valueOf(open(result, rank));
  }
  case ShapeRule::Pictures:
    return changedPictures(f, *x, argOf("height"), argOf("width"));
  case ShapeRule::DeviceOf: { // x.to(d)
    Arg *d = argOf("d");
    Value r = valueOf(types.tensor(v->type->elem, v->type->shape));
    if (d->value->constant == Value::DeviceConstant)
      r.type = types.onDevice(r.type, d->value->device);
    return r;
  }
  default:
    return valueOf(result);
  }
  (void)state;
}

} // namespace mx::sema
