// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups slices that share memory (union-find over in-place calls).
#include "Memory/Groups.h"
#include "dialects/mx/Over.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;

namespace mx::memory {

StringAttr Group::device() const { return rt::SliceOp(slices.front()).getType().getDevice(); }

int64_t Group::bytes() const {
  int64_t largest = 0;
  for (rt::SliceOp slice : slices)
    largest = std::max<int64_t>(largest, slice.getBytes());
  return largest;
}

Span Group::span() const {
  return segments.empty() ? Span() : Span{segments.front().begin / 2, segments.back().end / 2};
}

SmallVector<Segment, 1> joined(ArrayRef<Segment> a, ArrayRef<Segment> b) {
  SmallVector<Segment, 1> all(a), out;
  llvm::append_range(all, b);
  llvm::sort(all, [](Segment x, Segment y) { return x.begin < y.begin; });
  for (Segment next : all) {
    if (!out.empty() && next.begin <= out.back().end + 1)
      out.back().end = std::max(out.back().end, next.end);
    else
      out.push_back(next);
  }
  return out;
}

SmallVector<std::pair<unsigned, unsigned>> takenOver(rt::CallOp call) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(call, call.getKernelAttr());
  if (ir::KernelOp inner = kernel ? kernel.kernel() : ir::KernelOp())
    for (auto [output, input] : llvm::enumerate(ir::writesOver(inner)))
      if (input >= 0)
        pairs.push_back({static_cast<unsigned>(input), static_cast<unsigned>(output)});
  return pairs;
}

Groups::Groups(rt::ProgramOp program, const Liveness &liveness) {
  auto count = static_cast<unsigned>(liveness.buffers().size());
  llvm::IntEqClasses classes(count);
  // Many calls share a kernel, and the symbol lookup is not cheap.
  llvm::DenseMap<Attribute, SmallVector<std::pair<unsigned, unsigned>>> known;
  for (Operation *op : liveness.ops()) {
    auto call = dyn_cast<rt::CallOp>(op);
    if (!call)
      continue;
    auto [found, isNew] = known.try_emplace(call.getKernelAttr());
    if (isNew)
      found->second = takenOver(call);
    for (auto [input, output] : found->second) {
      std::optional<unsigned> from = liveness.indexOf(call.getReads()[input]);
      std::optional<unsigned> to = liveness.indexOf(call.getWrites()[output]);
      if (from && to)
        classes.join(*from, *to);
    }
  }
  classes.compress();
  llvm::DenseMap<unsigned, size_t> at;
  for (unsigned i = 0; i < count; ++i) {
    auto slice = liveness.buffers()[i].getDefiningOp<rt::SliceOp>();
    if (!slice)
      continue;
    auto [position, isNew] = at.try_emplace(classes[i], groups.size());
    if (isNew)
      groups.emplace_back();
    Group &group = groups[position->second];
    group.slices.push_back(slice);
    llvm::append_range(group.segments, liveness.segments(i));
  }
  for (Group &group : groups)
    group.segments = joined(group.segments, {});
}

} // namespace mx::memory
