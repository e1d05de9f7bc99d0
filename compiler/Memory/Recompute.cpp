// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recompute: rematerialisation. Drops values and recomputes them later to lower peak memory.
//
// A call is deterministic: it writes the same bytes whenever it reads the same. It can rerun as
// long as its inputs are in memory or can be recomputed. A value can be dropped if one call of a
// block computes it for others of that block; Dropping chooses. A loop or a branch is one task,
// which needs the peak memory of its own blocks; where that is too much, those blocks are
// rematerialised as well.
#include "Memory/Recompute.h"
#include "Memory/Accesses.h"
#include "Memory/Dropping.h"
#include "Memory/InPlace.h"
#include "Memory/Passes.h"
#include "Memory/Work.h"
#include "dialects/mxrt/Marks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_RECOMPUTE
#include "Memory/Passes.h.inc"

namespace {

/// Fractions of the budget to try for inner blocks that need more.
constexpr double kInnerShares[] = {0.75, 0.5, 0.35, 0.25, 0.15, 0.1};
/// Fractions of the peak: resolution of the budget search, and the minimal gain.
constexpr int64_t kCheapSteps = 64, kCheapGain = 20;
/// Ladder of budgets: ratio between rungs, and the number of consecutive misses that end it.
constexpr double kRung = 0.96;
constexpr int kMaxMisses = 4;

struct Shared {
  Shared(rt::ProgramOp program, const TargetInfo &target)
      : operationsPerByte(target.operationsPerByte), program(program),
        symbols(program->getParentOfType<ModuleOp>()), work(program) {}
  double operationsPerByte; ///< combines operations and bytes into one cost
  rt::ProgramOp program;
  SymbolTable symbols;
  OpWork work;
};

int64_t bytesOf(Value buffer) {
  auto slice = buffer.getDefiningOp<rt::SliceOp>();
  return slice ? static_cast<int64_t>(llvm::alignTo(slice.getBytes(), rt::kAlignment)) : 0;
}

/// One block as a problem for Dropping, and the solution turned back into ops.
class BlockPlan {
public:
  BlockPlan(Block &block, Shared &shared) : block(block), shared(shared) {
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    findAccesses();
    findValues();
    makeTasks();
  }

  int64_t plainPeak() const { return peakOf(problem); }
  /// Lower bound of the peak: a call's reads and writes are in memory at the same time.
  int64_t minPeak() const {
    int64_t largest = 0;
    for (const Task &task : problem.tasks)
      for (const std::vector<uint32_t> *values : {&task.reads, &task.writes}) {
        int64_t bytes = 0;
        for (uint32_t v : *values)
          bytes += problem.bytes[v];
        largest = std::max(largest, bytes);
      }
    return largest;
  }
  /// Of the schedule found by fit().
  int64_t chosenPeak() const { return chosen->peak; }

  /// Finds a schedule, with rematerialisation in inner blocks if there is none otherwise.
  bool fit(int64_t budget) {
    for (auto &inner : inners)
      inner.plan->chosen.reset();
    if ((chosen = dropToFit(problem, budget)))
      return true;
    for (double share : kInnerShares) {
      auto limit = static_cast<int64_t>(share * double(budget));
      Schedulable smaller = problem;
      bool isSmaller = false;
      for (auto &inner : inners) {
        int64_t &extra = smaller.tasks[inner.task].extra;
        if (inner.peak <= limit || !inner.plan->fit(limit))
          continue;
        // The op's other blocks keep their peaks.
        int64_t now = 0;
        for (auto &other : inners)
          if (other.task == inner.task)
            now = std::max(now, other.plan->chosen ? other.plan->chosen->peak : other.peak);
        isSmaller |= now < extra;
        extra = now;
      }
      if (isSmaller && (chosen = dropToFit(smaller, budget)))
        return true;
    }
    return false;
  }

  /// Forbids rerunning compute-bound calls and the calls of inner blocks.
  void makeCheap() {
    for (auto [task, op] : llvm::zip_equal(problem.tasks, ops))
      task.canRepeat &= task.cost <= 2 * shared.operationsPerByte * shared.work.bytes(op);
    inners.clear();
  }

