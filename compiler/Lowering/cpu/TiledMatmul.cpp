// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed GEMM: packing of A and B, and the register-tile microkernel.
#include "Lowering/cpu/TiledMatmul.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {

// ------------------------------------------------------------------------------------- elements

Value TiledMatmul::widen(Value element) {
  return element.getType() == type ? element : Value(arith::ExtFOp::create(e.b, type, element));
}
Value TiledMatmul::multiplyAdd(Value sum, Value a, Value b) {
  if (!isa<FloatType>(type))
    return arith::AddIOp::create(e.b, sum, arith::MulIOp::create(e.b, a, b));
  // An explicit FMA: LLVM would not fuse what it can fold to constants, and such constants would be
  // rounded differently.
  if (e.target.hasFma)
    return LLVM::FMAOp::create(e.b, sum.getType(), a, b, sum);
  // Inside one op, contraction cannot change any result.
  auto flags =
      arith::FastMathFlagsAttr::get(e.b.getContext(), e.fast() | arith::FastMathFlags::contract);
  return arith::AddFOp::create(e.b, sum, arith::MulFOp::create(e.b, a, b, flags), flags);
}
/// Broadcasts an element to a vector.
Value TiledMatmul::splat(Value element) {
  Value none = LLVM::PoisonOp::create(e.b, vectorType());
  Value first = e.constant(e.b.getI32Type(), e.b.getI32IntegerAttr(0));
  Value one = LLVM::InsertElementOp::create(e.b, none, element, first);
  return LLVM::ShuffleVectorOp::create(e.b, one, none,
                                       SmallVector<int32_t>(static_cast<size_t>(lanes), 0));
}
Value TiledMatmul::parts(Value size, int64_t part) {
  if (std::optional<int64_t> number = e.known(size))
    return e.number(llvm::divideCeil(*number, part));
  return arith::DivUIOp::create(e.b, e.add(size, e.number(part - 1)), e.number(part));
}
Value TiledMatmul::smaller(Value size, int64_t limit) {
  if (std::optional<int64_t> number = e.known(size))
    return e.number(std::min(*number, limit));
  return e.min(size, e.number(limit));
}

/// The columns in whole tiles.
Value TiledMatmul::wholeTiles(Value width) {
  if (std::optional<int64_t> number = e.known(width))
    return e.number(*number / wide * wide);
  return e.sub(width, arith::RemUIOp::create(e.b, width, e.number(wide)));
}

Value TiledMatmul::packedIndex(Value tile, Value k, Value j) {
  return e.add(e.mul(tile, e.number(depth)), e.add(e.mul(k, e.number(wide)), j));
}
Value TiledMatmul::sumAt(Value row, Value column) {
  Type element = e.codeType(cast<TensorType>(source->getResult(0).getType()).getElement());
  Value sum = e.load(sums, e.add(e.mul(row, e.number(pitch)), column));
  return sum.getType() == element ? sum : Value(arith::TruncFOp::create(e.b, element, sum));
}

// ---------------------------------------------------------------------------------------- tiles

/// `others` are the batch sizes.
void TiledMatmul::chooseTiles(ArrayRef<Value> others) {
  isInPlace = maySumInPlace();
  GemmProblem problem;
  problem.rows = e.known(rows);
  problem.columns = e.known(columns);
  problem.steps = e.known(deep);
  for (Value size : others)
    problem.batch.push_back(e.known(size));
  problem.bits = type.getIntOrFloatBitWidth();
  problem.depth = depth;
  problem.blockDepth = blockDepth;
  problem.maxColumns = maxColumns;
  problem.unit = unit;
  problem.chosenColumns = e.options.tiling.columns;
  problem.sumsInPlace = isInPlace;
  problem.rowsInPlace = mayReadRowsInPlace();
  problem.rowPitch = rowPitch();
  problem.columnsInPlace = mayReadInPlace();
  problem.isPrepacked = given != 0;
  static_cast<GemmSchedule &>(*this) = GemmSchedule::choose(problem, target);
}

