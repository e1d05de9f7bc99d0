// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions. Host or device follows from the operands: arithmetic on host scalars alone stays on
// the host; everything else goes to a device.
#include "IRGen/Emitter.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace mx::irgen {
using namespace mlir;
using namespace ast;

mlir::Value Emitter::emit(const Expr *e) {
  Location saved = builder.getLoc();
  at(e->span);
  mlir::Value v = shared.failed ? mlir::Value() : emitKind(e);
  if (const sema::Tap *tap = v ? tapAt(e) : nullptr; tap && tap->own)
    values[tap->own] = toDevice(v);
  builder.setLoc(saved);
  return v;
}

const sema::Tap *Emitter::tapAt(const Expr *e) const {
  if (!instance.function)
    return nullptr;
  auto found = instance.function->taps.find(e);
  return found == instance.function->taps.end() ? nullptr : &found->second;
}

/// A value that the checker fully evaluated.
mlir::Value Emitter::emitConstant(const sema::Value &known, const Type *type) {
  switch (known.constant) {
  case sema::Value::BoolConstant:
    return constantBool(known.flag);
  case sema::Value::StringConstant:
    return text(StringRef(known.text.data(), known.text.size()));
  case sema::Value::DeviceConstant:
    return text(known.device->name);
  case sema::Value::FloatConstant:
    if (known.host && type->isScalar())
      return constantNumber(elementType(type->elem), known.number, 0, false);
    return {};
  case sema::Value::NoConstant:
    break;
  }
  if (known.host && known.dim && type->isScalar() && isBound(known.dim)) {
    mlir::Type element = elementType(type->elem);
    if (auto whole = number(known.dim))
      return constantNumber(element, 0, *whole, true);
    return cast(sizeValue(known.dim), element);
  }
  return {};
}

mlir::Value Emitter::emitKind(const Expr *e) {
  const sema::Value *known = e->checked;
  if (!known || !known->type)
    return unsupported(e->span, "this expression");
  if (known->host || known->constant != sema::Value::NoConstant)
    if (mlir::Value v = emitConstant(*known, concrete(known->type)))
      return v;
  switch (e->kind) {
  case ExprKind::Number: {
    auto *n = as<Number>(e);
    return constantNumber(elementType(known->type->elem), n->floatValue, n->intValue, !n->isFloat);
  }
  case ExprKind::Name:
    return emitName(as<Name>(e));
  case ExprKind::FString:
    return emitFString(as<FString>(e));
  case ExprKind::Tuple:
    return emitTuple(as<Tuple>(e));
  case ExprKind::List:
    return emitList(as<ListExpr>(e));
  case ExprKind::Unary:
    return emitUnary(as<Unary>(e));
  case ExprKind::Binary:
    return emitBinary(as<Binary>(e));
  case ExprKind::Range: {
    auto *range = as<ast::Range>(e);
    mlir::Value from = emitHostInt(range->from), to = emitHostInt(range->to);
    if (!from || !to)
      return {};
    return create<ir::MakeOp>(convert(known->type), ValueRange{from, to});
  }
  case ExprKind::Pipe: {
    auto *pipe = as<Pipe>(e);
    auto *call = as<Call>(pipe->right);
    bool withArgs = call && call->parens == 0;
    return emitCall(e, withArgs ? call->callee : pipe->right, withArgs ? &call->args : nullptr,
                    pipe->left, pipe->info);
  }
  case ExprKind::Call: {
    auto *call = as<Call>(e);
    return emitCall(e, call->callee, &call->args, nullptr, call->info);
  }
  case ExprKind::Member:
    return emitMember(as<Member>(e));
  case ExprKind::Index:
    return emitIndex(as<Index>(e));
  case ExprKind::If:
    return emitIf(as<If>(e), !known->type->is(Kind::Nothing));
  case ExprKind::GraphBlock:
    return emitGraphBlock(as<GraphBlock>(e));
  case ExprKind::OnBlock: {
    auto *on = as<OnBlock>(e);
    const sema::Value *where = on->device->checked;
    if (where->constant != sema::Value::DeviceConstant)
      return unsupported(on->device->span, "a device that is not a constant");
    StringAttr outer = std::exchange(marker.device, builder.getStringAttr(where->device->name));
    mlir::Value v = emitBlock(on->body, !known->type->is(Kind::Nothing));
    // A value computed elsewhere is copied as well.
    if (v && isa<ir::TensorType>(v.getType()) && !isHost(v))
      v = create<ir::ToDeviceOp>(tensor(v), v);
    marker.device = outer;
    return v;
  }
  case ExprKind::Lambda:
    return emitLambda(as<Lambda>(e));
  case ExprKind::Comprehension:
    return emitComprehension(as<Comprehension>(e));
  case ExprKind::Grad:
    return emitGrad(as<Grad>(e));
  default:
    return unsupported(e->span, "this expression");
  }
}

