// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data sets, loaders, progress bars, checkpoints: calls of the runtime's data functions by name,
// and loops over their results.
//
// A data set is a handle to an immutable object. A loader is a struct: a handle to its loading
// plan, and integers for its position, so that it is copied, saved and restored like any value.
#include "IRGen/Emitter.h"
#include "llvm/ADT/StringSet.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

namespace {
enum LoaderPart { PlanPart, SeedPart, CounterPart, EpochPart, PositionPart };
}

mlir::Type Emitter::convertLoader() {
  MLIRContext *context = &shared.context;
  mlir::Type whole = ir::TensorType::host(builder.getI64Type());
  mlir::Type plan = ir::HandleType::get(context, builder.getStringAttr("loader"));
  return ir::AggregateType::get(
      context, builder.getStringAttr("Loader"),
      builder.getStrArrayAttr({"plan", "seed", "counter", "epoch", "position"}),
      {plan, whole, whole, whole, whole});
}

mlir::Type Emitter::convertProgress(const Type *type) {
  mlir::Type bar = ir::HandleType::get(&shared.context, builder.getStringAttr("progress"));
  return ir::AggregateType::tuple(&shared.context, {bar, convert(type->element)});
}

mlir::Value Emitter::native(StringRef name, mlir::Type result, ArrayRef<mlir::Value> args) {
  if (llvm::is_contained(args, mlir::Value()))
    return {};
  if (!result) {
    create<ir::NativeOp>(TypeRange(), name, args);
    return {};
  }
  return create<ir::NativeOp>(TypeRange{result}, name, args).getResult();
}

mlir::Value Emitter::part(mlir::Value aggregate, int64_t index) {
  if (!aggregate)
    return {};
  auto type = mlir::cast<ir::AggregateType>(aggregate.getType());
  return create<ir::GetOp>(type.getParts()[static_cast<size_t>(index)], aggregate,
                           builder.getI64IntegerAttr(index));
}

mlir::Value Emitter::withPart(mlir::Value aggregate, int64_t index, mlir::Value value) {
  auto type = mlir::cast<ir::AggregateType>(aggregate.getType());
  return create<ir::SetOp>(type, aggregate, fit(value, type.getParts()[static_cast<size_t>(index)]),
                           builder.getI64IntegerAttr(index));
}

/// Binds the names of sizes that a value defines, also inside of tuples.
void Emitter::adoptAllSizes(mlir::Value value, const Type *type) {
  if (type->isTensor())
    adoptSizes(value, type);
  else if (type->is(Kind::Tuple))
    for (size_t i = 0; i < type->parts.size(); ++i)
      if (type->parts[i]->isTensor() || type->parts[i]->is(Kind::Tuple))
        adoptAllSizes(part(value, static_cast<int64_t>(i)), type->parts[i]);
}

// ------------------------------------------------------------------------------------------
// construction

/// data.loader(set, batch=128, shuffle=mut rng, last="drop", prefetch=2)
mlir::Value Emitter::emitLoader(const PrimitiveCall &call) {
  static const char *const names[] = {"set", "batch", "shuffle", "last", "prefetch", "buckets"};
  constexpr size_t count = std::size(names);
  const Expr *found[count] = {};
  size_t position = 0;
  for (const Argument *a : call.given)
    for (size_t i = a->name.valid() ? 0 : position++; i < count; ++i)
      if (!a->name.valid() || a->name.text == names[i]) {
        found[i] = a->value;
        break;
      }
  mlir::Value set = emit(found[0]);
  mlir::Value batch = emitHostInt(found[1]);
  mlir::Value prefetch = found[4] ? emitHostInt(found[4]) : constantInt(2);
  mlir::Value seed = constantInt(0), counter = constantInt(0);
  if (found[2]) {
    // The loader has a random stream of its own; the generator advances.
    mlir::Value generator = emit(found[2]);
    if (!generator)
      return {};
    seed = toHost(part(generator, 0));
    counter = toHost(part(generator, 1));
    assign(found[2], withPart(generator, 1, elementwise("add", {counter, constantInt(1)})));
  }
  std::string last = found[3] ? std::string(found[3]->checked->text) : "keep";
  auto type = mlir::cast<ir::AggregateType>(convertLoader());
  mlir::Value buckets = found[5] ? toDevice(emit(found[5])) : constantInt(0);
  mlir::Value plan = native("mx.data.plan", type.getParts()[PlanPart],
                            {set, text(sema.textOf(found[0])), batch, text(last), prefetch,
                             constantBool(found[2] != nullptr), buckets});
  if (!plan)
    return {};
  return create<ir::MakeOp>(type, ValueRange{plan, seed, counter, constantInt(0), constantInt(0)});
}

