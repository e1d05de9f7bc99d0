// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Fuse: classification of ops (views, cheap ops, fusion classes), the dependency graph of a
// block, and greedy merging of fusion groups.
#include "Graph/FusionGroups.h"
#include "Graph/Regions.h"
#include "dialects/mx/Marks.h"
#include "dialects/mx/Table.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;

namespace mx::graph {
namespace {

bool isScalarConstant(Operation *op) {
  auto constant = dyn_cast<ir::ConstantOp>(op);
  return constant && constant.getType().isScalar();
}
bool isCheap(Operation *op);

uint64_t elementsOf(ir::TensorType type) {
  uint64_t count = 1;
  for (ir::SizeAttr size : type.getSizes())
    count = llvm::SaturatingMultiply(count, static_cast<uint64_t>(size.constant().value_or(1)));
  return count;
}
/// A slice that is a view: it is known to be in bounds, and the tensor stays in memory anyway. That
/// holds if the tensor comes from outside of a loop, or if its slices together are as large as it
/// is. The tensor must not be updated in place in the meantime.
bool isPartInPlace(Operation *op) {
  constexpr int kMaxUsers = 16; // limits the search, which runs for every slice
  auto slice = dyn_cast<ir::SliceOp>(op);
  if (!slice || slice.getX().getType().isHost() || !(partOf(slice) || reversesAxes(slice)))
    return false;
  // A matmul reads contiguous rows, through a transpose as well.
  for (Operation *user : op->getUsers())
    if (isa<ir::TransposeOp>(user) && llvm::any_of(user->getUsers(), [&](Operation *reader) {
          return isa<ir::MatmulOp, ir::ConvOp>(reader) && FusionGroups::absorbs(reader, user);
        }))
      return false;
  Value x = slice.getX();
  bool isOutside = x.getParentBlock() != op->getBlock();
  uint64_t parts = 0;
  int users = 0;
  for (OpOperand &use : x.getUses()) {
    Operation *user = use.getOwner();
    if (++users > kMaxUsers ||
        (isa<ir::UpdateOp, ir::ScatterAddOp>(user) && use.getOperandNumber() == 0) ||
        (!isOutside && (user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions() > 0)))
      return false;
    if (auto part = dyn_cast<ir::SliceOp>(user); part && part->getBlock() == op->getBlock())
      parts = llvm::SaturatingAdd(parts, elementsOf(part.getType()));
  }
  return isOutside || parts >= elementsOf(slice.getX().getType());
}
/// Before the common innermost axes, x has at most one axis: offsets in it need no divisions.
bool onlySplits(ir::ReshapeOp reshape) {
  ArrayRef<ir::SizeAttr> from = reshape.getX().getType().getSizes(),
                         to = reshape.getType().getSizes();
  while (!from.empty() && !to.empty() && from.back() == to.back()) {
    from = from.drop_back();
    to = to.drop_back();
  }
  return llvm::count_if(from, [](ir::SizeAttr size) { return size.constant() != 1; }) <= 1;
}
/// A reshape that is a view: matmuls and transposes compute memory offsets anyway. Other ops
/// iterate over a shape and would need divisions. The operand may itself be a slice, if a transpose
/// finds its offsets without divisions.
bool isShapeInPlace(Operation *op) {
  auto reshape = dyn_cast<ir::ReshapeOp>(op);
  if (!reshape || movesOnlyOnes(op) || reshape.getX().getType().isHost() || op->use_empty())
    return false;
  Operation *from = reshape.getX().getDefiningOp();
  bool isOfCheap = from && isCheap(from);
  if (isOfCheap && !(isa<ir::SliceOp>(from) && onlySplits(reshape)))
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    auto matmul = dyn_cast<ir::MatmulOp>(use.getOwner());
    return use.getOwner()->getBlock() == op->getBlock() &&
           (matmul ? !isOfCheap && !matmul.getPanels() && matmul.getInit() != op->getResult(0)
                   : isa<ir::TransposeOp>(use.getOwner()));
  });
}
/// Costs nothing to recompute: an index, a stride or a scalar.
bool isCheap(Operation *op) {
  if (ir::isScratch(op))
    return false;
  if (op->hasAttr(ir::kView))
    return true;
  if (isa<ir::BroadcastOp, ir::FullOp, ir::IotaOp, ir::TransposeOp, ir::WindowsOp>(op) ||
      movesOnlyOnes(op))
    return true;
  auto constant = dyn_cast<ir::ConstantOp>(op);
  return constant && (constant.getType().isScalar() || isa<SplatElementsAttr>(constant.getValue()));
}
/// Swaps two adjacent axes; `first` counts from the end if negative.
bool swapsTwo(Operation *op, int64_t first) {
  auto transpose = dyn_cast<ir::TransposeOp>(op);
  if (!transpose)
    return false;
  SmallVector<int64_t> order(transpose.getOrder());
  if (order.size() < 2)
    return false;
  size_t at = first < 0 ? order.size() - static_cast<size_t>(-first) : static_cast<size_t>(first);
  std::swap(order[at], order[at + 1]);
  return llvm::equal(order, llvm::seq<int64_t>(0, order.size()));
}
/// Whether the operand is in memory, and not computed in the kernel itself: a convolution loads
/// elements by address. A gradient that is one scalar everywhere, like that of a sum, is not in
/// memory.
bool isOfMemory(Operation *op) {
  Operation *from = op->getOperand(0).getDefiningOp();
  return !from || !isCheap(from);
}
/// The filter is longer than the output, as in filter gradients: it is large, and transposing it in
/// memory would cost more than strided loads.
bool isLongWindow(ir::ConvOp op) {
  auto last = [](Value of) {
    return cast<ir::TensorType>(of.getType()).getSizes().back().constant();
  };
  std::optional<int64_t> window = last(op.getW()), out = last(op.getResult());
  return window && out && *window > *out;
}
/// A transpose followed by a reshape that keeps the innermost axis: both are one copy of contiguous
/// rows. Others would need divisions to locate each element.
bool moveLines(ir::TransposeOp transpose, ir::ReshapeOp reshape) {
  ArrayRef<int64_t> order = transpose.getOrder();
  ArrayRef<ir::SizeAttr> from = transpose.getType().getSizes(), to = reshape.getType().getSizes();
  return !order.empty() && order.back() == static_cast<int64_t>(order.size()) - 1 && !to.empty() &&
         from.back() == to.back() && from.back().constant() != 1;
}
bool isTable(Operation *op) {
  auto scatter = dyn_cast<ir::ScatterAddOp>(op);
  return scatter && ir::tableOf(scatter);
}
/// The class of a group that an op starts; nothing for ops that stay outside, or are cheap.
std::optional<FusionClass> classOf(Operation *op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  auto type = dyn_cast<ir::TensorType>(op->getResult(0).getType());
  if (!type || type.isHost() || isCheap(op))
    return std::nullopt;
  if (op->hasTrait<ir::Elementwise>())
    return FusionClass::Elementwise;
  if (op->hasTrait<ir::Reduction>())
    return FusionClass::Reduce;
  if (isa<ir::MatmulOp, ir::ConvOp>(op) || isTable(op))
    return FusionClass::Matmul;
  if (isa<ir::ReshapeOp, ir::ConcatOp, ir::SliceOp, ir::UpdateOp, ir::TakeOp, ir::ConstantOp,
          ir::RandomOp, ir::ScatterAddOp, ir::FoldOp, ir::RoutineOp>(op))
    return FusionClass::Single;
  return std::nullopt;
}
bool isHostResult(Operation *op) {
  auto type = dyn_cast<ir::TensorType>(op->getResult(0).getType());
  return !type || type.isHost();
}

} // namespace