mlir::Value Emitter::emitAs(const Expr *e, mlir::Type element) {
  const sema::Value *known = e->checked;
  if (known && known->adapts() && known->type->isScalar()) {
    Location saved = builder.getLoc();
    at(e->span);
    mlir::Value v;
    if (known->constant == sema::Value::FloatConstant)
      v = constantNumber(element, known->number, 0, false);
    else if (auto whole = number(known->dim))
      v = constantNumber(element, 0, *whole, true);
    builder.setLoc(saved);
    if (v)
      return v;
    return cast(emit(e), element);
  }
  mlir::Value v = emit(e);
  return v && isa<ir::TensorType>(v.getType()) ? cast(v, element) : v;
}

mlir::Value Emitter::emitHostInt(const Expr *e) {
  mlir::Value v = emit(e);
  return v ? cast(toHost(v), builder.getI64Type()) : v;
}

/// The value of a condition on static arguments and constant sizes (S8); nullopt if it is decided
/// at run time.
std::optional<bool> Emitter::staticCondition(const Expr *e) {
  if (!e->checked)
    return std::nullopt;
  if (e->checked->constant == sema::Value::BoolConstant)
    return e->checked->flag;
  if (auto *name = as<Name>(e); name && name->symbol)
    if (auto *known = staticValue(name->symbol); known && known->kind == sema::StaticValue::Bool)
      return known->flag;
  if (auto *unary = as<Unary>(e); unary && unary->op == UnaryOp::Not) {
    auto operand = staticCondition(unary->operand);
    return operand ? std::optional(!*operand) : std::nullopt;
  }
  auto *binary = as<Binary>(e);
  if (!binary)
    return std::nullopt;
  if (binary->op == Tok::KwAnd || binary->op == Tok::KwOr) {
    // Short-circuit: the left operand decides whether the right one is evaluated.
    auto left = staticCondition(binary->left);
    bool decides = binary->op == Tok::KwOr;
    if (!left || *left == decides)
      return left;
    return staticCondition(binary->right);
  }
  auto of = [&](const Expr *side) {
    const sema::Value *v = side->checked;
    return v && v->host && v->dim ? number(v->dim) : std::nullopt;
  };
  auto left = of(binary->left), right = of(binary->right);
  if (!left || !right)
    return std::nullopt;
  switch (binary->op) {
  case Tok::EqualEqual:
    return *left == *right;
  case Tok::NotEqual:
    return *left != *right;
  case Tok::Less:
    return *left < *right;
  case Tok::LessEqual:
    return *left <= *right;
  case Tok::Greater:
    return *left > *right;
  case Tok::GreaterEqual:
    return *left >= *right;
  default:
    return std::nullopt;
  }
}

/// A bool that decides control flow: host code waits for it, a graph branches on it.
mlir::Value Emitter::emitCondition(const Expr *e) {
  mlir::Value v = emit(e);
  return v && !inGraph ? toHost(v) : v;
}

// --------------------------------------------------------------------------------------------
// names

