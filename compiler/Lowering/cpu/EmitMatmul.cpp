// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits matmul (GEMM), with epilogue ops on the result. TiledMatmul.h has the packed GEMM,
// Bf16Matmul.h the bf16 GEMM for CPUs with AMX or AVX512-BF16.
#include "Lowering/cpu/Bf16Matmul.h"
#include "Lowering/cpu/TiledMatmul.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

class Matmul : public TiledMatmul {
public:
  Matmul(CpuKernel &e, const OutputGroup &group)
      : TiledMatmul(e, group), cpu(e), op(cast<MatmulOp>(source)) {}
  void emit();

private:
  CpuKernel &cpu;
  static constexpr int64_t kMinWidened = 64;
  MatmulOp op;

  TensorType x() { return op.getX().getType(); }
  TensorType y() { return op.rightType(); }
  bool leftIsVector() { return x().rank() == 1; }
  bool rightIsVector() { return y().rank() == 1; }
  /// One right matrix for the whole left batch: the batch is flattened into the rows of one matrix.
  bool isFlat = false;
  SmallVector<Value> matrixOf(TensorType operand);
  SmallVector<Value> rowIndices(TensorType operand, Value i);
  SmallVector<Value> rightIndices(Value k, Value j);

  bool usesBf16Unit();
  void emitBf16(ArrayRef<Value> result);
  Value leftElement(Value i, Value k);
  Value rightElement(Value k, Value j);

  Value left(Value i, Value k) override { return widen(leftElement(i, k)); }
  bool mayReadRowsInPlace() override;
  Value rowsAt(Value i, Value k) override;
  Value stepsAt(Value i, Value k) override;
  std::optional<int64_t> rowPitch() override;
  bool maySumInPlace() override { return isOnlyOutput(); }
  Value resultAt(Value i, Value j) override;
  bool hasInit() override { return op.getInit() != nullptr; }
  Value initAt(Value i, Value j) override;
  SmallVector<Value> resultIndices(Value i, Value j);
  BlockArgument denseMemoryOf(Value matrix);
  BlockArgument memoryOf(Value matrix);
  Value addressIn(Value matrix, ArrayRef<Value> indices);
  bool areColumnsInMemory();
  bool mayReadInPlace() override;
  bool mayPackOnTheFly() override;
  Value columnsAt(Value k, Value j) override;
  void copy(const Panel &panel, Value from, Value k0, Value steps) override;
  void finish(Value row, Value i, Value count, Value begin, Value width) override;
};

