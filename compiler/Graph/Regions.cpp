// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval analysis of host integers, and the regions that slices and updates access.
#include "Graph/Regions.h"
#include "Graph/Sizes.h"

using namespace mlir;

namespace mx::graph {

static std::optional<std::pair<int64_t, int64_t>> rangeOf(Value number, unsigned depth) {
  constexpr unsigned kDeepest = 8;
  if (depth > kDeepest || !ir::isHostInt(number.getType()))
    return std::nullopt;
  if (std::optional<int64_t> known = constantInt(number))
    return std::pair(*known, *known);
  if (auto argument = dyn_cast<BlockArgument>(number)) {
    auto loop = dyn_cast<ir::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getArgNumber() != 0)
      return std::nullopt;
    auto from = rangeOf(loop.getFrom(), depth + 1), to = rangeOf(loop.getTo(), depth + 1);
    if (!from || !to || from->first >= to->second) // if empty: the loop has no iterations
      return std::nullopt;
    return std::pair(from->first, to->second - 1);
  }
  Operation *op = number.getDefiningOp();
  if (!isa<ir::AddOp, ir::SubOp, ir::MulOp>(op))
    return std::nullopt;
  auto a = rangeOf(op->getOperand(0), depth + 1), b = rangeOf(op->getOperand(1), depth + 1);
  if (!a || !b)
    return std::nullopt;
  std::pair<int64_t, int64_t> out;
  if (isa<ir::MulOp>(op)) {
    if (a->first < 0 || b->first < 0 || __builtin_mul_overflow(a->first, b->first, &out.first) ||
        __builtin_mul_overflow(a->second, b->second, &out.second))
      return std::nullopt;
    return out;
  }
  bool wraps = isa<ir::AddOp>(op) ? __builtin_add_overflow(a->first, b->first, &out.first) ||
                                        __builtin_add_overflow(a->second, b->second, &out.second)
                                  : __builtin_sub_overflow(a->first, b->second, &out.first) ||
                                        __builtin_sub_overflow(a->second, b->first, &out.second);
  return wraps ? std::nullopt : std::optional(out);
}
std::optional<std::pair<int64_t, int64_t>> rangeOf(Value number) { return rangeOf(number, 0); }

/// The distance between two numbers, if the second is the first plus a constant.
static std::optional<int64_t> distance(Value from, Value to) {
  auto add = to.getDefiningOp<ir::AddOp>();
  return add && add.getX() == from ? constantInt(add.getY()) : std::nullopt;
}

/// A range whose start depends on the iteration and whose length is constant.
static std::optional<Span> movingSpan(Value from, Value to, int64_t size) {
  auto range = rangeOf(from);
  std::optional<int64_t> count = distance(from, to);
  if (!range || !count || *count < 0 || range->first < 0 || *count > size ||
      range->second > size - *count)
    return std::nullopt;
  return Span{range->first, range->second + *count, range->first == range->second, false, *count};
}

std::optional<Part> partOf(ArrayAttr spec, ValueRange at, ir::TensorType x) {
  std::optional<SmallVector<ir::SpecEntry>> entries = ir::readSpec(spec);
  if (!entries)
    return std::nullopt;
  Part out;
  size_t next = 0;
  for (const ir::SpecEntry &entry : *entries) {
    if (entry.kind == ir::SpecEntry::New || out.size() == x.rank())
      return std::nullopt;
    std::optional<int64_t> size = x.getSizes()[out.size()].constant();
    if (!size)
      return std::nullopt;
    if (entry.kind == ir::SpecEntry::Whole) {
      out.push_back({0, *size, true, false, *size});
      continue;
    }
    if (entry.kind == ir::SpecEntry::Index) {
      auto range = rangeOf(at[next++]);
      if (!range || range->first < 0 || range->second >= *size)
        return std::nullopt;
      out.push_back({range->first, range->second + 1, range->first == range->second, true, 1});
      continue;
    }
    if (entry.step)
      return std::nullopt;
    if (entry.from && entry.to && !constantInt(at[next])) {
      std::optional<Span> span = movingSpan(at[next], at[next + 1], *size);
      if (!span)
        return std::nullopt;
      out.push_back(*span);
      next += 2;
      continue;
    }
    int64_t ends[] = {0, *size};
    for (auto [isGiven, end] : {std::pair(entry.from, &ends[0]), std::pair(entry.to, &ends[1])})
      if (isGiven) {
        std::optional<int64_t> number = constantInt(at[next++]);
        if (!number)
          return std::nullopt;
        *end = *number < 0 ? *number + *size : *number;
      }
    if (ends[0] < 0 || ends[1] < ends[0] || ends[1] > *size)
      return std::nullopt;
    out.push_back({ends[0], ends[1], true, false, ends[1] - ends[0]});
  }
  return out.size() == x.rank() ? std::optional(out) : std::nullopt;
}

/// The sizes of the slice at a region.
static SmallVector<int64_t> sizesOf(ArrayRef<Span> part) {
  SmallVector<int64_t> out;
  for (const Span &span : part)
    if (!span.isOne)
      out.push_back(span.count);
  return out;
}

std::optional<Part> partOf(ir::SliceOp op) {
  std::optional<Part> part = partOf(op.getSpec(), op.getAt(), op.getX().getType());
  if (!part)
    return std::nullopt;
  SmallVector<int64_t> wanted = sizesOf(*part);
  ArrayRef<ir::SizeAttr> has = op.getType().getSizes();
  bool fits =
      wanted.size() == has.size() && llvm::all_of(llvm::zip_equal(wanted, has), [](auto pair) {
        return std::get<1>(pair).constant() == std::get<0>(pair);
      });
  return fits ? part : std::nullopt;
}

std::optional<Part> partOf(ir::UpdateOp op) {
  std::optional<Part> part = partOf(op.getSpec(), op.getAt(), op.getX().getType());
  if (!part)
    return std::nullopt;
  SmallVector<int64_t> wanted = sizesOf(*part);
  ArrayRef<ir::SizeAttr> has = op.getValue().getType().getSizes();
  if (has.size() > wanted.size())
    return std::nullopt;
  for (auto [size, number] : llvm::zip(llvm::reverse(has), llvm::reverse(wanted)))
    if (size.constant() != 1 && size.constant() != number)
      return std::nullopt;
  return part;
}

bool reversesAxes(ir::SliceOp op) {
  std::optional<SmallVector<ir::SpecEntry>> entries = ir::readSpec(op.getSpec());
  size_t next = 0;
  return entries && op.getType() == op.getX().getType() &&
         llvm::all_of(*entries, [&](const ir::SpecEntry &entry) {
           if (entry.kind == ir::SpecEntry::Whole)
             return true;
           return entry.kind == ir::SpecEntry::Range && !entry.from && !entry.to && entry.step &&
                  constantInt(op.getAt()[next++]) == -1;
         });
}

bool areDisjoint(ArrayRef<Span> a, ArrayRef<Span> b) {
  return llvm::any_of(llvm::zip_equal(a, b), [](auto pair) {
    const Span &x = std::get<0>(pair), &y = std::get<1>(pair);
    return x.to <= y.from || y.to <= x.from;
  });
}

} // namespace mx::graph