const sema::StaticValue *Emitter::staticValue(const Symbol *symbol) {
  auto find = [&](const std::vector<sema::ParamInfo> &params) -> const sema::StaticValue * {
    for (const sema::ParamInfo &param : params)
      if (param.symbol == symbol && param.isStatic && param.value.kind == sema::StaticValue::Open)
        if (auto found = instance.bindings.statics.find(param.value.variable);
            found != instance.bindings.statics.end())
          return &found->second;
    return nullptr;
  };
  for (FunctionInfo *f = instance.function; f; f = f->enclosing) {
    if (auto *value = find(f->params))
      return value;
    if (f->owner)
      if (auto *value = find(f->owner->params))
        return value;
  }
  return instance.construct ? find(instance.construct->params) : nullptr;
}

mlir::Value Emitter::emitName(const Name *e) {
  if (!e->symbol) // an element type used as a value
    return create<ir::ElementTypeOp>(ir::DtypeType::get(&shared.context),
                                     TypeAttr::get(elementType(e->checked->type->elem)));
  return emitSymbol(e->symbol, e);
}

mlir::Value Emitter::emitSymbol(Symbol *symbol, const Expr *e) {
  const Type *type = concrete(e->checked->type);
  if (type->is(Kind::Shape))
    return emitShape(type, e);
  if (type->is(Kind::Dtype))
    return create<ir::ElementTypeOp>(ir::DtypeType::get(&shared.context),
                                     TypeAttr::get(elementType(type->elem)));
  switch (symbol->kind) {
  case sema::SymbolKind::Variable: {
    if (auto *known = staticValue(symbol)) {
      if (known->kind == sema::StaticValue::Bool)
        return constantBool(known->flag);
      if (known->kind == sema::StaticValue::Float)
        return constantNumber(elementType(symbol->type->elem), known->number, 0, false);
      if (known->kind == sema::StaticValue::Str)
        return text(known->text);
    }
    return read(symbol);
  }
  case sema::SymbolKind::DimParam:
    return sizeValue(symbol->dim);
  case sema::SymbolKind::Field: {
    mlir::Value object = self();
    if (!object)
      return values.lookup(symbol); // of a constructor
    auto aggregate = mlir::cast<ir::AggregateType>(object.getType());
    size_t part = fieldIndex(*symbol->nominal, StringRef(symbol->name));
    return create<ir::GetOp>(aggregate.getParts()[part], object,
                             builder.getI64IntegerAttr(static_cast<int64_t>(part)));
  }
  case sema::SymbolKind::Function:
  case sema::SymbolKind::Method:
    return functionValue(*symbol->functions[0], type, e->span);
  default:
    return unsupported(e->span, "this name as a value");
  }
}

/// A shape as a value: its sizes.
mlir::Value Emitter::emitShape(const Type *type, const Expr *e) {
  SmallVector<mlir::Value> sizes;
  auto *list = as<ListExpr>(e);
  for (auto [i, axis] : llvm::enumerate(sema.types.substitute(type->shape, instance.bindings))) {
    if (list && axis.dim && !isBound(axis.dim)) {
      mlir::Value given = emitHostInt(list->elements[i]);
      if (auto atom = sema.dims.asSymbol(axis.dim); given && atom) {
        adopted.insert(*atom);
        bindSize(*atom, given);
      }
    }
    sizes.push_back(sizeValue(axis.dim));
  }
  mlir::Type whole = ir::TensorType::host(builder.getI64Type());
  return create<ir::MakeOp>(
      ir::ArrayType::get(&shared.context, whole,
                         ir::SizeAttr::get(&shared.context, static_cast<int64_t>(sizes.size()))),
      sizes);
}