/// The batch index of the matrix in an operand: its batch axes broadcast to those of the result.
SmallVector<Value> Matmul::matrixOf(TensorType operand) {
  SmallVector<Value> indices;
  if (operand.rank() < 2)
    return indices;
  size_t own = operand.rank() - 2, skip = batch.size() - own;
  for (size_t i = 0; i < own; ++i)
    indices.push_back(operand.getSizes()[i].constant() == 1 ? e.number(0) : batch[skip + i]);
  return indices;
}
/// The index of row i in x or in the result.
SmallVector<Value> Matmul::rowIndices(TensorType operand, Value i) {
  if (!isFlat) {
    SmallVector<Value> indices = operand == x() ? matrixOf(operand) : batch;
    if (!leftIsVector())
      indices.push_back(operand.getSizes()[indices.size()].constant() == 1 ? e.number(0) : i);
    return indices;
  }
  SmallVector<Value> sizes = e.sizesOf(operand), indices(sizes.size() - 1);
  for (size_t axis = indices.size(); axis-- > 1;) {
    Value whole = arith::DivUIOp::create(e.b, i, sizes[axis]); // there is a row, so no size is 0
    indices[axis] = e.known(sizes[axis]) == 1 ? e.number(0) : e.sub(i, e.mul(whole, sizes[axis]));
    i = whole;
  }
  indices[0] = e.known(sizes[0]) == 1 ? e.number(0) : i;
  return indices;
}
Value Matmul::leftElement(Value i, Value k) {
  auto argument = dyn_cast<BlockArgument>(op.getX());
  if (isFlat && argument && !e.isStrided(argument)) {
    Buffer flat = e.input(argument);
    flat.strides = {e.number(1)};
    return e.load(flat, e.add(e.mul(i, deep), k));
  }
  SmallVector<Value> indices = rowIndices(x(), i);
  indices.push_back(k);
  return evaluator.at(op.getX(), indices);
}
Value Matmul::rightElement(Value k, Value j) { return evaluator.at(op.getY(), rightIndices(k, j)); }
SmallVector<Value> Matmul::rightIndices(Value k, Value j) {
  if (op.getPanels()) {
    Value panel = arith::DivUIOp::create(e.b, j, e.number(given));
    return {panel, k, e.sub(j, e.mul(panel, e.number(given)))};
  }
  SmallVector<Value> indices = matrixOf(y());
  indices.push_back(k);
  if (!rightIsVector())
    indices.push_back(j);
  return indices;
}
/// The sizes of rows and columns are 1 where an operand is a vector.
void Matmul::emit() {
  prepare();
  SmallVector<Value> xs = e.sizesOf(x()), ys = e.sizesOf(y()), result = e.sizesOf(op.getType());
  deep = xs.back();
  rows = leftIsVector() ? e.number(1) : xs[xs.size() - 2];
  columns = rightIsVector() ? e.number(1) : ys.back();
  result.resize(result.size() - !leftIsVector() - !rightIsVector());
  if (op.getPanels())
    given = op.panelColumns();
  // K-blocks are of the same length: a short one would load and store all sums for little work.
  if (std::optional<int64_t> k = e.known(deep); k && *k > 0)
    depth = blockDepth =
        llvm::alignTo(llvm::divideCeil(*k, llvm::divideCeil(*k, depth * 9 / 8)), 16);
  if (areColumnsInMemory()) // others cannot be packed as fast
    maxColumns =
        std::max(gemm.panelColumns, gemm.panelBytes / (depth * type.getIntOrFloatBitWidth() / 8));
  isFlat =
      y().rank() == 2 && x().rank() > 2 && !isa_and_nonnull<TransposeOp>(op.getX().getDefiningOp());
  if (isFlat) {
    for (Value size : ArrayRef(xs).drop_back(2))
      rows = e.mul(size, rows);
    result.clear();
  }
  if (!usesBf16Unit())
    return run(result);
  if (e.target.bf16.kind != Bf16Unit::Amx)
    return emitBf16(result);
  Value state = e.constantOf(e.b.getI32Type(), e.target.bf16.state);
  Value answer = cpu.call("mxrt_may_use_state", state), no = e.constantOf(e.b.getI32Type(), 0);
  Value mayUse = e.compare(CmpIPredicate::ne, answer, no);
  cpu.fork(
      mayUse, [&] { emitBf16(result); }, [&] { run(result); });
}

/// Depends on the CPU and on types alone. If it depended on sizes, the bits of a sum would depend
/// on what a matmul was batched with.
bool Matmul::usesBf16Unit() {
  return e.target.bf16.kind != Bf16Unit::None && op->getNumOperands() == 2 && !op.getPanels() &&
         x().getElement().isBF16();
}
void Matmul::emitBf16(ArrayRef<Value> result) {
  auto isSwapped = [](Value matrix) {
    return isa_and_nonnull<TransposeOp>(matrix.getDefiningOp());
  };
  auto row = [&](Value i, Value k) { return leftElement(i, k); };
  auto column = [&](Value j, Value k) { return rightElement(k, j); };
  auto rowAddress = [&](Value i, Value k) {
    if (isFlat)
      return e.addressAt(e.input(denseMemoryOf(op.getX())), e.add(e.mul(i, deep), k));
    SmallVector<Value> indices = rowIndices(x(), i);
    indices.push_back(k);
    return addressIn(op.getX(), indices);
  };
  Bf16Operand left{row, !isSwapped(op.getX()), {}, deep};
  Bf16Operand right{column, isSwapped(op.getY()) || rightIsVector(), {}, {}};
  if (denseMemoryOf(op.getX()))
    left.address = rowAddress;
  auto enter = [&](Indices at) { batch.assign(at.begin(), at.end()); };
  auto finishSums = [&](const Bf16Matmul::Sums &made, Value row, Value i, Value count, Value j,
                        Value width) {
    sums = made.memory;
    pitch = made.pitch;
    finish(row, i, count, j, width);
  };
  Bf16Matmul matmul(e, evaluator, left, right);
  matmul.rows = rows;
  matmul.columns = columns;
  matmul.deep = deep;
  matmul.enter = enter;
  matmul.finish = finishSums;
  e.b.setLoc(source->getLoc());
  matmul.run(result);
}