  /// The smallest budget whose reruns cost at most `maxCost` (binary search).
  int64_t minBudgetFor(double maxCost) {
    int64_t plain = plainPeak(), high = plain, low = 0;
    while (high - low > plain / kCheapSteps + rt::kAlignment) {
      int64_t middle = low + (high - low) / 2;
      std::optional<Rerun> found = dropToFit(problem, middle);
      (found && found->cost <= maxCost ? high : low) = middle;
    }
    return high;
  }

  /// Applies the schedule found by fit().
  void apply() {
    for (auto &inner : inners)
      if (inner.plan->chosen)
        inner.plan->apply();
    std::vector<bool> wasRun(ops.size(), false);
    llvm::DenseMap<Value, Value> latest;
    Operation *end = block.getTerminator();
    for (uint32_t task : chosen->order) {
      Operation *op = ops[task];
      if (wasRun[task]) {
        op = op->clone();
        end->getBlock()->getOperations().insert(end->getIterator(), op);
        op->setAttr(rt::kRecomputed, UnitAttr::get(op->getContext()));
        redirectReads(op, latest);
        for (uint32_t v : problem.tasks[task].writes)
          redirectWrite(op, buffers[v], latest);
        continue;
      }
      op->moveBefore(end);
      wasRun[task] = true;
      redirectReads(op, latest);
    }
  }

private:
  struct Inner {
    uint32_t task;
    std::unique_ptr<BlockPlan> plan;
    int64_t peak;
  };
  struct Use {
    SmallVector<Value, 4> reads, writes;
    bool isPartial = false; ///< may write a part, or in a nested block
  };

  Block &block;
  Shared &shared;
  std::vector<Operation *> ops;
  std::vector<Use> uses;
  std::vector<Value> buffers; ///< of each value
  llvm::DenseMap<Value, uint32_t> indices;
  Schedulable problem;
  std::vector<Inner> inners;
  std::optional<Rerun> chosen;

  void findAccesses() {
    for (Operation *op : ops) {
      Use use;
      llvm::SmallSetVector<Value, 8> reads, writes;
      use.isPartial = op->getNumRegions() > 0;
      op->walk([&](Operation *inner) {
        Accesses accesses = accessesOf(inner);
        reads.insert(accesses.reads.begin(), accesses.reads.end());
        writes.insert(accesses.writes.begin(), accesses.writes.end());
        if (inner == op || !isa<rt::SliceOp>(inner)) {
          reads.insert(accesses.touched.begin(), accesses.touched.end());
          writes.insert(accesses.touched.begin(), accesses.touched.end());
          use.isPartial |= !accesses.touched.empty();
        }
      });
      use.reads.assign(reads.begin(), reads.end());
      use.writes.assign(writes.begin(), writes.end());
      uses.push_back(std::move(use));
    }
  }

  /// A buffer that only an inner block uses is handled in that block.
  bool isInside(Operation *op, Value buffer) {
    if (op->getNumRegions() == 0 || !buffer.getDefiningOp<rt::SliceOp>())
      return false;
    Block *inner = nullptr;
    for (Operation *user : buffer.getUsers()) {
      Operation *at = user;
      while (at && at->getParentOp() != op)
        at = at->getParentOp();
      if (!at || (inner && inner != at->getBlock()))
        return false;
      inner = at->getBlock();
    }
    return inner && beginsWithWrite(*inner, buffer);
  }
  static bool beginsWithWrite(Block &inner, Value buffer) {
    for (Operation &op : inner) {
      bool reads = false, writes = false;
      op.walk([&](Operation *part) {
        Accesses accesses = accessesOf(part);
        reads |= llvm::is_contained(accesses.reads, buffer) ||
                 llvm::is_contained(accesses.touched, buffer);
        writes |= llvm::is_contained(accesses.writes, buffer);
      });
      if (reads || writes)
        return writes && !reads && op.getNumRegions() == 0;
    }
    return false;
  }

  void findValues() {
    for (uint32_t task = 0; task < ops.size(); ++task) {
      auto keep = [&](Value buffer) { return !isInside(ops[task], buffer); };
      for (SmallVector<Value, 4> *list : {&uses[task].reads, &uses[task].writes}) {
        llvm::erase_if(*list, [&](Value buffer) { return !keep(buffer); });
        for (Value buffer : *list)
          if (indices.try_emplace(buffer, static_cast<uint32_t>(buffers.size())).second)
            buffers.push_back(buffer);
      }
    }
    problem.bytes.resize(buffers.size());
    problem.isHeld.assign(buffers.size(), false);
    for (uint32_t v = 0; v < buffers.size(); ++v) {
      bool isLocal = buffers[v].getDefiningOp<rt::SliceOp>() &&
                     llvm::all_of(buffers[v].getUsers(), [&](Operation *user) {
                       return block.findAncestorOpInBlock(*user);
                     });
      // Buffers of other blocks stay in memory in any case, and so are not counted here.
      problem.bytes[v] = isLocal ? bytesOf(buffers[v]) : 0;
      problem.isHeld[v] = !isLocal;
    }
  }

