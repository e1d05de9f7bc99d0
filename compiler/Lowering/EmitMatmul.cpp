// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products, with ops on the result. This file is the only one that knows how a product is
// computed.
//
// Each element is summed up in the order of k, one product after the other, whatever the tiles.
// Floats of 16 bits are accumulated in f32.
//
// A tile of the result, a few rows by a few vectors of columns, stays in registers while k runs.
// The columns of y that a panel needs are first copied, tile by tile, for up to `kDeep` steps of k:
// they then lie together and stay in the second cache for a block of rows, while the rows of x that
// a tile reads stay in the first. Columns that are left over go vector by vector, filled up with
// zeros.
//
//   for each block of rows and panel of columns (shared among threads):
//     for each stretch of k:
//       copy the panel
//       for each tile of rows, for each tile of columns:  the sums of the tile
//     the ops on the result, and the outputs
#include "Lowering/EmitKernel.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

constexpr int64_t kRows = 6, kBlock = 32 * kRows, kColumns = 256, kDeep = 256;
/// Panels are made narrower, then blocks lower, if there would be too few for some threads.
constexpr int64_t kEnoughBlocks = 4, kLeastColumns = 64, kLeastRows = 8 * kRows;
/// With fewer rows copying a panel costs more than it saves.
constexpr int64_t kFewRows = 2 * kRows;

class Product {
public:
  Product(KernelEmitter &e, const OutputGroup &group)
      : e(e), group(group), evaluator(e), op(cast<MatmulOp>(group.sources[0])) {}
  void emit();

private:
  /// Columns of the result: those of a panel, and of a tile in it.
  struct Panel {
    Value begin, width;
  };
  struct Tile {
    int64_t vectors;
    Value column; ///< in the panel
    Value width;
    Value copied; ///< where its columns begin in the copy; null: they are read where they are
  };

  KernelEmitter &e;
  const OutputGroup &group;
  Evaluator evaluator;
  MatmulOp op;
  Type type;         ///< of the sums
  int64_t lanes = 1; ///< of a vector
  int64_t wide = 1;  ///< columns of a tile
  int64_t blockRows = kBlock, panelColumns = kColumns;
  Value rows, columns, deep; ///< sizes; 1 where an operand is a vector
  SmallVector<Value> batch;  ///< place among the matrices
  Buffer copied, copiedRows; ///< columns of a panel; rows of a tile
  Buffer sums;               ///< of a tile, or of a panel in a block

  TensorType x() { return op.getX().getType(); }
  TensorType y() { return op.getY().getType(); }
  bool leftIsVector() { return x().rank() == 1; }
  bool rightIsVector() { return y().rank() == 1; }
  Type vectorType() { return VectorType::get({lanes}, type); }
  /// All of k is one stretch, so that a tile is finished at once.
  bool isShallow() { return e.known(deep) && *e.known(deep) <= kDeep; }
  SmallVector<Value> matrixOf(TensorType operand);
  Value left(Value i, Value k);
  SmallVector<Value> rightPlace(Value k, Value j);
  Value widen(Value element);
  Value multiplyAdd(Value sum, Value a, Value b);
  Value spreadOut(Value element);
  Value parts(Value size, int64_t part);
  Value smaller(Value size, int64_t most);
  Value wholeTiles(Value width);

  void chooseTiles();
  void panel(Value i0, Value count, const Panel &panel);
  bool mayReadInPlace();
  bool mayReadRowsInPlace();
  void copy(const Panel &panel, Value from, Value k0, Value steps);
  void copyRows(Value i, int64_t height, Value k0, Value steps);
  void tiles(Value count, llvm::function_ref<void(Value first, int64_t height)> body);
  void eachTile(const Panel &panel, llvm::function_ref<void(const Tile &)> body);
  void sumUp(Value row, Value i, int64_t height, const Panel &panel, const Tile &tile, Value k0,
             Value steps);
  void finish(Value row, Value i, Value count, Value begin, Value width);
  Value vectorAt(const Panel &panel, const Tile &tile, Value k0, Value k, int64_t vector);
  /// Columns that a row of sums has room for.
  int64_t pitch() { return isShallow() ? wide : panelColumns; }
};

