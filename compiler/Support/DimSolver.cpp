// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Solver for size conditions: elimination of equations, rewriting, proofs and counterexamples.
#include "Support/DimSolver.h"
#include "Support/CheckedMath.h"
#include "Support/DimExample.h"
#include "Support/DimProver.h"
#include <algorithm>
#include <numeric>

namespace mx {
namespace {

/// No rules are created past these limits. Claims that need them stay unknown.
constexpr size_t kMaxEliminated = 32;
constexpr size_t kMaxRules = 32;
constexpr size_t kMaxNotNegative = 256;
constexpr int kMaxRewrites = 64;

/// The gcd of all coefficients except the constant term; 0 if there are none.
int64_t contentOf(Dim d) {
  int64_t content = 0;
  for (const DimTerm &t : d->terms) {
    if (t.coefficient == INT64_MIN)
      return 1;
    if (!t.atoms.empty())
      content = std::gcd(content, t.coefficient);
  }
  return content;
}

int64_t constantTerm(Dim d) {
  return !d->terms.empty() && d->terms[0].atoms.empty() ? d->terms[0].coefficient : 0;
}

/// A symbol that d == 0 determines from the others: the newest one, so that later names are
/// expressed in earlier ones.
std::optional<AtomId> symbolToEliminate(Dim d, const DimContext &dims) {
  for (auto t = d->terms.rbegin(); t != d->terms.rend(); ++t) {
    if (t->atoms.size() != 1 || !dims.isSymbol(t->atoms[0]) ||
        (t->coefficient != 1 && t->coefficient != -1))
      continue;
    // It must not occur in another term, not even inside a floor division.
    bool elsewhere = false;
    for (const DimTerm &u : d->terms)
      for (AtomId a : u.atoms) {
        std::vector<AtomId> inside;
        if (dims.isSymbol(a)) {
          inside.push_back(a);
        } else {
          dims.symbols(dims.numerator(a), inside);
          dims.symbols(dims.denominator(a), inside);
        }
        elsewhere |=
            &u != &*t && std::find(inside.begin(), inside.end(), t->atoms[0]) != inside.end();
      }
    if (!elsewhere)
      return t->atoms[0];
  }
  return std::nullopt;
}

} // namespace

Dim DimKnowledge::tightened(Dim d, DimContext &dims) {
  int64_t content = contentOf(d);
  if (content <= 1)
    return d;
  Dim sum = dims.constant(0);
  for (const DimTerm &t : d->terms)
    sum = dims.add(sum, dims.term(*checkedFloorDiv(t.coefficient, content), t.atoms));
  return sum;
}

/// Solves the equations one by one. Each either eliminates a symbol everywhere or becomes a rewrite
/// rule for its leading term, such as `NH*(D // NH)` to `D`.
DimKnowledge DimKnowledge::of(const std::vector<DimCondition> &facts, DimContext &dims) {
  DimKnowledge knowledge;
  std::vector<Dim> pending;
  for (const DimCondition &f : facts)
    if (f.relation == Relation::Equal)
      if (Dim zero = dims.sub(f.left, f.right))
        pending.push_back(zero);
  for (size_t next = 0; next < pending.size(); ++next) {
    Dim zero = knowledge.simplify(pending[next], dims);
    if (!zero || zero.constant())
      continue; // redundant, or contradictory facts
    int64_t content = contentOf(zero);
    if (content > 1 && constantTerm(zero) % content == 0)
      zero = tightened(zero, dims);
    if (auto symbol = symbolToEliminate(zero, dims);
        symbol && knowledge.eliminated.size() < kMaxEliminated) {
      Dim alone = dims.symbol(*symbol);
      bool positive = std::any_of(zero->terms.begin(), zero->terms.end(), [&](const DimTerm &t) {
        return t.atoms == std::vector{*symbol} && t.coefficient == 1;
      });
      Dim value = positive ? dims.sub(alone, zero) : dims.add(alone, zero);
      bool fits = static_cast<bool>(value);
      DimContext::Substitution replaced;
      for (auto &[other, earlier] : knowledge.eliminated) {
        replaced[other] = dims.substitute(earlier, {{*symbol, value}});
        fits &= static_cast<bool>(replaced[other]);
      }
      if (fits) {
        replaced[*symbol] = value;
        knowledge.eliminated = std::move(replaced);
        for (const Rule &rule : knowledge.rules)
          pending.push_back(rule.equation);
        knowledge.rules.clear();
        continue;
      }
    }
    if (knowledge.rules.size() == kMaxRules)
      continue;
    DimTerm lead = *DimContext::leadingTerm(zero);
    if (lead.coefficient < 0)
      zero = dims.negate(zero);
    if (!zero || lead.coefficient == INT64_MIN)
      continue;
    lead.coefficient = std::abs(lead.coefficient);
    knowledge.rules.push_back({std::move(lead), zero});
  }
  auto know = [&](Dim d) {
    d = knowledge.simplify(d, dims);
    if (d && !dims.isPlainlyNonNegative(d) && knowledge.notNegative.size() < kMaxNotNegative)
      knowledge.notNegative.push_back(tightened(d, dims));
  };
  for (auto &[symbol, value] : knowledge.eliminated)
    if (dims.symbolInfo(symbol).nonNegative)
      know(value);
  for (const DimCondition &f : facts)
    if (f.relation == Relation::LessEqual)
      know(dims.sub(f.right, f.left));
  // A non-negative difference of two sizes that are not equal is at least 1.
  for (const DimCondition &f : facts)
    if (f.relation == Relation::NotEqual)
      for (Dim d : {dims.sub(f.right, f.left), dims.sub(f.left, f.right)}) {
        d = knowledge.simplify(d, dims);
        if (d && constantTerm(d) % std::max<int64_t>(contentOf(d), 1) == 0)
          knowledge.notZero.push_back(tightened(d, dims));
        if (d && (dims.isPlainlyNonNegative(d) ||
                  std::find(knowledge.notNegative.begin(), knowledge.notNegative.end(), d) !=
                      knowledge.notNegative.end()))
          know(dims.sub(d, dims.constant(1)));
      }
  return knowledge;
}

Dim DimKnowledge::simplify(Dim d, DimContext &dims) const {
  if (!d)
    return d;
  if (Dim explained = dims.substitute(d, eliminated))
    d = explained;
  // Each rewrite makes monomials smaller, so this terminates. The limit keeps it short.
  for (int step = 0; step < kMaxRewrites; ++step) {
    const DimTerm *top = nullptr;
    const Rule *by = nullptr;
    for (const DimTerm &t : d->terms)
      for (const Rule &rule : rules)
        if (dividesMonomial(rule.lead.atoms, t.atoms) && t.coefficient / rule.lead.coefficient &&
            (!top || smallerMonomial(top->atoms, t.atoms))) {
          top = &t;
          by = &rule;
        }
    if (!top)
      break;
    Dim times = dims.term(top->coefficient / by->lead.coefficient,
                          quotientMonomial(top->atoms, by->lead.atoms));
    Dim next = dims.sub(d, dims.mul(times, by->equation));
    if (!next)
      break;
    d = next;
  }
  return d;
}

void DimFacts::assume(const DimCondition &fact) {
  facts.push_back(fact);
  knowledge.reset();
}

void DimFacts::truncate(size_t count) {
  if (count >= facts.size())
    return;
  facts.resize(count);
  knowledge.reset();
}

const DimKnowledge &DimFacts::known() const {
  if (!knowledge)
    knowledge = std::make_shared<const DimKnowledge>(DimKnowledge::of(facts, *context));
  return *knowledge;
}

Dim DimFacts::simplify(Dim d) const { return known().simplify(d, *context); }

Answer DimFacts::ask(const DimCondition &question) const {
  const Answer proved{Verdict::Proved, {}}, unknown;
  if (!question.left || !question.right)
    return unknown;
  if (question.left == question.right && question.relation != Relation::NotEqual)
    return proved;
  Dim one = context->constant(1);
  Dim difference = simplify(context->sub(question.right, question.left));
  Dim opposite = difference ? context->negate(difference) : Dim();
  if (difference) {
    auto value = difference.constant();
    // g*x + c is never 0 if g does not divide c.
    bool neverZero = value ? *value != 0 : constantTerm(difference) % contentOf(difference) != 0;
    // A nonzero size stays nonzero when it is divided by a common factor.
    Dim least = neverZero ? difference : DimKnowledge::tightened(difference, *context);
    neverZero |= least && std::find(known().notZero.begin(), known().notZero.end(), least) !=
                              known().notZero.end();
    if (question.relation == Relation::Equal      ? value == 0
        : question.relation == Relation::NotEqual ? neverZero
                                                  : context->isPlainlyNonNegative(difference))
      return proved;
  }
  // Most false claims have a simple counterexample. No proof is attempted then.
  ExampleSearch examples(*context, facts, known().eliminated, question);
  auto refuted = [&] { return Answer{Verdict::Refuted, examples.example()}; };
  if (examples.search(1, 64) || examples.search(3, 256))
    return refuted();
  bool never = false;
  if (difference && opposite) {
    DimProver prover(*context, known(), difference);
    bool above = false, below = false; // the right side is larger, or the left side
    switch (question.relation) {
    case Relation::Equal:
      if (prover.isNonNegative(difference) && prover.isNonNegative(opposite))
        return proved;
      break;
    case Relation::LessEqual:
      if (prover.isNonNegative(difference))
        return proved;
      below = prover.isNonNegative(context->sub(opposite, one));
      break;
    case Relation::NotEqual:
      if (prover.isNonNegative(context->sub(difference, one)) ||
          prover.isNonNegative(context->sub(opposite, one)))
        return proved;
      break;
    }
    if (question.relation == Relation::Equal) {
      above = prover.isNonNegative(context->sub(difference, one));
      below = !above && prover.isNonNegative(context->sub(opposite, one));
    }
    never = above || below;
  }
  if (examples.search(6, 512) || examples.search(64, 512) || examples.searchAnywhere(1024))
    return refuted();
  return never ? Answer{Verdict::Refuted, {}} : unknown;
}

} // namespace mx
