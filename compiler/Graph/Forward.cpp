// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: forward-mode autodiff (Jacobian-vector products). Each active value is
// paired with its tangent, its directional derivative along the given change of the arguments.
// Loops stay loops and no state is saved. Elementwise ops reuse the rules of the reverse pass,
// because their Jacobians are diagonal and the same both ways.
#include "Graph/Adjoints.h"
#include "Graph/GradientRoutines.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mx::graph {

/// The contribution of the reverse rules of `op` to the operand `of`, for the gradient `g` of the
/// result.
Value Reverse::slopeTimes(Operation *op, Value of, Value g) {
  SmallVector<Value> found;
  capturedOf = of;
  captured = &found;
  bool handled = false;
  if (op->hasTrait<ir::Elementwise>())
    elementwiseRule(op, g, handled);
  else
    tensorRule(op, g, handled);
  captured = nullptr;
  capturedOf = {};
  if (!handled || found.empty())
    return {};
  Value sum = found[0];
  for (Value more : ArrayRef(found).drop_front())
    sum = elementwise("add", {sum, more});
  return sum;
}

/// Brings a tangent to the shape and type that a tangent of `value` has.
Value Reverse::asTangent(Value tangent, Value value) {
  auto type = cast<ir::TensorType>(adjointType(value.getType()));
  tangent = onDevice(tangent);
  if (typeOf(tangent).getSizes() != type.getSizes() && typeOf(tangent).rank() <= type.rank())
    return make<ir::BroadcastOp>(
        type, shaped(tangent, typeOf(tangent).onDevice(type.getDevice().getValue())));
  return shaped(tangent, type);
}

Value Reverse::tangentOf(Value value) {
  return isActive(value) ? adjoints.lookup(value).value : Value();
}

void Reverse::addTangent(Value to, Value more) {
  if (!more)
    return;
  Value &sum = adjoints[to].value;
  more = asTangent(more, to);
  sum = sum ? elementwise("add", {sum, more}) : more;
}

/// Applies the op itself to tangents, for ops that are linear in the operands `operands`. Operands
/// without a tangent are replaced by zeros.
Value Reverse::onTangents(Operation *op, ArrayRef<unsigned> operands) {
  IRMapping none;
  Operation *copy = b.clone(*op, none);
  for (unsigned i : operands) {
    Value tangent = tangentOf(op->getOperand(i));
    copy->setOperand(
        i,
        tangent ? tangent : zeros(cast<ir::TensorType>(adjointType(op->getOperand(i).getType()))));
    if (!tangent)
      copy->moveAfter(copy->getOperand(i).getDefiningOp());
  }
  b.setInsertionPointAfter(copy);
  return copy->getResult(0);
}

