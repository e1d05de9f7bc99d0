// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lowering/TileProduct.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

/// Panels are made narrower, then blocks lower, if there would be too few for some threads.
constexpr int64_t kEnoughBlocks = 4, kLeastColumns = 64;

} // namespace

// ------------------------------------------------------------------------------------- elements

Value TileProduct::widen(Value element) {
  return element.getType() == type ? element : Value(arith::ExtFOp::create(e.b, type, element));
}
Value TileProduct::multiplyAdd(Value sum, Value a, Value b) {
  if (!isa<FloatType>(type))
    return arith::AddIOp::create(e.b, sum, arith::MulIOp::create(e.b, a, b));
  // Inside of one op there is nothing that fusion could change.
  auto flags =
      arith::FastMathFlagsAttr::get(e.b.getContext(), e.fast() | arith::FastMathFlags::contract);
  return arith::AddFOp::create(e.b, sum, arith::MulFOp::create(e.b, a, b, flags), flags);
}
/// A vector of one element.
Value TileProduct::spreadOut(Value element) {
  Value none = LLVM::PoisonOp::create(e.b, vectorType());
  Value first = e.constant(e.b.getI32Type(), e.b.getI32IntegerAttr(0));
  Value one = LLVM::InsertElementOp::create(e.b, none, element, first);
  return LLVM::ShuffleVectorOp::create(e.b, one, none,
                                       SmallVector<int32_t>(static_cast<size_t>(lanes), 0));
}
Value TileProduct::parts(Value size, int64_t part) {
  if (std::optional<int64_t> number = e.known(size))
    return e.number(llvm::divideCeil(*number, part));
  return arith::DivUIOp::create(e.b, e.add(size, e.number(part - 1)), e.number(part));
}
Value TileProduct::smaller(Value size, int64_t most) {
  if (std::optional<int64_t> number = e.known(size))
    return e.number(std::min(*number, most));
  return e.least(size, e.number(most));
}

/// Columns of tiles that have all of them.
Value TileProduct::wholeTiles(Value width) {
  if (std::optional<int64_t> number = e.known(width))
    return e.number(*number / wide * wide);
  return e.sub(width, arith::RemUIOp::create(e.b, width, e.number(wide)));
}

Value TileProduct::copiedPlace(Value tile, Value k, Value j) {
  return e.add(e.mul(tile, e.number(kDeep)), e.add(e.mul(k, e.number(wide)), j));
}
Value TileProduct::sumAt(Value row, Value column) {
  Type element = e.codeType(cast<TensorType>(source->getResult(0).getType()).getElement());
  Value sum = e.load(sums, e.add(e.mul(row, e.number(pitch)), column));
  return sum.getType() == element ? sum : Value(arith::TruncFOp::create(e.b, element, sum));
}

// ---------------------------------------------------------------------------------------- tiles

/// The sums of a tile, the vectors of one step and a factor are to fit into the registers.
/// There are `others` products besides, for threads to share.
void TileProduct::chooseTiles(ArrayRef<Value> others) {
  unsigned bits = e.options.vectorBits;
  lanes = std::max<int64_t>(1, bits / type.getIntOrFloatBitWidth());
  std::optional<int64_t> m = e.known(rows), n = e.known(columns);
  wide = lanes * (bits >= 512 ? 4 : 2); // of 32 registers, or of 16
  // Few rows leave registers for more columns, and a factor is used more often.
  if (m && *m >= 1 && *m < kRows)
    wide *= kRows / std::max<int64_t>(*m, 2);
  int64_t products = 1;
  for (Value size : others)
    products *= std::clamp<int64_t>(e.known(size).value_or(1), 1, kEnoughBlocks);
  auto blocks = [&] {
    return products * static_cast<int64_t>(llvm::divideCeil(*m, blockRows) *
                                           llvm::divideCeil(*n, panelColumns));
  };
  while (m && n && blocks() < kEnoughBlocks && *n > kLeastColumns && panelColumns > kLeastColumns)
    panelColumns /= 2;
  panelColumns = std::max(panelColumns / unit * unit, unit);
  pitch = llvm::alignTo(panelColumns, wide);
  while (m && n && blocks() < kEnoughBlocks / 2 && *m > 8 * kRows && blockRows > 8 * kRows)
    blockRows /= 2;
  if (m && *m > blockRows) // of one size
    blockRows = llvm::alignTo(llvm::divideCeil(*m, llvm::divideCeil(*m, blockRows)), kRows);
}

void TileProduct::prepare() {
  SmallVector<Value> roots = group.values();
  roots.push_back(source->getResult(0));
  evaluator.prepare(roots);
  type = e.codeType(cast<TensorType>(source->getResult(0).getType()).getElement());
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16)
    type = e.b.getF32Type();
}

