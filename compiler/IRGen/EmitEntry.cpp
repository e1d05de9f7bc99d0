// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry points: wrapper functions for calls from outside of the language.
#include "IRGen/Emitter.h"
#include "IRGen/Entry.h"
#include "dialects/mx/Marks.h"

namespace mx::irgen {
using namespace mlir;
using sema::CallInfo;
using sema::ParamInfo;

static const std::vector<ParamInfo> &paramsOf(const CallInfo &call) {
  return call.target == CallInfo::Construct ? call.nominal->params : call.function->params;
}

/// The wrapper passes what a calling program would pass: defaults for omitted arguments, and the
/// session's random generator.
void Emitter::emitEntry(Instance &target, const CallInfo &call) {
  FunctionInfo *f = target.function;
  NominalInfo *nominal = target.construct;
  SmallVector<mlir::Type> inputs, results, given, back;
  SmallVector<bool> isMut;
  signatureOf(target, inputs, results, isMut);
  bool takesGenerator = nominal && nominal->isModel; // its generator is the first argument
  const std::vector<ParamInfo> &params = paramsOf(call);
  SmallVector<size_t> positions; // of each parameter: its index among the arguments
  size_t next = takesGenerator ? 1 : 0;
  for (auto [p, param] : llvm::enumerate(params)) {
    positions.push_back(next);
    if (isDropped(param))
      continue;
    if (call.arguments[p]) {
      given.push_back(inputs[next]);
      if (isMut[next])
        back.push_back(inputs[next]);
    }
    ++next;
  }
  bool hasResult = results.size() > static_cast<size_t>(llvm::count(isMut, true));
  if (hasResult)
    back.push_back(results.back());
  Span span = f ? f->syntax->name.span : nominal->syntax->name.span;
  beginFunction(builder.getFunctionType(given, back), false, instance.symbol, span);
  auto function = mlir::cast<FunctionOpInterface>(functionOp);
  SmallVector<mlir::Value> args;
  if (takesGenerator)
    args.push_back(ambientRng());
  unsigned argument = 0;
  for (auto [p, param] : llvm::enumerate(params)) {
    if (isDropped(param))
      continue;
    mlir::Value value;
    if (call.arguments[p]) {
      if (isMut[positions[p]])
        function.setArgAttr(argument, ir::kMut, builder.getUnitAttr());
      function.setArgAttr(argument, ir::kName, builder.getStringAttr(param.name));
      value = function.getArgument(argument++);
    } else if (isAmbient(param)) {
      value = ambientRng();
    } else {
      const ast::Expr *usual = param.defaultValue;
      if (usual && !usual->checked)
        sema.checkDefault(param, f ? f->paramScope : nominal->scope,
                          f ? f->module : nominal->module);
      if (usual)
        value = param.type->isTensor() ? emitAs(usual, elementType(concrete(param.type)->elem))
                                       : emit(usual);
      if (value)
        value = fit(value, inputs[positions[p]]);
    }
    if (!value) {
      if (!shared.failed)
        unsupported(span, "`" + param.name + "` left out");
      return;
    }
    values[param.symbol] = value; // defaults may refer to earlier parameters
    args.push_back(value);
  }
  auto made = create<ir::CallOp>(results, target.symbol, args, sizesFor(target));
  SmallVector<mlir::Value> out;
  size_t changed = 0;
  if (takesGenerator)
    setAmbientRng(made.getResult(static_cast<unsigned>(changed++)));
  for (auto [p, param] : llvm::enumerate(params)) {
    if (isDropped(param) || !isMut[positions[p]])
      continue;
    mlir::Value now = made.getResult(static_cast<unsigned>(changed++));
    if (call.arguments[p])
      out.push_back(now);
    else
      setAmbientRng(now);
  }
  if (hasResult)
    out.push_back(made.getResults().back());
  create<ir::ReturnOp>(out);
}

std::string entryKey(sema::CheckedProgram &sema, const CallInfo &call) {
  std::string key = Instances(sema).key(call);
  for (const ast::Expr *argument : call.arguments)
    key += argument ? '1' : '0';
  return key;
}

std::vector<Dim> entrySizes(sema::CheckedProgram &sema, const Entry &entry, const CallInfo &call) {
  return Instances(sema).sizesAt(entry.instance, call.target == CallInfo::Construct
                                                     ? sema.bindingsOf(call.result)
                                                     : call.bindings);
}

Entry generateEntry(MLIRContext &context, sema::CheckedProgram &sema, const sema::ModuleInfo &module,
                    const CallInfo &call, const Options &options) {
  Shared shared(context, sema, options);
  Entry out;
  out.module = beginModule(shared, module);
  Instance *target = nullptr;
  bool wrapped = true;
  if (call.target == CallInfo::Construct) {
    target = &shared.instances.ofConstructor(call.result->plain);
  } else {
    FunctionInfo &f = *call.function;
    sema.checkBody(f);
    // Compiled code cannot print yet.
    bool asGraph = f.isGraph() && !options.eager && !(f.effects & sema::kPrint);
    target = &shared.instances.of(f, call.bindings, asGraph);
    wrapped = false;
    for (auto [p, param] : llvm::enumerate(f.params))
      wrapped |= !call.arguments[p] && !isSettled(param);
  }
  out.instance = *target;
  out.symbol = target->symbol;
  if (wrapped) {
    Instance around = *target;
    around.symbol = out.symbol = target->symbol + "$call";
    Emitter(shared, around).emitEntry(*target, call);
  }
  emitPending(shared);
  if (shared.failed)
    out.module = nullptr;
  return out;
}

} // namespace mx::irgen
