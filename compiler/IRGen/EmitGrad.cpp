// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// grad(a, b.c) { e }, gradients of models and arithmetic on them (S9).
#include "IRGen/Emitter.h"
#include "dialects/mx/GradientTypes.h"
#include "dialects/mx/Marks.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

// ------------------------------------------------------------------------------------------ types

/// The fields of a model that its gradient has: parameters and sub-models with some.
static bool isTrained(const sema::FieldInfo &field) {
  return field.kind == FieldKind::Param || field.kind == FieldKind::Sub;
}

/// The gradient type of a part of a model; null if it has none.
static const Type *gradientOf(sema::CheckedProgram &sema, const Type *part) {
  if (part->is(Kind::Nominal))
    return part->nominal->isModel ? sema.types.grad(part) : nullptr;
  if (part->is(Kind::Array)) {
    const Type *element = gradientOf(sema, part->element);
    return element ? sema.types.array(element, part->count) : nullptr;
  }
  return part->isTensor() && sema.types.isFloat(part->elem) ? part : nullptr;
}

mlir::Type Emitter::convertGrad(const Type *type) {
  const Type *model = concrete(type->element);
  if (!model->is(Kind::Nominal))
    return ir::HandleType::get(&shared.context, builder.getStringAttr(sema.types.print(type)));
  sema::NominalInfo &nominal = *model->nominal;
  sema.resolveFields(nominal);
  Bindings bindings = sema.bindingsOf(model);
  SmallVector<mlir::Attribute> names;
  SmallVector<mlir::Type> parts;
  for (sema::FieldInfo &field : nominal.fields) {
    sema.resolveField(nominal, field);
    const Type *part = isTrained(field)
                           ? gradientOf(sema, concrete(sema.types.substitute(field.type, bindings)))
                           : nullptr;
    if (!part)
      continue;
    names.push_back(builder.getStringAttr(field.name));
    parts.push_back(convert(part));
  }
  StringAttr name = builder.getStringAttr(nominal.name + ".grad");
  ir::markGradient(shared.module, name);
  return ir::AggregateType::get(&shared.context, name, builder.getArrayAttr(names), parts);
}

std::optional<size_t> Emitter::partOfGradient(ir::AggregateType gradient, StringRef field) {
  for (auto [i, name] : llvm::enumerate(gradient.getFields()))
    if (mlir::cast<StringAttr>(name).getValue() == field)
      return i;
  return std::nullopt;
}

mlir::Value Emitter::emitGradMember(const Member *e) {
  mlir::Value value = emit(e->object);
  auto aggregate = value ? dyn_cast<ir::AggregateType>(value.getType()) : ir::AggregateType();
  if (!aggregate)
    return {};
  if (std::optional<size_t> part = partOfGradient(aggregate, StringRef(e->name.text)))
    return create<ir::GetOp>(aggregate.getParts()[*part], value,
                             builder.getI64IntegerAttr(static_cast<int64_t>(*part)));
  return unsupported(e->span, "`." + std::string(e->name.text) + "` of a gradient");
}

// ------------------------------------------------------------------------------------- arithmetic

/// Maps `leaf` over matching leaves of `type`. Each of `operands` has that type, or is a scalar
/// used for all leaves, or a model with more fields than its gradient.
mlir::Value Emitter::overLeaves(mlir::Type type, ArrayRef<mlir::Value> operands,
                                llvm::function_ref<mlir::Value(ArrayRef<mlir::Value>)> leaf) {
  if (isa<ir::TensorType>(type))
    return leaf(operands);
  SmallVector<mlir::Value> parts;
  auto recurse = [&](mlir::Type part, llvm::function_ref<mlir::Value(mlir::Value)> get) {
    SmallVector<mlir::Value> inner;
    for (mlir::Value operand : operands)
      inner.push_back(isa<ir::TensorType>(operand.getType()) ? operand : get(operand));
    parts.push_back(llvm::is_contained(inner, mlir::Value()) ? mlir::Value()
                                                             : overLeaves(part, inner, leaf));
  };
  if (auto array = dyn_cast<ir::ArrayType>(type)) {
    auto count = array.getCount().constant();
    if (!count)
      return unsupported(Span(), "a gradient of an array of unknown length");
    for (int64_t i = 0; i < *count; ++i)
      recurse(array.getElement(), [&](mlir::Value from) -> mlir::Value {
        return create<ir::AtOp>(mlir::cast<ir::ArrayType>(from.getType()).getElement(), from,
                                constantInt(i));
      });
  } else if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    for (auto [i, name] : llvm::enumerate(aggregate.getFields()))
      recurse(aggregate.getParts()[i], [&, name = name](mlir::Value from) -> mlir::Value {
        auto have = mlir::cast<ir::AggregateType>(from.getType());
        for (auto [k, other] : llvm::enumerate(have.getFields()))
          if (other == name)
            return create<ir::GetOp>(have.getParts()[k], from,
                                     builder.getI64IntegerAttr(static_cast<int64_t>(k)));
        return {};
      });
  } else {
    return {};
  }
  if (llvm::is_contained(parts, mlir::Value()))
    return {};
  return create<ir::MakeOp>(type, parts);
}

