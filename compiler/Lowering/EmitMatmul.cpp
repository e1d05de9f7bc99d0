// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products, with ops on the result. This file is the only one that knows how a product is
// computed: a microkernel for each CPU will take its place.
//
// Each element is summed up in the order of k, one product after the other. Floats of 16 bits are
// accumulated in f32. Four rows and four steps of k go together over a stretch of columns, whose
// sums stay in the first cache; the columns of y that a stretch reads stay in the second for a
// block of rows. Blocks and stretches are shared among threads.
#include "Lowering/EmitKernel.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

constexpr int64_t kRows = 4, kSteps = 4, kColumns = 256, kBlock = 128;

class Product {
public:
  Product(KernelEmitter &e, const OutputGroup &group)
      : e(e), group(group), evaluator(e), op(cast<MatmulOp>(group.sources[0])) {}
  void emit();

private:
  KernelEmitter &e;
  const OutputGroup &group;
  Evaluator evaluator;
  MatmulOp op;
  Type type;                 ///< of the sums
  Value rows, columns, deep; ///< sizes; 1 where an operand is a vector
  SmallVector<Value> batch;  ///< place among the matrices
  Buffer sums;

  TensorType x() { return op.getX().getType(); }
  TensorType y() { return op.getY().getType(); }
  bool leftIsVector() { return x().rank() == 1; }
  bool rightIsVector() { return y().rank() == 1; }
  SmallVector<Value> matrixOf(TensorType operand);
  Value left(Value i, Value k);
  Value right(Value k, Value j);
  Value widen(Value element);
  Value multiplyAdd(Value sum, Value a, Value b);
  void block(Value i0, Value j0);
  void strip(Value i, int64_t count, Value j0, Value width);
  void accumulate(Value i, int64_t count, Value k, int64_t steps, Value j0, Value width);
  void finish(Value i, int64_t count, Value j0, Value width);
  Value sumAt(int64_t row, Value j) { return row == 0 ? j : e.add(e.number(row * kColumns), j); }
};

/// The place of the matrix in an operand: its batch axes are stretched to those of the result.
SmallVector<Value> Product::matrixOf(TensorType operand) {
  SmallVector<Value> place;
  if (operand.rank() < 2)
    return place;
  size_t own = operand.rank() - 2, skip = batch.size() - own;
  for (size_t i = 0; i < own; ++i)
    place.push_back(operand.getSizes()[i].constant() == 1 ? e.number(0) : batch[skip + i]);
  return place;
}
Value Product::left(Value i, Value k) {
  SmallVector<Value> place = matrixOf(x());
  if (!leftIsVector())
    place.push_back(i);
  place.push_back(k);
  return widen(evaluator.at(op.getX(), place));
}
Value Product::right(Value k, Value j) {
  SmallVector<Value> place = matrixOf(y());
  place.push_back(k);
  if (!rightIsVector())
    place.push_back(j);
  return widen(evaluator.at(op.getY(), place));
}
Value Product::widen(Value element) {
  return element.getType() == type ? element : Value(arith::ExtFOp::create(e.b, type, element));
}
Value Product::multiplyAdd(Value sum, Value a, Value b) {
  if (!isa<FloatType>(type))
    return e.add(sum, e.mul(a, b));
  // Inside of one op there is nothing that fusion could change.
  auto flags =
      arith::FastMathFlagsAttr::get(e.b.getContext(), e.fast() | arith::FastMathFlags::contract);
  return arith::AddFOp::create(e.b, sum, arith::MulFOp::create(e.b, a, b, flags), flags);
}

void Product::emit() {
  SmallVector<Value> roots = group.values();
  roots.push_back(op.getResult());
  evaluator.prepare(roots);
  type = e.codeType(op.getType().getElement());
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16)
    type = e.b.getF32Type();
  SmallVector<Value> xs = e.sizesOf(x()), ys = e.sizesOf(y()), result = e.sizesOf(op.getType());
  deep = xs.back();
  rows = leftIsVector() ? e.number(1) : xs[xs.size() - 2];
  columns = rightIsVector() ? e.number(1) : ys.back();
  result.resize(result.size() - !leftIsVector() - !rightIsVector());
  sums = e.scratch(type, kRows * kColumns);
  e.b.setLoc(op.getLoc());
  auto parts = [&](Value size, int64_t part) {
    return e.known(size) ? e.number(llvm::divideCeil(*e.known(size), part))
                         : Value(arith::DivUIOp::create(e.b, e.add(size, e.number(part - 1)),
                                                        e.number(part)));
  };
  result.push_back(parts(rows, kBlock));
  result.push_back(parts(columns, kColumns));
  Value work = e.mul(deep, e.number(kBlock * kColumns / 8)); // eight products cost what one op does
  e.spread(
      result, work,
      [&](Indices at) {
        batch.assign(at.begin(), at.end() - 2);
        block(e.mul(at[at.size() - 2], e.number(kBlock)), e.mul(at.back(), e.number(kColumns)));
      },
      result.size());
}

