// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuse: operator fusion. Outlines groups of ops into kernels; FusionGroups chooses the groups.
#include "Graph/FusionGroups.h"
#include "Graph/Passes.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_FUSE
#include "Graph/Passes.h.inc"

namespace {

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Rebuilds one block as kernels and remaining ops, in a topological order of both.
class Outliner {
public:
  Outliner(Block &block, const FusionOptions &options)
      : block(block), groups(block, options), done(groups.size(), false) {}

  void run() {
    for (unsigned i = 0; i < groups.size(); ++i)
      if (unit(i) == i)
        emitFrom(i);
    for (unsigned i = groups.size(); i-- > 0;)
      if (groups.groupOf(i) || isAbsorbed(i))
        groups.op(i)->erase();
    eraseDead(block); // constants that only kernels used
  }

private:
  Block &block;
  FusionGroups groups;
  std::vector<bool> done;
  llvm::DenseMap<Value, Value> made; ///< kernel results, by the original value

  /// A group is placed where its last op was, or earlier, if an earlier op depends on it.
  unsigned unit(unsigned index) const {
    const FusionGroup *group = groups.groupOf(index);
    return group ? group->ops.back() : index;
  }
  ArrayRef<unsigned> members(const unsigned &unit) const {
    const FusionGroup *group = groups.groupOf(unit);
    return group ? ArrayRef<unsigned>(group->ops) : ArrayRef<unsigned>(unit);
  }
  bool isAbsorbed(unsigned index) const {
    Operation *op = groups.op(index);
    return op->getNumResults() == 1 && !op->hasTrait<OpTrait::IsTerminator>() &&
           !groups.groupOf(index) && FusionGroups::isCheapTensor(op);
  }
  bool isMember(const FusionGroup &group, Operation *op) const {
    std::optional<unsigned> index = groups.indexOf(op);
    return index && groups.groupOf(*index) == &group;
  }

  /// Whether the op belongs to another group and is duplicated into each kernel that uses it.
  bool isRepeated(const FusionGroup &group, Operation *op) const {
    std::optional<unsigned> index = groups.indexOf(op);
    return index && groups.repeats(group.ops.back(), *index);
  }

  /// Pushes the units that must run before `member` of the unit `next`. A kernel contains its own
  /// copies of absorbed ops, which may lie between two ops of its group; only a matmul may read one
  /// of them from memory.
  void pushNeeded(unsigned next, unsigned member, SmallVectorImpl<unsigned> &stack) const {
    const FusionGroup *group = groups.groupOf(next);
    bool copies = !group || group->kind != FusionClass::Matmul;
    for (unsigned needed : llvm::reverse(groups.before(member))) {
      if (isAbsorbed(needed) || (group && isRepeated(*group, groups.op(needed))) ||
          (copies && FusionGroups::absorbs(groups.op(member), groups.op(needed))))
        pushNeeded(next, needed, stack);
      else if (unsigned other = unit(needed); other != next && !done[other])
        stack.push_back(other);
    }
  }

  void emitFrom(unsigned first) {
    SmallVector<unsigned> stack{first};
    while (!stack.empty()) {
      unsigned next = stack.back();
      size_t before = stack.size();
      if (!done[next])
        for (unsigned member : llvm::reverse(members(next)))
          pushNeeded(next, member, stack);
      if (stack.size() > before)
        continue;
      stack.pop_back();
      if (done[next])
        continue;
      done[next] = true;
      Operation *op = groups.op(next);
      if (const FusionGroup *group = groups.groupOf(next))
        outline(*group);
      else if (op != &block.back() && !isAbsorbed(next))
        op->moveBefore(&block.back());
    }
  }

  /// Ops inside kernels still refer to the original values of the block.
  Value inMemory(Value value) const {
    Value result = made.lookup(value);
    return result ? result : value;
  }