// ------------------------------------------------------------------------------------- elements

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
SmallVector<Value> Product::rightPlace(Value k, Value j) {
  SmallVector<Value> place = matrixOf(y());
  place.push_back(k);
  if (!rightIsVector())
    place.push_back(j);
  return place;
}
Value Product::widen(Value element) {
  return element.getType() == type ? element : Value(arith::ExtFOp::create(e.b, type, element));
}
Value Product::multiplyAdd(Value sum, Value a, Value b) {
  if (!isa<FloatType>(type))
    return arith::AddIOp::create(e.b, sum, arith::MulIOp::create(e.b, a, b));
  // Inside of one op there is nothing that fusion could change.
  auto flags =
      arith::FastMathFlagsAttr::get(e.b.getContext(), e.fast() | arith::FastMathFlags::contract);
  return arith::AddFOp::create(e.b, sum, arith::MulFOp::create(e.b, a, b, flags), flags);
}
/// A vector of one element.
Value Product::spreadOut(Value element) {
  Value none = LLVM::PoisonOp::create(e.b, vectorType());
  Value first = e.constant(e.b.getI32Type(), e.b.getI32IntegerAttr(0));
  Value one = LLVM::InsertElementOp::create(e.b, none, element, first);
  return LLVM::ShuffleVectorOp::create(e.b, one, none,
                                       SmallVector<int32_t>(static_cast<size_t>(lanes), 0));
}
Value Product::parts(Value size, int64_t part) {
  if (std::optional<int64_t> number = e.known(size))
    return e.number(llvm::divideCeil(*number, part));
  return arith::DivUIOp::create(e.b, e.add(size, e.number(part - 1)), e.number(part));
}
Value Product::smaller(Value size, int64_t most) {
  if (std::optional<int64_t> number = e.known(size))
    return e.number(std::min(*number, most));
  return e.least(size, e.number(most));
}

/// Columns of tiles that have all of them.
Value Product::wholeTiles(Value width) {
  if (std::optional<int64_t> number = e.known(width))
    return e.number(*number / wide * wide);
  return e.sub(width, arith::RemUIOp::create(e.b, width, e.number(wide)));
}

// ---------------------------------------------------------------------------------------- tiles

/// The sums of a tile, the vectors of one step and a factor are to fit into the registers.
void Product::chooseTiles() {
  unsigned bits = e.options.vectorBits;
  lanes = std::max<int64_t>(1, bits / type.getIntOrFloatBitWidth());
  wide = lanes * (bits >= 512 ? 4 : 2); // of 32 registers, or of 16
  std::optional<int64_t> m = e.known(rows), n = e.known(columns);
  auto blocks = [&] {
    return llvm::divideCeil(*m, blockRows) * llvm::divideCeil(*n, panelColumns);
  };
  while (m && n && blocks() < kEnoughBlocks && *n > kLeastColumns && panelColumns > kLeastColumns)
    panelColumns /= 2;
  while (m && n && blocks() < kEnoughBlocks / 2 && *m > kLeastRows && blockRows > kLeastRows)
    blockRows /= 2;
  if (m && *m > blockRows) // of one size
    blockRows = llvm::alignTo(llvm::divideCeil(*m, llvm::divideCeil(*m, blockRows)), kRows);
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
  chooseTiles();
  int64_t room = llvm::alignTo(
      std::clamp<int64_t>(e.known(columns).value_or(panelColumns), 1, panelColumns), wide);
  copied = e.scratch(type, room * kDeep);
  copiedRows = e.scratch(type, kRows * kDeep);
  sums = e.scratch(type, (isShallow() ? kRows : blockRows) * pitch());

  e.b.setLoc(op.getLoc());
  result.push_back(parts(rows, blockRows));
  result.push_back(parts(columns, panelColumns));
  // Eight products cost what a simple op does.
  Value work = e.mul(e.mul(deep, smaller(rows, blockRows)),
                     e.number(std::max<int64_t>(1, std::min(room, panelColumns) / 8)));
  e.spread(
      result, work,
      [&](Indices at) {
        Evaluator::Scope scope(evaluator);
        batch.assign(at.begin(), at.end() - 2);
        Value i0 = e.mul(at[at.size() - 2], e.number(blockRows));
        Value j0 = e.mul(at.back(), e.number(panelColumns));
        bool isOneBlock = e.known(rows) && *e.known(rows) <= blockRows;
        bool isOnePanel = e.known(columns) && *e.known(columns) <= panelColumns;
        panel(i0, isOneBlock ? rows : smaller(e.sub(rows, i0), blockRows),
              {j0, isOnePanel ? columns : smaller(e.sub(columns, j0), panelColumns)});
      },
      result.size());
}

