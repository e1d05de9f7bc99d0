// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and folders of reductions, matmul, reshapes, indexing and constructors. Result sizes
// follow the shape rules of compiler/Support: an op is rejected if a rule refutes it. Conditions
// that a rule can neither prove nor refute were passed to the callers by the checker, and are
// accepted here.
#include "dialects/mx/Mx.h"

using namespace mlir;

namespace mx::ir {
namespace {

/// Symbolic sizes may match by a `where` clause that the IR does not have; the checker verified it.
/// Constants and ranks are decided here.
bool isWrong(const ShapeResult &found) {
  switch (found.problem.kind) {
  case ShapeProblem::None:
    return false;
  case ShapeProblem::Mismatch:
  case ShapeProblem::Elements:
  case ShapeProblem::Indivisible:
  case ShapeProblem::Ambiguous:
    return found.problem.left && found.problem.right && found.problem.left.constant() &&
           found.problem.right.constant();
  default:
    return true;
  }
}

/// Compares the result type with the shape that the rule inferred.
LogicalResult compare(Operation *op, const ShapeResult &found, TensorType result,
                      const DimFacts &facts) {
  if (isWrong(found))
    return op->emitOpError() << "the shapes of its operands do not fit";
  if (found.ok() && isWrong(sameShape(found.shape, result.shape(), facts)))
    return op->emitOpError() << "the result does not have the sizes of " << result;
  return success();
}

/// Calls `rule(facts)` with the context's sizes locked.
template <class Rule> LogicalResult checkShape(Operation *op, TensorType result, const Rule &rule) {
  SizeTable &table = op->getContext()->getOrLoadDialect<MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  DimFacts facts(table.dims);
  return compare(op, rule(facts, table.dims), result, facts);
}

LogicalResult sameElement(Operation *op, Type x, Type result) {
  if (cast<TensorType>(x).getElement() != cast<TensorType>(result).getElement())
    return op->emitOpError() << "operand and result have different elements";
  return success();
}

} // namespace

LogicalResult verifyReduction(Operation *op, ArrayRef<int64_t> axes, bool keep) {
  auto x = cast<TensorType>(op->getOperand(0).getType());
  auto result = cast<TensorType>(op->getResult(0).getType());
  int64_t before = -1;
  for (int64_t axis : axes) {
    if (axis <= before || axis >= static_cast<int64_t>(x.rank()))
      return op->emitOpError() << "axes must be sorted and lie within the rank";
    before = axis;
  }
  Type expected = x.getElement();
  if (isa<ArgmaxOp, ArgminOp>(op)) {
    expected = IntegerType::get(op->getContext(), 32);
  } else if (isa<AnyOp, AllOp>(op)) {
    expected = IntegerType::get(op->getContext(), 1);
  }
  if (result.getElement() != expected)
    return op->emitOpError() << "the result has elements " << result.getElement() << ", not "
                             << expected;
  return checkShape(op, result, [&](const DimFacts &, DimContext &dims) {
    return reduceShape(x.shape(), std::vector<int64_t>(axes.begin(), axes.end()),
                       /*all=*/false, keep, dims);
  });
}

TensorType MatmulOp::rightType() {
  TensorType y = getY().getType();
  if (!getPanels())
    return y;
  ArrayRef<SizeAttr> sizes = y.getSizes();
  return y.withSizes({sizes[1], sizes[0].times(sizes[2])});
}
int64_t MatmulOp::panelColumns() {
  return getPanels() ? *getY().getType().getSizes()[2].constant() : 0;
}
LogicalResult MatmulOp::verify() {
  if (failed(sameElement(*this, getX().getType(), getType())) ||
      failed(sameElement(*this, getY().getType(), getType())))
    return failure();
  if (getPanels() && (getY().getType().rank() != 3 ||
                      getY().getType().getSizes()[2].constant().value_or(0) <= 0))
    return emitOpError() << "panels are [N / P, K, P] with a number P, not " << getY().getType();
  if (Value begin = getInit();
      begin && (begin.getType() != getType() ||
                !(getType().getElement().isF32() || getType().getElement().isF64())))
    return emitOpError() << "sums of f32 or f64 begin with a value of the result's type, not "
                         << begin.getType();
  return checkShape(*this, getType(), [&](const DimFacts &facts, DimContext &) {
    return matmulShape(getX().getType().shape(), rightType().shape(), facts);
  });
}

LogicalResult ReshapeOp::verify() {
  if (failed(sameElement(*this, getX().getType(), getType())))
    return failure();
  return checkShape(*this, getType(), [&](const DimFacts &facts, DimContext &) {
    return reshapeShape(getX().getType().shape(), getType().shape(), facts);
  });
}
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return {};
}

