// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of plain functions: conversion of values to the VM and back.
#include "Embed/Core.h"
#include "eager/TensorValue.h"

namespace mx::embed {
using mxrt::host::Heap;
using mxrt::host::Kind;
using mxrt::host::Value;

namespace {

/// Converts a host value to a VM value; unset on failure, with `error` set.
Value toVm(mxc_session &session, mxc_value &given, mlir::Type type, mxc_error *&error) {
  Heap &heap = session.session->machine().heap();
  auto wrong = [&] {
    if (!error)
      error = wrongUse(std::string("a value of type ") + mxc_value_type(&given) +
                       " does not fit its parameter");
    return Value();
  };
  auto tensorType = mlir::dyn_cast<ir::TensorType>(type);
  if (GroupValue *group = given.group()) {
    auto aggregate = mlir::dyn_cast<ir::AggregateType>(type);
    auto array = mlir::dyn_cast<ir::ArrayType>(type);
    if (!array && (!aggregate || aggregate.getParts().size() != group->items.size()))
      return wrong();
    mxrt::host::StructTypeObject *structType = nullptr;
    Kind kind = array ? Kind::Array : Kind::Tuple;
    if (group->kind == MXC_STRUCT) {
      kind = Kind::Struct;
      mxrt::host::StrObject *name = makeStr(heap, group->layout->name);
      std::vector<mxrt::host::StrObject *> fields;
      for (const std::string &field : group->layout->fields)
        fields.push_back(makeStr(heap, field));
      structType = makeStructType(heap, name, fields);
      release(heap, name);
      for (mxrt::host::StrObject *field : fields)
        release(heap, field);
    }
    auto *made = makeAggregate(heap, static_cast<uint32_t>(group->items.size()), structType);
    if (structType)
      release(heap, structType);
    Value out(kind, made);
    for (size_t i = 0; i < group->items.size(); ++i) {
      Value item = toVm(session, *group->items[i],
                        array ? array.getElement() : aggregate.getParts()[i], error);
      if (error) {
        release(heap, out);
        return Value();
      }
      made->items()[made->count++] = item;
    }
    return out;
  }
  if (TextValue *text = given.text())
    return Value(Kind::Str, makeStr(heap, text->content));
  if (!tensorType)
    return wrong();
  if (tensorType.isHost()) {
    mlir::Type element = tensorType.getElement();
    double real = 0;
    int64_t whole = 0;
    if (mlir::isa<mlir::FloatType>(element))
      error = mxc_value_as_float(&given, &real);
    else
      error = mxc_value_as_int(&given, &whole);
    return error                  ? Value()
           : element.isF32()      ? Value::f32(static_cast<float>(real))
           : element.isF64()      ? Value::f64(real)
           : element.isInteger(1) ? Value::boolean(whole != 0)
                                  : Value::integer(whole);
  }
  mxrt_tensor *tensor = nullptr;
  if (NumberValue *number = given.number())
    error = tensorOfNumber(session, *number,
                           static_cast<mxrt_dtype>(ir::elementFromMlir(tensorType.getElement())),
                           tensor);
  else
    error = tensorFor(session, *given.tensor(), tensor);
  if (error)
    return Value();
  Value out = mxrt::eager::makeTensorValue(heap, tensor);
  if (!out.isSet()) {
    mxrt_tensor_release(tensor);
    error = noMemory();
  }
  return out;
}

/// Waits for values of other sessions before this session is locked: rendering their errors takes
/// their lock.
mxc_error *waitForOthers(const mxc_session &session, mxc_value &value) {
  if (TensorValue *tensor = value.tensor())
    return tensor->held && tensor->life != session.life ? waitFor(value) : nullptr;
  if (GroupValue *group = value.group())
    for (mxc_value *item : group->items)
      if (mxc_error *error = waitForOthers(session, *item))
        return error;
  return nullptr;
}

} // namespace

mxc_value *fromVm(mxc_session &session, const Value &value, const sema::Type *type,
                  std::string &problem) {
  auto number = [](mxc_kind kind, int64_t whole, double real) {
    auto *made = new NumberValue(kind);
    made->whole = whole;
    made->real = real;
    return made;
  };
  switch (value.kind) {
  case Kind::Bool:
    return number(MXC_BOOL_NUMBER, value.i, 0);
  case Kind::Int:
    return number(MXC_INT_NUMBER, value.i, 0);
  case Kind::F32:
    return number(MXC_FLOAT_NUMBER, 0, value.f);
  case Kind::F64:
    return number(MXC_FLOAT_NUMBER, 0, value.d);
  case Kind::Str: {
    auto *made = new TextValue;
    made->content = value.str()->view();
    return made;
  }
  case Kind::Tensor:
    if (mxrt_tensor *tensor = mxrt::eager::tensorOf(value))
      return makeTensorValue(mxrt_tensor_retain(tensor), session.life, /*isReady=*/false);
    break;
  case Kind::Tuple:
  case Kind::Array:
  case Kind::Struct: {
    auto *group = new GroupValue(value.kind == Kind::Tuple   ? MXC_TUPLE
                                 : value.kind == Kind::Array ? MXC_ARRAY
                                                             : MXC_STRUCT);
    ValueRef owner(group);
    group->life = session.life;
    group->type.store(type);
    mxrt::host::AggregateObject *object = value.aggregate();
    if (value.kind == Kind::Struct) {
      auto layout = std::make_shared<Layout>();
      layout->name = object->type->name->view();
      for (uint32_t i = 0; i < object->type->fieldCount; ++i)
        layout->fields.emplace_back(object->type->fields()[i]->view());
      group->layout = std::move(layout);
    }
    for (const Value &item : object->view()) {
      mxc_value *made = fromVm(session, item, nullptr, problem);
      if (!made)
        return nullptr;
      group->items.push_back(made);
    }
    return owner.take();
  }
  default:
    break;
  }
  problem = std::string("a value of kind ") + mxrt::host::kindName(value.kind) +
            " cannot leave its session";
  return nullptr;
}

mxc_error *callFunction(mxc_session &session, const ReadyCall &call, mxc_argument *arguments,
                        mxc_value *&result) {
  BorrowedMut borrowed;
  for (const driver::OutsideTarget::Input &input : call.target.inputs)
    if (input.isMut)
      if (mxc_error *error = borrowed.before(session, *arguments[input.argument].value))
        return error;
  for (const driver::OutsideTarget::Input &input : call.target.inputs)
    if (mxc_error *error = waitForOthers(session, *arguments[input.argument].value))
      return error;
  std::unique_lock guard(session.lock);
  mxrt::host::Vm &vm = session.session->machine();
  Heap &heap = vm.heap();
  const driver::OutsideTarget &target = call.target;
  std::vector<Value> args;
  for (int64_t size : target.sizes)
    args.push_back(Value::integer(size));
  mxc_error *error = nullptr;
  for (const driver::OutsideTarget::Input &input : target.inputs) {
    Value value = toVm(session, *arguments[input.argument].value, input.type, error);
    if (error)
      break;
    args.push_back(value);
  }
  Value given;
  std::vector<ValueRef> changed;
  ValueRef made;
  if (!error) {
    if (mxrt_status status = vm.call(target.program, target.symbol, args, given).release()) {
      session.session->report(status);
      error = session.takeError();
    }
    std::string problem;
    for (size_t i = 0; i < target.inputs.size() && !error; ++i)
      if (target.inputs[i].isMut) {
        mxc_value *now =
            fromVm(session, args[target.sizes.size() + i], target.inputs[i].given, problem);
        changed.emplace_back(now);
        if (!now)
          error = wrongUse(problem);
      }
    if (!error && target.resultType) {
      made = ValueRef(fromVm(session, given, target.result, problem));
      if (!made)
        error = wrongUse(problem);
    }
    session.passNotices();
  }
  for (Value &value : args)
    release(heap, value);
  release(heap, given);
  guard.unlock();
  if (error)
    return error;
  size_t next = 0;
  std::vector<ValueRef> before; // keeps borrowed memory alive until it is written
  llvm::SmallVector<mxc_value **, 4> slots;
  for (const driver::OutsideTarget::Input &input : target.inputs)
    if (input.isMut) {
      mxc_value *&slot = arguments[input.argument].value;
      before.push_back(ValueRef(slot));
      slot = changed[next++].take();
      slots.push_back(&slot);
    }
  if ((error = borrowed.after(session, slots)))
    return error;
  result = made.take();
  return nullptr;
}

} // namespace mx::embed