/// Few rows, and columns that lie together in memory.
bool Product::mayReadInPlace() {
  auto argument = dyn_cast<BlockArgument>(op.getY());
  if (!argument || rightIsVector() || e.known(rows).value_or(kFewRows + 1) > kFewRows)
    return false;
  return !e.isStrided(argument) && e.codeType(y().getElement()) == type;
}

void Product::panel(Value i0, Value count, const Panel &panel) {
  Value zero = e.number(0);
  // In place only whole tiles are read: a vector must not read behind the last column.
  Value from = mayReadInPlace() ? wholeTiles(panel.width) : zero;
  if (isShallow()) {
    copy(panel, from, zero, deep);
    tiles(count, [&](Value first, int64_t height) {
      Value i = e.add(i0, first);
      copyRows(i, height, zero, deep);
      eachTile(panel, [&](const Tile &tile) {
        sumUp(zero, i, height, panel, tile, zero, deep);
        finish(zero, i, e.number(height), e.add(panel.begin, tile.column), tile.width);
      });
    });
    return;
  }
  e.loop(zero, e.mul(count, e.number(panelColumns)), 1,
         [&](Value s) { e.store(sums, s, e.constantOf(type, 0)); });
  e.loop(zero, deep, kDeep, [&](Value k0) {
    Evaluator::Scope inner(evaluator);
    Value steps = e.least(e.number(kDeep), e.sub(deep, k0));
    copy(panel, from, k0, steps);
    tiles(count, [&](Value first, int64_t height) {
      copyRows(e.add(i0, first), height, k0, steps);
      eachTile(panel, [&](const Tile &tile) {
        sumUp(first, e.add(i0, first), height, panel, tile, k0, steps);
      });
    });
  });
  finish(zero, i0, count, panel.begin, panel.width);
}

/// Steps of k that lie together; others would fight for the same places in the cache.
bool Product::mayReadRowsInPlace() {
  auto argument = dyn_cast<BlockArgument>(op.getX());
  return !(argument && e.isStrided(argument)) &&
         !isa_and_nonnull<TransposeOp>(op.getX().getDefiningOp());
}

void Product::copyRows(Value i, int64_t height, Value k0, Value steps) {
  if (mayReadRowsInPlace())
    return;
  e.nest({steps, e.number(height)}, [&](Indices at) {
    Evaluator::Scope scope(evaluator);
    e.store(copiedRows, e.add(e.mul(at[0], e.number(height)), at[1]),
            left(e.add(i, at[1]), e.add(k0, at[0])));
  });
}

