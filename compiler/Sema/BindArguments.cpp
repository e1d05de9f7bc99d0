// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generic argument deduction: binds the generic names of a callee from arguments, defaults and
// static values.
#include "Sema/Internals.h"
#include <algorithm>
#include <functional>

namespace mx::sema {
using namespace ast;

void Sema::openGenerics(const Generics &g, CallState &state) {
  state.openDims.insert(g.dims.begin(), g.dims.end());
  state.openPacks.insert(g.packs.begin(), g.packs.end());
  state.openElems.insert(g.elems.begin(), g.elems.end());
  state.openTypes.insert(g.types.begin(), g.types.end());
  state.openStatics.insert(g.statics.begin(), g.statics.end());
}

bool Sema::isClosed(const Type *type, const CallState &state) {
  std::function<bool(const Type *)> closed = [&](const Type *t) -> bool {
    if (!t)
      return true;
    if (t->elem.isVariable() && state.openElems.count(t->elem.variableId()))
      return false;
    auto dimClosed = [&](Dim d) {
      std::vector<AtomId> all;
      dims.symbols(d, all);
      return std::none_of(all.begin(), all.end(),
                          [&](AtomId a) { return state.openDims.count(a) != 0; });
    };
    auto shapeClosed = [&](const Shape &s) {
      return std::all_of(s.begin(), s.end(), [&](const Axis &a) {
        return a.isPack() ? !state.openPacks.count(a.pack) : dimClosed(a.dim);
      });
    };
    if (!shapeClosed(t->shape) || (t->count && !dimClosed(t->count)))
      return false;
    if (t->is(Kind::TypeVar) && state.openTypes.count(t->variable))
      return false;
    for (const Type *p : t->parts)
      if (!closed(p))
        return false;
    for (const TypeArg &a : t->args)
      if ((a.dim && !dimClosed(a.dim)) || !shapeClosed(a.pack) || !closed(a.type) ||
          (a.elem.isVariable() && state.openElems.count(a.elem.variableId())))
        return false;
    for (const StaticValue &s : t->statics)
      if ((s.kind == StaticValue::Int && !dimClosed(s.dim)) ||
          (s.kind == StaticValue::Open && state.openStatics.count(s.variable)))
        return false;
    return closed(t->element);
  };
  return closed(type);
}

/// Converts a constant to the value of a `static` parameter that is not a size.
static bool constantOf(const TypeContext &types, const ParamInfo &p, const Value &v, StaticValue &s) {
  if (v.constant == Value::BoolConstant) {
    s.kind = StaticValue::Bool;
    s.flag = v.flag;
  } else if (v.constant == Value::StringConstant) {
    s.kind = StaticValue::Str;
    s.text = std::string(v.text);
  } else if (v.constant == Value::FloatConstant) {
    s.kind = StaticValue::Float;
    s.number = v.number;
  } else if (v.dim && v.dim.constant() && p.type->isScalar() && types.isFloat(p.type->elem)) {
    s.kind = StaticValue::Float;
    s.number = static_cast<double>(*v.dim.constant());
  } else if (v.type->is(Kind::Dtype)) {
    s.kind = StaticValue::Elem;
    s.elem = v.type->elem;
  } else {
    return false;
  }
  return true;
}

/// Binds a `static` parameter to the known value of its argument. False after a report.
bool Sema::bindStatic(const ParamInfo &p, const Value &v, Expr *e, CallState &state) {
  if (v.type->isError())
    return false;
  if (p.value.kind == StaticValue::Int) {
    auto id = dims.asSymbol(p.value.dim);
    Dim d = v.dim;
    if (!d) {
      if (p.isStatic || context->inGraph) {
        Diagnostic &diag =
            diags.report(p.isStatic ? Code::E0216 : Code::E0315, e->outerSpan,
                         p.isStatic ? "`" + p.name + "` must be known at compile time"
                                    : "a size in a graph cannot be a value it computes");
        diag.caret(v.root && v.root->bind == BindKind::Var
                       ? "a `var` may change; use a `let`"
                       : "this is computed when the program runs");
        return false;
      }
      d = sizeOfRun(e);
    }
    if (id)
      state.bindings.dims[*id] = d;
    return true;
  }
  if (!p.isStatic)
    return true;
  StaticValue s;
  bool isPassedOn = v.root && v.root->isStatic;
  if (constantOf(types, p, v, s) || isPassedOn) {
    if (s.kind == StaticValue::None)
      s.kind = StaticValue::Open;
  } else if (v.type->is(Kind::Shape) || v.type->is(Kind::Axes) || v.host) {
    s.kind = StaticValue::Open;
    if (v.root && v.root->bind == BindKind::Var) {
      diags.report(Code::E0216, e->outerSpan, "`" + p.name + "` must be known at compile time")
          .caret("a `var` may change; use a `let` or `const`");
      return false;
    }
  } else {
    diags.report(Code::E0216, e->outerSpan, "`" + p.name + "` must be known at compile time")
        .caret("a `static` argument is a literal, a size, a `const` or another `static`");
    return false;
  }
  if (p.value.kind == StaticValue::Open && p.value.variable)
    state.bindings.statics[p.value.variable] = s;
  return true;
}

const Value *Sema::checkDefault(const ParamInfo &p, Scope *scope, ModuleInfo *module) {
  Context ctx;
  ctx.module = module;
  ctx.scope = scope;
  ctx.facts = module->facts.get();
  const Value *v = nullptr;
  inContext(ctx, [&] { v = check(p.defaultValue, p.type); });
  return v;
}

/// The value of a default: first in the callee's names, then in the caller's.
void Sema::bindDefault(const ParamInfo &p, Scope *scope, ModuleInfo *module, CallState &state) {
  const Value *v = checkDefault(p, scope, module);
  if (v->type->isError())
    return;
  if (p.type->is(Kind::Dtype)) {
    if (p.type->elem.isVariable() && !state.bindings.elems.count(p.type->elem.variableId()))
      state.bindings.elems[p.type->elem.variableId()] = v->type->elem;
    return;
  }
  if (p.value.kind == StaticValue::Int) {
    if (auto id = dims.asSymbol(p.value.dim); id && v->dim)
      state.bindings.dims[*id] = dims.substitute(v->dim, state.bindings.dims);
  } else if (StaticValue s;
             p.isStatic && p.value.kind == StaticValue::Open && constantOf(types, p, *v, s)) {
    state.bindings.statics[p.value.variable] = s;
  }
}

/// Checks the arguments of matched parameters and deduces the generic names. Literals come last:
/// they take the element type that the other arguments determined. False after a report.
bool Sema::bindArguments(std::vector<ParamInfo> &params, std::vector<Arg> &args,
                         const std::vector<int> &slots, CallState &state) {
  bool ok = true;
  std::vector<size_t> literals;
  for (size_t p = 0; p < params.size(); ++p) {
    if (slots[p] < 0)
      continue;
    Arg &a = args[static_cast<size_t>(slots[p])];
    const ParamInfo &param = params[p];
    const Type *want = types.substitute(param.type, state.bindings);
    bool helps = want->is(Kind::Shape) || want->is(Kind::Axes) || isClosed(want, state);
    const Value *v = a.value ? a.value : check(a.expr, helps ? want : nullptr);
    a.value = v;
    if (v->type->isError()) {
      ok = false;
      continue;
    }
    if (!checkMutArgument(param, a, state.name, state.declared))
      ok = false;
    if ((param.isStatic || param.value.kind == StaticValue::Int) &&
        !bindStatic(param, *v, a.expr, state)) {
      ok = false;
      continue;
    }
    bool adapts = v->type->isTensor() && v->adapts();
    if (adapts && param.type->isTensor()) {
      literals.push_back(p);
      continue;
    }
    state.current = p;
    if (param.type->is(Kind::Axes)) {
      bool list = v->type->is(Kind::Shape) || v->type->is(Kind::Axes) || v->type->is(Kind::Tuple) ||
                  (v->type->isScalar() && types.isInt(v->type->elem));
      if (!list) {
        argumentMismatch(state, param, a, param.type);
        ok = false;
      }
      continue;
    }
    Fit fit = unify(param.type, v->type, state);
    if (fit == Fit::No)
      argumentMismatch(state, param, a, types.substitute(param.type, state.bindings));
    ok &= fit == Fit::Yes;
  }
  for (size_t p : literals) {
    Arg &a = args[static_cast<size_t>(slots[p])];
    const Value *v = a.value;
    Elem elem = params[p].type->elem;
    if (elem.isVariable()) {
      auto it = state.bindings.elems.find(elem.variableId());
      if (it != state.bindings.elems.end()) {
        elem = it->second;
      } else if (state.openElems.count(elem.variableId())) {
        Elem own = v->type->elem;
        ElemKind kind = types.elemVariable(elem.variableId()).kind;
        if (!types.elemFits(own, kind) && kind == ElemKind::Float)
          own = ElementType::F32;
        if (!types.elemFits(own, kind)) { // `bit_not(1.5)`
          argumentMismatch(state, params[p], a, params[p].type);
          ok = false;
          continue;
        }
        state.bindings.elems[elem.variableId()] = own;
        elem = own;
      }
    }
    if (!literalFits(*v, elem, a.expr->outerSpan)) {
      ok = false;
      continue;
    }
    state.current = p;
    const Type *as = types.tensor(elem, v->type->shape);
    Fit fit = unify(params[p].type, as, state);
    if (fit == Fit::No)
      argumentMismatch(state, params[p], a, types.substitute(params[p].type, state.bindings));
    ok &= fit == Fit::Yes;
  }
  return ok;
}

/// Whether the result contains no unbound name of the callee.
bool Sema::isClosedResult(const Type *result, const CallState &state, const FunctionInfo &f) {
  CallState open = state;
  for (auto &entry : state.bindings.dims)
    open.openDims.erase(entry.first);
  for (auto &entry : state.bindings.packs)
    open.openPacks.erase(entry.first);
  for (auto &entry : state.bindings.elems)
    open.openElems.erase(entry.first);
  for (auto &entry : state.bindings.types)
    open.openTypes.erase(entry.first);
  open.openStatics.clear();
  // Inside its own body, the generic names of a function are fixed sizes, not open ones.
  for (FunctionInfo *g = context->function; g; g = g->enclosing)
    if (g == &f)
      return true;
  return isClosed(result, open);
}

} // namespace mx::sema
