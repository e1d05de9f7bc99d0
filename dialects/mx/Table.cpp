// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detection of sparse table gradients, and the layout of their workspace.
#include "dialects/mx/Table.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mx::ir {
namespace {

/// Minimum number of table rows per entry.
constexpr int64_t kRowsPerEntry = 2;
/// The index of a row in the workspace is an i32.
constexpr int64_t kMaxEntries = 1 << 28;
constexpr int64_t kAlignment = 64;

bool isZero(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getValue().isZero();
}

} // namespace

bool isZeros(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto full = dyn_cast_or_null<FullOp>(op))
    op = full.getValue().getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  if (!constant)
    return false;
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  return isZero(splat ? splat.getSplatValue<Attribute>() : constant.getValue());
}

std::optional<int64_t> countOf(ArrayRef<SizeAttr> sizes) {
  int64_t count = 1;
  for (SizeAttr size : sizes) {
    std::optional<int64_t> number = size.constant();
    if (!number || __builtin_mul_overflow(count, *number, &count))
      return std::nullopt;
  }
  return count;
}

int64_t Table::slots() const {
  return static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(2 * entries)));
}
int64_t Table::numbersAt() const { return llvm::alignTo(slots() * sizeof(int32_t), kAlignment); }
int64_t Table::sumsAt() const {
  return llvm::alignTo(numbersAt() + entries * static_cast<int64_t>(sizeof(int64_t)), kAlignment);
}
int64_t Table::bytes() const {
  ElementType element = elementFromMlir(ScatterAddOp(op).getType().getElement());
  return sumsAt() + entries * width * elementInfo(element).bytes;
}

std::optional<Table> tableOf(ScatterAddOp op, int64_t more) {
  ArrayRef<SizeAttr> sizes = op.getType().getSizes();
  if (op.getAxis() != 0 || !isZeros(op.getX()) || op.getType().isHost())
    return std::nullopt;
  std::optional<int64_t> rows = sizes[0].constant(), width = countOf(sizes.drop_front()),
                         entries = countOf(op.getIndex().getType().getSizes());
  if (entries && __builtin_add_overflow(*entries, more, &*entries))
    return std::nullopt;
  bool fits = rows && width && entries && *width > 0 && *entries > 0 && *entries < kMaxEntries &&
              *rows / kRowsPerEntry >= *entries;
  return fits ? std::optional(Table{op, *rows, *entries, *width}) : std::nullopt;
}

std::optional<Table> tableOf(Block &body) {
  for (auto op : body.getOps<ScatterAddOp>())
    if (llvm::any_of(op->getUsers(), [](Operation *user) { return !isa<YieldOp>(user); }))
      return tableOf(op);
  return std::nullopt;
}

} // namespace mx::ir
