// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbolic sizes: arithmetic on interned polynomials in normal form, substitution and printing.
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

bool smallerMonomial(const std::vector<AtomId> &a, const std::vector<AtomId> &b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool dividesMonomial(const std::vector<AtomId> &part, const std::vector<AtomId> &whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

std::vector<AtomId> quotientMonomial(const std::vector<AtomId> &whole,
                                     const std::vector<AtomId> &part) {
  std::vector<AtomId> rest;
  std::set_difference(whole.begin(), whole.end(), part.begin(), part.end(),
                      std::back_inserter(rest));
  return rest;
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
  int depth = 0, leaves = 0;
  for (const DimTerm &t : terms)
    for (AtomId a : t.atoms) {
      const Atom &atom = atoms[a];
      if (atom.isSymbol) {
        ++leaves;
        continue;
      }
      depth = std::max({depth, 1 + atom.numerator->depth, 1 + atom.denominator->depth});
      leaves += atom.numerator->leaves + atom.denominator->leaves;
    }
  if (depth > limits::kMaxDimAtomDepth || leaves > limits::kMaxDimLeaves)
    return {};
  nodes.push_back(std::make_unique<DimNode>(DimNode{std::move(terms), depth, leaves}));
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
/// Maximum number of term multiplications. A result within the limit on terms needs no more, unless
/// nearly all terms cancel.
constexpr size_t kMaxProducts = 1024;

std::vector<DimTerm> collect(std::map<std::vector<AtomId>, int64_t> &sums) {
  std::vector<DimTerm> terms;
  for (auto &[factors, coefficient] : sums)
    if (coefficient != 0)
      terms.push_back({coefficient, factors});
  return terms;
}

size_t degreeOf(Dim d) {
  size_t degree = 0;
  for (const DimTerm &t : d->terms)
    degree = std::max(degree, t.atoms.size());
  return degree;
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
  if (b.constant())
    std::swap(a, b);
  if (auto by = a.constant()) {
    if (*by == 0 || *by == 1)
      return *by == 0 ? a : b;
    std::vector<DimTerm> terms = b->terms;
    for (DimTerm &t : terms) {
      auto product = checkedMul(t.coefficient, *by);
      if (!product)
        return {};
      t.coefficient = *product;
    }
    return intern(std::move(terms));
  }
  // The leading terms of the factors multiply to the leading term of the result, so it does not
  // cancel and the degree limit can be checked first.
  if (a->terms.size() * b->terms.size() > kMaxProducts ||
      degreeOf(a) + degreeOf(b) > static_cast<size_t>(limits::kMaxDimDegree))
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
      int64_t &sum = sums[std::move(factors)];
      auto next = checkedAdd(sum, *product);
      if (!next)
        return {};
      sum = *next;
    }
  return intern(collect(sums));
}

const DimTerm *DimContext::leadingTerm(Dim d) {
  const DimTerm *lead = nullptr;
  for (const DimTerm &t : d->terms)
    if (!lead || smallerMonomial(lead->atoms, t.atoms))
      lead = &t;
  return lead;
}

/// Polynomial division with remainder: a = whole*b + rest, where the leading term of b reduces no
/// term of rest. All a that differ by a multiple of b have the same rest. If a limit is exceeded,
/// whole is 0.
DimContext::Division DimContext::reduceModulo(Dim a, Dim b) {
  constexpr int kMaxSteps = 2 * limits::kMaxDimTerms;
  const DimTerm &lead = *leadingTerm(b);
  Dim whole = constant(0), rest = a;
  for (int step = 0; step < kMaxSteps; ++step) {
    const DimTerm *top = nullptr;
    for (const DimTerm &t : rest->terms)
      if (dividesMonomial(lead.atoms, t.atoms) &&
          (t.coefficient < 0 || t.coefficient >= lead.coefficient) &&
          (!top || smallerMonomial(top->atoms, t.atoms)))
        top = &t;
    if (!top)
      return {whole, rest};
    auto times = checkedFloorDiv(top->coefficient, lead.coefficient);
    if (!times)
      break;
    Dim quotient = term(*times, quotientMonomial(top->atoms, lead.atoms));
    whole = add(whole, quotient);
    rest = sub(rest, mul(quotient, b));
    if (!whole || !rest)
      break;
  }
  return {constant(0), a};
}

/// (x // y + c) // b as (x + c*y) // (y*b), if a has that form; b must be positive.
Dim DimContext::flattenNested(Dim a, Dim b) {
  const DimTerm *division = nullptr;
  for (const DimTerm &t : a->terms)
    for (AtomId atom : t.atoms) {
      if (atoms[atom].isSymbol)
        continue;
      if (division || t.atoms.size() != 1 || t.coefficient != 1)
        return {};
      division = &t;
    }
  if (!division)
    return {};
  Dim x = atoms[division->atoms[0]].numerator, y = atoms[division->atoms[0]].denominator;
  Dim added = sub(a, term(1, division->atoms));
  return floorDiv(add(x, mul(added, y)), mul(y, b));
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
  if (leadingTerm(b)->coefficient < 0)
    return floorDiv(negate(a), negate(b));
  // Non-negative and, as a divisor, nonzero.
  bool positive = isPlainlyNonNegative(b);
  // Cancels the common factor of all terms of both sides: floor(c*x / (c*y)) is floor(x / y). The
  // constant of the numerator need not have it: floor((c*x + r) / (c*y)) is floor((x + floor(r /
  // c)) / y), because y is positive and x is an integer.
  int64_t shared = 0;
  std::optional<std::vector<AtomId>> common;
  for (Dim side : {a, b})
    for (const DimTerm &t : side->terms) {
      if (t.coefficient == INT64_MIN)
        return {};
      if (side == b || !t.atoms.empty() || !positive)
        shared = std::gcd(shared, t.coefficient);
      if (!common) {
        common = t.atoms;
        continue;
      }
      std::vector<AtomId> both;
      std::set_intersection(common->begin(), common->end(), t.atoms.begin(), t.atoms.end(),
                            std::back_inserter(both));
      common = std::move(both);
    }
  if (shared > 1 || !common->empty()) {
    auto divided = [&](Dim d) {
      std::map<std::vector<AtomId>, int64_t> sums;
      for (const DimTerm &t : d->terms)
        sums[quotientMonomial(t.atoms, *common)] = *checkedFloorDiv(t.coefficient, shared);
      return intern(collect(sums));
    };
    return floorDiv(divided(a), divided(b));
  }
  Division division = reduceModulo(a, b);
  if (!division.whole.isConstant(0))
    return add(division.whole, floorDiv(division.rest, b));
  if (positive)
    if (Dim flat = flattenNested(a, b))
      return flat;
  return divisionAtom(a, b);
}

Dim DimContext::divisionAtom(Dim a, Dim b) {
  auto key = std::pair(a.get(), b.get());
  auto known = divisions.find(key);
  if (known != divisions.end())
    return symbol(known->second);
  if (1 + std::max(a->depth, b->depth) > limits::kMaxDimAtomDepth ||
      a->leaves + b->leaves > limits::kMaxDimLeaves)
    return {};
  Atom atom;
  atom.isSymbol = false;
  atom.numerator = a;
  atom.denominator = b;
  atom.nonNegative = isPlainlyNonNegative(a) && isPlainlyNonNegative(b);
  atoms.push_back(std::move(atom));
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
  return atoms[id].isSymbol ? atoms[id].symbol.nonNegative : atoms[id].nonNegative;
}

bool DimContext::isPlainlyNonNegative(Dim d) const {
  return std::all_of(d->terms.begin(), d->terms.end(), [&](const DimTerm &t) {
    return t.coefficient > 0 && std::all_of(t.atoms.begin(), t.atoms.end(),
                                            [&](AtomId a) { return isNonNegativeAtom(a); });
  });
}

bool DimContext::mentionsAny(Dim d, const Substitution &by) const {
  for (const DimTerm &t : d->terms)
    for (AtomId a : t.atoms)
      if (by.count(a) || (!atoms[a].isSymbol && (mentionsAny(atoms[a].numerator, by) ||
                                                 mentionsAny(atoms[a].denominator, by))))
        return true;
  return false;
}

Dim DimContext::substitute(Dim d, const Substitution &by) {
  if (!d || !mentionsAny(d, by))
    return d;
  Dim sum = constant(0);
  for (const DimTerm &t : d->terms) { // nodes are never moved or freed
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
        Dim above = substitute(numerator, by), below = substitute(denominator, by);
        factor = above == numerator && below == denominator ? symbol(a) : floorDiv(above, below);
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

void DimContext::collectDivisions(Dim d, std::set<AtomId> &out) const {
  for (const DimTerm &t : d->terms)
    for (AtomId a : t.atoms)
      if (!atoms[a].isSymbol && out.insert(a).second) {
        collectDivisions(atoms[a].numerator, out);
        collectDivisions(atoms[a].denominator, out);
      }
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
  // `a*b // c` is parsed from the left, so only a denominator needs parentheses around a
  // multiplication.
  std::string denominator = print(atom.denominator);
  bool bare = atom.denominator.constant() || asSymbol(atom.denominator);
  return printFactor(atom.numerator) + " // " + (bare ? denominator : "(" + denominator + ")");
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
  // A lone positive constant comes first if all other terms are subtracted: `1 - N`.
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
      bool wrap =
          !atoms[a].isSymbol && !(alone || (factors.empty() && t->atoms.size() == 1 && !negative));
      factors += (factors.empty() ? "" : "*") + (wrap ? "(" + text + ")" : text);
    }
    out += factors;
  }
  return out;
}

} // namespace mx
