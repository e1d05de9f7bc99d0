// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed bf16 GEMM: blocking, and packing of rows and columns into words.
#include "Lowering/cpu/Bf16Matmul.h"
#include "Lowering/cpu/Bf16Kernel.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

/// Factors of a word, so steps of k in one; vectors (rows or columns) and steps of a block that is
/// packed at a time.
constexpr int64_t kPerWord = 2, kFactorBits = 32 / kPerWord;
constexpr int64_t kVectors = 16, kSteps = Bf16Kernel::kWords * kPerWord;
constexpr int64_t kBytes = kFactorBits / 8;

} // namespace

bool Bf16Matmul::isShallow() { return e.known(deep) && *e.known(deep) <= depth; }
/// Not a power of two: rows would map to the same cache sets.
int64_t Bf16Matmul::rowPitch() const { return depth + kSteps; }

/// Panels are made narrower, then blocks lower, if there would be too few for the threads.
void Bf16Matmul::chooseBlocks(ArrayRef<Value> others) {
  std::optional<int64_t> m = e.known(rows), n = e.known(columns), k = e.known(deep);
  height = m && *m <= Bf16Kernel::kTileRows ? Bf16Kernel::kTileRows : Bf16Kernel::kMaxRows;
  if (k)
    depth = std::min<int64_t>(depth, llvm::alignTo(std::max<int64_t>(*k, 1), kSteps));
  int64_t batchCount = 1, enough = e.target.parallelBlocks;
  for (Value size : others)
    batchCount *= std::clamp<int64_t>(e.known(size).value_or(1), 1, enough);
  auto blocks = [&] {
    return batchCount * static_cast<int64_t>(llvm::divideCeil(*m, blockRows) *
                                             llvm::divideCeil(*n, panelColumns));
  };
  while (m && n && blocks() < enough && panelColumns > gemm.minColumns && *n > gemm.minColumns)
    panelColumns /= 2;
  while (m && n && blocks() < enough && blockRows > gemm.minRows && *m > gemm.minRows)
    blockRows /= 2;
  if (m)
    blockRows = std::min<int64_t>(blockRows, llvm::alignTo(std::max<int64_t>(*m, 1), height));
  if (n)
    panelColumns = std::min<int64_t>(panelColumns,
                                     llvm::alignTo(std::max<int64_t>(*n, 1), Bf16Kernel::kColumns));
}

/// Scratch memory with an alias scope of its own, apart from all inputs and outputs. The
/// microkernel is passed its address, so LLVM could not infer that.
Buffer Bf16Matmul::room(Type type, int64_t count) {
  Buffer out = e.scratch(type, count);
  const Buffer &output = e.output(0);
  auto domain = cast<LLVM::AliasScopeAttr>(output.scopes[0]).getDomain();
  out.scopes = e.b.getArrayAttr(LLVM::AliasScopeAttr::get(domain, e.b.getStringAttr("bf16")));
  SmallVector<Attribute> others(output.scopes.begin(), output.scopes.end());
  others.append(output.others.begin(), output.others.end());
  out.others = e.b.getArrayAttr(others);
  return out;
}