mlir::Value Emitter::emitMember(const Member *e) {
  const Type *object = e->object->checked ? e->object->checked->type : nullptr;
  StringRef name(e->name.text);
  if (e->symbol)
    return emitSymbol(e->symbol, e);
  if (!object)
    return unsupported(e->span, "this member");
  object = concrete(object);
  const Type *type = concrete(e->checked->type);
  if (object->is(Kind::Grad))
    return emitGradMember(e);
  if (object->is(Kind::Tensor)) {
    if (name == "path")
      return text(leafPath);
    if (name == "shape" || name == "rank" || name == "dtype") {
      // The type has all information, but sizes known only at run time are bound by evaluating the
      // value; and an object that is not just a name may have side effects.
      bool isOpen = name == "shape" && llvm::any_of(type->shape, [&](const Axis &axis) {
                      return !axis.isPack() && axis.dim && !isBound(axis.dim);
                    });
      bool acts = !as<Name>(e->object) && !as<Member>(e->object);
      if ((isOpen || acts) && !emit(e->object))
        return {};
    }
    if (name == "shape")
      return emitShape(type, e);
    if (name == "dtype")
      return create<ir::ElementTypeOp>(ir::DtypeType::get(&shared.context),
                                       TypeAttr::get(elementType(object->elem)));
    if (name == "rank")
      return constantInt(static_cast<int64_t>(object->shape.size()));
    mlir::Value x = emit(e->object);
    if (!x || name != "T")
      return x ? unsupported(e->span, "`." + name.str() + "`") : x;
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, tensor(x).rank()));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    SmallVector<ir::SizeAttr> sizes(tensor(x).getSizes());
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return create<ir::TransposeOp>(tensor(x).withSizes(sizes), x,
                                   builder.getDenseI64ArrayAttr(order));
  }
  if (object->is(Kind::Loader))
    return loaderMember(emit(e->object), name);
  if (object->is(Kind::Error_))
    return create<ir::ErrorPartOp>(ir::StrType::get(&shared.context), emit(e->object),
                                   builder.getStringAttr(name));
  if (object->is(Kind::Nominal) && !object->nominal->isHandle) {
    for (const sema::FieldInfo &field : object->nominal->fields)
      if (StringRef(field.name) == name) {
        mlir::Value value = emit(e->object);
        if (!value)
          return {};
        size_t part = fieldIndex(*object->nominal, name);
        auto aggregate = mlir::cast<ir::AggregateType>(value.getType());
        return create<ir::GetOp>(aggregate.getParts()[part], value,
                                 builder.getI64IntegerAttr(static_cast<int64_t>(part)));
      }
  }
  if (object->is(Kind::Nominal) && object->nominal->name == "KVStore")
    return storeMember(e);
  if (sema::CheckedProgram::isQueue(object))
    return native("mx.queue.capacity", ir::TensorType::host(builder.getI64Type()),
                  {emit(e->object)});
  return unsupported(e->span, "`." + name.str() + "` as a value");
}

// ---------------------------------------------------------------------------------------
// arithmetic

/// An elementwise op on operands that broadcast to each other. `element`: the result's element
/// type, if it is not that of the last operand.
mlir::Value Emitter::elementwise(StringRef op, ArrayRef<mlir::Value> given, mlir::Type element) {
  SmallVector<mlir::Value> operands(given);
  // Between the kernels of a graph only integer bookkeeping is done: sizes, indices, flags.
  bool counts =
      llvm::StringSwitch<bool>(op)
          .Cases({"add", "sub", "mul", "floordiv", "mod", "neg", "maximum", "minimum"}, true)
          .Cases({"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"}, true)
          .Default(false);
  for (mlir::Value &v : operands)
    if (inGraph && v && isHost(v) &&
        (!counts || !(elementOf(v).isInteger(64) || elementOf(v).isInteger(1))))
      v = toDevice(v);
  if (llvm::is_contained(operands, mlir::Value()))
    return {};
  return ir::makeElementwise(builder, builder.getLoc(), op, operands, element);
}

mlir::Value Emitter::emitUnary(const Unary *e) {
  mlir::Value x = emit(e->operand);
  if (!x)
    return {};
  if (!isa<ir::TensorType>(x.getType())) // of a gradient
    return overLeaves(x.getType(), {x},
                      [&](ArrayRef<mlir::Value> v) { return elementwise("neg", {v[0]}); });
  return elementwise(e->op == UnaryOp::Not ? "not" : "neg", {x});
}

