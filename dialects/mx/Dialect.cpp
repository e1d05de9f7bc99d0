// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `mx` dialect: registration, and parsing, printing and arithmetic of symbolic sizes and types.
#include "dialects/mx/Mx.h"
#include "dialects/mx/Functions.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/mx/MxDialect.cpp.inc"
#include "dialects/mx/MxEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mx/MxAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/mx/MxTypes.cpp.inc"

namespace mx::ir {

/// Whether a `while` terminates, or reaches its limit, is not known before it runs. So it counts as
/// an effect: a `while` without used results is kept.
struct MayNotEnd : MemoryEffectOpInterface::ExternalModel<MayNotEnd, WhileOp> {
  void getEffects(Operation *, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    effects.emplace_back(MemoryEffects::Write::get());
  }
};

void MxDialect::initialize() {
  table = std::make_shared<SizeTable>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/mx/MxAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/mx/MxTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/mx/MxOps.cpp.inc"
      >();
  WhileOp::attachInterface<MayNotEnd>(*getContext());
}

Operation *MxDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location loc) {
  if (isa<TensorType>(type) && isa<IntegerAttr, FloatAttr, DenseElementsAttr>(value))
    return ConstantOp::create(builder, loc, type, value);
  return nullptr;
}

// --------------------------------------------------------------------------------------------
// sizes

static SizeTable &tableOf(MLIRContext *context) {
  return context->getOrLoadDialect<MxDialect>()->sizes();
}

std::optional<int64_t> SizeAttr::constant() const {
  int64_t value = 0;
  if (getText().getAsInteger(10, value))
    return std::nullopt;
  return value;
}
SizeAttr SizeAttr::get(MLIRContext *context, int64_t value) {
  return Base::get(context, std::to_string(value));
}
SizeAttr SizeAttr::get(MLIRContext *context, Dim dim) {
  SizeTable &table = tableOf(context);
  std::lock_guard guard(table.lock);
  return Base::get(context, table.dims.print(dim));
}
Dim SizeAttr::dim() const {
  SizeTable &table = tableOf(getContext());
  std::lock_guard guard(table.lock);
  return table.parse(getText()).value_or(Dim());
}

template <class Combine> static SizeAttr combine(SizeAttr x, SizeAttr y, const Combine &combine) {
  SizeTable &table = tableOf(x.getContext());
  std::lock_guard guard(table.lock);
  Dim a = x.dim(), b = y.dim(), out;
  if (a && b)
    out = combine(table.dims, a, b);
  return SizeAttr::get(x.getContext(), out ? out : table.dims.constant(0));
}
SizeAttr SizeAttr::plus(SizeAttr other) const {
  return combine(*this, other, [](DimContext &dims, Dim x, Dim y) { return dims.add(x, y); });
}
SizeAttr SizeAttr::minus(SizeAttr other) const {
  return combine(*this, other, [](DimContext &dims, Dim x, Dim y) { return dims.sub(x, y); });
}
SizeAttr SizeAttr::times(SizeAttr other) const {
  return combine(*this, other, [](DimContext &dims, Dim x, Dim y) { return dims.mul(x, y); });
}
SizeAttr SizeAttr::over(SizeAttr other) const {
  return combine(*this, other, [](DimContext &dims, Dim x, Dim y) { return dims.floorDiv(x, y); });
}