LogicalResult TransposeOp::verify() {
  if (failed(sameElement(*this, getX().getType(), getType())))
    return failure();
  return checkShape(*this, getType(), [&](const DimFacts &, DimContext &) {
    return permuteShape(getX().getType().shape(),
                        std::vector<int64_t>(getOrder().begin(), getOrder().end()));
  });
}
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, axis] : llvm::enumerate(getOrder()))
    if (static_cast<int64_t>(i) != axis)
      return {};
  return getX();
}

LogicalResult BroadcastOp::verify() {
  TensorType x = getX().getType(), result = getType();
  if (failed(sameElement(*this, x, result)))
    return failure();
  if (x.rank() > result.rank())
    return emitOpError() << x << " does not broadcast to " << result;
  for (size_t i = 0; i < x.rank(); ++i) {
    SizeAttr part = x.getSizes()[i], whole = result.getSizes()[result.rank() - x.rank() + i];
    if (part != whole && part.constant() && *part.constant() != 1 && whole.constant())
      return emitOpError() << x << " does not broadcast to " << result;
  }
  return success();
}
OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

LogicalResult ConcatOp::verify() {
  if (getParts().empty())
    return emitOpError() << "has nothing to join";
  std::vector<Shape> shapes;
  for (Value part : getParts()) {
    if (failed(sameElement(*this, part.getType(), getType())))
      return failure();
    shapes.push_back(cast<TensorType>(part.getType()).shape());
  }
  return checkShape(*this, getType(), [&](const DimFacts &facts, DimContext &) {
    return concatShapes(shapes, getAxis(), facts);
  });
}

// -----------------------------------------------------------------------------------------
// indexing

std::optional<SmallVector<SpecEntry>> readSpec(ArrayAttr spec) {
  SmallVector<SpecEntry> out;
  for (Attribute attribute : spec) {
    auto text = dyn_cast<StringAttr>(attribute);
    if (!text)
      return std::nullopt;
    StringRef s = text.getValue();
    SpecEntry entry{SpecEntry::Whole};
    if (s == "i") {
      entry.kind = SpecEntry::Index;
    } else if (s == "n") {
      entry.kind = SpecEntry::New;
    } else if (s.consume_front("r")) {
      entry.kind = SpecEntry::Range;
      entry.from = s.consume_front("f");
      entry.to = s.consume_front("t");
      entry.step = s.consume_front("s");
      if (!s.empty())
        return std::nullopt;
    } else if (s != ":") {
      return std::nullopt;
    }
    out.push_back(entry);
  }
  return out;
}

