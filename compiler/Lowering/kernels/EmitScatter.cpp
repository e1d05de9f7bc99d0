// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatter-add: adds rows at the indices of an index tensor. Duplicate indices are added in the
// order of the index tensor, so the result is deterministic.
//
// If the destination is zeros and other ops of the kernel use the result, as an optimizer uses the
// gradient of an embedding, the gradient stays sparse: only the indexed rows are accumulated in the
// workspace, and found in a hash table by row number. All other rows of the result are zeros that
// are not stored:
//
//   for each entry of the index:  find or insert its row, and add
//   for each row of the table:    the other ops, with its sums or with zeros
//
// If ops with zeros leave a table that is updated in place unchanged, as `w - lr * d` does for
// numbers lr that are neither infinite nor negative, the second loop visits only the indexed rows.
#include "Lowering/kernels/EmitKernel.h"
#include "dialects/mx/Over.h"
#include "dialects/mx/Table.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

Value plus(KernelEmitter &e, Type element, Value x, Value y) {
  if (!isFloatElement(element))
    return arith::AddIOp::create(e.b, x, y);
  if (element.getIntOrFloatBitWidth() != 16)
    return arith::AddFOp::create(e.b, x, y);
  Type wide = e.b.getF32Type();
  Value sum = arith::AddFOp::create(e.b, arith::ExtFOp::create(e.b, wide, x),
                                    arith::ExtFOp::create(e.b, wide, y));
  return arith::TruncFOp::create(e.b, e.codeType(element), sum);
}

/// Copies x, then adds y entry by entry. Single-threaded, to keep the order.
void emitDense(KernelEmitter &e, ScatterAddOp op, const Output &output) {
  Evaluator evaluator(e);
  evaluator.prepare(output.value);
  TensorType x = op.getX().getType(), y = op.getY().getType();
  copyFirst(e, evaluator, op.getX(), output);
  const Buffer &out = e.output(output.index);
  e.nest(e.sizesOf(y), [&](Indices indices) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> to = evaluator.takenIndices(op.getIndex(), x, op.getAxis(), indices);
    e.store(out, to, plus(e, x.getElement(), e.load(out, to), evaluator.at(op.getY(), indices)));
  });
}

/// The rows of a table that an index names, and ops on all rows.
class TableRows {
public:
  TableRows(KernelEmitter &e, const OutputGroup &group, const Table &table)
      : e(e), group(group), table(table), op(table.op), type(op.getType()), evaluator(e) {}
  void emit();

private:
  KernelEmitter &e;
  const OutputGroup &group;
  Table table;
  ScatterAddOp op;
  TensorType type;
  Evaluator evaluator;
  SmallVector<Value> inner;    ///< sizes of a row
  Buffer slots, numbers, sums; ///< parts of the workspace

  Buffer part(Type element, int64_t from);
  Value zero(Type element) { return e.constantOf(e.codeType(element), 0); }
  Value slotOf(Value row);
  Value numberIn(Value slot);
  Value within(Value number, Indices at);
  void addUp(Value used);
  Value isUnchanged(const Output &output);
  Value areUnchanged();
  void outputsOf(Value row, llvm::function_ref<Value(Indices)> element);
};

Buffer TableRows::part(Type element, int64_t from) {
  Value address =
      LLVM::GEPOp::create(e.b, e.pointer(), e.b.getI8Type(), e.workspace(), e.number(from));
  return {address, element, {e.number(1)}, {}, {}};
}

/// The number of the row in a slot, in order of first occurrence; -1 if the slot is empty.
Value TableRows::numberIn(Value slot) {
  return arith::ExtSIOp::create(e.b, e.b.getI64Type(), e.load(slots, slot));
}
/// The offset of the sum at an index of a row.
Value TableRows::within(Value number, Indices at) {
  for (auto [index, size] : llvm::zip_equal(at, inner))
    number = e.add(e.mul(number, size), index);
  return number;
}