bool TiledMatmul::isOnlyOutput() {
  Value result = source->getResult(0);
  return group.outputs.size() == 1 && group.outputs[0].value == result &&
         e.memoryType(cast<TensorType>(result.getType()).getElement()) == type;
}

void TiledMatmul::prepare() {
  SmallVector<Value> roots = group.values();
  roots.push_back(source->getResult(0));
  evaluator.prepare(roots);
  type = e.codeType(cast<TensorType>(source->getResult(0).getType()).getElement());
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16)
    type = e.b.getF32Type();
}

void TiledMatmul::run(SmallVector<Value> result) {
  chooseTiles(result);
  int64_t room = llvm::alignTo(
      std::clamp<int64_t>(e.known(columns).value_or(panelColumns), 1, panelColumns), wide);
  if (!isAllInPlace())
    packed = e.scratch(type, packedSize(room));
  if (areRowsPacked)
    packedRows = e.scratch(type, kPackedTiles * rowsApart());
  if (!isInPlace)
    sums = e.scratch(type, (isShallow() ? gemm.tileRows : blockRows) * pitch);

  e.b.setLoc(source->getLoc());
  result.push_back(tileCount ? e.number(llvm::divideCeil(tileCount, blockTiles))
                             : parts(rows, blockRows));
  result.push_back(parts(columns, panelColumns));
  // Eight multiply-adds cost as much as one simple op.
  Value work = e.mul(e.mul(deep, smaller(rows, blockRows)),
                     e.number(std::max<int64_t>(1, std::min(room, panelColumns) / 8)));
  e.parallelFor(
      result, work,
      [&](Indices at) {
        Evaluator::Scope scope(evaluator);
        batch.assign(at.begin(), at.end() - 2);
        Value j0 = e.mul(at.back(), e.number(panelColumns));
        bool isOnePanel = e.known(columns) && *e.known(columns) <= panelColumns;
        panel(blockOf(at[at.size() - 2]),
              {j0, isOnePanel ? columns : smaller(e.sub(columns, j0), panelColumns)});
      },
      result.size());
}

/// If the row count is known, rows are split evenly among tiles, since a tile of one row would be
/// slow; the first tiles have one more.
TiledMatmul::Block TiledMatmul::blockOf(Value number) {
  if (!tileCount) {
    Value first = e.mul(number, e.number(blockRows));
    return {first, smaller(e.sub(rows, first), blockRows), {}, {}};
  }
  if (blockTiles == tileCount)
    return {e.number(0), rows, e.number(0), e.number(tileCount)};
  auto rowOf = [&](Value tile) {
    return e.add(e.mul(tile, e.number(lowRows)), e.min(tile, e.number(tallTiles)));
  };
  Value from = e.mul(number, e.number(blockTiles));
  Value to = e.min(e.add(from, e.number(blockTiles)), e.number(tileCount));
  Value first = rowOf(from);
  return {first, e.sub(rowOf(to), first), from, to};
}

void TiledMatmul::panel(const Block &block, const Panel &panel) {
  Value zero = e.number(0);
  auto copyPanel = [&](Value k0, Value steps) {
    if (!isAllInPlace())
      copy(panel, mayReadInPlace() || packsOnTheFly() ? wholeTiles(panel.width) : zero, k0, steps);
  };
  if (isShallow()) {
    copyPanel(zero, deep);
    tiles(block, zero, deep, [&](TileRows tileRows) {
      tileRows.row = zero;
      eachTile(panel, [&](const Tile &tile) { sumUp(tileRows, panel, tile, zero, deep); });
      if (!isInPlace)
        finish(zero, tileRows.i, e.number(tileRows.height), panel.begin, panel.width);
    });
    return;
  }
  // With zero steps there is still one K-block: sums are 0.
  e.loop(zero, e.known(deep) ? deep : Value(arith::MaxSIOp::create(e.b, deep, e.number(1))),
         blockDepth, [&](Value k0) {
           Evaluator::Scope inner(evaluator);
           Value steps = e.min(e.number(blockDepth), e.sub(deep, k0));
           copyPanel(k0, steps);
           tiles(block, k0, steps, [&](const TileRows &tileRows) {
             eachTile(panel, [&](const Tile &tile) { sumUp(tileRows, panel, tile, k0, steps); });
           });
         });
  if (!isInPlace)
    finish(zero, block.first, block.count, panel.begin, panel.width);
}

