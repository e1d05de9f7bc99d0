// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: adjoints of tensors, arrays and aggregates (types, accumulation,
// conversion to gradients) and the ops that gradient rules build.
#include "Graph/Adjoints.h"
#include "Graph/Zeros.h"

using namespace mlir;

namespace mx::graph {

// ------------------------------------------------------------------------------------------ types

Type Reverse::adjointType(Type type) {
  if (auto tensor = dyn_cast<ir::TensorType>(type)) {
    if (!ir::isFloatElement(tensor.getElement()))
      return {};
    return tensor.isHost() ? tensor.onDevice("") : tensor;
  }
  if (auto array = dyn_cast<ir::ArrayType>(type)) {
    Type element = adjointType(array.getElement());
    return element ? Type(ir::ArrayType::get(b.getContext(), element, array.getCount())) : Type();
  }
  auto aggregate = dyn_cast<ir::AggregateType>(type);
  if (!aggregate)
    return {};
  SmallVector<Attribute> names;
  SmallVector<Type> parts;
  for (auto [i, part] : llvm::enumerate(aggregate.getParts()))
    if (Type adjoint = adjointType(part)) {
      parts.push_back(adjoint);
      if (i < aggregate.getFields().size())
        names.push_back(aggregate.getFields()[i]);
    }
  if (parts.empty())
    return {};
  std::string name = aggregate.getName().getValue().str();
  return ir::AggregateType::get(b.getContext(),
                                b.getStringAttr(name.empty() ? name : name + ".adjoint"),
                                b.getArrayAttr(names), parts);
}

Type Reverse::gradientType(Type type, Type wanted) {
  if (isa<ir::TensorType>(type))
    return adjointType(type);
  if (auto array = dyn_cast<ir::ArrayType>(type))
    if (auto other = dyn_cast<ir::ArrayType>(wanted)) {
      Type element = gradientType(array.getElement(), other.getElement());
      return element ? Type(ir::ArrayType::get(b.getContext(), element, array.getCount())) : Type();
    }
  auto aggregate = dyn_cast<ir::AggregateType>(type);
  auto other = dyn_cast<ir::AggregateType>(wanted);
  if (!aggregate || !other)
    return {};
  SmallVector<Type> parts;
  for (auto [i, part] : llvm::enumerate(other.getParts())) {
    Type found;
    for (auto [k, name] : llvm::enumerate(aggregate.getFields()))
      if (i < other.getFields().size() && name == other.getFields()[i])
        found = gradientType(aggregate.getParts()[k], part);
    if (!found)
      return {};
    parts.push_back(found);
  }
  return ir::AggregateType::get(b.getContext(), other.getName(), other.getFields(), parts);
}

// --------------------------------------------------------------------------------------- adjoints

/// The position of part `i` in the aggregate's adjoint type; -1 if the part has no adjoint.
static int64_t adjointPart(ArrayRef<Type> types, size_t i,
                           llvm::function_ref<Type(Type)> adjointType) {
  int64_t position = 0;
  for (size_t k = 0; k < i; ++k)
    position += adjointType(types[k]) ? 1 : 0;
  return adjointType(types[i]) ? position : -1;
}

bool Reverse::splitElements(Adjoint &adjoint, ir::ArrayType type) {
  if (!adjoint.value)
    return true;
  std::optional<int64_t> count = type.getCount().constant();
  if (!count)
    return false;
  Type element = adjointType(type.getElement());
  std::vector<Adjoint> parts;
  for (int64_t i = 0; i < *count; ++i)
    parts.push_back(
        apart(make<ir::AtOp>(element, adjoint.value, wholeNumber(i)), type.getElement()));
  adjoint = Adjoint{{}, std::move(parts)};
  return true;
}

void Reverse::add(Adjoint &into, const Adjoint &more, Type type) {
  if (more.isZero())
    return;
  if (into.isZero()) {
    into = more;
    return;
  }
  if (isa<ir::TensorType>(type)) {
    into.value = elementwise("add", {into.value, more.value});
    return;
  }
  Adjoint other = more;
  if (auto array = dyn_cast<ir::ArrayType>(type))
    if (!splitElements(into, array) || !splitElements(other, array)) {
      failedAt = function;
      return;
    }
  auto typeAt = [&](size_t i) {
    auto aggregate = dyn_cast<ir::AggregateType>(type);
    return aggregate ? aggregate.getParts()[i] : cast<ir::ArrayType>(type).getElement();
  };
  into.parts.resize(std::max(into.parts.size(), other.parts.size()));
  for (auto [i, part] : llvm::enumerate(other.parts))
    add(into.parts[i], part, typeAt(i));
}

void Reverse::contribute(Value value, const Adjoint &more) {
  if (!isActive(value) || more.isZero())
    return;
  if (captured) {
    if (value == capturedOf)
      captured->push_back(more.value);
    return;
  }
  Adjoint fitted = more;
  if (isa<ir::TensorType>(value.getType()))
    fitted.value = sumTo(more.value, cast<ir::TensorType>(adjointType(value.getType())));
  add(adjoints[value], fitted, value.getType());
}

Value Reverse::whole(const Adjoint &adjoint, Type type) {
  if (adjoint.value)
    return adjoint.value;
  Type result = adjointType(type);
  if (auto tensor = dyn_cast<ir::TensorType>(result))
    return zeros(tensor);
  SmallVector<Value> parts;
  auto part = [&](size_t i, Type of) {
    parts.push_back(whole(i < adjoint.parts.size() ? adjoint.parts[i] : Adjoint(), of));
  };
  if (auto array = dyn_cast<ir::ArrayType>(type)) {
    std::optional<int64_t> count = array.getCount().constant();
    if (!count)
      failedAt = function;
    for (int64_t i = 0; i < count.value_or(0); ++i)
      part(static_cast<size_t>(i), array.getElement());
  } else {
    for (auto [i, of] : llvm::enumerate(cast<ir::AggregateType>(type).getParts()))
      if (adjointType(of))
        part(i, of);
  }
  return make<ir::MakeOp>(result, parts);
}

Adjoint Reverse::apart(Value value, Type type) {
  auto aggregate = dyn_cast<ir::AggregateType>(type);
  if (!aggregate)
    return Adjoint{value, {}};
  auto have = cast<ir::AggregateType>(value.getType());
  Adjoint out;
  out.parts.resize(aggregate.getParts().size());
  for (size_t i = 0; i < aggregate.getParts().size(); ++i) {
    int64_t k = adjointPart(aggregate.getParts(), i, [&](Type t) { return adjointType(t); });
    if (k >= 0)
      out.parts[i] = apart(
          make<ir::GetOp>(have.getParts()[static_cast<size_t>(k)], value, b.getI64IntegerAttr(k)),
          aggregate.getParts()[i]);
  }
  return out;
}

Value Reverse::asGradient(const Adjoint &adjoint, Type type, Type wanted, const std::string &path,
                          SmallVectorImpl<std::string> &unused) {
  if (auto tensor = dyn_cast<ir::TensorType>(wanted)) {
    if (!adjoint.value)
      unused.push_back(path);
    return adjoint.value ? shaped(adjoint.value, tensor) : zeros(tensor);
  }
  SmallVector<Value> parts;
  if (auto array = dyn_cast<ir::ArrayType>(wanted)) {
    Adjoint elements = adjoint;
    std::optional<int64_t> count = array.getCount().constant();
    if (!count || !splitElements(elements, cast<ir::ArrayType>(type))) {
      failedAt = function;
      return {};
    }
    for (size_t i = 0; i < static_cast<size_t>(*count); ++i)
      parts.push_back(asGradient(i < elements.parts.size() ? elements.parts[i] : Adjoint(),
                                 cast<ir::ArrayType>(type).getElement(), array.getElement(),
                                 path + "." + std::to_string(i), unused));
  } else {
    auto from = cast<ir::AggregateType>(type), to = cast<ir::AggregateType>(wanted);
    for (auto [i, part] : llvm::enumerate(to.getParts()))
      for (auto [k, name] : llvm::enumerate(from.getFields()))
        if (name == to.getFields()[i])
          parts.push_back(asGradient(k < adjoint.parts.size() ? adjoint.parts[k] : Adjoint(),
                                     from.getParts()[k], part,
                                     path + "." + cast<StringAttr>(name).getValue().str(), unused));
  }
  if (llvm::is_contained(parts, Value()))
    return {};
  return make<ir::MakeOp>(wanted, parts);
}

// -------------------------------------------------------------------------------------------- ops

Value Reverse::wholeNumber(int64_t value) {
  return make<ir::ConstantOp>(ir::TensorType::host(b.getI64Type()), b.getI64IntegerAttr(value));
}

/// A scalar constant with the element type of `like`: on the host, unless the host has no such type
/// (f16, bf16).
Value Reverse::number(Value like, double value) {
  Type element = typeOf(like).getElement();
  auto type = ir::TensorType::host(element);
  if (element.isF16() || element.isBF16())
    type = ir::TensorType::get(b.getContext(), element, ArrayRef<ir::SizeAttr>());
  return make<ir::ConstantOp>(type, b.getFloatAttr(element, value));
}

Value Reverse::zeros(ir::TensorType type) { return makeZeros(b, b.getLoc(), type); }

Value Reverse::onDevice(Value value) {
  return typeOf(value).isHost() ? make<ir::ToDeviceOp>(typeOf(value).onDevice(""), value) : value;
}

Value Reverse::elementwise(StringRef op, ArrayRef<Value> operands, Type element) {
  return ir::makeElementwise(b, b.getLoc(), op, operands, element);
}

Value Reverse::sum(Value value, ArrayRef<int64_t> axes, bool keep) {
  if (axes.empty())
    return value;
  SmallVector<ir::SizeAttr> sizes;
  for (auto [i, size] : llvm::enumerate(typeOf(value).getSizes())) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      sizes.push_back(size);
    else if (keep)
      sizes.push_back(sizeOf(1));
  }
  return make<ir::SumOp>(typeOf(value).withSizes(sizes), value, b.getDenseI64ArrayAttr(axes),
                         keep ? b.getUnitAttr() : UnitAttr());
}