SizeAttr SizeAttr::substitute(const llvm::DenseMap<StringAttr, SizeAttr> &by) const {
  if (constant())
    return *this;
  SizeTable &table = tableOf(getContext());
  std::lock_guard guard(table.lock);
  DimContext::Substitution substitution;
  SmallVector<StringAttr> used;
  names(used);
  for (StringAttr name : used)
    if (auto found = by.find(name); found != by.end())
      substitution[*table.dims.asSymbol(table.named(name))] = found->second.dim();
  if (substitution.empty())
    return *this;
  Dim replaced = table.dims.substitute(dim(), substitution);
  return replaced ? get(getContext(), replaced) : SizeAttr();
}
void SizeAttr::names(SmallVectorImpl<StringAttr> &out) const {
  SizeTable &table = tableOf(getContext());
  std::lock_guard guard(table.lock);
  std::vector<AtomId> symbols;
  table.dims.symbols(dim(), symbols);
  for (AtomId id : symbols) {
    auto name = StringAttr::get(getContext(), table.dims.symbolInfo(id).name);
    if (!llvm::is_contained(out, name))
      out.push_back(name);
  }
}

FailureOr<SizeAttr> parseSize(AsmParser &parser) {
  std::string text;
  // Sizes consist of names, numbers, operators and parentheses; each is one or more MLIR tokens.
  auto sum = [&](auto &self, int depth) -> ParseResult {
    if (depth > 200)
      return parser.emitError(parser.getCurrentLocation(), "size nested too deeply");
    for (;;) {
      while (succeeded(parser.parseOptionalMinus()))
        text += "-";
      int64_t number = 0;
      StringRef word;
      if (succeeded(parser.parseOptionalLParen())) {
        text += "(";
        if (self(self, depth + 1) || parser.parseRParen())
          return failure();
        text += ")";
      } else if (OptionalParseResult r = parser.parseOptionalInteger(number); r.has_value()) {
        if (failed(*r))
          return failure();
        text += std::to_string(number);
      } else if (succeeded(parser.parseOptionalKeyword(&word))) {
        text += word.str();
      } else {
        return parser.emitError(parser.getCurrentLocation(), "expected a size");
      }
      if (succeeded(parser.parseOptionalPlus()))
        text += " + ";
      else if (succeeded(parser.parseOptionalMinus()))
        text += " - ";
      else if (succeeded(parser.parseOptionalStar()))
        text += "*";
      else if (succeeded(parser.parseOptionalSlash())) {
        if (parser.parseOptionalSlash())
          return parser.emitError(parser.getCurrentLocation(), "expected `//`");
        text += " // ";
      } else
        return success();
    }
  };
  SMLoc at = parser.getCurrentLocation();
  if (sum(sum, 0))
    return failure();
  SizeTable &table = tableOf(parser.getContext());
  std::lock_guard guard(table.lock);
  std::optional<Dim> dim = table.parse(text);
  if (!dim)
    return (parser.emitError(at, "`" + text + "` is not a size"), failure());
  return SizeAttr::get(parser.getContext(), *dim);
}
/// `//` would start a comment in MLIR's textual form, so divisions are printed as `/ /`.
void printSize(AsmPrinter &printer, SizeAttr size) {
  StringRef text = size.getText();
  for (size_t at; (at = text.find("//")) != StringRef::npos; text = text.drop_front(at + 2))
    printer << text.take_front(at) << "/ /";
  printer << text;
}

Attribute SizeAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<SizeAttr> size = parseSize(parser);
  if (failed(size) || parser.parseGreater())
    return {};
  return *size;
}
void SizeAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printSize(printer, *this);
  printer << ">";
}

// ------------------------------------------------------------------------------------------
// tensors

Type elementToMlir(MLIRContext *context, ElementType element) {
  Builder b(context);
  switch (element) {
  case ElementType::Bool:
    return b.getI1Type();
  case ElementType::I8:
    return b.getI8Type();
  case ElementType::U8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case ElementType::I32:
    return b.getI32Type();
  case ElementType::I64:
    return b.getI64Type();
  case ElementType::F16:
    return b.getF16Type();
  case ElementType::BF16:
    return b.getBF16Type();
  case ElementType::F32:
    return b.getF32Type();
  case ElementType::F64:
    return b.getF64Type();
  }
  return {};
}
ElementType elementFromMlir(Type type) {
  if (type.isUnsignedInteger(8))
    return ElementType::U8;
  if (type.isInteger(1))
    return ElementType::Bool;
  if (type.isInteger(8))
    return ElementType::I8;
  if (type.isInteger(32))
    return ElementType::I32;
  if (type.isInteger(64))
    return ElementType::I64;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF64())
    return ElementType::F64;
  return ElementType::F32;
}

