// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random ops on counter-based generators (Philox: seed and counter), and derived generators.
#include "IRGen/Emitter.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

namespace mx::irgen {
using namespace mlir;
using namespace ast;

mlir::Value Emitter::emitRandom(const PrimitiveCall &call) {
  const Type *type = concrete(call.info->result);
  if (const Expr *shape = argument(call, "shape"); shape && as<ListExpr>(shape))
    emitShape(concrete(shape->checked->type), shape);
  SmallVector<mlir::Value> parameters;
  mlir::Type number =
      call.name == "randint" ? mlir::Type(builder.getI32Type()) : mlir::Type(builder.getF32Type());
  for (StringRef parameter : {"mean", "std", "low", "high", "p", "logits"})
    if (const Expr *e = argument(call, parameter)) {
      mlir::Value v = parameter == "logits" ? emit(e) : emitAs(e, number);
      // The sampler compares logarithms in f32.
      if (v && parameter == "logits")
        v = cast(toDevice(v), builder.getF32Type());
      if (!v)
        return {};
      parameters.push_back(v);
    }
  auto result = mlir::cast<ir::TensorType>(convert(type));
  mlir::Type element = result.getElement();
  if (call.name == "uniform" && (element.isF16() || element.isBF16())) {
    mlir::Value drawn = draw(call, call.name, result.withElement(builder.getF32Type()), parameters);
    return drawn ? narrowBelow(drawn, parameters[1], element) : drawn;
  }
  return draw(call, call.name, result, parameters);
}

/// Casts x to a 16-bit type and keeps it below `high`: if rounding reaches `high`, takes the
/// previous number. That is the nearest one to a number moved down by more than 0.5 and less than
/// 1.5 ulp.
mlir::Value Emitter::narrowBelow(mlir::Value x, mlir::Value high, mlir::Type element) {
  const llvm::fltSemantics &kind = mlir::cast<mlir::FloatType>(element).getFloatSemantics();
  double step = 1.25 * std::ldexp(1, -static_cast<int>(llvm::APFloat::semanticsPrecision(kind)));
  double smallest = 0.75 * llvm::APFloat::getSmallest(kind).convertToDouble();
  mlir::Type wide = elementOf(x);
  mlir::Value rounded = cast(cast(x, element), wide);
  mlir::Value down = elementwise(
      "maximum", {elementwise("mul", {elementwise("abs", {rounded}), scalarLike(x, step)}),
                  scalarLike(x, smallest)});
  mlir::Value below = elementwise("lt", {rounded, high}, builder.getI1Type());
  return cast(elementwise("select", {below, rounded, elementwise("sub", {rounded, down})}),
              element);
}

mlir::Value Emitter::draw(const PrimitiveCall &call, StringRef kind, ir::TensorType result,
                          ArrayRef<mlir::Value> parameters) {
  if (const Expr *shape = argument(call, "shape"); shape && as<ListExpr>(shape))
    emitShape(concrete(shape->checked->type), shape);
  const Expr *lvalue = nullptr;
  for (size_t p = 0; p < call.info->function->params.size(); ++p)
    if (call.info->function->params[p].name == "rng")
      lvalue = call.info->arguments[p];
  mlir::Value generator = lvalue ? emit(lvalue) : ambientRng();
  if (!generator)
    return {};
  auto aggregate = mlir::cast<ir::AggregateType>(generator.getType());
  auto part = [&](int64_t i) -> mlir::Value {
    return create<ir::GetOp>(aggregate.getParts()[static_cast<size_t>(i)], generator,
                             builder.getI64IntegerAttr(i));
  };
  mlir::Value seed = part(0), counter = part(1);
  mlir::Value drawn =
      create<ir::RandomOp>(result, builder.getStringAttr(kind), seed, counter, parameters);
  // The counter advances by at least one Philox block per element.
  ir::TensorType counts = kind == "categorical" ? tensor(parameters[0]) : result;
  ir::SizeTable &table = shared.context.getOrLoadDialect<ir::MxDialect>()->sizes();
  ir::SizeAttr elements;
  {
    std::lock_guard guard(table.lock);
    Dim count = table.dims.constant(1);
    for (ir::SizeAttr s : counts.getSizes())
      count = count ? table.dims.mul(count, s.dim()) : count;
    elements = ir::SizeAttr::get(&shared.context, count ? count : table.dims.constant(1));
  }
  mlir::Value moved = elementwise(
      "add", {create<ir::SizeOp>(ir::TensorType::host(builder.getI64Type()), elements), counter});
  mlir::Value next = create<ir::SetOp>(aggregate, generator, fit(moved, aggregate.getParts()[1]),
                                       builder.getI64IntegerAttr(1));
  if (lvalue)
    assign(lvalue, next);
  else
    setAmbientRng(next);
  return drawn;
}

/// FNV-1a, the hash that the runtime uses for names known only at run time.
static uint64_t textHash(StringRef text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

/// A child's seed is a function of the parent's state and of a number, which stands for its name.
mlir::Value Emitter::forkRng(mlir::Value generator, mlir::Value name) {
  auto aggregate = mlir::cast<ir::AggregateType>(generator.getType());
  auto part = [&](int64_t i) -> mlir::Value {
    return create<ir::GetOp>(aggregate.getParts()[static_cast<size_t>(i)], generator,
                             builder.getI64IntegerAttr(i));
  };
  auto one = ir::TensorType::get(&shared.context, builder.getI64Type(), ArrayRef<ir::SizeAttr>());
  mlir::Value seed =
      create<ir::RandomOp>(one, builder.getStringAttr("fork"), part(0), part(1), ValueRange{name});
  return create<ir::MakeOp>(aggregate, ValueRange{fit(seed, aggregate.getParts()[0]),
                                                  fit(constantInt(0), aggregate.getParts()[1])});
}

/// rng.split(n) with a number that only the run knows: the children of the static form, as an array
/// that the runtime makes.
mlir::Value Emitter::splitAtRun(const Expr *count, const sema::CallInfo &info,
                                mlir::Value generator) {
  if (inGraph) {
    if (!shared.failed)
      sema.diags
          .report(Code::E0317, count->span,
                  "the number of generators in a graph is known before it runs")
          .caret("`" + sema.textOf(count) + "` is known when the graph is called")
          .help("make it a `static` parameter, or split before the graph and pass one generator");
    shared.failed = true;
    return {};
  }
  mlir::Type type = convert(concrete(info.result));
  return native("mx.rng.split", type,
                {toHost(part(generator, 0)), toHost(part(generator, 1)), emitHostInt(count)});
}

/// rng.fork(name) and rng.split(n).
mlir::Value Emitter::deriveRng(const Expr *whole, const sema::CallInfo &info) {
  const sema::FunctionInfo &f = *info.function;
  mlir::Value generator = info.receiver ? emit(info.receiver) : self();
  const Expr *given = info.arguments.empty() ? nullptr : info.arguments[0];
  if (!generator || !given)
    return {};
  auto named = [&](StringRef name) { return constantInt(static_cast<int64_t>(textHash(name))); };
  at(whole->span);
  if (f.name == "fork") {
    if (given->checked->constant == sema::Value::StringConstant)
      return forkRng(generator, named(given->checked->text));
    mlir::Value text = emit(given);
    if (!text || inGraph)
      return text ? unsupported(given->span, "a name that only the run knows, in a graph,") : text;
    mlir::Type number = ir::TensorType::host(builder.getI64Type());
    mlir::Value hash =
        create<ir::NativeOp>(TypeRange{number}, "mx.text_hash", ValueRange{text}).getResult();
    return forkRng(generator, hash);
  }
  auto count = staticInt(given);
  if (!count)
    return splitAtRun(given, info, generator);
  SmallVector<mlir::Value> children;
  for (int64_t i = 0; i < *count; ++i)
    children.push_back(forkRng(generator, named("#" + std::to_string(i))));
  return create<ir::MakeOp>(convert(concrete(info.result)), children);
}

} // namespace mx::irgen
