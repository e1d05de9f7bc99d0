// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unification: deduces the generic names of a callee by matching its parameter types against the
// argument types, left to right. A size bound by one argument must agree with the next.
#include "Sema/Internals.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

bool Sema::isModel(const Type *type) const {
  return type->is(Kind::TypeVar) ? !types.takesValues(type->variable)
                                 : type->is(Kind::Nominal) && type->nominal->isModel;
}

bool CheckedProgram::isQueue(const Type *type) {
  return type->is(Kind::Nominal) && type->nominal->isHandle && type->nominal->name == "Queue";
}

bool Sema::isElement(const Type *type) const {
  if (type->is(Kind::TypeVar))
    return types.takesValues(type->variable);
  if (type->is(Kind::Tuple))
    return std::all_of(type->parts.begin(), type->parts.end(),
                       [&](const Type *part) { return part->isTensor() && isElement(part); });
  return type->isTensor() &&
         std::all_of(type->shape.begin(), type->shape.end(), [&](const Axis &axis) {
           std::vector<AtomId> names;
           if (axis.dim)
             dims.symbols(axis.dim, names);
           return (axis.isPack() || axis.dim) &&
                  std::all_of(names.begin(), names.end(), [&](AtomId name) {
                    return dims.symbolInfo(name).role != SymbolRole::Unknown;
                  });
         });
}

Sema::Fit Sema::unify(const Type *want, const Type *have, CallState &state) {
  if (want->is(Kind::Any) || have->isError() || want->isError())
    return Fit::Yes;
  if (want->is(Kind::TypeVar) && state.openTypes.count(want->variable)) {
    if (!suits(want->variable, have))
      return Fit::No;
    auto [it, fresh] = state.bindings.types.emplace(want->variable, have->plain);
    return fresh || equalTypes(it->second, have) ? Fit::Yes : Fit::No;
  }
  // A type variable that the type's own arguments already bind: `Sgd[M](vel=…)`.
  if (want->is(Kind::TypeVar))
    if (auto it = state.bindings.types.find(want->variable); it != state.bindings.types.end())
      return equalTypes(it->second, have) ? Fit::Yes : Fit::No;
  if (want->kind != have->kind)
    return Fit::No;
  auto unifyElem = [&](Elem w, Elem h) {
    if (!w.isVariable() || !state.openElems.count(w.variableId())) {
      auto given =
          w.isVariable() ? state.bindings.elems.find(w.variableId()) : state.bindings.elems.end();
      return given == state.bindings.elems.end() ? w == h : given->second == h;
    }
    auto it = state.bindings.elems.find(w.variableId());
    if (it != state.bindings.elems.end())
      return it->second == h;
    if (!types.elemFits(h, types.elemVariable(w.variableId()).kind))
      return false;
    state.bindings.elems.emplace(w.variableId(), h);
    return true;
  };
  switch (want->kind) {
  case Kind::Tensor:
    if (!unifyElem(want->elem, have->elem))
      return Fit::No;
    return unifyShape(want->shape, have->shape, state);
  case Kind::Shape:
    return unifyShape(want->shape, have->shape, state);
  case Kind::Dtype:
    return !want->elem.valid() || unifyElem(want->elem, have->elem) ? Fit::Yes : Fit::No;
  case Kind::Tuple:
  case Kind::Fn:
  case Kind::Dataset: {
    if (want->is(Kind::Dataset) && want->parts.empty())
      return Fit::Yes;
    if (want->parts.size() != have->parts.size())
      return Fit::No;
    for (size_t i = 0; i < want->parts.size(); ++i)
      if (Fit f = unify(want->parts[i], have->parts[i], state); f != Fit::Yes)
        return f;
    return want->element && have->element ? unify(want->element, have->element, state) : Fit::Yes;
  }
  case Kind::Array:
    if (Fit f = unify(want->element, have->element, state); f != Fit::Yes)
      return f;
    return unifyDim(want->count, have->count, state);
  case Kind::Grad:
    return unify(want->element, have->element, state);
  case Kind::Rule:
    return equalTypes(want, have) ? Fit::Yes : Fit::No;
  case Kind::Nominal: {
    if (want->nominal != have->nominal)
      return Fit::No;
    for (size_t i = 0; i < want->args.size() && i < have->args.size(); ++i)
      if (Fit f = unifyArg(want->args[i], have->args[i], state); f != Fit::Yes)
        return f;
    for (size_t i = 0; i < want->statics.size() && i < have->statics.size(); ++i)
      if (Fit f = unifyStatic(want->statics[i], have->statics[i], state); f != Fit::Yes)
        return f;
    return Fit::Yes;
  }
  default:
    return equalTypes(want, have) ? Fit::Yes : Fit::No;
  }
}