LogicalResult Reverse::forwardTensor(Operation *op, bool &handled) {
  handled = true;
  Value result = op->getResult(0);
  auto reduced = [&](ArrayRef<int64_t> axes, bool keep) {
    Value x = op->getOperand(0);
    auto type = cast<ir::TensorType>(adjointType(result.getType()));
    Value one = make<ir::FullOp>(type, number(result, 1));
    addTangent(result, sum(elementwise("mul", {slopeTimes(op, x, one), tangentOf(x)}), axes, keep));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<ir::SumOp, ir::ReshapeOp, ir::TransposeOp, ir::BroadcastOp, ir::SliceOp, ir::TakeOp,
            ir::WindowsOp, ir::FoldOp, ir::FullOp>(
          [&](auto) { addTangent(result, onTangents(op, {0})); })
      .Case([&](ir::ProdOp prod) { reduced(prod.getAxes(), prod.getKeep()); })
      .Case([&](ir::MaxOp max) { reduced(max.getAxes(), max.getKeep()); })
      .Case([&](ir::MinOp min) { reduced(min.getAxes(), min.getKeep()); })
      .Case<ir::MatmulOp, ir::ConvOp>([&](auto) {
        for (unsigned side : {0u, 1u})
          if (tangentOf(op->getOperand(side)))
            addTangent(result, onTangents(op, {side}));
      })
      .Case([&](ir::ConcatOp) {
        addTangent(result, onTangents(op, llvm::to_vector(llvm::seq(0u, op->getNumOperands()))));
      })
      .Case([&](ir::UpdateOp) {
        addTangent(result, onTangents(op, {0, 1}));
      })
      .Case([&](ir::ScatterAddOp) {
        addTangent(result, onTangents(op, {0, 2}));
      })
      .Case([&](ir::RoutineOp routine) { handled = RoutineRules(*this, routine, {}).forward(); })
      .Case<ir::ToDeviceOp, ir::ReadOp>(
          [&](Operation *) { addTangent(result, tangentOf(op->getOperand(0))); })
      .Default([&](Operation *) { handled = false; });
  return success();
}

LogicalResult Reverse::forwardAggregate(Operation *op) {
  Value result = op->getResult(0);
  auto of = [&](Value value) { return isActive(value) ? adjoints.lookup(value) : Adjoint(); };
  if (auto made = dyn_cast<ir::MakeOp>(op)) {
    Adjoint out;
    for (Value part : made.getParts())
      out.parts.push_back(of(part));
    adjoints[result] = out;
    return success();
  }
  if (auto get = dyn_cast<ir::GetOp>(op)) {
    Adjoint whole = of(get.getAggregate());
    if (get.getPart() < whole.parts.size())
      adjoints[result] = whole.parts[get.getPart()];
    return success();
  }
  if (auto set = dyn_cast<ir::SetOp>(op)) {
    Adjoint out = of(set.getAggregate());
    out.parts.resize(std::max<size_t>(out.parts.size(), set.getPart() + 1));
    out.parts[set.getPart()] = of(set.getValue());
    adjoints[result] = out;
    return success();
  }
  if (auto at = dyn_cast<ir::AtOp>(op)) {
    ir::ArrayType type = at.getArray().getType();
    Value all = whole(of(at.getArray()), type);
    Type element = adjointType(type.getElement());
    adjoints[result] = apart(make<ir::AtOp>(element, all, at.getIndex()), type.getElement());
    return success();
  }
  if (auto set = dyn_cast<ir::SetAtOp>(op)) {
    ir::ArrayType type = set.getArray().getType();
    Value all = whole(of(set.getArray()), type);
    adjoints[result] = Adjoint{make<ir::SetAtOp>(all.getType(), all, set.getIndex(),
                                                 whole(of(set.getValue()), type.getElement())),
                               {}};
    return success();
  }
  return withoutRule(op);
}

/// Appends the tangents of the values that a block yields for the results in `slots`.
void Reverse::yieldTangents(Block &block, ArrayRef<unsigned> slots) {
  Operation *yield = block.getTerminator();
  b.setInsertionPoint(yield);
  SmallVector<Value> values(yield->getOperands());
  for (unsigned slot : slots) {
    Value value = yield->getOperand(slot);
    values.push_back(whole(isActive(value) ? adjoints.lookup(value) : Adjoint(), value.getType()));
  }
  yield->setOperands(values);
}

/// Rebuilds an `if` or a loop with tangents as additional results after its own.
LogicalResult Reverse::forwardRegions(Operation *op) {
  auto loop = dyn_cast<ir::ForOp>(op);
  auto until = dyn_cast<ir::WhileOp>(op);
  SmallVector<unsigned> slots;
  SmallVector<Type> types(op->getResultTypes());
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (isActive(result)) {
      slots.push_back(static_cast<unsigned>(i));
      types.push_back(adjointType(result.getType()));
    }
  size_t own = op->getNumResults();
  b.setInsertionPoint(op);
  SmallVector<Value> carried;
  if (loop || until) {
    llvm::append_range(carried, loop ? loop.getCarried() : until.getCarried());
    for (unsigned slot : slots)
      carried.push_back(whole(isActive(carried[slot]) ? adjoints.lookup(carried[slot]) : Adjoint(),
                              carried[slot].getType()));
  }
  Operation *made;
  if (loop)
    made = ir::ForOp::create(b, types, loop.getFrom(), loop.getTo(), carried);
  else if (until)
    made = ir::WhileOp::create(b, types, carried, until.getLimit());
  else
    made = ir::IfOp::create(b, types, cast<ir::IfOp>(op).getCondition());
  unsigned first = loop ? 1 : 0;
  for (auto [to, from] : llvm::zip_equal(made->getRegions(), op->getRegions())) {
    to.takeBody(from);
    Block &block = to.front();
    if (loop || until)
      for (unsigned slot : slots) {
        Value value = block.getArgument(first + slot);
        Value tangent = block.addArgument(adjointType(value.getType()), op->getLoc());
        b.setInsertionPointToStart(&block);
        if (isActive(value))
          adjoints[value] = apart(tangent, value.getType());
      }
    bool isTest = until && &to == &made->getRegion(0);
    if (isTest)
      continue; // a condition has no tangent
    if (failed(forward(block)))
      return failure();
    b.setLoc(op->getLoc());
    yieldTangents(block, slots);
  }
  b.setInsertionPointAfter(made);
  for (size_t i = 0; i < own; ++i) {
    Value now = made->getResult(static_cast<unsigned>(i));
    if (isActive(op->getResult(static_cast<unsigned>(i))))
      markActive(now);
    op->getResult(static_cast<unsigned>(i)).replaceAllUsesWith(now);
  }
  for (auto [k, slot] : llvm::enumerate(slots))
    adjoints[made->getResult(slot)] =
        apart(made->getResult(static_cast<unsigned>(own + k)), made->getResult(slot).getType());
  erase(op);
  return success();
}

LogicalResult Reverse::forward(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    b.setLoc(op->getLoc());
    b.setInsertionPointAfter(op);
    if (llvm::none_of(op->getResults(), [&](Value result) { return isActive(result); }))
      continue;
    if (isa<ir::IfOp, ir::ForOp, ir::WhileOp>(op)) {
      if (failed(forwardRegions(op)))
        return failure();
      continue;
    }
    if (op->getNumResults() != 1)
      return withoutRule(op);
    bool handled = false;
    if (isa<ir::TensorType>(op->getResult(0).getType()) && !isa<ir::GetOp, ir::AtOp>(op)) {
      Value result = op->getResult(0);
      if (isa<ir::CastOp>(op)) {
        if (Value tangent = tangentOf(op->getOperand(0)))
          addTangent(result, elementwise("cast", {tangent}, typeOf(result).getElement()));
        handled = true;
      } else if (op->hasTrait<ir::Elementwise>()) {
        llvm::SetVector<Value> operands(op->operand_begin(), op->operand_end());
        for (Value operand : operands)
          if (Value tangent = tangentOf(operand)) {
            Value change = slopeTimes(op, operand, tangent);
            if (!change)
              return withoutRule(op);
            addTangent(result, change);
          }
        handled = true;
      } else if (failed(forwardTensor(op, handled))) {
        return failure();
      }
    }
    handled = handled || exchangeTangents(op);
    if (!handled && failed(forwardAggregate(op)))
      return failure();
    if (failedAt)
      return op->emitError() << "the length of an array must be known for a gradient";
  }
  return success();
}

