// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape inference rules: broadcasting, matmul, reductions, reshape, concat, stack, split, permute.
#include "Support/Shape.h"
#include <algorithm>

namespace mx {
namespace {

ShapeResult failed(ShapeProblem::Kind kind, int64_t axis = 0, Dim left = {}, Dim right = {},
                   Answer answer = {}) {
  ShapeResult result;
  result.problem = {kind, static_cast<int>(axis), left, right, std::move(answer)};
  return result;
}

/// Demands a == b. Proved is accepted, refuted is an error, unknown becomes a condition.
bool demandEqual(ShapeResult &result, Dim a, Dim b, int axis, const DimFacts &facts) {
  if (a == b)
    return true;
  Answer answer = facts.equal(a, b);
  if (answer.refuted()) {
    result.problem = {ShapeProblem::Mismatch, axis, a, b, answer};
    return false;
  }
  if (!answer.proved())
    result.conditions.push_back({Relation::Equal, a, b, {}});
  return true;
}

bool isOne(const Axis &axis) { return !axis.isPack() && axis.dim.isConstant(1); }

/// Whether `low` also aligns with `high` at `offset`, by proved equalities alone. Literal ones
/// never make a broadcast ambiguous. `concrete` is set if the match relies on two equal numbers and
/// not on one name.
bool fitsAt(const Shape &low, const Shape &high, size_t offset, const DimFacts &facts,
            bool &concrete) {
  concrete = false;
  for (size_t i = 0; i < low.size(); ++i) {
    const Axis &l = low[i], &h = high[offset + i];
    if (l.isPack() || h.isPack() || isOne(l) || isOne(h))
      return false;
    if (l.dim != h.dim && !facts.equal(l.dim, h.dim).proved())
      return false;
    concrete |= l.dim.constant().has_value();
  }
  return true;
}

} // namespace

bool hasPack(const Shape &shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Axis &a) { return a.isPack(); });
}

ShapeResult broadcastShapes(const Shape &a, const Shape &b, const DimFacts &facts) {
  ShapeResult result;
  const Shape &high = a.size() >= b.size() ? a : b;
  const Shape &low = a.size() >= b.size() ? b : a;
  size_t extra = high.size() - low.size();
  bool broadcasts = false;
  result.shape = high;
  for (size_t i = low.size(); i-- > 0;) {
    const Axis &l = low[i];
    Axis &h = result.shape[extra + i];
    int axis = static_cast<int>(extra + i);
    if (l == h)
      continue;
    if (l.isPack() || h.isPack()) {
      // A pack matches itself. Against anything else the result depends on its length, which is not
      // known here: even a 1 stays if the pack is empty, and is broadcast if it is not.
      return failed(ShapeProblem::PackInTheWay, axis);
    }
    if (isOne(l))
      continue;
    if (isOne(h)) {
      h = l;
      broadcasts = true;
      continue;
    }
    Answer answer = facts.equal(l.dim, h.dim);
    if (answer.refuted()) {
      const Axis &left = a.size() >= b.size() ? h : l;
      const Axis &right = a.size() >= b.size() ? l : h;
      return failed(ShapeProblem::Mismatch, axis, left.dim, right.dim, answer);
    }
    if (!answer.proved())
      result.conditions.push_back({Relation::Equal, l.dim, h.dim, {}});
  }
  if (extra == 0 || low.empty())
    return result;
  for (size_t offset = 0; offset < extra; ++offset) {
    bool concrete;
    if (!fitsAt(low, high, offset, facts, concrete))
      continue;
    if (concrete && !broadcasts) {
      result.coincidence = true;
      result.problem.axis = static_cast<int>(offset);
      continue;
    }
    ShapeResult bad = failed(ShapeProblem::Ambiguous, static_cast<int64_t>(offset));
    bad.shape = std::move(result.shape);
    bad.conditions = std::move(result.conditions);
    return bad;
  }
  return result;
}

ShapeResult matmulShape(const Shape &a, const Shape &b, const DimFacts &facts) {
  if (a.empty() || b.empty() || a.back().isPack() || b.back().isPack())
    return failed(ShapeProblem::RankTooLow);
  size_t inner = b.size() >= 2 ? b.size() - 2 : 0;
  if (b[inner].isPack())
    return failed(ShapeProblem::RankTooLow);
  ShapeResult result;
  if (!demandEqual(result, a.back().dim, b[inner].dim, static_cast<int>(a.size()) - 1, facts))
    return result;
  // A pack next to the last dim of `a` contains the rows and the batch dims. That is supported for
  // a matrix or vector `b`. Otherwise the alignment of its batch dims is unknown.
  if (a.size() >= 2 && a[a.size() - 2].isPack() && b.size() > 2)
    return failed(ShapeProblem::PackInTheWay, static_cast<int64_t>(a.size()) - 2);
  // Batch dims broadcast. A vector is treated as a matrix whose extra dim is dropped from the
  // result.
  Shape leadA(a.begin(), a.size() >= 2 ? a.end() - 2 : a.end() - 1);
  Shape leadB(b.begin(), b.size() >= 2 ? b.end() - 2 : b.end() - 1);
  ShapeResult lead = leadB.empty()   ? ShapeResult{leadA, {}, {}, false}
                     : leadA.empty() ? ShapeResult{leadB, {}, {}, false}
                                     : broadcastShapes(leadA, leadB, facts);
  // The operation determines which dims are batch dims, so nothing is ambiguous or a coincidence.
  lead.coincidence = false;
  if (lead.ok() || lead.problem.kind == ShapeProblem::Ambiguous)
    lead.problem = {};
  if (!lead.ok())
    return lead;
  lead.conditions.insert(lead.conditions.end(), result.conditions.begin(), result.conditions.end());
  if (a.size() >= 2)
    lead.shape.push_back(a[a.size() - 2]);
  if (b.size() >= 2)
    lead.shape.push_back(b.back());
  return lead;
}

