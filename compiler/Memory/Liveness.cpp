// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Liveness analysis of buffers over structured control flow, in two passes over the tree of blocks.
// Bottom-up: the reads and writes of each block. Then backwards from the end of the program: the
// live ranges. Each pass visits a block once, so deeply nested loops cost no more than flat code.
#include "Memory/Liveness.h"
#include "Memory/Accesses.h"
#include "Memory/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_PRINTLIVENESS
#include "Memory/Passes.h.inc"

bool intersect(ArrayRef<Segment> a, ArrayRef<Segment> b) {
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i].end < b[k].begin)
      ++i;
    else if (b[k].end < a[i].begin)
      ++k;
    else
      return true;
  }
  return false;
}

Liveness::Liveness(rt::ProgramOp program) {
  program.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    numbers[op] = static_cast<int64_t>(order.size());
    order.push_back(op);
    if (auto slice = dyn_cast<rt::SliceOp>(op))
      tracked.push_back(slice.getResult());
  });
  llvm::append_range(tracked, program.outputArguments());
  for (auto [index, buffer] : llvm::enumerate(tracked))
    indices[buffer] = static_cast<unsigned>(index);
  lives.resize(tracked.size());
  ends.resize(tracked.size());

  Bits atEnd(static_cast<unsigned>(tracked.size()));
  for (BlockArgument output : program.outputArguments())
    atEnd.set(indices[output]);
  mark(program.block(), std::move(atEnd));
  for (auto &list : lives) {
    llvm::sort(list, [](Segment a, Segment b) { return a.begin < b.begin; });
    SmallVector<Segment, 1> joined;
    for (Segment next : list) {
      if (!joined.empty() && next.begin <= joined.back().end + 1)
        joined.back().end = std::max(joined.back().end, next.end);
      else
        joined.push_back(next);
    }
    list = std::move(joined);
  }
  summaries.clear();
  cutBegins(program);
}

/// Stacks are filled part by part, so that they seem live in all code before. A buffer that no op
/// has touched yet holds no value, so its live range starts at the first access.
void Liveness::cutBegins(rt::ProgramOp program) {
  llvm::BitVector seen(static_cast<unsigned>(tracked.size()));
  for (Operation &outer : program.block()) {
    auto touch = [&](unsigned i) {
      if (seen.test(i) || isa<BlockArgument>(tracked[i]))
        return;
      seen.set(i);
      int64_t begin = 2 * number(&outer);
      llvm::erase_if(lives[i], [&](Segment part) { return part.end < begin; });
      if (!lives[i].empty())
        lives[i].front().begin = std::max(lives[i].front().begin, begin);
    };
    outer.walk([&](Operation *op) { visit(op, touch, touch); });
  }
}

std::optional<unsigned> Liveness::indexOf(Value buffer) const {
  auto found = indices.find(buffer);
  return found == indices.end() ? std::nullopt : std::optional(found->second);
}

Span Liveness::span(unsigned buffer) const {
  ArrayRef<Segment> list = lives[buffer];
  return list.empty() ? Span() : Span{list.front().begin / 2, list.back().end / 2};
}

void Liveness::visit(Operation *op, llvm::function_ref<void(unsigned)> read,
                     llvm::function_ref<void(unsigned)> write) const {
  Accesses accesses = accessesOf(op);
  for (Value buffer : accesses.writes)
    if (std::optional<unsigned> index = indexOf(buffer))
      write(*index);
  // A buffer that may be filled only in part must be preserved, so it counts as read here.
  for (ArrayRef<Value> buffers :
       {ArrayRef<Value>(accesses.reads), ArrayRef<Value>(accesses.touched)})
    for (Value buffer : buffers)
      if (std::optional<unsigned> index = indexOf(buffer))
        read(*index);
}

int64_t Liveness::lastInside(Operation *op) const {
  Operation *last = op;
  while (last->getNumRegions() > 0) {
    Operation *inner = nullptr;
    for (Region &region : last->getRegions())
      if (!region.empty() && !region.back().empty())
        inner = &region.back().back();
    if (!inner)
      break;
    last = inner;
  }
  return number(last);
}

// ----------------------------------------------------------------------------- bottom-up summaries

/// `first`, and then `next`.
static void append(llvm::BitVector &read, llvm::BitVector &written, llvm::BitVector nextRead,
                   const llvm::BitVector &nextWritten) {
  read |= nextRead.reset(written);
  written |= nextWritten;
}

