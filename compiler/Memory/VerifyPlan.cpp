// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VerifyPlan: a dataflow analysis that proves that every read sees the value written for it.
//
// The state at a program point is the set of intact slices: their memory holds the value last
// written through them. A write makes its slice intact and clobbers all slices that overlap it.
// Where paths meet, a slice is intact if it is intact on each. A slice never written on a path
// holds no value there, so that path does not count.
#include "Memory/Accesses.h"
#include "Memory/Donation.h"
#include "Memory/Groups.h"
#include "Memory/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include <set>

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_VERIFYPLAN
#include "Memory/Passes.h.inc"

namespace {

struct Extent {
  Attribute device;
  int64_t begin, end;
  bool overlaps(const Extent &other) const {
    return device == other.device && begin < other.end && other.begin < end;
  }
};

struct State {
  std::set<std::pair<int64_t, unsigned>> intact; ///< offset, slice
  llvm::BitVector written;                       ///< on some path to here
  bool operator==(const State &) const = default;
};

class Checker {
public:
  explicit Checker(rt::ProgramOp program) : program(program) {
    program.getBody().walk([&](rt::SliceOp slice) {
      indices[slice.getResult()] = static_cast<unsigned>(slices.size());
      slices.push_back(slice.getResult());
      auto begin = static_cast<int64_t>(slice.getOffset());
      auto bytes = static_cast<int64_t>(slice.getBytes());
      extents.push_back({slice.getType().getDevice(), begin, begin + bytes});
      longest = std::max(longest, bytes);
    });
    // Aliased arguments: each pair is modelled as memory on a device of its own.
    for (auto [output, input] : llvm::enumerate(outputsOver(program)))
      if (input >= 0)
        addPair(program.inputArguments()[input], program.outputArguments()[output]);
    clobbered.resize(extents.size());
  }

  LogicalResult run() {
    State state;
    state.written.resize(static_cast<unsigned>(extents.size()));
    for (unsigned input : given) {
      state.written.set(input);
      state.intact.insert({0, input});
    }
    follow(program.block(), state);
    return failure(!faults.empty());
  }

private:
  rt::ProgramOp program;
  llvm::DenseMap<Value, unsigned> indices;
  SmallVector<Value> slices;   ///< and arguments that alias another
  SmallVector<unsigned> given; ///< inputs among them
  SmallVector<Extent> extents;
  SmallVector<Operation *> clobbered; ///< the last op that clobbered each slice
  int64_t longest = 0;
  llvm::SmallPtrSet<Operation *, 4> faults; ///< reported once: loops are visited repeatedly

  void addPair(BlockArgument input, BlockArgument output) {
    auto bytes =
        rt::largestBytes(cast<rt::BufferType>(input.getType()).getTensor(), program.bounds())
            .value_or(1);
    auto position = IntegerAttr::get(IndexType::get(program.getContext()), input.getArgNumber());
    given.push_back(static_cast<unsigned>(slices.size()));
    for (BlockArgument argument : {input, output}) {
      indices[argument] = static_cast<unsigned>(slices.size());
      slices.push_back(argument);
      extents.push_back({position, 0, bytes});
    }
    longest = std::max(longest, bytes);
  }

  std::optional<unsigned> sliceOf(Value buffer) const {
    auto found = indices.find(buffer);
    return found == indices.end() ? std::nullopt : std::optional(found->second);
  }

  void follow(Block &block, State &state) {
    for (Operation &op : block) {
      if (op.getNumRegions() > 0)
        followRegions(&op, state);
      else
        step(&op, state);
    }
  }

  void step(Operation *op, State &state) {
    Accesses accesses = accessesOf(op);
    for (ArrayRef<Value> buffers :
         {ArrayRef<Value>(accesses.reads), ArrayRef<Value>(accesses.touched)})
      for (Value buffer : buffers)
        if (std::optional<unsigned> slice = sliceOf(buffer))
          read(op, *slice, state);
    checkApart(op, accesses);
    for (Value buffer : accesses.writes)
      if (std::optional<unsigned> slice = sliceOf(buffer))
        write(op, *slice, state);
    for (Value buffer : accesses.touched)
      if (std::optional<unsigned> slice = sliceOf(buffer))
        write(op, *slice, state);
  }