/// A value as runtime functions take it: scalars on the host, other tensors unchanged.
mlir::Value Emitter::emitNativeArgument(const Expr *given, const Type *wanted) {
  mlir::Value value = emit(given);
  if (!value || !wanted->isTensor())
    return value;
  if (!wanted->shape.empty())
    return toDevice(value);
  return fit(toHost(value), ir::TensorType::host(elementType(wanted->elem)));
}

mlir::Value Emitter::emitFileCall(const PrimitiveCall &call, StringRef name) {
  SmallVector<mlir::Value> operands;
  for (const sema::ParamInfo &param : call.info->function->params) {
    const Expr *given = argument(call, param.name);
    if (param.type->is(Kind::Dtype)) {
      const Type *result = concrete(call.info->result);
      operands.push_back(create<ir::ElementTypeOp>(ir::DtypeType::get(&shared.context),
                                                   elementType(result->elem)));
    } else if (param.isStatic) {
      operands.push_back(
          constantInt(static_cast<int64_t>(concrete(call.info->result)->shape.size())));
    } else if (param.value.kind == sema::StaticValue::Int) {
      operands.push_back(emitHostInt(given));
    } else {
      operands.push_back(emitNativeArgument(given, param.type));
    }
  }
  const Type *type = concrete(call.info->result);
  mlir::Value value = native(name, convert(type), operands);
  if (value)
    adoptAllSizes(value, type);
  return value;
}

mlir::Value Emitter::emitSave(const PrimitiveCall &call, bool restores) {
  SmallVector<mlir::Value> operands;
  SmallVector<mlir::Type> types;
  for (auto [i, a] : llvm::enumerate(call.given)) {
    mlir::Value value = emit(a->value);
    if (!value)
      return {};
    if (i > 0) {
      std::string name = a->name.valid() ? std::string(a->name.text) : sema.pathOf(a->value);
      operands.push_back(text(name));
      types.push_back(value.getType());
    }
    operands.push_back(value);
  }
  if (!restores)
    return native("mx.save", {}, operands);
  mlir::Value restored =
      native("mx.restore", ir::AggregateType::tuple(&shared.context, types), operands);
  for (auto [i, a] : llvm::enumerate(call.given))
    if (i > 0 && a->isMut) // a handle stays the same
      assign(a->value, part(restored, static_cast<int64_t>(i) - 1));
  return {};
}