/// Hash table with linear probing: returns the slot that holds the row, or the first free slot from
/// the hash of its number on. There are more slots than rows.
Value TableRows::slotOf(Value row) {
  constexpr auto golden = static_cast<int64_t>(0x9E3779B97F4A7C15);
  int64_t bits = llvm::Log2_64(static_cast<uint64_t>(table.slots()));
  Value mixed = arith::MulIOp::create(e.b, row, e.number(golden));
  Value first = arith::ShRUIOp::create(e.b, mixed, e.number(64 - bits));
  auto hasAnother = [&](OpBuilder &, Location, ValueRange at) {
    Value number = numberIn(at[0]), isUsed = e.compare(CmpIPredicate::sge, number, e.number(0));
    Value there = e.load(numbers, e.choose(isUsed, number, e.number(0)));
    Value isOther = e.compare(CmpIPredicate::ne, there, row);
    scf::ConditionOp::create(e.b, arith::AndIOp::create(e.b, isUsed, isOther), at);
  };
  auto next = [&](OpBuilder &, Location, ValueRange at) {
    Value behind = e.add(at[0], e.number(1)), last = e.number(table.slots() - 1);
    scf::YieldOp::create(e.b, ValueRange{arith::AndIOp::create(e.b, behind, last)});
  };
  auto search =
      scf::WhileOp::create(e.b, TypeRange{e.b.getI64Type()}, ValueRange{first}, hasAnother, next);
  return search.getResult(0);
}

/// Accumulates the sums of the indexed rows; `used` counts them. Each begins with 0, as in the
/// table.
void TableRows::addUp(Value used) {
  Type i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  e.loop(e.number(0), e.number(table.slots()), 1,
         [&](Value slot) { e.store(slots, slot, e.constantOf(i32, -1)); });
  e.nest(e.sizesOf(op.getIndex().getType()), [&](Indices entry) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> indices(entry);
    indices.append(inner.size(), e.number(0));
    Value row = evaluator.takenIndices(op.getIndex(), type, 0, indices)[0], slot = slotOf(row);
    e.when(e.compare(CmpIPredicate::slt, numberIn(slot), e.number(0)), [&] {
      Value number = e.read(used, i64);
      e.store(slots, slot, arith::TruncIOp::create(e.b, i32, number));
      e.store(numbers, number, row);
      e.nest(inner,
             [&](Indices at) { e.store(sums, within(number, at), zero(type.getElement())); });
      e.write(used, e.add(number, e.number(1)));
    });
    Value number = numberIn(slot);
    e.nest(inner, [&](Indices at) {
      Evaluator::Scope scope(evaluator);
      SmallVector<Value> from(entry);
      llvm::append_range(from, at);
      Value to = within(number, at), more = evaluator.at(op.getY(), from);
      e.store(sums, to, plus(e, type.getElement(), e.load(sums, to), more));
    });
  });
}

/// Emits a test whether rows of zeros leave an output unchanged; null if they cannot. The output is
/// written over x, it is x - c or x + c, and c is one number for all of these rows: c must then be
/// the 0 whose sign changes no x.
Value TableRows::isUnchanged(const Output &output) {
  Operation *last = output.value.getDefiningOp();
  if (!isa_and_nonnull<SubOp, AddOp>(last) || !isFloatElement(type.getElement()) ||
      output.value.getType() != type)
    return {};
  ArrayRef<int64_t> over = writesOver(e.kernel);
  auto isOver = [&](Value x) {
    auto argument = dyn_cast<BlockArgument>(x);
    return argument && output.index < over.size() &&
           over[output.index] == static_cast<int64_t>(argument.getArgNumber());
  };
  Value x = last->getOperand(0), c = last->getOperand(1);
  if (isa<AddOp>(last) && !isOver(x))
    std::swap(x, c);
  if (!isOver(x))
    return {};
  SmallVector<Value> work{c};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (value == op.getResult() || isScalarTensor(value.getType()))
      continue;
    Operation *made = value.getDefiningOp();
    if (!made || !(made->hasTrait<Elementwise>() || isa<BroadcastOp, FullOp>(made)))
      return {};
    llvm::append_range(work, made->getOperands());
  }
  Evaluator::Scope scope(evaluator);
  SmallVector<Value> indices(type.rank(), e.number(0));
  evaluator.bind(op.getResult(), indices, zero(type.getElement()));
  SmallVector<Value> from = broadcastFrom(e, cast<TensorType>(c.getType()), indices);
  Value element = evaluator.at(c, from);
  unsigned width = element.getType().getIntOrFloatBitWidth();
  Type bits = e.b.getIntegerType(width);
  APInt neutral = isa<SubOp>(last) ? APInt(width, 0) : APInt::getSignMask(width);
  return e.compare(CmpIPredicate::eq, arith::BitcastOp::create(e.b, bits, element),
                   e.constant(bits, IntegerAttr::get(bits, neutral)));
}
Value TableRows::areUnchanged() {
  Value all;
  for (const Output &output : group.outputs) {
    Value one = isUnchanged(output);
    if (!one)
      return {};
    all = all ? Value(arith::AndIOp::create(e.b, all, one)) : one;
  }
  return all;
}

