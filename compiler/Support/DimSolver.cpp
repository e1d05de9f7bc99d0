// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Support/DimSolver.h"
#include <algorithm>

namespace mx {

void DimFacts::assume(const DimCondition &fact) {
  if (!fact.left || !fact.right)
    return;
  facts.push_back(fact);
  if (fact.relation == Relation::Equal)
    addRule(context->sub(fact.left, fact.right), facts.size() - 1);
}

void DimFacts::truncate(size_t count) {
  facts.resize(std::min(count, facts.size()));
  rules.erase(std::remove_if(rules.begin(), rules.end(),
                             [&](const Rule &r) { return r.fact >= count; }),
              rules.end());
}

/// Orients `zero == 0` into a rule. The largest term whose coefficient is 1 or -1 is replaced by
/// the others: `NH*(D // NH)` by `D`, a later symbol by an earlier one, `B` by `4*(B // 4)`.
void DimFacts::addRule(Dim zero, size_t fact) {
  if (!zero)
    return;
  const DimTerm *lead = nullptr;
  for (const DimTerm &t : zero->terms) {
    if (t.atoms.empty() || (t.coefficient != 1 && t.coefficient != -1))
      continue;
    if (!lead || t.atoms.size() > lead->atoms.size() ||
        (t.atoms.size() == lead->atoms.size() && t.atoms > lead->atoms))
      lead = &t;
  }
  if (!lead)
    return;
  std::vector<AtomId> monomial = lead->atoms;
  Dim rest = context->sub(zero, context->term(lead->coefficient, monomial));
  Dim replacement = lead->coefficient == 1 ? context->negate(rest) : rest;
  if (!replacement)
    return;
  bool deep = false;
  if (monomial.size() == 1 && context->isSymbol(monomial[0])) {
    std::vector<AtomId> inside;
    context->symbols(replacement, inside);
    deep = std::find(inside.begin(), inside.end(), monomial[0]) == inside.end();
  }
  rules.push_back({std::move(monomial), replacement, deep, fact});
}

Dim DimFacts::simplify(Dim d) const {
  constexpr int kMaxRewrites = 64;
  for (int step = 0; step < kMaxRewrites && d; ++step) {
    Dim before = d;
    for (const Rule &rule : rules) {
      if (rule.deep) {
        Dim next = context->substitute(d, {{rule.monomial[0], rule.replacement}});
        if (next)
          d = next;
        continue;
      }
      for (const DimTerm &t : d->terms) {
        if (!std::includes(t.atoms.begin(), t.atoms.end(), rule.monomial.begin(),
                           rule.monomial.end()))
          continue;
        std::vector<AtomId> rest;
        std::set_difference(t.atoms.begin(), t.atoms.end(), rule.monomial.begin(),
                            rule.monomial.end(), std::back_inserter(rest));
        Dim without = context->sub(d, context->term(t.coefficient, t.atoms));
        Dim next = context->add(
            without, context->mul(context->term(t.coefficient, rest), rule.replacement));
        if (next)
          d = next;
        break;
      }
    }
    if (d == before)
      break;
  }
  return d;
}

/// Shows d >= 0 by taking away multiples of what is known to be >= 0 until only terms that cannot
/// be negative are left.
bool DimFacts::nonNegative(Dim d, int depth) const {
  d = simplify(d);
  if (!d)
    return false;
  const DimTerm *negative = nullptr;
  for (const DimTerm &t : d->terms) {
    bool plain = t.coefficient >= 0;
    for (AtomId a : t.atoms)
      plain &= context->isNonNegativeAtom(a);
    if (!plain)
      negative = &t;
  }
  if (!negative)
    return true;
  if (depth == 0)
    return false;
  // Known to be >= 0: the assumed inequalities and, for each `a // b` in sight, the remainder.
  std::vector<Dim> known;
  for (const DimCondition &f : facts)
    if (f.relation == Relation::LessEqual)
      known.push_back(simplify(context->sub(f.right, f.left)));
  for (const DimTerm &t : d->terms)
    for (AtomId a : t.atoms)
      if (!context->isSymbol(a)) {
        Dim rest = context->sub(context->numerator(a),
                                context->mul(context->denominator(a), context->symbol(a)));
        known.push_back(rest);
        // a - b*(a//b) <= b - 1
        known.push_back(context->sub(context->sub(context->denominator(a), context->constant(1)), rest));
      }
  for (const DimTerm &t : std::vector<DimTerm>(d->terms)) {
    for (Dim k : known) {
      if (!k)
        continue;
      for (const DimTerm &u : std::vector<DimTerm>(k->terms)) {
        // The same sign, and the quotient of the two terms must not be negative.
        if ((u.coefficient < 0) != (t.coefficient < 0) || u.coefficient == 0)
          continue;
        if (t.coefficient > 0 && depth < 2)
          continue;
        if (!std::includes(t.atoms.begin(), t.atoms.end(), u.atoms.begin(), u.atoms.end()))
          continue;
        std::vector<AtomId> factor;
        std::set_difference(t.atoms.begin(), t.atoms.end(), u.atoms.begin(), u.atoms.end(),
                            std::back_inserter(factor));
        bool factorOk = true;
        for (AtomId a : factor)
          factorOk &= context->isNonNegativeAtom(a);
        if (!factorOk || u.coefficient == INT64_MIN || t.coefficient == INT64_MIN)
          continue;
        if (t.coefficient > 0 && !factor.empty())
          continue;
        int64_t times = (std::abs(t.coefficient) + std::abs(u.coefficient) - 1) / std::abs(u.coefficient);
        if (t.coefficient > 0)
          times = 1;
        Dim next = context->sub(d, context->mul(context->term(times, factor), k));
        if (next && next != d && nonNegative(next, depth - 1))
          return true;
      }
    }
  }
  return false;
}

Answer DimFacts::ask(const DimCondition &question) const {
  Answer answer;
  if (!question.left || !question.right)
    return answer;
  Dim difference = context->sub(question.right, question.left);
  switch (question.relation) {
  case Relation::Equal: {
    Dim zero = simplify(difference);
    if (zero.isConstant(0)) {
      answer.verdict = Verdict::Proved;
      return answer;
    }
    break;
  }
  case Relation::LessEqual:
    if (difference && nonNegative(difference, 3)) {
      answer.verdict = Verdict::Proved;
      return answer;
    }
    break;
  case Relation::NotEqual: {
    Dim simple = simplify(difference);
    if (auto value = simple.constant(); value && *value != 0) {
      answer.verdict = Verdict::Proved;
      return answer;
    }
    Dim one = context->constant(1);
    if (simple && (nonNegative(context->sub(simple, one), 2) ||
                   nonNegative(context->sub(context->negate(simple), one), 2))) {
      answer.verdict = Verdict::Proved;
      return answer;
    }
    break;
  }
  }
  return findCounterexample(question);
}

bool DimFacts::holds(const DimCondition &c, const std::map<AtomId, int64_t> &values,
                     bool &known) const {
  auto left = context->evaluate(c.left, values), right = context->evaluate(c.right, values);
  known = left && right;
  if (!known)
    return true;
  switch (c.relation) {
  case Relation::Equal:
    return *left == *right;
  case Relation::NotEqual:
    return *left != *right;
  case Relation::LessEqual:
    return *left <= *right;
  }
  return true;
}

/// Tries small sizes: first all different (2, 3, 4, …), which reads best in a message, then every
/// combination of a few values within a budget.
Answer DimFacts::findCounterexample(const DimCondition &question) const {
  Answer answer;
  std::vector<AtomId> symbols;
  context->symbols(question.left, symbols);
  context->symbols(question.right, symbols);
  size_t asked = symbols.size();
  // Facts that share a symbol with the question restrict which sizes may be tried.
  std::vector<const DimCondition *> relevant;
  std::vector<bool> used(facts.size(), false);
  for (bool grown = true; grown && symbols.size() <= 8;) {
    grown = false;
    for (size_t i = 0; i < facts.size(); ++i) {
      if (used[i])
        continue;
      std::vector<AtomId> own;
      context->symbols(facts[i].left, own);
      context->symbols(facts[i].right, own);
      bool touches = std::any_of(own.begin(), own.end(), [&](AtomId a) {
        return std::find(symbols.begin(), symbols.end(), a) != symbols.end();
      });
      if (!touches)
        continue;
      used[i] = grown = true;
      relevant.push_back(&facts[i]);
      for (AtomId a : own)
        if (std::find(symbols.begin(), symbols.end(), a) == symbols.end())
          symbols.push_back(a);
    }
  }
  std::sort(symbols.begin(), symbols.begin() + static_cast<std::ptrdiff_t>(asked));
  std::map<AtomId, int64_t> values;
  auto shows = [&] {
    bool known;
    for (const DimCondition *f : relevant)
      if (!holds(*f, values, known) || !known)
        return false;
    return !holds(question, values, known) && known;
  };
  auto found = [&] {
    answer.verdict = Verdict::Refuted;
    for (size_t i = 0; i < asked; ++i)
      answer.example.push_back({symbols[i], values[symbols[i]]});
    return answer;
  };
  for (int64_t base : {2, 1, 5, 16})
    for (int direction : {1, -1}) {
      for (size_t i = 0; i < symbols.size(); ++i)
        values[symbols[i]] = direction > 0 ? base + static_cast<int64_t>(i)
                                           : base + static_cast<int64_t>(symbols.size() - i) - 1;
      if (shows())
        return found();
    }
  static constexpr int64_t kTried[] = {1, 2, 3, 4, 0, 6, 5, 8, 12, 7, 16, 64};
  constexpr int kBudget = 4000;
  // As many values of the list as fit the budget for this number of symbols.
  size_t choices = std::size(kTried);
  auto combinations = [&](size_t base) {
    double all = 1;
    for (size_t i = 0; i < symbols.size(); ++i)
      all *= static_cast<double>(base);
    return all;
  };
  while (choices > 2 && combinations(choices) > kBudget)
    --choices;
  std::vector<size_t> digits(symbols.size(), 0);
  for (int trial = 0; trial < kBudget; ++trial) {
    for (size_t i = 0; i < symbols.size(); ++i)
      values[symbols[i]] = kTried[digits[i]];
    if (shows())
      return found();
    size_t i = 0;
    while (i < digits.size() && ++digits[i] == choices)
      digits[i++] = 0;
    if (i == digits.size())
      break;
  }
  return answer;
}

} // namespace mx
