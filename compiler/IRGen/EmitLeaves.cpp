// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// for (p, g, v) in leaves(mut net, grad, mut vel): the loop is fully unrolled, one iteration per
// parameter, with the sizes of that parameter.
#include "IRGen/Emitter.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

bool Emitter::isLeaves(const Expr *iterable) {
  auto *call = as<Call>(iterable);
  return call && sema.leafMutability.count(iterable);
}

/// The parameters of a model, in the order of its fields. False if one cannot be visited.
bool Emitter::leafPaths(const Type *type, const LeafPath &prefix, SmallVectorImpl<LeafPath> &out,
                        Span span) {
  auto deeper = [&](const std::string &step, const Type *part) {
    LeafPath path = prefix;
    path.name += (path.name.empty() ? "" : ".") + step;
    path.fields.push_back(step);
    return leafPaths(part, path, out, span);
  };
  if (type->is(Kind::Array)) {
    auto count = number(type->count);
    if (!count) {
      unsupported(span, "`leaves` of an array whose length is not a number");
      return false;
    }
    for (int64_t i = 0; i < *count; ++i)
      if (!deeper(std::to_string(i), concrete(type->element)))
        return false;
    return true;
  }
  if (type->is(Kind::Nominal) && type->nominal->isModel) {
    sema.resolveFields(*type->nominal);
    Bindings bindings = sema.bindingsOf(type);
    for (sema::FieldInfo &field : type->nominal->fields) {
      sema.resolveField(*type->nominal, field);
      if (field.kind != FieldKind::Param && field.kind != FieldKind::Sub)
        continue;
      if (!deeper(field.name, concrete(sema.types.substitute(field.type, bindings))))
        return false;
    }
    return true;
  }
  if (!type->isTensor() || !sema.types.isFloat(type->elem))
    return true;
  if (!type->elem.is(ElementType::F32)) {
    unsupported(span, "`leaves` of parameters that are not f32");
    return false;
  }
  out.push_back(prefix);
  out.back().type = type;
  return true;
}

/// The index of the part that `field` names.
static std::optional<int64_t> partNamed(ir::AggregateType type, StringRef field) {
  for (auto [i, name] : llvm::enumerate(type.getFields()))
    if (mlir::cast<StringAttr>(name).getValue() == field)
      return static_cast<int64_t>(i);
  return std::nullopt;
}

mlir::Value Emitter::leafAt(mlir::Value whole, ArrayRef<std::string> fields) {
  for (const std::string &field : fields) {
    if (auto array = dyn_cast<ir::ArrayType>(whole.getType())) {
      whole = create<ir::AtOp>(array.getElement(), whole, constantInt(std::stoll(field)));
      continue;
    }
    auto type = mlir::cast<ir::AggregateType>(whole.getType());
    auto part = partNamed(type, field);
    if (!part)
      return {};
    whole = create<ir::GetOp>(type.getParts()[static_cast<size_t>(*part)], whole,
                              builder.getI64IntegerAttr(*part));
  }
  return whole;
}

/// Replaces a leaf by a function of it. Each aggregate on the way is taken apart once and put
/// together once, so that the leaf is moved out in between and has one owner.
mlir::Value Emitter::updateLeaf(mlir::Value whole, ArrayRef<std::string> fields,
                                llvm::function_ref<mlir::Value(mlir::Value)> update) {
  if (fields.empty()) {
    mlir::Value leaf = update(whole);
    return leaf ? fit(leaf, whole.getType()) : leaf;
  }
  if (auto array = dyn_cast<ir::ArrayType>(whole.getType())) {
    mlir::Value index = constantInt(std::stoll(fields[0]));
    mlir::Value element = updateLeaf(create<ir::AtOp>(array.getElement(), whole, index),
                                     fields.drop_front(), update);
    return element ? create<ir::SetAtOp>(array, whole, index, element).getResult() : element;
  }
  mlir::Value inner = leafAt(whole, fields.take_front());
  inner = inner ? updateLeaf(inner, fields.drop_front(), update) : inner;
  if (!inner)
    return {};
  auto type = mlir::cast<ir::AggregateType>(whole.getType());
  return create<ir::SetOp>(type, whole, inner,
                           builder.getI64IntegerAttr(*partNamed(type, fields[0])));
}

mlir::Value Emitter::withLeaf(mlir::Value whole, ArrayRef<std::string> fields, mlir::Value leaf) {
  return updateLeaf(whole, fields, [&](mlir::Value) { return leaf; });
}

void Emitter::emitLeaves(const For *loop) {
  auto *call = as<Call>(loop->iterable);
  const std::vector<bool> &mutability = sema.leafMutability.at(loop->iterable);
  if (exitsOf(loop->body)) {
    unsupported(loop->span, "`break`, `continue` or `return` in a loop over leaves");
    return;
  }
  SmallVector<const Expr *> walked;
  for (const Argument &argument : call->args)
    if (argument.name.text != "rank")
      walked.push_back(argument.value);
  const Type *first = concrete(walked[0]->checked->type);
  SmallVector<LeafPath> leaves;
  if (!leafPaths(first->is(Kind::Grad) ? concrete(first->element) : first, {}, leaves,
                 loop->iterable->span))
    return;
  // The loop variables, one for each argument.
  SmallVector<const Pattern *> names;
  if (walked.size() == 1)
    names.push_back(loop->pattern);
  else
    for (const Pattern *part : loop->pattern->parts)
      names.push_back(part);
  const Type *each = loop->iterable->checked->type->element;
  const Type *leafType = each->is(Kind::Tuple) ? each->parts[0] : each;
  // All leaves share one pack of sizes; leaves of one fixed rank have a name for each size.
  bool anyRank = leafType->shape.size() == 1 && leafType->shape[0].isPack();
  Bindings outer = instance.bindings;
  std::string outerPath = leafPath;
  auto sizes = sizeNames;
  for (const LeafPath &leaf : leaves) {
    if (anyRank)
      instance.bindings.packs[leafType->shape[0].pack] = leaf.type->shape;
    else if (leaf.type->shape.size() != leafType->shape.size())
      continue;
    else
      for (auto [name, axis] : llvm::zip(leafType->shape, leaf.type->shape))
        instance.bindings.dims[*sema.dims.asSymbol(name.dim)] = axis.dim;
    leafPath = leaf.name;
    for (auto [i, argument] : llvm::enumerate(walked)) {
      mlir::Value whole = emit(argument);
      mlir::Value value = whole ? leafAt(whole, leaf.fields) : mlir::Value();
      if (!value)
        return;
      if (i < names.size() && names[i]->symbol)
        values[names[i]->symbol] = value;
    }
    emitBlock(loop->body, false);
    if (shared.failed)
      return;
    for (auto [i, argument] : llvm::enumerate(walked))
      if (mutability[i] && i < names.size() && names[i]->symbol)
        assign(argument, withLeaf(emit(argument), leaf.fields, values.lookup(names[i]->symbol)));
    sizeNames = sizes;
  }
  instance.bindings = outer;
  leafPath = outerPath;
}

} // namespace mx::irgen