void Bf16Matmul::run(ArrayRef<Value> others) {
  chooseBlocks(others);
  Type factor = e.b.getIntegerType(kFactorBits);
  packedColumns = room(factor, panelColumns * depth);
  packedRows = room(factor, height * rowPitch());
  staged = room(factor, kVectors * kSteps);
  sums.pitch = panelColumns + Bf16Kernel::kWords;
  sums.memory = room(e.b.getF32Type(), (isShallow() ? height : blockRows) * sums.pitch);

  auto parts = [&](Value size, int64_t part) -> Value {
    if (std::optional<int64_t> number = e.known(size))
      return e.number(llvm::divideCeil(*number, part));
    return arith::DivUIOp::create(e.b, e.add(size, e.number(part - 1)), e.number(part));
  };
  auto part = [&](Value size, Value begin, int64_t limit) -> Value {
    if (e.known(size) && *e.known(size) <= limit)
      return size;
    return e.min(e.sub(size, begin), e.number(limit));
  };
  SmallVector<Value> sizes(others);
  sizes.push_back(parts(rows, blockRows));
  sizes.push_back(parts(columns, panelColumns));
  // 64 multiply-adds cost as much as one simple op.
  Value work =
      e.mul(e.mul(deep, e.number(blockRows)), e.number(std::max<int64_t>(1, panelColumns / 64)));
  e.parallelFor(
      sizes, work,
      [&](Indices at) {
        Evaluator::Scope scope(evaluator);
        enter(at.drop_back(2));
        Value i = e.mul(at[at.size() - 2], e.number(blockRows));
        Value j = e.mul(at.back(), e.number(panelColumns));
        block(i, part(rows, i, blockRows), j, part(columns, j, panelColumns));
      },
      sizes.size());
}

Value Bf16Matmul::groupsOf(Value width) {
  return arith::DivUIOp::create(e.b, e.add(width, e.number(Bf16Kernel::kColumns - 1)),
                                e.number(Bf16Kernel::kColumns));
}

void Bf16Matmul::block(Value i, Value count, Value j, Value width) {
  Value zero = e.number(0), one = e.number(1);
  Type bit = e.b.getI1Type();
  LLVM::LLVMFuncOp kernel = bf16Kernel(e, height);
  Value groups = groupsOf(width);
  auto addKBlock = [&](Value k0, Value steps, Value isFirst) {
    packColumns(j, width, k0, steps);
    Value wholeSteps =
        arith::DivUIOp::create(e.b, e.add(steps, e.number(kSteps - 1)), e.number(kSteps));
    e.loop(zero, count, height, [&](Value row) {
      Evaluator::Scope scope(evaluator);
      Value first = e.add(i, row), here = e.min(e.number(height), e.sub(count, row));
      auto [from, apart] = rowsAt(first, here, k0, steps);
      Value to = isShallow() ? sums.memory.address
                             : e.addressAt(sums.memory, e.mul(row, e.number(sums.pitch)));
      LLVM::CallOp::create(e.b, kernel,
                           ValueRange{from, apart, packedColumns.address,
                                      e.number(Bf16Kernel::kColumns * depth * kBytes), to,
                                      e.number(sums.pitch * 4), wholeSteps, groups, isFirst});
      if (isShallow())
        finish(sums, zero, first, here, j, width);
    });
  };
  if (isShallow())
    return addKBlock(zero, deep, e.constantOf(bit, 1));
  // With zero steps there is still one K-block: sums are 0.
  e.loop(zero, e.known(deep) ? deep : Value(arith::MaxSIOp::create(e.b, deep, one)), depth,
         [&](Value k0) {
           Evaluator::Scope scope(evaluator);
           addKBlock(k0, e.min(e.number(depth), e.sub(deep, k0)),
                     e.compare(CmpIPredicate::eq, k0, zero));
         });
  finish(sums, zero, i, count, j, width);
}

// -------------------------------------------------------------------------------------- packing

void Bf16Matmul::packColumns(Value j, Value width, Value k0, Value steps) {
  constexpr int64_t columns = Bf16Kernel::kColumns;
  e.nest({groupsOf(width), e.number(columns / kVectors)}, [&](Indices part) {
    Value group = e.mul(part[0], e.number(columns)), inside = e.mul(part[1], e.number(kVectors));
    Value first = e.add(group, inside);
    e.loop(e.number(0), steps, kSteps, [&](Value k) {
      // For each word of k, the words of a group's columns are contiguous.
      Value at = e.add(e.mul(group, e.number(depth)),
                       e.add(e.mul(k, e.number(columns)), e.mul(inside, e.number(kPerWord))));
      packSquare(right, /*toRows=*/false, this->columns, e.add(j, first), e.sub(width, first),
                 e.add(k0, k), e.sub(steps, k), packedColumns, at, columns * kPerWord);
    });
  });
}