Sema::Fit Sema::unifyArg(const TypeArg &want, const TypeArg &have, CallState &state) {
  switch (want.kind) {
  case TypeArg::Size:
    return unifyDim(want.dim, have.dim, state);
  case TypeArg::Pack:
    return unifyShape(want.pack, have.pack, state);
  case TypeArg::Element: {
    if (!want.elem.isVariable() || !state.openElems.count(want.elem.variableId()))
      return want.elem == have.elem ? Fit::Yes : Fit::No;
    auto [it, fresh] = state.bindings.elems.emplace(want.elem.variableId(), have.elem);
    return fresh || it->second == have.elem ? Fit::Yes : Fit::No;
  }
  case TypeArg::Model:
    return unify(want.type, have.type, state);
  }
  return Fit::No;
}

Sema::Fit Sema::unifyStatic(const StaticValue &want, const StaticValue &have, CallState &state) {
  if (want.kind == StaticValue::Int && have.kind == StaticValue::Int)
    return unifyDim(want.dim, have.dim, state);
  if (want.kind == StaticValue::Open || have.kind == StaticValue::Open) {
    if (want.kind == StaticValue::Open && state.openStatics.count(want.variable))
      state.bindings.statics.emplace(want.variable, have);
    return Fit::Yes;
  }
  return want == have ? Fit::Yes : Fit::No;
}

Sema::Fit Sema::unifyShape(const Shape &want, const Shape &have, CallState &state) {
  size_t pack = want.size();
  for (size_t i = 0; i < want.size(); ++i)
    if (want[i].isPack() && state.openPacks.count(want[i].pack))
      pack = i;
  if (pack == want.size()) {
    if (want.size() != have.size())
      return Fit::No;
    for (size_t i = 0; i < want.size(); ++i) {
      if (want[i] == have[i])
        continue;
      if (want[i].isPack() || have[i].isPack())
        return Fit::No;
      if (!have[i].dim)
        continue;
      if (Fit f = unifyDim(want[i].dim, have[i].dim, state); f != Fit::Yes)
        return f;
    }
    return Fit::Yes;
  }
  size_t behind = want.size() - pack - 1;
  if (have.size() < pack + behind)
    return Fit::No;
  for (size_t i = 0; i < pack; ++i) {
    if (have[i].isPack() || want[i].isPack())
      return Fit::No;
    if (Fit f = unifyDim(want[i].dim, have[i].dim, state); f != Fit::Yes)
      return f;
  }
  for (size_t i = 0; i < behind; ++i) {
    const Axis &w = want[want.size() - behind + i], &h = have[have.size() - behind + i];
    if (h.isPack() || w.isPack())
      return Fit::No;
    if (Fit f = unifyDim(w.dim, h.dim, state); f != Fit::Yes)
      return f;
  }
  Shape middle(have.begin() + static_cast<std::ptrdiff_t>(pack),
               have.end() - static_cast<std::ptrdiff_t>(behind));
  auto [it, fresh] = state.bindings.packs.emplace(want[pack].pack, middle);
  if (fresh) {
    if (state.slots && state.current < state.slots->size())
      state.packBy[want[pack].pack] = (*state.slots)[state.current];
    return Fit::Yes;
  }
  ShapeResult same = sameShape(it->second, middle, facts());
  if (!same.ok()) {
    auto before = state.packBy.find(want[pack].pack);
    int now =
        state.slots && state.current < state.slots->size() ? (*state.slots)[state.current] : -1;
    if (before == state.packBy.end() || before->second < 0 || now < 0 || before->second == now)
      return Fit::No;
    std::string name = "..." + types.packName(want[pack].pack);
    Arg &first = (*state.args)[static_cast<size_t>(before->second)],
        &second = (*state.args)[static_cast<size_t>(now)];
    Diagnostic &d = diags.report(Code::E0303, second.expr->outerSpan,
                                 "arguments of `" + state.name + "` disagree on " + name);
    d.label(first.expr->outerSpan,
            show(*first.value) + " gives " + name + " = " + types.print(it->second));
    d.caret(show(*second.value) + " gives " + name + " = " + types.print(middle));
    if (state.function)
      if (std::string declared = declaredNote(*state.function, ""); !declared.empty())
        d.note(declared);
    return Fit::Reported;
  }
  addConditions(same.conditions, state.whole);
  return Fit::Yes;
}

