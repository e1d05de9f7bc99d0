// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Support/Dim.h"
#include "Support/CheckedMath.h"
#include "Support/Limits.h"
#include <algorithm>
#include <numeric>

namespace mx {

std::optional<int64_t> Dim::constant() const {
  if (!node)
    return std::nullopt;
  if (node->terms.empty())
    return 0;
  if (node->terms.size() == 1 && node->terms[0].atoms.empty())
    return node->terms[0].coefficient;
  return std::nullopt;
}

DimContext::DimContext() = default;

Dim DimContext::intern(std::vector<DimTerm> terms) {
  if (terms.size() > static_cast<size_t>(limits::kMaxDimTerms))
    return {};
  size_t hash = terms.size();
  for (const DimTerm &t : terms) {
    if (t.atoms.size() > static_cast<size_t>(limits::kMaxDimDegree))
      return {};
    hash = hash * 1000003u ^ std::hash<int64_t>()(t.coefficient);
    for (AtomId a : t.atoms)
      hash = hash * 1000003u ^ a;
  }
  auto range = interned.equal_range(hash);
  for (auto it = range.first; it != range.second; ++it)
    if (it->second->terms == terms)
      return Dim(it->second);
  nodes.push_back(std::make_unique<DimNode>(DimNode{std::move(terms)}));
  interned.emplace(hash, nodes.back().get());
  return Dim(nodes.back().get());
}

Dim DimContext::constant(int64_t value) {
  if (value == 0)
    return intern({});
  return intern({DimTerm{value, {}}});
}

AtomId DimContext::newSymbol(DimSymbol symbol) {
  Atom atom;
  atom.symbol = std::move(symbol);
  atoms.push_back(std::move(atom));
  return static_cast<AtomId>(atoms.size() - 1);
}

Dim DimContext::symbol(AtomId id) { return intern({DimTerm{1, {id}}}); }

Dim DimContext::term(int64_t coefficient, const std::vector<AtomId> &factors) {
  if (coefficient == 0)
    return constant(0);
  std::vector<AtomId> sorted = factors;
  std::sort(sorted.begin(), sorted.end());
  return intern({DimTerm{coefficient, sorted}});
}

namespace {
/// Sums like terms; nothing on overflow.
std::optional<std::vector<DimTerm>> collect(std::map<std::vector<AtomId>, int64_t> &sums) {
  std::vector<DimTerm> terms;
  for (auto &[factors, coefficient] : sums)
    if (coefficient != 0)
      terms.push_back({coefficient, factors});
  return terms;
}
} // namespace

Dim DimContext::add(Dim a, Dim b) {
  if (!a || !b)
    return {};
  std::vector<DimTerm> terms;
  auto x = a->terms.begin(), y = b->terms.begin();
  while (x != a->terms.end() || y != b->terms.end()) {
    if (y == b->terms.end() || (x != a->terms.end() && x->atoms < y->atoms)) {
      terms.push_back(*x++);
    } else if (x == a->terms.end() || y->atoms < x->atoms) {
      terms.push_back(*y++);
    } else {
      auto sum = checkedAdd(x->coefficient, y->coefficient);
      if (!sum)
        return {};
      if (*sum != 0)
        terms.push_back({*sum, x->atoms});
      ++x, ++y;
    }
  }
  return intern(std::move(terms));
}

Dim DimContext::sub(Dim a, Dim b) { return add(a, negate(b)); }

Dim DimContext::mul(Dim a, Dim b) {
  if (!a || !b)
    return {};
  if (a->terms.size() * b->terms.size() > 4096)
    return {};
  std::map<std::vector<AtomId>, int64_t> sums;
  for (const DimTerm &x : a->terms)
    for (const DimTerm &y : b->terms) {
      std::vector<AtomId> factors;
      std::merge(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(),
                 std::back_inserter(factors));
      auto product = checkedMul(x.coefficient, y.coefficient);
      if (!product)
        return {};
      auto sum = checkedAdd(sums[factors], *product);
      if (!sum)
        return {};
      sums[factors] = *sum;
    }
  return intern(*collect(sums));
}

int DimContext::depthOf(Dim d) const {
  int depth = 0;
  for (const DimTerm &t : d->terms)
    for (AtomId a : t.atoms)
      depth = std::max(depth, atoms[a].depth);
  return depth;
}

Dim DimContext::floorDiv(Dim a, Dim b) {
  if (!a || !b || b.isConstant(0))
    return {};
  if (auto x = a.constant(), y = b.constant(); x && y) {
    auto q = checkedFloorDiv(*x, *y);
    return q ? constant(*q) : Dim();
  }
  if (b.isConstant(1) || a.isConstant(0))
    return a;
  if (auto y = b.constant(); y && *y < 0)
    return floorDiv(negate(a), negate(b));
  // Cancel what all terms of both sides share: floor(c*x / (c*y)) is floor(x / y).
  int64_t shared = 0;
  std::vector<AtomId> common;
  bool first = true;
  for (Dim side : {a, b})
    for (const DimTerm &t : side->terms) {
      if (t.coefficient == INT64_MIN)
        return {};
      shared = std::gcd(shared, t.coefficient);
      if (first) {
        common = t.atoms;
      } else {
        std::vector<AtomId> both;
        std::set_intersection(common.begin(), common.end(), t.atoms.begin(), t.atoms.end(),
                              std::back_inserter(both));
        common = std::move(both);
      }
      first = false;
    }
  auto divided = [&](Dim d) {
    std::map<std::vector<AtomId>, int64_t> sums;
    for (const DimTerm &t : d->terms) {
      std::vector<AtomId> rest;
      std::set_difference(t.atoms.begin(), t.atoms.end(), common.begin(), common.end(),
                          std::back_inserter(rest));
      sums[rest] = t.coefficient / shared;
    }
    return intern(*collect(sums));
  };
  if (shared > 1 || !common.empty())
    return floorDiv(divided(a), divided(b));
  if (a == b)
    return constant(1);
  // Take out of the numerator what the denominator divides: floor((q*b + r) / b) = q + floor(r / b).
  if (b->terms.size() == 1) {
    const DimTerm &by = b->terms[0];
    Dim whole = constant(0), rest = constant(0);
    for (const DimTerm &t : a->terms) {
      bool divides = std::includes(t.atoms.begin(), t.atoms.end(), by.atoms.begin(), by.atoms.end());
      auto q = divides ? checkedFloorDiv(t.coefficient, by.coefficient) : std::nullopt;
      if (!q || *q == 0) {
        rest = add(rest, term(t.coefficient, t.atoms));
        continue;
      }
      std::vector<AtomId> factors;
      std::set_difference(t.atoms.begin(), t.atoms.end(), by.atoms.begin(), by.atoms.end(),
                          std::back_inserter(factors));
      whole = add(whole, term(*q, factors));
      int64_t remainder = t.coefficient - *q * by.coefficient;
      rest = add(rest, term(remainder, t.atoms));
      if (!rest || !whole)
        return {};
    }
    if (!rest)
      return {};
    if (!whole.isConstant(0))
      return add(whole, floorDiv(rest, b));
  }
  auto key = std::pair(a.get(), b.get());
  auto known = divisions.find(key);
  if (known != divisions.end())
    return symbol(known->second);
  Atom atom;
  atom.isSymbol = false;
  atom.numerator = a;
  atom.denominator = b;
  atom.depth = 1 + std::max(depthOf(a), depthOf(b));
  if (atom.depth > limits::kMaxDimAtomDepth)
    return {};
  atoms.push_back(atom);
  AtomId id = static_cast<AtomId>(atoms.size() - 1);
  divisions.emplace(key, id);
  return symbol(id);
}

Dim DimContext::mod(Dim a, Dim b) {
  if (auto x = a.constant(), y = b.constant(); x && y) {
    auto r = checkedFloorMod(*x, *y);
    return r ? constant(*r) : Dim();
  }
  return sub(a, mul(b, floorDiv(a, b)));
}

std::optional<AtomId> DimContext::asSymbol(Dim d) const {
  if (d && d->terms.size() == 1 && d->terms[0].coefficient == 1 && d->terms[0].atoms.size() == 1 &&
      atoms[d->terms[0].atoms[0]].isSymbol)
    return d->terms[0].atoms[0];
  return std::nullopt;
}

bool DimContext::isNonNegativeAtom(AtomId id) const {
  const Atom &atom = atoms[id];
  if (atom.isSymbol)
    return atom.symbol.nonNegative;
  auto plain = [&](Dim d) {
    for (const DimTerm &t : d->terms) {
      if (t.coefficient < 0)
        return false;
      for (AtomId a : t.atoms)
        if (!isNonNegativeAtom(a))
          return false;
    }
    return true;
  };
  return plain(atom.numerator) && plain(atom.denominator);
}

Dim DimContext::substitute(Dim d, const Substitution &by) {
  if (!d || by.empty())
    return d;
  Dim sum = constant(0);
  for (const DimTerm &t : std::vector<DimTerm>(d->terms)) {
    Dim product = constant(t.coefficient);
    for (AtomId a : t.atoms) {
      auto it = by.find(a);
      Dim factor;
      if (it != by.end()) {
        factor = it->second;
      } else if (atoms[a].isSymbol) {
        factor = symbol(a);
      } else {
        Dim numerator = atoms[a].numerator, denominator = atoms[a].denominator;
        factor = floorDiv(substitute(numerator, by), substitute(denominator, by));
      }
      product = mul(product, factor);
    }
    sum = add(sum, product);
    if (!sum)
      return {};
  }
  return sum;
}

std::optional<int64_t> DimContext::evaluate(Dim d, const std::map<AtomId, int64_t> &values) const {
  if (!d)
    return std::nullopt;
  int64_t sum = 0;
  for (const DimTerm &t : d->terms) {
    std::optional<int64_t> product = t.coefficient;
    for (AtomId a : t.atoms) {
      std::optional<int64_t> factor;
      if (atoms[a].isSymbol) {
        auto it = values.find(a);
        if (it == values.end())
          return std::nullopt;
        factor = it->second;
      } else {
        auto x = evaluate(atoms[a].numerator, values), y = evaluate(atoms[a].denominator, values);
        factor = x && y ? checkedFloorDiv(*x, *y) : std::nullopt;
      }
      if (!factor || !product)
        return std::nullopt;
      product = checkedMul(*product, *factor);
    }
    auto next = product ? checkedAdd(sum, *product) : std::nullopt;
    if (!next)
      return std::nullopt;
    sum = *next;
  }
  return sum;
}

void DimContext::symbols(Dim d, std::vector<AtomId> &out) const {
  if (!d)
    return;
  for (const DimTerm &t : d->terms)
    for (AtomId a : t.atoms) {
      if (!atoms[a].isSymbol) {
        symbols(atoms[a].numerator, out);
        symbols(atoms[a].denominator, out);
      } else if (std::find(out.begin(), out.end(), a) == out.end()) {
        out.push_back(a);
      }
    }
}

std::string DimContext::printAtom(AtomId id) const {
  const Atom &atom = atoms[id];
  if (atom.isSymbol)
    return atom.symbol.name;
  return printFactor(atom.numerator) + " // " + printFactor(atom.denominator);
}

std::string DimContext::printFactor(Dim d) const {
  std::string text = print(d);
  bool plain = d && (d.constant() ? *d.constant() >= 0 : asSymbol(d).has_value());
  bool product = d && d->terms.size() == 1 && d->terms[0].coefficient > 0 &&
                 text.find(' ') == std::string::npos;
  return plain || product ? text : "(" + text + ")";
}

std::string DimContext::print(Dim d) const {
  if (!d)
    return "?";
  if (d->terms.empty())
    return "0";
  // Positive terms first, the constant last: `H + 2*pad - K`, `T - 1`.
  std::vector<const DimTerm *> order;
  for (int pass = 0; pass < 3; ++pass)
    for (const DimTerm &t : d->terms)
      if ((t.atoms.empty() ? 2 : t.coefficient > 0 ? 0 : 1) == pass)
        order.push_back(&t);
  // A lone positive constant goes first where all else is subtracted: `1 - N`.
  if (order.size() > 1 && order[0]->coefficient < 0 && order.back()->coefficient > 0)
    std::rotate(order.begin(), order.end() - 1, order.end());
  std::string out;
  for (const DimTerm *t : order) {
    uint64_t magnitude = t->coefficient < 0 ? 0 - static_cast<uint64_t>(t->coefficient)
                                            : static_cast<uint64_t>(t->coefficient);
    bool negative = t->coefficient < 0;
    if (out.empty())
      out = negative ? "-" : "";
    else
      out += negative ? " - " : " + ";
    std::string factors;
    if (magnitude != 1 || t->atoms.empty())
      factors = std::to_string(magnitude);
    bool alone = d->terms.size() == 1 && t->atoms.size() == 1 && factors.empty() && !negative;
    for (AtomId a : t->atoms) {
      std::string text = printAtom(a);
      bool wrap = !atoms[a].isSymbol && !(alone || (factors.empty() && t->atoms.size() == 1 && !negative));
      factors += (factors.empty() ? "" : "*") + (wrap ? "(" + text + ")" : text);
    }
    out += factors;
  }
  return out;
}

} // namespace mx
