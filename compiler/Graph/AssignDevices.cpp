// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AssignDevices: device placement (S16). Assigns a device to each tensor.
//
// Ops in an `on` region run on its device, and so do the functions called there; all other ops run
// where their operands are. Operands on other devices are copied, each once per block. A function
// called with operands on other devices, or from within an `on`, is cloned for them.
#include "Graph/Passes.h"
#include "dialects/mx/Marks.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_ASSIGNDEVICES
#include "Graph/Passes.h.inc"

namespace {

ir::TensorType onDevice(Type type) {
  auto tensor = dyn_cast<ir::TensorType>(type);
  return tensor && !tensor.isHost() ? tensor : ir::TensorType();
}

/// The type with its tensors on the devices of `by`. Parts are matched by name; sizes may be
/// written differently.
Type withDevices(Type type, Type by) {
  if (ir::TensorType tensor = onDevice(type))
    return onDevice(by) ? tensor.onDevice(onDevice(by).getDevice().getValue()) : type;
  if (auto array = dyn_cast<ir::ArrayType>(type))
    return ir::ArrayType::get(type.getContext(),
                              withDevices(array.getElement(), cast<ir::ArrayType>(by).getElement()),
                              array.getCount());
  auto parts = dyn_cast<ir::AggregateType>(type), from = dyn_cast<ir::AggregateType>(by);
  if (!parts || !from)
    return type;
  SmallVector<Type> made;
  for (auto [i, part] : llvm::enumerate(parts.getParts())) {
    size_t at = i;
    if (i < parts.getFields().size()) // a gradient has a subset of the fields
      at = llvm::find(from.getFields(), parts.getFields()[i]) - from.getFields().begin();
    made.push_back(at < from.getParts().size() ? withDevices(part, from.getParts()[at]) : part);
  }
  return ir::AggregateType::get(type.getContext(), parts.getName(), parts.getFields(), made);
}

class DeviceAssigner {
public:
  explicit DeviceAssigner(ModuleOp module)
      : module(module), original(cast<ModuleOp>(module->clone())), symbols(module),
        originals(*original) {
    if (auto held = module->getAttrOfType<DictionaryAttr>(ir::kHeld))
      for (NamedAttribute variable : held)
        globals[variable.getName()] = cast<TypeAttr>(variable.getValue()).getValue();
    module->removeAttr(ir::kHeld);
  }

  LogicalResult run() {
    SmallVector<FunctionOpInterface> functions(module.getOps<FunctionOpInterface>());
    for (FunctionOpInterface function : functions)
      if (!function.isExternal())
        assign(function.getNameAttr(), llvm::to_vector(function.getArgumentTypes()), {});
    return failure(failed);
  }

private:
  using Key = std::tuple<void *, std::vector<void *>, void *>;
  struct Made {
    FunctionOpInterface function;
    SmallVector<Type> results;
    bool done = false, isRecursive = false;
  };

  ModuleOp module;
  OwningOpRef<ModuleOp> original; ///< clones are made from the unchanged module
  SymbolTable symbols, originals;
  std::map<Key, Made> made;
  llvm::StringMap<Type> globals;
  std::map<std::tuple<void *, void *, void *>, Value> copies; ///< per value, device and block
  bool failed = false;

  // ------------------------------------------------------------------------------- functions