/// Copies the columns of the panel behind `from`, tile after tile.
void Product::copy(const Panel &panel, Value from, Value k0, Value steps) {
  // In the order in which y lies in memory.
  bool isSwapped = isa_and_nonnull<TransposeOp>(op.getY().getDefiningOp());
  auto placeOf = [&](Value tile, Value k, Value j) {
    return e.add(e.mul(tile, e.number(kDeep)), e.add(e.mul(k, e.number(wide)), j));
  };
  auto element = [&](Value tile, Value k, Value j) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> place = rightPlace(e.add(k0, k), e.add(panel.begin, e.add(tile, j)));
    e.store(copied, placeOf(tile, k, j), widen(evaluator.at(op.getY(), place)));
  };
  Value whole = wholeTiles(panel.width), zero = e.number(0);
  auto wholeTile = [&](Value k) {
    e.loop(from, whole, wide, [&](Value tile) {
      e.loop(zero, e.number(wide), 1, [&](Value j) { element(tile, k, j); });
    });
  };
  if (!isSwapped)
    e.loop(zero, steps, 1, wholeTile);
  else
    e.loop(from, whole, wide, [&](Value tile) {
      e.nest({e.number(wide), steps}, [&](Indices at) { element(tile, at[1], at[0]); });
    });
  if (e.known(whole) && e.known(panel.width) == e.known(whole))
    return;
  // The last one, and zeros behind it.
  e.when(e.compare(CmpIPredicate::ne, whole, panel.width), [&] {
    Value rest = e.sub(panel.width, whole);
    e.nest({steps, rest}, [&](Indices at) { element(whole, at[0], at[1]); });
    e.nest({steps, e.sub(e.number(wide), rest)}, [&](Indices at) {
      e.store(copied, placeOf(whole, at[0], e.add(rest, at[1])), e.constantOf(type, 0));
    });
  });
}

/// Calls body with the first row of each tile in a block, and its rows. Where their number is known
/// they are shared evenly, since a tile of one row would be slow.
void Product::tiles(Value count, llvm::function_ref<void(Value, int64_t)> body) {
  auto run = [&](Value from, Value to, int64_t height) {
    e.loop(from, to, height, [&](Value first) {
      Evaluator::Scope scope(evaluator);
      body(first, height);
    });
  };
  if (std::optional<int64_t> known = e.known(count)) {
    int64_t number = llvm::divideCeil(*known, kRows);
    int64_t low = number ? *known / number : 0, high = low + 1;
    int64_t tall = *known - number * low; // tiles with one row more
    if (tall)
      run(e.number(0), e.number(tall * high), high);
    if (tall < number)
      run(e.number(tall * high), e.number(*known), low);
    return;
  }
  Value whole = e.sub(count, arith::RemUIOp::create(e.b, count, e.number(kRows)));
  run(e.number(0), whole, kRows);
  // Only the last block has rows left over.
  int64_t rest = e.known(rows) ? *e.known(rows) % blockRows % kRows : 1;
  if (rest)
    run(whole, count, rest);
}

void Product::eachTile(const Panel &panel, llvm::function_ref<void(const Tile &)> body) {
  bool inPlace = mayReadInPlace();
  std::optional<int64_t> width = e.known(panel.width);
  Value whole = wholeTiles(panel.width);
  if (!width || *width >= wide)
    e.loop(e.number(0), whole, wide, [&](Value column) {
      Evaluator::Scope scope(evaluator);
      Value at = inPlace ? Value() : e.mul(column, e.number(kDeep));
      body({wide / lanes, column, e.number(wide), at});
    });
  // What is left over: in one tile if its columns are known, else vector by vector.
  std::optional<int64_t> n = e.known(columns);
  int64_t rest = n ? *n % panelColumns % wide : 1;
  int64_t vectors = llvm::divideCeil(rest, lanes);
  if (!rest)
    return;
  e.loop(whole, panel.width, vectors * lanes, [&](Value column) {
    Evaluator::Scope scope(evaluator);
    Value width = smaller(e.sub(panel.width, column), vectors * lanes);
    body({vectors, column, width, e.add(e.mul(whole, e.number(kDeep)), e.sub(column, whole))});
  });
}