/// A block of rows, for a stretch of columns.
void Product::block(Value i0, Value j0) {
  Value width = e.least(e.number(kColumns), e.sub(columns, j0));
  Value count = e.least(e.number(kBlock), e.sub(rows, i0));
  Value end = e.add(i0, count);
  Value whole = e.sub(end, arith::RemUIOp::create(e.b, count, e.number(kRows)));
  e.loop(i0, whole, kRows, [&](Value i) { strip(i, kRows, j0, width); });
  e.loop(whole, end, 1, [&](Value i) { strip(i, 1, j0, width); });
}

void Product::strip(Value i, int64_t count, Value j0, Value width) {
  Evaluator::Scope scope(evaluator);
  Value zero = e.number(0), nothing = e.constantOf(type, 0);
  e.loop(zero, width, 1, [&](Value j) {
    for (int64_t r = 0; r < count; ++r)
      e.store(sums, sumAt(r, j), nothing);
  });
  Value whole = e.sub(deep, arith::RemUIOp::create(e.b, deep, e.number(kSteps)));
  e.loop(zero, whole, kSteps, [&](Value k) { accumulate(i, count, k, kSteps, j0, width); });
  e.loop(whole, deep, 1, [&](Value k) { accumulate(i, count, k, 1, j0, width); });
  finish(i, count, j0, width);
}

void Product::accumulate(Value i, int64_t count, Value k, int64_t steps, Value j0, Value width) {
  Evaluator::Scope scope(evaluator);
  SmallVector<Value> at, factors; // at: rows; factors: by row, then step
  SmallVector<Value> ks;
  for (int64_t s = 0; s < steps; ++s)
    ks.push_back(s == 0 ? k : e.add(k, e.number(s)));
  for (int64_t r = 0; r < count; ++r) {
    Value row = r == 0 ? i : e.add(i, e.number(r));
    for (Value step : ks)
      factors.push_back(left(row, step));
  }
  e.loop(e.number(0), width, 1, [&](Value j) {
    Evaluator::Scope inner(evaluator);
    Value column = e.add(j0, j);
    SmallVector<Value> others;
    for (Value step : ks)
      others.push_back(right(step, column));
    for (int64_t r = 0; r < count; ++r) {
      Value sum = e.load(sums, sumAt(r, j));
      for (int64_t s = 0; s < steps; ++s)
        sum = multiplyAdd(sum, factors[static_cast<size_t>(r * steps + s)],
                          others[static_cast<size_t>(s)]);
      e.store(sums, sumAt(r, j), sum);
    }
  });
}

/// The ops on the result, and the outputs.
void Product::finish(Value i, int64_t count, Value j0, Value width) {
  Type element = e.codeType(op.getType().getElement());
  for (int64_t r = 0; r < count; ++r) {
    Value row = r == 0 ? i : e.add(i, e.number(r));
    e.loop(e.number(0), width, 1, [&](Value j) {
      Evaluator::Scope scope(evaluator);
      SmallVector<Value> place(batch);
      if (!leftIsVector())
        place.push_back(op.getType().getSizes()[place.size()].constant() == 1 ? e.number(0) : row);
      if (!rightIsVector())
        place.push_back(op.getType().getSizes()[place.size()].constant() == 1 ? e.number(0)
                                                                              : e.add(j0, j));
      Value sum = e.load(sums, sumAt(r, j));
      if (sum.getType() != element)
        sum = arith::TruncFOp::create(e.b, element, sum);
      evaluator.bind(op.getResult(), place, sum);
      SmallVector<Value> elements = evaluator.all(group.values(), place);
      for (auto [output, value] : llvm::zip_equal(group.outputs, elements))
        e.store(e.output(output.index), place, value);
    });
  }
}

} // namespace

LogicalResult emitMatmul(KernelEmitter &e, const OutputGroup &group) {
  auto op = cast<MatmulOp>(group.sources[0]);
  if (group.sources.size() > 1)
    return group.sources[1]->emitOpError() << "is in one kernel with a matmul";
  for (const Output &output : group.outputs)
    if (cast<TensorType>(output.value.getType()).getSizes() != op.getType().getSizes())
      return op.emitOpError()
             << "is followed by an op of another shape, which must be in another kernel";
  Product(e, group).emit();
  return success();
}

} // namespace mx::lowering
