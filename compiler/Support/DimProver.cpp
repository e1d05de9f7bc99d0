// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prover for non-negativity of sizes by linear programming over monomials.
#include "Support/DimProver.h"
#include "Support/CheckedMath.h"
#include "Support/LinearSystem.h"
#include <algorithm>
#include <numeric>
#include <set>

namespace mx {
namespace {

// Together these limit the work of a query: each linear system has at most kMaxKnown columns.
constexpr size_t kMaxFacts = 24;
constexpr size_t kMaxKnown = 48;
constexpr size_t kMaxProducts = 16;
constexpr size_t kMaxDivisions = 8;
constexpr size_t kMaxRows = 96;
constexpr int kMaxPivots = 200;
/// Larger coefficients overflow in the first pivots of a linear system.
constexpr int64_t kMaxCoefficient = int64_t{1} << 48;

/// Selects facts: first those about the symbols of `about` alone, then those that lead to further
/// symbols. Ties go to the newest fact, which a program needs most often.
std::vector<Dim> relevantTo(Dim about, const std::vector<Dim> &facts, const DimContext &dims) {
  if (facts.size() <= kMaxFacts)
    return facts;
  std::vector<AtomId> reached;
  dims.symbols(about, reached);
  std::vector<std::vector<AtomId>> symbolsOf(facts.size());
  for (size_t i = 0; i < facts.size(); ++i)
    dims.symbols(facts[i], symbolsOf[i]);
  std::vector<Dim> relevant;
  std::vector<bool> used(facts.size(), false);
  while (relevant.size() < kMaxFacts) {
    size_t best = facts.size();
    size_t fewestNew = SIZE_MAX;
    for (size_t i = facts.size(); i-- > 0;) {
      if (used[i])
        continue;
      size_t isNew = 0;
      for (AtomId a : symbolsOf[i])
        isNew += std::find(reached.begin(), reached.end(), a) == reached.end();
      if (isNew < symbolsOf[i].size() && isNew < fewestNew) {
        best = i;
        fewestNew = isNew;
      }
    }
    if (best == facts.size())
      break;
    used[best] = true;
    relevant.push_back(facts[best]);
    dims.symbols(facts[best], reached);
  }
  return relevant;
}

bool fitsLinearSystem(Dim d) {
  return std::all_of(d->terms.begin(), d->terms.end(), [](const DimTerm &t) {
    return t.coefficient <= kMaxCoefficient && t.coefficient >= -kMaxCoefficient;
  });
}

} // namespace

DimProver::DimProver(DimContext &context, const DimKnowledge &facts, Dim about)
    : dims(context), knowledge(facts), pivots(kMaxPivots) {
  for (Dim fact : relevantTo(about, facts.notNegative, dims))
    know(fact);
  for (const DimKnowledge::Rule &rule : facts.rules)
    if (known.size() + 2 <= kMaxFacts) {
      // Not simplified: an equation is trivial under its own rule.
      knowUnchanged(rule.equation);
      knowUnchanged(dims.negate(rule.equation));
    }
  for (Dim k : known)
    if (const DimTerm *lead = k->terms.empty() ? nullptr : DimContext::leadingTerm(k);
        lead && lead->atoms.size() == 1 && lead->coefficient > 0 && k->terms.size() <= 2 &&
        (k->terms.size() == 1 || (k->terms[0].atoms.empty() && k->terms[0].coefficient < 0)))
      nonNegativeAtoms.push_back(lead->atoms[0]);

  std::set<AtomId> divisions;
  dims.collectDivisions(about, divisions);
  for (Dim k : known)
    dims.collectDivisions(k, divisions);
  Dim one = dims.constant(1);
  for (AtomId a : divisions) { // in order of creation, inner divisions first
    if (divided.size() == kMaxDivisions)
      break;
    Dim numerator = dims.numerator(a), denominator = dims.denominator(a);
    if (dims.isPlainlyNonNegative(denominator)) {
      // Non-negative and, as a divisor, nonzero.
      if (!denominator.constant())
        know(dims.sub(denominator, one));
    } else if (!prove(dims.sub(denominator, one), 0)) {
      continue;
    }
    divided.push_back(a);
    Dim whole = dims.mul(denominator, dims.symbol(a));
    Dim remainder = dims.sub(numerator, whole);
    know(remainder);
    know(dims.sub(dims.sub(denominator, one), remainder));
    if (!isNonNegativeAtom(a) && prove(numerator, 0))
      nonNegativeAtoms.push_back(a);
    if (isNonNegativeAtom(a) && !denominator.constant())
      know(dims.sub(whole, dims.symbol(a)));
  }
  for (Dim k : std::vector<Dim>(known)) {
    knowUnchanged(inQuotients(k));
    for (AtomId a : divided)
      know(withoutDivision(k, a));
  }
}

bool DimProver::isNonNegativeAtom(AtomId a) const {
  return dims.isNonNegativeAtom(a) ||
         std::find(nonNegativeAtoms.begin(), nonNegativeAtoms.end(), a) != nonNegativeAtoms.end();
}

bool DimProver::isNonNegativeMonomial(const std::vector<AtomId> &atoms) const {
  for (size_t i = 0; i < atoms.size(); ++i) {
    if (isNonNegativeAtom(atoms[i]))
      continue;
    // A square is not negative.
    if (i + 1 == atoms.size() || atoms[i + 1] != atoms[i])
      return false;
    ++i;
  }
  return true;
}

void DimProver::know(Dim d) { knowUnchanged(knowledge.simplify(d, dims)); }

void DimProver::knowUnchanged(Dim d) {
  if (!d || known.size() >= kMaxKnown || !fitsLinearSystem(d) || dims.isPlainlyNonNegative(d) ||
      std::find(known.begin(), known.end(), d) != known.end())
    return;
  known.push_back(d);
}

/// Multiplies known inequalities so that they contain a term of the goal: `i <= n - 1` by M if the
/// goal has i*M, and pairs of inequalities if the goal has the monomial of their multiplied leading
/// terms.
void DimProver::knowProductsFor(Dim goal, std::vector<Dim> &columns) const {
  size_t maxColumns = columns.size() + kMaxProducts;
  auto add = [&](Dim product) {
    product = knowledge.simplify(product, dims);
    if (product && columns.size() < maxColumns && fitsLinearSystem(product) &&
        std::find(columns.begin(), columns.end(), product) == columns.end())
      columns.push_back(product);
  };
  for (const DimTerm &t : goal->terms)
    for (Dim k : known) {
      if (t.atoms.size() < 2 || columns.size() >= maxColumns)
        break;
      for (const DimTerm &u : k->terms) {
        if (u.atoms.empty() || u.atoms.size() >= t.atoms.size() ||
            !dividesMonomial(u.atoms, t.atoms))
          continue;
        std::vector<AtomId> factor = quotientMonomial(t.atoms, u.atoms);
        if (isNonNegativeMonomial(factor))
          add(dims.mul(dims.term(1, factor), k));
      }
    }
  for (size_t i = 0; i < known.size(); ++i)
    for (size_t j = i; j < known.size() && columns.size() < maxColumns; ++j) {
      if (known[i]->terms.empty() || known[j]->terms.empty())
        continue;
      const DimTerm *a = DimContext::leadingTerm(known[i]), *b = DimContext::leadingTerm(known[j]);
      if (a->atoms.empty() || b->atoms.empty())
        continue;
      std::vector<AtomId> both;
      std::merge(a->atoms.begin(), a->atoms.end(), b->atoms.begin(), b->atoms.end(),
                 std::back_inserter(both));
      if (std::any_of(goal->terms.begin(), goal->terms.end(),
                      [&](const DimTerm &t) { return t.atoms == both; }))
        add(dims.mul(known[i], known[j]));
    }
}

Dim DimProver::withoutDivision(Dim goal, AtomId division) const {
  const DimTerm *use = nullptr;
  for (const DimTerm &t : goal->terms) {
    if (std::find(t.atoms.begin(), t.atoms.end(), division) == t.atoms.end())
      continue;
    if (use || t.atoms.size() != 1 || (t.coefficient != 1 && t.coefficient != -1))
      return {};
    use = &t;
  }
  if (!use)
    return {};
  Dim rest = dims.sub(goal, dims.term(use->coefficient, use->atoms));
  Dim a = dims.numerator(division), b = dims.denominator(division), one = dims.constant(1);
  if (use->coefficient == 1)
    return dims.add(a, dims.mul(rest, b));
  // c - a // b >= 0 if and only if a < (c + 1)*b.
  return dims.sub(dims.sub(dims.mul(dims.add(rest, one), b), a), one);
}

Dim DimProver::inQuotients(Dim goal) const {
  for (const DimKnowledge::Rule &rule : knowledge.rules) {
    if (rule.lead.coefficient == 1)
      continue;
    for (const DimTerm &alone : rule.equation->terms) {
      if (alone.atoms.empty() || (alone.coefficient != 1 && alone.coefficient != -1))
        continue;
      for (const DimTerm &t : goal->terms) {
        if (!dividesMonomial(alone.atoms, t.atoms))
          continue;
        Dim factor = dims.term(t.coefficient, quotientMonomial(t.atoms, alone.atoms));
        Dim multiple = dims.mul(factor, rule.equation);
        Dim next = alone.coefficient == 1 ? dims.sub(goal, multiple) : dims.add(goal, multiple);
        if (next)
          goal = next; // `t` stays valid: sizes are never freed
      }
      break;
    }
  }
  return DimKnowledge::tightened(goal, dims);
}

bool DimProver::proveLinearly(Dim goal) {
  if (!fitsLinearSystem(goal))
    return false;
  std::vector<Dim> columns = known;
  knowProductsFor(goal, columns);
  // For each non-negative monomial, the goal's coefficient must be at least that of the
  // combination. For any other monomial they must be equal.
  struct Balance {
    std::vector<int64_t> known;
    int64_t goal = 0;
  };
  std::map<std::vector<AtomId>, Balance> balances;
  balances[{}].known.resize(columns.size());
  for (const DimTerm &t : goal->terms) {
    Balance &b = balances[t.atoms];
    b.known.resize(columns.size());
    b.goal = t.coefficient;
  }
  for (size_t i = 0; i < columns.size(); ++i)
    for (const DimTerm &t : columns[i]->terms) {
      Balance &b = balances[t.atoms];
      b.known.resize(columns.size());
      b.known[i] = t.coefficient;
    }
  if (balances.size() > kMaxRows)
    return false;
  std::vector<LinearRow> rows;
  for (auto &[monomial, balance] : balances) {
    if (monomial.empty()) {
      // Sizes are integers: > -1 means >= 0. The strict bound is approximated by >= -63/64.
      constexpr int64_t kParts = 64;
      for (int64_t &c : balance.known)
        c *= kParts;
      rows.push_back({std::move(balance.known), balance.goal * kParts + kParts - 1});
      continue;
    }
    if (!isNonNegativeMonomial(monomial)) {
      LinearRow opposite{balance.known, -balance.goal};
      for (int64_t &c : opposite.coefficients)
        c = -c;
      rows.push_back(std::move(opposite));
    }
    rows.push_back({std::move(balance.known), balance.goal});
  }
  return hasSolution(rows, columns.size(), pivots);
}

bool DimProver::prove(Dim goal, int depth) {
  goal = knowledge.simplify(goal, dims);
  if (!goal)
    return false;
  goal = DimKnowledge::tightened(goal, dims);
  if (!goal)
    return false;
  if (dims.isPlainlyNonNegative(goal) || proveLinearly(goal))
    return true;
  if (Dim quotients = inQuotients(goal); quotients && quotients != goal && proveLinearly(quotients))
    return true;
  if (depth == 0)
    return false;
  for (AtomId a : divided)
    if (Dim next = withoutDivision(goal, a); next && prove(next, depth - 1))
      return true;
  return false;
}

} // namespace mx