/// The memory that holds the elements of a matrix in order; null if there is none.
BlockArgument Matmul::denseMemoryOf(Value matrix) {
  auto reshape = matrix.getDefiningOp<ReshapeOp>();
  auto argument = dyn_cast<BlockArgument>(reshape ? reshape.getX() : matrix);
  return argument && !e.isStrided(argument) ? argument : BlockArgument();
}
/// The same, if the elements have the type of the sums.
BlockArgument Matmul::memoryOf(Value matrix) {
  Type element = e.memoryType(cast<TensorType>(matrix.getType()).getElement());
  return element == type ? denseMemoryOf(matrix) : BlockArgument();
}
/// The address of an element of a matrix in memory.
Value Matmul::addressIn(Value matrix, ArrayRef<Value> indices) {
  Buffer from = e.input(denseMemoryOf(matrix));
  if (isa<BlockArgument>(matrix))
    return e.addressAt(from, e.offset(from, indices));
  Value at = e.number(0);
  SmallVector<Value> sizes = e.sizesOf(cast<TensorType>(matrix.getType()));
  for (auto [index, size] : llvm::zip_equal(indices, sizes))
    at = e.add(e.mul(at, size), index);
  return e.addressAt(from, at);
}
/// Columns are contiguous and have the type of the sums.
bool Matmul::areColumnsInMemory() { return !rightIsVector() && memoryOf(op.getY()); }
bool Matmul::mayReadInPlace() {
  if (given)
    return true;
  std::optional<int64_t> n = e.known(columns), k = e.known(deep);
  bool areNear =
      n && k && *n * *k <= target.firstCache.bytes() / 2 / (type.getIntOrFloatBitWidth() / 8);
  bool areRowsFew = e.known(rows).value_or(gemm.fewRows + 1) <= gemm.fewRows;
  return (areNear || areRowsFew) && areColumnsInMemory();
}

/// Reading a tile of rows that are pages apart, or that evict each other from L2, would be slower
/// than reading whole rows of a panel. With many rows and 256-bit vectors, where a tile has less
/// work to hide latency, whole rows are faster too.
bool Matmul::mayPackOnTheFly() {
  if (!e.target.isWide() && e.known(rows).value_or(0) >= gemm.manyRows)
    return false;
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  int64_t apart = e.known(columns).value_or(target.pageBytes + 1) * bytes;
  return apart <= target.pageBytes && areColumnsInMemory() && !mayReadInPlace() &&
         maxPerSet(depth, wide * bytes, apart, target.secondCache()) <= target.secondCache().ways;
}

Value Matmul::columnsAt(Value k, Value j) { return addressIn(op.getY(), rightIndices(k, j)); }

/// Steps of k are contiguous; others would conflict in the same cache sets. 16-bit floats are
/// widened once for all columns of a panel, unless these are few.
bool Matmul::mayReadRowsInPlace() {
  auto argument = dyn_cast<BlockArgument>(op.getX());
  bool isWide = e.memoryType(x().getElement()) == type ||
                e.known(columns).value_or(gemm.panelColumns) < kMinWidened;
  return isWide && !(argument && e.isStrided(argument)) &&
         !isa_and_nonnull<TransposeOp>(op.getX().getDefiningOp());
}

void Matmul::copy(const Panel &panel, Value from, Value k0, Value steps) {
  auto right = [&](Value k, Value j) {
    return widen(rightElement(e.add(k0, k), e.add(panel.begin, j)));
  };
  Value whole = wholeTiles(panel.width), zero = e.number(0);
  // In the memory order of y.
  if (isa_and_nonnull<TransposeOp>(op.getY().getDefiningOp()))
    return packByColumns(panel, from, steps, [&](Value j, Value to) {
      e.loop(zero, steps, 1, [&](Value k) {
        Evaluator::Scope scope(evaluator);
        e.store(staged, e.add(to, k), right(k, j));
      });
    });
  auto element = [&](Value tile, Value k, Value j) {
    Evaluator::Scope scope(evaluator);
    e.store(packed, packedIndex(tile, k, j), right(k, e.add(tile, j)));
  };
  // The CPU does not detect rows that are pages apart as a stream: prefetches a few steps ahead.
  int64_t bytes = type.getIntOrFloatBitWidth() / 8, line = target.firstCache.line / bytes;
  int64_t ahead = std::max<int64_t>(1, target.pageBytes / (panelColumns * bytes));
  bool fetches = areColumnsInMemory() && e.known(columns).value_or(0) * bytes > target.pageBytes;
  e.loop(zero, steps, 1, [&](Value k) {
    e.loop(from, whole, wide, [&](Value tile) {
      for (int64_t j = 0; fetches && j < wide; j += line)
        LLVM::Prefetch::create(e.b,
                               columnsAt(e.add(e.add(k0, k), e.number(ahead)),
                                         e.add(e.add(panel.begin, tile), e.number(j))),
                               /*rw=*/0, /*hint=*/3, /*cache=*/1);
      e.loop(zero, e.number(wide), 1, [&](Value j) { element(tile, k, j); });
    });
  });
  if (e.known(whole) && e.known(panel.width) == e.known(whole))
    return;
  // The last tile, padded with zeros.
  e.when(e.compare(CmpIPredicate::ne, whole, panel.width), [&] {
    Value rest = e.sub(panel.width, whole);
    e.nest({steps, rest}, [&](Indices at) { element(whole, at[0], at[1]); });
    e.nest({steps, e.sub(e.number(wide), rest)}, [&](Indices at) {
      e.store(packed, packedIndex(whole, at[0], e.add(rest, at[1])), e.constantOf(type, 0));
    });
  });
}

