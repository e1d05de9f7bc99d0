// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mx.routine`: calls of library routines. The kinds, their operands, and the sizes they are called
// with.
#include "dialects/mx/Mx.h"

using namespace mlir;

namespace mx::ir {
namespace {

enum class Form : uint8_t {
  Along,   ///< works along an axis of x
  Scatter, ///< x, index, y
  Matrix,  ///< on matrices; the result is also a matrix
  Solve,   ///< a, b to x like b
  Packed   ///< on matrices; several results packed in one
};
enum class Elements : uint8_t { Any, Number, Float, Wide };

struct Kind {
  llvm::StringLiteral name;
  Form form;
  unsigned inputs;
  Elements elements;
};

constexpr Kind kKinds[] = {
    {"argsort", Form::Along, 1, Elements::Any},
    {"argsort_top", Form::Along, 1, Elements::Any},
    {"cumsum", Form::Along, 1, Elements::Number},
    {"cumprod", Form::Along, 1, Elements::Number},
    {"recurrence", Form::Along, 2, Elements::Float},
    {"scatter_add", Form::Scatter, 3, Elements::Number},
    {"scatter_set", Form::Scatter, 3, Elements::Any},
    {"scatter_max", Form::Scatter, 3, Elements::Number},
    {"cholesky", Form::Matrix, 1, Elements::Wide},
    {"solve", Form::Solve, 2, Elements::Wide},
    {"solve_lower", Form::Solve, 2, Elements::Wide},
    {"solve_upper", Form::Solve, 2, Elements::Wide},
    {"qr", Form::Packed, 1, Elements::Wide},
    {"svd", Form::Packed, 1, Elements::Wide},
    {"eigh", Form::Packed, 1, Elements::Wide},
};

const Kind *kindNamed(StringRef name) {
  for (const Kind &kind : kKinds)
    if (kind.name == name)
      return &kind;
  return nullptr;
}

TensorType typeAt(RoutineOp op, unsigned input) {
  return cast<TensorType>(op.getInputs()[input].getType());
}

/// Returns a subset of the elements along the axis.
bool isSelection(RoutineOp op) { return op.getKind() == "argsort_top"; }

/// Constant sizes that differ.
bool differ(SizeAttr x, SizeAttr y) {
  return x.constant() && y.constant() && *x.constant() != *y.constant();
}
bool differ(ArrayRef<SizeAttr> x, ArrayRef<SizeAttr> y) {
  if (x.size() != y.size())
    return true;
  for (auto [a, b] : llvm::zip_equal(x, y))
    if (differ(a, b))
      return true;
  return false;
}

bool takes(Elements elements, Type element) {
  switch (elements) {
  case Elements::Any:
    return true;
  case Elements::Number:
    return !isBoolElement(element);
  case Elements::Float:
    return isFloatElement(element);
  case Elements::Wide:
    return element.isF32() || element.isF64();
  }
  return false;
}

LogicalResult verifyScatter(RoutineOp op) {
  TensorType x = typeAt(op, 0), index = typeAt(op, 1), y = typeAt(op, 2);
  if (x.rank() == 0 || index.rank() != 1 || !index.getElement().isInteger(64))
    return op.emitOpError() << "needs rows and an index of i64";
  SmallVector<SizeAttr> wanted(x.getSizes());
  wanted[0] = index.getSizes()[0];
  if (y.getElement() != x.getElement() || differ(y.getSizes(), wanted))
    return op.emitOpError() << "has rows " << y << " for " << x << " at " << index;
  return success();
}

/// Fails if the matrix sizes do not match.
LogicalResult verifyMatrices(RoutineOp op, const Kind &kind) {
  for (Value input : op.getInputs())
    if (cast<TensorType>(input.getType()).rank() < 2)
      return op.emitOpError() << "needs matrices, not " << input.getType();
  ArrayRef<SizeAttr> a = typeAt(op, 0).getSizes();
  bool square = kind.form != Form::Packed || kind.name == "eigh";
  if (square && differ(a[a.size() - 2], a.back()))
    return op.emitOpError() << "needs square matrices, not " << typeAt(op, 0);
  if (kind.form != Form::Solve)
    return success();
  ArrayRef<SizeAttr> b = typeAt(op, 1).getSizes();
  if (differ(a.drop_back(2), b.drop_back(2)) || differ(a.back(), b[b.size() - 2]))
    return op.emitOpError() << "has a right side " << typeAt(op, 1) << " for " << typeAt(op, 0);
  return success();
}

} // namespace

LogicalResult RoutineOp::verify() {
  const Kind *kind = kindNamed(getKind());
  if (!kind)
    return emitOpError() << "of the unknown kind `" << getKind() << "`";
  if (getInputs().size() != kind->inputs)
    return emitOpError() << getKind() << " has " << getInputs().size() << " inputs, not "
                         << kind->inputs;
  TensorType x = typeAt(*this, 0), result = getType();
  if (!takes(kind->elements, x.getElement()))
    return emitOpError() << getKind() << " does not take " << x;
  bool isOrder = getKind().starts_with("argsort");
  Type element = isOrder ? Type(IntegerType::get(getContext(), 32)) : x.getElement();
  if (result.getElement() != element)
    return emitOpError() << "the result has elements " << result.getElement() << ", not "
                         << element;
  if (kind->form == Form::Scatter)
    return failed(verifyScatter(*this)) ? failure()
           : differ(result.getSizes(), x.getSizes())
               ? emitOpError() << "the result does not have the sizes of " << x
               : success();
  for (Value input : getInputs())
    if (cast<TensorType>(input.getType()).getElement() != x.getElement())
      return emitOpError() << "inputs have different elements";
  if (kind->form == Form::Along) {
    if (getAxis() < 0 || static_cast<size_t>(getAxis()) >= x.rank())
      return emitOpError() << "axis " << getAxis() << " is outside of " << x;
    SmallVector<SizeAttr> sizes(result.getSizes());
    if (isSelection(*this) && sizes.size() == x.rank())
      sizes[getAxis()] = x.getSizes()[getAxis()];
    for (Value input : getInputs())
      if (differ(cast<TensorType>(input.getType()).getSizes(), sizes))
        return emitOpError() << "the result does not have the sizes of " << input.getType();
    return success();
  }
  if (failed(verifyMatrices(*this, *kind)))
    return failure();
  ArrayRef<SizeAttr> whole = typeAt(*this, kind->form == Form::Solve ? 1 : 0).getSizes();
  bool fits = kind->form == Form::Packed
                  ? result.rank() + 1 == whole.size() &&
                        !differ(result.getSizes().drop_back(), whole.drop_back(2))
                  : !differ(result.getSizes(), whole);
  return fits ? success() : emitOpError() << "the result " << result << " does not fit";
}

bool RoutineOp::worksAlongAxis() { return kindNamed(getKind())->form == Form::Along; }

SmallVector<SmallVector<SizeAttr>, 3> RoutineOp::callSizes() {
  const Kind &kind = *kindNamed(getKind());
  ArrayRef<SizeAttr> x = typeAt(*this, kind.form == Form::Solve ? 1 : 0).getSizes();
  using Part = SmallVector<SizeAttr>;
  if (kind.form == Form::Along) {
    auto axis = static_cast<size_t>(getAxis());
    SmallVector<Part, 3> parts{Part(x.take_front(axis)), Part{x[axis]},
                               Part(x.drop_front(axis + 1))};
    if (isSelection(*this))
      parts.push_back({getType().getSizes()[axis]});
    return parts;
  }
  if (kind.form == Form::Scatter)
    return {Part{x[0]}, Part{typeAt(*this, 1).getSizes()[0]}, Part(x.drop_front())};
  return {Part(x.drop_back(2)), Part{x[x.size() - 2]}, Part{x.back()}};
}

} // namespace mx::ir