mlir::Value Emitter::emitDataCall(const PrimitiveCall &call, bool &handled) {
  handled = true;
  StringRef name = call.name;
  auto given = [&](size_t i) { return emit(call.given[i]->value); };
  auto result = [&] { return convert(concrete(call.info->result)); };
  if (name == "load_batches")
    return emitLoader(call);
  if (name == "save" || name == "restore")
    return emitSave(call, name == "restore");
  if (name == "take_items" || name == "repeat_items")
    return native("mx.data." + name.drop_back(6).str(), result(),
                  {given(0), emitHostInt(call.given[1]->value)});
  if (name == "shard_items")
    return native("mx.data.shard", result(),
                  {given(0), emitHostInt(call.given[1]->value), emitHostInt(call.given[2]->value)});
  if (name == "map_items" || name == "filter_items") {
    mlir::Value set = given(0), function = given(1);
    auto type = function ? dyn_cast<ir::FnType>(function.getType()) : ir::FnType();
    bool spread = type && type.getType().getNumInputs() > 1;
    return native("mx.data." + name.drop_back(6).str(), result(),
                  {set, function, constantBool(spread)});
  }
  if (name == "row_items" || name == "sequence_items") {
    SmallVector<mlir::Value> operands;
    for (const Argument *a : call.given)
      operands.push_back(toDevice(emit(a->value)));
    return native(name == "row_items" ? "mx.data.rows" : "mx.data.sequences", result(), operands);
  }
  if (name == "progress") {
    mlir::Value label = text(""), shown = constantBool(true), over;
    size_t position = 0;
    for (const Argument *a : call.given) {
      StringRef which =
          a->name.valid()
              ? StringRef(a->name.text)
              : ArrayRef<StringRef>{"iterable", "label", "show"}[std::min<size_t>(position++, 2)];
      (which == "label" ? label : which == "show" ? shown : over) = emit(a->value);
    }
    auto type = mlir::cast<ir::AggregateType>(result());
    mlir::Value bar = native("mx.progress.make", type.getParts()[0], {label, shown});
    return bar && over ? create<ir::MakeOp>(type, ValueRange{bar, over}).getResult()
                       : mlir::Value();
  }
  if (name == "encode_text" || name == "decode_text" || name == "spell_text")
    return emitFileCall(call, "mx.data." + name.drop_back(5).str());
  static const llvm::StringSet<> kChanges = {"resize_items", "crop_items",   "zoom_items",
                                             "flip_items",   "colour_items", "normalise_items"};
  if (kChanges.contains(name))
    return emitFileCall(call, "mx.data." + name.drop_back(6).str());
  if (name == "log_value") {
    mlir::Value step = call.given.size() > 2 ? emitHostInt(call.given[2]->value) : constantInt(-1);
    return native("mx.log", {}, {given(0), given(1), step});
  }
  if (name == "plot" || name == "draw_hist" || name == "draw_image") {
    if (inGraph)
      return unsupported(call.whole->span, "a drawing in a graph");
    mlir::Value x = given(0);
    if (x && isa<ir::TensorType>(x.getType()))
      x = toDevice(x);
    name.consume_front("draw_");
    SmallVector<mlir::Value> operands{x};
    if (name == "hist")
      operands.push_back(emitHostInt(argument(call, "bins")));
    return native("mx.draw." + name.str(), {}, operands);
  }
  if (name.consume_front("read_"))
    return emitFileCall(call, "mx.data." + name.str());
  handled = false;
  return {};
}

/// bar.show(loss=loss, acc=acc): names and values; does not block.
mlir::Value Emitter::emitShow(const Member *callee, const List<Argument> *args) {
  SmallVector<mlir::Value> operands{part(emit(callee->object), 0)};
  if (args)
    for (const Argument &a : *args) {
      operands.push_back(text(a.name.valid() ? std::string(a.name.text) : sema.textOf(a.value)));
      operands.push_back(emit(a.value));
    }
  return native("mx.progress.show", {}, operands);
}

/// The number of items of a data set, batches of a loader, or iterations of a loop with a bar.
mlir::Value Emitter::dataLength(mlir::Value value, const Type *type) {
  mlir::Type whole = ir::TensorType::host(builder.getI64Type());
  switch (type->kind) {
  case Kind::Dataset:
    return native("mx.data.length", whole, {value});
  case Kind::Loader:
    return native("mx.data.batches", whole, {part(value, PlanPart)});
  case Kind::Progress:
    return dataLength(part(value, 1), concrete(type->element));
  case Kind::Range:
    return elementwise("maximum",
                       {elementwise("sub", {part(value, 1), part(value, 0)}), constantInt(0)});
  case Kind::Nominal: // a queue
    return native("mx.queue.length", whole, {value});
  case Kind::Tensor:
    return native("mx.dim", whole, {value, constantInt(0)});
  default:
    return create<ir::LengthOp>(whole, value);
  }
}