// -------------------------------------------------------------------------------------- columns

void TiledMatmul::packByColumns(const Panel &panel, Value from, Value steps,
                                llvm::function_ref<void(Value, Value)> column) {
  int64_t size = std::clamp<int64_t>(lanes, 4, 16);
  if (!staged.address)
    staged = e.scratch(type, size * apart());
  Value zero = e.number(0);
  auto offsetAt = [&](Value c) { return e.mul(c, e.number(apart())); };
  e.loop(from, panel.width, size, [&](Value first) {
    Value count = e.min(e.number(size), e.sub(panel.width, first));
    e.loop(zero, count, 1, [&](Value c) {
      Evaluator::Scope scope(evaluator);
      column(e.add(first, c), offsetAt(c));
    });
    e.loop(count, e.number(size), 1, [&](Value c) {
      e.loop(zero, steps, 1,
             [&](Value k) { e.store(staged, e.add(offsetAt(c), k), e.constantOf(type, 0)); });
    });
    Value inTile = arith::RemUIOp::create(e.b, first, e.number(wide));
    Value tile = e.sub(first, inTile);
    // Steps past the last one are packed too, into padding.
    e.loop(zero, steps, size, [&](Value k) {
      SmallVector<Value> from;
      for (int64_t c = 0; c < size; ++c)
        from.push_back(e.addressAt(staged, e.add(k, e.number(c * apart()))));
      transposeBlock(from, e.addressAt(packed, packedIndex(tile, k, inTile)), wide);
    });
  });
}

/// Transposes the square block whose rows are at `from` to `to`, with rows `pitch` apart. First
/// transposes 4 x 4 blocks inside vectors, then exchanges the blocks as a whole.
void TiledMatmul::transposeBlock(ArrayRef<Value> from, Value to, int64_t pitch) {
  size_t n = from.size();
  auto size = static_cast<int64_t>(n);
  auto vector = VectorType::get({size}, type);
  SmallVector<Value> rows;
  for (Value line : from)
    rows.push_back(LLVM::LoadOp::create(e.b, vector, line, alignment()));
  /// Shuffles each group of four elements: 0 to 3 select from x, 4 to 7 from y.
  auto mix = [&](Value x, Value y, std::array<int32_t, 4> wanted) -> Value {
    SmallVector<int32_t> mask;
    for (int32_t i = 0; i < size; ++i) {
      int32_t at = wanted[static_cast<size_t>(i) % 4];
      mask.push_back(i / 4 * 4 + at % 4 + (at < 4 ? 0 : static_cast<int32_t>(size)));
    }
    return LLVM::ShuffleVectorOp::create(e.b, x, y, mask);
  };
  for (size_t r = 0; r < n; r += 4) {
    Value s0 = mix(rows[r], rows[r + 1], {0, 4, 1, 5}),
          s1 = mix(rows[r], rows[r + 1], {2, 6, 3, 7});
    Value s2 = mix(rows[r + 2], rows[r + 3], {0, 4, 1, 5});
    Value s3 = mix(rows[r + 2], rows[r + 3], {2, 6, 3, 7});
    rows[r] = mix(s0, s2, {0, 1, 4, 5});
    rows[r + 1] = mix(s0, s2, {2, 3, 6, 7});
    rows[r + 2] = mix(s1, s3, {0, 1, 4, 5});
    rows[r + 3] = mix(s1, s3, {2, 3, 6, 7});
  }
  /// The groups of four with an even (or odd) number, of x and then of y.
  auto half = [&](Value x, Value y, int32_t odd) -> Value {
    SmallVector<int32_t> mask;
    for (int32_t i = 0; i < size; ++i)
      mask.push_back(i / 4 * 8 + odd * 4 + i % 4);
    return LLVM::ShuffleVectorOp::create(e.b, x, y, mask);
  };
  // rows[4 * b + c] holds column c of each 4 x 4 block in block row b.
  for (size_t squares = n / 4, round = 1; round < squares; round *= 2) {
    SmallVector<Value> next(n);
    for (size_t b = 0; b < squares; b += 2)
      for (size_t c = 0; c < 4; ++c)
        for (size_t odd = 0; odd < 2; ++odd)
          next[4 * (b / 2 + odd * squares / 2) + c] =
              half(rows[4 * b + c], rows[4 * (b + 1) + c], static_cast<int32_t>(odd));
    rows = std::move(next);
  }
  for (auto [k, row] : llvm::enumerate(rows))
    LLVM::StoreOp::create(e.b, row, behind(to, e.number(static_cast<int64_t>(k) * pitch)),
                          alignment());
}

