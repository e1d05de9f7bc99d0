// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ReuseInPlace: in-place reuse and copy elision. A call overwrites an operand that it is the last
// to read, and a copied value is computed directly in the copy's destination.
//
// The kernel says which outputs may overwrite which inputs (`overwrites`). Its code must know of
// the aliasing, since it assumes that other buffers do not overlap. So such a call gets its own
// variant of the kernel, and both slices get the same offset. Two slices joined by a copy, whose
// lifetimes overlap only during that copy, become one slice, and the copy is removed. So a value
// that a loop carries and updates in part, such as a stack of states, is updated in place. An
// output for which the caller donates an input is written into that input's memory once the input
// is dead.
#include "Memory/Donation.h"
#include "Memory/Groups.h"
#include "Memory/InPlace.h"
#include "Memory/Passes.h"
#include "dialects/mx/Over.h"
#include "dialects/mxrt/Marks.h"
#include <numeric>

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_REUSEINPLACE
#include "Memory/Passes.h.inc"

ir::KernelOp mayBeInPlace(rt::CallOp call, SymbolTable &symbols) {
  auto kernel = symbols.lookup<rt::KernelOp>(call.getKernel());
  ir::KernelOp inner = kernel ? kernel.kernel() : ir::KernelOp();
  return inner && ir::writesOver(inner).empty() ? inner : ir::KernelOp();
}

namespace {

/// Rounds to whole ops: the reads and the writes of an op are both in use while it runs.
SmallVector<Segment, 1> wholeOps(ArrayRef<Segment> segments) {
  SmallVector<Segment, 1> out;
  for (Segment part : segments)
    out.push_back({part.begin & ~int64_t(1), part.end | 1});
  return joined(out, {});
}

/// Returns whether the points that both have in common all belong to ops in `numbers`.
bool meetOnlyAt(ArrayRef<Segment> a, ArrayRef<Segment> b, const llvm::DenseSet<int64_t> &numbers) {
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    int64_t begin = std::max(a[i].begin, b[k].begin), end = std::min(a[i].end, b[k].end);
    for (int64_t op = begin >> 1; begin <= end && op <= end >> 1; ++op)
      if (!numbers.contains(op))
        return false;
    ++(a[i].end < b[k].end ? i : k);
  }
  return true;
}

class Reuse {
public:
  Reuse(rt::ProgramOp program, SymbolTable &symbols)
      : program(program), symbols(symbols), liveness(program), leaders(liveness.buffers().size()) {
    for (unsigned i = 0; i < leaders.size(); ++i) {
      leaders[i] = i;
      lives.push_back(wholeOps(liveness.segments(i)));
    }
  }

  void run() {
    donate();
    copies.resize(leaders.size());
    for (Operation *op : liveness.ops())
      if (auto copy = dyn_cast<rt::CopyOp>(op))
        if (std::optional<std::pair<unsigned, unsigned>> ends = endsOf(copy))
          for (unsigned end : {ends->first, ends->second})
            copies[end].push_back(copy);
    for (Operation *op : liveness.ops())
      if (auto call = dyn_cast<rt::CallOp>(op))
        visit(call);
    SmallVector<rt::CopyOp> done;
    SmallVector<std::pair<unsigned, unsigned>> same;
    for (Operation *op : liveness.ops())
      if (auto copy = dyn_cast<rt::CopyOp>(op))
        if (std::optional<std::pair<unsigned, unsigned>> ends = endsOf(copy))
          if (makeOne(*ends, same))
            done.push_back(copy);
    for (unsigned i = 0; i < leaders.size(); ++i)
      if (unsigned to = leader(i); to != i)
        sliceAt(i).setOffset(sliceAt(to).getOffset());
    for (rt::CopyOp copy : done)
      copy.erase();
    for (rt::CopyOp copy : needless)
      copy.erase();
    // Without the copy, no op writes the second slice: the two must become one SSA value.
    std::vector<unsigned> names(leaders.size());
    std::iota(names.begin(), names.end(), 0u);
    for (auto [from, to] : same) {
      rt::SliceOp a = sliceAt(names[from]), b = sliceAt(names[to]);
      if (a == b)
        continue;
      // Keeps the first in the block: the definition must dominate all uses.
      if (b->isBeforeInBlock(a))
        std::swap(a, b);
      unsigned kept = *liveness.indexOf(a.getResult()), gone = *liveness.indexOf(b.getResult());
      b.getResult().replaceAllUsesWith(a.getResult());
      for (unsigned &name : names)
        name = name == gone ? kept : name;
    }
  }

private:
  rt::ProgramOp program;
  SymbolTable &symbols;
  Liveness liveness;
  /// Of calls: the indices of the input and the output that alias one argument.
  llvm::DenseMap<Operation *, SmallVector<std::pair<unsigned, unsigned>, 1>> donated;
  SmallVector<rt::CopyOp> needless;
  std::vector<unsigned> leaders;
  std::vector<SmallVector<Segment, 1>> lives;     ///< of each leader
  std::vector<SmallVector<rt::CopyOp, 1>> copies; ///< of each leader: copies from it and to it

