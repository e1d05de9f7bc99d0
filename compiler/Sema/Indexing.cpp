// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of indexing and slicing: x[i, a:b:s, ..., new] (S13). Known bounds are checked
// here, others at run time. Nothing is clamped. The length of a slice is a size.
#include "Sema/Internals.h"

namespace mx::sema {
using namespace ast;

Value Sema::checkIndex(Index *e) {
  // `Mlp[784, 10]` is a type.
  const Expr *base = e->object;
  bool named = as<Name>(base) || (as<Member>(base) && as<Name>(as<Member>(base)->object));
  if (named) {
    Symbol *s = nullptr;
    if (auto *name = as<Name>(base)) {
      s = lookup(name->text);
      if (!s && elementNamed(name->text)) {
        const Type *type = typeFromExpr(e);
        return type ? hostValue(types.typeName(type)) : errorValue();
      }
    } else if (auto *member = as<Member>(base)) {
      Symbol *module = lookup(as<Name>(member->object)->text);
      if (module && module->kind == SymbolKind::Module && module->module) {
        auto it = module->module->scope.names.find(member->name.text);
        s = it == module->module->scope.names.end() ? nullptr : it->second;
      }
    }
    if (s && (s->kind == SymbolKind::Nominal || s->kind == SymbolKind::Alias)) {
      // The conditions of a constructed type are checked when all its arguments are known.
      bool isCalled = staticsFollow;
      const Type *type = typeFromExpr(e);
      if (!type || type->isError())
        return errorValue();
      if (!inferringField && !insideNominal() && !isCalled)
        demandType(type, e->span);
      return hostValue(types.typeName(type));
    }
  }
  const Value *object = check(e->object);
  switch (object->type->kind) {
  case Kind::Error:
    for (const IndexArg &a : e->args)
      for (Expr *x : {a.value, a.from, a.to, a.step})
        if (x && a.kind != IndexArg::Ellipsis)
          check(x);
    return errorValue();
  case Kind::Tensor:
    return indexTensor(*object, e);
  case Kind::Array:
  case Kind::Shape:
  case Kind::Tuple:
    return indexSequence(*object, e);
  default:
    diags.report(Code::E0206, e->span, show(*object) + " cannot be indexed")
        .label(e->object->outerSpan, show(*object));
    return errorValue();
  }
}

Value Sema::indexSequence(const Value &object, Index *e) {
  const Type *t = object.type;
  if (e->args.size() != 1 || e->args[0].kind != IndexArg::Value) {
    diags.report(Code::E0206, e->span, show(object) + " takes one index");
    return errorValue();
  }
  Expr *at = e->args[0].value;
  const Value *v = check(at);
  if (v->type->isError())
    return errorValue();
  if (!v->type->isScalar() || !types.isInt(v->type->elem)) {
    diags.report(Code::E0202, at->outerSpan, "an index is a whole number, this is " + show(*v));
    return errorValue();
  }
  if (t->is(Kind::Array)) {
    if (v->dim && !checkBounds(v->dim, t->count, at, t))
      return errorValue();
    Value r = valueOf(t->element);
    r.host = object.host;
    r.root = object.root;
    r.isLvalue = object.isLvalue;
    return r;
  }
  auto n = v->dim ? v->dim.constant() : std::nullopt;
  int64_t size = static_cast<int64_t>(t->is(Kind::Tuple) ? t->parts.size() : t->shape.size());
  if (!n) {
    diags.report(Code::E0216, at->outerSpan,
                 std::string("the index of a ") + (t->is(Kind::Tuple) ? "tuple" : "shape") +
                     " is a literal");
    return errorValue();
  }
  int64_t i = *n < 0 ? *n + size : *n;
  if (t->is(Kind::Shape) && hasPack(t->shape)) {
    auto index = axisIndex(t->shape, *n);
    if (!index)
      return hostInt(dims.newSymbolDim({textOf(e), SymbolRole::HostInt, true, e->span}));
    return hostInt(t->shape[*index].dim);
  }
  if (i < 0 || i >= size) {
    diags.report(Code::E0309, at->outerSpan,
                 "index " + std::to_string(*n) + " is out of range: " + show(object) + " has " +
                     std::to_string(size) + " parts");
    return errorValue();
  }
  if (t->is(Kind::Shape))
    return hostInt(t->shape[static_cast<size_t>(i)].dim);
  Value r = valueOf(t->parts[static_cast<size_t>(i)]);
  r.host = object.host;
  r.root = object.root;
  r.isLvalue = object.isLvalue;
  return r;
}

/// Whether an index is inside 0..size ("start" or "end" of a slice: 0..=size). False after a
/// report. A failed proof about sizes of a signature is an error. A failed proof about a run-time
/// value is deferred to run time.
bool Sema::checkBounds(Dim index, Dim size, Expr *at, const Type *object, const char *sliceEnd) {
  if (!index || !size)
    return true;
  // A literal negative index counts from the end.
  if (auto n = index.constant(); n && *n < 0)
    index = dims.add(size, index);
  if (!index)
    return true;
  Dim top = sliceEnd ? size : dims.sub(size, dims.constant(1));
  auto dynamic = [&](Dim d) {
    std::vector<AtomId> all;
    dims.symbols(d, all);
    for (AtomId a : all) {
      SymbolRole role = dims.symbolInfo(a).role;
      if (role == SymbolRole::LoopIndex || role == SymbolRole::HostInt ||
          role == SymbolRole::Unknown || role == SymbolRole::Fresh)
        return true;
    }
    return false;
  };
  Answer high = facts().lessEqual(index, top);
  Answer low = facts().lessEqual(dims.constant(0), index);
  bool constants = index.constant() && size.constant();
  if ((high.refuted() || low.refuted()) && (constants || !(dynamic(index) || dynamic(size)))) {
    // An index into a zero-size dimension is detected at run time. Only names that may be too large
    // count here.
    bool plainSize = !constants && !sliceEnd && index.constant();
    if (plainSize)
      return true;
    std::string what = sliceEnd    ? std::string("the ") + sliceEnd
                       : constants ? "index"
                                   : "the index";
    std::string side =
        !high.refuted()
            ? " may be negative"
            : (sliceEnd ? " may be more than " : " may not be less than ") + dims.print(size);
    Diagnostic &d = diags.report(
        Code::E0309, at->outerSpan,
        constants ? what + " " + dims.print(index) + " is out of range 0.." + dims.print(size)
                  : what + " may be out of range: " + dims.print(index) + side);
    d.caret(show(object));
    if (!constants) {
      const Answer &a = high.refuted() ? high : low;
      d.note("for example " + example(a));
      d.help(high.refuted() ? "add a condition: `where " + dims.print(index) +
                                  (sliceEnd ? " <= " : " < ") + dims.print(size) + "`"
                            : "add a condition: `where 0 <= " + dims.print(index) + "`");
    }
    return false;
  }
  return true;
}

std::optional<Dim> Sema::sliceLength(const IndexArg &arg, Dim size, const Type *object) {
  auto end = [&](Expr *e, const char *what) -> std::optional<Dim> {
    const Value *v = check(e);
    if (v->type->isError())
      return std::nullopt;
    if (!v->type->isScalar() || !types.isInt(v->type->elem)) {
      diags.report(Code::E0202, e->outerSpan,
                   std::string("the ") + what + " of a slice is a whole number, this is " +
                       show(*v));
      return std::nullopt;
    }
    if (!v->dim) {
      if (context->inGraph) {
        diags
            .report(Code::E0315, e->outerSpan,
                    "a slice in a graph cannot end at a value it computes")
            .label(context->graphSpan, "a graph has all sizes before it runs")
            .help("its length must be a size: `x[i : i + M]` with a loop index `i` has M");
        return std::nullopt;
      }
      return sizeOfRun(e, /*isNatural=*/false);
    }
    return v->dim;
  };
  int64_t step = 1;
  if (arg.step) {
    auto s = end(arg.step, "step");
    if (!s)
      return std::nullopt;
    auto n = s->constant();
    if (!n || *n == 0) {
      diags.report(Code::E0309, arg.step->outerSpan,
                   n ? "the step of a slice is not 0" : "the step of a slice is a literal");
      return std::nullopt;
    }
    step = *n;
  }
  Dim from = step > 0 ? dims.constant(0) : dims.sub(size, dims.constant(1));
  Dim to = step > 0 ? size : dims.constant(-1);
  bool toGiven = false;
  if (arg.from) {
    auto d = end(arg.from, "start");
    if (!d || !checkBounds(*d, size, arg.from, object, "start"))
      return std::nullopt;
    from = *d;
    if (auto n = from.constant(); n && *n < 0)
      from = dims.add(size, from);
  }
  if (arg.to) {
    auto d = end(arg.to, "end");
    if (!d || !checkBounds(*d, size, arg.to, object, "end"))
      return std::nullopt;
    to = *d;
    toGiven = true;
    if (auto n = to.constant(); n && *n < 0)
      to = dims.add(size, to);
  }
  (void)toGiven;
  Dim span = step > 0 ? dims.sub(to, from) : dims.sub(from, to);
  int64_t stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
  Dim length =
      stride == 1 ? span
                  : dims.floorDiv(dims.add(span, dims.constant(stride - 1)), dims.constant(stride));
  length = length ? facts().simplify(length) : length;
  if (!length) {
    sizeProblem(arg.span);
    return std::nullopt;
  }
  if (auto n = length.constant(); n && *n < 0) {
    diags.report(Code::E0309, arg.span, "this slice ends before it starts")
        .caret("from " + dims.print(from) + " to " + dims.print(to));
    return std::nullopt;
  }
  return length;
}

Value Sema::indexTensor(const Value &object, Index *e) {
  const Type *t = object.type;
  const Shape &shape = t->shape;
  size_t consumed = 0;
  int ellipsis = -1;
  for (size_t i = 0; i < e->args.size(); ++i) {
    if (e->args[i].kind == IndexArg::Ellipsis) {
      if (ellipsis >= 0) {
        diags.report(Code::E0309, e->args[i].span, "an index has one `...` at most");
        return errorValue();
      }
      ellipsis = static_cast<int>(i);
    } else if (e->args[i].kind != IndexArg::New) {
      ++consumed;
    }
  }
  if (consumed > shape.size()) {
    diags
        .report(Code::E0314, e->span,
                show(object) + " has " + std::to_string(shape.size()) +
                    (shape.size() == 1 ? " dimension, " : " dimensions, ") +
                    std::to_string(consumed) + " are indexed")
        .label(e->object->outerSpan, show(object));
    return errorValue();
  }
  Shape result;
  size_t axis = 0;
  bool gathers = false;
  size_t gatherAt = 0;
  Shape gatherShape;
  auto skip = [&](size_t count) {
    for (size_t i = 0; i < count; ++i)
      result.push_back(shape[axis++]);
  };
  for (const IndexArg &arg : e->args) {
    if (arg.kind == IndexArg::New) {
      result.push_back(axisOf(dims.constant(1)));
      continue;
    }
    if (arg.kind == IndexArg::Ellipsis) {
      size_t rest = 0;
      for (size_t i = static_cast<size_t>(ellipsis) + 1; i < e->args.size(); ++i)
        rest += e->args[i].kind != IndexArg::New;
      skip(shape.size() - axis - rest);
      continue;
    }
    if (shape[axis].isPack()) {
      diags
          .report(Code::E0314, arg.span,
                  "the number of dimensions here is not known: " + show(object))
          .help("index from the end: `x[..., i]`");
      return errorValue();
    }
    Dim size = shape[axis].dim;
    if (arg.kind == IndexArg::Slice) {
      auto length = sliceLength(arg, size, t);
      if (!length)
        return errorValue();
      result.push_back(axisOf(*length));
      ++axis;
      continue;
    }
    const Value *v = check(arg.value);
    if (v->type->isError())
      return errorValue();
    bool whole = v->type->isTensor() && types.isInt(v->type->elem);
    bool mask = v->type->isTensor() && types.isBool(v->type->elem) && !v->type->shape.empty();
    if (mask) {
      if (context->inGraph) {
        diags
            .report(Code::E0402, arg.span,
                    "the size of a masked selection depends on data, so it cannot be planned")
            .label(context->graphSpan, "a graph has all sizes before it runs")
            .help("keep the shape: `select(" + textOf(arg.value) + ", " + textOf(e->object) +
                  ", 0.0)`");
        return errorValue();
      }
      ShapeResult same = sameShape({shape[axis]}, v->type->shape, facts());
      if (!same.ok()) {
        Diagnostic &d = diags.report(Code::E0308, arg.span,
                                     "the mask does not fit: " + show(*v) + " for a dimension of " +
                                         dims.print(size));
        if (e->args.size() == 1 && v->type->shape.size() == shape.size() && shape.size() > 1)
          d.note("a mask selects along one dimension")
              .help("make both flat: `" + operandText(e->object) + ".reshape([_])[" +
                    operandText(arg.value) + ".reshape([_])]`");
        return errorValue();
      }
      result.push_back(axisOf(dims.newSymbolDim({"?", SymbolRole::Unknown, true, arg.span})));
      ++axis;
      continue;
    }
    if (!whole) {
      Diagnostic &d = diags.report(
          Code::E0202, arg.span,
          "an index is a whole number, a slice or a tensor of these, this is " + show(*v));
      if (v->type->isTensor() && types.isFloat(v->type->elem))
        d.help("convert it: `i32(" + textOf(arg.value) + ")`");
      return errorValue();
    }
    if (v->type->isScalar()) {
      if (v->dim && !checkBounds(v->dim, size, arg.value, t))
        return errorValue();
      ++axis;
      continue;
    }
    // Index tensors gather. Several of them broadcast against each other.
    if (!gathers) {
      gathers = true;
      gatherAt = result.size();
      gatherShape = v->type->shape;
    } else {
      ShapeResult both = broadcastShapes(gatherShape, v->type->shape, facts());
      if (!both.ok()) {
        diags.report(Code::E0308, arg.span,
                     "index tensors do not fit each other: " + types.print(gatherShape) + " and " +
                         types.print(v->type->shape));
        return errorValue();
      }
      gatherShape = both.shape;
    }
    ++axis;
  }
  skip(shape.size() - axis);
  if (gathers)
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(gatherAt), gatherShape.begin(),
                  gatherShape.end());
  if (result.size() > static_cast<size_t>(limits::kMaxRank)) {
    diags.report(Code::E0314, e->span, "a tensor has at most 16 dimensions");
    return errorValue();
  }
  Value r = valueOf(types.tensor(t->elem, std::move(result), t->device));
  r.host = false;
  r.root = object.root;
  r.isLvalue = object.isLvalue;
  return r;
}

} // namespace mx::sema
