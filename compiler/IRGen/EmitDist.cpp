// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a KVStore (the library's module `dist`). A KVStore is a connection, an object of the
// runtime, and an optimizer: a rule with its state by key.
//
// kv.step(mut net, g) averages the gradients and calls a function that applies the rule. The rule
// of a KVStore is known at run time, so the function has a branch for each optimizer that
// the program gives to a KVStore. Each applies the optimizer's own `step` to one parameter
// at a time, as a model with this one parameter; only optimizers that couple parameters get
// the whole model. All calls are asynchronous: updates of the first parameters to arrive run while
// others travel.
#include "IRGen/Emitter.h"
#include "dialects/mx/Marks.h"
#include "dialects/mx/Exchange.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;
using sema::CallInfo;

namespace {
enum StorePart { ConnectionPart, OptimizerPart };
}

mlir::Type Emitter::convertStore() {
  MLIRContext *context = &shared.context;
  auto handle = [&](StringRef name) -> mlir::Type {
    return ir::HandleType::get(context, builder.getStringAttr(name));
  };
  return ir::AggregateType::get(context, builder.getStringAttr("KVStore"),
                                builder.getStrArrayAttr({"connection", "optimizer"}),
                                {handle("kv"), handle("optimizer")});
}

/// The argument of a parameter, or its default.
const Expr *Emitter::givenTo(const CallInfo &info, StringRef parameter) {
  for (size_t p = 0; p < info.function->params.size(); ++p)
    if (info.function->params[p].name == parameter)
      return info.arguments[p] ? info.arguments[p]
                               : defaultOf(info.function->params[p], *info.function);
  return nullptr;
}

mlir::Value Emitter::emitDist(const Expr *whole, const CallInfo &info) {
  const FunctionInfo &f = *info.function;
  at(whole->span);
  if (f.owner)
    return emitStoreCall(whole, info);
  if (f.name == "on_worker" || f.name == "on_server" || f.name == "by_program")
    return emitRule(info);
  if (f.name == "local" || f.name == "sync")
    return emitConnection(info);
  // Checked, and not built yet.
  mlir::Type result = convert(concrete(info.result));
  native("mx.rule.missing", {}, {text("dist." + f.name)});
  return undefined(result);
}

/// dist.on_worker(rule): the number of the optimizer in the program, and its numbers.
mlir::Value Emitter::emitRule(const CallInfo &info) {
  auto update = mlir::cast<ir::AggregateType>(convert(concrete(info.result)));
  if (info.function->name == "by_program") {
    mlir::Value none = native("mx.rule.make", update.getParts()[0],
                              {constantInt(-1), text(""), constantInt(0)});
    return create<ir::MakeOp>(update, ValueRange{none});
  }
  const Expr *given = info.arguments[0];
  const Type *type = given ? concrete(given->checked->type) : nullptr;
  if (!type || !type->is(Kind::Rule) || !type->nominal)
    return unsupported(given ? given->span : info.function->syntax->span,
                       "an optimizer that only the run knows");
  auto number = static_cast<int64_t>(sema.ruleNumber(*type->nominal));
  mlir::Value rule = native("mx.rule.make", update.getParts()[0],
                            {constantInt(number), text(type->nominal->name), emit(given)});
  return rule ? create<ir::MakeOp>(update, ValueRange{rule}).getResult() : rule;
}

/// dist.local, dist.sync: a connection and an optimizer.
mlir::Value Emitter::emitConnection(const CallInfo &info) {
  auto store = mlir::cast<ir::AggregateType>(convertStore());
  SmallVector<mlir::Value> operands;
  if (info.function->name == "local")
    operands.push_back(emitHostInt(givenTo(info, "workers")));
  mlir::Value update = emit(givenTo(info, "update")), over = emit(givenTo(info, "over"));
  mlir::Value compress = emit(givenTo(info, "compress"));
  mlir::Value optimizer =
      native("mx.rule.optimizer", store.getParts()[OptimizerPart], {part(update, 0)});
  operands.append({part(over, 0), part(over, 1), toHost(part(over, 2)), part(compress, 0),
                   toHost(part(compress, 1))});
  mlir::Value connection =
      native("mx.dist." + info.function->name, store.getParts()[ConnectionPart], operands);
  if (!optimizer || !connection)
    return {};
  return create<ir::MakeOp>(store, ValueRange{connection, optimizer});
}