  /// Finds outputs that can reuse the memory of a donated input.
  void donate() {
    std::vector<int64_t> over(program.outputArguments().size(), -1);
    for (const Donated &pair : possibleDonations(program)) {
      Value from = program.inputArguments()[pair.input],
            to = program.outputArguments()[pair.output];
      if (auto call = dyn_cast_or_null<rt::CallOp>(pair.meets)) {
        auto read = llvm::find(call.getReads(), from) - call.getReads().begin();
        auto written = llvm::find(call.getWrites(), to) - call.getWrites().begin();
        ir::KernelOp kernel = mayBeInPlace(call, symbols);
        if (llvm::count(call.getReads(), from) != 1 || !kernel ||
            written >= static_cast<int64_t>(kernel.getNumResults()) ||
            !llvm::is_contained(kernel.mayOverwrite(static_cast<unsigned>(written)), read))
          continue;
        donated[call].push_back({static_cast<unsigned>(read), static_cast<unsigned>(written)});
      } else if (auto copy = dyn_cast_or_null<rt::CopyOp>(pair.meets)) {
        if (copy.getFrom() != from || copy.getTo() != to)
          continue;
        needless.push_back(copy);
      }
      over[pair.output] = pair.input;
    }
    if (llvm::any_of(over, [](int64_t input) { return input >= 0; }))
      program->setAttr(rt::kOverInputs, DenseI64ArrayAttr::get(program.getContext(), over));
  }

  /// The two slices of a copy that could be merged.
  std::optional<std::pair<unsigned, unsigned>> endsOf(rt::CopyOp copy) {
    std::optional<unsigned> from = liveness.indexOf(copy.getFrom()),
                            to = liveness.indexOf(copy.getTo());
    if (!from || !to || !sliceAt(*from) || !sliceAt(*to) ||
        copy.getFrom().getType() != copy.getTo().getType() ||
        sliceAt(*from).getBytes() != sliceAt(*to).getBytes())
      return std::nullopt;
    return std::pair(*from, *to);
  }
  /// The copies between the two, during which both may be live although they share memory.
  llvm::DenseSet<int64_t> copiesBetween(unsigned first, unsigned second) {
    llvm::DenseSet<int64_t> out;
    for (rt::CopyOp copy : copies[first]) {
      std::pair<unsigned, unsigned> ends = *endsOf(copy);
      unsigned from = leader(ends.first), to = leader(ends.second);
      if ((from == first && to == second) || (from == second && to == first))
        out.insert(liveness.number(copy));
    }
    return out;
  }
  void unite(unsigned first, unsigned second) {
    leaders[first] = second;
    lives[second] = joined(lives[first], lives[second]);
    llvm::append_range(copies[second], copies[first]);
  }
  bool makeOne(std::pair<unsigned, unsigned> ends,
               SmallVectorImpl<std::pair<unsigned, unsigned>> &same) {
    unsigned first = leader(ends.first), second = leader(ends.second);
    if (first != second) {
      if (!meetOnlyAt(lives[first], lives[second], copiesBetween(first, second)))
        return false;
      unite(first, second);
    }
    same.push_back(ends);
    return true;
  }