/// The vector of a tile's columns at a step of k.
Value Product::vectorAt(const Panel &panel, const Tile &tile, Value k0, Value k, int64_t vector) {
  Value address, step = e.number(vector * lanes);
  if (tile.copied) {
    address = e.addressAt(copied, e.add(e.add(tile.copied, e.mul(k, e.number(wide))), step));
  } else {
    const Buffer &from = e.input(cast<BlockArgument>(op.getY()));
    Value j = e.add(e.add(panel.begin, tile.column), step);
    address = e.addressAt(from, e.offset(from, rightPlace(e.add(k0, k), j)));
  }
  return LLVM::LoadOp::create(e.b, vectorType(), address,
                              /*alignment=*/type.getIntOrFloatBitWidth() / 8);
}

/// Adds the products of `steps` steps from k0 on to the sums of the rows from i on. `row` is where
/// these are among the sums.
void Product::sumUp(Value row, Value i, int64_t height, const Panel &panel, const Tile &tile,
                    Value k0, Value steps) {
  Value first = isShallow() ? e.number(0) : tile.column;
  auto sumAt = [&](int64_t r, int64_t v) {
    Value offset = e.mul(e.add(row, e.number(r)), e.number(pitch()));
    return e.addressAt(sums, e.add(e.add(offset, first), e.number(v * lanes)));
  };
  auto alignment = static_cast<unsigned>(type.getIntOrFloatBitWidth() / 8);
  SmallVector<Value> before;
  Value nothing = arith::ConstantOp::create(
      e.b, vectorType(),
      DenseElementsAttr::get(cast<ShapedType>(vectorType()), e.b.getZeroAttr(type)));
  for (int64_t r = 0; r < height; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v)
      before.push_back(
          isShallow() ? nothing
                      : Value(LLVM::LoadOp::create(e.b, vectorType(), sumAt(r, v), alignment)));
  auto loop = scf::ForOp::create(e.b, e.number(0), steps, e.number(1), before);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(loop.getBody());
    Evaluator::Scope scope(evaluator);
    Value k = loop.getInductionVar();
    SmallVector<Value> next, vectors;
    for (int64_t v = 0; v < tile.vectors; ++v)
      vectors.push_back(vectorAt(panel, tile, k0, k, v));
    for (int64_t r = 0; r < height; ++r) {
      Value at = e.add(e.mul(k, e.number(height)), e.number(r));
      Value factor = spreadOut(mayReadRowsInPlace() ? left(e.add(i, e.number(r)), e.add(k0, k))
                                                    : e.load(copiedRows, at));
      for (Value vector : vectors)
        next.push_back(multiplyAdd(loop.getRegionIterArgs()[next.size()], factor, vector));
    }
    scf::YieldOp::create(e.b, next);
  }
  for (int64_t r = 0; r < height; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v)
      LLVM::StoreOp::create(e.b, loop.getResult(static_cast<unsigned>(r * tile.vectors + v)),
                            sumAt(r, v), alignment);
}

/// The ops on the result, and the outputs.
void Product::finish(Value row, Value i, Value count, Value begin, Value width) {
  Type element = e.codeType(op.getType().getElement());
  e.nest({count, width}, [&](Indices at) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> place(batch);
    auto isOne = [&] { return op.getType().getSizes()[place.size()].constant() == 1; };
    if (!leftIsVector())
      place.push_back(isOne() ? e.number(0) : e.add(i, at[0]));
    if (!rightIsVector())
      place.push_back(isOne() ? e.number(0) : e.add(begin, at[1]));
    Value sum = e.load(sums, e.add(e.mul(e.add(row, at[0]), e.number(pitch())), at[1]));
    if (sum.getType() != element)
      sum = arith::TruncFOp::create(e.b, element, sum);
    evaluator.bind(op.getResult(), place, sum);
    SmallVector<Value> elements = evaluator.all(group.values(), place);
    for (auto [output, value] : llvm::zip_equal(group.outputs, elements))
      e.store(e.output(output.index), place, value);
  });
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
