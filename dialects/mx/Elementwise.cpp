// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise ops: the common verifier and the constant folder. Only host scalars and rank-0
// constants are folded: what remains of sizes and loop bounds after specialisation.
#include "dialects/mx/Mx.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mx::ir {

/// Whether sizes at the same axis are compatible: equal, or not known to differ; 1 broadcasts.
static bool fits(SizeAttr part, SizeAttr whole) {
  if (part == whole || part.constant() == 1)
    return true;
  return !(part.constant() && whole.constant());
}

/// Whether `part` broadcasts to `whole`, with axes aligned at the innermost one.
static bool broadcastsTo(TensorType part, TensorType whole) {
  if (part.rank() > whole.rank())
    return false;
  size_t skip = whole.rank() - part.rank();
  for (size_t i = 0; i < part.rank(); ++i)
    if (!fits(part.getSizes()[i], whole.getSizes()[skip + i]))
      return false;
  return true;
}

Value makeElementwise(OpBuilder &builder, Location loc, StringRef op, ArrayRef<Value> operands,
                      Type element) {
  bool host = true, placed = false;
  SmallVector<SizeAttr> sizes;
  StringAttr device;
  for (Value v : operands) {
    auto type = cast<TensorType>(v.getType());
    host &= type.isHost();
    // Scalars move freely between devices; tensors determine the device.
    if (!type.isHost() && (!device || (!type.isScalar() && !placed))) {
      device = type.getDevice();
      placed = !type.isScalar();
    }
    ArrayRef<SizeAttr> mine = type.getSizes();
    if (mine.size() > sizes.size())
      sizes.insert(sizes.begin(), mine.begin(), mine.begin() + (mine.size() - sizes.size()));
    for (size_t back = 1; back <= mine.size(); ++back) {
      SizeAttr &slot = sizes[sizes.size() - back];
      if (slot.constant() == 1)
        slot = mine[mine.size() - back];
    }
  }
  if (!element)
    element = cast<TensorType>(operands.back().getType()).getElement();
  OperationState state(loc, ("mx." + op).str());
  state.addOperands(operands);
  state.addTypes(host ? TensorType::host(element)
                      : TensorType::get(builder.getContext(), element, sizes, device));
  return builder.create(state)->getResult(0);
}

LogicalResult verifyElementwise(Operation *op) {
  auto result = cast<TensorType>(op->getResult(0).getType());
  bool allHost = true;
  for (Value operand : op->getOperands()) {
    auto type = cast<TensorType>(operand.getType());
    allHost &= type.isHost();
    if (!broadcastsTo(type, result))
      return op->emitOpError() << "operand " << type << " does not broadcast to " << result;
  }
  // Each size of the result comes from an operand.
  for (size_t back = 1; back <= result.rank(); ++back) {
    SizeAttr size = result.getSizes()[result.rank() - back];
    bool found = false;
    for (Value operand : op->getOperands()) {
      auto type = cast<TensorType>(operand.getType());
      found |= type.rank() >= back &&
               (type.getSizes()[type.rank() - back] == size ||
                !type.getSizes()[type.rank() - back].constant() || !size.constant());
    }
    if (!found)
      return op->emitOpError() << "no operand has the size " << size << " of the result";
  }
  if (result.isHost() != allHost)
    return op->emitOpError() << "the result is on the host exactly if all operands are";
  Type first = cast<TensorType>(op->getOperand(isa<SelectOp>(op) ? 1 : 0).getType()).getElement();
  if (isa<CastOp>(op))
    return success();
  for (size_t i = isa<SelectOp>(op) ? 1 : 0; i < op->getNumOperands(); ++i)
    if (Type element = cast<TensorType>(op->getOperand(i).getType()).getElement(); element != first)
      return op->emitOpError() << "operands have different elements, " << first << " and "
                               << element;
  Type expected = first;
  if (isa<EqOp, NeOp, LtOp, LeOp, GtOp, GeOp, IsNanOp, IsFiniteOp>(op))
    expected = IntegerType::get(op->getContext(), 1);
  else if (isa<DivOp>(op) && !isFloatElement(first))
    expected = Float32Type::get(op->getContext());
  if (result.getElement() != expected)
    return op->emitOpError() << "the result has elements " << result.getElement() << ", not "
                             << expected;
  if (isa<SelectOp>(op) &&
      !isBoolElement(cast<TensorType>(op->getOperand(0).getType()).getElement()))
    return op->emitOpError() << "the condition is not bool";
  if (isa<AndOp, OrOp, NotOp>(op) && !isBoolElement(first))
    return op->emitOpError() << "and, or, not are for bool";
  return success();
}