void TileProduct::run(SmallVector<Value> result) {
  chooseTiles(result);
  int64_t room = llvm::alignTo(
      std::clamp<int64_t>(e.known(columns).value_or(panelColumns), 1, panelColumns), wide);
  copied = e.scratch(type, copiedRoom(room));
  copiedRows = e.scratch(type, kRows * kDeep);
  sums = e.scratch(type, (isShallow() ? kRows : blockRows) * pitch);

  e.b.setLoc(source->getLoc());
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

void TileProduct::panel(Value i0, Value count, const Panel &panel) {
  Value zero = e.number(0);
  // In place only whole tiles are read: a vector must not read behind the last column.
  Value from = mayReadInPlace() ? wholeTiles(panel.width) : zero;
  if (isShallow()) {
    copy(panel, from, zero, deep);
    tiles(count, [&](Value first, int64_t height) {
      Value i = e.add(i0, first);
      copyRows(i, height, zero, deep);
      eachTile(panel, [&](const Tile &tile) { sumUp(zero, i, height, panel, tile, zero, deep); });
      finish(zero, i, e.number(height), panel.begin, panel.width);
    });
    return;
  }
  e.loop(zero, e.mul(count, e.number(pitch)), 1,
         [&](Value s) { e.store(sums, s, e.constantOf(type, 0)); });
  e.loop(zero, deep, stretch, [&](Value k0) {
    Evaluator::Scope inner(evaluator);
    Value steps = e.least(e.number(stretch), e.sub(deep, k0));
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

void TileProduct::copyRows(Value i, int64_t height, Value k0, Value steps) {
  if (mayReadRowsInPlace())
    return;
  e.nest({steps, e.number(height)}, [&](Indices at) {
    Evaluator::Scope scope(evaluator);
    e.store(copiedRows, e.add(e.mul(at[0], e.number(height)), at[1]),
            left(e.add(i, at[1]), e.add(k0, at[0])));
  });
}

// -------------------------------------------------------------------------------------- columns

void TileProduct::copyByColumns(const Panel &panel, Value from, Value steps,
                                llvm::function_ref<void(Value, Value)> line) {
  int64_t size = std::clamp<int64_t>(lanes, 4, 16);
  // Lines are not a power of two apart: that would be the same places in the cache.
  constexpr int64_t apart = kDeep + 16;
  if (!lines.address)
    lines = e.scratch(type, size * apart);
  Value zero = e.number(0);
  auto lineAt = [&](Value c) { return e.mul(c, e.number(apart)); };
  e.loop(from, panel.width, size, [&](Value first) {
    Value count = e.least(e.number(size), e.sub(panel.width, first));
    e.loop(zero, count, 1, [&](Value c) {
      Evaluator::Scope scope(evaluator);
      line(e.add(first, c), lineAt(c));
    });
    e.loop(count, e.number(size), 1, [&](Value c) {
      e.loop(zero, steps, 1,
             [&](Value k) { e.store(lines, e.add(lineAt(c), k), e.constantOf(type, 0)); });
    });
    Value column = arith::RemUIOp::create(e.b, first, e.number(wide));
    Value tile = e.sub(first, column);
    // Steps behind the last one are copied too, into room that is there for them.
    e.loop(zero, steps, size, [&](Value k) {
      transposeBlock(e.addressAt(lines, k), e.addressAt(copied, copiedPlace(tile, k, column)),
                     size);
    });
  });
}

/// A square of `lines` behind `from` becomes one of the copy behind `to`. Squares of 4 x 4 are
/// transposed first, inside of vectors, then these change places as a whole.
void TileProduct::transposeBlock(Value from, Value to, int64_t size) {
  constexpr int64_t apart = kDeep + 16;
  auto alignment = static_cast<unsigned>(type.getIntOrFloatBitWidth() / 8);
  auto vector = VectorType::get({size}, type);
  auto n = static_cast<size_t>(size);
  SmallVector<Value> rows;
  for (int64_t r = 0; r < size; ++r)
    rows.push_back(
        LLVM::LoadOp::create(e.b, vector, behind(from, e.number(r * apart)), alignment));
  /// In each four elements these of x (0 to 3) and of y (4 to 7).
  auto mix = [&](Value x, Value y, std::array<int32_t, 4> wanted) -> Value {
    SmallVector<int32_t> mask;
    for (int32_t i = 0; i < size; ++i) {
      int32_t at = wanted[static_cast<size_t>(i) % 4];
      mask.push_back(i / 4 * 4 + at % 4 + (at < 4 ? 0 : static_cast<int32_t>(size)));
    }
    return LLVM::ShuffleVectorOp::create(e.b, x, y, mask);
  };
  for (size_t r = 0; r < n; r += 4) {
    Value s0 = mix(rows[r], rows[r + 1], {0, 4, 1, 5}), s1 = mix(rows[r], rows[r + 1], {2, 6, 3, 7});
    Value s2 = mix(rows[r + 2], rows[r + 3], {0, 4, 1, 5});
    Value s3 = mix(rows[r + 2], rows[r + 3], {2, 6, 3, 7});
    rows[r] = mix(s0, s2, {0, 1, 4, 5});
    rows[r + 1] = mix(s0, s2, {2, 3, 6, 7});
    rows[r + 2] = mix(s1, s3, {0, 1, 4, 5});
    rows[r + 3] = mix(s1, s3, {2, 3, 6, 7});
  }
  /// The fours of x and then of y whose number is even, or odd.
  auto half = [&](Value x, Value y, int32_t odd) -> Value {
    SmallVector<int32_t> mask;
    for (int32_t i = 0; i < size; ++i)
      mask.push_back(i / 4 * 8 + odd * 4 + i % 4);
    return LLVM::ShuffleVectorOp::create(e.b, x, y, mask);
  };
  // rows[4 * b + c] has the column c of each square in the squares' row b.
  for (size_t squares = n / 4, turn = 1; turn < squares; turn *= 2) {
    SmallVector<Value> next(n);
    for (size_t b = 0; b < squares; b += 2)
      for (size_t c = 0; c < 4; ++c)
        for (size_t odd = 0; odd < 2; ++odd)
          next[4 * (b / 2 + odd * squares / 2) + c] =
              half(rows[4 * b + c], rows[4 * (b + 1) + c], static_cast<int32_t>(odd));
    rows = std::move(next);
  }
  for (auto [k, row] : llvm::enumerate(rows))
    LLVM::StoreOp::create(e.b, row, behind(to, e.number(static_cast<int64_t>(k) * wide)),
                          alignment);
}

// ----------------------------------------------------------------------------------------- rows

/// Calls body with the first row of each tile in a block, and its rows. Where their number is known
/// they are shared evenly, since a tile of one row would be slow.
void TileProduct::tiles(Value count, llvm::function_ref<void(Value, int64_t)> body) {
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

void TileProduct::eachTile(const Panel &panel, llvm::function_ref<void(const Tile &)> body) {
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
  if (!n || *n >= panelColumns) // there are others than the last one
    rest = std::max(rest, panelColumns % wide);
  int64_t vectors = llvm::divideCeil(rest, lanes);
  if (!rest)
    return;
  e.loop(whole, panel.width, vectors * lanes, [&](Value column) {
    Evaluator::Scope scope(evaluator);
    Value width = smaller(e.sub(panel.width, column), vectors * lanes);
    body({vectors, column, width, e.add(e.mul(whole, e.number(kDeep)), e.sub(column, whole))});
  });
}

Value TileProduct::behind(Value address, Value elements) {
  return LLVM::GEPOp::create(e.b, address.getType(), type, address, elements);
}

/// Adds the products of `steps` steps from k0 on to the sums of the rows from i on. `row` is where
/// these are among the sums. What is copied in the order of the steps is read through addresses
/// that go along with them: no pass of LLVM has to find out that it could.
void TileProduct::sumUp(Value row, Value i, int64_t height, const Panel &panel, const Tile &tile,
                        Value k0, Value steps) {
  auto sumAt = [&](int64_t r, int64_t v) {
    Value offset = e.mul(e.add(row, e.number(r)), e.number(pitch));
    return e.addressAt(sums, e.add(e.add(offset, tile.column), e.number(v * lanes)));
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
  Value begin = tile.copied ? e.addressAt(copied, copiedBegin(tile)) : Value();
  bool isAlong = begin && areCopiedInOrder(), areRowsCopied = !mayReadRowsInPlace();
  if (isAlong)
    before.push_back(begin);
  if (areRowsCopied)
    before.push_back(e.addressAt(copiedRows, e.number(0)));
  auto loop = scf::ForOp::create(e.b, e.number(0), steps, e.number(1), before);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(loop.getBody());
    Evaluator::Scope scope(evaluator);
    Value k = loop.getInductionVar(), factors = loop.getRegionIterArgs().back();
    Value column = isAlong ? loop.getRegionIterArgs()[static_cast<size_t>(height * tile.vectors)]
                   : begin ? behind(begin, copiedAfter(k))
                           : columnsAt(e.add(k0, k), e.add(panel.begin, tile.column));
    SmallVector<Value> next, vectors;
    for (int64_t v = 0; v < tile.vectors; ++v)
      vectors.push_back(
          LLVM::LoadOp::create(e.b, vectorType(), behind(column, e.number(v * lanes)), alignment));
    for (int64_t r = 0; r < height; ++r) {
      Value factor =
          areRowsCopied
              ? Value(LLVM::LoadOp::create(e.b, type, behind(factors, e.number(r)), alignment))
              : left(e.add(i, e.number(r)), e.add(k0, k));
      for (Value all = spreadOut(factor); Value vector : vectors)
        next.push_back(multiplyAdd(loop.getRegionIterArgs()[next.size()], all, vector));
    }
    if (isAlong)
      next.push_back(behind(column, e.number(wide)));
    if (areRowsCopied)
      next.push_back(behind(factors, e.number(height)));
    scf::YieldOp::create(e.b, next);
  }
  for (int64_t r = 0; r < height; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v)
      LLVM::StoreOp::create(e.b, loop.getResult(static_cast<unsigned>(r * tile.vectors + v)),
                            sumAt(r, v), alignment);
}

} // namespace mx::lowering