/// The weight of this worker, an f64 of the host. A number of the host is not computed by a graph.
mlir::Value Emitter::emitWeight(const CallInfo &info) {
  const Expr *given = givenTo(info, "weight");
  // `f64(rows)`: the number itself, since conversions in a graph are work of the device.
  if (auto *call = given ? as<Call>(given) : nullptr; call && !call->info && call->args.size() == 1)
    if (const Expr *inner = call->args[0].value; ir::isScalarTensor(convert(inner->checked->type)))
      given = inner;
  mlir::Value weight = given ? emit(given) : mlir::Value();
  if (!weight)
    return shared.failed ? weight : constantNumber(builder.getF64Type(), 1, 0, false);
  if (!isHost(weight))
    weight = toHost(weight);
  mlir::Type wide = builder.getF64Type();
  if (weight && elementOf(weight) != wide)
    weight = create<ir::CastOp>(ir::TensorType::host(wide), weight);
  return weight;
}

mlir::Value Emitter::emitExchange(StringRef action, mlir::Value connection, mlir::Value weight,
                                  StringRef name, mlir::Value value, mlir::Type result) {
  SmallVector<mlir::Value> operands{connection};
  if (weight)
    operands.push_back(weight);
  operands.append({text(name), value});
  mlir::Type tuple = ir::AggregateType::tuple(&shared.context, {result});
  return part(native("mx.dist." + action.str(), tuple, operands), 0);
}

mlir::Value Emitter::emitStoreCall(const Expr *whole, const CallInfo &info) {
  StringRef name = info.function->name;
  mlir::Value store = info.receiver ? emit(info.receiver) : self();
  if (!store)
    return {};
  mlir::Value connection = part(store, ConnectionPart);
  if (name == "step")
    return callStep(whole, info, store);
  if (name == "barrier" || name == "close")
    return native("mx.dist." + name.str(), {}, {connection});
  if (name == "table")
    return native("mx.dist.table", ir::StrType::get(&shared.context),
                  {connection, emit(givenTo(info, "key"))});
  if (name == "queue")
    return makeQueue("shared", info,
                     {storeNumber(store, "size"), emitHostInt(givenTo(info, "capacity"))});
  if (name == "stats")
    return emitStats(connection, concrete(info.result));
  const Expr *given = info.arguments[0];
  mlir::Value value = given ? emit(given) : mlir::Value();
  if (value && isHost(value))
    value = toDevice(value);
  if (!value)
    return {};
  if (name == "init") {
    value = emitExchange("init", connection, {}, sema.textOf(given), value, value.getType());
    if (value)
      assign(given, value);
    return {};
  }
  bool isMean = name == "average" || name == "mean";
  const Type *type = concrete(info.result);
  if (name == "gather" || name == "scatter")
    bindStoreSize(connection, type);
  return emitExchange(name, connection, isMean ? emitWeight(info) : mlir::Value(),
                      sema.textOf(given), value, convert(type));
}

/// The rows of what kv.gather and kv.scatter give contain `kv.size`. A KVStore without a name has a
/// size of its own for each call.
void Emitter::bindStoreSize(mlir::Value connection, const Type *type) {
  Shape shape = sema.types.substitute(type->shape, instance.bindings);
  std::vector<AtomId> atoms;
  if (!shape.empty() && shape[0].dim)
    sema.dims.symbols(shape[0].dim, atoms);
  for (AtomId atom : atoms) {
    bool isKnown = sizeNames.count(atom) && !awaited.count(atom);
    if (!isKnown && !variableOf(atom) && !storeOfSize(atom))
      bindSize(atom, native("mx.dist.size", ir::TensorType::host(builder.getI64Type()), {connection}));
  }
}

/// The KVStore whose number `kv.size` the size is, if it can be read here.
std::optional<std::pair<Symbol *, std::string>> Emitter::storeOfSize(AtomId atom) {
  if (!builder.getInsertionBlock())
    return std::nullopt;
  Dim size = sema.dims.symbol(atom);
  for (auto &[field, known] : sema.hostFields) {
    Symbol *root = field.first;
    if (known != size || !root || !root->type || !root->type->is(Kind::Nominal) ||
        root->type->nominal->name != "KVStore")
      continue;
    if (values.count(root) || (shared.globals.count(root) && !inGraph))
      return field;
  }
  return std::nullopt;
}

mlir::Value Emitter::storeNumber(mlir::Value store, StringRef name) {
  return native("mx.dist." + name.str(), ir::TensorType::host(builder.getI64Type()),
                {part(store, ConnectionPart)});
}