mlir::Value Emitter::emitGradArithmetic(Tok op, const Expr *left, const Expr *right) {
  mlir::Value l = emit(left), r = emit(right);
  if (!l || !r)
    return {};
  mlir::Type type = isa<ir::TensorType>(l.getType()) ? r.getType() : l.getType();
  return overLeaves(type, {l, r}, [&](ArrayRef<mlir::Value> v) -> mlir::Value {
    mlir::Type element = elementOf(isa<ir::TensorType>(l.getType()) ? v[1] : v[0]);
    return arithmetic(op, cast(v[0], element), cast(v[1], element), nullptr);
  });
}

/// The model with its parameters replaced by those of `params`, a value of its gradient's type.
mlir::Value Emitter::withParams(mlir::Value model, mlir::Value params) {
  if (isa<ir::TensorType>(model.getType()))
    return fit(params, model.getType());
  if (auto array = dyn_cast<ir::ArrayType>(model.getType())) {
    auto count = array.getCount().constant().value_or(0);
    SmallVector<mlir::Value> elements;
    for (int64_t i = 0; i < count; ++i) {
      mlir::Value old = create<ir::AtOp>(array.getElement(), model, constantInt(i));
      mlir::Type element = mlir::cast<ir::ArrayType>(params.getType()).getElement();
      elements.push_back(
          withParams(old, create<ir::AtOp>(element, params, constantInt(i)).getResult()));
    }
    return create<ir::MakeOp>(array, elements);
  }
  auto have = mlir::cast<ir::AggregateType>(model.getType());
  auto given = mlir::cast<ir::AggregateType>(params.getType());
  for (auto [i, name] : llvm::enumerate(given.getFields()))
    for (auto [k, other] : llvm::enumerate(have.getFields()))
      if (other == name) {
        auto part = builder.getI64IntegerAttr(static_cast<int64_t>(k));
        mlir::Value old = create<ir::GetOp>(have.getParts()[k], model, part);
        mlir::Value now = create<ir::GetOp>(given.getParts()[i], params,
                                            builder.getI64IntegerAttr(static_cast<int64_t>(i)));
        model = create<ir::SetOp>(have, model, withParams(old, now), part);
      }
  return model;
}

/// m += g and m -= g change parameters only; g += h adds gradients.
void Emitter::emitGradUpdate(const Assign *stmt, Tok op) {
  mlir::Value target = emit(stmt->target), g = emit(stmt->value);
  if (!target || !g)
    return;
  at(stmt->opSpan);
  bool model = concrete(stmt->target->checked->type)->is(Kind::Nominal);
  mlir::Value moved = overLeaves(model ? g.getType() : target.getType(), {target, g},
                                 [&](ArrayRef<mlir::Value> v) -> mlir::Value {
                                   mlir::Value r = cast(v[1], elementOf(v[0]));
                                   return arithmetic(op, v[0], r, nullptr);
                                 });
  if (moved)
    assign(stmt->target, model ? withParams(target, moved) : moved);
}