Liveness::Summary Liveness::summarise(Block &block) {
  if (auto known = summaries.find(&block); known != summaries.end())
    return known->second;
  auto count = static_cast<unsigned>(tracked.size());
  Summary sum{Bits(count), Bits(count)};
  for (Operation &op : block) {
    if (op.getNumRegions() > 0) {
      Summary inner = summarise(&op);
      append(sum.read, sum.written, std::move(inner.read), inner.written);
      continue;
    }
    SmallVector<unsigned> writes;
    visit(
        &op,
        [&](unsigned i) {
          if (!sum.written[i])
            sum.read.set(i);
        },
        [&](unsigned i) { writes.push_back(i); });
    for (unsigned i : writes)
      sum.written.set(i);
  }
  summaries[&block] = sum;
  return sum;
}

Liveness::Summary Liveness::summarise(Operation *op) {
  auto count = static_cast<unsigned>(tracked.size());
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    Summary test = summarise(loop.getBefore().front()), body = summarise(loop.getAfter().front());
    test.read |= body.read.reset(test.written);
    return test; // the body may not run
  }
  Summary sum{Bits(count), Bits(count)};
  bool isFirst = true;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      Summary inner = summarise(block);
      sum.read |= inner.read;
      if (isFirst)
        sum.written = inner.written;
      else
        sum.written &= inner.written;
      isFirst = false;
    }
  // Only an if with both branches certainly runs one of them.
  bool surely = isa<scf::IfOp>(op) &&
                llvm::none_of(op->getRegions(), [](Region &region) { return region.empty(); });
  if (!surely)
    sum.written.reset();
  return sum;
}

// ------------------------------------------------------------------------------ backward pass

/// `live` is the live-out set of the block; the result is its live-in set.
Liveness::Bits Liveness::mark(Block &block, Bits live) {
  if (block.empty())
    return live;
  for (unsigned i : live.set_bits())
    ends[i] = 2 * number(&block.back()) + 1;
  for (Operation &op : llvm::reverse(block)) {
    int64_t at = 2 * number(&op);
    if (op.getNumRegions() > 0) {
      for (unsigned i : live.set_bits())
        lives[i].push_back({2 * lastInside(&op) + 2, std::max(ends[i], 2 * lastInside(&op) + 2)});
      live = markRegions(&op, live);
      for (unsigned i : live.set_bits())
        ends[i] = at + 1;
      continue;
    }
    visit(
        &op,
        [&](unsigned i) {
          if (!live[i])
            ends[i] = at;
          live.set(i);
        },
        [&](unsigned i) {
          lives[i].push_back({at + 1, live[i] ? ends[i] : at + 1});
          live.reset(i);
        });
  }
  for (unsigned i : live.set_bits())
    lives[i].push_back({2 * number(&block.front()), ends[i]});
  return live;
}

Liveness::Bits Liveness::markRegions(Operation *op, const Bits &after) {
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    Block &test = loop.getBefore().front(), &body = loop.getAfter().front();
    Bits head = summarise(op).read, testEnd = after;
    head |= Bits(after).reset(summarise(test).written);
    // Back edge: the body leads to the test.
    Summary inBody = summarise(body);
    Bits bodyBegin = inBody.read;
    bodyBegin |= Bits(head).reset(inBody.written);
    testEnd |= bodyBegin;
    mark(body, head);
    return mark(test, std::move(testEnd));
  }
  if (isa<scf::IfOp>(op)) {
    Bits begin(static_cast<unsigned>(tracked.size()));
    for (Region &region : op->getRegions())
      begin |= region.empty() ? after : mark(region.front(), after);
    return begin;
  }
  // A loop, or an op treated as one: each block may follow each.
  Bits around = after;
  around |= summarise(op).read;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      mark(block, around);
  return around;
}

// ------------------------------------------------------------------------------ the pass

namespace {

struct PrintLiveness : impl::PrintLivenessBase<PrintLiveness> {
  using Base::Base;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<rt::ProgramOp>()) {
      Liveness liveness(program);
      llvm::outs() << "live in @" << program.getSymName() << "\n";
      for (auto [index, buffer] : llvm::enumerate(liveness.buffers())) {
        llvm::outs() << "  " << (isa<BlockArgument>(buffer) ? "output" : "slice") << " " << index
                     << " " << cast<rt::BufferType>(buffer.getType()).getTensor() << ":";
        for (Segment part : liveness.segments(static_cast<unsigned>(index)))
          llvm::outs() << " " << part.begin / 2 << (part.begin % 2 ? "w" : "r") << "-"
                       << part.end / 2 << (part.end % 2 ? "w" : "r");
        llvm::outs() << "\n";
      }
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mx::memory
