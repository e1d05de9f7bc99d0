// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of functions and methods, construction of models, closures.
#include "IRGen/Emitter.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;
using sema::CallInfo;
using sema::ParamInfo;

/// Compile-time parameters have no argument in the IR: static values are part of the instance,
/// shapes and element types are part of types, sizes are among `sizes`.
bool isSettled(const ParamInfo &param) {
  return param.isStatic || param.type->is(Kind::Shape) || param.type->is(Kind::Dtype) ||
         param.type->is(Kind::Axes) || param.value.kind == sema::StaticValue::Int;
}

/// The bindings of the callee's generic names, in terms of this body's sizes and concrete elements
/// and types.
Bindings Emitter::bindingsAt(const CallInfo &info) {
  const Bindings &b = info.bindings;
  Bindings out;
  for (auto &[atom, dim] : b.dims)
    out.dims[atom] = dim ? sema.dims.substitute(dim, instance.bindings.dims) : dim;
  for (auto &[pack, shape] : b.packs)
    out.packs[pack] = sema.types.substitute(shape, instance.bindings);
  for (auto &[variable, elem] : b.elems)
    out.elems[variable] = concrete(elem);
  for (auto &[variable, type] : b.types)
    out.types[variable] = concrete(type);
  for (auto &[variable, value] : b.statics) {
    out.statics[variable] = sema.types.substitute(value, instance.bindings);
  }
  // A static parameter passed on, or a list: its value is looked up in the argument.
  if (info.function)
    for (size_t p = 0; p < info.function->params.size(); ++p) {
      const ParamInfo &param = info.function->params[p];
      const Expr *given = p < info.arguments.size() ? info.arguments[p] : nullptr;
      if (!param.isStatic || param.value.kind != sema::StaticValue::Open || !given)
        continue;
      if (auto *name = as<Name>(given); name && name->symbol)
        if (auto *known = staticValue(name->symbol))
          out.statics[param.value.variable] = *known;
    }
  return out;
}

const Expr *Emitter::defaultOf(const ParamInfo &param, FunctionInfo &f) {
  if (param.defaultValue && !param.defaultValue->checked)
    sema.checkDefault(param, f.paramScope, f.module);
  return param.defaultValue;
}

void Emitter::signatureOf(Instance &callee, SmallVectorImpl<mlir::Type> &args,
                          SmallVectorImpl<mlir::Type> &results, SmallVectorImpl<bool> &isMut) {
  // The types use the callee's own names.
  Emitter inside(shared, callee);
  auto add = [&](mlir::Type type, bool changes) {
    args.push_back(type);
    isMut.push_back(changes);
    if (changes)
      results.push_back(type);
  };
  FunctionInfo *f = callee.function;
  if (callee.construct) {
    if (callee.construct->isModel)
      add(inside.convert(rngType()), true);
    for (const ParamInfo &param : callee.construct->params)
      if (!inside.isDropped(param))
        add(inside.convert(param.type), false);
    results.push_back(inside.convert(callee.self));
    return;
  }
  if (f->owner)
    add(inside.convert(callee.self), f->isMutMethod());
  for (const ParamInfo &param : f->params)
    if (!inside.isDropped(param))
      add(inside.convert(param.type, param.symbol && param.symbol->value.host), param.isMut);
  if (f->result && !f->result->is(Kind::Nothing))
    results.push_back(inside.convert(f->result));
}

SmallVector<mlir::Value> Emitter::callSymbol(Instance &callee, ArrayRef<mlir::Value> args,
                                             ArrayRef<mlir::Type> results,
                                             const Bindings &bindings) {
  SmallVector<mlir::Attribute> sizes;
  for (Dim dim : shared.instances.sizesAt(callee, bindings))
    sizes.push_back(size(dim));
  auto call = create<ir::CallOp>(results, callee.symbol, args, builder.getArrayAttr(sizes));
  return SmallVector<mlir::Value>(call.getResults());
}