LogicalResult Reverse::runForward(ArrayRef<int64_t> wrt) {
  Block &body = function.getFunctionBody().front();
  for (int64_t i : wrt)
    markActive(body.getArgument(static_cast<unsigned>(i)));
  findActive(body);
  if (failed(refuseHidden()))
    return failure();
  b.setInsertionPointToStart(&body);
  SmallVector<Type> inputs(function.getArgumentTypes());
  for (int64_t i : wrt) {
    Value argument = body.getArgument(static_cast<unsigned>(i));
    Type type = adjointType(argument.getType());
    if (!type)
      return function->emitError() << "there is no tangent of " << argument.getType();
    Value tangent = body.addArgument(type, argument.getLoc());
    inputs.push_back(type);
    adjoints[argument] = apart(tangent, argument.getType());
  }
  if (failed(forward(body)))
    return failure();
  Operation *end = body.getTerminator();
  b.setInsertionPoint(end);
  b.setLoc(end->getLoc());
  SmallVector<Value> results(end->getOperands());
  Value first = results[0];
  if (!adjointType(first.getType()))
    return end->emitError() << "the differentiated result is not a float scalar";
  results.push_back(whole(isActive(first) ? adjoints.lookup(first) : Adjoint(), first.getType()));
  end->setOperands(results);
  if (auto attributes = function.getAllArgAttrs()) {
    SmallVector<Attribute> all(attributes.begin(), attributes.end());
    all.resize(inputs.size(), b.getDictionaryAttr({}));
    function.setAllArgAttrs(all);
  }
  function.setType(
      FunctionType::get(b.getContext(), inputs, SmallVector<Type>(ValueRange(results).getTypes())));
  return success();
}

} // namespace mx::graph