/// Casts to equal sizes that are written differently (a reshape), or copies to another device.
Value Reverse::shaped(Value value, ir::TensorType type) {
  if (!type.isHost() && typeOf(value).getDevice() != type.getDevice())
    value = make<ir::ToDeviceOp>(typeOf(value).onDevice(type.getDevice().getValue()), value);
  return typeOf(value) == type ? value : make<ir::ReshapeOp>(type, value);
}

/// The adjoint of a broadcast: sums over the broadcast axes. Broadcasts a value that is too small.
Value Reverse::sumTo(Value value, ir::TensorType type) {
  value = onDevice(value);
  ArrayRef<ir::SizeAttr> have = typeOf(value).getSizes(), want = type.getSizes();
  if (have.size() < want.size())
    return make<ir::BroadcastOp>(
        type, shaped(value, typeOf(value).onDevice(type.getDevice().getValue())));
  SmallVector<int64_t> axes;
  size_t skip = have.size() - want.size();
  bool isBroadcast = false;
  for (size_t i = 0; i < have.size(); ++i) {
    if (i < skip || (want[i - skip].constant() == 1 && have[i].constant() != 1))
      axes.push_back(static_cast<int64_t>(i));
    else
      isBroadcast |= have[i].constant() == 1 && want[i - skip].constant() != 1;
  }
  value = sum(value, axes, /*keep=*/false);
  if (isBroadcast)
    return make<ir::BroadcastOp>(
        type, shaped(value, typeOf(value).onDevice(type.getDevice().getValue())));
  return shaped(value, type);
}

ir::SizeAttr Reverse::product(ArrayRef<ir::SizeAttr> sizes) {
  ir::SizeAttr out = sizeOf(1);
  for (ir::SizeAttr size : sizes)
    out = out.times(size);
  return out;
}

} // namespace mx::graph
