// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for tensor ops: calls of tensor operations by name, which the host of the VM
// resolves:
//
//   add:f32  select:f32  cast:f32:f16      elementwise; operands are tensors or numbers
//   sum:f32(axes=0/2,keep=1)   matmul:f32   cumsum:f32(axis=1), scatter_add:f32, … (mx.routine)
//   reshape(x, sizes…)  broadcast(x, sizes…)  transpose(order=1/0/2)(x)  concat(axis=1)(x…)
//   index(i/:/rft/n/t)(x, indices…)  update(…)(mut x, indices…, value)   t: a tensor of indices
//   full:f32(value, sizes…)  iota:i32(n)  literal:f32(shape=2/3)(numbers…)  to(device=cpu:1)(x)
//   uniform:f32(seed, counter, low, high, sizes…), normal, truncated_normal (mean, deviation),
//   bernoulli (p), randint:i64 (low, high), permutation:i64(seed, counter, n),
//   categorical:f32(seed, counter, logits)
//
// A suffix `@cpu:1` names the device of the result, if it is not the default device.
#include "Bytecode/FunctionEmitter.h"
#include "dialects/mx/Marks.h"
#include <bit>

using namespace mlir;

namespace mx::bytecode {

static std::string onDevice(Type type) {
  StringRef device = cast<ir::TensorType>(type).getDevice().getValue();
  return device.empty() ? "" : ("@" + device).str();
}

static std::string joined(ArrayRef<int64_t> numbers) {
  std::string out;
  for (int64_t number : numbers)
    out += (out.empty() ? "" : "/") + std::to_string(number);
  return out;
}

static std::string typedName(StringRef name, Value of) {
  return (name + ":" + elementName(cast<ir::TensorType>(of.getType()).getElement())).str();
}

void FunctionEmitter::callTensor(Operation *op, StringRef name, SmallVector<uint16_t> operands) {
  Value result = op->getResult(0);
  if (isHostTensor(result.getType())) {
    error(op) << "has a result on the host, where only numbers are";
    return;
  }
  if (operands.size() > host::maxRegisters) {
    overLimit(op) << "this call has " << operands.size() << " operands, at most "
                  << host::maxRegisters << " are possible";
    return;
  }
  std::vector<ParamData> params;
  for (uint16_t reg : operands)
    params.push_back({registers.kind(reg), false});
  uint16_t row = tables.import(ImportKind::TensorOp, name.str() + onDevice(result.getType()),
                               std::move(params), Kind::Tensor);
  uint16_t arguments = list(std::move(operands));
  releaseOperands();
  emit(Opcode::CallTensor, defineIfUsed(result), row, arguments);
}

/// A host number as a tensor on the device of the current op.
Reg FunctionEmitter::makeTensor(Reg number, ir::TensorType type) {
  std::string name = "full:" + elementName(type.getElement());
  if (current.op->getNumResults() == 1 && isDeviceTensor(current.op->getResult(0).getType()))
    name += onDevice(current.op->getResult(0).getType());
  uint16_t row =
      tables.import(ImportKind::TensorOp, name, {{registers.kind(number), false}}, Kind::Tensor);
  Reg tensor = temp(Kind::Tensor);
  emit(Opcode::CallTensor, tensor, row, list({number}));
  return tensor;
}

bool FunctionEmitter::emitTensorOp(Operation *op) {
  auto call = [&](const std::string &name) {
    SmallVector<uint16_t> operands;
    for (Value operand : op->getOperands())
      operands.push_back(useTensor(operand));
    callTensor(op, name, std::move(operands));
  };
  // x, then the sizes of the result; for a host number it is `full`.
  auto shape = [&](StringRef name) {
    Value x = op->getOperand(0);
    SmallVector<uint16_t> operands{use(x)};
    appendSizes(operands, cast<ir::TensorType>(op->getResult(0).getType()));
    callTensor(op, isHostTensor(x.getType()) ? typedName("full", x) : name.str(),
               std::move(operands));
  };
  if (op->hasTrait<ir::Elementwise>()) {
    if (isHostTensor(op->getResult(0).getType()))
      emitHostElementwise(op);
    else
      emitElementwise(op);
  } else if (op->hasTrait<ir::Reduction>()) {
    auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes");
    call(typedName(op->getName().stripDialect(), op->getOperand(0)) + "(axes=" + joined(axes) +
         ",keep=" + (op->hasAttr("keep") ? "1" : "0") +
         (op->hasAttr(ir::kTotal) ? ",empty=1" : "") + ")");
  } else if (isa<ir::MatmulOp>(op)) {
    call(typedName("matmul", op->getOperand(0)));
  } else if (isa<ir::ConvOp, ir::WindowsOp, ir::FoldOp>(op)) {
    emitWindows(op);
  } else if (auto routine = dyn_cast<ir::RoutineOp>(op)) {
    std::string name = typedName(routine.getKind(), op->getOperand(0));
    if (routine.worksAlongAxis())
      name += "(axis=" + std::to_string(routine.getAxis()) + ")";
    if (routine.getKind() == "argsort_top") // x and the count
      callTensor(
          op, name,
          {useTensor(op->getOperand(0)), size(routine.getType().getSizes()[routine.getAxis()])});
    else
      call(name);
  } else if (isa<ir::ReshapeOp, ir::BroadcastOp>(op)) {
    shape(op->getName().stripDialect());
  } else if (auto transpose = dyn_cast<ir::TransposeOp>(op)) {
    call("transpose(order=" + joined(transpose.getOrder()) + ")");
  } else if (auto concat = dyn_cast<ir::ConcatOp>(op)) {
    call("concat(axis=" + std::to_string(concat.getAxis()) + ")");
  } else if (auto scatter = dyn_cast<ir::ScatterAddOp>(op)) {
    call(typedName("give_back", op->getOperand(0)) + "(axis=" + std::to_string(scatter.getAxis()) +
         ")");
  } else if (auto slice = dyn_cast<ir::SliceOp>(op)) {
    emitSlice(slice);
  } else if (auto update = dyn_cast<ir::UpdateOp>(op)) {
    emitUpdate(update);
  } else if (auto take = dyn_cast<ir::TakeOp>(op)) {
    emitTake(take);
  } else if (auto constantOp = dyn_cast<ir::ConstantOp>(op)) {
    emitConstant(constantOp);
  } else if (isa<ir::FullOp>(op)) {
    shape(typedName("full", op->getResult(0)));
  } else if (auto iota = dyn_cast<ir::IotaOp>(op)) {
    SmallVector<uint16_t> operands;
    appendSizes(operands, iota.getType());
    callTensor(op, typedName("iota", iota.getResult()), std::move(operands));
  } else if (auto random = dyn_cast<ir::RandomOp>(op)) {
    emitRandom(random);
  } else if (auto to = dyn_cast<ir::ToDeviceOp>(op)) {
    emitTo(to);
  } else {
    return false;
  }
  return true;
}

void FunctionEmitter::emitElementwise(Operation *op) {
  // A comparison is named by its operand type, a select by the type it selects.
  std::string name =
      typedName(op->getName().stripDialect(), op->getOperand(isa<ir::SelectOp>(op) ? 1 : 0));
  if (isa<ir::CastOp>(op))
    name = typedName(name, op->getResult(0));
  SmallVector<uint16_t> operands;
  for (Value operand : op->getOperands())
    operands.push_back(use(operand));
  callTensor(op, name, std::move(operands));
}

/// The operands; then, for each spatial axis, its sizes in the result and its attributes.
void FunctionEmitter::emitWindows(Operation *op) {
  SmallVector<uint16_t> operands;
  for (Value operand : op->getOperands())
    operands.push_back(useTensor(operand));
  SmallVector<ArrayAttr> attributes;
  for (StringRef name : {"stride", "dilation", "padding_low", "lhs_dilation"})
    if (auto sizes = op->getAttrOfType<ArrayAttr>(name))
      attributes.push_back(sizes);
  ArrayRef<ir::SizeAttr> sizes = cast<ir::TensorType>(op->getResult(0).getType()).getSizes();
  size_t spatial = attributes[0].size();
  for (size_t d = 0; d < spatial; ++d) {
    if (isa<ir::WindowsOp>(op))
      operands.push_back(size(sizes[sizes.size() - 2 * spatial + d]));
    operands.push_back(size(sizes[sizes.size() - spatial + d]));
    for (ArrayAttr each : attributes)
      operands.push_back(size(cast<ir::SizeAttr>(each[d])));
  }
  StringRef name = op->getName().stripDialect();
  callTensor(op, isa<ir::WindowsOp>(op) ? name.str() : typedName(name, op->getOperand(0)),
             std::move(operands));
}

// ------------------------------------------------------------------------------------------------
// indexing

std::string FunctionEmitter::indexSpec(ArrayAttr spec, OperandRange at, bool mayTakeTensor,
                                       SmallVector<uint16_t> &operands) {
  std::string out;
  size_t next = 0;
  std::optional<SmallVector<ir::SpecEntry>> entries = ir::readSpec(spec);
  for (const ir::SpecEntry &entry : *entries) {
    if (!out.empty())
      out += '/';
    switch (entry.kind) {
    case ir::SpecEntry::Whole:
      out += ':';
      break;
    case ir::SpecEntry::New:
      out += 'n';
      break;
    case ir::SpecEntry::Index: {
      // One index may stay on its device, so that the host does not wait for it.
      Value index = at[next++];
      bool asTensor = mayTakeTensor && isDeviceTensor(index.getType());
      mayTakeTensor &= !asTensor;
      out += asTensor ? 't' : 'i';
      operands.push_back(asTensor ? use(index) : useNumber(index));
      break;
    }
    case ir::SpecEntry::Range:
      out += 'r';
      for (auto [given, letter] : {std::pair(entry.from, 'f'), {entry.to, 't'}, {entry.step, 's'}})
        if (given) {
          out += letter;
          operands.push_back(useNumber(at[next++]));
        }
    }
  }
  return "(" + out + ")";
}

void FunctionEmitter::emitSlice(ir::SliceOp op) {
  SmallVector<uint16_t> operands{useTensor(op.getX())};
  std::string spec = indexSpec(op.getSpec(), op.getAt(), /*mayTakeTensor=*/true, operands);
  callTensor(op, "index" + spec, std::move(operands));
}

void FunctionEmitter::emitUpdate(ir::UpdateOp op) {
  SmallVector<uint16_t> indices;
  std::string spec = indexSpec(op.getSpec(), op.getAt(), /*mayTakeTensor=*/false, indices);
  Reg value = use(op.getValue());
  Reg x = defineFrom(op.getX(), op.getResult());
  SmallVector<uint16_t> operands{uint16_t(x | host::mutBit)};
  std::vector<ParamData> params{{Kind::Tensor, true}};
  operands.append(indices);
  operands.push_back(value);
  for (uint16_t reg : ArrayRef(operands).drop_front())
    params.push_back({registers.kind(reg), false});
  uint16_t row = tables.import(ImportKind::TensorOp, "update" + spec + onDevice(op.getType()),
                               std::move(params), Kind::Unit);
  emit(Opcode::CallTensor, host::noRegister, row, list(std::move(operands)));
}

void FunctionEmitter::emitTake(ir::TakeOp op) {
  bool isNumber = isHostTensor(op.getIndex().getType());
  std::string spec;
  for (size_t axis = 0; axis < op.getX().getType().rank(); ++axis) {
    spec += axis == 0 ? "" : "/";
    std::string own = isNumber ? "i" : op->hasAttr(ir::kLabels) ? "l" : "t";
    auto shown = op->getAttrOfType<ir::SizeAttr>(ir::kShownAxis);
    if (shown && !isNumber)
      own += std::to_string(shown.constant().value_or(int64_t(axis)));
    spec += int64_t(axis) != int64_t(op.getAxis()) ? ":" : own;
  }
  callTensor(op, "index(" + spec + ")", {useTensor(op.getX()), use(op.getIndex())});
}

// ------------------------------------------------------------------------------------------------
// creation

void FunctionEmitter::emitConstant(ir::ConstantOp op) {
  if (op.getType().isHost()) {
    if (!isImmediate(op))
      emitHostConstant(op);
    return;
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue()))
    return emitLiteral(op, dense);
  auto whole = RankedTensorType::get({}, op.getType().getElement());
  emitLiteral(op, DenseElementsAttr::get(whole, ArrayRef<Attribute>(op.getValue())));
}