// ----------------------------------------------------------------------------------------- rows

/// A vector must not read past the last column: the load is masked there, if the CPU has masked
/// loads. Prepacked panels have no such column.
bool TiledMatmul::isAllInPlace() {
  return given ||
         (mayReadInPlace() && e.target.vectorBits >= 256 && type.getIntOrFloatBitWidth() >= 32);
}
bool TiledMatmul::packsOnTheFly() {
  // The first tiles of all blocks have the same number of rows.
  bool areAlike = !tallTiles || (tileCount - 1) / blockTiles * blockTiles < tallTiles;
  return tileCount > 1 && areAlike && mayPackOnTheFly();
}

/// Of `count` memory segments of `bytes` each, `apart` from each other: the max number of cache
/// lines that share one set of a cache with this many sets.
void TiledMatmul::tiles(const Block &block, Value k0, Value steps,
                        llvm::function_ref<void(TileRows)> body) {
  auto run = [&](Value from, Value to, int64_t height) { // rows of the block
    auto each = [&](Value begin, Value end) {
      e.loop(begin, end, height, [&](Value row) {
        Evaluator::Scope scope(evaluator);
        Value packed = areRowsPacked
                           ? e.mul(arith::DivUIOp::create(e.b, e.sub(row, begin), e.number(height)),
                                   e.number(rowsApart()))
                           : Value();
        body({height, row, e.add(block.first, row), packed});
      });
    };
    if (!areRowsPacked)
      return each(from, to);
    e.loop(from, to, height * kPackedTiles, [&](Value begin) {
      Value end = e.min(e.add(begin, e.number(height * kPackedTiles)), to);
      Value count = arith::DivUIOp::create(e.b, e.sub(end, begin), e.number(height));
      packRows(e.add(block.first, begin), height, count, k0, steps);
      each(begin, end);
    });
  };
  if (!tileCount) {
    Value whole =
        e.sub(block.count, arith::RemUIOp::create(e.b, block.count, e.number(gemm.tileRows)));
    run(e.number(0), whole, gemm.tileRows);
    run(whole, block.count, 1); // only the last block has rows left over
    return;
  }
  int64_t first = 0;
  if (packsOnTheFly()) {
    first = tallTiles ? lowRows + 1 : lowRows;
    Evaluator::Scope scope(evaluator);
    Value zero = e.number(0);
    if (areRowsPacked)
      packRows(block.first, first, e.number(1), k0, steps);
    body({first, zero, block.first, zero, true});
  }
  Value from = e.number(first);
  if (blockTiles == tileCount) {
    int64_t tall = tallTiles * (lowRows + 1);
    if (first < tall)
      run(from, e.number(tall), lowRows + 1);
    if (tallTiles < tileCount)
      run(e.number(std::max(first, tall)), block.count, lowRows);
    return;
  }
  Value tall = e.number(tallTiles);
  Value end = e.mul(
      e.sub(arith::MaxSIOp::create(e.b, e.min(block.toTile, tall), block.fromTile), block.fromTile),
      e.number(lowRows + 1));
  if (tallTiles)
    run(from, end, lowRows + 1);
  run(tallTiles ? end : from, block.count, lowRows);
}

