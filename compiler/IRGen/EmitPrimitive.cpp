// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builtins. Those with an op of their own are lowered to it; others are composed of these here, so
// that eager code, graphs and gradients share one definition.
#include "IRGen/Compose.h"
#include "dialects/mx/Marks.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

const Expr *Emitter::argument(const PrimitiveCall &call, StringRef name) {
  const sema::CallInfo &info = *call.info;
  for (size_t p = 0; p < info.function->params.size() && p < info.arguments.size(); ++p)
    if (StringRef(info.function->params[p].name) == name)
      return info.arguments[p] ? info.arguments[p]
                               : defaultOf(info.function->params[p], *info.function);
  return nullptr;
}

/// An argument with the element type that the call gives its parameter: `[1, 2].mean()` is a mean
/// of floats.
mlir::Value Emitter::emitOperand(const PrimitiveCall &call, StringRef name) {
  const Expr *given = argument(call, name);
  if (!given)
    return {};
  const auto &params = call.info->function->params;
  auto param = llvm::find_if(params, [&](const sema::ParamInfo &p) { return p.name == name; });
  if (param == params.end() || !param->type->isTensor() || !given->checked->type->isTensor())
    return emit(given);
  sema::Elem elem = param->type->elem;
  if (elem.isVariable()) {
    auto bound = call.info->bindings.elems.find(elem.variableId());
    if (bound == call.info->bindings.elems.end())
      return emit(given);
    elem = concrete(bound->second);
  }
  return elem.isVariable() || !elem.valid() ? emit(given) : emitAs(given, elementType(elem));
}

std::optional<int64_t> Emitter::staticInt(const Expr *e) {
  return e && e->checked && e->checked->dim ? number(e->checked->dim) : std::nullopt;
}

std::optional<SmallVector<int64_t>> Emitter::staticInts(const Expr *e) {
  SmallVector<int64_t> out;
  auto add = [&](const Expr *x) {
    auto n = staticInt(x);
    if (n)
      out.push_back(*n);
    return n.has_value();
  };
  bool ok = true;
  if (auto *list = as<ListExpr>(e)) {
    for (const Expr *x : list->elements)
      ok &= add(x);
  } else if (auto *tuple = as<Tuple>(e)) {
    for (const Expr *x : tuple->elements)
      ok &= add(x);
  } else {
    ok = add(e);
  }
  if (!ok)
    return std::nullopt;
  return out;
}

std::optional<bool> Emitter::staticBool(const PrimitiveCall &call, StringRef name) {
  const Expr *e = argument(call, name);
  if (!e)
    return false;
  if (auto *n = as<Name>(e); n && n->symbol)
    if (auto *known = staticValue(n->symbol); known && known->kind == sema::StaticValue::Bool)
      return known->flag;
  if (e->checked && e->checked->constant == sema::Value::BoolConstant)
    return e->checked->flag;
  if (auto *literal = as<Bool>(e))
    return literal->value;
  return std::nullopt;
}

mlir::Value Emitter::scalarLike(mlir::Value like, double value) {
  return constantNumber(elementOf(like), value, 0, false);
}
mlir::Value Emitter::scalarSize(Dim count, mlir::Type element) {
  if (auto known = number(count))
    return constantNumber(element, 0, *known, true);
  return cast(sizeValue(count), element);
}

// ---------------------------------------------------------------------------------------
// reductions

mlir::Value Emitter::reduce(StringRef op, mlir::Value x, ArrayRef<int64_t> axes, bool keep) {
  x = toDevice(x);
  ir::TensorType type = tensor(x);
  SmallVector<ir::SizeAttr> sizes;
  for (auto [i, s] : llvm::enumerate(type.getSizes())) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      sizes.push_back(s);
    else if (keep)
      sizes.push_back(ir::SizeAttr::get(&shared.context, int64_t(1)));
  }
  mlir::Type element = type.getElement();
  if (op == "argmax" || op == "argmin")
    element = builder.getI32Type();
  else if (op == "any" || op == "all")
    element = builder.getI1Type();
  OperationState state(builder.getLoc(), ("mx." + op).str());
  state.addOperands(x);
  state.addTypes(type.withElement(element).withSizes(sizes));
  state.addAttribute("axes", builder.getDenseI64ArrayAttr(axes));
  if (keep)
    state.addAttribute("keep", builder.getUnitAttr());
  return builder.create(state)->getResult(0);
}