  /// The function specialised for arguments of these types, called inside of an `on` or, if
  /// `ambient` is null, outside of all.
  Made &assign(StringAttr name, ArrayRef<Type> given, StringAttr ambient,
               ArrayRef<Type> wanted = {}) {
    auto first = originals.lookup<FunctionOpInterface>(name);
    SmallVector<Type> arguments;
    for (auto [type, value] : llvm::zip_equal(first.getArgumentTypes(), given))
      arguments.push_back(withDevices(type, value));
    std::vector<void *> types;
    for (Type type : arguments)
      types.push_back(const_cast<void *>(type.getAsOpaquePointer()));
    Key key{first, types, const_cast<void *>(ambient.getAsOpaquePointer())};
    auto [entry, isNew] = made.try_emplace(key);
    Made &out = entry->second;
    if (!isNew) {
      out.isRecursive |= !out.done;
      return out;
    }
    bool isSame = !ambient && llvm::equal(arguments, first.getArgumentTypes());
    if (isSame) {
      out.function = symbols.lookup<FunctionOpInterface>(name);
    } else {
      out.function = cast<FunctionOpInterface>(first->clone());
      SymbolTable::setSymbolName(out.function, (name.getValue() + ".placed").str());
      out.function->removeAttr(ir::kEager);
      symbols.insert(out.function);
    }
    out.results.assign(first.getResultTypes().begin(), first.getResultTypes().end());
    Block &body = out.function.getFunctionBody().front();
    for (auto [argument, type] : llvm::zip_equal(body.getArguments(), arguments))
      argument.setType(type);
    assign(body, ambient);

    Operation *end = body.getTerminator();
    size_t mutCount = 0;
    for (unsigned i = 0; i < out.function.getNumArguments(); ++i)
      if (out.function.getArgAttr(i, ir::kMut))
        moveLike(end->getOpOperand(static_cast<unsigned>(mutCount++)), arguments[i]);
    if (out.isRecursive || !wanted.empty())
      for (OpOperand &result : end->getOpOperands().drop_front(mutCount))
        moveLike(result, out.isRecursive ? out.results[result.getOperandNumber()]
                                         : wanted[result.getOperandNumber()]);
    out.results.assign(end->getOperandTypes().begin(), end->getOperandTypes().end());
    out.function.setType(FunctionType::get(module.getContext(), arguments, out.results));
    out.done = true;
    return out;
  }

