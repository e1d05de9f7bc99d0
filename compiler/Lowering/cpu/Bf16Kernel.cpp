// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16 GEMM microkernel: AMX tiles, VDPBF16PS, and their emulation.
#include "Lowering/cpu/Bf16Kernel.h"

using namespace mlir;

namespace mx::lowering {

namespace {

constexpr int64_t kWords = Bf16Kernel::kWords, kBytes = Bf16Kernel::kBytes;

/// Builder of the function's code: numbers, addresses, vectors of 16 words.
struct Code {
  ImplicitLocOpBuilder &b;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  VectorType words = VectorType::get({kWords}, b.getI32Type());
  VectorType floats = VectorType::get({kWords}, b.getF32Type());

  Value number(int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }
  Value times(Value x, int64_t y) { return arith::MulIOp::create(b, x, number(y)); }
  Value behind(Value address, Value bytes) {
    return LLVM::GEPOp::create(b, pointer, b.getI8Type(), address, ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value behind(Value address, int64_t bytes) {
    return bytes ? behind(address, number(bytes)) : address;
  }
  Value load(Type type, Value from) { return LLVM::LoadOp::create(b, type, from, 4); }
  void store(Value value, Value to) { LLVM::StoreOp::create(b, value, to, 4); }
  Value zeros(VectorType type) {
    return arith::ConstantOp::create(b, type, cast<TypedAttr>(b.getZeroAttr(type)));
  }
  Value splat(Value word) {
    Value none = LLVM::PoisonOp::create(b, words);
    Value first = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    Value one = LLVM::InsertElementOp::create(b, none, word, first);
    return LLVM::ShuffleVectorOp::create(b, one, none, SmallVector<int32_t>(kWords, 0));
  }
  /// Calls body with the numbers from 0 to `count` and the loop-carried values.
  SmallVector<Value> loop(Value count, ArrayRef<Value> carried,
                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto op = scf::ForOp::create(b, number(0), count, number(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
    if (!carried.empty()) // else there is a terminator
      scf::YieldOp::create(b, next);
    return SmallVector<Value>(op.getResults());
  }
  void loop(Value count, llvm::function_ref<void(Value)> body) {
    loop(count, {}, [&](Value i, ValueRange) {
      body(i);
      return SmallVector<Value>();
    });
  }
};

// ------------------------------------------------------------------------------------ emulation

/// Emulates the bf16 instructions on vectors of words.
struct Emulation {
  Code &c;

  Value splat(uint32_t bits) {
    return arith::ConstantOp::create(
        c.b, c.words, cast<TypedAttr>(Attribute(DenseElementsAttr::get(c.words, APInt(32, bits)))));
  }
  Value bits(Value floats) { return LLVM::BitcastOp::create(c.b, c.words, floats); }
  /// Flushes denormal numbers to 0, keeping their sign.
  Value flush(Value floats) {
    Value all = bits(floats), exponent = arith::AndIOp::create(c.b, all, splat(0x7f800000));
    Value isSmall =
        arith::CmpIOp::create(c.b, arith::CmpIPredicate::eq, exponent, c.zeros(c.words));
    Value sign = arith::AndIOp::create(c.b, all, splat(0x80000000));
    Value kept = arith::SelectOp::create(c.b, isSmall, sign, all);
    return LLVM::BitcastOp::create(c.b, c.floats, kept);
  }
  Value even(Value words) {
    Value high = arith::ShLIOp::create(c.b, words, splat(16));
    return flush(LLVM::BitcastOp::create(c.b, c.floats, high));
  }
  Value odd(Value words) {
    Value high = arith::AndIOp::create(c.b, words, splat(0xffff0000));
    return flush(LLVM::BitcastOp::create(c.b, c.floats, high));
  }
  Value add(Value x, Value y) { return flush(arith::AddFOp::create(c.b, x, y)); }
  Value multiplyAdd(Value x, Value y, Value sum) {
    return flush(math::FmaOp::create(c.b, x, y, sum));
  }
};

// ---------------------------------------------------------------------------------------- tiles

/// Amx: matrices of 16 rows of 64 bytes. Other factor types, such as int8, need another
/// multiply().
class TileOps {
public:
  virtual ~TileOps() = default;
  virtual Value zero() = 0;
  virtual Value load(Value from, Value apart) = 0;
  /// Matmul of tiles, accumulated into `sums`: sums + x @ y; the old value of `sums` is lost.
  virtual Value multiply(Value sums, Value x, Value y) = 0;
  virtual void store(Value tile, Value to, Value apart) = 0;
};

class AmxTiles : public TileOps {
public:
  explicit AmxTiles(Code &c) : c(c) {}

  Value zero() override { return call("tilezero.internal", {rows(), bytes()}); }
  Value load(Value from, Value apart) override {
    return call("tileloadd64.internal", {rows(), bytes(), from, apart});
  }
  Value multiply(Value sums, Value x, Value y) override {
    return call("tdpbf16ps.internal", {rows(), bytes(), bytes(), sums, x, y});
  }
  void store(Value tile, Value to, Value apart) override {
    LLVM::CallIntrinsicOp::create(c.b, c.b.getStringAttr("llvm.x86.tilestored64.internal"),
                                  ValueRange{rows(), bytes(), to, apart, tile});
  }

private:
  Code &c;
  Value rows() { return arith::ConstantOp::create(c.b, c.b.getI16IntegerAttr(16)); }
  Value bytes() { return arith::ConstantOp::create(c.b, c.b.getI16IntegerAttr(kBytes)); }
  Value call(StringRef name, ArrayRef<Value> arguments) {
    return LLVM::CallIntrinsicOp::create(c.b, LLVM::LLVMX86AMXType::get(c.b.getContext()),
                                         c.b.getStringAttr("llvm.x86." + name), arguments)
        .getResult(0);
  }
};

/// Emulates a tile with memory of its own, for each op in the code that creates one.
class EmulatedTiles : public TileOps {
public:
  EmulatedTiles(Code &c, Block &entry) : c(c), entry(entry) {}

  Value zero() override {
    Value tile = make();
    eachRow([&](Value row) { c.store(c.zeros(c.words), rowOf(tile, row)); });
    return tile;
  }
  Value load(Value from, Value apart) override {
    Value tile = make();
    eachRow([&](Value row) {
      Value at = c.behind(from, arith::MulIOp::create(c.b, row, apart));
      c.store(c.load(c.words, at), rowOf(tile, row));
    });
    return tile;
  }
  Value multiply(Value sums, Value x, Value y) override {
    Emulation pairs{c};
    eachRow([&](Value row) {
      Value factors = rowOf(x, row);
      SmallVector<Value> parts =
          c.loop(c.number(kWords), {c.zeros(c.floats), c.zeros(c.floats)},
                 [&](Value k, ValueRange until) -> SmallVector<Value> {
                   Value factor =
                       c.splat(c.load(c.b.getI32Type(), c.behind(factors, c.times(k, 4))));
                   Value columns = c.load(c.words, rowOf(y, k));
                   return {pairs.multiplyAdd(pairs.even(factor), pairs.even(columns), until[0]),
                           pairs.multiplyAdd(pairs.odd(factor), pairs.odd(columns), until[1])};
                 });
      Value to = rowOf(sums, row);
      c.store(pairs.add(c.load(c.floats, to), pairs.add(parts[0], parts[1])), to);
    });
    return sums;
  }
  void store(Value tile, Value to, Value apart) override {
    eachRow([&](Value row) {
      Value at = c.behind(to, arith::MulIOp::create(c.b, row, apart));
      c.store(c.load(c.words, rowOf(tile, row)), at);
    });
  }

private:
  Code &c;
  Block &entry;
  Value rowOf(Value tile, Value row) { return c.behind(tile, c.times(row, kBytes)); }
  void eachRow(llvm::function_ref<void(Value)> body) {
    c.loop(c.number(Bf16Kernel::kTileRows), body);
  }
  Value make() {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(&entry);
    return LLVM::AllocaOp::create(c.b, c.pointer, c.words, c.number(Bf16Kernel::kTileRows),
                                  /*alignment=*/64);
  }
};

// ------------------------------------------------------------------------------------- function

/// Writes the body of the function.
class Writer {
public:
  Writer(ImplicitLocOpBuilder &b, const Bf16Unit &unit, Block &entry, int64_t rows)
      : c{b}, unit(unit), entry(entry), rows(rows), left(entry.getArgument(0)),
        leftApart(entry.getArgument(1)), right(entry.getArgument(2)),
        rightApart(entry.getArgument(3)), sums(entry.getArgument(4)),
        sumsApart(entry.getArgument(5)), steps(entry.getArgument(6)), groups(entry.getArgument(7)),
        isFirst(entry.getArgument(8)) {}

  void run() {
    c.loop(groups, [&](Value group) {
      Value columns = c.behind(right, arith::MulIOp::create(c.b, group, rightApart));
      Value at = c.behind(sums, c.times(group, 2 * kBytes));
      if (unit.kind == Bf16Unit::Amx)
        tiles(columns, at);
      else
        c.loop(c.number(rows / kVectorRows), [&](Value part) {
          Value row = c.times(part, kVectorRows);
          sumVectors(c.behind(left, arith::MulIOp::create(c.b, leftApart, row)), columns,
                     c.behind(at, arith::MulIOp::create(c.b, sumsApart, row)));
        });
    });
  }

private:
  /// With two vectors of columns, 16 accumulators are in registers: enough to hide the latency.
  static constexpr int64_t kVectorRows = 8;
  Code c;
  const Bf16Unit &unit;
  Block &entry;
  int64_t rows;
  Value left, leftApart, right, rightApart, sums, sumsApart, steps, groups, isFirst;

  /// Initial accumulators: 0, or the sums in memory.
  SmallVector<Value> choose(llvm::function_ref<SmallVector<Value>()> none,
                            llvm::function_ref<SmallVector<Value>()> some) {
    auto yield = [&](llvm::function_ref<SmallVector<Value>()> make) {
      return [&, make](OpBuilder &inner, Location) {
        OpBuilder::InsertionGuard guard(c.b);
        c.b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        scf::YieldOp::create(c.b, make());
      };
    };
    return SmallVector<Value>(
        scf::IfOp::create(c.b, isFirst, yield(none), yield(some)).getResults());
  }
  /// Amx of sums: one or two rows of two.
  void tiles(Value columns, Value at) {
    AmxTiles real(c);
    EmulatedTiles emulated(c, entry);
    TileOps &ops = unit.isEmulated ? static_cast<TileOps &>(emulated) : real;
    SmallVector<Value> addresses;
    for (int64_t row = 0; row < rows; row += Bf16Kernel::kTileRows)
      for (int64_t column : {int64_t(0), kBytes})
        addresses.push_back(c.behind(c.behind(at, c.times(sumsApart, row)), column));
    auto each = [&](llvm::function_ref<Value(Value)> make) {
      SmallVector<Value> out;
      for (Value address : addresses)
        out.push_back(make(address));
      return out;
    };
    SmallVector<Value> begin =
        choose([&] { return each([&](Value) { return ops.zero(); }); },
               [&] { return each([&](Value from) { return ops.load(from, sumsApart); }); });
    Value columnsApart = c.number(2 * kBytes);
    SmallVector<Value> end =
        c.loop(steps, begin, [&](Value step, ValueRange until) -> SmallVector<Value> {
          Value row = c.behind(left, c.times(step, kBytes));
          Value column = c.behind(columns, c.times(step, 2 * kBytes * kWords));
          Value columnTiles[] = {ops.load(column, columnsApart),
                                 ops.load(c.behind(column, kBytes), columnsApart)};
          // All loads come first: no tile is in use by a multiplication when it is loaded.
          SmallVector<Value> rowTiles, next;
          for (int64_t first = 0; first < rows; first += Bf16Kernel::kTileRows)
            rowTiles.push_back(ops.load(c.behind(row, c.times(leftApart, first)), leftApart));
          for (Value rowTile : rowTiles)
            for (Value columnTile : columnTiles)
              next.push_back(ops.multiply(until[next.size()], rowTile, columnTile));
          return next;
        });
    for (auto [tile, address] : llvm::zip_equal(end, addresses))
      ops.store(tile, address, sumsApart);
  }

  /// sum + the dot product of each word's two factors (VDPBF16PS).
  Value multiplyWords(Value sum, Value x, Value y) {
    if (unit.isEmulated) {
      Emulation pairs{c};
      sum = pairs.multiplyAdd(pairs.odd(x), pairs.odd(y), sum);
      return pairs.multiplyAdd(pairs.even(x), pairs.even(y), sum);
    }
    auto factors = VectorType::get({2 * kWords}, c.b.getBF16Type());
    return LLVM::CallIntrinsicOp::create(c.b, c.floats,
                                         c.b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                         ValueRange{sum, LLVM::BitcastOp::create(c.b, factors, x),
                                                    LLVM::BitcastOp::create(c.b, factors, y)})
        .getResult(0);
  }
  void sumVectors(Value rowsAt, Value columns, Value at) {
    SmallVector<Value> addresses, factorRows;
    for (int64_t row = 0; row < kVectorRows; ++row) {
      factorRows.push_back(c.behind(rowsAt, c.times(leftApart, row)));
      for (int64_t column : {int64_t(0), kBytes})
        addresses.push_back(c.behind(c.behind(at, c.times(sumsApart, row)), column));
    }
    SmallVector<Value> begin =
        choose([&] { return SmallVector<Value>(addresses.size(), c.zeros(c.floats)); },
               [&] {
                 SmallVector<Value> out;
                 for (Value address : addresses)
                   out.push_back(c.load(c.floats, address));
                 return out;
               });
    SmallVector<Value> end = c.loop(
        c.times(steps, kWords), begin, [&](Value word, ValueRange until) -> SmallVector<Value> {
          Value column = c.behind(columns, c.times(word, 2 * kBytes));
          Value vectors[] = {c.load(c.words, column), c.load(c.words, c.behind(column, kBytes))};
          SmallVector<Value> next;
          for (Value factorRow : factorRows) {
            Value factor = c.splat(c.load(c.b.getI32Type(), c.behind(factorRow, c.times(word, 4))));
            for (Value vector : vectors)
              next.push_back(multiplyWords(until[next.size()], factor, vector));
          }
          return next;
        });
    for (auto [sum, address] : llvm::zip_equal(end, addresses))
      c.store(sum, address);
  }
};

} // namespace

LLVM::LLVMFuncOp bf16Kernel(KernelEmitter &e, int64_t rows) {
  std::string name = e.function.getName().str() + ".bf16gemm" + std::to_string(rows);
  if (auto made = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return made;
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointAfter(e.function);
  Type pointer = e.pointer(), number = e.b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(e.b.getContext()),
      {pointer, number, pointer, number, pointer, number, number, number, e.b.getI1Type()});
  auto made = LLVM::LLVMFuncOp::create(e.b, name, type, LLVM::Linkage::Internal);
  made.setNoInline(true);
  Block *entry = made.addEntryBlock(e.b);
  e.b.setInsertionPointToEnd(entry);
  LLVM::ReturnOp::create(e.b, ValueRange());
  e.b.setInsertionPoint(entry->getTerminator());
  Writer(e.b, e.target.bf16, *entry, rows).run();
  return made;
}

} // namespace mx::lowering