/// The elements in the representation of the VM.
static SmallVector<uint64_t> elementBits(DenseElementsAttr values, Kind kind) {
  SmallVector<uint64_t> out;
  auto ofFloat = [&](const APFloat &value) -> uint64_t {
    APFloat wide = value;
    bool loses = false;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return kind == Kind::F64 ? std::bit_cast<uint64_t>(wide.convertToDouble())
                             : std::bit_cast<uint32_t>(float(wide.convertToDouble()));
  };
  bool isUnsigned = values.getElementType().isUnsignedInteger() || kind == Kind::Bool;
  auto ofInt = [&](const APInt &value) {
    return isUnsigned ? value.getZExtValue() : uint64_t(value.getSExtValue());
  };
  // A splat is passed once.
  bool isFloat = isa<FloatType>(values.getElementType());
  if (values.isSplat())
    return {isFloat ? ofFloat(values.getSplatValue<APFloat>())
                    : ofInt(values.getSplatValue<APInt>())};
  out.reserve(size_t(values.getNumElements()));
  if (isFloat)
    for (const APFloat &value : values.getValues<APFloat>())
      out.push_back(ofFloat(value));
  else
    for (const APInt &value : values.getValues<APInt>())
      out.push_back(ofInt(value));
  return out;
}

void FunctionEmitter::emitLiteral(ir::ConstantOp op, DenseElementsAttr dense) {
  ir::TensorType type = op.getType();
  Kind kind = kindOfElement(type.getElement());
  SmallVector<uint64_t> bits = elementBits(dense, kind);
  if (dense.isSplat() || bits.empty()) {
    SmallVector<uint16_t> operands{constant(kind, bits.empty() ? 0 : bits.front())};
    appendSizes(operands, type);
    return callTensor(op, typedName("full", op.getResult()), std::move(operands));
  }
  // The length of operand lists is limited, and so is the number of registers for distinct values.
  constexpr size_t kElements = host::maxRegisters, kDifferent = 8192;
  std::string name = typedName("literal", op.getResult());
  SmallVector<uint16_t> pieces;
  for (size_t at = 0; at < bits.size() && !failed;) {
    std::map<uint64_t, Reg> numbers;
    SmallVector<uint16_t> operands;
    for (; at < bits.size() && operands.size() < kElements; ++at) {
      auto found = numbers.find(bits[at]);
      if (found == numbers.end()) {
        if (numbers.size() == kDifferent)
          break;
        found = numbers.try_emplace(bits[at], registers.take(kind)).first;
        loadConstant(found->second, kind, bits[at]);
      }
      operands.push_back(found->second);
    }
    // Freed before the call: it reads all of them before it writes, and writes none of them.
    for (auto [value, reg] : numbers)
      registers.free(reg);
    if (operands.size() == bits.size())
      return callTensor(op, name + "(shape=" + joined(type.numbers()) + ")", std::move(operands));
    uint16_t row =
        tables.import(ImportKind::TensorOp,
                      name + "(shape=" + std::to_string(operands.size()) + ")" + onDevice(type),
                      std::vector<ParamData>(operands.size(), {kind, false}), Kind::Tensor);
    pieces.push_back(temp(Kind::Tensor));
    emit(Opcode::CallTensor, pieces.back(), row, list(std::move(operands)));
  }
  uint16_t row =
      tables.import(ImportKind::TensorOp, "concat(axis=0)" + onDevice(type),
                    std::vector<ParamData>(pieces.size(), {Kind::Tensor, false}), Kind::Tensor);
  Reg flat = temp(Kind::Tensor);
  emit(Opcode::CallTensor, flat, row, list(std::move(pieces)));
  SmallVector<uint16_t> operands{flat};
  appendSizes(operands, type);
  callTensor(op, "reshape", std::move(operands));
}