mlir::Value Emitter::loaderMember(mlir::Value loader, StringRef name) {
  return part(loader, name == "epoch" ? EpochPart : PositionPart);
}

// ------------------------------------------------------------------------------------------
// loops

void Emitter::emitForData(const For *loop, const Type *over) {
  if (inGraph) {
    unsupported(loop->iterable->span, "a loop over data in a graph");
    return;
  }
  mlir::Value iterable = emit(loop->iterable), bar;
  if (!iterable)
    return;
  if (over->is(Kind::Progress)) {
    bar = part(iterable, 0);
    iterable = part(iterable, 1);
    over = concrete(over->element);
  }
  mlir::Type whole = ir::TensorType::host(builder.getI64Type());
  mlir::Type cursor = ir::HandleType::get(&shared.context, builder.getStringAttr("cursor"));
  mlir::Value from = constantInt(0), to, source;
  if (over->is(Kind::Range)) {
    from = part(iterable, 0);
    to = part(iterable, 1);
  } else if (over->is(Kind::Loader)) {
    SmallVector<mlir::Value> parts;
    for (int64_t i = PlanPart; i <= PositionPart; ++i)
      parts.push_back(part(iterable, i));
    source = native("mx.data.begin", cursor, parts);
    to = native("mx.data.batches", whole, {parts[PlanPart]});
    from = parts[PositionPart];
  } else if (over->is(Kind::Dataset)) {
    source = native("mx.data.walk", cursor, {iterable});
    to = dataLength(iterable, over);
  } else {
    to = dataLength(iterable, over);
  }
  if (bar)
    native("mx.progress.begin", {}, {bar, elementwise("sub", {to, from})});
  const Type *elementType = concrete(sema.loopElements.at(loop));
  mlir::Value epoch = over->is(Kind::Loader) ? part(iterable, EpochPart) : mlir::Value();
  // Item sizes may differ in each iteration: names bound in the loop end with it.
  auto namesOutside = sizeNames;
  auto adoptedOutside = adopted;
  auto forget = [&](auto &&self, const Type *type) -> void {
    for (const Type *each : type->parts)
      self(self, each);
    for (const Axis &axis : type->shape)
      if (auto atom = axis.dim ? sema.dims.asSymbol(axis.dim) : std::nullopt;
          atom && sema.dims.symbolInfo(*atom).role == SymbolRole::Unknown) {
        adopted.erase(*atom);
        sizeNames.erase(*atom);
      }
  };
  forget(forget, elementType);
  emitForRange(
      loop, from, to,
      [&](mlir::Value index) {
        if (bar)
          native("mx.progress.step", {}, {bar});
        if (loop->isMut && over->is(Kind::Loader)) {
          // The position of the next batch: the start of the next epoch after the last batch.
          mlir::Value next = elementwise("add", {index, constantInt(1)});
          mlir::Value moved = emit(loop->iterable);
          moved = withPart(moved, PositionPart, elementwise("mod", {next, to}));
          moved = withPart(moved, EpochPart,
                           elementwise("add", {epoch, elementwise("floordiv", {next, to})}));
          assign(loop->iterable, moved);
        }
        mlir::Value element = index;
        if (source)
          element = native(elementType->isTensor() ? "mx.data.next.only" : "mx.data.next",
                           convert(elementType), {source});
        else if (auto array = dyn_cast<ir::ArrayType>(iterable.getType()))
          element = create<ir::AtOp>(array.getElement(), iterable, index);
        adoptAllSizes(element, elementType);
        bindPattern(loop->pattern, element);
      },
      [](mlir::Value) {});
  sizeNames = std::move(namesOutside);
  adopted = std::move(adoptedOutside);
  if (bar)
    native("mx.progress.end", {}, {bar});
}

} // namespace mx::irgen