bool movesOnlyOnes(Operation *op) {
  auto reshape = dyn_cast<ir::ReshapeOp>(op);
  if (!reshape)
    return false;
  auto others = [](ir::TensorType type) {
    Sizes out;
    llvm::copy_if(type.getSizes(), std::back_inserter(out),
                  [](ir::SizeAttr size) { return size.constant() != 1; });
    return out;
  };
  return others(reshape.getX().getType()) == others(reshape.getType());
}

bool mayFail(Operation *op) {
  bool found = false;
  op->walk([&](Operation *inner) {
    if (auto loop = dyn_cast<ir::WhileOp>(inner))
      found |= static_cast<bool>(loop.getLimit());
    if (inner->hasTrait<ir::MayFail>())
      // Float division by 0 does not fail.
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
    return isCheapTensor(user) || classOf(user);
  if (!isCheapTensor(cheap))
    return false;
  if (isCheapTensor(user))
    return true;
  std::optional<FusionClass> fusion = classOf(user);
  if (auto conv = dyn_cast<ir::ConvOp>(user)) {
    Value x = conv.getX(), w = conv.getW(), swapped = cheap->getResult(0);
    return swapsTwo(cheap, 0) && isOfMemory(cheap) && x != w &&
           (swapped == x || isLongWindow(conv));
  }
  if (auto matmul = dyn_cast<ir::MatmulOp>(user);
      matmul && matmul.getPanels() && matmul.getY() == cheap->getResult(0))
    return false; // packed once, for all iterations of a loop
  if (auto reshape = dyn_cast<ir::ReshapeOp>(user))
    if (auto transpose = dyn_cast<ir::TransposeOp>(cheap))
      return moveLines(transpose, reshape);
  if (auto take = dyn_cast<ir::TakeOp>(user)) // checks indices against a size, as `one_hot` does
    return isa<ir::IotaOp>(cheap) && take.getX() == cheap->getResult(0);
  if (isTable(user)) // its zeros are never stored
    return cast<ir::ScatterAddOp>(user).getX() == cheap->getResult(0);
  if (auto matmul = dyn_cast<ir::MatmulOp>(user); matmul && matmul.getInit() == cheap->getResult(0))
    return false;
  if (fusion == FusionClass::Matmul)
    return swapsTwo(cheap, -2) || // packing reads either order
           (isa<ir::ReshapeOp>(cheap) && cheap->hasAttr(ir::kView));
  return fusion == FusionClass::Elementwise || fusion == FusionClass::Reduce;
}

FusionGroups::FusionGroups(Block &block, const FusionOptions &options)
    : block(block), options(options) {
  groups.push_back(nullptr);
  number();
  // Decided before anything changes.
  for (Operation *op : ops)
    if (isPartInPlace(op) || isShapeInPlace(op))
      op->setAttr(ir::kView, UnitAttr::get(op->getContext()));
  for (unsigned i = 0; i < ops.size(); ++i)
    if (classOf(ops[i]))
      join(i);
  // A cheap value that some user reads from memory is computed once, for all its readers.
  for (unsigned i = 0; i < ops.size(); ++i)
    if (isCheapTensor(ops[i]) && llvm::any_of(ops[i]->getUsers(), [&](Operation *user) {
          return user->getBlock() != &this->block || !absorbs(user, ops[i]);
        }))
      start(i, FusionClass::Single);
  chooseRepeats();
}

std::optional<unsigned> FusionGroups::indexOf(Operation *op) const {
  op = block.findAncestorOpInBlock(*op);
  auto found = numbers.find(op);
  if (found == numbers.end()) // in another block, or a newly created kernel
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
  form.resize(ops.size(), Form::Whole);
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

/// Observable order is kept: effects among each other, and failures between effects. Ops whose
/// types use a bound size come after its binding.
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

unsigned FusionGroups::start(unsigned index, FusionClass kind) {
  Operation *op = ops[index];
  auto type = cast<ir::TensorType>(op->getResult(0).getType());
  auto made = std::make_unique<FusionGroup>();
  made->kind = kind;
  made->device = type.getDevice();
  made->space.assign(type.getSizes().begin(), type.getSizes().end());
  if (kind == FusionClass::Reduce) {
    auto x = cast<ir::TensorType>(op->getOperand(0).getType()).getSizes();
    made->space.assign(x.begin(), x.end());
    made->axes = op->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
    made->keeps = op->hasAttr("keep");
    for (auto [axis, size] : llvm::enumerate(x)) {
      bool reduced = llvm::is_contained(made->axes, static_cast<int64_t>(axis));
      if (!reduced)
        made->row.push_back(size);
      made->rowKept.push_back(reduced ? ir::SizeAttr::get(op->getContext(), 1) : size);
    }
    made->isRows =
        !made->axes.empty() && made->axes.front() + made->axes.size() == made->space.size();
    form[index] = made->keeps ? Form::RowKept : Form::Row;
  }
  made->hub = index;
  made->ops.push_back(index);
  group[index] = groups.size();
  groups.push_back(std::move(made));
  return group[index];
}

/// The groups that an op reads from, some of them through cheap ops.
void FusionGroups::candidatesOf(Operation *op, SmallVectorImpl<unsigned> &out) const {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || producer->getBlock() != &block)
      continue;
    unsigned g = group[numbers.lookup(producer)];
    if (g && !llvm::is_contained(out, g))
      out.push_back(g);
    else if (!g && absorbs(op, producer))
      candidatesOf(producer, out);
  }
}

void FusionGroups::join(unsigned index) {
  FusionClass kind = *classOf(ops[index]);
  unsigned own = start(index, kind);
  if (kind == FusionClass::Single || kind == FusionClass::Matmul)
    return;
  SmallVector<unsigned> candidates;
  candidatesOf(ops[index], candidates);
  // The nearest first: it leaves the fewest others in between.
  std::sort(candidates.begin(), candidates.end(),
            [&](unsigned a, unsigned b) { return groups[a]->ops.back() > groups[b]->ops.back(); });
  for (unsigned candidate : candidates) {
    std::string reason = reasonAgainst(own, candidate);
    if (reason.empty()) {
      merge(own, candidate);
    } else if (options.explain) {
      InFlightDiagnostic remark = ops[index]->emitRemark() << ops[index]->getName().stripDialect()
                                                           << " not fused: " << reason;
      remark.attachNote(ops[groups[candidate]->ops.back()]->getLoc())
          << "with the kernel that ends here";
    }
  }
}

/// Merges two groups that were found to be compatible and whose ops have their forms.
void FusionGroups::merge(unsigned into, unsigned from) {
  // The kind of a reduction wins over elementwise, and that of row reductions over their totals.
  FusionGroup &a = *groups[into], &b = *groups[from];
  std::vector<unsigned> all;
  std::merge(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), std::back_inserter(all));
  for (unsigned i : b.ops)
    group[i] = into;
  bool takesB = a.kind == FusionClass::Elementwise ||
                (b.kind == FusionClass::Reduce && b.space.size() > a.space.size());
  FusionGroup &main = takesB ? b : a, &other = takesB ? a : b;
  if (other.kind == FusionClass::Reduce && other.space != main.space)
    main.totalSizes = other.keeps ? other.rowKept : other.row;
  else if (other.totalSizes)
    main.totalSizes = other.totalSizes;
  if (takesB)
    std::swap(a, b);
  a.ops = std::move(all);
  groups[from].reset();
}

} // namespace mx::graph