const Type *Emitter::rngType() {
  NominalInfo &nominal = *sema.prelude->scope.names.at("Rng")->nominal;
  sema.resolveFields(nominal);
  return nominal.self;
}
mlir::Value Emitter::ambientRng() {
  if (mlir::Value own = values.lookup(&rngPlaceholder))
    return own;
  const Type *type = rngType();
  return create<ir::GlobalLoadOp>(convert(type), builder.getStringAttr("$rng"));
}
void Emitter::setAmbientRng(mlir::Value value) {
  if (values.count(&rngPlaceholder))
    values[&rngPlaceholder] = value;
  else
    create<ir::GlobalStoreOp>(builder.getStringAttr("$rng"), value);
}

bool Emitter::isAmbient(const ParamInfo &param) {
  return param.isMut && param.fromContext && param.type->is(Kind::Nominal) &&
         param.type->nominal->name == "Rng";
}

/// Reports unbounded specialisation: each new static argument is a function of its own, so endless
/// recursion would create ever more of them.
mlir::Value Emitter::endlessCall(const Expr *whole, const Instance &target) {
  if (!shared.failed) {
    const FunctionInfo &f = *target.function;
    std::string first;
    for (const ParamInfo &param : f.params)
      if (param.isStatic && first.empty())
        first = param.name;
    Diagnostic &d = sema.diags.report(Code::E0225, whole->span,
                                      "`" + f.name + "` calls itself with ever new static arguments");
    d.caret("compiled " + std::to_string(Instances::kMaxNested) + " times so far");
    if (first.empty())
      d.note("each call needs code for other types or numbers of dimensions");
    else
      d.note("each value of `" + first + "` is compiled by itself")
          .help("write `" + first + "` without `static`, or end it: `if " + first +
                " == 0 { … } else { … }` is decided before it runs");
  }
  shared.failed = true;
  return {};
}

mlir::Value Emitter::callFunction(const Expr *whole, const Expr *callee, const CallInfo &info) {
  const sema::Tap *tap = tapAt(whole);
  FunctionInfo &f = tap && tap->callee ? *tap->callee : *info.function;
  if (!f.syntax->body) {
    if (f.owner && f.owner == rngType()->nominal)
      return deriveRng(whole, info);
    if (f.module && f.module->isStd && f.module->name == "dist")
      return emitDist(whole, info);
    if (f.module && f.module->isStd && f.module->name == "data")
      return emitQueueCall(whole, info);
    return unsupported(whole->span, "`" + f.name + "`");
  }
  Bindings bindings = bindingsAt(info);
  bool asGraph = f.isGraph() && !shared.options.eager;
  if (asGraph && (f.effects & sema::kPrint)) {
    noteOpByOp(f.syntax->graphSpan, "`" + f.name + "`");
    asGraph = false;
  }
  Instance &target = shared.instances.of(f, bindings, asGraph, &instance);
  if (shared.instances.isEndless(target))
    return endlessCall(whole, target);
  SmallVector<mlir::Value> args;
  const Expr *receiver = info.receiver;
  mlir::Value object;
  if (f.owner) {
    object = receiver ? emit(receiver) : self();
    if (!object)
      return {};
    args.push_back(object);
  }
  // The argument types in this body's names.
  Bindings inCaller = bindings;
  for (size_t p = 0; p < f.params.size(); ++p) {
    const ParamInfo &param = f.params[p];
    const Expr *given = info.arguments[p];
    if (isDropped(param)) {
      // A size known only at run time gets its name here.
      if (given && param.value.kind == sema::StaticValue::Int)
        if (auto id = sema.dims.asSymbol(param.value.dim))
          if (Dim d = bindings.dims[*id]; d && !isBound(d))
            if (auto atom = sema.dims.asSymbol(d)) {
              adopted.insert(*atom);
              bindSize(*atom, emitHostInt(given));
            }
      if (given && param.type->is(Kind::Shape))
        emitShape(concrete(given->checked->type), given);
      continue;
    }
    const Type *type = sema.types.substitute(param.type, inCaller);
    bool host = param.symbol && param.symbol->value.host;
    mlir::Value value;
    if (given) {
      value = type->isTensor() && given->checked->type->isTensor()
                  ? emitAs(given, elementType(type->elem))
                  : emit(given);
      if (value)
        value = fit(value, convert(type, host));
    } else if (isAmbient(param)) {
      value = ambientRng();
    } else if (const Expr *usual = defaultOf(param, f)) {
      value = type->isTensor() ? emitAs(usual, elementType(type->elem)) : emit(usual);
      if (value)
        value = fit(value, convert(type, host));
    }
    if (!value)
      return shared.failed ? mlir::Value()
                           : unsupported(whole->span, "`" + param.name + "` left out");
    args.push_back(value);
  }
  SmallVector<mlir::Type> results;
  size_t changed = 0;
  if (f.owner && f.isMutMethod())
    results.push_back(args[changed++].getType());
  {
    size_t arg = f.owner ? 1 : 0;
    for (const ParamInfo &param : f.params) {
      if (isDropped(param))
        continue;
      if (param.isMut)
        results.push_back(args[arg].getType());
      ++arg;
    }
  }
  bool hasResult = f.result && !f.result->is(Kind::Nothing);
  const Type *resultType = hasResult ? concrete(info.result) : nullptr;
  if (&f != info.function)
    resultType = sema.types.substitute(f.result, bindings);
  if (hasResult)
    results.push_back(convert(sema.types.onDevice(resultType->plain, nullptr)));
  at(as<Member>(callee) ? as<Member>(callee)->name.span : whole->span);
  SmallVector<mlir::Value> out = callSymbol(target, args, results, bindings);
  size_t next = 0;
  if (f.owner && f.isMutMethod()) {
    if (receiver)
      assign(receiver, out[next]);
    else
      setSelf(out[next]);
    ++next;
  }
  for (size_t p = 0; p < f.params.size(); ++p) {
    const ParamInfo &param = f.params[p];
    if (isDropped(param) || !param.isMut)
      continue;
    if (info.arguments[p])
      assign(info.arguments[p], out[next]);
    else
      setAmbientRng(out[next]);
    ++next;
  }
  if (!hasResult)
    return {};
  if (&f != info.function)
    return takeInner(*tap, out[next], resultType, info);
  if (resultType->isTensor())
    adoptSizes(out[next], resultType);
  return out[next];
}

