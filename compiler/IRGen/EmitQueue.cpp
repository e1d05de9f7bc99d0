// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues (the library's `data.Queue`): handles of the runtime. An element is a tensor or a tuple of
// tensors, on the device; the runtime is told their types when a queue is made.
#include "IRGen/Emitter.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;
using sema::CallInfo;

/// A call of a function of the library that makes a queue, or of a function of a queue.
mlir::Value Emitter::emitQueueCall(const Expr *whole, const CallInfo &info) {
  StringRef name = info.function->name;
  at(whole->span);
  if (inGraph) // the checker has refused it
    return unsupported(whole->span, "a queue in a graph");
  if (!info.function->owner) {
    SmallVector<mlir::Value> operands{emitHostInt(givenTo(info, "capacity"))};
    if (name == "shuffled_queue") {
      operands.push_back(emitHostInt(givenTo(info, "among")));
      // The queue has a random stream of its own; the generator advances.
      const Expr *rng = givenTo(info, "rng");
      mlir::Value generator = emit(rng);
      if (!generator)
        return {};
      mlir::Value counter = toHost(part(generator, 1));
      operands.append({toHost(part(generator, 0)), counter});
      assign(rng, withPart(generator, 1, elementwise("add", {counter, constantInt(1)})));
    }
    return makeQueue(name == "queue" ? "make" : "shuffled", info, std::move(operands));
  }
  mlir::Value queue = info.receiver ? emit(info.receiver) : self();
  if (!queue)
    return {};
  if (name == "get")
    return takeFromQueue(queue, info.result);
  if (name != "put")
    return native("mx.queue." + name.str(), {}, {queue});
  const Expr *given = info.arguments[0];
  const Type *element = info.receiver->checked->type->args[0].type;
  mlir::Type wanted = convert(element);
  auto tensor = dyn_cast<ir::TensorType>(wanted);
  mlir::Value value = tensor ? emitAs(given, tensor.getElement()) : emit(given);
  return value ? native("mx.queue.put", {}, {queue, onDevice(value)}) : value;
}

/// Scalars of the host become tensors, also in a tuple.
mlir::Value Emitter::onDevice(mlir::Value value) {
  auto tuple = dyn_cast<ir::AggregateType>(value.getType());
  if (!tuple)
    return toDevice(value);
  SmallVector<mlir::Value> parts;
  SmallVector<mlir::Type> types;
  for (size_t i = 0; i < tuple.getParts().size(); ++i) {
    parts.push_back(toDevice(part(value, static_cast<int64_t>(i))));
    types.push_back(parts.back().getType());
  }
  return create<ir::MakeOp>(ir::AggregateType::tuple(&shared.context, types), parts);
}

/// mx.queue.make and its kin: `operands`, then the element type, rank and sizes of each part.
mlir::Value Emitter::makeQueue(StringRef name, const CallInfo &info,
                               SmallVector<mlir::Value> operands) {
  const Type *type = concrete(info.result), *element = type->args[0].type;
  auto add = [&](const Type *part) {
    operands.push_back(create<ir::ElementTypeOp>(ir::DtypeType::get(&shared.context),
                                                 elementType(part->elem)));
    operands.push_back(constantInt(static_cast<int64_t>(part->shape.size())));
    for (const Axis &axis : part->shape)
      operands.push_back(sizeValue(axis.dim));
  };
  if (element->is(Kind::Tuple))
    for (const Type *part : element->parts)
      add(part);
  else
    add(element);
  return native("mx.queue." + name.str(), convert(type), operands);
}

mlir::Value Emitter::takeFromQueue(mlir::Value queue, const Type *type) {
  const Type *element = concrete(type);
  return native(element->isTensor() ? "mx.queue.get.only" : "mx.queue.get", convert(element),
                {queue});
}

/// for x in queue: until it is closed and empty.
void Emitter::emitForQueue(const For *loop, const Type *over) {
  mlir::Value queue = emit(loop->iterable);
  if (!queue)
    return;
  mlir::Type flag = ir::TensorType::host(builder.getI1Type());
  Variables assigned, none;
  assignedIn(loop->body, assigned);
  auto more = [&] { return native("mx.queue.more", flag, {queue}); };
  emitLoopWhile(
      loop->body, assigned, mlir::Value(),
      [&](mlir::Value stop) { // a loop that was left does not wait for the next element
        return stop ? conditional(stop, none, flag, [&] { return constantBool(false); }, more)
                    : more();
      },
      [&] { bindPattern(loop->pattern, takeFromQueue(queue, over->args[0].type)); });
}

} // namespace mx::irgen