Sema::Fit Sema::unifyDim(Dim want, Dim have, CallState &state) {
  if (!want || !have)
    return Fit::Yes;
  std::vector<AtomId> names;
  dims.symbols(want, names);
  std::vector<AtomId> unbound;
  for (AtomId a : names)
    if (state.openDims.count(a) && !state.bindings.dims.count(a))
      unbound.push_back(a);
  if (unbound.empty()) {
    Dim w = dims.substitute(want, state.bindings.dims);
    Answer answer = facts().equal(w, have);
    if (answer.proved())
      return Fit::Yes;
    if (answer.refuted()) {
      auto symbol = dims.asSymbol(want);
      auto before = symbol ? state.boundBy.find(*symbol) : state.boundBy.end();
      if (before != state.boundBy.end() && before->second.arg >= 0 && state.slots) {
        disagree(state, *symbol, before->second, have);
        return Fit::Reported;
      }
      return Fit::No;
    }
    addConditions({{Relation::Equal, w, have, {}}}, state.whole);
    return Fit::Yes;
  }
  if (auto symbol = dims.asSymbol(want)) {
    state.bindings.dims[*symbol] = have;
    state.boundBy[*symbol] = {
        state.slots && state.current < state.slots->size() ? (*state.slots)[state.current] : -1,
        have};
    return Fit::Yes;
  }
  // `4*H` against a known size: one open name, linear, divisible.
  if (unbound.size() == 1 && names.size() == 1 && want->terms.size() <= 2) {
    int64_t factor = 0;
    Dim rest = dims.constant(0);
    bool linear = true;
    for (const DimTerm &t : want->terms) {
      if (t.atoms.empty())
        rest = dims.add(rest, dims.constant(t.coefficient));
      else if (t.atoms.size() == 1 && t.atoms[0] == unbound[0])
        factor = t.coefficient;
      else
        linear = false;
    }
    if (linear && factor > 0) {
      Dim value = facts().simplify(dims.floorDiv(dims.sub(have, rest), dims.constant(factor)));
      Dim back = value ? dims.add(dims.mul(value, dims.constant(factor)), rest) : Dim();
      Answer exact = back ? facts().equal(back, have) : Answer();
      if (!value || exact.refuted())
        return Fit::No;
      if (!exact.proved())
        addConditions({{Relation::Equal, back, have, {}}}, state.whole);
      state.bindings.dims[unbound[0]] = value;
      state.boundBy[unbound[0]] = {
          state.slots && state.current < state.slots->size() ? (*state.slots)[state.current] : -1,
          value};
      return Fit::Yes;
    }
  }
  state.deferred.push_back({want, have});
  return Fit::Yes;
}

/// E0303: two arguments bind one size to two values.
void Sema::disagree(CallState &state, AtomId symbol, const BoundBy &before, Dim have) {
  std::string name = dims.symbolInfo(symbol).name;
  Arg &now = (*state.args)[static_cast<size_t>((*state.slots)[state.current])];
  Arg &first = (*state.args)[static_cast<size_t>(before.arg)];
  if (&now == &first) {
    diags
        .report(Code::E0303, now.expr->outerSpan,
                "`" + state.name + "` needs " + name + " twice in this argument, but finds " +
                    dims.print(before.value) + " and " + dims.print(have))
        .caret(show(*now.value));
    return;
  }
  Diagnostic &d = diags.report(Code::E0303, now.expr->outerSpan,
                               "arguments of `" + state.name + "` disagree on " + name);
  d.label(first.expr->outerSpan,
          show(*first.value) + " gives " + name + " = " + dims.print(before.value));
  d.caret(show(*now.value) + " gives " + name + " = " + dims.print(have));
  if (state.function && state.declared.valid() && !isBuiltin(state.declared)) {
    std::string declared;
    for (size_t p = 0; p < state.params->size(); ++p) {
      int slot = (*state.slots)[p];
      if (slot == before.arg || slot == (*state.slots)[state.current])
        declared += (declared.empty() ? "" : ", ") + textOf((*state.params)[p].span);
    }
    d.note(declaredNote(*state.function, ": " + declared));
  }
  // The reason for the size of a loader's batch.
  std::string origin;
  for (Arg *a : {&first, &now})
    if (a->value->root && !a->value->root->origin.empty() && a->value->root->origin != "leaf")
      origin = a->value->root->origin;
  if (!origin.empty())
    d.note(origin);
  // One argument is a slice and the other is not: suggests to slice both.
  auto sliceOf = [](const Arg &a) -> const ast::Index * {
    auto *i = as<ast::Index>(a.expr);
    return i && i->args.size() >= 1 && i->args[0].kind == IndexArg::Slice && as<Name>(i->object)
               ? i
               : nullptr;
  };
  for (auto [sliced, plain] : {std::pair(&first, &now), std::pair(&now, &first)}) {
    auto *s = sliceOf(*sliced);
    auto *p = as<Name>(plain->expr);
    if (!s || !p)
      continue;
    std::string call = textOf(state.whole);
    size_t at = call.size();
    uint32_t offset = plain->expr->outerSpan.end - state.whole.begin;
    if (offset <= at)
      call.insert(offset, "[" + textOf(s->args[0].span) + "]");
    d.help("slice both: `" + call + "`");
    break;
  }
}