mlir::Value Emitter::zeroGradient(mlir::Type type) {
  return overLeavesOf(type, [&](ir::TensorType leaf) -> mlir::Value {
    return create<ir::FullOp>(leaf, constantNumber(leaf.getElement(), 0, 0, true));
  });
}

mlir::Value Emitter::overLeavesOf(mlir::Type type,
                                  llvm::function_ref<mlir::Value(ir::TensorType)> leaf) {
  if (auto tensorType = dyn_cast<ir::TensorType>(type))
    return leaf(tensorType);
  SmallVector<mlir::Value> parts;
  if (auto array = dyn_cast<ir::ArrayType>(type))
    for (int64_t i = 0; i < array.getCount().constant().value_or(0); ++i)
      parts.push_back(overLeavesOf(array.getElement(), leaf));
  else if (auto aggregate = dyn_cast<ir::AggregateType>(type))
    for (mlir::Type part : aggregate.getParts())
      parts.push_back(overLeavesOf(part, leaf));
  else
    return {};
  if (llvm::is_contained(parts, mlir::Value()))
    return {};
  return create<ir::MakeOp>(type, parts);
}

// ------------------------------------------------------------------------------------------ grad

/// Outlines the block as a function of its captured values. A target that is a part of a variable
/// is an argument of its own, which replaces that part first.
mlir::Value Emitter::emitGrad(const Grad *e) {
  const Type *result = concrete(e->checked->type);
  const Type *valueType = result->parts[0];
  Variables used, assigned;
  for (const Expr *target : e->targets)
    usedIn(target, used);
  usedIn(e->body, used);
  assignedIn(e->body, assigned);
  SmallVector<Symbol *> captured, changed;
  SmallVector<mlir::Value> args;
  auto isTarget = [&](Symbol *symbol) {
    return llvm::any_of(e->targets, [&](const Expr *target) {
      auto *name = as<Name>(target);
      return name && name->symbol == symbol;
    });
  };
  for (Symbol *symbol : used)
    if ((values.count(symbol) || shared.globals.count(symbol)) && !staticValue(symbol) &&
        (isTarget(symbol) ||
         !(symbol->value.host && symbol->value.constant != sema::Value::NoConstant))) {
      if (!isTarget(symbol) && symbol->kind == sema::SymbolKind::Variable && symbol->value.host &&
          symbol->value.dim && isBound(symbol->value.dim))
        continue;
      captured.push_back(symbol);
      args.push_back(symbol == &selfPlaceholder ? self() : read(symbol));
    }
  for (Symbol *symbol : assigned)
    if (llvm::is_contained(captured, symbol))
      changed.push_back(symbol);
  auto lvalue = [&](Symbol *symbol) {
    return static_cast<size_t>(llvm::find(captured, symbol) - captured.begin());
  };
  // The differentiated arguments: captured variables, then parts of some.
  SmallVector<int64_t> wrt;
  SmallVector<const Expr *> parts;
  SmallVector<std::string> names;
  for (Symbol *symbol : captured)
    names.push_back(symbol == &selfPlaceholder ? "self" : std::string(symbol->name));
  for (const Expr *target : e->targets) {
    auto *name = as<Name>(target);
    if (name && name->symbol && llvm::is_contained(captured, name->symbol)) {
      size_t i = lvalue(name->symbol);
      args[i] = toDevice(args[i]);
      wrt.push_back(static_cast<int64_t>(i));
      continue;
    }
    mlir::Value part = toDevice(emit(target));
    if (!part)
      return {};
    wrt.push_back(static_cast<int64_t>(captured.size() + parts.size()));
    parts.push_back(target);
    args.push_back(part);
    names.push_back(sema.textOf(target->outerSpan));
  }
  SmallVector<mlir::Type> inputs, results;
  for (mlir::Value v : args)
    inputs.push_back(v.getType());
  std::set<AtomId> sizes;
  sizesIn(e->body, sizes);
  for (AtomId atom : sizes)
    if (!sizeNames.count(atom) && storeOfSize(atom))
      size(sema.dims.symbol(atom)); // binds it: results of the block may have it
  // The differentiated result comes first, then the others, then changed variables.
  bool tuple = valueType->is(Kind::Tuple);
  mlir::Type whole = convert(valueType);
  if (tuple)
    llvm::append_range(results, mlir::cast<ir::AggregateType>(whole).getParts());
  else
    results.push_back(whole);
  size_t own = results.size();
  for (Symbol *symbol : changed)
    results.push_back(args[lvalue(symbol)].getType());

  std::string name = (instance.symbol.empty() ? std::string("grad") : instance.symbol + ".grad") +
                     "$" + std::to_string(shared.graphBlocks++);
  Instance block = outlined();
  block.symbol = name;
  block.isGraph = false;
  Emitter inside(shared, block);
  inside.inGraph = inGraph;
  inside.topLevel = topLevel;
  inside.sizesOfBody = sizesOfBody;
  inside.adopted = adopted;
  inside.beginFunction(builder.getFunctionType(inputs, results), false, name, e->span);
  auto function = mlir::cast<FunctionOpInterface>(inside.functionOp);
  mlir::Block &entry = function.getFunctionBody().front();
  for (auto [i, argument] : llvm::enumerate(names))
    function.setArgAttr(static_cast<unsigned>(i), ir::kName, builder.getStringAttr(argument));
  for (auto [i, target] : llvm::zip_equal(wrt, e->targets))
    entry.getArgument(static_cast<unsigned>(i)).setLoc(loc(target->outerSpan));
  auto inner = [&](Symbol *symbol) {
    return symbol == &selfPlaceholder ? &inside.selfPlaceholder : symbol;
  };
  for (auto [i, symbol] : llvm::enumerate(captured))
    inside.values[inner(symbol)] = entry.getArgument(static_cast<unsigned>(i));
  for (auto [i, target] : llvm::enumerate(parts))
    inside.assign(target, entry.getArgument(static_cast<unsigned>(captured.size() + i)));
  mlir::Value value = inside.emitBlock(e->body, true);
  if (shared.failed || !value)
    return {};
  inside.at(e->body->span);
  SmallVector<mlir::Value> out;
  value = inside.fit(value, whole);
  if (tuple)
    for (size_t i = 0; i < own; ++i)
      out.push_back(inside.create<ir::GetOp>(results[i], value,
                                             builder.getI64IntegerAttr(static_cast<int64_t>(i))));
  else
    out.push_back(value);
  for (auto [i, symbol] : llvm::enumerate(changed))
    out.push_back(inside.fit(inside.values.lookup(inner(symbol)), results[own + i]));
  // Watched values of the block (S20) are passed through.
  SmallVector<Symbol *> watched;
  if (instance.function)
    for (Symbol *symbol : instance.function->fetched)
      if (!values.count(symbol) && inside.values.count(symbol) &&
          !llvm::is_contained(watched, symbol)) {
        out.push_back(inside.fetched(symbol));
        if (!out.back())
          return {};
        watched.push_back(symbol);
        results.push_back(out.back().getType());
      }
  function.setType(builder.getFunctionType(inputs, results));
  inside.create<ir::ReturnOp>(out);

  at(e->keyword);
  const Type *gradients = result->parts[1];
  bool several = e->targets.size() > 1;
  for (size_t i = 0; i < e->targets.size(); ++i)
    results.push_back(convert(several ? gradients->parts[i] : gradients));
  auto op = create<ir::GradOp>(results, name, args, wrt, sizesFor(block));
  SmallVector<mlir::Value> all(op.getResults());
  for (auto [i, symbol] : llvm::enumerate(changed)) {
    if (symbol == &selfPlaceholder)
      setSelf(all[own + i]);
    else
      write(symbol, all[own + i]);
  }
  for (auto [i, symbol] : llvm::enumerate(watched))
    values[symbol] = all[own + changed.size() + i];
  ArrayRef<mlir::Value> found = ArrayRef(all).drop_front(own + changed.size() + watched.size());
  mlir::Value primal =
      tuple ? create<ir::MakeOp>(whole, ArrayRef(all).take_front(own)).getResult() : all[0];
  mlir::Value gradient =
      several ? create<ir::MakeOp>(convert(gradients), found).getResult() : found[0];
  return create<ir::MakeOp>(convert(result), ValueRange{primal, gradient});
}

} // namespace mx::irgen
