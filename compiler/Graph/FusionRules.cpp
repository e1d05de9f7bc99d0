// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Fuse: legality rules of operator fusion.
//
// A kernel with reductions has one space and one set of reduced axes. If these are the innermost
// axes, it is a row kernel: ops may read the reductions' results again over the whole row, further
// reductions may follow, and results of all rows may be reduced to a scalar. Otherwise only ops on
// the results may follow.
#include "Graph/FusionGroups.h"

using namespace mlir;

namespace mx::graph {
namespace {

/// Maximum steps of the search between two groups; beyond it a merge is rejected.
constexpr unsigned kSearchLimit = 2000;
/// Whether a row of f32 does not stay in the cache from one sweep to the next.
bool isLong(const FusionGroup &rows, const TargetInfo &target) {
  int64_t length = 1;
  for (int64_t axis : rows.axes) {
    std::optional<int64_t> size = rows.space[static_cast<size_t>(axis)].constant();
    if (!size)
      return rows.row.empty(); // a single row of unknown length
    if (__builtin_mul_overflow(length, std::max<int64_t>(*size, 1), &length))
      return true;
  }
  return length > target.keptBytes / static_cast<int64_t>(sizeof(float));
}

/// Whether an op of form `to` can read a value of form `from`.
std::string formsAgainst(const FusionGroup &main, Form from, Form to, const TargetInfo &target) {
  if (from == to || from == Form::Whole)
    return "";
  if (from == Form::Total)
    return "it needs the reduction of all rows first";
  if (to == Form::Total)
    return "";
  if (to == Form::Whole && !main.isRows)
    return "it needs the whole reduction first";
  if (to == Form::Whole && isLong(main, target))
    return "its rows are too long to be kept in the cache";
  // A dropped axis cannot be broadcast: the row index would become a column index.
  if (from == Form::Row && !main.row.empty())
    return "a result of each row is read along the columns";
  return "";
}

} // namespace

std::string FusionGroups::reasonAgainst(unsigned a, unsigned b) {
  const FusionGroup &x = *groups[a], &y = *groups[b];
  if (x.device != y.device)
    return "they are on different devices";
  for (const FusionGroup *each : {&x, &y})
    if (each->kind == FusionClass::Single)
      return "`" + ops[each->hub]->getName().getStringRef().str() + "` is a kernel of its own";
  if (x.ops.size() + y.ops.size() > options.maxOps)
    return "the kernel would have more than " + std::to_string(options.maxOps) + " ops";
  bool isPlain[] = {x.kind == FusionClass::Elementwise, y.kind == FusionClass::Elementwise};
  if (!isPlain[0] && !isPlain[1] && (x.kind == FusionClass::Matmul || y.kind == FusionClass::Matmul))
    return "a kernel has at most one matmul, and no reduction beside it";
  bool reduces = x.kind == FusionClass::Reduce || y.kind == FusionClass::Reduce;
  std::string reason = pathAgainst(a, b, /*throughCopies=*/!reduces);
  if (!reason.empty())
    return reason;
  if (isPlain[0] && isPlain[1])
    return x.space == y.space ? "" : "their iteration spaces differ";
  if (x.kind == FusionClass::Matmul || y.kind == FusionClass::Matmul)
    return matmulAgainst(isPlain[0] ? y : x, isPlain[0] ? x : y);
  bool xIsMain = isPlain[1] || (!isPlain[0] && x.space.size() >= y.space.size());
  const FusionGroup &other = xIsMain ? y : x;
  SmallVector<Form> before;
  for (unsigned i : other.ops)
    before.push_back(form[i]);
  reason = reduceAgainst(xIsMain ? x : y, other);
  if (!reason.empty())
    for (auto [i, old] : llvm::zip_equal(other.ops, before))
      form[i] = old;
  return reason;
}

std::string FusionGroups::matmulAgainst(const FusionGroup &matmul, const FusionGroup &plain) const {
  if (plain.space != matmul.space)
    return "their iteration spaces differ";
  for (unsigned producer : preds[matmul.hub])
    if (groups[group[producer]].get() == &plain)
      return "a matmul reads its operands from memory";
  Operation *op = ops[matmul.hub];
  if (isa<ir::ScatterAddOp>(op))
    return "";
  if (llvm::any_of(op->getUsers(), [&](Operation *user) { return user != *op->user_begin(); }))
    return "the matmul has more than one use";
  return "";
}

bool FusionGroups::formIn(const FusionGroup &main, const Sizes &sizes, Form &out) const {
  if (sizes == main.space)
    out = Form::Whole;
  else if (sizes == main.rowKept && (main.isRows || main.keeps))
    out = Form::RowKept;
  else if (sizes == main.row && (main.isRows || !main.keeps))
    out = Form::Row;
  else if (main.totalSizes && sizes == *main.totalSizes)
    out = Form::Total;
  else
    return false;
  return true;
}

/// Assigns the ops of `other` their forms in `main`, and checks all their reads.
std::string FusionGroups::reduceAgainst(const FusionGroup &main, const FusionGroup &other) {
  Form own = Form::Whole;
  bool fits = formIn(main, other.space, own);
  bool totals = false;
  if (other.kind == FusionClass::Reduce && (own != Form::Whole || !fits)) {
    totals = fits && main.isRows && own != Form::Total && !other.totalSizes &&
             other.axes.size() == other.space.size() &&
             (!main.totalSizes || *main.totalSizes == (other.keeps ? other.rowKept : other.row));
    fits = totals;
  } else if (other.kind == FusionClass::Reduce) {
    fits = main.axes == other.axes && (main.isRows || main.keeps == other.keeps) &&
           (!main.totalSizes || !other.totalSizes || *main.totalSizes == *other.totalSizes);
  }
  if (!fits)
    return "their iteration spaces differ";
  for (unsigned i : other.ops)
    if (other.kind == FusionClass::Elementwise)
      form[i] = own;
    else if (totals)
      form[i] = form[i] == Form::Whole ? own : Form::Total;
  for (const FusionGroup *each : {&main, &other})
    for (unsigned i : each->ops) {
      // A reduction reads another form than its own.
      Form reads = form[i];
      if (ops[i]->hasTrait<ir::Reduction>()) {
        auto x = cast<ir::TensorType>(ops[i]->getOperand(0).getType()).getSizes();
        formIn(main, Sizes(x.begin(), x.end()), reads);
      }
      std::string reason = readsAgainst(main, other, ops[i], reads);
      if (!reason.empty())
        return reason;
    }
  return "";
}

std::string FusionGroups::readsAgainst(const FusionGroup &main, const FusionGroup &other,
                                       Operation *reader, Form reads) const {
  for (Value operand : reader->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || producer->getBlock() != &block)
      continue;
    unsigned index = numbers.lookup(producer);
    const FusionGroup *owner = groups[group[index]].get();
    std::string reason;
    if (owner && (owner == &main || owner == &other)) {
      reason = formsAgainst(main, form[index], reads, options.target);
    } else if (!owner && absorbs(reader, producer)) {
      SmallVector<unsigned> behind;
      candidatesOf(producer, behind);
      if (llvm::none_of(behind, [&](unsigned g) {
            return groups[g].get() == &main || groups[g].get() == &other;
          }))
        continue;
      auto type = cast<ir::TensorType>(producer->getResult(0).getType());
      Form form = Form::Whole;
      if (!isa<ir::BroadcastOp>(producer) ||
          !formIn(main, Sizes(type.getSizes().begin(), type.getSizes().end()), form))
        return "it reads elements of other rows";
      reason = formsAgainst(main, form, reads, options.target);
      if (reason.empty())
        reason = readsAgainst(main, other, producer, form);
    }
    if (!reason.empty())
      return reason;
  }
  return "";
}

/// A kernel runs as one unit, so no dependency path may lead through an op between the two groups.
/// Ops after the newest one are in no group yet, so no path leads back from them. A cheap op on the
/// path, of which the kernel gets a copy, counts only with `throughCopies`.
std::string FusionGroups::pathAgainst(unsigned a, unsigned b, bool throughCopies) {
  unsigned newest = std::max(groups[a]->ops.back(), groups[b]->ops.back());
  ++search;
  SmallVector<unsigned> work;
  auto inside = [&](unsigned i) { return group[i] == a || group[i] == b; };
  // Whether a cheap op depends only on values of the two groups.
  auto isCopied = [&](unsigned i) {
    while (!group[i] && isCheapTensor(ops[i]) && preds[i].size() == 1)
      i = preds[i].front();
    return inside(i);
  };
  auto visit = [&](unsigned i) {
    for (unsigned next : succs[i]) {
      bool skips =
          !throughCopies && !group[i] && inside(next) && absorbs(ops[next], ops[i]) && isCopied(i);
      if (next <= newest && !skips && seen[next] != search) {
        seen[next] = search;
        work.push_back(next);
      }
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

} // namespace mx::graph