/// Unpacks the result of a watched variant: inner values, preceded by the function's result, if
/// any.
mlir::Value Emitter::takeInner(const sema::Tap &tap, mlir::Value all, const Type *type,
                               const CallInfo &info) {
  SmallVector<mlir::Value> parts;
  SmallVector<const Type *> partTypes;
  if (type->is(Kind::Tuple))
    partTypes.append(type->parts.begin(), type->parts.end());
  else
    partTypes.push_back(type);
  for (size_t i = 0; i < partTypes.size(); ++i) {
    parts.push_back(type->is(Kind::Tuple) ? part(all, static_cast<int64_t>(i)) : all);
    if (partTypes[i]->isTensor())
      adoptSizes(parts.back(), partTypes[i]);
  }
  bool hasResult = info.function->result && !info.function->result->is(Kind::Nothing);
  for (auto [symbol, value] : llvm::zip_equal(tap.inner, ArrayRef(parts).drop_front(hasResult)))
    values[symbol] = value;
  return hasResult ? parts[0] : mlir::Value();
}

/// f16(x): an element type conversion.
mlir::Value Emitter::emitConvert(const Expr *whole, const Expr *argument) {
  mlir::Type element = elementType(concrete(whole->checked->type)->elem);
  return emitAs(argument, element);
}