mlir::Value Emitter::emitStats(mlir::Value connection, const Type *type) {
  auto result = mlir::cast<ir::AggregateType>(convert(type));
  mlir::Type whole = ir::TensorType::host(builder.getI64Type());
  mlir::Type seconds = ir::TensorType::host(builder.getF64Type());
  mlir::Value numbers =
      native("mx.dist.stats",
             ir::AggregateType::tuple(&shared.context, {whole, whole, whole, whole, whole, seconds}),
             {connection});
  SmallVector<mlir::Value> parts;
  for (auto [i, wanted] : llvm::enumerate(result.getParts()))
    parts.push_back(fit(part(numbers, static_cast<int64_t>(i)), wanted));
  return create<ir::MakeOp>(result, parts);
}

/// kv.rank, kv.size, kv.members.
mlir::Value Emitter::storeMember(const Member *e) {
  mlir::Value store = emit(e->object);
  if (!store)
    return {};
  mlir::Value number = storeNumber(store, e->name.text);
  // As a size it has a name.
  auto atom = e->checked && e->checked->dim ? sema.dims.asSymbol(e->checked->dim) : std::nullopt;
  if (atom && !inGraph && !isBound(e->checked->dim) && isUsedAsSize(*atom)) {
    adopted.insert(*atom);
    bindSize(*atom, number);
  }
  return number;
}

// ------------------------------------------------------------------------------ kv.step

mlir::Value Emitter::callStep(const Expr *whole, const CallInfo &info, mlir::Value store) {
  const Expr *lvalue = info.arguments[0], *gradient = info.arguments[1];
  mlir::Value net = emit(lvalue), g = emit(gradient), weight = emitWeight(info);
  if (!net || !g || !weight)
    return {};
  std::string name = sema.textOf(lvalue);
  at(whole->span);
  // Here, so that what the gradient is made of is known where it is exchanged.
  g = emitExchange("average", part(store, ConnectionPart), weight, name, g, g.getType());
  if (!g)
    return {};
  const Type *model = concrete(lvalue->checked->type)->plain;
  std::vector<AtomId> own;
  shared.instances.symbolsIn(model, own);
  for (AtomId atom : own)
    if (!sizeNames.count(atom) && variableOf(atom))
      size(sema.dims.symbol(atom)); // binds it: the function takes it as an argument
  std::set<AtomId> atoms(own.begin(), own.end());
  StepFunction step;
  step.body = outlined(&atoms);
  step.body.symbol = "kv.step$" + std::to_string(shared.stepCount++);
  step.body.isGraph = false;
  step.model = model;
  step.name = name;
  step.asGraph = inGraph && !shared.options.eager;
  step.span = whole->span;
  at(whole->span);
  auto call = create<ir::CallOp>(TypeRange{net.getType()}, step.body.symbol,
                                 ValueRange{store, net, g}, sizesFor(step.body));
  call->setAttr(ir::kExchanges, builder.getUnitAttr());
  shared.steps.push_back(std::move(step));
  assign(lvalue, call.getResult(0));
  return {};
}

void Emitter::emitStep(const StepFunction &step) {
  auto store = convertStore();
  mlir::Type netType = convert(step.model), gradType = convert(sema.types.grad(step.model));
  beginFunction(builder.getFunctionType({store, netType, gradType}, {netType}), false,
                step.body.symbol, step.span);
  auto function = mlir::cast<FunctionOpInterface>(functionOp);
  function.setArgAttr(1, ir::kMut, builder.getUnitAttr());
  mlir::Block &entry = function.getFunctionBody().front();
  mlir::Value net = entry.getArgument(1);
  mlir::Value optimizer = part(entry.getArgument(0), OptimizerPart);
  mlir::Value result = applyRule(step, 0, optimizer, net, entry.getArgument(2));
  if (!shared.failed)
    create<ir::ReturnOp>(ValueRange{result});
}