bool isExpensive(Operation *op) {
  return isCFunction(op) || isa<PowOp>(op);
}
bool isHostInt(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && tensor.isHost() && tensor.isScalar() && tensor.getElement().isInteger(64);
}
bool isScalarTensor(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && tensor.isScalar();
}

bool TensorType::isStatic() const {
  return llvm::all_of(getSizes(), [](SizeAttr s) { return s.constant().has_value(); });
}
SmallVector<int64_t> TensorType::numbers() const {
  SmallVector<int64_t> out;
  for (SizeAttr size : getSizes())
    out.push_back(size.constant().value_or(-1));
  return out;
}
Shape TensorType::shape() const {
  Shape out;
  for (SizeAttr size : getSizes())
    out.push_back(axisOf(size.dim()));
  return out;
}
TensorType TensorType::withElement(Type element) const {
  return get(getContext(), element, getSizes(), getDevice());
}
TensorType TensorType::withSizes(ArrayRef<SizeAttr> sizes) const {
  return get(getContext(), getElement(), sizes, getDevice());
}
TensorType TensorType::onDevice(StringRef device) const {
  return get(getContext(), getElement(), getSizes(), StringAttr::get(getContext(), device));
}
TensorType TensorType::host(Type element) {
  MLIRContext *context = element.getContext();
  return get(context, element, ArrayRef<SizeAttr>(), StringAttr::get(context, "host"));
}
TensorType TensorType::get(MLIRContext *context, Type element, const Shape &shape,
                           StringRef device) {
  SmallVector<SizeAttr> sizes;
  for (const Axis &axis : shape)
    sizes.push_back(SizeAttr::get(context, axis.dim));
  return get(context, element, sizes, StringAttr::get(context, device));
}

Type TensorType::parse(AsmParser &parser) {
  StringRef word;
  Builder &b = parser.getBuilder();
  SMLoc at;
  if (parser.parseLess() || parser.getCurrentLocation(&at) || parser.parseKeyword(&word) ||
      parser.parseLSquare())
    return {};
  std::optional<ElementType> element = elementNamed(word);
  if (!element)
    return (parser.emitError(at, "`" + word + "` is not an element type"), Type());
  SmallVector<SizeAttr> sizes;
  if (parser.parseOptionalRSquare()) {
    do {
      FailureOr<SizeAttr> size = parseSize(parser);
      if (failed(size))
        return {};
      sizes.push_back(*size);
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRSquare())
      return {};
  }
  std::string device;
  if (succeeded(parser.parseOptionalKeyword("on"))) {
    if (succeeded(parser.parseOptionalKeyword("host")))
      device = "host";
    else if (parser.parseString(&device))
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (device == "host" && !sizes.empty())
    return (parser.emitError(at, "only rank 0 is on the host"), Type());
  return get(parser.getContext(), elementToMlir(parser.getContext(), *element), sizes,
             b.getStringAttr(device));
}
void TensorType::print(AsmPrinter &printer) const {
  printer << "<" << elementInfo(elementFromMlir(getElement())).name << "[";
  llvm::interleaveComma(getSizes(), printer, [&](SizeAttr s) { printSize(printer, s); });
  printer << "]";
  if (isHost())
    printer << " on host";
  else if (!getDevice().getValue().empty())
    printer << " on " << getDevice();
  printer << ">";
}

AggregateType AggregateType::tuple(MLIRContext *context, ArrayRef<Type> parts) {
  return get(context, StringAttr::get(context, ""), ArrayAttr::get(context, {}), parts);
}

} // namespace mx::ir
