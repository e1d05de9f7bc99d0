// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indexing and slicing: x[i, a:b:s, ..., new] and x[…] = v (S13).
#include "IRGen/Compose.h"
#include "dialects/mx/Marks.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

ArrayAttr Emitter::specAttr(ArrayRef<std::string> spec) {
  SmallVector<mlir::Attribute> entries;
  for (const std::string &entry : spec)
    entries.push_back(builder.getStringAttr(entry));
  return builder.getArrayAttr(entries);
}

std::optional<Emitter::Indexing> Emitter::indexing(const Index *e, ir::TensorType x) {
  Indexing out;
  size_t written = 0;
  for (const IndexArg &arg : e->args)
    written += arg.kind != IndexArg::New && arg.kind != IndexArg::Ellipsis;
  size_t missing = x.rank() > written ? x.rank() - written : 0;
  bool filled = false;
  int64_t axis = 0;  // in x after integer indices were applied
  size_t source = 0; // in x
  // A bound known only at run time becomes a size of the result, named after the expression. A
  // negative bound counts from the end.
  std::vector<AtomId> open;
  if (!inGraph && e->checked)
    shared.instances.symbolsIn(e->checked->type, open);
  auto nameBound = [&](const Expr *part, mlir::Value host) {
    for (AtomId atom : open) {
      const DimSymbol &symbol = sema.dims.symbolInfo(atom);
      bool isIt = symbol.role == SymbolRole::HostInt && symbol.span == part->span;
      if (!isIt || isBound(sema.dims.symbol(atom)))
        continue;
      mlir::Value isBelow = elementwise("lt", {host, constantInt(0)}, builder.getI1Type());
      mlir::Value whole = create<ir::SizeOp>(ir::TensorType::host(builder.getI64Type()),
                                             x.getSizes()[source]);
      mlir::Value shift = elementwise("mul", {whole, cast(isBelow, builder.getI64Type())});
      adopted.insert(atom);
      bindSize(atom, elementwise("add", {host, shift}));
    }
  };
  auto fill = [&] {
    for (size_t i = 0; i < missing; ++i)
      out.spec.push_back(":");
    axis += static_cast<int64_t>(missing);
    source += missing;
    filled = true;
  };
  auto number = [&](const Expr *value) {
    mlir::Value v = emit(value);
    if (!v)
      return false;
    out.at.push_back(isHost(v) ? cast(v, builder.getI64Type()) : v);
    return true;
  };
  for (const IndexArg &arg : e->args) {
    switch (arg.kind) {
    case IndexArg::Ellipsis:
      fill();
      break;
    case IndexArg::New:
      out.spec.push_back("n");
      ++axis;
      break;
    case IndexArg::Value: {
      ++source;
      const Type *type = concrete(arg.value->checked->type);
      if (type->isTensor() && !type->shape.empty()) {
        if (out.gather) {
          unsupported(arg.value->span, "more than one index that is a tensor");
          return std::nullopt;
        }
        out.gather = arg.value;
        out.gatherAxis = axis++;
        out.spec.push_back(":");
        break;
      }
      out.spec.push_back("i");
      if (!number(arg.value))
        return std::nullopt;
      break;
    }
    case IndexArg::Slice: {
      if (!arg.from && !arg.to && !arg.step) {
        out.spec.push_back(":");
        ++axis;
        ++source;
        break;
      }
      std::string entry = "r";
      for (auto [part, letter] : {std::pair(arg.from, 'f'), {arg.to, 't'}, {arg.step, 's'}})
        if (part) {
          entry += letter;
          mlir::Value v = emit(part);
          if (!v)
            return std::nullopt;
          // The bounds of a slice are known when it is issued: its length is a size.
          out.at.push_back(inGraph && !isHost(v) ? v : cast(toHost(v), builder.getI64Type()));
          if (isHost(out.at.back()))
            nameBound(part, out.at.back());
        }
      ++source;
      out.spec.push_back(entry);
      ++axis;
      break;
    }
    }
  }
  if (!filled)
    fill();
  return out;
}