static std::optional<int64_t> foldInt(Operation *op, int64_t x, int64_t y) {
  auto wrap = [](uint64_t v) { return static_cast<int64_t>(v); };
  uint64_t a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  if (isa<AddOp>(op))
    return wrap(a + b);
  if (isa<SubOp>(op))
    return wrap(a - b);
  if (isa<MulOp>(op))
    return wrap(a * b);
  if (isa<MaximumOp>(op))
    return std::max(x, y);
  if (isa<MinimumOp>(op))
    return std::min(x, y);
  if (isa<FloorDivOp, ModOp>(op) && y != 0 && y != -1) {
    int64_t quotient = x / y - (x % y != 0 && ((x < 0) != (y < 0)));
    return isa<FloorDivOp>(op) ? quotient : wrap(a - static_cast<uint64_t>(quotient) * b);
  }
  return std::nullopt;
}
static std::optional<bool> foldCompare(Operation *op, int64_t x, int64_t y) {
  if (isa<EqOp>(op))
    return x == y;
  if (isa<NeOp>(op))
    return x != y;
  if (isa<LtOp>(op))
    return x < y;
  if (isa<LeOp>(op))
    return x <= y;
  if (isa<GtOp>(op))
    return x > y;
  if (isa<GeOp>(op))
    return x >= y;
  return std::nullopt;
}

OpFoldResult foldElementwise(Operation *op, ArrayRef<Attribute> operands) {
  Builder b(op->getContext());
  auto resultType = cast<TensorType>(op->getResult(0).getType());
  if (isa<CastOp>(op)) {
    if (op->getOperand(0).getType() == op->getResult(0).getType())
      return op->getOperand(0);
    // An integer that the other type represents exactly.
    if (auto value = dyn_cast_or_null<IntegerAttr>(operands[0]);
        value && resultType.isScalar() && resultType.getElement().isSignlessInteger(64) &&
        value.getType().isSignlessInteger() && !value.getType().isInteger(1))
      return b.getI64IntegerAttr(value.getValue().getSExtValue());
    // Every target rounds to nearest even.
    if (auto value = dyn_cast_or_null<IntegerAttr>(operands[0]);
        value && resultType.isScalar() && isFloatElement(resultType.getElement())) {
      bool sign = !value.getType().isUnsignedInteger() && !value.getType().isInteger(1);
      APFloat real(cast<FloatType>(resultType.getElement()).getFloatSemantics());
      real.convertFromAPInt(value.getValue(), sign, APFloat::rmNearestTiesToEven);
      return FloatAttr::get(resultType.getElement(), real);
    }
    return {};
  }
  if (isa<SelectOp>(op)) {
    if (auto condition = dyn_cast_or_null<BoolAttr>(operands[0])) {
      Value chosen = op->getOperand(condition.getValue() ? 1 : 2);
      if (chosen.getType() == resultType)
        return chosen;
    }
    return {};
  }
  if (!resultType.isScalar())
    return {};
  if (isa<NotOp>(op))
    if (auto x = dyn_cast_or_null<BoolAttr>(operands[0]))
      return b.getBoolAttr(!x.getValue());
  if (isa<NegOp>(op))
    if (auto x = dyn_cast_or_null<IntegerAttr>(operands[0]); x && x.getType().isInteger(64))
      return b.getI64IntegerAttr(static_cast<int64_t>(0 - static_cast<uint64_t>(x.getInt())));
  if (operands.size() != 2)
    return {};
  auto x = dyn_cast_or_null<IntegerAttr>(operands[0]);
  auto y = dyn_cast_or_null<IntegerAttr>(operands[1]);
  // An operand of `and` or `or` that decides the result, or is neutral.
  if (isa<AndOp, OrOp>(op)) {
    bool decides = isa<OrOp>(op);
    for (int i = 0; i < 2; ++i)
      if (auto known = dyn_cast_or_null<BoolAttr>(operands[i])) {
        if (known.getValue() == decides)
          return b.getBoolAttr(decides);
        if (op->getOperand(1 - i).getType() == resultType)
          return op->getOperand(1 - i);
      }
    return {};
  }
  if (!x || !y || !x.getType().isSignlessInteger(64) || !y.getType().isSignlessInteger(64))
    return {};
  if (std::optional<bool> holds = foldCompare(op, x.getInt(), y.getInt()))
    return b.getBoolAttr(*holds);
  if (resultType.getElement().isSignlessInteger(64))
    if (std::optional<int64_t> value = foldInt(op, x.getInt(), y.getInt()))
      return b.getI64IntegerAttr(*value);
  return {};
}

} // namespace mx::ir