mlir::Value Emitter::emitCall(const Expr *whole, const Expr *callee, const List<Argument> *args,
                              const Expr *piped, const CallInfo *info) {
  if (!info) {
    auto *name = as<Name>(callee);
    bool converts = name && (!name->symbol ? elementNamed(name->text).has_value()
                                           : name->symbol->kind == sema::SymbolKind::ElemParam);
    if (converts)
      return emitConvert(whole, piped ? piped : (*args)[0].value);
    if (callee->checked && concrete(callee->checked->type)->is(Kind::Fn)) {
      mlir::Value f = emit(callee);
      if (!f)
        return {};
      auto type = mlir::cast<ir::FnType>(f.getType()).getType();
      SmallVector<mlir::Value> operands;
      auto add = [&](const Expr *e) {
        size_t i = operands.size();
        mlir::Value v = i < type.getNumInputs() && isa<ir::TensorType>(type.getInput(i))
                            ? emitAs(e, mlir::cast<ir::TensorType>(type.getInput(i)).getElement())
                            : emit(e);
        operands.push_back(v && i < type.getNumInputs() ? fit(v, type.getInput(i)) : v);
      };
      if (piped)
        add(piped);
      if (args)
        for (const Argument &a : *args)
          add(a.value);
      if (llvm::is_contained(operands, mlir::Value()))
        return {};
      auto call = create<ir::CallValueOp>(type.getResults(), f, operands);
      return call->getNumResults() ? call->getResult(0) : mlir::Value();
    }
    if (auto *member = as<Member>(callee);
        member && !member->symbol && concrete(member->object->checked->type)->is(Kind::Progress))
      return emitShow(member, args);
    return unsupported(whole->span, "this call");
  }
  switch (info->target) {
  case CallInfo::Construct: {
    const Expr *rngExpr = nullptr;
    if (args)
      for (const Argument &a : *args)
        if (a.isMut || a.name.text == "rng")
          rngExpr = a.value;
    if (info->result->is(Kind::Rule))
      return makeRule(*info, whole->span);
    return construct(concrete(info->result), info, rngExpr, whole->span);
  }
  case CallInfo::Primitive: {
    SmallVector<const Argument *> given;
    Argument first;
    if (piped) {
      first.value = const_cast<Expr *>(piped);
      given.push_back(&first);
    } else if (auto *member = as<Member>(callee); member && !member->symbol) {
      first.value = member->object;
      given.push_back(&first);
    }
    if (args)
      for (const Argument &a : *args)
        given.push_back(&a);
    return emitPrimitive({whole, StringRef(info->function->primitive->name), info, given});
  }
  default:
    return callFunction(whole, callee, *info);
  }
}

/// An optimizer without a model: the scalars of its constructor.
ir::AggregateType Emitter::convertRule(NominalInfo &nominal) {
  sema.resolveFields(nominal);
  SmallVector<mlir::Attribute> names;
  SmallVector<mlir::Type> parts;
  for (const ParamInfo &param : nominal.params)
    if (!isDropped(param) && param.type->isScalar()) {
      names.push_back(builder.getStringAttr(param.name));
      parts.push_back(convert(param.type));
    }
  return ir::AggregateType::get(&shared.context, builder.getStringAttr(nominal.name + ".rule"),
                                builder.getArrayAttr(names), parts);
}

mlir::Value Emitter::makeRule(const CallInfo &info, Span span) {
  NominalInfo &nominal = *info.nominal;
  ir::AggregateType type = convertRule(nominal);
  SmallVector<mlir::Value> parts;
  for (size_t p = 0; p < nominal.params.size(); ++p) {
    const ParamInfo &param = nominal.params[p];
    if (isDropped(param) || !param.type->isScalar())
      continue;
    const Expr *given = info.arguments[p];
    if (!given && param.defaultValue) {
      if (!param.defaultValue->checked)
        sema.checkDefault(param, nominal.scope, nominal.module);
      given = param.defaultValue;
    }
    mlir::Value value = given ? emitAs(given, elementType(param.type->elem)) : mlir::Value();
    if (!value)
      return shared.failed ? value : unsupported(span, "`" + param.name + "` left out of a rule");
    parts.push_back(fit(value, type.getParts()[parts.size()]));
  }
  return create<ir::MakeOp>(type, parts);
}