mlir::Value Emitter::emitIndex(const Index *e) {
  if (e->checked->type->is(Kind::TypeName))
    return unsupported(e->span, "a type as a value"); // its parts were not checked
  const Type *object = concrete(e->object->checked->type);
  const Type *type = concrete(e->checked->type);
  if (object->is(Kind::Array)) {
    mlir::Value array = emit(e->object), i = emit(e->args[0].value);
    if (!array || !i)
      return {};
    return create<ir::AtOp>(mlir::cast<ir::ArrayType>(array.getType()).getElement(), array,
                            inGraph ? i : cast(toHost(i), builder.getI64Type()));
  }
  if (object->is(Kind::Tuple)) {
    mlir::Value tuple = emit(e->object);
    auto at = number(e->args[0].value->checked->dim);
    if (!tuple || !at)
      return {};
    auto aggregate = mlir::cast<ir::AggregateType>(tuple.getType());
    int64_t part = *at < 0 ? *at + static_cast<int64_t>(aggregate.getParts().size()) : *at;
    return create<ir::GetOp>(aggregate.getParts()[part], tuple, builder.getI64IntegerAttr(part));
  }
  if (!object->isTensor())
    return unsupported(e->span, "an index of this");
  mlir::Value x = toDevice(emit(e->object));
  if (!x)
    return {};
  auto plan = indexing(e, tensor(x));
  if (!plan)
    return {};
  ir::TensorType result = mlir::cast<ir::TensorType>(convert(type));
  bool whole = llvm::all_of(plan->spec, [](const std::string &s) { return s == ":"; });
  if (plan->gather) {
    mlir::Value index = emit(plan->gather);
    if (!index)
      return {};
    // A mask selects the indices where it is true; their number is known only at run time.
    if (elementOf(index).isInteger(1)) {
      const Axis &open = type->shape[static_cast<size_t>(plan->gatherAxis)];
      index = Composer(*this).withOpenSize("mx.nonzero", toDevice(index),
                                           sema.types.tensor(ElementType::I32, {open}));
      result = mlir::cast<ir::TensorType>(convert(type));
    }
    // The other entries first, then the gather along its axis.
    ir::TensorType indexType = tensor(index);
    if (!whole) {
      SmallVector<ir::SizeAttr> sizes;
      ArrayRef<ir::SizeAttr> all = result.getSizes();
      llvm::append_range(sizes, all.take_front(plan->gatherAxis));
      sizes.push_back(tensor(x).getSizes()[gatherSource(*plan)]);
      llvm::append_range(sizes, all.drop_front(plan->gatherAxis + indexType.rank()));
      x = create<ir::SliceOp>(tensor(x).withSizes(sizes), x, plan->at, specAttr(plan->spec));
    }
    auto v = create<ir::TakeOp>(result, x, index, builder.getI64IntegerAttr(plan->gatherAxis));
    // Error messages name the axis of the program.
    if (auto asked = static_cast<int64_t>(gatherSource(*plan)); asked != plan->gatherAxis)
      v->setAttr(ir::kShownAxis, ir::SizeAttr::get(&shared.context, asked));
    adoptSizes(v, type);
    return v;
  }
  if (whole)
    return x;
  mlir::Value v = create<ir::SliceOp>(result, x, plan->at, specAttr(plan->spec));
  adoptSizes(v, type);
  return v;
}

/// The axis of x that the gather's `:` stands for.
size_t Emitter::gatherSource(const Indexing &plan) {
  int64_t kept = 0;
  size_t axis = 0;
  for (const std::string &entry : plan.spec) {
    if (entry != "i" && kept++ == plan.gatherAxis)
      return axis;
    axis += entry != "n";
  }
  return axis;
}

mlir::Value Emitter::emitUpdate(const Index *lvalue, mlir::Value x, mlir::Value value) {
  x = toDevice(x);
  auto plan = indexing(lvalue, tensor(x));
  if (!plan)
    return {};
  if (plan->gather)
    return unsupported(lvalue->span, "an assignment at indices given by a tensor");
  value = cast(value, elementOf(x));
  const Type *region = concrete(lvalue->checked->type);
  if (tensor(value).rank() == 0 && !region->isScalar())
    value = create<ir::FullOp>(mlir::cast<ir::TensorType>(convert(region)), value);
  return create<ir::UpdateOp>(x.getType(), x, value, plan->at, specAttr(plan->spec));
}

} // namespace mx::irgen