/// sum / n; the count is a size, so a graph knows it before it runs.
mlir::Value Emitter::mean(mlir::Value x, ArrayRef<int64_t> axes, bool keep) {
  mlir::Value sum = reduce("sum", x, axes, keep);
  ir::SizeTable &table = shared.context.getOrLoadDialect<ir::MxDialect>()->sizes();
  Dim count;
  {
    std::lock_guard guard(table.lock);
    count = table.dims.constant(1);
    for (int64_t axis : axes)
      count = table.dims.mul(count, tensor(x).getSizes()[axis].dim());
  }
  mlir::Type element = elementOf(sum);
  mlir::Value n;
  if (auto known = count ? count.constant() : std::nullopt)
    n = constantNumber(element, 0, *known, true);
  else
    n = cast(create<ir::SizeOp>(ir::TensorType::host(builder.getI64Type()),
                                ir::SizeAttr::get(&shared.context, count)),
             element);
  return elementwise("div", {sum, n}, element);
}

/// The max that is subtracted before `exp` (numerically stable softmax and logsumexp), with the
/// axes kept. The result does not depend on it, so its gradient is stopped. -inf for no elements.
mlir::Value Emitter::largest(mlir::Value x, ArrayRef<int64_t> axes) {
  mlir::Value top = reduce("max", x, axes, /*keep=*/true);
  top.getDefiningOp()->setAttr(ir::kTotal, builder.getUnitAttr());
  return create<ir::StopOp>(top.getType(), top);
}

/// The square root with gradient 0 at 0, where the slope is infinite: the convention of `norm` and
/// `std` at zeros and at equal elements, as elsewhere.
mlir::Value Emitter::rootOrZero(mlir::Value x) {
  mlir::Value zero = scalarLike(x, 0);
  mlir::Value isZero = elementwise("eq", {x, zero}, builder.getI1Type());
  mlir::Value root = elementwise("sqrt", {elementwise("select", {isZero, scalarLike(x, 1), x})});
  return elementwise("select", {isZero, zero, root});
}

/// No square overflows: those of small types are summed in f64, whose range holds them all, and
/// those of f64 are scaled by the max first.
mlir::Value Emitter::norm(mlir::Value x, ArrayRef<int64_t> axes, bool keep) {
  mlir::Type element = elementOf(x), boolean = builder.getI1Type();
  auto root = [&](mlir::Value v) {
    return rootOrZero(reduce("sum", elementwise("mul", {v, v}), axes, keep));
  };
  if (!element.isF64())
    return cast(root(cast(x, builder.getF64Type())), element);
  mlir::Value top = largest(elementwise("abs", {x}), axes);
  mlir::Value usable = elementwise("and", {elementwise("isfinite", {top}, boolean),
                                           elementwise("gt", {top, scalarLike(top, 0)}, boolean)});
  mlir::Value scale = elementwise("select", {usable, top, scalarLike(top, 1)});
  mlir::Value result = root(elementwise("div", {x, scale}, element));
  if (!keep)
    scale = create<ir::ReshapeOp>(tensor(result), scale);
  return elementwise("mul", {result, scale});
}