/// Packs the rows of `count` tiles, each into its own segment of the buffer. Contiguous steps are
/// transposed in blocks, the last ones one by one.
void TiledMatmul::packRows(Value i, int64_t height, Value count, Value k0, Value steps) {
  if (mayReadRowsInPlace())
    return e.loop(e.number(0), count, 1, [&](Value tile) {
      Evaluator::Scope scope(evaluator);
      packSteps(e.add(i, e.mul(tile, e.number(height))), height, e.mul(tile, e.number(rowsApart())),
                k0, steps);
    });
  auto packTile = [&](Value step, Value tile) {
    Evaluator::Scope scope(evaluator);
    Value k = e.add(k0, step), first = e.add(i, e.mul(tile, e.number(height)));
    Value to = e.add(e.mul(tile, e.number(rowsApart())), e.mul(step, e.number(kPackedRows)));
    if (Value from = rowsAt(first, k)) {
      auto vector = VectorType::get({kPackedRows}, type);
      Value mask = firstLanes(kPackedRows, e.number(height));
      Value none = LLVM::PoisonOp::create(e.b, vector);
      Value rows = LLVM::MaskedLoadOp::create(e.b, vector, from, mask, none, alignment());
      LLVM::StoreOp::create(e.b, rows, e.addressAt(packedRows, to), alignment());
      return;
    }
    e.loop(e.number(0), e.number(height), 1, [&](Value r) {
      Evaluator::Scope inner(evaluator);
      e.store(packedRows, e.add(to, r), left(e.add(first, r), k));
    });
  };
  auto some = [&] { e.nest({steps, count}, [&](Indices at) { packTile(at[0], at[1]); }); };
  if (e.known(count))
    return some();
  auto all = [&] {
    e.loop(e.number(0), steps, 1, [&](Value step) {
      for (int64_t tile = 0; tile < kPackedTiles; ++tile)
        packTile(step, e.number(tile));
    });
  };
  e.when(e.compare(CmpIPredicate::eq, count, e.number(kPackedTiles)), all, some);
}

/// Packs the rows of one tile, one cache line of each row at a time, and prefetches the rows of the
/// next tile.
void TiledMatmul::packSteps(Value i, int64_t height, Value to, Value k0, Value steps) {
  int64_t size = std::clamp<int64_t>(lanes, 4, kPackedRows),
          line = target.firstCache.line / alignment();
  Value zero = e.number(0), whole = zero;
  auto offsetOf = [&](Value step) { return e.add(to, e.mul(step, e.number(kPackedRows))); };
  if (stepsAt(i, k0)) {
    whole = e.sub(steps, arith::RemUIOp::create(e.b, steps, e.number(line)));
    e.loop(zero, whole, line, [&](Value first) {
      auto rowAt = [&](int64_t r, Value step) {
        return stepsAt(e.add(i, e.number(r)), e.add(k0, step));
      };
      for (int64_t r = 0; r < height; ++r)
        LLVM::Prefetch::create(e.b, rowAt(height + r, first), /*rw=*/0, /*hint=*/3, /*cache=*/1);
      for (int64_t r = 0; r < height; r += size)
        for (int64_t k = 0; k < line; k += size) {
          Value step = e.add(first, e.number(k));
          SmallVector<Value> from; // missing rows repeat the last one
          for (int64_t each = r; each < r + size; ++each)
            from.push_back(rowAt(std::min(each, height - 1), step));
          transposeBlock(from, e.addressAt(packedRows, e.add(offsetOf(step), e.number(r))),
                         kPackedRows);
        }
    });
  }
  e.nest({e.sub(steps, whole), e.number(height)}, [&](Indices at) {
    Evaluator::Scope scope(evaluator);
    Value step = e.add(whole, at[0]);
    e.store(packedRows, e.add(offsetOf(step), at[1]), left(e.add(i, at[1]), e.add(k0, step)));
  });
}

