// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval arithmetic on symbolic sizes.
#include "dialects/mxrt/Bounds.h"
#include "Support/CheckedMath.h"
#include <cstdlib>
#include <mutex>

namespace mx::rt {
namespace {

struct Interval {
  int64_t low, high;
};
using Maybe = std::optional<Interval>;

Maybe add(Maybe a, Maybe b) {
  if (!a || !b)
    return std::nullopt;
  std::optional<int64_t> low = checkedAdd(a->low, b->low), high = checkedAdd(a->high, b->high);
  return low && high ? Maybe({*low, *high}) : std::nullopt;
}
/// The hull of the results at the four pairs of endpoints.
Maybe atEnds(Interval a, Interval b, std::optional<int64_t> (*op)(int64_t, int64_t)) {
  Maybe hull;
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      std::optional<int64_t> value = op(x, y);
      if (!value)
        return std::nullopt;
      hull = hull ? Interval{std::min(hull->low, *value), std::max(hull->high, *value)}
                  : Interval{*value, *value};
    }
  return hull;
}

class Range {
public:
  Range(DimContext &dims, const SizeBounds &bounds) : dims(dims), bounds(bounds) {}

  Maybe of(Dim dim) {
    Maybe sum = Interval{0, 0};
    for (const DimTerm &term : dim->terms) {
      Maybe product = Interval{term.coefficient, term.coefficient};
      for (AtomId atom : term.atoms) {
        Maybe factor = ofAtom(atom);
        product = product && factor ? atEnds(*product, *factor, checkedMul) : std::nullopt;
      }
      sum = add(sum, product);
    }
    return sum;
  }

private:
  DimContext &dims;
  const SizeBounds &bounds;

  Maybe ofAtom(AtomId atom) {
    if (dims.isSymbol(atom)) {
      auto bound = bounds.find(dims.symbolInfo(atom).name);
      return bound != bounds.end() ? Maybe({0, bound->second}) : std::nullopt;
    }
    Maybe numerator = of(dims.numerator(atom)), denominator = of(dims.denominator(atom));
    if (!numerator || !denominator || numerator->low == INT64_MIN)
      return std::nullopt;
    // Of a divisor that may be negative: no quotient is larger than its numerator.
    if (denominator->low < 0) {
      int64_t largest = std::max(std::abs(numerator->low), std::abs(numerator->high));
      return Interval{-largest, largest};
    }
    // By 0 the result is 0.
    Interval positive{std::max<int64_t>(denominator->low, 1), denominator->high};
    Maybe out = Interval{0, 0};
    if (positive.low <= positive.high)
      out = atEnds(*numerator, positive, checkedFloorDiv);
    if (out && denominator->low == 0)
      out = Interval{std::min<int64_t>(out->low, 0), std::max<int64_t>(out->high, 0)};
    return out;
  }
};

} // namespace

std::optional<int64_t> largest(ir::SizeAttr size, const SizeBounds &bounds) {
  if (std::optional<int64_t> value = size.constant())
    return value;
  ir::SizeTable &table = size.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  Dim dim = size.dim();
  Maybe range = dim ? Range(table.dims, bounds).of(dim) : std::nullopt;
  return range ? std::optional(std::max<int64_t>(range->high, 0)) : std::nullopt;
}

std::optional<int64_t> largestBytes(ir::TensorType type, const SizeBounds &bounds) {
  std::optional<int64_t> bytes = elementInfo(ir::elementFromMlir(type.getElement())).bytes;
  bool empty = false;
  for (ir::SizeAttr size : type.getSizes()) {
    std::optional<int64_t> count = largest(size, bounds);
    if (!count || *count < 0)
      return std::nullopt;
    empty |= *count == 0;
    bytes = bytes ? checkedMul(*bytes, *count) : std::nullopt;
  }
  return empty ? 0 : bytes;
}

} // namespace mx::rt