  void makeTasks() {
    std::vector<uint32_t> writers(buffers.size(), 0), lastWriter(buffers.size(), 0),
        firstRead(buffers.size(), UINT32_MAX);
    for (uint32_t task = 0; task < ops.size(); ++task) {
      for (Value buffer : uses[task].reads)
        firstRead[indices[buffer]] = std::min(firstRead[indices[buffer]], task);
      for (Value buffer : uses[task].writes) {
        ++writers[indices[buffer]];
        lastWriter[indices[buffer]] = task;
      }
    }
    // The buffer is not written again once it was read.
    auto isStable = [&](Value buffer) {
      uint32_t v = indices[buffer];
      return writers[v] == 0 || (writers[v] == 1 && lastWriter[v] < firstRead[v]);
    };
    for (uint32_t task = 0; task < ops.size(); ++task) {
      Task out;
      const Use &use = uses[task];
      for (Value buffer : use.reads)
        out.reads.push_back(indices[buffer]);
      for (Value buffer : use.writes)
        out.writes.push_back(indices[buffer]);
      Operation *op = ops[task];
      auto isOnce = [&](Value buffer) { return writers[indices[buffer]] == 1; };
      out.canRepeat = isa<rt::CallOp, rt::CopyOp>(op) && !use.isPartial &&
                      llvm::all_of(use.reads, isStable) && llvm::all_of(use.writes, isOnce) &&
                      llvm::all_of(use.writes, isStable);
      out.cost = shared.operationsPerByte * shared.work.bytes(op);
      if (auto call = dyn_cast<rt::CallOp>(op)) {
        out.cost += shared.work.operations(call);
        if (ir::KernelOp kernel = mayBeInPlace(call, shared.symbols))
          for (unsigned output = 0; output < kernel.getNumResults(); ++output)
            for (int64_t input : kernel.mayOverwrite(output))
              out.over.push_back(
                  {indices[call.getWrites()[output]], indices[call.getReads()[input]]});
      }
      for (Region &region : op->getRegions())
        for (Block &inside : region) {
          auto plan = std::make_unique<BlockPlan>(inside, shared);
          int64_t peak = plan->plainPeak();
          out.extra = std::max(out.extra, peak);
          inners.push_back({task, std::move(plan), peak});
        }
      problem.tasks.push_back(std::move(out));
    }
  }

  static void redirectReads(Operation *op, const llvm::DenseMap<Value, Value> &latest) {
    op->walk([&](Operation *inner) {
      auto redirect = [&](OpOperand &operand) {
        if (Value now = latest.lookup(operand.get()))
          operand.set(now);
      };
      if (auto call = dyn_cast<rt::CallOp>(inner)) {
        for (OpOperand &read : call.getReadsMutable())
          redirect(read);
      } else if (auto copy = dyn_cast<rt::CopyOp>(inner)) {
        redirect(copy.getFromMutable());
      } else if (!isa<rt::StoreOp>(inner)) {
        for (OpOperand &operand : inner->getOpOperands())
          redirect(operand);
      }
    });
  }

  /// A rerun writes to a new slice; later reads use that slice.
  void redirectWrite(Operation *op, Value buffer, llvm::DenseMap<Value, Value> &latest) {
    Value room = newSlice(cast<rt::BufferType>(buffer.getType()), op->getLoc());
    auto redirect = [&](OpOperand &operand) {
      if (operand.get() == buffer)
        operand.set(room);
    };
    if (auto call = dyn_cast<rt::CallOp>(op))
      for (OpOperand &write : call.getWritesMutable())
        redirect(write);
    else
      redirect(cast<rt::CopyOp>(op).getToMutable());
    if (buffer.getDefiningOp<rt::SliceOp>())
      latest[buffer] = room;
  }