/// Computes all outputs at an index before one is stored: an output may overwrite an input.
void TableRows::outputsOf(Value row, llvm::function_ref<Value(Indices)> element) {
  e.nest(inner, [&](Indices at) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> indices{row};
    llvm::append_range(indices, at);
    evaluator.bind(op.getResult(), indices, element(at));
    SmallVector<Value> elements = evaluator.all(group.values(), indices);
    for (auto [output, value] : llvm::zip_equal(group.outputs, elements))
      e.store(e.output(output.index), indices, value);
  });
}

void TableRows::emit() {
  SmallVector<Value> roots = group.values();
  roots.push_back(op.getResult());
  evaluator.prepare(roots);
  e.b.setLoc(op.getLoc());
  SmallVector<Value> sizes = e.sizesOf(type);
  inner.assign(sizes.begin() + 1, sizes.end());
  Type i64 = e.b.getI64Type();
  slots = part(e.b.getI32Type(), 0);
  numbers = part(i64, table.numbersAt());
  sums = part(type.getElement(), table.sumsAt());
  Value used = e.variable(i64, e.number(0));
  addUp(used);
  Value onlyNamed = areUnchanged();
  Value iterations = onlyNamed ? e.choose(onlyNamed, e.read(used, i64), sizes[0]) : sizes[0];
  Value work = e.number(table.width * e.workOfElement());
  e.parallelFor({iterations}, work, [&](Indices iteration) {
    Value row = iteration[0], number;
    if (onlyNamed) {
      Value own = e.variable(i64, iteration[0]), found = e.variable(i64, iteration[0]);
      e.when(
          onlyNamed, [&] { e.write(own, e.load(numbers, iteration[0])); },
          [&] { e.write(found, numberIn(slotOf(iteration[0]))); });
      row = e.read(own, i64);
      number = e.read(found, i64);
    } else {
      number = numberIn(slotOf(row));
    }
    e.when(
        e.compare(CmpIPredicate::sge, number, e.number(0)),
        [&] { outputsOf(row, [&](Indices at) { return e.load(sums, within(number, at)); }); },
        [&] { outputsOf(row, [&](Indices) { return zero(type.getElement()); }); });
  });
}

} // namespace

LogicalResult emitScatter(KernelEmitter &e, const OutputGroup &group) {
  if (failed(isAlone(group)) || failed(hasShapeOf(group)))
    return failure();
  auto op = cast<ScatterAddOp>(group.sources[0]);
  if (std::optional<Table> table = tableOf(e.kernel)) {
    TableRows(e, group, *table).emit();
    return success();
  }
  for (const Output &output : group.outputs) {
    if (output.value.getDefiningOp() != op)
      return op.emitOpError() << "must be the last op of its kernel";
    emitDense(e, op, output);
  }
  return success();
}

} // namespace mx::lowering