mlir::Value Emitter::emitReduction(const PrimitiveCall &call) {
  const Expr *axis = nullptr;
  for (size_t p = 0; p < call.info->function->params.size(); ++p)
    if (call.info->function->params[p].name == "axis")
      axis = call.info->arguments[p];
  mlir::Value x = emitOperand(call, "x");
  if (!x)
    return {};
  x = toDevice(x);
  int64_t rank = static_cast<int64_t>(tensor(x).rank());
  SmallVector<int64_t> axes;
  if (axis) {
    auto given = staticInts(axis);
    if (!given)
      return unsupported(axis->span, "an axis that is not a number");
    for (int64_t a : *given)
      axes.push_back(a < 0 ? a + rank : a);
    llvm::sort(axes);
  } else {
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  auto keep = staticBool(call, "keep");
  if (!keep)
    return unsupported(call.whole->span, "`keep` that is not known");
  StringRef name = call.name;
  if (name == "mean")
    return mean(x, axes, *keep);
  if (name == "variance" || name == "std") {
    // A standard deviation has the range of the elements, their squares do not: as in `norm`. In 16
    // bits the squares of ordinary numbers overflow.
    mlir::Type element = elementOf(x);
    if (name == "std" || element.isF16() || element.isBF16())
      x = cast(x, name == "std" ? builder.getF64Type() : builder.getF32Type());
    mlir::Value centred = elementwise("sub", {x, mean(x, axes, /*keep=*/true)});
    mlir::Value variance = mean(elementwise("mul", {centred, centred}), axes, *keep);
    return cast(name == "std" ? rootOrZero(variance) : variance, element);
  }
  if (name == "norm")
    return norm(x, axes, *keep);
  if (name == "logsumexp") {
    mlir::Value top = largest(x, axes);
    // If all are -inf, or one is inf, the max is not subtracted: inf - inf is NaN.
    mlir::Value finite = elementwise("isfinite", {top}, builder.getI1Type());
    mlir::Value shift = elementwise("select", {finite, top, scalarLike(top, 0)});
    mlir::Value sum =
        reduce("sum", elementwise("exp", {elementwise("sub", {x, shift})}), axes, *keep);
    mlir::Value back = shift;
    if (!*keep)
      back = create<ir::ReshapeOp>(tensor(sum), shift);
    return elementwise("add", {elementwise("log", {sum}), back});
  }
  return reduce(name, x, axes, *keep);
}

// -------------------------------------------------------------------------------------------
// shapes

/// The elements of an array of tensors of known length.
bool Emitter::arrayParts(const Expr *e, SmallVectorImpl<mlir::Value> &parts) {
  const Type *type = concrete(e->checked->type);
  auto count = type->is(Kind::Array)   ? number(type->count)
               : type->is(Kind::Tuple) ? std::optional(static_cast<int64_t>(type->parts.size()))
                                       : std::nullopt;
  if (!count)
    return unsupported(e->span, "an array of tensors whose length is not known"), false;
  mlir::Value all = emit(e);
  for (int64_t i = 0; all && i < *count; ++i)
    parts.push_back(
        type->is(Kind::Array)
            ? create<ir::AtOp>(mlir::cast<ir::ArrayType>(all.getType()).getElement(), all,
                               constantInt(i))
                  .getResult()
            : create<ir::GetOp>(mlir::cast<ir::AggregateType>(all.getType()).getParts()[i], all,
                                builder.getI64IntegerAttr(i))
                  .getResult());
  return static_cast<bool>(all);
}

mlir::Value Emitter::emitShaped(const PrimitiveCall &call, bool &handled) {
  handled = true;
  const Type *type = concrete(call.info->result ? call.info->result : call.whole->checked->type);
  StringRef name = call.name;
  auto result = [&] { return mlir::cast<ir::TensorType>(convert(type)); };
  auto operand = [&](StringRef parameter) -> mlir::Value {
    return toDevice(emitOperand(call, parameter));
  };
  auto nameSizes = [&] {
    if (const Expr *shape = argument(call, "shape"))
      if (as<ListExpr>(shape))
        emitShape(concrete(shape->checked->type), shape);
  };
  if (name == "reshape" || name == "broadcast" || name == "squeeze") {
    mlir::Value x = operand("x");
    if (!x)
      return {};
    nameSizes();
    if (name == "broadcast")
      return create<ir::BroadcastOp>(result(), x);
    return create<ir::ReshapeOp>(result(), x);
  }
  if (name == "transpose") {
    mlir::Value x = operand("x");
    auto order = staticInts(argument(call, "order"));
    if (!x || !order)
      return x ? unsupported(call.whole->span, "an order that is not known") : x;
    for (int64_t &axis : *order)
      axis += axis < 0 ? static_cast<int64_t>(order->size()) : 0;
    return create<ir::TransposeOp>(result(), x, builder.getDenseI64ArrayAttr(*order));
  }
  if (name == "concat" || name == "stack") {
    SmallVector<mlir::Value> parts;
    int64_t axis = 0;
    ir::TensorType whole = result();
    for (const Argument *a : call.given) {
      if (a->name.text == "axis") {
        auto given = staticInt(a->value);
        if (!given)
          return unsupported(a->span, "an axis that is not a number");
        axis = *given;
        continue;
      }
      if (auto *list = as<ListExpr>(a->value); list && list->checked->type->is(Kind::Tuple)) {
        for (const Expr *element : list->elements) {
          mlir::Value part = toDevice(emitAs(element, whole.getElement()));
          if (!part)
            return {};
          parts.push_back(part);
        }
        continue;
      }
      if (!a->value->checked->type->isTensor()) {
        if (!arrayParts(a->value, parts))
          return {};
        continue;
      }
      mlir::Value part = toDevice(emitAs(a->value, whole.getElement()));
      if (!part)
        return {};
      parts.push_back(part);
    }
    if (axis < 0)
      axis += static_cast<int64_t>(whole.rank());
    if (name == "stack")
      for (mlir::Value &part : parts) {
        SmallVector<ir::SizeAttr> sizes(tensor(part).getSizes());
        sizes.insert(sizes.begin() + axis, ir::SizeAttr::get(&shared.context, int64_t(1)));
        part = create<ir::ReshapeOp>(tensor(part).withSizes(sizes), part);
      }
    return create<ir::ConcatOp>(whole, parts, builder.getI64IntegerAttr(axis));
  }
  if (name == "split") {
    mlir::Value x = operand("x");
    auto parts = staticInt(argument(call, "parts"));
    auto axis = staticInt(argument(call, "axis"));
    if (!x || !parts || !axis)
      return x ? unsupported(call.whole->span, "a split that is not known") : x;
    int64_t at = *axis < 0 ? *axis + static_cast<int64_t>(tensor(x).rank()) : *axis;
    const Type *part = type->is(Kind::Tuple) ? type->parts[0] : type;
    auto partType = mlir::cast<ir::TensorType>(convert(part));
    mlir::Value width = create<ir::SizeOp>(ir::TensorType::host(builder.getI64Type()),
                                           partType.getSizes()[static_cast<size_t>(at)]);
    SmallVector<std::string> spec(tensor(x).rank(), ":");
    spec[static_cast<size_t>(at)] = "rft";
    SmallVector<mlir::Value> pieces;
    for (int64_t i = 0; i < *parts; ++i) {
      mlir::Value from = elementwise("mul", {width, constantInt(i)});
      mlir::Value to = elementwise("mul", {width, constantInt(i + 1)});
      pieces.push_back(create<ir::SliceOp>(partType, x, ValueRange{from, to}, specAttr(spec)));
    }
    return pieces.size() == 1 ? pieces[0] : create<ir::MakeOp>(convert(type), pieces).getResult();
  }
  if (name == "take") {
    mlir::Value x = operand("x");
    mlir::Value index = x ? toDevice(emitAs(argument(call, "index"), builder.getI32Type())) : x;
    auto axis = staticInt(argument(call, "axis"));
    if (!x || !index || !axis)
      return {};
    int64_t at = *axis < 0 ? *axis + static_cast<int64_t>(tensor(x).rank()) : *axis;
    return create<ir::TakeOp>(result(), x, index, builder.getI64IntegerAttr(at));
  }
  if (name == "to") {
    mlir::Value x = operand("x");
    if (!x || !type->device)
      return x ? unsupported(call.whole->span, "a device that is not a constant") : x;
    auto moved = create<ir::ToDeviceOp>(tensor(x), x);
    moved->setAttr(ir::kOn, builder.getStringAttr(type->device->name));
    return moved;
  }
  handled = false;
  return {};
}

// -------------------------------------------------------------------------------------------
// construction

mlir::Value Emitter::emitMaking(const PrimitiveCall &call, bool &handled) {
  handled = true;
  const Type *type = concrete(call.info->result);
  StringRef name = call.name;
  // Binds sizes known only at run time before the type is built.
  if (const Expr *shape = argument(call, "shape"); shape && as<ListExpr>(shape))
    emitShape(concrete(shape->checked->type), shape);
  for (StringRef count : {"n"})
    if (const Expr *e = argument(call, count); e && e->checked && type->isTensor())
      for (const Axis &axis : type->shape)
        if (axis.dim && !isBound(axis.dim))
          if (auto atom = sema.dims.asSymbol(axis.dim)) {
            adopted.insert(*atom);
            bindSize(*atom, emitHostInt(e));
          }
  if (name == "zeros_like_grad")
    return zeroGradient(convert(type));
  auto result = [&] { return mlir::cast<ir::TensorType>(convert(type)); };
  auto filled = [&](double value) -> mlir::Value {
    return create<ir::FullOp>(result(), constantNumber(result().getElement(), value, 0, false));
  };
  if (name == "zeros" || name == "zeros_like")
    return filled(0);
  if (name == "ones" || name == "ones_like")
    return filled(1);
  if (name == "full") {
    mlir::Value v = emitAs(argument(call, "value"), result().getElement());
    return v ? create<ir::FullOp>(result(), v).getResult() : v;
  }
  if (name == "iota")
    return create<ir::IotaOp>(result());
  auto row = [&](ir::SizeAttr n, bool column) -> mlir::Value {
    auto line = ir::TensorType::get(&shared.context, builder.getI32Type(), ArrayRef(n));
    mlir::Value counted = create<ir::IotaOp>(line);
    if (!column)
      return counted;
    SmallVector<ir::SizeAttr> sizes{n, ir::SizeAttr::get(&shared.context, int64_t(1))};
    return create<ir::ReshapeOp>(line.withSizes(sizes), counted);
  };
  if (name == "eye" || name == "tril" || name == "triu") {
    mlir::Value rows = row(result().getSizes()[0], true),
                columns = row(result().getSizes()[1], false);
    StringRef relation = name == "eye" ? "eq" : name == "tril" ? "ge" : "le";
    mlir::Value mask = elementwise(relation, {rows, columns}, builder.getI1Type());
    return name == "eye" ? cast(mask, result().getElement()) : mask;
  }
  if (name == "one_hot") {
    mlir::Value index = emitAs(argument(call, "index"), builder.getI32Type());
    if (!index)
      return {};
    SmallVector<ir::SizeAttr> sizes(tensor(index).getSizes());
    // The indices, checked to be valid class labels.
    ir::SizeAttr classes = result().getSizes().back();
    mlir::Value numbers = create<ir::IotaOp>(
        ir::TensorType::get(&shared.context, builder.getI32Type(), ArrayRef(classes)));
    index = toDevice(index);
    auto checked = create<ir::TakeOp>(tensor(index), numbers, index, builder.getI64IntegerAttr(0));
    checked->setAttr(ir::kLabels, builder.getUnitAttr());
    sizes.push_back(ir::SizeAttr::get(&shared.context, int64_t(1)));
    index = create<ir::ReshapeOp>(tensor(index).withSizes(sizes), checked);
    mlir::Value hit = elementwise("eq", {index, row(classes, false)}, builder.getI1Type());
    return cast(hit, result().getElement());
  }
  if (name == "linspace") {
    mlir::Type f32 = builder.getF32Type();
    mlir::Value start = emitAs(argument(call, "start"), f32),
                stop = emitAs(argument(call, "stop"), f32);
    if (!start || !stop)
      return {};
    mlir::Value position = create<ir::IotaOp>(result());
    // A single value is the start.
    mlir::Value steps =
        elementwise("maximum", {elementwise("sub", {cast(sizeValue(type->shape[0].dim), f32),
                                                    constantNumber(f32, 1, 0, false)}),
                                constantNumber(f32, 1, 0, false)});
    mlir::Value width = elementwise("sub", {stop, start});
    mlir::Value at = elementwise("div", {elementwise("mul", {position, width}), steps}, f32);
    return elementwise("add", {at, start});
  }
  handled = false;
  return {};
}

// ---------------------------------------------------------------------------------------------
// host

mlir::Value Emitter::emitHostCall(const PrimitiveCall &call, bool &handled) {
  handled = true;
  StringRef name = call.name;
  ir::StrType str = ir::StrType::get(&shared.context);
  auto all = [&](SmallVectorImpl<mlir::Value> &out) {
    for (const Argument *a : call.given) {
      mlir::Value v = emit(a->value);
      if (!v)
        return false;
      out.push_back(v);
    }
    return true;
  };
  SmallVector<mlir::Value> operands;
  if (name == "print") {
    if (all(operands))
      create<ir::PrintOp>(operands);
    return {};
  }
  if (name == "summary") {
    emitSummary(call);
    return {};
  }
  if (name == "str") {
    if (!all(operands))
      return {};
    return create<ir::FormatOp>(str, operands[0], builder.getStringAttr(""));
  }
  if (name == "len") {
    if (!all(operands))
      return {};
    mlir::Value length = dataLength(operands[0], concrete(call.given[0]->value->checked->type));
    if (auto atom =
            call.whole->checked->dim ? sema.dims.asSymbol(call.whole->checked->dim) : std::nullopt;
        atom && !sizeNames.count(*atom)) {
      adopted.insert(*atom);
      bindSize(*atom, length);
    }
    return length;
  }
  if (name == "option") { // its value is not known to the checker
    auto given = sema.givenNumbers.find(call.whole);
    return given == sema.givenNumbers.end()
               ? emit(call.given[1]->value)
               : constantNumber(elementType(call.whole->checked->type->elem), 0, given->second,
                                true);
  }
  if (name == "Error") {
    if (!all(operands))
      return {};
    return create<ir::MakeErrorOp>(ir::ErrorType::get(&shared.context), operands[0]);
  }
  if (name == "sync" || name == "wait") {
    if (all(operands))
      create<ir::NativeOp>(TypeRange(), ("mx." + name).str(), operands);
    return {};
  }
  if (name == "exists") {
    if (!all(operands))
      return {};
    return create<ir::NativeOp>(TypeRange{ir::TensorType::host(builder.getI1Type())}, "mx.exists",
                                operands)
        .getResult();
  }
  if (name == "fan_in" || name == "fan_out") {
    // For weights [in, out], or [out, in, window…].
    const Type *shape = concrete(argument(call, "shape")->checked->type);
    Shape sizes = sema.types.substitute(shape->shape, instance.bindings);
    bool in = name == "fan_in";
    Dim count = sema.dims.constant(1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      bool counts = sizes.size() < 3 ? (i == 0) == in || sizes.size() == 1 : i != (in ? 0 : 1);
      if (counts)
        count = sema.dims.mul(count, sizes[i].dim);
    }
    return sizeValue(count);
  }
  if (name == "seed") {
    if (!all(operands))
      return {};
    const Type *type = rngType();
    auto aggregate = mlir::cast<ir::AggregateType>(convert(type));
    setAmbientRng(
        create<ir::MakeOp>(aggregate, ValueRange{fit(operands[0], aggregate.getParts()[0]),
                                                 fit(constantInt(0), aggregate.getParts()[1])}));
    return {};
  }
  handled = false;
  return {};
}

// ----------------------------------------------------------------------------------------------
// all

mlir::Value Emitter::emitPrimitive(const PrimitiveCall &call) {
  at(call.whole->span);
  StringRef name = call.name, family(call.info->function->primitive->family);
  static const llvm::StringSet<> kReductions = {"sum",      "mean",   "prod",  "max",       "min",
                                                "variance", "std",    "norm",  "logsumexp", "any",
                                                "all",      "argmax", "argmin"};
  if (kReductions.contains(name))
    return emitReduction(call);
  if (std::optional<mlir::Value> composed = Composer(*this).run(call))
    return *composed || shared.failed ? *composed
                                      : unsupported(call.whole->span, "`" + name.str() + "`");
  if (family == "random")
    return emitRandom(call);
  if (family == "elementwise") {
    mlir::Type element = elementType(concrete(call.info->result)->elem);
    bool tests = name == "isnan" || name == "isfinite";
    SmallVector<mlir::Value> operands;
    for (auto [i, e] : llvm::enumerate(call.info->arguments)) {
      mlir::Value v;
      if (tests || (name == "select" && i == 0))
        v = emit(e);
      else
        v = emitAs(e, element);
      if (!v)
        return {};
      operands.push_back(v);
    }
    if (name == "stop")
      return create<ir::StopOp>(operands[0].getType(), operands[0]);
    return elementwise(name, operands, tests ? builder.getI1Type() : mlir::Type());
  }
  if (name == "softmax" || name == "log_softmax") {
    mlir::Value x = toDevice(emitOperand(call, "x"));
    auto axes = staticInts(argument(call, "axis"));
    if (!x || !axes || axes->size() != 1)
      return x ? unsupported(call.whole->span, "an axis that is not a number") : x;
    for (int64_t &axis : *axes)
      axis += axis < 0 ? static_cast<int64_t>(tensor(x).rank()) : 0;
    mlir::Value shifted = elementwise("sub", {x, largest(x, *axes)});
    mlir::Value powers = elementwise("exp", {shifted});
    mlir::Value sum = reduce("sum", powers, *axes, /*keep=*/true);
    if (name == "log_softmax")
      return elementwise("sub", {shifted, elementwise("log", {sum})});
    // One division per row (decision 26).
    mlir::Value one = constantNumber(elementOf(powers), 1, 1, /*isWhole=*/true);
    return elementwise("mul", {powers, elementwise("div", {one, sum}, elementOf(sum))});
  }
  if (name == "allclose") {
    mlir::Value x = emitOperand(call, "x"), y = emitOperand(call, "y");
    if (!x || !y)
      return {};
    // A literal takes the type of the other operand.
    if (elementOf(x) != elementOf(y)) {
      const sema::Value *given = argument(call, "x")->checked;
      bool first = given->constant == sema::Value::FloatConstant || given->dim;
      mlir::Value &literal = first ? x : y;
      literal = emitAs(argument(call, first ? "x" : "y"), elementOf(first ? y : x));
    }
    mlir::Type element = elementOf(x);
    mlir::Value rtol = emitAs(argument(call, "rtol"), element);
    mlir::Value atol = emitAs(argument(call, "atol"), element);
    if (!rtol || !atol)
      return {};
    mlir::Value distance = elementwise("abs", {elementwise("sub", {x, y})});
    mlir::Value allowed =
        elementwise("add", {elementwise("mul", {elementwise("abs", {y}), rtol}), atol});
    mlir::Type boolean = builder.getI1Type();
    // An infinity is close only to itself.
    mlir::Value close = elementwise("le", {distance, allowed}, boolean);
    mlir::Value finite = elementwise("isfinite", {y}, boolean);
    mlir::Value same = elementwise("eq", {x, y}, boolean);
    mlir::Value ok = elementwise("or", {elementwise("and", {close, finite}), same});
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, tensor(ok).rank()));
    return reduce("all", ok, axes, false);
  }
  bool handled = false;
  if (family == "making") {
    mlir::Value v = emitMaking(call, handled);
    if (handled)
      return v;
  }
  mlir::Value v = emitShaped(call, handled);
  if (handled)
    return v;
  if (name == "one_hot") {
    v = emitMaking(call, handled);
    return v;
  }
  v = emitHostCall(call, handled);
  if (handled)
    return v;
  v = emitDataCall(call, handled);
  if (handled)
    return v;
  return unsupported(call.whole->span, "`" + name.str() + "`");
}

} // namespace mx::irgen
