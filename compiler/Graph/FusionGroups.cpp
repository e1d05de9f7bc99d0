// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Graph/FusionGroups.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/RegionUtils.h"
#include <algorithm>

using namespace mlir;

namespace mx::graph {
namespace {

/// How far apart two groups may be; beyond that a join is refused rather than searched for.
constexpr unsigned kSearchLimit = 2000;

bool isScalarConstant(Operation *op) {
  auto constant = dyn_cast<ir::ConstantOp>(op);
  return constant && constant.getType().isScalar();
}
/// Costs nothing to compute again: an index, a stride or a number.
bool isCheap(Operation *op) {
  if (isa<ir::BroadcastOp, ir::FullOp, ir::IotaOp, ir::TransposeOp>(op))
    return true;
  auto constant = dyn_cast<ir::ConstantOp>(op);
  return constant && (constant.getType().isScalar() || isa<SplatElementsAttr>(constant.getValue()));
}
bool swapsLastTwo(Operation *op) {
  auto transpose = dyn_cast<ir::TransposeOp>(op);
  if (!transpose)
    return false;
  SmallVector<int64_t> order(transpose.getOrder());
  if (order.size() < 2)
    return false;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return llvm::equal(order, llvm::seq<int64_t>(0, order.size()));
}
/// The kind of kernel that an op begins; nothing for ops that stay outside, or are cheap.
std::optional<KernelKind> kindOf(Operation *op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  auto type = dyn_cast<ir::TensorType>(op->getResult(0).getType());
  if (!type || type.isHost() || isCheap(op))
    return std::nullopt;
  if (op->hasTrait<ir::Elementwise>())
    return KernelKind::Elementwise;
  if (op->hasTrait<ir::Reduction>())
    return KernelKind::Reduce;
  if (isa<ir::MatmulOp>(op))
    return KernelKind::Matmul;
  if (isa<ir::ReshapeOp, ir::ConcatOp, ir::SliceOp, ir::UpdateOp, ir::TakeOp, ir::ConstantOp,
          ir::RandomOp, ir::RoutineOp>(op))
    return KernelKind::Single;
  return std::nullopt;
}
bool isHostResult(Operation *op) {
  auto type = dyn_cast<ir::TensorType>(op->getResult(0).getType());
  return !type || type.isHost();
}

} // namespace

bool mayFail(Operation *op) {
  bool found = false;
  op->walk([&](Operation *inner) {
    if (auto loop = dyn_cast<ir::WhileOp>(inner))
      found |= static_cast<bool>(loop.getLimit());
    if (inner->hasTrait<ir::MayFail>())
      // Floats divide by 0 without failing.
      found |=
          !inner->hasTrait<ir::Elementwise>() ||
          !ir::isFloatElement(cast<ir::TensorType>(inner->getOperand(0).getType()).getElement());
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

void sizeNamesIn(Operation *op, SmallVectorImpl<StringAttr> &out) {
  AttrTypeWalker walker;
  walker.addWalk([&](ir::SizeAttr size) { size.names(out); });
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    for (Type type : inner->getOperandTypes())
      walker.walk(type);
    for (Region &region : inner->getRegions())
      for (Type type : region.getArgumentTypes())
        walker.walk(type);
    walker.walk(inner->getAttrDictionary());
    for (Type type : inner->getResultTypes())
      walker.walk(type);
  });
}

bool FusionGroups::isCheapTensor(Operation *op) { return isCheap(op) && !isHostResult(op); }
bool FusionGroups::absorbs(Operation *user, Operation *cheap) {
  if (isScalarConstant(cheap))
    return isCheapTensor(user) || kindOf(user);
  if (!isCheapTensor(cheap))
    return false;
  if (isCheapTensor(user))
    return true;
  std::optional<KernelKind> kind = kindOf(user);
  if (kind == KernelKind::Matmul)
    return swapsLastTwo(cheap); // packing reads either order
  return kind == KernelKind::Elementwise || kind == KernelKind::Reduce;
}

FusionGroups::FusionGroups(Block &block, const FusionOptions &options)
    : block(block), options(options) {
  groups.push_back(nullptr);
  number();
  for (unsigned i = 0; i < ops.size(); ++i)
    if (kindOf(ops[i]))
      join(i);
  // A cheap value that someone reads from memory is computed once, for all who read it.
  for (unsigned i = 0; i < ops.size(); ++i)
    if (isCheapTensor(ops[i]) && llvm::any_of(ops[i]->getUsers(), [&](Operation *user) {
          return user->getBlock() != &this->block || !absorbs(user, ops[i]);
        }))
      start(i, KernelKind::Single);
}

std::optional<unsigned> FusionGroups::indexOf(Operation *op) const {
  op = block.findAncestorOpInBlock(*op);
  auto found = numbers.find(op);
  if (found == numbers.end()) // in another block, or a kernel made by now
    return std::nullopt;
  return found->second;
}

// ------------------------------------------------------------------------------- dependencies

void FusionGroups::addEdge(unsigned from, unsigned to) {
  if (from == to || llvm::is_contained(preds[to], from))
    return;
  preds[to].push_back(from);
  succs[from].push_back(to);
}

void FusionGroups::number() {
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    ops.push_back(&op);
  }
  preds.resize(ops.size());
  succs.resize(ops.size());
  group.resize(ops.size(), 0);
  afterReduction.resize(ops.size(), false);
  seen.resize(ops.size(), 0);
  for (unsigned i = 0; i < ops.size(); ++i) {
    SetVector<Value> used(ops[i]->operand_begin(), ops[i]->operand_end());
    getUsedValuesDefinedAbove(ops[i]->getRegions(), used);
    for (Value value : used)
      if (Operation *producer = value.getDefiningOp())
        if (producer->getBlock() == &block)
          addEdge(numbers.lookup(producer), i);
  }
  addOrderEdges();
}

/// What can be seen from outside keeps its order: effects among each other, and failures between
/// effects. Types that use a bound size come after its binding.
void FusionGroups::addOrderEdges() {
  std::optional<unsigned> effect;
  SmallVector<unsigned> failures;
  SmallVector<std::pair<StringAttr, unsigned>> bound;
  for (unsigned i = 0; i < ops.size(); ++i) {
    if (!bound.empty()) {
      SmallVector<StringAttr> names;
      sizeNamesIn(ops[i], names);
      for (auto [name, at] : bound)
        if (llvm::is_contained(names, name))
          addEdge(at, i);
    }
    if (auto bind = dyn_cast<ir::BindSizeOp>(ops[i])) {
      bound.push_back({bind.getNameAttr(), i});
      continue;
    }
    if (!isMemoryEffectFree(ops[i]) || i + 1 == ops.size()) {
      if (effect)
        addEdge(*effect, i);
      for (unsigned failure : failures)
        addEdge(failure, i);
      failures.clear();
      effect = i;
    } else if (mayFail(ops[i])) {
      if (effect)
        addEdge(*effect, i);
      failures.push_back(i);
    }
  }
}

// -------------------------------------------------------------------------------------- joining

unsigned FusionGroups::start(unsigned index, KernelKind kind) {
  Operation *op = ops[index];
  auto type = cast<ir::TensorType>(op->getResult(0).getType());
  auto made = std::make_unique<FusionGroup>();
  made->kind = kind;
  made->device = type.getDevice();
  made->space = type.getSizes();
  if (kind == KernelKind::Reduce) {
    made->space = cast<ir::TensorType>(op->getOperand(0).getType()).getSizes();
    made->reduced = type.getSizes();
    afterReduction[index] = true;
  }
  made->hub = index;
  made->ops.push_back(index);
  group[index] = groups.size();
  groups.push_back(std::move(made));
  return group[index];
}

void FusionGroups::join(unsigned index) {
  KernelKind kind = *kindOf(ops[index]);
  unsigned own = start(index, kind);
  if (kind == KernelKind::Single || kind == KernelKind::Matmul)
    return;
  SmallVector<unsigned> candidates;
  for (Value operand : ops[index]->getOperands())
    if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
      if (unsigned g = group[numbers.lookup(producer)]; g && !llvm::is_contained(candidates, g))
        candidates.push_back(g);
  // The nearest first: it leaves the fewest others in between.
  std::sort(candidates.begin(), candidates.end(),
            [&](unsigned a, unsigned b) { return groups[a]->ops.back() > groups[b]->ops.back(); });
  for (unsigned candidate : candidates) {
    bool asEpilogue = false;
    std::string reason = reasonAgainst(own, candidate, asEpilogue);
    if (reason.empty()) {
      merge(own, candidate, asEpilogue);
    } else if (options.explain) {
      InFlightDiagnostic remark = ops[index]->emitRemark() << "not fused: " << reason;
      remark.attachNote(ops[groups[candidate]->ops.back()]->getLoc())
          << "with the kernel that ends here";
    }
  }
}

std::string FusionGroups::reasonAgainst(unsigned a, unsigned b, bool &asEpilogue) {
  if (groups[a]->device != groups[b]->device)
    return "they are on different devices";
  std::string reason = kindsAgainst(*groups[a], *groups[b], asEpilogue);
  if (!reason.empty())
    return reason;
  if (groups[a]->ops.size() + groups[b]->ops.size() > options.maxOps)
    return "the kernel would have more than " + std::to_string(options.maxOps) + " ops";
  return pathAgainst(a, b);
}

std::string FusionGroups::kindsAgainst(const FusionGroup &a, const FusionGroup &b,
                                       bool &asEpilogue) {
  if (a.kind == KernelKind::Single || b.kind == KernelKind::Single)
    return "`" + ops[(a.kind == KernelKind::Single ? a : b).hub]->getName().getStringRef().str() +
           "` is a kernel of its own";
  if (a.kind == KernelKind::Elementwise && b.kind == KernelKind::Elementwise)
    return a.space == b.space ? "" : "their iteration spaces differ";
  if (a.kind != KernelKind::Elementwise && b.kind != KernelKind::Elementwise)
    return "there is one reduction or product in a kernel";
  const FusionGroup &plain = a.kind == KernelKind::Elementwise ? a : b;
  const FusionGroup &main = &plain == &a ? b : a;
  if (main.kind == KernelKind::Matmul) {
    if (plain.space != main.space)
      return "their iteration spaces differ";
    if (feeds(plain, main, /*fromAfter=*/false, /*toBefore=*/true))
      return "a product reads its operands from memory";
    Operation *product = ops[main.hub];
    if (llvm::any_of(product->getUsers(),
                     [&](Operation *user) { return user != *product->user_begin(); }))
      return "the product has more than one use";
    return "";
  }
  if (plain.space == main.space && !feeds(main, plain, /*fromAfter=*/true, /*toBefore=*/false))
    return "";
  if (plain.space == main.reduced && !feeds(plain, main, /*fromAfter=*/false, /*toBefore=*/true)) {
    asEpilogue = true;
    return "";
  }
  return plain.space == main.space ? "it needs the whole reduction first"
                                   : "their iteration spaces differ";
}

/// Whether an op of `to` reads a result of `from`. With `fromAfter`, only results of the reduction
/// and what follows it count; with `toBefore`, only the hub and what comes before it.
bool FusionGroups::feeds(const FusionGroup &from, const FusionGroup &to, bool fromAfter,
                         bool toBefore) const {
  for (unsigned reader : to.ops) {
    if (toBefore && reader != to.hub && (to.kind == KernelKind::Matmul || afterReduction[reader]))
      continue;
    for (unsigned producer : preds[reader])
      if (groups[group[producer]].get() == &from && (!fromAfter || afterReduction[producer]))
        return true;
  }
  return false;
}

/// One kernel runs at once, so nothing may have to run between the two. Ops after the newest one
/// are in no group yet, hence no way leads back from them.
std::string FusionGroups::pathAgainst(unsigned a, unsigned b) {
  unsigned newest = std::max(groups[a]->ops.back(), groups[b]->ops.back());
  ++search;
  SmallVector<unsigned> work;
  auto inside = [&](unsigned i) { return group[i] == a || group[i] == b; };
  auto visit = [&](unsigned i) {
    for (unsigned next : succs[i])
      if (next <= newest && seen[next] != search) {
        seen[next] = search;
        work.push_back(next);
      }
  };
  for (unsigned part : {a, b})
    for (unsigned i : groups[part]->ops)
      for (unsigned next : succs[i])
        if (next <= newest && !inside(next) && seen[next] != search) {
          seen[next] = search;
          work.push_back(next);
        }
  for (unsigned steps = 0; !work.empty(); ++steps) {
    unsigned at = work.pop_back_val();
    if (inside(at))
      return "another op has to run between them";
    if (steps > kSearchLimit)
      return "they are too far apart";
    if (!group[at])
      visit(at);
    else
      for (unsigned member : groups[group[at]]->ops) {
        seen[member] = search;
        visit(member);
      }
  }
  return "";
}

void FusionGroups::merge(unsigned into, unsigned from, bool asEpilogue) {
  FusionGroup &a = *groups[into], &b = *groups[from];
  const FusionGroup &plain = a.kind == KernelKind::Elementwise ? a : b;
  for (unsigned i : plain.ops)
    afterReduction[i] = asEpilogue;
  if (a.kind == KernelKind::Elementwise) {
    a.kind = b.kind;
    a.space = b.space;
    a.reduced = b.reduced;
    a.hub = b.hub;
  }
  for (unsigned i : b.ops)
    group[i] = into;
  std::vector<unsigned> all;
  std::merge(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), std::back_inserter(all));
  a.ops = std::move(all);
  groups[from].reset();
}

} // namespace mx::graph