mlir::Value Emitter::arithmetic(Tok op, mlir::Value l, mlir::Value r, const Type *result) {
  mlir::Type boolean = builder.getI1Type();
  switch (op) {
  case Tok::Plus:
    return elementwise("add", {l, r});
  case Tok::Minus:
    return elementwise("sub", {l, r});
  case Tok::Star:
    return elementwise("mul", {l, r});
  case Tok::SlashSlash:
    return elementwise("floordiv", {l, r});
  case Tok::Percent:
    return elementwise("mod", {l, r});
  case Tok::StarStar:
    return elementwise("pow", {l, r});
  case Tok::Slash:
    return elementwise("div", {l, r},
                       isa<FloatType>(elementOf(l)) ? elementOf(l) : builder.getF32Type());
  case Tok::EqualEqual:
    return elementwise("eq", {l, r}, boolean);
  case Tok::NotEqual:
    return elementwise("ne", {l, r}, boolean);
  case Tok::Less:
    return elementwise("lt", {l, r}, boolean);
  case Tok::LessEqual:
    return elementwise("le", {l, r}, boolean);
  case Tok::Greater:
    return elementwise("gt", {l, r}, boolean);
  case Tok::GreaterEqual:
    return elementwise("ge", {l, r}, boolean);
  case Tok::At: {
    if (!l || !r)
      return {};
    return create<ir::MatmulOp>(mlir::cast<ir::TensorType>(convert(result)), toDevice(l),
                                toDevice(r));
  }
  default:
    return {};
  }
}

/// `and` and `or` short-circuit on the host; on tensors they are elementwise ops.
mlir::Value Emitter::emitLogic(const Binary *e) {
  mlir::Value l = emit(e->left);
  if (!l)
    return {};
  bool scalars = e->left->checked->type->isScalar() && e->right->checked->type->isScalar();
  bool isAnd = e->op == Tok::KwAnd;
  if (inGraph || !scalars) {
    mlir::Value r = emit(e->right);
    return elementwise(isAnd ? "and" : "or", {l, r});
  }
  Variables assigned;
  assignedIn(e->right, assigned);
  mlir::Value condition = toHost(l);
  return conditional(
      condition, assigned, condition.getType(),
      [&] { return isAnd ? toHost(emit(e->right)) : constantBool(true); },
      [&] { return isAnd ? constantBool(false) : toHost(emit(e->right)); });
}

mlir::Value Emitter::emitBinary(const Binary *e) {
  if (e->op == Tok::KwAnd || e->op == Tok::KwOr)
    return emitLogic(e);
  const sema::Value &left = *e->left->checked, &right = *e->right->checked;
  const Type *result = concrete(e->checked->type);
  if (result->is(Kind::Grad))
    return emitGradArithmetic(e->op, e->left, e->right);
  if (!left.type->isTensor() || !right.type->isTensor()) {
    mlir::Value l = emit(e->left), r = emit(e->right);
    if (!l || !r)
      return {};
    auto compared = [&](StringRef relation, mlir::Value x, mlir::Value y) -> mlir::Value {
      return create<ir::CompareOp>(ir::TensorType::host(builder.getI1Type()), relation, x, y);
    };
    switch (e->op) {
    case Tok::Plus:
      if (isa<ir::StrType>(l.getType()))
        return create<ir::JoinOp>(ir::StrType::get(&shared.context), ValueRange{l, r});
      break;
    case Tok::EqualEqual:
      return compared("==", l, r);
    case Tok::NotEqual:
      return compared("!=", l, r);
    case Tok::Less:
      return compared("<", l, r);
    case Tok::LessEqual:
      return compared("<=", l, r);
    case Tok::Greater:
      return compared(">", l, r);
    case Tok::GreaterEqual:
      return compared(">=", l, r);
    default:
      break;
    }
    return unsupported(e->opSpan, "this operator here");
  }
  // The common element type: that of an operand that does not adapt.
  mlir::Type element;
  bool comparing = result->isTensor() && result->elem.is(ElementType::Bool);
  if (!left.adapts())
    element = elementType(left.type->elem);
  else if (!right.adapts())
    element = elementType(right.type->elem);
  else if (comparing || e->op == Tok::Slash)
    element =
        left.literal == sema::Value::FloatLiteral || right.literal == sema::Value::FloatLiteral
            ? mlir::Type(builder.getF32Type())
            : mlir::Type(builder.getI64Type());
  else
    element = elementType(result->elem);
  mlir::Value l = emitAs(e->left, element), r = emitAs(e->right, element);
  at(e->opSpan);
  mlir::Value v = l && r ? arithmetic(e->op, l, r, result) : mlir::Value();
  return v;
}

