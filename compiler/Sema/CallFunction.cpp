// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of calls of functions and methods: matches the signature, demands the conditions,
// records the effects and infers the result type.
#include "Sema/Internals.h"
#include <algorithm>
#include <functional>

namespace mx::sema {
using namespace ast;

Value Sema::callFunction(FunctionInfo &f, Expr *receiver, const Value *receiverValue,
                         std::vector<Arg> args, Expr *callee, Expr *whole, Span argsSpan,
                         const CallInfo **slot, const Type *expected) {
  resolveSignature(f);
  Span calleeSpan = as<Member>(callee) ? as<Member>(callee)->name.span : callee->outerSpan;
  std::string spelled = f.name.empty() ? textOf(callee) : f.name;
  if (f.state == FunctionInfo::ResolvingSignature) {
    diags.report(Code::E0213, calleeSpan, "`" + f.name + "` is used in its own signature");
    return errorValue();
  }
  if (f.state == FunctionInfo::CheckingBody && (context->inGraph || f.isGraph()) &&
      f.enclosing == nullptr) {
    diags.report(Code::E0406, calleeSpan, "a graph cannot call itself: `" + f.name + "`")
        .label(context->graphSpan, "a graph is compiled as a whole")
        .help("use a loop");
    for (Arg &a : args)
      check(a.expr);
    return errorValue();
  }
  if (f.primitive) {
    bool handled = false;
    Value v = callPrimitive(f, args, callee, whole, argsSpan, expected, handled);
    if (handled) {
      if (!v.type->isError()) {
        addCallEffects(f, calleeSpan, spelled);
        // Variadic builtins: later stages read the arguments as written.
        calls.emplace_back();
        calls.back().target = CallInfo::Primitive;
        calls.back().function = &f;
        calls.back().result = v.type;
        if (slot)
          *slot = &calls.back();
      }
      return v;
    }
  }
  CallState state;
  state.name = spelled;
  state.args = &args;
  state.declared = f.syntax->name.span;
  state.whole = whole->span;
  state.function = &f;
  openGenerics(f.generics, state);
  if (f.owner && receiverValue && receiverValue->type->is(Kind::Nominal) &&
      receiverValue->type->nominal == f.owner)
    state.bindings = bindingsOf(receiverValue->type);
  // The receiver determines the model's generic names. Only the function's own are open.
  std::vector<ParamInfo> params = f.params;
  for (ParamInfo &p : params)
    p.type = types.substitute(p.type, state.bindings);
  const Type *declaredResult = types.substitute(f.result, state.bindings);
  state.params = &params;
  std::vector<int> slots;
  state.slots = &slots;
  if (!matchArguments(spelled, params, args, slots, calleeSpan, argsSpan, f.syntax->name.span,
                      false)) {
    for (Arg &a : args)
      if (!a.value)
        check(a.expr);
    return errorValue();
  }
  bool ok = bindArguments(params, args, slots, state);
  checkOverlap(params, args, slots);
  if (!ok)
    return errorValue();
  // The expected type may bind names that are still open. Defaults come after it.
  if (expected && !expected->isError() &&
      !isClosed(types.substitute(declaredResult, state.bindings), state)) {
    CallState trial = state;
    size_t reports = diags.all().size();
    size_t factCount = facts().size();
    if (unify(declaredResult, expected, trial) == Fit::Yes)
      state.bindings = trial.bindings;
    facts().truncate(factCount);
    diags.truncate(reports);
  }
  for (size_t p = 0; p < params.size(); ++p) {
    if (slots[p] >= 0)
      continue;
    const ParamInfo &param = params[p];
    if (param.defaultValue &&
        (param.isStatic || param.type->is(Kind::Dtype) || param.value.kind == StaticValue::Int))
      bindDefault(param, f.paramScope, f.module, state);
    if (param.fromContext && param.isMut) // an omitted Rng: the ambient one
      addEffect(kRand, calleeSpan, spelled, "", nullptr);
  }
  for (auto &[want, have] : std::vector<std::pair<Dim, Dim>>(std::move(state.deferred))) {
    Dim w = dims.substitute(want, state.bindings.dims);
    Answer answer = facts().equal(w, have);
    if (answer.refuted()) {
      diags.report(Code::E0303, whole->span,
                   "the arguments of `" + spelled + "` do not fit each other: " + dims.print(want) +
                       " is " + dims.print(w) + ", but " + dims.print(have) + " is given");
      return errorValue();
    }
    if (!answer.proved())
      addConditions({{Relation::Equal, w, have, {}}}, whole->span);
  }
  const Type *result = types.substitute(declaredResult, state.bindings);
  if (f.primitive && f.primitive->rule != ShapeRule::Signature) {
    Value v = finishPrimitive(f, state, args, slots, callee, whole, result);
    if (v.type->isError())
      return v;
    result = v.type;
  }
  if (!isClosedResult(result, state, f) && isQueue(result)) {
    if (expected && expected->isError())
      return errorValue();
    diags.report(Code::E0213, whole->span, "the elements of this queue are not known here")
        .caret("nothing says what it holds")
        .help("write the type: `let q: data.Queue[f32[2, 3]] = " + textOf(whole->span) + "`");
    return errorValue();
  }
  if (!isClosedResult(result, state, f)) {
    Diagnostic &d =
        diags.report(Code::E0213, whole->span, "the shape of `" + spelled + "` is not known here");
    d.caret("nothing says how large it is");
    d.help("give it: `" + spelled +
           "([2, 3])`, or write the type: `let x: f32[2, 3] = " + textOf(whole->span) + "`");
    return errorValue();
  }
  // A size of the result, or of a part of it, that is known to be negative or too large.
  std::function<std::optional<std::string>(const Type *)> impossible =
      [&](const Type *t) -> std::optional<std::string> {
    for (const Axis &axis : t->shape)
      if (!axis.isPack() && (!axis.dim || (axis.dim.constant() && *axis.dim.constant() < 0)))
        return "a size of " + (axis.dim ? dims.print(axis.dim) : "?");
    if (t->is(Kind::Array) && t->count && t->count.constant() && *t->count.constant() < 0)
      return dims.print(t->count) + " elements";
    if (t->is(Kind::Tuple))
      for (const Type *part : t->parts)
        if (auto found = impossible(part))
          return found;
    return t->is(Kind::Array) && t->element ? impossible(t->element) : std::nullopt;
  };
  if (auto found = impossible(result)) {
    diags.report(Code::E0308, whole->span, "the result of `" + spelled + "` would have " + *found)
        .note("the input is too small for this operation");
    return errorValue();
  }
  size_t reports = diags.errorCount();
  for (const Requirement &r : std::vector<Requirement>(f.requirements))
    demand(r, state.bindings, calleeSpan, spelled);
  if (f.owner && receiverValue && receiverValue->type->is(Kind::Nominal) && receiver) {
    // The requirements of the type itself were checked when the value was constructed.
  }
  if (diags.errorCount() != reports)
    return errorValue();
  if (receiverValue && f.owner)
    checkReceiver(f, receiver, *receiverValue, f.params, args, slots, calleeSpan);
  addCallEffects(f, calleeSpan, spelled);
  // Placement of the result.
  bool moves = f.primitive && f.primitive->rule == ShapeRule::DeviceOf; // `x.to(d)` has its device
  Device device = moves ? result->device : f.resultDevice ? f.resultDevice : context->device;
  if (!device && !moves) {
    Device found =
        receiverValue && receiverValue->type->device ? receiverValue->type->device : nullptr;
    const Arg *from = nullptr;
    bool mixed = false;
    for (const Arg &a : args) {
      Device d = a.value && a.value->type->isTensor() && !a.value->type->shape.empty()
                     ? a.value->type->device
                     : nullptr;
      if (!d)
        continue;
      if (found && found != d) {
        mixed = true;
        from = &a;
      } else {
        found = d;
      }
    }
    bool onDevice = receiverValue && receiverValue->type->device;
    if (mixed && (f.primitive || onDevice) && from) {
      diags
          .report(Code::E0601, calleeSpan,
                  "operands of `" + spelled + "` live on different devices")
          .label(from->expr->outerSpan, "on " + from->value->type->device->name)
          .caret("on " + found->name)
          .help("compute on one device: `on " +
                (found->spelled.empty() ? "device(\"" + found->name + "\")" : found->spelled) +
                " { … }`");
      return errorValue();
    }
    device = mixed ? nullptr : found;
  }
  bool isOfDist = f.module && f.module->isStd && f.module->name == "dist";
  if (isOfDist && f.owner && receiverValue && !args.empty() && args[0].value)
    result = gatheredType(f, *receiverValue, args[0].value->type, result);
  calls.emplace_back();
  CallInfo &info = calls.back();
  info.target = f.primitive ? CallInfo::Primitive : CallInfo::Function;
  info.function = &f;
  info.receiver = receiver;
  for (size_t p = 0; p < f.params.size(); ++p)
    info.arguments.push_back(slots[p] >= 0 ? args[static_cast<size_t>(slots[p])].expr : nullptr);
  info.bindings = state.bindings;
  info.result = types.onDevice(result, device);
  if (slot)
    *slot = &info;
  if (isOfDist)
    checkDistCall(info, calleeSpan);
  Value v = valueOf(info.result);
  bool allHost = f.primitive && f.primitive->family == "elementwise";
  for (const Arg &a : args)
    allHost &= a.value && a.value->host && a.value->type->isScalar();
  v.host = allHost || result->is(Kind::Str) || result->is(Kind::Nothing) ||
           result->is(Kind::Shape) || result->is(Kind::Dtype) || result->is(Kind::Error_) ||
           (f.primitive && f.primitive->family == "host" && result->isScalar()) ||
           (result->is(Kind::Nominal) && result->nominal->isHandle);
  return v;
}

} // namespace mx::sema