/// Verifies a spec against x. `partRank` is the rank of x[spec] as written, if it is known.
static LogicalResult verifyIndexing(Operation *op, TensorType x, ArrayAttr spec, size_t given,
                                    std::optional<size_t> partRank) {
  std::optional<SmallVector<SpecEntry>> entries = readSpec(spec);
  if (!entries)
    return op->emitOpError() << "has a malformed spec";
  size_t axes = 0, rank = 0, numbers = 0;
  for (const SpecEntry &entry : *entries) {
    axes += entry.kind != SpecEntry::New;
    rank += entry.kind != SpecEntry::Index;
    numbers += entry.kind == SpecEntry::Index ? 1 : entry.from + entry.to + entry.step;
  }
  if (axes != x.rank())
    return op->emitOpError() << "has " << axes << " entries for the " << x.rank() << " axes of "
                             << x;
  if (numbers != given)
    return op->emitOpError() << "needs " << numbers << " numbers and has " << given;
  if (partRank && *partRank != rank)
    return op->emitOpError() << "has rank " << *partRank << ", its spec gives " << rank;
  return success();
}
LogicalResult SliceOp::verify() {
  if (failed(sameElement(*this, getX().getType(), getType())))
    return failure();
  return verifyIndexing(*this, getX().getType(), getSpec(), getAt().size(), getType().rank());
}
LogicalResult UpdateOp::verify() {
  if (getX().getType() != getType())
    return emitOpError() << "changes its type";
  if (failed(sameElement(*this, getValue().getType(), getType())))
    return failure();
  return verifyIndexing(*this, getX().getType(), getSpec(), getAt().size(), std::nullopt);
}
/// `part` is the type of the elements taken from an axis of x.
static LogicalResult verifyTaken(Operation *op, TensorType x, TensorType index, TensorType part,
                                 int64_t axis, StringRef what) {
  if (failed(sameElement(op, x, part)))
    return failure();
  if (axis < 0 || axis >= static_cast<int64_t>(x.rank()))
    return op->emitOpError() << "axis " << axis << " is outside of the rank";
  SmallVector<SizeAttr> sizes(x.getSizes().take_front(axis));
  llvm::append_range(sizes, index.getSizes());
  llvm::append_range(sizes, x.getSizes().drop_front(axis + 1));
  if (ArrayRef<SizeAttr>(sizes) != part.getSizes())
    return op->emitOpError() << what << " is not " << part.withSizes(sizes);
  return success();
}
LogicalResult TakeOp::verify() {
  return verifyTaken(*this, getX().getType(), getIndex().getType(), getType(), getAxis(),
                     "the result");
}
LogicalResult ScatterAddOp::verify() {
  if (getX().getType() != getType())
    return emitOpError() << "changes its type";
  return verifyTaken(*this, getX().getType(), getIndex().getType(), getY().getType(), getAxis(),
                     "what is added");
}

// -------------------------------------------------------------------------------------------
// construction

LogicalResult ConstantOp::verify() {
  TensorType result = getType();
  Attribute value = getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (dense.getElementType() != result.getElement() || !result.isStatic() ||
        ArrayRef<int64_t>(result.numbers()) != dense.getType().getShape())
      return emitOpError() << "its value is of type " << dense.getType();
    return success();
  }
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed || !isa<IntegerAttr, FloatAttr>(value) || typed.getType() != result.getElement() ||
      !result.isScalar())
    return emitOpError() << "its value does not fit " << result;
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult FullOp::verify() { return sameElement(*this, getValue().getType(), getType()); }
LogicalResult IotaOp::verify() {
  if (getType().rank() != 1)
    return emitOpError() << "counts along one axis";
  return success();
}
LogicalResult RandomOp::verify() {
  static constexpr std::pair<StringRef, unsigned> kKinds[] = {
      {"uniform", 2}, {"normal", 2},      {"truncated_normal", 2}, {"bernoulli", 1},
      {"randint", 2}, {"permutation", 0}, {"categorical", 1},      {"fork", 1}};
  for (auto [name, parameters] : kKinds)
    if (getKind() == name) {
      if (getParameters().size() != parameters)
        return emitOpError() << name << " has " << parameters << " parameters";
      return success();
    }
  return emitOpError() << "there is no random op `" << getKind() << "`";
}
LogicalResult ToDeviceOp::verify() {
  if (getX().getType().getElement() != getType().getElement() ||
      getX().getType().getSizes() != getType().getSizes())
    return emitOpError() << "changes more than the device";
  return success();
}
OpFoldResult ToDeviceOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

} // namespace mx::ir