// ------------------------------------------------------------------------------------ lists and
// text

mlir::Value Emitter::emitTuple(const Tuple *e) {
  if (e->elements.empty())
    return {};
  auto type = mlir::cast<ir::AggregateType>(convert(e->checked->type));
  SmallVector<mlir::Value> parts;
  for (auto [element, part] : llvm::zip(e->elements, type.getParts())) {
    mlir::Value v = emit(element);
    if (!v)
      return {};
    parts.push_back(fit(v, part));
  }
  return create<ir::MakeOp>(type, parts);
}

/// Numbers of a literal in row-major order; false if it holds anything else.
static bool flatten(const ListExpr *list, SmallVectorImpl<const sema::Value *> &out) {
  for (const Expr *e : list->elements) {
    if (auto *inner = as<ListExpr>(e)) {
      if (!flatten(inner, out))
        return false;
      continue;
    }
    const sema::Value *v = e->checked;
    bool isNumber = v && v->type->isScalar() &&
                    (v->constant == sema::Value::FloatConstant ||
                     v->constant == sema::Value::BoolConstant || (v->dim && v->dim.constant()));
    if (!isNumber)
      return false;
    out.push_back(v);
  }
  return true;
}

mlir::Value Emitter::emitList(const ListExpr *e) {
  const Type *type = concrete(e->checked->type);
  if (type->is(Kind::Shape) || type->is(Kind::Axes))
    return emitShape(type, e);
  if (type->is(Kind::Array)) {
    auto array = mlir::cast<ir::ArrayType>(convert(type));
    SmallVector<mlir::Value> parts;
    for (const Expr *element : e->elements) {
      mlir::Value v = emit(element);
      if (!v)
        return {};
      parts.push_back(fit(v, array.getElement()));
    }
    return create<ir::MakeOp>(array, parts);
  }
  auto result = mlir::cast<ir::TensorType>(convert(type));
  mlir::Type element = result.getElement();
  SmallVector<const sema::Value *> numbers;
  if (flatten(e, numbers) && result.isStatic()) {
    SmallVector<mlir::Attribute> attributes;
    for (const sema::Value *v : numbers) {
      bool isReal = v->constant == sema::Value::FloatConstant;
      int64_t whole = v->constant == sema::Value::BoolConstant ? v->flag
                      : isReal                                 ? 0
                                                               : *v->dim.constant();
      attributes.push_back(numberAttribute(element, v->number, whole, !isReal));
    }
    auto shape = RankedTensorType::get(result.numbers(), element);
    return create<ir::ConstantOp>(result, DenseElementsAttr::get(shape, attributes));
  }
  // Computed rows: each gets a new leading axis, then they are concatenated.
  SmallVector<mlir::Value> rows;
  for (const Expr *x : e->elements) {
    mlir::Value row = toDevice(emitAs(x, element));
    if (!row)
      return {};
    SmallVector<ir::SizeAttr> sizes{ir::SizeAttr::get(&shared.context, int64_t(1))};
    llvm::append_range(sizes, tensor(row).getSizes());
    rows.push_back(create<ir::ReshapeOp>(tensor(row).withSizes(sizes), row));
  }
  if (rows.empty())
    return create<ir::FullOp>(result, constantNumber(element, 0, 0, true));
  return create<ir::ConcatOp>(result, rows, builder.getI64IntegerAttr(0));
}

mlir::Value Emitter::emitFString(const FString *e) {
  SmallVector<mlir::Value> parts;
  ir::StrType str = ir::StrType::get(&shared.context);
  for (const FString::Part &part : e->parts) {
    if (!part.expr) {
      parts.push_back(text(StringRef(part.text)));
      continue;
    }
    mlir::Value v = emit(part.expr);
    if (!v)
      return {};
    parts.push_back(create<ir::FormatOp>(str, v, builder.getStringAttr(StringRef(part.format))));
  }
  return create<ir::JoinOp>(str, parts);
}

} // namespace mx::irgen