/// Reports an argument that does not fit its parameter. The library may supply the reason
/// (`@expects`).
void Sema::argumentMismatch(CallState &state, const ParamInfo &param, const Arg &arg,
                            const Type *want) {
  if (state.function && state.function->syntax)
    for (const Attribute &a : state.function->syntax->attributes) {
      auto *name =
          a.name.text == "expects" && a.args.size() == 4 ? as<Name>(a.args[0].value) : nullptr;
      auto *message = name && name->text == param.name ? as<String>(a.args[1].value) : nullptr;
      auto *caret = message ? as<String>(a.args[2].value) : nullptr;
      auto *help = caret ? as<String>(a.args[3].value) : nullptr;
      if (!help)
        continue;
      std::string text(help->value);
      auto *call = as<Call>(arg.expr);
      auto *member = call ? as<Member>(call->callee) : nullptr;
      auto replace = [&](const std::string &key, const std::string &by) {
        if (size_t at = text.find(key); at != std::string::npos)
          text.replace(at, key.size(), by);
      };
      replace("{module}", member ? textOf(member->object) + "." : "");
      replace("{args}",
              call && call->argsSpan.end - call->argsSpan.begin >= 2
                  ? textOf({call->argsSpan.file, call->argsSpan.begin + 1, call->argsSpan.end - 1})
                  : "…");
      diags.report(Code::E0701, arg.expr->outerSpan, std::string(message->value))
          .caret(std::string(caret->value))
          .help(text);
      return;
    }
  const Value &v = *arg.value;
  Diagnostic &d = diags.report(Code::E0202, arg.expr->outerSpan,
                               "`" + param.name + "` of `" + state.name + "` is " + show(want) +
                                   ", this is " + show(v));
  d.caret(show(v));
  if (state.declared.valid() && !isBuiltin(state.declared) && param.span.valid())
    d.note("`" + state.name + "` is declared at " + sources.locationLine(state.declared) + " with `" +
           textOf(param.span) + "`");
  if (!want->isTensor() || !v.type->isTensor())
    return;
  bool ranksDiffer = want->shape.size() != v.type->shape.size() && !hasPack(want->shape) &&
                     !hasPack(v.type->shape);
  bool kinds = want->elem.isVariable() &&
               !types.elemFits(v.type->elem, types.elemVariable(want->elem.variableId()).kind);
  if (kinds) {
    ElemKind k = types.elemVariable(want->elem.variableId()).kind;
    d.note("`" + types.print(want->elem) + "` stands for " +
           (k == ElemKind::Float ? "a float type"
            : k == ElemKind::Int ? "an integer type"
                                 : "a number type"));
    if (k == ElemKind::Float && !ranksDiffer)
      d.help("convert it: `f32(" + textOf(arg.expr) + ")`");
  } else if (!want->elem.isVariable() && !(want->elem == v.type->elem) && !ranksDiffer) {
    d.help("convert it: `" + types.print(want->elem) + "(" + textOf(arg.expr) + ")`");
  } else if (want->shape.size() == v.type->shape.size()) {
    for (size_t i = 0; i < want->shape.size(); ++i) {
      const Axis &w = want->shape[i], &h = v.type->shape[i];
      if (w.isPack() || h.isPack())
        break;
      Dim bound = dims.substitute(w.dim, state.bindings.dims);
      if (facts().equal(bound, h.dim).refuted()) {
        d.note("dimension " + std::to_string(i) + ": " + dims.print(bound) + " expected, " +
               dims.print(h.dim) + " found" + ownersNote(bound, h.dim));
        break;
      }
    }
  } else if (ranksDiffer) {
    d.note("it has " + std::to_string(v.type->shape.size()) +
           (v.type->shape.size() == 1 ? " dimension, " : " dimensions, ") +
           std::to_string(want->shape.size()) +
           (want->shape.size() == 1 ? " is expected" : " are expected"));
  }
}

} // namespace mx::sema
