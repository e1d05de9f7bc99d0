// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: gradient rules of tuples, structs, models and arrays.
#include "Graph/Adjoints.h"

using namespace mlir;

namespace mx::graph {

/// An adjoint with a single nonzero part.
static Adjoint onlyPart(size_t part, Adjoint g) {
  Adjoint out;
  out.parts.resize(part + 1);
  out.parts[part] = std::move(g);
  return out;
}
static Adjoint partOf(const Adjoint &g, size_t part) {
  return part < g.parts.size() ? g.parts[part] : Adjoint();
}
static Adjoint withoutPart(Adjoint g, size_t part) {
  if (part < g.parts.size())
    g.parts[part] = Adjoint();
  return g;
}

LogicalResult Reverse::aggregateRule(Operation *op, const Adjoint &g, bool &handled) {
  handled = true;
  auto known = [](Value index, ir::ArrayType type) -> std::optional<size_t> {
    std::optional<int64_t> number = constantInt(index), count = type.getCount().constant();
    if (!number || !count)
      return std::nullopt;
    int64_t position = *number < 0 ? *number + *count : *number;
    return position >= 0 && position < *count ? std::optional(static_cast<size_t>(position))
                                              : std::nullopt;
  };
  if (auto make = dyn_cast<ir::MakeOp>(op)) {
    Adjoint parts = g;
    if (auto array = dyn_cast<ir::ArrayType>(make.getType()))
      if (!splitElements(parts, array))
        return withoutRule(op);
    for (auto [i, part] : llvm::enumerate(make.getParts()))
      contribute(part, partOf(parts, i));
    return success();
  }
  if (auto get = dyn_cast<ir::GetOp>(op)) {
    contribute(get.getAggregate(), onlyPart(get.getPart(), g));
    return success();
  }
  if (auto set = dyn_cast<ir::SetOp>(op)) {
    contribute(set.getAggregate(), withoutPart(g, set.getPart()));
    contribute(set.getValue(), partOf(g, set.getPart()));
    return success();
  }
  if (auto at = dyn_cast<ir::AtOp>(op)) {
    ir::ArrayType type = at.getArray().getType();
    if (std::optional<size_t> position = known(at.getIndex(), type)) {
      contribute(at.getArray(), onlyPart(*position, g));
      return success();
    }
    if (!isActive(at.getArray()))
      return success();
    Value all = whole(adjoints.lookup(at.getArray()), type);
    Type element = adjointType(type.getElement());
    Adjoint sum = apart(this->make<ir::AtOp>(element, all, at.getIndex()), type.getElement());
    add(sum, g, type.getElement());
    adjoints[at.getArray()] = Adjoint{
        this->make<ir::SetAtOp>(all.getType(), all, at.getIndex(), whole(sum, type.getElement())),
        {}};
    return success();
  }
  if (auto set = dyn_cast<ir::SetAtOp>(op)) {
    ir::ArrayType type = set.getArray().getType();
    Adjoint parts = g;
    std::optional<size_t> position = known(set.getIndex(), type);
    if (position && splitElements(parts, type)) {
      contribute(set.getValue(), partOf(parts, *position));
      contribute(set.getArray(), withoutPart(parts, *position));
      return success();
    }
    Value all = whole(g, type);
    Type element = adjointType(type.getElement());
    contribute(set.getValue(),
               apart(this->make<ir::AtOp>(element, all, set.getIndex()), type.getElement()));
    contribute(set.getArray(), Adjoint{this->make<ir::SetAtOp>(all.getType(), all, set.getIndex(),
                                                               whole(Adjoint(), type.getElement())),
                                       {}});
    return success();
  }
  handled = false;
  return success();
}

} // namespace mx::graph
