// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type compatibility: whether a value fits a type. Types are compared structurally. The solver
// compares sizes under the known facts. An undecided comparison is accepted and becomes a
// condition.
#include "Sema/Internals.h"

namespace mx::sema {

bool Sema::equalTypes(const Type *want, const Type *have, Mismatch *m) {
  auto differ = [&](auto set) {
    if (m) {
      m->differs = true;
      set(*m);
    }
    return false;
  };
  if (same(want, have) || want->isError() || have->isError() || want->is(Kind::Any))
    return true;
  if (want->kind != have->kind)
    return differ([](Mismatch &) {});
  switch (want->kind) {
  case Kind::Tensor: {
    if (!(want->elem == have->elem))
      return differ([](Mismatch &x) { x.elements = true; });
    [[fallthrough]];
  }
  case Kind::Shape: {
    if (want->shape.size() != have->shape.size())
      return differ([](Mismatch &x) { x.rank = true; });
    std::vector<DimCondition> conditions;
    for (size_t i = 0; i < want->shape.size(); ++i) {
      const Axis &w = want->shape[i], &h = have->shape[i];
      if (w == h || (!w.isPack() && !w.dim) || (!h.isPack() && !h.dim))
        continue;
      if (w.isPack() || h.isPack())
        return differ([](Mismatch &x) { x.rank = true; });
      Answer answer = facts().equal(w.dim, h.dim);
      if (answer.refuted())
        return differ([&](Mismatch &x) {
          x.axis = static_cast<int>(i);
          x.want = w.dim;
          x.have = h.dim;
          x.answer = answer;
        });
      if (!answer.proved())
        conditions.push_back({Relation::Equal, w.dim, h.dim, {}});
    }
    addConditions(conditions, {});
    return true;
  }
  case Kind::Dtype:
    return want->elem == have->elem || !want->elem.valid();
  case Kind::Tuple:
  case Kind::Dataset:
  case Kind::Fn: {
    if (want->parts.size() != have->parts.size())
      return differ([](Mismatch &) {});
    for (size_t i = 0; i < want->parts.size(); ++i)
      if (!equalTypes(want->parts[i], have->parts[i], m))
        return false;
    return !want->element || !have->element || equalTypes(want->element, have->element, m);
  }
  case Kind::Array:
    if (!equalTypes(want->element, have->element, m))
      return false;
    if (Answer answer = facts().equal(want->count, have->count); answer.refuted())
      return differ([&](Mismatch &x) {
        x.axis = 0;
        x.want = want->count;
        x.have = have->count;
        x.answer = answer;
      });
    return true;
  case Kind::Grad:
    return equalTypes(want->element, have->element, m);
  case Kind::Rule:
    return !want->nominal || want->nominal == have->nominal || !have->nominal;
  case Kind::Nominal: {
    if (want->nominal != have->nominal)
      return differ([](Mismatch &) {});
    for (size_t i = 0; i < want->args.size(); ++i) {
      const TypeArg &w = want->args[i], &h = have->args[i];
      bool ok = true;
      switch (w.kind) {
      case TypeArg::Size: {
        Answer answer = facts().equal(w.dim, h.dim);
        if (answer.refuted())
          return differ([&](Mismatch &x) {
            x.axis = static_cast<int>(i);
            x.want = w.dim;
            x.have = h.dim;
            x.answer = answer;
          });
        break;
      }
      case TypeArg::Pack:
        ok = sameShape(w.pack, h.pack, facts()).ok();
        break;
      case TypeArg::Element:
        ok = w.elem == h.elem;
        break;
      case TypeArg::Model:
        ok = equalTypes(w.type, h.type);
        break;
      }
      if (!ok)
        return differ([](Mismatch &) {});
    }
    for (size_t i = 0; i < want->statics.size() && i < have->statics.size(); ++i) {
      const StaticValue &w = want->statics[i], &h = have->statics[i];
      if (w.kind == StaticValue::Open || h.kind == StaticValue::Open || w == h)
        continue;
      if (w.kind == StaticValue::Int && h.kind == StaticValue::Int &&
          !facts().equal(w.dim, h.dim).refuted())
        continue;
      return differ([](Mismatch &) {});
    }
    return true;
  }
  case Kind::TypeVar:
  case Kind::Module:
  case Kind::TypeName:
  case Kind::Progress:
  case Kind::Loader:
    return differ([](Mismatch &) {});
  default:
    return true;
  }
}

bool Sema::fits(const Value &value, const Type *want, Mismatch *m) {
  const Type *have = value.type;
  if (have->isTensor() && want->isTensor()) {
    bool adapts = value.adapts();
    if (adapts && !(have->elem == want->elem)) {
      bool ok = value.literal == Value::FloatLiteral ? types.isFloat(want->elem)
                                                     : !types.isBool(want->elem);
      if (!ok) {
        if (m)
          m->differs = m->elements = true;
        return false;
      }
      return equalTypes(want, types.tensor(want->elem, have->shape), m);
    }
  }
  // A list of integers is a shape where a shape is expected.
  if (want->is(Kind::Axes))
    return have->is(Kind::Axes) || have->is(Kind::Shape) ||
           (have->isScalar() && types.isInt(have->elem));
  if (want->is(Kind::Tuple) && have->is(Kind::Tuple) && want->parts.size() == have->parts.size()) {
    for (size_t i = 0; i < want->parts.size(); ++i)
      if (!equalTypes(want->parts[i], have->parts[i], m))
        return false;
    return true;
  }
  return equalTypes(want, have, m);
}

Value Sema::adapted(const Value &value, const Type *want) {
  Value v = value;
  if (value.type->isTensor() && want->isTensor() && !(value.type->elem == want->elem)) {
    v.type = want;
    if (types.isFloat(want->elem) && value.dim && value.dim.constant()) {
      v.constant = Value::FloatConstant;
      v.number = static_cast<double>(*value.dim.constant());
    }
    if (!types.isInt(want->elem) || !want->elem.is(ElementType::I64))
      v.dim = {};
  }
  v.type = types.onDevice(want, value.type->device);
  return v;
}

bool Sema::require(const Value &value, const Type *want, Span span, const std::string &what,
                   Span wantedAt) {
  if (value.type->isError() || want->isError())
    return true;
  Mismatch m;
  if (fits(value, want, &m)) {
    if (want->isTensor() && value.type->isTensor())
      return literalFits(value, want->elem, span);
    return true;
  }
  Diagnostic &d = diags.report(
      Code::E0202, span, what + " is " + show(value) + ", but " + show(want) + " is expected");
  d.caret(show(value));
  if (wantedAt.valid())
    d.label(wantedAt, show(want) + " is expected");
  if (m.axis >= 0 && want->isTensor())
    d.note("dimension " + std::to_string(m.axis) + ": " + dims.print(m.want) + " expected, " +
           dims.print(m.have) + " found" + ownersNote(m.want, m.have));
  else if (m.elements && want->isTensor() && value.type->isTensor())
    d.help("convert it: `" + types.print(want->elem) + "(" + textOf(span) + ")`");
  else if (m.rank && want->isTensor() && value.type->isTensor() && !hasPack(want->shape) &&
           !hasPack(value.type->shape))
    d.note("it has " + std::to_string(value.type->shape.size()) +
           (value.type->shape.size() == 1 ? " dimension, " : " dimensions, ") +
           std::to_string(want->shape.size()) +
           (want->shape.size() == 1 ? " is expected" : " are expected"));
  return false;
}

} // namespace mx::sema
