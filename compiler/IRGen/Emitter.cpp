// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of types and sizes, constants, and copies between host and device.
#include "IRGen/Emitter.h"
#include "llvm/ADT/APSInt.h"

namespace mx::irgen {
using namespace mlir;
using sema::Elem;
using sema::NominalInfo;

Emitter::Emitter(Shared &shared, Instance &instance)
    : shared(shared), sema(shared.sema), instance(instance),
      builder(UnknownLoc::get(&shared.context), &shared.context) {
  builder.setListener(&marker);
  for (const SizeParam &size : instance.sizes) {
    sizeNames[size.atom] = size.name;
    ++nameCounts[size.name];
  }
}

Location Emitter::loc(Span span) {
  if (!span.valid())
    return builder.getLoc();
  const SourceFile &file = sema.sources.file(span);
  LineColumn location = file.lineColumn(span.begin);
  return FileLineColLoc::get(&shared.context, file.name(), location.line, location.column);
}

Value Emitter::unsupported(Span span, const std::string &what) {
  if (!shared.failed)
    sema.diags.report(Code::E0901, span, what + " cannot be compiled yet")
        .note("docs/status.md lists what this version runs");
  shared.failed = true;
  return {};
}

// --------------------------------------------------------------------------------------------
// types

Elem Emitter::concrete(Elem elem) {
  if (elem.isVariable())
    if (auto found = instance.bindings.elems.find(elem.variableId());
        found != instance.bindings.elems.end())
      return found->second;
  return elem;
}

mlir::Type Emitter::elementType(Elem elem) {
  elem = concrete(elem);
  return ir::elementToMlir(&shared.context,
                           elem.valid() && !elem.isVariable() ? elem.type() : ElementType::F32);
}

mlir::Type Emitter::convert(const Type *written, bool host) {
  const Type *type = concrete(written);
  MLIRContext *context = &shared.context;
  switch (type->kind) {
  case Kind::Tensor: {
    mlir::Type element = elementType(type->elem);
    // The host has no 16-bit scalars.
    if (host && type->shape.empty() && !element.isF16() && !element.isBF16())
      return ir::TensorType::host(element);
    return ir::TensorType::get(context, element, sizesOf(type->shape), StringAttr::get(context));
  }
  case Kind::Str:
  case Kind::Device:
    return ir::StrType::get(context);
  case Kind::Dtype:
    return ir::DtypeType::get(context);
  case Kind::Error_:
    return ir::ErrorType::get(context);
  case Kind::Tuple: {
    SmallVector<mlir::Type> parts;
    for (const Type *part : type->parts)
      parts.push_back(convert(part));
    return ir::AggregateType::tuple(context, parts);
  }
  case Kind::Array:
    return ir::ArrayType::get(context, convert(type->element), size(type->count));
  case Kind::Nominal:
    if (type->nominal->isHandle && type->nominal->name == "KVStore")
      return convertStore();
    if (type->nominal->isHandle)
      return ir::HandleType::get(context, StringAttr::get(context, type->nominal->name));
    return convertNominal(type);
  case Kind::Grad:
    return convertGrad(type);
  case Kind::Shape:
  case Kind::Axes: {
    mlir::Type whole = ir::TensorType::host(builder.getI64Type());
    return ir::ArrayType::get(context, whole,
                              ir::SizeAttr::get(context, static_cast<int64_t>(type->shape.size())));
  }
  case Kind::Rule:
    if (type->nominal)
      return convertRule(*type->nominal);
    return ir::HandleType::get(context, StringAttr::get(context, sema.types.print(type)));
  case Kind::Loader:
    return convertLoader();
  case Kind::Progress:
    return convertProgress(type);
  case Kind::Range: {
    mlir::Type whole = ir::TensorType::host(builder.getI64Type());
    return ir::AggregateType::tuple(context, {whole, whole});
  }
  case Kind::Fn: {
    SmallVector<mlir::Type> inputs, results;
    for (const Type *part : type->parts)
      inputs.push_back(convert(part));
    if (type->element && !type->element->is(Kind::Nothing))
      results.push_back(convert(type->element));
    return ir::FnType::get(context, builder.getFunctionType(inputs, results));
  }
  default:
    return ir::HandleType::get(context, StringAttr::get(context, sema.types.print(type)));
  }
}

/// Fields in order, then the constructor's parameters that its functions may use.
ir::AggregateType Emitter::convertNominal(const Type *type) {
  NominalInfo &nominal = *type->nominal;
  sema.resolveFields(nominal);
  Bindings bindings = sema.bindingsOf(type);
  SmallVector<mlir::Attribute> names;
  SmallVector<mlir::Type> parts;
  auto add = [&](StringRef name, const Type *part) {
    names.push_back(builder.getStringAttr(name));
    parts.push_back(convert(sema.types.substitute(part, bindings)));
  };
  for (sema::FieldInfo &field : nominal.fields) {
    sema.resolveField(nominal, field);
    add(field.name, field.type);
  }
  if (nominal.syntax->hasParams)
    for (const sema::ParamInfo &param : nominal.params)
      if (!param.isStatic)
        add(param.name, param.type);
  return ir::AggregateType::get(&shared.context, builder.getStringAttr(nominal.name),
                                builder.getArrayAttr(names), parts);
}

// --------------------------------------------------------------------------------------------
// sizes

std::map<AtomId, std::string>::iterator Emitter::giveName(AtomId atom) {
  std::string name = sizeName(sema, atom);
  int count = nameCounts[name]++;
  return sizeNames.emplace(atom, count ? name + "$" + std::to_string(count) : name).first;
}

/// The variable that holds the value of a size, if it can be read here.
Symbol *Emitter::variableOf(AtomId atom) {
  SymbolRole role = sema.dims.symbolInfo(atom).role;
  if ((role != SymbolRole::HostInt && role != SymbolRole::LoopIndex) ||
      !builder.getInsertionBlock())
    return nullptr;
  Dim size = sema.dims.symbol(atom);
  // Its first use as a size may have been in a block that has ended.
  for (auto &[symbol, first] : sema.runSizes)
    if (first == size)
      if (auto *variable = const_cast<Symbol *>(symbol);
          values.count(variable) || (shared.globals.count(variable) && !inGraph))
        return variable;
  for (Symbol &symbol : sema.symbols)
    if (symbol.kind == sema::SymbolKind::Variable && symbol.value.host && symbol.value.dim == size &&
        (values.count(&symbol) || (shared.globals.count(&symbol) && !inGraph)))
      return &symbol;
  return nullptr;
}

/// Translates the checker's size to names of the IR.
Dim Emitter::inTable(Dim dim) {
  ir::SizeTable &table = shared.context.getOrLoadDialect<ir::MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  Dim sum = table.dims.constant(0);
  for (const DimTerm &term : dim->terms) {
    Dim product = table.dims.constant(term.coefficient);
    for (AtomId atom : term.atoms) {
      Dim factor;
      if (!sema.dims.isSymbol(atom)) {
        Dim over = inTable(sema.dims.numerator(atom)), under = inTable(sema.dims.denominator(atom));
        factor = table.dims.floorDiv(over, under);
      } else {
        auto found = sizeNames.find(atom);
        // A variable that is a size, of the module or of an earlier input: its value is available.
        if (Symbol *variable = found == sizeNames.end() ? variableOf(atom) : nullptr) {
          found = giveName(atom);
          create<ir::BindSizeOp>(toHost(read(variable)), found->second);
        } else if (auto store = found == sizeNames.end() ? storeOfSize(atom) : std::nullopt) {
          found = giveName(atom);
          create<ir::BindSizeOp>(storeNumber(read(store->first), store->second), found->second);
        }
        if (found == sizeNames.end()) {
          // A size known only at run time: it is bound when the value is created (adoptSizes).
          found = giveName(atom);
          awaited.insert(atom);
        }
        factor = table.named(found->second);
      }
      product = product && factor ? table.dims.mul(product, factor) : Dim();
    }
    sum = sum && product ? table.dims.add(sum, product) : Dim();
    if (!sum)
      return table.dims.constant(0);
  }
  return sum;
}

ir::SizeAttr Emitter::size(Dim dim) {
  if (!dim)
    return ir::SizeAttr::get(&shared.context, int64_t(0));
  Dim here = sema.dims.substitute(dim, instance.bindings.dims);
  return ir::SizeAttr::get(&shared.context, inTable(here ? here : dim));
}
SmallVector<ir::SizeAttr> Emitter::sizesOf(const Shape &shape) {
  SmallVector<ir::SizeAttr> out;
  for (const Axis &axis : sema.types.substitute(shape, instance.bindings))
    out.push_back(size(axis.dim));
  return out;
}
std::optional<int64_t> Emitter::number(Dim dim) {
  Dim here = dim ? sema.dims.substitute(dim, instance.bindings.dims) : dim;
  return here ? here.constant() : std::nullopt;
}

bool Emitter::isBound(Dim dim) {
  Dim here = sema.dims.substitute(dim, instance.bindings.dims);
  if (!here) // undefined for these sizes, such as `8 // n` for `static n` of 0: left to the code
    return false;
  std::vector<AtomId> atoms;
  sema.dims.symbols(here, atoms);
  return llvm::all_of(
      atoms, [&](AtomId atom) { return sizeNames.count(atom) != 0 && !awaited.count(atom); });
}

void Emitter::bindSize(AtomId atom, Value value) {
  if (!sizeNames.count(atom))
    giveName(atom);
  awaited.erase(atom);
  create<ir::BindSizeOp>(toHost(value), sizeNames[atom]);
}

void Emitter::adoptSizes(Value value, const Type *type) {
  auto tensorType = dyn_cast_or_null<ir::TensorType>(value ? value.getType() : mlir::Type());
  if (!tensorType || inGraph)
    return;
  Shape shape = sema.types.substitute(type->shape, instance.bindings);
  for (auto [i, axis] : llvm::enumerate(shape)) {
    auto atom = axis.dim ? sema.dims.asSymbol(axis.dim) : std::nullopt;
    if (!atom || adopted.count(*atom))
      continue;
    SymbolRole role = sema.dims.symbolInfo(*atom).role;
    if (role != SymbolRole::HostInt && role != SymbolRole::Unknown && role != SymbolRole::Fresh)
      continue;
    adopted.insert(*atom);
    mlir::Type whole = ir::TensorType::host(builder.getI64Type());
    Value length = create<ir::NativeOp>(TypeRange{whole}, "mx.dim",
                                        ValueRange{value, constantInt(static_cast<int64_t>(i))})
                       .getResult();
    bindSize(*atom, length);
  }
}

Value Emitter::sizeValue(Dim dim) {
  if (auto known = number(dim))
    return constantInt(*known);
  return create<ir::SizeOp>(ir::TensorType::host(builder.getI64Type()), size(dim));
}

// ----------------------------------------------------------------------------------------
// constants

Value Emitter::constantInt(int64_t value) {
  return create<ir::ConstantOp>(ir::TensorType::host(builder.getI64Type()),
                                builder.getI64IntegerAttr(value));
}
Value Emitter::constantBool(bool value) {
  return create<ir::ConstantOp>(ir::TensorType::host(builder.getI1Type()),
                                builder.getBoolAttr(value));
}
TypedAttr Emitter::numberAttribute(mlir::Type element, double value, int64_t whole, bool isWhole) {
  if (isa<FloatType>(element))
    return builder.getFloatAttr(element, isWhole ? static_cast<double>(whole) : value);
  if (element.isInteger(1)) // NaN is not 0
    return builder.getBoolAttr(isWhole ? whole != 0 : value != 0);
  unsigned width = element.getIntOrFloatBitWidth();
  if (isWhole) // integers wrap
    return builder.getIntegerAttr(element, APInt(width, static_cast<uint64_t>(whole),
                                                 /*isSigned=*/false, /*implicitTrunc=*/true));
  // Floats truncate and saturate, NaN is 0: as the code of a conversion does.
  APSInt integer(width, element.isUnsignedInteger());
  bool exact = false;
  APFloat(value).convertToInteger(integer, APFloat::rmTowardZero, &exact);
  return builder.getIntegerAttr(element, integer);
}
Value Emitter::constantNumber(mlir::Type element, double value, int64_t whole, bool isWhole) {
  ir::TensorType type = ir::TensorType::host(element);
  if (element.isF16() || element.isBF16())
    type = ir::TensorType::get(&shared.context, element, ArrayRef<ir::SizeAttr>());
  return create<ir::ConstantOp>(type, numberAttribute(element, value, whole, isWhole));
}
Value Emitter::text(StringRef value) {
  return create<ir::TextOp>(ir::StrType::get(&shared.context), value);
}

// ---------------------------------------------------------------------------------------
// conversions

bool Emitter::isHost(Value value) {
  auto type = dyn_cast<ir::TensorType>(value.getType());
  return type && type.isHost();
}
mlir::Type Emitter::elementOf(Value value) {
  return mlir::cast<ir::TensorType>(value.getType()).getElement();
}

Value Emitter::cast(Value value, mlir::Type element) {
  if (!value || elementOf(value) == element)
    return value;
  ir::TensorType type = tensor(value);
  bool counts = (element.isInteger(64) || element.isInteger(1)) && elementOf(value).isInteger();
  if (type.isHost() && (element.isF16() || element.isBF16() || (inGraph && !counts))) {
    value = toDevice(value);
    type = tensor(value);
  }
  return create<ir::CastOp>(type.withElement(element), value);
}

Value Emitter::toHost(Value value) {
  if (!value || isHost(value) || !ir::isScalarTensor(value.getType()))
    return value;
  mlir::Type element = elementOf(value);
  if (element.isF16() || element.isBF16())
    return toHost(cast(value, builder.getF32Type()));
  return create<ir::ReadOp>(ir::TensorType::host(element), value);
}
Value Emitter::toDevice(Value value) {
  if (!value || !isHost(value))
    return value;
  return create<ir::ToDeviceOp>(tensor(value).onDevice(""), value);
}

Value Emitter::fit(Value value, mlir::Type type) {
  if (!value || value.getType() == type)
    return value;
  auto whole = dyn_cast<ir::AggregateType>(type);
  auto given = dyn_cast<ir::AggregateType>(value.getType());
  if (whole && given && whole.getParts().size() == given.getParts().size()) {
    llvm::SmallVector<Value> parts;
    for (auto [i, part] : llvm::enumerate(whole.getParts())) {
      auto index = builder.getI64IntegerAttr(static_cast<int64_t>(i));
      parts.push_back(fit(create<ir::GetOp>(given.getParts()[i], value, index), part));
    }
    return create<ir::MakeOp>(type, parts);
  }
  auto want = dyn_cast<ir::TensorType>(type);
  auto have = dyn_cast<ir::TensorType>(value.getType());
  if (!want || !have)
    return value;
  if (want.getElement() != have.getElement())
    value = cast(value, want.getElement());
  if (want.isHost())
    return toHost(value);
  if (isHost(value))
    value = toDevice(value);
  have = tensor(value);
  if (have == want)
    return value;
  // Sizes that are equal but written differently, or only known to be equal by a condition.
  if (have.rank() == want.rank())
    return create<ir::ReshapeOp>(want, value);
  return create<ir::BroadcastOp>(want, value);
}

Value Emitter::undefined(mlir::Type type) { return create<ir::UndefOp>(type); }

} // namespace mx::irgen