void TiledMatmul::eachTile(const Panel &panel, llvm::function_ref<void(const Tile &)> body) {
  bool inPlace = mayReadInPlace();
  std::optional<int64_t> width = e.known(panel.width);
  Value whole = wholeTiles(panel.width);
  if (!width || *width >= wide)
    e.loop(e.number(0), whole, wide, [&](Value column) {
      Evaluator::Scope scope(evaluator);
      Value at = inPlace ? Value() : e.mul(column, e.number(depth));
      body({wide / lanes, column, e.number(wide), at});
    });
  // Leftover columns: one tile if their number is known, else vector by vector.
  std::optional<int64_t> n = e.known(columns);
  int64_t rest = n ? *n % panelColumns % wide : 1;
  if (!n || *n >= panelColumns) // panels before the last one count too
    rest = std::max(rest, panelColumns % wide);
  int64_t vectors = llvm::divideCeil(rest, lanes);
  if (!rest)
    return;
  e.loop(whole, panel.width, vectors * lanes, [&](Value column) {
    Evaluator::Scope scope(evaluator);
    Value width = smaller(e.sub(panel.width, column), vectors * lanes);
    Value at = e.add(e.mul(whole, e.number(depth)), e.sub(column, whole));
    body({vectors, column, width, isAllInPlace() ? Value() : at});
  });
}

Value TiledMatmul::behind(Value address, Value elements) {
  return LLVM::GEPOp::create(e.b, address.getType(), type, address, elements);
}

void TiledMatmul::moveVector(Value from, Value to) {
  Value vector = LLVM::LoadOp::create(e.b, vectorType(), from, alignment());
  LLVM::StoreOp::create(e.b, vector, to, alignment());
}