std::optional<size_t> axisIndex(const Shape &s, int64_t axis) {
  int64_t rank = static_cast<int64_t>(s.size());
  int64_t index = axis < 0 ? axis + rank : axis;
  if (index < 0 || index >= rank)
    return std::nullopt;
  // A pack has an unknown number of dims, so positions beyond it are unknown.
  auto begin = axis < 0 ? s.begin() + index : s.begin();
  auto end = axis < 0 ? s.end() : s.begin() + index + 1;
  if (std::any_of(begin, end, [](const Axis &a) { return a.isPack(); }))
    return std::nullopt;
  return static_cast<size_t>(index);
}

ShapeResult reduceShape(const Shape &s, const std::vector<int64_t> &axes, bool all, bool keep,
                        DimContext &dims) {
  ShapeResult result;
  if (all) {
    if (keep) {
      if (hasPack(s))
        return failed(ShapeProblem::PackInTheWay);
      result.shape.assign(s.size(), axisOf(dims.constant(1)));
    }
    return result;
  }
  std::vector<bool> gone(s.size(), false);
  for (int64_t axis : axes) {
    auto index = axisIndex(s, axis);
    if (!index)
      return failed(hasPack(s) ? ShapeProblem::PackInTheWay : ShapeProblem::AxisRange, axis);
    if (gone[*index]) // repeated, possibly once from the end
      return failed(ShapeProblem::AxisRange, axis);
    gone[*index] = true;
  }
  for (size_t i = 0; i < s.size(); ++i) {
    if (!gone[i])
      result.shape.push_back(s[i]);
    else if (keep)
      result.shape.push_back(axisOf(dims.constant(1)));
  }
  return result;
}

Dim elementCount(const Shape &s, DimContext &dims) {
  Dim count = dims.constant(1);
  for (const Axis &axis : s)
    count = axis.isPack() ? Dim() : dims.mul(count, axis.dim);
  return count;
}

ShapeResult reshapeShape(const Shape &from, const Shape &to, const DimFacts &facts) {
  DimContext &dims = facts.dims();
  ShapeResult result;
  result.shape = to;
  Dim have = elementCount(from, dims), want = dims.constant(1);
  int inferred = -1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].isPack())
      return failed(ShapeProblem::PackInTheWay, static_cast<int64_t>(i));
    if (!to[i].dim) {
      if (inferred >= 0)
        return failed(ShapeProblem::TwoInferred, static_cast<int64_t>(i));
      inferred = static_cast<int>(i);
      continue;
    }
    // Two negative sizes could multiply to the right number of elements.
    if (auto size = to[i].dim.constant(); size && *size < 0)
      return failed(ShapeProblem::Elements, static_cast<int64_t>(i), have, to[i].dim);
    want = dims.mul(want, to[i].dim);
  }
  if (!have)
    return failed(hasPack(from) ? ShapeProblem::PackInTheWay : ShapeProblem::Overflow);
  if (!want)
    return failed(ShapeProblem::Overflow);
  have = facts.simplify(have);
  want = facts.simplify(want);
  if (inferred < 0) {
    Answer answer = facts.equal(have, want);
    if (answer.refuted())
      return failed(ShapeProblem::Elements, 0, have, want, answer);
    if (!answer.proved())
      result.conditions.push_back({Relation::Equal, have, want, {}});
    return result;
  }
  if (want.isConstant(0))
    return failed(ShapeProblem::Indivisible, inferred, have, want);
  Dim quotient = facts.simplify(dims.floorDiv(have, want));
  if (!quotient)
    return failed(ShapeProblem::Overflow);
  Dim back = dims.mul(quotient, want);
  if (!back)
    return failed(ShapeProblem::Overflow);
  Answer exact = facts.equal(back, have);
  if (exact.refuted())
    return failed(ShapeProblem::Indivisible, inferred, have, want, exact);
  if (!exact.proved())
    result.conditions.push_back({Relation::Equal, back, have, {}});
  result.shape[inferred] = axisOf(quotient);
  return result;
}