  /// Values that a kernel reads from memory or from the host, by first use.
  SetVector<Value> inputsOf(const FusionGroup &group) {
    auto absorbed = [&](Operation *user, Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer &&
             (FusionGroups::absorbs(user, producer) || isRepeated(group, producer));
    };
    // A value that one op reads from memory is not recomputed for another.
    llvm::DenseSet<Value> read;
    for (unsigned i : group.ops)
      for (Value operand : groups.op(i)->getOperands())
        if (!absorbed(groups.op(i), operand))
          read.insert(operand);
    SetVector<Value> inputs;
    auto visit = [&](auto &self, Operation *user) -> void {
      for (Value operand : user->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (producer && isMember(group, producer))
          continue;
        if (!read.contains(operand) && absorbed(user, operand))
          self(self, producer);
        else
          inputs.insert(inMemory(operand));
      }
    };
    for (unsigned i : group.ops)
      visit(visit, groups.op(i));
    return inputs;
  }

  void outline(const FusionGroup &group) {
    SetVector<Value> inputs = inputsOf(group);
    SmallVector<Value> outputs;
    SmallVector<Location> locations;
    for (unsigned i : group.ops) {
      Operation *op = groups.op(i);
      locations.push_back(op->getLoc());
      if (groups.isWritten(i))
        outputs.push_back(op->getResult(0));
    }
    if (outputs.empty()) // duplicated into its users
      return;
    // Constants that MLIR folded or moved have no location any more; the kernel gets the graph's.
    if (llvm::all_of(group.ops,
                     [&](unsigned i) { return groups.op(i)->hasTrait<OpTrait::ConstantLike>(); }))
      locations.push_back(block.getParentOp()->getLoc());
    OpBuilder b(&block.back());
    Location loc = b.getFusedLoc(locations);
    auto kernel = ir::KernelOp::create(b, loc, ValueRange(outputs).getTypes(), inputs.getArrayRef());
    Block &body = kernel.getBody().emplaceBlock();
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body.addArgument(input.getType(), loc));
    b.setInsertionPointToStart(&body);
    auto copy = [&](auto &self, Operation *op) -> void {
      for (Value operand : op->getOperands())
        if (mapping.contains(operand))
          continue;
        else if (Value result = made.lookup(operand); result && mapping.contains(result))
          mapping.map(operand, mapping.lookup(result));
        else
          self(self, operand.getDefiningOp());
      b.clone(*op, mapping)->removeAttr(ir::kView);
    };
    for (unsigned i : group.ops)
      copy(copy, groups.op(i));
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(mapping.lookup(output));
    ir::YieldOp::create(b, loc, yielded);

    SmallVector<StringAttr> names;
    sizeNamesIn(kernel, names);
    if (!names.empty())
      kernel.setSizesAttr(b.getArrayAttr(SmallVector<Attribute>(names.begin(), names.end())));
    kernel.classify();
    for (auto [old, result] : llvm::zip_equal(outputs, kernel.getOutputs())) {
      made[old] = result;
      old.replaceUsesWithIf(result, [&](OpOperand &use) {
        Operation *user = use.getOwner();
        return !isMember(group, user) &&
               !(user->getBlock() == &block && FusionGroups::absorbs(user, old.getDefiningOp()));
      });
    }
  }
};

struct Fuse : impl::FuseBase<Fuse> {
  using Base::Base;
  Fuse(const TargetInfo &target, FuseOptions options) : Base(std::move(options)), target(target) {}
  TargetInfo target;

  void runOnOperation() override {
    ir::GraphOp graph = getOperation();
    if (graph.isExternal())
      return;
    FusionOptions options{target, maxOps, explain, repeats};
    // Inner blocks first: ops duplicated into their kernels need not be computed outside.
    SmallVector<Block *> blocks;
    graph.walk([&](Operation *op) {
      if (isa<ir::GraphOp, ir::IfOp, ir::ForOp, ir::WhileOp>(op))
        for (Region &region : op->getRegions())
          blocks.push_back(&region.front());
    });
    for (Block *block : blocks) {
      eraseDead(*block);
      Outliner(*block, options).run();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createFuse(const TargetInfo &target, FuseOptions options) {
  return std::make_unique<Fuse>(target, std::move(options));
}

} // namespace mx::graph