/// A struct is built from its parts; a model's constructor runs its initialisers.
mlir::Value Emitter::construct(const Type *type, const CallInfo *info, const Expr *rngExpr,
                               Span span, mlir::Value rule) {
  NominalInfo &nominal = *type->nominal;
  sema.resolveFields(nominal);
  Instance &target = shared.instances.ofConstructor(type);
  Bindings bindings = sema.bindingsOf(type);
  SmallVector<mlir::Value> args;
  if (nominal.isModel) { // initialisers may use the random generator
    mlir::Value generator = rngExpr ? emit(rngExpr) : ambientRng();
    if (!generator)
      return {};
    args.push_back(generator);
  }
  // `rule.init(net)`: the scalars come from the rule.
  if (!rule && info && info->receiver)
    rule = emit(info->receiver);
  int64_t ruled = 0;
  for (size_t p = 0; p < nominal.params.size(); ++p) {
    const ParamInfo &param = nominal.params[p];
    if (isDropped(param))
      continue;
    const Type *want = sema.types.substitute(param.type, bindings);
    if (rule && param.type->isScalar()) {
      mlir::Type part = mlir::cast<ir::AggregateType>(rule.getType()).getParts()[ruled];
      args.push_back(
          fit(create<ir::GetOp>(part, rule, builder.getI64IntegerAttr(ruled)), convert(want)));
      ++ruled;
      continue;
    }
    const Expr *given = info && p < info->arguments.size() ? info->arguments[p] : nullptr;
    Bindings outer = instance.bindings;
    if (!given && param.defaultValue) {
      if (!param.defaultValue->checked)
        sema.checkDefault(param, nominal.scope, nominal.module);
      given = param.defaultValue;
      // It uses the size names of the type.
      instance.bindings.dims.insert(bindings.dims.begin(), bindings.dims.end());
      instance.bindings.packs.insert(bindings.packs.begin(), bindings.packs.end());
      instance.bindings.elems.insert(bindings.elems.begin(), bindings.elems.end());
      instance.bindings.types.insert(bindings.types.begin(), bindings.types.end());
      instance.bindings.statics.insert(bindings.statics.begin(), bindings.statics.end());
    }
    mlir::Value value;
    if (given)
      value = want->isTensor() && given->checked && given->checked->type->isTensor()
                  ? emitAs(given, elementType(want->elem))
                  : emit(given);
    instance.bindings = outer;
    if (!value)
      return shared.failed
                 ? mlir::Value()
                 : unsupported(span, "`" + param.name + "` left out of `" + nominal.name + "`");
    args.push_back(fit(value, convert(want)));
  }
  if (!nominal.isModel)
    return callSymbol(target, args, {convert(type->plain)}, bindings)[0];
  SmallVector<mlir::Value> out =
      callSymbol(target, args, {args[0].getType(), convert(type->plain)}, bindings);
  if (rngExpr)
    assign(rngExpr, out[0]);
  else
    setAmbientRng(out[0]);
  return out[1];
}

// -------------------------------------------------------------------------------- functions as
// values

mlir::Value Emitter::functionValue(FunctionInfo &function, const Type *type, Span span) {
  if (!function.syntax->body || !function.generics.elems.empty() ||
      !function.generics.packs.empty() || function.owner)
    return unsupported(span, "`" + function.name + "` as a value");
  Instance &target = shared.instances.of(function, {}, false);
  if (!target.sizes.empty())
    return unsupported(span, "a function with open sizes as a value");
  return create<ir::ClosureOp>(convert(type), target.symbol, ValueRange(),
                               builder.getArrayAttr({}));
}