void FunctionEmitter::emitRandom(ir::RandomOp op) {
  StringRef kind = op.getKind();
  bool isCategorical = kind == "categorical";
  SmallVector<uint16_t> operands{useNumber(op.getSeed()), useNumber(op.getCounter())};
  for (Value parameter : op.getParameters())
    operands.push_back(isCategorical ? useTensor(parameter) : useNumber(parameter));
  if (!isCategorical)
    appendSizes(operands, op.getType());
  bool isBool = ir::isBoolElement(op.getType().getElement());
  std::string name = isCategorical ? typedName(kind, op.getParameters()[0])
                     : isBool      ? kind.str()
                                   : typedName(kind, op.getResult());
  callTensor(op, name, std::move(operands));
}

void FunctionEmitter::emitTo(ir::ToDeviceOp op) {
  ir::TensorType from = op.getX().getType(), to = op.getType();
  if (from.isHost() && to.isHost()) {
    (void)defineFrom(op.getX(), op.getResult());
  } else if (to.isHost()) {
    Reg x = use(op.getX());
    releaseOperands();
    emit(Opcode::ReadTensor, define(op.getResult()), x);
  } else if (from.isHost()) {
    callTensor(op, typedName("full", op.getX()), {use(op.getX())});
  } else {
    StringRef device = to.getDevice().getValue();
    std::string name = ("to(device=" + (device.empty() ? "cpu:0" : device) + ")").str();
    uint16_t row = tables.import(ImportKind::TensorOp, name, {{Kind::Tensor, false}}, Kind::Tensor);
    uint16_t arguments = list({use(op.getX())});
    releaseOperands();
    emit(Opcode::CallTensor, defineIfUsed(op.getResult()), row, arguments);
  }
}

} // namespace mx::bytecode
