// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resolution of a call: passes the types of its values to the checker and compiles the result. The
// only part of a call that takes the session's lock.
#include "Embed/Core.h"
#include <cstdio>

namespace mx::embed {

const sema::Type *partType(sema::CheckedProgram &sema, const sema::Type *type, size_t index) {
  if (!type)
    return nullptr;
  switch (type->kind) {
  case sema::Kind::Tuple:
    return index < type->parts.size() ? type->parts[index] : nullptr;
  case sema::Kind::Array:
    return type->element;
  case sema::Kind::Nominal: {
    sema::NominalInfo &nominal = *type->nominal;
    sema.resolveFields(nominal);
    sema::Bindings bindings = sema.bindingsOf(type);
    // Fields, then the constructor's parameters that are kept (the layout of IRGen).
    if (index < nominal.fields.size()) {
      sema.resolveField(nominal, nominal.fields[index]);
      return sema.types.substitute(nominal.fields[index].type, bindings);
    }
    index -= nominal.fields.size();
    for (const sema::ParamInfo &param : nominal.params)
      if (!param.isStatic && index-- == 0)
        return sema.types.substitute(param.type, bindings);
    return nullptr;
  }
  default:
    return nullptr;
  }
}

namespace {

const sema::Type *typeOf(sema::CheckedProgram &sema, const TensorValue &value) {
  Shape shape;
  for (int32_t i = 0; i < value.rank(); ++i)
    shape.push_back(axisOf(sema.dims.constant(value.shape()[i])));
  sema::Device device = nullptr;
  if (value.held)
    if (mxrt_device on = mxrt_tensor_device(value.held); on.index != 0) {
      std::string name = "cpu:" + std::to_string(on.index);
      device = sema.types.device(name, name);
    }
  return sema.types.tensor(sema::Elem(static_cast<ElementType>(value.dtype())), shape, device);
}

std::string literalOf(const mxc_value &given) {
  mxc_value &value = const_cast<mxc_value &>(given);
  if (TextValue *text = value.text()) {
    std::string out = "\"";
    for (char c : text->content) {
      if (c == '"' || c == '\\')
        out += '\\';
      if (c == '\n')
        out += "\\n";
      else
        out += c;
    }
    return out + "\"";
  }
  NumberValue &number = *value.number();
  if (value.kind == MXC_BOOL_NUMBER)
    return number.whole ? "true" : "false";
  if (value.kind == MXC_INT_NUMBER)
    return std::to_string(number.whole);
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", number.real);
  std::string out = text;
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

/// Describes an argument to the checker; an error if that is impossible.
mxc_error *describe(mxc_session &session, const mxc_function &function,
                    const mxc_argument &argument, size_t index, driver::OutsideArgument &out) {
  sema::CheckedProgram &sema = session.session->checker().sema();
  mxc_value &value = *argument.value;
  const Parameter *param = function.paramOf(argument, index);
  out.name = argument.name ? argument.name : "";
  out.isMut = argument.flags & MXC_MUT;
  if (TensorValue *tensor = value.tensor()) {
    out.type = typeOf(sema, *tensor);
    return nullptr;
  }
  if (GroupValue *group = value.group()) {
    if (group->life != session.life)
      return wrongUse(std::string("a value of type ") + mxc_value_type(&value) +
                      " belongs to another session; only tensors go from one to another");
    out.type = group->type.load();
    return out.type ? nullptr
                    : wrongUse("this part of a value has no type of its own; pass the whole");
  }
  bool isLiteral = !param || param->isLiteral;
  if (isLiteral) {
    out.literal = literalOf(value);
    return nullptr;
  }
  if (value.text()) {
    out.type = sema.types.str();
    return nullptr;
  }
  // A number takes the element type of a scalar parameter, as a literal does; but it stays a float.
  ElementType element = value.kind == MXC_BOOL_NUMBER  ? ElementType::Bool
                        : value.kind == MXC_INT_NUMBER ? ElementType::I64
                                                       : ElementType::F32;
  if (param->scalar && value.kind != MXC_BOOL_NUMBER) {
    ElementClass wanted = elementInfo(*param->scalar).kind;
    if (wanted == ElementClass::Float ||
        (wanted == ElementClass::Int && value.kind == MXC_INT_NUMBER))
      element = *param->scalar;
  }
  out.type = sema.types.scalar(sema::Elem(element));
  return nullptr;
}

void leavesOf(mlir::Type type, std::vector<Leaf> &out) {
  if (auto tensor = mlir::dyn_cast<ir::TensorType>(type)) {
    out.push_back(
        {tensor.isHost(), static_cast<mxrt_dtype>(ir::elementFromMlir(tensor.getElement()))});
  } else if (auto group = mlir::dyn_cast<ir::AggregateType>(type)) {
    for (mlir::Type part : group.getParts())
      leavesOf(part, out);
  } else if (auto array = mlir::dyn_cast<ir::ArrayType>(type)) {
    for (int64_t i = 0; i < array.getCount().constant().value_or(0); ++i)
      leavesOf(array.getElement(), out);
  }
}

Form formOf(mlir::Type type) {
  Form form;
  if (auto group = mlir::dyn_cast<ir::AggregateType>(type)) {
    form.kind = MXC_TUPLE;
    if (!group.getName().getValue().empty()) {
      form.kind = MXC_STRUCT;
      auto layout = std::make_shared<Layout>();
      layout->name = group.getName().getValue().str();
      for (mlir::Attribute field : group.getFields())
        layout->fields.push_back(mlir::cast<mlir::StringAttr>(field).getValue().str());
      form.layout = std::move(layout);
    }
    for (mlir::Type part : group.getParts())
      form.parts.push_back(formOf(part));
  } else if (auto array = mlir::dyn_cast<ir::ArrayType>(type)) {
    form.kind = MXC_ARRAY;
    form.parts.assign(static_cast<size_t>(array.getCount().constant().value_or(0)),
                      formOf(array.getElement()));
  }
  return form;
}

} // namespace

mxc_error *resolve(mxc_function &function, const mxc_argument *arguments, size_t count,
                   llvm::ArrayRef<int64_t> key, size_t bucket, const ReadyCall *&out) {
  mxc_session &session = *function.module->session;
  std::lock_guard guard(session.lock);
  // Another thread may have resolved it first.
  std::atomic<ReadyCall *> &slot = function.ready[bucket];
  for (out = slot.load(); out; out = out->next)
    if (llvm::ArrayRef(out->key) == key)
      return nullptr;
  std::vector<driver::OutsideArgument> described(count);
  for (size_t i = 0; i < count; ++i)
    if (mxc_error *error = describe(session, function, arguments[i], i, described[i]))
      return error;
  auto made = std::make_unique<ReadyCall>();
  made->key = key.vec();
  if (!session.session->resolve(*function.module->info, function.name, described, made->target))
    return session.takeError();
  session.passNotices();
  for (const driver::OutsideTarget::Input &input : made->target.inputs) {
    leavesOf(input.type, made->leaves);
    if (input.isMut)
      made->changed.push_back(formOf(input.type));
  }
  if (made->target.resultType)
    made->result = formOf(made->target.resultType);
  made->next = slot.load();
  out = made.get();
  slot.store(made.release(), std::memory_order_release);
  return nullptr;
}

} // namespace mx::embed