/// Rows of a transposed matrix are contiguous.
Value Matmul::rowsAt(Value i, Value k) {
  auto transpose = op.getX().getDefiningOp<TransposeOp>();
  if (!transpose || !memoryOf(transpose.getX()))
    return {};
  ArrayRef<int64_t> order = transpose.getOrder();
  if (order[order.size() - 2] != static_cast<int64_t>(order.size()) - 1)
    return {};
  SmallVector<Value> indices = matrixOf(x()), own(order.size());
  indices.append({i, k});
  for (auto [at, axis] : llvm::zip_equal(indices, order))
    own[static_cast<size_t>(axis)] = at;
  return addressIn(transpose.getX(), own);
}

Value Matmul::stepsAt(Value i, Value k) {
  BlockArgument memory = memoryOf(op.getX());
  if (!memory)
    return {};
  if (isFlat)
    return e.addressAt(e.input(memory), e.add(e.mul(i, deep), k));
  SmallVector<Value> indices = rowIndices(x(), i);
  indices.push_back(k);
  return addressIn(op.getX(), indices);
}
std::optional<int64_t> Matmul::rowPitch() {
  return memoryOf(op.getX()) ? e.known(deep) : std::nullopt;
}

SmallVector<Value> Matmul::resultIndices(Value i, Value j) {
  SmallVector<Value> indices = rowIndices(op.getType(), i);
  if (!rightIsVector())
    indices.push_back(op.getType().getSizes()[indices.size()].constant() == 1 ? e.number(0) : j);
  return indices;
}
Value Matmul::resultAt(Value i, Value j) {
  Buffer to = e.output(group.outputs[0].index);
  if (!isFlat)
    return e.addressAt(to, e.offset(to, resultIndices(i, j)));
  return e.addressAt(to, e.add(e.mul(i, columns), j));
}

Value Matmul::initAt(Value i, Value j) {
  Buffer from = e.input(cast<BlockArgument>(op.getInit()));
  if (!isFlat)
    return e.addressAt(from, e.offset(from, resultIndices(i, j)));
  return e.addressAt(from, e.add(e.mul(i, columns), j));
}

void Matmul::finish(Value row, Value i, Value count, Value begin, Value width) {
  e.nest({count, width}, [&](Indices at) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> indices = resultIndices(e.add(i, at[0]), e.add(begin, at[1]));
    evaluator.bind(op.getResult(), indices, sumAt(e.add(row, at[0]), at[1]));
    SmallVector<Value> elements = evaluator.all(group.values(), indices);
    for (auto [output, value] : llvm::zip_equal(group.outputs, elements))
      e.store(e.output(output.index), indices, value);
  });
}

} // namespace

LogicalResult emitMatmul(CpuKernel &e, const OutputGroup &group) {
  if (failed(isAlone(group)) || failed(hasShapeOf(group)))
    return failure();
  auto op = cast<MatmulOp>(group.sources[0]);
  auto y = dyn_cast<BlockArgument>(op.getY());
  if (op.getPanels() &&
      (!y || e.isStrided(y) ||
       (!op.getType().getElement().isF32() && !op.getType().getElement().isF64())))
    return op.emitOpError() << "needs panels of f32 or f64 in dense memory";
  if (Value begin = op.getInit())
    if (auto argument = dyn_cast<BlockArgument>(begin); !argument || e.isStrided(argument))
      return op.emitOpError() << "needs an initial accumulator in dense memory";
  Matmul(e, group).emit();
  return success();
}

} // namespace mx::lowering