  rt::SliceOp sliceAt(unsigned index) {
    return liveness.buffers()[index].getDefiningOp<rt::SliceOp>();
  }
  unsigned leader(unsigned index) {
    while (leaders[index] != index)
      index = leaders[index] = leaders[leaders[index]];
    return index;
  }

  void visit(rt::CallOp call) {
    ir::KernelOp kernel = mayBeInPlace(call, symbols);
    if (!kernel)
      return;
    SmallVector<int64_t> over(kernel.getNumResults(), -1);
    for (auto [input, output] : donated.lookup(call))
      over[output] = input;
    for (unsigned output = 0; output < over.size(); ++output)
      for (int64_t input : kernel.mayOverwrite(output))
        if (over[output] < 0 && !llvm::is_contained(over, input) &&
            take(call, static_cast<unsigned>(input), output))
          over[output] = input;
    if (llvm::any_of(over, [](int64_t input) { return input >= 0; }))
      call.setKernel(variant(cast<rt::KernelOp>(kernel->getParentOp()), over).getSymName());
  }

  /// Lets both share memory if their lifetimes allow it.
  bool take(rt::CallOp call, unsigned input, unsigned output) {
    Value from = call.getReads()[input], to = call.getWrites()[output];
    std::optional<unsigned> a = liveness.indexOf(from), b = liveness.indexOf(to);
    if (!a || !b || !sliceAt(*a) || !sliceAt(*b) || llvm::count(call.getReads(), from) != 1 ||
        sliceAt(*a).getBytes() != sliceAt(*b).getBytes())
      return false;
    int64_t number = liveness.number(call);
    unsigned first = leader(*a), second = leader(*b);
    if (first == second)
      return false;
    llvm::DenseSet<int64_t> allowed = copiesBetween(first, second);
    allowed.insert(number);
    if (!meetOnlyAt(lives[first], lives[second], allowed))
      return false;
    auto covers = [&](unsigned buffer, int64_t point) {
      return intersect(liveness.segments(buffer), Segment{point, point});
    };
    if (covers(*a, 2 * number + 1) || covers(*b, 2 * number))
      return false;
    unite(first, second);
    return true;
  }

  rt::KernelOp variant(rt::KernelOp kernel, ArrayRef<int64_t> over) {
    std::string name = kernel.getSymName().str() + "_over";
    for (int64_t input : over)
      name += input < 0 ? "_none" : "_" + std::to_string(input);
    if (auto made = symbols.lookup<rt::KernelOp>(name))
      return made;
    rt::KernelOp copy = kernel.clone();
    copy.setSymName(name);
    copy.kernel()->setAttr(ir::kOver, DenseI64ArrayAttr::get(copy.getContext(), over));
    symbols.insert(copy, std::next(kernel->getIterator()));
    return copy;
  }
};

struct ReuseInPlace : impl::ReuseInPlaceBase<ReuseInPlace> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto program : llvm::make_early_inc_range(module.getOps<rt::ProgramOp>()))
      Reuse(program, symbols).run();
    // Kernels whose calls are all in place are not needed in their original form.
    llvm::DenseSet<StringRef> called;
    module.walk([&](rt::CallOp call) { called.insert(call.getKernel()); });
    for (auto kernel : llvm::make_early_inc_range(module.getOps<rt::KernelOp>()))
      if (!called.contains(kernel.getSymName()))
        kernel.erase();
  }
};

} // namespace
} // namespace mx::memory