  void assign(Block &block, StringAttr ambient) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, ambient);
  }

  // ---------------------------------------------------------------------------------- copies

  /// Copies the value to `type`, which differs in devices only.
  Value moved(Value value, Type type, Operation *before) {
    if (value.getType() == type)
      return value;
    OpBuilder b(before);
    if (auto undefined = value.getDefiningOp<ir::UndefOp>(); undefined && value.hasOneUse()) {
      value.setType(type);
      return value;
    }
    if (onDevice(value.getType()) && onDevice(type)) {
      Value &copy = copies[{value.getAsOpaquePointer(),
                            const_cast<void *>(type.getAsOpaquePointer()), before->getBlock()}];
      if (!copy)
        copy = ir::ToDeviceOp::create(b, before->getLoc(), type, value);
      return copy;
    }
    auto parts = dyn_cast<ir::AggregateType>(type);
    if (parts && isa<ir::AggregateType>(value.getType())) {
      SmallVector<Value> values;
      for (auto [i, part] : llvm::enumerate(parts.getParts())) {
        Type from = cast<ir::AggregateType>(value.getType()).getParts()[i];
        Value one = ir::GetOp::create(b, before->getLoc(), from, value,
                                      b.getI64IntegerAttr(static_cast<int64_t>(i)));
        values.push_back(moved(one, part, before));
      }
      return ir::MakeOp::create(b, before->getLoc(), type, values);
    }
    before->emitError() << "a value of type " << value.getType() << " cannot be moved to be a "
                        << type;
    failed = true;
    return value;
  }
  void move(OpOperand &operand, Type type) {
    operand.set(moved(operand.get(), type, operand.getOwner()));
  }
  void moveLike(OpOperand &operand, Type type) {
    move(operand, withDevices(operand.get().getType(), type));
  }

  // ------------------------------------------------------------------------------------- ops

  void visit(Operation *op, StringAttr ambient) {
    if (auto on = op->getAttrOfType<StringAttr>(ir::kOn)) {
      op->removeAttr(ir::kOn);
      ambient = on.getValue() == "cpu:0" ? StringAttr::get(op->getContext()) : on; // the default
      if (auto to = dyn_cast<ir::ToDeviceOp>(op)) {
        ir::TensorType there = to.getType().onDevice(ambient.getValue());
        if (to.getX().getType() == there) {
          to.replaceAllUsesWith(to.getX());
          to.erase();
        } else {
          to.getResult().setType(there);
        }
        return;
      }
    }
    llvm::TypeSwitch<Operation *>(op)
        .Case<ir::IfOp, ir::TryOp>([&](Operation *) { placeBranches(op, ambient); })
        .Case<ir::ForOp, ir::WhileOp>([&](Operation *) { placeLoop(op, ambient); })
        .Case([&](ir::CallOp call) {
          moveArguments(op, call.getCalleeAttr().getAttr(), ambient);
          Made &callee = assign(call.getCalleeAttr().getAttr(), typesOf(call.getArgs()), ambient);
          call.setCallee(callee.function.getName());
          setDevices(op, callee.results);
        })
        .Case([&](ir::GradOp grad) {
          moveArguments(op, grad.getCalleeAttr().getAttr(), ambient);
          Made &callee = assign(grad.getCalleeAttr().getAttr(), typesOf(grad.getArgs()), ambient);
          grad.setCallee(callee.function.getName());
          SmallVector<Type> types(callee.results);
          for (auto [result, by] :
               llvm::zip(grad.getOuts().drop_front(types.size()), grad.getWrt()))
            types.push_back(grad.getArgs()[by].getType());
          setDevices(op, types);
        })
        .Case([&](ir::ClosureOp closure) {
          auto type = closure.getType().getType();
          SmallVector<Type> types = typesOf(closure.getCaptured());
          llvm::append_range(types, type.getInputs());
          Made &callee =
              assign(closure.getCalleeAttr().getAttr(), types, ambient, type.getResults());
          closure.setCallee(callee.function.getName());
        })
        .Case([&](ir::CallValueOp call) {
          auto type = call.getCallee().getType().getType();
          for (auto [operand, wanted] :
               llvm::zip(op->getOpOperands().drop_front(), type.getInputs()))
            moveLike(operand, wanted);
        })
        .Case([&](ir::MakeOp make) { placeMake(make); })
        .Case([&](ir::GetOp get) {
          get.getResult().setType(get.getAggregate().getType().getParts()[get.getPart()]);
        })
        .Case([&](ir::SetOp set) {
          moveLike(op->getOpOperand(1), set.getAggregate().getType().getParts()[set.getPart()]);
          set.getResult().setType(set.getAggregate().getType());
        })
        .Case([&](ir::AtOp at) {
          at.getResult().setType(cast<ir::ArrayType>(op->getOperand(0).getType()).getElement());
        })
        .Case([&](ir::SetAtOp set) {
          auto array = cast<ir::ArrayType>(op->getOperand(0).getType());
          moveLike(set.getValueMutable(), array.getElement());
          set.getResult().setType(array);
        })
        .Case([&](ir::CellOp cell) {
          cell.getResult().setType(
              ir::CellType::get(op->getContext(), op->getOperand(0).getType()));
        })
        .Case([&](ir::LoadOp load) {
          load.getResult().setType(cast<ir::CellType>(load.getCell().getType()).getElement());
        })
        .Case([&](ir::StoreOp store) {
          moveLike(op->getOpOperand(0), cast<ir::CellType>(store.getCell().getType()).getElement());
        })
        .Case([&](ir::GlobalStoreOp store) {
          Type &type = globals[store.getName()];
          if (!type)
            type = store.getValue().getType();
          moveLike(op->getOpOperand(0), type);
        })
        .Case([&](ir::GlobalLoadOp load) {
          if (Type type = globals.lookup(load.getName()))
            load.getResult().setType(withDevices(load.getType(), type));
        })
        .Default([&](Operation *) { placeTensorOp(op, ambient); });
  }

  /// Inside of an `on`, tensors are copied before a call, so that all uses in the callee share the
  /// copy. Parts of models are copied only where they are used; `mut` arguments stay on their
  /// device.
  void moveArguments(Operation *call, StringAttr name, StringAttr ambient) {
    auto callee = originals.lookup<FunctionOpInterface>(name);
    for (OpOperand &operand : call->getOpOperands())
      if (ir::TensorType type = onDevice(operand.get().getType());
          ambient && type && !callee.getArgAttr(operand.getOperandNumber(), ir::kMut))
        move(operand, type.onDevice(ambient.getValue()));
  }

  static SmallVector<Type> typesOf(ValueRange values) {
    return SmallVector<Type>(values.getTypes());
  }
  static void setDevices(Operation *op, ArrayRef<Type> types) {
    for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
      result.setType(withDevices(result.getType(), type));
  }

  void placeTensorOp(Operation *op, StringAttr ambient) {
    if (op->getNumResults() != 1 || !onDevice(op->getResult(0).getType()))
      return;
    // A view (slice, reshape, transpose) is taken on the device of its operand: less is copied
    // then.
    bool isView = isa<ir::SliceOp, ir::ReshapeOp, ir::TransposeOp>(op);
    StringAttr device = isView ? StringAttr() : ambient;
    for (bool numbers : {false, true})
      for (Value operand : op->getOperands())
        if (ir::TensorType type = onDevice(operand.getType());
            type && !device && type.isScalar() == numbers)
          device = type.getDevice();
    if (!device)
      device = StringAttr::get(op->getContext());
    for (OpOperand &operand : op->getOpOperands())
      if (ir::TensorType type = onDevice(operand.get().getType()))
        move(operand, type.onDevice(device.getValue()));
    ir::TensorType type = onDevice(op->getResult(0).getType());
    op->getResult(0).setType(type.onDevice(device.getValue()));
  }

  void placeMake(ir::MakeOp make) {
    if (auto array = dyn_cast<ir::ArrayType>(make.getType())) {
      if (make.getParts().empty())
        return;
      Type element = make.getParts()[0].getType();
      for (OpOperand &part : make->getOpOperands())
        moveLike(part, element);
      make.getResult().setType(ir::ArrayType::get(make.getContext(), element, array.getCount()));
      return;
    }
    auto type = cast<ir::AggregateType>(make.getType());
    make.getResult().setType(ir::AggregateType::get(make.getContext(), type.getName(),
                                                    type.getFields(), typesOf(make.getParts())));
  }

  /// Results are on the device that the first branch yields them on; if it yields undefined, that
  /// of the second.
  void placeBranches(Operation *op, StringAttr ambient) {
    for (Region &region : op->getRegions())
      assign(region.front(), ambient);
    Operation *first = op->getRegion(0).front().getTerminator();
    Operation *second = op->getRegion(1).front().getTerminator();
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      auto at = static_cast<unsigned>(i);
      bool undefined = first->getOperand(at).getDefiningOp<ir::UndefOp>() != nullptr;
      Type type = (undefined ? second : first)->getOperand(at).getType();
      moveLike(first->getOpOperand(at), type);
      moveLike(second->getOpOperand(at), type);
      result.setType(withDevices(result.getType(), type));
    }
  }

  /// Carried values stay on their initial device.
  void placeLoop(Operation *op, StringAttr ambient) {
    ValueRange carried =
        isa<ir::ForOp>(op) ? cast<ir::ForOp>(op).getCarried() : cast<ir::WhileOp>(op).getCarried();
    for (Region &region : op->getRegions()) {
      for (auto [argument, value] :
           llvm::zip_equal(region.front().getArguments().take_back(carried.size()), carried))
        argument.setType(withDevices(argument.getType(), value.getType()));
      assign(region.front(), ambient);
    }
    Operation *end = op->getRegions().back().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(carried)) {
      moveLike(end->getOpOperand(static_cast<unsigned>(i)), value.getType());
      Value result = op->getResult(static_cast<unsigned>(i));
      result.setType(withDevices(result.getType(), value.getType()));
    }
  }
};

struct AssignDevices : impl::AssignDevicesBase<AssignDevices> {
  using Base::Base;

  void runOnOperation() override {
    bool isPlaced = getOperation()
                        .walk([](Operation *op) {
                          return op->hasAttr(ir::kOn) || op->hasAttr(ir::kHeld)
                                     ? WalkResult::interrupt()
                                     : WalkResult::advance();
                        })
                        .wasInterrupted();
    if (isPlaced && mlir::failed(DeviceAssigner(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace mx::graph