/// Lambda lifting: the body becomes a function of its captured values, taken by value, and its
/// parameters.
mlir::Value Emitter::emitLambda(const Lambda *e) {
  const Func *func = e->func;
  auto type = mlir::cast<ir::FnType>(convert(concrete(e->checked->type)));
  FunctionType signature = type.getType();
  Variables used, assigned;
  usedIn(func->body, used);
  assignedIn(func->body, assigned);
  for (const Param &param : func->params)
    if (param.isMut)
      return unsupported(param.name.span, "a function as a value with a `mut` parameter");
  for (Symbol *symbol : assigned)
    if (values.count(symbol) || shared.globals.count(symbol)) { // of the code around it
      if (!shared.failed)
        sema.diags
            .report(Code::E0204, e->span,
                    "`" + std::string(symbol->name) + "` cannot change in a function value")
            .caret("it has a copy of what it captures")
            .help("let it return the new value, or declare a function with a parameter `mut " +
                  std::string(symbol->name) + "` and call that");
      shared.failed = true;
      return {};
    }
  SmallVector<Symbol *> captured;
  SmallVector<mlir::Value> given;
  for (Symbol *symbol : used) {
    bool isSize = symbol->kind == sema::SymbolKind::Variable && symbol->value.host &&
                  symbol->value.dim && isBound(symbol->value.dim);
    if (!values.count(symbol) || shared.globals.count(symbol) || staticValue(symbol) || isSize)
      continue;
    captured.push_back(symbol);
    given.push_back(symbol == &selfPlaceholder ? self() : read(symbol));
  }
  for (size_t i = 0; i < func->body->stmts.size(); ++i) {
    const Stmt *stmt = func->body->stmts[i];
    bool tail = i + 1 == func->body->stmts.size() && stmt->kind == StmtKind::Return;
    if (!tail && (exitsOf(stmt) & Returns))
      return unsupported(stmt->span, "an early `return` of a function as a value");
  }
  SmallVector<mlir::Type> inputs(ValueRange(given).getTypes());
  llvm::append_range(inputs, signature.getInputs());
  // Sizes without a value here belong to items of any length; those of its parameters are passed
  // with each call.
  const Type *fnType = concrete(e->checked->type);
  auto isOpen = [&](AtomId atom) {
    return sema.dims.symbolInfo(atom).role == SymbolRole::Unknown && !adopted.count(atom);
  };
  Instance body = instance;
  body.sizes.clear();
  for (auto &[atom, name] : sizeNames)
    if (!isOpen(atom))
      body.sizes.push_back({atom, name, 0, 0});
  body.symbol = (instance.symbol.empty() ? std::string("fn") : instance.symbol + ".fn") + "$" +
                std::to_string(shared.graphBlocks++);
  body.isGraph = false;
  {
    Emitter inside(shared, body);
    inside.inGraph = inGraph;
    inside.topLevel = topLevel;
    inside.sizesOfBody = sizesOfBody;
    inside.adopted = adopted;
    inside.beginFunction(builder.getFunctionType(inputs, signature.getResults()), false,
                         body.symbol, e->span);
    auto function = mlir::cast<FunctionOpInterface>(inside.functionOp);
    unsigned next = 0;
    for (Symbol *symbol : captured)
      inside.values[symbol == &selfPlaceholder ? &inside.selfPlaceholder : symbol] =
          function.getArgument(next++);
    for (auto &[atom, name] : sizeNames)
      if (isOpen(atom)) {
        inside.sizeNames[atom] = name;
        ++inside.nameCounts[name];
      }
    for (auto [i, param] : llvm::enumerate(func->params)) {
      mlir::Value argument = function.getArgument(next++);
      inside.values[param.symbol] = argument;
      inside.adoptSizes(argument, fnType->parts[i]);
    }
    bool hasResult = signature.getNumResults() != 0;
    inside.resultType = hasResult ? fnType->element : nullptr;
    mlir::Value value = inside.emitBlock(func->body, hasResult);
    if (shared.failed)
      return {};
    if (hasResult && !value)
      value = inside.values.lookup(&inside.returnValue);
    if (hasResult && !value)
      return unsupported(e->span, "a function that may end without a value");
    inside.at(func->body->span);
    if (hasResult)
      inside.create<ir::ReturnOp>(ValueRange{inside.fit(value, signature.getResult(0))});
    else
      inside.create<ir::ReturnOp>(ValueRange());
  }
  SmallVector<mlir::Attribute> sizes;
  for (const SizeParam &size : body.sizes)
    sizes.push_back(this->size(sema.dims.symbol(size.atom)));
  at(e->span);
  return create<ir::ClosureOp>(type, body.symbol, given, builder.getArrayAttr(sizes));
}

} // namespace mx::irgen
