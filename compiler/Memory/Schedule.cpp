// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedule: reorders independent ops to lower peak memory.
//
// Greedy list scheduling, block by block. The next op is the ready one that frees the most or needs
// the least memory; ties go to the first in the source. If that order is worse than the source
// order, the source order stays.
#include "Memory/Schedule.h"
#include "Memory/Accesses.h"
#include "Memory/Donation.h"
#include "Memory/Passes.h"
#include "dialects/mxrt/Marks.h"
#include "dialects/mx/Kernels.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>
#include <set>

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_SCHEDULE
#include "Memory/Passes.h.inc"

namespace {

/// Above this limit a block keeps its order: planning must not take longer than the program.
constexpr int64_t kMaxSteps = 50'000'000;

struct Unit {
  Operation *op;
  SmallVector<unsigned, 4> uses;   ///< slices of this block, each once
  SmallVector<unsigned, 4> before; ///< units that must come first
  SmallVector<unsigned, 4> after;
};

class BlockScheduler {
public:
  BlockScheduler(Block &block, SymbolTable &symbols, llvm::DenseMap<Attribute, bool> &plain,
                 const llvm::DenseMap<Value, Value> &given)
      : block(block), symbols(symbols), plain(plain), given(given) {}

  bool run() {
    for (Operation &op : block.without_terminator())
      units.push_back({&op, {}, {}, {}});
    if (units.size() < 3)
      return false;
    findOrder();
    findSlices();
    SmallVector<unsigned> source(units.size());
    std::iota(source.begin(), source.end(), 0u);
    std::optional<SmallVector<unsigned>> better = greedy();
    if (!better || peakOf(*better) >= peakOf(source))
      return false;
    for (unsigned index : *better)
      units[index].op->moveBefore(&block, block.without_terminator().end());
    return true;
  }

private:
  Block &block;
  SymbolTable &symbols;
  llvm::DenseMap<Attribute, bool> &plain;    ///< of kernels: cannot fail
  const llvm::DenseMap<Value, Value> &given; ///< of outputs: inputs that the caller donates
  std::vector<Unit> units;
  std::vector<int64_t> bytes;     ///< of slices that are local to this block
  std::vector<unsigned> useCount; ///< of each: the number of units that use it
  int64_t steps = 0;

  void precede(unsigned first, unsigned second) {
    if (first == second || llvm::is_contained(units[second].before, first))
      return;
    units[second].before.push_back(first);
    units[first].after.push_back(second);
  }

  /// Visits all accesses of an op and of the ops nested in it.
  static void forAllAccesses(Operation *op, llvm::function_ref<void(Value, bool write)> seen) {
    op->walk([&](Operation *inner) {
      Accesses accesses = accessesOf(inner);
      for (Value buffer : accesses.reads)
        seen(buffer, false);
      for (ArrayRef<Value> buffers :
           {ArrayRef<Value>(accesses.writes), ArrayRef<Value>(accesses.touched)})
        for (Value buffer : buffers)
          seen(buffer, true);
    });
  }

  void forAllWritten(Operation *op, llvm::function_ref<void(Value)> seen) {
    forAllAccesses(op, [&](Value buffer, bool write) {
      if (!write)
        return;
      seen(buffer);
      if (Value input = given.lookup(buffer))
        seen(input);
    });
  }

  bool keepsOrder(Operation *op) {
    bool found = false;
    op->walk([&](Operation *inner) {
      if (auto call = dyn_cast<rt::CallOp>(inner)) {
        auto [known, isNew] = plain.try_emplace(call.getKernelAttr(), false);
        // The caller sees the first error of a program.
        if (auto kernel = symbols.lookup<rt::KernelOp>(call.getKernel());
            isNew && kernel && kernel.kernel())
          known->second = ir::neverFails(kernel.kernel());
        found |= !known->second;
      } else if (inner->getNumRegions() == 0 && !inner->hasTrait<OpTrait::IsTerminator>()) {
        found |= !isa<rt::CopyOp, rt::LoadOp, rt::StoreOp>(inner) && !isPure(inner) &&
                 !isa<rt::SlotOp>(inner);
      } else if (inner->getNumRegions() > 0) {
        found = true; // a loop may not end
      }
    });
    return found;
  }