/// The branch of the rule `number`, and those of all later rules.
mlir::Value Emitter::applyRule(const StepFunction &step, size_t number, mlir::Value optimizer,
                               mlir::Value net, mlir::Value gradient) {
  if (number == sema.rules.size()) {
    native("mx.rule.unknown", {}, {optimizer});
    return net;
  }
  sema::NominalInfo &rule = *sema.rules[number];
  mlir::Type whole = ir::TensorType::host(builder.getI64Type());
  mlir::Value isThis =
      elementwise("eq",
                  {native("mx.rule.number", whole, {optimizer}),
                   constantInt(static_cast<int64_t>(number))},
                  builder.getI1Type());
  Variables none;
  return conditional(
      isThis, none, net.getType(),
      [&]() -> mlir::Value {
        mlir::Value numbers = native("mx.rule.numbers", convertRule(rule), {optimizer});
        SmallVector<LeafPath> leaves;
        if (!leafPaths(step.model, {}, leaves, step.span))
          return {};
        auto addSizes = [&](const LeafPath &leaf, UpdateUnit &unit) {
          for (const Axis &axis : leaf.type->shape)
            unit.sizes.push_back(sizeValue(axis.dim));
        };
        if (sema.ruleForm(rule).kind == sema::RuleForm::Coupled) {
          UpdateUnit unit{step.name, step.model, {}};
          for (const LeafPath &leaf : leaves)
            addSizes(leaf, unit);
          return updateUnit(step, rule, unit, optimizer, numbers, net, gradient);
        }
        mlir::Value updated = net;
        // Gradients of the last layers arrive first.
        for (const LeafPath &leaf : llvm::reverse(leaves)) {
          UpdateUnit unit{step.name + "." + leaf.name, leafModel(leaf.type->shape), {}};
          if (!unit.model)
            return unsupported(step.span, "a parameter with more than 8 dimensions");
          addSizes(leaf, unit);
          auto alone = [&](const Type *type, mlir::Value value) -> mlir::Value {
            auto one = mlir::cast<ir::AggregateType>(convert(type));
            return create<ir::MakeOp>(one, ValueRange{fit(value, one.getParts()[0])});
          };
          updated = updateLeaf(updated, leaf.fields, [&](mlir::Value parameter) {
            mlir::Value slope =
                alone(sema.types.grad(unit.model), leafAt(gradient, leaf.fields));
            return part(updateUnit(step, rule, unit, optimizer, numbers,
                                   alone(unit.model, parameter), slope),
                        0);
          });
          if (!updated)
            return {};
        }
        return updated;
      },
      [&] { return applyRule(step, number + 1, optimizer, net, gradient); });
}

/// The library's model with one parameter of this shape.
const Type *Emitter::leafModel(const Shape &shape) {
  sema::NominalInfo *nominal = nullptr;
  std::string name = "_Leaf" + std::to_string(shape.size());
  for (auto &[path, module] : sema.modules)
    if (module->isStd && module->name == "dist")
      if (auto found = module->scope.names.find(name); found != module->scope.names.end())
        nominal = found->second->nominal;
  if (!nominal)
    return nullptr;
  sema.resolveFields(*nominal);
  std::vector<sema::TypeArg> args;
  for (const Axis &axis : shape) {
    sema::TypeArg arg;
    arg.kind = sema::TypeArg::Size;
    arg.dim = axis.dim;
    args.push_back(arg);
  }
  return sema.types.nominal(nominal, args, {});
}

/// Takes the state of the optimizer for this unit, applies the optimizer's `step`, and puts the
/// state back. The result is the new model.
mlir::Value Emitter::updateUnit(const StepFunction &step, sema::NominalInfo &rule,
                                const UpdateUnit &unit, mlir::Value optimizer, mlir::Value numbers,
                                mlir::Value model, mlir::Value gradient) {
  sema::TypeArg arg;
  arg.kind = sema::TypeArg::Model;
  arg.type = unit.model;
  const Type *type = sema.types.nominal(&rule, {arg}, {});
  mlir::Type stateType = convert(type);
  mlir::Value key = text(unit.key);
  SmallVector<mlir::Value> asked{optimizer, key};
  asked.append(unit.sizes);
  mlir::Value isThere =
      native("mx.rule.has", ir::TensorType::host(builder.getI1Type()), asked);
  Variables none;
  mlir::Value state = conditional(
      isThere, none, stateType,
      [&] { return native("mx.rule.take", stateType, {optimizer, key}); },
      [&] {
        return native("mx.rule.restored", stateType,
                      {optimizer, key, construct(type, nullptr, nullptr, step.span, numbers)});
      });
  if (!state)
    return {};
  sema::FunctionInfo &f = *rule.methods.find("step")->second;
  sema::Bindings bindings = sema.bindingsOf(type);
  Instance &target = shared.instances.of(f, bindings, step.asGraph, &instance);
  SmallVector<mlir::Value> out = callSymbol(target, {state, model, gradient},
                                            {state.getType(), model.getType()}, bindings);
  native("mx.rule.put", {}, {optimizer, key, out[0]});
  return out[1];
}

} // namespace mx::irgen