std::pair<Value, Value> Bf16Matmul::rowsAt(Value i, Value count, Value k0, Value steps) {
  Value packed = packedRows.address, pitch = e.number(rowPitch() * kBytes);
  std::optional<int64_t> m = e.known(rows), k = e.known(deep);
  // The microkernel would read past the end of partial blocks.
  if (!left.address || (m && *m < height) || (k && *k < depth && *k % kSteps)) {
    packRows(i, count, k0, steps);
    return {packed, pitch};
  }
  Value rest = arith::RemUIOp::create(e.b, steps, e.number(kSteps));
  Value isWhole = arith::AndIOp::create(
      e.b, e.compare(CmpIPredicate::eq, count, e.number(height)),
      arith::AndIOp::create(e.b, e.compare(CmpIPredicate::eq, rest, e.number(0)),
                            e.compare(CmpIPredicate::sgt, steps, e.number(0))));
  auto choice = scf::IfOp::create(e.b, TypeRange{packed.getType(), pitch.getType()}, isWhole,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(choice.thenBlock());
  {
    Evaluator::Scope scope(evaluator);
    Value inPlace = left.address(i, k0);
    scf::YieldOp::create(e.b, ValueRange{inPlace, e.mul(left.apart, e.number(kBytes))});
  }
  e.b.setInsertionPointToStart(choice.elseBlock());
  packRows(i, count, k0, steps);
  scf::YieldOp::create(e.b, ValueRange{packed, pitch});
  return {choice.getResult(0), choice.getResult(1)};
}

void Bf16Matmul::packRows(Value i, Value count, Value k0, Value steps) {
  e.loop(e.number(0), e.number(height), kVectors, [&](Value first) {
    e.loop(e.number(0), steps, kSteps, [&](Value k) {
      packSquare(left, /*toRows=*/true, rows, e.add(i, first), e.sub(count, first), e.add(k0, k),
                 e.sub(steps, k), packedRows, e.add(e.mul(first, e.number(rowPitch())), k),
                 rowPitch());
    });
  });
}

/// Writes the elements of `vectors` rows or columns and `steps` steps, at limit 16 and 32, as
/// factors to `at`, in their memory order. `size` is the number of all rows or columns.
void Bf16Matmul::fill(const Bf16Operand &side, Value size, Value vector, Value vectors, Value k,
                      Value steps, const Buffer &to, Value at, int64_t pitch) {
  Type factor = to.element;
  auto indices = [&](Value outer, Value inner) {
    return e.add(at, e.add(e.mul(outer, e.number(pitch)), inner));
  };
  auto copy = [&](Value vectorCount, Value stepCount) {
    SmallVector<Value> sizes{vectorCount, stepCount};
    if (!side.isAlongK)
      std::swap(sizes[0], sizes[1]);
    e.nest(sizes, [&](Indices n) {
      Evaluator::Scope scope(evaluator);
      Value element =
          side.element(e.add(vector, n[side.isAlongK ? 0 : 1]), e.add(k, n[side.isAlongK ? 1 : 0]));
      e.store(to, indices(n[0], n[1]), arith::BitcastOp::create(e.b, factor, element));
    });
  };
  Value allVectors = e.number(kVectors), allSteps = e.number(kSteps);
  auto isMultiple = [&](Value of, int64_t number) {
    return e.known(of) && *e.known(of) % number == 0;
  };
  // The second half of a group of columns may be empty.
  bool vectorsFit = isMultiple(size, Bf16Kernel::kColumns), stepsFit = isMultiple(deep, kSteps);
  if (vectorsFit && stepsFit)
    return copy(allVectors, allSteps);
  auto some = [&] {
    e.nest({side.isAlongK ? allVectors : allSteps, side.isAlongK ? allSteps : allVectors},
           [&](Indices n) { e.store(to, indices(n[0], n[1]), e.constantOf(factor, 0)); });
    copy(e.min(vectors, allVectors), e.min(steps, allSteps));
  };
  Value isWhole = arith::AndIOp::create(e.b, e.compare(CmpIPredicate::sge, vectors, allVectors),
                                        e.compare(CmpIPredicate::sge, steps, allSteps));
  e.when(
      isWhole, [&] { copy(allVectors, allSteps); }, some);
}

/// Packs 16 rows or columns of 16 words to `at`, in memory rows `apart` factors from each other:
/// one per row or column, or else one per word of k.
void Bf16Matmul::packSquare(const Bf16Operand &side, bool toRows, Value size, Value vector,
                            Value vectors, Value k, Value steps, const Buffer &to, Value at,
                            int64_t apart) {
  if (side.isAlongK && toRows)
    return fill(side, size, vector, vectors, k, steps, to, at, apart);
  int64_t pitch = side.isAlongK ? kSteps : kVectors;
  fill(side, size, vector, vectors, k, steps, staged, e.number(0), pitch);
  auto load = [&](Type type, int64_t from) -> Value {
    return LLVM::LoadOp::create(e.b, type, e.addressAt(staged, e.number(from)), /*alignment=*/4);
  };
  auto words = VectorType::get({Bf16Kernel::kWords}, e.b.getI32Type());
  auto factors = VectorType::get({kVectors}, to.element);
  SmallVector<Value> rows;
  for (int64_t row = 0; row < Bf16Kernel::kWords; ++row) {
    if (side.isAlongK) {
      rows.push_back(load(words, row * pitch));
      continue;
    }
    SmallVector<Value> together;
    for (int64_t step = row * kPerWord; step < (row + 1) * kPerWord; ++step)
      together.push_back(load(factors, step * pitch));
    rows.push_back(LLVM::BitcastOp::create(e.b, words, interleave(together)));
  }
  if (side.isAlongK != toRows)
    rows = transpose(std::move(rows));
  for (auto [row, vector] : llvm::enumerate(rows))
    LLVM::StoreOp::create(e.b, vector,
                          e.addressAt(to, e.add(at, e.number(static_cast<int64_t>(row) * apart))),
                          /*alignment=*/4);
}

/// Interleaves vectors: the first elements of all, then the second ones, and so on. For four
/// vectors, the even ones and the odd ones are interleaved first.
Value Bf16Matmul::interleave(ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors[0];
  SmallVector<Value> even, odd;
  for (auto [i, vector] : llvm::enumerate(vectors))
    (i % 2 ? odd : even).push_back(vector);
  Value x = interleave(even), y = interleave(odd);
  auto size = static_cast<int32_t>(cast<VectorType>(x.getType()).getNumElements());
  SmallVector<int32_t> mask;
  for (int32_t i = 0; i < size; ++i)
    mask.append({i, size + i});
  return LLVM::ShuffleVectorOp::create(e.b, x, y, mask);
}

/// Each iteration interleaves the upper half of the rows with the lower half; after four iterations
/// the 16 x 16 block is transposed.
SmallVector<Value> Bf16Matmul::transpose(SmallVector<Value> rows) {
  auto size = static_cast<int32_t>(rows.size());
  for (int32_t round = 1; round < size; round *= 2) {
    SmallVector<Value> next;
    for (int32_t row = 0; row < size / 2; ++row)
      for (int32_t part : {0, size / 2}) {
        SmallVector<int32_t> mask;
        for (int32_t i = 0; i < size / 2; ++i)
          mask.append({part + i, size + part + i});
        next.push_back(LLVM::ShuffleVectorOp::create(
            e.b, rows[static_cast<size_t>(row)], rows[static_cast<size_t>(row + size / 2)], mask));
      }
    rows = std::move(next);
  }
  return rows;
}

} // namespace mx::lowering