  void read(Operation *op, unsigned slice, const State &state) {
    bool isFine = !state.written[slice] || extents[slice].begin == extents[slice].end ||
                  state.intact.count({extents[slice].begin, slice}) != 0;
    if (isFine || !faults.insert(op).second)
      return;
    InFlightDiagnostic error = op->emitOpError()
                               << "reads a " << slices[slice].getType()
                               << " whose memory was written through another slice since";
    if (clobbered[slice])
      error.attachNote(clobbered[slice]->getLoc()) << "written here";
    error.attachNote(slices[slice].getLoc()) << "the slice that is read";
  }

  void write(Operation *op, unsigned slice, State &state) {
    const Extent &extent = extents[slice];
    state.written.set(slice);
    if (extent.begin == extent.end)
      return;
    auto at = state.intact.lower_bound({extent.begin - longest, 0u});
    while (at != state.intact.end() && at->first < extent.end) {
      if (at->second != slice && extents[at->second].overlaps(extent)) {
        clobbered[at->second] = op;
        at = state.intact.erase(at);
      } else {
        ++at;
      }
    }
    state.intact.insert({extent.begin, slice});
  }

  /// Checks that a write of one op does not overlap anything else that it uses.
  void checkApart(Operation *op, const Accesses &accesses) {
    auto call = dyn_cast<rt::CallOp>(op);
    ArrayRef<std::pair<unsigned, unsigned>> pairs;
    if (call && llvm::any_of(accesses.writes, [&](Value w) { return sliceOf(w).has_value(); }))
      pairs = pairsOf(call);
    for (auto [w, written] : llvm::enumerate(accesses.writes)) {
      std::optional<unsigned> to = sliceOf(written);
      if (!to)
        continue;
      for (auto [r, value] : llvm::enumerate(accesses.reads)) {
        std::optional<unsigned> from = sliceOf(value);
        if (from && extents[*from].overlaps(extents[*to]) &&
            !llvm::is_contained(pairs, std::pair(unsigned(r), unsigned(w))))
          refuse(op, *from, *to);
      }
      for (Value value : ArrayRef<Value>(accesses.writes).take_front(w))
        if (std::optional<unsigned> other = sliceOf(value);
            other && extents[*other].overlaps(extents[*to]))
          refuse(op, *other, *to);
    }
  }
  void refuse(Operation *op, unsigned a, unsigned b) {
    if (!faults.insert(op).second)
      return;
    InFlightDiagnostic error = op->emitOpError()
                               << "writes to memory that it also uses through another slice";
    error.attachNote(slices[a].getLoc()) << "one slice";
    error.attachNote(slices[b].getLoc()) << "the other slice";
  }

  llvm::DenseMap<Attribute, SmallVector<std::pair<unsigned, unsigned>>> kernelPairs;
  ArrayRef<std::pair<unsigned, unsigned>> pairsOf(rt::CallOp call) {
    auto [found, isNew] = kernelPairs.try_emplace(call.getKernelAttr());
    if (isNew)
      found->second = takenOver(call);
    return found->second;
  }

  static State meet(const State &a, const State &b) {
    State out;
    auto holds = [](const State &s, std::pair<int64_t, unsigned> slice) {
      return !s.written[slice.second] || s.intact.count(slice) != 0;
    };
    for (auto slice : a.intact)
      if (holds(b, slice))
        out.intact.insert(slice);
    for (auto slice : b.intact)
      if (holds(a, slice))
        out.intact.insert(slice);
    out.written = a.written;
    out.written |= b.written;
    return out;
  }

  void followRegions(Operation *op, State &state) {
    if (isa<scf::IfOp>(op)) {
      State out = state;
      bool isFirst = true;
      for (Region &region : op->getRegions()) {
        State way = state;
        if (!region.empty())
          follow(region.front(), way);
        out = isFirst ? std::move(way) : meet(out, way);
        isFirst = false;
      }
      state = std::move(out);
      return;
    }
    // Fixed point: the set of intact slices at a loop header only shrinks from iteration to
    // iteration.
    for (;;) {
      State body = state, out = state;
      if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        follow(loop.getBefore().front(), body);
        out = body;
        follow(loop.getAfter().front(), body);
      } else {
        for (Region &region : op->getRegions())
          for (Block &block : region)
            follow(block, body);
      }
      State head = meet(state, body);
      if (head == state) {
        state = isa<scf::WhileOp>(op) ? std::move(out) : std::move(head);
        return;
      }
      state = std::move(head);
    }
  }
};

struct VerifyPlan : impl::VerifyPlanBase<VerifyPlan> {
  using Base::Base;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<rt::ProgramOp>())
      if (failed(Checker(program).run()))
        signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mx::memory