/// The microkernel: adds the multiply-adds of `steps` steps from k0 on to the sums of a tile.
/// Memory packed in the order of the steps is read through pointers that advance with the loop, so
/// no LLVM pass must discover that. Prefetches the sums of the next tile, by its last column: where
/// tiles are not aligned to cache lines, its first columns share a line with this tile.
void TiledMatmul::sumUp(const TileRows &tileRows, const Panel &panel, const Tile &tile, Value k0,
                        Value steps) {
  Value row = tileRows.row, i = tileRows.i;
  int64_t height = tileRows.height;
  bool packs = tileRows.packsColumns && e.known(tile.width) == wide; // the tile is full
  auto sumAt = [&](int64_t r, int64_t v) {
    if (isInPlace)
      return resultAt(e.add(i, e.number(r)),
                      e.add(e.add(panel.begin, tile.column), e.number(v * lanes)));
    Value offset = e.mul(e.add(row, e.number(r)), e.number(pitch));
    return e.addressAt(sums, e.add(e.add(offset, tile.column), e.number(v * lanes)));
  };
  // Neither the result nor an unpacked operand has room past its last column. No mask where all
  // lanes are known to be valid.
  SmallVector<Value> isThere(static_cast<size_t>(tile.vectors));
  for (int64_t v = 0; v < tile.vectors && (isInPlace || hasInit() || !tile.packed); ++v)
    if (e.known(tile.width).value_or(0) < (v + 1) * lanes)
      isThere[static_cast<size_t>(v)] = firstLanes(lanes, e.sub(tile.width, e.number(v * lanes)));
  auto eachSum = [&](llvm::function_ref<void(Value address, Value mask)> body) {
    for (int64_t r = 0; r < height; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v)
        body(sumAt(r, v), isInPlace ? isThere[static_cast<size_t>(v)] : Value());
  };
  Value nothing = arith::ConstantOp::create(
      e.b, vectorType(),
      DenseElementsAttr::get(cast<ShapedType>(vectorType()), e.b.getZeroAttr(type)));
  auto load = [&](Value from, Value mask) -> Value {
    if (!mask)
      return LLVM::LoadOp::create(e.b, vectorType(), from, alignment());
    return LLVM::MaskedLoadOp::create(e.b, vectorType(), from, mask, nothing, alignment());
  };
  auto begun = [&] {
    SmallVector<Value> out(static_cast<size_t>(height * tile.vectors), nothing);
    for (int64_t at = 0; at < height * tile.vectors && hasInit(); ++at) {
      int64_t r = at / tile.vectors, v = at % tile.vectors;
      Value column = e.add(e.add(panel.begin, tile.column), e.number(v * lanes));
      out[static_cast<size_t>(at)] =
          load(initAt(e.add(i, e.number(r)), column), isThere[static_cast<size_t>(v)]);
    }
    return out;
  };
  SmallVector<Value> before;
  if (isShallow()) {
    before = begun();
  } else {
    auto nothingYet = [&](OpBuilder &, Location) { scf::YieldOp::create(e.b, begun()); };
    auto sumsUntilHere = [&](OpBuilder &, Location) {
      SmallVector<Value> loaded;
      eachSum([&](Value from, Value mask) { loaded.push_back(load(from, mask)); });
      scf::YieldOp::create(e.b, loaded);
    };
    Value isFirst = e.compare(CmpIPredicate::eq, k0, e.number(0));
    auto choice = scf::IfOp::create(e.b, isFirst, nothingYet, sumsUntilHere);
    before.assign(choice.getResults().begin(), choice.getResults().end());
  }
  Value begin = tile.packed ? e.addressAt(packed, packedBegin(tile))
                : given     ? columnsAt(k0, e.add(panel.begin, tile.column))
                            : Value();
  bool isAlong = begin && isPackedInOrder();
  if (isAlong)
    before.push_back(begin);
  if (areRowsPacked)
    before.push_back(e.addressAt(packedRows, tileRows.packed));
  if (fetchesSums())
    for (int64_t r = 0; r < height; ++r)
      LLVM::Prefetch::create(e.b, behind(sumAt(r, 2 * tile.vectors), e.number(-1)), /*rw=*/1,
                             /*hint=*/3, /*cache=*/1);
  auto loop = scf::ForOp::create(e.b, e.number(0), steps, e.number(1), before);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(loop.getBody());
    Evaluator::Scope scope(evaluator);
    Value k = loop.getInductionVar(), factors = loop.getRegionIterArgs().back();
    Value column = isAlong ? loop.getRegionIterArgs()[static_cast<size_t>(height * tile.vectors)]
                   : begin ? behind(begin, packedStepOffset(k))
                           : Value();
    Value inPlace;
    if (!begin || packs)
      inPlace = columnsAt(e.add(k0, k), e.add(panel.begin, tile.column));
    SmallVector<Value> next, vectors;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value from = behind(inPlace ? inPlace : column, e.number(v * lanes));
      vectors.push_back(load(from, begin ? Value() : isThere[static_cast<size_t>(v)]));
      if (packs)
        LLVM::StoreOp::create(e.b, vectors.back(), behind(column, e.number(v * lanes)),
                              alignment());
    }
    for (int64_t r = 0; r < height; ++r) {
      Value factor =
          areRowsPacked
              ? Value(LLVM::LoadOp::create(e.b, type, behind(factors, e.number(r)), alignment()))
              : left(e.add(i, e.number(r)), e.add(k0, k));
      for (Value all = splat(factor); Value vector : vectors)
        next.push_back(multiplyAdd(loop.getRegionIterArgs()[next.size()], all, vector));
    }
    if (isAlong)
      next.push_back(behind(column, e.number(given ? given : wide)));
    if (areRowsPacked)
      next.push_back(behind(factors, e.number(kPackedRows)));
    scf::YieldOp::create(e.b, next);
  }
  unsigned sum = 0;
  eachSum([&](Value to, Value mask) {
    Value vector = loop.getResult(sum++);
    if (mask)
      LLVM::MaskedStoreOp::create(e.b, vector, to, mask, alignment());
    else
      LLVM::StoreOp::create(e.b, vector, to, alignment());
  });
}

Value TiledMatmul::firstLanes(int64_t size, Value count) {
  Type narrow = e.b.getI32Type(), vector = VectorType::get({size}, narrow);
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(size)));
  Value lanes = arith::ConstantOp::create(
      e.b, vector, DenseElementsAttr::get(cast<ShapedType>(vector), ArrayRef(numbers)));
  Value none = LLVM::PoisonOp::create(e.b, vector);
  Value first = e.constant(narrow, e.b.getI32IntegerAttr(0));
  Value one =
      LLVM::InsertElementOp::create(e.b, none, arith::TruncIOp::create(e.b, narrow, count), first);
  Value all = LLVM::ShuffleVectorOp::create(e.b, one, none,
                                            SmallVector<int32_t>(static_cast<size_t>(size), 0));
  return e.compare(CmpIPredicate::slt, lanes, all);
}

} // namespace mx::lowering
