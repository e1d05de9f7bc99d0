// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of constructors of models and structs.
#include "Sema/Internals.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

bool Sema::insideNominal() const {
  for (const NominalInfo &n : nominals)
    if (n.scope && n.scope == context->scope)
      return true;
  return false;
}

Value Sema::construct(NominalInfo &n, const Type *type, std::vector<Arg> args, Expr *callee,
                      Expr *whole, Span argsSpan, const CallInfo **slot, const Type *expected) {
  resolveFields(n);
  auto checkRest = [&] {
    for (Arg &a : args)
      if (!a.value)
        check(a.expr);
    return errorValue();
  };
  if (n.isHandle && !n.module->isStd)
    return checkRest();
  // Construction samples initial values. A generator may be the last argument; it is optional.
  bool usesRng = n.isModel;
  if (n.isModel)
    for (size_t i = 0; i < args.size(); ++i) {
      bool isRng = args[i].isMut || args[i].name == "rng";
      if (!isRng)
        continue;
      const Value *v = check(args[i].expr);
      if (!v->type->isError() && !(v->type->is(Kind::Nominal) && v->type->nominal->name == "Rng")) {
        diags.report(Code::E0202, args[i].span,
                     "a model is constructed with an `Rng`, this is " + show(*v));
        return errorValue();
      }
      ParamInfo rng;
      rng.name = "rng";
      rng.isMut = true;
      rng.type = v->type;
      args[i].value = v;
      usesRng = false;
      if (!checkMutArgument(rng, args[i], n.name, {}))
        return checkRest();
      args.erase(args.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  CallState state;
  state.name = n.name;
  state.params = &n.params;
  state.args = &args;
  state.declared = n.syntax->name.span;
  state.whole = whole->span;
  bool given = type != nullptr;
  if (given)
    state.bindings = bindingsOf(type);
  for (const GenericParam &g : n.generics) {
    if (given)
      break;
    if (g.kind == GenericParam::Size)
      state.openDims.insert(g.dim);
    else if (g.kind == GenericParam::Pack)
      state.openPacks.insert(g.pack);
    else if (g.kind == GenericParam::Element)
      state.openElems.insert(g.variable);
    else
      state.openTypes.insert(g.variable);
  }
  std::vector<int> slots;
  state.slots = &slots;
  // Static arguments that the type fixes already, as in `type Net = Gpt[64, 8](depth=2)`, are
  // optional.
  std::vector<ParamInfo> params = n.params;
  for (size_t i = 0; type && i < n.staticParams.size() && i < type->statics.size(); ++i)
    if (type->statics[i].kind != StaticValue::None && type->statics[i].kind != StaticValue::Open)
      params[n.staticParams[i]].optional = true;
  if (!matchArguments(n.name, params, args, slots, callee->span, argsSpan, n.syntax->name.span,
                      false))
    return checkRest();
  std::vector<StaticValue> statics = type ? type->statics : std::vector<StaticValue>();
  statics.resize(n.staticParams.size());
  for (size_t p : n.staticParams)
    if (n.params[p].value.kind == StaticValue::Int)
      if (auto id = dims.asSymbol(n.params[p].value.dim))
        state.bindings.dims.erase(*id);
  if (!bindArguments(params, args, slots, state))
    return errorValue();
  for (size_t i = 0; i < n.staticParams.size(); ++i) {
    ParamInfo &p = n.params[n.staticParams[i]];
    if (slots[n.staticParams[i]] < 0) {
      if (!type || statics[i].kind == StaticValue::None || statics[i].kind == StaticValue::Open)
        statics[i] = n.staticDefaults[i];
      if (p.value.kind == StaticValue::Int && statics[i].kind == StaticValue::Int)
        if (auto id = dims.asSymbol(p.value.dim))
          state.bindings.dims[*id] = statics[i].dim;
      continue;
    }
    const Value *v = args[static_cast<size_t>(slots[n.staticParams[i]])].value;
    if (p.value.kind == StaticValue::Int) {
      statics[i].kind = StaticValue::Int;
      statics[i].dim = v->dim;
    } else if (auto it = state.bindings.statics.find(p.value.variable);
               it != state.bindings.statics.end()) {
      statics[i] = it->second;
    }
  }
  if (!given && expected && expected->is(Kind::Nominal) && expected->nominal == &n)
    for (size_t g = 0; g < n.generics.size(); ++g) {
      const GenericParam &p = n.generics[g];
      if (p.kind == GenericParam::Size && !state.bindings.dims.count(p.dim))
        state.bindings.dims[p.dim] = expected->args[g].dim;
      if (p.kind == GenericParam::Model && !state.bindings.types.count(p.variable))
        state.bindings.types[p.variable] = expected->args[g].type;
    }
  std::vector<TypeArg> typeArgs;
  std::string missing;
  bool missingModel = false;
  for (const GenericParam &g : n.generics) {
    TypeArg a;
    switch (g.kind) {
    case GenericParam::Size:
      a.kind = TypeArg::Size;
      if (auto it = state.bindings.dims.find(g.dim); it != state.bindings.dims.end())
        a.dim = it->second;
      else
        missing = g.name;
      break;
    case GenericParam::Pack:
      a.kind = TypeArg::Pack;
      if (auto it = state.bindings.packs.find(g.pack); it != state.bindings.packs.end())
        a.pack = it->second;
      else
        missing = g.name;
      break;
    case GenericParam::Element:
      a.kind = TypeArg::Element;
      if (auto it = state.bindings.elems.find(g.variable); it != state.bindings.elems.end())
        a.elem = it->second;
      else
        missing = g.name;
      break;
    case GenericParam::Model:
      a.kind = TypeArg::Model;
      if (auto it = state.bindings.types.find(g.variable); it != state.bindings.types.end())
        a.type = it->second;
      else
        missingModel = true;
      break;
    }
    typeArgs.push_back(std::move(a));
  }
  auto callOf = [&](const Type *result) -> CallInfo & {
    CallInfo &info = calls.emplace_back();
    info.target = CallInfo::Construct;
    info.nominal = &n;
    for (size_t p = 0; p < n.params.size(); ++p)
      info.arguments.push_back(slots[p] >= 0 ? args[static_cast<size_t>(slots[p])].expr : nullptr);
    info.result = result;
    if (slot)
      *slot = &info;
    return info;
  };
  // An optimizer without a model is a rule: a name and numbers that can be transferred (S18).
  if (missingModel && !n.isModel)
    return hostValue(callOf(types.rule(&n)).result);
  if (!missing.empty()) {
    std::string names;
    for (const GenericParam &g : n.generics)
      names += (names.empty() ? "" : ", ") + g.name;
    diags
        .report(Code::E0213, callee->outerSpan,
                "`" + missing + "` of `" + n.name + "` is not known here")
        .help("write it: `" + n.name + "[" + names + "](…)`");
    return errorValue();
  }
  const Type *made = types.nominal(&n, typeArgs, statics);
  if (made->isError())
    return errorValue();
  size_t reports = diags.errorCount();
  if (!inferringField && !insideNominal())
    demandType(made, as<Index>(callee) ? callee->span : callee->outerSpan);
  if (diags.errorCount() != reports)
    return errorValue();
  if (usesRng && !inferringField && !insideNominal())
    addEffect(kRand, callee->span, textOf(callee), "", nullptr);
  CallInfo &info = callOf(types.onDevice(made, context->device));
  info.bindings = state.bindings;
  Value v = valueOf(info.result);
  v.host = n.isHandle;
  return v;
}

} // namespace mx::sema