  void findOrder() {
    struct History {
      std::optional<unsigned> writer;
      SmallVector<unsigned, 4> readers; ///< since the last write
    };
    llvm::DenseMap<Value, History> buffers;
    llvm::DenseMap<Operation *, unsigned> indices;
    std::optional<unsigned> lastOrdered;
    for (unsigned n = 0; n < units.size(); ++n) {
      Operation *op = units[n].op;
      indices[op] = n;
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *maker = operand.getDefiningOp())
            if (auto found = indices.find(maker); found != indices.end())
              precede(found->second, n);
      });
      if (keepsOrder(op)) {
        if (lastOrdered)
          precede(*lastOrdered, n);
        lastOrdered = n;
      }
      // Reads first: an op may read the buffer it writes. An input donated for an output counts as
      // written with it, so that donation stays possible.
      forAllAccesses(op, [&](Value buffer, bool write) {
        History &history = buffers[buffer];
        if (!write && history.writer)
          precede(*history.writer, n);
        if (!write && (history.readers.empty() || history.readers.back() != n))
          history.readers.push_back(n);
      });
      forAllWritten(op, [&](Value buffer) {
        History &history = buffers[buffer];
        if (history.writer)
          precede(*history.writer, n);
        for (unsigned reader : history.readers)
          precede(reader, n);
        history.writer = n;
        history.readers.clear();
      });
    }
  }

  /// Slices that are first written and last read in this block: the order does not matter for the
  /// others.
  void findSlices() {
    llvm::MapVector<Value, SmallVector<unsigned>> users;
    llvm::DenseSet<Value> readFirst;
    for (unsigned n = 0; n < units.size(); ++n)
      forAllAccesses(units[n].op, [&](Value buffer, bool write) {
        if (!buffer.getDefiningOp<rt::SliceOp>())
          return;
        SmallVector<unsigned> &list = users[buffer];
        if (list.empty() && !write)
          readFirst.insert(buffer);
        if (list.empty() || list.back() != n)
          list.push_back(n);
      });
    for (auto &[buffer, list] : users) {
      bool isInside = llvm::all_of(
          buffer.getUsers(), [&](Operation *user) { return block.findAncestorOpInBlock(*user); });
      if (!isInside || readFirst.contains(buffer))
        continue;
      auto slice = buffer.getDefiningOp<rt::SliceOp>();
      auto index = static_cast<unsigned>(bytes.size());
      bytes.push_back(static_cast<int64_t>(llvm::alignTo(slice.getBytes(), rt::kAlignment)));
      useCount.push_back(static_cast<unsigned>(list.size()));
      for (unsigned n : list)
        units[n].uses.push_back(index);
    }
  }

  int64_t peakOf(ArrayRef<unsigned> order) const {
    std::vector<unsigned> left = useCount;
    int64_t now = 0, peak = 0;
    for (unsigned n : order) {
      for (unsigned slice : units[n].uses)
        if (left[slice] == useCount[slice])
          now += bytes[slice];
      peak = std::max(peak, now);
      for (unsigned slice : units[n].uses)
        if (--left[slice] == 0)
          now -= bytes[slice];
    }
    return peak;
  }

  std::optional<SmallVector<unsigned>> greedy() {
    std::vector<unsigned> left = useCount, waits;
    std::set<unsigned> ready;
    for (unsigned n = 0; n < units.size(); ++n) {
      waits.push_back(static_cast<unsigned>(units[n].before.size()));
      if (waits[n] == 0)
        ready.insert(n);
    }
    SmallVector<unsigned> out;
    while (!ready.empty()) {
      std::optional<unsigned> best;
      int64_t bestChange = 0;
      for (unsigned n : ready) {
        int64_t change = 0;
        for (unsigned slice : units[n].uses)
          change += (left[slice] == useCount[slice] ? bytes[slice] : 0) -
                    (left[slice] == 1 ? bytes[slice] : 0);
        steps += 1 + static_cast<int64_t>(units[n].uses.size());
        if (!best || change < bestChange) {
          best = n;
          bestChange = change;
        }
        if (units[n].uses.empty())
          break; // costs nothing, and others may wait for it
      }
      if (steps > kMaxSteps)
        return std::nullopt;
      ready.erase(*best);
      out.push_back(*best);
      for (unsigned slice : units[*best].uses)
        --left[slice];
      for (unsigned next : units[*best].after)
        if (--waits[next] == 0)
          ready.insert(next);
    }
    return out;
  }
};

struct Schedule : impl::ScheduleBase<Schedule> {
  using Base::Base;

  void runOnOperation() override {
    bool changed = false;
    for (auto program : getOperation().getOps<rt::ProgramOp>())
      changed |= schedule(program);
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace

bool schedule(rt::ProgramOp program) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  llvm::DenseMap<Attribute, bool> plain;
  llvm::DenseMap<Value, Value> given;
  if (auto inputs = program->getAttrOfType<DenseI64ArrayAttr>(rt::kGiven))
    for (auto [output, input] : llvm::zip(program.outputArguments(), inputs.asArrayRef()))
      if (input >= 0)
        given[output] = program.inputArguments()[input];
  SmallVector<Block *> blocks;
  program->walk([&](Block *block) { blocks.push_back(block); });
  bool changed = false;
  for (Block *block : blocks)
    changed |= BlockScheduler(*block, symbols, plain, given).run();
  return changed;
}

} // namespace mx::memory