ShapeResult concatShapes(const std::vector<Shape> &parts, int64_t axis, const DimFacts &facts) {
  ShapeResult result;
  if (parts.empty())
    return failed(ShapeProblem::RankTooLow);
  result.shape = parts[0];
  auto index = axisIndex(parts[0], axis);
  if (!index)
    return failed(hasPack(parts[0]) ? ShapeProblem::PackInTheWay : ShapeProblem::AxisRange, axis);
  for (size_t p = 1; p < parts.size(); ++p) {
    if (parts[p].size() != parts[0].size())
      return failed(ShapeProblem::RankTooLow, static_cast<int64_t>(p));
    for (size_t i = 0; i < parts[p].size(); ++i) {
      const Axis &have = parts[p][i];
      Axis &sum = result.shape[i];
      if (i == *index && !have.isPack()) {
        sum.dim = facts.dims().add(sum.dim, have.dim);
        if (!sum.dim)
          return failed(ShapeProblem::Overflow, static_cast<int64_t>(i));
      } else if (sum.isPack() || have.isPack()) {
        if (!(sum == have))
          return failed(ShapeProblem::PackInTheWay, static_cast<int64_t>(i));
      } else if (!demandEqual(result, sum.dim, have.dim, static_cast<int>(i), facts)) {
        return result;
      }
    }
  }
  return result;
}

ShapeResult sameShape(const Shape &a, const Shape &b, const DimFacts &facts) {
  ShapeResult result;
  result.shape = a;
  if (a.size() != b.size())
    return failed(ShapeProblem::RankTooLow);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i])
      continue;
    if (a[i].isPack() || b[i].isPack())
      return failed(ShapeProblem::PackInTheWay, static_cast<int64_t>(i));
    if (!demandEqual(result, a[i].dim, b[i].dim, static_cast<int>(i), facts))
      return result;
  }
  return result;
}

ShapeResult stackShapes(const std::vector<Shape> &parts, int64_t axis, const DimFacts &facts) {
  ShapeResult result;
  if (parts.empty())
    return failed(ShapeProblem::RankTooLow);
  result.shape = parts[0];
  for (size_t p = 1; p < parts.size(); ++p) {
    ShapeResult same = sameShape(parts[0], parts[p], facts);
    if (!same.ok())
      return same;
    result.conditions.insert(result.conditions.end(), same.conditions.begin(),
                             same.conditions.end());
  }
  int64_t rank = static_cast<int64_t>(parts[0].size()) + 1;
  int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank)
    return failed(hasPack(parts[0]) ? ShapeProblem::PackInTheWay : ShapeProblem::AxisRange, axis);
  // A pack between the counted end and the new dim makes its position unknown.
  auto split = parts[0].begin() + at;
  if (axis < 0 ? hasPack(Shape(split, parts[0].end())) : hasPack(Shape(parts[0].begin(), split)))
    return failed(ShapeProblem::PackInTheWay, axis);
  result.shape.insert(result.shape.begin() + at,
                      axisOf(facts.dims().constant(static_cast<int64_t>(parts.size()))));
  return result;
}

ShapeResult splitShape(const Shape &s, int64_t parts, int64_t axis, const DimFacts &facts) {
  DimContext &dims = facts.dims();
  auto index = axisIndex(s, axis);
  if (!index)
    return failed(hasPack(s) ? ShapeProblem::PackInTheWay : ShapeProblem::AxisRange, axis);
  ShapeResult result;
  result.shape = s;
  Dim whole = s[*index].dim;
  if (parts <= 0)
    return failed(ShapeProblem::Indivisible, static_cast<int64_t>(*index), whole,
                  dims.constant(parts));
  Dim part = facts.simplify(dims.floorDiv(whole, dims.constant(parts)));
  if (!part)
    return failed(ShapeProblem::Overflow, static_cast<int64_t>(*index));
  Dim back = dims.mul(part, dims.constant(parts));
  Answer exact = facts.equal(back, whole);
  if (exact.refuted())
    return failed(ShapeProblem::Indivisible, static_cast<int64_t>(*index), whole,
                  dims.constant(parts), exact);
  if (!exact.proved())
    result.conditions.push_back({Relation::Equal, back, whole, {}});
  result.shape[*index] = axisOf(part);
  return result;
}

ShapeResult permuteShape(const Shape &s, const std::vector<int64_t> &order) {
  if (hasPack(s))
    return failed(ShapeProblem::PackInTheWay);
  if (order.size() != s.size())
    return failed(ShapeProblem::RankTooLow);
  ShapeResult result;
  std::vector<bool> used(s.size(), false);
  for (int64_t axis : order) {
    auto index = axisIndex(s, axis);
    if (!index || used[*index])
      return failed(ShapeProblem::AxisRange, axis);
    used[*index] = true;
    result.shape.push_back(s[*index]);
  }
  return result;
}

ShapeResult swapLastTwo(const Shape &s) {
  if (s.size() < 2 || s[s.size() - 1].isPack() || s[s.size() - 2].isPack())
    return failed(ShapeProblem::RankTooLow);
  ShapeResult result;
  result.shape = s;
  std::swap(result.shape[s.size() - 1], result.shape[s.size() - 2]);
  return result;
}

} // namespace mx