  /// Appends a slice to the end of the arena, until it is packed.
  Value newSlice(rt::BufferType type, Location loc) {
    rt::ProgramOp program = shared.program;
    OpBuilder b(program.getContext());
    b.setInsertionPointToStart(&program.block());
    int64_t bytes = rt::largestBytes(type.getTensor(), program.bounds()).value_or(0);
    SmallVector<Attribute> arenas;
    int64_t offset = 0;
    bool isKnown = false;
    for (auto arena : program.getArenas().getAsRange<rt::ArenaAttr>()) {
      if (arena.getDevice() == type.getDevice()) {
        offset = static_cast<int64_t>(llvm::alignTo(arena.getBytes(), rt::kAlignment));
        arena = rt::ArenaAttr::get(b.getContext(), arena.getDevice(), offset + bytes);
        isKnown = true;
      }
      arenas.push_back(arena);
    }
    if (!isKnown)
      arenas.push_back(rt::ArenaAttr::get(b.getContext(), type.getDevice(), bytes));
    program.setArenasAttr(b.getArrayAttr(arenas));
    return rt::SliceOp::create(b, loc, type, offset, bytes);
  }
};

bool hasOneDevice(rt::ProgramOp program) { return program.getArenas().size() <= 1; }

struct Recompute : impl::RecomputeBase<Recompute> {
  using Base::Base;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<rt::ProgramOp>())
      if (percent > 0) {
        if (std::optional<int64_t> minBudget = cheapBudget(program, {}, percent))
          recomputeCheap(program, {}, *minBudget);
      } else if (!recompute(program, {}, budget)) {
        program.emitRemark() << "no way was found to use at most " << int64_t(budget)
                             << " bytes at once";
      }
  }
};

} // namespace

bool recompute(rt::ProgramOp program, const TargetInfo &target, int64_t budget) {
  if (!hasOneDevice(program))
    return false;
  Shared shared(program, target);
  BlockPlan plan(program.block(), shared);
  if (!plan.fit(budget))
    return false;
  plan.apply();
  return true;
}

std::optional<int64_t> cheapBudget(rt::ProgramOp program, const TargetInfo &target,
                                   double percent) {
  if (!hasOneDevice(program))
    return std::nullopt;
  Shared shared(program, target);
  BlockPlan plan(program.block(), shared);
  plan.makeCheap();
  Work work = workOf(program);
  double all = double(work.operations) + target.operationsPerByte * double(work.bytes);
  int64_t plain = plan.plainPeak(), minBudget = plan.minBudgetFor(all * percent / 100);
  return minBudget <= plain - plain / kCheapGain ? std::optional(minBudget) : std::nullopt;
}

bool recomputeCheap(rt::ProgramOp program, const TargetInfo &target, int64_t budget) {
  Shared shared(program, target);
  BlockPlan plan(program.block(), shared);
  plan.makeCheap();
  if (!plan.fit(budget))
    return false;
  plan.apply();
  return true;
}

struct BudgetLadder::State {
  State(rt::ProgramOp program, const TargetInfo &target)
      : shared(program, target), plan(program.block(), shared),
        budget(hasOneDevice(program) ? plan.plainPeak() : 0), floor(plan.minPeak()) {}
  Shared shared;
  BlockPlan plan;
  int64_t budget; ///< the last budget tried
  int64_t floor;
};

BudgetLadder::BudgetLadder(rt::ProgramOp program, const TargetInfo &target)
    : state(std::make_unique<State>(program, target)) {}
BudgetLadder::~BudgetLadder() = default;

std::optional<BudgetLadder::Rung> BudgetLadder::next() {
  for (int misses = 0; misses < kMaxMisses; ++misses) {
    state->budget =
        static_cast<int64_t>(double(state->budget) * kRung) / rt::kAlignment * rt::kAlignment;
    if (state->budget < std::max<int64_t>(state->floor, 1))
      break;
    if (!state->plan.fit(state->budget))
      continue;
    // Any budget down to the peak leads to the same schedule.
    Rung out{state->budget, state->plan.chosenPeak()};
    while (double(state->budget) * kRung >= double(out.peak + rt::kAlignment))
      state->budget =
          static_cast<int64_t>(double(state->budget) * kRung) / rt::kAlignment * rt::kAlignment;
    return out;
  }
  state->budget = 0;
  return std::nullopt;
}

} // namespace mx::memory
